"""What things are called on the page: programs by their honest names, directions and sizes in words."""

from __future__ import annotations

from typing import Any

from reports import format as fmt
from reports.frames import Run

_TOOLS = {
    "mlc": "Intel MLC",
    "stream": "STREAM",
    "imb": "Intel MPI Benchmarks",
    "fio": "fio",
    "poke": "pinsweep poke",
}  # fmt: skip


def tool_name(tool: str) -> str:
    """Return the tool's own name."""
    return _TOOLS.get(tool, tool)


def program_name(run: Run) -> str:
    """Return the name of the program that made a run's numbers; a stand-in says what it is not.

    "fio 3.33", "pinsweep memlat, not Intel MLC"; "fio 3.33 (/opt/fio/bin/fio)" where the file has two of that version.
    """
    return f"{_name(run)} ({run.build})" if run.build else _name(run)


def program_kind(run: Run) -> str:
    """Return what must not be mixed with another: the tool's name, or that of its stand-in."""
    return _name(run) if run.stand_in else tool_name(run.tool)


def _name(run: Run) -> str:
    facts = run.parsed.facts if run.parsed else {}
    program = str(facts.get("program") or run.record.program or run.tool)
    if run.stand_in and run.tool != "poke":
        program = program.removeprefix("pinsweep-").removeprefix("pinsweep ")
        return f"pinsweep {program}, not {tool_name(run.tool)}"
    known = tool_name(run.tool) if run.tool in _TOOLS else program
    version = run.version
    for prefix in (program, known, "v", "-"):
        version = version.removeprefix(prefix).strip()
    return f"{known} {version}".strip()


def option_value(name: str, value: Any) -> str:  # noqa: ANN401
    """Return an option and its value as a panel's title has it: "4 KiB blocks", "64 B stride", "iodepth 32"."""
    if name in ("place", "host", "program"):
        return str(value)
    if name == "bs":
        return f"{block(value)} blocks"
    if name == "l":
        return f"{value} B stride"
    if name == "bytes":
        return block(value)
    return f"{name} {value}"


def block(value: Any) -> str:  # noqa: ANN401
    """Return a size as written in an experiment ("4k", 4096) in words ("4 KiB"); anything else as it is."""
    from parsers.units import size_bytes

    try:
        return fmt.size(size_bytes(str(value)))
    except ValueError:
        return str(value)
