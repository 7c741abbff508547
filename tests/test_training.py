"""Training as a user starts it: the record exists before the first step, limits hold, and a run goes on bit for bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import brief_tasks
import paddock
from brief_tasks import BRIEF_CARTPOLE, BRIEF_QUADRUPED
from paddock.configuring import TrainConfig, as_words
from paddock.errors import PaddockError
from paddock.learn.ppo_config import PpoConfig
from paddock.runs.checkpoints import BadCheckpoint
from paddock.runs.folder import RunFolder
from paddock.runs.telemetry_reader import TelemetryReader
from paddock.trained import find
from paddock.training import resume, start
from paddock.training_view import Glance

SMALL = TrainConfig(
    steps=16 * 8 * 6,
    num_worlds=16,
    num_threads=1,
    ppo=PpoConfig(horizon=8, epochs=2, minibatches=2, hidden=(16,)),
    evaluate_every=3,
    evaluate_episodes=4,
    save_every_s=0.0,
    watch_worlds=2,
)


def learner_tensors(run: paddock.Run, which: str = "latest") -> dict[str, torch.Tensor]:
    return run.folder.checkpoints.load(which).under("learner/")


class Watcher:
    """A view that keeps what it was shown, and may do something after an update."""

    def __init__(self, act: object = None) -> None:
        self.glances: list[Glance] = []
        self.notes: list[str] = []
        self.act = act

    def show(self, glance: Glance) -> None:
        self.glances.append(glance)
        if callable(self.act):
            self.act(glance)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def close(self) -> None: ...


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> paddock.Run:
    return paddock.train(BRIEF_QUADRUPED, config=SMALL, runs_dir=tmp_path_factory.mktemp("runs"), view=Watcher())


def test_a_run_says_what_it_is(run: paddock.Run) -> None:
    setup, progress = run.card.setup, run.card.progress
    assert (setup.task, setup.seed, setup.num_worlds) == ("quadruped-balance", 0, 16)
    assert json.loads((run.path / "run.json").read_text())["setup"]["config"]["ppo"]["learn_threads"] == 1
    assert setup.platform.mujoco == "3.17.0" and setup.source.sha256 and setup.model_sha256
    assert (run.path / "task.py").read_bytes() == Path(brief_tasks.__file__).read_bytes()
    assert (progress.status, progress.env_steps, progress.updates) == ("finished", 768, 6)
    assert progress.troubles == () and progress.dropped_rows == 0
    assert not (run.path / "live.sock").exists()
    assert list(run.folder.recordings.glob("*.mcap")) and list(run.folder.tensorboard.iterdir())


def test_its_telemetry_holds_what_happened(run: paddock.Run) -> None:
    with TelemetryReader(run.folder.telemetry) as reader:
        names = reader.names()
        assert {"reward/progress", "learn/kl", "evaluation/return", "steps_per_s"} <= set(names)
        assert reader.scalar("learn/kl").step.tolist() == [128 * i for i in range(1, 7)]
        steps, rows = reader.step_rows(1, 0, 768)
        assert len(steps) == 48 and rows.shape[1] == len(reader.columns.steps)
        terms = [i for i, name in enumerate(reader.columns.steps) if name.startswith("reward/")]
        reward = reader.columns.steps.index("reward")
        np.testing.assert_allclose(rows[:, terms].sum(1), rows[:, reward], rtol=1e-5, atol=1e-6)


def test_run_json_is_there_before_the_first_step(tmp_path: Path) -> None:
    seen: list[str] = []

    def first(glance: Glance) -> None:
        (card,) = tmp_path.glob("*/run.json")
        seen.append(json.loads(card.read_text())["progress"]["status"])

    paddock.train(BRIEF_CARTPOLE, config=SMALL, runs_dir=tmp_path, view=Watcher(first))
    assert set(seen) == {"running"}


def test_the_same_seed_repeats_every_bit_and_another_does_not(tmp_path: Path, run: paddock.Run) -> None:
    again = paddock.train(BRIEF_QUADRUPED, config=SMALL, runs_dir=tmp_path)
    other = paddock.train(BRIEF_QUADRUPED, config=replace(SMALL, seed=1), runs_dir=tmp_path)
    ours = learner_tensors(run)
    assert all(torch.equal(value, learner_tensors(again)[name]) for name, value in ours.items())
    assert any(not torch.equal(value, learner_tensors(other)[name]) for name, value in ours.items())


def test_a_stopped_run_goes_on_as_if_nothing_had_happened(tmp_path: Path, run: paddock.Run) -> None:
    def stop(glance: Glance) -> None:
        if glance.updates == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    folder = start(BRIEF_QUADRUPED, config=SMALL, runs_dir=tmp_path, view=Watcher(stop))
    card = folder.card()
    assert (card.progress.status, card.progress.detail, card.progress.updates) == ("stopped", "SIGTERM", 2)
    resumed = paddock.Run(resume(folder))
    assert resumed.card.progress.status == "finished" and resumed.card.progress.resumed == 1
    expected, found = run.folder.checkpoints.load().tensors, resumed.folder.checkpoints.load().tensors
    assert expected.keys() == found.keys()
    assert [name for name, value in expected.items() if not torch.equal(value, found[name])] == []
    assert resumed.curve("learn/kl").step.tolist() == run.curve("learn/kl").step.tolist()
    assert resumed.curve("learn/kl").mean.tolist() == run.curve("learn/kl").mean.tolist()


def test_a_finished_run_can_be_given_more(tmp_path: Path) -> None:
    first = paddock.train(BRIEF_CARTPOLE, config=replace(SMALL, steps=256), runs_dir=tmp_path)
    whole = paddock.train(BRIEF_CARTPOLE, config=replace(SMALL, steps=512), runs_dir=tmp_path)
    first.resume(steps=256)
    assert first.card.progress.env_steps == 512
    assert all(torch.equal(value, learner_tensors(first)[name]) for name, value in learner_tensors(whole).items())


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    words = ["train", "cartpole-balance", "--minutes", "5", "--num-worlds", "16", "--num-threads", "1", "--runs-dir", str(tmp_path)]
    child = subprocess.Popen([sys.executable, "-m", "paddock", *words], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not any("steps" in line.read_text() for line in tmp_path.glob("*/log.txt")):
        time.sleep(0.2)
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    shown, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert "stopped (SIGINT)" in shown and "paddock resume" in shown
    (card,) = tmp_path.glob("*/run.json")
    assert find(card.parent).folder.checkpoints.steps()


def test_what_a_full_disk_refused_at_the_end_is_rescued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: paddock.Run) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))

    def refuse(glance: Glance) -> None:
        if glance.updates == 4:
            (folder,) = tmp_path.glob("runs/*/checkpoints")
            folder.rename(folder.with_name("aside"))
            folder.write_text("in the way")

    ours = paddock.train(BRIEF_QUADRUPED, config=SMALL, runs_dir=tmp_path / "runs", view=Watcher(refuse))
    *_, told = ours.card.progress.troubles
    (saved,) = tmp_path.glob("elsewhere/rescued-*/000000000768")
    assert told == f"the last checkpoint is in {saved}: make room, then move it into {ours.path / 'checkpoints'}"
    (ours.path / "checkpoints").unlink()
    (ours.path / "aside").rename(ours.path / "checkpoints")
    saved.rename(ours.folder.checkpoints.path(768))
    assert all(torch.equal(value, learner_tensors(ours)[name]) for name, value in learner_tensors(run).items())


def test_a_second_ctrl_c_keeps_the_last_checkpoint_and_the_run_goes_on_from_it(tmp_path: Path, run: paddock.Run) -> None:
    def hurry(glance: Glance) -> None:
        if glance.updates == 3:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    folder = start(BRIEF_QUADRUPED, config=SMALL, runs_dir=tmp_path, view=Watcher(hurry))
    progress = folder.card().progress
    assert (progress.status, folder.checkpoints.steps()) == ("stopped", [128, 256]) and "Ctrl-C twice" in progress.detail
    resumed = paddock.Run(resume(folder))
    assert all(torch.equal(value, learner_tensors(resumed)[name]) for name, value in learner_tensors(run).items())


def test_a_damaged_checkpoint_is_passed_over_and_said(tmp_path: Path, run: paddock.Run) -> None:
    copy = paddock.Run(RunFolder(Path(shutil.copytree(run.path, tmp_path / run.path.name))))
    os.truncate(copy.folder.checkpoints.path(768) / "state.safetensors", 5000)
    view = Watcher()
    copy.resume(view=view)
    (told,) = copy.card.progress.troubles
    assert told.startswith("went on from 640 steps: ") and "000000000768/state.safetensors is damaged: 5,000 of" in told
    assert view.notes == [f"! {told}"]
    assert all(torch.equal(value, learner_tensors(copy)[name]) for name, value in learner_tensors(run).items())


def test_a_reader_that_goes_away_ends_nothing(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    code = """
import sys
from pathlib import Path
from rich.console import Console
from paddock.trained import train
from paddock.training_view import Lines
run = train(sys.argv[1], runs_dir=sys.argv[2], config=Path(sys.argv[3]), view=Lines(Console()))
print(run.status, *run.card.progress.troubles, sep="; ", file=sys.stderr)
"""
    (tmp_path / "small.json").write_text(json.dumps(as_words(SMALL)))
    command = [sys.executable, "-c", code, BRIEF_CARTPOLE, str(tmp_path / "runs"), str(tmp_path / "small.json")]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert ended.stderr.splitlines()[-1] == "finished; nobody could be shown this any more: broken pipe"


def test_minutes_limit_the_time(tmp_path: Path) -> None:
    run = paddock.train(BRIEF_CARTPOLE, minutes=0.03, num_worlds=16, num_threads=1, runs_dir=tmp_path, evaluate_episodes=2)
    assert 1.7 < run.card.progress.seconds < 8 and run.card.progress.status == "finished"


def test_an_error_in_the_loop_is_in_the_record(tmp_path: Path) -> None:
    def fail(glance: Glance) -> None:
        raise RuntimeError("the view broke")

    with pytest.raises(RuntimeError, match="the view broke"):
        paddock.train(BRIEF_CARTPOLE, config=SMALL, runs_dir=tmp_path, view=Watcher(fail))
    (folder,) = tmp_path.iterdir()
    progress = find(folder).card.progress
    assert progress.status == "failed" and "the view broke" in progress.detail


def test_evaluation_uses_other_seeds_and_repeats(run: paddock.Run) -> None:
    score = run.evaluate(episodes=6)
    assert score.episodes == 6 and score == replace(run.evaluate(episodes=6), env_steps_per_s=score.env_steps_per_s)
    with pytest.raises(PaddockError, match="kept for evaluation"):
        paddock.train(BRIEF_CARTPOLE, seed=1_000_000_007, runs_dir=run.path.parent)


def test_a_loaded_policy_acts(run: paddock.Run) -> None:
    env = paddock.make(BRIEF_QUADRUPED, num_worlds=3)
    trained = paddock.load(run)
    action = trained.policy.act(env.reset().obs)
    assert action.shape == (3, 12) and action.abs().max() <= 1
    assert trained.env_steps in run.folder.checkpoints.steps()


def test_a_checkpoint_of_another_task_is_refused(tmp_path: Path, run: paddock.Run) -> None:
    other = paddock.train(BRIEF_CARTPOLE, config=SMALL, runs_dir=tmp_path)
    step = run.folder.checkpoints.steps()[-1]
    stray = other.folder.checkpoints.path(step + 1000)
    stray.mkdir()
    for file in run.folder.checkpoints.path(step).iterdir():
        (stray / file.name).write_bytes(file.read_bytes())
    with pytest.raises(BadCheckpoint, match="quadruped-balance"):
        other.load("latest")
    with pytest.raises(BadCheckpoint, match="quadruped-balance"):
        other.resume(steps=128)
