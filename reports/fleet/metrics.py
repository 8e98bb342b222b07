"""A fleet's verdict as metric families, for Prometheus: alert on these, no statistics in PromQL. Pure.

pinsweep_fleet_verdict{host="node03",verdict="broken"} 1        0 for each other word
pinsweep_fleet_missing{host="node14",what="no result"} 1        hosts; of what is unreadable `file`
pinsweep_fleet_sessions{host="node03"} 3
pinsweep_fleet_last_session_timestamp_seconds{host="node03"} 1.76e+09
"""

from __future__ import annotations

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
                ((("host", host), ("verdict", SAID.get(word, word))), float(word == status))
                for host, status in report.statuses.items()
                for word in WORDS
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
            text="Sessions of a host behind its verdict.",
            samples=tuple(
                ((("host", host),), float(len(sessions))) for host, sessions in report.sessions.items()
            ),
        ),
        Family(
            name="pinsweep_fleet_last_session_timestamp_seconds",
            unit="seconds",
            text="When the last session of a host that gave a number began, seconds since 1970.",
            samples=tuple(((("host", host),), at) for host, at in report.screened.items()),
        ),
    ]


def _missing(what: str, name: str) -> Labels:
    return (("file" if what == "unreadable" else "host", name), ("what", what))
