"""Follow a velocity command on flat ground."""

from dataclasses import replace

from paddock.robots import QUADRUPED
from paddock.tasks.gait import Trot
from paddock.tasks.walk import ACTION_SCALE, walk

QUADRUPED_WALK = replace(walk(QUADRUPED), expert=Trot(scale=ACTION_SCALE))
