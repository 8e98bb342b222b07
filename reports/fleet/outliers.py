"""Result files of many hosts into verdicts: groups of equal hardware, a number's values per host, and what is odd. Pure.

`reports.verdicts.fleet` says which host is slow in which number; this module says which numbers of which hosts it is asked
about, and puts its answers into words that name hosts.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from orchestrator.cluster.traits import Difference
from orchestrator.machine.facts import FACTS
from orchestrator.store.result_file import Session
from reports.checks.audit import joined
from reports.checks.doubts import of_results
from reports.draw.figure import MARK
from reports.fleet import since
from reports.fleet.chance import Chance, chance
from reports.fleet.gaps import Gap, Lack, Lacks, failures, gaps, lacks
from reports.fleet.hosts import Hosts, baseline_medians
from reports.fleet.limits import Rule, limits
from reports.fleet.repeated import once, repeated
from reports.fleet.screened import screened
from reports.fleet.unlike import unlike
from reports.fleet.unmatched import Unmatched, lacking
from reports.numbers import conditions, series
from reports.numbers.series import Key, Series
from reports.results.convicted import Guilty, checks_of
from reports.results.differences import Difference as Differs
from reports.results.grouping import group_by
from reports.results.hardware import Hardware
from reports.results.levels import natural
from reports.results.model import Results
from reports.text import format as fmt
from reports.text.hostlist import listed
from reports.verdicts.fleet import (
    CHANCE,
    CONFIRMED,
    DISAGREE,
    FEW,
    FLOOR,
    HALVES,
    LEAST_HOSTS,
    SUSPICIOUS_Z,
    TOLERANCE,
    ZERO,
    Everywhere,
    Fleet,
    Host,
    Metric,
    Status,
    Strip,
    judge_fleet,
    worst,
)
from reports.verdicts.model import base, relative

WORDS: Final[tuple[Status, ...]] = ("broken", "slow", "suspicious", "fast", "ok", "unknown")
"""The words of a verdict, the worst first."""

SAID: Final[Mapping[Status, str]] = {"unknown": "not judged"}
"""A verdict as people read it, where that is another word."""

NOT_RECORDED: Final = "on which PUs is not recorded"
"""Why a host is suspicious and not slow: under a smaller mask the same cell is another measurement."""

NOT_IN_BASELINE: Final = "the baseline has none of their numbers"
NO_NUMBER: Final = "no run of it gave a number"
LAST_FAILED: Final = "its last session gave no number"
"""Why a host is not judged: what its earlier sessions gave is not what it is now."""

ALSO: Final = ("suspicious", "not-judged")
"""What an exit status above 0 may be asked for, beside what always has one."""

_DIGITS: Final = 8
"""Digits of a floor, and at most of what is beyond it."""

ACCUSED: Final = frozenset({"slow", "broken"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """One number of one host that is not ok."""

    host: str
    series: Series
    strip: Strip
    found: Host

    @property
    def change(self) -> float | None:
        """Distance from the median as a share of it; None: it has none."""
        return relative(self.found.value, self.strip.base) if self.strip.base else None

    @property
    def value(self) -> str:
        """Return its value with its unit; beside a floor with as many digits as tell it from that: "100.5 GB/s", not the 101 of its floor."""
        floor = self.strip.metric.floor if self.found.reason == FLOOR else None
        unit, step = self.series.said_unit, self.series.step
        texts = {d: fmt.quantity(self.found.value, unit, d, step=step) for d in range(3, _DIGITS)}
        apart = (d for d, text in texts.items() if text != fmt.quantity(floor, unit, d, step=step))
        return texts[next(apart, 3)]

    @property
    def reason(self) -> str:
        """Say why it is odd where the statistics do not: "below the floor of 101 GB/s"."""
        metric = self.strip.metric
        if self.found.reason == FLOOR:
            bound = "below the floor" if self.series.better == "higher" else "above the ceiling"
            return f"{bound} of {fmt.quantity(metric.floor, self.series.said_unit, _DIGITS, step=0.0)}"
        if self.found.reason == TOLERANCE and metric.tolerance is not None:
            return f"{TOLERANCE} of {fmt.number(metric.tolerance * 100, step=0.0)} %"
        return self.found.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves:
    """Two groups of hosts that differ by far more than the hosts of either, about as large: none is what is usual."""

    worse: tuple[str, ...]
    better: tuple[str, ...]
    strips: tuple[tuple[Series, Strip], ...]  # the numbers that they differ in

    def medians(self, strip: Strip) -> tuple[float, float]:
        """Return the median of the worse hosts and of the better ones."""
        sides: tuple[list[float], list[float]] = [], []
        for host in strip.hosts:
            sides[host.name not in self.worse].append(host.value)
        return statistics.median(sides[0]), statistics.median(sides[1])


Against = Literal["hosts", "baseline", "both"]


def against(strips: Iterable[Strip]) -> Against:
    """Say what the hosts of some numbers are compared with: each other, past sessions of a baseline, or of some numbers the one and of
    others the other."""
    past = {bool(strip.metric.baseline) for strip in strips}
    return "both" if len(past) > 1 else "baseline" if True in past else "hosts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """From where to where the hosts of a group reach in a number."""

    series: Series
    low: Host
    high: Host
    share: float  # the distance of both, as a share of the median of the hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Hosts of equal hardware."""

    hardware: Hardware
    hosts: tuple[str, ...]
    strips: tuple[tuple[Series, Strip], ...]
    apart: str  # how it differs from the largest group; "" for that one
    baseline: int  # sessions of a baseline that its hosts are compared with; 0: with each other
    since: tuple[Differs, ...] = ()  # what its sessions recorded otherwise than the baseline's (A) did

    @property
    def judged(self) -> bool:
        return self.baseline > 0 or len(self.hosts) >= LEAST_HOSTS

    @property
    def compared(self) -> list[tuple[Series, Strip]]:
        """Return the numbers that have a median, of enough hosts or of a baseline, of which something is a share."""
        return [row for row in self.strips if row[1].base]

    @property
    def spreads(self) -> list[Spread]:
        """Return the numbers in which its hosts differ, those in which they are furthest apart first."""
        found = []
        for one, strip in self.strips:
            by_value = sorted(strip.hosts, key=lambda host: host.value)
            middle = base(statistics.median(host.value for host in by_value)) if by_value else None
            if middle and by_value[0].value < by_value[-1].value:
                low, high = by_value[0], by_value[-1]
                found.append(Spread(series=one, low=low, high=high, share=(high.value - low.value) / middle))
        return sorted(found, key=lambda spread: -spread.share)

    @property
    def beside_baseline(self) -> tuple[Series, ...]:
        """Return the numbers that a baseline of the hosts lacks: they are compared with each other, where there are enough hosts."""
        return tuple(one for one, strip in self.strips if not strip.metric.baseline) if self.baseline else ()

    @property
    def past(self) -> str:
        """Say what the hosts are compared with: "a baseline of 2 to 6 sessions, which lacks 4 of 8 numbers (t, a=1: rate and 3 more):
        compared with each other"; "" of no baseline."""
        if not self.baseline:
            return ""
        least = min(len(strip.metric.baseline) for _, strip in self.strips if strip.metric.baseline)
        most = fmt.plural(self.baseline, "session")
        said = f"compared with a baseline of {f'{least} to ' if least < self.baseline else ''}{most}"
        if not (lacks := self.beside_baseline):
            return said
        more = f" and {len(lacks) - 1} more" if len(lacks) > 1 else ""
        compared = {strip.middle is not None for _, strip in self.strips if not strip.metric.baseline}
        some = " where enough hosts have them" if False in compared else ""
        with_ = f"compared with each other{some}" if True in compared else "not compared"
        return f"{said}, which lacks {len(lacks)} of {fmt.plural(len(self.strips), 'number')} ({lacks[0].name}{more}): {with_}"

    @property
    def changed(self) -> str:
        """Say in what its sessions differ from the baseline's: "firmware version 1.2, the baseline 1.1; kernel …"; "" of nothing."""
        return "; ".join(map(since.text_of, self.since))

    @property
    def of_zero(self) -> str:
        """Say of how many numbers the median is 0 or below, of which nothing is a share: they are not compared; "" of none."""
        zeros = [one for one, strip in self.strips if strip.middle is not None and not strip.base]
        if not zeros:
            return ""
        their = "its" if len(zeros) == 1 else "their"
        of = fmt.plural(len(self.strips), "number")
        return f"{len(zeros)} of {of} not compared, since {their} median is 0 or below: {zeros[0].name}" + (
            f" and {len(zeros) - 1} more" if len(zeros) > 1 else ""
        )

    @property
    def halves(self) -> tuple[Halves, ...]:
        """Return the two groups that its hosts fall into, where they do: those of the most numbers first."""
        split = group_by((row for row in self.strips if row[1].worse_half), lambda row: row[1].worse_half)
        return tuple(
            Halves(
                worse=worse,
                better=tuple(n.name for n in own[0][1].hosts if n.name not in worse),
                strips=tuple(own),
            )
            for worse, own in sorted(split.items(), key=lambda item: -len(item[1]))
        )

    def blind(self, threshold: float) -> list[tuple[Series, float]]:
        """Return the numbers in which a host may be more than the threshold worse without being told from the others, and how much; most first."""
        return sorted(
            (row for row in self._bounds if row[1] > threshold), key=lambda row: (-row[1], row[0].name)
        )

    @property
    def _bounds(self) -> list[tuple[Series, float]]:
        return [(one, strip.unseen) for one, strip in self.strips if strip.unseen and not strip.worse_half]

    def unseen(self, threshold: float) -> str:
        """Say how much worse than the threshold a host may be without being told from the others: "" if no worse."""
        blind = self.blind(threshold)
        if not blind:
            return ""
        most = fmt.number(blind[0][1] * 100, 2, fmt.UP)
        return (
            f"up to {most} % worse may go unseen in {len(blind)} of {fmt.plural(len(self._bounds), 'number')}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a fleet is like."""

    groups: tuple[Group, ...]  # the largest first
    # every host → the worst that any of its numbers says, or all of them together
    statuses: Mapping[str, Status]
    odd: tuple[Odd, ...]  # the worst host first, in it the worst number first
    # hosts that no single number accuses, or suspects if they are suspected only
    everywhere: tuple[Everywhere, ...]
    # odd host → "microcode 0xd0, not 0xf0": what else is special about it
    differing: Mapping[str, tuple[str, ...]]
    unlike: tuple[Difference, ...]  # hosts that were measured with something else than most of their group
    unmatched: tuple[Unmatched, ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...]  # number or cell, the hosts that lack it
    warnings: tuple[str, ...]
    chance: Chance
    # what is odd about hosts that chance alone may have made, each measurement once
    by_chance: tuple[Odd, ...]
    repeated: frozenset[tuple[str, Key]]  # host, number: what is another number of the host, told once more
    rerun: Mapping[str, tuple[str, ...]]  # host → sweeps to run again before anybody is accused
    # host → its sessions, the earliest first; of those of one hour the last
    sessions: Mapping[str, tuple[Session, ...]]
    files: Mapping[str, tuple[str, ...]]  # host → its result files, by their short names
    times: tuple[float, float]  # the first and the last session, s since 1970
    threshold: float  # relative: what is less worse is not slow
    guilty: Guilty  # cells that a check convicts
    beside_baseline: bool  # was a baseline given
    gaps: tuple[Gap, ...]  # what is not there to be judged
    lacks: Mapping[str, Lacks]  # host of which runs gave no number → these
    failed: frozenset[tuple[str, str]]  # host, a sweep of which it has runs that gave no number
    screened: Mapping[str, float]  # host → when its last session with a number began, s since 1970
    counted_sessions: Mapping[str, int]  # host → its sessions that gave a number: what is behind its verdict
    last_failed: Mapping[str, str]  # host of whose last session all runs failed → how

    @property
    def doubted(self) -> dict[str, str]:
        """Return odd host → the checks that doubt numbers in which it is odd."""
        told = [(o.host, o.found.doubt) for o in self.odd] + [(e.name, e.doubt) for e in self.everywhere]
        by_host = group_by((one for one in told if one[1]), lambda one: one[0])
        return {host: joined(ids for _, ids in own) for host, own in by_host.items()}

    @property
    def unjudged(self) -> dict[str, tuple[str, ...]]:
        """Return why hosts are not judged → those hosts."""
        reasons = {host: NO_NUMBER for host, status in self.statuses.items() if status == "unknown"}
        for group in self.groups:
            few = "" if group.judged else f"{FEW} of a kind cannot be judged by each other"
            told = [(one.name, one.reason) for _, strip in group.strips for one in strip.hosts if one.reason]
            for host, own in group_by((row for row in told if row[0] in reasons), lambda row: row[0]).items():
                by_number = Counter(reason for _, reason in own)
                why = few or (HALVES if HALVES in by_number else by_number.most_common(1)[0][0])
                reasons[host] = NOT_IN_BASELINE if self.beside_baseline and why in (few, FEW) else why
        reasons |= {
            host: f"{LAST_FAILED}: {said}" for host, said in self.last_failed.items() if host in reasons
        }
        return {reason: tuple(own) for reason, own in group_by(reasons, reasons.__getitem__).items()}

    def helps(self, reason: str) -> str:
        """Return what would help where hosts are not judged for a reason of `unjudged`; "" where nothing is known to, or it was given."""
        known = self.beside_baseline or reason.startswith((NO_NUMBER, LAST_FAILED, ZERO))
        return "" if known else "; --baseline compares them with past sessions"

    def counted(self) -> list[Odd]:
        """Return what is odd without what repeats another number of its host, in the same order."""
        return [one for one in self.odd if (one.host, one.series.key) not in self.repeated]

    def suspected(self, hosts: Collection[str]) -> str:
        """Say why hosts are suspicious and not accused: "fewer than three sessions or sessions that disagree"; "" of none that are."""
        odd = [o.found for o in self.odd if o.host in hosts and o.found.status == "suspicious"]
        few = any(found.sessions < CONFIRMED for found in odd)
        few = few or any(e.name in hosts and not e.confirmed for e in self.everywhere)
        reasons = {found.reason for found in odd if found.sessions >= CONFIRMED}
        told = {
            "fewer than three sessions": few,
            "sessions that disagree": DISAGREE in reasons,
            "what may be chance": CHANCE in reasons,
            NOT_RECORDED: any(found.reason == NOT_RECORDED for found in odd),
        }
        return fmt.words([words for words, true in told.items() if true], "or")

    @property
    def accused(self) -> tuple[str, ...]:
        """Hosts that are slow or broken, in three sessions or more: what page, table, JSON and exit status say alike."""
        return tuple(host for host, status in self.statuses.items() if status in ACCUSED)

    @property
    def halves(self) -> tuple[Halves, ...]:
        return tuple(halves for group in self.groups for halves in group.halves)

    def fails(self, also: Collection[str] = ()) -> bool:
        """Is a host known to be slow, or one half of the hosts slower than the other, or something missing? `also`: words of ALSO."""
        asked = {"suspicious": "suspicious", "not-judged": "unknown"}
        there = {*self.statuses.values()} & {asked[word] for word in also}
        return bool(self.accused or self.halves or self.gaps or there)

    @property
    def lacking(self) -> tuple[str, ...]:
        """Hosts of which runs gave no number: of what is missing nobody can say that it is ok."""
        return tuple(sorted({*self.lacks} & {*self.statuses}))

    @property
    def silent(self) -> tuple[str, ...]:
        """Hosts that are not judged since all runs of their last session failed, and that lack nothing else: that says what they lack."""
        return tuple(
            host
            for host, said in self.last_failed.items()
            if self.statuses[host] == "unknown" and host in self.lacks and self.lacks[host].reason == said
        )

    @property
    def further_gaps(self) -> tuple[Gap, ...]:
        """Return the gaps that are not told with why hosts are not judged."""
        return tuple(gap for gap in self.gaps if not {*gap.of} <= {*self.silent})

    def lack(self, hosts: Iterable[str]) -> Lack:
        """Say what became of the runs of some hosts that gave no number: of all alike, or that none of them has a valid one."""
        words = {self.lacks[host].word for host in hosts}
        return words.pop() if len(words) == 1 else "without a valid number"

    def word_of(self, host: str) -> str:
        """Return the verdict on a host as it is read: "ok", "not judged", "ok, 3 of 24 runs failed"."""
        status = self.statuses[host]
        if host in self.chance.alone:
            return CHANCE
        return (
            f"ok, {self.lacks[host].text}"
            if status == "ok" and host in self.lacks
            else SAID.get(status, status)
        )

    def rank(self, host: str) -> int:
        """Return the place of a host's verdict among `WORDS`, the worst 0; who is off as chance makes stands with those that are ok."""
        return WORDS.index("ok" if host in self.chance.alone else self.statuses[host])

    @property
    def again(self) -> tuple[str, ...]:
        """Hosts that are to be measured again for more than what chance makes, the worst first."""
        order = {o.host: i for i, o in reversed([*enumerate(self.odd)])}
        hosts = (host for host in self.rerun if host not in self.chance.alone)
        return tuple(sorted(hosts, key=lambda host: order.get(host, len(order))))

    def leading(self) -> Report:
        """Return the report without what chance alone may have made: a host of that is ok in all its numbers, but not in `statuses`."""
        alone = self.chance.alone
        if not alone:
            return self

        def of_strip(strip: Strip) -> Strip:
            hosts = (
                replace(h, status="ok", reason="") if h.name in alone and h.is_odd else h for h in strip.hosts
            )
            return replace(strip, hosts=tuple(hosts))

        return replace(
            self,
            groups=tuple(
                replace(group, strips=tuple((one, of_strip(strip)) for one, strip in group.strips))
                for group in self.groups
            ),
            odd=tuple(replace(o, strip=of_strip(o.strip)) for o in self.odd if o.host not in alone),
        )

    def by_status(self) -> dict[Status, list[str]]:
        return {word: [n for n, s in self.statuses.items() if s == word] for word in WORDS}


def build(
    results: Results,
    *,
    baseline: Results | None = None,
    rules: Sequence[Rule] = (),
    threshold: float = 0.03,
    guilty: Guilty | None = None,
    wanted: Collection[str] = (),
    unreadable: Sequence[tuple[str, str]] = (),
) -> Report:
    """Judge the hosts of some result files.

    `baseline`: past sessions of good hosts, to compare with instead of with each other; each group takes those of its own
    hardware. `threshold`: relative; what is less worse is not slow. `guilty`: what the checks convict, where that is known already.
    `wanted`: hosts that should have a result; `unreadable`: files that are none, and why.
    Raises ExperimentError for rules in wrong units.
    """
    hosts = Hosts(results, baseline)
    guilty = of_results(results) if guilty is None else guilty
    collected = sorted(_collected(results, guilty), key=_order)
    of_past = series.collect_some(baseline, of_results(baseline)) if baseline else ()
    past = baseline_medians(of_past, hosts, baseline) if baseline else {}
    largest = next(iter(hosts.groups), None)
    judged = [
        _judge(
            kind, members, conditions.told_apart(hosts.of(one, kind) for one in collected), hosts, past, rules, threshold,
            apart=kind.differences(largest) if largest and kind != largest else "",
        )
        for kind, members in hosts.groups.items()
    ]  # fmt: skip
    groups = [_beside(of.group, results, baseline, hosts) for of in judged]
    everywhere = [e for of in judged for e in of.everywhere]
    statuses: dict[str, Status] = dict.fromkeys(hosts.sessions, "unknown")
    told = [item for of in judged for item in of.statuses.items()]
    told += [(e.name, "slow" if e.confirmed else "suspicious") for e in everywhere]
    for name, status in told:
        statuses[name] = worst(statuses[name], status)
    for name in hosts.last_failed:
        statuses[name] = "unknown" if statuses[name] in ("ok", "fast") else statuses[name]
    every_odd = [o for of in judged for o in of.odd]
    again = frozenset[tuple[str, Key]]().union(*(repeated(group.strips) for group in groups))
    by_chance = chance(
        (once(row, again) for group in groups for row in group.strips),
        group_by(
            (one.found for one in every_odd if (one.host, one.series.key) not in again),
            lambda found: found.name,
        ),
        {e.name for e in everywhere} | {name for name, status in statuses.items() if status in ACCUSED},
        len(statuses),
    )
    odd = _worst_first(every_odd, statuses, by_chance)
    lacking_runs = lacks(results, hosts.names)
    return Report(
        groups=tuple(groups),
        statuses=statuses,
        odd=tuple(odd),
        everywhere=tuple(sorted(everywhere, key=lambda e: (-e.z, e.name))),
        differing=_differing(groups, hosts.sessions, statuses, ({o.host for o in odd} - by_chance.alone) | {e.name for e in everywhere}),
        unlike=unlike([group.hosts for group in groups], hosts.sessions),
        unmatched=tuple(u for of in judged for u in of.unmatched),
        missing=tuple(m for of in judged for m in of.missing),
        warnings=(
            *hosts.warnings,
            *(w for group in groups for w in (*_halved(group), *_without_past(group, baseline))),
            *_idle(rules, frozenset().union(*(of.fitted for of in judged))),
            *_programs(collected),
            *filter(None, [by_chance.warning]),
            *_doubtful_past(of_past),
        ),
        chance=by_chance,
        by_chance=tuple(o for o in odd if o.host in by_chance.alone and (o.host, o.series.key) not in again),
        repeated=again,
        rerun=_rerun(odd, everywhere, collected, statuses, by_chance),
        sessions=hosts.sessions,
        files=hosts.files,
        times=hosts.times,
        threshold=threshold,
        guilty=guilty,
        beside_baseline=baseline is not None,
        gaps=gaps(results, lacking_runs, wanted, unreadable),
        lacks=lacking_runs,
        failed=failures(results, hosts.names),
        screened=screened(results, hosts.names),
        counted_sessions=hosts.counted,
        last_failed=hosts.last_failed,
    )  # fmt: skip


def _beside(group: Group, results: Results, baseline: Results | None, hosts: Hosts) -> Group:
    """Return a group with what its sessions recorded otherwise than the baseline's of the same hardware did."""
    if not baseline or not group.baseline:
        return group
    past = {key for key, kind in hosts.past.items() if kind == group.hardware}
    now = {key for key, name in hosts.names.items() if name in group.hosts}
    return replace(group, since=since.since_baseline(baseline, past, results, now))


def _collected(results: Results, guilty: Guilty) -> tuple[Series, ...]:
    """Return the numbers that can be better or worse; none where no run gave any, which is a gap of each host. Raises UserError where none can."""
    given = any(run.parsed is not None and not run.void for run in results.runs)
    return series.collect_some(results, guilty) if given or results.texts else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What is said of the hosts of one group."""

    group: Group
    statuses: Mapping[str, Status]
    everywhere: Sequence[Everywhere]
    odd: Sequence[Odd]
    unmatched: Sequence[Unmatched]
    missing: Sequence[tuple[str, tuple[str, ...]]]
    fitted: frozenset[int]  # indexes of the rules that fit one of its numbers


def _judge(
    kind: Hardware, members: Sequence[str], of: Sequence[Series], hosts: Hosts,
    past: Mapping[tuple[Hashable, ...], list[float]], rules: Sequence[Rule], threshold: float, *, apart: str,
) -> _Judged:  # fmt: skip
    asked = [limits(rules, one) for one in of]
    metrics = [
        Metric(
            key=one.key, better=one.better, values=hosts.values(one), resolution=one.resolution,
            baseline=past.get((kind, one.key, conditions.way(one.values[0].run)), ()), floor=limit.floor, tolerance=limit.tolerance,
            unsure="" if conditions.way(one.values[0].run).known else NOT_RECORDED,
        )
        for one, limit in zip(of, asked, strict=True)
    ]  # fmt: skip
    judged = _doubted(judge_fleet(metrics, threshold=threshold), [hosts.doubts(one) for one in of])
    halved = {host.name for strip in judged.strips if strip.worse_half for host in strip.hosts}
    unmatched, missing = lacking(of, metrics, members)
    return _Judged(
        group=Group(
            hardware=kind, hosts=tuple(members), strips=tuple(zip(of, judged.strips, strict=True)), apart=apart,
            baseline=max((len(m.baseline) for m in metrics), default=0),
        ),
        statuses={
            host: "unknown" if host in halved and status in ("ok", "fast") else status
            for host, status in judged.statuses.items()
        },
        everywhere=[
            e
            for e in judged.everywhere
            if judged.statuses[e.name] not in (ACCUSED if e.confirmed else {*ACCUSED, "suspicious"})
        ],
        odd=[
            Odd(host=host.name, series=one, strip=strip, found=host)
            for one, strip in zip(of, judged.strips, strict=True)
            for host in strip.hosts
            if host.is_odd
        ],
        unmatched=unmatched,
        missing=missing,
        fitted=frozenset(i for i, rule in enumerate(rules) if any(rule.fits(one) for one in of)),
    )  # fmt: skip


def _doubted(judged: Fleet, doubts: Sequence[Mapping[str, str]]) -> Fleet:
    """Return the verdicts with what doubts them: of each number, host → checks."""
    if not any(doubts):
        return judged
    strips = tuple(
        replace(strip, hosts=tuple(replace(host, doubt=of.get(host.name, "")) for host in strip.hosts))
        for strip, of in zip(judged.strips, doubts, strict=True)
    )
    everywhere = tuple(
        replace(one, doubt=joined(of.get(one.name, "") for of in doubts)) for one in judged.everywhere
    )
    return replace(judged, strips=strips, everywhere=everywhere)


def _doubtful_past(of_past: Iterable[Series]) -> list[str]:
    """Say what a check doubts of the baseline: what hosts are compared with is told nowhere else."""
    doubted = [one for one in of_past if any(v.doubt for v in one.values)]
    ids = Counter(key for one in doubted for key in {k for v in one.values for k in checks_of(v.doubt)})
    if not ids:
        return []
    named = ", ".join(f"{key} ({fmt.count(n)})" for key, n in ids.most_common())
    of = f"{fmt.plural(len(doubted), 'number')} of the baseline"
    return [
        f"{MARK} doubtful: {of}, by the checks of their cells: {named}; pinsweep audit of its files says why"
    ]


def _without_past(group: Group, baseline: Results | None) -> list[str]:
    if not baseline or group.baseline:
        return []
    return [
        f"the baseline has none of these numbers from this hardware: {group.hardware.name} ({listed(group.hosts)})"
    ]


def _idle(rules: Sequence[Rule], fitted: frozenset[int]) -> list[str]:
    return [
        f"{rule.mark}: this rule fits no number of these files"
        for i, rule in enumerate(rules)
        if i not in fitted
    ]


def _order(one: Series) -> tuple[object, ...]:
    """Sort key of numbers: the same whatever the order of the files."""
    labels = [natural(value) for value in one.values[0].run.cell.labels().values()]
    return one.key.tool, one.key.sweep, labels, one.key.program, one.key.point_id


# --- what is odd -------------------------------------------------------------------------------------------


def _worst_first(odd: Iterable[Odd], statuses: Mapping[str, Status], by_chance: Chance) -> list[Odd]:
    """Sort by the verdict on each host, of whom all numbers together may accuse more than any one of them does; of suspicious ones those first that stand
    out from what chance makes; then by its worst number."""

    def rank(one: Odd) -> tuple[int, bool, float, str]:
        within = (
            not one.found.of_rule and abs(one.found.z or 0.0) <= SUSPICIOUS_Z
        )  # of what the others scatter by
        return WORDS.index(one.found.status), within, -abs(one.found.worse or 0.0), one.series.name

    by_host = {host: sorted(own, key=rank) for host, own in group_by(odd, lambda one: one.host).items()}
    hosts = sorted(
        by_host,
        key=lambda n: (
            WORDS.index(statuses[n]), n in by_chance.alone, n not in by_chance.apart, rank(by_host[n][0])[:3], -len(by_host[n]), n,
        ),
    )  # fmt: skip
    return [one for host in hosts for one in by_host[host]]


def _programs(collected: Iterable[Series]) -> list[str]:
    """Say where a tool's numbers come from different programs: they are never compared with one another."""
    by_tool = {
        tool: sorted({one.key.program for one in own})
        for tool, own in group_by(collected, lambda one: one.key.tool).items()
    }
    return [
        f"numbers of {tool} come from {fmt.words(programs)}: hosts with one are not compared with hosts with another"
        for tool, programs in by_tool.items()
        if len(programs) > 1
    ]


def _halved(group: Group) -> Iterable[str]:
    """Say who is in which of two groups of hosts, and what each has in the number in which they differ most."""
    for halves in group.halves:
        one, worse, better = max(
            ((one, *halves.medians(strip)) for one, strip in halves.strips),
            key=lambda row: abs(row[1] - row[2]) / max(abs(row[1]), abs(row[2])),
        )
        yield (
            f"the hosts fall into two groups in {len(halves.strips)} of {fmt.plural(len(group.strips), 'number')}: "
            f"{listed(halves.worse)} worse than {listed(halves.better)}, in {one.name} {fmt.quantity(worse, one.said_unit, step=one.step)} against "
            f"{fmt.quantity(better, one.said_unit, step=one.step)}; which of them is as it should be, these files do not tell"
        )


def _differing(
    groups: Sequence[Group],
    sessions: Mapping[str, Sequence[Session]],
    statuses: Mapping[str, Status],
    odd: Collection[str],
) -> dict[str, tuple[str, ...]]:
    """Return odd host → facts that more than half of its group share and it does not. What more hosts have that are ok than odd
    is no mark of these; what fewer have is said with their number."""
    out: dict[str, list[str]] = {}
    for group in groups:
        for fact in FACTS:
            if fact.hardware:
                continue
            said = {name: fact.text(sessions[name][-1].facts) for name in group.hosts}
            common, n = Counter(said.values()).most_common(1)[0]
            if not common or 2 * n <= len(group.hosts):
                continue
            for value, hosts in group_by(
                (name for name in said if said[name] != common), said.__getitem__
            ).items():
                suspects = [name for name in hosts if name in odd]
                well = sum(statuses[name] == "ok" for name in hosts)
                if well > len(suspects):
                    continue
                are = "is" if well == 1 else "are"
                too = f", as {fmt.plural(well, 'host')} that {are} ok" if well else ""
                for name in suspects:
                    out.setdefault(name, []).append(
                        f"{fact.words} {value or 'not recorded'}, not {common}{too}"
                    )
    return {name: tuple(out[name]) for group in groups for name in group.hosts if name in out}


def _rerun(
    odd: Sequence[Odd],
    everywhere: Sequence[Everywhere],
    collected: Iterable[Series],
    statuses: Mapping[str, Status],
    by_chance: Chance,
) -> dict[str, tuple[str, ...]]:
    """Return host → the sweeps to run again: those that are suspicious; of a host slow everywhere, all; of an accused one, none; nor of hosts
    that are too many for it to be the hosts, where some stand out from them."""
    wanted = [(one.host, one.series.key.sweep) for one in odd if one.found.status == "suspicious"]
    sweeps = dict.fromkeys(one.key.sweep for one in collected)
    wanted += [(whole.name, sweep) for whole in everywhere if not whole.confirmed for sweep in sweeps]
    asked = by_chance.apart | {e.name for e in everywhere} | {o.host for o in odd if o.found.of_rule}
    if not by_chance.too_many or by_chance.many_apart or not asked:
        asked |= statuses.keys()
    by_host = group_by(
        (row for row in wanted if statuses[row[0]] not in ACCUSED and row[0] in asked), lambda row: row[0]
    )
    return {host: tuple(dict.fromkeys(sweep for _, sweep in own)) for host, own in by_host.items()}
