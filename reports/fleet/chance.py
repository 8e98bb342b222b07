"""How many suspicions chance alone makes of a fleet, and whether there are too many for it to be the hosts. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from reports.text import format as fmt
from reports.verdicts.fleet import CONFIRMED, LEAST_HOSTS, Host, Strip

_TOO_MANY: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """Looks are hosts × numbers, of hosts with fewer than three sessions. What only a rule of the site accuses is counted nowhere."""

    looks: int
    found: int  # looks that are suspicious
    expected: float  # looks that were, if all hosts were equal
    hosts: int  # that are suspicious in something, with however many sessions
    of: int  # all hosts
    confirmed: int | None = (
        None  # suspicious numbers of hosts with three sessions or more; None: there is no such host
    )

    @property
    def too_many(self) -> bool:
        """Do so many hosts look slow beside the others that it cannot be the hosts?"""
        return self.hosts >= LEAST_HOSTS and self.hosts > _TOO_MANY * self.of

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
            f", or it is chance (finds by chance alone: {self._about}; here: {fmt.count(self.found)})"
            if self.found
            else ""
        )
        return (
            f"{self.hosts} of {fmt.count(self.of)} hosts look slow in something: the runs scatter, the hosts were not idle{chance}. "
            "Longer runs and more repeats on all hosts help more than a second look at these"
        )


def chance(strips: Iterable[Strip], suspicious: Iterable[Host], hosts: int) -> Chance:
    """Return what chance makes of `strips`. `suspicious`: what is found so, a host as often as in numbers; `hosts`: how many there are."""
    every = list(strips)
    found = [one for one in suspicious if not one.of_rule]
    often = any(host.sessions >= CONFIRMED for strip in every for host in strip.hosts)
    return Chance(
        looks=sum(strip.looks for strip in every),
        found=sum(one.sessions < CONFIRMED for one in found),
        expected=sum(strip.by_chance for strip in every),
        hosts=len({one.name for one in found}),
        of=hosts,
        confirmed=sum(one.sessions >= CONFIRMED for one in found) if often else None,
    )
