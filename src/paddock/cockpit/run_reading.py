"""What can be known of a run: its card, curves, episodes, steps, events, log, source and files."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from paddock.cockpit.answers import Conflict, NotFound, answer, number_of, text_answer
from paddock.cockpit.blocks import MAX_POINTS, Block, pack, series_of, steps_of
from paddock.cockpit.files import checkpoints_in, files_in, media_type
from paddock.cockpit.state import cockpit_of, entry_of, folder_of
from paddock.errors import PaddockError
from paddock.messages import BestCheckpoint, RunCard, from_json
from paddock.messages.cockpit import ConfigDiff, Difference, EpisodePage, EventList, LogText, RunDetail, RunRow, SourceText
from paddock.runs.folder import RunFolder
from paddock.runs.telemetry_reader import LAST_STEP, TelemetryReader
from paddock.runs.telemetry_tail import episode_rows, newest_events

MAX_SERIES, MAX_RUNS = 200, 200
"""In one request."""
MAX_TEXT = 1_000_000
"""Bytes of a text that a page is shown; the file itself has the rest."""
BLOCK = "application/octet-stream"


async def list_runs(request: Request) -> Response:
    catalogue = cockpit_of(request).catalogue
    await catalogue.fresh()
    return text_answer(f'{{"runs":[{",".join(catalogue.texts())}]}}')


async def detail(request: Request) -> Response:
    entry = await entry_of(request)
    if entry.place == "archive":
        return answer(_detail(entry.row, entry.card, None))
    return answer(await asyncio.to_thread(_detail, entry.row, entry.card, RunFolder(entry.path)))


def _detail(row: RunRow, card: RunCard | None, run: RunFolder | None) -> RunDetail:
    files = {} if run is None else files_in(run.path)
    scalars, worlds, steps, terms, causes = _recorded(run)
    checkpoints = () if run is None else checkpoints_in(files, _best(run))
    return RunDetail(
        row=row,
        card=card,
        scalars=scalars,
        worlds=worlds,
        step_columns=steps,
        terms=terms,
        causes=causes,
        checkpoints=checkpoints,
        recordings=tuple(file for name, file in files.items() if name.startswith("recordings/")),
        evaluations=tuple(file for name, file in files.items() if name.startswith("evaluations/")),
        files=tuple(files.values()),
        can_play=bool(checkpoints) and row.place == "runs",
    )


def _recorded(run: RunFolder | None) -> tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Scalars, worlds, columns of steps, terms and causes in the record; none where there is no record that can be read."""
    try:
        if run is None:
            raise PaddockError("it is packed")
        with TelemetryReader(run.telemetry) as reader:
            columns = reader.columns
            return tuple(reader.names()), tuple(reader.worlds()), columns.steps, columns.terms, columns.causes
    except (PaddockError, sqlite3.Error):
        return (), (), (), (), ()


def _best(run: RunFolder) -> int | None:
    try:  # checkpoints.py could tell, but it imports PyTorch
        return from_json(BestCheckpoint, (run.path / "checkpoints" / "best.json").read_text()).env_steps
    except (OSError, ValueError, PaddockError):
        return None


async def series(request: Request) -> Response:
    run = await folder_of(request)
    return await _series(request, [run])


async def compared_series(request: Request) -> Response:
    ids = _listed(request, "runs", MAX_RUNS)
    return await _series(request, [await folder_of(request, run) for run in ids])


async def _series(request: Request, runs: Sequence[RunFolder]) -> Response:
    names = _listed(request, "names", MAX_SERIES)
    points = number_of(request, "points", 2000, least=1, most=MAX_POINTS)
    if points * len(names) * len(runs) > MAX_POINTS:
        raise PaddockError(
            f"{len(names)} series of {len(runs)} runs with {points:,} points each are too many. Ask for fewer points."
        )
    first = number_of(request, "first", -1, least=-1)
    last = number_of(request, "last", -1, least=-1)

    def read() -> bytes:
        blocks: list[Block] = []
        for run in runs:
            span = {"first": None if first < 0 else first, "last": None if last < 0 else last}
            blocks += series_of(run.path.name, run.telemetry, names, points=points, **span)
        return pack(blocks)

    return Response(await asyncio.to_thread(read), media_type=BLOCK)


def _listed(request: Request, name: str, most: int) -> list[str]:
    """Words out of the address, parted by commas or given several times."""
    words = [word for given in request.query_params.getlist(name) for word in given.split(",") if word]
    if not words:
        raise PaddockError(f"say which {name}: ?{name}=a,b")
    if len(words) > most:
        raise PaddockError(f"{len(words)} {name} are too many at once; ask for at most {most}.")
    return list(dict.fromkeys(words))


async def steps(request: Request) -> Response:
    run = await folder_of(request)
    world = number_of(request, "world", 0)
    first, last = number_of(request, "first", 0), number_of(request, "last", LAST_STEP, most=LAST_STEP)

    def read() -> bytes:
        return pack([steps_of(run.path.name, run.telemetry, world=world, first=first, last=last)])

    return Response(await asyncio.to_thread(read), media_type=BLOCK)


async def episodes(request: Request) -> Response:
    run = await folder_of(request)
    last, before = number_of(request, "last", 500, least=1, most=5000), number_of(request, "before", 2**53)

    def read() -> EpisodePage:
        with TelemetryReader(run.telemetry) as reader:
            (total,) = reader.database.execute("SELECT ifnull(max(id), 0) FROM episodes").fetchone()
            rows = episode_rows(reader, last=last, until=before - 1)
            return EpisodePage(terms=reader.columns.terms, rows=tuple(rows), total=total)

    return answer(await asyncio.to_thread(read))


async def events(request: Request) -> Response:
    run = await folder_of(request)
    last = number_of(request, "last", 500, least=1, most=5000)

    def read() -> EventList:
        with TelemetryReader(run.telemetry) as reader:
            return EventList(events=tuple(newest_events(reader, last)))

    return answer(await asyncio.to_thread(read))


async def log(request: Request) -> Response:
    run = await folder_of(request)
    lines = number_of(request, "lines", 200, least=1, most=5000)
    text = await asyncio.to_thread(_end_of, run.log)
    return answer(LogText(lines=tuple(text.splitlines()[-lines:])))


def _end_of(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(0, size - MAX_TEXT))
            return opened.read(MAX_TEXT).decode("utf-8", "replace")
    except OSError:
        return ""


async def source(request: Request) -> Response:
    run = await folder_of(request)
    if not run.task_file.is_file():
        raise NotFound("the run has no copy of its task's source: it was made in a notebook.")
    content = await asyncio.to_thread(run.task_file.read_bytes)
    return answer(SourceText(name=run.task_file.name, text=content[:MAX_TEXT].decode("utf-8", "replace")))


async def file(request: Request) -> Response:
    run = await folder_of(request)
    wanted = request.path_params["name"]
    files = await asyncio.to_thread(files_in, run.path)
    if wanted not in files:
        raise NotFound(f"the run has no file '{wanted[:80]}'. Its page lists those it has.")
    return FileResponse(run.path / wanted, media_type=media_type(wanted), filename=Path(wanted).name)


async def scene(request: Request) -> Response:
    return FileResponse(await _drawn(request, "scene.json"), media_type="application/json")


async def scene_numbers(request: Request) -> Response:
    return FileResponse(await _drawn(request, "scene.bin"), media_type=BLOCK)


async def _drawn(request: Request, name: str) -> Path:
    """A file of the run's scene; an older run has none until somebody looks at it."""
    run = await folder_of(request)
    async with cockpit_of(request).drawing:
        if not (run.path / name).is_file():
            await cockpit_of(request).draw(run.path)
    if not (run.path / name).is_file():
        raise Conflict(f"{run.path.name} cannot be drawn: it has no {name}.")
    return run.path / name


async def diff(request: Request) -> Response:
    a, b = [await entry_of(request, request.query_params.get(name, "")) for name in ("a", "b")]
    if a.card is None or b.card is None:
        raise Conflict(f"{(a if a.card is None else b).id} cannot be read, so there is nothing to compare.")
    left, right = _told(a.card), _told(b.card)
    names = list(dict.fromkeys([*left, *right]))
    rows = tuple(Difference(name=name, a=left.get(name), b=right.get(name)) for name in names if left.get(name) != right.get(name))
    return answer(ConfigDiff(a=a.id, b=b.id, rows=rows, same=len(names) - len(rows)))


def _told(card: RunCard) -> dict[str, object]:
    """What a run was told and what it ran on, by dotted name."""
    setup = card.setup
    machine = {"host": setup.host, "cpu": setup.platform.cpu, "mujoco": setup.platform.mujoco, "torch": setup.torch}
    versions = {"paddock": setup.paddock, "git": setup.git.commit if setup.git else "", "task_sha256": setup.source.sha256}
    told: dict[str, object] = {"task": setup.task, "preset": setup.preset, "algorithm": setup.algorithm}
    return told | dict(_flat("", setup.config)) | dict(_flat("randomize.", setup.randomize)) | versions | machine


def _flat(prefix: str, config: object) -> list[tuple[str, object]]:
    assert isinstance(config, dict)
    found: list[tuple[str, object]] = []
    for name, value in config.items():
        found += _flat(f"{prefix}{name}.", value) if isinstance(value, dict) else [(f"{prefix}{name}", value)]
    return found


ROUTES = [
    Route("/c/runs", list_runs),
    Route("/c/series", compared_series),
    Route("/c/diff", diff),
    Route("/c/runs/{run}", detail),
    Route("/c/runs/{run}/series", series),
    Route("/c/runs/{run}/steps", steps),
    Route("/c/runs/{run}/episodes", episodes),
    Route("/c/runs/{run}/events", events),
    Route("/c/runs/{run}/log", log),
    Route("/c/runs/{run}/source", source),
    Route("/c/runs/{run}/scene", scene),
    Route("/c/runs/{run}/scene.bin", scene_numbers),
    Route("/c/runs/{run}/file/{name:path}", file),
]
