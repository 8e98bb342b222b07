"""Which nodes of a group of equal machines are slow. Section 3 of the measurement guide.

The caller makes groups of equal hardware (two kinds of DIMM in one group hide a slow node and accuse good ones) and gives
one `Metric` for each cell and metric of a group. Two stages: one run a node shows who is *suspicious*; two more runs of
those say who is slow. One run of 1000 good nodes accuses ten or more; the second stage brings that to about one.

A fault is there in every run, a disturbance is not: slow is a node whose every run is worse by the threshold. Where one run
in 20 is slowed by something (8 %), that takes the good nodes accused from 4.2 in 1000 to 0.3, and of nodes that are 5 % slow
finds 80 instead of 82 %; where one in five is, from 56 to 6.6 (simulated: 1000 nodes, sd 1.2 %, 20 slow).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, median_low
from typing import Final, Literal

from parsers.measurement import Direction

Status = Literal["ok", "suspicious", "slow", "broken", "fast", "unknown"]
"""suspicious: too few runs to accuse, or runs that disagree; slow, broken: 3 % and 10 % worse, beyond the spread of the others; fast: better by
as much (other DIMMs, turbo); unknown: nothing to compare with."""

LEAST_NODES = 8
CONFIRMED = 3
"""So many runs make a verdict; fewer, a suspicion."""

SUSPICIOUS_Z, SLOW_Z, EVERYWHERE_Z = 2.5, 3.0, 3.5
EFFECT, BROKEN = 0.03, 0.10
LEAST_SPREAD = 0.003  # of the median: nobody is accused for less than this times z
ASSUMED_SPREAD = 0.01  # of a baseline with fewer than LEAST_NODES values
LEAST_METRICS = 3
"""Below, "slow everywhere" would say the same as the metrics themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One cell's metric over the nodes of a group. Values in the metric's base unit, finite."""

    key: Hashable
    group: str  # what the nodes have in common
    better: Direction
    values: Mapping[str, Sequence[float]]  # node → its runs
    resolution: float = 0.0  # last printed digit, relative
    baseline: Sequence[
        float
    ] = ()  # values of good nodes, or of past sessions: compared with them instead of each other
    floor: float | None = (
        None  # a value worse than this is slow, whatever the others do (a ceiling, where lower is better)
    )
    tolerance: float | None = None  # so much worse than the median is slow, whatever the spread


_FLOOR: Final = "beyond the floor"
_TOLERANCE: Final = "beyond the tolerance"
_RULES: Final = (_FLOOR, _TOLERANCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node's value of one metric."""

    name: str
    status: Status
    value: float  # median of its runs
    runs: int
    z: float | None  # robust, above 0 is worse; None: nothing to compare with
    worse: float | None  # relative distance from the median, above 0 is worse
    reason: str = ""  # why it is what it is, where the statistics do not say it: the floor, the tolerance, too few nodes

    @property
    def of_rule(self) -> bool:
        """Is it what a site asked for that accuses it, not the other nodes?"""
        return self.reason in _RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """All nodes of one metric, in the order of their names as given."""

    metric: Metric
    middle: float | None  # what nodes are compared with
    spread: float | None  # robust sd, same unit
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Everywhere:
    """A node that is a little slow in everything."""

    name: str
    group: str
    z: float  # robust z of the mean of its z, among the nodes of the group
    worse: float  # mean relative distance
    metrics: int
    runs: int  # of its metrics, the median

    @property
    def confirmed(self) -> bool:
        """Was it measured so often that what is said of it is more than a suspicion?"""
        return self.runs >= CONFIRMED


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    strips: tuple[Strip, ...]
    everywhere: tuple[Everywhere, ...]
    statuses: Mapping[str, Status]  # node → the worst that any metric says of it
    suspicious: tuple[str, ...]  # nodes to run two more times


_RANK: tuple[Status, ...] = ("unknown", "ok", "fast", "suspicious", "slow", "broken")


def worst(*statuses: Status) -> Status:
    """Return what is to be said of a node of which several things are true."""
    return max(statuses, key=_RANK.index)


def judge_fleet(metrics: Sequence[Metric], *, threshold: float = EFFECT) -> Fleet:
    """Return what each node is in each metric, and over all. `threshold`: relative, below it nothing is slow."""
    strips = tuple(_strip(metric, threshold) for metric in metrics)
    statuses: dict[str, Status] = {}
    for strip in strips:
        for node in strip.nodes:
            statuses[node.name] = worst(statuses.get(node.name, "unknown"), node.status)
    waiting = {node.name for strip in strips for node in strip.nodes if node.status == "suspicious"}
    return Fleet(
        strips=strips,
        everywhere=_everywhere(strips, threshold / 3),
        statuses=statuses,
        suspicious=tuple(name for name in statuses if name in waiting),
    )


def centre(values: Sequence[float], resolution: float = 0.0) -> tuple[float, float]:
    """Return (median, robust sd): 1.4826 MAD, at least 0.3 % of the median and what the last digit makes."""
    middle = median(values)
    mad = median([abs(v - middle) for v in values])
    return middle, max(1.4826 * mad, LEAST_SPREAD * abs(middle), resolution * abs(middle) / math.sqrt(12))


def _strip(metric: Metric, threshold: float) -> Strip:
    of_node = {name: median(runs) for name, runs in metric.values.items() if runs}
    if not all(map(math.isfinite, of_node.values())):
        raise ValueError(f"{metric.key!r}: values must be finite")
    middle: float | None = None
    spread: float | None = None
    if metric.baseline:
        middle, spread = centre(metric.baseline, metric.resolution)
        if len(metric.baseline) < LEAST_NODES:
            spread = max(spread, ASSUMED_SPREAD * abs(middle))
    elif len(of_node) >= LEAST_NODES:
        middle, spread = centre(list(of_node.values()), metric.resolution)
    nodes = tuple(
        _node(metric, name, value, middle or None, spread, threshold) for name, value in of_node.items()
    )
    return Strip(metric=metric, middle=middle, spread=spread, nodes=nodes)


def _node(
    metric: Metric, name: str, value: float, middle: float | None, spread: float | None, threshold: float
) -> Node:
    runs = len(metric.values[name])
    sign = {"higher": -1.0, "lower": 1.0, "neither": 0.0}[metric.better]
    z = worse = None
    if middle is not None and spread:
        z, worse = sign * (value - middle) / spread, sign * (value - middle) / abs(middle)
    steadily = middle is not None and all(
        sign * (run - middle) / abs(middle) > threshold for run in metric.values[name]
    )
    status, reason = _status(metric, value, runs, z, worse, sign, threshold, steadily=steadily)
    return Node(name=name, status=status, value=value, runs=runs, z=z, worse=worse, reason=reason)


def _status(
    metric: Metric,
    value: float,
    runs: int,
    z: float | None,
    worse: float | None,
    sign: float,
    threshold: float,
    *,
    steadily: bool,
) -> tuple[Status, str]:
    bad: Status = "broken" if worse is not None and worse > BROKEN else "slow"
    if metric.floor is not None and sign * (value - metric.floor) > 0:
        return (bad if runs >= CONFIRMED else "suspicious"), _FLOOR
    if z is None or worse is None:
        few = f"fewer than {LEAST_NODES} nodes: compare with a baseline"
        return "unknown", few if len(metric.values) < LEAST_NODES else "the median is 0"
    if metric.tolerance is not None and worse > metric.tolerance:
        return (bad if runs >= CONFIRMED else "suspicious"), _TOLERANCE
    if z > SLOW_Z and worse > threshold and runs >= CONFIRMED:
        return (bad, "") if steadily else ("suspicious", "its sessions disagree")
    # half of the threshold: of nodes that are alike to 0.5 %, with a hundred numbers each, every one is odd in something
    if (worse > threshold or (z > SUSPICIOUS_Z and worse > threshold / 2)) and runs < CONFIRMED:
        return "suspicious", ""
    if z < -SLOW_Z and worse < -threshold:
        return "fast", ""
    return "ok", ""


def _everywhere(strips: Sequence[Strip], least: float) -> tuple[Everywhere, ...]:
    """Find the nodes whose mean z over the metrics of their group stands out: a fault too small for each metric alone.

    `least`: the mean distance from which on it is one. The kernels of one run share its noise: of 15 nodes that are alike to 0.5 %
    one was 0.7 % worse in six numbers, which were three.
    """
    of_group: dict[str, dict[str, list[tuple[float, float, int]]]] = defaultdict(lambda: defaultdict(list))
    for strip in strips:
        for node in strip.nodes:
            if node.z is not None and node.worse is not None and strip.metric.better != "neither":
                of_group[strip.metric.group][node.name].append((node.z, node.worse, node.runs))
    found = []
    for group, nodes in of_group.items():
        means = {
            name: fmean(z for z, *_ in seen) for name, seen in nodes.items() if len(seen) >= LEAST_METRICS
        }
        if len(means) < LEAST_NODES:
            continue
        middle = median(means.values())
        spread = 1.4826 * median([abs(z - middle) for z in means.values()])
        worse = {name: fmean(worse for _, worse, _ in nodes[name]) for name in means}
        found += [
            Everywhere(
                name=name,
                group=group,
                z=(z - middle) / spread,
                worse=worse[name],
                metrics=len(nodes[name]),
                runs=median_low(runs for *_, runs in nodes[name]),
            )
            for name, z in means.items()
            if spread > 0 and (z - middle) / spread > EVERYWHERE_Z and worse[name] > least
        ]
    return tuple(sorted(found, key=lambda e: -e.z))
