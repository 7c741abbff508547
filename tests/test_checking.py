"""Mistakes in a task are said when it is used for the first time, by name."""

import pytest
import torch
from torch import Tensor

import paddock
from models import POLE, pole_task
from paddock import Robot, State
from paddock import terms as t
from paddock.errors import PaddockError, UnknownName


class Shrinking:
    """A memory that changes its shape."""

    def start(self, state: State) -> Tensor:
        return torch.zeros(state.num_worlds, 2)

    def next(self, state: State) -> Tensor:
        return torch.zeros(state.num_worlds)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observe": {"gyro": t.gyro}}, "observe term 'gyro': unknown sensor 'gyro'"),
        ({"reward": {"wide": (1.0, t.joint_pos)}}, r"reward term 'wide': returned \(2, 1\) float32, wanted \(n,\) float"),
        ({"done": {"float": t.alive}}, r"done term 'float': returned \(2,\) float32, wanted \(n,\) bool"),
        ({"observe": {"x": t.Command("speed")}}, "unknown command 'speed'"),
        ({"history": {"speed": 3}}, "history of 'speed', which is not in observe"),
        ({"reward": {}}, "at least one term"),
        ({"success": t.HeldFor(timer="held", seconds=1.0)}, "unknown memory 'held'"),
        ({"control_dt": 0.015}, "not a whole number"),
        ({"act": t.JointPosition()}, "has no gains"),
        ({"randomize": {"push": t.Push(body="trnk", newtons=(1, 2), every_s=1)}}, "randomize term 'push': unknown body 'trnk'"),
        ({"randomize": {"mass": t.Mass((1.0, 2.0), "pool")}}, "Did you mean 'pole'"),
        ({"robot": Robot(name="r", xml=POLE, joints=("hing",))}, "unknown actuator of robot r: 'hing'. Did you mean 'hinge'"),
        ({"robot": Robot(name="r", xml=POLE, joints=("hinge",), base="pol")}, "unknown body of robot r: 'pol'"),
        ({"robot": Robot(name="r", xml="<mujoco><oops/></mujoco>", joints=())}, "cannot read robot 'r'"),
        ({"robot": Robot(name="r", xml="my.xml", joints=())}, r"no MJCF. For a file, give Path\('my.xml'\)"),
        ({"robot": Robot(name="r", xml=POLE, joints=())}, "names the joints none, but the actuators of its model are hinge"),
        ({"robot": Robot(name="r", xml=POLE.replace('ctrlrange="-2 2"', ""), joints=("hinge",))}, "hinge have no control range"),
        ({"memory": {"held": t.Held(t.Fell())}}, "memory term 'held': unknown sensor 'up'"),
        ({"memory": {"odd": Shrinking()}}, r"memory term 'odd': starts as \(2, 2\) float32, but next is \(2,\) float32"),
        ({"reward": {"bare": t.alive}}, r"reward 'bare' is not a pair \(weight, term\)"),
        ({"reward": {"number": (1.0, lambda state: 1.0)}}, "reward term 'number': returned a float, wanted a tensor"),
        ({"reward": {"typo": (1.0, lambda state: state.commands)}}, "reward term 'typo': AttributeError.*test_checking.py, line"),
        ({"done": {"fell": t.Fell}}, "done term 'fell': TypeError"),
        ({"done": {"success": t.Fell()}}, "a done term called 'success', a name that is taken"),
        (
            {"randomize": {"odd": t.NearHome()}},
            "randomize 'odd' is a NearHome, which neither draws model fields or looks nor pushes",
        ),
        ({"randomize": {"often": t.Every(0.01, t.Gravity((0.5, 1.0)))}}, "'often' draws every 0.01 s, less than one control step"),
        ({"noise": {"joint_pos": 0.1}}, r"noise 'joint_pos' is a float, which is no noise such as Gaussian\(0.1\)"),
        ({"history": {"joint_pos": 0}}, "history of 'joint_pos' over 0 steps"),
        ({"episode_s": -1.0}, "episode_s is -1.0, less than one control step"),
        ({"reset": t.Uniform(joints={"hing": (0, 1)})}, "reset: unknown joint 'hing'. Did you mean 'hinge'"),
        ({"reset": lambda state: (state.qpos[:, :0], state.qvel)}, r"reset: returned qpos \(2, 0\) and qvel \(2, 1\)"),
        ({"observe": {"noisy": lambda state: state.normal(2)}}, "only reset, command, memory and randomize may draw"),
    ],
)
def test_mistakes_in_a_task_are_said_at_construction(changes: dict, message: str) -> None:
    with pytest.raises(PaddockError, match=message):
        paddock.make(pole_task(**changes), num_worlds=2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: t.Uniform(joints={"a": (1.0, 0.0)}), "range from 1.0 to 0.0 ends before it begins"),
        (lambda: t.Uniform(joints={}), "names no joint"),
        (lambda: t.UniformCommand(low=(0.0,), high=(-1.0,), every_s=1.0), "range from 0.0 to -1.0"),
        (lambda: t.UniformCommand(low=(0.0,), high=(1.0, 2.0), every_s=1.0), "1 lower ends and 2 upper ends"),
        (lambda: t.UniformCommand(low=(0.0,), high=(1.0,), every_s=0.0), "a period of 0.0 s is none"),
        (lambda: t.GoalOnRing(near=3.0, far=1.0), "range from 3.0 to 1.0"),
        (lambda: t.NearHome(joint=-0.1), "neither can be negative"),
        (lambda: t.Push(body="b", newtons=(2.0, 1.0), every_s=1.0), "range from 2.0 to 1.0"),
    ],
)
def test_ranges_are_checked_where_they_are_written(make, message: str) -> None:
    with pytest.raises(PaddockError, match=message):
        make()


def test_unknown_tasks_suggest_the_nearest() -> None:
    with pytest.raises(UnknownName, match="unknown task 'cartpole-balence'. Did you mean 'cartpole-balance'"):
        paddock.make("cartpole-balence")
