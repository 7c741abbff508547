"""Write docs/benchmarks.md, docs/results.md and the table in README.md from bench/results/.

make bench                    # measures, on an otherwise idle machine
python bench/report.py        # writes the pages
"""

import re
from pathlib import Path

import report_results
import report_returns

from paddock.messages import BenchRow, BenchRun, from_json

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "bench" / "results" / "cpu.json"
BETWEEN = re.compile(r"(<!-- bench -->\n).*?(<!-- /bench -->)", re.DOTALL)


def table(rows: tuple[BenchRow, ...]) -> str:
    lines = ["| what steps it | worlds | env steps/s | physics steps/s | ratio |", "|---|--:|--:|--:|--:|"]
    for row in rows:
        rates = f"{row.env_steps_per_s:,.0f} | {row.physics_steps_per_s:,.0f}"
        lines.append(f"| {row.name} | {row.worlds:,} | {rates} | {row.ratio:.2f} |")
    return "\n".join(lines)


def summary(bench: BenchRun) -> str:
    """The README's table: Paddock against each of the others, env steps per second."""
    lines = ["| task | worlds | Paddock, env steps/s | against | ratio |", "|---|--:|--:|---|--:|"]
    for comparison in bench.comparisons:
        ours = next(row for row in comparison.rows if row.name.startswith("paddock"))
        if comparison.task == "quadruped-walk" and ours.worlds not in (256, 1024):
            continue
        for other in comparison.rows:
            if other is not ours:
                rate, ratio = f"{ours.env_steps_per_s:,.0f}", f"{ours.ratio / other.ratio:.2f}"
                worlds = "" if other.worlds == ours.worlds else f", {other.worlds} worlds"
                lines.append(f"| {comparison.task} | {ours.worlds:,} | {rate} | {other.name}{worlds} | {ratio} |")
    return "\n".join(lines) + f"\n\n{setting(bench)}\n"


def setting(bench: BenchRun) -> str:
    return (
        f"Measured on {bench.machine}; paddock {bench.paddock}, mujoco {bench.mujoco}, torch {bench.torch}, "
        f"python {bench.python}; medians of {bench.rounds} interleaved rounds of {bench.seconds_per_round:g} s."
    )


def page(bench: BenchRun) -> str:
    walks = [comparison.rows for comparison in bench.comparisons if comparison.task == "quadruped-walk"]
    ants = [comparison.rows for comparison in bench.comparisons if comparison.task == "gym-ant"]
    parts = [
        "# Benchmarks",
        "This page is written by `python bench/report.py` from `bench/results/`; `make bench` measures the steps per second.",
        setting(bench),
        "Everything in a table ran in turns in one process on the same cores, with random actions. An env step is one control "
        "step of one world with observations, rewards, terminations, resets and randomisation; physics steps count its "
        "substeps. Ratios are medians of ratios within a round and hold on a noisy machine; absolute figures do not.",
        "## quadruped-walk: from 1 to 4,096 worlds",
        "`mujoco.batch` steps the model and does nothing else: no observation, no reward, no reset. Its worlds start every "
        "20 control steps from the states that the environment is in, under the same controls. Paddock's sim compiles a "
        "lean model: without the geoms that are only there to be looked at and, where there is one kinematic tree, without "
        "the search for islands of constraints. That changes no bit of the motion, which a test compares. The first row steps the "
        f"model as it is written, the second the lean one. One more world takes {bench.kib_per_world:,.0f} KiB.",
        *(table(rows) for rows in walks),
        "## gym-ant: against other systems",
        "Gymnasium's Ant-v5 model (Runge-Kutta, 5 physics steps a control step), everywhere with the flags that leave contact "
        "forces out. AsyncVectorEnv has one process a world.",
        *(table(rows) for rows in ants),
        *report_returns.returns(),
    ]
    return "\n\n".join(parts) + "\n"


def pages() -> dict[Path, str]:
    """Every page that shows figures, and what it should say."""
    bench = from_json(BenchRun, RESULT.read_text())
    readme = ROOT / "README.md"
    return {
        ROOT / "docs" / "benchmarks.md": page(bench),
        ROOT / "docs" / "results.md": report_results.page(),
        readme: BETWEEN.sub(lambda found: found[1] + summary(bench) + found[2], readme.read_text()),
    }


if __name__ == "__main__":
    for file, text in pages().items():
        file.write_text(text)
