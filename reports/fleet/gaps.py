"""What a fleet lacks: hosts without a result, files that cannot be read, runs that gave no number. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from reports.results.grouping import group_by
from reports.results.model import LEFT_OUT, Results, Run
from reports.results.sessions import SessionKey, minute
from reports.text import format as fmt
from reports.text.hostlist import listed

What = Literal["no result", "unreadable", "no number", "incomplete", "not screened"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What some hosts, or some files, lack, and why."""

    what: What
    of: tuple[str, ...]  # hosts; of what is unreadable, files
    reason: str  # "" of hosts without a result

    @property
    def text(self) -> str:
        """`incomplete node010: 12 runs not started`; of hosts of which each lacks as much `incomplete node[005,010], each: 12 runs not started`."""
        each = ", each" if len(self.of) > 1 and self.what in ("no number", "incomplete") else ""
        return f"{self.what} {listed(self.of)}" + (f"{each}: {self.reason}" if self.reason else "")


def gaps(
    results: Results,
    known: Mapping[str, Lacks],
    wanted: Collection[str] = (),
    unreadable: Sequence[tuple[str, str]] = (),
) -> tuple[Gap, ...]:
    """Return what the hosts of some results lack, each said once for all hosts that lack it alike.

    `known`: of each host, as `lacks` has them; `wanted`: hosts that should have a result. `unreadable`: files that are no result files, and why. Runs that were disturbed are a gap of a host
    that has no others: elsewhere they are told apart.
    """
    hosts = {machine.host for machine in results.machines}
    rows: list[tuple[What, str, str]] = [("no result", "", name) for name in wanted if name not in hosts]
    rows += [("unreadable", reason, name) for name, reason in unreadable]
    for host, own in known.items():
        rows.append(("incomplete" if own.sound else "no number", own.reason, host))
    return tuple(
        Gap(what=what, of=tuple(sorted(name for *_, name in alike)), reason=reason)
        for (what, reason), alike in group_by(sorted(rows, key=_order), lambda row: row[:2]).items()
    )


_ORDER: tuple[What, ...] = ("no result", "unreadable", "no number", "incomplete")


def _order(row: tuple[What, str, str]) -> tuple[int, str, str]:
    return _ORDER.index(row[0]), row[2], row[1]


def overdue(screened: Mapping[str, float], *, before: float, now: float) -> tuple[Gap, ...]:
    """Return the hosts whose last session with a number began before a time (all s since 1970), those of one day together, the longest ago
    first. Hosts that never gave one are told as `no result` and `no number`."""
    late = [(at, host) for host, at in sorted(screened.items()) if at < before]
    days = group_by(sorted(late), lambda one: (minute(one[0])[:10], int((now - one[0]) // DAY)))
    return tuple(
        Gap(
            what="not screened",
            of=tuple(sorted(host for _, host in own)),
            reason=f"last on {date}, {fmt.plural(ago, 'day')} ago",
        )
        for (date, ago), own in days.items()
    )


DAY: Final = 86400.0


Lack = Literal["failed", "not run", "not valid", "disturbed", "without a valid number"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacks:
    """The runs of a host that gave no number, or none that holds. What was disturbed or misplaced is told apart where others gave numbers."""

    failed: tuple[Run, ...]
    void: tuple[Run, ...]
    not_run: int
    sound: int  # runs that gave a number
    left_out: tuple[Run, ...] = ()  # disturbed and misplaced ones, of a host without a sound one

    @property
    def missing(self) -> int:
        return len(self.failed) + len(self.void) + self.not_run + len(self.left_out)

    @property
    def text(self) -> str:
        """Return "3 of 24 runs failed"."""
        return f"{fmt.count(self.missing)} of {fmt.plural(self.missing + self.sound, 'run')} {self.word}"

    @property
    def word(self) -> Lack:
        """Say what became of the runs: all of them alike, or that none of them has a valid number."""
        alike: dict[Lack, int] = {
            "failed": len(self.failed),
            "not run": self.not_run,
            "not valid": len(self.void),
            "disturbed": sum(run.record.status == "disturbed" for run in self.left_out),
        }
        return next((word for word, n in alike.items() if n == self.missing), "without a valid number")

    @property
    def reason(self) -> str:
        """Return "3 runs failed, exit status 1; 2 runs not started, or not to the end"."""
        said = list(_failures(self.failed))
        if self.not_run:
            said.append(f"{fmt.plural(self.not_run, 'run')} not started, or not to the end")
        if self.void:
            their = "its" if len(self.void) == 1 else "their"
            said.append(f"{fmt.plural(len(self.void), 'run')} not valid by {their} own check")
        alike = Counter(run.record.status for run in self.left_out)
        said += [f"{fmt.plural(n, 'run')} {status}" for status, n in alike.items()]
        return "; ".join(said) or "nothing was run"


Names = Mapping[SessionKey, str]
"""Session → what its host is called, which may be one of several of a name."""


def lacks(results: Results, names: Names) -> dict[str, Lacks]:
    """Return host → the runs that it lacks, of hosts that lack any, or have no run that gave a number."""

    def host_of(run: Run) -> str:
        return names.get((run.file, run.session.session), run.host)

    where = {
        place: names.get((m.file, m.session.session), m.host)
        for m in results.measured
        for place in (m.host, f"{m.host}, {m.file}")
    }
    void = group_by((run for run in results.runs if run.void), host_of)
    failed = group_by((run for run in results.failed if run.record.status not in LEFT_OUT), host_of)
    not_run = Counter(where[place] for place, *_ in results.missing if place in where)
    sound = Counter(host_of(run) for run in results.runs if run.parsed is not None and not run.void)
    left_out = group_by(
        (run for run in results.runs if run.record.status in LEFT_OUT and not sound[host_of(run)]), host_of
    )
    hosts = {*where.values()}
    of = {
        host: Lacks(
            failed=tuple(failed.get(host, ())), void=tuple(void.get(host, ())), sound=sound[host],
            not_run=max(0, not_run[host] - len(failed.get(host, ()))),
            left_out=_slots(left_out.get(host, ())),
        )
        for host in sorted(({*void, *failed, *not_run} & hosts) | {host for host in hosts if not sound[host]})
    }  # fmt: skip
    return {host: own for host, own in of.items() if own.missing or not own.sound}


def _slots(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Return the last attempt at each repeat."""
    return tuple({run.slot: run for run in runs}.values())


def last_failures(runs: Sequence[Run]) -> str:
    """Say how the runs of a session ended of which none gave a number, if they failed: "10 runs failed, exit status 7"; "" of another session."""
    if any(run.parsed is not None and not run.void for run in runs):
        return ""
    bad = [run for run in runs if run.record.status not in (*LEFT_OUT, "interrupted")]
    return "; ".join(_failures(bad))


def failures(results: Results, names: Names) -> frozenset[tuple[str, str]]:
    """Return (host, sweep) of each run that gave no number, or none that holds."""
    bad = [run for run in results.runs if run.void]
    bad += [run for run in results.failed if run.record.status not in LEFT_OUT]
    return frozenset((names.get((run.file, run.session.session), run.host), run.cell.sweep) for run in bad)


def _failures(runs: Iterable[Run]) -> Iterable[str]:
    """Give "3 runs failed, exit status 1: no numbers", the most first."""
    for (status, reason), n in Counter(map(_failure, runs)).most_common(_MOST_REASONS):
        yield f"{fmt.plural(n, 'run')} {status}" + (f", {reason}" if reason else "")


def _failure(run: Run) -> tuple[str, str]:
    if run.unreadable:
        return "unreadable", run.unreadable.splitlines()[0]
    return run.record.status, (run.record.reason.splitlines() or [""])[0]


_MOST_REASONS = 3
