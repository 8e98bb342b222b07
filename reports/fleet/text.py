"""A fleet's verdict for a terminal and for programs. Pure."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from reports.checks.audit import joined
from reports.checks.doubts import LEGEND, mark
from reports.fleet.doubted import doubtful, of_all, said_of_all, without
from reports.fleet.outliers import NOT_IN_BASELINE, SAID, Group, Odd, Report, Spread
from reports.fleet.sizes import alone
from reports.numbers.series import Series
from reports.results.convicted import checks_of
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.columns import wrapped
from reports.text.hostlist import folded, listed
from reports.text.json_text import json_text
from reports.text.plain import printable
from reports.text.screen import PLAIN, Screen, prose, shortened, table
from reports.verdicts.fleet import BY_SPREAD, BY_THRESHOLD, LEAST_HOSTS, Everywhere, Status

_NUMBERS_PER_HOST = 5
_HOSTS = 30
_MISSING = 20
"""Without `--all`: so many numbers of so many hosts (on a terminal as many lines of hosts), so many gaps."""


def as_text(report: Report, *, everything: bool = False, screen: Screen = PLAIN) -> str:
    """Return the verdict, the worst first. `everything`: all numbers of each odd host, not the five worst; else on a terminal a line a host says
    in which sweeps, and by how much."""
    report, doubted_all = without(report, of_all(report)), said_of_all(of_all(report))
    report = report if everything else report.leading()
    odd = folds(report, screen) if screen.terminal and not everything else _odd(report, everything, screen)
    blocks = [
        _verdict(report, screen, doubted_all),
        *_groups(report, everything),
        odd,
        _everywhere(report),
        "" if everything else "\n".join(prose(_alone(report), screen)),
        report.chance.text,
    ]
    blocks += [
        _unjudged(report),
        _gaps(report, everything),
        _differing(report),
        _unlike(report),
        _unmatched(report),
        _missing(report, everything),
    ]
    blocks.append(LEGEND if report.doubted or doubted_all else "")
    blocks.append(
        "\n".join(line for text in report.warnings for line in prose(f"warning: {text}", screen, rest="  "))
    )
    return "\n\n".join(filter(None, blocks))


def summary(report: Report) -> str:
    """Return "40 hosts: 3 slow, 1 suspicious, 36 ok (runs of 2 failed)", the worst first."""
    counts = {word: len(names) for word, names in report.by_status().items()}
    bad = [host for host in report.lacking if report.statuses[host] == "ok"]
    of_ok = f" (runs of {fmt.count(len(bad))} {report.lack(bad)})" if bad else ""
    lone = len(report.chance.alone)
    beside = {"ok": of_ok, "suspicious": f" ({fmt.count(lone)} of them as chance makes)" if lone else ""}
    told = ", ".join(f"{n} {SAID.get(word, word)}{beside.get(word, '')}" for word, n in counts.items() if n)
    return f"{fmt.plural(len(report.statuses), 'host')}: {told}"


def _verdict(report: Report, screen: Screen, doubted_all: str) -> str:
    found = [
        (said, word, own)
        for word, names in report.by_status().items()
        for said, own in sorted(
            group_by(names, report.word_of).items(), key=lambda one: (one[0] == word) == (word == "ok")
        )
    ]
    wide = max((len(said) for said, *_ in found), default=0)
    rows = [
        line for said, word, names in found for line in _hosts(f"  {said:<{wide}}  ", names, word, screen)
    ]
    doubt = [
        line
        for text in (doubted_all, doubtful(report, sys.maxsize))
        for line in wrapped(text, first="  ", width=screen.width, whole=True)
        if text
    ]
    return "\n".join([summary(report), *rows, *doubt])


def _hosts(head: str, names: Sequence[str], word: Status, screen: Screen) -> list[str]:
    """Return a word and its hosts; on a terminal in lines that end at a comma, of those that are good their number where one line is too short."""
    told = printable(listed(names))
    if not screen.terminal or len(head) + len(told) <= screen.width:
        return [f"{head}{told}"]
    if word == "ok":
        return [f"{head}{fmt.plural(len(names), 'host')}"]
    if "[" not in told:
        return wrapped(told, first=head, width=screen.width, whole=True)
    lines = wrapped(told.replace(",", ", "), first=head, width=screen.width, whole=True)
    return [line[: len(head)] + line[len(head) :].replace(", ", ",") for line in lines]


def _groups(report: Report, everything: bool) -> Iterable[str]:
    lines = []
    for group in report.groups:
        head = f"{fmt.plural(len(group.hosts), 'host')}: {group.hardware.name}"
        lines.append(printable(head))
        if group.apart:
            lines.append(printable(f"  {listed(group.hosts)}: {group.apart}"))
        if not group.judged:
            helps = (
                NOT_IN_BASELINE if report.beside_baseline else "give sessions of good ones with --baseline"
            )
            lines.append(f"  fewer than {LEAST_HOSTS} such hosts: not judged by each other; {helps}")
            lines += _spreads(group.spreads, everything)
        if unseen := group.unseen(report.threshold):
            lines.append(printable(f"  {unseen}: {_which(group.blind(report.threshold))}"))
        lines += [f"  {printable(text)}" for text in (group.past, group.changed, group.of_zero) if text]
    if lines:
        yield "\n".join(lines)


def _spreads(spreads: Sequence[Spread], everything: bool) -> Iterable[str]:
    """Yield "  prog, n=3: elapsed: 152 ms on n1 to 183 ms on n2, 20 % apart", the furthest apart first."""
    shown = spreads if everything else spreads[:_APART]
    for one in shown:
        low, high = (
            f"{fmt.quantity(host.value, one.series.said_unit, step=one.series.step)} on {host.name}"
            for host in (one.low, one.high)
        )
        yield printable(f"  {one.series.name}: {low} to {high}, {fmt.percent(one.share)} apart")
    if left := len(spreads) - len(shown):
        yield f"  and {fmt.plural(left, 'more number')} in which they are less far apart (--all lists them)"


_APART: Final = 3
"""Numbers of each kind of host too few to be judged that have a line without `--all`."""


def _which(blind: Sequence[tuple[Series, float]]) -> str:
    """Return "fio, iodepth=1: read latency p99 (12 %), … and 2 more"."""
    named = [f"{one.name} ({fmt.number(bound * 100, 2, fmt.UP)} %)" for one, bound in blind[:_BLIND]]
    return ", ".join(named) + (f" and {len(blind) - _BLIND} more" if len(blind) > _BLIND else "")


_BLIND: Final = 3


def _unjudged(report: Report) -> str:
    """Say why hosts are not judged, beside those of a kind that is too few: this stands with their kind."""
    few = {host for group in report.groups if not group.judged for host in group.hosts}
    told = {why: [host for host in hosts if host not in few] for why, hosts in report.unjudged.items()}
    return "\n".join(
        printable(f"not judged {listed(hosts)}: {why}{report.helps(why)}")
        for why, hosts in told.items()
        if hosts
    )


def _alone(report: Report) -> str:
    """Return "5 more hosts, …; --all lists them" of those that are off as chance makes; "" of none."""
    told = alone(report, sys.maxsize)
    return f"{told} (--all lists them)" if told else ""


def _odd(report: Report, everything: bool, screen: Screen) -> str:
    if not report.odd:
        return ""
    rows = [("host", "verdict", "number", "value", "median", "change", "z", "sessions")]
    shown: dict[str, int] = {}
    left: dict[str, int] = {}
    mild = {e.name: e for e in report.everywhere}
    for odd in report.counted():
        shown[odd.host] = shown.get(odd.host, 0) + 1
        if len(shown) > _HOSTS and not everything:
            continue
        if shown[odd.host] > _NUMBERS_PER_HOST and not everything:
            left[odd.host] = left.get(odd.host, 0) + 1
            continue
        whole = mild.get(odd.host) if shown[odd.host] == 1 else None
        if whole:
            rows.append(
                (
                    odd.host, report.statuses[odd.host], f"slightly slow everywhere: {on_average(whole)}{mark(whole.doubt)}", "", "", "",
                    fmt.number(whole.z, 2), str(whole.sessions),
                )
            )  # fmt: skip
        unit, found = odd.series.said_unit, odd.found
        rows.append(
            (
                odd.host if shown[odd.host] == 1 and not whole else "", found.status,
                odd.series.name + (f" ({odd.reason})" if odd.reason else "") + mark(found.doubt),
                odd.value, fmt.quantity(odd.strip.middle, unit, step=odd.series.step), fmt.change(odd.change),
                fmt.number(found.z, 2), str(found.sessions),
            )
        )  # fmt: skip
    lines = table(rows, screen, right=frozenset({3, 4, 5, 6, 7}), give=2, spare=(6, 7, 4, 3))
    if any(row[6].startswith(fmt.MINUS) for row in rows):
        lines += prose(_Z, screen)
    lines += [
        f"{printable(host)}: {fmt.plural(n, 'more number', 'more numbers')} (--all lists them)"
        for host, n in left.items()
    ]
    if len(shown) > _HOSTS and not everything:
        lines += prose(_left_out([*shown][_HOSTS:]), screen)
    return "\n".join(lines)


_Z: Final = "z: distance from the median in robust standard deviations, above 0 worse"


def _left_out(hosts: Sequence[str]) -> str:
    """Name the hosts that are odd, too, and for which there was no row."""
    return f"{fmt.plural(len(hosts), 'more host')} with odd numbers, less far off: {printable(listed(hosts))} (--all lists them)"


def folds(report: Report, screen: Screen) -> str:
    """Return a line for each odd host, or for those that are odd in as many numbers of the same sweeps: "node017  broken  all of pingpong, 50 to
    53 % worse; 2 of 8 numbers of scaling, 11 % worse; 14 numbers"."""
    total: dict[str, Counter[str]] = {}
    compared: dict[str, Counter[str]] = {}
    words: dict[str, Counter[Status]] = {}
    for one, strip in (row for group in report.groups for row in group.strips):
        for found in strip.hosts:
            if (found.name, one.key) in report.repeated:
                continue
            total.setdefault(found.name, Counter())[one.key.sweep] += 1
            compared.setdefault(found.name, Counter())[one.key.sweep] += found.status != "unknown"
            words.setdefault(found.name, Counter())[found.status] += 1
    everywhere = {whole.name: whole for whole in report.everywhere}
    rest = {
        name: Rest(ok=counts["ok"], unknown=counts["unknown"], everywhere=name in everywhere)
        for name, counts in words.items()
    }
    by_host = group_by(report.counted(), lambda odd: odd.host)
    alike = group_by(
        by_host,
        lambda host: (
            report.statuses[host],
            tuple(_in_sweeps(by_host[host], compared[host], total[host])),
            rest[host],
            doubted(by_host[host]),
            _by_all(everywhere.get(host), by_host[host]),
        ),
    )
    rows = [(hosts, status, f"{by_all}{_what(in_sweeps, [o for h in hosts for o in by_host[h]], len(hosts), own)}{mark(doubt)}") for (status, in_sweeps, own, doubt, by_all), hosts in alike.items()]  # fmt: skip
    shown = [(listed(hosts), status, what) for hosts, status, what in rows[:_HOSTS]]
    most = max((len(host) for host, *_ in shown), default=0)
    wide = min(most, screen.width // 4)
    lines = []
    for host, status, what in shown:
        head = f"{shortened(host, wide):<{wide}}  {status:<10}  "
        lines += wrapped(what, first=head, rest=" " * len(head), width=screen.width, whole=True)
    if left_out := [host for hosts, *_ in rows[_HOSTS:] for host in hosts]:
        lines += prose(_left_out(left_out), screen)
    elif shown:
        lines += prose("--all lists the numbers", screen)
    return "\n".join(lines)


def on_average(whole: Everywhere) -> str:
    """Return "2.9 % worse on average over 9 numbers"."""
    return f"{fmt.percent(whole.worse)} worse on average over {whole.metrics} numbers"


def _by_all(whole: Everywhere | None, own: Iterable[Odd]) -> str:
    """Return what accuses a host whose numbers do not, one by one, and what these are then: "slightly slow everywhere, 2.9 % worse on average over 9
    numbers; one by one suspicious: "; "" of a host that its numbers accuse."""
    if whole is None:
        return ""
    words = fmt.words(list(dict.fromkeys(odd.found.status for odd in own)), "or")
    return f"slightly slow everywhere, {on_average(whole)}; one by one {words}: "


def doubted(own: Iterable[Odd]) -> str:
    return joined(odd.found.doubt for odd in own)


class InSweep(NamedTuple):
    """In how many numbers of a sweep a host is odd, one way."""

    sweep: str
    better: bool
    odd: int
    compared: int  # that were compared with those of other hosts
    of: int

    @property
    def which(self) -> str:
        """Return "all", of what was compared in part "all 36 compared numbers", "2 of 8 numbers"."""
        if self.odd == self.of:
            return "all"
        if self.odd < self.compared:
            return f"{self.odd} of {fmt.plural(self.compared, 'number')}"
        return "the one compared number" if self.odd == 1 else f"all {self.odd} compared numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What is true of the numbers of a host that are not odd."""

    ok: int
    unknown: int  # nothing to compare with
    everywhere: bool  # all of them together are a little slow


def _in_sweeps(own: Iterable[Odd], compared: Mapping[str, int], total: Mapping[str, int]) -> list[InSweep]:
    """Return in how many numbers of which sweeps a host is odd; the worst first."""
    by_sweep = group_by(own, _side)
    return [
        InSweep(sweep, better, len(odd), compared[sweep], total[sweep])
        for (sweep, better), odd in by_sweep.items()
    ]


def _side(odd: Odd) -> tuple[str, bool]:
    return odd.series.key.sweep, odd.found.status == "fast"


def _what(in_sweeps: Sequence[InSweep], own: Sequence[Odd], hosts: int, rest: Rest) -> str:
    """Return "all of pingpong, 50 to 53 % worse; 2 of 8 numbers of scaling, 11 % worse; 14 numbers"; of one sweep among several "only
    stream-remote: all of it, 8 to 9 % worse; 4 numbers, the other 46 normal", which is what a failing module looks like."""
    parts = []
    numbers = 0
    for one in in_sweeps:
        numbers += one.odd
        how = _far([o for o in own if _side(o) == (one.sweep, one.better)])
        parts.append(f"{one.which} of {one.sweep}{how}")
    counted = f"{fmt.plural(numbers, 'number')}{' each' if hosts > 1 else ''}"
    (first, *others) = in_sweeps
    if not others and rest.ok + rest.unknown > first.of - first.odd and not rest.everywhere:
        part = "all of it" if first.which == "all" else first.which
        return f"only {first.sweep}: {part}{_far(own)}; {counted}, {_others(rest)}"
    if others and not rest.ok and not any(one.better for one in in_sweeps):
        parts = [f"all that was compared{_far(own)}"]
    return "; ".join([*parts, counted])


def _others(rest: Rest) -> str:
    """Return "the other 46 normal", or "40 others normal, 6 not compared"."""
    if not rest.unknown:
        return f"the other {fmt.count(rest.ok)} normal"
    normal = f"{fmt.plural(rest.ok, 'other')} normal, " if rest.ok else ""
    return f"{normal}{fmt.count(rest.unknown)} not compared"


def _far(own: Iterable[Odd]) -> str:
    """Return ", 8 to 9 % worse", "4.9 % better"; of what only a rule of the site accuses that rule, too (it may be better than the median), and
    of suspicions by one rule of two by which."""
    every = list(own)
    off = [o.found.worse for o in every if o.found.worse is not None]
    rules = dict.fromkeys(o.reason for o in every if o.found.of_rule)
    if len(rules) > _RULES:
        rules = dict.fromkeys(o.found.reason for o in every if o.found.of_rule)
    said = [*rules, fmt.worse_by(off)] if off else [*rules]
    reasons = {o.found.reason for o in every}
    said += reasons if len(reasons) == 1 and reasons <= {BY_SPREAD, BY_THRESHOLD} else ()
    return "".join(f", {part}" for part in said)


_RULES: Final = 2
"""Floors and tolerances that a line tells with their figures."""


def _everywhere(report: Report) -> str:
    return "\n".join(
        printable(
            f"{e.name}: slightly slow everywhere, {on_average(e)} (z {fmt.number(e.z, 2)})"
            + ("" if e.confirmed else "; fewer than three sessions: a suspicion")
            + mark(e.doubt)
        )
        for e in report.everywhere
    )


def _gaps(report: Report, everything: bool) -> str:
    gaps = report.further_gaps
    shown = gaps if everything else gaps[:_MISSING]
    lines = [printable(gap.text) for gap in shown]
    if len(shown) < len(gaps):
        lines.append(f"and {len(gaps) - len(shown)} more gaps (--all lists them)")
    return "\n".join(lines)


def _differing(report: Report) -> str:
    if not report.differing:
        return ""
    lines = [f"  {host}: {'; '.join(words)}" for host, words in report.differing.items()]
    return "\n".join(["what else is special about these hosts", *map(printable, lines)])


def _unlike(report: Report) -> str:
    """Say who was measured with something else; not what only odd hosts have, and most do not: that is special about them, and told above."""
    lines = [
        f"  {listed(one.hosts)}: {one.text}"
        for one in report.unlike
        if not (one.is_fact and not one.share and report.differing.keys() >= {*one.hosts})
    ]
    return "\n".join(["measured with something else", *map(printable, lines)]) if lines else ""


def _unmatched(report: Report) -> str:
    lines = [f"  {one.what} of {listed(one.hosts)}: {one.reason}" for one in report.unmatched]
    return "\n".join(["not compared with the other hosts", *map(printable, lines)]) if lines else ""


def _missing(report: Report, everything: bool) -> str:
    if not report.missing:
        return ""
    shown = report.missing if everything else report.missing[:_MISSING]
    lines = [f"  {what}: {listed(hosts)}" for what, hosts in shown]
    if len(shown) < len(report.missing):
        lines.append(f"  and {len(report.missing) - len(shown)} more (--all lists them)")
    return "\n".join(["no such number, or of some repeats only, from", *map(printable, lines)])


# --- for programs ------------------------------------------------------------------------------------------


def as_json(report: Report) -> str:
    """Return {accused: [host], by_chance: [host], nodes: {word: [host]}, groups, odd, everywhere, halves, differing, unlike, unmatched, gaps, missing, rerun, warnings}; values in base units."""
    document = {
        "accused": list(report.accused),
        "by_chance": sorted(report.chance.alone),
        "nodes": {word: names for word, names in report.by_status().items() if names},
        "folded": {word: folded(names) for word, names in report.by_status().items() if names},
        "groups": [_group_json(group) for group in report.groups],
        "odd": [_odd_json(odd) for odd in report.odd],
        "everywhere": [
            {
                "node": e.name,
                "z": e.z,
                "worse": e.worse,
                "numbers": e.metrics,
                "confirmed": e.confirmed,
                "doubtful": checks_of(e.doubt),
            }
            for e in report.everywhere
        ],
        "halves": [
            {
                "worse": list(halves.worse),
                "better": list(halves.better),
                "numbers": [one.name for one, _ in halves.strips],
            }
            for halves in report.halves
        ],
        "differing": {host: list(words) for host, words in report.differing.items()},
        "unlike": [
            {"what": one.what, "nodes": list(one.hosts), "here": one.here, "others": one.others}
            for one in report.unlike
        ],
        "unmatched": [
            {"what": one.what, "nodes": list(one.hosts), "reason": one.reason} for one in report.unmatched
        ],
        "gaps": [{"what": gap.what, "of": list(gap.of), "reason": gap.reason or None} for gap in report.gaps],
        "missing": [{"what": what, "nodes": list(hosts)} for what, hosts in report.missing],
        "rerun": {host: list(sweeps) for host, sweeps in report.rerun.items()},
        "warnings": list(report.warnings),
    }
    return json_text(document)


def _group_json(group: Group) -> dict[str, Any]:
    return {
        "hardware": dict(group.hardware.facts), "nodes": list(group.hosts), "differs": group.apart or None,
        "judged": group.judged, "baseline_sessions": group.baseline,
        "since_baseline": [{"what": one.what, "before": one.a, "after": one.b} for one in group.since],
        "numbers": [
            {**one.fields(), "median": strip.middle, "spread": strip.spread, "nodes": len(strip.hosts),
             "unseen": strip.unseen, "worse_half": list(strip.worse_half) or None,
             "doubtful": {host.name: checks_of(host.doubt) for host in strip.hosts if host.doubt}}
            for one, strip in group.strips
        ],
    }  # fmt: skip


def _odd_json(odd: Odd) -> dict[str, Any]:
    found = odd.found
    return {
        "node": odd.host, "verdict": found.status, **odd.series.fields(), "value": found.value, "median": odd.strip.middle,
        "change": odd.change, "worse": found.worse, "z": found.z, "sessions": found.sessions, "reason": odd.reason or None,
        "beyond_chance": found.beyond_chance,
        "doubtful": checks_of(found.doubt),
    }  # fmt: skip
