"""What is not compared: the cells that some hosts of a group ran in another way than most, the numbers that they lack. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reports.numbers import conditions
from reports.numbers.series import Key, Series
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.verdicts.fleet import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmatched:
    """A cell that some hosts ran in another way than the others: they are not compared with them."""

    what: str
    hosts: tuple[str, ...]
    reason: str  # "threads=32, not threads=64 as on 11 hosts"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """A cell as it was run in one way: its numbers, and the hosts that ran it so."""

    numbers: tuple[Series, ...]
    hosts: frozenset[str]

    @property
    def key(self) -> Key:
        return self.numbers[0].key

    def instead_of(self, other: _Cell) -> bool:
        """Did its hosts run it in the place of the other: the same in another way, or what none runs beside the other?"""
        if (self.key.tool, self.key.sweep) != (other.key.tool, other.key.sweep):
            return False
        return self.key.point_id == other.key.point_id or self.hosts.isdisjoint(other.hosts)


def lacking(
    of: Sequence[Series], metrics: Sequence[Metric], members: Sequence[str]
) -> tuple[list[Unmatched], list[tuple[str, tuple[str, ...]]]]:
    """Return the cells that some hosts of a group ran in another way than most, and the numbers that hosts lack
    otherwise: a whole cell as one, and so all cells of a sweep."""
    have = {id(one): metric.values.keys() for one, metric in zip(of, metrics, strict=True)}
    cells = [
        _Cell(numbers=tuple(own), hosts=frozenset(host for one in own for host in have[id(one)]))
        for own in group_by(
            of, lambda one: (one.cell, conditions.way(one.values[0].run), one.key.program)
        ).values()
    ]
    cells.sort(key=lambda cell: -len(cell.hosts))
    rows: list[tuple[tuple[str, ...], str, str]] = []
    missing: list[tuple[str, str, tuple[str, ...]]] = []  # of a whole cell its sweep, else ""
    for i, cell in enumerate(cells):
        others = [other for other in cells[:i] if cell.instead_of(other)]
        smaller = [other for other in cells[i + 1 :] if other.instead_of(cell)]
        if others:
            rows.append((tuple(sorted(cell.hosts)), _otherwise(cell, others), cell.numbers[0].cell))
            continue
        told = frozenset(host for other in smaller for host in other.hosts)
        lacks = {
            id(one): tuple(m for m in members if m not in have[id(one)] and m not in told)
            for one in cell.numbers
        }
        by_hosts = group_by(cell.numbers, lambda one: lacks[id(one)])  # noqa: B023 (called at once)
        for without, same in by_hosts.items():
            if without:
                names = [one.name for one in same]
                whole = len(by_hosts) == 1
                what = cell.numbers[0].cell if whole else _and_more(names, "number")
                missing.append((cell.key.sweep if whole else "", what, without))
    unmatched = [
        Unmatched(what=_and_more([cell for *_, cell in same], "cell"), hosts=hosts, reason=reason)
        for (hosts, reason), same in group_by(rows, lambda row: row[:2]).items()
    ]
    of_sweep = Counter(sweep for sweep, _ in {(cell.key.sweep, cell.key.point_id) for cell in cells})
    return unmatched, [row for own in group_by(missing, lambda m: (m[0] or m[1], m[2])).values() for row in _whole(own, of_sweep)]  # fmt: skip


def _whole(
    missing: Sequence[tuple[str, str, tuple[str, ...]]], of_sweep: Mapping[str, int]
) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Give what the same hosts lack: all cells of a sweep as one."""
    sweep, _, hosts = missing[0]
    cells = len({what for _, what, _ in missing})
    if sweep and cells == of_sweep[sweep] > 1:
        yield f"all {fmt.count(cells)} cells of {sweep}", hosts
    else:
        yield from ((what, hosts) for _, what, hosts in missing)


def _otherwise(cell: _Cell, others: Sequence[_Cell]) -> str:
    """Say in what a cell differs from the nearest of those that other hosts ran."""
    told = [(_gap(cell, other), other) for other in others]
    (own, theirs), other = min(told, key=lambda row: len(row[0][0]))
    on = fmt.plural(len(other.hosts), "host")
    return f"{fmt.words(own[:_MOST_GAPS])}, not {fmt.words(theirs[:_MOST_GAPS])} as on {on}"


_MOST_GAPS: Final = 4


def _gap(cell: _Cell, other: _Cell) -> tuple[list[str], list[str]]:
    """Return what two cells are in which they differ: (["threads=32"], ["threads=64"]); of a number that both have, if any."""
    words = {one.key.name.words: one for one in other.numbers}
    pairs = [(one, words[one.key.name.words]) for one in cell.numbers if one.key.name.words in words]
    own, theirs = map(conditions.facts, pairs[0] if pairs else (cell.numbers[0], other.numbers[0]))
    names = conditions.differing([own, theirs])
    return conditions.said(own, names), conditions.said(theirs, names)


def _and_more(names: Sequence[str], noun: str) -> str:
    more = len(names) - 1
    return f"{names[0]} and {fmt.plural(more, f'more {noun}')}" if more else names[0]
