"""What a fleet lacks: hosts without a result, files that cannot be read, runs without a number. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from orchestrator.cluster import traits
from orchestrator.cluster.traits import Difference
from reports.fleet.hosts import Members
from reports.results.grouping import group_by
from reports.results.model import LEFT_OUT, Results
from reports.results.sessions import minute
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

What = Literal["no result", "unreadable", "no number", "incomplete", "not screened"]

_ORDER: Final[tuple[What, ...]] = ("no result", "unreadable", "no number", "incomplete", "not screened")
_DAY: Final = 86400.0
_MAX_REASONS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """What some hosts, or some files, lack, and why."""

    what: What
    names: tuple[str, ...]  # of hosts; of files that are unreadable
    reason: str  # "" of hosts without a result


def runs_by_host(results: Results, runs: pd.DataFrame, which: Members) -> pd.DataFrame:
    """Return a row per host. runs: those of `Measurements`.

    valid, missing   runs with a number and without
    reason           "3 runs failed, exit status 1; 2 runs not started"
    sessions, last   pieces of evidence with a number; when the last one began (s since 1970; NaN: there is none)
    last_failed      all runs of its last session failed
    """
    from parsers.frames import pd

    sessions = which.sessions
    runs = runs[runs["session"].isin(sessions.index) & ~runs["warm_up"].astype(bool)].drop(columns=["host"])
    runs = runs.join(sessions[["host", "evidence", "time"]], on="session")
    counts, valid = runs["counts"].astype(bool), runs["valid"].astype(bool)
    has_good = counts.groupby([runs[key] for key in _SLOT]).transform("any")
    missing = ~has_good & ~runs.duplicated(_SLOT, keep="last")
    runs = runs.assign(gave=counts & valid, void=counts & ~valid, missing=missing)
    where = {
        place: host
        for host, machines in which.machines.items()
        for machine in machines
        for place in (machine.host, f"{machine.host}, {machine.file}")
    }
    never = Counter(where[place] for place, *_ in results.missing if place in where)
    by_host = dict(iter(runs.groupby("host")))
    rows = {host: _runs(by_host.get(host, runs[:0]), never[host]) for host in which.machines}
    return pd.DataFrame.from_dict(rows, orient="index")


def _runs(runs: pd.DataFrame, never: int) -> dict[str, Any]:
    """Return the row of a host. never: repeats that did not end well, or not yet."""
    gave, void, left_out = runs[runs["gave"]], int(runs["void"].sum()), runs["status"].isin(LEFT_OUT)
    failed = runs[runs["missing"] & ~left_out]
    excluded = runs[runs["missing"] & left_out] if gave.empty else runs[:0]
    not_started = max(0, never - len(failed))
    reasons = _failures(failed)
    reasons += [
        f"{fmt.plural(n, 'run')} {word}" for n, word in ((not_started, "not started"), (void, "not valid")) if n
    ]
    reasons += [f"{fmt.plural(n, 'run')} {status}" for status, n in excluded["status"].value_counts().items()]
    newest = runs[runs["time"] == runs["time"].max()]
    newest = runs[runs["evidence"].isin(newest["evidence"][-1:])]
    return {
        "valid": len(gave),
        "missing": len(failed) + void + not_started + len(excluded),
        "reason": "; ".join(reasons) or "nothing was run",
        "sessions": gave["evidence"].nunique(),
        "last": float(gave["time"].max()),
        "last_failed": not newest["gave"].any() and not newest["status"].isin([*LEFT_OUT, "interrupted"]).all(),
    }


_SLOT: Final = ["file", "point_id", "repeat"]


def _failures(failed: pd.DataFrame) -> list[str]:
    """Return ["3 runs failed, exit status 1: no numbers"], the most frequent first."""
    rows = zip(failed["status"], (text.partition("\n")[0] for text in failed["reason"]), strict=True)
    return [
        f"{fmt.plural(n, 'run')} {status}{f', {reason}' if reason else ''}"
        for (status, reason), n in Counter(rows).most_common(_MAX_REASONS)
    ]


def find_gaps(
    runs: pd.DataFrame,
    hostnames: Collection[str],
    expected: Collection[str],
    unreadable: Sequence[tuple[str, str]],
    due: tuple[float, float] | None,
) -> tuple[Gap, ...]:
    """Return the gaps, hosts with one gap together. hostnames: those of `runs`. due: hosts without a number since the
    first time; the second is now."""
    rows: list[tuple[What, str, str]] = [("no result", "", name) for name in expected if name not in hostnames]
    rows += [("unreadable", reason, name) for name, reason in unreadable]
    lacking = runs[(runs["valid"] == 0) | (runs["missing"] > 0)]
    valid_and_reason = zip(lacking.index, lacking["valid"], lacking["reason"], strict=True)
    rows += [("incomplete" if valid else "no number", reason, host) for host, valid, reason in valid_and_reason]
    for host, at in runs["last"].items() if due else ():
        if due and at < due[0]:
            days = fmt.plural(int((due[1] - at) // _DAY), "day")
            rows.append(("not screened", f"last on {minute(at)[:10]}, {days} ago", str(host)))
    rows.sort(key=lambda row: (_ORDER.index(row[0]), row[2], row[1]))
    groups = group_by(rows, lambda row: row[:2]).items()
    return tuple(Gap(what=what, names=tuple(name for *_, name in own), reason=reason) for (what, reason), own in groups)


def find_unlike(which: Members, hosts: pd.DataFrame) -> tuple[Difference, ...]:
    """Return the hosts of each group that had another kernel, firmware or program than most in their last session."""
    differences: list[Difference] = []
    for _, group in hosts.sort_index().groupby("group"):
        last = {host: which.machines[host][-1].session for host in group.index}
        differences += traits.differences({host: traits.of_session(s.facts, s.programs) for host, s in last.items()})
    return tuple(difference for difference in differences if difference.here)


Lacking = tuple[tuple[str, tuple[str, ...]], ...]
"""A cell or a number, and hosts."""


def find_lacking(numbers: pd.DataFrame, points: pd.DataFrame, hosts: pd.DataFrame) -> tuple[Lacking, Lacking]:
    """Return the cells that some hosts ran in another way than most, and the numbers that hosts lack; several of a
    sweep as one."""
    with_number = {int(str(n)): frozenset(rows["host"]) for n, rows in points.groupby("number")}
    unmatched, lacking = list[tuple[str, tuple[str, ...]]](), list[tuple[str, tuple[str, ...], str]]()
    for (group, *_), cell in numbers.groupby(["group", "program", "sweep", "axes"], sort=False):
        ways = {
            str(text): frozenset[str]().union(*(with_number[number] for number in way.index))
            for text, way in cell.groupby("cell", sort=False)
        }
        usual = max(ways, key=lambda text: len(ways[text]))
        others = frozenset[str]().union(*(who for text, who in ways.items() if text != usual))
        unmatched += [(text, tuple(sorted(who))) for text, who in ways.items() if text != usual]
        every = frozenset(hosts.index[hosts["group"] == group])
        for number, row in cell[cell["cell"] == usual].iterrows():
            if without := every - with_number[int(str(number))] - others:
                lacking.append((row["sweep"], tuple(sorted(without)), row["number"]))
    rows = group_by(lacking, lambda row: row[:2])
    return tuple(unmatched), tuple(
        (f"{len(same)} numbers of {sweep}" if len(same) > 1 else same[0][2], without)
        for (sweep, without), same in rows.items()
    )
