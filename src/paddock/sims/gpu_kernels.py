# pyright: reportIndexIssue=false, reportGeneralTypeIssues=false, reportArgumentType=false, reportAttributeAccessIssue=false, reportOperatorIssue=false
"""What a step does to every world beside the physics, in one launch each where PyTorch would take a dozen."""

# Warp reads the annotations of a kernel as values, so they are not postponed here.
from collections.abc import Mapping

import warp as wp
from torch import Tensor


@wp.struct
class Rows:
    """What a world is made of, flattened; (n, k) each."""

    qpos: wp.array2d[float]
    qvel: wp.array2d[float]
    act: wp.array2d[float]
    ctrl: wp.array2d[float]
    qacc_warmstart: wp.array2d[float]
    xfrc_applied: wp.array2d[float]
    qfrc_applied: wp.array2d[float]
    mocap_pos: wp.array2d[float]
    mocap_quat: wp.array2d[float]
    time: wp.array2d[float]
    history: wp.array2d[float]
    qacc: wp.array2d[float]
    act_dot: wp.array2d[float]


@wp.func
def _put(world: int, source: wp.array2d[float], target: wp.array2d[float]):
    for column in range(target.shape[1]):
        target[world, column] = source[0, column]


@wp.kernel(enable_backward=False)
def _reset(mask: wp.array[wp.bool], defaults: Rows, rows: Rows, overflow: wp.array[int]):
    world = wp.tid()
    if not mask[world]:
        return
    _put(world, defaults.qpos, rows.qpos)
    _put(world, defaults.qvel, rows.qvel)
    _put(world, defaults.act, rows.act)
    _put(world, defaults.ctrl, rows.ctrl)
    _put(world, defaults.qacc_warmstart, rows.qacc_warmstart)
    _put(world, defaults.xfrc_applied, rows.xfrc_applied)
    _put(world, defaults.qfrc_applied, rows.qfrc_applied)
    _put(world, defaults.mocap_pos, rows.mocap_pos)
    _put(world, defaults.mocap_quat, rows.mocap_quat)
    _put(world, defaults.time, rows.time)
    _put(world, defaults.history, rows.history)
    _put(world, defaults.qacc, rows.qacc)
    _put(world, defaults.act_dot, rows.act_dot)
    overflow[world] = 0


@wp.kernel(enable_backward=False)
def _judge(
    qpos: wp.array2d[float],
    qvel: wp.array2d[float],
    overflow: wp.array[int],
    fatal: int,
    fastest: float,
    failed: wp.array[wp.bool],
    crowded: wp.array[int],
):
    world = wp.tid()
    sound = wp.bool(True)
    for i in range(qpos.shape[1]):
        sound = sound and wp.isfinite(qpos[world, i])
    for i in range(qvel.shape[1]):
        sound = sound and wp.abs(qvel[world, i]) < fastest  # which a NaN is not
    if (overflow[world] & fatal) != 0:
        sound = False
        wp.atomic_add(crowded, 0, 1)
    failed[world] = not sound


class Judge:
    """Says which worlds mean nothing any more, and counts those that had no room."""

    def __init__(self, qpos: Tensor, qvel: Tensor, overflow: Tensor, failed: Tensor, crowded: Tensor) -> None:
        self._state = [wp.from_torch(value) for value in (qpos, qvel, overflow)]
        self._failed, self._crowded = wp.from_torch(failed), wp.from_torch(crowded)

    def __call__(self, *, fatal: int, fastest: float) -> None:
        """Write `failed` (n,) and add to `crowded` (1,): `fatal` are bits of overflow, `fastest` what no velocity may reach."""
        wp.launch(_judge, dim=len(self._failed), inputs=[*self._state, fatal, fastest, self._failed, self._crowded])


class Defaults:
    """The rows of the worlds as they are now, the first of which is what the others may be put back to."""

    def __init__(self, tensors: Mapping[str, Tensor], overflow: Tensor) -> None:
        """`tensors` are those of `Rows`, (n, ...) each; overflow (n,)."""
        self._first = {name: value[:1].clone() for name, value in tensors.items()}
        self._defaults, self._rows = _rows(self._first), _rows(tensors)
        self._overflow = wp.from_torch(overflow)

    def put(self, mask: Tensor) -> None:
        """Into the worlds of the mask (n,) bool."""
        inputs = [wp.from_torch(mask), self._defaults, self._rows, self._overflow]
        wp.launch(_reset, dim=len(mask), inputs=inputs)


def _rows(tensors: Mapping[str, Tensor]) -> Rows:
    rows = Rows()
    for name, value in tensors.items():
        setattr(rows, name, wp.from_torch(value.view(len(value), -1) if value.numel() else value.new_zeros(len(value), 0)))
    return rows
