"""A typed command line, split into simple commands as a shell splits the line, without redirections. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from parsers import taken

_ENDS = re.compile(r"\\\n|&&|\|\||[;|&()\n]|\d*&?[<>]|(?<!\S)#[^\n]*|`|\$\(")
"""End of a command, outside of quotes: an operator, a redirection, a comment, a substitution. A continued line does
not end a command.
"""

_PLAIN = re.compile(r"[A-Za-z=_./,:@%+ -]+")
"""What begins neither."""

_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\[^\n]")


@functools.lru_cache(maxsize=1024)  # the repeats of a cell have one command, which several checks ask for
def own(tool: str, text: str) -> str:
    """Return the tool's command inside a typed line, from the program's name on.

    `cd /x && numactl -N0 fio a.fio | jc --pretty` gives `fio a.fio`. If no command names the program, return the whole
    first command. An empty text gives "".
    """
    simple = list(_simple(text))
    if program := taken(tool).program:
        name = re.compile(rf"(?:^|(?<=[\s/])){program}(?=\s|$)")
        for command in simple:
            if match := name.search(command):
                return command[match.start() :]
    return simple[0] if simple else ""


def _simple(text: str) -> Iterator[str]:
    """Yield the simple commands of a text in order.

    Substitutions and quoted scripts (`sh -c "…"`) are cut out of a command, and follow that command.
    """
    command, scripts = "", []
    at = 0
    while at < len(text):
        if plain := _PLAIN.match(text, at):
            command += plain[0]
            at = plain.end()
        elif quoted := _QUOTED.match(text, at):
            at = quoted.end()
            script = quoted[0][1:-1] if re.search(r"\s", quoted[0]) and command[-1:].isspace() else ""
            command += "…" if script else quoted[0]
            scripts += [script] * bool(script)
        elif (end := _ENDS.match(text, at)) is None:
            command += text[at]
            at += 1
        elif end[0] == "\\\n":
            command += " "
            at = end.end()
        elif end[0] in ("`", "$("):
            close = _close(text, end.end(), end[0])
            command += "$(…)"
            scripts.append(text[end.end() : close])
            at = close + 1
        else:
            yield from _with(command, scripts)
            command, scripts = "", []
            at = end.end()
    yield from _with(command, scripts)


def _with(command: str, scripts: list[str]) -> Iterator[str]:
    if command.strip():
        yield command.strip()
    for script in scripts:
        yield from _simple(script)


def _close(text: str, at: int, opened: str) -> int:
    """Return the end of a substitution, or of the text if the substitution has no end."""
    depth = 1
    for i in range(at, len(text)):
        depth += {"`": -1}.get(text[i], 0) if opened == "`" else {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)
