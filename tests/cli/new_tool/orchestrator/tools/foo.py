"""foo: a program on PATH."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.model import Cell, Place, Placement
from orchestrator.placement.place import numactl
from orchestrator.tools import Command, Option, Program, Site
from parsers.measurement import Parsed

PROGRAMS = ("foo",)
KERNEL = ""
SIGNATURE = b"Foo Network Test"
FATAL: tuple[str, ...] = ()
INSTALL = "put foo on PATH"
STARTER = """\
fixed: {count: 100}
matrix:
  lanes: [1, 2]              # cells
"""


def options() -> Mapping[str, Option]:
    return {
        "count": Option(kind="int", low=1, help="messages of each size"),
        "lanes": Option(kind="int", low=1, help="how many at once"),
    }


def problems(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    return []


def shape(options: Mapping[str, Any]) -> tuple[int | None, int]:
    return None, 1


def default_place(options: Mapping[str, Any]) -> Place | None:
    return Place(name="all", cpus="all", memory="local")


def command(cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
    given = [f"--{name}={value}" for name, value in cell.options.items()]
    pinned = numactl(placement.groups[0], site.numactl) if placement else ()
    return Command(argv=(*pinned, program.path, *given), estimate_s=0.1)


def version_argv(path: str) -> tuple[str, ...]:
    return (path, "--version")


def version(text: str) -> str:
    return text.removeprefix("foo ").strip()


def complaint(parsed: Parsed, stdout: str, stderr: str, cell: Cell) -> str:
    return ""
