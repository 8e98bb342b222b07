"""The sessions of each machine, in time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.store.result_file import Session
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.results.sessions import SessionKey, When, minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One session on one host, in time; what one boot did within an hour is one."""

    key: SessionKey  # the first
    at: float  # s since 1970
    stepped: str  # why its own clock is not to be believed; "" if it is
    sessions: tuple[Session, ...]
    runs: tuple[Run, ...]

    @property
    def minute(self) -> str:
        return minute(self.at)

    @property
    def date(self) -> str:
        return self.minute[:10]

    @property
    def keys(self) -> Iterable[SessionKey]:
        """Return the sessions that it is of."""
        return dict.fromkeys(map(session_of, self.runs))


def moments_of(
    some: Iterable[Run],
    names: Mapping[SessionKey, str],
    sessions: Mapping[SessionKey, Session],
    when: Mapping[SessionKey, When],
) -> dict[str, tuple[Moment, ...]]:
    """Return machine → its sessions with some of these runs, in the order in which they were."""
    runs = group_by(some, session_of)
    hours = group_by((key for key in when if key in runs), lambda key: (names[key], when[key].evidence))
    found = [
        (
            host,
            Moment(
                key=keys[0], at=when[keys[0]].at, stepped=next(filter(None, (when[key].stepped for key in keys)), ""),
                sessions=tuple(sessions[key] for key in keys), runs=tuple(run for key in keys for run in runs[key]),
            ),
        )
        for (host, _), keys in hours.items()
    ]  # fmt: skip
    by_host = sorted(group_by(found, lambda row: row[0]).items())
    return {host: tuple(moment for _, moment in own) for host, own in by_host}


def places(moments: Mapping[str, Sequence[Moment]]) -> dict[SessionKey, tuple[str, int]]:
    """Return session → its machine, and the index of its moment there."""
    return {key: (host, i) for host, own in moments.items() for i, m in enumerate(own) for key in m.keys}


def indexes(some: Iterable[Moment], every: Sequence[Moment]) -> list[int]:
    """Return where some sessions of a machine stand among all of them, of which each may have more runs."""
    place = {key: i for i, moment in enumerate(every) for key in moment.keys}
    return [place[moment.key] for moment in some]


def session_of(run: Run) -> SessionKey:
    return run.file, run.session.session
