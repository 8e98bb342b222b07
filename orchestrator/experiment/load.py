"""YAML text → Experiment, or every mistake in it at once. Pure but for `load_experiment`, which reads the file.

This module knows the keys of a file and of a sweep; `load_options` knows options, axes and places, `yaml_nodes` knows
YAML. docs/experiments.md describes the language.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from orchestrator.experiment import expand, quantities, repeats, shipped
from orchestrator.experiment.load_options import OptionReader
from orchestrator.experiment.quantities import QuantityError
from orchestrator.experiment.yaml_nodes import (
    BAD,
    Entries,
    ExperimentError,
    Mistake,
    NodeReader,
    compose,
    seen,
    shown,
)
from orchestrator.machine import safe_files
from orchestrator.model import Experiment, Mark, Sweep
from orchestrator.tools import get_tool, tool_names, tools_known
from parsers import extensions
from parsers.errors import UserError, called, nearest
from parsers.units import size_text

__all__ = ["ExperimentError", "Mistake", "load_experiment", "parse_experiment"]

_MOST_BYTES: Final = 1 << 20
SCHEMA: Final = 1
"""The version of the language. A file that needs a newer one is refused, not guessed at."""

HEAD_KEYS: Final = ("title", "tool", "fixed", "repeats", "order", "timeout", "requires")
"""What may stand at the head of a file, for all its sweeps, and in each of them."""
MATRIX_KEYS: Final = ("matrix", "zip", "include", "exclude")
FILE_KEYS: Final = ("schema", *HEAD_KEYS, *MATRIX_KEYS, "sweeps")
SWEEP_KEYS: Final = ("name", *HEAD_KEYS, *MATRIX_KEYS)
REQUIRES_KEYS: Final = (*quantities.SAMPLE, "smt", "root", "program")
ORDERS: Final = ("interleaved", "listed")


def load_experiment(path: Path | str) -> Experiment:
    """Read an experiment file, or a shipped experiment by its bare name. Raises ExperimentError with all its mistakes, UserError if it
    cannot be read."""
    try:
        str(path).encode()  # results and their cells bear the file's name
    except UnicodeEncodeError as error:
        name = os.fsencode(path).decode("utf-8", "replace")
        raise UserError(name, "the file's name is not UTF-8", "rename the file, e.g. in ASCII") from error
    path = shipped.resolved(path)
    try:
        with safe_files.open_file(Path(path), links=True) as stream:
            data = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise UserError(str(path), why, "" if Path(path).is_fifo() else shipped.hint(path)) from error
    if data.startswith(b"SQLite format 3\0"):
        hint = "`pinsweep show` and `report` read it; to go on with its sweep, name the experiment, and this with -o"
        raise UserError(str(path), "is a result file, and no experiment", hint)
    if len(data) > _MOST_BYTES:
        raise UserError(str(path), f"larger than {size_text(_MOST_BYTES)}", "name an experiment")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        mark = Mark(path=str(path), line=before.count(b"\n") + 1, column=len(before) - before.rfind(b"\n"))
        what = f"not UTF-8: byte 0x{data[error.start]:02x}"
        raise ExperimentError([Mistake(mark=mark, key="", what=what, hint="save it as UTF-8")]) from error
    return parse_experiment(text, str(path))


def parse_experiment(text: str, path: str) -> Experiment:
    """Return the experiment that `text` describes; `path` names it in messages. Raises ExperimentError."""
    reader = _FileReader(path)
    experiment = reader.experiment(compose(text, path), text)
    if experiment is None or reader.mistakes:
        raise ExperimentError(reader.mistakes)
    return experiment


def about(text: str) -> str:
    """Return the comment block at the head of a file, without its marks and without modelines for editors."""
    lines = []
    for line in text.lstrip("\ufeff").splitlines():
        if line.strip() and not line.startswith("#"):
            break
        if not re.match(r"#!|#\s*(yaml-language-server:|vim?:|-\*-)", line):
            lines.append(re.sub(r"^# ?", "", line).rstrip())
    return "\n".join(lines).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """HEAD_KEYS as read. Options stay nodes: what they mean depends on the tool of each sweep."""

    title: str = ""
    tool: str | None = None  # "": there is one, but it is wrong
    fixed: Entries = field(default_factory=dict)
    own_fixed: frozenset[str] = frozenset()  # those that stand in the sweep itself
    settings: Mapping[str, Any] = field(default_factory=dict)  # repeats, settle, order, timeout_s of a Sweep
    requires: Mapping[str, Any] = field(default_factory=dict)

    def under(self, own: _Head) -> _Head:
        """Return what holds for a sweep: its own, and this where it says nothing."""
        return _Head(
            title=own.title,
            tool=self.tool if own.tool is None else own.tool,
            fixed={**self.fixed, **own.fixed},
            own_fixed=frozenset(own.fixed),
            settings={**self.settings, **own.settings},
            requires={**self.requires, **own.requires},
        )


class _FileReader(NodeReader):
    """Reads the keys of a file and of its sweeps."""

    def experiment(self, root: Node, text: str) -> Experiment | None:
        """Return the experiment, whole only if there are no mistakes; None if there is no use in reading on."""
        if not isinstance(root, MappingNode):
            hint = "begin with `schema: 1`, `title: …` and `tool: …`"
            self.wrong(root, "", f"{seen(root)} where an experiment's keys belong", hint)
            return None
        if not self._schema(root):
            return None
        entries = self.mapping(root, "", FILE_KEYS, _misplaced)
        head = self._head(entries, "")
        name = Experiment(title="", path=self.path, text="", sweeps=()).name
        title = head.title or name
        if "sweeps" in entries:
            for key in MATRIX_KEYS:
                if key in entries:
                    self.wrong(
                        entries[key][0], key, "stands beside `sweeps`", "move it into the sweep it is for"
                    )
            sweeps = self._sweeps(entries["sweeps"][1], head)
        else:
            sweeps = self._sweep(root, entries, head, name=name, title=title)
        return Experiment(title=title, path=self.path, text=text, sweeps=tuple(sweeps), about=about(text))

    def _schema(self, root: MappingNode) -> bool:
        """Check the language's version; nothing else is worth saying about a file of a newer one."""
        node = next((v for k, v in root.value if isinstance(k, ScalarNode) and k.value == "schema"), None)
        if node is None:
            self.wrong(root, "schema", "is missing", f"add the line `schema: {SCHEMA}`")
            return True
        version = self.scalar(node, "schema")
        if version is BAD:
            return True
        newer = isinstance(version, int | float) and version > SCHEMA
        if newer:
            what = f"{version} is newer than {SCHEMA}, which this pinsweep reads"
            self.wrong(node, "schema", what, "update pinsweep")
        elif isinstance(version, bool) or version != SCHEMA:
            self.wrong(
                node, "schema", f"{shown(version)} is not a version of the language", f"schema: {SCHEMA}"
            )
        return not newer

    # -- what may stand at the head --

    def _head(self, entries: Entries, prefix: str) -> _Head:
        found: dict[str, Any] = {}
        settings: dict[str, Any] = {}
        for key, (_, node) in entries.items():
            path = f"{prefix}.{key}" if prefix else key
            match key:
                case "title":
                    found["title"] = self.text(node, path) or ""
                case "tool":
                    found["tool"] = self._tool(node, path)
                case "fixed":
                    found["fixed"] = self.filled(node, path)
                case "requires":
                    found["requires"] = self._requires(node, path)
                case "repeats":
                    read = self._read(node, path, repeats.settings)
                    settings |= {} if read is BAD else read
                case "order":
                    settings["order"] = self._read(node, path, _order)
                case "timeout":
                    settings["timeout_s"] = self._read(node, path, _timeout)
        own_fixed = frozenset(found.get("fixed", ()))
        return _Head(
            **found, own_fixed=own_fixed, settings={k: v for k, v in settings.items() if v is not BAD}
        )

    def _read(self, node: Node, path: str, read: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        """Return what `read` makes of a scalar, or BAD if it raises QuantityError."""
        value = self.scalar(node, path)
        try:
            return value if value is BAD else read(value)
        except QuantityError as error:
            self.wrong(node, path, error.what, error.hint)
            return BAD

    def _tool(self, node: Node, path: str) -> str:
        name = self.text(node, path)
        if name is None or (name := called(name, tool_names())) in tool_names():
            return name or ""
        hint = extensions.why_not(name) or nearest(name, tool_names()) or tools_known()
        self.wrong(node, path, f"no tool {shown(name)}", hint)
        return ""

    def _requires(self, node: Node, path: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, (_, value) in self.mapping(node, path, REQUIRES_KEYS).items():
            where = f"{path}.{name}"
            if name in ("root", "smt"):
                raw = self.scalar(value, where, switch=True)
                if raw is not BAD and not isinstance(raw, bool):
                    self.wrong(value, where, f"{shown(raw)} is neither true nor false")
            elif name == "program":
                items = value.value if isinstance(value, SequenceNode) else [value]
                raw = tuple(self._read(item, where, _program) for item in items)
            else:
                raw = self._read(value, where, functools.partial(_condition, size=name in quantities.BYTES))
            found[name] = raw
        return found

    # -- sweeps --

    def _sweeps(self, node: Node, head: _Head) -> list[Sweep]:
        found: list[Sweep] = []
        names: set[str] = set()
        for number, item in enumerate(self.items(node, "sweeps", "sweeps"), 1):
            path = f"sweeps[{number}]"
            entries = self.mapping(item, path, SWEEP_KEYS, _misplaced)
            if not isinstance(item, MappingNode):
                continue
            name = ""
            if "name" in entries:
                name = self.text(entries["name"][1], f"{path}.name") or ""
                if name and not re.fullmatch(r"\w[\w.+-]*", name):
                    hint = "letters, digits and . _ + - only; `title` may be any text"
                    self.wrong(entries["name"][1], f"{path}.name", f"{shown(name)} is more than a name", hint)
                if name in names:
                    self.wrong(entries["name"][1], f"{path}.name", f"{shown(name)} is there twice")
                names.add(name)
            else:
                self.wrong(item, f"{path}.name", "is missing", "a name for tables and files: `name: idle`")
            path = f"sweeps.{name}" if name else path
            own = self._head(entries, path)
            found += self._sweep(
                item, entries, head.under(own), name=name, title=own.title or name, path=path
            )
        return found

    def _sweep(
        self, node: Node, entries: Entries, head: _Head, *, name: str, title: str, path: str = ""
    ) -> list[Sweep]:
        """Return one sweep, or none if it has mistakes."""
        if head.tool is None:
            where = f"{path}.tool" if path else "tool"
            self.wrong(node, where, "is missing", f"one of {', '.join(tool_names())}")
        if not head.tool:
            return []
        before = len(self.mistakes)
        inherited = head.fixed.keys() - head.own_fixed
        reader = OptionReader(self, head.tool, get_tool(head.tool), path, inherited)
        matrix = reader.axes(entries, "matrix")
        after_matrix = len(self.mistakes)
        walks = reader.axes(entries, "zip")
        if len(self.mistakes) == after_matrix:
            reader.walk_together(walks)
        for axis in matrix.keys() & walks.keys():
            reader.wrong(f"zip.{axis}", "is an axis of the matrix, too", "an option varies in one place")
        for part, axes in (("matrix", matrix), ("zip", walks)):
            for axis in axes.keys() & head.own_fixed:
                reader.wrong(
                    f"{part}.{axis}", "is also in `fixed`", "an option is fixed or an axis, not both"
                )
        named = matrix.keys() | walks.keys()
        fixed = reader.fixed({k: e for k, e in head.fixed.items() if k in head.own_fixed or k not in named})
        include = reader.includes(entries, {**matrix, **walks})
        exclude = reader.excludes(entries, {**matrix, **walks})
        if len(self.mistakes) > before:
            return []
        sweep = Sweep(
            name=name,
            title=title,
            tool=head.tool,
            fixed=fixed,
            matrix=matrix,
            zip=walks,
            include=include,
            exclude=exclude,
            requires=head.requires,
            marks=reader.marks,
            **head.settings,
        )
        reader.together(sweep, node)
        return [sweep]


def _misplaced(key: str) -> str:
    """Return a hint for a key of a file or sweep that is a tool's option, or ""."""
    if key == "place" or any(key in get_tool(name).options() for name in tool_names()):
        return "options stand under `fixed`, or under `matrix` if they vary"
    return "`sweeps` holds several sweeps" if key == "name" else ""


def _order(value: Any) -> str:  # noqa: ANN401
    if value not in ORDERS:
        raise QuantityError(
            f"{shown(value)} is not an order", nearest(str(value), ORDERS) or " or ".join(ORDERS)
        )
    return str(value)


def _timeout(value: Any) -> float:  # noqa: ANN401
    found = quantities.seconds(value)
    if not found:
        raise QuantityError("is 0: every run would fail", "leave it out, and the estimate of the run decides")
    return found


def _program(value: Any) -> str:  # noqa: ANN401
    tool = expand.program_condition(str(value))[0]
    if tool not in tool_names():
        raise QuantityError(
            f"no tool {shown(tool)}", nearest(tool, tool_names()) or f"tools: {', '.join(tool_names())}"
        )
    return str(value)


def _condition(value: Any, *, size: bool) -> Any:  # noqa: ANN401
    expand.condition(value, size=size)
    return value
