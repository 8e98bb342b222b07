"""YAML text → nodes and scalars that know their line and column, and every mistake in them at once. Pure.

YAML is read down to its nodes only (PyYAML's composer): values do not know where they stood. What a plain scalar
means is decided here, as YAML 1.2 does; what YAML 1.1 reads as something else is refused with the reason, because
editors and other programs still do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from orchestrator.model import Mark
from parsers.errors import UserError, error_record, nearest

MOST_CHARACTERS: Final = 1 << 18
MOST_NODES: Final = 20_000
"""Nodes of a file with its anchors written out: a few hundred bytes of anchors can stand for gigabytes."""
DEEPEST: Final = 20
MOST_OF_A_MESSAGE: Final = 500
"""Characters: a value of a file may be 200 000 long."""
MOST_MISTAKES: Final = 100
"""After so many the reader gives up: it is not an experiment that it reads."""


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

    code = "experiment"

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(sorted(mistakes, key=lambda m: (m.mark.line, m.mark.column)))
        first = self.mistakes[0]
        super().__init__(str(first.mark), first.cause, first.hint)

    def lines(self) -> list[str]:
        """Return `error: FILE:LINE:COL: KEY: …` for every mistake, each with its hint behind it."""
        return [line for m in self.mistakes for line in UserError(str(m.mark), m.cause, m.hint).lines()]

    def records(self) -> list[dict[str, Any]]:
        """Return every mistake with its line and column."""
        return [
            error_record(
                self.code, m.what, place=str(m.mark), hint=m.hint, file=m.mark.path, line=m.mark.line, column=m.mark.column, key=m.key
            )
            for m in self.mistakes
        ]  # fmt: skip


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
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    where = Mark(path=path, line=line, column=column)
    raise ExperimentError([Mistake(mark=where, key="", what=what, hint=hint)])


def compose(
    text: str, path: str, to_start_from: str = "`pinsweep init TOOL` writes an experiment to start from"
) -> Node:
    """Return the root node of the one document. Raises ExperimentError where the text is not YAML, or empty."""
    if len(text) > MOST_CHARACTERS:
        _stop(path, None, f"{len(text)} characters are not an experiment", f"at most {MOST_CHARACTERS}")
    try:
        root = _Composer(text.lstrip("\ufeff"), path).get_single_node()
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        mark = Mark(path=path, line=before.count("\n") + 1, column=error.position - before.rfind("\n"))
        what = f"holds the character U+{int(error.character):04X}, which YAML does not allow"
        raise ExperimentError([Mistake(mark=mark, key="", what=what)]) from error
    except yaml.MarkedYAMLError as error:
        what, hint = _syntax(error, text.lstrip("\ufeff").splitlines())
        _stop(path, error.problem_mark or error.context_mark, what, hint)
    except (ValueError, OverflowError):  # PyYAML gives "\\UFFFFFFFF" to chr() as it is
        _stop(path, None, "an escape in quotes that is not a character")
    if root is None:
        _stop(path, None, "is empty", to_start_from)
    _count(root, path)
    return root


def _syntax(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> tuple[str, str]:
    """Put PyYAML's words for people who do not know its inside."""
    problem = str(error.problem or error)
    if indented := _indented(error, lines):
        return indented
    context, mark = error.context_mark, error.problem_mark
    if (
        "expected ',' or" in problem
        and "stream end" not in problem
        and context
        and mark
        and context.line == mark.line
    ):
        return (
            "a `,` or a `: ` is missing before this",
            "in braces it is {key: value, key: value}; a text that holds any of , [ ] { } needs quotes",
        )
    opened = f"; it begins in line {error.context_mark.line + 1}" if error.context_mark else ""
    for words, what, hint in (
        (r"'\t'", "a tab, where YAML allows blanks only", "indent with blanks"),
        ("unknown escape character", "a \\ in double quotes, which begins an escape there", "a regular expression has single quotes: '…'"),
        ("but found another document", "a second document begins here", "one file is one experiment: remove the `---`"),
        ("mapping values are not allowed", "a `:` that YAML takes for a second key in one line", "put the text in quotes, or break the line"),
        ("could not find expected ':'", "a line without `:` where a key is expected", "write `key: value`; a list's items begin with `- `"),
        ("found undefined alias", "an alias (*name) without its anchor (&name)", "a text that begins with * needs quotes"),
        ("found unexpected end of stream", "a quote or bracket that is never closed", ""),
        ("expected ',' or", f"a [ or {{ that is not closed{opened}", "close it; a text that holds any of , [ ] { } needs quotes"),
        ("could not determine a constructor", "a tag that begins with !", "write the value alone"),
        ("that cannot start any token", "a sign that no value begins with", "put the text in quotes"),
    ):  # fmt: skip
        if words in problem:
            return what, hint
    return f"not YAML: {problem}", ""


def _indented(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> tuple[str, str] | None:
    """Say that a line begins in another column than those it belongs to, if that is what PyYAML stumbled over."""
    problem, mark = str(error.problem), error.problem_mark
    if mark is None or mark.line >= len(lines):
        return None
    what = "begins in another column than the lines that it belongs to"
    if "expected <block end>" in problem and error.context_mark is not None:
        block = error.context_mark
        return (
            what,
            f"the lines of one block begin in one column: those from line {block.line + 1} on in column {block.column + 1}",
        )
    above = next((line for line in reversed(lines[: mark.line]) if line.strip(" ")), "")
    column, own = (len(line) - len(line.lstrip(" ")) for line in (above, lines[mark.line]))
    if (
        "mapping values are not allowed" in problem
        and own > column
        and re.match(r"\s*[^\s#]+:\s+[^\s#|>]", above)
    ):
        return what, f"the line above begins in column {column + 1}, and has its value already"
    return None


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

_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+")
_OCTAL = re.compile(r"[-+]?0[0-9]+|0o[0-7]+")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?")
_NUMBERLESS = re.compile(r"[-+]?\.(inf|nan)", re.IGNORECASE)
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff]")
_BOOLS: Final = {"true": True, "false": False}
_SWITCHES: Final = {"on": True, "off": False, "yes": True, "no": False}
_DIGITS: Final = 18  # every integer of so many digits fits into 64 bits

BAD: Final[Any] = object()
"""In the place of a value that was wrong and has been reported."""

_PLAIN_STYLE: Final = (None, "")


Entries = dict[str, tuple[Node, Node]]


class NodeReader:
    """Reads nodes and collects what is wrong with them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._mistakes: dict[Mistake, None] = {}  # an anchor's mistake is one, however often it is used
        self.unknown_keys = False  # a key that nobody knows may be what the rest is about

    @property
    def mistakes(self) -> list[Mistake]:
        return list(self._mistakes)

    def mark(self, node: Node) -> Mark:
        return Mark(path=self.path, line=node.start_mark.line + 1, column=node.start_mark.column + 1)

    def wrong(self, where: Node | Mark, key: str, what: str, hint: str = "") -> None:
        mark = where if isinstance(where, Mark) else self.mark(where)
        what = what if len(what) <= MOST_OF_A_MESSAGE else f"{what[:MOST_OF_A_MESSAGE]}…"
        self._mistakes[Mistake(mark=mark, key=key, what=what, hint=hint)] = None
        if len(self._mistakes) == MOST_MISTAKES:
            raise ExperimentError(self.mistakes)

    def mapping(
        self,
        node: Node,
        key: str,
        allowed: Sequence[str] | None = None,
        elsewhere: Callable[[str], str] = lambda _: "",
    ) -> Entries:
        """Return key → (key node, value node); what is no mapping, unknown or there twice is reported and left out.

        `elsewhere` says of an unknown key where it belongs, or "".
        """
        if not isinstance(node, MappingNode):
            self.wrong(node, key, f"{seen(node)} where `key: value` lines belong")
            return {}
        self._untagged(node, key, "map")
        entries: Entries = {}
        for name_node, value in node.value:
            name = name_node.value if isinstance(name_node, ScalarNode) else ""
            path = ".".join(filter(None, (key, name if name.isprintable() else repr(name))))
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
                self._tags(value, path)
            elif allowed is not None and name not in allowed:
                self.unknown_keys = True
                self.wrong(
                    name_node,
                    path,
                    "unknown key",
                    elsewhere(name) or nearest(name, allowed) or f"known here: {', '.join(allowed)}",
                )
            else:
                entries[name] = (name_node, value)
        return entries

    def filled(self, node: Node, key: str) -> Entries:
        """Return a mapping of any keys; an empty one is reported."""
        if isinstance(node, MappingNode) and not node.value:
            self.wrong(node, key, "is empty", "remove it, or fill it")
        return self.mapping(node, key)

    def items(self, node: Node, key: str, of: str) -> list[Node]:
        if not isinstance(node, SequenceNode):
            self.wrong(node, key, f"{seen(node)} where a list of {of} belongs")
            return []
        self._untagged(node, key, "seq")
        if not node.value:
            self.wrong(node, key, "is empty", "remove it, or fill it")
        return list(node.value)

    def _tags(self, node: Node, key: str) -> None:
        """Report the tags of a value that is not read."""
        usual = {MappingNode: "map", SequenceNode: "seq", ScalarNode: "str"}
        self._untagged(node, key, usual[type(node)])
        for child in _children(node):
            self._tags(child, key)

    def _untagged(self, node: Node, key: str, usual: str) -> bool:
        if node.tag == f"tag:yaml.org,2002:{usual}":
            return True
        tag = node.tag.replace("tag:yaml.org,2002:", "!!")
        self.wrong(
            node,
            key,
            f"the tag {tag} is not used here",
            "write the value alone"
            + ("" if tag.startswith("!!") else "; a text that begins with ! needs quotes"),
        )
        return False

    def scalar(self, node: Node, key: str, *, switch: bool = False) -> Any:  # noqa: ANN401
        """Return a str, int, float or bool, or BAD. `switch`: on, off, yes and no are booleans here."""
        if not isinstance(node, ScalarNode):
            self.wrong(node, key, f"{seen(node)} where one value belongs")
            return BAD
        if not self._untagged(node, key, "str"):
            return BAD
        text = node.value
        if found := _UNFIT.search(text):
            self.wrong(node, key, f"holds the character U+{ord(found[0]):04X}, which no program takes")
            return BAD
        if node.style not in _PLAIN_STYLE:
            return text
        if switch and text.lower() in _SWITCHES:
            return _SWITCHES[text.lower()]
        if trap := _trap(text):
            self.wrong(node, key, *trap)
            return BAD
        if text.lower() in _BOOLS:
            return _BOOLS[text.lower()]
        if _INT.fullmatch(text):
            return int(text)
        return float(text) if _FLOAT.fullmatch(text) else text

    def plain(self, node: Node, key: str) -> Any:  # noqa: ANN401
        """Return a node as Python's own mappings, tuples and scalars (the `metrics` of a command), or BAD."""
        if isinstance(node, MappingNode):
            found = {
                name: self.plain(value, f"{key}.{name}")
                for name, (_, value) in self.mapping(node, key).items()
            }
            return BAD if any(v is BAD for v in found.values()) else found
        if isinstance(node, SequenceNode):
            values = [self.plain(item, key) for item in node.value]
            return BAD if any(v is BAD for v in values) else tuple(values)
        return self.scalar(node, key)

    def text(self, node: Node, key: str) -> str | None:
        value = self.scalar(node, key)
        if value is BAD:
            return None
        if isinstance(value, bool) or not str(value).strip():
            self.wrong(node, key, f"{shown(value)} where a text belongs", "put it in quotes")
            return None
        return str(value).strip()


def _trap(text: str) -> tuple[str, str] | None:
    """Return (what is wrong, hint) for a plain scalar that does not say the same to every reader of YAML, or None."""
    if text.lower() in ("", "~", "null"):
        return "has no value", f'if the text is meant: "{text}"' if text else ""
    if text.lower() in _SWITCHES:
        return (
            f"{text} is a truth value to YAML 1.1 and a word to YAML 1.2",
            f'if the word is meant: "{text}"',
        )
    if _OCTAL.fullmatch(text):
        number = text.lstrip("+-0o") or "0"
        return (
            f"{text} is octal to YAML 1.1 and decimal to YAML 1.2",
            f'{number} for the number, "{text}" for the text',
        )
    if _SEXAGESIMAL.fullmatch(text):
        return (f"{text} is a number of base 60 to YAML 1.1", f'"{text}" for the text; a time is written 90s')
    if _NUMBERLESS.fullmatch(text):
        return f"{text} is not a number that can be set", ""
    too_large = _INT.fullmatch(text) and len(text) > _DIGITS
    if too_large or (_FLOAT.fullmatch(text) and float(text) in (float("inf"), float("-inf"))):
        return f"{text[:20]}{'…' * (len(text) > 20)} is too large a number", "in quotes it is a text"
    return None


def is_plain(node: Node) -> bool:
    """Tell whether a node is a value without quotes."""
    return isinstance(node, ScalarNode) and node.style in _PLAIN_STYLE


def seen(node: Node) -> str:
    """Return what a node is, for people: `'4k'`, "a list"."""
    if isinstance(node, ScalarNode):
        return shown(node.value) if node.value else "nothing"
    return "a list" if isinstance(node, SequenceNode) else "`key: value` lines"


def shown(value: Any) -> str:  # noqa: ANN401
    """Return a value as it would be written, and not more than 60 characters of it."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
