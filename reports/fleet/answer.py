"""A fleet for programs: JSON and OpenMetrics. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reports.fleet.judge import LABELS, STATUSES, Fleet
from reports.measurements import number_fields, records
from reports.results.convicted import checks_of
from reports.text.exposition import Family, exposition
from reports.text.hostlist import folded
from reports.text.json_text import json_text


def as_json(fleet: Fleet) -> str:
    """Return the fleet as `pinsweep schema fleet` describes it, values in base units."""
    by_status = {word: names for word, names in fleet.by_status().items() if names}
    return json_text(
        {
            "accused": sorted(fleet.accused),
            "by_chance": sorted(fleet.by_chance),
            "nodes": by_status,
            "folded": {word: folded(names) for word, names in by_status.items()},
            "groups": [_group(fleet, number) for number in range(len(fleet.members.kinds))],
            "odd": [
                {
                    "node": row["host"], "verdict": row["status"], **number_fields(row), "value": row["value"], "median": row["median"],
                    "change": row["change"], "worse": row["worse"], "z": row["z"], "sessions": row["sessions"], "reason": row["reason"] or None,
                    "beyond_chance": row["beyond_chance"], "doubtful": checks_of(row["flags"]),
                }
                for row in records(fleet.odd)
            ],
            "everywhere": [
                {
                    "node": e.name, "z": e.z, "worse": e.worse, "numbers": e.metrics, "confirmed": e.confirmed,
                    "doubtful": sorted({id for ids in fleet.points["flags"][fleet.points["host"] == e.name] for id in checks_of(ids)}),
                }
                for e in fleet.everywhere
            ],
            "halves": [
                {
                    "worse": list(worse), "numbers": list(fleet.numbers["number"][numbers]),
                    "better": sorted({*fleet.points["host"][fleet.points["number"].isin(numbers)]} - {*worse}),
                }
                for worse, numbers in fleet.halves.items()
            ],
            "unlike": [{"what": d.what, "nodes": list(d.hosts), "here": d.here, "others": d.others} for d in fleet.unlike],
            "unmatched": [{"what": what, "nodes": list(hosts)} for what, hosts in fleet.unmatched],
            "gaps": [{"what": gap.what, "of": list(gap.names), "reason": gap.reason or None} for gap in fleet.gaps],
            "missing": [{"what": what, "nodes": list(hosts)} for what, hosts in fleet.lacking],
            "rerun": {host: list(sweeps) for host, sweeps in fleet.rerun.items()},
            "warnings": list(fleet.warnings),
        }
    )  # fmt: skip


def _group(fleet: Fleet, group: int) -> dict[str, Any]:
    kinds, hosts = fleet.members.kinds, fleet.hosts[fleet.hosts["group"] == group]
    numbers = fleet.numbers[fleet.numbers["group"] == group]
    flagged = fleet.points[fleet.points["flags"] != ""]
    flags: dict[int, dict[str, list[str]]] = {}
    for number, host, ids in zip(flagged["number"], flagged["host"], flagged["flags"], strict=True):
        flags.setdefault(number, {})[host] = checks_of(ids)
    return {
        "hardware": dict(kinds[group].facts), "nodes": sorted(hosts.index), "differs": kinds[group].differences(kinds[0]) or None,
        "judged": fleet.is_judged(group), "baseline_sessions": int(numbers["baseline"].max()) if len(numbers) else 0,
        "numbers": [
            {**number_fields(row), "median": row["median"], "spread": row["spread"], "nodes": row["hosts"], "unseen": row["unseen"],
             "worse_half": list(row["worse_half"]) or None, "doubtful": flags.get(number, {})}
            for number, row in zip(numbers.index.tolist(), records(numbers), strict=True)
        ],
    }  # fmt: skip


INCOMPLETE: Final = "incomplete"
"""The verdict of a host that is ok, with runs that gave no number."""


def as_metrics(fleet: Fleet) -> str:
    """Return the verdicts as OpenMetrics, `# EOF` included: docs/openmetrics.md."""
    worse_half = dict.fromkeys(fleet.hosts.index, 0)
    for hosts, numbers in fleet.halves.items():
        worse_half |= {host: worse_half[host] + len(numbers) for host in hosts}
    words = {
        host: INCOMPLETE if host in fleet.incomplete else LABELS.get(status, status)
        for host, status in fleet.hosts["status"].sort_index().items()
    }
    every = [*(LABELS.get(word, word) for word in STATUSES), INCOMPLETE]
    gaps = {
        (("file" if gap.what == "unreadable" else "host", name), ("what", gap.what)): 1.0
        for gap in fleet.gaps
        for name in gap.names
    }

    def family(name: str, text: str, samples: Mapping[Any, float], unit: str = "") -> Family:
        return Family(
            name=f"pinsweep_fleet_{name}", unit=unit, text=text,
            samples={key if isinstance(key, tuple) else (("host", key),): float(value) for key, value in samples.items()},
        )  # fmt: skip

    return exposition(
        [
            family("verdict", "The verdict on a host: 1 for the word that holds, else 0.", {(("host", host), ("verdict", word)): word == status for host, status in words.items() for word in every}),
            family("missing", "What is missing of a host or a file; always 1.", gaps),
            family("sessions", "Sessions of a host that gave a number.", fleet.hosts["sessions"].sort_index().to_dict()),
            family("worse_half", "Numbers in which a host is in the worse of two groups of hosts.", worse_half),
            family("last_session_timestamp_seconds", "Start of the last session of a host that gave a number, seconds since 1970.", fleet.hosts["last"].dropna().sort_index().to_dict(), "seconds"),
        ]
    )  # fmt: skip
