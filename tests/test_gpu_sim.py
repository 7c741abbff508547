"""The GPU sim against the CPU sim: on a GPU where there is one, and otherwise its engine on the CPU."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import paddock
from models import BOXES, POLE, compiled
from paddock import terms as t
from paddock.contracts import Sim
from paddock.errors import PaddockError
from paddock.sims import make_sim
from paddock.sims.capacity import Capacity
from paddock.sims.layout import layout_of
from paddock.tasks.finding import find_task
from paddock.worlds import Worlds

SIM = "gpu" if torch.cuda.is_available() else "warp-cpu"
SUBSTEPS = 4
CONTROLS = torch.rand(60, 4, 1, generator=torch.Generator().manual_seed(3)) * 2 - 1


def warp_boxes() -> Sim:
    return make_sim(SIM, compiled(BOXES), 4)


def some(sim: Sim, *chosen: bool) -> Worlds:
    return Worlds.where(torch.tensor(chosen, device=sim.device), by_rows=sim.by_rows)


def run(sim: Sim, first: int, last: int) -> None:
    for step in range(first, last):
        sim.step(CONTROLS[step].to(sim.device), SUBSTEPS)


def close(found: Tensor, wanted: Tensor, tolerance: float) -> None:
    torch.testing.assert_close(found.cpu(), wanted, rtol=tolerance, atol=tolerance)


def test_moves_and_senses_as_the_cpu_sim_does() -> None:
    """A box resting on the floor, an arm on it, a ball that falls: sensors of every stage, between steps and after a reset."""
    ours, theirs = warp_boxes(), make_sim("cpu", compiled(BOXES), 4)
    for step in range(60):
        run(ours, step, step + 1)
        run(theirs, step, step + 1)
        if step == 29:
            for sim in (ours, theirs):
                worlds = some(sim, False, True, False, True)
                sim.reset(worlds)
                sim.forward(worlds)
    close(ours.qpos, theirs.qpos, 1e-4)
    close(ours.qvel, theirs.qvel, 1e-3)
    close(ours.sensordata, theirs.sensordata, 1e-2)
    assert not ours.failed.any()


def test_sensors_are_fresh() -> None:
    sim = warp_boxes()
    layout = layout_of(sim.model, control_dt=SUBSTEPS * sim.model.opt.timestep, device=sim.device)

    def read(name: str) -> Tensor:
        return sim.sensordata[:, layout.sensors[name]]

    run(sim, 0, 15)
    assert torch.equal(read("pos/ball")[:, 2], sim.qpos[:, layout.qpos["ball"]][:, 2])
    fall = torch.full((4,), -9.81 * 15 * SUBSTEPS * sim.model.opt.timestep)
    close(read("vel/ball")[:, 2], fall, 1e-4)
    close(read("accelerometer/ball"), torch.zeros(4, 3), 1e-4)
    assert (read("accelerometer/box").norm(dim=1) > 1.0).all() and read("touch")[0] > 1.0
    before = sim.sensordata.clone()
    worlds = some(sim, True, False, False, False)
    sim.reset(worlds)
    sim.forward(worlds)
    assert (read("touch")[0] == 0) and (read("accelerometer/box")[0] == 0).all()
    assert torch.equal(sim.sensordata[1:], before[1:])
    assert torch.equal(read("pos/ball")[:, 2], sim.qpos[:, layout.qpos["ball"]][:, 2])


def test_a_world_of_nonsense_fails_alone_and_comes_back() -> None:
    sim, lone = warp_boxes(), warp_boxes()
    for each in (sim, lone):
        run(each, 0, 10)
    wrong = sim.qvel.clone()
    wrong[2] = float("nan")
    sim.write("qvel", wrong)
    sim.forward(some(sim, True, True, True, True))
    run(sim, 10, 11)
    run(lone, 10, 11)
    assert sim.failed.tolist() == [False, False, True, False]
    sim.reset(some(sim, *sim.failed.tolist()))
    sim.forward(some(sim, False, False, True, False))
    run(sim, 11, 20)
    run(lone, 11, 20)
    assert not sim.failed.any() and torch.isfinite(sim.sensordata).all()
    close(sim.qpos[[0, 1, 3]], lone.qpos[[0, 1, 3]].cpu(), 1e-5)


def test_goes_on_from_a_save() -> None:
    sim = warp_boxes()
    run(sim, 0, 10)
    saved = sim.save()
    run(sim, 10, 20)
    there = sim.qpos.clone()
    other = warp_boxes()
    run(other, 0, 3)
    other.load(saved)
    assert torch.equal(other.sensordata, saved["sensordata"])
    run(other, 10, 20)
    close(other.qpos, there.cpu(), 1e-5)


def test_model_fields_differ_by_world() -> None:
    sim = warp_boxes()
    everyone = some(sim, True, True, True, True)
    for field in ("opt.gravity", "body_mass"):
        sim.expand(field)
    gravity = torch.tensor([[0.0, 0.0, -9.81]] * 2 + [[0.0, 0.0, -1.62]] * 2)
    sim.write_model("opt.gravity", gravity.to(sim.device), everyone)
    mass = sim.model_fields["body_mass"].clone()
    mass[1] *= 2
    sim.write_model("body_mass", mass, everyone)
    sim.set_const(everyone)
    sim.forward(everyone)
    start = sim.qpos[:, 10].clone()
    for _ in range(10):
        sim.step(torch.zeros(4, 1, device=sim.device), SUBSTEPS)
    fallen = (start - sim.qpos[:, 10]).cpu()
    close(fallen[0] / fallen[2], torch.tensor(9.81 / 1.62), 1e-3)
    touch = sim.sensordata[:, layout_of(sim.model, control_dt=0.02, device=sim.device).sensors["touch"]].cpu()
    assert touch[1] > 1.7 * touch[0] > 3.0 * touch[2]
    with pytest.raises(PaddockError, match="geom_contype.*--sim cpu"):
        sim.expand("geom_contype")


def test_room_that_is_too_small_fails_a_world_and_grows() -> None:
    tight = make_sim(SIM, compiled(BOXES), 4, capacity=Capacity(contacts=4, constraints=4))
    run(tight, 0, 3)
    assert tight.failed.all() and int(tight.crowded) > 0
    while tight.crowded.any():
        tight.grow()
        everyone = some(tight, True, True, True, True)
        tight.reset(everyone)
        tight.forward(everyone)
        run(tight, 0, 3)
    roomy = warp_boxes()
    run(roomy, 0, 3)
    assert not tight.failed.any()
    close(tight.qpos, roomy.qpos.cpu(), 1e-5)


def test_an_environment_is_the_same_on_both() -> None:
    """Rewards, ends, resets, randomisation and random actions, over the ends of episodes."""
    task = replace(find_task("quadruped-walk"), episode_s=0.4)
    ours, theirs = (paddock.make(task, num_worlds=4, seed=5, sim=name) for name in (SIM, "cpu"))
    seen = [env.reset(stagger=True) for env in (ours, theirs)]
    ends = 0
    for _ in range(40):
        seen = [env.step(env.sample()) for env in (ours, theirs)]
        close(seen[0].obs["policy"], seen[1].obs["policy"], 1e-2)
        close(seen[0].final_obs["privileged"], seen[1].final_obs["privileged"], 1e-2)
        close(seen[0].reward, seen[1].reward, 1e-3)
        assert torch.equal(seen[0].ended.cpu(), seen[1].ended)
        ends += int(seen[1].ended.sum())
    assert ends >= 4
    assert torch.equal(ours.state.key.cpu(), theirs.state.key) and torch.equal(ours.episode.cpu(), theirs.episode)
    close(ours.state.params["friction"], theirs.state.params["friction"], 1e-6)


def test_delayed_sensors_report_the_first_state_until_they_see_another() -> None:
    task = paddock.Task(
        name="late",
        robot=paddock.Robot(name="pole", xml=POLE, joints=("hinge",)),
        control_dt=0.02,
        episode_s=0.3,
        act=t.JointTorque(),
        observe={"joint_pos": t.joint_pos, "joint_vel": t.joint_vel},
        timing={"joint_pos": t.Timing(delay_s=0.05)},
        reward={"alive": (1.0, t.alive)},
        done={},
        reset=t.NearHome(joint=0.5, vel=0.5),
    )
    ours, theirs = (paddock.make(task, num_worlds=4, seed=5, sim=name) for name in (SIM, "cpu"))
    for env in (ours, theirs):
        env.reset()
    for _ in range(40):
        found, wanted = (env.step(env.sample()) for env in (ours, theirs))
        close(found.obs["policy"], wanted.obs["policy"], 1e-3)


def test_constants_are_drawn_between_rollouts() -> None:
    """As the CPU draws them for the same episodes, but not within a captured step."""
    task = replace(find_task("cartpole-balance"), episode_s=0.1, randomize={"mass": t.Mass(t.Around(0.5))})
    ours, theirs = (paddock.make(task, num_worlds=4, seed=5, sim=name) for name in (SIM, "cpu"))
    for env in (ours, theirs):
        env.reset()
    first = ours.sim.model_fields["body_mass"].clone()
    close(first, theirs.sim.model_fields["body_mass"].float(), 1e-6)
    assert len(first[:, -1].unique()) == 4
    for _ in range(7):
        for env in (ours, theirs):
            env.step(env.sample())
    assert torch.equal(ours.sim.model_fields["body_mass"], first)
    ours.settle()
    close(ours.sim.model_fields["body_mass"], theirs.sim.model_fields["body_mass"].float(), 1e-6)
    assert not torch.equal(ours.sim.model_fields["body_mass"], first)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # of what PyTorch's compiler itself uses
def test_compiled_pieces_of_a_step_do_what_the_pieces_did() -> None:
    task = replace(find_task("cartpole-balance"), episode_s=0.2)
    plain, fused = (paddock.make(task, num_worlds=4, seed=5, sim=SIM) for _ in range(2))
    plain.is_fused, fused.is_fused = False, True  # pyright: ignore[reportAttributeAccessIssue]
    for env in (plain, fused):
        env.reset(stagger=True)
    for _ in range(15):
        wanted, found = plain.step(plain.sample()), fused.step(fused.sample())
        close(found.obs["policy"], wanted.obs["policy"].cpu(), 1e-5)
        close(found.reward, wanted.reward.cpu(), 1e-5)
        assert torch.equal(found.ended, wanted.ended)
    assert torch.equal(fused.episode, plain.episode) and int(plain.episode.max()) > 0


def test_what_cannot_run_on_a_gpu_is_refused() -> None:
    with pytest.raises(PaddockError, match="--sim cpu"):
        paddock.make("gym-ant", sim=SIM)
    if not torch.cuda.is_available():
        with pytest.raises(PaddockError, match="NVIDIA GPU"):
            paddock.make("cartpole-balance", sim="gpu")
    with pytest.raises(PaddockError, match="--sim cpu"):
        _ = paddock.make("cartpole-balance", sim=SIM).sim.rows
