"""No regular expression that reads tools' text takes more than linear time, whatever it is given."""

from __future__ import annotations

import ast
import importlib
import itertools
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as sre  # type: ignore[attr-defined]
from typing import Any

import pytest

CHARACTERS = "a0 -.,:_/=([{<>#%\"'|\tZ+*;]x1\\$~)}T\n@"
METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")
LENGTH = 2000
LIMIT_S = 0.01  # 50 times what a linear one takes; a quadratic one takes twice as long
MATCH_ONLY = ("parsers._wrappings",)  # its patterns are in tuples
Read = Callable[[str], object]


def patterns(package: str) -> Iterator[tuple[str, re.Pattern[str], Read]]:
    """Yield (place, pattern, the method that is used) of each call of `re` whose pattern is known when its module is
    loaded."""
    modules = [m.name for m in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}.")]
    for name in (package, *modules):
        module = importlib.import_module(name)
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.") and node.args):
                continue
            how = ast.unparse(node.func).removeprefix("re.")
            if how not in ("compile", *METHODS):
                continue
            values = []
            for part in node.args:
                try:
                    values.append(eval(compile(ast.Expression(part), name, "eval"), dict(vars(module))))
                except NameError:
                    values.append(None)
            if not isinstance(values[0], str):
                continue
            flags = sum(int(value) for value in values[1:] if isinstance(value, re.RegexFlag))
            compiled = re.compile(values[0], flags)
            above = "\n".join(source.split("\n")[node.lineno - 2 : node.lineno])
            names = re.findall(r"^(_?[A-Z_]+)\b[^\n]*=\s*\(?\s*re\.", above, re.MULTILINE)
            used = set(re.findall(rf"\b{names[-1]}\.(\w+)", source)) if names else set()
            used = used if how == "compile" else {how}
            if name in MATCH_ONLY or (used and used <= {"match", "fullmatch"}):
                read: Read = compiled.fullmatch if used == {"fullmatch"} else compiled.match
            else:
                read = compiled.search
            yield f"{name}:{node.lineno}", compiled, read


def children(operator: object, argument: Any) -> list[Any]:
    if operator in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        return [argument[2]]
    if operator is ops.BRANCH:
        return list(argument[1])
    if operator is ops.SUBPATTERN:
        return [argument[3]]
    if operator in (ops.ASSERT, ops.ASSERT_NOT):
        return [argument[1]]
    return [argument] if operator is ops.ATOMIC_GROUP else []


def samples(tree: Any, most: int = 5) -> list[str]:
    """Return texts that a parsed pattern matches, more or less."""
    found = [""]
    for operator, argument in tree:
        if operator is ops.LITERAL:
            each = [chr(argument)]
        elif operator in (ops.IN, ops.ANY, ops.NOT_LITERAL):
            single = re.compile(".") if operator is ops.ANY else None
            each = [c for c in CHARACTERS if _has(operator, argument, c) or (single and single.match(c))][:5]
        elif operator in (ops.ASSERT, ops.ASSERT_NOT):
            each = [""]
        else:
            each = [text for part in children(operator, argument) for text in samples(part, most)] or [""]
            if operator in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
                each = [text * max(argument[0], 1) for text in each] + [""] * (argument[0] == 0)
        found = list(dict.fromkeys(a + b for a in found for b in each or [""]))
        found = found[:: max(1, len(found) // most)][:most]
    return found


def _has(operator: object, argument: Any, character: str) -> bool:
    if operator is not ops.IN:
        return operator is ops.NOT_LITERAL and ord(character) != argument
    negated, inside = False, False
    kinds = {ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_SPACE: r"\s", ops.CATEGORY_WORD: r"\w",
             ops.CATEGORY_NOT_DIGIT: r"\D", ops.CATEGORY_NOT_SPACE: r"\S", ops.CATEGORY_NOT_WORD: r"\W"}  # fmt: skip
    for kind, value in argument:
        negated |= kind is ops.NEGATE
        inside |= kind is ops.LITERAL and ord(character) == value
        inside |= kind is ops.RANGE and value[0] <= ord(character) <= value[1]
        inside |= kind is ops.CATEGORY and re.match(kinds[value], character) is not None
    return inside != negated


def attacks(tree: Any, before: Sequence[str] = ("",)) -> Iterator[tuple[str, str]]:
    """Yield (beginning, what is repeated behind it) for each repeat without end of a parsed pattern."""
    for i, (operator, argument) in enumerate(tree):
        begins = [a + b for a in before for b in samples(tree[:i], 3)][:5]
        if operator in (ops.MAX_REPEAT, ops.MIN_REPEAT) and argument[1] > 20:
            pumps = [text for text in samples(argument[2], 8) if text]
            pairs = (a + b for a, b in itertools.islice(itertools.permutations(pumps, 2), 8))
            yield from itertools.product(("", *begins), (*pumps, *pairs, *"a0 -.,\t\"'=@:["))
        for part in children(operator, argument):
            yield from attacks(part, begins)


class _TooLong(Exception):
    pass


def took_s(read: Read, text: str) -> float:
    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 20 * LIMIT_S)
    began = time.thread_time()
    try:
        read(text)
    except _TooLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.thread_time() - began


@pytest.mark.slow
@pytest.mark.parametrize("package", ["parsers", "orchestrator.capture"])
def test_every_pattern_takes_linear_time(package: str) -> None:
    slow = {}
    for place, pattern, read in patterns(package):
        for begin, pump in dict.fromkeys(attacks(sre.parse(pattern.pattern, pattern.flags))):
            text = f"{begin}{pump * (LENGTH // len(pump))}\0"
            if all(took_s(read, text) > LIMIT_S for _ in range(3)):
                slow[place] = (begin, pump, pattern.pattern)
                break
    assert not slow
