"""The charts of each tool: frames in, figures out. A module of this package has the name of its tool.

A tool without a module of its own is drawn by `reports.charts.command`, which knows nothing about its metrics.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from reports.model import ChartModule


def chart_module(tool: str) -> ChartModule:
    """Return the module that draws a tool."""
    names = {module.name for module in pkgutil.iter_modules(__path__)}
    name = tool if tool in names and not tool.startswith("_") else "command"
    return cast("ChartModule", importlib.import_module(f"{__name__}.{name}"))
