"""`pinsweep doctor`"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinsweep.commands import _options
from pinsweep.terminal import say

if TYPE_CHECKING:
    from orchestrator.machine.topology import Topology

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
def command(capture: Path | None, restore: bool, scratch: Path | None) -> int:
    """Show what pinsweep sees of this machine: its topology, the tools, and what may disturb a measurement.

    Exit status 1 if a tool that nothing stands in for is missing, or one is refused since others could have put it there, or --restore
    could not put back all.
    """
    from orchestrator.machine import facts, file_system, probe
    from orchestrator.tools import tool_names
    from reports.text.plain import printable

    if restore:
        from orchestrator.run import tuning

        done, left = tuning.restore()
        for line in (done, *left):
            say(printable(line))
        return 1 if left else 0
    topology = probe.read_topology()
    found = probe.facts()
    if capture is not None:
        _capture(capture, probe.capture(), found)
    say("Machine", bold=True)
    for line in _describe(topology):
        say(f"  {line}")
    for label, text in facts.lines(found).items():
        say(f"  {label.lower()}: {text or 'not readable'}")
    if system := file_system.file_system_of(scratch or Path()):
        say(printable(f"  scratch: {system}"))
    for contradiction in probe.contradictions():
        say(f"  warn disagreement, {contradiction}", fg="yellow")
    say("Tools", bold=True)
    ready = [
        *map(_tool, sorted(name for name in tool_names() if name != "command")),
        *map(_helper, _HELPERS),
        *map(_described, _DESCRIBES),
    ]
    say("Noise", bold=True)
    _noise(found, scratch or Path())
    return 0 if all(ready) else 1


def _tool(tool: str) -> bool:
    """Say which program measures; return whether there is one that may be started."""
    from orchestrator.programs.find import find_programs
    from orchestrator.tools import Program
    from parsers.errors import UserError
    from reports.text.plain import printable

    try:
        program = find_programs([tool])[tool]
    except UserError as error:
        say(printable(f"  {tool:8} {error.place}: {error.cause} ({error.hint})"), fg="red")
        return False
    if not isinstance(program, Program):
        say(f"  {tool:8} missing: {program}", fg="red")
        return False
    stands_in = "  (our kernel stands in)" if program.stand_in else ""
    mpi = f"  with {program.notes['mpi']}" if program.notes.get("mpi") else ""
    say(f"  {tool:8} {program.name} {program.version}{mpi}{stands_in}  {program.path}")
    return True


def _helper(name: str) -> bool:
    """Say where a program of _HELPERS is; return whether it is there and may be started."""
    import shutil

    from orchestrator.machine import planted

    programs, get = _HELPERS[name]
    path = next(filter(None, map(shutil.which, programs)), None)
    if path is None:
        say(f"  {name:8} missing ({get})", fg="red")
        return False
    if os.geteuid() == 0 and (why := planted.reason(path)):
        _say_refused(name, path, why)
        return False
    say(f"  {name:8} {path}")
    return True


def _described(name: str) -> bool:
    """Say of a program of _DESCRIBES that it is not asked, if others could have put it there; return whether it may be."""
    import shutil

    from orchestrator.machine import planted

    path = shutil.which(name)
    if path and os.geteuid() == 0 and (why := planted.reason(path)):
        _say_refused(name, path, why)
        return False
    return True


def _say_refused(name: str, path: str, why: str) -> None:
    from reports.text.plain import printable

    say(
        printable(f"  {name:8} {path}: {why}, and root would start it (take its folder out of PATH)"),
        fg="red",
    )


def _noise(facts: Mapping[str, Any], scratch: Path) -> None:
    """Say what may disturb a measurement here."""
    from orchestrator.run import preflight
    from reports.text.plain import printable

    findings = preflight.examine(facts, scratch)
    for finding in findings:
        say(
            printable(f"  {finding.level:4} {finding.what}: {finding.why}"),
            fg="yellow" if finding.level == "warn" else None,
        )
        if finding.fix:
            say(printable(f"       fix: {finding.fix}"))
    if not findings:
        say("  nothing found")


def _describe(topology: Topology) -> list[str]:
    """Return the machine in a few lines; NUMA nodes one each."""
    from orchestrator.machine.cpulist import format_cpulist
    from parsers.units import size_text
    from reports.results.hardware import counted

    numbers = topology.numbers()
    lines = [", ".join(counted(topology))]
    sizes = [f"{name} {size_text(numbers[name])}" for name in ("L1", "L2", "L3") if name in numbers]
    if sizes:
        lines.append("caches: " + ", ".join(sizes))
    for node in topology.numa_nodes:
        memory = size_text(node.memory_bytes) if node.memory_bytes is not None else "memory not known"
        cpus = format_cpulist(node.cpus) or "none"
        devices = [device.name for device in topology.devices if device.numa_node == node.os_index]
        near = f", near it: {', '.join(devices)}" if devices else ""
        lines.append(
            f"numa_node {node.os_index}: CPUs {cpus}, {memory}{'' if node.allowed else ', not allowed'}{near}"
        )
    return lines


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
