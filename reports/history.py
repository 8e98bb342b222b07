"""Result files of many sessions into histories: a number's session medians in time, where they changed, and what changed then. Pure.

`reports.verdicts.history` finds the steps; this module says which numbers it is asked about, and what the machine and its
programs were before and after.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from orchestrator.store import Session
from reports import fingerprint, series
from reports.fingerprint import Difference
from reports.frames import Results, Run
from reports.series import Series
from reports.sessions import SessionKey
from reports.verdicts.history import MATTERS, Change, changes

LEAST = 10
"""Sessions that it takes to tell a step from an odd day: of a step of 8 % at 0.5 % noise, 5 sessions on either side are found
always, 4 and 4 never (the penalty outweighs them); of 10 and 3, nine in ten (40 draws each)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One session on one host, in time."""

    key: SessionKey
    session: Session
    runs: tuple[Run, ...]

    @property
    def date(self) -> str:
        return self.session.started_utc[:10]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One number on one host."""

    host: str
    series: Series
    moments: tuple[Moment, ...]  # the sessions that have it, oldest first
    medians: tuple[float, ...]  # of each session, in the number's base unit
    runs: tuple[int, ...]
    changes: tuple[Change, ...]  # of these, a step is news only if its word is not "changed"

    @property
    def news(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.word != "changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A session from which on something was different: the numbers that say so, and what else changed."""

    host: str
    moment: Moment
    before: Moment
    changed: tuple[tuple[History, Change], ...]  # the largest first
    differences: tuple[Difference, ...]
    off_by: int  # sessions between the step and the differences: 0, or one to either side

    @property
    def regressed(self) -> int:
        return sum(change.word == "regressed" for _, change in self.changed)

    @property
    def improved(self) -> int:
        return sum(change.word == "improved" for _, change in self.changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    histories: tuple[History, ...]
    steps: tuple[Step, ...]  # by host, oldest first
    moments: Mapping[str, tuple[Moment, ...]]  # host → its sessions
    short: Mapping[str, int]  # host → its sessions, where they are too few

    @property
    def regressed(self) -> tuple[History, ...]:
        """Histories whose last news is a regression: it is still there."""
        return tuple(h for h in self.histories if h.news and h.news[-1].word == "regressed")


def build(results: Results, *, threshold: float = MATTERS) -> Report:
    """Follow every number of every host over its sessions. Raises UserError where ruptures is not installed."""
    moments = _moments(results)
    place = {moment.key: (host, i) for host, own in moments.items() for i, moment in enumerate(own)}
    histories = [
        history
        for one in series.collect_some(results)
        for history in _histories(one, moments, place, threshold)
    ]
    return Report(
        histories=tuple(histories),
        steps=tuple(_steps(histories, moments, place)),
        moments=moments,
        short={host: len(own) for host, own in moments.items() if len(own) < LEAST},
    )


def _moments(results: Results) -> dict[str, tuple[Moment, ...]]:
    """Return host → its sessions with good runs, in the order in which they began."""
    runs: dict[SessionKey, list[Run]] = {}
    for tool in results.tools:
        for run in results.good(tool):
            runs.setdefault((run.file, run.session.session), []).append(run)
    found: dict[str, list[Moment]] = {}
    for machine in results.machines:
        key = machine.file, machine.session.session
        if key in runs:
            found.setdefault(machine.host, []).append(Moment(key=key, session=machine.session, runs=tuple(runs[key])))  # fmt: skip
    return {host: tuple(sorted(own, key=lambda m: _time(m.session.started_utc))) for host, own in found.items()}  # fmt: skip


def _time(started_utc: str) -> tuple[float, str]:
    try:
        return datetime.fromisoformat(started_utc).timestamp(), started_utc
    except ValueError:
        return 0.0, started_utc


def _histories(
    one: Series,
    moments: Mapping[str, Sequence[Moment]],
    place: Mapping[SessionKey, tuple[str, int]],
    threshold: float,
) -> Iterable[History]:
    by_host: dict[str, dict[int, tuple[float, ...]]] = {}
    for session, runs in one.sessions().items():
        host, i = place[session]
        by_host.setdefault(host, {})[i] = runs
    for host, sessions in by_host.items():
        order = sorted(sessions)
        medians = tuple(statistics.median(sessions[i]) for i in order)
        yield History(
            host=host,
            series=one,
            moments=tuple(moments[host][i] for i in order),
            medians=medians,
            runs=tuple(len(sessions[i]) for i in order),
            changes=changes(medians, one.better, threshold=threshold),
        )


def _steps(
    histories: Iterable[History],
    moments: Mapping[str, Sequence[Moment]],
    place: Mapping[SessionKey, tuple[str, int]],
) -> Iterable[Step]:
    at: dict[tuple[str, int], list[tuple[History, Change]]] = {}
    for history in histories:
        for change in history.news:
            at.setdefault(place[history.moments[change.index].key], []).append((history, change))
    for host, own in moments.items():
        for i in sorted(index for name, index in at if name == host):
            differences, off_by = _what_changed(own, i)
            yield Step(
                host=host,
                moment=own[i],
                before=own[i - 1],
                changed=tuple(sorted(at[host, i], key=lambda c: -abs(c[1].ratio - 1))),
                differences=differences,
                off_by=off_by,
            )


def _what_changed(own: Sequence[Moment], i: int) -> tuple[tuple[Difference, ...], int]:
    """Return what differs from one session to the next at a step; if nothing does, one session to either side of it.

    A step is found to the session or so: noise moves its place.
    """
    for off in (0, -1, 1):
        if 0 < i + off < len(own) and (found := between(own[i + off - 1], own[i + off])):
            return found, off
    return (), 0


def between(before: Moment, after: Moment) -> tuple[Difference, ...]:
    """Return what two sessions say differently of the machine and its programs, of what both recorded."""
    table = fingerprint.fingerprint([before.session], [after.session])
    table |= fingerprint.programs(before.runs, after.runs)
    return fingerprint.compared(table).differences
