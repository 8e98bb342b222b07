"""The hosts of a group beside its families of numbers: how far each is from the median, worst first, shades from what is no noise. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from reports.draw.figure import MARK, Table
from reports.draw.grid import SHADES, Cell, Column, Grid, Row
from reports.fleet.families import Family, Known, Typical, chosen, counted, families, middle_of
from reports.fleet.outliers import ACCUSED, WORDS, Group, Report
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.hostlist import listed
from reports.verdicts.fleet import SLOW_Z

MOST_FAMILIES = 10
"""Columns: so many can be read side by side on a page 1184 px wide. Those that show why hosts are odd are all there."""

SUSPECTS = "#suspects"
"""Where a row of several hosts that are odd leads: to the table of them all."""

FOLD_FROM = 20
"""Hosts of which each has a row; of more, those that are alike have one."""

MOST_ROWS = 100

LEAST = 0.01
"""What is less far from the median has no colour, relative."""

FULL = 0.5
"""From so far on the colour is full, relative: one scale for all columns, by its logarithm, so that 10 % has one shade wherever it stands."""

_LEGEND = (0.03, 0.1, 0.25, FULL)
"""Changes whose shades the legend shows."""


def strength(change: float) -> int:
    """Return the shade of a change without its sign: 1 of `LEAST`, SHADES from `FULL` on."""
    share = math.log(max(change, LEAST) / LEAST) / math.log(FULL / LEAST)
    return 1 + round((SHADES - 1) * min(share, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A family as it is drawn: what has no colour, relative."""

    family: Family
    typical: Mapping[str, Typical]
    scatter: float | None  # None: of one host nothing is known
    repeats: float | None  # None: of single runs nothing is known
    coloured: bool  # of few hosts nobody knows what is usual

    @property
    def quiet(self) -> float:
        return max(LEAST, SLOW_Z * (self.scatter or 0.0), self.repeats or 0.0)

    def worse(self, change: float) -> float:
        """Return a change as how much worse it is: below 0 better."""
        return change if self.family.better == "lower" else -change

    def shade(self, one: Typical) -> int:
        worse = self.worse(one.change)
        shade = strength(abs(worse)) if one.odd or (abs(worse) > self.quiet and self.coloured) else 0
        return shade if worse > 0 else -shade


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """The grid of a group, what it says of itself, and the numbers behind its colours."""

    grid: Grid
    sub: str
    tables: tuple[Table, ...]
    furthest: str  # "triad bandwidth, −9.1 to +0.3 %": where the hosts are furthest apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What the map of a group shows: of all its families some, and its hosts in rows, the worst first."""

    every: tuple[Shown, ...]
    shown: tuple[Shown, ...]
    together: tuple[tuple[str, ...], ...]
    alike: str  # which hosts share a row; "" where each has one of its own


def choose(group: Group, report: Report) -> Chosen | None:
    """Return what the map of a group shows; None where nobody has anything to be compared with."""
    known = _compared(group)
    if not known:
        return None
    found = families(known)
    every = tuple(_shown(family, group.judged) for family in found)
    at = chosen(found, _named(group, report, every), MOST_FAMILIES)
    shown = tuple(every[i] for i in at)
    together, alike = _together(group, report, shown)
    return Chosen(every=every, shown=shown, together=tuple(map(tuple, together)), alike=alike)


def heat(group: Group, report: Report, of: Chosen, links: Mapping[str, str]) -> Heat:
    """Return the heat map of a group. `of`: what it shows; `links`: host → where more is said of it."""
    every, shown, together = of.every, of.shown, of.together
    doubted = [all(t.doubt for t in one.typical.values()) for one in shown]
    rows = [_row(own, report, shown, doubted, links) for own in together]
    grid = Grid(
        head="Host", word="Verdict", label="Hosts by kind of number, change from the median in %",
        columns=tuple(Column(title=f"{MARK} {one.family.title}" if all_of else one.family.title, sub=counted(one.family)) for one, all_of in zip(shown, doubted, strict=True)), rows=tuple(rows),
        scale=tuple((strength(change), f"{change * 100:g}") for change in _LEGEND),
    )  # fmt: skip
    return Heat(
        grid=grid,
        sub=_sub(grid, of, group),
        tables=(
            _scales(every),
            *_folds(rows),
            *_apart(
                [
                    own
                    for own, row in zip(together, rows, strict=True)
                    if row.of and any(cell.marked for cell in row.cells)
                ],
                report,
                shown,
            ),
        ),
        furthest=_furthest(shown),
    )


def _compared(group: Group) -> list[Known]:
    """Return the numbers that have a median; of hosts too few to be judged that of their own values."""
    if group.compared or group.judged:
        return group.compared
    several = [row for row in group.strips if len(row[1].hosts) > 1]
    medians = [
        (one, replace(strip, middle=statistics.median(h.value for h in strip.hosts)))
        for one, strip in several
    ]
    return [(one, strip) for one, strip in medians if strip.base]


def _shown(family: Family, judged: bool) -> Shown:
    typical = family.typical(WORDS)
    return Shown(
        family=family,
        typical=typical,
        scatter=family.scatter(typical),
        repeats=family.repeats(),
        coloured=judged,
    )


def _named(group: Group, report: Report, every: Sequence[Shown]) -> list[int]:
    """Return the families that show why a host is odd, the worst host first: of each one of its worst word, in which comparisons draw
    numbers or which is the furthest off."""
    found = []
    for host in sorted(group.hosts, key=lambda name: (report.rank(name), name)):
        own = [
            (WORDS.index(t.odd[2].status), not one.family.drawn, -abs(t.change), i)
            for i, one in enumerate(every)
            if (t := one.typical.get(host)) and t.odd
        ]
        if own and not any(i in found for rank, *_, i in own if rank == min(own)[0]):
            found.append(min(own)[-1])
    return found


def _together(group: Group, report: Report, shown: Sequence[Shown]) -> tuple[list[list[str]], str]:
    """Return the hosts by rows, the worst first, and which share one: of more than FOLD_FROM hosts those that are alike, as closely as MOST_ROWS allow."""

    def rank(host: str) -> tuple[int, int, bool, float, str]:
        own = [(one.worse(t.change) / one.quiet) for one in shown if (t := one.typical.get(host))]
        lacking = -sum(_has_failed(report, host, one) for one in shown if host not in one.typical)
        return (
            report.rank(host),
            lacking,
            report.word_of(host) == report.statuses[host],
            -max(own, default=0.0),
            host,
        )

    def folded(key: Callable[[str], Hashable]) -> list[list[str]]:
        return [*group_by(hosts, lambda host: (report.word_of(host), key(host))).values()]

    hosts = sorted(group.hosts, key=rank)
    if len(hosts) <= FOLD_FROM:
        return [[host] for host in hosts], ""
    if len(rows := folded(_closely(report, shown))) <= MOST_ROWS:
        return rows, "that nobody could tell apart"
    if len(rows := folded(_by_worst(shown))) <= MOST_ROWS:
        return rows, "of one verdict that are worst in the same kind of number, or in none,"
    return folded(lambda _: None), "of one verdict"


def _closely(report: Report, shown: Sequence[Shown]) -> Callable[[str], Hashable]:
    """Return what hosts of one verdict are alike in that nobody could tell apart: of each family whether it stands out, about how far, marked."""

    def key(host: str) -> Hashable:
        return tuple(
            _level(one, one.typical.get(host), failed=_has_failed(report, host, one)) for one in shown
        )

    return key


def _level(one: Shown, typical: Typical | None, *, failed: bool) -> Hashable:
    if typical is None:
        return "failed" if failed else None
    shade = one.shade(typical)
    return (
        (shade + (3 if shade > 0 else -3)) // 4 if shade else 0,
        round(math.log2(abs(typical.change) / FULL)) if abs(shade) == SHADES else 0,  # −50 % is not −98 %
        typical.odd[2].status if typical.odd else "",
        typical.doubt,
    )


def _by_worst(shown: Sequence[Shown]) -> Callable[[str], Hashable]:
    def key(host: str) -> Hashable:
        shades = [(one.shade(t), -i) for i, one in enumerate(shown) if (t := one.typical.get(host))]
        shade, family = max(shades, default=(0, 0))
        return family if shade > 0 else None

    return key


def _row(
    hosts: Sequence[str],
    report: Report,
    shown: Sequence[Shown],
    doubted: Sequence[bool],
    links: Mapping[str, str],
) -> Row:
    first, *others = hosts
    listed_below = any(links.get(host, "").startswith("#") for host in hosts)
    return Row(
        name=fmt.plural(len(hosts), "host") if others else first,
        word=report.word_of(first),
        cells=tuple(
            _cell(
                one,
                [t for host in hosts if (t := one.typical.get(host))],
                told,
                failed=any(_has_failed(report, host, one) for host in hosts),
            )
            for one, told in zip(shown, doubted, strict=True)
        ),
        of=listed(hosts) if others else "",
        bad=report.statuses[first] in ACCUSED,
        link=(SUSPECTS if listed_below else "") if others else links.get(first, ""),
    )


def _has_failed(report: Report, host: str, one: Shown) -> bool:
    """Has a host runs of the sweep of a family that gave no number?"""
    return (host, one.family.sweep) in report.failed


def _cell(one: Shown, own: Sequence[Typical], told: bool, *, failed: bool) -> Cell:
    """Return a cell; of several hosts their lowest and highest, in the shade of the one in the middle. `told`: its column has the mark."""
    if not own and failed:
        return Cell(text="×", missing=True, failed=True, tip="its runs failed")
    if not own:
        return Cell(text=fmt.NOTHING, missing=True, tip="not measured")
    low, high = percent(min(t.change for t in own)), percent(max(t.change for t in own))
    text = low if low == high else f"{low} to {high}"
    middle = statistics.median_low([one.shade(t) for t in own])
    doubt = not told and any(t.doubt for t in own)
    return Cell(
        text=f"{MARK} {text}" if doubt else text, shade=middle, marked=any(t.odd for t in own),
        tip=_tip(own[0]) if len(own) == 1 else "",
    )  # fmt: skip


def percent(share: float) -> str:
    """`percent(0.0512)` is "+5.1", `percent(-0.2)` is "−20", `percent(0.0004)` is "0.0"."""
    value = share * 100
    text = (
        fmt.number(abs(value)) if abs(value) >= 999.5 else f"{abs(value):.{0 if abs(value) >= 9.95 else 1}f}"
    )
    return text if text == "0.0" else f"{'+' if value > 0 else fmt.MINUS}{text}"


def _tip(one: Typical) -> str:
    """Say what stands behind a cell: of an odd one the number itself."""
    if one.odd is None:
        return f"median of {fmt.plural(one.numbers, 'number')}" if one.numbers > 1 else ""
    series, strip, host = one.odd
    unit = series.said_unit
    doubt = f", doubtful: {one.doubt}" if one.doubt else ""
    of = f"; the verdict names {one.named} of {one.numbers} numbers here" if one.numbers > 1 else ""
    return f"{series.name}: {fmt.quantity(host.value, unit, step=series.step)}, median {fmt.quantity(strip.middle, unit, step=series.step)}: {host.status}{doubt}{of}"


def _sub(grid: Grid, of: Chosen, group: Group) -> str:
    """Say how to read the grid: what a cell is, what colour, outline and hatching mean, what is not there."""
    marks, shown, left_out = grid.marks, of.shown, len(of.every) - len(of.shown)
    several = any(len(one.family.numbers) > 1 for one in shown)
    cell = f"A box is a host’s change from the median of {middle_of(known for one in shown for known in one.family.numbers)}, in %"
    if several:
        cell += ", of several numbers the median change"
    if "marked" in marks:
        cell += ". Outlined is "
        cell += (
            "the worst that the verdict names, of a host that is only fast the best"
            if several
            else "what the verdict names"
        )
    quiet = _span([one.quiet for one in shown])
    colour = (
        f"Orange is worse, blue better, full from {FULL * 100:g} % on in all columns. "
        f"{'What is not outlined has no' if 'marked' in marks else 'No'} colour within {quiet} %, "
        "the most of 1 %, three times what hosts scatter by, and what repeats differ by"
    )
    if any(one.family.worse_half for one in shown):
        colour += "; where the hosts fall into two groups, what they scatter by within either"
    if not group.judged:
        colour = "No colours: so few hosts do not tell what is usual"
    more = [
        f"The worst verdict is first, of one verdict {'those with most ×, then ' if 'failed' in marks else ''}the box that is furthest beyond what has no colour" if group.judged and len(grid.rows) > 1 else "",
        f"Of more than {FOLD_FROM} hosts, those {of.alike} share a row, with their lowest and highest in the colour of the one in the middle; pinsweep fleet --all lists the numbers of each odd host" if "several" in marks else "",
        "Hatched: not measured" if "missing" in marks else "",
        "×: its runs failed" if "failed" in marks else "",
        f"{fmt.plural(left_out, 'more kind')} of number {'in the table' if group.judged else 'not drawn'}" if left_out else "",
    ]  # fmt: skip
    return ". ".join(filter(None, [cell, colour, *more])) + "."


def _furthest(shown: Sequence[Shown]) -> str:
    ends = [
        (min(t.change for t in own), max(t.change for t in own))
        for own in (one.typical.values() for one in shown)
    ]
    (low, high), one = max(zip(ends, shown, strict=True), key=lambda row: row[0][1] - row[0][0])
    return f"{one.family.title}, {percent(low)} to {percent(high)} %"


def _span(shares: Sequence[float]) -> str:
    """Return "1 to 4.2": shares in %, the ends to their safe sides."""
    low, high = fmt.number(min(shares) * 100, 2, fmt.DOWN), fmt.number(max(shares) * 100, 2, fmt.UP)
    same = fmt.number(shares[0] * 100, 3, step=0.0)
    return f"{low} to {high}" if min(shares) != max(shares) else same


def differ_by(share: float | None) -> str:
    """Return by how much values lie apart: "0.42 %"; of equal ones, whose last digit hides the rest, that none is seen."""
    return "no difference seen" if share == 0 else fmt.percent(share)


def _scales(every: Sequence[Shown]) -> Table:
    """Return what stands behind the colours of each family."""
    return Table(
        caption="Kinds of number: what has no colour. Usual hosts are those that no verdict names; what they differ by is of their boxes in the map.",
        columns=("Kind", "Numbers", "Better", "Hosts", "Usual hosts differ by (robust SD)", "Repeats differ by (half the range)", "No colour below"),
        rows=tuple(
            (
                one.family.title, fmt.count(len(one.family.numbers)), one.family.better, fmt.count(len(one.typical)),
                differ_by(one.scatter), differ_by(one.repeats), f"{fmt.number(one.quiet * 100)} %",
            )
            for one in every
        ),
        numeric=frozenset({1, 3, 4, 5, 6}),
    )  # fmt: skip


def _folds(rows: Sequence[Row]) -> tuple[Table, ...]:
    several = [row for row in rows if row.of]
    if not several:
        return ()
    return (
        Table(
            caption="Rows of several hosts.", columns=("Row", "Verdict", "Hosts"),
            rows=tuple((row.name, row.word, row.of) for row in several),
        ),
    )  # fmt: skip


def _apart(together: Sequence[Sequence[str]], report: Report, shown: Sequence[Shown]) -> tuple[Table, ...]:
    """Return what each of the hosts has that are odd and share a row: the map has their lowest and highest alone."""
    if not together:
        return ()
    return (
        Table(
            caption="Odd hosts that share a row, each by itself: change from the median in %.",
            columns=("Host", "Verdict", *(one.family.title for one in shown)),
            rows=tuple(
                (host, report.word_of(host), *(percent(t.change) if (t := one.typical.get(host)) else fmt.NOTHING for one in shown))
                for own in together
                for host in own
            ),
            numeric=frozenset(range(2, 2 + len(shown))),
        ),
    )  # fmt: skip
