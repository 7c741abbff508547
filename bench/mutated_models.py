"""Ten thousand damaged and hostile models against the jail. Writes bench/results/mutations.json.

python bench/mutated_models.py                  # minutes on two cores
python bench/mutated_models.py --count 100      # a taste, written nowhere
python bench/mutated_models.py --only 66 6788   # these again, each with its answer

Every file must be answered: imported, or refused with a reason, within the limits, without a crash of the parent and without a
look outside its folder. A canary lies outside: a file that reaches for it has to be refused, and its content must turn up nowhere.
"""

import difflib
import json
import math
import random
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Annotated

import tyro

from paddock.benchmarking import machine
from paddock.cores import usable_cores
from paddock.robots.import_model import ImportRequest
from paddock.robots.model_jail import Answer, Jail, Limits
from paddock.terminal import progress

RESULT = Path(__file__).parent / "results" / "mutations.json"
FULL = 10_000
ANSWERED = ("imported", "refused")
WALL_S = 10.0
CANARY = "9.87654321"
"""In the mesh outside; three corners of it would end up in a robot that had read it."""

ARM = """<mujoco model="arm">
  <compiler angle="radian" meshdir="meshes"/>
  <option timestep="0.002"/>
  <size memory="1M"/>
  <default><default class="link"><joint damping="0.5" armature="0.01"/><geom type="capsule" size="0.03"/></default></default>
  <asset><mesh name="tip" file="tip.stl"/><texture name="t" type="2d" builtin="checker" width="64" height="64"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <body name="upper" childclass="link"><joint name="a" axis="0 1 0" range="-2 2"/><geom fromto="0 0 0 0.3 0 0"/>
      <site name="s1" pos="0.1 0 0.05"/>
      <body name="lower" pos="0.3 0 0"><joint name="b" axis="0 1 0" range="-2 2"/><geom fromto="0 0 0 0.3 0 0"/>
        <site name="s2" pos="0.2 0 0.05"/><geom type="mesh" mesh="tip" pos="0.3 0 0"/>
        <body name="hand" pos="0.3 0 0"><joint name="c" axis="1 0 0"/><geom fromto="0 0 0 0.1 0 0" mass="0.2"/></body>
      </body>
    </body>
  </worldbody>
  <tendon><spatial name="t" springlength="0.2"><site site="s1"/><site site="s2"/></spatial></tendon>
  <equality><joint joint1="c" joint2="b" polycoef="0 0.5 0 0 0"/></equality>
  <contact><exclude body1="upper" body2="hand"/></contact>
  <actuator>
    <motor name="a" joint="a" ctrlrange="-5 5"/><position name="bb" joint="b" kp="20"/><muscle name="m" tendon="t"/>
  </actuator>
  <sensor><jointpos name="p" joint="a"/></sensor>
  <keyframe><key name="home" qpos="0.1 0.2 0.1"/></keyframe>
</mujoco>
"""
LEGS = (
    """<robot name="legs">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"><inertial><mass value="4"/><inertia ixx="0.02" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.3 0.2 0.1"/></geometry></collision></link>
"""
    + "".join(
        f"""  <link name="{leg}_thigh">
    <inertial><mass value="0.5"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 -0.1"/><geometry><cylinder radius="0.02" length="0.2"/></geometry></collision></link>
  <link name="{leg}_shank">
    <inertial><mass value="0.2"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="meshes/tip.stl" scale="1 1 1"/></geometry><material name="grey"/></visual>
    <collision><origin xyz="0 0 -0.2"/><geometry><sphere radius="0.03"/></geometry></collision></link>
  <joint name="{leg}_hip" type="revolute"><origin xyz="0 {y} 0"/><parent link="base"/><child link="{leg}_thigh"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="20" velocity="10"/><dynamics damping="0.1"/></joint>
  <joint name="{leg}_knee" type="revolute"><origin xyz="0 0 -0.2"/><parent link="{leg}_thigh"/><child link="{leg}_shank"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="-0.5" effort="20" velocity="10"/></joint>
"""
        for leg, y in (("left", 0.1), ("right", -0.1))
    )
    + """  <transmission name="t"/><gazebo/>
</robot>
"""
)
ODD_NUMBERS = (
    "nan", "inf", "-inf", "1e999", "-1", "0", "1e300", "2147483648", "-2147483649", "1e-320", "0x1p2000", "NaN(1)", "1e9", "", "x",
)  # fmt: skip
MILD_NUMBERS = ("0", "-1", "1e-9", "1e-3", "0.5", "3", "42", "-7", "999", "1e5", "-1e5")
"""What the scan lets through, so that the engine has to cope."""
BOMBS = (
    '<replicate count="1000000"><geom size="0.1"/></replicate>',
    '<replicate count="1000">' * 3 + '<geom size="0.1"/>' + "</replicate>" * 3,
    '<composite type="grid" count="3000 3000 1" spacing="1"><geom size="0.1"/></composite>',
    '<flexcomp name="f" type="grid" count="500 500 500" spacing=".1 .1 .1" dim="3"/>',
    '<body><attach model="x" body="y"/></body>',
)
LURES = (
    "../canary.stl", "{canary}", "/etc/passwd", "file://{canary}", "meshes/../../canary.stl", "package://..//canary.stl",
    "..\\canary.stl", "package://tmp/canary.stl", "link.stl", "//{canary}", "~/.ssh/id_rsa", "tip.stl\\0", "http://x/y.stl",
)  # fmt: skip
SIZES = ('memory="900G"', 'nuserdata="2000000000"', 'nuser_geom="2000000000"', 'njmax="2000000000"', 'nkey="2000000000"')
ENTITY = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>'
)

Mutation = Callable[[str, random.Random], str]


def flip(text: str, rng: random.Random) -> str:
    """Some characters exchanged."""
    marks = list(text)
    for _ in range(rng.randint(1, 8)):
        marks[rng.randrange(len(marks))] = chr(rng.choice([*range(32, 127), 0, 9, 10, 255, 0x2028]))
    return "".join(marks)


def truncate(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


def number(text: str, rng: random.Random, choices: Sequence[str] = ODD_NUMBERS) -> str:
    """One number in an attribute replaced by an odd one."""
    spots = [i for i, mark in enumerate(text) if mark in ' "' and text[i + 1 : i + 2].lstrip("-").isdigit()]
    where = rng.choice(spots) + 1
    end = next(i for i in range(where, len(text)) if text[i] in ' "')
    return text[:where] + rng.choice(choices) + text[end:]


def mild_numbers(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 3)):
        text = number(text, rng, MILD_NUMBERS)
    return text


def digits(text: str, rng: random.Random) -> str:
    """Some digits exchanged for others: still a model, and another one."""
    marks = list(text)
    places = [i for i, mark in enumerate(marks) if mark.isdigit()]
    for where in rng.sample(places, rng.randint(1, 6)):
        marks[where] = rng.choice("0123456789.-e")
    return "".join(marks)


def several_numbers(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(2, 6)):
        text = number(text, rng)
    return text


def path(text: str, rng: random.Random) -> str:
    """A reference that leads to the canary, or elsewhere."""
    lure = rng.choice(LURES)
    kind = rng.randrange(4)
    if kind == 0:
        return text.replace('meshdir="meshes"', f'meshdir="{rng.choice(("..", "/", "{folder}/..", "meshes/../.."))}"').replace(
            'file="tip.stl"', 'file="canary.stl"'
        ).replace("meshes/tip.stl", lure)  # fmt: skip
    if kind == 1 and "<worldbody>" in text:
        return text.replace("<worldbody>", f'<include file="{lure}"/><worldbody>', 1)
    if kind == 2 and "<asset>" in text:
        extra = rng.choice((f'<model name="x" file="{lure}"/>', f'<hfield name="h" file="{lure}"/>', f'<skin file="{lure}"/>'))
        return text.replace("<asset>", "<asset>" + extra, 1)
    return text.replace('"tip.stl"', f'"{lure}"').replace('"meshes/tip.stl"', f'"{lure}"')


def bomb(text: str, rng: random.Random) -> str:
    if "<worldbody>" in text:
        return text.replace("<worldbody>", "<worldbody>" + rng.choice(BOMBS), 1)
    return text.replace("</robot>", f"<mujoco><size {rng.choice(SIZES)}/></mujoco>" + rng.choice(BOMBS) + "</robot>")


def size(text: str, rng: random.Random) -> str:
    return text.replace('memory="1M"', rng.choice(SIZES)).replace('width="64"', f'width="{rng.choice(ODD_NUMBERS)}"')


def entity(text: str, rng: random.Random) -> str:
    return ENTITY + text.replace("grey" if "grey" in text else "upper", rng.choice(("&a;", "&b;", "&c;", "&d;")))


def nest(text: str, rng: random.Random) -> str:
    depth = rng.choice((20, 120, 2000, 50_000))
    inner = "<body>" * depth + "</body>" * depth
    return text.replace("</worldbody>", inner + "</worldbody>").replace("</robot>", inner + "</robot>")


def plugin(text: str, rng: random.Random) -> str:
    extra = '<extension><plugin plugin="mujoco.pid"/></extension>'
    return text.replace("<option", extra + "<option", 1).replace("<material", extra + "<material", 1)


def shuffle(text: str, rng: random.Random) -> str:
    """Lines dropped, doubled and moved."""
    lines = text.splitlines()
    for _ in range(rng.randint(1, 4)):
        line = lines.pop(rng.randrange(len(lines)))
        for _ in range(rng.randint(0, 2)):
            lines.insert(rng.randrange(len(lines)), line)
    return "\n".join(lines)


def rename(text: str, rng: random.Random) -> str:
    """One name replaced: references dangle, repeat or close a circle."""
    names = ["upper", "lower", "hand", "left_thigh", "base", '"a"', '"b"', "left_hip", "tip"]
    old, new = rng.sample(names, 2)
    spots = [i for i in range(len(text)) if text.startswith(old, i)]
    if not spots:
        return text.replace('"t"', '""')
    where = rng.choice(spots)
    return text[:where] + new.strip('"' if '"' not in old else "") + text[where + len(old) :]


MUTATIONS: tuple[Mutation, ...] = (
    flip, truncate, number, mild_numbers, mild_numbers, digits, several_numbers, path, path, bomb, size, entity, nest, plugin,
    shuffle, rename,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Case:
    """One file."""

    number: int
    mutation: str
    suffix: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What came of all of them."""

    machine: str
    jails: int
    count: int
    seed: int
    seconds: float
    outcomes: dict[str, int]
    by_mutation: dict[str, dict[str, int]]
    slowest_s: float
    median_ms: float
    limit_s: float
    reached_outside: int
    """Files whose import held something of the canary's."""
    wrongly_imported: int
    """Files that declare entities or load code, and were not refused."""
    examples: dict[str, str]
    """A reason for each outcome but `imported`."""
    unanswered: tuple[str, ...]
    """Every file that was neither imported nor refused: what was done to it, its number for `--only`, and what came of it."""


def cases(seed: int, folder: Path) -> Iterator[Case]:
    """Mutated files without end; the same for the same seed."""
    rng = random.Random(seed)
    index = 0
    while True:
        text, suffix = rng.choice(((ARM, ".xml"), (LEGS, ".urdf")))
        mutate = MUTATIONS[index % len(MUTATIONS)]
        changed = mutate(text, rng).replace("{canary}", str(folder.parent / "canary.stl")).replace("{folder}", str(folder))
        yield Case(number=index, mutation=mutate.__name__, suffix=suffix, text=changed)
        index += 1


def prepare(root: Path) -> Path:
    """The folder of the models, a mesh that they may read, a canary outside, and a link that leads to it."""
    folder = root / "models"
    (folder / "meshes").mkdir(parents=True)
    (folder / "meshes" / "tip.stl").write_text(_tetrahedron("0.05"))
    (root / "canary.stl").write_text(_tetrahedron(CANARY))
    for link in (folder / "link.stl", folder / "meshes" / "link.stl"):
        link.symlink_to(root / "canary.stl")
    return folder


def _tetrahedron(edge: str) -> str:
    """A mesh as STL text."""
    a, b, c, d = "0 0 0", f"{edge} 0 0", f"0 {edge} 0", f"0 0 {edge}"
    lines = ["solid x"]
    for face in ((a, c, b), (a, b, d), (a, d, c), (b, c, d)):
        lines += ["facet normal 0 0 0", "outer loop", *(f"vertex {point}" for point in face), "endloop", "endfacet"]
    return "\n".join([*lines, "endsolid x", ""])


def attempt(case: Case, folder: Path, jail: Jail) -> Answer:
    file = folder / f"case_{case.number}{case.suffix}"
    file.write_bytes(case.text.encode("utf-8", errors="surrogatepass"))
    try:
        return jail.ask(ImportRequest(file=str(file), name="mutant", assets="mutant_assets"))
    finally:
        file.unlink()


def holds_canary(answer: Answer) -> bool:
    """Whether anything of the file outside came back: its corners, or its name among the files read."""
    if answer.imported is None:
        return False
    corner = struct.pack("<f", float(CANARY))
    read = any("canary" in path.found for path in answer.imported.report.paths)
    return read or any(corner in content for content in answer.imported.assets.values())


def asks_for_trouble(case: Case) -> bool:
    """Entities, and code to load. In a URDF the reader leaves foreign elements out, which is as good."""
    return "<!ENTITY" in case.text or ("<plugin" in case.text and case.suffix == ".xml")


def run(count: int, seed: int, jails: int, *, wall_s: float = WALL_S) -> Tally:
    """Ask for `count` files, several at a time."""
    began = time.perf_counter()
    outcomes: Counter[str] = Counter()
    by_mutation: dict[str, Counter[str]] = {}
    seconds: list[float] = []
    examples: dict[str, str] = {}
    unanswered: list[tuple[int, str]] = []
    reached = wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = prepare(Path(temporary))

        def share(first: int) -> list[tuple[Case, Answer]]:
            done: list[tuple[Case, Answer]] = []
            with Jail(_limits(wall_s)) as jail:
                for case in islice(cases(seed, folder), first, count, jails):
                    answer = attempt(case, folder, jail)
                    advance(1)
                    done.append((case, answer))
            return done

        with progress("models", count) as advance, ThreadPoolExecutor(jails) as pool:
            for case, answer in (pair for pairs in pool.map(share, range(jails)) for pair in pairs):
                outcomes[answer.outcome] += 1
                by_mutation.setdefault(case.mutation, Counter())[answer.outcome] += 1
                seconds.append(answer.seconds)
                reached += holds_canary(answer)
                wrong += answer.outcome == "imported" and asks_for_trouble(case)
                if answer.outcome not in ANSWERED:
                    unanswered.append((case.number, _said(case, answer)))
                examples.setdefault(
                    f"{answer.outcome} {answer.error}".strip(), f"{case.mutation} {case.number}: {answer.detail[:300]}"
                )
    examples.pop("imported", None)
    return Tally(
        machine=machine(),
        jails=jails,
        count=count,
        seed=seed,
        seconds=round(time.perf_counter() - began, 1),
        outcomes=dict(outcomes),
        by_mutation={name: dict(tally) for name, tally in by_mutation.items()},
        slowest_s=round(max(seconds), 2),
        median_ms=round(1000 * median(seconds), 1),
        limit_s=wall_s,
        reached_outside=reached,
        wrongly_imported=wrong,
        examples=examples,
        unanswered=tuple(said for _, said in sorted(unanswered)),
    )


def again(numbers: Sequence[int], seed: int, *, wall_s: float = WALL_S) -> Iterator[tuple[Case, Answer]]:
    """Some files of a run, once more."""
    with tempfile.TemporaryDirectory() as temporary, Jail(_limits(wall_s)) as jail:
        folder = prepare(Path(temporary))
        for case in islice(cases(seed, folder), max(numbers) + 1):
            if case.number in numbers:
                yield case, attempt(case, folder, jail)


def changes(case: Case) -> str:
    """What the mutation did, line by line."""
    sound = ARM if case.suffix == ".xml" else LEGS
    lines = difflib.unified_diff(sound.splitlines(), case.text.splitlines(), n=0, lineterm="")
    return "\n".join(line[:200] for line in list(lines)[2:] if not line.startswith("@@"))


def _said(case: Case, answer: Answer) -> str:
    return f"{case.mutation} {case.number}: {answer.outcome}, {answer.detail[:300]}"


def _limits(wall_s: float) -> Limits:
    return Limits(wall_s=wall_s, cpu_s=math.ceil(wall_s), memory=2 * 2**30)


def main(
    count: int = FULL,
    seed: int = 0,
    jails: Annotated[int, tyro.conf.arg(metavar="N")] = 0,
    only: tuple[int, ...] = (),
    wall_s: float = WALL_S,
) -> None:
    """Mutate and import.

    Args:
        count: Files.
        seed: Equal seeds give equal files.
        jails: Wardens that work side by side; one for each core by default.
        only: Numbers of files to do again, to see what was done to them and what comes of it.
        wall_s: Seconds that each may take.
    """
    if only:
        for case, answer in again(only, seed, wall_s=wall_s):
            print(f"{changes(case)}\n{_said(case, answer)} after {answer.seconds:.1f} s\n", flush=True)
        return
    tally = run(count, seed, jails or usable_cores(), wall_s=wall_s)
    print(json.dumps(asdict(tally), indent=1))
    if count >= FULL:
        RESULT.write_text(json.dumps(asdict(tally), indent=1) + "\n")


if __name__ == "__main__":
    tyro.cli(main)
