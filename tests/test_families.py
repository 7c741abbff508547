"""Tasks for any robot: one definition serves ours and a stranger's, and a run remembers which robot it was."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import torch

import paddock
from models import pole_task
from paddock import terms as t
from paddock.configuring import TrainConfig
from paddock.errors import PaddockError, UnknownName
from paddock.learn.ppo_config import PpoConfig
from paddock.robots import QUADRUPED, quadruped
from paddock.robots.finding import find_robot
from paddock.sources import task_of
from paddock.tasks.finding import find_task, of_family
from paddock.trained import find

SMALL = TrainConfig(
    steps=64, num_worlds=8, num_threads=1, evaluate_episodes=2, ppo=PpoConfig(horizon=8, epochs=1, minibatches=1, hidden=(8,))
)
DOG = """
from paddock import Robot, robots

OURS = robots.QUADRUPED.xml, robots.QUADRUPED.joints, robots.QUADRUPED.feet
DOG = Robot(name="dog", xml=OURS[0], joints=OURS[1], feet=OURS[2], base="trunk", gains=(40.0, 1.0))
"""


@pytest.fixture
def dog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dog.py").write_text(DOG)
    return tmp_path


def test_our_quadruped_walks_by_the_definition_that_serves_any_robot() -> None:
    ours, any_robots = find_task("quadruped-walk"), find_task("walk@quadruped")
    assert replace(ours, expert=None) == any_robots
    assert ours.expert is not None


def test_a_strangers_robot_gets_the_task(dog: Path) -> None:
    task = find_task("walk@dog.py")
    assert task.name == "dog-walk" and task.robot.gains == (40.0, 1.0)
    env = paddock.make("stand@dog.py:DOG", num_worlds=2)
    env.reset()
    assert env.step(env.sample()).obs["policy"].isfinite().all()
    assert (env.model.actuator_gainprm[:, 0] == 40.0).all()


def test_a_run_finds_its_robot_again_in_its_own_copy(dog: Path) -> None:
    run = paddock.train("stand@dog.py", config=SMALL)
    (dog / "dog.py").write_text("raise RuntimeError('gone')\n")
    again = find(run.path.name)
    assert task_of(again.folder).name == "dog-stand" and again.card.setup.source.constant == "stand@DOG"
    assert again.resume(steps=64).card.progress.env_steps == 128
    again.folder.task_file.write_text(DOG + "# changed\n")
    with pytest.raises(PaddockError, match="has changed since the run began"):
        task_of(again.folder)


def test_a_robot_of_the_table_is_remembered_too(tmp_path: Path) -> None:
    run = paddock.train("stand@quadruped", config=SMALL, runs_dir=tmp_path)
    assert run.card.setup.source.constant == "stand@QUADRUPED"
    assert task_of(run.folder) == find_task("stand@quadruped")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("walk", "Say which: walk@quadruped"),
        ("walk@cartpole", "wants a robot with a base that floats"),
        ("walk@quadrupde", "unknown robot 'quadrupde'. Did you mean 'quadruped'"),
        ("walk@nowhere.py", "no robot file nowhere.py"),
        ("wlak@quadruped", "unknown task 'wlak@quadruped'. Did you mean"),
    ],
)
def test_what_cannot_be_found_is_said(wanted: str, message: str) -> None:
    with pytest.raises(PaddockError, match=message):
        find_task(wanted)


def test_a_file_without_a_robot_says_so(tmp_path: Path) -> None:
    file = tmp_path / "empty.py"
    file.write_text("x = 1\n")
    with pytest.raises(PaddockError, match="has no Robot at its top level"):
        find_robot(file)
    with pytest.raises(UnknownName, match="robot in"):
        find_robot(f"{file}:DOG")


def test_speeds_and_pushes_suit_the_size() -> None:
    """A robot of twice the size and eight times the mass walks faster by the root of two, and is pushed eight times as hard."""
    xml = mujoco.MjSpec.from_file(str(quadruped.QUADRUPED.xml))
    key = next(key for key in xml.keys if key.name == "home")
    pose = np.array(key.qpos)
    pose[2] *= 2
    key.qpos = pose
    for body in xml.bodies[1:]:
        body.mass = body.mass * 8
    big = replace(QUADRUPED, name="big", xml=xml.to_xml())
    walk, stand = (of_family(family, big) for family in ("walk", "stand"))
    assert walk.command["velocity"].high[0] == pytest.approx(2**0.5, abs=0.06)  # type: ignore[attr-defined]
    ours = find_task("quadruped-stand").randomize["push"]
    assert stand.randomize["push"].newtons[1] == pytest.approx(8 * ours.newtons[1], rel=0.01)  # type: ignore[attr-defined]


LIMB = """<mujoco>
  <worldbody>
    <body><joint name="elbow" axis="0 1 0" range="-90 90"/><geom size=".05" pos="0 0 .2"/>
      <body pos="0 0 .4"><joint name="left" type="slide" axis="0 1 0" range="0 .04"/><geom size=".01"/></body>
      <body pos="0 0 .4"><joint name="right" type="slide" axis="0 -1 0" range="0 .04"/><geom size=".01"/></body>
    </body>
  </worldbody>
  <tendon><fixed name="grip"><joint joint="left" coef=".5"/><joint joint="right" coef=".5"/></fixed></tendon>
  <actuator>{elbow}<position name="grip" tendon="grip" kp="100" ctrlrange="0 .04"/></actuator>
  <sensor><jointpos name="joint_pos/elbow" joint="elbow"/></sensor>
</mujoco>"""


def limb(elbow: str, gains: object) -> paddock.Environment:
    robot = paddock.Robot(name="limb", xml=LIMB.format(elbow=elbow), joints=("elbow", "grip"), gains=gains)  # type: ignore[arg-type]
    task = pole_task(robot=robot, act=t.JointPosition(scale=0.5), done={}, observe={"q": t.joint_pos})
    return paddock.make(task, num_worlds=2)


def test_a_tendon_keeps_its_actuator_beside_the_servos() -> None:
    env = limb('<motor name="elbow" joint="elbow" ctrlrange="-5 5"/>', {"elbow": (30.0, 1.0)})
    ctrl = env.task.act(env.state.replaced(action=torch.tensor([[1.0, 1.0], [-1.0, -1.0]])))
    torch.testing.assert_close(ctrl, torch.tensor([[0.5, 0.04], [-0.5, 0.0]]))
    assert env.model.actuator_gainprm[:, 0].tolist() == [30.0, 100.0]
    assert env.model.actuator_forcerange[0].tolist() == [-5.0, 5.0]


def test_a_robots_own_servos_are_kept_where_it_names_no_gains() -> None:
    env = limb('<position name="elbow" joint="elbow" kp="12" kv="1" forcerange="-3 3"/>', None)
    assert env.model.actuator_gainprm[0, 0] == 12.0 and env.model.actuator_biasprm[0, 2] == -1.0
    np.testing.assert_allclose(env.model.actuator_ctrlrange[0], [-np.pi / 2, np.pi / 2])


def test_position_targets_need_something_that_holds_them() -> None:
    with pytest.raises(PaddockError, match="'elbow' is no position servo, so nothing holds a target"):
        limb('<motor name="elbow" joint="elbow" ctrlrange="-5 5"/>', None)
    with pytest.raises(UnknownName, match="joint in the gains of robot limb: 'elbow'"):
        limb('<motor name="elbow" joint="elbow" ctrlrange="-5 5"/>', {"elbw": (1.0, 1.0)})
