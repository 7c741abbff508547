"""What lies between a motor and its joint: ratio, losses and play."""

from dataclasses import dataclass, replace

from paddock.errors import PaddockError

PLAY = "/backlash"
"""Behind a joint's name: the joint of its play, which lets the link be a little ahead of or behind the motor."""


@dataclass(frozen=True, kw_only=True)
class Gearbox:
    """Multiplies torque and divides speed. All of it runs in the engine.

    The part of the power that is lost becomes a smaller torque, in the same proportion at any load, and also where the load
    drives the motor. (A real gear then loses the other way and brakes more; the engine has no such loss.)
    """

    ratio: float = 1.0
    """Turns of the motor for one of the joint; for a slide, rad/m."""
    efficiency: float = 1.0
    """Power at the joint for each watt of the motor."""
    backlash: float = 0.0
    """Whole width of the play, rad or m at the joint: a joint of its own, behind the one that the motor turns."""

    def __post_init__(self) -> None:
        if not self.ratio > 0:
            raise PaddockError(f"{self}: the ratio is how often the motor turns for one turn of the joint, so more than 0.")
        if not 0 < self.efficiency <= 1:
            raise PaddockError(f"{self}: the efficiency is a part, more than 0 and at most 1.")
        if not self.backlash >= 0:
            raise PaddockError(f"{self}: the backlash is a width and cannot be less than 0.")

    @property
    def tight(self) -> "Gearbox":
        """The same without play, which is cheaper: play is one more joint."""
        return replace(self, backlash=0.0)


DIRECT = Gearbox()
"""No gears."""


def harmonic(ratio: float = 100.0) -> Gearbox:
    """A strain-wave gear, as in arms: efficiency 0.85, play 1 mrad."""
    return Gearbox(ratio=ratio, efficiency=0.85, backlash=1e-3)


def planetary(ratio: float = 6.0) -> Gearbox:
    """A planetary gear, as in legs: efficiency 0.92, play 5 mrad."""
    return Gearbox(ratio=ratio, efficiency=0.92, backlash=5e-3)


def cycloidal(ratio: float = 50.0) -> Gearbox:
    """A cycloidal gear, as in heavy arms: efficiency 0.90, play 0.5 mrad."""
    return Gearbox(ratio=ratio, efficiency=0.90, backlash=5e-4)


GEARBOXES = {"harmonic": harmonic(), "planetary": planetary(), "cycloidal": cycloidal()}
