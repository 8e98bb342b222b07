"""Match cells across machines with different numbers of CPUs: by options, share of the machine, and command. Pure."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from fractions import Fraction
from pathlib import PurePath
from typing import Final

from orchestrator.machine.topology import Topology
from orchestrator.model import canonical_json
from orchestrator.tools import get_tool, tool_names
from parsers.errors import UserError
from reports.results.model import Run

_CONTAINERS: Final = ("core", "NUMA node", "package", "machine")
_OUTPUT: Final = re.compile(r"(\d*&?>{1,2}|--output|--write_\w+_log)(=?)(.*)")
"""Words before an output name: a redirection, and options of fio."""


def parameters(run: Run) -> str:
    """Return the options of a run as JSON with one spelling, so that 4k equals 4096. `metrics` are left out."""
    options = run.cell.options
    try:
        values = get_tool(run.tool).canonical(options)
    except (KeyError, ValueError, UserError):  # a tool that is only read
        values = options
    return canonical_json({name: value for name, value in values.items() if name != "metrics"})


def share(run: Run) -> str:
    """Return each process's share of the machine: "one PU", "half of a NUMA node", "2 × one core". "" if nothing was
    placed.

    The share is relative to the smallest core, NUMA node, package or machine with all PUs. Without a topology: "3 PUs".
    """
    texts = list(dict.fromkeys(_share(frozenset(group.cpus), run.session.topology) for group in run.placed))
    return f"{len(run.placed)} × {texts[0]}" if len(texts) == 1 < len(run.placed) else " and ".join(texts)


def _share(cpus: frozenset[int], machine: Topology | None) -> str:
    if len(cpus) == 1:
        return "one PU"
    if machine is None or not machine.pus:
        return f"{len(cpus)} PUs"
    inside = {
        "core": [core.cpus for core in machine.cores],
        "NUMA node": [node.cpus for node in machine.numa_nodes],
        "package": [package.cpus for package in machine.packages],
        "machine": [tuple(pu.os_index for pu in machine.pus)],
    }
    for name in _CONTAINERS:
        for members in inside[name]:
            if cpus <= set(members):
                whole = machine.allowed_cpus.intersection(members) | cpus
                return _part(Fraction(len(cpus), len(whole)), "the machine" if name == "machine" else f"a {name}")  # fmt: skip
    return f"{len(cpus)} PUs"


def _part(part: Fraction, whole: str) -> str:
    if part == 1:
        return "one core" if whole == "a core" else f"all of {whole}"
    return f"half of {whole}" if part == Fraction(1, 2) else f"{part} of {whole}"


def command(run: Run) -> str:
    """Return the command of a run without program folders and output names. Paths remain only in a captured command."""
    files = (
        run.program.get("path") or "",
        run.record.program,
        *run.record.argv[:1],
        *run.program.get("files", ()),
    )
    return _command(run.tool, run.record.argv, frozenset(PurePath(word).name for word in files), run.captured)


@functools.lru_cache(maxsize=1024)  # the repeats of a cell have one command
def _command(tool: str, argv: tuple[str, ...], programs: frozenset[str], captured: bool) -> str:
    words = tuple(_words(argv, programs, captured))
    return shlex.join(get_tool(tool).canonical_command(words) if tool in tool_names() else words)


def _words(argv: tuple[str, ...], programs: frozenset[str], captured: bool) -> Iterator[str]:
    words = iter(argv)
    for word in words:
        name = PurePath(word).name
        if not captured and "/" in word and name not in programs:
            continue  # a scratch folder, another one every time
        if word in ("|", "|&"):
            return
        if output := _OUTPUT.fullmatch(word):
            if not output[3]:
                next(words, "")
            continue
        yield name if name in programs else word
