"""Whether suspects share a switch or a rack, by more than chance. Pure.

Suspects are not many, and a switch has many hosts: that all of them are on one is news only where the hosts are on several. Of a switch
with n of N judged hosts, K of them suspects, chance alone puts k or more there with the probability of the hypergeometric
distribution; hosts of one kind of hardware are drawn among their own, so that a slow kind that fills a rack accuses no rack. As many
switches as there are have such a chance each: it is multiplied by their number.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from reports.fleet.outliers import ACCUSED, Report
from reports.text import format as fmt
from reports.text.hostlist import listed

RARE: Final = 0.01
"""Of fleets whose suspects stand anywhere, so many at most are told that they share a place."""

SUSPECTS: Final = ACCUSED | {"suspicious"}

LEAST: Final = 2
"""Suspects that it takes to share anything."""


def shared(
    kinds: Sequence[Collection[str]], suspects: Collection[str], places: Mapping[str, Iterable[str]]
) -> list[str]:
    """Return a sentence for each place that has more suspects than chance makes, or one that says that there is none.

    kinds     the judged hosts, those of one hardware together
    suspects  some of them
    places    switch or rack → its hosts; a host may be in several (a leaf and its spine)
    """
    strata = [frozenset(kind) for kind in kinds]
    judged = frozenset[str]().union(*strata)
    odd = judged & frozenset(suspects)
    if len(odd) < LEAST:
        return []
    inside = {name: judged.intersection(hosts) for name, hosts in places.items()}
    if not any(inside.values()):
        return ["none of the judged hosts is on a switch or in a rack that is listed"]
    distinct = {hosts: name for name, hosts in reversed(inside.items()) if LEAST <= len(hosts) < len(judged)}
    if not distinct:
        return []  # all of them are in one place, and so is every suspect
    chance = {hosts: _tail(hosts, strata, odd) * len(distinct) for hosts in distinct}
    told: list[str] = []
    explained: list[frozenset[str]] = []
    for hosts in sorted(distinct, key=lambda h: (chance[h], len(h), distinct[h])):
        if chance[hosts] > RARE:
            break
        if any(hosts & one for one in explained):  # the spine above the leaf
            continue
        explained.append(hosts)
        here = hosts & odd
        told.append(
            f"{listed(here)}: {len(here)} of {len(odd)} suspects are in {distinct[hosts]}, which has {len(hosts)} of {len(judged)} "
            f"hosts; by chance in {_one_in(chance[hosts])}: look at what they share"
        )
    if not told:
        places_of = [hosts for hosts in distinct if hosts & odd]
        told.append(
            f"the {len(odd)} suspects are in {len(places_of)} of {fmt.plural(len(distinct), 'switch or rack', 'switches or racks')}: none has more of them than chance makes"
        )
    return told


def of_report(report: Report, places: Mapping[str, Iterable[str]]) -> list[str]:
    """Return what `shared` says of a fleet: the suspects are its broken, slow and suspicious hosts. Names with and without a domain
    are the same host."""
    known = {host for hosts in places.values() for host in hosts}

    def host(name: str) -> str:
        own = report.sessions[name][-1].host
        return own if own in known else own.partition(".")[0]

    kinds = [
        [host(name) for name in group.hosts if report.statuses[name] != "unknown"] for group in report.groups
    ]
    suspects = [host(name) for name, status in report.statuses.items() if status in SUSPECTS]
    return shared(kinds, suspects, places)


def _tail(hosts: frozenset[str], kinds: Iterable[frozenset[str]], odd: frozenset[str]) -> float:
    """Return the probability that chance puts as many of the suspects among some hosts, or more."""
    ways = [1.0]  # number of suspects there → probability, over the kinds so far
    for kind in kinds:
        n, there, bad = len(kind), len(kind & hosts), len(kind & odd)
        own = [
            math.comb(bad, k) * math.comb(n - bad, there - k) / math.comb(n, there)
            for k in range(min(bad, there) + 1)
        ]
        together = [0.0] * (len(ways) + len(own) - 1)
        for i, a in enumerate(ways):
            for j, b in enumerate(own):
                together[i + j] += a * b
        ways = together
    return math.fsum(ways[len(hosts & odd) :])


def _one_in(chance: float) -> str:
    """Return "1 of 2 300 fleets", with two digits and never fewer than there are."""
    fleets = 1 / max(chance, 1e-9)
    step = 10 ** max(0, math.floor(math.log10(fleets)) - 1)
    return f"1 of {fmt.count(int(fleets // step) * step)} fleets"
