"""What is compared with mjlab: the task in numbers, and ratios of equal worlds only."""

import json

import mujoco
import pytest
from against_mjlab import compared
from mjlab_settings import settings_of

from paddock.tasks.finding import find_task


def test_settings_are_those_of_the_task() -> None:
    task = find_task("quadruped-walk")
    settings = json.loads(json.dumps(settings_of(task)))
    model = mujoco.MjModel.from_xml_string(settings["model"])
    assert settings["substeps"] * model.opt.timestep == pytest.approx(task.control_dt)
    assert settings["weights"] == {name: weight for name, (weight, _) in task.reward.items()}
    assert settings["command_high"] == [1.0, 0.5, 1.0]


def test_a_task_of_other_terms_is_refused() -> None:
    with pytest.raises(AssertionError):
        settings_of(find_task("quadruped-walk-rough"))


def test_ratios_are_of_launches_that_belong_together() -> None:
    def launch(side: str, *rates: float) -> list[dict[str, object]]:
        own = {"contacts": 1.0, "draw_friction": "reset"} if side == "mjlab" else {"contacts": 1.0}
        return [{"num_worlds": n, "rates": {"env": [rate] * 3}, **own} for n, rate in zip((4, 8), rates, strict=True)]

    rows = compared([(launch("paddock", 30, 80), launch("mjlab", 10, 40)), (launch("paddock", 20, 90), launch("mjlab", 10, 30))])
    assert [row["ratio to mjlab"]["pairs"] for row in rows] == [[3.0, 2.0], [2.0, 3.0]]
    assert [row["paddock"]["env"] for row in rows] == [25, 85]
