"""What Paddock's walking task asks of an environment, in numbers alone, for one that Paddock is not part of."""

from __future__ import annotations

from typing import Any

from paddock.crowding import capacity_of
from paddock.sims.model import compile_text, model_text
from paddock.sims.older_engine import for_mujoco_3_14
from paddock.tasks import terms as t
from paddock.tasks.task import Task


def settings_of(task: Task) -> dict[str, Any]:
    """Read from the task itself, with its model in the words of an older MuJoCo; a task of other terms fails here."""
    text = model_text(task.spec(), lean=True)
    model = compile_text(text)
    act, command, fell = task.act, task.command["velocity"], task.done["fell"]
    friction, reset, room = task.randomize["friction"], task.reset, capacity_of(task)
    assert isinstance(act, t.JointPosition) and isinstance(command, t.UniformCommand) and isinstance(fell, t.Fell)
    assert isinstance(friction, t.Friction) and isinstance(reset, t.NearHome) and reset.turn
    assert list(task.done) == ["fell"] and list(task.randomize) == ["friction"] and not task.noise
    return {
        "task": task.name,
        "model": for_mujoco_3_14(text),
        "substeps": round(task.control_dt / model.opt.timestep),
        "episode_s": task.episode_s,
        "action_scale": act.scale,
        "command_low": command.low,
        "command_high": command.high,
        "command_every_s": command.every_s,
        "weights": {name: weight for name, (weight, _) in task.reward.items()},
        "margins": {name: term.margin for name, (_, term) in task.reward.items() if isinstance(term, t.Near)},
        "tilt_deg": fell.tilt_deg,
        "friction": friction.factor,
        "reset_joint": reset.joint,
        "reset_vel": reset.vel,
        "room": (room.contacts, room.constraints),
    }
