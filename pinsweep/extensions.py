"""Tools that other distributions bring. I/O: looks what is installed beside pinsweep.

A distribution whose name begins with `pinsweep-` names a package by the entry point group `pinsweep.tools`. The package has the folders
of CONTRIBUTING.md's four steps (`parsers/foo.py`, `orchestrator/tools/foo.py`, `reports/charts/foo.py` …), and what lies there is found as
pinsweep's own modules are: by the tool's name.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
from pathlib import Path

from parsers.errors import UserError

GROUP = "pinsweep.tools"
ROOMS = (
    "parsers", "orchestrator.tools", "reports.readings", "reports.numbers", "reports.checks", "reports.charts",
)  # fmt: skip


def load() -> None:
    """Have the tools of other distributions found. Raises UserError for one that cannot be, or bears a name that is taken."""
    if not _some():
        return
    from importlib.metadata import (
        entry_points,
    )  # a tenth of a start, which nobody without extensions waits for

    for point in entry_points(group=GROUP):
        spec = importlib.util.find_spec(point.module)
        if spec is None or not spec.submodule_search_locations:
            raise UserError(
                point.module,
                f"is no package, and brings the tool {point.name}",
                f"pip uninstall {_of(point.dist)}",
            )
        _extend(Path(spec.submodule_search_locations[0]), _of(point.dist))


def _some() -> bool:
    """Is there a distribution whose name begins with `pinsweep-`? By the names of folders alone, which have `_` for it."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 (names alone, in a tenth of the time)
        except OSError:
            continue
        if any(name.startswith("pinsweep_") and name.endswith("-info") for name in names):
            return True
    return False


def _extend(folder: Path, distribution: str) -> None:
    import parsers

    if str(folder) in parsers.extensions:
        return
    parsers.extensions.append(str(folder))
    for room in ROOMS:
        own = folder.joinpath(*room.split("."))
        if not own.is_dir():
            continue
        package = importlib.import_module(room)
        taken = {module.name for module in pkgutil.iter_modules(package.__path__)}
        if twice := taken & {module.name for module in pkgutil.iter_modules([str(own)])}:
            raise UserError(
                distribution,
                f"brings {min(twice)} for {room}, which is there already",
                f"pip uninstall {distribution}",
            )
        package.__path__.append(str(own))


def _of(distribution: object) -> str:
    return str(getattr(distribution, "name", "the distribution"))
