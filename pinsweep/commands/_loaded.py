"""Imports for the end of a sweep, made at its start, because an upgrade of pinsweep can replace the files."""

from __future__ import annotations

import importlib
import pkgutil

_NOT_NEEDED = {"parsers.frames"}
"""Modules of what a host that only measures does not have: pandas."""


def all_that_a_sweep_uses() -> None:
    """Import the readers and checks of every tool, because a result file can have more tools than this sweep."""
    import parsers
    from orchestrator import tools
    from reports import checks, numbers, show  # noqa: F401
    from reports import tools as report_tools
    from reports.checks import audit  # noqa: F401
    from reports.render import terminal  # noqa: F401
    from reports.results import load  # noqa: F401

    for package in (parsers, tools, checks, numbers, report_tools):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if module.name not in _NOT_NEEDED:
                importlib.import_module(module.name)
    checks.checks()  # asked for again at the end, and the same then
