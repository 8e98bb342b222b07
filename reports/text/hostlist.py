"""Fold the names of many hosts to `node[003,017]`, the syntax of Slurm and ClusterShell."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NUMBERED = re.compile(r"(.*?)(\d+)([^\d]*)")


def folded(hosts: Iterable[str]) -> str:
    """Return `folded(["node017", "node003"])` "node[003,017]", a node set for srun, clush and pinsweep.

    Names are folded by the last number: "rack1n[01-03,07]-ib". An invalid host name (blanks, brackets, operators of
    node sets) is unchanged and comes last.
    """
    names = sorted(set(hosts))
    others = [name for name in names if not _HOST.fullmatch(name)]
    groups: dict[tuple[str, str], set[str]] = {}
    sets = []
    for name in names:
        if name not in others and (parts := _NUMBERED.fullmatch(name)):
            groups.setdefault((parts[1], parts[3]), set()).add(parts[2])
        elif name not in others:
            sets.append(name)
    for (before, after), numbers in groups.items():
        padded = {len(number) for number in numbers if number[0] == "0" and number != "0"}
        for width in (0, *sorted(padded)):  # numbers with zeros before them have one width each
            members = sorted(int(n) for n in numbers if (len(n) if len(n) in padded else 0) == width)
            if members:
                ranges = _ranges(members, width)
                sets.append(f"{before}{ranges if ranges.isdecimal() else f'[{ranges}]'}{after}")
    return ",".join([*sets, *others])


def listed(hosts: Iterable[str]) -> str:
    """Return names for people: a node set if the names fold, else with blanks: "alpha, beta, gamma"."""
    text = folded(names := sorted(set(hosts)))
    return text if "[" in text else ", ".join(names)


def _ranges(numbers: list[int], width: int) -> str:
    """Return "1-3,7" for ordered numbers."""
    runs = itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    ends = [(run[0][1], run[-1][1]) for _, group in runs for run in [list(group)]]
    return ",".join(f"{a:0{width}}" if a == b else f"{a:0{width}}-{b:0{width}}" for a, b in ends)
