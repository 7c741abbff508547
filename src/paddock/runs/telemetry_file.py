"""telemetry.db as a file: its tables, its version, the names of its columns, and how to open it.

Any SQLite tool reads it. Numbers of one step come before the large block of a row, so that scans need not touch blocks.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from paddock.errors import PaddockError
from paddock.runs.atomic import beside
from paddock.runs.faults import point

SCHEMA_VERSION = 1
OPEN_S = 10.0
"""How long a reader, a rewind or a beginning run waits for a lock."""

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE columns (kind TEXT, place INTEGER, name TEXT NOT NULL, PRIMARY KEY (kind, place)) STRICT, WITHOUT ROWID;
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE scalars (
    name INTEGER, step INTEGER, i INTEGER, time REAL NOT NULL, value REAL NOT NULL, PRIMARY KEY (name, step, i)
) STRICT, WITHOUT ROWID;
CREATE TABLE rollups (
    name INTEGER, size INTEGER, bucket INTEGER, first_step INTEGER NOT NULL, last_step INTEGER NOT NULL,
    low REAL NOT NULL, high REAL NOT NULL, total REAL NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (name, size, bucket)
) STRICT, WITHOUT ROWID;
CREATE TABLE episodes (
    id INTEGER PRIMARY KEY, step INTEGER NOT NULL, world INTEGER NOT NULL, episode INTEGER NOT NULL, length INTEGER NOT NULL,
    total REAL, success INTEGER, cause INTEGER NOT NULL, terms BLOB NOT NULL
) STRICT;
CREATE TABLE step_chunks (
    world INTEGER, t0 INTEGER, stride INTEGER NOT NULL, n INTEGER NOT NULL, block BLOB NOT NULL, PRIMARY KEY (world, t0)
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
    id INTEGER PRIMARY KEY, step INTEGER NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL
) STRICT
"""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The names behind the numbers, stored once in the file."""

    terms: tuple[str, ...]
    """Reward terms of an episode's blob."""
    causes: tuple[str, ...]
    """What an episode's `cause` counts through."""
    steps: tuple[str, ...]
    """Columns of a step chunk's block."""


@dataclass(frozen=True, kw_only=True)
class Begun:
    """What a file holds already when a writer opens it."""

    columns: Columns
    last_steps: dict[str, int]
    """The latest step of each scalar."""
    last_row: int
    """The latest step with a step row of one of the chosen worlds; -1 where there is none."""


def begin(path: Path, asked: Columns, worlds: Sequence[int]) -> Begun:
    """Create the file, or open the one that an earlier session of this run wrote."""
    if not path.parent.is_dir():
        raise PaddockError(f"{path} cannot be written: there is no folder {path.parent}. Create it first.")
    try:
        if not path.exists():
            _create(path)
        with closing(connect(path, mode="rw", timeout=OPEN_S)) as db:
            check(db, path)
            (journal,) = db.execute("PRAGMA journal_mode=WAL").fetchone()
            if journal != "wal":
                raise PaddockError(f"the file system of {path} has no shared memory for SQLite's WAL. Keep runs on a local disk.")
            point("telemetry.after_open")
            db.execute("BEGIN IMMEDIATE")
            columns = _agree(db, path, asked)
            begun = Begun(columns=columns, last_steps=last_steps(db), last_row=_last_row(db, worlds))
            point("telemetry.before_begun")
            db.execute("COMMIT")
            return begun
    except sqlite3.Error as error:
        raise PaddockError(f"{path} cannot be written: {error}. Check the disk, and that no other run uses this file.") from None


def connect(path: Path, *, mode: str, timeout: float) -> sqlite3.Connection:
    """A connection in which transactions begin and end where the code says so. `mode` is ro, rw or rwc."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=timeout)


def open_existing(path: Path, *, mode: str) -> sqlite3.Connection:
    """A connection to a telemetry file that must be there, and be of this version."""
    if not path.is_file():
        raise PaddockError(f"there is no telemetry at {path}. Give the telemetry.db of a run folder.")
    try:
        db = connect(path, mode=mode, timeout=OPEN_S)
    except sqlite3.Error as error:
        raise PaddockError(f"{path} cannot be opened: {error}.") from None
    try:
        check(db, path)
    except BaseException:
        db.close()
        raise
    return db


def check(db: sqlite3.Connection, path: Path) -> None:
    """Refuse what is no telemetry, or telemetry of another version."""
    try:
        row = db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    except sqlite3.DatabaseError as error:
        raise PaddockError(f"{path} is no telemetry that can be read: {error}. Give the telemetry.db of a run folder.") from None
    version = row[0] if row else "none"
    if version != str(SCHEMA_VERSION):
        raise PaddockError(
            f"{path} has schema version {version}; this Paddock knows version {SCHEMA_VERSION}. Use the Paddock that wrote it."
        )


def read_columns(db: sqlite3.Connection) -> Columns:
    """The names stored in the file."""
    return Columns(terms=_names(db, "term"), causes=_names(db, "cause"), steps=_names(db, "step"))


def last_steps(db: sqlite3.Connection) -> dict[str, int]:
    """The latest step of each scalar."""
    latest = "SELECT max(step) FROM scalars WHERE scalars.name = names.id"
    return {name: step for name, step in db.execute(f"SELECT name, ({latest}) FROM names") if step is not None}


def _create(path: Path) -> None:
    """The file with its tables: a kill that left one without them would leave a run that nothing can read or resume."""
    with beside(path) as partial, closing(connect(partial, mode="rwc", timeout=OPEN_S)) as db:
        db.execute("PRAGMA journal_mode=MEMORY")  # a journal beside would outlive a kill
        db.execute("BEGIN")
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        db.execute("INSERT INTO meta VALUES ('schema_version', ?)", (str(SCHEMA_VERSION),))
        db.execute("INSERT INTO meta VALUES ('synced', '0')")
        db.execute("COMMIT")


def _agree(db: sqlite3.Connection, path: Path, asked: Columns) -> Columns:
    """Store names not known yet; none asked for means those of the file."""
    for kind, names in (("term", asked.terms), ("cause", asked.causes), ("step", asked.steps)):
        if len(set(names)) != len(names):
            raise PaddockError(f"{kind} names must differ from each other; given: {', '.join(names)}.")
        stored = _names(db, kind)
        if not stored:
            db.executemany("INSERT INTO columns VALUES (?, ?, ?)", [(kind, place, name) for place, name in enumerate(names)])
        elif names and names != stored:
            raise PaddockError(
                f"{path} was begun with the {kind} names {', '.join(stored)}; asked to go on with {', '.join(names)}. "
                "Start a new run, or resume with the task that began this one."
            )
    return read_columns(db)


def _names(db: sqlite3.Connection, kind: str) -> tuple[str, ...]:
    return tuple(name for (name,) in db.execute("SELECT name FROM columns WHERE kind = ? ORDER BY place", (kind,)))


def _last_row(db: sqlite3.Connection, worlds: Sequence[int]) -> int:
    query = "SELECT t0 + stride * (n - 1) FROM step_chunks WHERE world = ? ORDER BY t0 DESC LIMIT 1"
    return max((step for world in worlds for (step,) in db.execute(query, (world,))), default=-1)
