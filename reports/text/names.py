"""Names that are too long for their place, cut so that what tells them apart stays. Pure."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Final

Fits = Callable[[str], bool]
"""Is there room for a text? If there is, then also for one of fewer letters."""

_GAP: Final = "…"
_BETWEEN: Final = re.compile(r"(, |: | (?=[^\s=]+=))")
"""What stands between the parts of a name: "scaling, place=local threads=4: triad bandwidth" has four."""
_LEAST: Final = 4
"""Letters of a part that is cut: fewer say nothing."""


def of_letters(most: int) -> Fits:
    """Return what tells whether a text has so many letters at most."""
    return lambda text: len(text) <= most


def cut_apart(names: Iterable[str], fits: Fits) -> dict[str, str]:
    """Return name → its form that fits: where the name does not, without the parts that most names share and that tell it from none; at last
    with parts that are cut. Forms are as different as the names are, if need be by a number."""
    split = {name: _BETWEEN.split(name) for name in names}
    parts = {name: tuple(words[::2]) for name, words in split.items()}
    having: dict[str, list[tuple[str, ...]]] = {}
    for own in parts.values():
        for part in dict.fromkeys(own):
            having.setdefault(part, []).append(own)
    cores = _cores([own for name, own in parts.items() if not fits(name)])
    found = {
        name: name if fits(name) else _shortened(parts[name], words[1::2], having, cores, fits)
        for name, words in split.items()
    }
    for same in _alike(found):
        found |= _without_shared_ends(same, fits)
    for name in (name for same in _alike(found) for name in same if not fits(name)):
        found[name] = _numbered(found[name], fits, {*found.values()})
    return found


def _alike(found: Mapping[str, str]) -> list[list[str]]:
    """Return the names that look the same."""
    by_form: dict[str, list[str]] = {}
    for name, form in found.items():
        by_form.setdefault(form, []).append(name)
    return [same for same in by_form.values() if len(same) > 1]


def _cores(names: Sequence[Sequence[str]]) -> Mapping[tuple[int, str], str]:
    """Return place and part → its words that the parts at that place of other names do not have at their ends, too: "zstandard" of "alg compress
    with zstandard" beside "alg compress with lz4"; nothing of names that have different numbers of parts."""
    if len({*map(len, names)}) > 1:
        return {}
    found = {}
    for i, column in enumerate(zip(*names, strict=True)):
        of = {part: part.split(" ") for part in column}
        head, tail = (_shared([words[::way] for words in of.values()]) for way in (1, -1))
        for part, words in of.items():
            core = " ".join(words[head : len(words) - tail])
            found[i, part] = (
                core if any(map(str.isalpha, core)) else part
            )  # of "iodepth 4" a bare 4 says nothing
    return found


def _shortened(
    parts: tuple[str, ...],
    between: Sequence[str],
    having: Mapping[str, Sequence[tuple[str, ...]]],
    cores: Mapping[tuple[int, str], str],
    fits: Fits,
) -> str:
    """Return a name without as many of its parts as need be: first those that most names share, of these the inner ones, then the later; none
    without which another name might be meant. having: part → the parts of each name that has it."""
    last = len(parts) - 1
    shared = [len(having[part]) for part in parts]
    order = sorted(range(len(parts)), key=lambda i: (-shared[i], -min(i, last - i), -i))
    equal = len(parts) > 1 and shared[order[-1]] == shared[order[-2]]
    kept = list(parts)
    for i in order[: last - equal]:  # of two that tell as much, both stay
        rest = {part for at, part in enumerate(kept) if part and at != i}
        rarest = min(rest, key=lambda part: len(having[part]))
        if any(rest <= {*other} for other in having[rarest] if other != parts):
            continue
        kept[i] = ""
        if fits(_joined(kept, between)):
            return _filled(kept, between, i, parts[i], fits)
    told = [part and cores.get((i, part), part) for i, part in enumerate(kept)]
    return _capped(told, between, fits)


def _capped(parts: Sequence[str], between: Sequence[str], fits: Fits) -> str:
    """Return a name whose longest parts are cut in their middles to as many letters as there is room for."""

    def form(letters: int) -> str:
        return _joined([part if len(part) <= letters else _cut(part, letters - 1) for part in parts], between)

    most = _most(max(map(len, parts)) + 1, form, fits)
    return form(most) if most >= _LEAST or len(parts) == 1 else _middle(_joined(parts, between), fits)


def _joined(parts: Sequence[str], between: Sequence[str]) -> str:
    """Return the parts as a name, with a gap where one is left out, or ends in one."""
    text = ""
    for joint, part in zip(("", *between), parts, strict=True):
        if not part:
            text += "" if text.endswith(_GAP) else _GAP
        else:
            text += part if text.endswith(_GAP) else f"{joint}{part}"
    return text


def _filled(kept: Sequence[str], between: Sequence[str], i: int, part: str, fits: Fits) -> str:
    """Return the name with as much of the beginning of the part that was left out last as there is room for."""

    def form(text: str) -> str:
        return _joined([*kept[:i], text.rstrip() + _GAP, *kept[i + 1 :]], between)

    text = part[: _most(len(part), lambda n: form(part[:n]), fits)]
    if not part[len(text) :].startswith(" "):
        text = text.rpartition(" ")[0] or text  # whole words, if there is one
    return form(text) if len(text) >= _LEAST else _joined(kept, between)


def _middle(text: str, fits: Fits) -> str:
    """Return a text without as many letters in its middle as need be."""
    return _cut(text, _most(len(text), lambda letters: _cut(text, letters), fits))


def _cut(text: str, letters: int) -> str:
    """Return so many letters of a text, and a gap in its middle; of "rate_iops 400" no end of its word stands before the number."""
    end = max(letters, 0) // 2
    number = text.rpartition(" ")[2]
    if number and len(number) < end and not any(map(str.isalpha, number)):
        end = len(number)
    return f"{text[: max(letters, 0) - end].rstrip(' ,:')}{_GAP}{text[len(text) - end :].lstrip(' ,:')}"


def _most(letters: int, form: Callable[[int], str], fits: Fits) -> int:
    """Return how many letters, fewer than these, may be kept so that their form fits."""
    return max(0, bisect.bisect_left(range(letters), True, key=lambda n: not fits(form(n))) - 1)


def _without_shared_ends(names: Sequence[str], fits: Fits) -> dict[str, str]:
    """Cut the names that do not fit to the words, or else the letters, in which they differ."""
    long = [name for name in names if not fits(name)]
    head, tail = (_shared(ends) for ends in (long, [name[::-1] for name in long]))
    found = {}
    for name in long:
        end = max(len(name) - tail, head + 1)
        start, stop = name.rfind(" ", 0, head) + 1, name.find(" ", end)
        words = name[start : len(name) if stop < 0 else stop].rstrip(" ,:")
        forms = [
            _GAP * (start > 0) + words + _GAP * (stop >= 0),
            _GAP * (head > 0) + name[head:end] + _GAP * (end < len(name)),
        ]
        found[name] = next(filter(fits, forms), None) or _middle(forms[-1], fits)
    return found


def _shared(names: Sequence[Sequence[str]]) -> int:
    """Return with how many letters, or words, all names begin."""
    return sum(1 for _ in itertools.takewhile(lambda at: len(set(at)) == 1, zip(*names, strict=False)))


def _numbered(form: str, fits: Fits, taken: Container[str]) -> str:
    """Return a form with the first number at its end that makes it another one than those that are taken."""

    def ending(end: str) -> str:
        return form[: _most(len(form) + 1, lambda n: form[:n] + end, fits)] + end

    return next(text for n in itertools.count(1) if (text := ending(f"~{n}")) not in taken)


def anchor(text: str) -> str:
    """Return an id for a fragment: letters, digits and dashes only, whatever the text holds."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in text).strip("-").lower()
    if plain and plain == text:
        return plain
    return f"{plain[:40] or 'x'}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"
