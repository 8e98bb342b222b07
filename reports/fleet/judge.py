"""Result files of many hosts to frames: which hosts are slow, and in which numbers. Pure.

`reports.verdicts.fleet` judges one group of equal hosts; this module makes its input and puts its answers into frames.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Final

from orchestrator.cluster.traits import Difference
from parsers.errors import UserError
from reports.checks.audit import joined
from reports.fleet.gaps import Gap, find_gaps, find_lacking, find_unlike, runs_by_host
from reports.fleet.hosts import Members, members
from reports.fleet.limits import Rule, limits
from reports.fleet.numbers import (
    CELL,
    NAME,
    baseline_medians,
    host_values,
    number_rows,
    session_medians,
)
from reports.measurements import Measurements, measure, records
from reports.results.grouping import group_by
from reports.results.model import Results
from reports.text import format as fmt
from reports.text.hostlist import listed
from reports.verdicts.fleet import (
    CONFIRMED,
    FALSE,
    FEW,
    FLOOR,
    HALVES,
    LEAST_HOSTS,
    SUSPICIOUS_Z,
    TOLERANCE,
    Everywhere,
    Host,
    Metric,
    Status,
    judge_fleet,
    worst,
)  # fmt: skip
from reports.verdicts.model import relative

if TYPE_CHECKING:
    import pandas as pd

STATUSES: Final[tuple[Status, ...]] = ("broken", "slow", "suspicious", "fast", "ok", "unknown")
"""The worst first."""

LABELS: Final[Mapping[str, str]] = {"unknown": "not judged"}
"""A status for people, if that is another word."""

SLOW: Final = frozenset({"slow", "broken"})

FAIL_ON: Final = ("suspicious", "not-judged")

NOT_RECORDED: Final = "its CPUs are not recorded"
"""Why a host is suspicious and not slow: with fewer CPUs the same cell is another measurement."""

_RULES: Final = [FLOOR, TOLERANCE]
_TOO_MANY: Final = 0.25
"""If more hosts look slow, the cause is not the hosts."""

_OFTEN, _RARE = 0.1, 0.01
"""The part of its numbers from which a host stands out; the part of fleets of equal hosts in which chance makes so many
finds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What the hosts of some result files are.

    hosts, index: host, the worst first
        group, status, sessions (that gave a number), odd (numbers), stands_out (more than chance makes), by_chance
        (chance may have made it), missing (runs without a number), reason (why it is not judged), last (s since 1970 of
        its last number; NaN: none)
    numbers, a row is one number of a group
        group, tool, program, sweep, cell, point_id, number (its full name), the columns of `Measurements.series`,
        baseline (sessions), hosts, median, spread, unseen (relative), worse_half (hosts, the worse of two groups),
        expected (finds by chance)
    points, a row is a number of a host
        number, host, status, value, sessions, change and worse (relative), z, reason, beyond_chance, flags
    odd: those of `points` that are not ok with columns of `numbers`, the worst host first, in it the worst number
    """

    hosts: pd.DataFrame
    numbers: pd.DataFrame
    points: pd.DataFrame
    odd: pd.DataFrame
    members: Members
    everywhere: tuple[Everywhere, ...]
    rerun: Mapping[str, tuple[str, ...]]  # host → sweeps to run again
    unlike: tuple[Difference, ...]  # hosts with another kernel, firmware or program than most
    unmatched: tuple[tuple[str, tuple[str, ...]], ...]  # cell run in another way, hosts
    lacking: tuple[tuple[str, tuple[str, ...]], ...]  # number, hosts without it
    gaps: tuple[Gap, ...]
    warnings: tuple[str, ...]
    threshold: float

    @property
    def accused(self) -> list[str]:
        return list(self.hosts.index[self.hosts["status"].isin(list(SLOW))])

    @property
    def by_chance(self) -> list[str]:
        return list(self.hosts.index[self.hosts["by_chance"]])

    @property
    def incomplete(self) -> set[str]:
        """Hosts that are ok in their numbers, and have runs without a number."""
        return {*self.hosts.index[(self.hosts["status"] == "ok") & (self.hosts["missing"] > 0)]}

    @property
    def halves(self) -> dict[tuple[str, ...], list[int]]:
        """Return the worse of two groups of hosts → the numbers in which the hosts fall into these groups."""
        split = self.numbers["worse_half"][self.numbers["worse_half"].map(bool)]
        return group_by(split.index, lambda number: split[number])

    def is_judged(self, group: int) -> bool:
        """Has a group enough hosts, or a baseline?"""
        past = (self.numbers["baseline"][self.numbers["group"] == group] > 0).any()
        return bool(past) or int((self.hosts["group"] == group).sum()) >= LEAST_HOSTS

    def by_status(self) -> dict[Status, list[str]]:
        statuses = self.hosts["status"].sort_index()
        return {word: list(statuses.index[statuses == word]) for word in STATUSES}

    def fails(self, also: Collection[str] = ()) -> bool:
        """Is a host slow, one half of the hosts slower, or something missing? also: words of FAIL_ON."""
        words = {"suspicious": "suspicious", "not-judged": "unknown"}
        statuses = {*self.hosts["status"]} & {words[word] for word in also}
        return bool(self.accused or self.halves or self.gaps or statuses)


def judge(
    results: Results,
    *,
    baseline: Results | None = None,
    rules: Sequence[Rule] = (),
    threshold: float = 0.03,
    expected: Collection[str] = (),
    unreadable: Sequence[tuple[str, str]] = (),
    due: tuple[float, float] | None = None,
) -> Fleet:
    """Judge the hosts of some result files.

    baseline: past sessions of good hosts; each group is compared with those of its own hardware. threshold: relative;
    what is less worse is not slow. expected: hosts that should have a result. unreadable: files that cannot be read,
    with the reason. due: hosts without a number since the first time, and now, in s since 1970.

    Raises ExperimentError for rules in other units, UserError if no run gave a number that can be better or worse.
    """
    measurements = measure(results)
    past = measure(baseline) if baseline else None
    which = members(results, measurements.sessions, baseline, past.sessions if past else None)
    values = host_values(measurements, which.sessions)
    runs = runs_by_host(results, measurements.runs, which)
    if values.empty and (results.texts or runs["valid"].any()):
        files = list(dict.fromkeys(measurements.runs["file"]))
        raise UserError(", ".join(files[:3]), "no run gave a number that can be better or worse", "`pinsweep show` lists how the runs ended")  # fmt: skip
    numbers, values = number_rows(measurements, values)
    past_values = baseline_medians(past, which) if past else {}
    medians = session_medians(values)
    metrics = [
        Metric(
            key=number, better=row["better"], values=medians[number], resolution=row["resolution"],
            baseline=past_values.get((row["group"], *(row[key] for key in (*CELL, *NAME))), ()),
            floor=floor, tolerance=tolerance, unsure="" if row["pus"] or row["memory_nodes"] else NOT_RECORDED,
        )
        for number, row in enumerate(records(numbers))
        for floor, tolerance in [limits(rules, row)]
    ]  # fmt: skip
    points, numbers, everywhere = _judged(numbers, metrics, threshold)
    flagged = values[values["flags"] != ""].groupby(["number", "host"])["flags"]
    flags = flagged.agg(lambda ids: joined(dict.fromkeys(ids))).to_dict()
    points["flags"] = [flags.get(key, "") for key in zip(points["number"], points["host"], strict=True)]
    hosts = _hosts(which, points, everywhere, runs)
    hosts["reason"] = _reasons(hosts, points, runs, with_baseline=baseline is not None)
    certain = {e.name for e in everywhere} | {*hosts.index[hosts["status"].isin(list(SLOW))]}
    hosts["stands_out"], hosts["by_chance"] = _chance(hosts, points, float(numbers["expected"].sum()), certain)
    hosts, odd = _worst_first(hosts, points, numbers)
    suspects = hosts.index.isin(points["host"][_suspicious(points)])
    many = [
        n
        for n in (sum(suspects & ~hosts["stands_out"]), sum(hosts["stands_out"]))
        if n >= LEAST_HOSTS and n > _TOO_MANY * len(hosts)
    ]
    unmatched, lacking = find_lacking(numbers, points, hosts)
    return Fleet(
        hosts=hosts, numbers=numbers, points=points, odd=odd, members=which,
        everywhere=tuple(sorted(everywhere, key=lambda e: (-e.z, e.name))),
        rerun=_rerun(odd, everywhere, numbers, hosts, too_many=bool(many)),
        unlike=find_unlike(which, hosts), unmatched=unmatched, lacking=lacking,
        gaps=find_gaps(runs, {m.host for machines in which.machines.values() for m in machines}, expected, unreadable, due),
        warnings=(
            *which.warnings,
            *_baseline_warnings(past, which, hosts, numbers),
            *(f"{rule.mark}: this rule fits no number" for rule in rules if not any(map(rule.fits, records(numbers)))),
            *_program_warnings(numbers),
            *([f"{sum(suspects)} of {len(hosts)} hosts look slow: use longer runs and more repeats on all hosts"] if many else []),
        ),
        threshold=threshold,
    )  # fmt: skip


# --- verdicts ----------------------------------------------------------------------------------------------


def _judged(
    numbers: pd.DataFrame, metrics: Sequence[Metric], threshold: float
) -> tuple[pd.DataFrame, pd.DataFrame, list[Everywhere]]:
    """Return the points, the numbers with their medians, and the hosts that are a little slow in everything."""
    from parsers.frames import pd

    rows: list[dict[str, object]] = []
    medians: dict[object, tuple[object, ...]] = {}
    everywhere: list[Everywhere] = []
    for _, group in numbers.groupby("group"):
        fleet = judge_fleet([metrics[number] for number in group.index], threshold=threshold)
        for number, strip in zip(group.index, fleet.strips, strict=True):
            medians[number] = (
                len(strip.metric.baseline),
                len(strip.hosts),
                strip.middle,
                strip.spread,
                strip.unseen,
            )
            medians[number] += (strip.worse_half, strip.by_chance)
            rows += [
                {
                    "number": number,
                    **asdict(host),
                    "change": relative(host.value, strip.base) if strip.base else None,
                }
                for host in strip.hosts
            ]
        certain = {e.name: SLOW if e.confirmed else {*SLOW, "suspicious"} for e in fleet.everywhere}
        everywhere += [e for e in fleet.everywhere if fleet.statuses[e.name] not in certain[e.name]]
    names = [*_POINT, "change"]
    points = pd.DataFrame(rows, columns=["number", *names]).rename(columns={"name": "host"})
    points = points.astype({"change": float, "worse": float, "z": float})
    columns = ["baseline", "hosts", "median", "spread", "unseen", "worse_half", "expected"]
    return points, numbers.join(pd.DataFrame.from_dict(medians, orient="index", columns=columns)), everywhere


_POINT: Final = [f.name for f in fields(Host)]


def _hosts(which: Members, points: pd.DataFrame, everywhere: Iterable[Everywhere], runs: pd.DataFrame) -> pd.DataFrame:
    """Return the hosts with their statuses: the worst of any number, or of all numbers together."""
    statuses: dict[str, Status] = dict.fromkeys(which.machines, "unknown")
    for host, status in zip(points["host"], points["status"], strict=True):
        statuses[host] = worst(statuses[host], status)
    unsure = {*points["host"][points["reason"] == HALVES]}
    statuses |= {host: "unknown" for host in unsure if statuses[host] in ("ok", "fast")}
    for e in everywhere:
        statuses[e.name] = worst(statuses[e.name], "slow" if e.confirmed else "suspicious")
    failed = runs.index[runs["last_failed"].astype(bool)]
    statuses |= {host: "unknown" for host in failed if statuses[host] in ("ok", "fast")}
    hosts = (
        runs[["sessions", "missing", "last"]]
        .sort_index()
        .assign(
            status=lambda rows: rows.index.map(statuses),
            group=which.sessions.drop_duplicates("host").set_index("host")["group"],
            odd=points["host"][_is_odd(points)].value_counts(),
        )
    )
    return hosts.fillna({"odd": 0}).astype({"odd": int, "last": float})


def _is_odd(points: pd.DataFrame) -> pd.Series[bool]:
    return ~points["status"].isin(["ok", "unknown"])


def _suspicious(points: pd.DataFrame) -> pd.Series[bool]:
    """Mark the finds of the statistics, not of a site's rules."""
    return (points["status"] == "suspicious") & ~points["reason"].isin(_RULES)


def _reasons(hosts: pd.DataFrame, points: pd.DataFrame, runs: pd.DataFrame, *, with_baseline: bool) -> list[str]:
    """Return why each host is not judged; "" of the others."""
    unjudged = hosts.index[hosts["status"] == "unknown"]
    reasons = dict.fromkeys(unjudged, "no number")
    for host, group in points[points["host"].isin(unjudged) & (points["reason"] != "")].groupby("host"):
        counted = group["reason"].value_counts()
        why = HALVES if HALVES in counted else str(counted.index[0])
        reasons[host] = "no such number in the baseline" if with_baseline and why == FEW else why
    failed = unjudged[runs["last_failed"].loc[unjudged].astype(bool)]
    reasons |= dict.fromkeys(failed, "its last session failed")
    return [reasons.get(host, "") for host in hosts.index]


def _chance(
    hosts: pd.DataFrame, points: pd.DataFrame, expected: float, certain: Collection[str]
) -> tuple[list[bool], list[bool]]:
    """Return which suspicious hosts stand out, and which chance alone may have made.

    A host stands out that is slow, or a little slow everywhere, whose z is beyond that of equal hosts, or that is odd
    in a tenth of its numbers and in more than chance makes. expected: finds that chance makes if all hosts are equal.
    """
    from scipy.special import pdtrc

    finds = points[_suspicious(points)]
    few = (finds["sessions"] < CONFIRMED).groupby(finds["host"]).sum()
    looked = max(1, points["host"][points["sessions"] < CONFIRMED].nunique())
    often = (few >= _OFTEN * points["host"].value_counts()[few.index]) & (few > 0)
    often &= pdtrc(few - 1, expected / looked) < FALSE / looked
    beyond = finds["beyond_chance"].groupby(finds["host"]).any()
    stands_out = {*few.index[often | beyond]} | ({*few.index} & {*certain})
    odd = points[_is_odd(points)]
    sure = {*odd["host"][~_suspicious(odd) | (odd["sessions"] >= CONFIRMED)]}
    others = {*few.index} - stands_out - sure
    n = int(finds["host"].isin(list(others)).sum())
    by_chance = others if n and float(pdtrc(n - 1, expected)) >= _RARE else set()
    return [host in stands_out for host in hosts.index], [host in by_chance for host in hosts.index]


def _worst_first(hosts: pd.DataFrame, points: pd.DataFrame, numbers: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the hosts, and the points that are not ok with their numbers, both the worst first."""
    odd = points[_is_odd(points)].rename(columns={"number": "index"})
    odd = odd.join(numbers.drop(columns=["hosts"]), on="index")
    within = ~odd["reason"].isin(_RULES) & (odd["z"].abs().fillna(0) <= SUSPICIOUS_Z)  # the spread of the hosts
    rank = odd["status"].map(STATUSES.index)
    odd = odd.assign(rank=rank, within=within, size=-odd["worse"].abs().fillna(0)).sort_values(
        ["rank", "within", "size", "number"]
    )
    keys = ["rank", "within", "size"]
    order = hosts.join(odd.drop_duplicates("host").set_index("host")[keys]).assign(
        status=hosts["status"].map(STATUSES.index), stands_out=~hosts["stands_out"], odd=-hosts["odd"], missing=-hosts["missing"], host=hosts.index,
    )  # fmt: skip
    order = order.sort_values(["status", "by_chance", "stands_out", *keys, "odd", "missing", "host"])
    place = {host: i for i, host in enumerate(order.index)}
    odd = odd.sort_values("host", key=lambda names: names.map(place), kind="stable").drop(columns=keys)
    return hosts.loc[order.index], odd


def _rerun(
    odd: pd.DataFrame, everywhere: Iterable[Everywhere], numbers: pd.DataFrame, hosts: pd.DataFrame, *, too_many: bool
) -> dict[str, tuple[str, ...]]:  # fmt: skip
    """Return suspicious host → the sweeps to run again. too_many: only hosts that stand out, or break a rule of the
    site, if there are any."""
    suspicious = odd[odd["status"] == "suspicious"]
    rows = [*zip(suspicious["host"], suspicious["sweep"], strict=True)]
    rows += [(e.name, sweep) for e in everywhere if not e.confirmed for sweep in dict.fromkeys(numbers["sweep"])]
    chosen = (
        {*hosts.index[hosts["stands_out"]]} | {e.name for e in everywhere} | {*odd["host"][odd["reason"].isin(_RULES)]}
    )
    wanted = chosen if too_many and chosen else {*hosts.index}
    wanted -= {*hosts.index[hosts["status"].isin(list(SLOW))]}
    by_host = group_by((row for row in rows if row[0] in wanted), lambda row: row[0])
    return {host: tuple(dict.fromkeys(sweep for _, sweep in group)) for host, group in by_host.items()}


def _baseline_warnings(
    past: Measurements | None, which: Members, hosts: pd.DataFrame, numbers: pd.DataFrame
) -> Iterable[str]:
    if past is None:
        return
    for group, rows in hosts.groupby("group"):
        with_past = (numbers["baseline"][numbers["group"] == group] > 0).sum()
        if not with_past:
            yield f"the baseline has no number of this hardware: {which.kinds[int(str(group))].name} ({listed(rows.index)})"
        elif with_past < (numbers["group"] == group).sum():
            yield f"the baseline lacks {(numbers['group'] == group).sum() - with_past} numbers of {listed(rows.index)}"
    flagged = past.values[past.values["flags"] != ""]
    if len(flagged):
        n = flagged["series"].nunique()
        yield f"{fmt.plural(n, 'number')} of the baseline {'is' if n == 1 else 'are'} flagged: {joined(dict.fromkeys(flagged['flags']))}"


def _program_warnings(numbers: pd.DataFrame) -> Iterable[str]:
    for tool, programs in numbers.groupby("tool")["program"].unique().items():
        if len(programs) > 1:
            yield f"{tool}: hosts with {fmt.words(sorted(programs))} are not compared with each other"
