"""TensorBoard and Weights & Biases, read back by their own code from what a run wrote."""

import itertools
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from paddock.errors import PaddockError
from paddock.runs import wandb_mirror
from paddock.runs.telemetry import Telemetry, rewind
from paddock.runs.tensorboard_mirror import TensorBoardSink
from paddock.runs.wandb_mirror import MirrorHealth, WandbMirror, mirror

NO_SERVER = {"WANDB_MODE": "online", "WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_API_KEY": "0" * 40, "WANDB_INIT_TIMEOUT": "1"}


def feed(run: Telemetry, first: int, last: int) -> None:
    for k in range(first, last):
        run.scalars(k * 256, {"loss": 1 / (k + 1)} | ({"reward/upright": float(k)} if k % 2 else {}))


def tensorboard(folder: Path) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def expected(count: int) -> dict[str, list[tuple[int, float]]]:
    loss = [(k * 256, float(np.float32(1 / (k + 1)))) for k in range(count)]
    return {"loss": loss, "reward/upright": [(k * 256, float(k)) for k in range(1, count, 2)]}


def test_tensorboard_reads_what_was_stored(tmp_path: Path) -> None:
    began = time.time()
    with Telemetry(tmp_path / "telemetry.db", sinks=[TensorBoardSink(tmp_path / "tensorboard")]) as run:
        feed(run, 0, 50)
    assert tensorboard(tmp_path / "tensorboard") == expected(50)
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert all(began - 1 <= event.wall_time <= time.time() for event in events.Scalars("loss"))


@pytest.mark.parametrize("count", [0, 9])
def test_tensorboard_forgets_what_was_rewound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Files begun within the same second; each resume hides what the earlier ones hold later, whatever their numbers."""
    monkeypatch.setattr("paddock.runs.tensorboard_mirror._COUNTER", itertools.count(count))
    path, folder = tmp_path / "telemetry.db", tmp_path / "tensorboard"
    with Telemetry(path, sinks=[TensorBoardSink(folder)]) as run:
        feed(run, 0, 30)
        run.scalars(30 * 256, {"loss": 99.0})
    rewind(path, 19 * 256)
    with Telemetry(path, sinks=[TensorBoardSink(folder, purge_step=19 * 256 + 1)]) as run:
        feed(run, 20, 25)
    assert len(list(folder.iterdir())) == 2
    assert tensorboard(folder) == expected(25)


def test_a_tensorboard_file_is_there_before_the_run_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paddock.runs.tensorboard_mirror.FLUSH_S", 0.0)
    with Telemetry(tmp_path / "telemetry.db", sinks=[TensorBoardSink(tmp_path)]) as run:
        feed(run, 0, 10)
        until = time.monotonic() + 5
        while tensorboard(tmp_path) != expected(10):
            assert time.monotonic() < until
            time.sleep(0.05)


def offline_rows(folder: Path) -> list[dict[str, float]]:
    """Rows of every offline W&B run: a log in blocks of 32 KiB, each record with a checksum, a length and a kind."""
    rows: list[dict[str, float]] = []
    for file in sorted(folder.glob("wandb/offline-run-*/*.wandb")):
        data, at, whole = file.read_bytes(), 7, b""
        while at + 7 <= len(data):
            if 32768 - at % 32768 < 7:
                at += 32768 - at % 32768
                continue
            length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
            whole += data[at + 7 : at + 7 + length]
            at += 7 + length
            if kind in (1, 4):  # the whole of a record, or its end
                record = import_module("wandb.proto.wandb_internal_pb2").Record.FromString(whole)
                items = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
                rows += [{name: value for name, value in items.items() if not name.startswith("_")}] if items else []
                whole = b""
    return rows


def expected_rows(first: int, last: int) -> list[dict[str, float]]:
    odd = [{"reward/upright": float(k)} if k % 2 else {} for k in range(first, last)]
    return [{"env_step": k * 256, "loss": 1 / (k + 1)} | more for k, more in zip(range(first, last), odd, strict=True)]


def wait_for_sent(watched: WandbMirror, count: int) -> MirrorHealth:
    until = time.monotonic() + 20
    while watched.health().sent < count:
        assert time.monotonic() < until and watched.health().running, watched.health()
        time.sleep(0.05)
    return watched.health()


def test_wandb_gets_every_value_once_also_over_a_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    with Telemetry(tmp_path / "telemetry.db") as run:
        watched = WandbMirror(tmp_path, project="paddock-test", every_s=0.1)
        watched.start()
        feed(run, 0, 40)
        wait_for_sent(watched, 60)
        feed(run, 40, 50)
    watched.stop()
    health = watched.health()
    assert (health.running, health.sent, health.errors, health.last_error) == (False, 75, 0, "")
    assert offline_rows(tmp_path) == expected_rows(0, 50)
    with Telemetry(tmp_path / "telemetry.db") as run:
        feed(run, 50, 60)
    second = WandbMirror(tmp_path, project="paddock-test", every_s=0.1)
    second.start()
    wait_for_sent(second, 90)
    second.stop()
    assert offline_rows(tmp_path) == expected_rows(0, 60)


def test_a_wandb_that_cannot_be_reached_is_counted_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_SERVER.items():
        monkeypatch.setenv(name, value)
    watched = WandbMirror(tmp_path, project="paddock-test", every_s=0.05)
    with Telemetry(tmp_path / "telemetry.db") as run:
        watched.start()
        began = time.perf_counter()
        feed(run, 0, 100)
        assert time.perf_counter() - began < 0.5
        until = time.monotonic() + 20
        while watched.health().errors < 2:
            assert time.monotonic() < until, watched.health()
            time.sleep(0.05)
        assert run.flush() and run.health().errors == 0
    assert "refused" in watched.health().last_error and watched.health().sent == 0
    watched.stop()
    assert not watched.health().running


def test_a_mirror_that_hangs_is_killed_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    Telemetry(tmp_path / "telemetry.db").close()
    watched = WandbMirror(tmp_path, project="paddock-test", every_s=0.1)
    watched.start()
    process = watched._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.2)
    assert watched.health().running and watched.health().since_pass_s > 0.1
    began = time.monotonic()
    watched.stop(timeout=0.3)
    assert time.monotonic() - began < 3 and not watched.health().running


def is_alive(pid: int) -> bool:
    """Whether a process that is nobody's child here still runs; one that only waits to be buried does not."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(") ")[2][0] != "Z"


def test_a_mirror_outlives_its_training_only_to_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training killed at once: its mirror still sends what was committed, then goes."""
    monkeypatch.setenv("WANDB_MODE", "offline")
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from paddock.runs.telemetry import Telemetry; from paddock.runs.wandb_mirror import WandbMirror\n"
        "run, watched = Telemetry(Path(sys.argv[1]) / 'telemetry.db'), WandbMirror(Path(sys.argv[1]), project='p', every_s=0.1)\n"
        "watched.start(); run.scalars(5, {'x': 1.0}); run.flush(); print(watched._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    until = time.monotonic() + 20
    while is_alive(int(ended.stdout)):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert offline_rows(tmp_path) == [{"env_step": 5, "x": 1.0}]


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wandb_mirror, "find_spec", lambda name: None)
    with pytest.raises(PaddockError, match=r"pip install 'paddock\[wandb\]'"):
        WandbMirror(tmp_path, project="p")
    with pytest.raises(PaddockError, match=r"pip install 'paddock\[wandb\]'"):
        mirror(tmp_path, project="p", stop=threading.Event())
