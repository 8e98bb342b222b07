"""Result files of many hosts to frames: which hosts are slow, and in which numbers. Pure.

`reports.verdicts.fleet` judges one group of equal hosts; this module makes its input and puts its answers into frames.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from orchestrator.cluster import traits
from orchestrator.cluster.traits import Difference
from parsers.errors import UserError
from reports.checks.audit import joined
from reports.fleet.gaps import Gap, Runs, find_gaps, runs_by_host
from reports.fleet.hosts import Members, members
from reports.fleet.limits import Rule, limits
from reports.measurements import Measurements, measure
from reports.results.grouping import group_by
from reports.results.levels import natural
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
    TOLERANCE,
    Everywhere,
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

_CELL: Final = ["tool", "program", "sweep", "point_id", "pus", "memory_nodes", "thread_count"]
"""What must be equal in runs that are compared."""

_NAME: Final = ["metric", "statistic", "kind", "labels", "unit", "better", "derived"]

_TOO_MANY: Final = 0.25
"""If more hosts look slow, the cause is not the hosts."""

_OFTEN, _RARE = 0.1, 0.01
"""The part of its numbers from which a host stands out; the part of fleets of equal hosts in which chance makes so many finds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What the hosts of some result files are.

    hosts, index: host, the worst first
        group, status, sessions (that gave a number), compared (numbers), odd (numbers), stands_out (more than chance makes),
        runs, missing (runs without a number), reason (why it is not judged), last (s since 1970 of its last number; NaN: none)
    numbers, a row is one number of a group
        group, tool, program, sweep, cell, point_id, number (its full name), the columns of `Measurements.series`,
        baseline (sessions), median, spread, unseen (relative), worse_half (hosts, the worse of two groups), expected (finds by chance)
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
    by_chance: frozenset[str]  # suspicious hosts that chance alone may have made
    rerun: Mapping[str, tuple[str, ...]]  # host → sweeps to run again
    unlike: tuple[Difference, ...]  # hosts with another kernel, firmware or program than most
    unmatched: tuple[tuple[str, tuple[str, ...]], ...]  # cell run in another way, hosts
    lacking: tuple[tuple[str, tuple[str, ...]], ...]  # number, hosts without it
    gaps: tuple[Gap, ...]
    runs: Mapping[str, Runs]  # host → its runs
    warnings: tuple[str, ...]
    threshold: float

    @property
    def accused(self) -> list[str]:
        return list(self.hosts.index[self.hosts["status"].isin(list(SLOW))])

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

    baseline: past sessions of good hosts; each group is compared with those of its own hardware. threshold: relative; what is less
    worse is not slow. expected: hosts that should have a result. unreadable: files that cannot be read, with the reason. due: hosts
    without a number since the first time, and now, in s since 1970.

    Raises ExperimentError for rules in other units, UserError if no run gave a number that can be better or worse.
    """
    measurements = measure(results)
    past = measure(baseline) if baseline else None
    which = members(results, measurements.sessions, baseline, past.sessions if past else None)
    values = _values(measurements, which.sessions)
    runs = runs_by_host(results, measurements.runs, which)
    if values.empty and (results.texts or any(one.valid for one in runs.values())):
        files = list(dict.fromkeys(measurements.runs["file"]))
        raise UserError(", ".join(files[:3]), "no run gave a number that can be better or worse", "`pinsweep show` lists how the runs ended")  # fmt: skip
    numbers, values = _numbers(measurements, values)
    past_medians = _past_medians(past, which) if past else {}
    rows = records(numbers)
    sessions = values.groupby(["number", "host", "evidence"])["value"].median()
    per_host: dict[int, dict[str, list[float]]] = {}
    for (number, host, _), value in zip(sessions.index.tolist(), sessions, strict=True):
        per_host.setdefault(number, {}).setdefault(host, []).append(value)
    metrics = {
        number: Metric(
            key=number, better=row["better"], values=per_host[number], resolution=row["resolution"],
            baseline=past_medians.get((row["group"], *(row[name] for name in (*_CELL, *_NAME))), ()),
            floor=limit.floor, tolerance=limit.tolerance, unsure="" if row["pus"] or row["memory_nodes"] else NOT_RECORDED,
        )
        for number, row in enumerate(rows)
        for limit in [limits(rules, row)]
    }  # fmt: skip
    points, numbers, everywhere = _judged(numbers, metrics, threshold)
    flags = (
        values[values["flags"] != ""]
        .groupby(["number", "host"])["flags"]
        .agg(lambda ids: joined(dict.fromkeys(ids)))
    )
    points["flags"] = [flags.get(key, "") for key in zip(points["number"], points["host"], strict=True)]
    hosts = _hosts(which, points, everywhere, runs)
    hosts["reason"] = _reasons(hosts, points, runs, with_baseline=baseline is not None)
    chance, stands_out = _chance(
        points, numbers, {e.name for e in everywhere} | {*hosts.index[hosts["status"].isin(list(SLOW))]}
    )
    hosts["stands_out"] = hosts.index.isin(list(stands_out))
    odd = _worst_first(points, numbers, hosts, chance)
    first = {host: place for place, host in enumerate(dict.fromkeys(odd["host"]))}
    order = sorted(
        hosts.index,
        key=lambda host: (
            STATUSES.index(hosts["status"][host]),
            host in chance,
            first.get(host, -1),
            -hosts["missing"][host],
            host,
        ),
    )
    lookalikes = len({*points["host"][_suspicious(points)]})
    too_many = lookalikes - len(stands_out) >= LEAST_HOSTS and lookalikes - len(stands_out) > _TOO_MANY * len(
        hosts
    )
    too_many |= len(stands_out) >= LEAST_HOSTS and len(stands_out) > _TOO_MANY * len(hosts)
    unmatched, lacking = _lacking(numbers, points, hosts)
    return Fleet(
        hosts=hosts.loc[order],
        numbers=numbers,
        points=points,
        odd=odd,
        members=which,
        everywhere=tuple(sorted(everywhere, key=lambda e: (-e.z, e.name))),
        by_chance=frozenset(chance),
        rerun=_rerun(odd, everywhere, numbers, hosts, stands_out if too_many else None),
        unlike=_unlike(which, hosts),
        unmatched=unmatched,
        lacking=lacking,
        gaps=find_gaps(runs, {m.host for machines in which.machines.values() for m in machines}, expected, unreadable, due),
        runs=runs,
        warnings=(
            *which.warnings,
            *_baseline_warnings(past, which, hosts, numbers),
            *(f"{rule.mark}: this rule fits no number" for rule in rules if not any(map(rule.fits, rows))),
            *_program_warnings(numbers),
            *([f"{lookalikes} of {len(hosts)} hosts look slow: use longer runs and more repeats on all hosts"] if too_many else []),
        ),
        threshold=threshold,
    )  # fmt: skip


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as dictionaries."""
    return cast("list[dict[str, Any]]", frame.to_dict("records"))


# --- the numbers -------------------------------------------------------------------------------------------


def _values(measurements: Measurements, sessions: pd.DataFrame) -> pd.DataFrame:
    """Return a row per value of the hosts: run, series, value, step, flags, host, group, evidence, cell (an index of equal ones of _CELL)."""
    runs = measurements.runs
    runs = runs[~runs["captured"].astype(bool) & runs["session"].isin(sessions.index)]
    cells = runs.groupby(_CELL, sort=False).ngroup()
    values = measurements.values[measurements.values["run"].isin(runs.index)]
    values = values.assign(cell=values["run"].map(cells), session=values["run"].map(runs["session"]))
    return values.join(sessions[["host", "group", "evidence"]], on="session")


def _numbers(measurements: Measurements, values: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the numbers, in the order of their cells, and the values with the `number` of each."""
    values = values.assign(number=values.groupby(["group", "cell", "series"], sort=False).ngroup())
    resolution = (values["step"] / values["value"].abs()).where(values["value"] != 0, 0.0).fillna(0.0)
    first = values.drop_duplicates("number").set_index("number").sort_index()
    columns = [*_CELL, "axes", "options", "place", "relation"]
    runs = measurements.runs[[*columns, "cell"]].rename(columns={"cell": "cell_text"})
    numbers = first[["group", "cell", "run", "series"]].join(runs, on="run")
    numbers = numbers.join(measurements.series.drop(columns=["tool"]), on="series")
    numbers["resolution"] = resolution.groupby(values["number"]).median()
    axes = numbers["axes"].map(json.loads)
    numbers["cell"] = [
        f"{sweep}, {text}" if labels else sweep
        for sweep, text, labels in zip(numbers["sweep"], numbers["cell_text"], axes, strict=True)
    ]
    for _, same in numbers.groupby(["group", "cell", "name"], sort=False):
        if len(same) > 1:
            numbers.loc[same.index, "cell"] = [
                ", ".join([cell, *more]) for cell, more in zip(same["cell"], _differing(same), strict=True)
            ]
    numbers["number"] = [
        f"{cell}: {name}" for cell, name in zip(numbers["cell"], numbers["name"], strict=True)
    ]
    order = sorted(
        numbers.index,
        key=lambda i: (
            numbers.at[i, "tool"], numbers.at[i, "sweep"], [natural(v) for v in axes[i].values()],
            numbers.at[i, "program"], numbers.at[i, "point_id"], numbers.at[i, "series"],
        ),
    )  # fmt: skip
    place = {number: new for new, number in enumerate(order)}
    numbers = numbers.loc[order].reset_index(drop=True)
    return numbers, values.assign(number=values["number"].map(place))


def _differing(numbers: pd.DataFrame) -> list[list[str]]:
    """Return what distinguishes numbers with one name: [["threads=32"], ["threads=64"]]."""
    names = {
        "program": "program",
        "pus": "PUs",
        "memory_nodes": "memory nodes",
        "unit": "unit",
        "better": "better",
    }
    facts = []
    for row in records(numbers):
        options = json.loads(row["options"])
        counted = (
            "threads counted"
            if str(options.get("threads", row["thread_count"])) != row["thread_count"]
            else "threads"
        )
        facts.append(
            {**options, **{label: row[key] for key, label in names.items()}, counted: row["thread_count"]}
        )
    keys = [
        key
        for key in dict.fromkeys(k for f in facts for k in f)
        if len({str(f.get(key, "")) for f in facts}) > 1
    ]
    return [[f"{key}={f.get(key) or 'not recorded'}" for key in keys] for f in facts]


def _past_medians(past: Measurements, which: Members) -> dict[tuple[Any, ...], list[float]]:
    """Return (group, cell, name) → the median of each session of a baseline."""
    values = _values(past, which.past)
    values = values[values["group"] >= 0]
    medians = values.groupby(["group", "cell", "series", "host", "evidence"])["value"].median()
    first = values.drop_duplicates("cell").set_index("cell")["run"]
    found: dict[tuple[Any, ...], list[float]] = {}
    cells = past.runs.loc[first, _CELL].set_axis(first.index)
    for (group, cell, series, *_), value in zip(medians.index.tolist(), medians, strict=True):
        key = group, *cells.loc[cell], *past.series.loc[series, _NAME]
        found.setdefault(key, []).append(value)
    return found


# --- verdicts ----------------------------------------------------------------------------------------------


def _judged(
    numbers: pd.DataFrame, metrics: Mapping[int, Metric], threshold: float
) -> tuple[pd.DataFrame, pd.DataFrame, list[Everywhere]]:
    """Return the points, the numbers with their medians, and the hosts that are a little slow in everything."""
    from parsers.frames import pd

    rows, columns, everywhere = [], {}, []
    for _, group in numbers.groupby("group", sort=True):
        fleet = judge_fleet([metrics[number] for number in group.index], threshold=threshold)
        statuses = dict(fleet.statuses)
        for number, strip in zip(group.index, fleet.strips, strict=True):
            columns[number] = (
                len(strip.metric.baseline), strip.middle, strip.spread, strip.unseen, strip.worse_half, strip.by_chance, len(strip.hosts),
            )  # fmt: skip
            rows += [
                (
                    number, host.name, host.status, host.value, host.sessions, relative(host.value, strip.base) if strip.base else None,
                    host.worse, host.z, host.reason, host.beyond_chance,
                )
                for host in strip.hosts
            ]  # fmt: skip
        everywhere += [
            e
            for e in fleet.everywhere
            if statuses[e.name] not in (SLOW if e.confirmed else {*SLOW, "suspicious"})
        ]
    names = ["baseline", "median", "spread", "unseen", "worse_half", "expected", "hosts"]
    frame = pd.DataFrame.from_dict(columns, orient="index", columns=names)
    points = pd.DataFrame.from_records(
        rows, columns=["number", "host", "status", "value", "sessions", "change", "worse", "z", "reason", "beyond_chance"]
    )  # fmt: skip
    return points.astype({"change": float, "worse": float, "z": float}), numbers.join(frame), everywhere


def _hosts(
    which: Members, points: pd.DataFrame, everywhere: Iterable[Everywhere], runs: Mapping[str, Runs]
) -> pd.DataFrame:
    """Return the hosts with their statuses: the worst of any number, or of all numbers together."""
    from parsers.frames import pd

    statuses: dict[str, Status] = dict.fromkeys(which.machines, "unknown")
    for host, status in zip(points["host"], points["status"], strict=True):
        statuses[host] = worst(statuses[host], status)
    in_halves = {*points["host"][points["reason"] == HALVES]}
    for host in in_halves:
        statuses[host] = "unknown" if statuses[host] in ("ok", "fast") else statuses[host]
    for whole in everywhere:
        statuses[whole.name] = worst(statuses[whole.name], "slow" if whole.confirmed else "suspicious")
    for host in statuses:
        if runs[host].last_failed and statuses[host] in ("ok", "fast"):
            statuses[host] = "unknown"
    groups = which.sessions.drop_duplicates("host").set_index("host")["group"]
    counts = points.groupby("host")
    hosts = pd.DataFrame({"group": groups, "status": pd.Series(statuses)}).sort_index()
    hosts["sessions"] = [runs[host].sessions for host in hosts.index]
    hosts["compared"] = (
        counts["status"].agg(lambda words: int((words != "unknown").sum())).reindex(hosts.index, fill_value=0)
    )
    hosts["odd"] = (
        counts["status"]
        .agg(lambda words: int((~words.isin(["ok", "unknown"])).sum()))
        .reindex(hosts.index, fill_value=0)
    )
    hosts["runs"] = [runs[host].valid + runs[host].missing for host in hosts.index]
    hosts["missing"] = [runs[host].missing for host in hosts.index]
    hosts["last"] = pd.Series([runs[host].last for host in hosts.index], hosts.index, dtype=float)
    return hosts


def _reasons(
    hosts: pd.DataFrame, points: pd.DataFrame, runs: Mapping[str, Runs], *, with_baseline: bool
) -> list[str]:
    """Return why each host is not judged; "" of the others."""
    unjudged = hosts.index[hosts["status"] == "unknown"]
    reasons = dict.fromkeys(unjudged, "no number")
    for host, group in points[points["host"].isin(unjudged) & (points["reason"] != "")].groupby("host"):
        counted = group["reason"].value_counts()
        why = HALVES if HALVES in counted else str(counted.index[0])
        reasons[host] = "no such number in the baseline" if with_baseline and why == FEW else why
    for host in unjudged:
        if runs[host].last_failed:
            reasons[host] = "its last session failed"
    return [reasons.get(host, "") for host in hosts.index]


def _suspicious(points: pd.DataFrame) -> pd.Series[bool]:
    """Mark the finds of the statistics, not of a site's rules."""
    return (points["status"] == "suspicious") & ~points["reason"].isin([FLOOR, TOLERANCE])


def _chance(
    points: pd.DataFrame, numbers: pd.DataFrame, certain: Collection[str]
) -> tuple[set[str], set[str]]:
    """Return the suspicious hosts that chance alone may have made, and those that stand out.

    A host stands out that is slow or slow everywhere, whose z is beyond that of equal hosts, or that is odd in a tenth of its numbers
    and in more than chance makes.
    """
    from scipy.special import pdtrc

    finds = points[_suspicious(points)]
    expected = float(numbers["expected"].sum())
    few = points[points["sessions"] < CONFIRMED]
    looked = max(1, few["host"].nunique())
    total = points["host"].value_counts()
    stands_out = set()
    for host, group in finds.groupby("host"):
        n = int((group["sessions"] < CONFIRMED).sum())
        often = n >= _OFTEN * total[host] and n and float(pdtrc(n - 1, expected / looked)) < FALSE / looked
        if host in certain or group["beyond_chance"].any() or often:
            stands_out.add(str(host))
    odd = points[~points["status"].isin(["ok", "unknown"])]
    sure = odd["host"][~_suspicious(odd) | (odd["sessions"] >= CONFIRMED)]
    others = {*finds["host"]} - stands_out - {*sure}
    n = int(finds["host"].isin(list(others)).sum())
    return (others if n and float(pdtrc(n - 1, expected)) >= _RARE else set()), stands_out


def _worst_first(
    points: pd.DataFrame, numbers: pd.DataFrame, hosts: pd.DataFrame, by_chance: Collection[str]
) -> pd.DataFrame:
    """Return the points that are not ok with their numbers."""
    odd = points[~points["status"].isin(["ok", "unknown"])]
    odd = odd.rename(columns={"number": "index"}).join(numbers.drop(columns=["hosts"]), on="index")
    rule = odd["reason"].isin([FLOOR, TOLERANCE])
    odd = odd.assign(
        rank=odd["status"].map(STATUSES.index), within=~rule & (odd["z"].abs().fillna(0) <= 2.5), size=-odd["worse"].abs().fillna(0),
    ).sort_values(["rank", "within", "size", "number"])  # fmt: skip
    first = odd.drop_duplicates("host").set_index("host")
    count = odd["host"].value_counts()
    order = sorted(
        first.index,
        key=lambda host: (
            STATUSES.index(hosts["status"][host]), host in by_chance, not hosts["stands_out"][host], first["rank"][host], first["within"][host],
            first["size"][host], -count[host], host,
        ),
    )  # fmt: skip
    place = {host: i for i, host in enumerate(order)}
    return (
        odd.assign(place=odd["host"].map(place))
        .sort_values("place", kind="stable")
        .drop(columns=["rank", "within", "size", "place"])
    )


def _rerun(
    odd: pd.DataFrame, everywhere: Iterable[Everywhere], numbers: pd.DataFrame, hosts: pd.DataFrame, only: Collection[str] | None
) -> dict[str, tuple[str, ...]]:  # fmt: skip
    """Return suspicious host → the sweeps to run again. only: the hosts that stand out, if too many look slow."""
    rows = [*odd.loc[odd["status"] == "suspicious", ["host", "sweep"]].itertuples(index=False, name=None)]
    sweeps = [*dict.fromkeys(numbers["sweep"])]
    rows += [(whole.name, sweep) for whole in everywhere if not whole.confirmed for sweep in sweeps]
    rules = {*odd["host"][odd["reason"].isin([FLOOR, TOLERANCE])]}
    wanted = {*only} | {e.name for e in everywhere} | rules if only is not None else {*hosts.index}
    wanted = (wanted or {*hosts.index}) - {*hosts.index[hosts["status"].isin(list(SLOW))]}
    by_host = group_by((row for row in rows if row[0] in wanted), lambda row: row[0])
    return {host: tuple(dict.fromkeys(sweep for _, sweep in group)) for host, group in by_host.items()}


# --- what is missing or different --------------------------------------------------------------------------


def _lacking(
    numbers: pd.DataFrame, points: pd.DataFrame, hosts: pd.DataFrame
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """Return the cells that some hosts ran in another way than most, and the numbers that hosts lack.

    A cell that lacks all its numbers is one row, and so is a sweep that lacks all its cells.
    """
    with_number = points.groupby("number")["host"].agg(frozenset)
    unmatched: list[tuple[str, frozenset[str]]] = []
    lacking: list[tuple[str, str, str, frozenset[str]]] = []  # sweep, cell, number, hosts
    cells_of = numbers.groupby(["group", "sweep"])["axes"].nunique()
    for (group, _, sweep, _), cell in numbers.groupby(["group", "program", "sweep", "axes"], sort=False):
        every = frozenset(hosts.index[hosts["group"] == group])
        ran = frozenset[str]().union(*with_number[cell.index])
        ways = {
            str(text): frozenset[str]().union(*with_number[way.index])
            for text, way in cell.groupby("cell", sort=False)
        }
        usual = max(ways, key=lambda text: len(ways[text]))
        unmatched += [(text, who) for text, who in ways.items() if text != usual]
        if every - ran:
            lacking.append((str(sweep), usual, "", every - ran))
        lacking += [
            (str(sweep), usual, name, ways[usual] - with_number[number])
            for number, name in zip(cell.index, cell["number"].where(cell["cell"] == usual, ""), strict=True)
            if name and ways[usual] - with_number[number]
        ]
    rows: list[tuple[str, tuple[str, ...]]] = []
    for (sweep, who), group_rows in group_by(lacking, lambda row: (row[0], row[3])).items():
        whole = [row for row in group_rows if not row[2]]
        if len(whole) > 1 and len(whole) == max(cells_of[:, sweep]):
            rows.append((f"{sweep} ({len(whole)} cells)", tuple(sorted(who))))
        else:
            rows += [(name or cell, tuple(sorted(who))) for _, cell, name, _ in group_rows]
    return tuple((text, tuple(sorted(who))) for text, who in unmatched), tuple(rows)


def _unlike(which: Members, hosts: pd.DataFrame) -> tuple[Difference, ...]:
    """Return the hosts of each group that had another kernel, firmware or program than most in their last session."""
    found: list[Difference] = []
    for _, group in hosts.groupby("group"):
        last = {host: which.machines[host][-1].session for host in group.index}
        found += traits.differences(
            {host: traits.of_session(s.facts, s.programs) for host, s in last.items()}
        )
    return tuple(one for one in found if one.here)


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
