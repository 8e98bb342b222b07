"""How many suspicions chance alone makes of a fleet, who stands out from them, and whether there are too many for it to be the hosts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reports.text import format as fmt
from reports.verdicts.fleet import CONFIRMED, FALSE, LEAST_HOSTS, Host, Strip

_TOO_MANY: Final = 0.25
_SELDOM: Final = 0.01
"""Fleets of equal hosts in which chance makes so many finds: where it is fewer, it was not chance. Numbers that move together make more of them, which
errs to the side of telling."""


_OFTEN: Final = 0.1
"""Of 100 simulated equal hosts with 255 numbers one had 3 % of these odd, where 0.4 % were to be expected: sizes and delays move together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """Looks are hosts × numbers, of hosts with fewer than three sessions. What only a rule of the site accuses is counted nowhere."""

    looks: int
    found: int  # looks that are suspicious
    expected: float  # looks that were, if all hosts were equal
    hosts: int  # that are suspicious in something, with however many sessions
    of: int  # all hosts
    # suspicious numbers of hosts with three sessions or more; None: there is no such host
    confirmed: int | None = None
    # suspicious hosts that are further off, or oftener, than chance makes
    apart: frozenset[str] = frozenset()
    of_apart: int = 0  # looks of `found` that are these hosts'
    # suspicious hosts that chance alone may have made, all of them together
    alone: frozenset[str] = frozenset()

    @property
    def others(self) -> int:
        """Hosts that are suspicious and do not stand out."""
        return self.hosts - len(self.apart)

    @property
    def too_many(self) -> bool:
        """Do so many hosts look slow, beside those that stand out, that it cannot be the hosts? Or do so many stand out?"""
        return self._are_many(self.others) or self.many_apart

    @property
    def many_apart(self) -> bool:
        """Do so many hosts stand out that it cannot be the hosts?"""
        return self._are_many(len(self.apart))

    def _are_many(self, hosts: int) -> bool:
        return hosts >= LEAST_HOSTS and hosts > _TOO_MANY * self.of

    @property
    def text(self) -> str:
        """Say "112 of 5160 looks (hosts × numbers) are suspicious; where all hosts are equal, chance alone makes about 85"; beside hosts with
        three sessions or more, whose looks these are; "" of none."""
        if not self.found:
            return ""
        are = "is" if self.found == 1 else "are"
        whose = "" if self.confirmed is None else " of hosts with fewer than three sessions"
        looks = f"{fmt.count(self.found)} of {fmt.plural(self.looks, 'look')} (hosts × numbers){whose} {are} suspicious"
        others = f"; of hosts with more sessions {fmt.count(self.confirmed)}" if self.confirmed else ""
        if self.of_apart and self.of_apart < self.found:
            looks += f", {fmt.count(self.of_apart)} of them of {fmt.plural(len(self.apart), 'host that stands out', 'hosts that stand out')}"
        return f"{looks}; where all hosts are equal, chance alone makes {self._about}{others}"

    @property
    def _about(self) -> str:
        return "fewer than one" if self.expected < 1 else f"about {fmt.number(self.expected, 2)}"

    @property
    def warning(self) -> str:
        """Say why so many look slow, and what helps; "" where it may well be the hosts."""
        if not self.too_many:
            return ""
        chance = (
            f", or it is chance (finds by chance alone: {self._about}; here: {fmt.count(self.found - self.of_apart)})"
            if self.found > self.of_apart and not self.many_apart
            else ""
        )
        beside = (
            f", beside {fmt.count(len(self.apart))} that {'stands' if len(self.apart) == 1 else 'stand'} out"
            if self.apart and not self.many_apart
            else ""
        )
        return (
            f"{self.hosts if self.many_apart else self.others} of {fmt.count(self.of)} hosts look slow in something{beside}: the runs scatter, the hosts were not idle{chance}. "
            "Longer runs and more repeats on all hosts help more than a second look at these"
        )


def chance(
    strips: Iterable[Strip], odd: Mapping[str, Sequence[Host]], known: Collection[str], hosts: int
) -> Chance:
    """Return what chance makes of `strips`. `odd`: host → all that is odd about it; `known`: hosts that are accused, or that all numbers together
    suspect; `hosts`: how many there are."""
    every = list(strips)
    finds = {name: told for name, own in odd.items() if (told := [one for one in own if one.status == "suspicious" and not one.of_rule])}  # fmt: skip
    found = [one for own in finds.values() for one in own]
    of = Counter(host.name for strip in every for host in strip.hosts)
    looked_at = {host.name for strip in every for host in strip.hosts if host.sessions < CONFIRMED} or {""}
    often = any(host.sessions >= CONFIRMED for strip in every for host in strip.hosts)
    expected = sum(strip.by_chance for strip in every)
    apart = {
        name
        for name, own in finds.items()
        if name in known
        or any(one.beyond_chance for one in own)
        or _often(sum(one.sessions < CONFIRMED for one in own), of[name], expected / len(looked_at), FALSE / len(looked_at))
    }  # fmt: skip
    others = [name for name in finds if name not in apart and all(_may_be_chance(one) for one in odd[name])]
    alone = _seldom(sum(len(finds[name]) for name in others), expected) >= _SELDOM
    return Chance(
        looks=sum(strip.looks for strip in every),
        found=sum(one.sessions < CONFIRMED for one in found),
        expected=expected,
        hosts=len(finds),
        of=hosts,
        confirmed=sum(one.sessions >= CONFIRMED for one in found) if often else None,
        apart=frozenset(apart),
        of_apart=sum(one.sessions < CONFIRMED for name in apart for one in finds[name]),
        alone=frozenset(others if alone else ()),
    )


def _may_be_chance(found: Host) -> bool:
    return found.status == "suspicious" and found.sessions < CONFIRMED and not found.of_rule


def _often(finds: int, of: int, expected: float, seldom: float) -> bool:
    """Does a host have more finds than chance makes, and a share of its numbers that those which move together do not explain?"""
    return finds >= _OFTEN * of and _seldom(finds, expected) < seldom


def _seldom(finds: int, expected: float) -> float:
    """Return the share of fleets of equal hosts in which chance makes so many finds or more (Poisson)."""
    from scipy.special import pdtrc

    return float(pdtrc(finds - 1, expected)) if finds else 1.0
