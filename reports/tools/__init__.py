"""Tools: one module per tool, loaded by name."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from reports.tools.base import Tool


@functools.cache
def find(name: str) -> Tool:
    """Return the tool of that name. A tool without a module has the defaults."""
    if name not in {module.name for module in pkgutil.iter_modules(__path__)} - {"base"}:
        return Tool()
    tool = importlib.import_module(f"{__name__}.{name}").TOOL
    assert isinstance(tool, Tool)
    return tool
