"""Two sims of one task -> whether they agree: one step from equal states, whole episodes, a trained policy's worth."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

import torch

from paddock import __version__
from paddock.benchmarking import machine
from paddock.errors import PaddockError
from paddock.evaluation import FINAL_SEED, Agent
from paddock.learn.actor_critic import ActorCritic
from paddock.messages.parity import DivergencePoint, FieldError, FlagAgreement, Outlier, ParityReport
from paddock.parity_episodes import POLICY, statistics
from paddock.parity_errors import SHARE, agreement, compared
from paddock.parity_outliers import contacts_of, outliers, patient
from paddock.parity_sides import Played, Reached, Side
from paddock.parity_sim import SimSide
from paddock.parity_states import States, acting_agents, sample_states
from paddock.tasks.task import Task

REFERENCE = "cpu"
"""Whose episodes the states are of, and who judges thresholds: the only sim that computes in float64."""
AT_ONCE = 64
"""Worlds that a slow side steps together, and that are followed over a horizon."""
PLAYING = ("random", "scripted", POLICY)
"""Agents whose whole episodes are compared."""
LISTED = 30
"""Outliers that are described."""
NAMED = 8
"""Failures that are named in a sentence."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is compared."""

    states: int
    episodes: int
    """Of each agent on each sim."""
    horizon: int
    """Control steps over which sims are followed from equal states."""

    def units(self, agents: Collection[str]) -> float:
        """Of progress."""
        return 3.0 * self.states + 2.0 * self.horizon + 2.0 * self.episodes * len(set(agents) & set(PLAYING))


ON_GPU = Effort(states=2048, episodes=256, horizon=100)
ON_CPU = Effort(states=256, episodes=16, horizon=25)
"""Where the GPU sim's engine runs on the CPU, hundreds of times slower."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _OneStep:
    """What one step from each state showed."""

    states: States
    """Those that the reference can step."""
    fields: tuple[FieldError, ...]
    flags: tuple[FlagAgreement, ...]
    outliers: tuple[Outlier, ...]
    beyond: int
    touching: int


def sims_here(asked: tuple[str, ...] = ()) -> tuple[str, str, str]:
    """The two sims to compare, and what a reader must know about the choice."""
    if asked and (len(asked) != 2 or asked[0] != REFERENCE):
        raise PaddockError(f"--sims is {' '.join(asked)}; wanted two, the first of them {REFERENCE}, which is the reference.")
    if asked:
        return asked[0], asked[1], ""
    if torch.cuda.is_available() or find_spec("mujoco_warp") is None:  # without the package, the error says what to install
        return REFERENCE, "gpu", ""
    return REFERENCE, "warp-cpu", "No NVIDIA GPU here: warp-cpu is the GPU sim's engine, MuJoCo Warp, on the CPU."


def effort_of(sim: str) -> Effort:
    """What ends within two minutes on a machine with a GPU, and within a few where its engine runs on the CPU."""
    return ON_CPU if sim == "warp-cpu" else ON_GPU


def examine(
    task: Task,
    *,
    sims: tuple[str, str],
    effort: Effort,
    policy: ActorCritic | None = None,
    run: str = "",
    note: str = "",
    seed: int = FINAL_SEED,
    advance: Callable[[float], None] = lambda units: None,
) -> ParityReport:
    """Compare two sims of a task; a policy takes part as one more agent."""
    at_once = min(effort.states, AT_ONCE) if sims[1] == "warp-cpu" else effort.states
    reference = SimSide(task, sims[0], num_worlds=effort.states)
    other = SimSide(task, sims[1], num_worlds=at_once)
    return examine_sides(reference, other, effort=effort, policy=policy, run=run, note=note, seed=seed, advance=advance)


def examine_sides(
    reference: SimSide,
    other: Side,
    *,
    effort: Effort,
    policy: ActorCritic | None = None,
    run: str = "",
    note: str = "",
    seed: int = FINAL_SEED,
    advance: Callable[[float], None] = lambda units: None,
) -> ParityReport:
    """Compare anything that steps worlds with a sim, from states of that sim's episodes."""
    if min(effort.states, effort.episodes) < 2:
        raise PaddockError(f"states is {effort.states} and episodes is {effort.episodes}; a comparison needs at least 2 of each.")
    began = time.perf_counter()
    agents = acting_agents(reference.task, policy)
    states = sample_states(reference.task, agents, count=effort.states, seed=seed, advance=advance)
    step = _one_step(reference, other, states, advance)
    divergence = _diverging(reference, other, step.states, effort.horizon, seed)
    advance(2 * effort.horizon)
    episodes = statistics(_played((reference, other), agents, effort.episodes, seed, advance))
    return ParityReport(
        task=reference.task.name,
        reference=reference.name,
        other=other.name,
        note=note,
        run=run,
        seed=seed,
        agents=tuple(agents),
        states=len(states),
        unusable=len(states) - len(step.states),
        states_in_contact=step.touching,
        share_asked=SHARE,
        fields=step.fields,
        flags=step.flags,
        outliers=step.outliers,
        outliers_in_all=step.beyond,
        divergence=divergence,
        episodes=episodes,
        passed=all(part.passed for part in (*step.fields, *step.flags, *episodes)),
        seconds=time.perf_counter() - began,
        machine=machine(),
        versions=_versions(),
    )


def verdict(report: ParityReport) -> str:
    """The report in a sentence."""
    if report.passed:
        return f"{report.other} agrees with {report.reference} in {report.task}."
    failed = [part.name for part in (*report.fields, *report.flags) if not part.passed]
    failed += [f"{part.name} of {part.agent}" for part in report.episodes if not part.passed]
    more = f" and {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    return f"{report.other} does not agree with {report.reference} in {report.task}: {', '.join(failed[:NAMED])}{more}."


def _one_step(reference: SimSide, other: Side, states: States, advance: Callable[[float], None]) -> _OneStep:
    here, there = reference.reach(states), other.reach(states)
    advance(2 * len(states))
    usable = (~here.flags["failed"]).nonzero()[:, 0]
    if not len(usable):
        raise PaddockError(f"'{reference.name}' fails in the very next step of every state sampled; there is nothing to compare.")
    by_numbers = reference.judge(states, there.raw)
    here, there, by_numbers = (side.of(usable) for side in (here, there, by_numbers))
    fields = compared(reference.env.model, here, there)
    is_near = ~torch.stack([field.beyond for field in fields]).any(0)
    flags, disagreeing = agreement(here, there, by_numbers=by_numbers, is_near=is_near)
    model, states = reference.env.model, states.of(usable)

    def finished(some: States) -> Reached:
        return SimSide(patient(reference.task), reference.sim, num_worlds=len(some)).reach(some)

    listed, beyond = outliers(model, states, fields, here, there, disagreeing=disagreeing, finished=finished, most=LISTED)
    return _OneStep(
        states=states,
        fields=tuple(field.row() for field in fields),
        flags=tuple(flags),
        outliers=tuple(listed),
        beyond=beyond,
        touching=sum(any(own.distance <= 0.0 for own in contacts_of(states, row, model)) for row in range(len(states))),
    )


def _diverging(reference: Side, other: Side, states: States, horizon: int, seed: int) -> tuple[DivergencePoint, ...]:
    """Followed under random actions, the same for both; a world counts until its episode ends on either side."""
    rows = torch.linspace(0, len(states) - 1, min(len(states), AT_ONCE)).long()
    some = states.of(rows)
    drawn = torch.Generator().manual_seed(seed)
    actions = torch.rand(horizon, len(rows), states.action.shape[1], generator=drawn) * 2 - 1
    here, there = (side.follow(some, actions) for side in (reference, other))
    points: list[DivergencePoint] = []
    for step in range(horizon):
        going = here.going[step] & there.going[step]
        apart = torch.nan_to_num((here.qpos[step] - there.qpos[step]).abs().amax(1)[going], nan=1e30)
        if not len(apart):
            break
        median, p90 = torch.quantile(apart, torch.tensor([0.5, 0.9], dtype=torch.float64)).tolist()
        points.append(DivergencePoint(steps=step + 1, worlds=len(apart), median=median, p90=p90, max=float(apart.max())))
    return tuple(points)


def _played(
    sides: Sequence[Side], agents: Mapping[str, Agent], episodes: int, seed: int, advance: Callable[[float], None]
) -> dict[str, tuple[Played, Played]]:
    found: dict[str, tuple[Played, Played]] = {}
    for name in PLAYING:
        if name in agents:
            reference, other = (side.play(agents[name], episodes=episodes, seed=seed, advance=advance) for side in sides)
            found[name] = reference, other
    return found


def _versions() -> dict[str, str]:
    known = {"paddock": __version__, "python": platform.python_version(), "torch": torch.__version__}
    return known | {
        name: version(name)
        for name in ("mujoco", "mujoco-warp", "warp-lang")
        if find_spec(name.replace("-lang", "").replace("-", "_"))
    }
