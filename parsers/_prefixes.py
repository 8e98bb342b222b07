"""What log keepers put before every line: times (ts, CI logs, journald), levels and streams (avocado, Python's logging), hosts and
containers (srun -l, pdsh, compose), line numbers; what makes lines a comment.

A prefix is taken off only where nearly all lines have it, and where no tool's own lines begin so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_STREAM = r"(?:\d\d[OE][+ ]? ?|std(?:out|err) [FP] )?"  # GitLab; containerd
_TIMES: Final = (
    re.compile(
        rf"[^\t\n]{{1,80}}\t[^\t\n]{{1,80}}\t\ufeff?\d{{4}}-\d\d-\d\dT{_CLOCK}Z(?: |$)"
    ),  # gh run view --log
    re.compile(
        rf"\[?\d{{4}}[-/]\d\d[-/]\d\d[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?\]?(?: {_STREAM}|$)"
    ),  # ts %F %T, CI logs
    re.compile(rf"\[?\d\d?[-/.]\d\d(?:[-/.]\d{{2,4}})? {_CLOCK}\]?(?: |$)"),  # autotest
    re.compile(rf"[A-Z][a-z]{{2}} [ \d]\d {_CLOCK} (?:[\w.-]+ [\w./@-]+\[\d+\]: ?)?"),  # ts, syslog, journald
    re.compile(rf"\[?{_CLOCK}\]?(?: |$)"),  # ts -s
    re.compile(r"\[ *\d+\.\d{2,9}\](?: |$)"),  # dmesg, ts -s %.s
)
_LEVEL = r"(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|TRACE|STDOUT|STDERR|OUT|debug|info|stdout|stderr|out)"
_LOGGED: Final = re.compile(
    rf"(?:\[{_LEVEL} *\]:?|{_LEVEL} *(?:[|:>]|-(?= )))(?: ?[\w./-]+:\d+ ?\|)? ?|\[std(?:out|err)\] ?"
)  # avocado: "DEBUG| [stdout] "
_COMMENT: Final = re.compile(r"[ \t]*(?://+|;+|--|%+|\*|!|\+|::|REM|dnl)(?: |$)")
_CONSTANT: Final = re.compile(
    r" *(?=[^\s:|]*\d)(?:\[[^\]\n]{1,60}\](?:<\w+>)?|[\w.@/-]{1,60})(?::| +\||\t) ?"  # n001: …, bench-1  | …, parallel --tag
    r"|\[(?:pod/)?(?=[^\d\]]*+\d)[\w./-]++\] "  # kubectl --prefix
    r"|│ ?"  # a box drawn around it
)
_HOST: Final = re.compile(
    r" *(?:(?P<host>[\w.@/-]{1,60})(?::| +\|)(?: |$)|(?P<tag>(?=[^A-Za-z\s]*+[A-Za-z])[\w.@/-]++)\t|\[(?:pod/)?(?P<pod>(?=[^A-Za-z\]\s]*+[A-Za-z])[\w./-]++)\] "
    r"|\[(?:\d{1,9},)?(?P<rank>\d{1,9})\](?:<std(?:out|err)>:?)? ?)"
)  # pdsh, srun -l, docker compose; parallel --tag; kubectl --prefix; mpirun -l and --tag-output
_NUMBERED: Final = re.compile(r" *(\d{1,7})[\t:]")  # cat -n, grep -n
_QUOTED: Final = re.compile(r"(?:> ?)+")
_MOST: Final = 0.9
"""Share of the lines that have the prefix: launchers print lines of their own between them."""


def has_prefix(text: str) -> bool:
    """Say whether the third line that is not blank begins as a log keeper's does. Cheap, and no proof."""
    return any(_kinds(_probe(text)))


def without_prefixes(text: str, *, labels: bool = True) -> str:
    """Take off what stands before every line, up to four times (a time, a level, then a host).

    Without `labels` hosts and ranks stay.
    """
    for _ in range(4):
        kinds = (kind for kind in _kinds(_probe(text)) if labels or kind is not _CONSTANT)
        tried = (_stripped(text, kind) for kind in kinds)
        shorter = next((found for found in tried if found is not None), None)
        if shorter is None:
            return text
        text = shorter
    return text


def hosts(text: str) -> dict[str, list[int]]:
    """Return the numbers of the lines of each host (container, rank) whose name stands before them: {} unless nearly all lines
    have a name, and there are several. The lines above the first name are everybody's where they are few."""
    if not has_prefix(text) and not _HOST.match(_probe(text)):
        return {}
    found: dict[str, list[int]] = {}
    above: list[int] = []
    others = count = 0
    for number, line in enumerate(without_prefixes(text, labels=False).split("\n")):
        if not line.strip():
            continue
        count += 1
        if match := _HOST.match(line):
            name = str(match[match.lastgroup or 0])
            found.setdefault(f"rank {name}" if name.isdigit() else name, []).append(number)
        elif found:
            others += 1
        else:
            above.append(number)
    if len(found) < 2 or others > (1 - _MOST) * count or count < 3 * len(found):
        return {}
    return {
        name: [*(above if len(above) <= (1 - _MOST) * len(own) else ()), *own] for name, own in found.items()
    }


def _probe(text: str) -> str:
    printed = [line for line in text.split("\n", 64)[:64] if line.strip()]
    return printed[2] if len(printed) > 2 else ""


def _kinds(line: str) -> Iterator[re.Pattern[str]]:
    return (
        kind
        for kind in (*_TIMES, _LOGGED, _CONSTANT, _COMMENT, _NUMBERED, _QUOTED)
        if line and kind.match(line)
    )


def _stripped(text: str, kind: re.Pattern[str]) -> str | None:
    """Return the text without the prefix; None where it is none, after all."""
    if kind is _NUMBERED:
        return _without_numbers(text)
    if kind is _CONSTANT:
        match = kind.match(_probe(text))
        word = match[0].rstrip(" ") if match else ""
        kind = re.compile(re.escape(word) + " ?")
    lines = text.split("\n")
    ends = [match.end() if (match := kind.match(line)) else 0 for line in lines]
    printed = [end for end, line in zip(ends, lines, strict=True) if line.strip()]
    if sum(end > 0 for end in printed) < _MOST * len(printed):
        return None
    return "\n".join(line[end:].removesuffix("│").rstrip() if kind.pattern.startswith("│") else line[end:] for end, line in zip(ends, lines, strict=True))  # fmt: skip


def _without_numbers(text: str) -> str | None:
    """Take numbers off that count the lines one by one, blank ones too."""
    lines = text.split("\n")
    whole = lines[:-1] if not lines[-1] else lines
    found = [_NUMBERED.match(line) for line in whole]
    first = next((match for match in found if match), None)
    if first is None or any(m is None or int(m[1]) != int(first[1]) + i for i, m in enumerate(found)):
        return None
    return "\n".join(
        [line[m.end() :] for line, m in zip(whole, found, strict=True) if m] + lines[len(whole) :]
    )
