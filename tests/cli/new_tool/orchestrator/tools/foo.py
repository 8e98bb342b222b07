"""foo: a program on PATH."""

from __future__ import annotations

from orchestrator.model import Cell, Placement
from orchestrator.placement.place import numactl
from orchestrator.tools import Command, Option, Program, Site, Tool


class Foo(Tool):
    """foo."""

    PROGRAMS = ("foo",)
    SIGNATURE = b"Foo Network Test"
    INSTALL = "put foo on PATH"
    STARTER = """\
fixed: {count: 100}
matrix:
  lanes: [1, 2]              # cells
"""
    OPTIONS = {
        "count": Option("int", "messages of each size", low=1),
        "lanes": Option("int", "how many at once", low=1),
    }

    def command(self, cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
        given = [f"--{name}={value}" for name, value in cell.options.items()]
        pinned = numactl(placement.groups[0], site.numactl) if placement else ()
        return Command(argv=(*pinned, program.path, *given), estimate_s=0.1)

    def version(self, text: str) -> str:
        return text.removeprefix("foo ").strip()


TOOL = Foo()
