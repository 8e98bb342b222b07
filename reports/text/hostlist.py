"""Names of many hosts as admins write them: `node[003,017]`, the syntax of Slurm and ClusterShell. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def folded(hosts: Iterable[str]) -> str:
    """`folded(["node017", "node003"])` is "node[003,017]", a node set that srun, clush and pinsweep take.

    Where ClusterShell is not installed (extra `cluster`), names are folded by their last number alone. A name that no host can have (blanks,
    brackets, operators of node sets) stands for itself, behind the others.
    """
    names = sorted(set(hosts))
    plain = [name for name in names if _PLAIN.fullmatch(name)]
    if _is_numbered(plain):  # as most are: a page folds hundreds of names thousands of times
        return ",".join([*_by_last_number(plain), *(name for name in names if not _PLAIN.fullmatch(name))])
    try:
        from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
    except ImportError:
        together = _by_last_number(plain)
    else:
        together = [str(NodeSet.fromlist(plain, resolver=RESOLVER_NOGROUP))] if plain else []
    return ",".join([*together, *(name for name in names if not _PLAIN.fullmatch(name))])


def listed(hosts: Iterable[str]) -> str:
    """Return the names for people: a node set as `folded` has it, and what is none with blanks: "alpha, beta, gamma"."""
    text = folded(names := sorted(set(hosts)))
    return text if "[" in text else ", ".join(names)


_NUMBERED = re.compile(r"(.*?)(\d+)([^\d]*)")


def _is_numbered(names: Iterable[str]) -> bool:
    """Do names differ in their only number alone, all written with as many digits? Then there is one way to fold them."""
    parts = [_NUMBERED.fullmatch(name) for name in names]
    kinds = {(part[1], len(part[2]), part[3]) if part else ("0", 0, "") for part in parts}
    return len(kinds) == 1 and not any(map(str.isdigit, next(iter(kinds))[0]))


def _by_last_number(names: Iterable[str]) -> list[str]:
    """Fold names that differ in their last number only, `rack1n[01-03,07]-ib`. Numbers with zeros before them are of one width each."""
    groups: dict[tuple[str, str], set[str]] = {}
    found = []
    for name in names:
        parts = _NUMBERED.fullmatch(name)
        if parts is None:
            found.append(name)
        else:
            groups.setdefault((parts[1], parts[3]), set()).add(parts[2])
    for (before, after), numbers in groups.items():
        padded = {len(number) for number in numbers if number[0] == "0" and number != "0"}
        for width in (0, *sorted(padded)):
            ranges = _ranges(int(n) for n in numbers if (len(n) if len(n) in padded else 0) == width)
            said = ",".join(f"{a:0{width}}" if a == b else f"{a:0{width}}-{b:0{width}}" for a, b in ranges)
            if said:
                found.append(f"{before}{said if said.isdecimal() else f'[{said}]'}{after}")
    return found


def _ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found
