"""Kinematics in PyTorch are the engine's, and the small solver is numpy's."""

import mujoco
import numpy as np
import pytest
import torch

from paddock.errors import PaddockError
from paddock.robots import ROBOTS
from paddock.tasks.kinematics import Chain, damped, solve, turn_between

CRANE = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="side"><joint name="other"/><geom size=".1"/></body>
    <body name="tower" pos=".1 .2 .3" euler=".3 -.2 .5">
      <joint name="swing" axis="1 2 3" pos=".05 0 .1" ref=".4"/>
      <joint name="lift" type="slide" axis="0 1 1" pos=".3 0 0" ref="-.1"/>
      <geom size=".1"/>
      <body pos="0 0 .4" euler="0 .7 0">
        <body pos=".2 0 0">
          <joint name="reach" type="slide" axis="1 0 0"/>
          <joint name="twist" axis="0 0 -1" pos="0 .1 0"/>
          <geom size=".1"/>
          <body name="hook" pos="0 0 .2" quat=".5 .5 -.5 .5">
            <geom size=".05"/>
            <site name="hook" pos=".1 0 .2" euler=".1 .2 .3"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
"""Everything that can lie between two joints: offset anchors, references, fixed bodies, two joints on one body."""

FLOATING = CRANE.replace(
    '<body name="tower"', '<body name="ship" pos="3 2 1" euler="1 0 0"><freejoint/><geom size=".2"/><body name="tower"'
)
FLOATING = FLOATING.replace("</worldbody>", "</body></worldbody>")


def random_poses(model: mujoco.MjModel, count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    low, high = np.where(model.jnt_limited[:, None], model.jnt_range, [-1.5, 1.5]).T
    return rng.uniform(low, high, size=(count, model.njnt))


def in_joints(model: mujoco.MjModel, chain: Chain) -> list[int]:
    return [int(model.joint(name).dofadr[0]) for name in chain.joints]


@pytest.mark.parametrize(("text", "site"), [(CRANE, "hook"), ("arm", "tool")], ids=["crane", "arm"])
def test_pose_and_jacobian_are_the_engines(text: str, site: str) -> None:
    model = ROBOTS[text].spec().compile() if text in ROBOTS else mujoco.MjModel.from_xml_string(text)
    chain = Chain.to_site(model, site)
    columns = in_joints(model, chain)
    assert len(columns) == (7 if text == "arm" else 4)
    data = mujoco.MjData(model)
    poses = random_poses(model, 50)
    pos, rotation, jacobian = chain.jacobian(torch.tensor(poses[:, columns], dtype=torch.float32))
    for i, qpos in enumerate(poses):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        linear, angular = np.zeros((2, 3, model.nv))
        mujoco.mj_jacSite(model, data, linear, angular, model.site(site).id)
        np.testing.assert_allclose(pos[i], data.site(site).xpos, atol=2e-6)
        np.testing.assert_allclose(rotation[i], data.site(site).xmat.reshape(3, 3), atol=2e-6)
        np.testing.assert_allclose(jacobian[i], np.concatenate([linear, angular])[:, columns], atol=4e-6)


def test_on_a_floating_base_poses_are_in_its_frame() -> None:
    fixed, floating = (
        Chain.to_site(mujoco.MjModel.from_xml_string(CRANE), "hook"),
        Chain.to_site(mujoco.MjModel.from_xml_string(FLOATING), "hook"),
    )
    q = torch.rand(5, 4)
    assert floating.joints == fixed.joints == ("swing", "lift", "reach", "twist")
    for ours, theirs in zip(floating.jacobian(q), fixed.jacobian(q), strict=True):
        assert torch.equal(ours, theirs)


def test_what_is_no_chain_is_refused() -> None:
    ball = mujoco.MjModel.from_xml_string(
        CRANE.replace('<joint name="other"/>', '<joint name="other" type="ball"/><site name="on_ball"/>')
    )
    with pytest.raises(PaddockError, match="'other' is neither a hinge nor a slide"):
        Chain.to_site(ball, "on_ball")
    with pytest.raises(PaddockError, match="unknown site 'hok'. Did you mean 'hook'"):
        Chain.to_site(ball, "hok")
    bare = mujoco.MjModel.from_xml_string("<mujoco><worldbody><site name='mark'/></worldbody></mujoco>")
    with pytest.raises(PaddockError, match="carried by no joint"):
        Chain.to_site(bare, "mark")


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_the_written_out_solver_is_numpys(size: int) -> None:
    root = torch.randn(40, size, size + 1, generator=torch.Generator().manual_seed(size))
    matrix = root @ root.transpose(1, 2) + 0.1 * torch.eye(size)
    vector = torch.randn(40, size, generator=torch.Generator().manual_seed(7))
    exact = np.linalg.solve(matrix.double().numpy(), vector.double().numpy()[:, :, None])[:, :, 0]
    np.testing.assert_allclose(solve(matrix, vector), exact, rtol=2e-4, atol=1e-5)


def test_damped_steps_are_the_least_squares_ones_and_stay_small_where_singular() -> None:
    jacobian = torch.randn(20, 6, 7, generator=torch.Generator().manual_seed(0))
    error = torch.randn(20, 6, generator=torch.Generator().manual_seed(1)) * 0.1
    wide = jacobian.double().numpy()
    square = wide @ wide.transpose(0, 2, 1) + 0.05**2 * np.eye(6)
    exact = (wide.transpose(0, 2, 1) @ np.linalg.solve(square, error.double().numpy()[:, :, None]))[:, :, 0]
    np.testing.assert_allclose(damped(jacobian, error, 0.05), exact, atol=1e-4)
    flat = jacobian.clone()
    flat[:, 5] = flat[:, 4]  # two rows that want different things of the same motion
    assert damped(flat, error, 0.05).norm(dim=1).max() < 0.1 * 20
    assert not damped(flat, error, 1e-6).isfinite().all() or damped(flat, error, 1e-6).norm(dim=1).max() > 100
    cautious = damped(flat, error, 1e-3, 3.0)
    assert cautious.norm(dim=1).max() <= 1 / 6 + 1e-4 and (cautious * 6).norm(dim=1).max() > 0.5


def test_repeated_damped_steps_reach_a_pose() -> None:
    model = ROBOTS["arm"].spec().compile()
    chain = Chain.to_site(model, "tool")
    home = torch.tensor(model.key("home").qpos[:7], dtype=torch.float32).expand(8, 7)
    _, down = chain.pose(home)
    goal = torch.tensor([0.4, -0.2, 0.1]) + torch.rand(8, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor(
        [0.2, 0.4, 0.3]
    )
    q = home
    for _ in range(30):
        pos, rotation, jacobian = chain.jacobian(q)
        q = q + damped(jacobian, torch.cat([goal - pos, turn_between(rotation, down)], dim=1), 0.05)
    pos, rotation = chain.pose(q)
    torch.testing.assert_close(pos, goal, rtol=0, atol=1e-4)
    torch.testing.assert_close(rotation, down, rtol=0, atol=1e-3)


def test_a_pose_does_not_depend_on_its_batch() -> None:
    chain = Chain.to_site(ROBOTS["arm"].spec().compile(), "tool")
    q = torch.randn(64, 7, generator=torch.Generator().manual_seed(0))
    pos, rotation, jacobian = chain.jacobian(q)
    step = damped(jacobian, pos.repeat(1, 2), 0.05)
    for some in (slice(5, 12), slice(3, 4)):
        part = chain.jacobian(q[some])
        assert all(torch.equal(a, b[some]) for a, b in zip(part, (pos, rotation, jacobian), strict=True))
        assert torch.equal(damped(part[2], part[0].repeat(1, 2), 0.05), step[some])
