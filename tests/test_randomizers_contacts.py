"""Contacts and pushes: how a ball rolls, spins and bounces, and what a push does, by what each world drew."""

import pytest
import torch

import paddock
from paddock import terms as t
from paddock.errors import PaddockError
from randomizer_rig import BALL_Z, CONTROL_DT, GRAVITY, drawn, near, rig, run

BALL_RESTS = [0.0, 0.0, 2.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0]
RADIUS = 0.1


def on_the_floor(randomizer: t.Friction, velocity: list[float], steps: int) -> paddock.Environment:
    """The ball on the floor, begun with a velocity (linear, angular)."""
    env = run(randomizer, steps=0, scene=t.flat_floor)
    env.sim.write("qpos", torch.tensor([BALL_RESTS] * 8))
    env.sim.write("qvel", torch.tensor([[0.0, 0.0, *velocity]] * 8))
    for _ in range(steps):
        env.step(torch.zeros(8, 2))
    return env


def test_torsional_friction_stops_a_spinning_ball() -> None:
    env = on_the_floor(t.Friction(1.0, torsional=(0.25, 1.0)), [0, 0, 0, 0, 0, 40.0], 10)
    slowed = 0.02 * drawn(env)[:, 1] * GRAVITY / (0.4 * RADIUS**2) * 10 * CONTROL_DT
    near(40.0 - env.state.qvel[:, 7], slowed, rtol=0.1)


def test_rolling_friction_stops_a_rolling_ball() -> None:
    env = on_the_floor(t.Friction(1.0, rolling=(0.25, 1.0)), [1.0, 0, 0, 0, 10.0, 0], 10)
    slowed = 0.01 * drawn(env)[:, 2] * GRAVITY / (1.4 * RADIUS) * 10 * CONTROL_DT
    near(1.0 - env.state.qvel[:, 2], slowed, rtol=0.15)


def test_restitution_decides_how_high_a_ball_bounces() -> None:
    env = run(t.Restitution((0.3, 0.9)), steps=0, scene=t.flat_floor)
    heights = []
    for _ in range(60):
        env.step(torch.zeros(8, 2))
        heights.append(env.state.qpos[:, BALL_Z].clone())
    path = torch.stack(heights)
    lowest = path.argmin(dim=0)
    apex = torch.stack([path[low:, world].max() for world, low in enumerate(lowest.tolist())])
    near((apex - RADIUS) / (1.0 - RADIUS), drawn(env)[:, 0] ** 2, rtol=0, atol=0.04)


def test_a_resting_ball_sinks_in_no_deeper_for_its_restitution() -> None:
    heights = [run(t.Restitution(e), steps=400, scene=t.flat_floor).state.qpos[:, BALL_Z] for e in (0.15, 0.5)]
    near(heights[0], heights[1], rtol=0, atol=2e-4)


def test_only_what_a_spring_and_a_damper_can_give_back_is_promised() -> None:
    for value in (0.0, (0.2, 1.0)):
        with pytest.raises(PaddockError, match=r"wanted 0.15 to 0.95"):
            t.Restitution(value)


def pushed(steps: int, **changes: object) -> tuple[paddock.Environment, torch.Tensor]:
    """The ball without gravity under a push, and its velocity at every step; (steps, n, 6)."""
    push = t.Push(**({"body": "ball", "newtons": 0.0, "every_s": 0.2, "duration_s": 0.1} | changes))  # type: ignore[arg-type]
    env = paddock.make(rig(randomize={"push": push, "it": t.Gravity(t.Choice((1e-9, 2e-9)))}), num_worlds=8, seed=2)
    env.reset()
    speeds = []
    for _ in range(steps):
        env.step(torch.zeros(8, 2))
        speeds.append(env.state.qvel[:, 2:].clone())
    return env, torch.stack(speeds)


def test_a_push_upwards_changes_momentum_by_force_times_time_and_ends() -> None:
    _, speed = pushed(14, lift_newtons=(2.0, 6.0))
    near(speed[4], torch.tensor(0.0))
    impulse = 0.5 * speed[9, :, 2]
    assert ((impulse >= 0.2 - 1e-4) & (impulse <= 0.6 + 1e-4)).all() and impulse.unique().numel() == 8
    near(speed[13], speed[9])


def test_a_torque_changes_angular_momentum_by_torque_times_time() -> None:
    _, speed = pushed(10, newton_metres=(0.01, 0.02))
    angular = 0.4 * 0.5 * RADIUS**2 * speed[9, :, 3:].norm(dim=1)
    assert ((angular >= 0.001 - 1e-6) & (angular <= 0.002 + 1e-6)).all() and angular.unique().numel() == 8
    near(speed[9, :, :3], torch.tensor(0.0), atol=1e-5)
    directions = torch.nn.functional.normalize(speed[9, :, 3:], dim=1)
    assert (directions.std(dim=0) > 0.2).all()


def test_drawn_intervals_stay_within_their_range() -> None:
    _, speed = pushed(1000, newtons=1.0, every_s=(0.2, 0.6), duration_s=0.1)
    is_pushed = torch.cat([torch.zeros(1, 8), (speed[1:, :, :3] - speed[:-1, :, :3]).norm(dim=2)]) > 1e-6
    seen = set()
    for world in range(8):
        edges = is_pushed[1:, world].long() - is_pushed[:-1, world].long()
        begins, ends = (edges == 1).nonzero()[:, 0], (edges == -1).nonzero()[:, 0]
        steps = ends.diff().tolist()
        assert all(10 <= step <= 30 for step in steps)
        assert all(end - begin == 5 for begin, end in zip(begins.tolist(), ends.tolist(), strict=False))
        seen |= set(steps)
    assert min(seen) < 14 and max(seen) > 26


def test_pushes_that_cannot_be_are_refused() -> None:
    with pytest.raises(PaddockError, match="would not end before the next"):
        t.Push(body="ball", newtons=1.0, every_s=(0.1, 1.0), duration_s=0.2)
    with pytest.raises(PaddockError, match="from 2.0 to 1.0 ends before it begins"):
        t.Push(body="ball", newtons=(2.0, 1.0), every_s=1.0)
