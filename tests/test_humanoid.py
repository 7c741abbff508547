"""The humanoid is the person it says, stands by balance alone, and steps to a clock."""

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch

import paddock
from models import world_of
from paddock import terms as t
from paddock.robots.humanoid import GAINS, HUMANOID, JOINTS, joint_kind
from paddock.tasks import humanoid_control as control
from paddock.tasks.finding import find_task
from paddock.tasks.humanoid_gait import Footing, Stride
from paddock.tasks.striding import Clock, ClockHands, InStep, OffStride, Swing

HEIGHT, MASS = 1.7, 70.0


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return HUMANOID.spec().compile()


@pytest.fixture(scope="module")
def walk() -> paddock.Environment:
    env = paddock.make("humanoid-walk", num_worlds=8, seed=2)
    env.reset()
    return env


def quiet(name: str) -> paddock.Task:
    """A task from exactly its home pose, with nothing drawn at random but its commands."""
    return replace(find_task(name), reset=t.NearHome(joint=0, vel=0, turn=False), randomize={})


def test_it_is_the_machine_it_says(model: mujoco.MjModel) -> None:
    assert model.body_subtreemass[1] == pytest.approx(MASS, abs=0.5)
    assert model.nu == 21 and model.opt.timestep == 0.005
    inertia = model.body_inertia[1:]
    assert (inertia > 0).all() and (2 * inertia.max(axis=1) <= inertia.sum(axis=1) + 1e-12).all()  # as of any real body
    names = [model.sensor(i).name for i in range(model.nsensor)]
    expected = [f"{kind}/{joint}" for kind in ("joint_pos", "joint_vel", "joint_torque") for joint in JOINTS]
    imu = ["gyro", "accelerometer", "base_vel", "up", "base_pos", "base_quat"]
    assert names == [*expected, *imu, "touch/left", "touch/right"]


def test_it_has_the_proportions_of_a_person(model: mujoco.MjModel) -> None:
    """Stretched out, by Winter's fractions of height and mass."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)  # all joints at zero: straight legs and arms
    sole = data.geom("left_foot").xpos[2] - model.geom("left_foot").size[2]

    def above(name: str) -> float:
        return data.body(name).xpos[2] - sole

    visible = [i for i in range(model.ngeom) if model.geom_group[i] == 2]
    tallest = max(data.geom_xpos[i, 2] + model.geom_aabb[i, 5] for i in visible) - sole
    assert tallest == pytest.approx(HEIGHT, abs=0.04)
    for body, fraction in (("left_thigh", 0.53), ("left_shank", 0.285), ("left_foot", 0.039), ("left_upper_arm", 0.818)):
        assert above(body) == pytest.approx(fraction * HEIGHT, abs=0.02)
    for body, fraction in (("thigh", 0.1), ("shank", 0.0465), ("foot", 0.0145), ("upper_arm", 0.028), ("forearm", 0.022)):
        assert model.body(f"left_{body}").mass[0] == pytest.approx(fraction * MASS, rel=0.01)


def test_left_and_right_are_mirror_images(model: mujoco.MjModel) -> None:
    """A mirrored pose puts every body where the other side's was: sides swapped, yaw and roll negated."""
    data, mirrored = mujoco.MjData(model), mujoco.MjData(model)
    rng = np.random.default_rng(0)
    for joint in JOINTS:
        low, high = model.joint(joint).range
        other = joint.replace("left", "RIGHT").replace("right", "left").replace("RIGHT", "right")
        sign = -1.0 if joint.endswith(("yaw", "roll")) else 1.0
        np.testing.assert_allclose(np.sort(sign * model.joint(other).range), [low, high])
        data.joint(joint).qpos[0] = rng.uniform(low, high)
        mirrored.joint(other).qpos[0] = sign * data.joint(joint).qpos[0]
    for one in (data, mirrored):
        mujoco.mj_forward(model, one)
    for body in ("torso", *(f"{side}_{part}" for side in ("left", "right") for part in ("forearm", "foot"))):
        other = body.replace("left", "RIGHT").replace("right", "left").replace("RIGHT", "right")
        np.testing.assert_allclose(mirrored.body(other).xipos, data.body(body).xipos * [1, -1, 1], atol=1e-9)


def test_home_stands_on_both_soles() -> None:
    env = paddock.make(quiet("humanoid-stand"))
    env.reset()
    _, data = world_of(env, 0)
    assert sorted(data.geom(c.geom[1]).name for c in data.contact) == ["left_foot"] * 4 + ["right_foot"] * 4
    assert all(-0.002 < c.dist < 0 for c in data.contact)
    centre, foot = data.subtree_com[1][0], data.geom("left_foot").xpos[0]
    assert abs(centre - foot) < 0.05  # over the soles, with room before and behind


def test_servos_have_their_joints_gains() -> None:
    model = paddock.make("humanoid-walk").model
    for i, joint in enumerate(JOINTS):
        stiffness, damping = GAINS[joint_kind(joint)]
        assert model.actuator_gainprm[i, 0] == stiffness and model.actuator_biasprm[i, 2] == -damping


def test_servos_hold_the_pose_but_only_balance_keeps_it_up() -> None:
    """The pose sags a little in the first half second; then the body tips, unless the feet answer."""
    env = paddock.make(quiet("humanoid-stand"))
    env.reset()
    for _ in range(25):
        env.step(torch.zeros(1, 21))
    assert t.joint_offset(env.state).abs().max() < 0.15 and t.upright(env.state)[0] > 0.98
    assert any(env.step(torch.zeros(1, 21)).terminated[0] for _ in range(200))
    env.reset()
    expert = control.Balance()
    for _ in range(300):
        assert not env.step(expert(env.state)).ended[0]
    assert t.upright(env.state)[0] > 0.999 and env.state.qvel.abs().max() < 0.05
    assert t.FootContact()(env.state).tolist() == [[1.0, 1.0]]


def test_balance_knows_the_body_of_the_model() -> None:
    """The controller repeats the robot's sizes, and finds its capture point where the engine has it."""
    env = paddock.make(quiet("humanoid-stand"))
    env.reset()
    model, data = world_of(env, 0)
    assert pytest.approx(9.81 * model.body_subtreemass[1]) == control.WEIGHT
    assert abs(data.body("left_thigh").xpos - data.body("left_shank").xpos)[2] < control.LINK
    hip, ankle = data.body("left_thigh").xpos, data.body("left_foot").xpos
    np.testing.assert_allclose(data.subtree_com[1] - [hip[0], 0, hip[2]], [control.CENTRE[0], 0, control.CENTRE[1]], atol=2e-3)
    assert pytest.approx(math.sqrt((data.subtree_com[1][2] - ankle[2]) / 9.81), rel=0.01) == control.TIME
    balance = control.Balance(beyond=0.0, heel=-1.0, toe=1.0, side=1.0)
    ahead, left = balance.pressure(env.state)  # at rest, and pressing no further: under the centre of mass
    assert ahead[0] == pytest.approx(data.subtree_com[1][0] - ankle[0], abs=2e-3) and left[0] == pytest.approx(0.0, abs=1e-5)


def test_feet_feel_the_weight_and_the_ground() -> None:
    env = paddock.make(quiet("humanoid-stand"))
    env.reset()
    expert = control.Balance()
    for _ in range(150):
        env.step(expert(env.state))
    assert env.state.sensor("touch").sum() == pytest.approx(control.WEIGHT, rel=0.02)


def test_pushes_of_the_task_tip_a_body_that_holds_its_pose() -> None:
    """Negative control of the expert: blind to tilt and speed, the same legs fall."""
    task = find_task("humanoid-stand")
    blind = control.Balance(beyond=-1.0, level=0.0, level_rate=0.0)
    env = paddock.make(task, num_worlds=20, seed=3)
    env.reset()
    fell = torch.zeros(20, dtype=torch.bool)
    for _ in range(task.episode_steps - 1):
        fell |= env.step(blind(env.state)).terminated
    assert fell.float().mean() > 0.9


def test_the_clock_runs_in_its_period(walk: paddock.Environment) -> None:
    clock = walk.task.memory["clock"]
    assert isinstance(clock, Clock)
    walk.reset()
    before = walk.state.memory["clock"].clone()
    assert before.std() > 0.1  # strides begin anywhere
    walk.step(torch.zeros(8, 21))
    ahead = (walk.state.memory["clock"] - before) % 1.0
    torch.testing.assert_close(ahead, torch.full((8,), 0.02 / clock.period))
    assert ((walk.state.memory["clock"] >= 0) & (walk.state.memory["clock"] < 1)).all()


def at(env: paddock.Environment, clock: list[float], **changes: torch.Tensor) -> paddock.State:
    value = torch.tensor(clock)
    state = env.state.replaced(memory={**env.state.memory, "clock": value.repeat(8 // len(clock))})
    return state.replaced(**changes) if changes else state


def test_one_leg_swings_while_the_other_stands(walk: paddock.Environment) -> None:
    state = at(walk, [0.0, 0.25, 0.5, 0.75])
    expected = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    torch.testing.assert_close(Swing()(state)[:4], expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(ClockHands()(state)[:2], torch.tensor([[0.0, 1.0], [1.0, 0.0]]), rtol=0, atol=1e-6)


def test_in_step_pays_for_the_lifted_foot(walk: paddock.Environment) -> None:
    sensordata = walk.state.sensordata.clone()
    sensordata[:, walk.state.layout.sensors["touch"]] = torch.tensor([0.0, 300.0])  # the left foot is in the air
    state = at(walk, [0.25, 0.75], sensordata=sensordata)
    assert InStep()(state)[:2].tolist() == [1.0, 0.0]


def test_diagonals_of_a_trot_are_lifted_together() -> None:
    env = paddock.make("quadruped-walk-rough", num_worlds=4)
    env.reset()
    term = env.task.reward["in_step"][1]
    sensordata = env.state.sensordata.clone()
    for foot, newtons in {"fl": 0.0, "fr": 50.0, "hl": 50.0, "hr": 0.0}.items():
        sensordata[:, env.state.layout.sensors[f"touch/{foot}"]] = newtons
    clock = torch.tensor([0.25, 0.75, 0.2, 0.9])
    state = env.state.replaced(sensordata=sensordata, memory={**env.state.memory, "clock": clock})
    assert term(state).tolist() == [1.0, 0.0, 1.0, 0.0]


def test_stride_keeps_the_sole_level(walk: paddock.Environment) -> None:
    """Hip, knee and ankle of the pattern add up to nothing; at home and between two steps it asks for nothing."""
    term = find_task("humanoid-walk").reward["stride"][1]
    assert isinstance(term, t.Near) and isinstance(term.of, OffStride)
    pattern = term.of
    assert [JOINTS[i] for i in pattern.columns[:3]] == ["left_hip_pitch", "left_knee", "left_ankle_pitch"]
    sensordata = walk.state.layout.home_sensordata.expand(8, -1)
    off = pattern(at(walk, [0.25, 0.0], sensordata=sensordata))
    fold = pattern.fold
    torch.testing.assert_close(off[0], torch.tensor([fold, -2 * fold, fold, 0, 0, 0]), rtol=0, atol=1e-6)
    torch.testing.assert_close(off[1], torch.zeros(6), rtol=0, atol=1e-6)


def test_footing_is_where_the_engine_has_it() -> None:
    """The centre of mass, hip and knee over the stance ankle, in a bent pose; exact for the leg, near for the centre."""
    env = paddock.make(quiet("humanoid-walk"))
    env.reset()
    model, data = world_of(env, 0)
    for joint, angle in {"left_hip_pitch": -0.5, "left_knee": 0.7, "left_hip_roll": 0.1, "right_hip_roll": 0.1}.items():
        data.joint(joint).qpos[0] = angle
    data.qvel[:3] = [0.4, -0.2, 0.0]
    mujoco.mj_forward(model, data)
    state = env.state.replaced(sensordata=torch.tensor(data.sensordata[None], dtype=torch.float32))
    for stance, side in ((1.0, "left"), (-1.0, "right")):
        footing = Footing.on(torch.tensor([stance]), state)
        ankle = data.body(f"{side}_foot").xpos
        hip, knee = data.body(f"{side}_thigh").xpos - ankle, data.body(f"{side}_shank").xpos - ankle
        told = torch.cat([footing.hip_x, footing.hip_y, footing.hip_z, footing.knee_x])
        np.testing.assert_allclose(told.numpy(), [*hip, knee[0]], atol=5e-3)
        centre = data.subtree_com[1] - ankle
        assert footing.x[0] == pytest.approx(centre[0], abs=0.03) and footing.y[0] == pytest.approx(centre[1], abs=0.03)
        assert [footing.vel_x.item(), footing.vel_y.item()] == pytest.approx([0.4, -0.2], abs=1e-3)


def test_footholds_answer_speed() -> None:
    """Faster than wanted, the foot lands further ahead; drifting to the left, further left; and feet never cross."""
    walk = Stride(period=0.64)
    zero = torch.zeros(3)
    parts = dict.fromkeys(("x", "y", "hip_x", "hip_y", "hip_z", "knee_x", "knee_z"), zero)
    footing = Footing(**parts, vel_x=torch.tensor([0.0, 0.3, 0.0]), vel_y=torch.tensor([0.0, 0.0, 0.3]))
    x, y = walk.foothold(footing, zero, torch.zeros(3, 3), zero + 1.0, torch.ones(3))
    assert x[1] - x[0] == pytest.approx(0.3 * control.TIME, abs=1e-5) and y[2] - y[0] == pytest.approx(0.3 * control.TIME, abs=1e-5)
    away = Footing(**parts, vel_x=zero, vel_y=torch.full((3,), -2.0))
    assert (walk.foothold(away, zero, torch.zeros(3, 3), zero + 1.0, torch.ones(3))[1] >= -0.02 - 1e-6).all()


def test_the_scripted_walk_lifts_its_feet_in_turn_and_gets_there() -> None:
    task = replace(quiet("humanoid-walk"), command={"velocity": t.UniformCommand(low=(0.6, 0, 0), high=(0.6, 0, 0), every_s=60)})
    env = paddock.make(task, num_worlds=4, seed=1)
    env.reset()
    assert task.expert is not None
    start, in_step = env.state.sensor("base_pos").clone(), []
    for _ in range(400):
        step = env.step(task.expert(env.state))
        assert not step.terminated.any()
        in_step.append(InStep()(env.state))
    gone = (env.state.sensor("base_pos") - start)[:, :2]
    assert (gone[:, 0] > 0.8 * 0.6 * 8.0).all() and (gone[:, 1].abs() < 1.0).all()
    assert torch.stack(in_step[50:]).mean() > 0.75
