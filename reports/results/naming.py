"""What things are called on the page: programs by their honest names, directions and sizes in words."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from orchestrator.tools import get_tool, tool_names
from parsers import get_parser, parser_names
from reports.results.model import Run
from reports.text import format as fmt


def tool_name(tool: str) -> str:
    """Return the tool's own name; the word of the experiments for a tool without a parser."""
    return get_parser(tool).NAME if tool in parser_names() else tool


def stands_in(run: Run) -> bool:
    """Did a kernel of pinsweep's make the numbers in the place of a tool? Where the tool is such a kernel itself, none did."""
    return run.stand_in and (run.tool not in tool_names() or bool(get_tool(run.tool).PROGRAMS))


def by_program(runs: Iterable[Run]) -> list[Run]:
    """Return one of all runs that are alike in everything that `program_name` and `program_kind` read, in their order: of a hundred
    thousand a few."""
    found: dict[tuple[object, ...], Run] = {}
    for run in runs:
        parsed = run.parsed
        facts = parsed.facts if parsed else {}
        said = repr((facts.get("program"), facts.get("tool_version"), facts.get("suite")))
        stand_in = bool(parsed and parsed.has("stand_in"))
        found.setdefault((id(run.session), run.tool, run.record.program, run.build, said, stand_in), run)
    return [*found.values()]


def program_name(run: Run) -> str:
    """Return the name of the program that made a run's numbers; a stand-in says what it is not.

    "fio 3.33", "pinsweep memlat, not Intel MLC"; "fio 3.33 (/opt/fio/bin/fio)" where the file has two of that version.
    """
    return f"{_name(run)} ({run.build})" if run.build else _name(run)


def program_kind(run: Run) -> str:
    """Return what must not be mixed with another: the tool's name, or that of its stand-in."""
    return _name(run) if stands_in(run) else tool_name(run.tool)


def _name(run: Run) -> str:
    facts = run.parsed.facts if run.parsed else {}
    program = str(facts.get("program") or run.record.program or run.tool)
    if stands_in(run):
        program = program.removeprefix("pinsweep-").removeprefix("pinsweep ")
        return f"pinsweep {program}, not {tool_name(run.tool)}"
    known = program if tool_name(run.tool) == run.tool else tool_name(run.tool)
    version = run.version
    for prefix in (program, known, "v", "-"):
        version = version.removeprefix(prefix).strip()
    if suite := facts.get("suite"):  # whose version it is
        known = f"{known} of {suite}"
    return f"{known} {version}".strip()


@functools.cache
def has_option(tool: str, name: str) -> bool:
    """Is an option the tool's own? An axis of a command, or what a user says of a text, may have the name of another tool's."""
    return tool in tool_names() and name in get_tool(tool).options()


BESIDE = ("place", "host", "program", "run of its text")
"""Labels of a cell that are no axis of its experiment's own, whatever the tool."""


SET = "set"
"""What stands for the value of an option that has none, as fio's norandommap and MLC's -X; a cell without the option has nothing there."""


def value_text(tool: str, name: str, value: Any) -> str:  # noqa: ANN401
    """Return an option's value as people read it: "4k"; of a tool's flag "set", or "not set". An axis of the user's own is as it is written."""
    if value == "" or (value is True and has_option(tool, name)):
        return SET
    return "not set" if value is False and has_option(tool, name) else str(value)


def option_value(tool: str, name: str, value: Any) -> str:  # noqa: ANN401
    """Return an option and its value as a panel's title has it: "4 KiB blocks", "64 B stride", "iodepth 32", "2 ranks", "X set"."""
    if name in ("place", "host", "program"):
        return str(value)
    if name == "run of its text":
        return f"run {value}"
    if not has_option(tool, name):
        return f"{name} {value}"
    if name == "np":
        return "1 rank" if str(value) == "1" else f"{value} ranks"
    level = level_text(tool, name, value)
    match name:
        case "bs":
            return f"{level} blocks"
        case "l":
            return f"{level} stride"
        case "bytes":
            return level
        case "b":
            return f"buffer {level}"
    return f"{name} {level}"


def level_text(tool: str, name: str, value: Any) -> str:  # noqa: ANN401
    """Return an option's value with its unit: "4 KiB" of bs, "64 B" of MLC's l, "100 KiB" of its b; "32", "set"."""
    if not has_option(tool, name):
        return value_text(tool, name, value)
    if name in ("bs", "bytes"):
        return block(value)
    if name == "l":
        return f"{value} B"
    if name == "b" and str(value).isdecimal():
        return f"{value} KiB"
    return value_text(tool, name, value)


def block(value: Any) -> str:  # noqa: ANN401
    """Return a size as written in an experiment ("4k", 4096) in words ("4 KiB"); anything else as it is."""
    from parsers.units import size_bytes

    try:
        return fmt.size(size_bytes(str(value)))
    except ValueError:
        return str(value)
