"""What a person sees while a run trains."""

import io
import math
import os
import pty
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from paddock.training_view import BARS, LINE_EVERY_S, SPARK_POINTS, Glance, Lines, Terminal, clock, number, sparkline, view_for

FIRST = Glance(
    task="quadruped-walk",
    run="20261116-120000-quadruped-walk-s0-1a2b",
    env_steps=24_576,
    updates=1,
    seconds=3.0,
    share=0.01,
    steps_per_s=math.nan,
    numbers={},
)
LATER = replace(
    FIRST,
    env_steps=1_234_567,
    updates=50,
    seconds=245.0,
    share=0.5,
    steps_per_s=5_039.4,
    numbers={
        "episode/return": 87.654, "episode/length": 431.2, "episode/success": 0.25,
        "reward/track": 0.1234, "learn/kl": 0.00987, "learn/entropy": math.nan,
    },
    evaluation="success 0.94 [0.80, 0.98], return 12.00",
)  # fmt: skip


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that is moved by hand."""
    at = [1000.0]
    monkeypatch.setattr("paddock.training_view.time.monotonic", lambda: at[0])
    return at


def lines() -> tuple[Lines, io.StringIO]:
    out = io.StringIO()
    return Lines(Console(file=out)), out


def panel(*glances: Glance, width: int = 100) -> str:
    """What a terminal shows at the end, without its colours."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, record=True)
    view = Terminal(console)
    for glance in glances:
        view.show(glance)
    view.close()
    return console.export_text()


def test_a_pipe_gets_plain_lines(now: list[float]) -> None:
    view, out = lines()
    view.show(LATER)
    view.note("! [red]disk[/red] full")
    text = out.getvalue()
    assert "\x1b" not in text and "nan" not in text
    assert text.splitlines() == [
        "quadruped-walk  20261116-120000-quadruped-walk-s0-1a2b",
        "    4:05   50%    1,234,567 steps      5,039/s  return 87.65  length 431  success 0.25  eta 4:05",
        "          evaluation: success 0.94 [0.80, 0.98], return 12.00",
        "! [red]disk[/red] full",
    ]


def test_what_is_not_known_yet_is_a_dash(now: list[float]) -> None:
    view, out = lines()
    view.show(FIRST)
    view.show(replace(FIRST, updates=2, share=1.0, seconds=0.0, numbers={"episode/return": math.nan}))
    assert [line[16:].split() for line in out.getvalue().splitlines()[1:]] == [
        ["24,576", "steps", "-/s", "eta", "4:57"],
        ["24,576", "steps", "-/s", "return", "-", "eta", "0:00"],
    ]
    assert clock(replace(FIRST, share=0.0).eta_s) == "-"


def test_lines_come_now_and_then_and_at_the_end(now: list[float]) -> None:
    view, out = lines()
    for i in range(100):
        now[0] += 1.0
        view.show(replace(LATER, env_steps=i))
    shown = [line for line in out.getvalue().splitlines() if " steps " in line]
    assert len(shown) == 100 / LINE_EVERY_S
    view.show(replace(LATER, env_steps=777, share=1.0))
    assert "777 steps" in out.getvalue().splitlines()[-1]
    assert out.getvalue().count("evaluation: ") == 1  # said when it is new, not every time
    view.show(replace(LATER, env_steps=777, share=1.0, evaluation="success 1.00"))  # the one at the end comes after the last line
    assert "777 steps" in out.getvalue().splitlines()[-2] and out.getvalue().endswith("evaluation: success 1.00\n")


def test_a_pause_is_said_once(now: list[float]) -> None:
    view, out = lines()
    view.show(LATER)
    for _ in range(200):
        now[0] += 0.2
        view.show(replace(LATER, paused=True))
    view.show(replace(LATER, env_steps=5))
    assert [line.split()[0] for line in out.getvalue().splitlines()[3:]] == ["paused", "going", "4:05"]


def test_a_trouble_stands_in_the_line(now: list[float]) -> None:
    view, out = lines()
    view.show(replace(LATER, troubles=("an old one", "no checkpoint at 5 steps: No space left on device")))
    assert out.getvalue().splitlines()[1].endswith("eta 4:05  ! no checkpoint at 5 steps: No space left on device")


@pytest.mark.parametrize("width", [100, 60, 30])
def test_the_panel_shows_the_numbers(width: int) -> None:
    text = panel(FIRST, replace(LATER, numbers=LATER.numbers | {"episode/return": math.nan}), LATER, width=width)
    assert max(map(len, text.splitlines())) <= width and "nan" not in text
    if width == 100:
        for part in (
            "quadruped-walk 20261116-120000-quadruped-walk-s0-1a2b", "1,234,567 steps", "50 updates", "5,039 steps/s",
            "4:05 gone, 4:05 to go", "return 87.65", "length 431.2", "success 0.25", "track 0.1234", "kl 0.00987", "entropy -",
            "evaluation success 0.94 [0.80, 0.98], return 12.00",
        ):  # fmt: skip
            assert part in " ".join(text.split()), part


def test_the_panel_says_paused_and_what_went_wrong() -> None:
    assert "paused" not in panel(LATER)
    assert "1a2b paused" in panel(replace(LATER, paused=True))
    assert "! [red]disk[/red] full" in panel(replace(LATER, troubles=("[red]disk[/red] full",)))


def test_the_first_panel_has_no_rate_and_no_curve() -> None:
    text = panel(FIRST)
    assert "- steps/s" in text and "nan" not in text and not set(BARS) & set(text)
    rising = [replace(LATER, updates=i, numbers={"episode/return": float(i)}) for i in range(8)]
    assert BARS in panel(*rising)
    assert BARS in panel(*rising, *[replace(rising[-1], paused=True)] * 50)  # waiting is no progress


def test_a_terminal_that_was_never_shown_anything_is_left_as_it_was() -> None:
    out = io.StringIO()
    view = view_for(Console(file=out, force_terminal=True))
    assert isinstance(view, Terminal)
    view.close()
    assert out.getvalue() == ""


def test_who_gets_which_view(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(view_for(Console(file=io.StringIO())), Lines)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(view_for(Console(file=io.StringIO(), force_terminal=True)), Lines)


def test_a_real_terminal_gets_its_cursor_back() -> None:
    code = """
from rich.console import Console
from test_training_view import FIRST, LATER
from paddock.training_view import view_for
view = view_for(Console())
view.show(FIRST), view.note("! a note"), view.show(LATER), view.close()
"""
    ours, theirs = pty.openpty()
    env = os.environ | {"TERM": "xterm", "PYTHONPATH": os.path.dirname(__file__), "COLUMNS": "100"}  # noqa: PTH120
    process = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 4096):
            seen += part
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        os.close(ours)
    assert process.wait() == 0, seen.decode()
    assert b"1,234,567" in seen and b"! a note" in seen
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")


def test_sparkline() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == BARS
    assert sparkline([7, 0]) == "█▁" and sparkline([3, 3, 3]) == "▁▁▁"
    assert sparkline([]) == sparkline([math.nan, math.inf]) == ""
    assert sparkline([math.nan, 0.0, math.nan, 1.0]) == "▁█"
    long = sparkline([float(i) for i in range(1000)])
    assert len(long) == SPARK_POINTS and long == "".join(sorted(long, key=BARS.index))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0:00"), (0.6, "0:01"), (59.7, "1:00"), (245, "4:05"), (3723, "1:02:03"), (math.nan, "-"), (math.inf, "-")],
)
def test_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def test_number() -> None:
    assert number(1234.5, ",.0f") == "1,234" and number(math.nan, ".2f") == number(-math.inf, ".2f") == "-"
