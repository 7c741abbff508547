"""Paddock's GPU environment beside mjlab's, on the same robot, model, solver, control rate, room for contacts and task.

    python bench/against_mjlab.py --theirs-path FOLDER [--theirs-python PYTHON] [--worlds 4096 16384] [--launches 3] [--out FILE]

mjlab pins an older MuJoCo, so it lives in a package set of its own: FOLDER goes first on its PYTHONPATH, or PYTHON has it. Both
sides are started anew again and again, in turns; the figure is the median over pairs of launches. mjlab steps the text of our
model, and its task is told from ours (mjlab_settings.py, mjlab_task.py): position targets, velocity commands, seven rewards,
falls, time limits, resets, friction drawn for every episode. Once, both are also moved by equal controls from equal states.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from mjlab_settings import settings_of
from mjlab_turns import STEPS

import paddock
from paddock.tasks.finding import find_task

ROOT = Path(__file__).parent.parent
TASK = "quadruped-walk"
MOVED = 16
"""Worlds that both sides move from equal states."""
MOVES = 40
"""Physics steps that they are moved."""
Row = dict[str, Any]


def launch(python: str, script: str, paths: list[str], arguments: list[str]) -> list[Row]:
    """What one process tells; it fails as a whole or not at all."""
    environment = os.environ | {"MUJOCO_GL": "disable", "MJLAB_WARP_QUIET": "1", "PYTHONPATH": os.pathsep.join(paths)}
    command = [python, str(ROOT / "bench" / script), *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-3000:]}")
    return [json.loads(line.removeprefix("ROW ")) for line in done.stdout.splitlines() if line.startswith("ROW ")]


def states(task: str) -> dict[str, np.ndarray]:
    """Where walking worlds are after a second of random actions on the CPU sim, and random targets for MOVES physics steps."""
    env = paddock.make(task, num_worlds=MOVED, seed=0)
    env.reset()
    for _ in range(50):
        env.step(env.sample())
    low, high = env.model.actuator_ctrlrange.T
    home = env.model.key("home").qpos[7:]
    wanted = home + np.random.default_rng(0).uniform(-0.5, 0.5, (MOVES // 4, MOVED, env.model.nu))
    ctrl = np.repeat(wanted.clip(low, high), 4, axis=0)
    return {"qpos": env.sim.qpos.double().numpy(), "qvel": env.sim.qvel.double().numpy(), "ctrl": ctrl}


def moved_alike(ours: Path, theirs: Path) -> Row:
    """How far apart the same motion is on both sides: the largest difference of any qpos of a world."""
    apart = np.abs(np.load(ours) - np.load(theirs)).max(axis=2)
    return {
        "worlds": MOVED,
        "median": {str(n): float(f"{np.median(apart[n - 1]):.2g}") for n in (1, 4, 20, MOVES)},
        "worst": {str(n): float(f"{apart[n - 1].max():.2g}") for n in (1, 4, 20, MOVES)},
    }


def compared(pairs: list[tuple[list[Row], list[Row]]]) -> list[Row]:
    """Medians over launches of the medians of their turns, and the ratio of each pair of launches."""
    found: list[Row] = []
    for ours in pairs[0][0]:
        sides = [(own, its) for mine, theirs in pairs for own, its in _matching(mine, theirs, ours["num_worlds"])]
        row: Row = {"num_worlds": ours["num_worlds"], "contacts": {"paddock": ours["contacts"]}}
        row["paddock"] = {name: _over([own for own, _ in sides], name) for name in ours["rates"]}
        for drawn, its in {its["draw_friction"]: its for _, its in sides}.items():
            of = [(own, it) for own, it in sides if it["draw_friction"] == drawn]
            who = "mjlab" if drawn == "reset" else "mjlab, friction drawn once"
            row[who] = {name: _over([it for _, it in of], name) for name in its["rates"]}
            ratios = [_median(own, "env") / _median(it, "env") for own, it in of]
            row[f"ratio to {who}"] = {"median": round(statistics.median(ratios), 2), "pairs": [round(r, 2) for r in ratios]}
            row["contacts"][who] = its["contacts"]
        found.append(row)
    return found


def _matching(ours: list[Row], theirs: list[Row], num_worlds: int) -> list[tuple[Row, Row]]:
    return [(own, its) for own in ours for its in theirs if own["num_worlds"] == its["num_worlds"] == num_worlds]


def _median(row: Row, name: str) -> float:
    return statistics.median(row["rates"][name])


def _over(rows: list[Row], name: str) -> int:
    return round(statistics.median(_median(row, name) for row in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--theirs-python", default=sys.executable)
    parser.add_argument("--theirs-path", default="", help="first on mjlab's PYTHONPATH, where ours is not")
    parser.add_argument("--worlds", nargs="+", default=["4096", "16384"])
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "mjlab.json")
    asked = parser.parse_args()
    settings = settings_of(find_task(TASK))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "settings.json").write_text(json.dumps(settings))
        begin = states(TASK)
        np.savez(folder / "states.npz", qpos=begin["qpos"], qvel=begin["qvel"], ctrl=begin["ctrl"])
        options = ["--worlds", *asked.worlds, "--rounds", str(asked.rounds), "--steps", str(asked.steps), "--device", asked.device]

        def start(side: str, *, is_first: bool) -> list[Row]:
            motion = ["--motion", str(folder / "states.npz"), str(folder / f"{side}.npy")] if is_first else []
            arguments = [str(folder / "settings.json"), *options, *motion]
            if side == "paddock":
                return launch(sys.executable, "mjlab_ours.py", [os.environ.get("PYTHONPATH", "")], arguments)
            return launch(asked.theirs_python, "mjlab_worker.py", [asked.theirs_path], arguments)

        raw: list[dict[str, list[Row]]] = []
        for number in range(asked.launches):
            order = ("paddock", "mjlab") if number % 2 == 0 else ("mjlab", "paddock")
            raw.append({side: start(side, is_first=number == 0) for side in order})
            found = {
                "task": TASK,
                "command": " ".join(["python", "bench/against_mjlab.py", *sys.argv[1:]]),
                "device": _device(asked.device),
                "versions": {side: raw[0][side][0]["versions"] for side in ("paddock", "mjlab")},
                "settings": {name: value for name, value in settings.items() if name != "model"},
                "steps_a_turn": asked.steps,
                "turns_a_launch": asked.rounds,
                "moved_alike": moved_alike(folder / "paddock.npy", folder / "mjlab.npy"),
                "rows": compared([(pair["paddock"][1:], pair["mjlab"][1:]) for pair in raw]),
                "launches": raw,
            }
            asked.out.write_text(json.dumps(found, indent=1) + "\n")
            print(json.dumps({name: found[name] for name in ("moved_alike", "rows")}), flush=True)


def _device(name: str) -> str:
    if not name.startswith("cuda"):
        return name
    import torch

    return torch.cuda.get_device_name(0)


if __name__ == "__main__":
    main()
