"""When each host was screened last: the session that gave its newest number. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reports.results.model import Results
from reports.results.sessions import SessionKey, of_hosts, timeline


def screened(results: Results, names: Mapping[SessionKey, str]) -> Mapping[str, float]:
    """Return host, as it is called, → when its last session with a number began, s since 1970; without hosts that gave none. By the clock that is most
    likely right, not by what was typed into a file's name."""
    machines, _ = of_hosts(results)
    when = timeline(machines)
    sound = sound_sessions(results)
    last: dict[str, float] = {}
    for machine in machines:
        key = machine.file, machine.session.session
        if key in sound and key in when:
            name = names.get(key, machine.host)
            last[name] = max(when[key].at, last.get(name, 0.0))
    return last


def sound_sessions(results: Results) -> set[SessionKey]:
    """Return the sessions that gave a number."""
    return {
        (run.file, run.session.session) for run in results.runs if run.parsed is not None and not run.void
    }
