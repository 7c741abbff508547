"""From a spec to the one model every backend compiles: saved as XML text, with its arena sized by use."""

import mujoco
import numpy as np

from paddock.errors import BrokenModel

ARENA_MIN = 256 * 1024
ARENA_MARGIN = 8  # the worst pile-up seen later has been well under this times the measured peak
PROBE_STEPS = 300


def model_text(spec: mujoco.MjSpec) -> str:
    """The XML that CPU, GPU and browser compile. Saved text has six digits, so compiling a spec directly would differ."""
    try:
        spec.compile()
        spec.memory = _arena_bytes(mujoco.MjModel.from_xml_string(spec.to_xml()))
        return spec.to_xml()
    except (ValueError, mujoco.FatalError) as refusal:
        raise broken(spec.modelname, refusal) from None


def compile_text(text: str) -> mujoco.MjModel:
    """The model of a saved text."""
    try:
        return mujoco.MjModel.from_xml_string(text)
    except (ValueError, mujoco.FatalError) as refusal:
        raise broken("the saved model text", refusal) from None


def broken(what: str, refusal: Exception) -> BrokenModel:
    """MuJoCo's own words, and where to look."""
    return BrokenModel(f"MuJoCo cannot compile '{what}': {str(refusal).strip()}\nFix the model and try again.")


def _arena_bytes(model: mujoco.MjModel) -> int:
    """What contacts and constraints may take: a multiple of the peak over thrashing from home and falling in a heap.

    The engine's default is megabytes for each world, which thousands of worlds and a browser tab cannot afford.
    """
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    low, high = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, [-1.0, 1.0]).T
    for keyframe in range(-1, model.nkey):
        mujoco.mj_resetData(model, data) if keyframe < 0 else mujoco.mj_resetDataKeyframe(model, data, keyframe)
        data.qvel[:] = rng.normal(size=model.nv)
        for _ in range(PROBE_STEPS):
            data.ctrl[:] = rng.uniform(low, high)
            mujoco.mj_step(model, data)
    return max(ARENA_MIN, ARENA_MARGIN * int(data.maxuse_arena))
