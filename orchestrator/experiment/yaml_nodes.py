"""Read YAML text as plain data, with the line and column of every value, and collect the mistakes. Pure.

PyYAML reads the text as nodes. This module gives plain scalars their YAML 1.2 type. A scalar with another type in YAML
1.1 is refused with the reason, because editors and other programs still read YAML 1.1.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from orchestrator.model import Mark
from parsers.errors import UserError, error_record

MAX_CHARACTERS: Final = 1 << 18
MAX_NODES: Final = 20_000
"""Nodes of a file with its anchors written out: a few hundred bytes of anchors can mean gigabytes."""
MAX_DEPTH: Final = 20
MAX_MESSAGE: Final = 500
"""Characters of a message: a value of a file may have 200 000."""
MAX_MISTAKES: Final = 100

NAME: Final = r"\w[\w.+-]*"
"""A name of a sweep."""

Path = tuple[str | int, ...]
"""Keys and indexes from the root to a value: `("sweeps", 0, "fixed", "bs")`."""


class Mistake(NamedTuple):
    """One mistake in a YAML file."""

    mark: Mark
    key: str  # "matrix.iodepth", "sweeps.idle.fixed.l"; empty for the file as a whole
    what: str
    hint: str = ""

    @property
    def cause(self) -> str:
        return f"{self.key}: {self.what}" if self.key else self.what


class ExperimentError(UserError):
    """All mistakes of a file, in file order. `place`, `cause` and `hint` are from the first mistake."""

    code = "experiment"

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(sorted(mistakes, key=lambda m: (m.mark.line, m.mark.column)))
        first = self.mistakes[0]
        super().__init__(str(first.mark), first.cause, first.hint)

    def lines(self) -> list[str]:
        """Return `error: FILE:LINE:COL: KEY: …` for every mistake, followed by the hint."""
        return [line for m in self.mistakes for line in UserError(str(m.mark), m.cause, m.hint).lines()]

    def records(self) -> list[dict[str, Any]]:
        """Return the mistakes with line and column."""
        return [
            error_record(self.code, what, place=str(mark), hint=hint, **_place(mark), key=key)
            for mark, key, what, hint in self.mistakes
        ]


def _place(mark: Mark) -> dict[str, Any]:
    return {"file": mark.path, "line": mark.line, "column": mark.column}


class Document:
    """A YAML file as dicts, lists and scalars. `wrong` collects the mistakes.

    `marks` has the position of each value, `keys` the position of each key, and `scalars` the text of each scalar and
    whether the scalar is in quotes.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.data: Any = None
        self.marks: dict[Path, Mark] = {}
        self.keys: dict[Path, Mark] = {}
        self.scalars: dict[Path, tuple[str, bool]] = {}
        self._mistakes: dict[Path, tuple[Mark, str, str]] = {}

    def wrong(self, path: Path, what: str, hint: str = "", mark: Mark | None = None) -> None:
        """Record a mistake, unless the value or a parent already has one. `mark` defaults to the position of the value.

        Raises ExperimentError after MAX_MISTAKES.
        """
        if self.is_wrong(path):
            return
        what = what if len(what) <= MAX_MESSAGE else f"{what[:MAX_MESSAGE]}…"
        self._mistakes[path] = (mark or self.marks.get(path) or self.marks[path[:-1]], what, hint)
        if len(self._mistakes) == MAX_MISTAKES:
            self.check()

    def is_wrong(self, path: Path) -> bool:
        """Return whether a value, a parent or a child has a mistake."""
        return any(path[: len(wrong)] == wrong[: len(path)] for wrong in self._mistakes)

    def plain(self, path: Path) -> str:
        """Return the text of a scalar without quotes, else ""."""
        text, is_quoted = self.scalars.get(path, ("", True))
        return "" if is_quoted else text

    def check_switches(self, is_switch: Callable[[Path], bool] = lambda _: False) -> None:
        """Refuse a plain `on`, `off`, `yes` or `no` where no switch belongs."""
        for path in self.scalars:
            text = self.plain(path)
            if text.lower() in SWITCHES and not is_switch(path):
                what = f"{text} is a truth value to YAML 1.1 and a word to YAML 1.2"
                self.wrong(path, what, f'if the word is meant: "{text}"')

    def value(self, path: Path) -> Any:  # noqa: ANN401
        """Return the value at a path, or None."""
        value = self.data
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def check(self) -> None:
        """Raise ExperimentError if there are mistakes."""
        if self._mistakes:
            raise ExperimentError(Mistake(m, self.key(p), *text) for p, (m, *text) in self._mistakes.items())

    def prune(self) -> None:
        """Remove keys with a wrong value from `data`."""
        for path in self._mistakes:
            while path and isinstance(path[-1], int):
                path = path[:-1]
            parent = self.value(path[:-1])
            if path and isinstance(parent, dict):
                parent.pop(path[-1], None)

    def key(self, path: Path) -> str:
        """Return a path for people: `matrix.bs`, `include[1].bs`; an item with a name by that name."""
        while path and path in self.scalars and isinstance(path[-1], int):
            path = path[:-1]
        text = ""
        for n, part in enumerate(path, 1):
            name, _ = self.scalars.get((*path[:n], "name"), ("", False))
            if isinstance(part, int) and not re.fullmatch(NAME, name):
                text += f"[{part + 1}]"
            else:
                word = name if isinstance(part, int) else part
                text += f".{word if word.isprintable() else repr(word)}"
        return text.removeprefix(".")


def read(text: str, path: str, start_hint: str = "`pinsweep init TOOL` writes an experiment to start from") -> Document:
    """Return the one document of a text. Raises ExperimentError if the text is not YAML, or is empty."""
    if len(text) > MAX_CHARACTERS:
        _stop(path, None, f"{len(text)} characters are not an experiment", f"at most {MAX_CHARACTERS}")
    text = text.lstrip("\ufeff")
    try:
        root = yaml.compose(text, yaml.BaseLoader)  # a plain scalar is text
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        mark = Mark(path=path, line=before.count("\n") + 1, column=error.position - before.rfind("\n"))
        what = f"holds the character U+{int(error.character):04X}, which YAML does not allow"
        raise ExperimentError([Mistake(mark, "", what)]) from error
    except yaml.MarkedYAMLError as error:
        _stop(path, error.problem_mark or error.context_mark, *_describe_syntax(error, text.splitlines()))
    except RecursionError:
        _stop(path, None, f"nested more than {MAX_DEPTH} levels deep")
    except (ValueError, OverflowError):  # PyYAML passes "\\UFFFFFFFF" to chr()
        _stop(path, None, "an escape in quotes that is not a character")
    if root is None:
        _stop(path, None, "is empty", start_hint)
    return _Reader(path).read_document(root)


def _stop(path: str, mark: Any, what: str, hint: str = "") -> NoReturn:  # noqa: ANN401
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    raise ExperimentError([Mistake(Mark(path=path, line=line, column=column), "", what, hint)])


_QUOTES: Final = "a text that holds any of , [ ] { } needs quotes"
_SYNTAX: Final = (
    (r"'\t'", "a tab, where YAML allows blanks only", "indent with blanks"),
    ("unknown escape character", "a \\ in double quotes begins an escape", "write a regular expression in single quotes"),
    ("found another document", "a second document begins here", "one file is one experiment: remove the `---`"),
    ("mapping values are not allowed", "a second `:` in one line", "put the text in quotes, or break the line"),
    ("could not find expected ':'", "a line without `:` where a key is expected", "write `key: value`, list items `- value`"),
    ("found undefined alias", "an alias (*name) without its anchor (&name)", "a text that begins with * needs quotes"),
    ("found unexpected end of stream", "a quote or bracket that is never closed", ""),
    ("expected ',' or", "a `,`, a `: ` or a closing bracket is missing before this", f"write {{key: value}} and [1, 2]; {_QUOTES}"),
    ("expected <block end>", "begins in another column than its block", "the lines of one block begin in one column"),
    ("that cannot start any token", "a sign that no value begins with", "put the text in quotes"),
)  # fmt: skip
"""PyYAML's message, the cause, and the next step."""


def _describe_syntax(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> tuple[str, str]:
    """Return the cause of a syntax error and a hint, without PyYAML's terms."""
    problem, mark = str(error.problem or error), error.problem_mark
    if "mapping values are not allowed" in problem and mark and mark.line < len(lines):
        above = next((line for line in reversed(lines[: mark.line]) if line.strip()), "")
        indents = [len(line) - len(line.lstrip(" ")) for line in (above, lines[mark.line])]
        if indents[1] > indents[0] and re.match(r"\s*[^\s#]+:\s+[^\s#|>]", above):
            hint = f"the line above begins in column {indents[0] + 1} and has its value already"
            return "begins in another column than its block", hint
    return next(((what, hint) for words, what, hint in _SYNTAX if words in problem), (f"not YAML: {problem}", ""))


# --- nodes → values ---

_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+")
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff]")
_BOOLS: Final = {"true": True, "false": False}
SWITCHES: Final = {"on": True, "off": False, "yes": True, "no": False}
"""Words that YAML 1.1 reads as truth values. They become bool, and `is_switch_word` reports their positions."""
_TRAPS: Final = (
    (r"|~|null", "has no value", 'if the text is meant: "{text}"'),
    (r"[-+]?0[0-9]+|0o[0-7]+", "{text} is octal to YAML 1.1 and decimal to YAML 1.2", '{number} for the number, "{text}" for the text'),
    (r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?", "{text} is a number of base 60 to YAML 1.1", '"{text}" for the text; a time is written 90s'),
    (r"[-+]?\.(inf|nan)", "{text} is not a number that can be set", ""),
    (r"[-+]?[0-9]{19,}", "{text:.20} is too large a number", "in quotes it is a text"),  # more than 64 bits
)  # fmt: skip
"""Plain scalars with a different type in some YAML readers, the cause, and a hint."""

_TYPES: Final[Mapping[type, str]] = {MappingNode: "map", SequenceNode: "seq", ScalarNode: "str"}


class _Reader:
    def __init__(self, path: str) -> None:
        self.document = Document(path)

    def read_document(self, root: Node) -> Document:
        self.document.data = self._read(root, ())
        return self.document

    def _mark(self, node: Node) -> Mark:
        return Mark(path=self.document.path, line=node.start_mark.line + 1, column=node.start_mark.column + 1)

    def _read(self, node: Node, path: Path) -> Any:  # noqa: ANN401
        if len(path) > MAX_DEPTH:  # an anchor in its own value never ends
            _stop(self.document.path, node.start_mark, f"nested more than {MAX_DEPTH} levels deep")
        self.document.marks[path] = self._mark(node)
        if len(self.document.marks) > MAX_NODES:
            what = f"more than {MAX_NODES} values with its anchors written out"
            _stop(self.document.path, node.start_mark, what)
        if node.tag != f"tag:yaml.org,2002:{_TYPES[type(node)]}":
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            hint = "" if tag.startswith("!!") else "; a text that begins with ! needs quotes"
            self.document.wrong(path, f"the tag {tag} is not used here", f"write the value alone{hint}")
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self._read(item, (*path, n)) for n, item in enumerate(node.value)]
        assert isinstance(node, ScalarNode)
        return self._scalar(node, path)

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for n, (key, value) in enumerate(node.value):
            name = key.value if isinstance(key, ScalarNode) else ""
            inner, mark = (*path, name), self._mark(key)
            if n and node.flow_style and _has_no_colon(node.value[n]):
                if not _has_no_colon(node.value[n - 1]):
                    self._refuse_comma(node.value[n - 1 :], path)
                continue
            if not name:
                self.document.wrong((*path, "?"), "a key that is not a word", mark=mark)
            elif name == "<<" and not key.style:
                hint = "`fixed` at the head of the file holds for all its sweeps; an anchor may replace a whole value"
                self.document.wrong(inner, "merge keys are not part of YAML 1.2", hint, mark)
            elif name in values:
                first = self.document.keys[inner].line
                self.document.wrong(inner, f"is duplicated; the first is in line {first}", mark=mark)
            else:
                self.document.keys[inner] = mark
                values[name] = self._read(value, inner)
        return values

    def _refuse_comma(self, pairs: Sequence[tuple[Node, Node]], path: Path) -> None:
        """Report `{iodepth: 1,4,8}`, where 4 and 8 are keys without a value to YAML."""
        (name, value), *rest = pairs
        if not isinstance(value, ScalarNode) or value.style:
            return
        parts = [value.value, *(key.value for key, _ in itertools.takewhile(_has_no_colon, rest))]
        what = f"a comma in braces ends the value {value.value!r}"
        hint = f"a list has brackets: [{', '.join(parts)}]; a text with a comma needs quotes: "
        self.document.wrong((*path, name.value), what, f'{hint}"{",".join(parts)}"', self._mark(rest[0][0]))

    def _scalar(self, node: ScalarNode, path: Path) -> str | int | float | bool:
        text: str = node.value
        if match := _UNFIT.search(text):
            self.document.wrong(path, f"holds the character U+{ord(match[0]):04X}, which no program takes")
        self.document.scalars[path] = text, bool(node.style)
        if node.style:
            return text
        for pattern, what, hint in _TRAPS:
            if re.fullmatch(pattern, text.lower()):
                names = {"text": text, "number": text.lstrip("+-0o") or "0"}
                self.document.wrong(path, what.format(**names), hint.format(**names) if text else "")
                return text
        if text.lower() in _BOOLS | SWITCHES:
            return (_BOOLS | SWITCHES)[text.lower()]
        if _INT.fullmatch(text):
            return int(text)
        if not _FLOAT.fullmatch(text):
            return text
        if float(text) in (float("inf"), float("-inf")):
            self.document.wrong(path, f"{text:.20} is too large a number", "in quotes it is a text")
        return float(text)


def _has_no_colon(pair: tuple[Node, Node]) -> bool:
    return bool(pair[1].start_mark.index == pair[0].end_mark.index)


def shown(value: Any) -> str:  # noqa: ANN401
    """Return a value as an experiment writes it, at most 60 characters: "a list", "`key: value` lines"."""
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "`key: value` lines"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
