"""What pages share: words of captions, names of panels, effects of axes."""

from __future__ import annotations

import importlib
from typing import cast

from reports.charts.chapter import ChartModule


def chart_module(tool: str) -> ChartModule:
    """Return what draws a tool."""
    return cast("ChartModule", importlib.import_module("reports.tools").find(tool))
