"""Date sessions, and combine sessions that are one piece of evidence. Pure.

All runs of one boot of a host within an hour are one session, because a resumed run shares the disturbances of that
hour. Wall clocks may be set during a sweep, but the time since boot is reliable. If a session recorded both, the other
sessions of the boot show whether the wall clock was right.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from orchestrator.store.result_file import Session
from parsers.errors import UserError
from reports.results.grouping import group_by
from reports.results.model import Machine, Results
from reports.text import format as fmt
from reports.text.hostlist import listed

SessionKey = tuple[str, int]
"""A session: its file, its number there."""

HOUR: Final = 3600.0
STEP, DRIFT = 120.0, 0.001
"""What two clocks may differ by, in s, and as a share of the time between: reading the facts takes seconds, a free clock drifts."""
SOUND: Final = datetime.fromisoformat("2025-01-01T00:00:00+00:00").timestamp()
"""The lowest plausible time, before the first pinsweep. A clock with an earlier time was reset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """The known times of a session."""

    at: float  # s since 1970, by the clock that is most likely right; 0: not known
    evidence: SessionKey  # the first session of its boot in that hour: the same for all that are one piece of evidence
    stepped: str = ""  # reason why the wall clock is wrong


def minute(at: float) -> str:
    """Return "2026-09-27 03:00", UTC, for seconds since 1970."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"


def second(at: float) -> str:
    """Return "2026-09-27 03:00:12", UTC, for seconds since 1970."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"


def timeline(machines: Iterable[Machine]) -> dict[SessionKey, When]:
    """Return the times of the sessions, earliest first. A session without a recorded boot is separate evidence."""
    result: dict[SessionKey, When] = {}
    for own in group_by(machines, _boot).values():
        clocks = _clocks([machine.session for machine in own])
        at = {_key(machine): clock for machine, clock in zip(own, clocks, strict=True)}
        first: SessionKey | None = None
        for key in sorted(at, key=lambda key: (at[key][0], key)):
            if first is None or at[key][0] - at[first][0] > HOUR:
                first = key
            result[key] = When(at=at[key][0], evidence=first, stepped=at[key][1])
    return dict(sorted(result.items(), key=lambda item: (item[1].at, item[0])))


def of_hosts(results: Results) -> tuple[tuple[Machine, ...], list[str]]:
    """Return the sessions with known host and time, and a remark on the other sessions, which are captured texts.

    Raises UserError if there is no run, or if there are only captured texts.
    """
    if not results.measured:
        files = list(results.paths)
        place = ", ".join(files) if len(files) <= 3 else f"{files[0]} and {len(files) - 1} more files"
        cause = f"{results.taken_in}: nothing to compare" if results.texts else "no runs"
        raise UserError(place, cause, "give result files of `pinsweep run`")
    return results.measured, [f"{results.taken_in}: left out"] if results.texts else []


def counted(sessions: int, evidence: int) -> str:
    """Return "3 sessions (one boot within an hour: count as 1)"."""
    fewer = f" (one boot within an hour: count as {evidence})" if evidence < sessions else ""
    return f"{fmt.plural(sessions, 'session')}{fewer}"


def clock_warnings(machines: Iterable[Machine], when: Mapping[SessionKey, When]) -> list[str]:
    """Return one sentence with the number of sessions with a wrong wall clock and an example. Empty without such
    sessions.
    """
    wrong = sorted((m for m in machines if when[_key(m)].stepped), key=lambda m: (m.host, when[_key(m)].at, m.file))
    return [
        f"{fmt.plural(len(wrong), 'session')} with a wrong clock, for example {m.host} "
        f"({m.file}, {m.session.started_utc[:16].replace('T', ' ')}): {when[_key(m)].stepped}"
        for m in wrong[:1]
    ]


def overlapping(
    machines: Iterable[Machine], when: Mapping[SessionKey, When], names: Mapping[SessionKey, str]
) -> list[str]:
    """Return a sentence for each name in `names` with two boots at the same time: several machines share the name."""
    boots = group_by(
        (m for m in machines if m.session.facts.get("uptime_s") and m.session.facts.get("boot_id") and not when[_key(m)].stepped),
        lambda m: (names[_key(m)], m.session.facts["boot_id"]),
    )  # fmt: skip
    spans = [
        (name, when[_key(own[0])].at - own[0].session.facts["uptime_s"], max(when[_key(m)].at for m in own))
        for (name, _), own in boots.items()
    ]
    later = {
        name: minute(second[1])
        for name, own in group_by(sorted(spans), lambda span: span[0]).items()
        if (second := next((b for a, b in itertools.pairwise(own) if b[1] < a[2] - STEP), None))
    }
    sentences = [
        f"{listed(own)} {'was' if len(own) == 1 else 'were'} booted at {at}, and an earlier boot of {'it' if len(own) == 1 else 'each'} ran on: "
        "several machines have this name, or a clock was wrong"
        for at, own in group_by(later, later.__getitem__).items()
    ]
    rest = len(sentences) - _MOST_TOLD
    more = [f"and {fmt.plural(rest, 'more moment')} at which boots overlap"] if rest > 0 else []
    return [*sentences[:_MOST_TOLD], *more]


_MOST_TOLD: Final = 5


def _key(machine: Machine) -> SessionKey:
    return machine.file, machine.session.session


def _boot(machine: Machine) -> tuple[object, ...]:
    boot = machine.session.facts.get("boot_id")
    return (machine.host, boot) if boot else (machine.host, *_key(machine))


def _clocks(sessions: Sequence[Session]) -> list[tuple[float, str]]:
    """Return the start of each session of a boot, and the error of its clock."""
    uptimes = [session.facts.get("uptime_s") for session in sessions]
    counts = Counter(uptimes)  # two sessions cannot begin at the same hundredth of a second: one is a copy of the other
    known = {
        i: (float(up), _seconds(session.started_utc) - up)
        for i, (session, up) in enumerate(zip(sessions, uptimes, strict=True))
        if isinstance(up, int | float) and counts[up] == 1
    }

    def agree(a: tuple[float, float], b: tuple[float, float]) -> bool:
        return abs(a[1] - b[1]) <= STEP + DRIFT * abs(a[0] - b[0])

    # the most common boot time. Of two times the later session's, because clocks are corrected
    best = max(known.values(), key=lambda k: (sum(agree(k, o) for o in known.values()), k[0]), default=None)
    times = []
    for i, session in enumerate(sessions):
        at, stepped = _alone(session)
        if best is not None and i in known and not agree(known[i], best):
            off = known[i][1] - best[1]
            at = best[1] + known[i][0]
            stepped = f"its clock was {fmt.seconds(abs(off))} {'ahead of' if off > 0 else 'behind'} that of other sessions of the same boot"
        times.append((at, stepped))
    return times


def _alone(session: Session) -> tuple[float, str]:
    """Return the start of a session by its own clock, and the session's own remark on the clock."""
    began, ended = _seconds(session.started_utc), _seconds(session.ended_utc or "")
    if 0 < ended < began:
        return began, f"its clock went back by {fmt.seconds(began - ended)} while it ran"
    if began < SOUND:
        return (ended if ended > SOUND else began), f"its clock said {session.started_utc[:10] or 'nothing'}"
    return began, ""


def _seconds(utc: str) -> float:
    try:
        return datetime.fromisoformat(utc).timestamp()
    except ValueError:
        return 0.0
