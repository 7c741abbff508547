"""A supervisor in a hurry, over processes that it takes for trainings."""

import sys
from pathlib import Path

from paddock.cockpit.ladder import Patience
from paddock.cockpit.supervisor import Supervisor
from paddock.messages.cockpit import Form, FormField, FormGroup, Job, JobRequest

STANDIN = (sys.executable, str(Path(__file__).with_name("standin_training.py")))
HURRY = Patience(asked_s=0.4, interrupted_s=0.3, terminated_s=0.3)
SEED = FormField(
    name="seed", title="Seed", kind="integer", default=0, help="", unit="", choices=(), low=0.0, high=9.0, advanced=False
)


def form(task: str) -> Form:
    groups = (FormGroup(name="all", title="", fields=(SEED,)),)
    return Form(task=task, preset="default", sim="cpu", presets=(), sims=(), groups=groups, warnings=())


def hurried(runs_dir: Path, slots: int) -> Supervisor:
    supervisor = Supervisor(runs_dir, slots, patience=HURRY, program=STANDIN)
    supervisor.start()
    return supervisor


def submit(supervisor: Supervisor, task: str, **more: object) -> Job:
    return supervisor.submit(JobRequest(task=task, **more), form(task))  # pyright: ignore[reportArgumentType]
