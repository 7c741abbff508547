"""The environment: the order of a step, ends and beginnings, and what it promises its callers."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

import paddock
from models import pole_task
from paddock import State
from paddock import terms as t
from paddock.contracts import Env, Step
from paddock.errors import BadAction, BadTerm, PaddockError
from paddock.tasks.finding import find_task


def rollout(env: paddock.Environment, steps: int) -> list[Step]:
    return [env.step(env.sample()) for _ in range(steps)]


def equal(one: Step, two: Step, rows: slice = slice(None)) -> bool:
    """Bit equality of everything a step returns, of `rows` in the first and all in the second."""
    pairs = [(one.reward, two.reward), (one.terminated, two.terminated), (one.truncated, two.truncated), (one.success, two.success)]
    pairs += [(one.obs[group], two.obs[group]) for group in one.obs]
    pairs += [(one.final_obs[group], two.final_obs[group]) for group in one.obs]
    pairs += [(one.terms[name], two.terms[name]) for name in one.terms]
    return all(torch.equal(a[rows], b) for a, b in pairs)


def test_it_is_an_env() -> None:
    env: Env = paddock.make(pole_task(), num_worlds=2)
    assert env.obs_sizes == {"policy": 2} and env.action_size == 1


def test_reward_is_the_sum_of_its_named_terms() -> None:
    env = paddock.make("quadruped-walk", num_worlds=4)
    env.reset()
    for step in rollout(env, 20):
        torch.testing.assert_close(step.reward, sum(step.terms.values()), rtol=0, atol=1e-6)
        assert list(step.terms) == list(env.task.reward)


def test_reward_and_final_observation_belong_to_the_state_reached() -> None:
    task = pole_task(reward={"angle": (2.0, t.Column(t.joint_pos, 0))})
    env = paddock.make(task, num_worlds=3)
    env.reset()
    for step in rollout(env, 25):
        torch.testing.assert_close(step.reward, 2.0 * step.final_obs["policy"][:, 0], rtol=0, atol=0)


def test_timeout_is_truncation_and_begins_the_next_episode() -> None:
    env = paddock.make(pole_task(), num_worlds=3)  # 10 steps long
    first = env.reset()
    steps = [env.step(torch.zeros(3, 1)) for _ in range(10)]
    assert not any(step.ended.any() for step in steps[:-1])
    last = steps[-1]
    assert last.truncated.all() and not last.terminated.any()
    assert not torch.equal(last.obs["policy"], last.final_obs["policy"])
    assert not torch.equal(last.obs["policy"], first.obs["policy"])
    assert torch.equal(env.state.age, torch.zeros(3, dtype=torch.int64))


def test_termination_wins_over_timeout_and_only_that_world_begins_anew() -> None:
    task = pole_task(reset=t.Uniform(joints={"hinge": (-0.2, 0.2)}), episode_s=10.0)
    env = paddock.make(task, num_worlds=2)
    env.reset()
    push = torch.tensor([[1.0], [0.0]])
    age, step = env.state.age.clone(), env.step(push)
    while not step.terminated[0]:
        age, step = env.state.age.clone(), env.step(push)
    assert step.terminated.tolist() == [True, False] and step.ends["far"].tolist() == [True, False]
    assert abs(float(step.final_obs["policy"][0, 0])) > 1.0 and abs(float(step.obs["policy"][0, 0])) <= 0.2
    assert torch.equal(step.obs["policy"][1], step.final_obs["policy"][1])
    assert env.state.age.tolist() == [0, int(age[1]) + 1]
    last = replace(task, episode_s=0.02 * (int(age[0]) + 1))
    short = paddock.make(last, num_worlds=2)
    short.reset()
    step = [short.step(push) for _ in range(last.episode_steps)][-1]
    assert step.terminated.tolist() == [True, False] and step.truncated.tolist() == [False, True]


def test_what_was_returned_does_not_change_later() -> None:
    env = paddock.make("quadruped-balance", num_worlds=3)
    env.reset()
    steps = rollout(env, 5)
    kept = [(step.obs["policy"].clone(), step.reward.clone(), step.final_obs["privileged"].clone()) for step in steps]
    rollout(env, 20)
    for step, (obs, reward, final) in zip(steps, kept, strict=True):
        assert torch.equal(step.obs["policy"], obs) and torch.equal(step.reward, reward)
        assert torch.equal(step.final_obs["privileged"], final)


def test_the_callers_action_is_left_alone_and_clipped_inside() -> None:
    env, clipped = paddock.make(pole_task(), num_worlds=2), paddock.make(pole_task(), num_worlds=2)
    env.reset()
    clipped.reset()
    wild = np.array([[7.0], [-9.0]])
    a, b = env.step(wild), clipped.step(torch.tensor([[1.0], [-1.0]]))
    assert wild.tolist() == [[7.0], [-9.0]]
    assert equal(a, b)
    assert env.state.action.tolist() == [[1.0], [-1.0]] and env.state.ctrl.tolist() == [[2.0], [-2.0]]


def test_bad_actions_are_named() -> None:
    env = paddock.make(pole_task(episode_s=10.0), num_worlds=3)
    env.reset()
    for _ in range(4):
        env.step(torch.zeros(3, 1))
    with pytest.raises(BadAction, match=r"world 2 is nan in column 0, at step 4 of episode 0"):
        env.step(torch.tensor([[0.0], [0.0], [float("nan")]]))
    with pytest.raises(BadAction, match=r"shape \(1, 3\); pole takes \(3, 1\)"):
        env.step(torch.zeros(1, 3))


@pytest.mark.parametrize("name", ["quadruped-walk", "quadruped-balance", "cartpole-swingup", "gym-ant"])
def test_seven_worlds_alone_are_the_same_seven_among_many(name: str) -> None:
    """Also the thread count; long enough for falls, pushes and new commands."""
    many = paddock.make(name, num_worlds=64, seed=5, num_threads=2)
    few = paddock.make(name, num_worlds=7, seed=5, num_threads=1)
    assert equal(many.reset(), few.reset(), slice(0, 7))
    ended = 0
    for _ in range(260):
        one, two = many.step(many.sample()), few.step(few.sample())
        assert equal(one, two, slice(0, 7))
        ended += int(two.ended.sum())
    saved, whole = few.save(), many.save()
    assert torch.equal(saved["sim/rows"], whole["sim/rows"][:7])
    assert ended > 0


def test_worlds_can_be_split_between_processes() -> None:
    whole = paddock.make("quadruped-balance", num_worlds=6, seed=1)
    part = paddock.make("quadruped-balance", num_worlds=2, seed=1, first_world=4)
    assert torch.equal(whole.reset().obs["policy"][4:], part.reset().obs["policy"])
    assert equal(whole.step(whole.sample()), part.step(part.sample()), slice(4, 6))


def test_seeds_repeat_and_differ() -> None:
    def reward(seed: int) -> Tensor:
        env = paddock.make("quadruped-walk", num_worlds=4, seed=seed)
        env.reset()
        return torch.stack([step.reward for step in rollout(env, 30)])

    assert torch.equal(reward(0), reward(0))
    assert not torch.equal(reward(0), reward(1))
    assert len(set(reward(0)[0].tolist())) == 4


@pytest.mark.parametrize("name", ["quadruped-walk", "quadruped-balance", "gym-ant"])
def test_save_and_load_continue_bit_for_bit(name: str) -> None:
    env = paddock.make(name, num_worlds=6, seed=2)
    env.reset()
    rollout(env, 120)
    saved = env.save()
    on = rollout(env, 120)
    other = paddock.make(name, num_worlds=6, seed=9, num_threads=1)  # its own seed is forgotten
    other.reset()
    rollout(other, 7)
    other.load(saved)
    assert all(equal(a, b) for a, b in zip(on, rollout(other, 120), strict=True))


def test_a_save_of_something_else_is_refused() -> None:
    saved = paddock.make("cartpole-balance", num_worlds=3).save()
    with pytest.raises(PaddockError, match="does not fit task 'cartpole-balance' with 4 worlds"):
        paddock.make("cartpole-balance", num_worlds=4).load(saved)
    with pytest.raises(PaddockError, match="'state/memory/held' has nothing"):
        paddock.make("cartpole-swingup", num_worlds=3).load(saved)
    with pytest.raises(PaddockError, match="'sim/rows' has"):
        paddock.make(pole_task(), num_worlds=3).load(saved)


def test_history_stacks_the_last_steps_oldest_first() -> None:
    plain = paddock.make(pole_task(), num_worlds=2)
    stacked = paddock.make(pole_task(history={"joint_pos": 3}), num_worlds=2)
    assert stacked.obs_sizes == {"policy": 4}
    start = plain.reset().obs["policy"][:, 0]
    assert torch.equal(stacked.reset().obs["policy"][:, :3], torch.stack([start] * 3, dim=1))
    seen = [start, start, start]
    for _ in range(25):
        action = plain.sample()
        one, two = plain.step(action), stacked.step(action)
        ended = one.ended
        seen = [*seen[1:], one.final_obs["policy"][:, 0]]
        assert torch.equal(two.final_obs["policy"][:, :3], torch.stack(seen, dim=1))
        seen = [torch.where(ended, one.obs["policy"][:, 0], value) for value in seen]
        assert torch.equal(two.obs["policy"][:, :3], torch.stack(seen, dim=1))


def test_a_condition_that_is_remembered_is_returned_as_it_was() -> None:
    class Late:
        """False at first, true from the third step on."""

        def start(self, state: State) -> Tensor:
            return torch.zeros_like(state.age, dtype=torch.bool)

        def next(self, state: State) -> Tensor:
            return state.age >= 3

    env = paddock.make(pole_task(memory={"late": Late()}, success=t.Remembered("late"), done={}), num_worlds=2)
    env.reset()
    steps = rollout(env, 4)
    assert [step.success[0].item() for step in steps] == [False, False, True, True]
    assert steps[0].terminated is not steps[0].failed


def test_observing_twice_changes_nothing() -> None:
    env = paddock.make("quadruped-balance", num_worlds=3)
    env.reset()
    rollout(env, 10)
    before = env.save()
    once, twice = env.task.observations(env.state), env.task.observations(env.state)
    assert all(torch.equal(once[group], twice[group]) for group in once)
    after = env.save()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_diverging_world_is_reset_counted_and_earns_nothing() -> None:
    env = paddock.make(pole_task(episode_s=10.0), num_worlds=3)
    env.reset()
    env.sim.write("qvel", torch.tensor([[0.0], [1e12], [0.0]]))
    step = env.step(torch.zeros(3, 1))
    assert step.failed.tolist() == [False, True, False] == step.terminated.tolist()
    assert step.reward[1] == 0 and step.reward[0] == 1
    assert env.failures == 1
    again = env.step(torch.zeros(3, 1))
    assert not again.failed.any() and env.failures == 1
    assert env.state.age.tolist() == [2, 1, 2]


@dataclass(frozen=True)
class BadAfter:
    """A term that breaks at a given age, in world 1."""

    age: int

    def __call__(self, state: State) -> Tensor:
        bad = (state.age == self.age) & (torch.arange(state.num_worlds) == 1)
        return torch.where(bad, float("nan"), 0.0)


def test_a_term_that_turns_nan_is_named() -> None:
    env = paddock.make(pole_task(reward={"fine": (1.0, t.alive), "odd": (1.0, BadAfter(3))}), num_worlds=2)
    env.reset()
    with pytest.raises(BadTerm, match="reward term 'odd' of task 'pole' is not finite in world 1 at step 3"):
        rollout(env, 5)
    env = paddock.make(pole_task(observe={"odd": BadAfter(2)}), num_worlds=2)
    env.reset()
    with pytest.raises(BadTerm, match="observation 'odd' of task 'pole' is not finite in world 1 at step 2"):
        rollout(env, 5)


def test_a_step_needs_a_reset_first() -> None:
    env = paddock.make(pole_task(), num_worlds=2)
    with pytest.raises(PaddockError, match=r"call reset\(\) before"):
        env.step(torch.zeros(2, 1))


def test_seeds_may_be_any_integer_and_nothing_else() -> None:
    one, two = paddock.make(pole_task(), seed=np.int64(3)), paddock.make(pole_task(), seed=3)  # type: ignore[arg-type]
    assert torch.equal(one.reset().obs["policy"], two.reset().obs["policy"])
    with pytest.raises(PaddockError, match="the seed is None"):
        paddock.make(pole_task(), seed=None)  # type: ignore[arg-type]


def test_a_huge_action_is_clipped_like_any_other() -> None:
    env = paddock.make(pole_task(), num_worlds=4)
    env.reset()
    env.step(torch.full((4, 1), 3e38))
    assert env.state.action.tolist() == [[1.0]] * 4


def test_a_nan_in_a_privileged_or_a_first_observation_is_named() -> None:
    env = paddock.make(pole_task(privileged={"odd": BadAfter(2)}), num_worlds=2)
    env.reset()
    with pytest.raises(BadTerm, match="privileged observation 'odd' of task 'pole' is not finite in world 1 at step 2"):
        rollout(env, 5)
    with pytest.raises(BadTerm, match="observation 'odd' of task 'pole' is not finite in world 1 at step 0"):
        paddock.make(pole_task(observe={"odd": BadAfter(0)}), num_worlds=2).reset()


def test_commands_are_drawn_anew_on_time_and_an_operators_word_stands_until_then() -> None:
    env = paddock.make(replace(find_task("quadruped-walk"), done={}), num_worlds=3)
    env.reset()
    first = env.state.command["velocity"].clone()
    for _ in range(200):
        env.step(torch.zeros(3, 12))
    assert torch.equal(env.state.command["velocity"], first)
    env.state.command["velocity"].fill_(0.25)
    for _ in range(49):
        env.step(torch.zeros(3, 12))
    assert (env.state.command["velocity"] == 0.25).all()
    env.step(torch.zeros(3, 12))
    drawn = env.state.command["velocity"]
    assert not torch.equal(drawn, first) and not (drawn == 0.25).any()
    low, high = torch.tensor([-1.0, -0.5, -1.0]), torch.tensor([1.0, 0.5, 1.0])
    assert ((drawn >= low) & (drawn <= high)).all()


def test_one_torch_thread_inside_and_the_callers_count_outside() -> None:
    seen = []

    def spy(state: State) -> Tensor:
        seen.append(torch.get_num_threads())
        return t.alive(state)

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    env = paddock.make(pole_task(reward={"spy": (1.0, spy)}), num_worlds=2)
    env.reset()
    env.step(torch.zeros(2, 1))
    after = torch.get_num_threads()
    torch.set_num_threads(before)  # the suite goes on with as many as it had
    assert set(seen) == {1} and after == 2
