"""What a training is told: preset, then file, then flags; what is refused, and in which words."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import paddock
from paddock import configuring
from paddock.cli import main
from paddock.configuring import TrainConfig, as_words, configure, plan, presets_of, settle
from paddock.errors import PaddockError, UnknownName
from paddock.learn.ppo_config import PpoConfig
from paddock.tasks import TASK_NAMES
from paddock.tasks.finding import find_task
from paddock.train_flags import parse

CARTPOLE = find_task("cartpole-balance")
SWINGUP = replace(CARTPOLE, presets={"default": {"steps": 2_500_000, "num_worlds": 256, "ppo": {"discount": 0.995}}})
"""A task whose preset differs from the trainer's own defaults in both groups."""


def written(folder: Path, text: str, name: str = "config.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_flags_win_over_file_over_preset_over_defaults(tmp_path: Path) -> None:
    file = written(tmp_path, "seed: 3\nkeep: 7\nppo: {log_std: -1.0, horizon: 12}\n")
    config = configure(SWINGUP, file=file, flags={"seed": 4, "ppo": {"horizon": 6}})
    assert config.seed == 4 and config.ppo.horizon == 6  # said by both
    assert config.keep == 7 and config.ppo.log_std == -1.0  # by the file alone
    assert config.steps == 2_500_000 and config.ppo.discount == 0.995  # by the preset alone
    assert config.save_every_s == TrainConfig().save_every_s and config.ppo.clip == PpoConfig().clip  # by nobody


@pytest.mark.parametrize("name", TASK_NAMES)
def test_every_task_has_three_presets_that_configure(name: str) -> None:
    task = find_task(name)
    assert {"debug", "default", "full"} <= set(presets_of(task))
    debug, default, full = (settle(configure(task, preset=preset)) for preset in ("debug", "default", "full"))
    assert debug.steps < default.steps < full.steps
    assert debug.num_worlds < default.num_worlds
    assert replace(debug.ppo, learn_threads=0) == replace(default.ppo, learn_threads=0)  # debug is smaller, not other


def test_a_task_may_have_presets_of_its_own() -> None:
    own = replace(CARTPOLE, presets={"default": {"steps": 10}, "debug": {"steps": 1}, "night": {"minutes": 480}})
    assert configure(own, preset="debug").steps == 1
    assert configure(own, preset="night").minutes == 480.0
    with pytest.raises(UnknownName, match="'nigth'. Did you mean 'night'?"):
        configure(own, preset="nigth")


def test_a_gpu_has_a_preset_of_its_own(tmp_path: Path) -> None:
    """More worlds and steps than on the CPU, the task's own words on top, and flags above all."""
    task = replace(
        find_task("humanoid-walk"), presets={"default": {"steps": 1000, "num_worlds": 8}, "gpu": {"ppo": {"horizon": 7}}}
    )
    file = tmp_path / "mine.yaml"
    file.write_text("sim: gpu")
    for found in (configure(task, flags={"sim": "gpu"}), configure(task, file=file), configure(task, preset="gpu")):
        assert (found.sim, found.steps, found.num_worlds, found.ppo.horizon) == ("gpu", 3000, 0, 7)
    assert configure(task, flags={"sim": "gpu", "num_worlds": 64}).num_worlds == 64
    assert configure(task, preset="full", flags={"sim": "gpu"}).num_worlds == 8
    assert configure(task).ppo.horizon != 7


def test_the_run_json_of_a_run_repeats_its_settings_exactly(tmp_path: Path) -> None:
    ppo = {"horizon": 8, "epochs": 1, "minibatches": 2, "hidden": [16, 8], "learning_rate": 3.3e-4}
    run = paddock.train(
        "cartpole-balance", runs_dir=tmp_path, seed=5, steps=64, num_worlds=8, num_threads=1, evaluate_episodes=2, ppo=ppo
    )
    again = configure(CARTPOLE, preset="full", file=run.path / "run.json")
    assert again == run.config == settle(again)
    assert again.seed == 5 and again.ppo.hidden == (16, 8) and again.ppo.learning_rate == 3.3e-4
    assert configure(CARTPOLE, file=run.path / "run.json", flags={"seed": 6}) == replace(again, seed=6)


def test_a_config_survives_being_written_down() -> None:
    config = replace(TrainConfig(), minutes=0.1, ppo=replace(PpoConfig(), hidden=(3, 4), learning_rate=1 / 3))
    assert configure(SWINGUP, flags=json.loads(json.dumps(as_words(config)))) == config


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("steps: !!python/object/apply:os.system ['touch owned']\n", "could not determine a constructor"),
        ("!!python/name:os.system\n", "could not determine a constructor"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "uses a YAML alias"),
        ("ppo: &p {clip: 0.1}\nsteps: 4\n<<: *p\n", "uses a YAML alias"),
        ("[" * 20_000, "nested too deeply"),
        ("steps: " + "[" * 30 + "]" * 30, "setting steps is [[[[[[[...]]]]]]]; wanted a whole number"),
        ("- steps\n- 4\n", "holds ['steps', 4]; wanted names and values"),
        ("4\n", "holds 4; wanted names and values"),
        ("steps: {4\n", "cannot be read"),
        ("stepz: 4\n", "unknown setting 'stepz'. Did you mean 'steps'?"),
        ("learning_rate: 1e-3\n", "Did you mean 'ppo.learning_rate'?"),
        ("ppo: {learning_rat: 1}\n", "unknown setting 'ppo.learning_rat'. Did you mean 'ppo.learning_rate'?"),
        ("ppo: fast\n", "setting ppo is 'fast'; wanted names and values"),
        ("steps: many\n", "setting steps is 'many'; wanted a whole number"),
        ("steps: 1.5\n", "setting steps is 1.5; wanted a whole number"),
        ("steps: yes\n", "setting steps is True; wanted a whole number"),
        ("minutes: .nan\n", "setting minutes is nan; wanted a number"),
        ("minutes: .inf\n", "setting minutes is inf; wanted a number"),
        ("sim: 4\n", "setting sim is 4; wanted text"),
        ("ppo: {hidden: 64}\n", "setting ppo.hidden is 64; wanted a list of whole numbers"),
        ("ppo: {hidden: [64, x]}\n", "setting ppo.hidden[1] is 'x'; wanted a whole number"),
        ("ppo: {recompute_advantages: 1}\n", "setting ppo.recompute_advantages is 1; wanted true or false"),
        ("setup: {config: 3}\n", "looks like a run.json, but holds no settings"),
        ("x" * 200_000, "200,000 bytes"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_in_words(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PaddockError) as refusal:
        configure(CARTPOLE, file=written(tmp_path, text))
    assert said in str(refusal.value) and len(str(refusal.value)) < 2000
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_other_bad_files(tmp_path: Path) -> None:
    with pytest.raises(PaddockError, match="no config file"):
        configure(CARTPOLE, file=tmp_path / "none.yaml")
    with pytest.raises(PaddockError, match="nested too deeply"):
        configure(CARTPOLE, file=written(tmp_path, "[" * 90_000, "deep.json"))
    (tmp_path / "bytes.yaml").write_bytes(b"steps: \xff\xfe\n")
    with pytest.raises(PaddockError, match="cannot be read: 'utf-8' codec"):
        configure(CARTPOLE, file=tmp_path / "bytes.yaml")


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert configure(CARTPOLE, file=written(tmp_path, "# nothing yet\n")) == configure(CARTPOLE)


def test_numbers_as_people_write_them(tmp_path: Path) -> None:
    config = configure(CARTPOLE, file=written(tmp_path, "steps: 5e6\nminutes: 2\nppo: {learning_rate: 3e-4, hidden: [64, 3e1]}\n"))
    assert (config.steps, config.minutes, config.ppo.learning_rate, config.ppo.hidden) == (5_000_000, 2.0, 3e-4, (64, 30))
    assert type(config.steps) is int and type(config.minutes) is float
    assert configure(CARTPOLE, flags={"steps": 5e6}).steps == 5_000_000


def test_minutes_alone_lift_the_limit_of_steps(tmp_path: Path) -> None:
    assert configure(CARTPOLE, flags={"minutes": 2}).steps == 0
    assert configure(CARTPOLE, flags={"minutes": 2, "steps": 7}).steps == 7
    assert configure(CARTPOLE, flags={"minutes": 0}).steps == configure(CARTPOLE).steps > 0
    file = written(tmp_path, "minutes: 2\nsteps: 9\n")
    assert configure(CARTPOLE, file=file).steps == 9
    assert configure(CARTPOLE, file=file, flags={"minutes": 1}).steps == 0


def test_worlds_are_chosen_by_cores_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuring, "WORLD_MIB", 1e-6)
    assert settle(TrainConfig(num_threads=2)).num_worlds == 2 * configuring.WORLDS_PER_CORE
    assert settle(TrainConfig(num_threads=64)).num_worlds == configuring.MAX_WORLDS
    assert settle(TrainConfig()).num_threads >= 1
    monkeypatch.setattr(configuring, "WORLD_MIB", 1e9)
    assert settle(TrainConfig(num_threads=2)).num_worlds == 16
    assert settle(TrainConfig(num_threads=2, num_worlds=2000)).num_worlds == 2000


def test_settling_twice_changes_nothing_and_small_batches_learn_on_one_thread() -> None:
    small, large = settle(TrainConfig(num_worlds=8, num_threads=2)), settle(TrainConfig(num_worlds=1024, num_threads=2))
    assert (small.ppo.learn_threads, large.ppo.learn_threads) == (1, 2)
    assert settle(small) == small and settle(large) == large
    assert small.watch_worlds == 4 and settle(TrainConfig(num_worlds=2)).watch_worlds == 2
    asked = TrainConfig(num_worlds=8, ppo=PpoConfig(learn_threads=3))
    assert settle(asked).ppo.learn_threads == 3


NEVER_NEGATIVE = sorted(name for name, value in asdict(TrainConfig()).items() if type(value) in (int, float) and name != "seed")


@pytest.mark.parametrize("name", NEVER_NEGATIVE)
def test_negative_settings_are_refused(name: str) -> None:
    with pytest.raises(PaddockError, match=rf"{name} is -1(\.0)?; wanted [01] or more\."):
        settle(configure(CARTPOLE, flags={name: -1}))


@pytest.mark.parametrize(
    ("ppo", "said"),
    [
        ({"minibatches": 0}, "ppo.minibatches is 0; wanted 1 or more"),
        ({"horizon": 0}, "ppo.horizon is 0; wanted 1 or more"),
        ({"discount": 1.5}, "ppo.discount is 1.5; wanted 0 to 1"),
        ({"learning_rate": -1.0}, "ppo.learning_rate is -1.0; wanted 0 or more"),
        ({"hidden": []}, "ppo.hidden is ()"),
        ({"hidden": [16, 0]}, "ppo.hidden is (16, 0)"),
        ({"minibatches": 10_000}, "ppo.minibatches is 10000, but 8 worlds and ppo.horizon 24 give only 192 samples"),
    ],
)
def test_a_ppo_that_cannot_be_is_refused(ppo: dict[str, object], said: str) -> None:
    with pytest.raises(PaddockError) as refusal:
        settle(configure(CARTPOLE, flags={"num_worlds": 8, "ppo": ppo}))
    assert said in str(refusal.value)


def test_a_training_without_end_is_refused() -> None:
    with pytest.raises(PaddockError, match="neither steps nor minutes"):
        settle(configure(CARTPOLE, flags={"steps": 0}))


def test_a_plan_is_said_in_a_few_words() -> None:
    config = TrainConfig(steps=1_000_000, minutes=1.5, num_worlds=1024, num_threads=1)
    assert plan(config) == "1,000,000 steps or 1.5 minutes, 1,024 worlds on 1 thread, seed 0"


def test_the_help_of_train_shows_the_defaults_of_the_task(capsys: pytest.CaptureFixture[str]) -> None:
    balance, swingup = configure(CARTPOLE), configure(find_task("cartpole-swingup"))
    assert balance.steps != swingup.steps and balance.ppo.log_std != swingup.ppo.log_std
    for name, config, other in (("cartpole-balance", balance, swingup), ("cartpole-swingup", swingup, balance)):
        with pytest.raises(SystemExit) as end:
            main(["train", name, "--help"])
        assert end.value.code == 0
        shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
        assert f"0 for no limit. (default: {config.steps})" in shown and f"(default: {other.steps})" not in shown
        assert f"spread at the start. (default: {config.ppo.log_std})" in shown


def test_flags_are_read_over_preset_and_file(tmp_path: Path) -> None:
    file = written(tmp_path, "seed: 3\nkeep: 7\n")
    args = ["cartpole-swingup", "--preset", "debug", f"--config={file}", "--seed", "9", "--ppo.hidden", "64", "32"]
    asked = parse([*args, "--runs-dir", "elsewhere"])
    task, settings, preset, runs_dir = asked.task, asked.settings, asked.preset, asked.runs_dir
    assert (task, preset, runs_dir) == ("cartpole-swingup", "debug", Path("elsewhere"))
    expected = configure(find_task("cartpole-swingup"), preset="debug", file=file, flags={"seed": 9, "ppo": {"hidden": [64, 32]}})
    assert settings == expected and settings.keep == 7 and settings.steps == 20_000


@pytest.mark.parametrize(
    ("flags", "steps", "minutes"),
    [
        (["--steps", "5e6"], 5_000_000, 0.0),
        (["--steps", "5_000"], 5_000, 0.0),
        (["--minutes", "2"], 0, 2.0),
        (["--minutes", "2", "--steps", "10"], 10, 2.0),
        (["--minutes", "0"], configure(CARTPOLE).steps, 0.0),
    ],
)
def test_limits_as_flags(flags: list[str], steps: int, minutes: float) -> None:
    settings = parse(["cartpole-balance", *flags]).settings
    assert (settings.steps, settings.minutes) == (steps, minutes)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--seed", "3", "cartpole-balance"], "the task comes first, not '--seed': paddock train cartpole-balance --seed 3"),
        (["cartpole-balence"], "Did you mean 'cartpole-balance'?"),
        (["cartpole-balance", "--preset", "dbug"], "unknown preset of cartpole-balance: 'dbug'. Did you mean 'debug'?"),
        (["cartpole-balance", "--config", "nowhere.yaml"], "no config file nowhere.yaml"),
        (["cartpole-balance", "--steps", "-3"], "steps is -3; wanted 0 or more"),
        (["cartpole-balance", "--seed", "1_000_000_000"], "the rest is kept for evaluation"),
        (["cartpole-balance", "--sim", "cpuu"], "unknown sim 'cpuu'. Did you mean 'cpu'?"),
    ],
)
def test_train_refuses_before_there_is_a_run(
    args: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *args]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "said"), [(["--stepz", "3"], "--steps INT"), (["--steps", "ten"], "'ten' is not a whole number")]
)
def test_a_flag_that_is_none_is_refused(flags: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["train", "cartpole-balance", *flags])
    assert end.value.code == 2 and said in capsys.readouterr().err
