"""Pictures of the GPU sim against those of the CPU: on a GPU where there is one, and otherwise its engine on the CPU.

Geometry must agree wherever a pixel does not lie on an edge; colours nearly, because light is traced there and rasterised here.
"""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import paddock
from models import pole_task
from paddock import Environment, Robot, Task
from paddock import terms as t
from paddock.contracts import Obs
from paddock.errors import PaddockError
from test_gpu_sim import SIM

SCENE = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0"/>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1=".4 .6 .8" rgb2="0 0 0" width="32" height="192"/>
    <material name="paint" rgba=".8 .3 .2 1" reflectance=".2"/>
  </asset>
  <worldbody>
    <light name="lamp" pos="0 0 3" dir=".3 0 -1" diffuse=".5 .5 .5"/>
    <geom name="floor" type="plane" size="4 4 .1" pos="3 0 -.8" rgba=".3 .4 .3 1"/>
    <geom name="wall" type="box" pos="5.1 0 0" size=".1 1.5 1" rgba="0 0 1 1"/>
    <site name="post" pos="4 .9 .2" size=".2" rgba="0 1 1 1"/>
    <camera name="front" pos="0 0 0" xyaxes="0 -1 0 0 0 1" fovy="60"/>
    <body name="hand" mocap="true" pos="2.5 -.6 .4">
      <geom name="hand" type="box" size=".1 .25 .3" rgba=".9 .1 .8 1" contype="0" conaffinity="0"/>
    </body>
    <body name="ball" pos="3 0 0">
      <joint name="y" type="slide" axis="0 1 0" range="-2 2"/>
      <geom name="ball" type="sphere" size=".25" material="paint" mass="1"/>
      <site name="mark" type="box" pos="0 0 .35" size=".15 .15 .1" rgba="1 1 0 1"/>
      <camera name="riding" pos="0 0 .9" xyaxes="0 -1 0 .2 0 1" fovy="60"/>
      <geom name="case" type="sphere" size=".02" pos="0 0 .9" contype="0" conaffinity="0" mass="0"/>
    </body>
  </worldbody>
  <actuator><motor name="y" joint="y" ctrlrange="-1 1" gear="8"/></actuator>
  <sensor><jointpos name="joint_pos/y" joint="y"/></sensor>
</mujoco>
"""
KINDS = ("rgb", "depth", "segmentation")
CAMERAS = {
    "eye": t.Camera(name="riding", width=24, height=20, kinds=("segmentation", "rgb", "depth")),
    "front": t.Camera(name="front", width=40, height=40, kinds=KINDS),
}
ACTIONS = torch.tensor([[1.0], [-0.6]])


def seen_task(**changes: object) -> Task:
    """A ball that carries a site and a camera within a case, which ends its episode when it has gone far enough to the left."""
    parts = {"robot": Robot(name="ball", xml=SCENE, joints=("y",)), "scene": t.bare, "cameras": CAMERAS}
    parts |= {"observe": {"joint_pos": t.joint_pos}, "control_dt": 0.05, "episode_s": 9.0}
    return pole_task(**parts | {"done": {"left": t.OutOfBounds(t.joint_pos, -9.0, 0.35)}} | changes)


def both(task: Task) -> tuple[Environment, Environment]:
    ours, theirs = (paddock.make(task, num_worlds=2, seed=4, sim=sim) for sim in (SIM, "cpu"))
    return ours, theirs


def off_edges(one: Tensor, other: Tensor) -> Tensor:
    """Pixels whose neighbours show the same thing as they do, in both pictures; (n, h, w) bool."""
    inner = torch.ones(one.shape[:3], dtype=torch.bool)
    for picture in (one, other):
        padded = torch.nn.functional.pad(picture.double().permute(0, 3, 1, 2), (1, 1, 1, 1), mode="replicate")
        windows = padded.unfold(2, 3, 1).unfold(3, 3, 1).flatten(-2)
        inner &= (windows == windows[..., :1]).all(-1).all(1)
    return inner


def assert_alike(ours: Obs, theirs: Obs, *, colour: float = 3.0) -> None:
    for camera in CAMERAS:
        found, wanted = ({kind: obs[f"camera/{camera}/{kind}"].cpu() for kind in KINDS} for obs in (ours, theirs))
        for kind in KINDS:
            assert (found[kind].shape, found[kind].dtype) == (wanted[kind].shape, wanted[kind].dtype)
        inner = off_edges(found["segmentation"], wanted["segmentation"])
        assert 0.5 < inner.float().mean() < 1.0
        assert torch.equal(found["segmentation"][inner], wanted["segmentation"][inner])
        assert (found["segmentation"] != wanted["segmentation"]).any(-1).float().mean() < 0.003
        torch.testing.assert_close(found["depth"][inner], wanted["depth"][inner], rtol=5e-3, atol=0)
        difference = (found["rgb"][inner].double() - wanted["rgb"][inner].double()).abs()
        assert difference.mean() < colour and (difference > 60).any(-1).float().mean() < 0.005


def test_pictures_show_what_the_cpus_show() -> None:
    """Bodies, sites, sky, a hand that is moved, a camera that rides; a world that ends alone, and the others that do not."""
    ours, theirs = both(seen_task())
    seen = [env.reset() for env in (ours, theirs)]
    assert_alike(seen[0].obs, seen[1].obs)
    hand = torch.tensor([[[2.5, -0.6, 0.4]], [[2.2, 0.7, 0.3]]])
    ends = 0
    for _ in range(9):
        for env in (ours, theirs):
            env.sim.write("mocap_pos", hand.to(env.device))
        seen = [env.step(ACTIONS.to(env.device)) for env in (ours, theirs)]
        assert torch.equal(seen[0].ended.cpu(), seen[1].ended)
        if seen[1].ended.any():
            assert seen[1].ended.tolist() == [True, False]
            ends += 1
            was, now = seen[0].final_obs["camera/front/rgb"], seen[0].obs["camera/front/rgb"]
            assert torch.equal(was[1], now[1]) and not torch.equal(was[0], now[0])
            assert_alike(seen[0].final_obs, seen[1].final_obs)
            assert_alike(seen[0].obs, seen[1].obs)
            hand[0] = torch.tensor([2.5, -0.6, 0.4])
    assert ends == 1
    assert_alike(seen[0].obs, seen[1].obs)
    objects = {tuple(pair) for pair in seen[0].obs["camera/front/segmentation"].flatten(0, 2).tolist()}
    assert {(-1, -1), (0, 6), (1, 6)} < objects  # the sky, and both sites
    assert seen[0].obs["camera/eye/depth"].min() > 0.1  # not the case that the camera is in


class Forbidding(TorchDispatchMode):
    """Raises where a value is looked at, or made from Python's: neither can be captured into a graph."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert not any(name in str(func) for name in ("_local_scalar_dense", "nonzero", "lift_fresh")), func
        return func(*args, **(kwargs or {}))


def test_worlds_wear_their_own_looks() -> None:
    looks = {
        "light": t.Light((0.3, 1.2), offset_m=(-0.5, 0.5)),
        "view": t.View(offset_m=(-0.1, 0.1), turn_deg=(-8.0, 8.0), fovy=(0.7, 1.3)),
        "paint": t.Tint((0.2, 1.2), materials=("paint",), geoms=("wall",)),
        "shine": t.Finish(shininess=(0.2, 1.0)),
        "size": t.Size((0.5, 0.8), geoms=("ball",)),
    }
    ours, theirs = both(seen_task(randomize=looks))
    for env in (ours, theirs):
        env.reset()
        env.settle()
    with Forbidding():
        ours._seen(ours._everyone)
    seen = [env.step(ACTIONS.to(env.device)) for env in (ours, theirs)]
    assert_alike(seen[0].obs, seen[1].obs, colour=4.0)
    for kind in KINDS:
        picture = seen[0].obs[f"camera/front/{kind}"]
        assert not torch.equal(picture[0], picture[1])


def test_a_world_of_nonsense_spoils_no_picture_but_its_own() -> None:
    env, twin = (paddock.make(seen_task(), num_worlds=2, seed=4, sim=SIM) for _ in range(2))
    first, _ = (each.reset().obs for each in (env, twin))
    wrong = env.sim.qvel.clone()
    wrong[0] = torch.nan
    env.sim.write("qvel", wrong)
    step, sound = (each.step(ACTIONS.to(env.device)) for each in (env, twin))
    assert step.failed.tolist() == [True, False]
    for group in env.image_shapes:
        assert torch.equal(step.obs[group][1], sound.obs[group][1])
    # its next episode is seen at once
    assert step.obs["camera/front/segmentation"][0].unique().tolist() == first["camera/front/segmentation"][0].unique().tolist()


def test_a_save_brings_its_pictures_back() -> None:
    env, _ = both(seen_task())
    env.reset()
    env.step(ACTIONS.to(env.device))
    saved, seen = env.save(), env.obs["camera/eye/rgb"].clone()
    env.step(ACTIONS.to(env.device))
    env.load(saved)
    assert torch.equal(env.obs["camera/eye/rgb"], seen)


TENDON = '<tendon><spatial name="string"><site site="mark"/><site site="there"/></spatial></tendon><actuator>'


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"randomize": {"mirror": t.Finish(reflectance=(0.5, 2.0))}}, "'mirror'.*'mat_reflectance' cannot differ"),
        (
            {"randomize": {"shaky": t.View(offset_m=0.1)}, "xml": SCENE.replace('name="riding"', 'name="riding" mode="track"')},
            "'shaky'.*'cam_pos' of what follows a body",
        ),
        (
            {"xml": SCENE.replace("<actuator>", TENDON).replace('<body name="hand"', '<site name="there"/><body name="hand"')},
            "cannot draw the model's 1 spatial tendons.*group 3",
        ),
    ],
)
def test_what_rays_cannot_show_is_refused_at_construction(changes: dict[str, object], words: str) -> None:
    task = seen_task()
    if "xml" in changes:
        changes["robot"] = replace(task.robot, xml=changes.pop("xml"))
    with pytest.raises(PaddockError, match=words):
        paddock.make(replace(task, **changes), num_worlds=2, sim=SIM)
