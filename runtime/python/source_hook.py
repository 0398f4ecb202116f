"""Refuses to build a source distribution, because pip would build a package without programs from it."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NoSourceHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        raise SystemExit("tony-runtime has no source distribution: scripts/wheel builds its wheel from built programs")
