"""What other people's software finds in a recording: Rerun, and MCAP's own ROS 2 decoder, which has Foxglove's schemas.

python bench/viewers.py                      # installs Rerun into a scratch folder; writes bench/results/viewers.json
python bench/viewers.py --folder /tmp/rerun  # keeps it there for the next time
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from importlib.metadata import distributions
from pathlib import Path

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

import paddock
from paddock.playing import scripted
from paddock.recording import record_episodes
from paddock.terminal import plain_table, screen

RESULT = Path(__file__).parent / "results" / "viewers.json"
TASK, WORLDS, SECONDS = "quadruped-walk", (0, 1), 4.0
ROWS = re.compile(r"with (\d+) rows .* - (/\S+) - data columns: \[(.*)\]")
"""What `rerun rrd print` says of a piece of its own file."""
SHOWN = ("Scalars:scalars", "SeriesLines:names", "Transform3D:translation", "Transform3D:quaternion")
"""What its time series and its 3D view draw."""


@dataclass(frozen=True, kw_only=True)
class Found:
    rerun: str
    """Its version."""
    problems: tuple[str, ...]
    """That its check of the file names."""
    shown: dict[str, dict[str, int]]
    """Rows of what it draws, by place and component."""
    decoded: dict[str, int]
    """Messages that the ROS 2 decoder reads, by `topic (schema, encoding of the schema, of the message)`."""


def installed(folder: Path) -> tuple[Path, str]:
    """Rerun's command, and its version."""
    if not (folder / "rerun_cli").exists():
        install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), "rerun-sdk"]
        subprocess.run(install, check=True, capture_output=True)
    version = next(own.version for own in distributions(path=[str(folder)]) if own.name == "rerun-sdk")
    return folder / "rerun_cli" / "rerun", version


def run(*command: Path | str) -> str:
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def shown(rerun: Path, recording: Path, out: Path) -> dict[str, dict[str, int]]:
    run(rerun, "mcap", "convert", recording, "-o", out)
    found: dict[str, Counter[str]] = {}
    for rows, place, columns in ROWS.findall(run(rerun, "rrd", "print", out)):
        found.setdefault(place, Counter()).update({name: int(rows) for name in columns.split() if name in SHOWN})
    return {place: dict(own) for place, own in sorted(found.items()) if own}


def decoded(recording: Path) -> dict[str, int]:
    found: Counter[str] = Counter()
    with recording.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        for schema, channel, _ in reader.iter_messages():
            assert schema is not None
            if channel.message_encoding == "cdr":
                found[f"{channel.topic} ({schema.name}, {schema.encoding}, {channel.message_encoding})"] += 1
        topics = {name.split(" ")[0] for name in found}
        file.seek(0)
        decoding = make_reader(file, decoder_factories=[DecoderFactory()])
        read = sum(1 for _ in decoding.iter_decoded_messages(topics=sorted(topics)))
    assert read == found.total()
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    kept = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rerun, version = installed(kept or folder / "rerun")
        recording = folder / "walk.mcap"
        record_episodes(TASK, scripted, recording, seconds=SECONDS, worlds=WORLDS)
        checked = run(rerun, "mcap", "check", "--full", recording)
        found = Found(
            rerun=version,
            problems=tuple(line.strip() for line in checked.splitlines() if re.match(r"(warn|error|fail)", line.strip())),
            shown=shown(rerun, recording, folder / "walk.rrd"),
            decoded=decoded(recording),
        )
    table = plain_table()
    for column in ("where", "what", "how many"):
        table.add_column(column)
    for place, own in found.shown.items():
        table.add_row(place, f"Rerun {version}: {', '.join(own)}", ", ".join(map(str, own.values())))
    for topic, count in found.decoded.items():
        table.add_row(topic, "mcap-ros2-support", str(count))
    screen().print(table)
    print(f"problems that Rerun's check names: {len(found.problems)}")
    result = {"paddock": paddock.__version__, "task": TASK, "worlds": WORLDS, "seconds": SECONDS}
    RESULT.write_text(json.dumps(result | asdict(found), indent=1) + "\n")
    print(f"wrote {RESULT}")


if __name__ == "__main__":
    main()
