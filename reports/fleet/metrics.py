"""A fleet's verdict as metric families, for Prometheus: alert on these, no statistics in PromQL. Pure.

pinsweep_fleet_verdict{host="node03",verdict="broken"} 1        0 for each other word
pinsweep_fleet_missing{host="node14",what="no result"} 1        hosts; of what is unreadable `file`
pinsweep_fleet_sessions{host="node03"} 3
pinsweep_fleet_worse_half{host="node03"} 0
pinsweep_fleet_last_session_timestamp_seconds{host="node03"} 1.76e+09
"""

from __future__ import annotations

from typing import Final

from reports.fleet.outliers import SAID, WORDS, Report
from reports.text.exposition import Family, Labels, exposition


def text(report: Report) -> str:
    """Return the verdict on each host as OpenMetrics, `# EOF` included."""
    return exposition(families(report))


def families(report: Report) -> list[Family]:
    return [
        Family(
            name="pinsweep_fleet_verdict",
            unit="",
            text="What pinsweep fleet says of a host: 1 for the word that holds, else 0.",
            samples=tuple(
                ((("host", host), ("verdict", word)), float(word == _word(report, host)))
                for host in report.statuses
                for word in (*(SAID.get(word, word) for word in WORDS), INCOMPLETE)
            ),
        ),
        Family(
            name="pinsweep_fleet_missing",
            unit="",
            text="What of a host, or of a file, is not there to be judged; always 1.",
            samples=tuple({_missing(gap.what, name): 1.0 for gap in report.gaps for name in gap.of}.items()),
        ),
        Family(
            name="pinsweep_fleet_sessions",
            unit="",
            text="Sessions of a host behind its verdict: those that gave a number.",
            samples=tuple(
                ((("host", host),), float(sessions)) for host, sessions in report.counted_sessions.items()
            ),
        ),
        Family(
            name="pinsweep_fleet_worse_half",
            unit="",
            text="Numbers in which the hosts fall into two groups and a host is in the worse one.",
            samples=tuple(((("host", host),), float(_worse(report, host))) for host in report.statuses),
        ),
        Family(
            name="pinsweep_fleet_last_session_timestamp_seconds",
            unit="seconds",
            text="When the last session of a host that gave a number began, seconds since 1970.",
            samples=tuple(((("host", host),), at) for host, at in report.screened.items()),
        ),
    ]


INCOMPLETE: Final = "incomplete"
"""What is said of a host that is ok in what it gave, and of which runs gave no number."""


def _word(report: Report, host: str) -> str:
    status = report.statuses[host]
    return INCOMPLETE if status == "ok" and host in report.lacks else SAID.get(status, status)


def _worse(report: Report, host: str) -> int:
    return sum(len(halves.strips) for halves in report.halves if host in halves.worse)


def _missing(what: str, name: str) -> Labels:
    return (("file" if what == "unreadable" else "host", name), ("what", what))
