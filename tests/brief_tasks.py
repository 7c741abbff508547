"""Tasks whose episodes are over soon, for trainings that a test waits for: by name, as `brief_tasks.py:QUADRUPED`."""

from dataclasses import replace

from paddock.tasks.cartpole_balance import CARTPOLE_BALANCE
from paddock.tasks.quadruped_balance import QUADRUPED_BALANCE

QUADRUPED = replace(QUADRUPED_BALANCE, episode_s=1.0)
CARTPOLE = replace(CARTPOLE_BALANCE, episode_s=1.0)
BRIEF_QUADRUPED, BRIEF_CARTPOLE = f"{__file__}:QUADRUPED", f"{__file__}:CARTPOLE"
