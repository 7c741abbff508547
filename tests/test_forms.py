"""Forms: what a page shows of a training is what `paddock train` takes, and what a page sends becomes exactly that."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from paddock.cockpit.job_commands import resume_command, train_command
from paddock.configuring import TrainConfig, as_words, configure
from paddock.errors import PaddockError
from paddock.forms import form_of, main, tasks
from paddock.messages import from_json
from paddock.messages.cockpit import Form, FormField, JobRequest
from paddock.runs.folder import check_id
from paddock.tasks import TASK_NAMES
from paddock.tasks.finding import find_task
from paddock.train_flags import Asked, parse

TASK = "cartpole-balance"
OWN_TASK = """
from dataclasses import replace
import paddock.tasks.cartpole_balance as theirs
MINE = replace(theirs.CARTPOLE_BALANCE, name="mine")
"""


@pytest.fixture(scope="module")
def form() -> Form:
    return form_of(TASK, "default", "cpu")


def fields(form: Form) -> dict[str, FormField]:
    return {field.name: field for group in form.groups for field in group.fields}


def asked_for(form: Form, **settings: object) -> Asked:
    """What `paddock train` understands of a request."""
    request = JobRequest(task=form.task, preset=form.preset, seed=7, settings=settings)
    command = train_command(request, form, run="my-run", runs_dir=Path("/somewhere/runs"))
    assert command[0] == "train"
    return parse(command[1:])


def leaves(words: dict[str, object], prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in words.items():
        found |= leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def test_a_form_has_every_setting_with_its_value_and_its_help(form: Form) -> None:
    known = leaves(as_words(TrainConfig()))
    shown = fields(form)
    assert set(shown) == set(known)
    preset = leaves(as_words(configure(find_task(TASK))))
    chosen = ("num_worlds", "num_threads", "ppo.learn_threads")  # by the machine
    assert {name: field.default for name, field in shown.items() if name not in chosen} == {
        name: value for name, value in preset.items() if name not in chosen
    }
    assert all(len(field.help) > 5 and field.help.endswith(".") for field in shown.values())
    assert shown["ppo.discount"].high == 1 and shown["ppo.horizon"].low == 1 and shown["ppo.log_std"].low is None
    assert shown["sim"].choices == ("cpu", "gpu") and shown["ppo.hidden"].kind == "integers"
    assert not shown["steps"].advanced and shown["ppo.trace"].advanced
    assert from_json(Form, json.dumps(json.loads(json.dumps(form, default=vars)))) is not None


def test_what_is_not_changed_is_the_presets(form: Form) -> None:
    asked = asked_for(form)
    assert (asked.task, asked.preset, asked.run_id, asked.runs_dir) == (TASK, "default", "my-run", Path("/somewhere/runs"))
    assert asked.settings == replace(configure(find_task(TASK)), seed=7)


VALUES: dict[str, object] = {"integer": 3, "number": 0.625, "text": "it's $(a) ; --b", "choice": "float32", "integers": [32, 16]}


def test_every_setting_arrives_as_it_was_sent(form: Form) -> None:
    sent = {
        name: not field.default if field.kind == "boolean" else VALUES[field.kind]
        for name, field in fields(form).items()
        if name not in ("seed", "sim")
    }
    got = leaves(as_words(asked_for(form, **sent).settings))
    assert {name: got[name] for name in sent} == sent


def test_what_a_preset_turns_on_can_be_turned_off() -> None:
    form = form_of("gym-hopper", "million", "cpu")
    on = [name for name, field in fields(form).items() if field.default is True]
    assert on
    got = leaves(as_words(asked_for(form, **dict.fromkeys(on, False)).settings))
    assert {got[name] for name in on} == {False}


def test_minutes_alone_are_the_only_limit(form: Form) -> None:
    settings = asked_for(form, minutes=0.5).settings
    assert (settings.minutes, settings.steps) == (0.5, 0)


def test_a_gpu_has_its_own_preset_which_is_offered_where_there_is_one() -> None:
    has_gpu = torch.cuda.is_available()
    assert ("gpu" in form_of(TASK, "default", "").presets) == ("gpu" in form_of(TASK, "default", "").sims) == has_gpu
    form = form_of(TASK, "default", "gpu")
    assert any("no GPU" in warning for warning in form.warnings) != has_gpu
    assert (form.preset, form.sim) == ("gpu", "gpu")
    assert asked_for(form).settings == replace(configure(find_task(TASK), preset="gpu"), seed=7)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"stpes": 5}, "unknown setting 'stpes'. Did you mean 'steps'?"),
        ({"seed": 5}, "unknown setting 'seed'"),
        ({"--runs-dir": "/etc"}, "unknown setting '--runs-dir'"),
        ({"steps": "1; rm -rf /"}, "setting steps is '1; rm -rf /'; wanted a whole number."),
        ({"steps": True}, "wanted a whole number"),
        ({"steps": -1}, "steps is -1; wanted 0 or more."),
        ({"minutes": float("nan")}, "wanted a number"),
        ({"ppo.discount": 1.5}, "ppo.discount is 1.5; wanted 0 to 1."),
        ({"ppo.hidden": []}, "wanted a list of whole numbers"),
        ({"ppo.hidden": [0]}, "ppo.hidden is 0; wanted 1 or more."),
        ({"ppo.symmetry": "yes"}, "wanted true or false"),
        ({"ppo.precision": "fp8"}, "wanted one of its choices"),
        ({"wandb": "a\nb"}, "wanted text"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(form: Form, settings: dict[str, object], said: str) -> None:
    with pytest.raises(PaddockError) as refusal:
        asked_for(form, **settings)
    assert said in str(refusal.value)


def test_a_seed_kept_for_evaluation_is_refused(form: Form) -> None:
    with pytest.raises(PaddockError, match="seed is 1000000000; wanted 0 to"):
        train_command(JobRequest(task=TASK, seed=1_000_000_000), form, run="r", runs_dir=Path("runs"))


def test_going_on_with_a_run() -> None:
    command = resume_command(JobRequest(resume="a-run", minutes=2.0), runs_dir=Path("/runs"))
    assert command == ("resume", "/runs/a-run", "--minutes=2.0", "--runs-dir=/runs")
    with pytest.raises(PaddockError, match="neither can be negative"):
        resume_command(JobRequest(resume="a-run", steps=-1), runs_dir=Path("/runs"))


def test_only_what_is_named_can_be_started(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN_TASK)
    assert main(["form", str(file), "default", ""]) == 2
    assert "unknown task" in json.loads(capsys.readouterr().out)["error"]
    assert main(["form", str(file), "debug", "", str(file)]) == 0
    assert from_json(Form, capsys.readouterr().out).task == str(file)
    file.write_text("1 / 0")
    rows = {row.name: row for row in tasks([str(file)]).tasks}
    assert set(TASK_NAMES) <= set(rows) and "walk@quadruped" in rows and "walk@arm" not in rows
    assert "full" in rows[TASK].presets and "It cannot be made" in rows[str(file)].line


@pytest.mark.parametrize("wanted", ["../up", "/root", ".hidden", "a/b", "trash", "-x", "a" * 121, "a\n"])
def test_an_id_that_is_no_folders_name_is_refused(wanted: str, tmp_path: Path) -> None:
    with pytest.raises(PaddockError, match="a run cannot be called"):
        check_id(wanted, tmp_path)
    (tmp_path / "there").mkdir()
    with pytest.raises(PaddockError, match="there is a run 'there' already"):
        check_id("there", tmp_path)
