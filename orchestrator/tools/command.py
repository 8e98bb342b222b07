"""Run any program: a command line with `{axis}` placeholders, and metrics from regular expressions or JSON paths.

The command is split into words first, and the values are inserted after that. So a value is one word or a part of one
word, and no shell reads it.
"""

from __future__ import annotations

import functools
import re
import shlex
import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, ClassVar, Final

from orchestrator.model import LONGEST_S, Cell, Place, Placement
from orchestrator.placement.place import numactl
from orchestrator.tools import Command, Option, Problem, Program, Refused, Site, Tool
from parsers.expressions import DIRECTIONS, KEYS, mistakes
from parsers.units import to_base

_UNKNOWN_S: Final = 1.0
_MAYBE_S: Final = 10.0
"""Default estimate of a program's duration, for a plan and for the minimum duration."""


@functools.lru_cache(maxsize=256)
def words(command: str) -> tuple[str, ...]:
    """Split a command line into words, as a shell would. Raises ValueError on an open quote."""
    return tuple(shlex.split(command))


_QUOTED: Final = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
_OPERATOR: Final = re.compile(r"\|\|?|&&?|;|&?\d?[<>].*", re.DOTALL)


def _operator(command: str) -> str:
    """Return the first word that a shell would take for an operator or a redirection, were there one; "" without
    such a word."""
    bare = _QUOTED.sub("x", command).split()
    return next(filter(_OPERATOR.fullmatch, bare), "")


def fill(word: str, values: Mapping[str, Any]) -> str:
    """Replace `{name}` by its value. `{{` and `}}` are braces. Raises BadPlaceholder for other text in braces."""
    parts = []
    for literal, name, spec, conversion in _pieces(word):
        parts.append(literal)
        if name is None:
            continue
        if name in values and (spec or conversion):
            form = f"{f'!{conversion}' if conversion else ''}{f':{spec}' if spec else ''}"
            raise BadPlaceholder(
                f"{{{name}{form}}}: a placeholder is a name alone, without {form}",
                f"{{{name}}} is the value as the experiment writes it",
            )
        if name not in values:
            raise BadPlaceholder(f"no axis or option named {name!r} for its placeholder", _BRACES)
        parts.append(_text(values[name]))
    return "".join(parts)


_SHELL: Final = """for a shell write: sh -c '…'; for the character itself, quotes: "'|'\""""
_BRACES: Final = "{name} is the value of the axis or option of that name; for a brace itself write {{ or }}"


class BadPlaceholder(ValueError):
    """The text in braces, or a single brace, is not a placeholder of this cell."""

    def __init__(self, what: str, hint: str = _BRACES) -> None:
        super().__init__(what)
        self.what, self.hint = what, hint


def _pieces(word: str) -> list[tuple[str, str | None, str | None, str | None]]:
    """Return (text, name in the following braces, format, conversion). Raises BadPlaceholder for a single brace."""
    try:
        return list(string.Formatter().parse(word))
    except ValueError:
        raise BadPlaceholder(f"{word!r} has a brace without its partner") from None


def _text(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)


_SCRIPTS: Final = frozenset(
    {".py", ".sh", ".bash", ".pl", ".rb", ".lua", ".js", ".mjs", ".r", ".jl", ".awk", ".tcl", ".php", ".jar", ".m"}
)  # fmt: skip
"""File names that an interpreter runs. A change in such a file changes the program."""


def _scripts(words: Iterable[str], site: Site) -> dict[str, str]:
    """Return word → path of the words of a command that are scripts."""
    return {
        word: site.real_path(word)
        for word in words
        if PurePath(word).suffix.lower() in _SCRIPTS and site.path_kind(word) == "file"
    }


class AnyProgram(Tool):
    """Any program."""

    INSTALL = "the program is the first word of `command`"
    STARTER = """\
fixed:
  command: dd if=/dev/zero of=/dev/null bs={bs} count={count}
  count: 10000
  seconds: 1               # how long a run takes, for the plan
  place: core 0            # with the memory of its NUMA node; also all, numa_node 0, near eth0 …
  metrics:                 # the time: its unit is always s, and that of dd's rate changes by itself (MB/s, GB/s)
    time: {regex: "copied, ([0-9.e-]+) s", unit: s, better: lower}
matrix:
  bs: [4k, 64k]
"""
    OPEN = True
    OPTIONS: ClassVar = {
        "command": Option(
            "text",
            "the command line; {name} is the value of the axis or option of that name",
            required=True,
            examples=("openssl speed -seconds 1 -evp aes-{bits}-gcm",),
        ),
        "metrics": Option(
            "mapping",
            "name: {regex: …} or {json: …}, with unit and better: higher|lower",
            required=True,
            examples=({"rate": {"regex": "rate ([0-9.]+) MB/s", "unit": "MB/s", "better": "higher"}},),
            fields={
                key: Option("word", text, choices=DIRECTIONS) if key == "better" else Option("text", text)
                for key, text in KEYS.items()
            },
        ),
        "threads": Option("int", "PUs the placement holds; also OMP_NUM_THREADS", low=1),
        "seconds": Option(
            "seconds",
            "how long one run takes, for the plan, which else reckons 1 s until it has run",
            low=0,
            high=LONGEST_S,
        ),
        "env": Option(
            "mapping",
            "environment variables: name: value, with placeholders",
            examples=({"OMP_PROC_BIND": "close"},),
        ),
    }

    def canonical(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options with units in one spelling, without titles. `seconds` is omitted if only the plan uses it."""
        env = {name: str(value) for name, value in (options.get("env") or {}).items()}
        out: dict[str, Any] = {
            name: value if isinstance(value, Mapping) else _text(value) for name, value in options.items()
        }
        out |= {"command": list(words(str(options["command"]))), "env": env}
        out["metrics"] = {
            name: {key: item for key, item in spec.items() if key != "text"}
            | {"unit": to_base(spec.get("unit", "")), "better": spec.get("better", "neither")}
            for name, spec in options["metrics"].items()
        }
        if "{seconds}" not in f"{options['command']} {env}":
            out.pop("seconds", None)
        return out

    def problems(self, options: Mapping[str, Any]) -> list[Problem]:
        results: list[Problem] = []
        text = options.get("command")
        if isinstance(text, str):
            try:
                parts = words(text)
                if not parts:
                    results.append(("command", "is empty"))
                for word in parts:
                    fill(word, {**options, "place": ""})
                if operator := _operator(text):
                    results.append(
                        ("command", f"no shell reads it: {parts[0]} would get {operator!r} as a word", _SHELL)
                    )
            except BadPlaceholder as error:
                results.append(("command", error.what, error.hint))
            except ValueError as error:
                results.append(("command", f"cannot be split into words: {error}"))
        metrics = options.get("metrics")
        if isinstance(metrics, Mapping):
            results += [(".".join(filter(None, ("metrics", *at))), what) for *at, what in mistakes(metrics)]
        for name, value in (options.get("env") or {}).items():
            if not re.fullmatch(r"[A-Za-z_]\w*", str(name)):
                results.append((f"env.{name}", "is not a name of a variable"))
            if not isinstance(value, str | int | float):
                results.append((f"env.{name}", "is not a text"))
            try:
                fill(str(value), {**options, "place": ""})
            except BadPlaceholder as error:
                results.append((f"env.{name}", error.what, error.hint))
        return results

    def shape(self, options: Mapping[str, Any]) -> tuple[int | None, int]:
        return options.get("threads"), 1

    def default_place(self, options: Mapping[str, Any]) -> Place | None:  # noqa: ARG002
        return None

    def command(self, cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:  # noqa: ARG002
        """Fill the placeholders. Raises Refused where the program is not found."""
        values = {**cell.options, "place": cell.place.name if cell.place else ""}
        argv = [fill(word, values) for word in words(str(cell.options["command"]))]
        if not argv[0]:
            raise Refused("the command's first word is empty")
        env = {str(name): fill(str(value), values) for name, value in (cell.options.get("env") or {}).items()}
        if "threads" in cell.options:
            env.setdefault("OMP_NUM_THREADS", str(cell.options["threads"]))
        path = site.find(argv[0], env.get("PATH"))
        if not path and "PATH" not in env:  # with another PATH, only a start shows whether it exists
            relative = "/" in argv[0] and argv[0][0] != "/"
            where = ", seen from the folder that pinsweep is called in" * relative
            raise Refused(f"{argv[0]}: no program of that name can be started here{where}")
        prefix = numactl(placement.groups[0], site.numactl) if placement else ()
        return Command(
            argv=(*prefix, *argv),
            env=env,
            files={**({argv[0]: path} if path else {}), **_scripts(argv[1:], site)},
            estimate_s=float(cell.options.get("seconds", _UNKNOWN_S)),
            at_most_s=0.0 if "seconds" in cell.options else _MAYBE_S,
            guessed="seconds" not in cell.options,
        )

    def version_argv(self, path: str) -> tuple[str, ...]:  # noqa: ARG002 (a stranger's program: starting it with a guess could do anything)
        return ()


TOOL = AnyProgram()
