"""How well two sims agree."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FieldError:
    """How far one field is apart after one control step from equal states under equal actions."""

    name: str
    """`qpos`, `sensor/NAME`, `obs/NAME`, `reward/NAME`, ..."""
    kind: str
    """What its tolerance is for."""
    scale: float
    """What the errors are relative to; 0 where they are in the field's own unit."""
    tolerance: float
    median: float
    p99: float
    max: float
    within: float
    """Share of the states within the tolerance."""
    quantiles: tuple[float, ...]
    """Errors at QUANTILES."""
    passed: bool


@dataclass(frozen=True, kw_only=True)
class FlagAgreement:
    """One flag of a step: an end by its cause, success, truncation, failure of the engine."""

    name: str
    set_in_reference: int
    set_in_other: int
    boundary: int
    """Differing states that are within all tolerances and only fall on two sides of a threshold."""
    beyond: int
    """Differing states in which fields are beyond their tolerances, too."""
    disagreeing: int
    """Differing states with no such excuse."""
    passed: bool


@dataclass(frozen=True, kw_only=True)
class ContactRow:
    """Two geoms that touch, or are near enough for the engine to ask."""

    first: str
    second: str
    distance: float
    """m; negative where they overlap."""


@dataclass(frozen=True, kw_only=True)
class Outlier:
    """A state from which the sims go further apart than is tolerated."""

    state: int
    """Its place among the sampled states; equal settings sample equal states."""
    agent: str
    age: int
    worst: str
    """The field that is furthest beyond its tolerance."""
    error: float
    tolerance: float
    beyond: tuple[str, ...]
    """All fields beyond theirs, and flags that differ."""
    contacts: tuple[ContactRow, ...]
    """Before the step."""
    contacts_after: tuple[ContactRow, ...]
    """Where the reference ended."""
    is_unfinished: bool
    """Whether the sims agree here once the reference's constraint solver may go on until nothing changes any more."""


@dataclass(frozen=True, kw_only=True)
class DivergencePoint:
    """How far apart two sims are after so many control steps of equal actions; information, not a test."""

    steps: int
    worlds: int
    """That have not ended on either side."""
    median: float
    """Of the largest difference in qpos."""
    p90: float
    max: float


@dataclass(frozen=True, kw_only=True)
class SideStatistic:
    """One sim's side of a statistic."""

    value: float
    low: float
    high: float
    """95 % interval."""


@dataclass(frozen=True, kw_only=True)
class EpisodeStatistic:
    """One quantity of whole episodes of one agent on both sims."""

    agent: str
    name: str
    """`return`, `length`, `success` or `ends/CAUSE`."""
    episodes: int
    reference: SideStatistic
    other: SideStatistic
    chance: float
    """How often episodes of one and the same sim would be apart this much."""
    asked: float
    """Below this chance it counts as a difference: 1 % over all statistics of the report together."""
    is_within: bool
    """Whether each value lies within the other's interval."""
    passed: bool
    said: str


@dataclass(frozen=True, kw_only=True)
class ParityReport:
    """Two sims of one task, compared."""

    task: str
    reference: str
    other: str
    note: str
    """What a reader must know, such as that there was no GPU."""
    run: str
    """Whose policy took part; empty without one."""
    seed: int
    agents: tuple[str, ...]
    states: int
    unusable: int
    """Sampled states that the reference itself could not step, left out of the errors."""
    states_in_contact: int
    share_asked: float
    """Share of states that must be within each tolerance."""
    fields: tuple[FieldError, ...]
    flags: tuple[FlagAgreement, ...]
    outliers: tuple[Outlier, ...]
    """The worst of them."""
    outliers_in_all: int
    divergence: tuple[DivergencePoint, ...]
    episodes: tuple[EpisodeStatistic, ...]
    passed: bool
    seconds: float
    machine: str
    versions: dict[str, str]
