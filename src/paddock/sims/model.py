"""From a spec to the one model every backend compiles: saved as XML text, with its arena sized by use."""

from collections.abc import Iterator

import mujoco
import numpy as np

from paddock.errors import broken_model
from paddock.sims.engine import write_every_digit

ARENA_MIN = 256 * 1024
ARENA_MARGIN = 8  # the worst pile-up seen later has been well under this times the measured peak
PROBE_STEPS = 300


def model_text(spec: mujoco.MjSpec, *, lean: bool) -> str:
    """The XML that CPU, GPU and browser compile.

    A lean model leaves out what changes no bit of the motion: the geoms that are only there to be looked at, and, where there
    is one kinematic tree, the search for islands of constraints, which finds that one. Together about a sixth of the cost.
    """
    write_every_digit()
    try:
        if lean:
            spec.discard_visual()
        model = spec.compile()
        _check_numbers(model)
        if lean and model.ntree == 1:
            spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
        spec.memory = _arena_bytes(mujoco.MjModel.from_xml_string(spec.to_xml()))
        return spec.to_xml()
    except (ValueError, mujoco.FatalError) as refusal:
        raise broken_model(f"model '{spec.modelname}'", refusal) from None


def compile_text(text: str) -> mujoco.MjModel:
    """The model of a saved text."""
    try:
        return mujoco.MjModel.from_xml_string(text)
    except (ValueError, mujoco.FatalError) as refusal:
        raise broken_model("the saved model text", refusal) from None


def get_field(model: mujoco.MjModel, name: str) -> np.ndarray | float:
    """A model field by its name, such as `body_mass` or `opt.gravity`."""
    owner = model.opt if name.startswith("opt.") else model
    return getattr(owner, name.removeprefix("opt."))


def _check_numbers(model: mujoco.MjModel) -> None:
    """MuJoCo compiles a NaN and only logs it. Poses come first: what follows from them is NaN too."""
    for field in sorted(dir(model), key=lambda name: not name.endswith(("_pos", "_quat"))):
        value = getattr(model, field)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.isnan(value).any():
            row = int(np.argwhere(np.isnan(value))[0][0])
            kind, _, quantity = field.partition("_")
            is_named = kind in ("body", "geom", "site", "joint", "actuator")
            owner = f"{kind} '{getattr(model, kind)(row).name}'" if is_named else f"{kind} {row}"
            raise ValueError(f"{quantity or field} of {owner} is NaN")


def _arena_bytes(model: mujoco.MjModel) -> int:
    """What contacts and constraints may take: a multiple of the peak over thrashing from home and falling in a heap.

    The engine's default is megabytes for each world, which thousands of worlds and a browser tab cannot afford.
    """
    return max(ARENA_MIN, ARENA_MARGIN * max(int(data.maxuse_arena) for data in thrashing(model)))


def thrashing(model: mujoco.MjModel) -> Iterator[mujoco.MjData]:
    """The same data step by step, thrown about under random controls: from the defaults, then from each keyframe."""
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    low, high = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, [-1.0, 1.0]).T
    for keyframe in range(-1, model.nkey):
        mujoco.mj_resetData(model, data) if keyframe < 0 else mujoco.mj_resetDataKeyframe(model, data, keyframe)
        data.qvel[:] = rng.normal(size=model.nv)
        for _ in range(PROBE_STEPS):
            data.ctrl[:] = rng.uniform(low, high)
            mujoco.mj_step(model, data)
            yield data
