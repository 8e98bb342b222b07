"""Name the program of a run, and define which programs must not be mixed. Pure."""

from __future__ import annotations

import functools
from typing import NamedTuple

from parsers import get_parser, parser_names


class Program(NamedTuple):
    """The name of a run's program."""

    stands_in: bool  # did a kernel of pinsweep's make the numbers in the place of a tool?
    kind: str  # what must not be mixed with another: the tool's name, or that of its stand-in
    called: str  # without its version
    version: str

    @property
    def name(self) -> str:
        return f"{self.called} {self.version}".strip()


def tool_name(tool: str) -> str:
    """Return the tool's own name, or the name in the experiments for a tool without a parser."""
    return get_parser(tool).NAME if tool in parser_names() else tool


@functools.lru_cache(maxsize=512)
def named(stands_in: bool, program: str, tool: str, version: str, suite: str) -> Program:
    """Return the name of a program: "fio 3.33", "IMB-MPI1 of Intel MPI 2021.10", "pinsweep memlat, not Intel MLC"."""
    tool_named = tool_name(tool)
    if stands_in:
        name = f"pinsweep {program.removeprefix('pinsweep-').removeprefix('pinsweep ')}, not {tool_named}"
        return Program(stands_in=True, kind=name, called=name, version="")
    known = program if tool_named == tool else tool_named
    for prefix in (program, known, "v", "-"):
        version = version.removeprefix(prefix).strip()
    if suite:  # whose version it is
        known = f"{known} of {suite}"
    return Program(stands_in=False, kind=tool_named, called=known, version=version)
