"""The commands around a run, one after the other as a newcomer types them."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import onnx
import pytest
from PIL import Image

from brief_tasks import BRIEF_CARTPOLE
from paddock.cli import main
from paddock.errors import PaddockError
from paddock.evaluation import FINAL_SEED, FIRST_EVALUATION_SEED, SELECTION_SEED
from paddock.gl_choice import best_gl
from paddock.judging import seed_of
from paddock.messages import ControllerManifest, RunCard, from_json
from paddock.replaying import open_recording
from paddock.runs.folder import find_run
from paddock.trained import find

SMALL = """--steps 512 --num-worlds 8 --num-threads 1 --ppo.horizon 8 --ppo.epochs 1 --ppo.minibatches 1 --ppo.hidden 8
    --evaluate-every 4 --evaluate-episodes 2"""
needs_gl = pytest.mark.skipif(best_gl() is None and os.environ.get("CI") != "true", reason="nothing here can draw")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a run in it, and what `paddock train` printed."""
    root, said = tmp_path_factory.mktemp("work") / "runs", io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["train", BRIEF_CARTPOLE, *SMALL.split(), "--runs-dir", str(root)]) == 0
    return root, said.getvalue()


@pytest.fixture
def root(trained: tuple[Path, str], tmp_path: Path) -> Path:
    """A copy of that folder, to do anything to."""
    return Path(shutil.copytree(trained[0], tmp_path / "runs"))


def said(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    assert main(list(map(str, args))) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def refused(capsys: pytest.CaptureFixture[str], *args: str | Path) -> str:
    assert main(list(map(str, args))) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith("paddock: ") and len(shown.err.splitlines()) < 10
    return shown.err


def wrote(text: str) -> list[Path]:
    """The files that a command says it wrote."""
    lines = [line.removeprefix("wrote ") for line in text.splitlines() if line.startswith("wrote ")]
    files = [Path(line.split("  (")[0].split(": ")[0]) for line in lines]
    assert files and all(file.is_file() for file in files)
    return files


def test_train_says_what_it_will_do_what_it_did_and_what_to_do_next(trained: tuple[Path, str]) -> None:
    root, text = trained
    run = find("latest", runs_dir=root)
    first, *_, last = [line for line in text.splitlines() if line]
    assert first.startswith(f"Training {BRIEF_CARTPOLE}: 512 steps, 8 worlds on 1 thread, seed 0.")
    assert f"{run.path}  finished after 512 steps in 0:0" in text
    assert "Best in evaluation: success " in text and "nan" not in text and "\x1b" not in text
    assert last == f"Go on     paddock resume {run.path.name} --runs-dir {root} --minutes 5"
    assert f"\nEvaluate  paddock evaluate {run.path.name} --runs-dir {root}\n" in text
    assert list(run.card.setup.command) == sys.argv
    assert run.card.progress.status == "finished" and len(list(run.folder.recordings.glob("*.mcap"))) == 1


def test_the_commands_that_train_prints_are_commands(trained: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    for line in trained[1].splitlines():
        if line.startswith(("Evaluate", "Export", "Go on")):
            _, name, *args = line.split("  ", 1)[-1].split()
            with pytest.raises(SystemExit) as end:
                main([name, *args, "--help"])
            assert end.value.code == 0
    capsys.readouterr()


def test_evaluate(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "evaluate", "latest", "--no-video", "--episodes", "4", "--runs-dir", root)
    scores, curves = wrote(text)
    found = json.loads(scores.read_text())
    assert [found["policy"]["episodes"], *(other["agent"] for other in found["others"])] == [4, "zero", "random", "scripted"]
    assert found["seed"] == FINAL_SEED and found["env_steps"] == find("latest", runs_dir=root).load().env_steps
    assert f"the policy after {found['env_steps']:,} steps" in text and "scripted  1.00 [0.51, 1.00]" in text
    low, high = found["policy"]["success_interval"]
    assert 0 <= low <= found["policy"]["success"]["count"] / 4 <= high <= 1
    with Image.open(curves) as picture:
        assert picture.width > picture.height > 100
    before = scores.read_bytes()
    again, _ = wrote(said(capsys, "evaluate", "latest", "--no-video", "--episodes", "4", "--runs-dir", root))
    assert again == scores and _timeless(again.read_bytes()) == _timeless(before)
    other, _ = wrote(said(capsys, "evaluate", "latest", "--no-video", "--episodes", "4", "--seed", "1", "--runs-dir", root))
    assert other != scores and _timeless(other.read_bytes()) != _timeless(before) and scores.exists()


def _timeless(content: bytes) -> object:
    """A judgement without its speed, the only part that may differ from one time to the next."""
    words = json.loads(content)
    for score in (words["policy"], *words["others"]):
        score.pop("env_steps_per_s")
    return words


def test_no_set_of_evaluation_episodes_was_seen_before() -> None:
    assert seed_of(0) == FINAL_SEED
    seeds = {seed_of(number) for number in range(1000)}
    assert len(seeds) == 1000 and min(seeds) >= FIRST_EVALUATION_SEED and SELECTION_SEED not in seeds
    for number in (-1, 1_000_000):
        with pytest.raises(PaddockError, match="wanted 0 to 999,999"):
            seed_of(number)


def frames_of(film: Path) -> np.ndarray:
    """Every frame of a video of 640 by 400."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(film), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    pixels = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(pixels, dtype=np.uint8).reshape(-1, 400, 640, 3)


@needs_gl
def test_evaluate_films_the_best_and_the_worst(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "evaluate", "latest", "--episodes", "3", "--checkpoint", "latest", "--runs-dir", root)
    scores, _, *films = wrote(text)
    judged = json.loads(scores.read_text())
    assert [film.name for film in films] == [f"{scores.stem}-best.mp4", f"{scores.stem}-worst.mp4"]
    for film, name in zip(films, ("best", "worst"), strict=True):
        frames = frames_of(film)
        assert frames[0].std() > 5
        assert len(frames) == -(-judged[name]["length"] // 2)  # every other control step, at 25 a second
        assert not np.array_equal(frames[0], frames[-1])


def test_export(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "export", "latest", "--out", root / "robot", "--runs-dir", root)
    graph, manifest = wrote(text)
    onnx.checker.check_model(onnx.load(graph))
    needs = from_json(ControllerManifest, manifest.read_text())
    assert needs.task == "cartpole-balance"
    for reading in needs.required:
        assert f"  {reading.name}  " in text and reading.unit in text
    assert "Before each step of 20 ms it needs" in text and graph.parent == root / "robot"


def test_record_and_replay(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "record", "latest", "--seconds", "2", "--runs-dir", root)
    (file,) = wrote(text)
    assert file.name == "policy-seed-0.mcap" and "100 steps" in text and text.endswith(f"Verify it  paddock replay {file}\n")
    assert open_recording(file).steps == 100
    replayed = said(capsys, "replay", file)
    assert "identical" in replayed and "100 of 100 verified" in replayed
    assert "exists" in refused(capsys, "record", "latest", "--seconds", "2", "--runs-dir", root)
    (zero,) = wrote(said(capsys, "record", "latest", "--agent", "zero", "--seconds", "2", "--runs-dir", root))
    assert not open_recording(zero).tracks[0].ctrl.any() and open_recording(file).tracks[0].ctrl.any()


def test_a_part_of_a_recording_is_replayed_from_the_keyframe_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    said(capsys, "record", "quadruped-balance", "--seconds", "6", "--out", "long.mcap")
    steps = open_recording(Path("long.mcap")).steps
    keyframes = [keyframe.step for keyframe in open_recording(Path("long.mcap")).tracks[0].keyframes]
    begin = max(step for step in keyframes if step <= steps // 2)
    assert begin > 0
    text = said(capsys, "replay", "long.mcap", "--begin-s", steps // 2 * 0.02, "--end-s", (steps // 2 + 10) * 0.02)
    assert f"{steps // 2 + 10 - begin} of {steps} verified" in text
    assert "world 3 is not in long.mcap. Recorded: 0." in refused(capsys, "replay", "long.mcap", "--world", "3")
    assert "has the steps 0 to" in refused(capsys, "replay", "long.mcap", "--begin-s", "99")


def test_the_sample_of_a_run_replays(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sample,) = find_run("latest", root).recordings.glob("*.mcap")
    assert "identical" in said(capsys, "replay", sample)


def test_record_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (file,) = wrote(said(capsys, "record", "cartpole-balance", "--seconds", "1"))
    assert file == Path("cartpole-balance.mcap")


def test_a_recording_that_was_tampered_with_is_not_identical(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (file,) = wrote(said(capsys, "record", "cartpole-balance", "--seconds", "1"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert main(["replay", str(file)]) != 0
    assert "identical" not in capsys.readouterr().out


def test_a_recording_whose_looks_are_damaged_is_still_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (file,) = wrote(said(capsys, "record", "cartpole-balance", "--seconds", "1"))
    content = bytearray(file.read_bytes())
    content[content.index(b"<mujoco", content.index(b"look.xml")) + 1] ^= 1
    file.write_bytes(content)
    assert main(["replay", str(file)]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "50 of 50 verified" in shown and "corrupt" in shown and "The content of look.xml is not what was recorded" in shown
    assert main(["replay", str(file), "--render", "film.mp4"]) == 2
    assert "look.xml in cartpole-balance.mcap is not the one that was recorded" in capsys.readouterr().err


@needs_gl
def test_replay_films(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    said(capsys, "record", "cartpole-balance", "--seconds", "0.4", "--out", "short.mcap")
    text = said(capsys, "replay", "short.mcap", "--render", "short.gif")
    (film,) = wrote(text)
    with Image.open(film) as video:
        assert getattr(video, "n_frames", 1) > 3
    assert "Known endings: .mp4, .gif" in refused(capsys, "replay", "short.mcap", "--render", "short.avi")


def test_runs_are_listed_packed_thrown_away_and_brought_back(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = find_run("latest", root).path.name
    head, row = said(capsys, "runs", "--runs-dir", root).splitlines()
    assert head.split() == ["run", "status", "steps", "time", "return", "success", "best", "size"]
    assert row.split()[:3] == [name, "finished", "512"]
    card = json.loads(said(capsys, "runs", "--json", "--runs-dir", root))[0]["card"]
    assert from_json(RunCard, json.dumps(card)) == find_run("latest", root).card()

    text = said(capsys, "runs", "archive", "latest", "--runs-dir", root)
    packed = root / "archive" / f"{name}.tar.gz"
    assert text == f"packed into {packed}\n\nBring it back  paddock runs restore {name} --runs-dir {root}\n" and packed.is_file()
    assert said(capsys, "runs", "--runs-dir", root).split()[-1] == "archive"
    assert f"run {name} is put away" in refused(capsys, "evaluate", name, "--runs-dir", root)
    assert said(capsys, "runs", "restore", name, "--runs-dir", root) == f"back in {root / name}\n"

    assert f"Bring it back  paddock runs restore {name}" in said(capsys, "runs", "delete", "latest", "--runs-dir", root)
    said(capsys, "runs", "restore", name, "--runs-dir", root)
    said(capsys, "runs", "delete", "latest", "--runs-dir", root)
    assert said(capsys, "runs", "empty-trash", "--runs-dir", root) == "deleted 1 run for good\n"
    assert f"No runs in {root}. Start one: paddock train" in said(capsys, "runs", "--runs-dir", root)


def test_plot(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (curves,) = wrote(said(capsys, "runs", "plot", "latest", "--runs-dir", root))
    with Image.open(curves) as picture:
        assert len(picture.convert("RGB").getcolors(maxcolors=10**6) or []) > 20


def test_resume_goes_on_where_it_is_told_how_far(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = refused(capsys, "resume", "latest", "--runs-dir", root)
    assert "is finished: it has reached its limit, at 512 steps. Say how much further: paddock resume" in text
    assert find_run("latest", root).card().progress.status == "finished"
    assert "neither can be negative" in refused(capsys, "resume", "latest", "--steps", "-1", "--runs-dir", root)
    text = said(capsys, "resume", "latest", "--steps", "128", "--runs-dir", root)
    assert "finished after 640 steps" in text
    assert find_run("latest", root).card().progress.resumed == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("evaluate nowhere", "unknown run 'nowhere'"),
        ("export nowhere", "unknown run 'nowhere'"),
        ("resume nowhere", "unknown run 'nowhere'"),
        ("tell nowhere status", "unknown run 'nowhere'"),
        ("runs archive nowhere", "unknown run 'nowhere'"),
        ("runs plot nowhere", "unknown run 'nowhere'"),
        ("runs restore nowhere", "unknown archived or deleted run 'nowhere'. Known: none"),
        ("runs archive", "which run? paddock runs archive RUN"),
        ("record cartpole-balence", "unknown task or run 'cartpole-balence'. Did you mean 'cartpole-balance'?"),
        ("record latest --out film.mp4", "a recording is written as .mcap, not 'film.mp4'"),
        ("record latest --agent scriptd", "Did you mean 'scripted'?"),
        ("record latest --seconds 0", "more than 0"),
        ("evaluate latest --episodes 0", "episodes is 0"),
        ("evaluate latest --seed -1", "seed is -1; wanted 0 to 999,999"),
        ("evaluate latest --checkpoint bestt", "checkpoint is 'bestt'; wanted best, latest, or the environment step of one"),
        ("evaluate latest --checkpoint 3", "no checkpoint of step 3"),
        ("export latest --checkpoint bestt", "checkpoint is 'bestt'"),
        ("tell latest pause", "is not running: its status is finished"),
        ("train cartpole-balance --sim moon", "unknown sim 'moon'"),
        ("train cartpole-balance --randomize heavvy", "unknown randomisation 'heavvy'. Did you mean 'heavy'?"),
        ("train cartpole-balance --like latest", "no task stands in front: paddock train --like latest"),
    ],
)  # fmt: skip
def test_mistakes_are_one_screen_and_change_nothing(
    args: str, message: str, trained: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(trained[0].rglob("*"))
    assert message in refused(capsys, *args.split(), "--runs-dir", trained[0])
    assert sorted(trained[0].rglob("*")) == before


def test_a_part_of_a_name_that_fits_two_runs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = find_run("latest", root).path
    shutil.copytree(run, run.with_name(f"{run.name}-again"))
    text = refused(capsys, "evaluate", run.name[:10], "--runs-dir", root)
    assert f"could be any of 2 runs: {run.name}, {run.name}-again. Give more of its name." in text


def test_where_there_are_no_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "has none. Start one: paddock train cartpole-balance" in refused(capsys, "evaluate", "latest", "--runs-dir", tmp_path)
    assert "unknown task or run 'latset'. Did you mean 'latest'?" in refused(capsys, "record", "latset", "--runs-dir", tmp_path)
    assert "there is no recording" in refused(capsys, "replay", tmp_path / "none.mcap")


@pytest.mark.parametrize("args", [["runs"], ["tell", "latest", "status"]])
def test_what_needs_no_learner_does_not_wait_for_one(args: list[str], trained: tuple[Path, str]) -> None:
    code = f"import sys; from paddock.cli import main; main({[*args, '--runs-dir', str(trained[0])]}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "paddock.runs.folder" in loaded and not loaded & {"torch", "mujoco", "numpy"}
