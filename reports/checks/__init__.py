"""Checks of impossible or misleading numbers. Each check is one function, registered by a decorator.

A check reads Results and yields Faults. The docstring is the documentation of the check (docs/audit.md is made from the
docstrings):

    first line    the fault, in a few words
    paragraphs    the arithmetic, with its limits
    "Do: …"       advice for the reader; the last paragraph

A check yields nothing for unknown data. A depth that no output shows is not a fault.

A check of any tool (G…) calls the tools for their part, as `FAULTS` of `reports.tools.base.Tool` lists under the id of
the check.

The checks of a module have ids with the same letter. A module may set FAMILY to its position and heading, such as (0,
"Storage (fio)"). A module may set ANY_TOOL if its checks cover all runs. Without these, the heading is the module name,
after pinsweep's tools (0 to 3).
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, cast

from reports.results.model import Results, Run

Level = Literal["error", "warn", "info"]
ANY_TOOL = (90, "Any tool")
LEVELS: tuple[Level, ...] = ("error", "warn", "info")
"""error: at least one number is impossible. warn: a number is misleading. info: read the number with care."""


Quoted = tuple[float, str]
"""A number that a finding quotes: value, base unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One cell or group of cells that a check flags, with the numbers."""

    level: Level
    run: Run  # one run of the cell
    own: bool = False  # only this run is flagged, other repeats may be valid
    metric: str = ""  # the flagged metric, if the rest of the cell is valid: "latency"
    also: tuple[str, ...] = ()  # other flagged metrics of the cell, without separate text
    text: str  # the arithmetic with this cell's numbers; {} marks each quoted number
    # quoted values of this run; several repeats give a range: "takes 6.30 to 12.3 µs"
    quoted: tuple[Quoted, ...] = ()
    cell: str = ""  # label of the cell; "" uses the run's description
    runs: tuple[Run, ...] = ()  # all runs of the fault, if not the repeats of one cell
    todo: str = ""  # advice for this fault, instead of the advice of the check


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check with documentation."""

    id: str
    levels: tuple[Level, ...]
    find: Callable[[Results], Iterable[Fault]]
    flags: tuple[str, ...] = ()  # parser remarks that the check covers
    is_of_runs: bool = False  # one fault per run; the title names such runs: "runs that …"

    @property
    def family(self) -> tuple[int, str]:
        """Return the position of the check's family and the heading."""
        name = self.find.__module__
        position: tuple[int, str] = getattr(sys.modules[name], "FAMILY", (50, name.rpartition(".")[2]))
        return position

    @property
    def title(self) -> str:
        """Return the name of the fault."""
        return _doc(self.find)[0]

    @property
    def tool(self) -> str:
        """Return the tool that the check judges, or "" for any tool."""
        return "" if self.family == ANY_TOOL else self.find.__module__.rpartition(".")[2]

    @property
    def text(self) -> str:
        """The paragraphs between the title and what to do."""
        return "\n\n".join(_doc(self.find)[1:-1])

    @property
    def todo(self) -> str:
        return _doc(self.find)[-1].removeprefix("Do: ")


@functools.cache
def _doc(function: Callable[..., object]) -> tuple[str, ...]:
    paragraphs = re.split(r"\n\s*\n", inspect.getdoc(function) or "")
    if len(paragraphs) < 2 or not paragraphs[-1].startswith("Do: "):
        raise ValueError(f"{function.__qualname__}: a check says what to do in its last paragraph")
    return tuple(re.sub(r"\s*\n\s*", " ", p).strip() for p in paragraphs)


_CHECKS: dict[str, Check] = {}


def check(
    key: str,
    *levels: Level,
    flags: tuple[str, ...] = (),
    is_of_runs: bool = False,
) -> Callable[[Callable[[Results], Iterator[Fault]]], Callable[[Results], Iterator[Fault]]]:
    """Register a check under an id, with the possible levels of its faults, the most severe first."""

    def register(function: Callable[[Results], Iterator[Fault]]) -> Callable[[Results], Iterator[Fault]]:
        if key in _CHECKS:
            raise ValueError(f"two checks are called {key}")
        _CHECKS[key] = Check(id=key, levels=levels, find=function, flags=flags, is_of_runs=is_of_runs)
        return function

    return register


class Judged(Protocol):
    """The part of `reports.tools.base.Tool` that checks of any tool ask, described there."""

    NOISE: float
    FINER: frozenset[str]
    CUT: str
    FAULTS: Mapping[str, Callable[[Results], Iterator[Fault]]]

    def busy(self, run: Run) -> int: ...
    def shown_with(self, metric: str, run: Run) -> Iterator[str]: ...
    def mistyped(self, command: str) -> Iterator[str]: ...
    def left_out(self, command: str, run: Run) -> Iterator[str]: ...


def judged(tool: str) -> Judged:
    """Return a tool by name."""
    return cast("Judged", importlib.import_module("reports.tools").find(tool))


def parts(key: str, results: Results) -> Iterator[Fault]:
    """Yield the findings of a check of any tool, in the order of the results."""
    for tool in results.tools:
        if key in judged(tool).FAULTS:
            yield from judged(tool).FAULTS[key](results)


def checks(tools: Collection[str] | None = None) -> tuple[Check, ...]:
    """Return the checks of the named tools and the checks of any tool, by family and number. Without tools, return
    all checks.
    """
    _import_all(__name__, tuple(__path__))
    if tools is None:
        _import_all("reports.tools", tuple(importlib.import_module("reports.tools").__path__))
    for tool in tools or ():
        judged(tool)
    selected = (check for check in _CHECKS.values() if tools is None or check.tool in ("", *tools))
    return tuple(sorted(selected, key=lambda c: (c.family, c.id[0], int(c.id[1:]))))


@functools.cache
def _import_all(package: str, folders: tuple[str, ...]) -> None:
    """Import all check modules once. An upgrade of pinsweep during a run then has no effect."""
    for module in pkgutil.iter_modules(folders):
        importlib.import_module(f"{package}.{module.name}")
