"""Models in the words of an older engine; what that engine makes of them is measured by bench/engine_3_14.py."""

import mujoco
import numpy as np
import pytest

import paddock
from models import OWN_TASKS
from paddock.sims.model import compile_text, model_text
from paddock.sims.older_engine import for_mujoco_3_14

ARM = """<mujoco>
<default><position kp="3"/><default class="quick"><pid input="vel"/></default></default>
<worldbody><body><joint name="a"/><geom size=".1"/></body></worldbody>
<actuator><position joint="a" kv="2"/><velocity joint="a"/><motor joint="a"/><position class="quick" joint="a"/>
<pid class="quick" joint="a"/><pid joint="a" input="pos"/><pid joint="a"/></actuator>
</mujoco>"""


def differing(one: mujoco.MjModel, other: mujoco.MjModel) -> set[str]:
    names = [name for name in dir(one) if isinstance(getattr(one, name), np.ndarray)]
    return {name for name in names if getattr(one, name).tobytes() != getattr(other, name).tobytes()}


def test_only_what_changes_no_force_is_lost() -> None:
    saved = model_text(mujoco.MjSpec.from_string(ARM), lean=True)
    one, other = compile_text(saved), compile_text(for_mujoco_3_14(saved))
    assert differing(one, other) == {"actuator_ctrlspec"}
    assert one.actuator_ctrlspec.tolist() == [1, 2, 0, 1, 2, 1, 3]
    assert other.actuator_ctrlspec.tolist() == [0, 0, 0, 0, 2, 1, 3]  # of a pid, the engine computes by it


@pytest.mark.parametrize("name", OWN_TASKS)
def test_every_task_can_be_said_in_old_words(name: str) -> None:
    saved = paddock.make(name).model_text
    text = for_mujoco_3_14(saved)
    assert "input=" not in text
    assert differing(compile_text(saved), compile_text(text)) <= {"actuator_ctrlspec"}
