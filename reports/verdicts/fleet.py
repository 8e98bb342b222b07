"""Find the slow hosts of a group of equal machines (section 3 of the measurement guide).

The caller forms groups of equal hardware, because two kinds of DIMM in a group hide slow hosts and flag good hosts. The
caller passes one group at a time, with one `Metric` per cell and metric. Two stages decide. One session per host shows
*suspicious* hosts, and two more sessions of these hosts confirm slow hosts. One session flags ten or more of 1000 good
hosts. The second stage leaves about one.

A fault is present in every session, a disturbance is not: every session of a slow host is worse by the threshold. If
one session in 20 is slowed (by 8 %), the rule reduces the flagged good hosts from 4.2 to 0.3 in 1000, and finds 80
instead of 82 % of the hosts that are 5 % slow. If one session in five is slowed, the rule reduces the flagged good
hosts from 56 to 6.6 (simulated with slow by z above 3, 1000 hosts, sd 1.2 %, 20 slow).

z above 3 is not evidence if many numbers of many hosts are tested. In fleets of 8 equal hosts with 54 numbers, noise of
3 to 10 % between runs and 2 to 5 % between sessions, z above 3 flagged a host in 29 to 75 of 100 fleets (40 hosts: 48
to 84). The required z therefore grows with the number of comparisons, and the spread includes the hosts' own sessions.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, median_low
from typing import Final, Literal

from parsers.measurement import Direction
from reports.verdicts.model import STEPS, base, relative

Status = Literal["ok", "suspicious", "slow", "broken", "fast", "unknown"]
"""suspicious: too few sessions to accuse, or sessions that disagree; slow, broken: 3 % and 10 % worse, beyond the
spread of the others; fast: better by as much (other DIMMs, turbo); unknown: nothing to compare with."""

LEAST_HOSTS = 8
FEW = f"fewer than {LEAST_HOSTS} hosts"
CONFIRMED = 3
"""Minimum of sessions for a verdict. Fewer sessions give a suspicion."""

SUSPICIOUS_Z, SLOW_Z, EVERYWHERE_Z = 2.5, 3.0, 3.5
SEEN_MARGIN = 2.0
"""Of hosts so many spreads worse than what each of three sessions must be, 74 to 82 of 100 are at least suspicious (8,
18 and 40 hosts with 54 numbers, 3 to 10 % of noise, simulated)."""
EFFECT, BROKEN = 0.03, 0.10
HALF = 0.4
"""Of two groups of hosts that are apart, more than so many in the smaller: which of them is slow, nobody can tell."""
FALSE, FALSE_EVERYWHERE = 0.05, 0.01
"""The share of fleets of equal hosts in which chance alone may accuse one: in a number, and of being slow
everywhere."""

MAD: Final = 1.4826
"""Standard deviations in a median absolute deviation, of normal noise."""

LEAST_SPREAD = 0.003  # share of the median. This share times z is the smallest flagged distance
ASSUMED_SPREAD = 0.01  # of a baseline with fewer than LEAST_HOSTS values
LEAST_METRICS = 3
"""Minimum of metrics. With fewer, "slow everywhere" would repeat the metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One cell's metric over the hosts of a group. Values are in the metric's base unit, finite."""

    key: Hashable
    better: Direction
    values: Mapping[str, Sequence[float]]  # host → the value of each of its sessions
    resolution: float = 0.0  # last printed digit, relative
    # values of good hosts, or of past sessions: compared with them instead of each other
    baseline: Sequence[float] = ()
    # a value worse than this is slow, whatever the others do (a ceiling, where lower is better)
    floor: float | None = None
    tolerance: float | None = None  # a value worse than the median by this share is slow, for any spread
    # reason why the hosts may have measured differently, so that no host is flagged by the others' values
    unsure: str = ""


FLOOR: Final = "beyond the floor"
TOLERANCE: Final = "beyond the tolerance"
_RULES: Final = (FLOOR, TOLERANCE)
HALVES: Final = "the hosts fall into two groups"
ZERO: Final = "the median is 0 or below"
DISAGREE: Final = "its sessions disagree"
CHANCE: Final = "may be chance"
BY_THRESHOLD: Final = "by the threshold alone"
BY_SPREAD: Final = "by the spread alone"
"""By which of the two rules a host of fewer than three sessions is suspicious: worse by the threshold, though inside
what the hosts scatter by; or beyond what they scatter by, though not by the threshold. "" where it is both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One host's value of one metric."""

    name: str
    status: Status
    value: float  # median of its sessions
    sessions: int
    z: float | None  # robust, above 0 is worse; None: nothing to compare with
    worse: float | None  # relative distance from the median, above 0 is worse
    reason: str = (
        ""  # why it is what it is, where the statistics do not say it: the floor, the tolerance, too few hosts
    )
    # is z above what chance makes of equal hosts in one of 20 fleets, which slow asks, too
    beyond_chance: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """All hosts of one metric, in the given order of names."""

    metric: Metric
    middle: float | None  # what hosts are compared with
    spread: float | None  # robust sd, same unit
    hosts: tuple[Host, ...]
    # relative: what is less worse, in three sessions, is not told from the others
    unseen: float | None = None
    worse_half: tuple[str, ...] = ()  # where the hosts fall into two groups, those of the worse one
    by_chance: float = 0.0  # hosts of fewer than three sessions that are suspicious on average if all hosts are equal

    @property
    def base(self) -> float | None:
        """The median, if a host's distance is a share of the median."""
        return base(self.middle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Everywhere:
    """A host that is a little slow in all metrics."""

    name: str
    z: float  # robust z of the mean of its z, among the hosts of the group
    worse: float  # mean relative distance
    metrics: int
    sessions: int  # of its metrics, the median

    @property
    def confirmed(self) -> bool:
        """Whether there are enough sessions to confirm the suspicion."""
        return self.sessions >= CONFIRMED


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    strips: tuple[Strip, ...]
    everywhere: tuple[Everywhere, ...]
    statuses: Mapping[str, Status]  # host → the worst that any metric says of it


_RANK: tuple[Status, ...] = ("unknown", "ok", "fast", "suspicious", "slow", "broken")


def worst(*statuses: Status) -> Status:
    """Return the most severe of several states of a host."""
    return max(statuses, key=_RANK.index)


def judge_fleet(metrics: Sequence[Metric], *, threshold: float = EFFECT) -> Fleet:
    """Return the state of each host of a group in each metric, and over all metrics.

    `threshold`: relative. A smaller difference is not slow.
    """
    false = FALSE / max(1.0, comparisons(metrics))
    strips = tuple(_strip(metric, threshold, false) for metric in metrics)
    statuses: dict[str, Status] = {}
    for strip in strips:
        for host in strip.hosts:
            statuses[host.name] = worst(statuses.get(host.name, "unknown"), host.status)
    return Fleet(strips=strips, everywhere=_everywhere(strips, threshold / 3), statuses=statuses)


def comparisons(metrics: Sequence[Metric]) -> float:
    """Return the number of independent comparisons between hosts: hosts × numbers that do not move together.

    Numbers with the same order of sessions count as one (a rate and the time of the same work). Correlated numbers
    count as 1 + (m - 1)(1 - mean r²), after Nyholt (Am. J. Hum. Genet. 74, 2004).
    """
    import numpy as np

    groups: dict[tuple[tuple[str, int], ...], set[tuple[int, ...]]] = defaultdict(set)
    for metric in metrics:
        sign = 1.0 if metric.better == "lower" else -1.0
        sessions = tuple((name, i) for name, own in sorted(metric.values.items()) for i in range(len(own)))
        values = [sign * metric.values[name][i] for name, i in sessions]
        ranks = [0] * len(sessions)
        for rank, i in enumerate(sorted(range(len(sessions)), key=values.__getitem__)):
            ranks[i] = rank
        groups[sessions].add(tuple(ranks))
    total = 0.0
    for sessions, rows in groups.items():
        m, n = len(rows), len(sessions)
        hosts = len({name for name, _ in sessions})
        if m > 1 and n > 2:
            r = np.corrcoef(np.array(sorted(rows), dtype=float))
            chance = 1 / (n - 1)
            together = max(0.0, (float((r**2).sum() - m) / (m * (m - 1)) - chance) / (1 - chance))
            total += hosts * (1 + (m - 1) * (1 - together))
        else:
            total += hosts * m
    return total


def centre(values: Sequence[float], resolution: float = 0.0) -> tuple[float, float]:
    """Return (median, robust sd). The sd is 1.4826 MAD, at least 0.3 % of the median and the sd of the last digit."""
    middle = median(values)
    mad = median([abs(v - middle) for v in values])
    return middle, max(MAD * mad, LEAST_SPREAD * abs(middle), resolution * abs(middle) / math.sqrt(12))


def _strip(metric: Metric, threshold: float, false: float) -> Strip:
    of_host = {name: median(sessions) for name, sessions in metric.values.items() if sessions}
    threshold = max(threshold, STEPS * metric.resolution)
    if not all(map(math.isfinite, of_host.values())):
        raise ValueError(f"{metric.key!r}: values must be finite")
    middle: float | None = None
    spread: float | None = None
    worse_half: tuple[str, ...] = ()
    if metric.baseline:
        middle, spread = centre(metric.baseline, metric.resolution)
        if len(metric.baseline) < LEAST_HOSTS:
            spread = max(spread, ASSUMED_SPREAD * abs(middle))
    elif len(of_host) >= LEAST_HOSTS:
        middle, spread = centre(list(of_host.values()), metric.resolution)
        worse_half = _worse_half(metric, of_host, threshold * middle) if base(middle) else ()
    noise, df = scatter(metric.values.values(), 1 if metric.baseline else LEAST_HOSTS)
    if spread is not None and metric.baseline:  # whose median is of few sessions, too
        spread = max(spread, noise)
    beyond = _beyond(false, len(metric.baseline or of_host), df)
    hosts = tuple(
        _host(metric, name, value, base(middle), spread, noise, beyond, threshold, halves=bool(worse_half))
        for name, value in of_host.items()
    )
    unseen = None
    by_chance = 0.0
    of = base(middle)
    if of and spread and not worse_half:
        by_chance = _by_chance(metric, of, spread, noise, threshold)
    if of and spread:
        confirmed = any(host.sessions >= CONFIRMED for host in hosts)
        own = max(spread, noise * _of_median(CONFIRMED)) / of if confirmed else 0.0
        unseen = max(threshold, (beyond / 2 + SEEN_MARGIN) * own)
    return Strip(
        metric=metric, middle=middle, spread=spread, hosts=hosts, unseen=unseen, worse_half=worse_half,
        by_chance=by_chance,
    )  # fmt: skip


def _by_chance(metric: Metric, middle: float, spread: float, noise: float, threshold: float) -> float:
    """Return the mean number of hosts with fewer than three sessions that `_status` flags if all hosts are equal."""
    from scipy.special import stdtr

    if metric.better == "neither":
        return 0.0
    by_sessions = Counter(len(sessions) for sessions in metric.values.values() if 0 < len(sessions) < CONFIRMED)
    expected = 0.0
    for sessions, hosts in by_sessions.items():
        beyond = SUSPICIOUS_Z * max(spread, noise * _of_median(sessions)) / middle
        least = min(threshold, max(beyond, _half(metric, threshold)))
        expected += hosts * float(stdtr(len(metric.baseline or metric.values), -least * middle / spread))
    return expected


def _half(metric: Metric, threshold: float) -> float:
    """Half of the threshold: among hosts equal to 0.5 % with a hundred numbers each, every host is odd in some
    number.
    """
    return max(threshold / 2, STEPS * metric.resolution)


def _worse_half(metric: Metric, of_host: Mapping[str, float], least: float) -> tuple[str, ...]:
    """Return the worse hosts if the hosts form two groups of similar size, else none.

    The gap must be above `least` and above two times the span of either group. The median then belongs to neither
    group, and the spread is the distance of the groups.
    """
    names = sorted(of_host, key=of_host.__getitem__)
    values = [of_host[name] for name in names]
    cut = max(range(1, len(names)), key=lambda i: values[i] - values[i - 1])
    low, high = names[:cut], names[cut:]
    apart = values[cut] - values[cut - 1]
    spans = max(values[cut - 1] - values[0], values[-1] - values[cut])
    if metric.better == "neither" or min(len(low), len(high)) <= HALF * len(names) or apart <= max(least, 2 * spans):
        return ()
    worse = set(low if metric.better == "higher" else high)
    return tuple(name for name in of_host if name in worse)


def scatter(hosts: Iterable[Sequence[float]], least: int = LEAST_HOSTS) -> tuple[float, float]:
    """Return (sd of a host's session, degrees of freedom), as the median over the hosts.

    The median keeps one outlying host from deciding. (0, 0) for fewer than `least` hosts: if most hosts ran once, the
    spread of the hosts contains the session noise.

    The median of χ² with d degrees of freedom is near d (1 - 2/(9d))³, and is worth half as much as the mean. A quarter
    allows for noise that is not normal (a time is 1/rate, with a longer tail on the worse side).
    """
    squares, df = [], 0.0
    for sessions in hosts:
        if len(sessions) > 1:
            mean, own = fmean(sessions), len(sessions) - 1
            squares.append(math.fsum((session - mean) ** 2 for session in sessions) / own / (1 - 2 / (9 * own)) ** 3)
            df += own / 4
    return (math.sqrt(median(squares)), df) if len(squares) >= least else (0.0, 0.0)


def _of_median(sessions: int) -> float:
    """Return the sd of the median of several sessions, in sd of a single session."""
    return math.sqrt(math.pi / 2 / (sessions + math.pi / 2 - 1))


def _beyond(false: float, values: int, df: float) -> float:
    """Return the z that a share `false` of equal hosts exceeds, by Student's t.

    The spread is estimated from the given number of values (a MAD is worth less than half, and the MAD of a short
    baseline is assumed) and from the hosts' own sessions.
    """
    from scipy.special import stdtrit

    return float(-stdtrit(max(values, LEAST_HOSTS) / 2 + df, false))


def _host(
    metric: Metric,
    name: str,
    value: float,
    middle: float | None,
    spread: float | None,
    noise: float,
    beyond: float,
    threshold: float,
    *,
    halves: bool,
) -> Host:
    sessions = metric.values[name]
    sign = {"higher": -1.0, "lower": 1.0, "neither": 0.0}[metric.better]
    z = worse = None
    off, far = [0.0], threshold  # of each session; what each must be off by
    if middle is not None and spread:
        own = max(spread, noise * _of_median(len(sessions)))
        z, worse = sign * (value - middle) / own, sign * relative(value, middle)
        off = [sign * relative(session, middle) for session in sessions]
        far = max(threshold, beyond * own / middle / 2)
    status, reason = _status(metric, value, len(sessions), z, worse, sign, threshold)
    if reason in _RULES or z is None or worse is None:
        pass
    elif halves:
        status, reason = "unknown", HALVES
    elif len(sessions) >= CONFIRMED and worse > threshold and z > (SLOW_Z if min(off) > far else beyond):
        bad: Status = "broken" if worse > BROKEN else "slow"
        if min(off) <= far:
            status, reason = "suspicious", DISAGREE
        else:
            status, reason = (bad, "") if z > beyond else ("suspicious", CHANCE)
    elif z < -beyond and max(off) < -far:
        status = "fast"
    if metric.unsure and reason not in _RULES and status in ("slow", "broken", "fast"):
        status, reason = "suspicious" if status != "fast" else "ok", metric.unsure
    return Host(
        name=name, status=status, value=value, sessions=len(sessions), z=z, worse=worse, reason=reason,
        beyond_chance=z is not None and z > beyond,
    )  # fmt: skip


def _status(
    metric: Metric,
    value: float,
    sessions: int,
    z: float | None,
    worse: float | None,
    sign: float,
    threshold: float,
) -> tuple[Status, str]:
    """Return the state of a host before its sessions are tested: by the rules of a site, and by too few sessions."""
    bad: Status = "broken" if worse is not None and worse > BROKEN else "slow"
    if metric.floor is not None and sign * (value - metric.floor) > 0:
        return (bad if sessions >= CONFIRMED else "suspicious"), FLOOR
    if z is None or worse is None:
        few = not metric.baseline and len(metric.values) < LEAST_HOSTS
        return "unknown", FEW if few else ZERO
    if metric.tolerance is not None and worse > metric.tolerance:
        return (bad if sessions >= CONFIRMED else "suspicious"), TOLERANCE
    if sessions < CONFIRMED and worse > threshold:
        return "suspicious", "" if z > SUSPICIOUS_Z else BY_THRESHOLD
    if sessions < CONFIRMED and z > SUSPICIOUS_Z and worse > _half(metric, threshold):
        return "suspicious", BY_SPREAD
    return "ok", ""


def _everywhere(strips: Sequence[Strip], least: float) -> tuple[Everywhere, ...]:
    """Return the hosts with an outlier mean z over all metrics: a fault too small for each metric alone.

    `least`: the lowest mean distance that counts. Half of the numbers must be worse by half of `least`. The kernels of
    a run share noise: among 15 hosts equal to 0.5 %, one host was 0.7 % worse in six numbers, which were worth three.
    """
    of_host: dict[str, list[tuple[list[float], float]]] = defaultdict(list)  # of each number: z of each session, spread
    for strip in strips:
        if strip.metric.better == "neither" or strip.metric.unsure or not strip.base or not strip.spread:
            continue
        sign = 1.0 if strip.metric.better == "lower" else -1.0
        for name, own in strip.metric.values.items():
            if own:
                z = [sign * (value - strip.base) / strip.spread for value in own]
                of_host[name].append((z, strip.spread / strip.base))
    means = {name: fmean(median(z) for z, _ in seen) for name, seen in of_host.items() if len(seen) >= LEAST_METRICS}
    if len(means) < LEAST_HOSTS:
        return ()
    middle = median(means.values())
    between = MAD * median([abs(z - middle) for z in means.values()])
    sessions = {name: _sessions([z for z, _ in of_host[name]]) for name in means}
    noise, df = scatter(sessions.values())
    beyond = max(EVERYWHERE_Z, _beyond(FALSE_EVERYWHERE / len(means), len(means), df))
    hosts = []
    for name, mean in means.items():
        seen = of_host[name]
        spread = max(between, noise * _of_median(len(sessions[name])))
        same = [[z * s for z in zs] for zs, s in seen if len(zs) == len(sessions[name])]
        worse = [fmean(session) for session in zip(*same, strict=True)]
        most = median(median(z) * s for z, s in seen)  # a few outlier numbers are not everywhere
        if spread > 0 and (mean - middle) / spread > beyond and min(worse) > least and most > least / 2:
            hosts.append(
                Everywhere(
                    name=name,
                    z=(mean - middle) / spread,
                    worse=fmean(median(z) * s for z, s in seen),
                    metrics=len(seen),
                    sessions=median_low(len(z) for z, _ in seen),
                )
            )
    return tuple(sorted(hosts, key=lambda e: -e.z))


def _sessions(numbers: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of each session over the numbers that have the most common session count."""
    most = median_low(map(len, numbers))
    return [fmean(session) for session in zip(*(one for one in numbers if len(one) == most), strict=True)]
