"""What checks doubt of a fleet: those that doubt all its numbers are told once, and marked nowhere. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from reports.checks import checks
from reports.checks.doubts import of_all_numbers
from reports.draw.figure import MARK
from reports.fleet.outliers import Report
from reports.results import convicted
from reports.results.convicted import but, checks_of, of_each
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.hostlist import listed
from reports.verdicts.fleet import Strip

_WORDED = 3
"""Checks that are told by what they say; of more one that doubts most hosts."""


def of_all(report: Report) -> tuple[str, ...]:
    """Return the checks that doubt each number of each host."""
    return of_each(
        [host.doubt for group in report.groups for _, strip in group.strips for host in strip.hosts]
    )


def without(report: Report, ids: Collection[str]) -> Report:
    """Return a report in which some checks doubt nothing: what is told of all numbers is no mark of one."""
    if not ids:
        return report

    def of_strip(strip: Strip) -> Strip:
        hosts = tuple(replace(host, doubt=but(host.doubt, ids)) for host in strip.hosts)
        return replace(strip, hosts=hosts)

    return replace(
        report,
        groups=tuple(
            replace(group, strips=tuple((one, of_strip(strip)) for one, strip in group.strips))
            for group in report.groups
        ),
        odd=tuple(
            replace(odd, strip=of_strip(odd.strip), found=replace(odd.found, doubt=but(odd.found.doubt, ids)))
            for odd in report.odd
        ),
        everywhere=tuple(replace(one, doubt=but(one.doubt, ids)) for one in report.everywhere),
        guilty=convicted.without(report.guilty, ids),
    )


def said_of_all(ids: Collection[str]) -> str:
    """Return "⚠ doubtful: all numbers, by S1 (arrays smaller than …)"; "" of no check."""
    return of_all_numbers(dict.fromkeys(ids, ""))


def doubtful(report: Report, most: int) -> str:
    """Return "⚠ doubtful: node[003,017] (page cache, F1), node005 (repeats far apart, G11)": the odd hosts of whose odd numbers a check doubts one,
    of more than `most` how many; of many checks "⚠ doubtful: node[003,017], by 7 checks, among them repeats far apart (G11)"; "" of none."""
    found = report.doubted
    if not found:
        return ""
    titles = {check.id: check.title for check in checks()}
    ids = Counter(key for own in found.values() for key in checks_of(own))
    hosts = listed(found) if len(found) <= most else fmt.plural(len(found), "host")
    if len(ids) > _WORDED:
        first = max(ids, key=lambda key: ids[key])
        return f"{MARK} doubtful: {hosts}, by {len(ids)} checks, among them {titles[first]} ({first})"

    def worded(own: str) -> str:
        return fmt.words([f"{titles[key]}, {key}" for key in checks_of(own)])

    if len(found) > most:
        return f"{MARK} doubtful: {hosts} ({worded(', '.join(ids))})"
    alike = group_by(found.items(), lambda one: one[1])
    told = [f"{listed(host for host, _ in own)} ({worded(same)})" for same, own in alike.items()]
    return f"{MARK} doubtful: {', '.join(told)}"
