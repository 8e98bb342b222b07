"""A commented experiment for each tool: a small sweep that runs, then every option that may be added. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from orchestrator.tools import Option, get_tool, tool_names
from parsers.errors import called

EDITOR = "# `pinsweep schema > experiment.schema.json` gives your editor the keys of this file."

_COLUMN = 24


def starter(tool: str) -> str:
    """Return the text of an experiment file. Raises UserError for a tool that is not there."""
    tool = called(tool, tool_names())
    options = get_tool(tool).options()
    sweep = get_tool(tool).STARTER or _from_options(options)
    lines = [
        EDITOR,
        "#",
        "# Answers: (what is the question?)",
        "# Needs:   (which tools, how much memory, disk, how many NUMA nodes?)",
        "schema: 1",
        f"title: My {tool} sweep",
        f"tool: {tool}",
        *sweep.rstrip().splitlines(),
        "repeats: 5                 # in randomised rounds; order: listed keeps the file's order",
        "",
    ]
    if len(options) <= 40:
        lines += [
            f"# Options of {tool}, for fixed, matrix and zip:",
            *(_describe(name, option) for name, option in options.items()),
        ]
    else:
        lines += [
            f"# Every option of {tool} may be set under its own name ({len(options)} of them; `{tool} --cmdhelp=all`)."
        ]
    return "\n".join(lines) + "\n"


def _describe(name: str, option: Option) -> str:
    about = f"{option.help} ({', '.join(option.choices)})" if option.choices else option.help
    return textwrap.fill(
        f"{name:<{_COLUMN - 4}}{about}",
        width=108,
        initial_indent="#   ",
        subsequent_indent="#" + " " * (_COLUMN - 1),
    )


def _from_options(options: Mapping[str, Option]) -> str:
    required = {name: option for name, option in options.items() if option.required}
    values = (
        f'  {name}: "{option.choices[0] if option.choices else "…"}"\n'  # in quotes: a word may be null, or on
        for name, option in required.items()
    )
    return "".join(("fixed:\n", *values)) if required else ""
