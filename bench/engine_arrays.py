"""What the installed engine makes of model texts: every array, and where a motion leads. bench/engine_3_14.py runs it twice.

python bench/engine_arrays.py INPUT OUTPUT    # folders: NAME.xml and NAME.npy (controls, one row per step) -> NAME.npz
"""

import sys
from pathlib import Path

import mujoco
import numpy as np


def arrays(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Everything that is numbers or text in a compiled model, by name."""
    found = {name: getattr(model, name) for name in dir(model) if not name.startswith("_")}
    found |= {f"opt.{name}": getattr(model.opt, name) for name in dir(model.opt) if not name.startswith("_")}
    kept = {name: np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value for name, value in found.items()}
    return {name: np.array(value) for name, value in kept.items() if isinstance(value, np.ndarray | int | float)}


def motion(model: mujoco.MjModel, ctrl: np.ndarray) -> np.ndarray:
    """qpos after each step from the first keyframe, where there is one."""
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    reached = np.zeros((len(ctrl), model.nq))
    for step, own in enumerate(ctrl):
        data.ctrl[:] = own
        mujoco.mj_step(model, data)
        reached[step] = data.qpos
    return reached


def main(source: Path, target: Path) -> None:
    for text in sorted(source.glob("*.xml")):
        try:
            model = mujoco.MjModel.from_xml_string(text.read_text())
        except ValueError as refusal:
            (target / f"{text.stem}.refused").write_text(str(refusal))
            continue
        ctrl = np.load(text.with_suffix(".npy"))
        np.savez(target / f"{text.stem}.npz", allow_pickle=False, motion=motion(model, ctrl), **arrays(model))
    print(mujoco.__version__)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
