"""Result files of many sessions into histories: a number's session medians in time, where they changed, and what changed then. Pure.

`reports.verdicts.history` finds the steps; this module says which numbers it is asked about, and what the machine and its
programs were before and after.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from reports.checks.audit import joined
from reports.checks.doubts import of_results
from reports.draw.figure import MARK
from reports.draw.timeline import Timeline
from reports.history.gone import Failed, Gone, Tries, gone
from reports.history.moments import Moment, moments_of, places
from reports.numbers import conditions, series
from reports.numbers.series import Series, disturbed_text, failed_text, void_text
from reports.results import differences, hardware
from reports.results.convicted import Guilty
from reports.results.differences import Difference, Fingerprint
from reports.results.grouping import group_by
from reports.results.model import Machine, Results, Run
from reports.results.sessions import (
    SessionKey,
    When,
    clock_warnings,
    counted,
    of_hosts,
    overlapping,
    timeline,
)
from reports.text import format as fmt
from reports.verdicts.history import MATTERS, Change, Drift, Recent, changes, drift, is_worse, recent
from reports.verdicts.model import STEPS, base

LEAST = 10
"""Sessions that it takes to tell a step from day-to-day noise: of a step of 8 % at 0.5 % noise, 5 sessions on either side are found
always, 4 and 4 never (the penalty outweighs them); of 10 and 3, nine in ten (40 draws each)."""


def in_time(moments: Sequence[Moment]) -> Timeline:
    """Return where some sessions of a host lie in time."""
    return Timeline.of([None if moment.stepped else moment.at for moment in moments])


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One number on one host."""

    host: str
    series: Series
    moments: tuple[Moment, ...]  # the sessions that have it, oldest first
    medians: tuple[float, ...]  # of each session, in the number's base unit
    runs: tuple[int, ...]
    doubts: tuple[str, ...]  # of each session, the checks that convict its cell; "" of a sound one
    least: float  # from where on a step of it is news, relative: what a program prints too few digits of may move by more than the threshold
    # a step is news only if its word is not "changed"; none in fewer than LEAST sessions
    changes: tuple[Change, ...]
    regressed: bool  # it did, and is still worse than before that
    drift: Drift | None = None  # it moved little by little: then no change of it is news
    recent: Recent | None = None  # its last sessions lie far outside, and are too few to be called a change
    failed: tuple[Failed, ...] = ()  # sessions that gave no number, since runs of it failed

    @property
    def judged(self) -> bool:
        return len(self.moments) >= LEAST

    @property
    def all_runs(self) -> tuple[Run, ...]:
        """Return the runs of all sessions that gave the number."""
        own = {key for moment in self.moments for key in moment.keys}
        return tuple(value.run for value in self.series.values if value.session in own)

    @property
    def doubt(self) -> str:
        """Return "G11 in 3 of 20 sessions"; "" where none is doubted."""
        doubted = list(filter(None, self.doubts))
        return (
            f"{joined(doubted)} in {len(doubted)} of {fmt.plural(len(self.doubts), 'session')}"
            if doubted
            else ""
        )

    @property
    def origin(self) -> str:
        """Return from where it changed, of which no change is a share, if no other change of it is news: "0", "below 0", "0 or below"; else ""."""
        befores = [change.before for change in self.changes if not base(change.before)]
        if self.news or not befores:
            return ""
        return "0" if not any(befores) else "below 0" if all(befores) else "0 or below"

    @property
    def moved(self) -> float:
        """By how much it changed at most, relative; 0 where it did not."""
        moves = (*self.news, *([self.drift] if self.drift else []))
        return max((abs(move.change) for move in moves), default=0.0)

    @property
    def news(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.word != "changed")


def line_of(history: History) -> list[float]:
    """Return where the line of a number that drifts is at each session: straight over time."""
    first, last = history.moments[0].at, history.moments[-1].at
    d = history.drift
    assert d
    return [d.before + (d.after - d.before) * (m.at - first) / (last - first) for m in history.moments]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A session from which on something was different: the numbers that say so, and what else changed."""

    host: str
    moment: Moment
    before: Moment  # the last session before it that has these numbers
    changed: tuple[tuple[History, Change], ...]  # the largest first
    differences: tuple[Difference, ...]
    # what only one of the two sessions recorded: nobody can say whether it changed
    one_sided: tuple[str, ...]
    off_by: int  # sessions between the step and the differences: 0, or one to either side

    @property
    def regressed(self) -> int:
        return sum(change.word == "regressed" for _, change in self.changed)

    @property
    def improved(self) -> int:
        return sum(change.word == "improved" for _, change in self.changed)

    @property
    def ids(self) -> str:
        """Return the checks that doubt what changed: "G11"; "" where none does."""
        return joined(one for history, _ in self.changed for one in history.doubts)

    @property
    def doubt(self) -> str:
        """Return "⚠ 2 of 4 numbers doubted by G11": of what changed; "" where none is."""
        doubted = [history for history, _ in self.changed if history.doubt]
        return (
            f"{MARK} {len(doubted)} of {fmt.plural(len(self.changed), 'number')} doubted by {self.ids}"
            if doubted
            else ""
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    histories: tuple[History, ...]
    steps: tuple[Step, ...]  # by host, oldest first
    moments: Mapping[str, tuple[Moment, ...]]  # host → its sessions that gave numbers
    attempts: Mapping[str, tuple[Moment, ...]]  # the same host → its sessions that started a run
    short: Mapping[str, int]  # host → its sessions with numbers, where they are too few
    warnings: tuple[str, ...]  # sessions that are left out, or whose clock was wrong
    threshold: float  # relative: smaller steps are ignored
    guilty: Guilty  # cells that a check convicts
    gone: tuple[Gone, ...]  # numbers that the last sessions do not have
    among: int  # judged numbers, of which chance may take any for one that has left its level

    def fails(self, words: Collection[str]) -> bool:
        """Is there what `--fail-on` asks for? `regressed` has in it what failed: a number that is not there is no better than one that is down."""
        there = {
            "regressed": bool(self.regressed) or any(one.why == "failed" for one in self.gone),
            "failed": any(one.why == "failed" for one in self.gone),
            "gone": bool(self.gone),
            "suspicious": any(h.recent and h.recent.word == "regressed" for h in self.histories),
        }
        return any(there[word] for word in words)

    @property
    def regressed(self) -> tuple[History, ...]:
        """Histories that regressed and have not come back."""
        return tuple(h for h in self.histories if h.regressed)

    def recorded(self, host: str = "") -> int:
        """Return how many sessions (of a host) were recorded: what one boot did within an hour is one in `attempts`."""
        return sum(
            len(moment.sessions)
            for name, own in self.attempts.items()
            if host in ("", name)
            for moment in own
        )

    def sessions_text(self, host: str) -> str:
        """Return "14 sessions", or "14 sessions, 9 of them with numbers"."""
        tried, own = len(self.attempts[host]), len(self.moments[host])
        some = f", {fmt.count(own)} of them with numbers" if own < tried else ""
        return f"{counted(self.recorded(host), tried)}{some}"

    def gone_since(self, history: History) -> str:
        """Return the day since which the last sessions do not have a number; "" where they have it."""
        lost = (one for one in self.gone if (one.host, one.series.key) == (history.host, history.series.key))
        return next((one.since.date for one in lost), "")

    def drifting(self, host: str = "") -> tuple[History, ...]:
        """Histories (of a host) that moved little by little, the farthest first."""
        found = [(h, h.drift) for h in self.histories if h.drift and host in ("", h.host)]
        return tuple(h for h, _ in sorted(found, key=lambda row: -abs(row[1].change)))

    def of(self, host: str) -> tuple[History, ...]:
        return tuple(h for h in self.histories if h.host == host)


def build(results: Results, *, threshold: float = MATTERS) -> Report:
    """Follow every number of every host over its sessions. Raises UserError where ruptures is not installed."""
    guilty = of_results(results)
    collected = series.collect_some(results, guilty)
    machines, left_out = of_hosts(results)
    when = timeline(machines)
    names, several = _names(machines, when)
    sessions = {(m.file, m.session.session): m.session for m in machines}
    good = [run for tool in results.tools for run in results.good(tool)]
    moments = moments_of(good, names, sessions, when)
    place = places(moments)
    attempts = moments_of(results.runs, names, sessions, when)
    tries = Tries(results.runs, attempts)
    histories = [
        history for one in collected for history in _histories(one, moments, place, tries, threshold)
    ]
    among = sum(history.judged for history in histories)
    histories = [replace(history, recent=_recent(history, among)) for history in histories]
    return Report(
        histories=tuple(histories),
        steps=tuple(_steps(histories, moments, place)),
        moments=moments,
        attempts={host: attempts[host] for host in moments},
        short={host: len(own) for host, own in moments.items() if len(own) < LEAST},
        warnings=(
            *left_out,
            *filter(
                None,
                [
                    failed_text(results),
                    disturbed_text(results, "judged"),
                    void_text(results.runs, "judged"),
                ],
            ),
            *several,
            *clock_warnings(machines, when),
        ),
        threshold=threshold,
        guilty=guilty,
        gone=tuple(gone(collected, tries)),
        among=among,
    )


def _recent(history: History, among: int) -> Recent | None:
    if not history.judged or history.drift:
        return None
    return recent(
        history.medians, history.changes, history.series.better, threshold=history.least, among=among
    )


def _names(
    machines: Sequence[Machine], when: Mapping[SessionKey, When]
) -> tuple[dict[SessionKey, str], list[str]]:
    """Return what the machine of each session is called, its host or, of several of one name, by what differs; and say which those are."""
    kinds = hardware.kinds(m.session for m in machines)
    of = {(m.file, m.session.session): (m.session, kind) for m, kind in zip(machines, kinds, strict=True)}
    names: dict[SessionKey, str] = {}
    told = []
    for host, keys in group_by(when, lambda key: of[key][0].host).items():
        own = hardware.machines(*zip(*(of[key] for key in keys), strict=True))
        if len(different := list(dict.fromkeys(own))) > 1:
            called = {kind: f"{host} ({kind.beside(different)})" for kind in different}
            told.append(
                f"{hardware.several(host, different)}; they count as {hardware.listed(called.values())}"
            )
        else:
            called = dict.fromkeys(own, host)
        names |= {key: called[kind] for key, kind in zip(keys, own, strict=True)}
    return names, [*told, *overlapping(machines, when, names)]


def _histories(
    one: Series,
    moments: Mapping[str, Sequence[Moment]],
    place: Mapping[SessionKey, tuple[str, int]],
    tries: Tries,
    threshold: float,
) -> Iterable[History]:
    at = group_by((v for v in one.values if v.session in place), lambda value: place[value.session])
    for host, indexes in group_by(sorted(at), lambda where: where[0]).items():
        values = [[value.value for value in at[where]] for where in indexes]
        doubts = tuple(joined(value.doubt for value in at[where]) for where in indexes)
        medians = tuple(map(statistics.median, values))
        least = max(threshold, STEPS * one.resolution)
        found = changes(medians, one.better, threshold=least) if len(medians) >= LEAST else ()
        own = tuple(moments[host][i] for _, i in indexes)
        times = [moment.at for moment in own]
        line = drift(medians, times, found, one.better, threshold=least)
        found = () if line and line.straight else found
        yield History(
            host=host,
            series=one,
            moments=own,
            medians=medians,
            runs=tuple(map(len, values)),
            doubts=doubts,
            least=least,
            changes=found,
            drift=line,
            failed=tries.failed(one, host, own),
            regressed=line.word == "regressed"
            if line
            else any(
                c.word == "regressed" and is_worse(c.before, found[-1].after, one.better, least)
                for c in found
            ),
        )


def _steps(
    histories: Iterable[History],
    moments: Mapping[str, Sequence[Moment]],
    place: Mapping[SessionKey, tuple[str, int]],
) -> Iterable[Step]:
    rows = [
        ((h.host, place[h.moments[c.index].key][1], place[h.moments[c.index - 1].key][1]), (h, c))
        for h in histories
        for c in h.news
    ]
    at = group_by(rows, lambda row: row[0])
    for host, i, before in sorted(at):
        own = moments[host]
        found, off_by = _what_changed(own, before, i)
        yield Step(
            host=host,
            moment=own[i],
            before=own[before],
            changed=tuple(sorted((c for _, c in at[host, i, before]), key=lambda c: -abs(c[1].change))),
            differences=found.differences,
            one_sided=found.one_sided,
            off_by=off_by,
        )


def _what_changed(own: Sequence[Moment], before: int, i: int) -> tuple[Fingerprint, int]:
    """Return what differs from one session to the next at a step; if nothing does, one session to either side of it.

    A step is found to the session or so: noise moves its place.
    """
    here = between(own[before], own[i])
    for off, a, b in ((0, before, i), (-1, before - 1, before), (1, i, i + 1)):
        if a >= 0 and b < len(own) and (found := between(own[a], own[b])).differences:
            return found, off
    return here, 0


def between(before: Moment, after: Moment) -> Fingerprint:
    """Return what two sessions say differently of the machine, its programs and where these ran."""
    return differences.compared(of_machine(before, after) | of_programs(before, after))


def of_machine(before: Moment, after: Moment) -> dict[str, tuple[str, str]]:
    """Return what two sessions say of the machine, in whatever way their runs ended."""
    return differences.fingerprint(before.sessions, after.sessions)


def of_programs(before: Moment, after: Moment) -> dict[str, tuple[str, str]]:
    """Return what the runs of two sessions say of their programs and of where they ran: runs with numbers, without which the version of some is not
    known."""
    return differences.programs(before.runs, after.runs) | _placements(before.runs, after.runs)


def _placements(before: Iterable[Run], after: Iterable[Run]) -> dict[str, tuple[str, str]]:
    """Return "PUs of scaling" → ("0-31", "0-15"), and so memory nodes and threads, of the cells that both have."""
    left, right = (
        group_by(runs, lambda run: (run.cell.sweep, run.record.point_id)) for runs in (before, after)
    )
    table: dict[str, tuple[str, str]] = {}
    for (sweep, cell), runs in left.items():
        a, b = (conditions.way(own[0]).words for own in (runs, right.get((sweep, cell), runs)))
        table |= {f"{what} of {sweep}": (a[what], b[what]) for what in a if a[what] != b[what]}
    return table
