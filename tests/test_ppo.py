"""PPO: hand-computed advantages, probabilities that belong to their actions, weights that repeat, and a pole that stands."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import paddock
from paddock.errors import PaddockError
from paddock.learn.actor_critic import ActorCritic
from paddock.learn.adam import Adam
from paddock.learn.normalizer import Normalizer
from paddock.learn.ppo import Ppo
from paddock.learn.ppo_config import PpoConfig
from paddock.learn.returns import advantages
from paddock.policies import Learner

SMALL = PpoConfig(horizon=8, epochs=2, minibatches=2, hidden=(16,))


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values)[:, None]


def test_advantages_by_hand() -> None:
    """Three steps, the middle one ends the episode: discount 0.5, trace 0.5."""

    def gae(*, terminated: bool, truncated: bool) -> list[float]:
        return advantages(
            reward=column(1.0, 2.0, 3.0),
            value=column(10.0, 20.0, 30.0),
            reached_value=column(20.0, 40.0, 50.0),
            terminated=column(0, terminated, 0).bool(),
            ended=column(0, terminated or truncated, 0).bool(),
            discount=0.5,
            trace=0.5,
        )[:, 0].tolist()

    last = 3 + 0.5 * 50 - 30  # -2, bootstrapped at the rollout's edge
    first = 1 + 0.5 * 20 - 10  # 1
    terminal = 2 - 20  # -18: nothing comes after
    assert gae(terminated=True, truncated=False) == [first + 0.25 * terminal, terminal, last]
    timeout = 2 + 0.5 * 40 - 20  # 2: the final observation still has a value, the next episode has not
    assert gae(terminated=False, truncated=True) == [first + 0.25 * timeout, timeout, last]
    running = timeout + 0.25 * last
    assert gae(terminated=False, truncated=False) == [first + 0.25 * running, running, last]


def test_a_normalizer_merges_batches_as_if_seen_at_once() -> None:
    data = torch.randn(1000, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([1.0, 5.0, 0.1]) + 7
    norm = Normalizer(3)
    for batch in data.split(70):
        norm.observe(batch)
    np.testing.assert_allclose(norm.mean, data.double().mean(0), rtol=1e-12)
    np.testing.assert_allclose(norm.var, data.double().var(0, correction=0), rtol=1e-12)
    assert norm(data).std() > 0.9 and norm(data * 1000).abs().max() == 10.0


def test_log_probabilities_are_those_of_a_normal_distribution() -> None:
    net = ActorCritic({"policy": 4}, 3, hidden=(8,), log_std=-0.3)
    mean, action = torch.randn(5, 3), torch.randn(5, 3)
    expected = torch.distributions.Normal(mean, net.log_std.exp())
    torch.testing.assert_close(net.log_prob(mean, action), expected.log_prob(action).sum(1))
    torch.testing.assert_close(net.entropy(), expected.entropy()[0].sum())


def test_stored_probabilities_belong_to_the_stored_actions() -> None:
    env = paddock.make("quadruped-walk", num_worlds=4)
    ppo = Ppo(env, SMALL, seed=0)
    learner: Learner = ppo
    assert learner.policy is ppo.policy
    ppo._collect(env)
    roll = ppo._rollout
    mean, _ = ppo.policy.decide({"policy": roll.policy_obs.flatten(0, 1)}, {})
    recomputed = ppo.policy.log_prob(mean, roll.action.flatten(0, 1)).view_as(roll.log_prob)
    torch.testing.assert_close(recomputed, roll.log_prob, rtol=0, atol=1e-5)
    assert roll.critic_obs.shape[-1] == sum(env.obs_sizes.values())  # the critic sees what the policy does not


@pytest.mark.parametrize("overlap", [False, True])
def test_weights_change_and_the_same_seed_repeats_them(overlap: bool) -> None:
    def trained(seed: int) -> dict[str, torch.Tensor]:
        env = paddock.make("cartpole-balance", num_worlds=8, seed=seed)
        ppo = Ppo(env, replace(SMALL, overlap=overlap), seed=seed)
        before = {name: value.clone() for name, value in ppo.state().items()}
        for _ in range(3):
            ppo.update(env)
        assert all(not torch.equal(before[name], value) for name, value in ppo.state().items() if name.endswith("weight"))
        return ppo.state()

    one, again, other = trained(1), trained(1), trained(2)
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not torch.equal(one["policy/actor.0.weight"], other["policy/actor.0.weight"])


def test_it_learns_to_balance() -> None:
    env = paddock.make("cartpole-balance", num_worlds=256, seed=0)
    ppo = Ppo(env, PpoConfig(learn_threads=1), seed=0)

    def success() -> float:
        judge = paddock.make("cartpole-balance", num_worlds=100, seed=1000)
        step, running = judge.reset(), torch.ones(100, dtype=torch.bool)
        count = 0
        for _ in range(judge.task.episode_steps):
            step = judge.step(ppo.policy.act(step.obs))
            count += int((running & step.ended & step.success).sum())
            running &= ~step.ended
        return count / 100

    assert success() < 0.1
    for _ in range(45):
        ppo.update(env)
    assert success() >= 0.95


@pytest.mark.parametrize("overlap", [False, True])
def test_a_saved_learner_goes_on_bit_for_bit(overlap: bool) -> None:
    config = replace(SMALL, overlap=overlap)
    env = paddock.make("cartpole-swingup", num_worlds=8)
    ppo = Ppo(env, config, seed=0)
    ppo._see(env.reset(stagger=True).obs)  # so that some run out of time in what is collected ahead
    for _ in range(60):
        ppo.update(env)
        if not overlap or ppo._filled.cut:
            break
    saved, world = ppo.state(), env.save()
    assert any(name.startswith("ahead/cut/") for name in saved) == overlap
    ppo.update(env)
    other_env = paddock.make("cartpole-swingup", num_worlds=8, seed=5)
    other = Ppo(other_env, config, seed=9)
    other_env.load(world)
    other.load(saved)
    other.update(other_env)
    assert ppo.state().keys() == other.state().keys()
    assert all(torch.equal(value, other.state()[name]) for name, value in ppo.state().items())

    forgetful = Ppo(other_env, config, seed=9)
    other_env.load(world)
    forgetful.load({name: torch.zeros_like(value) if name.startswith("optimizer/") else value for name, value in saved.items()})
    forgetful.update(other_env)
    assert not torch.equal(forgetful.state()["policy/log_std"], ppo.state()["policy/log_std"])


def test_what_acts_beside_learning_is_one_update_older() -> None:
    env = paddock.make("cartpole-balance", num_worlds=8)
    ppo = Ppo(env, replace(SMALL, overlap=True), seed=0)
    ppo.update(env)
    before = {name: value.clone() for name, value in ppo.policy.state_dict().items()}
    ppo.update(env)
    assert all(torch.equal(value, before[name]) for name, value in ppo._actor.state_dict().items())
    assert not torch.equal(ppo.policy.log_std, before["log_std"])
    with torch.no_grad():
        mean, _ = ppo._actor.decide({"policy": ppo._filled.policy_obs[0]}, {})
        likely = ppo._actor.log_prob(mean, ppo._filled.action[0])
    assert torch.equal(ppo._filled.log_prob[0], likely)


def test_overlap_is_refused_where_it_cannot_be() -> None:
    env = paddock.make("cartpole-balance", num_worlds=8)
    with pytest.raises(PaddockError, match="ppo.overlap cannot know what ppo.net lstm remembers"):
        Ppo(env, replace(SMALL, overlap=True, net="lstm"), seed=0)


def test_a_value_that_moved_too_far_is_not_pulled_further() -> None:
    env = paddock.make("cartpole-balance", num_worlds=2)
    ppo = Ppo(env, replace(SMALL, value_clip=0.5), seed=0)
    value = torch.tensor([2.0, 0.2], requires_grad=True)
    loss = ppo._value_loss(value, before=torch.zeros(2), target=torch.tensor([0.4, 1.0]))
    loss.backward()
    assert loss.item() == pytest.approx(((2.0 - 0.4) ** 2 + (0.2 - 1.0) ** 2) / 2)
    beyond = torch.tensor([0.9], requires_grad=True)
    ppo._value_loss(beyond, before=torch.zeros(1), target=torch.tensor([2.0])).backward()
    assert beyond.grad is not None and beyond.grad.item() == 0.0  # it is further than the clip, and the clipped loss is the larger


def test_the_learning_rate_follows_the_change_or_the_schedule() -> None:
    env = paddock.make("cartpole-balance", num_worlds=2)
    adaptive = Ppo(env, replace(SMALL, learning_rate=1e-3, target_kl=0.01), seed=0)
    for kl, expected in ((0.03, 1e-3 / 1.5), (0.01, 1e-3 / 1.5), (0.001, 1e-3)):
        adaptive._adapt(kl)
        assert adaptive.learning_rate == pytest.approx(expected)
    annealed = Ppo(env, replace(SMALL, learning_rate=1e-3, target_kl=0.0, anneal_steps=64), seed=0)
    rates = [annealed.update(env)["learning_rate"] for _ in range(4)]  # 16 steps each
    assert rates == pytest.approx([0.75e-3, 0.5e-3, 0.25e-3, 0.0])


def test_the_spread_falls_to_what_the_schedule_allows() -> None:
    env = paddock.make("cartpole-balance", num_worlds=2)
    ppo = Ppo(env, replace(SMALL, log_std=-0.5, calm_steps=64, calm_log_std=-2.5, entropy_weight=1.0), seed=0)
    allowed = [-0.5 - 2.0 * min(1.0, update / 4) for update in range(6)]  # 16 steps each
    for limit in allowed:
        ppo._calm()
        assert ppo.policy.log_std.max().item() <= limit + 1e-6
        assert torch.equal(ppo.policy.log_std, ppo._adam.named(ppo._adam.weights)["log_std"])
        ppo.update(env)
        assert ppo.policy.log_std.max().item() > limit - 0.1  # entropy is worth much here: only the schedule holds it down


def test_recomputed_advantages_use_the_critic_of_the_moment() -> None:
    env = paddock.make("cartpole-balance", num_worlds=4)
    weights = []
    for recompute in (False, True):
        env.reset(seed=0)
        ppo = Ppo(env, replace(SMALL, recompute_advantages=recompute), seed=0)
        ppo.update(env)
        weights.append(ppo.state()["policy/actor.0.weight"])
    assert not torch.equal(*weights)


def test_a_truncated_episode_is_valued_by_its_final_observation() -> None:
    env = paddock.make(replace(paddock.find_task("cartpole-balance"), episode_s=0.06), num_worlds=2)  # three steps
    ppo = Ppo(env, SMALL, seed=0)
    ppo._collect(env)
    assert [t for t, *_ in ppo._rollout.cut] == [2, 5]
    final = ppo._rollout.cut[0][2]
    assert not torch.equal(final, ppo._rollout.critic_obs[3])  # which is where the next episode begins


def test_adam_is_pytorchs_on_one_vector() -> None:
    ours, theirs = (ActorCritic({"policy": 3}, 2, hidden=(8, 8), log_std=-0.5) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    adam, reference = Adam(ours), torch.optim.Adam(theirs.parameters(), lr=1e-2, eps=1e-5)
    for step in range(5):
        for net in (ours, theirs):
            net.zero_grad()
            torch.cat([value.flatten() * (step + 1) for value in net.parameters()]).square().sum().backward()
        grad = [value.grad.flatten() for value in ours.parameters() if value.grad is not None]
        adam.step(torch.cat(grad), learning_rate=torch.tensor(1e-2))
        reference.step()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-7)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # of what PyTorch's compiler itself uses
def test_compiled_learning_is_the_same_and_goes_on_bit_for_bit() -> None:
    env = paddock.make("cartpole-balance", num_worlds=8)
    config = replace(SMALL, learn_threads=1, entropy_weight=0.01, value_clip=0.3, recompute_advantages=True)
    plain = Ppo(env, config, seed=0)
    world = env.save()
    plain_numbers = plain.update(env)
    compiled = Ppo(env, replace(config, compiled=True), seed=0)
    env.load(world)
    numbers = compiled.update(env)
    assert numbers == pytest.approx(plain_numbers, rel=1e-3, abs=1e-5)
    for name, value in plain.state().items():
        torch.testing.assert_close(compiled.state()[name], value, rtol=1e-3, atol=1e-5)

    saved, world = compiled.state(), env.save()
    compiled.update(env)
    again = Ppo(env, replace(config, compiled=True), seed=5)
    again.load(saved)
    env.load(world)
    again.update(env)
    assert all(torch.equal(value, again.state()[name]) for name, value in compiled.state().items())


def test_compiled_learning_without_a_compiler_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(PaddockError, match=r"needs a C\+\+ compiler.*apt install"):
        Ppo(paddock.make("cartpole-balance"), replace(SMALL, compiled=True), seed=0)
