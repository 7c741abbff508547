"""Each task is possible, and not by chance; the vocabulary means what it says."""

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch

import paddock
from models import OWN_TASKS, pole_task
from paddock import State
from paddock import terms as t
from paddock.contracts import Term
from paddock.playing import play
from paddock.robots import QUADRUPED, ROBOTS
from paddock.tasks import gait
from paddock.tasks.finding import find_task

WITH_SUCCESS = [name for name in OWN_TASKS if find_task(name).success is not None]
EPISODES = 60


@pytest.mark.parametrize("name", WITH_SUCCESS)
def test_a_task_is_possible_and_not_by_chance_and_rewards_who_does_it(name: str) -> None:
    scripted, zero, random = (
        play(name, agent=agent, episodes=EPISODES, num_worlds=EPISODES, seed=seed)
        for agent, seed in (("scripted", 3), ("zero", 4), ("random", 4))
    )
    assert scripted.success is not None and scripted.success.count >= 0.95 * EPISODES
    for score in (zero, random):
        assert score.success is not None and score.success.count < 0.1 * EPISODES
        assert score.mean_return < scripted.mean_return


def test_quadruped_balance_has_the_37_observations_it_promises() -> None:
    env = paddock.make("quadruped-balance")
    env.reset()
    sizes = {name: value.shape[1] for name, value in env.task.observed(env.state).items()}
    assert sizes == {"joint_pos": 12, "joint_vel": 12, "contact": 4, "gravity": 3, "gyro": 3, "goal": 3}
    assert env.action_size == 12 and env.obs_sizes["policy"] == 37


def test_a_goal_lies_one_to_three_metres_away_in_any_direction() -> None:
    env = paddock.make("quadruped-balance", num_worlds=500)
    env.reset()
    vector = t.GoalVector()(env.state)
    distance = vector[:, :2].norm(dim=1)
    assert distance.min() >= 1.0 - 1e-4 and distance.max() <= 3.0 + 1e-4
    quadrants = {(bool(x > 0), bool(y > 0)) for x, y in vector[:, :2].tolist()}
    assert len(quadrants) == 4
    # the vector turns with the base: rotating it back by the base's heading gives the world offset
    offset = env.state.memory["goal"] - env.state.sensor("base_pos")[:, :2]
    w, x, y, z = env.state.qpos[:, 3:7].unbind(1)
    yaw = torch.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    back = torch.stack(
        [yaw.cos() * vector[:, 0] - yaw.sin() * vector[:, 1], yaw.sin() * vector[:, 0] + yaw.cos() * vector[:, 1]], dim=1
    )
    torch.testing.assert_close(back, offset, rtol=0, atol=1e-4)


def test_the_quadruped_is_the_machine_it_says() -> None:
    model = paddock.make("quadruped-balance").model
    assert model.body_subtreemass[1] == pytest.approx(12.0, abs=0.5)
    assert model.nu == 12 and model.opt.timestep == 0.005
    inertia = model.body_inertia[1:]
    assert (inertia > 0).all() and (2 * inertia.max(axis=1) <= inertia.sum(axis=1) + 1e-12).all()  # as of any real body
    names = [model.sensor(i).name for i in range(model.nsensor)]
    expected = [f"{kind}/{joint}" for kind in ("joint_pos", "joint_vel", "joint_torque") for joint in QUADRUPED.joints]
    assert names[:36] == expected and names[-4:] == [f"touch/{leg}" for leg in QUADRUPED.feet]
    assert {"gyro", "accelerometer", "base_vel", "up", "base_pos", "base_quat"} <= set(names)


def test_the_gait_knows_the_legs_of_the_model() -> None:
    """The scripted controller repeats the robot's sizes; a foot must be where its inverse kinematics puts it."""
    env = paddock.make("quadruped-walk")
    model = env.model
    np.testing.assert_allclose(model.actuator_forcerange[:, 1], gait.TORQUE_LIMIT)
    assert pytest.approx(9.81 * model.body_subtreemass[1], rel=0.05) == gait.WEIGHT
    data = mujoco.MjData(model)
    foot = torch.tensor([[[0.03, 0.09, -0.26], [-0.05, -0.08, -0.3], [0.0, 0.1, -0.28], [0.04, -0.1, -0.25]]])
    angles = gait.leg_angles(foot, torch.tensor(gait.HIP_OFFSET))
    data.qpos[:7] = [0, 0, 1, 1, 0, 0, 0]
    data.qpos[7:] = angles.flatten().numpy()
    mujoco.mj_kinematics(model, data)
    for leg, name in enumerate(QUADRUPED.feet):
        hip = data.xpos[1][:2] + np.array([gait.HIP_X[leg], gait.HIP_Y[leg]])
        np.testing.assert_allclose(data.geom(f"{name}_foot").xpos[:2] - hip, foot[0, leg, :2].numpy(), atol=1e-4)


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
def test_a_robot_at_home_rests(robot: paddock.Robot) -> None:
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    low, high = model.jnt_range.T
    limited = model.jnt_limited.astype(bool)
    joints = np.array([data.qpos[model.jnt_qposadr[j]] for j in range(model.njnt)])
    assert ((joints >= low) & (joints <= high))[limited].all()


def test_the_quadruped_stands_at_home() -> None:
    """Held by its servos it settles without a jump and stays level, on four feet."""
    env = paddock.make(replace(find_task("quadruped-walk"), reset=t.NearHome(joint=0, vel=0), randomize={}))
    env.reset()
    for _ in range(100):
        step = env.step(torch.zeros(1, 12))
        assert env.state.qvel.abs().max() < 1.5 and not step.ended.any()
    assert abs(float(t.height(env.state)) - float(env.state.layout.home_qpos[2])) < 0.03
    assert t.upright(env.state)[0] > 0.999 and env.state.qvel.abs().max() < 0.02
    assert t.FootContact()(env.state).tolist() == [[1.0, 1.0, 1.0, 1.0]]


def other_robot(worldbody: str, actuator: str = "", compiler: str = "") -> paddock.Environment:
    xml = f"<mujoco>{compiler}<worldbody>{worldbody}</worldbody><actuator>{actuator}</actuator></mujoco>"
    joints = tuple(part.split('"')[0] for part in actuator.split('name="')[1:])
    robot = paddock.Robot(name="other", xml=xml, joints=joints, gains=(10.0, 1.0))
    act = t.JointPosition() if joints else t.JointTorque()
    return paddock.make(pole_task(robot=robot, act=act, done={}, observe={"qpos": lambda state: state.qpos}), num_worlds=3)


def test_a_nudge_stays_within_a_joints_limits() -> None:
    jaw = '<body name="{0}"><joint name="{0}" type="slide" {1}/><geom size=".1" mass="1"/></body>'
    bodies = jaw.format("narrow", 'range="0 .05"') + jaw.format("wide", 'range="-1 1"') + jaw.format("free", "")
    xml = f'<mujoco><worldbody>{bodies}</worldbody><actuator><motor name="wide" joint="wide" ctrlrange="-1 1"/></actuator></mujoco>'
    robot = paddock.Robot(name="jaws", xml=xml, joints=("wide",))
    env = paddock.make(pole_task(robot=robot, observe={"x": t.joint_command}, done={}, scene=t.bare), num_worlds=256)
    env.reset()
    narrow, wide, free = env.state.qpos.unbind(1)
    assert narrow.min() >= 0.0 and narrow.max() <= 0.05 and narrow.std() > 0.05 / 12**0.5 * 0.9
    assert all(end.abs() > 0.095 for joint in (wide, free) for end in (joint.min(), joint.max()))


def test_robots_of_other_kinds() -> None:
    """Several unnamed free joints, a ball joint, no actuators and no sensors."""
    free = '<body pos="{x} 0 1"><freejoint/><geom size=".1"/></body>'
    ball = '<body pos="0 2 1"><joint type="ball"/><geom size=".1" pos="0 0 .2"/></body>'
    env = other_robot("".join(free.format(x=x) for x in range(3)) + ball)
    env.reset()
    for start in (3, 10, 17, 21):
        torch.testing.assert_close(env.state.qpos[:, start : start + 4].norm(dim=1), torch.ones(3), rtol=0, atol=1e-6)
    assert torch.equal(env.state.qpos[:, [0, 7, 14]], torch.tensor([[0.0, 1.0, 2.0]] * 3))
    env.step(torch.zeros(3, 0))


def test_joint_position_knows_degrees_gears_and_wheels() -> None:
    body = (
        '<body><joint name="arm" axis="0 1 0" range="-45 45"/><geom size=".1" pos="0 0 .2"/>'
        '<body pos="0 0 .4"><joint name="wheel" axis="0 1 0"/><geom size=".1"/></body></body>'
    )
    motors = '<motor name="arm" joint="arm" ctrlrange="-1 1" gear="20"/><motor name="wheel" joint="wheel" ctrlrange="-2 2"/>'
    env = other_robot(body, motors)
    np.testing.assert_allclose(env.model.actuator_ctrlrange[0], [-math.pi / 4, math.pi / 4])
    assert not env.model.actuator_ctrllimited[1]
    np.testing.assert_allclose(env.model.actuator_forcerange, [[-20, 20], [-2, 2]])
    assert (env.model.actuator_gear[:, 0] == 1).all()


@pytest.fixture(scope="module")
def env() -> paddock.Environment:
    env = paddock.make("quadruped-walk", num_worlds=3)
    env.reset()
    for _ in range(10):
        env.step(env.sample())
    return env


def fixed(values: list) -> Term:
    return lambda state: torch.tensor(values)


def test_rewards_compute_what_their_names_say(env: paddock.Environment) -> None:
    s = env.state
    flat, vector = fixed([0.0, 1.0, 2.0]), fixed([[3.0, 4.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    assert t.alive(s).tolist() == [1.0, 1.0, 1.0]
    assert t.Distance(vector)(s).tolist() == [5.0, 1.0, 0.0]
    assert t.Distance(vector, axes=2)(s).tolist() == [5.0, 0.0, 0.0]
    assert t.Near(flat, 1.0)(s).tolist() == pytest.approx([1.0, math.exp(-0.5), math.exp(-2.0)])
    assert t.Near(vector, 5.0)(s).tolist() == pytest.approx([math.exp(-0.5), math.exp(-0.02), 1.0])
    assert t.Sparse(fixed([True, False, True]))(s).tolist() == [1.0, 0.0, 1.0]
    assert t.Excess(flat, 0.5, 1.5)(s).tolist() == [0.5, 0.0, 0.5]
    assert t.Excess(vector, high=2.0)(s).tolist() == [3.0, 0.0, 0.0]
    known = s.replaced(action=torch.full((3, 12), 0.5), last_action=torch.zeros(3, 12))
    assert t.action_size(known).tolist() == [3.0] * 3 == t.action_rate(known).tolist()
    work = (s.sensor("joint_torque") * s.sensor("joint_vel")).abs().sum(1)
    assert torch.equal(t.power(s), work)
    assert torch.equal(t.torque(s), s.sensor("joint_torque").square().sum(1))
    assert torch.allclose(t.upright(s) + t.tilt(s), torch.ones(3))
    error = (s.command["velocity"][:, :2] - s.sensor("base_vel")[:, :2]).norm(dim=1)
    assert torch.equal(t.velocity_error(s), error)
    assert torch.equal(t.yaw_error(s), s.command["velocity"][:, 2] - s.sensor("gyro")[:, 2])
    assert torch.equal(t.bounce(s), s.sensor("base_vel")[:, 2].square())
    assert torch.equal(t.wobble(s), s.sensor("gyro")[:, :2].square().sum(1))


def test_conditions_combine(env: paddock.Environment) -> None:
    s, a, b = env.state, fixed([True, True, False]), fixed([True, False, False])
    assert t.AnyOf((a, b))(s).tolist() == [True, True, False]
    assert t.AllOf((a, b))(s).tolist() == [True, False, False]
    assert t.Not(b)(s).tolist() == [False, True, True]
    assert t.Below(fixed([0.0, 1.0, 2.0]), 1.5)(s).tolist() == [True, True, False]
    assert t.Below(fixed([[0.0, 9.0], [1.0, 1.0], [9.0, 9.0]]), 1.5)(s).tolist() == [False, True, False]
    assert t.OutOfBounds(fixed([[0.0, 9.0], [1.0, 1.0], [-1.0, 0.0]]), 0.0, 1.5)(s).tolist() == [True, False, True]


def tipped(env: paddock.Environment, roll_deg: float, pitch_deg: float = 0.0) -> State:
    """The quadruped at an attitude, every sensor fresh."""
    data = mujoco.MjData(env.model)
    data.qpos[:] = env.state.layout.home_qpos.numpy()
    quat, roll, pitch = np.zeros(4), np.zeros(4), np.zeros(4)
    mujoco.mju_axisAngle2Quat(roll, np.array([1.0, 0, 0]), math.radians(roll_deg))
    mujoco.mju_axisAngle2Quat(pitch, np.array([0, 1.0, 0]), math.radians(pitch_deg))
    mujoco.mju_mulQuat(quat, roll, pitch)
    data.qpos[3:7] = quat
    mujoco.mj_forward(env.model, data)
    return env.state.replaced(sensordata=torch.tensor(data.sensordata[None], dtype=torch.float32).expand(3, -1))


def test_attitude_terms(env: paddock.Environment) -> None:
    assert t.gravity(tipped(env, 0))[0].tolist() == pytest.approx([0.0, 0.0, -1.0], abs=1e-6)
    assert t.Roll(target_deg=20)(tipped(env, 20))[0] == pytest.approx(1.0, abs=1e-4)  # right side down
    assert t.Roll(target_deg=20, margin_deg=15)(tipped(env, 5))[0] == pytest.approx(math.exp(-0.5), abs=1e-3)
    assert t.Roll(target_deg=20)(tipped(env, -20))[0] < 0.1
    assert t.Fell(tilt_deg=60)(tipped(env, 0, 61))[0] and not t.Fell(tilt_deg=60)(tipped(env, 0, 59))[0]
    assert t.upright(tipped(env, 60))[0] == pytest.approx(0.5, abs=1e-4)
    assert t.upright(tipped(env, 170))[0] == 0.0


def test_memories_over_time() -> None:
    def settled(state: State) -> torch.Tensor:
        return state.age % 4 != 0

    task = pole_task(
        episode_s=1.0,
        done={},
        memory={
            "held": t.Held(settled),
            "tracked": t.Tracked(lambda state: state.age.to(torch.float32) ** 2),
            "total": t.Total(lambda state: state.age.to(torch.float32)),
        },
        reward={"progress": (1.0, t.Progress("tracked"))},
        success=t.HeldFor(timer="held", seconds=0.06),
        observe={"mean": t.Mean("total"), "held": t.Remembered("held")},
    )
    env = paddock.make(task, num_worlds=2)
    env.reset()
    for age in range(1, 20):
        step = env.step(torch.zeros(2, 1))
        held = (age % 4) * 0.02
        assert env.state.memory["held"][0] == pytest.approx(held)
        assert bool(step.success[0]) == (age % 4 == 3)
        assert step.reward[0] == pytest.approx((age - 1) ** 2 - age**2)
        assert step.obs["policy"][0, 0] == pytest.approx(sum(range(1, age + 1)) / age)


def test_walk_counts_mean_error_over_the_episode() -> None:
    env = paddock.make(replace(find_task("quadruped-walk"), episode_s=2.0), num_worlds=4)
    env.reset()
    assert env.task.expert is not None
    steps = [env.step(env.task.expert(env.state)) for _ in range(100)]
    assert steps[-1].truncated.all()
    # track = exp(-e^2 / (2 * 0.35^2)), so the error it came from can be computed back
    mean = torch.stack([(-2 * 0.35**2 * step.terms["track"].log()).sqrt() for step in steps]).mean(0)
    assert steps[-1].success.tolist() == (mean < 0.25).tolist()


def test_a_joint_position_action_is_a_target_around_home() -> None:
    env = paddock.make("quadruped-walk")
    home = env.state.layout.home_joint
    assert torch.equal(env.task.act(env.state.replaced(action=torch.zeros(1, 12)))[0], home)
    one = env.task.act(env.state.replaced(action=torch.ones(1, 12)))[0]
    low, high = torch.from_numpy(env.model.actuator_ctrlrange).float().T
    torch.testing.assert_close(one, (home + 0.5).clamp(low, high))
    stiffness, damping = QUADRUPED.gains_of("fl_hip") or (0.0, 0.0)
    assert (env.model.actuator_gainprm[:, 0] == stiffness).all()
    assert (env.model.actuator_biasprm[:, 1] == -stiffness).all() and (env.model.actuator_biasprm[:, 2] == -damping).all()


def test_a_torque_action_spans_the_actuators_range() -> None:
    env = paddock.make("quadruped-balance")
    ctrl = env.task.act(env.state.replaced(action=torch.full((1, 12), -0.5)))
    torch.testing.assert_close(ctrl[0], torch.from_numpy(env.model.actuator_ctrlrange[:, 0]).float() * 0.5)
