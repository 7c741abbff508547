"""A parity report as a page that needs no other file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from paddock.messages import to_json
from paddock.messages.parity import ContactRow, ParityReport
from paddock.parity_errors import LEAST_SCALE, TOLERANCES
from paddock.parity_plot import plot_divergence, plot_errors
from paddock.runs.atomic import write_file

STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:64em;margin:2em auto;padding:0 1em;color:#1c1c1c}
table{border-collapse:collapse;margin:.5em 0 1.5em}td,th{padding:.15em .9em .15em 0;text-align:left;vertical-align:top;
font-variant-numeric:tabular-nums}th{color:#666;font-weight:normal;border-bottom:1px solid #ccc}img{max-width:100%}
.beyond{color:#b42318;font-weight:600}.ok{color:#15803d;font-weight:600}footer{color:#666;font-size:85%}"""
OK, BEYOND = "ok", "beyond"
FOR_FIELDS = (
    "Both sims are put into the same full state and given the same action for one control step. A field passes when {share:.0%} of "
    "the states are within its tolerance. Relative errors are to the larger of the state's own value and the field's root mean "
    "square over all states, at least {least:g}. Contacts are compared by what they do, never one by one: their order differs."
)
FOR_FLAGS = (
    "A flag may differ where fields are beyond their tolerances, too. Where they are not, the state lies at a threshold if the "
    "task, asked about the other sim's numbers, gives the other sim's flag, and is a disagreement if it does not."
)
FOR_OUTLIERS = (
    "The reference's solver was not done where the sims agree once it may go on until nothing changes any more: the difference "
    "then comes of the model's limit on iterations, not of the other sim."
)
FOR_EPISODES = (
    "Equal agents from equal seeds. Chaotic trajectories part; their distributions must not. Intervals are of 95 %. A difference "
    "counts where episodes of one and the same sim would show it less often than is asked for."
)
FOR_TIME = "Information only: from equal states under equal actions, rounding errors grow."


def write_report(report: ParityReport, folder: Path) -> tuple[Path, Path]:
    """`parity.html` and `parity.json` in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    page, data = folder / "parity.html", folder / "parity.json"
    write_file(data, to_json(report).encode())
    write_file(page, page_of(report).encode())
    return page, data


def circumstances(report: ParityReport) -> str:
    """From what it was found."""
    left_out = f", {report.unusable} of them left out because {report.reference} fails there" if report.unusable else ""
    policy = f" The policy is that of {report.run}." if report.run else ""
    return (
        f"{report.states:,} states of episodes of {', '.join(report.agents)}, {report.states_in_contact:,} with something "
        f"touching{left_out}; {report.outliers_in_all:,} beyond a tolerance.{policy}"
    )


def page_of(report: ParityReport) -> str:
    """The report as HTML, pictures and all."""
    title = f"{report.task}: {report.other} against {report.reference}"
    versions = ", ".join(f"{name} {number}" for name, number in report.versions.items())
    with TemporaryDirectory() as folder:
        errors = _picture(plot_errors(report, Path(folder) / "errors.png"))
        apart = _picture(plot_divergence(report, Path(folder) / "divergence.png")) if report.divergence else "<p>Not followed."
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{STYLE}</style>",
        f"<h1>{escape(title)}</h1>",
        f"<p class={OK}>The sims agree." if report.passed else f"<p class={BEYOND}>The sims do not agree.",
        _text(report.note),
        _text(circumstances(report)),
        "<h2>One control step from equal states</h2>",
        _text(FOR_FIELDS.format(share=report.share_asked, least=LEAST_SCALE)),
        _fields(report),
        errors,
        _table(("kind", "tolerance", "why"), ((kind, f"{own.limit:g}", own.why) for kind, own in TOLERANCES.items())),
        f"<h2>Flags</h2>{_text(FOR_FLAGS)}{_flags(report)}",
        f"<h2>States beyond</h2>{_outliers(report) if report.outliers else '<p>None.'}",
        f"<h2>Whole episodes</h2>{_text(FOR_EPISODES)}{_episodes(report)}",
        f"<h2>Followed over time</h2>{_text(FOR_TIME)}{apart}",
        f"<footer>{escape(report.machine)}; {escape(versions)}; seed {report.seed}; {report.seconds:.0f} s</footer></html>",
    ]
    return "\n".join(parts)


def _fields(report: ParityReport) -> str:
    names = ("field", "kind", "scale", "median", "99 %", "max", "tolerance", "within", "")
    rows = []
    for f in report.fields:
        scale = f"{f.scale:.3g}" if f.scale else "its unit"
        rows.append(
            (f.name, f.kind, scale, *map(number, (f.median, f.p99, f.max, f.tolerance)), f"{f.within:.2%}", _mark(f.passed))
        )
    return _table(names, rows)


def _flags(report: ParityReport) -> str:
    names = (
        "flag",
        f"set by {report.reference}",
        f"set by {report.other}",
        "differ at the threshold",
        "beyond, too",
        "disagree",
        "",
    )
    counts = ("set_in_reference", "set_in_other", "boundary", "beyond", "disagreeing")
    return _table(names, ((f.name, *(f"{getattr(f, name):,}" for name in counts), _mark(f.passed)) for f in report.flags))


def _outliers(report: ParityReport) -> str:
    names = ("state", "agent", "step", "worst", "error", "all beyond", "reference's solver", "contacts before", "after")
    rows = []
    for o in report.outliers:
        error = f"{number(o.error)} of {o.tolerance:g}"
        touching = (_touching(o.contacts), _touching(o.contacts_after))
        solver = "was not done" if o.is_unfinished else "was done"
        rows.append((str(o.state), o.agent, str(o.age), o.worst, error, ", ".join(o.beyond), solver, *touching))
    return _text(f"{report.outliers_in_all} of {report.states}, the worst first. {FOR_OUTLIERS}") + _table(names, rows)


def _episodes(report: ParityReport) -> str:
    names = ("agent", "", report.reference, report.other, "asked", "in words", "")
    rows = []
    for s in report.episodes:
        sides = (f"{side.value:.4g} [{side.low:.4g}, {side.high:.4g}]" for side in (s.reference, s.other))
        rows.append((s.agent, s.name, *sides, f"{s.asked:.2%}", s.said, _mark(s.passed)))
    return _table(names, rows)


def number(value: float) -> str:
    """An error in two digits."""
    return f"{value:.1e}" if value else "0"


def _touching(contacts: Sequence[ContactRow]) -> str:
    return ", ".join(f"{own.first} on {own.second} {own.distance:+.2e} m" for own in contacts) or "none"


def _mark(passed: bool) -> str:
    return OK if passed else BEYOND


def _text(words: str) -> str:
    return f"<p>{escape(words)}</p>"


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}" for name in names)
    return f"<table><tr>{head}{''.join('<tr>' + ''.join(map(_cell, row)) for row in rows)}</table>"


def _cell(words: str) -> str:
    return f"<td class={words}>{words}" if words in (OK, BEYOND) else f"<td>{escape(words)}"


def _picture(path: Path) -> str:
    return f'<img alt="" src="data:image/png;base64,{b64encode(path.read_bytes()).decode()}">'
