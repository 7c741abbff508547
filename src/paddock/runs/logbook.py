"""log.txt: what happened in a run, a line each: time, level, event, then name=value, for people and for grep."""

import json
from datetime import UTC, datetime
from pathlib import Path


class Logbook:
    """Appends lines. A disk that refuses them is counted, never an error: a log must not end what it describes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.lost = 0
        """Lines that could not be written."""

    def write(self, event: str, level: str = "info", /, **values: object) -> None:
        """One line, whole and in the file when this returns."""
        pairs = "".join(f" {name}={_text(value)}" for name, value in values.items())
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{stamp} {level} {event}{pairs}\n")
        except OSError:
            self.lost += 1


def _text(value: object) -> str:
    """Bare where that is unambiguous, else as JSON."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if text.isprintable() and text and not set(text) & set(' "=') else json.dumps(text)
