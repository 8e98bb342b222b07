"""What things are called on the page: programs by their honest names, directions and sizes in words."""

from __future__ import annotations

import functools
from typing import Any

from orchestrator.tools import get_tool, tool_names
from parsers import get_parser
from reports.results.model import Run
from reports.results.traffic import traffic_name
from reports.text import format as fmt


def stands_in(run: Run) -> bool:
    """Did a kernel of pinsweep's make the numbers in the place of a tool? Where the tool is such a kernel itself, none did."""
    return run.program_named.stands_in


def program_name(run: Run) -> str:
    """Return the name of the program that made a run's numbers; a stand-in says what it is not.

    "fio 3.33", "pinsweep memlat, not Intel MLC"; "fio 3.33 (/opt/fio/bin/fio)" where the file has two of that version.
    """
    name = run.program_named.name
    return f"{name} ({run.build})" if run.build else name


@functools.cache
def has_stand_in(tool: str) -> bool:
    """Is one of our kernels run in the place of a tool that is not there?"""
    return tool in tool_names() and bool(get_tool(tool).KERNEL and get_tool(tool).PROGRAMS)


def program_kind(run: Run) -> str:
    """Return what must not be mixed with another: the tool's name, or that of its stand-in."""
    return run.program_named.kind


@functools.cache
def has_option(tool: str, name: str) -> bool:
    """Is an option the tool's own? An axis of a command, or what a user says of a text, may have the name of another tool's."""
    return tool in tool_names() and name in get_tool(tool).options()


SET = "set"
"""What stands for the value of an option that has none, as fio's norandommap and MLC's -X; a cell without the option has nothing there."""


def value_text(tool: str, name: str, value: Any) -> str:  # noqa: ANN401
    """Return an option's value as people read it: "4k"; of a tool's flag "on", or "off". An axis of the user's own is as it is written."""
    if value == "":
        return SET
    if isinstance(value, bool) and has_option(tool, name):
        return "on" if value else "off"
    return str(value)


def option_value(tool: str, name: str, value: Any) -> str:  # noqa: ANN401
    """Return an option and its value as a panel's title has it: "4 KiB blocks", "64 B stride", "iodepth 32", "2 ranks", "X on"."""
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
        case "bytes" | "W":
            return level
        case "b":
            return f"buffer {level}"
        case "L" if isinstance(value, bool):
            return level
    return f"{name} {level}"


def level_text(tool: str, name: str, value: Any) -> str:  # noqa: ANN401
    """Return an option's value with its unit: "4 KiB" of bs, "64 B" of MLC's l, "100 KiB" of its b, "3:1 nt" of its W; "32", "set"."""
    if not has_option(tool, name):
        return value_text(tool, name, value)
    if name in ("bs", "bytes"):
        return block(value)
    if name == "l":
        return f"{value} B"
    if name == "W" and (traffic := get_parser(tool).traffic_of({"W": value})):  # type: ignore[attr-defined]  # of who has W
        return traffic_name(traffic, short=True)
    if name == "b":
        return _exact_size(f"{value}k" if str(value).isdecimal() else str(value))
    if name == "L" and isinstance(value, bool):
        return "huge pages" if value else "small pages"
    return value_text(tool, name, value)


def _exact_size(text: str) -> str:
    """Return a size as written ("65536k") in the largest unit that it is a whole number of ("64 MiB"); what is none as it is."""
    from parsers.units import size_bytes

    try:
        size = size_bytes(text)
    except ValueError:
        return text
    power = next((p for p in (3, 2, 1) if size and size % 1024**p == 0), 0)
    return f"{size // 1024**power} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def block(value: Any) -> str:  # noqa: ANN401
    """Return a size as written in an experiment ("4k", 4096) in words ("4 KiB"); anything else as it is."""
    from parsers.units import size_bytes

    try:
        return fmt.size(size_bytes(str(value)))
    except ValueError:
        return str(value)
