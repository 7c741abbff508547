"""Sampling intervals and delays: exact to the substep, for as long as anyone looks, and never across episodes."""

import numpy as np
import pytest
import torch

import paddock
from models import POLE, pole_task
from paddock import Environment, Robot, Task
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.inspecting import task_card
from paddock.sims.cpu import CpuSim
from paddock.sims.layout import layout_of
from paddock.sims.model import compile_text, model_text

DT = 0.002
ROBOT = Robot(name="pole", xml=POLE.replace('timestep="0.01"', f'timestep="{DT}"'), joints=("hinge",))


def timed(timing: dict[str, t.Timing], **changes: object) -> Task:
    """One substep a control step, so that every one is seen; `true` is the hinge without timing."""
    parts = {"robot": ROBOT, "control_dt": DT, "episode_s": 100.0, "done": {"never": t.Below(t.alive, 0.0)}}
    return pole_task(
        **parts | {"sensors": {"true": t.JointPositions(), "true_vel": t.JointVelocities()}, "timing": timing} | changes
    )


def readings(env: Environment, name: str, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """What was true and what was read, from the start on; (steps + 1, n) each."""
    env.reset()
    true, read = [env.state.sensor("true")[:, 0].numpy().copy()], [env.state.sensor(name)[:, 0].numpy().copy()]
    for _ in range(steps):
        env.step(env.sample())
        true.append(env.state.sensor("true")[:, 0].numpy().copy())
        read.append(env.state.sensor(name)[:, 0].numpy().copy())
    return np.array(true), np.array(read)


@pytest.mark.parametrize("late", [1, 7])
def test_a_delay_is_exactly_so_many_substeps(late: int) -> None:
    env = paddock.make(timed({"joint_pos": t.Timing(delay_s=late * DT)}), num_worlds=2)
    true, read = readings(env, "joint_pos", 150)
    np.testing.assert_array_equal(read[late:], true[:-late])
    np.testing.assert_array_equal(read[:late], np.repeat(true[:1], late, axis=0))  # before that: the start, never zeros


def test_no_delay_drifts_by_a_substep_in_a_minute() -> None:
    """The engine's clock is a sum of timesteps: a delay of exactly 7 of them reads the wrong sample in every second step."""
    late = {f"late{k}": k for k in (1, 3, 7)}
    sensors = {name: t.JointPositions() for name in ("true", *late)}
    task = timed({name: t.Timing(delay_s=k * DT) for name, k in late.items()}, sensors=sensors)
    sim = CpuSim(compile_text(model_text(task.spec(), lean=True)), 1)
    sim.write("qvel", torch.ones(1, 1))
    columns = layout_of(sim.model, control_dt=DT, device=sim.device).sensors
    seen: list[torch.Tensor] = []
    for _ in range(12000):
        sim.step(torch.zeros(1, 1), 1)
        seen.append(sim.sensordata[0].clone())
    read = torch.stack(seen)
    for name, k in late.items():
        assert torch.equal(read[k:, columns[name]], read[:-k, columns["true"]])


def test_an_interval_holds_from_tick_to_tick() -> None:
    env = paddock.make(timed({"joint_pos": t.Timing(every_s=5 * DT)}), num_worlds=2)
    true, read = readings(env, "joint_pos", 100)
    np.testing.assert_array_equal(read, true[np.arange(101) // 5 * 5])


def test_an_interval_and_a_delay_together() -> None:
    env = paddock.make(timed({"joint_pos": t.Timing(every_s=4 * DT, delay_s=6 * DT)}), num_worlds=2)
    true, read = readings(env, "joint_pos", 100)
    np.testing.assert_array_equal(read, true[np.maximum(np.arange(101) - 6, 0) // 4 * 4])


def test_what_control_steps_read_does_not_depend_on_their_length() -> None:
    timing = {"joint_pos": t.Timing(delay_s=3 * DT)}
    task = timed(timing, control_dt=5 * DT)
    env = paddock.make(task)
    env.reset()
    fine = paddock.make(timed(timing))
    fine.reset()
    for _ in range(20):
        env.step(torch.ones(1, 1))
        for _ in range(5):
            fine.step(torch.ones(1, 1))
        assert torch.equal(env.state.sensor("joint_pos"), fine.state.sensor("joint_pos"))
        assert torch.equal(env.state.sensor("true_vel"), env.state.qvel)  # what is not delayed is of the state reached


def test_no_reading_of_the_last_episode_leaks() -> None:
    task = timed({"joint_pos": t.Timing(delay_s=10 * DT)}, episode_s=30 * DT)
    env = paddock.make(task, num_worlds=3)
    env.reset(stagger=True)
    ended = 0
    for _ in range(90):
        step = env.step(torch.ones(3, 1))
        for world in step.ended.nonzero()[:, 0].tolist():
            ended += 1
            first = env.state.sensor("true")[world]
            assert torch.equal(env.state.sensor("joint_pos")[world], first)
            assert torch.equal(step.obs["policy"][world, :1], first)
    assert ended >= 6


def test_saves_and_threads_change_no_bit() -> None:
    timing = {"joint_pos": t.Timing(every_s=4 * DT, delay_s=6 * DT), "joint_vel": t.Timing(delay_s=3 * DT)}
    task = timed(timing, control_dt=2 * DT, episode_s=60 * DT)
    env, other = (paddock.make(task, num_worlds=4, seed=7, num_threads=threads) for threads in (1, 2))
    env.reset()
    other.reset()
    for _ in range(25):
        assert torch.equal(env.step(env.sample()).obs["policy"], other.step(other.sample()).obs["policy"])
    saved = env.save()
    onward = [env.step(env.sample()).obs["policy"] for _ in range(40)]
    fresh = paddock.make(task, num_worlds=4)
    fresh.load(saved)
    assert all(torch.equal(fresh.step(fresh.sample()).obs["policy"], obs) for obs in onward)


def test_home_is_what_a_prompt_sensor_reads() -> None:
    robot = Robot(
        name="pole", xml=POLE.replace("</mujoco>", '<keyframe><key name="home" qpos=".3"/></keyframe></mujoco>'), joints=("hinge",)
    )
    env = paddock.make(timed({"joint_pos": t.Timing(delay_s=0.02)}, robot=robot, control_dt=0.01))
    assert env.state.layout.home_sensordata[0].item() == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("timing", "words"),
    [
        ({"joint_pos": t.Timing(delay_s=0.003)}, "delay_s of 0.003 s is not a whole number of the model's timesteps of 0.002 s"),
        ({"joint_pos": t.Timing(every_s=0.001)}, "The nearest are 0 and 0.002"),
        ({"joint_poss": t.Timing(every_s=0.002)}, "unknown sensor 'joint_poss'. Did you mean 'joint_pos'?"),
    ],
)
def test_bad_timing_is_refused(timing: dict[str, t.Timing], words: str) -> None:
    with pytest.raises(PaddockError) as caught:
        paddock.make(timed(timing))
    assert words in str(caught.value)


@pytest.mark.parametrize("values", [{}, {"every_s": -1.0}, {"delay_s": float("nan")}])
def test_a_timing_that_means_nothing_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(PaddockError):
        t.Timing(**values)


def test_a_card_tells_rate_and_delay() -> None:
    card = task_card(timed({"joint_pos": t.Timing(every_s=0.01, delay_s=0.006)}))
    row = next(row for row in card.sensors if row.name == "joint_pos/hinge")
    assert (row.every_s, row.delay_s) == (0.01, 0.006)
