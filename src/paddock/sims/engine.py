"""Two settings of the engine's library that its Python interface does not have."""

import ctypes
from functools import cache
from pathlib import Path

import mujoco


@cache
def write_every_digit() -> None:
    """Save numbers with 17 digits, so that the text compiles to the very model the spec does; the default is six.

    The engine keeps the setting to itself. Where it cannot be reached the text has six digits, still the same for all.
    """
    for library in _libraries():
        setter = getattr(library, "_mjPRIVATE__set_xml_precision", None)
        if setter is not None:
            setter(17)


def stop_engine_timers() -> None:
    """Take the engine's clock away, which it reads dozens of times a step to fill `MjData.timer`, a twelfth of the stepping.

    `mjcb_time` is a public pointer, null in the C library. The Python package sets it when it is imported and has no way to
    unset it: `set_mjcb_time(None)` puts its own clock back. A clock that was set from Python is left alone.
    """
    if mujoco.get_mjcb_time() is not None:
        return
    for library in _libraries():
        try:
            ctypes.c_void_p.in_dll(library, "mjcb_time").value = None
        except ValueError:  # a build that does not export it keeps its clock: slower, and otherwise the same
            continue


@cache
def _libraries() -> list[ctypes.CDLL]:
    package = Path(mujoco.__file__).parent
    return [ctypes.CDLL(str(path)) for path in (*package.glob("libmujoco*"), *package.glob("mujoco.dll"))]
