"""Tasks: what counts as success. One file each and one line here; nothing is imported until it is asked for."""

TASK_NAMES = (
    "cartpole-balance",
    "cartpole-swingup",
    "quadruped-stand",
    "quadruped-balance",
    "quadruped-walk",
    "gym-ant",
)
"""`some-task` lives in some_task.py as SOME_TASK."""

ENTRY_POINTS = "paddock.tasks"
"""The entry point group under which other packages offer tasks."""
