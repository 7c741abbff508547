"""The creature moves, tires, jumps and stays within its walls, and its goals can be reached."""

from dataclasses import replace

import mujoco
import pytest
import torch

import paddock
from paddock import State
from paddock import terms as t
from paddock.errors import PaddockError
from paddock.robots import CREATURE, QUADRUPED
from paddock.tasks.creature_goal import CREATURE_GOAL, REACH, goal_vector
from paddock.tasks.creature_world import HALF, WALL, Exertion, GoalAcross, Stamina


def at(x: float, y: float, *, num_worlds: int = 1) -> paddock.Environment:
    """Episodes that begin at one place and have no end but time."""
    start = t.Uniform(joints={"x": (x, x), "y": (y, y)})
    env = paddock.make(replace(CREATURE_GOAL, reset=start, done={}), num_worlds=num_worlds)
    env.reset()
    return env


def drive(env: paddock.Environment, x: float, y: float, z: float, steps: int) -> torch.Tensor:
    """Positions along the way; (steps, n, 3)."""
    action = torch.tensor([[x, y, z]]).expand(env.num_worlds, 3)
    return torch.stack([env.step(action).final_obs["policy"][:, 3:6] for _ in range(steps)])


def stamina(env: paddock.Environment) -> float:
    return float(env.state.memory["stamina"][0])


def test_seven_numbers_are_seen_and_three_are_chosen() -> None:
    env = at(1.0, -2.0)
    sizes = {name: value.shape[1] for name, value in env.task.observed(env.state).items()}
    assert sizes == {"goal": 3, "position": 3, "stamina": 1} and env.obs_sizes == {"policy": 7} and env.action_size == 3
    seen = env.task.observations(env.state)["policy"][0]
    goal = torch.cat([env.state.memory["goal"][0], env.state.memory["goal_height"]])
    torch.testing.assert_close(seen[:3] + seen[3:6], goal)
    assert seen[3:].tolist() == [1.0, -2.0, 0.0, 1.0]


def test_it_goes_where_it_pushes_and_no_faster_than_its_drag_lets_it() -> None:
    for direction in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)):
        env = at(0.0, 0.0)
        way = drive(env, *direction, 0.0, 20)[:, 0]
        assert float(way[-1, :2] @ torch.tensor(direction)) > 1.5
        assert way[:, 2].abs().max() < 1e-3  # and stays on the ground
        speed = float(env.state.qvel[0, :2].norm())
        assert 3.0 < speed < 4.0  # force / damping


def test_it_jumps_from_the_ground_only() -> None:
    env = at(0.0, 0.0)
    up = drive(env, 0.0, 0.0, 1.0, 8)[:, 0, 2]
    env = at(0.0, 0.0)
    once = torch.cat([drive(env, 0.0, 0.0, 1.0, 1), drive(env, 0.0, 0.0, 0.0, 7)])[:, 0, 2]
    assert once.max() > 0.8
    assert torch.equal(up, once)  # pushing on in the air adds nothing
    assert torch.equal(drive(at(0.0, 0.0), 0.0, 0.0, -1.0, 8), drive(at(0.0, 0.0), 0.0, 0.0, 0.0, 8))


def test_it_cannot_jump_the_wall() -> None:
    env = at(4.2, 4.2, num_worlds=1)
    way = torch.cat([drive(env, 1.0, 1.0, 1.0, 60), drive(env, 1.0, 0.0, 1.0, 60)])[:, 0]
    assert way[:, :2].max() < HALF - 0.3 + 0.05 and way[:, 2].max() + 0.6 < WALL
    assert way[:, :2].max() > HALF - 0.35  # but it does get there, and that is what the penalty sees
    assert float(env.step(torch.tensor([[1.0, 0.0, 0.0]])).terms["wall"]) < 0


def test_stamina_drains_with_effort_and_comes_back_with_rest() -> None:
    env, rule = at(-4.0, 0.0), Stamina()
    drive(env, 1.0, 0.0, 0.0, 10)
    assert stamina(env) == pytest.approx(1.0 - rule.walk * 0.5, abs=1e-6)
    drive(env, 0.0, 0.0, 0.0, 4)
    rested = 1.0 - rule.walk * 0.5 + rule.rest * 0.2
    assert stamina(env) == pytest.approx(rested, abs=1e-6)
    drive(env, 0.0, 0.0, 1.0, 1)
    assert stamina(env) == pytest.approx(rested + rule.rest * 0.05 - rule.jump, abs=1e-6)
    drive(env, 0.0, 0.0, 0.0, 150)
    assert stamina(env) == 1.0


def test_a_spent_creature_cannot_accelerate() -> None:
    env = at(0.0, 0.0)
    env.state.memory["stamina"].zero_()
    push = env.state.replaced(action=torch.ones(1, 3))
    assert env.task.act(push).tolist() == [[0.0, 0.0, 0.0]]
    half_tired = push.replaced(memory=env.state.memory | {"stamina": torch.tensor([0.05])})
    assert env.task.act(half_tired).tolist() == [pytest.approx([4.0, 4.0, 50.0])]
    for _ in range(40):  # what it wins by resting, it may spend, and never more
        env.state.memory["stamina"].zero_()
        env.step(torch.ones(1, 3))
    assert env.state.qvel.abs().max() < 1e-6 and env.state.qpos.abs().max() < 2e-3


def test_goals_are_never_near_the_start_and_always_inside() -> None:
    env = paddock.make("creature-goal", num_worlds=2000, seed=2)
    env.reset()
    start, goal = env.state.qpos[:, :2], env.state.memory["goal"]
    assert (goal - start).norm(dim=1).min() >= 2.5 - 1e-4
    assert goal.abs().max() <= REACH + 1e-4 and start.abs().max() <= REACH
    assert goal.std(dim=0).min() > 2.0 and goal.mean(dim=0).abs().max() < 0.2  # all over the garden
    assert (env.state.memory["goal_height"] > 0.5).float().mean() > 0.5  # out of reach without a jump


def test_arriving_ends_the_episode_and_pays() -> None:
    env = paddock.make("creature-goal", num_worlds=32, seed=1)
    env.reset()
    expert = env.task.expert
    assert expert is not None
    arrived = torch.zeros(32, dtype=torch.bool)
    for _ in range(env.task.episode_steps):
        step = env.step(expert(env.state))
        near = step.final_obs["policy"][:, :3].norm(dim=1) < 0.5
        assert torch.equal(step.success, near) and torch.equal(step.ends["arrived"], near)
        assert torch.equal(step.terms["arrived"] > 0, near)
        arrived |= near
    assert arrived.all()


def test_standing_by_the_goal_is_worth_less_than_reaching_it() -> None:
    near, bonus = (CREATURE_GOAL.reward[name][0] for name in ("near", "arrived"))
    assert near * CREATURE_GOAL.episode_steps < 0.25 * bonus


def test_without_a_jump_most_goals_stay_out_of_reach() -> None:
    expert = CREATURE_GOAL.expert
    assert expert is not None

    def walker(state: State) -> torch.Tensor:
        return expert(state) * state.constant((1.0, 1.0, 0.0))

    env = paddock.make("creature-goal", num_worlds=50, seed=7)
    env.reset()
    high = env.state.memory["goal_height"] > 0.55
    arrived, running = torch.zeros(50, dtype=torch.bool), torch.ones(50, dtype=torch.bool)
    for _ in range(env.task.episode_steps):
        step = env.step(walker(env.state))
        arrived |= running & step.success
        running &= ~step.ended
    assert not (arrived & high).any() and (arrived | high).float().mean() > 0.9


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(PaddockError, match="Exertion moves the creature's x, y, z"):
        paddock.make(replace(CREATURE_GOAL, robot=QUADRUPED))
    with pytest.raises(PaddockError, match="ends before it begins"):
        GoalAcross(near=2.0, far=5.0, half=4.0)
    assert Exertion().size(at(0.0, 0.0).state.layout) == 3


def test_the_lean_model_has_one_ball_a_floor_and_four_walls() -> None:
    model = paddock.make("creature-goal").model
    assert model.ngeom == 6 and CREATURE.spec().compile().ngeom > 20
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER
    assert model.body_subtreemass[0] == pytest.approx(1.0)  # so that a force is an acceleration
    assert goal_vector(at(0.0, 0.0).state).shape == (1, 3)
