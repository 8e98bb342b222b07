"""Distributions beside pinsweep that bring tools: which of them an error comes from, and what is said where one
lacks. Pure: `pinsweep.extensions` finds them."""

from __future__ import annotations

from typing import NamedTuple


class Extension(NamedTuple):
    """A distribution that brings tools."""

    name: str  # "pinsweep-stress-ng"
    version: str
    folder: str  # of its package
    tools: tuple[str, ...]
    broken: str = ""  # why it is left out

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


known: list[Extension] = []


def of_tool(tool: str) -> Extension | None:
    """Return the extension that brings a tool; None for a tool of pinsweep's own."""
    return next((one for one in known if tool in one.tools), None)


def of_error(error: BaseException) -> tuple[Extension, str] | None:
    """Return the extension in whose modules, or below them, something was raised, and where there: "parsers/foo.py,
    line 12"."""
    at: list[tuple[str, int | None]] = []
    trace = error.__traceback__
    while trace is not None:
        at.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        at.append((error.filename, error.lineno))
    for path, line in reversed(at):
        for one in known:
            if path.startswith(f"{one.folder}/"):
                return one, f"{path[len(one.folder) + 1 :]}, line {line}"
    return None


def what_is_wrong(error: BaseException) -> str:
    """Return an error as the author of an extension knows it: "parsers/foo.py, line 12: KeyError: 'rate'"."""
    found = of_error(error)
    said = error.msg if isinstance(error, SyntaxError) else error
    return f"{found[1] + ': ' if found else ''}{type(error).__name__}: {said}"


def why_not(tool: str) -> str:
    """Return why a tool that is asked for is not here, as far as that is an extension's doing, and what to do; else
    ""."""
    one = of_tool(tool)
    return f"{one.name}, which brings it, is left out: {one.broken}" if one and one.broken else ""


OTHERS = "others come with distributions named pinsweep-…"


def lacking(tool: str, recorded: str) -> str:
    """Return why what a tool printed cannot be read where nothing here knows it. `recorded`: the extension that
    measured it, as its session has it; "" of an older file."""
    if broken := why_not(tool):
        return broken
    name = recorded.split(" ")[0] if recorded else f"pinsweep-{tool.replace('_', '-')}"
    whose = recorded or "a distribution of its own"
    return f"the tool {tool} came with {whose}, which is not installed here (pip install {name}{'' if recorded else ', if it is called so'})"
