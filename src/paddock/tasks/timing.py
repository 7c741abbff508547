"""How often a sensor looks, and how late its reading comes: kept by the engine, in whole timesteps."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import mujoco

from paddock.errors import PaddockError, unknown


@dataclass(frozen=True, kw_only=True)
class Timing:
    """A reading every `every_s` seconds, that arrives `delay_s` seconds late. When an episode begins it is the start's own."""

    every_s: float = 0.0
    """Seconds between two readings; 0 for one every timestep. Ticks fall on multiples of it since the episode began."""
    delay_s: float = 0.0
    """Seconds from the moment measured to the moment it can be read."""

    def __post_init__(self) -> None:
        for name in ("every_s", "delay_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise PaddockError(f"{self}: {name} is {value}; give seconds, at least 0.")
        if self.every_s == self.delay_s == 0:
            raise PaddockError("Timing() changes nothing: give every_s, delay_s or both.")

    def set(self, sensor: mujoco.MjsSensor, timestep: float) -> None:
        """Write it into a sensor of a spec.

        Half a timestep less than asked, of both: the engine adds up timesteps, so after a minute a comparison of equal
        times would fall on either side. In between there is no doubt, and what is read belongs to the very step asked for.
        """
        every, delay = (self._steps(name, timestep) for name in ("every_s", "delay_s"))
        sensor.nsample = math.ceil(delay / every) + 2 if every else delay + 1
        sensor.interp = 0
        if every:
            sensor.interval = [every * timestep, -0.5 * timestep]
        if delay:
            sensor.delay = (delay - 0.5) * timestep

    def _steps(self, name: str, timestep: float) -> int:
        asked = getattr(self, name)
        steps = round(asked / timestep)
        if abs(steps * timestep - asked) > 1e-9:
            below = math.floor(asked / timestep) * timestep
            raise PaddockError(
                f"{name} of {asked:g} s is not a whole number of the model's timesteps of {timestep:g} s. "
                f"The nearest are {below:g} and {below + timestep:g}."
            )
        return steps


def set_timing(spec: mujoco.MjSpec, name: str, timing: Timing) -> None:
    """Of one sensor, or of all in a group such as `joint_pos`."""
    named = {sensor.name: sensor for sensor in spec.sensors}
    members = [named[name]] if name in named else [s for n, s in named.items() if n.startswith(f"{name}/")]
    if not members:
        raise unknown("sensor", name, {*named, *(n.split("/")[0] for n in named)})
    if any(sensor.type == mujoco.mjtSensor.mjSENS_USER for sensor in members):
        raise PaddockError(f"'{name}' is read by the sim, once a control step and without delay; it takes no timing.")
    for sensor in members:
        timing.set(sensor, spec.option.timestep)


def apply_timing(spec: mujoco.MjSpec, timings: Mapping[str, Timing]) -> None:
    """Each in turn: a sensor's own, said after its group's, holds."""
    for name, timing in timings.items():
        set_timing(spec, name, timing)
