"""The charts of each tool: frames in, figures out. A module of this package has the name of its tool.

A tool without a module of its own is drawn by `reports.charts.command`, which knows nothing about its metrics.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
from typing import cast

from reports.charts.chapter import ChartModule


@functools.cache
def own_module(tool: str) -> ChartModule | None:
    """Return the module that is the tool's own; None where it has none."""
    if tool and tool != "base" and importlib.util.find_spec(f"reports.tools.{tool}"):
        return cast("ChartModule", importlib.import_module(f"reports.tools.{tool}").TOOL)
    names = {module.name for module in pkgutil.iter_modules(__path__)}
    if tool not in names or tool.startswith("_"):
        return None
    return cast("ChartModule", importlib.import_module(f"{__name__}.{tool}"))


def chart_module(tool: str) -> ChartModule:
    """Return the module that draws a tool."""
    module = own_module(tool) or own_module("command")
    assert module is not None
    return module
