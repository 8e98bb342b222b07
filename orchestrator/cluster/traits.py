"""What a host was measured with, and who was measured with something else than most. Pure."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

FACTS: Final = {
    "cpu_model": "processor", "microcode": "microcode", "bios_version": "firmware", "kernel": "kernel",
}  # fmt: skip
"""The facts of a session by which equal hosts may differ, with their words."""

CLOCK: Final = "clock"
_CLOCK_S: Final = 300.0
_SKIPPED: Final = "skipped: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Hosts that were measured with something else than most."""

    hosts: tuple[str, ...]
    what: str  # "fio"
    here: str  # "3.33"; "": they have none
    others: str  # "3.36"; "": they have none
    share: str = ""  # "5 of 10": how many have that, where it is no more than half of all

    @property
    def text(self) -> str:
        """Return "fio 3.33, others 3.36", "fio 3.33; 5 of 10 hosts: 3.36"."""
        if self.what == CLOCK:
            return f"{self.what} is wrong: a session began at {self.here}, but the sweep at {self.others}"
        if self.here.startswith(_SKIPPED):
            return f"{self.what} {self.here}"
        if _SKIPPED in self.others:
            return f"{self.what} not skipped{self._beside}{self.others}"
        return f"{f'{self.what} {self.here}' if self.here else f'no {self.what}'}{self._beside}{self.others or 'none'}"

    @property
    def _beside(self) -> str:
        return f"; {self.share} hosts: " if self.share else ", others "


def of_session(
    facts: Mapping[str, Any],
    programs: Mapping[str, Mapping[str, Any]],
    left_out: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return what a session was measured with: "kernel" → "6.1", "fio" → "3.33"; `left_out`: sweep → why none of it ran."""
    found = {word: str(facts[key]) for key, word in FACTS.items() if facts.get(key) is not None}
    for tool, program in programs.items():
        found[str(program.get("name") or tool)] = str(program.get("version") or "?")
    return found | {sweep: f"{_SKIPPED}{reason}" for sweep, reason in (left_out or {}).items()}


def differences(traits: Mapping[str, Mapping[str, str]]) -> tuple[Difference, ...]:
    """Return who was measured with something else than most of these hosts. A program that nothing was left of to run is no difference."""
    found = []
    of = {host: own for host, own in traits.items() if own}
    if len(of) < 2:
        return ()
    for what in dict.fromkeys(name for own in of.values() for name in own):
        here = {host: own.get(what, "") for host, own in of.items()}
        (usual, often), *_ = Counter(here.values()).most_common(1)
        if often == len(here):
            continue
        groups: dict[str, list[str]] = {}
        for host, value in here.items():
            if value != usual and (value or not _skips(of[host])):
                groups.setdefault(value, []).append(host)
        share = "" if 2 * often > len(here) else f"{often} of {len(here)}"
        found += [
            Difference(hosts=tuple(hosts), what=what, here=value, others=usual, share=share)
            for value, hosts in groups.items()
        ]
    return tuple(found)


def clocks(sessions: Mapping[str, str], begun: str, now: str) -> tuple[Difference, ...]:
    """Return the hosts of which the last session began before their sweep, or later than now. All times are UTC in ISO 8601."""

    def is_wrong(started: str) -> bool:
        try:
            first, time, last = map(datetime.datetime.fromisoformat, (begun, started, now))
            return (first - time).total_seconds() > _CLOCK_S or (time - last).total_seconds() > _CLOCK_S
        except (ValueError, TypeError):  # no time, or one without a zone
            return False

    return tuple(
        Difference(hosts=(host,), what=CLOCK, here=started, others=begun)
        for host, started in sessions.items()
        if is_wrong(started)
    )


def _skips(traits: Mapping[str, str]) -> bool:
    return any(value.startswith(_SKIPPED) for value in traits.values())
