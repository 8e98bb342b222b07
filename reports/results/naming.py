"""Name programs, directions and sizes for people. The name of a built-in kernel also names the replaced tool."""

from __future__ import annotations

import functools
from typing import Any

from orchestrator.tools import get_tool, tool_names
from parsers import get_parser
from reports.results.model import Run
from reports.results.traffic import traffic_name
from reports.text import format as fmt


def stands_in(run: Run) -> bool:
    """Return whether a built-in kernel replaced a tool. False if the tool is such a kernel."""
    return run.program_named.stands_in


def program_name(run: Run) -> str:
    """Return the name of the program of a run's numbers. The name of a built-in kernel names the replaced tool.

    "fio 3.33", "pinsweep memlat, not Intel MLC". "fio 3.33 (/opt/fio/bin/fio)" if the file has two programs of a
    version.
    """
    name = run.program_named.name
    return f"{name} ({run.build})" if run.build else name


@functools.cache
def has_stand_in(tool: str) -> bool:
    """Return whether a built-in kernel can replace a missing tool."""
    return tool in tool_names() and bool(get_tool(tool).KERNEL and get_tool(tool).PROGRAMS)


def program_kind(run: Run) -> str:
    """Return the key of programs that may be mixed: the tool's name, or the name of its built-in kernel."""
    return run.program_named.kind


@functools.cache
def has_option(tool: str, name: str) -> bool:
    """Return whether an option is the tool's own. A command's axis, or a captured text, may use another tool's
    names.
    """
    return tool in tool_names() and name in get_tool(tool).options()


SET = "set"
"""The value of an option without a value (fio's norandommap, MLC's -X). A cell without the option has no entry."""


def value_text(tool: str, name: str, value: Any) -> str:  # noqa: ANN401
    """Return an option's value for people: "4k", "on" or "off" for a flag. The user's own axes are unchanged."""
    if value == "":
        return SET
    if isinstance(value, bool) and has_option(tool, name):
        return "on" if value else "off"
    return str(value)


def option_value(tool: str, name: str, value: Any) -> str:  # noqa: ANN401
    """Return an option with its value for a panel title: "4 KiB blocks", "64 B stride", "iodepth 32", "2 ranks", "X
    on".
    """
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
    """Return an option's value with unit: "4 KiB" (bs), "64 B" (MLC's l), "100 KiB" (b), "3:1 nt" (W), "32", "set"."""
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
    """Return a size ("65536k") in the largest unit with a whole number ("64 MiB"). Other values are unchanged."""
    from parsers.units import size_bytes

    try:
        size = size_bytes(text)
    except ValueError:
        return text
    power = next((p for p in (3, 2, 1) if size and size % 1024**p == 0), 0)
    return f"{size // 1024**power} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def block(value: Any) -> str:  # noqa: ANN401
    """Return an experiment's size ("4k", 4096) for people ("4 KiB"). Other values are unchanged."""
    from parsers.units import size_bytes

    try:
        return fmt.size(size_bytes(str(value)))
    except ValueError:
        return str(value)
