"""Attribute tools and errors to extension distributions. Pure, because `pinsweep.extensions` does the lookup."""

from __future__ import annotations

from typing import NamedTuple


class Extension(NamedTuple):
    """A distribution that provides tools."""

    name: str  # "pinsweep-stress-ng"
    version: str
    folder: str  # of its package
    tools: tuple[str, ...]
    broken: str = ""  # reason why the extension is left out

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


known: list[Extension] = []


def of_tool(tool: str) -> Extension | None:
    """Return the extension that provides a tool. None for a built-in tool."""
    return next((one for one in known if tool in one.tools), None)


def of_error(error: BaseException) -> tuple[Extension, str] | None:
    """Return the extension whose code raised the error, and the place: "parsers/foo.py, line 12"."""
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
    """Return an error for the author of an extension: "parsers/foo.py, line 12: KeyError: 'rate'"."""
    match = of_error(error)
    message = error.msg if isinstance(error, SyntaxError) else error
    return f"{match[1] + ': ' if match else ''}{type(error).__name__}: {message}"


def why_not(tool: str) -> str:
    """Return the reason and the next step if an extension makes a requested tool unavailable, else ""."""
    one = of_tool(tool)
    return f"{one.name}, which brings it, is left out: {one.broken}" if one and one.broken else ""


OTHERS = "others come with distributions named pinsweep-…"


def lacking(tool: str, recorded: str) -> str:
    """Return the reason why the output of a tool without a parser cannot be read.

    `recorded` is the extension that measured, from the session. Older files have "".
    """
    if broken := why_not(tool):
        return broken
    name = recorded.split(" ")[0] if recorded else f"pinsweep-{tool.replace('_', '-')}"
    origin = recorded or "a distribution of its own"
    return f"the tool {tool} came with {origin}, which is not installed here (pip install {name}{'' if recorded else ', if it is called so'})"
