"""Whether slow hosts share a switch or a rack, by more than chance. Pure.

Chance puts k or more of K slow hosts among the n of N hosts of a switch with the probability of the hypergeometric
distribution, for each kind of hardware in its own hosts, so that a slow kind that fills a rack does not accuse the
rack. Each switch has that chance, so it is multiplied by their number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from reports.fleet.judge import SLOW, Fleet
from reports.text.hostlist import listed

RARE: Final = 0.01
"""The part of fleets with slow hosts at random places that get a warning, at most."""

MIN_SUSPECTS: Final = 2


def shared(
    kinds: Sequence[Collection[str]], suspects: Collection[str], places: Mapping[str, Iterable[str]]
) -> list[tuple[str, tuple[str, ...], float]]:
    """Return the places that have more suspects than chance makes: place, its suspects, the chance.

    kinds: the judged hosts, those of one hardware together. places: switch or rack → its hosts; a host may be in
    several.
    """
    strata = [frozenset(kind) for kind in kinds]
    judged = frozenset[str]().union(*strata)
    odd = judged & frozenset(suspects)
    if len(odd) < MIN_SUSPECTS:
        return []
    inside = {name: judged.intersection(hosts) for name, hosts in places.items()}
    distinct = {hosts: name for name, hosts in reversed(inside.items()) if MIN_SUSPECTS <= len(hosts) < len(judged)}
    chance = {hosts: _tail(hosts, strata, odd) * len(distinct) for hosts in distinct}
    places_found: list[tuple[str, tuple[str, ...], float]] = []
    explained = frozenset[str]()
    for hosts in sorted(distinct, key=lambda h: (chance[h], len(h), distinct[h])):
        if chance[hosts] <= RARE and not hosts & explained:  # not the spine above the leaf
            explained |= hosts
            places_found.append((distinct[hosts], tuple(sorted(hosts & odd)), chance[hosts]))
    return places_found


def warn_shared(fleet: Fleet, places: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a line for each switch or rack with too many slow hosts. Names with and without a domain are the same
    host."""
    listed_hosts = {host for hosts in places.values() for host in hosts}

    def host(name: str) -> str:
        hostname = fleet.members.machines[name][-1].host
        return hostname if hostname in listed_hosts else hostname.partition(".")[0]

    judged = fleet.hosts[fleet.hosts["status"] != "unknown"]
    kinds = [[host(name) for name in group.index] for _, group in judged.groupby("group")]
    suspects = [host(name) for name in judged.index[judged["status"].isin([*SLOW, "suspicious"])]]
    return [
        f"{len(hosts)} of {len(suspects)} suspects are in {place}: {listed(hosts)}"
        for place, hosts, _ in shared(kinds, suspects, places)
    ]


def _tail(hosts: frozenset[str], kinds: Iterable[frozenset[str]], odd: frozenset[str]) -> float:
    """Return the probability that chance puts as many of the suspects among some hosts, or more."""
    import numpy as np
    from scipy.stats import hypergeom

    ways = np.ones(1)  # number of suspects there → probability, over the kinds so far
    for kind in kinds:
        there, bad = len(kind & hosts), len(kind & odd)
        ways = np.convolve(ways, hypergeom.pmf(np.arange(min(bad, there) + 1), len(kind), bad, there))
    return float(ways[len(hosts & odd) :].sum())
