"""By how much, and in how many of its numbers, a host is off. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from reports.fleet.outliers import Report
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.hostlist import listed
from reports.verdicts.fleet import CONFIRMED

MOST_NAMED: Final = 12
"""Hosts that a sentence names; of more it says how many."""

_SIZED: Final = 4
"""Hosts of a sentence that have their own figures, the worst first; the others are named."""


def sizes(report: Report, hosts: Sequence[str], most: int) -> str:
    """Return "n005 (20 to 27 % worse in 244 of 255 numbers), n007 (12 to 13 % in 48) and n[009-010]", the worst first: of a host what no chance makes,
    where that is some of it. Of more than `most` hosts those without figures are counted."""
    first = hosts[: _SIZED if len(hosts) > _SIZED + 1 else len(hosts)]
    told: list[str] = []
    for host in first:
        how = size(report, host, of=not told)
        told.append(f"{host} ({how})" if how else host)
    if rest := hosts[len(first) :]:
        told.append(listed(rest) if len(hosts) <= most else fmt.plural(len(rest), "other"))
    return fmt.words(told)


def size(report: Report, host: str, *, of: bool = True) -> str:
    """Return "20 to 27 % worse in 244 of 255 numbers", or without `of`; "" of what only a rule of the site accuses."""
    own = [one for one in report.counted() if one.host == host and one.found.status not in ("fast", "ok")]
    worst = {one.found.status for one in own} - {"suspicious"}
    own = [one for one in own if not worst or one.found.status in worst]
    own = [one for one in own if one.found.beyond_chance] or own
    whole = next((e for e in report.everywhere if e.name == host), None)
    if whole is not None:
        return f"{fmt.percent(whole.worse)} worse on average over {whole.metrics} numbers"
    if not own or any(one.found.of_rule or one.found.worse is None for one in own):
        return ""
    every = sum(
        found.name == host and found.status != "unknown" and (host, one.key) not in report.repeated
        for group in report.groups
        for one, strip in group.strips
        for found in strip.hosts
    )
    span = fmt.worse_by([one.found.worse for one in own if one.found.worse is not None])
    return f"{span} in {fmt.count(len(own))}" + (f" of {fmt.plural(every, 'number')}" if of else "")


def alone(report: Report, most: int) -> str:
    """Return "5 more hosts, n[002,006,008-010], are 1.5 to 2.1 % worse in one to two numbers each, as many as chance makes"; "" of none. Of more than
    `most` hosts it names none."""
    by_host = group_by(report.by_chance, lambda odd: odd.host)
    if not by_host:
        return ""
    span = fmt.worse_by([odd.found.worse or 0.0 for odd in report.by_chance])
    numbers = _numbers({len(own) for own in by_host.values()})
    if len(by_host) == 1:
        return f"{next(iter(by_host))} is {span} in {numbers}, as chance makes"
    more = " more" if report.accused or report.again else ""
    named = f", {listed(by_host)}," if len(by_host) <= most else ""
    return f"{len(by_host)}{more} hosts{named} are {span} in {numbers} each, as many as chance makes"


def _numbers(counts: Collection[int]) -> str:
    """Return "one number", "one to five numbers"."""
    low, high = min(counts), max(counts)
    return f"{fmt.spelled(low)}{f' to {fmt.spelled(high)}' if low < high else ''} number{'s' if high > 1 else ''}"


def sessions_of(report: Report, hosts: Sequence[str]) -> str:
    """Return "one session each", or why hosts are suspicious and not accused in other words."""
    counts = {report.counted_sessions[host] for host in hosts}
    if len(counts) == 1 and (n := max(counts)) < CONFIRMED:
        return f"{fmt.spelled(n)} session{'s' if n > 1 else ''}{' each' if len(hosts) > 1 else ''}"
    return report.suspected(hosts)
