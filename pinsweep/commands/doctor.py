"""`pinsweep doctor`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinsweep.commands import _options

if TYPE_CHECKING:
    from orchestrator.machine.topology import Topology


@click.command(
    epilog="Example: pinsweep doctor; pinsweep doctor --capture node07 (then, elsewhere: plan --topology node07)"
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

    Exit status 1 if a tool that cannot be stood in for is missing, or --restore could not put back all.
    """
    from orchestrator.machine import facts, file_system, probe
    from orchestrator.programs.find import find_programs
    from orchestrator.run import preflight
    from orchestrator.tools import Program, tool_names
    from reports.text.columns import printable

    if restore:
        from orchestrator.run import tuning

        done, left = tuning.restore()
        for line in (done, *left):
            click.echo(printable(line))
        return 1 if left else 0
    topology = probe.read_topology()
    found = probe.facts()
    if capture is not None:
        _capture(capture, probe.capture(), found)
    click.secho("Machine", bold=True)
    for line in _describe(topology):
        click.echo(f"  {line}")
    for label, text in facts.lines(found).items():
        click.echo(f"  {label.lower()}: {text or 'not readable'}")

    if system := file_system.file_system_of(scratch or Path()):
        click.echo(printable(f"  scratch: {system}"))
    for contradiction in probe.contradictions():
        click.secho(f"  warn disagreement, {contradiction}", fg="yellow")

    click.secho("Tools", bold=True)
    missing = 0
    for tool, program in find_programs(name for name in tool_names() if name != "command").items():
        if isinstance(program, Program):
            stands_in = "  (our kernel stands in)" if program.stand_in else ""
            mpi = f"  with {program.notes['mpi']}" if program.notes.get("mpi") else ""
            click.echo(f"  {tool:8} {program.name} {program.version}{mpi}{stands_in}  {program.path}")
        else:
            missing += 1
            click.secho(f"  {tool:8} missing: {program}", fg="red")
    import shutil

    for name, get in (
        ("numactl", "apt-get install numactl, or dnf install numactl"),
        ("lstopo", "apt-get install hwloc-nox, or dnf install hwloc"),
    ):
        path = shutil.which(name) or (shutil.which("lstopo-no-graphics") if name == "lstopo" else None)
        if path:
            click.echo(f"  {name:8} {path}")
        else:
            missing += 1
            click.secho(f"  {name:8} missing ({get})", fg="red")

    click.secho("Noise", bold=True)
    findings = preflight.examine(found, scratch or Path())
    for finding in findings:
        click.secho(
            printable(f"  {finding.level:4} {finding.what}: {finding.why}"),
            fg="yellow" if finding.level == "warn" else None,
        )
        if finding.fix:
            click.echo(printable(f"       fix: {finding.fix}"))
    if not findings:
        click.echo("  nothing found")
    return 1 if missing else 0


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
    click.echo(f"wrote  {folder}; elsewhere: pinsweep plan EXPERIMENT --topology {folder}", err=True)
