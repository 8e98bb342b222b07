"""Tools of other distributions. I/O: reads the installed distributions.

A distribution with a name that begins with `pinsweep-` names a package by the entry point group `pinsweep.tools`.
The package has the folders
of CONTRIBUTING.md (`parsers/foo.py`, `orchestrator/tools/foo.py`, `reports/tools/foo.py`), and pinsweep finds its
modules by the name of the tool. A distribution that cannot be loaded is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
from pathlib import Path

from parsers import extensions
from parsers.errors import UserError

TYPE_CHECKING = False  # that of `typing` is another import
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from importlib.metadata import EntryPoint

GROUP = "pinsweep.tools"
PREFIX = "pinsweep-"
ROOMS = ("parsers", "orchestrator.tools", "reports.tools")
_LOADED = ("parsers", "orchestrator.tools")
"""The packages that every command uses."""


def load() -> list[str]:
    """Register the tools of other distributions, and return a warning for each that is left out. Raises UserError
    for a duplicate name."""
    if not _some():
        return []
    for point in _points():
        if _name(point).startswith(PREFIX):
            _extend(point)
    return [
        f"warning  {one} is left out, with {', '.join(one.tools)}: {one.broken}"
        for one in extensions.known
        if one.broken
    ]


def not_looked_for() -> list[tuple[str, str]]:
    """Return (tool, distribution) of distributions with a package and a wrong name."""
    return [(point.name, _name(point)) for point in _points() if not _name(point).startswith(PREFIX)]


def _points() -> list[EntryPoint]:
    # a tenth of a start, which nobody without extensions waits for
    from importlib.metadata import entry_points

    return list(entry_points(group=GROUP))


def _name(point: EntryPoint) -> str:
    return str(point.dist.name if point.dist else "").lower().replace("_", "-")


def _some() -> bool:
    """Whether a distribution `pinsweep-…` is installed, by the names of folders."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 (names alone, in a tenth of the time)
        except OSError:
            continue
        if any(name.startswith("pinsweep_") and name.endswith("-info") for name in names):
            return True
    return False


def _extend(point: EntryPoint) -> None:
    name, version = _name(point), point.dist.version if point.dist else ""
    folder = _folder(point)
    if not folder:
        why = f"its entry point names {point.module}, which is not a package"
        extensions.known.append(
            extensions.Extension(name=name, version=version, folder="", tools=(point.name,), broken=why)
        )
        return
    if any(one.folder == str(folder) for one in extensions.known):  # it brings several tools
        return
    own = {room: folder.joinpath(*room.split(".")) for room in ROOMS}
    brings = {room: {module.name for module in pkgutil.iter_modules([str(path)])} for room, path in own.items()}
    tools = sorted(tool for room in _LOADED for tool in brings[room] if not tool.startswith("_"))
    found = extensions.Extension(
        name=name, version=version, folder=str(folder), tools=tuple(dict.fromkeys([*tools, point.name]))
    )
    extensions.known.append(found)
    packages = {room: importlib.import_module(room) for room in ROOMS if brings[room]}
    for room, package in packages.items():
        taken = {module.name for module in pkgutil.iter_modules(package.__path__)}
        if twice := taken & brings[room]:
            what = f"brings {min(twice)} for {room}, which exists already"
            raise UserError(name, what, f"pip uninstall {name}")
    for room, package in packages.items():
        package.__path__.append(str(own[room]))
    if why := _why_broken(brings):
        for room, package in packages.items():
            package.__path__.remove(str(own[room]))
        extensions.known[-1] = found._replace(broken=why)


def _folder(point: EntryPoint) -> Path | None:
    """Return the folder of the package that an entry point names."""
    try:
        spec = importlib.util.find_spec(point.module)
    except Exception:  # a package above it, which is a stranger's
        return None
    folders = spec.submodule_search_locations if spec else None
    return Path(folders[0]) if folders else None


def _why_broken(brings: Mapping[str, Collection[str]]) -> str:
    """Return why the modules that every command asks for cannot be loaded, or lack what each has; "" where nothing
    is wrong."""
    for room in _LOADED:
        for tool in sorted(name for name in brings[room] if not name.startswith("_")):
            at = f"{room.replace('.', '/')}/{tool}.py"
            try:
                module = importlib.import_module(f"{room}.{tool}")
            except Exception as error:  # whatever a stranger's module does
                return extensions.what_is_wrong(error)
            contract = importlib.import_module("parsers").Parser
            needed = {*contract.__annotations__, *vars(contract)} if room == "parsers" else {"TOOL"}
            if lacks := sorted(n for n in needed if not n.startswith("_") and not hasattr(module, n)):
                return f"{at} has no {', '.join(lacks)}"
    return ""
