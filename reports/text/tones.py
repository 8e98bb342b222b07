"""Which words of an answer have a colour: those of a verdict. The words stay; colour only leads the eye to them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal

Tone = Literal["worse", "doubtful", "better", "quiet"]

TONES: Final[dict[str, Tone]] = {
    **dict.fromkeys(("broken", "slow", "regressed", "worse", "error", "errors", "failed", "timeout", "crashed", "killed", "unreadable", "unparsable"), "worse"),
    **dict.fromkeys(("suspicious", "warn", "warning", "warnings", "disturbed", "incomplete", "doubtful"), "doubtful"),
    **dict.fromkeys(("improved", "better", "fast"), "better"),
    **dict.fromkeys(("ok", "same", "the same", "inconclusive", "info", "note", "notes", "not judged"), "quiet"),
}  # fmt: skip

_WORDS: Final = "|".join(sorted(map(re.escape, TONES), key=len, reverse=True))
_CELL: Final = re.compile(rf"(?:^|(?<=  )|(?<=\] ))({_WORDS})(?=  |$| \(|[,:] | [A-Z]\d)")
"""A verdict in a table, at the head of a list, at the beginning of a finding."""
_COUNT: Final = re.compile(
    rf"(?<![\w.])(?!0 )(\d[\d\u202f]* (?:of [\d\u202f]+ \w+ )?(?:are |is )?({_WORDS}))(?!\w)"
)
"""How many there are of it: "3 slow", "7 of 48 numbers regressed"; of none nothing is to be seen."""
_MARK: Final = re.compile(r"⚠(?: doubtful)?(?::? [A-Z]\d+\b(?:, [A-Z]\d+\b)*)?")
_HEAD: Final = re.compile(r"(regressed|worse|improved|better|inconclusive|same) \(")
_CHANGE: Final = re.compile(r" *([+−]?\d[\d.\u202f]* %)  ")
_LAST: Final = re.compile(r"  ([+−]\d[\d.\u202f]* %)$")

Span = tuple[int, int, Tone]


def toned(lines: Iterable[str]) -> Iterable[tuple[str, list[Span]]]:
    """Give each line with what of it has which tone, in order and without overlaps."""
    under: Tone | None = None
    for line in lines:
        if found := _HEAD.match(line):
            under = TONES[found[1]]
        elif not line:
            under = None
        yield line, _spans(line, under)


def _spans(line: str, under: Tone | None) -> list[Span]:
    found: list[Span] = [(*m.span(1), TONES[m[1]]) for m in _CELL.finditer(line)]
    if found and under is None and (last := _LAST.search(line)):
        found.append((*last.span(1), found[0][2]))
    found += [(*m.span(1), TONES[m[2]]) for m in _COUNT.finditer(line)]
    found += [(*m.span(), "doubtful") for m in _MARK.finditer(line)]
    if under and under != "quiet" and line.startswith("    ") and (change := _CHANGE.match(line)):
        found.append((*change.span(1), under))
    kept: list[Span] = []
    for span in sorted(found):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept
