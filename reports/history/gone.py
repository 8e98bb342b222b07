"""What became of the runs of sessions without a number: those that failed, and numbers that the last sessions of a host lack. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from reports.history.moments import Moment, places, session_of
from reports.numbers.series import Series
from reports.results import naming
from reports.results.grouping import group_by
from reports.results.model import LEFT_OUT, Run
from reports.results.sessions import SessionKey
from reports.text import format as fmt
from reports.text.hostlist import listed

Why = Literal["failed", "left out", "not printed", "not run"]

LEAST: Final = 3
"""Sessions that had the number: what was tried once or twice is not missed. And sessions without it of which none ran its sweep at all: one that measured
something else is no loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """A number of a host that its last sessions do not have."""

    host: str
    series: Series
    since: Moment  # the first session without it that ran its cell; of what is not run any more, the first without it
    sessions: int  # such sessions
    why: Why
    runs: tuple[Run, ...]  # those of its cell since

    @property
    def reason(self) -> str:
        """Return "its runs failed, exit status 7: memory error"."""
        if self.why == "not run":
            return "not run any more"
        if self.why == "not printed":
            return "its runs end well and do not print it"
        return f"{'failed' if self.why == 'failed' else 'no run of it can be used'}, {_reason(self.runs)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A session of which runs should have given a number, and failed."""

    moment: Moment
    reason: str  # "exit status 7: memory error"


class Tries:
    """The runs of each cell, with and without a number, by the sessions of their hosts."""

    def __init__(self, runs: Iterable[Run], attempts: Mapping[str, Sequence[Moment]]) -> None:
        """attempts: host → all sessions that started a run, oldest first."""
        self.attempts, self.place = attempts, places(attempts)
        self._of_cell: dict[tuple[str, ...], dict[int, list[Run]]] = {}
        self._sweeps = set()
        for run in runs:
            if at := self.place.get(session_of(run)):
                host, i = at
                self._of_cell.setdefault((host, *_cell(run)), {}).setdefault(i, []).append(run)
                self._sweeps.add((host, i, run.tool, run.cell.sweep))

    def of(self, one: Series, host: str) -> Mapping[int, Sequence[Run]]:
        """Return index of a session of a host → the runs there of a number's cell."""
        key = one.key
        return self._of_cell.get((host, key.tool, key.program, key.sweep, key.point_id), {})

    def ran_sweep(self, one: Series, host: str, i: int) -> bool:
        return (host, i, one.key.tool, one.key.sweep) in self._sweeps

    def failed(self, one: Series, host: str, had: Iterable[Moment]) -> tuple[Failed, ...]:
        """Return the sessions of a host that ran a number's cell, of which a run failed, beside those that have the number; oldest first."""
        with_number = {self.place[key] for moment in had for key in moment.keys}
        return tuple(
            Failed(moment=self.attempts[host][i], reason=_reason(filter(_failed, runs)))
            for i, runs in sorted(self.of(one, host).items())
            if (host, i) not in with_number and any(map(_failed, runs))
        )


def gone(collected: Iterable[Series], tries: Tries) -> list[Gone]:
    """Return the numbers of each host that LEAST sessions had and none has since.

    Of a number whose cell is not run any more every session from the first that has it to the last has run the cell, and one since has run its sweep, or
    there are LEAST since: what is measured once a week, or apart, is not gone in between.
    """
    found = []
    for one in collected:
        for host, sessions in _by_host({v.session for v in one.values}, tries.place).items():
            last, moments, ran = max(sessions), tries.attempts[host], tries.of(one, host)
            since = sorted(i for i in ran if i > last)
            later = range(last + 1, len(moments))
            left = any(tries.ran_sweep(one, host, i) for i in later) or len(later) >= LEAST
            steady = left and all(i in ran for i in range(min(sessions), last + 1))
            if len(sessions) < LEAST or not later or not (since or steady):
                continue
            after = [run for i in since for run in ran[i]]
            found.append(
                Gone(
                    host=host, series=one, since=moments[since[0] if since else last + 1],
                    sessions=len(since) or len(later), why=_why(after), runs=tuple(after),
                )
            )  # fmt: skip
    return found


def _by_host(
    sessions: Iterable[SessionKey], place: Mapping[SessionKey, tuple[str, int]]
) -> dict[str, set[int]]:
    by_host = group_by((place[key] for key in sorted(sessions) if key in place), lambda at: at[0])
    return {host: {i for _, i in own} for host, own in by_host.items()}


def _cell(run: Run) -> tuple[str, str, str, str]:
    return run.tool, naming.program_kind(run), run.cell.sweep, run.record.point_id


def _why(runs: Sequence[Run]) -> Why:
    if not runs:
        return "not run"
    if any(_failed(run) for run in runs):
        return "failed"
    return "left out" if all(run.parsed is None for run in runs) else "not printed"


def _failed(run: Run) -> bool:
    bad = run.parsed is None and run.record.status not in (*LEFT_OUT, "interrupted")
    return bad or run.void


def _reason(runs: Iterable[Run]) -> str:
    """Say how most of some runs ended."""
    return Counter(map(_how, runs)).most_common(1)[0][0]


def _how(run: Run) -> str:
    """Return "exit status 7: memory error", "disturbed"."""
    if run.void:
        return "not valid by their own check"
    if run.record.status in LEFT_OUT:
        return run.record.status
    text = run.unreadable or run.record.reason or run.record.status
    return (text.splitlines() or [""])[0]


def texts(found: Iterable[Gone]) -> list[str]:
    """Return "gone since 2026-11-22 (5 sessions): fast, n=100: rate and 1 more number of n[001-040]: …", what is gone alike together, the
    oldest first."""
    alike = group_by(found, lambda one: (one.since.date, one.sessions, one.reason))
    told = []
    for (date, sessions, reason), own in sorted(alike.items(), key=lambda item: item[0]):
        names = list(dict.fromkeys(one.series.name for one in own))
        more = f" and {fmt.plural(len(names) - 1, 'more number')}" if len(names) > 1 else ""
        hosts = listed(dict.fromkeys(one.host for one in own))
        told.append(
            f"gone since {date} ({fmt.plural(sessions, 'session')}): {names[0]}{more} of {hosts}: {reason}"
        )
    return told
