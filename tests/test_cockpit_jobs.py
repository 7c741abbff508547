"""Trainings that the page starts: a form, a queue, a stop; and they go on when the server is killed."""

from pathlib import Path
from typing import Any

import pytest

from brief_tasks import BRIEF_CARTPOLE
from cockpit_rig import Visitor, served, serving, wait

SMALL = {"num_worlds": 16, "num_threads": 1, "evaluate_every": 0, "evaluate_episodes": 1, "ppo.horizon": 16, "ppo.hidden": [8]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def start(visitor: Visitor, **request: object) -> Any:
    asked = {"task": BRIEF_CARTPOLE, "preset": "debug", "settings": SMALL | {"minutes": 5.0, "steps": 0}} | request
    reply = visitor.ask("POST", "/c/jobs", asked)
    assert reply.status == 201, reply
    return reply.json


def job_of(visitor: Visitor, job: str) -> Any:
    return next(found for found in visitor.json("/c/jobs")["jobs"] if found["id"] == job)


def test_a_form_has_every_setting_with_its_help(root: Path) -> None:
    with served(root, tasks=(BRIEF_CARTPOLE,)) as visitor:
        tasks = {task["name"]: task for task in visitor.json("/c/tasks")["tasks"]}
        assert {"quadruped-walk", "cartpole-balance", BRIEF_CARTPOLE} <= set(tasks)
        assert "debug" in tasks["quadruped-walk"]["presets"]
        form = visitor.json("/c/form?task=quadruped-walk&preset=debug")
        fields = {field["name"]: field for group in form["groups"] for field in group["fields"]}
        assert fields["ppo.learning_rate"]["help"] and fields["seed"]["kind"] == "integer"
        refusal = visitor.get("/c/form?task=quadruped-wlak").error
        assert refusal.startswith("unknown task 'quadruped-wlak'. Did you mean 'quadruped-walk'?")
        assert visitor.get(f"/c/form?task={__file__}").status == 400  # a file that nobody named


def test_what_a_form_does_not_allow_is_not_started(root: Path) -> None:
    with served(root, tasks=(BRIEF_CARTPOLE,)) as visitor:
        for asked in (
            {"task": ""},
            {"task": "nothing"},
            {"task": BRIEF_CARTPOLE, "settings": {"runs_dir": "/tmp"}},
            {"task": BRIEF_CARTPOLE, "settings": {"steps": "5; touch /tmp/x"}},
            {"task": BRIEF_CARTPOLE, "settings": {"num_worlds": -1}},
            {"task": BRIEF_CARTPOLE, "seed": -1},
            {"task": BRIEF_CARTPOLE, "preset": "nothing"},
            {"task": BRIEF_CARTPOLE, "sim": "--help"},
            {"resume": "../../etc"},
        ):
            reply = visitor.ask("POST", "/c/jobs", asked)
            assert reply.status in (400, 404) and reply.error, asked
        assert visitor.json("/c/jobs")["jobs"] == []
        assert visitor.ask("POST", "/c/slots", {"slots": 0}).status == 400
        assert visitor.ask("POST", "/c/jobs/nothing/cancel").status == 404


def test_a_training_is_started_queued_stopped_and_gone_on_with(root: Path) -> None:
    with served(root, tasks=(BRIEF_CARTPOLE,)) as visitor, visitor.socket() as line:
        line.say(do="list")
        assert line.kind("jobs")["whole"]
        first = start(visitor, title="my first", seed=3)
        second = start(visitor, seed=4)
        waiting = line.until(lambda m: m["kind"] == "jobs" and m["jobs"] and m["jobs"][-1]["id"] == second["id"])["jobs"][-1]
        assert (waiting["status"], waiting["place"]) == ("queued", 1)
        run = wait(lambda: job_of(visitor, first["id"])["run"], 60)
        wait(lambda: run in visitor.rows() and visitor.rows()[run]["watchable"], 30)
        row = visitor.rows()[run]
        assert (row["origin"], row["seed"], row["title"], row["num_worlds"]) == ("cockpit", 3, "my first", 16)
        assert visitor.ask("POST", f"/c/jobs/{second['id']}/cancel").status == 200
        assert job_of(visitor, second["id"])["status"] == "ended"
        wait(lambda: visitor.rows()[run]["env_steps"] > 0, 30)
        assert visitor.ask("POST", f"/c/runs/{run}/stop").status == 200
        ended = wait(lambda: (job := job_of(visitor, first["id"]))["status"] == "ended" and job, 30)
        assert ended["exit_code"] == 0 and ended["lines"]
        row = wait(lambda: (found := visitor.rows()[run])["status"] == "stopped" and found)
        assert visitor.json(f"/c/runs/{run}")["can_play"]
        again = start(visitor, task="", resume=run, settings=None, steps=2000)
        wait(lambda: job_of(visitor, again["id"])["status"] == "ended", 60)
        assert (now := visitor.rows()[run])["status"] == "finished" and now["resumed"] == 1 and now["env_steps"] > row["env_steps"]


def test_a_training_outlives_the_server_and_is_found_again(root: Path) -> None:
    with serving(root, "--task", BRIEF_CARTPOLE, "--port", "0") as (process, visitor):
        job = start(visitor)
        run = wait(lambda: job_of(visitor, job["id"])["run"], 60)
        wait(lambda: visitor.rows()[run]["env_steps"] > 0, 30)
        process.kill()
        process.wait()
    with serving(root, "--task", BRIEF_CARTPOLE, "--port", str(visitor.port)) as (_, again):
        assert job_of(again, job["id"])["status"] == "running"
        before = again.rows()[run]
        assert before["alive"] and before["origin"] == "cockpit"
        wait(lambda: again.rows()[run]["env_steps"] > before["env_steps"], 30)
        assert again.ask("POST", f"/c/jobs/{job['id']}/cancel").status == 200
        wait(lambda: job_of(again, job["id"])["status"] == "ended", 30)
        assert again.rows()[run]["status"] in ("stopped", "running")
