"""YAML text → Experiment, or every mistake in it at once. Pure but for `load_experiment`, which reads the file.

YAML is read down to its nodes only (PyYAML's composer), because nodes know their line and column and values do not.
What a plain scalar means is decided here, as YAML 1.2 does, and what YAML 1.1 would read as something else is refused
with the reason: editors and other programs still use it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from orchestrator import expand, place, quantities
from orchestrator.expand import FREE
from orchestrator.model import Experiment, Mark, Place, Sweep
from orchestrator.quantities import QuantityError
from orchestrator.tools import Option, ToolModule, get_tool, tool_names
from parsers.errors import UserError

SCHEMA: Final = 1
"""The version of the language. A file that needs a newer one is refused, not guessed at."""

SHARED_KEYS: Final = ("title", "tool", "fixed", "repeats", "order", "timeout", "requires")
MATRIX_KEYS: Final = ("matrix", "zip", "include", "exclude")
FILE_KEYS: Final = ("schema", *SHARED_KEYS, *MATRIX_KEYS, "sweeps")
SWEEP_KEYS: Final = ("name", *SHARED_KEYS, *MATRIX_KEYS)
PLACE_KEYS: Final = ("name", "cpus", "memory", "spread")
REQUIRES_KEYS: Final = (*quantities.SAMPLE, "smt", "root", "program")

MOST_BYTES: Final = 1 << 20
MOST_NODES: Final = 20_000
"""Nodes of a file with its anchors written out: a few hundred bytes of anchors can stand for gigabytes."""
DEEPEST: Final = 20
MOST_CHECKED: Final = 5_000
"""Cells of a sweep whose options are checked together when the file is loaded; the others are when it is expanded."""
MOST_REPEATS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One thing wrong in an experiment file."""

    mark: Mark
    key: str  # "matrix.iodepth", "sweeps.idle.fixed.l"; empty for the file as a whole
    what: str
    hint: str = ""

    @property
    def cause(self) -> str:
        return f"{self.key}: {self.what}" if self.key else self.what


class ExperimentError(UserError):
    """All mistakes of a file, in the order of the file; `place`, `cause` and `hint` are those of the first."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(sorted(mistakes, key=lambda m: (m.mark.line, m.mark.column)))
        first = self.mistakes[0]
        super().__init__(str(first.mark), first.cause, first.hint)

    def lines(self) -> list[str]:
        """Return `error: FILE:LINE:COL: KEY: …` for every mistake, each with its hint behind it."""
        return [line for m in self.mistakes for line in UserError(str(m.mark), m.cause, m.hint).lines()]


def load_experiment(path: Path | str) -> Experiment:
    """Read an experiment file. Raises ExperimentError with all its mistakes, UserError if it cannot be read."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(
            str(path), (error.strerror or str(error)).lower(), "name an experiment file"
        ) from error
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
    reader = _Reader(path)
    root = _compose(text, path)
    experiment = reader.experiment(root, text)
    if experiment is None or reader.mistakes:
        raise ExperimentError(reader.mistakes)
    return experiment


# --- text → nodes ---


class _Composer(yaml.SafeLoader):
    """Nodes without a meaning: every plain scalar stays the text it is, whatever it looks like."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 (PyYAML's own way)

    def __init__(self, text: str, path: str) -> None:
        super().__init__(text)
        self.path = path
        self.depth = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:  # noqa: ANN401
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if self.depth == DEEPEST:
            _stop(self.path, event.start_mark, f"nested more than {DEEPEST} levels deep")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _stop(path: str, mark: Any, what: str, hint: str = "") -> NoReturn:  # noqa: ANN401
    where = (
        Mark(path=path, line=mark.line + 1, column=mark.column + 1)
        if mark
        else Mark(path=path, line=1, column=1)
    )
    raise ExperimentError([Mistake(mark=where, key="", what=what, hint=hint)])


def _compose(text: str, path: str) -> Node:
    """Return the root node of the one document. Raises ExperimentError where the text is not YAML."""
    if len(text) > MOST_BYTES:
        _stop(path, None, f"{len(text)} characters are no experiment", f"at most {MOST_BYTES}")
    try:
        composer = _Composer(text.lstrip("\ufeff"), path)
        try:
            root = composer.get_single_node()
        finally:
            composer.dispose()
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        mark = Mark(path=path, line=before.count("\n") + 1, column=error.position - before.rfind("\n"))
        what = f"holds the character U+{ord(str(error.character)):04X}, which YAML does not allow"
        raise ExperimentError([Mistake(mark=mark, key="", what=what)]) from error
    except yaml.MarkedYAMLError as error:
        what, hint = _syntax(error)
        _stop(path, error.problem_mark or error.context_mark, what, hint)
    if root is None:
        _stop(path, None, "is empty", "`pinsweep init TOOL` writes an experiment to start from")
    _count(root, path)
    return root


def _syntax(error: yaml.MarkedYAMLError) -> tuple[str, str]:
    """Put PyYAML's words for people who do not know its inside."""
    problem = str(error.problem or error)
    for words, what, hint in (
        (r"'\t'", "a tab, where YAML allows blanks only", "indent with blanks"),
        ("but found another document", "a second document begins here", "one file is one experiment: remove the `---`"),
        ("mapping values are not allowed", "a `:` that YAML takes for a second key in one line", "put the text in quotes, or break the line"),
        ("could not find expected ':'", "a line without `:` where a key is expected", "write `key: value`; a list's items begin with `- `"),
        ("found undefined alias", "an alias (*name) without its anchor (&name)", "a text that begins with * needs quotes"),
        ("found unexpected end of stream", "a quote or bracket that is never closed", ""),
    ):  # fmt: skip
        if words in problem:
            return what, hint
    return f"not YAML: {problem}", ""


def _count(root: Node, path: str) -> None:
    """Refuse anchors that hold themselves, or that stand for more than MOST_NODES."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(node: Node) -> int:
        if id(node) in open_nodes:
            _stop(path, node.start_mark, "an anchor that holds itself")
        if id(node) not in sizes:
            open_nodes.add(id(node))
            total = 1 + sum(map(size, _children(node)))
            open_nodes.remove(id(node))
            if total > MOST_NODES:
                _stop(
                    path, node.start_mark, f"more than {MOST_NODES} values once its anchors are written out"
                )
            sizes[id(node)] = total
        return sizes[id(node)]

    size(root)


def _children(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [child for pair in node.value for child in pair]
    return list(node.value) if isinstance(node, SequenceNode) else []


# --- nodes → values ---

_INT = re.compile(r"[-+]?(0|[1-9]\d*)")
_FLOAT = re.compile(r"[-+]?(\d+\.\d*|\.\d+)([eE][-+]?\d+)?|[-+]?\d+[eE][-+]?\d+")
_LEADING_ZERO = re.compile(r"[-+]?0\d+|0o[0-7]+")
_SEXAGESIMAL = re.compile(r"[-+]?\d+(:[0-5]?\d)+(\.\d*)?")
_BOOLS: Final = {"true": True, "false": False}
_SWITCHES: Final = {"on": True, "off": False, "yes": True, "no": False}
_DIGITS: Final = 18

_BAD: Final = object()
"""In the place of a value that was wrong and has been reported."""

_PLAIN_STYLE: Final = (None, "")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return "did you mean 'iodepth'?", or "" if nothing known is like the word."""
    known = list(known)
    folded = [k for k in known if k.lower() == word.lower()]
    near = folded or difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else ""


Entries = dict[str, tuple[Node, Node]]


class _Reader:
    """Reads nodes and collects what is wrong with them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.mistakes: list[Mistake] = []

    def mark(self, node: Node) -> Mark:
        return Mark(path=self.path, line=node.start_mark.line + 1, column=node.start_mark.column + 1)

    def wrong(self, where: Node | Mark, key: str, what: str, hint: str = "") -> None:
        mark = where if isinstance(where, Mark) else self.mark(where)
        mistake = Mistake(mark=mark, key=key, what=what, hint=hint)
        if mistake not in self.mistakes:  # an anchor's mistake is one mistake, however often it is used
            self.mistakes.append(mistake)

    # -- the general shapes --

    def mapping(self, node: Node, key: str, allowed: Sequence[str] | None = None, hint: str = "") -> Entries:
        """Return key → (key node, value node); what is no mapping, unknown or there twice is reported and left out."""
        if not isinstance(node, MappingNode):
            self.wrong(node, key, f"{_seen(node)} where `key: value` lines belong", hint)
            return {}
        entries: Entries = {}
        for name_node, value in node.value:
            name = name_node.value if isinstance(name_node, ScalarNode) else ""
            path = f"{key}.{name}" if key else name
            if not name:
                self.wrong(name_node, key, "a key that is not a word")
            elif name == "<<" and name_node.style in _PLAIN_STYLE:
                self.wrong(
                    name_node, path, "merge keys are not part of YAML 1.2, and hide what a sweep holds",
                    "`fixed` at the head of the file holds for all its sweeps; an anchor may stand for a whole value",
                )  # fmt: skip
            elif name in entries:
                first = entries[name][0].start_mark.line + 1
                self.wrong(name_node, path, f"is there twice; the first is in line {first}")
            elif allowed is not None and name not in allowed:
                self.wrong(
                    name_node,
                    path,
                    "unknown key",
                    nearest(name, allowed) or f"known here: {', '.join(allowed)}",
                )
            else:
                entries[name] = (name_node, value)
        return entries

    def items(self, node: Node, key: str, of: str) -> list[Node]:
        if not isinstance(node, SequenceNode):
            self.wrong(node, key, f"{_seen(node)} where a list of {of} belongs")
            return []
        if not node.value:
            self.wrong(node, key, "is empty", "remove it, or fill it")
        return list(node.value)

    def scalar(self, node: Node, key: str, *, switch: bool = False) -> Any:  # noqa: ANN401
        """Return a str, int, float or bool, or _BAD. `switch`: on, off, yes and no are booleans here."""
        if not isinstance(node, ScalarNode):
            self.wrong(node, key, f"{_seen(node)} where one value belongs")
            return _BAD
        if node.tag != "tag:yaml.org,2002:str":
            self.wrong(
                node,
                key,
                f"the tag {node.tag.replace('tag:yaml.org,2002:', '!!')} is not used here",
                "write the value alone",
            )
            return _BAD
        text = node.value
        if node.style not in _PLAIN_STYLE:
            return text
        folded = text.lower()
        if folded in ("", "~", "null"):
            self.wrong(node, key, "has no value", "" if text == "" else f'if the text is meant: "{text}"')
        elif folded in _BOOLS:
            return _BOOLS[folded]
        elif folded in _SWITCHES:
            if switch:
                return _SWITCHES[folded]
            self.wrong(
                node,
                key,
                f"{text} is a truth value to YAML 1.1 and a word to YAML 1.2",
                f'if the word is meant: "{text}"',
            )
        elif _LEADING_ZERO.fullmatch(text):
            plain = text.lstrip("+-0o") or "0"
            self.wrong(
                node,
                key,
                f"{text} is octal to YAML 1.1 and decimal to YAML 1.2",
                f'{plain} for the number, "{text}" for the text',
            )
        elif _SEXAGESIMAL.fullmatch(text):
            self.wrong(
                node,
                key,
                f"{text} is a number of base 60 to YAML 1.1",
                f'"{text}" for the text; a time is written 90s or 2 min',
            )
        elif folded.lstrip("+-") in (".inf", ".nan"):
            self.wrong(node, key, f"{text} is no number that can be set")
        elif _INT.fullmatch(text):
            if len(text) <= _DIGITS:
                return int(text)
            self.wrong(node, key, f"{text[:20]}… is too large a number")
        elif _FLOAT.fullmatch(text):
            value = float(text)
            if value - value == 0:
                return value
            self.wrong(node, key, f"{text} is too large a number")
        else:
            return text
        return _BAD

    def plain(self, node: Node, key: str) -> Any:  # noqa: ANN401
        """Return a node as Python's own mappings, tuples and scalars (the `metrics` of a command), or _BAD."""
        if isinstance(node, MappingNode):
            found = {
                name: self.plain(value, f"{key}.{name}")
                for name, (_, value) in self.mapping(node, key).items()
            }
            return _BAD if any(v is _BAD for v in found.values()) else found
        if isinstance(node, SequenceNode):
            values = [self.plain(item, key) for item in node.value]
            return _BAD if any(v is _BAD for v in values) else tuple(values)
        return self.scalar(node, key)

    def text(self, node: Node, key: str) -> str | None:
        value = self.scalar(node, key)
        if value is _BAD:
            return None
        if isinstance(value, bool) or not str(value).strip():
            self.wrong(node, key, f"{_shown(value)} where a text belongs", "put it in quotes")
            return None
        return str(value).strip()

    # -- the file --

    def experiment(self, root: Node, text: str) -> Experiment | None:
        hint = "begin with `schema: 1`, `title: …` and `tool: …`"
        if not isinstance(root, MappingNode):
            self.wrong(root, "", f"{_seen(root)} where an experiment's keys belong", hint)
            return None
        raw = {k.value: v for k, v in root.value if isinstance(k, ScalarNode)}
        if not self._schema(root, raw.get("schema")):
            return None
        entries = self.mapping(root, "", FILE_KEYS, hint)
        shared = self._shared(entries, "")
        title = shared.get("title", "")
        name = Experiment(title="", path=self.path, text="", sweeps=()).name
        sweeps: list[Sweep] = []
        if "sweeps" in entries:
            for key in MATRIX_KEYS:
                if key in entries:
                    self.wrong(
                        entries[key][0], key, "stands beside `sweeps`", "move it into the sweep it is for"
                    )
            sweeps = self._sweeps(entries["sweeps"][1], shared)
        elif sweep := self._sweep(root, entries, shared, {"name": name, "title": title or name}, ""):
            sweeps = [sweep]
        return Experiment(
            title=title or name, path=self.path, text=text, sweeps=tuple(sweeps), about=about(text)
        )

    def _schema(self, root: Node, node: Node | None) -> bool:
        """Check the language's version; nothing else is worth saying about a file of a newer one."""
        if node is None:
            self.wrong(root, "schema", "is missing", f"add the line `schema: {SCHEMA}`")
            return True
        version = self.scalar(node, "schema")
        if isinstance(version, int) and not isinstance(version, bool) and version > SCHEMA:
            self.wrong(
                node,
                "schema",
                f"{version} is newer than {SCHEMA}, which this pinsweep reads",
                "update pinsweep",
            )
            return False
        if version is not _BAD and (isinstance(version, bool) or version != SCHEMA):
            self.wrong(
                node, "schema", f"{_shown(version)} is no version of the language", f"schema: {SCHEMA}"
            )
        return True

    def _sweeps(self, node: Node, shared: Mapping[str, Any]) -> list[Sweep]:
        found: dict[str, Sweep] = {}
        for number, item in enumerate(self.items(node, "sweeps", "sweeps"), 1):
            entries = self.mapping(item, f"sweeps[{number}]", SWEEP_KEYS)
            if not isinstance(item, MappingNode):
                continue
            name = self.text(entries["name"][1], f"sweeps[{number}].name") if "name" in entries else None
            if "name" not in entries:
                self.wrong(
                    item, f"sweeps[{number}].name", "is missing", "a name for tables and files: `name: idle`"
                )
            if name and not re.fullmatch(r"\w[\w.+-]*", name):
                self.wrong(
                    entries["name"][1],
                    f"sweeps[{number}].name",
                    f"{name!r} is more than a name",
                    "letters, digits and . _ + - only; `title` may be any text",
                )
            if name in found:
                self.wrong(entries["name"][1], f"sweeps[{number}].name", f"{name!r} is there twice")
            key = f"sweeps.{name}" if name else f"sweeps[{number}]"
            own = self._shared(entries, key)
            merged = {**shared, **own}
            for part in ("fixed", "requires"):
                merged[part] = {**shared.get(part, {}), **own.get(part, {})}
            sweep = self._sweep(
                item, entries, merged, {"name": name or "", "title": own.get("title") or name or ""}, key
            )
            if sweep and name:
                found.setdefault(name, sweep)
        return list(found.values())

    def _shared(self, entries: Entries, prefix: str) -> dict[str, Any]:
        """Read the keys that may stand at the head of a file for all its sweeps. `fixed` stays (key, value) nodes."""
        found: dict[str, Any] = {}

        def at(key: str) -> tuple[Node, str]:
            return entries[key][1], f"{prefix}.{key}" if prefix else key

        if "title" in entries and (title := self.text(*at("title"))):
            found["title"] = title
        if "tool" in entries:
            found["tool"] = self._tool(*at("tool"))
        if "fixed" in entries:
            node, key = at("fixed")
            found["fixed"] = self._options(node, key)
        if "repeats" in entries:
            node, key = at("repeats")
            value = self.scalar(node, key)
            if value is not _BAD and (
                isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_REPEATS
            ):
                self.wrong(node, key, f"{_shown(value)} is not a whole number from 1 to {MOST_REPEATS}")
            elif value is not _BAD:
                found["repeats"] = value
        if "order" in entries:
            node, key = at("order")
            value = self.scalar(node, key)
            if value in ("interleaved", "listed"):
                found["order"] = value
            elif value is not _BAD:
                self.wrong(
                    node,
                    key,
                    f"{_shown(value)} is no order",
                    nearest(str(value), ("interleaved", "listed")) or "interleaved or listed",
                )
        if "timeout" in entries:
            node, key = at("timeout")
            value = self.scalar(node, key)
            if value is not _BAD:
                try:
                    found["timeout_s"] = quantities.seconds(value)
                    if not found["timeout_s"]:
                        self.wrong(
                            node, key, "is 0: every run would fail", "leave it out, and the estimate decides"
                        )
                except QuantityError as error:
                    self.wrong(node, key, error.what, error.hint)
        if "requires" in entries:
            found["requires"] = self._requires(*at("requires"))
        return found

    def _tool(self, node: Node, key: str) -> str:
        """Return the tool's name, or "" if there is none of that name."""
        name = self.text(node, key)
        if name is None or name in tool_names():
            return name or ""
        self.wrong(
            node,
            key,
            f"no tool {name!r}",
            f"{nearest(name, tool_names())} tools: {', '.join(tool_names())}".strip(),
        )
        return ""

    def _options(self, node: Node, key: str) -> Entries:
        entries = self.mapping(node, key)
        if isinstance(node, MappingNode) and not node.value:
            self.wrong(node, key, "is empty", "remove it, or fill it")
        return entries

    def _requires(self, node: Node, key: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, (_, value) in self.mapping(node, key, REQUIRES_KEYS).items():
            where = f"{key}.{name}"
            if name in ("root", "smt"):
                raw = self.scalar(value, where, switch=True)
                if raw is not _BAD and not isinstance(raw, bool):
                    self.wrong(value, where, f"{_shown(raw)} is neither true nor false")
            elif name == "program" and isinstance(value, SequenceNode):
                raw = tuple(self.scalar(item, where) for item in value.value)
            else:
                raw = self.scalar(value, where)
            try:
                if name == "program":
                    for text in raw if isinstance(raw, tuple) else (raw,):
                        if text is not _BAD:
                            tool = expand.program_condition(str(text))[0]
                            if tool not in tool_names():
                                self.wrong(value, where, f"no tool {tool!r}", nearest(tool, tool_names()))
                elif name not in ("root", "smt") and raw is not _BAD:
                    expand.condition(raw, size=name in quantities.BYTES)
            except QuantityError as error:
                self.wrong(value, where, error.what, error.hint)
            found[name] = raw
        return found

    # -- one sweep --

    def _sweep(
        self, node: Node, entries: Entries, shared: Mapping[str, Any], names: Mapping[str, str], prefix: str
    ) -> Sweep | None:
        """Read a sweep. None if it is too broken to say more about it."""
        before = len(self.mistakes)
        tool_name = shared.get("tool")
        if tool_name is None:
            self.wrong(
                node,
                f"{prefix}.tool" if prefix else "tool",
                "is missing",
                f"one of {', '.join(tool_names())}",
            )
        if not tool_name:
            return None
        sweep = _SweepReader(self, get_tool(tool_name), prefix)
        own_fixed = set(entries["fixed"][1].value and [k.value for k, _ in entries["fixed"][1].value]) if (
            "fixed" in entries and isinstance(entries["fixed"][1], MappingNode)
        ) else set()  # fmt: skip
        axes = {key: sweep.axes(entries, key) for key in ("matrix", "zip")}
        named = {name: key for key, found in axes.items() for name in found}
        for name in axes["matrix"].keys() & axes["zip"].keys():
            sweep.wrong(f"zip.{name}", "is an axis of the matrix, too", "an option varies in one place")
        for name in own_fixed & named.keys():
            sweep.wrong(
                f"{named[name]}.{name}", "is also in `fixed`", "an option is fixed or an axis, not both"
            )
        fixed = sweep.fixed(
            {n: e for n, e in shared.get("fixed", {}).items() if n in own_fixed or n not in named}
        )
        sweep.walk_together(axes["zip"])
        include = sweep.includes(entries, axes)
        exclude = sweep.excludes(entries, axes)
        if len(self.mistakes) > before:
            return None
        found = Sweep(
            name=names["name"],
            title=names["title"],
            tool=tool_name,
            fixed=fixed,
            matrix=axes["matrix"],
            zip=axes["zip"],
            include=include,
            exclude=exclude,
            requires=shared.get("requires", {}),
            marks=sweep.marks,
            **{key: shared[key] for key in ("repeats", "order", "timeout_s") if key in shared},
        )
        sweep.together(found, self.mark(node))
        return found


class _SweepReader:
    """Reads what depends on the tool: options, axes, places."""

    def __init__(self, reader: _Reader, tool: ToolModule, prefix: str) -> None:
        self.reader = reader
        self.tool = tool
        self.options: Mapping[str, Option] = expand.options_of(tool)
        self.name = tool.__name__.rsplit(".", 1)[-1] if hasattr(tool, "__name__") else "the tool"
        self.prefix = prefix
        self.marks: dict[str, Mark] = {}

    def key(self, key: str) -> str:
        return f"{self.prefix}.{key}" if self.prefix else key

    def wrong(self, key: str, what: str, hint: str = "", where: Node | Mark | None = None) -> None:
        self.reader.wrong(where or self.marks[key], self.key(key), what, hint)

    # -- parts --

    def fixed(self, entries: Entries) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, (name_node, node) in entries.items():
            key = f"fixed.{name}"
            if self.known(name, name_node, node, key):
                value = self.value(name, node, key, one=True)
                if value is not _BAD:
                    found[name] = value
        return found

    def axes(self, entries: Entries, part: str) -> dict[str, tuple[Any, ...]]:
        """Read `matrix` or `zip`: axis → its values as written; never an empty axis."""
        if part not in entries:
            return {}
        found: dict[str, tuple[Any, ...]] = {}
        for name, (name_node, node) in self.reader._options(entries[part][1], self.key(part)).items():
            key = f"{part}.{name}"
            if not self.known(name, name_node, node, key):
                continue
            if isinstance(node, SequenceNode):
                values = [
                    self.value(name, n, key, one=part == "zip")
                    for n in self.reader.items(node, self.key(key), "values")
                ]
            else:
                values = [self.value(name, node, key)]
            if name == "place":
                self._names_differ(values, node, key)
            found[name] = tuple(v for v in values if v is not _BAD)
        return found

    def walk_together(self, axes: Mapping[str, tuple[Any, ...]]) -> None:
        """Check that the axes of `zip` have one length, on every machine."""
        lengths: dict[str, int] = {}
        for name, raws in axes.items():
            option = self.options.get(name, FREE)
            quantity = [expand.quantity_of(name, option, raw) for raw in raws]
            if any(q is not None and q.end is not None and q.names for q in quantity) and not option.inner:
                self.wrong(
                    f"zip.{name}", "has a range whose length depends on the machine", "list the values"
                )
                return
            lengths[name] = sum(
                1 if q is None or option.inner else len(q.resolve(quantities.SAMPLE)) for q in quantity
            )
        if len(set(lengths.values())) > 1 and f"zip.{next(iter(lengths))}" in self.marks:
            said = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            self.wrong(
                f"zip.{next(iter(lengths))}",
                f"axes that walk together have one length; {said}",
                "`matrix` makes every combination",
            )

    def includes(
        self, entries: Entries, axes: Mapping[str, Mapping[str, tuple[Any, ...]]]
    ) -> tuple[dict[str, Any], ...]:
        places = [v for part in axes.values() for v in part.get("place", ())]
        found = []
        for number, entry in self._entries(entries, "include"):
            values: dict[str, Any] = {}
            for name, (name_node, node) in entry.items():
                key = f"include[{number}].{name}"
                if not self.known(name, name_node, node, key):
                    continue
                value = self.value(name, node, key, one=True, places=places)
                if value is not _BAD:
                    values[name] = value
            found.append(values)
        return tuple(found)

    def excludes(
        self, entries: Entries, axes: Mapping[str, Mapping[str, tuple[Any, ...]]]
    ) -> tuple[dict[str, Any], ...]:
        """Read `exclude`. A list means any of its values; places go by their names."""
        known = {name: raws for part in axes.values() for name, raws in part.items()}
        found = []
        for number, entry in self._entries(entries, "exclude"):
            values: dict[str, Any] = {}
            for name, (name_node, node) in entry.items():
                key = f"exclude[{number}].{name}"
                self.marks[key] = self.reader.mark(name_node)
                if name not in known:
                    self.wrong(
                        key,
                        "is no axis of this sweep",
                        nearest(name, known) or f"axes: {', '.join(known) or 'none'}",
                        name_node,
                    )
                    continue
                inner = self.options.get(name, FREE).inner and name != "place"
                nodes = node.value if isinstance(node, SequenceNode) and not inner else [node]
                raws = [self._excluded(name, n, key, known[name]) for n in nodes]
                values[name] = tuple(raw for raw in raws if raw is not _BAD)
            found.append(values)
        return tuple(found)

    def _excluded(self, name: str, node: Node, key: str, axis: Sequence[Any]) -> Any:  # noqa: ANN401
        if name == "place":
            raw = self.reader.text(node, self.key(key))
            names = [p.name for p in axis]
            if raw is not None and raw not in names:
                self.wrong(
                    key,
                    f"no place of the axis is named {raw!r}",
                    nearest(raw, names) or f"names: {', '.join(names)}",
                    node,
                )
            return _BAD if raw is None else raw
        raw = self.value(name, node, key)
        if raw is _BAD:
            return _BAD
        option = self.options.get(name, FREE)
        if self._depends(name, raw) or any(self._depends(name, r) for r in axis):
            return raw  # whether it occurs is seen on the machine
        there = {expand._text(v) for r in axis for v in expand.resolve(name, option, r, quantities.SAMPLE)}
        if not there & {expand._text(v) for v in expand.resolve(name, option, raw, quantities.SAMPLE)}:
            self.wrong(
                key,
                f"{_shown(raw)} occurs nowhere on the axis",
                f"it has {', '.join(sorted(there)[:20])}",
                node,
            )
        return raw

    def _entries(self, entries: Entries, part: str) -> list[tuple[int, Entries]]:
        if part not in entries:
            return []
        found = []
        for number, item in enumerate(
            self.reader.items(entries[part][1], self.key(part), "`{axis: value}` entries"), 1
        ):
            entry = self.reader.mapping(item, self.key(f"{part}[{number}]"))
            if isinstance(item, MappingNode) and not item.value:
                self.reader.wrong(item, self.key(f"{part}[{number}]"), "is empty", "it would name every cell")
            found.append((number, entry))
        return found

    # -- one option --

    def known(self, name: str, name_node: Node, node: Node, key: str) -> bool:
        """Note where an option stands; report one that the tool does not have."""
        self.marks[key] = self.reader.mark(name_node)
        if name == "place" or name in self.options:
            return True
        if expand.is_open(self.tool):
            if name.isidentifier():
                return True
            self.wrong(key, "is no name for a placeholder", "letters, digits and _")
            return False
        value = node.value if isinstance(node, ScalarNode) else ""
        reasons = [what for option, what in self.tool.problems({name: value}) if option == name]
        if reasons:
            self.wrong(key, f"{self.name}'s option is not for experiments", reasons[0])
        else:
            near = nearest(name, ("place", *self.options))
            listed = (
                f"it has {', '.join(self.options)}"
                if len(self.options) <= 20
                else f"`pinsweep init {self.name}` shows the common ones"
            )
            self.wrong(key, f"{self.name} has no option {name!r}", near or listed)
        return False

    def value(
        self, name: str, node: Node, key: str, *, one: bool = False, places: Sequence[Place] = ()
    ) -> Any:  # noqa: ANN401
        """Read one value of an option, as it is to stand in a Sweep, or _BAD. `one`: it must stand for a single value."""
        if name == "place":
            return self.place(node, key, places)
        option = self.options.get(name, FREE)
        if option.kind == "mapping":
            raw = self.reader.plain(node, self.key(key))
        elif isinstance(node, SequenceNode):
            if not option.inner:
                where = (
                    "an axis: put it under `matrix`"
                    if key.startswith("fixed.")
                    else "one list: do not nest it"
                )
                self.wrong(key, "a list where one value belongs", f"several values are {where}", node)
                return _BAD
            items = [
                self.reader.scalar(n, self.key(key)) for n in self.reader.items(node, self.key(key), "values")
            ]
            raw = _BAD if not items or any(i is _BAD for i in items) else tuple(items)
        else:
            raw = self.reader.scalar(node, self.key(key), switch=option.kind == "flag")
        if raw is _BAD:
            return _BAD
        return raw if self._fits(name, option, raw, node, key, one) else _BAD

    def _fits(self, name: str, option: Option, raw: Any, node: Node, key: str, one: bool) -> bool:  # noqa: ANN401
        """Check a value as far as that is possible without knowing the machine."""
        try:
            values = expand.resolve(name, option, raw, quantities.SAMPLE)
        except QuantityError as error:
            self.wrong(key, error.what, error.hint, node)
            return False
        except quantities.Unresolved as error:
            self.wrong(key, str(error), "", node)
            return False
        if one and len(values) != 1:
            hint = "put it under `matrix`" if key.startswith("fixed.") else "list the values one by one"
            self.wrong(key, f"{raw} is {len(values)} values where one belongs", hint, node)
            return False
        if self._depends(name, raw):
            return True
        for value in values:
            for item in value if isinstance(value, tuple) and option.inner else (value,):
                if problem := option.problem(item):
                    self.wrong(key, problem, self._about(name, option, raw), node)
                    return False
        return True

    def _about(self, name: str, option: Option, raw: Any) -> str:  # noqa: ANN401
        if option.choices and (near := nearest(str(raw), option.choices)):
            return near
        if isinstance(raw, bool) and option.kind == "word":
            return f'if the word is meant: "{str(raw).lower()}"'
        return f"{name}: {option.help}"

    def _depends(self, name: str, raw: Any) -> bool:  # noqa: ANN401
        """Tell whether a value is another one on another machine. It has been checked to be readable."""
        option = self.options.get(name, FREE)
        found = (
            expand.quantity_of(name, option, item) for item in (raw if isinstance(raw, tuple) else (raw,))
        )
        return any(q is not None and q.names for q in found)

    # -- places --

    def place(self, node: Node, key: str, places: Sequence[Place] = ()) -> Any:  # noqa: ANN401
        """Read a place: a mapping, the name of one of `places`, or the cpus selector alone. Return a Place or _BAD."""
        if isinstance(node, SequenceNode):
            self.wrong(
                key,
                "a list where one place belongs",
                "several places are an axis: put them under `matrix`",
                node,
            )
            return _BAD
        if not isinstance(node, MappingNode):
            text = self.reader.text(node, self.key(key))
            if text is None:
                return _BAD
            if same := [p for p in places if p.name == text]:
                return same[0]
            return self._checked(Place(name=text, cpus=text), {"cpus": node}, key)
        entries = self.reader.mapping(node, self.key(key), PLACE_KEYS)
        texts = {k: self.reader.text(n, self.key(f"{key}.{k}")) for k, (_, n) in entries.items()}
        if not node.value:
            self.wrong(
                key,
                "a place without `cpus` or `memory`",
                "{name: local, cpus: numa_node 0, memory: local}",
                node,
            )
        if not texts or None in texts.values() or len(entries) < len(node.value):
            return _BAD
        given = {k: str(v) for k, v in texts.items()}
        if not {"cpus", "memory"} & given.keys():
            self.wrong(
                key,
                "a place without `cpus` or `memory`",
                "{name: local, cpus: numa_node 0, memory: local}",
                node,
            )
            return _BAD
        parts = [
            given[k] if k == "cpus" else f"{k} {given[k].removeprefix('memory ')}"
            for k in ("cpus", "memory", "spread")
            if k in given
        ]
        made = Place(**{"name": ", ".join(parts), **given})  # type: ignore[arg-type]
        return self._checked(made, {k: n for k, (_, n) in entries.items()}, key)

    def _checked(self, made: Place, nodes: Mapping[str, Node], key: str) -> Any:  # noqa: ANN401
        found = place.problems(made)
        for field, what in found:
            self.wrong(
                f"{key}.{field}" if len(nodes) > 1 else key,
                what,
                "",
                nodes.get(field, next(iter(nodes.values()))),
            )
        return _BAD if found else made

    def _names_differ(self, values: Sequence[Any], node: Node, key: str) -> None:
        names = [v.name for v in values if isinstance(v, Place)]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            self.wrong(
                key,
                f"two places are named {twice[0]!r}",
                "tables and charts tell places by their names",
                node,
            )

    # -- all options of a cell --

    def together(self, sweep: Sweep, where: Mark) -> None:
        """Check every cell as a whole, on a sample machine; what depends on the machine is left to `expand`."""
        try:
            cells = expand.cells(sweep, quantities.SAMPLE)
        except UserError as error:
            part = next((p for p in ("matrix", "zip") if getattr(sweep, p)), "include")
            self.reader.wrong(where, self.key(part), error.cause, error.hint)
            return
        if not cells:
            self.reader.wrong(where, self.key("exclude"), "takes away every cell of the sweep")
        dynamic = {
            name
            for part in (sweep.fixed, *sweep.include)
            for name, raw in part.items()
            if not isinstance(raw, Place) and self._depends(name, raw)
        } | {
            name
            for part in (sweep.matrix, sweep.zip)
            for name, raws in part.items()
            if any(not isinstance(raw, Place) and self._depends(name, raw) for raw in raws)
        }  # fmt: skip
        complaints: dict[tuple[str, str], list[str]] = {}
        for point, _ in cells[:MOST_CHECKED]:
            found = [
                (name, "is missing: the tool needs it")
                for name, option in self.options.items()
                if option.required and name not in point.options
            ]
            found = found or [pair for pair in self.tool.problems(point.options) if pair[0] not in dynamic]
            for pair in found:
                complaints.setdefault(pair, []).append(point.describe())
        for (name, what), seen in complaints.items():
            key = next((k for p in ("fixed", "matrix", "zip") if (k := f"{p}.{name}") in self.marks), "")
            key = key or next(
                (k for k in self.marks if k.startswith("include[") and k.endswith(f".{name}")), ""
            )
            cell = (
                ""
                if len(seen) == len(cells)
                else f" (in the cell {seen[0]}" + (f" and {len(seen) - 1} more)" if len(seen) > 1 else ")")
            )
            hint = self.options[name].help if name in self.options else ""
            self.reader.wrong(
                self.marks.get(key, where),
                self.key(key or f"fixed.{name}"),
                what + cell,
                hint and f"{name}: {hint}",
            )


def about(text: str) -> str:
    """Return the comment block at the head of a file, without its marks and without modelines for editors."""
    lines = []
    for line in text.lstrip("\ufeff").splitlines():
        if line.strip() and not line.startswith("#"):
            break
        if not re.match(r"#!|#\s*(yaml-language-server:|vim?:|-\*-)", line):
            lines.append(re.sub(r"^# ?", "", line).rstrip())
    return "\n".join(lines).strip()


def _seen(node: Node) -> str:
    if isinstance(node, ScalarNode):
        return f"{node.value!r}" if node.value else "nothing"
    return "a list" if isinstance(node, SequenceNode) else "`key: value` lines"


def _shown(value: Any) -> str:  # noqa: ANN401
    return str(value).lower() if isinstance(value, bool) else repr(value)
