# MuJoCo's bindings carry no types. This says that its names exist, so that everything of our own can be checked.
from typing import Any

def __getattr__(name: str) -> Any: ...
