"""Tasks: what counts as success. One file each and one line here; nothing is imported until it is asked for."""

TASK_NAMES = (
    "cartpole-balance",
    "cartpole-swingup",
    "cartpole-swingup-blind",
    "cartpole-pair",
    "creature-goal",
    "ant-walk",
    "quadruped-stand",
    "quadruped-balance",
    "quadruped-walk",
    "quadruped-walk-rough",
    "quadruped-walk-blind",
    "humanoid-stand",
    "humanoid-walk",
    "arm-reach",
    "arm-reach-joint",
    "arm-reach-vision",
    "arm-push",
    "arm-pick-place",
    "gym-half-cheetah",
    "gym-ant",
    "gym-hopper",
    "gym-walker2d",
    "gym-humanoid",
)
"""`some-task` lives in some_task.py as SOME_TASK."""

FAMILY_NAMES = ("stand", "walk", "reach")
"""Tasks for any robot, such as `walk@my_robot.py`: `walk` lives in walk.py as a function of the robot."""

ENTRY_POINTS = "paddock.tasks"
"""The entry point group under which other packages offer tasks."""
