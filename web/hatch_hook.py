"""The package build: a wheel has the web client of its sources inside, or is not built at all."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
import building as web


class WebClient(BuildHookInterface):
    """Builds the client where it is missing or old. An editable install goes without: there `make web` does it."""

    def dependencies(self) -> list[str]:
        """Node, where the client is to be built and the machine has none."""
        return [] if web.is_fresh() or web.has_node() else [web.NODE_PACKAGE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before files are collected."""
        if version != "editable" and not web.is_fresh():
            web.build()
