"""Which OpenGL MuJoCo draws with: picked before `import mujoco`, which reads MUJOCO_GL once and never again."""

import os
import sys
from pathlib import Path

LIBRARY_CACHE = Path("/etc/ld.so.cache")
NVIDIA_NODE = Path("/dev/nvidiactl")
RENDER_NODES = Path("/dev/dri")


def choose_gl() -> None:
    """Set MUJOCO_GL to what works on this machine, unless the user has; only Linux has a choice."""
    if "MUJOCO_GL" not in os.environ and "mujoco" not in sys.modules:
        backend = best_gl()
        if backend is not None:
            os.environ["MUJOCO_GL"] = backend


def best_gl() -> str | None:
    """A GPU, else the display, else drawing in software; None where nothing is installed, or where there is no choice."""
    if sys.platform != "linux":
        return None
    # the loader's cache names every library, and reading it takes 0.1 ms where find_library takes 10
    libraries = LIBRARY_CACHE.read_bytes() if LIBRARY_CACHE.is_file() else b""
    if b"libEGL_nvidia.so" in libraries and _may_use(NVIDIA_NODE):
        return "egl"
    if b"libEGL_mesa.so" in libraries and any(_may_use(node) for node in RENDER_NODES.glob("renderD*")):
        return "egl"
    if has_display():
        return "glfw"
    if b"libOSMesa.so" in libraries:
        return "osmesa"
    return "egl" if b"libEGL_mesa.so" in libraries else None  # Mesa dropped OSMesa in 2025; its EGL draws in software too


def has_display() -> bool:
    """Whether a window could open."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _may_use(node: Path) -> bool:
    return os.access(node, os.R_OK | os.W_OK)
