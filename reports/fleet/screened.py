"""When each host was screened last: the session that gave its newest number. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from reports.results.model import Results
from reports.results.sessions import of_hosts, timeline


def screened(results: Results) -> Mapping[str, float]:
    """Return host → when its last session with a number began, s since 1970; without hosts that gave none. By the clock that is most
    likely right, not by what was typed into a file's name."""
    machines, _ = of_hosts(results)
    when = timeline(machines)
    sound = {
        (run.file, run.session.session) for run in results.runs if run.parsed is not None and not run.void
    }
    last: dict[str, float] = {}
    for machine in machines:
        key = machine.file, machine.session.session
        if key in sound and key in when:
            last[machine.host] = max(when[key].at, last.get(machine.host, 0.0))
    return last
