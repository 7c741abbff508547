"""Motors as data sheets give them, with their gearbox, friction and delay; and presets. SI units.

`Robot(motors=...)` says what the machine has, `Robot(gains=...)` how stiff its loops are, and a task's `act` what an action asks
of them: torque, position or velocity. All of a motor runs in the engine, at every substep; drivetrain.py says by what.
"""

import math
from dataclasses import dataclass

from paddock.errors import PaddockError
from paddock.robots.gearbox import DIRECT, Gearbox, harmonic, planetary
from paddock.robots.joint_friction import JointFriction


@dataclass(frozen=True, kw_only=True)
class Motor:
    """A motor with its drive train. Torques and speeds are those of its shaft, before the gearbox, except where said."""

    stall_torque: float
    """Most torque at rest, N m."""
    no_load_speed: float = math.inf
    """Speed at which nothing is left of it, rad/s: torque falls in a straight line. Infinite is a motor without back-EMF."""
    torque_limit: float | None = None
    """What the driver's current limit allows, N m; None is no limit but the stall torque."""
    lag: float = 0.0
    """Electrical time constant, inductance over resistance, s: how fast current and torque follow."""
    voltage: float = 24.0
    """Of the supply, V. It scales currents and moves nothing."""
    rotor_inertia: float = 0.0
    """kg m^2; the joint feels it times the ratio squared. 0 keeps the armature of the model's file."""
    delay: float = 0.0
    """From a command to its effect, s; rounded to whole substeps."""
    gearbox: Gearbox = DIRECT
    friction: JointFriction | None = None
    """None keeps friction and damping of the model's file."""

    def __post_init__(self) -> None:
        for name in ("stall_torque", "no_load_speed", "voltage"):
            if not getattr(self, name) > 0:
                raise PaddockError(f"{self}: {name} must be more than 0.")
        for name in ("lag", "rotor_inertia", "delay"):
            if not getattr(self, name) >= 0:
                raise PaddockError(f"{self}: {name} cannot be less than 0.")
        if self.torque_limit is not None and not 0 < self.torque_limit <= self.stall_torque:
            raise PaddockError(f"{self}: a torque_limit lies between 0 and the stall torque, which is a limit already.")
        if not self.has_back_emf and (self.lag or (self.friction and self.friction.has_stribeck)):
            raise PaddockError(f"{self}: the engine has lag and Stribeck friction only for a DC motor. Give it a no_load_speed.")
        if self.gearbox.backlash and not self.rotor_inertia:
            raise PaddockError(f"{self}: within the play of its gears only the rotor turns. Give it a rotor_inertia.")

    @property
    def has_back_emf(self) -> bool:
        return math.isfinite(self.no_load_speed)

    @property
    def joint_stall_torque(self) -> float:
        """Behind the gearbox, N m or N."""
        return self.stall_torque * self.gearbox.ratio * self.gearbox.efficiency

    @property
    def joint_speed(self) -> float:
        """No-load speed behind the gearbox, rad/s or m/s."""
        return self.no_load_speed / self.gearbox.ratio

    @property
    def joint_torque(self) -> float:
        """The most it gives behind the gearbox, its current limit included, N m or N."""
        limit = self.stall_torque if self.torque_limit is None else self.torque_limit
        return limit * self.gearbox.ratio * self.gearbox.efficiency

    @property
    def joint_inertia(self) -> float:
        """Of the rotor, as the joint feels it, kg m^2."""
        return self.rotor_inertia * self.gearbox.ratio**2

    @property
    def runs(self) -> str:
        """Where it is computed: `engine`, at every substep, or `control rate`, inside the exported graph."""
        return "engine"

    def delay_steps(self, timestep: float) -> int:
        """Substeps from a command to its effect."""
        return round(self.delay / timestep)


_SPUR = Gearbox(ratio=200.0, efficiency=0.7, backlash=0.01)

HOBBY_SERVO = Motor(
    stall_torque=0.52 / (200 * 0.7),
    no_load_speed=6.1 * 200,
    lag=0.02,
    voltage=6.0,
    rotor_inertia=2e-8,
    delay=0.02,
    gearbox=_SPUR.tight,
)
"""A standard hobby servo: 0.52 N m and 6.1 rad/s at the horn, lag 20 ms, commands once in 20 ms.

A torque of 5.3 kg cm and 0.17 s for 60 degrees are what catalogues say of the class. Gears (200:1, 70 %)
and rotor are estimates."""
INDUSTRIAL_JOINT = Motor(
    stall_torque=150 / 85,
    no_load_speed=314.0,
    torque_limit=100 / 85,
    lag=0.01,
    voltage=48.0,
    rotor_inertia=1e-4,
    gearbox=harmonic(100).tight,
)
"""A joint of an industrial arm: 150 N m, limited to 100, and 3.14 rad/s behind a harmonic 100:1, lag 10 ms.

A size, not a product: the ratio and the rotor's 1e-4 kg m^2, 1 kg m^2 at the joint, are estimates."""
HIGH_TORQUE_SERVO = Motor(
    stall_torque=44.7 / (200 * 0.92),
    no_load_speed=5.76 * 200,
    lag=0.015,
    rotor_inertia=2e-6,
    gearbox=planetary(200).tight,
)
"""A smart servo of the largest size: 44.7 N m and 5.76 rad/s at the horn, lag 15 ms.

A size, not a product: the ratio and the rotor are estimates."""
DIRECT_DRIVE = Motor(stall_torque=10.0, no_load_speed=30.0, lag=0.005, rotor_inertia=2e-3)
"""A large gearless motor: 10 N m and 30 rad/s, lag 5 ms. A size, not a product: the rotor is an estimate."""
QUADRUPED_LEG = Motor(
    stall_torque=17 / (6 * 0.92),
    no_load_speed=240.0,
    lag=0.008,
    rotor_inertia=6.3e-5,
    gearbox=planetary(6).tight,
)
"""A leg of a small quadruped: 17 N m and 40 rad/s behind a planetary 6:1, lag 8 ms.

Torque and speed are of the order of MIT's Mini Cheetah, whose published ratio and rotor these are; the lag is an estimate."""
MOTORS = {
    "hobby_servo": HOBBY_SERVO,
    "industrial_joint": INDUSTRIAL_JOINT,
    "high_torque_servo": HIGH_TORQUE_SERVO,
    "direct_drive": DIRECT_DRIVE,
    "quadruped_leg": QUADRUPED_LEG,
}
"""Presets. None has play, which is one more joint; `replace(motor, gearbox=planetary(6))` has."""
