"""A parity report on a terminal: the worst of each kind of field, flags that differ, and the episodes."""

from __future__ import annotations

from paddock.messages.parity import FieldError, ParityReport
from paddock.parity_page import circumstances, number
from paddock.terminal import plain_table, screen

NUMBERS = ("median", "99 %", "max", "tolerance", "within")


def show(report: ParityReport) -> None:
    """The report in short, on stdout."""
    print(f"{report.task}: {report.other} against {report.reference}. {circumstances(report)}\n")
    table = plain_table()
    for name in ("one control step, the worst of each kind", *NUMBERS, ""):
        table.add_column(name, justify="right" if name in NUMBERS else "left", no_wrap=True)
    for f in worst(report):
        name = f.name if f.kind == f.name else f"{f.kind}: {f.name.removeprefix('sensor/')}"
        numbers = map(number, (f.median, f.p99, f.max, f.tolerance))
        table.add_row(name, *numbers, f"{f.within:.2%}", "[green]ok[/]" if f.passed else "[bold red]beyond[/]")
    screen().print(table)
    differing = [flag for flag in report.flags if flag.boundary or flag.beyond or flag.disagreeing]
    words = "; ".join(
        f"{flag.name} differs {flag.boundary} times at its threshold, {flag.beyond} in states beyond, {flag.disagreeing} elsewhere"
        for flag in differing
    )
    print(f"\nflags: {words or 'equal in every state'}\n")
    if unfinished := sum(own.is_unfinished for own in report.outliers):
        print(f"In {unfinished} of the {len(report.outliers)} worst states the solver of {report.reference} itself was not done.\n")
    table = plain_table()
    for name in ("whole episodes", report.reference, report.other, "by chance", ""):
        table.add_column(name, no_wrap=True)
    for row in report.episodes:
        sides = (f"{side.value:.4g} [dim]{side.low:.4g} to {side.high:.4g}[/]" for side in (row.reference, row.other))
        mark = "[green]ok[/]" if row.passed else "[bold red]differs[/]"
        table.add_row(f"{row.agent}: {row.name}", *sides, f"{row.chance:.1%}", mark)
    screen().print(table)


def worst(report: ParityReport) -> list[FieldError]:
    """For each kind of field the one that is the furthest out."""
    kinds: dict[str, FieldError] = {}
    for field in report.fields:
        if field.kind not in kinds or (field.within, -field.p99) < (kinds[field.kind].within, -kinds[field.kind].p99):
            kinds[field.kind] = field
    return list(kinds.values())
