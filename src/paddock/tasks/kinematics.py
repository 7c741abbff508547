"""Where a robot's tool is and how its joints move it: batched PyTorch functions built from the model, so that they export.

A serial chain is a product of 4 x 4 transforms, one for each joint, each linear in (1, cos q, sin q, q). Frames are turned such
that every joint acts about or along its own z axis: the columns of the product are then the Jacobian's axes and anchors.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import torch
from torch import Tensor

from paddock.errors import PaddockError, unknown

HINGE, SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
FREE = int(mujoco.mjtJoint.mjJNT_FREE)


@dataclass(frozen=True, eq=False)
class Chain:
    """The joints between a root and a site. The root is the world, or a body that floats; poses are in its frame."""

    joints: tuple[str, ...]
    """From the root to the tip."""
    basis: Tensor
    """What multiplies 1, cos q, sin q and q in each joint's transform; (4, k, 16)."""
    tip: Tensor
    """The site in the frame of the last joint; (1, 4, 4)."""
    turns: Tensor
    """1 for a hinge, 0 for a slide; (k, 1)."""

    @staticmethod
    def to_site(model: mujoco.MjModel, site: str, *, device: torch.device | None = None) -> Chain:
        """The chain of hinges and slides that carries `site`."""
        sites = [model.site(i).name for i in range(model.nsite)]
        if site not in sites:
            raise unknown("site", site, sites)
        body = int(model.site(site).bodyid[0])
        joints, fixed = _links(model, body)
        if not joints:
            raise PaddockError(f"site '{site}' is carried by no joint, so there is nothing to move it with.")
        at = model.site(site)
        fixed[-1] = fixed[-1] @ _transform(at.pos, at.quat)

        def constant(values: object) -> Tensor:
            return torch.as_tensor(np.asarray(values), dtype=torch.float32, device=device)

        hinges = [int(model.jnt_type[j]) == HINGE for j in joints]
        basis = np.stack([_basis(before, hinge) for before, hinge in zip(fixed, hinges, strict=False)], axis=1)
        return Chain(
            joints=tuple(model.joint(j).name for j in joints),
            basis=constant(basis.reshape(4, len(joints), 16)),
            tip=constant(fixed[-1][None]),
            turns=constant(hinges)[:, None],
        )

    def to(self, device: torch.device, dtype: torch.dtype = torch.float32) -> Chain:
        """The same chain with its constants on a device, in the precision of the positions that it will be given."""
        return Chain(self.joints, self.basis.to(device, dtype), self.tip.to(device, dtype), self.turns.to(device, dtype))

    def frames(self, q: Tensor) -> tuple[Tensor, Tensor]:
        """Each joint's frame (n, k, 4, 4) and the site's (n, 4, 4), for joint positions q (n, k)."""
        one, cos, sin, linear = self.basis
        local = one + q.cos()[:, :, None] * cos + q.sin()[:, :, None] * sin + q[:, :, None] * linear
        steps = local.view(-1, len(self.joints), 4, 4).unbind(1)
        reached = [steps[0]]
        for step in steps[1:]:
            reached.append(torch.bmm(reached[-1], step))
        return torch.stack(reached, dim=1), torch.bmm(reached[-1], self.tip.expand(q.shape[0], 4, 4))

    def pose(self, q: Tensor) -> tuple[Tensor, Tensor]:
        """Position (n, 3) and rotation matrix (n, 3, 3) of the site."""
        _, site = self.frames(q)
        return site[:, :3, 3], site[:, :3, :3]

    def jacobian(self, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Position (n, 3), rotation (n, 3, 3) and geometric Jacobian (n, 6, k): linear velocity above angular."""
        joints, site = self.frames(q)
        pos, axes, anchors = site[:, :3, 3], joints[:, :, :3, 2], joints[:, :, :3, 3]
        swept = cross(axes, pos[:, None] - anchors)
        linear = axes + self.turns * (swept - axes)
        return pos, site[:, :3, :3], torch.cat([linear, axes * self.turns], dim=2).transpose(1, 2)


def damped(jacobian: Tensor, error: Tensor, damping: float, caution: float = 0.0) -> Tensor:
    """The joint step (n, k) that moves the tool by `error` (n, rows): damped least squares.

    Near a singular pose, where an exact step would be huge, `damping` keeps it small at the price of some error. `caution` adds
    damping in proportion to the error: the step stays below 1 / (2 caution), and what is close is still met.
    """
    rows = jacobian.shape[1]
    squared = damping**2 + caution**2 * error.square().sum(1)[:, None, None]
    square = torch.bmm(jacobian, jacobian.transpose(1, 2)) + squared * torch.eye(rows, dtype=error.dtype, device=error.device)
    return torch.bmm(jacobian.transpose(1, 2), solve(square, error)[:, :, None])[:, :, 0]


def solve(matrix: Tensor, vector: Tensor) -> Tensor:
    """x of `matrix` x = `vector` for small positive definite matrices (n, k, k); (n, k).

    Elimination written out, because no linear solver exports. Each round divides the first row by its pivot, takes it from
    the others and moves it to the end; after k rounds every row is back in its place, and one column is left.
    """
    rows = torch.cat([matrix, vector[:, :, None]], dim=2)
    for _ in range(matrix.shape[1]):
        pivot = rows[:, :1, 1:] / rows[:, :1, :1]
        rows = torch.cat([rows[:, 1:, 1:] - rows[:, 1:, :1] * pivot, pivot], dim=1)
    return rows[:, :, 0]


def cross(a: Tensor, b: Tensor) -> Tensor:
    """Cross product over the last axis; (..., 3)."""
    (ax, ay, az), (bx, by, bz) = a.unbind(-1), b.unbind(-1)
    return torch.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], dim=-1)


def turn_between(now: Tensor, wanted: Tensor) -> Tensor:
    """Rotation vector in the root's frame that turns `now` towards `wanted`, rotation matrices (n, 3, 3); (n, 3).

    Its length is the sine of the angle: near the wanted attitude the angle itself.
    """
    return 0.5 * cross(now.transpose(1, 2), wanted.transpose(1, 2)).sum(1)


def _links(model: mujoco.MjModel, body: int) -> tuple[list[int], list[np.ndarray]]:
    """Joints from the root to `body`, and the fixed transforms before, between and after them, every joint's axis along z."""
    path: list[int] = []
    while body and not _floats(model, body):
        path.insert(0, body)
        body = int(model.body_parentid[body])
    joints: list[int] = []
    fixed = [np.eye(4)]
    for body in path:
        fixed[-1] = fixed[-1] @ _transform(model.body_pos[body], model.body_quat[body])
        for joint in range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body]):
            frame = _joint_frame(model, joint)
            joints.append(joint)
            fixed[-1] = fixed[-1] @ frame
            fixed.append(_displaced(model, joint) @ np.linalg.inv(frame))
    return joints, fixed


def _floats(model: mujoco.MjModel, body: int) -> bool:
    return model.body_jntnum[body] == 1 and int(model.jnt_type[model.body_jntadr[body]]) == FREE


def _joint_frame(model: mujoco.MjModel, joint: int) -> np.ndarray:
    """A frame at the joint's anchor, its z along the joint's axis."""
    if int(model.jnt_type[joint]) not in (HINGE, SLIDE):
        raise PaddockError(f"joint '{model.joint(joint).name}' is neither a hinge nor a slide; a Chain has only those.")
    quat = np.zeros(4)
    mujoco.mju_quatZ2Vec(quat, model.jnt_axis[joint])
    return _transform(model.jnt_pos[joint], quat)


def _displaced(model: mujoco.MjModel, joint: int) -> np.ndarray:
    """The inverse of what the joint does at its reference position, which the model was drawn in."""
    reference = float(model.qpos0[model.jnt_qposadr[joint]])
    if int(model.jnt_type[joint]) == SLIDE:
        return _transform(np.array([0.0, 0.0, -reference]), np.array([1.0, 0.0, 0.0, 0.0]))
    return _transform(np.zeros(3), np.array([np.cos(-reference / 2), 0.0, 0.0, np.sin(-reference / 2)]))


def _transform(pos: np.ndarray, quat: np.ndarray) -> np.ndarray:
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, quat)
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = rotation.reshape(3, 3), pos
    return out


def _basis(before: np.ndarray, hinge: bool) -> np.ndarray:
    """What multiplies 1, cos q, sin q and q in `before` times the joint's own transform about or along z; (4, 4, 4)."""
    one, cos, sin, linear = np.zeros((4, 4, 4))
    if hinge:
        one[2, 2] = one[3, 3] = cos[0, 0] = cos[1, 1] = sin[1, 0] = 1.0
        sin[0, 1] = -1.0
    else:
        one[:] = np.eye(4)
        linear[2, 3] = 1.0
    return before @ np.stack([one, cos, sin, linear])
