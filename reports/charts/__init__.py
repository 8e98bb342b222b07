"""The charts of each tool: frames in, figures out. A module of this package has the name of its tool.

A tool without a module of its own is drawn by `reports.charts.command`, which knows nothing about its metrics.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any, cast

from reports.charts.chapter import ChartModule
from reports.results import naming


@functools.cache
def own_module(tool: str) -> ChartModule | None:
    """Return the module that is the tool's own; None where it has none."""
    names = {module.name for module in pkgutil.iter_modules(__path__)}
    if tool not in names or tool.startswith("_"):
        return None
    return cast("ChartModule", importlib.import_module(f"{__name__}.{tool}"))


def chart_module(tool: str) -> ChartModule:
    """Return the module that draws a tool."""
    module = own_module(tool) or own_module("command")
    assert module is not None
    return module


def level_name(tool: str, option: str, value: Any) -> str:  # noqa: ANN401
    """Return what the tool's figures call a level of an option: "4 KiB" of bs, "3:1 nt" of MLC's W."""
    called = getattr(own_module(tool), "level", None) if naming.has_option(tool, option) else None
    return (called and called(option, value)) or naming.level_text(tool, option, value)
