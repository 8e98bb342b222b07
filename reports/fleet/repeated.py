"""Which numbers of a host are another number of it, told once more: it is counted once. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from reports.numbers.series import Key, Series
from reports.results.grouping import group_by
from reports.verdicts.fleet import CONFIRMED, Strip

Known = tuple[Series, Strip]


def repeated(strips: Iterable[Known]) -> frozenset[tuple[str, Key]]:
    """Return (host, number) of what repeats another number of the host: where the bandwidth at delay 0 is the highest of a curve, it is its peak
    bandwidth, too. Of the two it is the derived one, unless that alone is odd."""
    found = set()
    for cell in group_by(
        strips, lambda row: (row[0].key.program, row[0].key.sweep, row[0].key.point_id)
    ).values():
        derived = [row for row in cell if row[0].key.name.derived]
        for one, strip in derived:
            read = [row for row in cell if not row[0].key.name.derived and row[0].unit == one.unit]
            odd = {host.name for host in strip.hosts if host.is_odd}
            same = _same(strip, read)
            found |= {
                (name, one.key) if name not in odd or plain_is_odd else (name, plain.key)
                for name, (plain, plain_is_odd) in same.items()
            }
    return frozenset(found)


def once(row: Known, again: Collection[tuple[str, Key]]) -> Strip:
    """Return the strip of a number without the looks of hosts of which it repeats another number."""
    one, strip = row
    left_out = sum((host.name, one.key) in again and host.sessions < CONFIRMED for host in strip.hosts)
    if not left_out or not strip.looks:
        return strip
    looks = strip.looks - left_out
    return replace(strip, looks=looks, by_chance=strip.by_chance * looks / strip.looks)


def _same(strip: Strip, read: Iterable[Known]) -> dict[str, tuple[Series, bool]]:
    """Return host → the number that was read and has the same value, and whether it is odd; the odd one where several have it."""
    values = {host.name: host.value for host in strip.hosts}
    found: dict[str, tuple[Series, bool]] = {}
    for one, own in read:
        for host in own.hosts:
            if values.get(host.name) == host.value and not found.get(host.name, (one, False))[1]:
                found[host.name] = (one, host.is_odd)
    return found
