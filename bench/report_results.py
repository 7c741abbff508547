"""docs/results.md: what was measured of learning, runs, recordings, telemetry and Gymnasium's tasks, from bench/results/."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
Rows = list[dict[str, Any]]


def page() -> str:
    parts = [
        "# Results",
        "This page is written by `python bench/report.py` from the JSON files in `bench/results/`; each section names the command "
        "that measures it anew. The machines are small and shared: ratios and exactness hold elsewhere, times are of this machine.",
        *learning(),
        *gpu(),
        *throughput(),
        *profiles(),
        *cockpit(),
        *recorder(),
        *telemetry(),
        *kills(),
        *gymnasium(),
        *imports(),
        *imported_learning(),
        *policies(),
        *mutations(),
    ]
    return "\n\n".join(parts) + "\n"


def learning() -> list[str]:
    found = _read("learning")
    tasks = list(dict.fromkeys(row["task"] for row in found["rows"]))
    lines = ["| task | seeds | success | asked | minutes | asked | steps | on |", "|---|--:|---|---|---|---|--:|---|"]
    machines = list(dict.fromkeys(row["machine"] for row in found["rows"]))
    for task in tasks:
        rows = [row for row in found["rows"] if row["task"] == task]
        lines.append(_learned(task, rows, machines))
    pictures = [f"![{task}](learning-{task}.png)" for task in tasks if (ROOT / "docs" / f"learning-{task}.png").exists()]
    return [
        "## Learning by the presets",
        "`python bench/learning.py`: `paddock train TASK --seed S` as a user types it, then 100 episodes of the best "
        "checkpoint that training never saw. Where a task measures something else than success, that is shown.",
        "\n".join(lines),
        "\n".join(f"- {name}: {machine}" for name, machine in zip("ABCDEF", machines, strict=False)),
        *pictures,
    ]


def _learned(task: str, rows: Rows, machines: list[str]) -> str:
    bar, minutes = rows[0]["bar"], [row["minutes"] for row in rows]
    named = next((name for name in bar if name not in ("minutes", "success")), None)
    reached = ", ".join(f"{row['measures'][named] if named else row['success']:.2f}" for row in rows)
    wanted = f"{named.replace('_', ' ')} < {bar[named]:g}" if named else f">= {bar['success']:.2f}" if "success" in bar else ""
    limit = f"{bar['minutes']:g}" if "minutes" in bar else ""
    spent = f"{min(minutes):.1f} to {max(minutes):.1f}"
    on = ", ".join(sorted({"ABCDEF"[machines.index(row["machine"])] for row in rows}))
    return f"| {task} | {len(rows)} | {reached} | {wanted} | {spent} | {limit} | {rows[0]['env_steps']:,} | {on} |"


def gpu() -> list[str]:
    found, parity = _read("gpu_env"), _read("gpu_parity")
    lines = [
        "| task | worlds | bare physics, env steps/s | environment | of bare | with a policy | of bare |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in found["rows"]:
        rates, ratios = row["env_steps_per_s"], row["ratio_to_bare"]
        ours = " | ".join(f"{rates[name]:,} | {ratios[name]:.2f}" for name in ("env", "env and policy"))
        lines.append(f"| {row['task']} | {row['num_worlds']:,} | {rates['bare']:,} | {ours} |")
    learned = [
        "| task | seconds of training | env steps | steps/s | worlds | success on the CPU sim, 100 episodes | |",
        "|---|--:|--:|--:|--:|---|---|",
    ]
    for row in _read("gpu_learning")["rows"]:
        low, high = row["success_interval"]
        measures = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in row["measures"].items())
        learned.append(
            f"| `{row['command']}`, commit {row['commit']} | {row['seconds']} | {row['env_steps']:,} | {row['steps_per_s']:,} | "
            f"{row['num_worlds']:,} | {row['success']:.2f} [{low:.2f}, {high:.2f}] | {measures} |"
        )
    worst = {kind: max(f["max"] for f in parity["fields"] if f["kind"] == kind) for kind in ("qpos", "qvel", "sensor", "reward")}
    return [
        "## On a GPU",
        f"`{found['command']}` on one {found['gpu']}, mujoco-warp {found['versions']['mujoco-warp']}, commit {found['commit']}: "
        "everything that belongs to a control step, as one CUDA graph, beside a graph of the engine's plain steps alone. Resets, "
        "randomisation, observations and rewards are included.",
        "\n".join(lines),
        *beside_mjlab(),
        f"Trained from scratch on one {found['gpu']}, then judged on the CPU sim (`python bench/gpu_learning.py`):",
        "\n".join(learned),
        f"`{parity['command']}`, commit {parity['commit']}: {parity['states']:,} states, {parity['states_in_contact']:,} of them "
        f"in contact; {parity['outliers_in_all']} beyond a tolerance after one control step. The worst of all: qpos "
        f"{worst['qpos']:.0e}, qvel {worst['qvel']:.0e}, sensors {worst['sensor']:.0e}, reward {worst['reward']:.0e}. Every flag "
        "was equal.",
    ]


def beside_mjlab() -> list[str]:
    if not (RESULTS / "mjlab.json").exists():
        return []
    found = _read("mjlab")
    lines = [
        "| worlds | Paddock, env steps/s | mjlab | ratio | mjlab, friction drawn once | ratio | physics alone, Paddock | mjlab |"
    ]
    lines += ["|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for row in found["rows"]:
        theirs = " | ".join(
            f"{row[who]['env']:,} | {row[f'ratio to {who}']['median']:.2f}" for who in ("mjlab", "mjlab, friction drawn once")
        )
        physics = f"{row['paddock']['physics']:,} | {row['mjlab']['physics']:,}"
        lines.append(f"| {row['num_worlds']:,} | {row['paddock']['env']:,} | {theirs} | {physics} |")
    ours, theirs = found["versions"]["paddock"], found["versions"]["mjlab"]
    apart = found["moved_alike"]
    last = max(apart["worst"], key=int)
    return [
        f"`python bench/against_mjlab.py` on one {found['device']}: {found['task']} beside the same robot, solver settings, "
        f"control rate and task in mjlab {theirs['mjlab']} (mujoco-warp {theirs['mujoco-warp']}; ours {ours['mujoco-warp']}), "
        f"every launch a process of its own, in turns, {len(found['launches'])} of each, medians. mjlab's own tasks draw friction "
        f"once and for all; ours, for every episode. {apart['worlds']} worlds moved by equal controls from equal states are "
        f"{apart['worst'][last]:.0e} apart after {last} physics steps.",
        "\n".join(lines),
    ]


def throughput() -> list[str]:
    found = _read("throughput")
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    parts = [
        "## Training throughput",
        f"`python bench/throughput.py`: PPO on Ant-v5 with two hidden layers of {found['hidden'][0]} and normalised observations "
        "and returns, each side with the number of worlds that it is fastest with, every contender a process of its own, in "
        f"turns; {found['machine']}; {versions}.",
    ]
    for measured in found["settings"].values():
        setting = measured["setting"]
        lines = ["| | env steps/s |", "|---|--:|"]
        lines += [f"| {name} | {rate:,.0f} |" for name, rate in measured["env_steps_per_s"].items()]
        parts += [
            f"Rollouts of {setting['rollout']:,} steps, {setting['epochs']} epochs, minibatches of {setting['minibatch']:,}:",
            "\n".join(lines),
            f"Paddock trains **{measured['ratio']:.1f} times** as fast as the best setting of Stable-Baselines3 (median of "
            f"{found['rounds']} rounds: {', '.join(f'{ratio:.2f}' for ratio in measured['ratios'])}). The engine alone, which "
            f"nobody can overtake, would be {measured['ratio_of_the_engine_alone']:.1f} times as fast.",
        ]
    return parts


def recorder() -> list[str]:
    found = _read("recorder")
    lines = ["| recorded worlds | us a world-step | among 16 worlds | without physics in between | bytes a world-step |"]
    lines += ["|--:|--:|--:|--:|--:|"]
    lines += [
        f"| {c['worlds']} | {c['us']:.1f} | {c['us_among']:.1f} | {c['us_warm']:.1f} | {c['bytes']:.0f} |" for c in found["cost"]
    ]
    replay, flips, killed = found["replay"], found["flips"], found["kills"]
    return [
        "## Recordings and replay",
        f"`python bench/recorder.py`, {found['task']}, {found['machine']}.",
        "\n".join(lines),
        f"- {replay['identical']:,} of {replay['steps']:,} steps with randomisation and {replay['pushes']:,} pushes replayed bit "
        f"for bit, and {replay['identical_from_starts']} of {replay['starts']} replays that began at a keyframe in the middle.\n"
        f"- {flips['flips']} files with one bit flipped: {flips['seen']} seen as damaged, {flips['wrong']} silently wrong.\n"
        f"- {killed['kills']} recorders killed: {killed['steps_lost']} of {killed['steps_said']:,} steps lost that were said to be "
        "written.",
    ]


def telemetry() -> list[str]:
    found = _read("telemetry")
    cost, rows = found["cost"], found["step_rows"]
    return [
        "## Telemetry",
        f"`python bench/telemetry.py`, {found['training']['worlds']} worlds at {found['training']['env_steps_per_s']:,} steps/s, "
        f"{found['machine']}: {100 * cost['total']:.2f} % of wall time, of which {100 * cost['calls']:.2f} % inside the calls and "
        f"{100 * cost['writer']:.2f} % CPU time of the writing thread; the longest call took {cost['longest_call_ms']:.2f} ms. "
        f"{rows['rows_per_s']:,.0f} step rows a second were durable.",
    ]


def kills() -> list[str]:
    found = _read("kills")
    return [
        "## Kills",
        f"`python bench/kills.py`, {found['machine']}: `kill -9` at {len(found['points'])} named points of checkpoint and "
        f"telemetry writing, {found['kills']} kills in {found['trainings']} trainings; "
        f"{found['unreadable_files']} unreadable files, "
        f"{found['differing_runs']} resumed runs whose weights differ from the uninterrupted one by a bit.",
    ]


def gymnasium() -> list[str]:
    found = _read("gym_parity")
    lines = [
        "| task | copied | states | worst observation | worst reward | episodes' steps | ended otherwise |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for states, episodes in zip(found["states"], found["episodes"], strict=True):
        worst = [max(states[name], episodes[name]) for name in ("obs", "reward")]
        ended = states["ended_otherwise"] + episodes["ended_otherwise"]
        lines.append(
            f"| {states['task']} | {states['copied']} | {states['steps']:,} | {worst[0]:.0e} | {worst[1]:.0e} "
            f"| {episodes['steps']:,} | {ended} |"
        )
    return [
        "## Gymnasium's tasks, step for step",
        f"`python bench/gym_parity.py` against Gymnasium {found['gymnasium']}: worst relative difference after one step from equal "
        "random states, and over whole episodes from equal starts.",
        "\n".join(lines),
    ]


def imports() -> list[str]:
    found = _read("imports")
    lines = [
        "| robot | package | kind | bodies | joints' freedoms | actuators | tasks | seconds to import | passed |",
        "|---|---|---|--:|--:|--:|---|--:|---|",
    ]
    for row in found["robots"]:
        lines.append(
            f"| {row['name']} | {row['package']} | {row['format']}, {row['kind']} | {row['bodies']} | {row['dof']} "
            f"| {row['actuators']} | {', '.join(row['checks'])} | {row['import_s']:.1f} | {'yes' if row['passed'] else 'no'} |"
        )
    passed = sum(row["passed"] for row in found["robots"])
    return [
        "## Other projects' robots",
        "`python bench/import_zoo.py` installs packages from PyPI and imports their robots as they are. A robot passes where "
        f"{found['steps']} random steps in {found['worlds']} worlds stay finite, twice the same bit for bit, with every sensor "
        f"alive, and the exported observations agree with PyTorch's to 1e-6. {passed} of {len(found['robots'])} pass.",
        "\n".join(lines),
    ]


def imported_learning() -> list[str]:
    found = _read("imported_learning")
    lines = ["| robot | package | task | success | measured | minutes | steps |", "|---|---|---|---|---|--:|--:|"]
    for row in found["rows"]:
        measured = ", ".join(
            f"{name.replace('_', ' ')} {value:.3f} m{'/s' * ('error' in name)}" for name, value in row["measures"].items()
        )
        low, high = row["success_interval"]
        lines.append(
            f"| {row['name']} | {row['package']} | {row['task']} | {row['success']:.2f} [{low:.2f}, {high:.2f}] | {measured} "
            f"| {row['minutes']:.1f} | {row['env_steps']:,} |"
        )
    return [
        "### What they learn",
        f"`python bench/imported_learning.py`, {found['machine']}: imported, not edited, and trained by the preset that our own "
        "robots have, as in `paddock train walk --robot go1.py`; "
        f"then {found['rows'][0]['episodes']} episodes that training never saw. "
        "A walk succeeds where the velocity is off by less than a quarter of the fastest command on average, and nothing falls; "
        "a reach where the tool is within a fiftieth of the arm's length of its point for the last half second.",
        "\n".join(lines),
    ]


def profiles() -> list[str]:
    found = _read("profiles")
    parts = list(found["rows"][0]["us_per_step"])
    lines = [
        "| update | " + " | ".join(parts) + " | all but physics, of physics | env steps/s |",
        "|---|" + "--:|" * (len(parts) + 2),
    ]
    for row in found["rows"]:
        times = " | ".join(f"{row['us_per_step'][part]:.1f}" for part in parts)
        name = "compiled" if row["compiled"] else "as it is"
        lines.append(f"| {name} | {times} | {row['over_physics']:.2f} | {row['env_steps_per_s']:,} |")
    return [
        "## Where a training second goes",
        f"`python bench/profiles.py`, {found['machine']}: {found['task']} by its preset, microseconds an environment step, medians "
        f"of {found['rounds']} turns. `compiled` is `--ppo.compiled`. `paddock bench --profile TASK` shows the same of any task.",
        "\n".join(lines),
    ]


def cockpit() -> list[str]:
    cost, load = _read("cockpit_cost"), _read("cockpit_load")
    under, pages, asked = load["load"], load["pages"], load["setting"]
    lines = [
        "| task | frames/s that came | processor time of calls and thread | wall time in the calls | us a frame | nobody watching |"
    ]
    lines += ["|---|--:|--:|--:|--:|--:|"]
    for row in cost["costs"]:
        lines.append(
            f"| {row['task']} | {row['frames_per_s']:.0f} | {row['total']:.2%} | {row['calls_with_waits']:.2%} | "
            f"{row['us_per_frame']:.0f} | {row['nobody']:.4%} |"
        )
    told, delay, memory = under["points_told"], under["delay_ms"], under["memory_mb"]
    return [
        "## The cockpit",
        f"`python bench/cockpit_cost.py`, {cost['machine']['cpu']}, {cost['machine']['cores']} cores: what a viewer of "
        f"{cost['setting']['watched']} robots costs a training, in shares of its wall time.",
        "\n".join(lines),
        f"`python bench/cockpit_load.py`, {load['machine']['cpu']}, {load['machine']['cores']} cores: {asked['runs']} processes "
        f"wrote {under['points_written']:,} points in {under['seconds'] / 60:.0f} minutes, {under['points_per_s']:,.0f} a second, "
        f"and {asked['clients']} clients followed all of them: each was told {min(told):,} to {max(told):,}, and "
        f"{under['unequal_curves']} curves differed from what is on disk. Median delay {delay['median']} ms. The server took "
        f"{under['server_cores']:.2f} of a core, {under['server_cores_at_most']:.2f} at most; its memory was {memory[0]:.0f} MB "
        f"early and {memory[-1]:.0f} MB at the end.",
        f"A list of 1,000 runs is on the page after {pages['list_page_s']:.1f} s, and after {pages['list_again_s'] * 1000:.0f} ms "
        f"when it is asked for again. A chart of 100 series of 10,000 points is drawn anew in {pages['redraw_ms']:.0f} ms.",
    ]


def policies() -> list[str]:
    rows = _read("policies")["rows"]
    lines = ["| task | net | steps | success by seed | return | tracking error | half succeed after | minutes |"]
    lines += ["|---|---|--:|---|---|---|---|---|"]
    kinds = list(dict.fromkeys((row["task"], row["net"], row["steps"]) for row in rows))
    for task, net, steps in kinds:
        found = [row for row in rows if (row["task"], row["net"], row["steps"]) == (task, net, steps)]
        errors = ", ".join(f"{row['measures']['tracking_error']:.2f}" for row in found if "tracking_error" in row["measures"])
        half = ", ".join("never" if row["half_way"] is None else f"{row['half_way']:,}" for row in found)
        told = [", ".join(f"{row[name]:{form}}" for row in found) for name, form in (("success", ".2f"), ("return", ".0f"))]
        minutes = ", ".join(f"{row['minutes']:.0f}" for row in found)
        lines.append(f"| {task} | {net} | {steps:,} | {told[0]} | {told[1]} | {errors} | {half} | {minutes} |")
    return [
        "## Policies",
        f"`python bench/policies.py`, {rows[0]['machine']}: the preset of the task with nothing changed but the network, 100 "
        "episodes of the best checkpoint that training never saw. A blind task hides velocities. `half succeed after` is the "
        "environment step of the first evaluation in training in which half of the episodes succeed. Minutes are of a core "
        "that others used too.",
        "\n".join(lines),
    ]


def mutations() -> list[str]:
    found = _read("mutations")
    outcomes = found["outcomes"]
    ends = "\n".join(f"- {said}" for said in found["unanswered"])
    return [
        "## Hostile and damaged models",
        f"`python bench/mutated_models.py`, {found['machine']}: {found['count']:,} mutated MJCF and URDF files (numbers that are "
        "none, bombs, lures to files outside, entities, plugins, missing characters), each imported in a child process. "
        f"{outcomes['refused']:,} were refused with a reason, {outcomes['imported']:,} imported, {len(found['unanswered'])} ended "
        f"otherwise; {outcomes.get('crash', 0)} crashed. The slowest took {found['slowest_s']:.1f} s at a limit of "
        f"{found['limit_s']:.0f} s. {found['reached_outside']} held anything of a file outside their folder, and "
        f"{found['wrongly_imported']} with entities or code got in.",
        *([f"The others, each ended by the limit and said so:\n\n{ends}"] if ends else []),
    ]


def _read(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text())
