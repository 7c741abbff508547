"""The supervisor: a queue with slots, runs that are stopped however deaf they are, and nothing lost when the server is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from live_clients import until
from paddock.cockpit.answers import Conflict, NotFound
from paddock.cockpit.jobs import FOLDER
from paddock.cockpit.processes import began_of
from paddock.cockpit.supervisor import Supervisor
from paddock.errors import PaddockError
from paddock.forms import form_of
from paddock.messages.cockpit import Job, JobRequest
from paddock.runs.folder import RunFolder
from paddock.runs.labels import read_labels
from paddock.runs.sockets import ask
from supervising import STANDIN, form, hurried, submit

Make = Callable[..., Supervisor]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Supervisor] = []

    def make(slots: int = 1) -> Supervisor:
        made.append(hurried(tmp_path, slots))
        return made[-1]

    yield make
    for supervisor in made:
        if not supervisor._closing.is_set():
            supervisor.close()
        for job in supervisor.jobs().jobs:
            if job.pid and began_of(job.pid):
                os.killpg(job.pid, signal.SIGKILL)
                with suppress(ChildProcessError):  # of an earlier server
                    os.waitpid(job.pid, 0)


def job(supervisor: Supervisor, wanted: Job) -> Job:
    return next(own for own in supervisor.jobs().jobs if own.id == wanted.id)


def reach(supervisor: Supervisor, wanted: Job, status: str) -> Job:
    until(lambda: job(supervisor, wanted).status == status)
    return job(supervisor, wanted)


def test_what_waits_begins_when_there_is_room(make: Make, tmp_path: Path) -> None:
    supervisor = make()
    first, second, third = (submit(supervisor, "polite", title=f"run {i}") for i in range(3))
    assert [own.place for own in supervisor.jobs().jobs] == [0, 1, 2] and first.run == ""
    before = supervisor.version
    first = reach(supervisor, first, "running")
    assert supervisor.version > before and first.run.startswith("2") and "-polite-s0-" in first.run
    assert os.getsid(first.pid) == first.pid  # a session of its own
    assert read_labels(tmp_path / first.run).title == "run 0"
    assert supervisor.cancel(second.id).reason == "cancelled"
    assert job(supervisor, third).place == 1
    supervisor.set_slots(2)
    third = reach(supervisor, third, "running")
    assert supervisor.runs_started() >= {first.run, third.run}
    assert "saves and stops" in supervisor.stop_run(first.run).ok
    ended = reach(supervisor, first, "ended")
    assert (ended.reason, ended.exit_code, ended.signal, ended.hint) == ("stopped: asked to stop over live.sock", 0, "", "")
    assert ended.lines == ("train polite",)
    with pytest.raises(NotFound):
        supervisor.cancel("nobody")


def test_who_does_not_hear_is_told_ever_more_firmly(make: Make) -> None:
    supervisor = make()
    deaf = reach(supervisor, submit(supervisor, "deaf"), "running")
    began = time.time()
    seen = [supervisor.cancel(deaf.id)]
    while seen[-1].status != "ended":
        now = job(supervisor, deaf)
        if now.next_signal != seen[-1].next_signal or now.status == "ended":
            seen.append(now)
        time.sleep(0.01)
    assert list(dict.fromkeys(own.next_signal for own in seen)) == ["SIGINT", "SIGTERM", "SIGKILL", ""]
    assert [own.status for own in seen[:3]] == ["stopping"] * 3
    assert began < seen[0].next_signal_at < seen[1].next_signal_at < seen[2].next_signal_at  # a countdown can be shown
    assert (seen[-1].signal, seen[-1].exit_code) == ("SIGKILL", -9)
    assert "did not stop when it was asked" in seen[-1].reason and seen[-1].hint == ""
    assert seen[-1].lines.count("la la la") == 2


def test_one_that_cannot_hear_yet_is_interrupted_at_once(make: Make) -> None:
    supervisor = make()
    slow = submit(supervisor, "slow")
    until(lambda: job(supervisor, slow).pid)
    time.sleep(0.5)  # until Python hears signals
    began = time.monotonic()
    assert supervisor.cancel(slow.id).next_signal == "SIGTERM"
    assert reach(supervisor, slow, "ended").reason == "stopped before it had begun"
    assert time.monotonic() - began < 10 and job(supervisor, slow).run == ""


def test_no_process_of_a_run_stays_behind(make: Make) -> None:
    supervisor = make()
    run = reach(supervisor, submit(supervisor, "orphans"), "running")
    until(lambda: len(job(supervisor, run).lines) == 2)
    child = int(job(supervisor, run).lines[1])
    assert began_of(child)
    os.kill(run.pid, signal.SIGKILL)
    ended = reach(supervisor, run, "ended")
    assert ended.signal == "SIGKILL" and "ended by SIGKILL" in ended.reason and "memory" in ended.hint
    until(lambda: not began_of(child))


@pytest.mark.parametrize(
    ("task", "reason", "hint"),
    [
        ("quick", "finished", ""),
        ("crash", "exit code 1: ValueError: the world is flat", ""),
        ("gpu-full", "failed: OutOfMemoryError: CUDA out of memory", "Take fewer worlds"),
        ("dies", "ended by SIGKILL", "Go on with the run from its last checkpoint"),
    ],
)
def test_why_it_ended_is_said(make: Make, task: str, reason: str, hint: str) -> None:
    supervisor = make()
    ended = reach(supervisor, submit(supervisor, task), "ended")
    assert reason in ended.reason and (hint in ended.hint if hint else ended.hint == "")
    assert ended.lines[0] == f"train {task}" and ended.ended > ended.started > ended.queued


def test_a_run_on_another_sim_than_asked_for_says_so_loudly(make: Make) -> None:
    supervisor = make()
    asked = supervisor.submit(JobRequest(task="polite", sim="gpu"), replace(form("polite"), sim="gpu"))
    assert reach(supervisor, asked, "running").hint == "You asked for the simulator gpu, but this run uses cpu."


def test_a_run_is_gone_on_with(make: Make) -> None:
    supervisor = make()
    first = reach(supervisor, submit(supervisor, "polite"), "running")
    with pytest.raises(Conflict, match="runs already"):
        supervisor.submit(JobRequest(resume=first.run))
    supervisor.stop_run(first.run)
    reach(supervisor, first, "ended")
    again = reach(supervisor, supervisor.submit(JobRequest(resume=first.run, steps=100)), "running")
    assert again.run == first.run and again.pid != first.pid
    for wanted in ("../elsewhere", "nowhere", FOLDER + "/jobs"):
        with pytest.raises(NotFound):
            supervisor.submit(JobRequest(resume=wanted))
    with pytest.raises(PaddockError, match="minutes is nan"):
        supervisor.submit(JobRequest(resume=first.run, minutes=float("nan")))


def test_a_run_of_a_shell_is_stopped_too(make: Make, tmp_path: Path) -> None:
    supervisor = make()
    for task in ("polite", "deaf"):
        shell = subprocess.Popen([*STANDIN, "train", task, f"--id={task}", f"--runs-dir={tmp_path}"], start_new_session=True)
        run = RunFolder(tmp_path / task)
        until(lambda run=run: run.socket.exists() and run.card().progress.status == "running")
        supervisor.stop_run(task)
        assert shell.wait(timeout=20) == (0 if task == "polite" else -signal.SIGKILL)
    with pytest.raises(Conflict, match="does not run any more"):
        supervisor.stop_run("polite")
    with pytest.raises(PaddockError, match="is no run"):
        supervisor.stop_run("nowhere")
    assert supervisor.runs_started() == set()


SERVER = """
import sys, time
from pathlib import Path
sys.path[:0] = {path!r}
from supervising import hurried, submit
supervisor = hurried(Path({root!r}), 2)
for task in ("polite", "deaf", "polite"):
    submit(supervisor, task)
while sum(job.status == "running" for job in supervisor.jobs().jobs) < 2:
    time.sleep(0.01)
supervisor.cancel(supervisor.jobs().jobs[1].id)
print("ready", flush=True)
time.sleep(600)
"""


def test_a_killed_server_is_followed_by_one_that_knows_everything(make: Make, tmp_path: Path) -> None:
    code = SERVER.format(path=[str(Path(__file__).parent)], root=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stdout.readline() == "ready\n"
        with pytest.raises(PaddockError, match="another cockpit looks after"):
            make()
        server.kill()
    supervisor = make()
    polite, deaf, waiting = supervisor.jobs().jobs
    assert supervisor.jobs().slots == 2
    assert (polite.status, waiting.status) == ("running", "queued") and polite.lines == ("train polite",)
    assert ask(tmp_path / polite.run / "live.sock", "status")["ok"] == "status"  # it went on
    assert reach(supervisor, deaf, "ended").exit_code is None  # its stopping, too
    reach(supervisor, waiting, "running")
    supervisor.stop_run(polite.run)
    assert reach(supervisor, polite, "ended").reason == "stopped: asked to stop over live.sock"


def test_a_number_that_another_process_has_now_is_not_taken_for_the_run(make: Make, tmp_path: Path) -> None:
    supervisor = make()
    run = reach(supervisor, submit(supervisor, "polite"), "running")
    supervisor.close()
    os.kill(run.pid, signal.SIGKILL)
    os.waitpid(run.pid, 0)
    file = tmp_path / FOLDER / "jobs.json"
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        file.write_text(file.read_text().replace(f'"pid": {run.pid}', f'"pid": {other.pid}'))
        after = job(make(), run)
        assert after.status == "ended" and "while no cockpit looked" in after.reason and "last checkpoint" in after.hint
        assert began_of(other.pid)  # and nobody shot at it
        other.kill()


def test_a_server_that_dies_while_it_starts_a_run_finds_it_again(make: Make, tmp_path: Path) -> None:
    supervisor = make()
    run = reach(supervisor, submit(supervisor, "polite"), "running")
    supervisor.close()
    file = tmp_path / FOLDER / "jobs.json"
    file.write_text(
        file.read_text().replace(f'"pid": {run.pid}', '"pid": 0').replace('"status": "running"', '"status": "starting"')
    )
    again = make()
    assert job(again, run).pid == run.pid
    assert reach(again, run, "running").run == run.run


def test_a_damaged_record_is_set_aside(make: Make, tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "jobs.json").write_text("{")
    assert make().jobs().jobs == ()
    assert (tmp_path / FOLDER / "jobs.damaged").read_text() == "{"


def test_a_real_training_from_a_form(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path, 1)
    supervisor.start()
    settings: dict[str, object] = {"steps": 2000, "num_worlds": 8, "evaluate_every": 0, "ppo.hidden": [8]}
    request = JobRequest(task="cartpole-balance", preset="debug", seed=3, settings=settings, title="mine")
    asked = supervisor.submit(request, form_of("cartpole-balance", "debug", ""))
    until(lambda: job(supervisor, asked).status == "ended", 120.0)
    ended = job(supervisor, asked)
    supervisor.close()
    assert (ended.reason, ended.exit_code) == ("finished", 0), ended.lines
    card = RunFolder(tmp_path / ended.run).card()
    assert (card.setup.seed, card.setup.num_worlds, card.setup.preset, card.progress.env_steps) == (3, 8, "debug", 2112)
    assert read_labels(tmp_path / ended.run).title == "mine" and any("Training cartpole-balance" in line for line in ended.lines)
