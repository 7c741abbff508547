"""Pictures against what projection by hand says they must show, world by world."""

import subprocess
import sys
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch

import paddock
from models import pole_task
from paddock import Environment, Robot, Task
from paddock import terms as t
from paddock.controller_graph import controller_graph
from paddock.errors import PaddockError
from paddock.learn.actor_critic import everything

BALL = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0"/>
  <visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>
  <worldbody>
    <geom name="wall" type="box" pos="5.1 0 0" size=".1 3 3" rgba="0 0 1 1" contype="0" conaffinity="0"/>
    <camera name="front" pos="0 0 0" xyaxes="0 -1 0 0 0 1" fovy="60"/>
    <body name="ball" pos="3 0 0">
      <joint name="y" type="slide" axis="0 1 0" range="-2 2"/>
      <geom name="ball" type="sphere" size=".25" rgba="1 0 0 1" mass="1"/>
      <camera name="riding" pos="0 0 0.5" xyaxes="0 -1 0 0 0 1" fovy="60"/>
    </body>
  </worldbody>
  <actuator><motor name="y" joint="y" ctrlrange="-1 1" gear="8"/></actuator>
  <sensor><jointpos name="joint_pos/y" joint="y"/></sensor>
</mujoco>
"""
SIZE = 33
KINDS = ("rgb", "depth", "segmentation")


def ball_task(**changes: object) -> Task:
    robot = Robot(name="ball", xml=BALL, joints=("y",))
    parts = {"robot": robot, "scene": t.bare, "observe": {"joint_pos": t.joint_pos}, "control_dt": 0.05, "episode_s": 9.0}
    cameras = {"front": t.Camera(name="front", width=SIZE, height=SIZE, kinds=KINDS)}
    return pole_task(**parts | {"done": {"never": t.Below(t.alive, 0.0)}, "cameras": cameras} | changes)


def moved() -> Environment:
    env = paddock.make(ball_task(), num_worlds=2)
    env.reset()
    for _ in range(8):
        env.step(torch.tensor([[1.0], [-0.6]]))
    return env


def pixel_of(y: float, x: float) -> int:
    """Column in which a point at depth x and y to the left is seen, from the camera's field of view."""
    focal = SIZE / 2 / np.tan(np.radians(30))
    return int(np.floor(SIZE / 2 - focal * y / x))


def test_pictures_show_the_ball_where_it_is_in_every_world() -> None:
    env = moved()
    y = env.state.joint_pos("y")[:, 0].tolist()
    assert y[0] > 0.3 and y[1] < -0.2
    rgb, depth, seg = (env.obs[f"camera/front/{kind}"] for kind in KINDS)
    assert (rgb.dtype, depth.dtype, seg.dtype) == (torch.uint8, torch.float32, torch.int32)
    assert rgb.shape == (2, SIZE, SIZE, 3) and depth.shape == (2, SIZE, SIZE, 1) and seg.shape == (2, SIZE, SIZE, 2)
    ball, wall = (env.visual_model.geom(name).id for name in ("ball", "wall"))
    for world in range(2):
        row, column = SIZE // 2, pixel_of(y[world], 3.0)
        red, _, blue = rgb[world, row, column].tolist()
        assert red > 200 > 60 > blue
        # the ball's near side along that ray: the ray through the pixel's middle meets the sphere, by hand
        focal = SIZE / 2 / np.tan(np.radians(30))
        ray = np.array([1.0, (SIZE / 2 - column - 0.5) / focal, 0.0])
        centre = np.array([3.0, y[world], 0.0])
        a, b, c = ray @ ray, -2 * ray @ centre, centre @ centre - 0.25**2
        expected = (-b - np.sqrt(b * b - 4 * a * c)) / (2 * a)
        assert depth[world, row, column, 0].item() == pytest.approx(expected, abs=0.02)
        assert seg[world, row, column].tolist() == [ball, int(mujoco.mjtObj.mjOBJ_GEOM)]
        mirrored = pixel_of(-y[world], 3.0)
        assert seg[world, row, mirrored].tolist() == [wall, int(mujoco.mjtObj.mjOBJ_GEOM)]
        assert depth[world, row, mirrored, 0].item() == pytest.approx(5.0, abs=0.01)
        assert rgb[world, row, mirrored, 2].item() > 200
        assert seg[world, 0, 0].tolist() == [-1, -1] if depth[world, 0, 0, 0].isinf() else True
    assert not torch.equal(rgb[0], rgb[1])


def test_the_sky_is_infinitely_far_and_nothing() -> None:
    far = BALL.replace('size=".1 3 3"', 'size=".1 1 1"')
    env = paddock.make(ball_task(robot=Robot(name="ball", xml=far, joints=("y",))))
    obs = env.reset().obs
    assert obs["camera/front/depth"][0, 0, 0, 0].item() == float("inf")
    assert obs["camera/front/segmentation"][0, 0, 0].tolist() == [-1, -1]


def test_a_camera_rides_on_its_body() -> None:
    robot = Robot(name="ball", xml=BALL.replace('size=".1 3 3"', 'size=".1 1 3"'), joints=("y",))
    eye = t.Camera(name="riding", width=SIZE, height=SIZE, kinds=("depth",))
    env = paddock.make(ball_task(robot=robot, cameras={"eye": eye}), num_worlds=2)
    env.reset()
    for _ in range(8):
        env.step(torch.tensor([[1.0], [-0.6]]))
    depth = env.obs["camera/eye/depth"][:, SIZE // 2, :, 0]
    beside = (SIZE / 2 - np.arange(SIZE) - 0.5) / (SIZE / 2 / np.tan(np.radians(30))) * 2.0
    for world, y in enumerate(env.state.joint_pos("y")[:, 0].tolist()):
        clear = np.abs(np.abs(beside + y) - 1.0) > 0.08  # away from the wall's edges, where a pixel shows both
        is_wall = np.abs(beside + y) < 1.0
        assert 0 < is_wall.sum() < SIZE
        np.testing.assert_allclose(depth[world][torch.from_numpy(clear & is_wall)], 2.0, atol=0.01)
        assert depth[world][torch.from_numpy(clear & ~is_wall)].isinf().all()


def test_learners_of_vectors_see_none_of_it() -> None:
    env, plain = moved(), paddock.make(ball_task(cameras={}))
    assert env.obs_sizes == plain.obs_sizes == {"policy": 1}
    assert everything(env.obs).shape == (2, 1)
    assert env.image_shapes["camera/front/depth"] == (SIZE, SIZE, 1)


def test_an_episode_that_begins_is_seen_anew_and_the_old_one_kept() -> None:
    env = paddock.make(ball_task(episode_s=0.2), num_worlds=2)
    first = env.reset().obs["camera/front/rgb"]
    for _ in range(3):
        env.step(torch.ones(2, 1))
    step = env.step(torch.ones(2, 1))
    assert step.truncated.all()
    assert not torch.equal(step.final_obs["camera/front/rgb"], step.obs["camera/front/rgb"])
    assert torch.equal(step.obs["camera/front/rgb"], env.obs["camera/front/rgb"])
    assert first.shape == step.obs["camera/front/rgb"].shape
    saved = env.save()
    other = paddock.make(ball_task(episode_s=0.2), num_worlds=2)
    other.load(saved)
    assert torch.equal(other.obs["camera/front/rgb"], step.obs["camera/front/rgb"])


def test_each_world_shows_its_own_looks() -> None:
    env = paddock.make(ball_task(), num_worlds=2)
    env.sim.expand("geom_rgba")
    rgba = env.sim.model_fields["geom_rgba"].clone()
    rgba[1, env.model.geom("ball").id] = torch.tensor([0.0, 1.0, 0.0, 1.0], dtype=rgba.dtype)
    env.sim.write_model("geom_rgba", rgba, env._everyone)
    eyes = env._eyes.look(env._everyone, {})["camera/front/rgb"]
    middle = eyes[:, SIZE // 2, SIZE // 2]
    assert middle[0, 0] > 200 > 60 > middle[0, 1]
    assert middle[1, 1] > 200 > 60 > middle[1, 0]


def test_gymnasium_and_sb3_get_a_dict_of_boxes() -> None:
    pytest.importorskip("gymnasium")
    from paddock.gymnasium_env import WorldEnv, WorldsVectorEnv

    world = WorldEnv(ball_task())
    obs, _ = world.reset(seed=1)
    assert world.observation_space.contains(obs)
    assert world.observation_space["camera/front/rgb"].shape == (SIZE, SIZE, 3)  # pyright: ignore[reportIndexIssue]
    obs, *_ = world.step(np.ones(1, dtype=np.float32))
    assert world.observation_space.contains(obs)
    worlds = WorldsVectorEnv(ball_task(episode_s=0.1), num_envs=2)
    worlds.reset(seed=1)
    worlds.step(np.ones((2, 1), dtype=np.float32))
    obs, *_, infos = worlds.step(np.ones((2, 1), dtype=np.float32))
    assert worlds.observation_space.contains(obs)
    assert worlds.single_observation_space.contains(infos["final_obs"][0])
    pytest.importorskip("stable_baselines3")
    stable = paddock.sb3_vec_env(ball_task(episode_s=0.1), num_worlds=2)
    assert stable.observation_space.contains({name: value[0] for name, value in stable.reset().items()})  # pyright: ignore
    stable.step(np.ones((2, 1), dtype=np.float32))
    _, _, _, infos = stable.step(np.ones((2, 1), dtype=np.float32))
    assert stable.observation_space.contains(infos[0]["terminal_observation"])


def test_a_controller_that_does_not_look_asks_for_no_pictures() -> None:
    class Blind:
        def mean(self, policy_obs: torch.Tensor) -> torch.Tensor:
            return policy_obs

    assert controller_graph(paddock.make(ball_task()), Blind()).inputs == ["sensor/joint_pos"]


@pytest.mark.parametrize(
    ("camera", "words"),
    [
        ({"name": "wrist"}, "unknown camera 'wrist'"),
        ({"name": "front", "kinds": ("colour",)}, "unknown kind of picture 'colour'"),
        ({"name": "front", "width": 0}, "0 x 64 pixels"),
        ({"name": "front", "kinds": ()}, "sees nothing"),
    ],
)
def test_a_camera_that_cannot_be_is_refused(camera: dict[str, object], words: str) -> None:
    with pytest.raises(PaddockError) as caught:
        paddock.make(ball_task(cameras={"eye": t.Camera(**camera)}))  # pyright: ignore[reportArgumentType]
    assert words in str(caught.value)


def test_physics_alone_opens_no_opengl() -> None:
    code = (
        "import sys, paddock; env = paddock.make('cartpole-balance'); env.reset(); env.step(env.sample());"
        "assert not {'paddock.seeing', 'paddock.rendering'} & set(sys.modules), 'opened'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_physics_is_the_same_with_and_without_cameras() -> None:
    env, plain = paddock.make(ball_task(), num_worlds=2), paddock.make(replace(ball_task(), cameras={}), num_worlds=2)
    env.reset()
    plain.reset()
    assert torch.equal(env.step(env.sample()).obs["policy"], plain.step(plain.sample()).obs["policy"])
    assert env.model_text == plain.model_text
