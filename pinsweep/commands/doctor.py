"""`pinsweep doctor`"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinsweep.commands import _options
from pinsweep.terminal import answer, data, say

if TYPE_CHECKING:
    from orchestrator.machine.topology import Topology
    from reports.health.doctor import Part, Survey

_HELPERS = {
    "numactl": (("numactl",), "apt-get install numactl, or dnf install numactl"),
    "lstopo": (("lstopo", "lstopo-no-graphics"), "apt-get install hwloc-nox, or dnf install hwloc"),
}
"""What all tools need → the names of its program, the first that is there, and how to get it."""

_DESCRIBES = ("lscpu", "dmidecode", "lstopo-no-graphics")
"""What is asked about the machine where it is there, and told here only if it is not asked."""


@click.command(
    short_help="Show what pinsweep sees of this machine, and what may disturb.",
    epilog="Example: pinsweep doctor; pinsweep doctor --capture node07 (then, elsewhere: plan --topology node07)",
)
@click.option(
    "--capture",
    type=_options.FILE,
    metavar="DIR",
    help="Write this machine's description there, to plan for it elsewhere.",
)
@click.option(
    "--restore", is_flag=True, help="Put back what a killed `run --tune` has left set, and do nothing else."
)
@_options.scratch
@_options.table_or_json
def command(capture: Path | None, restore: bool, scratch: Path | None, form: str) -> int:
    """Show what pinsweep sees of this machine: its topology, the tools, and what may disturb a measurement.

    Exit status 1 if a tool that nothing stands in for is missing, or one is refused since others could have put it there, or --restore
    could not put back all.
    """
    from orchestrator.machine import probe
    from reports.text.plain import printable

    if restore:
        from orchestrator.run import tuning

        done, left = tuning.restore()
        if form == "json":
            from reports.text.json_text import json_text

            data(json_text({"restored": done, "left": list(left)}))
            return 1 if left else 0
        for line in (done, *left):
            say(printable(line))
        return 1 if left else 0
    topology, found = probe.read_topology(), probe.facts()
    if capture is not None:
        _capture(capture, probe.capture(), found)
    from reports.health import doctor

    survey = _survey(topology, found, scratch or Path())
    if form == "json":
        from reports.text.json_text import json_text

        data(json_text(doctor.as_json(survey)))
    else:
        answer(doctor.document(survey))
    return 0 if survey.ready else 1


def _survey(topology: Topology, facts: Mapping[str, Any], scratch: Path) -> Survey:
    from orchestrator.machine import file_system, probe
    from orchestrator.run import preflight
    from reports.health.doctor import Survey

    return Survey(
        topology=topology, facts=facts, scratch=str(file_system.file_system_of(scratch) or ""), contradictions=list(probe.contradictions()),
        parts=list(_parts()), noise=preflight.examine(facts, scratch),
    )  # fmt: skip


def _parts() -> Iterator[Part]:
    """Find every program that pinsweep starts, one after the other."""
    from orchestrator.tools import tool_names

    yield from map(_tool, sorted(name for name in tool_names() if name != "command"))
    yield from _left_out()
    yield from map(_helper, _HELPERS)
    yield from map(_described, _DESCRIBES)


def _left_out() -> Iterator[Part]:
    """Yield the tools of distributions that cannot be used, or are not called as one must be that is looked for."""
    from parsers.extensions import known
    from pinsweep.extensions import PREFIX, not_looked_for
    from reports.health.doctor import Part

    for one in known:
        for tool in one.tools if one.broken else ():
            yield Part(
                name=tool, kind="tool", usable=False, problem=f"{one}: {one.broken}",
                hint=f"tell those who make it, or: pip uninstall {one.name}",
            )  # fmt: skip
    for tool, distribution in not_looked_for():
        problem = f"{distribution} is not looked for: its name does not begin with {PREFIX}"
        yield Part(name=tool, kind="tool", usable=False, problem=problem, hint="its author can rename it")


def _tool(tool: str) -> Part:
    """Return which program measures."""
    from orchestrator.programs.find import find_programs
    from orchestrator.tools import Program
    from parsers.errors import UserError
    from reports.health.doctor import Part

    try:
        program = find_programs([tool])[tool]
    except UserError as error:
        return Part(name=tool, kind="tool", usable=False, problem=str(error), hint=error.hint)
    if not isinstance(program, Program):
        return Part(name=tool, kind="tool", usable=False, problem=f"missing: {program}")
    return Part(
        name=tool, kind="tool", usable=True, program=program.name, version=program.version, path=program.path,
        mpi=program.notes.get("mpi", ""), stand_in=program.stand_in,
    )  # fmt: skip


def _helper(name: str) -> Part:
    """Return where a program of _HELPERS is."""
    from reports.health.doctor import Part

    programs, get = _HELPERS[name]
    path, why = _found(programs)
    if path is None:
        return Part(name=name, kind="helper", usable=False, problem="missing", hint=get)
    if why:
        return Part(name=name, kind="helper", usable=False, path=path, problem=why, hint=_UNTRUSTED)
    from orchestrator.machine import probe
    from orchestrator.placement.memory import REFUSAL_HINT

    if name == "numactl" and (refusal := probe.memory_refusal(path)):
        problem = f"memory cannot be bound: {refusal}"
        return Part(name=name, kind="helper", usable=True, path=path, problem=problem, hint=REFUSAL_HINT)
    return Part(name=name, kind="helper", usable=True, path=path)


def _described(name: str) -> Part:
    """Return a program of _DESCRIBES: it is not asked if others could have put it there."""
    from reports.health.doctor import Part

    path, why = _found((name,))
    return Part(
        name=name, kind="describes", usable=not why, path=path or "", problem=why, hint=_UNTRUSTED if why else ""
    )  # fmt: skip


_UNTRUSTED = "take its folder out of PATH"


def _found(programs: Iterable[str]) -> tuple[str | None, str]:
    """Return where the first of some programs is, and why root must not start it."""
    import shutil

    from orchestrator.machine import planted

    path = next(filter(None, map(shutil.which, programs)), None)
    return path, planted.danger(path) if path else ""


def _capture(folder: Path, topology: str, facts: object) -> None:
    import json

    from parsers.errors import UserError
    from reports.results.write import write_whole

    hint = "name another folder with --capture"
    if folder.exists() and not folder.is_dir():
        raise UserError(str(folder), "is not a directory", hint)
    write_whole(folder / "topology.json", topology, hint=hint)
    write_whole(folder / "facts.json", json.dumps(facts, indent=1, ensure_ascii=False) + "\n", hint=hint)
    say(f"wrote  {folder}; elsewhere: pinsweep plan EXPERIMENT --topology {folder}", err=True)
