"""Tools: one module each, found by its name."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from reports.tools.base import Tool


@functools.cache
def find(name: str) -> Tool | None:
    """Return the tool of that name; None if it has no module here."""
    if name not in {module.name for module in pkgutil.iter_modules(__path__)} - {"base"}:
        return None
    tool = importlib.import_module(f"{__name__}.{name}").TOOL
    assert isinstance(tool, Tool)
    return tool
