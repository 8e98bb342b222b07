"""What hosts were measured with, and which hosts differ from most."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

FACTS: Final = {
    "cpu_model": "processor",
    "microcode": "microcode",
    "bios_version": "firmware",
    "kernel": "kernel",
}
"""The facts of a session that may differ between equal hosts, with their names."""

CLOCK: Final = "clock"
_CLOCK_S: Final = 300.0
_SKIPPED: Final = "skipped: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Hosts that were measured with something else than most."""

    hosts: tuple[str, ...]
    what: str  # "fio"
    here: str  # "3.33", or "" without a version
    others: str  # "3.36", or "" without a version

    @property
    def text(self) -> str:
        """Return "fio 3.33, others 3.36"."""
        if self.what == CLOCK:
            return f"wrong clock: a session began at {self.here}, the sweep at {self.others}"
        if self.here.startswith(_SKIPPED):
            return f"{self.what} {self.here}"
        here = "not skipped" if self.others.startswith(_SKIPPED) else self.here or "none"
        return f"{self.what} {here}, others {self.others or 'none'}"


def of_session(
    facts: Mapping[str, Any],
    programs: Mapping[str, Mapping[str, Any]],
    skipped: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the measuring conditions of a session: "kernel" → "6.1". `skipped`: sweep → why none of it ran."""
    return {
        **{name: str(facts[key]) for key, name in FACTS.items() if facts.get(key) is not None},
        **{str(program.get("name") or tool): str(program.get("version") or "?") for tool, program in programs.items()},
        **{sweep: f"{_SKIPPED}{reason}" for sweep, reason in (skipped or {}).items()},
    }


def differences(traits: Mapping[str, Mapping[str, str]]) -> tuple[Difference, ...]:
    """Return which hosts were measured with something else than most (host → trait → value).

    A program is not missing on a host that skipped a sweep: the sweep is the difference.
    """
    hosts = {host: values for host, values in traits.items() if values}
    skips = {host for host, values in hosts.items() if any(v.startswith(_SKIPPED) for v in values.values())}
    rows = []
    for what in dict.fromkeys(name for values in hosts.values() for name in values):
        value_of = {host: values.get(what, "") for host, values in hosts.items()}
        ((usual, _),) = Counter(value_of.values()).most_common(1)
        groups: dict[str, list[str]] = {}
        for host, value in value_of.items():
            if value != usual and (value or host not in skips):
                groups.setdefault(value, []).append(host)
        rows += [Difference(hosts=tuple(group), what=what, here=v, others=usual) for v, group in groups.items()]
    return tuple(rows)


def clocks(sessions: Mapping[str, str], sweep_utc: str, now_utc: str) -> tuple[Difference, ...]:
    """Return the hosts with a wrong clock: the last session (host → begin) is earlier than the sweep or later than now.

    All times are UTC in ISO 8601. A host with an invalid time is omitted.
    """

    def is_wrong(started_utc: str) -> bool:
        try:
            first, time, last = map(datetime.datetime.fromisoformat, (sweep_utc, started_utc, now_utc))
            return max((first - time).total_seconds(), (time - last).total_seconds()) > _CLOCK_S
        except (ValueError, TypeError):  # no time, or a time without a zone
            return False

    return tuple(
        Difference(hosts=(host,), what=CLOCK, here=started, others=sweep_utc)
        for host, started in sessions.items()
        if is_wrong(started)
    )
