"""Every task in MuJoCo 3.14, the browser's, against the engine that trains. Writes bench/results/engine_3_14.json.

python bench/engine_3_14.py                      # installs that engine into a scratch folder
python bench/engine_3_14.py --folder /tmp/older  # keeps it there for the next time
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import mujoco
import numpy as np

import paddock
from paddock.sims.model import model_text
from paddock.sims.older_engine import for_mujoco_3_14
from paddock.tasks import TASK_NAMES
from paddock.terminal import plain_table, screen

OLDER = "3.14.0"
RESULT = Path(__file__).parent / "results" / "engine_3_14.json"
ARRAYS = Path(__file__).parent / "engine_arrays.py"
STEPS = 500
HELD = 10
"""Steps between two draws of the controls."""
ABOUT_MEMORY = ("nbuffer",)
"""Sizes of what is allocated, which are the engine's own affair."""
LABELS = ("actuator_ctrlspec",)
"""What a servo's control means. The older engine keeps it for motors it computes by it (`pid`, `dcmotor`), not for `position`."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One model text in both engines."""

    model: str
    refused: str
    """By the older engine, converted; empty where it compiles."""
    is_readable_unconverted: bool
    arrays: int
    """In both engines."""
    padded: tuple[str, ...]
    """Equal, with columns of zeros that one engine has and the other has not."""
    labels: tuple[str, ...]
    """Different, and of no effect on any force."""
    different: tuple[str, ...]
    motion_after_100: float
    """Largest difference of any qpos, over random controls."""
    motion_at_end: float
    """After STEPS steps."""


def write_models(folder: Path) -> None:
    """Every task's model, as it is simulated and as it is drawn, with controls for STEPS steps."""
    rng = np.random.default_rng(0)
    for name in TASK_NAMES:
        env = paddock.make(name)
        texts = {name: env.model_text, f"{name} (drawn)": model_text(env.task.spec(), lean=False)}
        low, high = np.where(env.model.actuator_ctrllimited[:, None], env.model.actuator_ctrlrange, [-1.0, 1.0]).T
        ctrl = np.repeat(rng.uniform(low, high, (STEPS // HELD, env.model.nu)), HELD, axis=0)
        for own, text in texts.items():
            (folder / f"{own}.xml").write_text(text)
            np.save(folder / f"{own}.npy", ctrl)


def converted(source: Path, target: Path) -> None:
    for text in source.glob("*.xml"):
        (target / text.name).write_text(for_mujoco_3_14(text.read_text()))
        (target / f"{text.stem}.npy").write_bytes(text.with_suffix(".npy").read_bytes())


def run(source: Path, target: Path, packages: Path | None = None) -> str:
    """Arrays of every model, in this engine or in the one in `packages`; its version."""
    environment = os.environ | ({"PYTHONPATH": str(packages)} if packages else {})
    command = [sys.executable, str(ARRAYS), str(source), str(target)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def compared(name: str, new: Path, old: Path, plain: Path) -> Compared:
    refused = old / f"{name}.refused"
    if refused.exists():
        return Compared(
            model=name,
            refused=refused.read_text(),
            is_readable_unconverted=False,
            arrays=0,
            padded=(),
            labels=(),
            different=(),
            motion_after_100=float("nan"),
            motion_at_end=float("nan"),
        )
    ours, theirs = np.load(new / f"{name}.npz"), np.load(old / f"{name}.npz")
    shared = sorted(set(ours) & set(theirs) - {"motion", *ABOUT_MEMORY})
    unequal = [field for field in shared if ours[field].tobytes() != theirs[field].tobytes()]
    padded = [field for field in unequal if _is_padded(ours[field], theirs[field])]
    apart = np.abs(ours["motion"] - theirs["motion"]).max(axis=1)
    return Compared(
        model=name,
        refused="",
        is_readable_unconverted=not (plain / f"{name}.refused").exists(),
        arrays=len(shared),
        padded=tuple(padded),
        labels=tuple(field for field in unequal if field in LABELS),
        different=tuple(field for field in unequal if field not in (*padded, *LABELS)),
        motion_after_100=float(apart[99]),
        motion_at_end=float(apart[-1]),
    )


def _is_padded(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two tables are equal but for the last columns of the wider one, which are zero."""
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b) or a.shape == b.shape:
        return False
    narrow, wide = sorted((a, b), key=lambda own: own.shape[1])
    width = narrow.shape[1]
    return bool((narrow == wide[:, :width]).all() and not wide[:, width:].any())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    kept = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        packages = kept or folder / "packages"
        if not (packages / "mujoco").exists():
            install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(packages), f"mujoco=={OLDER}"]
            subprocess.run(install, check=True, capture_output=True)
        for part in ("models", "converted", "new", "old", "plain"):
            (folder / part).mkdir()
        write_models(folder / "models")
        converted(folder / "models", folder / "converted")
        versions = run(folder / "models", folder / "new"), run(folder / "converted", folder / "old", packages)
        run(folder / "models", folder / "plain", packages)
        assert versions == (mujoco.__version__, OLDER), versions
        names = sorted(path.stem for path in (folder / "models").glob("*.xml"))
        found = [compared(own, folder / "new", folder / "old", folder / "plain") for own in names]
    table = plain_table()
    for column in ("model", "arrays", "different", "labels", "padded", "after 100 steps", f"after {STEPS}"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for own in found:
        names = own.different or (own.refused,), own.labels, own.padded
        apart = f"{own.motion_after_100:.1e}", f"{own.motion_at_end:.1e}"
        table.add_row(own.model, str(own.arrays), *(", ".join(few) for few in names), *apart)
    screen().print(table)
    result = {"paddock": paddock.__version__, "engine": versions[0], "older": versions[1], "steps": STEPS}
    RESULT.write_text(json.dumps(result | {"models": [asdict(own) for own in found]}, indent=1) + "\n")
    print(f"wrote {RESULT}")


if __name__ == "__main__":
    main()
