"""Networks of parts: what they remember, how they are built like a robot, what a mirror does to them, what they see."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import paddock
from paddock import Environment, Task, controllers
from paddock.anatomy import Reflection
from paddock.controllers import export_controller
from paddock.deploy.controller import Controller
from paddock.errors import PaddockError
from paddock.evaluation import acting
from paddock.learn.actor_critic import ActorCritic, under
from paddock.learn.nets.lstm import Lstm
from paddock.learn.nets.pictures import as_bytes
from paddock.learn.nets.tower import Tower
from paddock.learn.ppo import Ppo
from paddock.learn.ppo_config import PpoConfig, net_of
from paddock.learn.returns import advantages
from paddock.policies import Remembering, forgotten
from test_cameras import ball_task

SMALL = PpoConfig(horizon=12, epochs=2, minibatches=2, hidden=(16, 16), memory_size=8, node_size=8)
SHORT = {"episode_s": 0.1, "privileged": {}}
"""Episodes end several times within a rollout, and critics know nothing that they would not have to remember."""


def blind(**changes: object) -> Task:
    return replace(paddock.find_task("cartpole-swingup-blind"), **changes)


def lively(net: ActorCritic, env: Environment) -> ActorCritic:
    """An untrained policy that does something, and whose normaliser has seen something."""
    with torch.no_grad():
        for name, weight in net.actor.named_parameters():
            if "head" in name or name.startswith(("4", "net.4")):
                weight.mul_(40.0 if weight.ndim == 2 else 1.0)
    step = env.reset()
    for _ in range(10):
        net.policy_norm.observe(step.obs["policy"])
        step = env.step(env.sample())
    return net


def collected(net: str, task: Task, num_worlds: int = 4) -> Ppo:
    """A learner that has begun a rollout with something in its memory, and is about to learn from it."""
    env = paddock.make(task, num_worlds=num_worlds)
    ppo = Ppo(env, replace(SMALL, net=net), seed=0)
    lively(ppo.policy, env)
    ppo._collect(env)
    ppo._learn()
    ppo._collect(env)
    return ppo


def recomputed(ppo: Ppo, began: Tensor) -> Tensor:
    """Log-probabilities as an update computes them; (steps, n)."""
    roll, policy, laid = ppo._rollout, ppo.policy, ppo._laid
    batch = {"policy": policy.policy_norm(laid(roll.policy_obs)), "critic": policy.critic_norm(laid(roll.critic_obs[:-1]))}
    batch |= {"action": laid(roll.action), "began": began} | roll.memory
    with torch.no_grad():
        return policy(batch)[0].T


@pytest.mark.parametrize(
    ("net", "task"), [("lstm", blind(**SHORT)), ("graph+lstm", replace(paddock.find_task("ant-walk"), **SHORT))]
)
def test_an_update_remembers_what_acting_remembered(net: str, task: Task) -> None:
    ppo = collected(net, replace(task, **SHORT))
    roll = ppo._rollout
    assert roll.began[1:-1].any() and not roll.began.all() and all(value.abs().max() > 0.01 for value in roll.memory.values())
    began = roll.began[:-1].T
    torch.testing.assert_close(recomputed(ppo, began), roll.log_prob, rtol=0, atol=1e-5)
    without_reset = (recomputed(ppo, torch.zeros_like(began)) - roll.log_prob).abs()
    first = int(roll.began[:, 0].nonzero()[0])
    assert without_reset[:first, 0].max() < 1e-5 < 1e-3 < without_reset[first:, 0].max()


def test_a_remembering_critic_values_what_a_truncated_episode_would_have_become() -> None:
    """Step by step, one world after another: the value behind a cut comes of the memory before it is forgotten."""
    task = blind(**SHORT, done={"left": lambda state: state.qpos[:, 0] < -0.2})
    ppo = collected("lstm", task, num_worlds=6)
    roll, policy = ppo._rollout, ppo.policy
    assert roll.terminated.any() and roll.cut
    final = {(t, int(world)): last[i] for t, worlds, last, _ in roll.cut for i, world in enumerate(worlds)}
    values, reached = torch.zeros_like(roll.reward), torch.zeros_like(roll.reward)
    estimate = ppo._estimate()
    for world in range(6):
        memory = {name: value[world : world + 1] for name, value in under("critic/", roll.memory).items()}
        for t in range(len(values)):
            if roll.began[t, world]:
                memory = forgotten(memory, torch.ones(1, dtype=torch.bool))
            with torch.no_grad():
                values[t, world], memory = policy.value(roll.critic_obs[t, world][None], {}, memory)
                following = final.get((t, world), roll.critic_obs[t + 1, world])
                reached[t, world], _ = policy.value(following[None], {}, memory)
    expected = advantages(
        reward=roll.reward,
        value=values,
        reached_value=reached,
        terminated=roll.terminated,
        ended=roll.began[1:],
        discount=SMALL.discount,
        trace=SMALL.trace,
    )
    torch.testing.assert_close(estimate["target"].T, expected + values, rtol=0, atol=1e-5)
    torch.testing.assert_close(estimate["value"].T, values, rtol=0, atol=1e-5)


def test_a_critic_that_is_told_need_not_remember() -> None:
    env = paddock.make(blind(), num_worlds=2)
    told = net_of(env, replace(SMALL, net="lstm"))
    assert told.actor.remembers and not told.critic.remembers and list(told.begin(2)) == ["hidden", "cell"]
    assert net_of(paddock.make(blind(privileged={})), replace(SMALL, net="lstm")).critic.remembers


def test_the_gradient_through_time_is_right() -> None:
    torch.manual_seed(0)
    lstm = Lstm(3, 4).double()
    x, hidden, cell = (torch.randn(2, *shape, dtype=torch.double, requires_grad=True) for shape in ((5, 2, 3), (2, 4), (2, 4)))
    began = torch.tensor([[False, False, True, False, False], [False, True, False, False, True]])

    def run(x: Tensor, again: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        given = (x, {"hidden": hidden, "cell": cell}, began)
        out, memory = torch.func.functional_call(lstm, {"again": again}, given)
        return out, memory["cell"]

    assert torch.autograd.gradcheck(run, (x, lstm.again.detach().clone().requires_grad_(), hidden, cell))
    memory = {"hidden": hidden, "cell": cell}
    for t in range(5):  # a sequence is its steps one by one
        out, memory = lstm(x[:, t], forgotten(memory, began[:, t]))
        torch.testing.assert_close(run(x, lstm.again, hidden, cell)[0][:, t], out)


COLOUR = {"front": paddock.terms.Camera(name="front")}
TASKS = {
    "lstm": blind(episode_s=0.3),
    "graph+lstm": paddock.find_task("ant-walk"),
    "cnn+lstm": ball_task(episode_s=0.4, cameras=COLOUR),
}


@pytest.mark.parametrize("net", TASKS)
def test_a_saved_learner_with_parts_goes_on_bit_for_bit(net: str) -> None:
    config = replace(SMALL, net=net, symmetry=net == "graph+lstm")
    env = paddock.make(TASKS[net], num_worlds=4)
    ppo = Ppo(env, config, seed=0)
    ppo.update(env)
    saved, world = ppo.state(), env.save()
    ppo.update(env)
    other_env = paddock.make(TASKS[net], num_worlds=4, seed=5)
    other = Ppo(other_env, config, seed=9)
    other_env.load(world)
    other.load(saved)
    other.update(other_env)
    assert ppo.state().keys() == other.state().keys() and any(name.startswith("memory/actor/") for name in saved)
    assert all(torch.equal(value, other.state()[name]) for name, value in ppo.state().items())


def test_a_controller_remembers_sees_and_is_even(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two exports with all parts, each driving one robot as the policy would."""
    monkeypatch.setattr(controllers, "check_agreement", partial(controllers.check_agreement, steps=200))  # drawing takes its time
    ant, ball = replace(paddock.find_task("ant-walk"), episode_s=1.0), ball_task(episode_s=1.0, cameras=COLOUR)
    for net, task in (("graph+lstm", ant), ("cnn+lstm", ball)):
        env = paddock.make(task, num_worlds=4, seed=3)
        torch.manual_seed(1)
        policy = lively(net_of(env, replace(SMALL, net=net, symmetry="graph" in net)), env)
        manifest = export_controller(env, policy, tmp_path / net)
        assert 0 < manifest.agreement.worst <= 1e-5 and manifest.agreement.episodes > 8
        inputs = {entry.name: entry for entry in manifest.inputs}
        assert inputs["carried/memory/policy/hidden"].source == "carried" and "memory/policy/cell" in {
            o.name for o in manifest.outputs
        }
        pictures = [name for name, entry in inputs.items() if entry.source == "camera"]
        assert pictures == list(policy.pictures) and (not pictures or inputs["camera/front/rgb"].dtype == "uint8")

        one, controller, act = paddock.make(task, seed=9), Controller.open(tmp_path / net), acting(policy)
        one.reset()
        controller.reset(key=int(one.state.key))
        actions = []
        for _ in range(30):
            readings = {
                r.name: (one.obs[r.name] if r.name in pictures else one.state.sensor(r.name))[0].numpy() for r in manifest.required
            }
            ctrl = controller.act(readings, {name: value[0].numpy() for name, value in one.state.command.items()})
            actions.append(act(one))
            ended = one.step(actions[-1]).ended
            if ended:
                controller.reset(key=int(one.state.key))
            else:
                np.testing.assert_allclose(ctrl, one.state.ctrl[0].numpy(), rtol=0, atol=2e-5)
        assert torch.cat(actions).std(0).mean() > 0.01  # one that does nothing agrees too easily


def test_a_policy_with_memory_is_not_asked_without() -> None:
    env = paddock.make(blind(), num_worlds=3)
    policy = lively(net_of(env, replace(SMALL, net="lstm")), env)
    assert isinstance(policy, Remembering)
    with pytest.raises(PaddockError, match=r"act\(obs\) alone is not enough.*policy.begin"):
        policy.act(env.reset().obs)
    act, memory = acting(policy), policy.begin(3)
    for _ in range(3):
        action, memory = policy.decide(env.obs, memory)
        assert torch.equal(act(env), action.clamp(-1, 1))
        env.step(action)
    env.reset()
    assert torch.equal(act(env), policy.decide(env.obs, policy.begin(3))[0].clamp(-1, 1))  # it begins anew


def test_nodes_feel_their_own_joint_and_act_on_it() -> None:
    env = paddock.make("quadruped-walk", num_worlds=2)
    plan = env.anatomy.plan
    assert plan.nodes[:4] == ("root", "fl_hip", "fl_thigh", "fl_knee") and plan.action == tuple(range(1, 13))
    spans = dict(zip(env.task.observe, (3, 3, 3, 12, 12, 12), strict=True))
    assert plan.obs["policy"] == tuple(node for size in spans.values() for node in (range(1, 13) if size == 12 else [0] * 3))
    assert plan.hops[3][0] == 3 and plan.hops[3][12] == 6 and plan.hops[1][2] == 1
    noisy = paddock.make(replace(env.task, history={"joint_vel": 2}))
    assert len(noisy.anatomy.plan.obs["policy"]) == noisy.obs_sizes["policy"]

    net = lively(net_of(env, replace(SMALL, net="graph")), env)
    seen = torch.randn(1, env.obs_sizes["policy"]).repeat(2, 1)
    seen[1, plan.obs["policy"].index(3)] += 1.0  # the front left knee
    with torch.no_grad():
        everywhere = (net.actor(seen, {}, {})[0].diff(dim=0).abs() > 1e-6)[0]
        for name, weight in net.actor.named_parameters():
            if "answer" in name:
                weight.zero_()
        alone = (net.actor(seen, {}, {})[0].diff(dim=0).abs() > 1e-6)[0]
    assert everywhere.all() and alone.tolist() == [i == 2 for i in range(12)]


def test_robots_of_any_kind_have_a_plan() -> None:
    arm = paddock.make("arm-push").anatomy.plan  # its actions move the tool, not joints
    assert arm.action == (0, 0, 0) and arm.nodes[1] == "joint1" and arm.hops[1][7] == 6
    cartpole = paddock.make("cartpole-swingup-blind")
    assert cartpole.anatomy.plan.nodes == ("root",)
    actor = net_of(cartpole, replace(SMALL, net="graph")).actor
    assert isinstance(actor, Tower) and isinstance(actor.body, torch.nn.Identity)  # nobody to attend to


def reflect(reflection: Reflection, values: Tensor) -> Tensor:
    return values[..., list(reflection.sources)] * torch.tensor(reflection.signs)


@pytest.mark.parametrize("name", ["quadruped-walk", "humanoid-walk"])
def test_mirror_images_stay_mirror_images_through_the_physics(name: str) -> None:
    """A robot that starts as the mirror image of another and is told mirrored actions sees mirrored things and earns the same."""
    env = paddock.make(replace(paddock.find_task(name), randomize={}), num_worlds=2, seed=1)
    mirror, state = env.anatomy.mirror, env.state
    env.reset()
    for name, own, where, free in (
        ("qpos", state.qpos, state.layout.qpos, (1, -1, 1, 1, -1, 1, -1)),
        ("qvel", state.qvel, state.layout.qvel, (1, -1, 1, -1, 1, -1)),
    ):
        image, joints = own[0].clone(), [where[joint].start for joint in env.task.robot.joints]
        image[: len(free)] *= torch.tensor(free)
        image[joints] = reflect(mirror.action, own[0, joints])  # every joint of these robots is driven
        env.sim.write(name, torch.stack([own[0], image]))
    state.command["velocity"][1] = state.command["velocity"][0] * torch.tensor([1.0, -1.0, -1.0])
    if "clock" in state.memory:
        state.memory["clock"][1] = (state.memory["clock"][0] + 0.5) % 1.0
    random, step = torch.Generator().manual_seed(0), None
    for _ in range(15):
        action = 0.5 * torch.randn(1, env.action_size, generator=random)
        step = env.step(torch.cat([action, reflect(mirror.action, action)]))
        for group, value in step.obs.items():
            torch.testing.assert_close(reflect(mirror.obs[group], value[0]), value[1], rtol=1e-3, atol=2e-3)
    assert step is not None and not torch.allclose(step.obs["policy"][0], step.obs["policy"][1], atol=0.05)
    for term in step.terms.values():
        torch.testing.assert_close(term[0], term[1], rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("net", ["mlp", "graph+lstm"])
def test_a_mirrored_policy_is_exactly_even(net: str) -> None:
    env = paddock.make("quadruped-walk", num_worlds=4)
    policy, mirror = lively(net_of(env, replace(SMALL, net=net, symmetry=True)), env), env.anatomy.mirror
    memory, image_memory = policy.begin(4), policy.begin(4)
    step = env.reset()
    for _ in range(5):
        image = {group: reflect(mirror.obs[group], value) for group, value in step.obs.items()}
        with torch.no_grad():
            action, memory = policy.decide(step.obs, memory)
            answer, image_memory = policy.decide(image, image_memory)
            value, _ = policy.value(torch.cat(list(step.obs.values()), 1), {}, {})
            image_value, _ = policy.value(torch.cat(list(image.values()), 1), {}, {})
        torch.testing.assert_close(answer, reflect(mirror.action, action), rtol=0, atol=1e-6)
        torch.testing.assert_close(image_value, value, rtol=0, atol=1e-6)
        assert action.abs().max() > 0.05
        step = env.step(action)
    image = {group: reflect(mirror.obs[group], value) for group, value in step.obs.items()}
    plain = lively(net_of(env, replace(SMALL, net="mlp")), env)
    assert (plain.decide(image, {})[0] - reflect(mirror.action, plain.decide(step.obs, {})[0])).abs().max() > 0.01


def test_robots_and_tasks_without_a_mirror_say_why() -> None:
    lopsided = replace(paddock.find_task("quadruped-walk"))
    mute = replace(lopsided, command={"velocity": replace(lopsided.command["velocity"], mirror=())})  # pyright: ignore
    bent = Path(str(lopsided.robot.xml)).read_text().replace('name="fl_thigh" pos="0 0.085 0"', 'name="fl_thigh" pos="0 0.1 0"')
    for task, words in (
        (paddock.find_task("arm-reach"), "robot 'arm' has no base that floats"),
        (mute, "nobody knows what its observation 'command' is in a mirror"),
        (replace(lopsided, robot=replace(lopsided.robot, xml=bent)), "joint 'fl_thigh' of robot 'quadruped' has no counterpart"),
    ):
        with pytest.raises(PaddockError, match=words):
            Ppo(paddock.make(task), replace(SMALL, symmetry=True), seed=0)


def test_pictures_are_kept_as_bytes_and_learned_from() -> None:
    env = paddock.make(ball_task(episode_s=0.3), num_worlds=4)
    ppo = Ppo(env, replace(SMALL, net="cnn"), seed=0)
    before = ppo.state()
    ppo.update(env)
    assert {group: (value.dtype, *value.shape[:2]) for group, value in ppo._rollout.pictures.items()} == {
        f"camera/front/{kind}": (torch.uint8, 13, 4) for kind in ("rgb", "depth", "segmentation")
    }
    after = ppo.state()
    assert all(not torch.equal(before[name], after[name]) for name in after if "eyes" in name and name.endswith("weight"))
    depth = as_bytes("camera/front/depth", torch.tensor([0.0, 1.0, 9.0, torch.inf]).view(1, 4, 1))
    assert depth.flatten().tolist() == [255, 127, 25, 0] and torch.equal(as_bytes("camera/front/depth", depth), depth)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"net": "lstn"}, "unknown part of ppo.net 'lstn'. Did you mean 'lstm'"),
        ({"net": "graph", "node_size": 6}, "ppo.node_size is 6; wanted a multiple of 4"),
        ({"net": "cnn"}, "asks for cnn, but this task has no cameras"),
        ({"net": "lstm", "compiled": True}, "cannot compile the steps of a memory through time"),
        ({"net": "lstm", "minibatches": 3}, "learns from whole worlds, and there are 2"),
    ],
)
def test_what_cannot_be_built_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(PaddockError, match=words):
        Ppo(paddock.make("cartpole-swingup-blind", num_worlds=2), replace(SMALL, **changes), seed=0)
