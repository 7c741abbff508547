"""What a joint loses by itself: dry, viscous and Stribeck friction."""

from dataclasses import dataclass

from paddock.errors import PaddockError


@dataclass(frozen=True, kw_only=True)
class JointFriction:
    """Friction at the joint, behind the gearbox, in N m and rad or N and m. All of it runs in the engine.

    Without `breakaway`, dry friction is the engine's friction loss. With it, it is the engine's LuGre model: the joint gives a
    little before it slides, and friction falls from `breakaway` to `coulomb` as speed rises; a sudden load breaks it loose earlier.
    """

    coulomb: float = 0.0
    """Dry friction in motion."""
    viscous: float = 0.0
    """Friction for each rad/s or m/s."""
    breakaway: float = 0.0
    """Dry friction at rest, more than `coulomb`: Stribeck's effect. 0 is none; otherwise the motor needs a no-load speed."""
    stribeck_speed: float = 0.05
    """Speed, rad/s or m/s, at which the difference has fallen to 1/e."""
    presliding: float = 0.002
    """How far the joint gives at breakaway, rad or m."""

    def __post_init__(self) -> None:
        if min(self.coulomb, self.viscous, self.breakaway) < 0:
            raise PaddockError(f"{self}: friction takes away, so none of it can be less than 0.")
        if self.has_stribeck and not self.breakaway > self.coulomb:
            raise PaddockError(f"{self}: breakaway is the friction at rest, more than coulomb. Leave it out where they are equal.")
        if not (self.stribeck_speed > 0 and self.presliding > 0):
            raise PaddockError(f"{self}: stribeck_speed and presliding must be more than 0.")

    @property
    def has_stribeck(self) -> bool:
        return self.breakaway > 0

    @property
    def bristle_stiffness(self) -> float:
        """Of LuGre's bristles, N m/rad or N/m."""
        return self.breakaway / self.presliding
