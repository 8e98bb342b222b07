"""`pinsweep doctor`"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from pinsweep.commands import _options
from pinsweep.terminal import answer, data, say

if TYPE_CHECKING:
    from reports.health.doctor import Part

_HELPERS = {
    "numactl": (("numactl",), "apt-get install numactl, or dnf install numactl"),
    "lstopo": (("lstopo", "lstopo-no-graphics"), "apt-get install hwloc-nox, or dnf install hwloc"),
}
"""What all tools need → the names of its program, the first that is there, and how to get it."""

_DESCRIBES = ("lscpu", "dmidecode", "lstopo-no-graphics")
"""Programs that describe the machine, if it has them."""


@click.command(
    short_help="Show this machine, the tools, and noise.",
    epilog="Example: pinsweep doctor --capture node07",
)
@click.option(
    "--capture",
    type=_options.FILE,
    metavar="DIR",
    help="Write a description of this machine to DIR, for `plan --topology`.",
)
@click.option("--restore", is_flag=True, help="Restore the settings after a killed `run --tune`, and do nothing else.")
@_options.scratch
@_options.table_or_json
def command(capture: Path | None, restore: bool, scratch: Path | None, form: str) -> int:
    """Show the topology of this machine, the tools, and programs that would disturb a measurement.

    Exit status 1: a tool is missing or refused, or --restore failed.
    """
    from orchestrator.machine import file_system, probe
    from orchestrator.run import preflight, tuning
    from reports.health import doctor
    from reports.text.json_text import json_text
    from reports.text.plain import printable

    if restore:
        restored, left = tuning.restore()
        if form == "json":
            data(json_text({"restored": restored, "left": list(left)}))
        else:
            for line in (restored, *left):
                say(printable(line))
        return 1 if left else 0
    facts, folder = probe.facts(), scratch or Path()
    survey = doctor.Survey(
        topology=probe.read_topology(), facts=facts, scratch=file_system.file_system_of(folder),
        contradictions=probe.contradictions(), parts=list(_parts()), noise=preflight.examine(facts, folder),
    )  # fmt: skip
    if capture is not None:
        _capture(capture, probe.capture(), facts)
    if form == "json":
        data(json_text(doctor.as_json(survey)))
    else:
        answer(doctor.document(survey))
    return 0 if survey.ready else 1


def _parts() -> Iterator[Part]:
    """Find every program that pinsweep starts, one after the other."""
    from orchestrator.tools import tool_names
    from parsers.extensions import known
    from pinsweep.extensions import PREFIX, not_looked_for
    from reports.health.doctor import Part

    yield from map(_tool, sorted(name for name in tool_names() if name != "command"))
    for extension in known:
        problem = f"{extension}: {extension.broken}"
        hint = f"tell those who make it, or: pip uninstall {extension.name}"
        for tool in extension.tools if extension.broken else ():
            yield Part(name=tool, kind="tool", usable=False, problem=problem, hint=hint)
    for tool, distribution in not_looked_for():
        problem = f"{distribution} is not looked for: its name does not begin with {PREFIX}"
        yield Part(name=tool, kind="tool", usable=False, problem=problem, hint="its author can rename it")
    for name, (programs, get) in _HELPERS.items():
        part = _program(name, "helper", programs)
        yield part or Part(name=name, kind="helper", usable=False, problem="missing", hint=get)
    yield from filter(None, (_program(name, "describes", (name,)) for name in _DESCRIBES))


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


def _program(name: str, kind: Literal["helper", "describes"], programs: tuple[str, ...]) -> Part | None:
    """Return the first of some programs, and why root must not start it; None if none is there."""
    import shutil

    from orchestrator.machine import planted, probe
    from orchestrator.placement.memory import REFUSAL_HINT
    from reports.health.doctor import Part

    path = next(filter(None, map(shutil.which, programs)), None)
    if path is None:
        return None
    problem, hint = planted.danger(path), "take its folder out of PATH"
    usable = not problem
    if usable and name == "numactl" and (refusal := probe.memory_refusal(path)):
        problem, hint = f"memory cannot be bound: {refusal}", REFUSAL_HINT
    return Part(name=name, kind=kind, usable=usable, path=path, problem=problem, hint=hint if problem else "")


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
