"""The page of a fleet: verdict, what to know, the hosts to look at, a strip per number. I/O: reads names, writes the page."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from reports.checks.doubts import mark, of_figure
from reports.draw.figure import ROW, Table
from reports.fleet.doubted import doubtful, of_all, said_of_all, without
from reports.fleet.gaps import Gap, Lack
from reports.fleet.heat import choose
from reports.fleet.outliers import ACCUSED, NOT_RECORDED, WORDS, Odd, Report, against
from reports.fleet.sizes import MOST_NAMED, alone, sessions_of, size, sizes
from reports.fleet.strip import figure as strip_figure
from reports.fleet.strip import heat_map
from reports.fleet.text import on_average
from reports.page import html
from reports.page.model import Block, Check, KeyNumber, Page, Section
from reports.results.grouping import group_by
from reports.results.model import short_names
from reports.results.sessions import minute
from reports.results.write import write_whole
from reports.text import format as fmt
from reports.text.hostlist import listed
from reports.text.names import anchor as anchor_of
from reports.verdicts.fleet import ASSUMED_SPREAD, BROKEN, HALF, LEAST_HOSTS, SUSPICIOUS_Z

_MOST_SUSPECTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A host to look at: its worst number (of a fast one the best), and all that are odd."""

    host: str
    anchor: str
    verdict: str
    bad: bool
    number: str
    value: str
    median: str
    change: str
    z: str
    odd: str
    special: str
    sessions: str
    reports: tuple[tuple[str, str], ...]  # result file, the page beside it ("": there is none)
    numbers: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetBlock(Block):
    """What fleet.html.j2 places."""

    heading: str
    sub: str
    suspects: tuple[Suspect, ...]
    more: str  # hosts to look at of which nothing is listed here; "" of none
    alone: str  # hosts that are off as chance makes; "" of none
    by_chance: Table  # their odd numbers


def render_fleet(
    report: Report, paths: Sequence[Path], out: Path, *, title: str, static: bool = False
) -> Path:
    """Write the page of a fleet to `out` and return it. Raises UserError if it cannot be written."""
    write_whole(out, html.html(build(report, title=title, links=beside(paths, out)), static=static))
    return out


def beside(paths: Sequence[Path], out: Path) -> dict[str, str]:
    """Return result file (by its short name) → link from `out` to the page of the same name beside it, where there is one."""
    found = {}
    for path, name in zip(paths, short_names(paths), strict=True):
        own = path.with_suffix(".html")
        if own.is_file() and os.path.realpath(own) != os.path.realpath(out):
            folder = Path(os.path.realpath(out)).parent
            found[name] = quote(os.path.relpath(os.path.realpath(own), folder))
    return found


def build(report: Report, *, title: str, links: Mapping[str, str]) -> Page:
    """Return the page. `links`: result file → where its own page lies."""
    doubted_all = of_all(report)
    report = without(report, doubted_all).leading()
    several = len(report.groups) > 1
    chosen = [choose(group, report) for group in report.groups]
    odd = _odd(report, [host for of in chosen if of for own in of.together for host in own])
    first = itertools.islice(odd.items(), _MOST_SUSPECTS)
    suspects = tuple(_suspects(report, first, links))
    more = _more(report, suspects, links)
    groups = list(enumerate(zip(report.groups, chosen, strict=True), 1))
    maps, figures = (
        [of_figure(figure, report.guilty) for figure in drawn if figure]
        for drawn in (
            [heat_map(group, report, n, several, more, of=of) for n, (group, of) in groups],
            [strip_figure(group, report, n, several) for n, (group, _) in groups],
        )
    )
    hosts = Section(
        title="Hosts", anchor="nodes", opening=True, blocks=(Block(tool="hosts", figures=tuple(maps)),)
    )
    left_out = [*odd][_MOST_SUSPECTS:]
    block = FleetBlock(
        tool="fleet", figures=tuple(figures), suspects=suspects, heading=f"{fmt.spelled(len(odd)).capitalize()} to look at"
        + (f", the first {_MOST_SUSPECTS}" if left_out else ""),
        sub=_rules(report),
        more=f"Less far off, and not in the table: {listed(left_out)}. pinsweep fleet --all lists their numbers." if left_out else "",
        alone=f"{alone(report, sys.maxsize)}." if report.by_chance else "",
        by_chance=_by_chance(report),
    )  # fmt: skip
    sessions = [s for own in report.sessions.values() for s in own]
    return Page(
        title=title,
        sentence=sentence(report, doubted_all),
        key_numbers=tuple(_key_numbers(report)),
        provenance=tuple(_provenance(report)),
        checks=tuple(_checks(report)),
        sections=(*([hosts] if maps else []), *([Section(title="Numbers", anchor="numbers", blocks=(block,))] if figures or suspects or block.alone else [])),
        methods=tuple(_methods(report)),
        version=max((s.pinsweep_version for s in sessions), default=""),
        several_files=sum(map(len, report.files.values())) > 1,
    )  # fmt: skip


def _more(report: Report, suspects: Iterable[Suspect], links: Mapping[str, str]) -> dict[str, str]:
    """Return host → where more is said of it: further down, else on the page of one of its result files."""
    own = {host: links[file] for host, files in report.files.items() for file in files[::-1] if file in links}
    return own | {suspect.host: f"#{suspect.anchor}" for suspect in suspects}


_LACK: Final[Mapping[Lack, str]] = {
    "failed": "failed", "not run": "were not started, or not to the end", "not valid": "were not valid", "disturbed": "were disturbed",
    "without a valid number": "gave no valid number",
}  # fmt: skip


def sentence(report: Report, doubted_all: Sequence[str] = ()) -> str:
    """Return the verdict in one sentence. `doubted_all`: the checks that doubt all numbers, which the report does not have."""
    total = len(report.statuses)
    slow = list(report.accused)
    unknown = [n for n, s in report.statuses.items() if s == "unknown"]
    parts = []
    looks = _look_slow(report)
    if slow:
        parts += [_accused(report), *looks]
    elif looks:
        parts += looks
    elif len(unknown) == total:
        which = "which could not be judged" if total == 1 else "none of which could be judged"
        parts.append(f"{fmt.plural(total, 'host')}, {which}")
    elif total == 1:
        parts.append(f"{next(iter(report.statuses))} is not known to be slow")
    else:
        parts.append(f"None of {fmt.plural(total, 'host')} is known to be slow")
    if (many := _too_many(report)) or report.by_chance:
        parts.append(many or alone(report, MOST_NAMED))
    if lacking := [host for host in report.lacking if host not in report.silent]:
        whole = all(not report.lacks[host].sound for host in lacking)
        parts.append(f"{'all runs' if whole else 'runs'} of {_named(lacking)} {_LACK[report.lack(lacking)]}")
    if halves := report.halves:
        parts.append(
            f"two groups of hosts differ: {_named(halves[0].worse)} worse than {_named(halves[0].better)}"
        )
    several = len(report.groups) > 1
    parts += [
        text + (f" of {_named(group.hosts)}" if several else "")
        for group in report.groups
        if (text := group.unseen(report.threshold))
    ]
    if unknown and len(unknown) < total:
        since = ""
        if {*unknown} <= {*report.silent}:
            since = f", since {'its' if len(unknown) == 1 else 'their'} last session failed"
        parts.append(f"{_named(unknown)} could not be judged{since}")
    return "; ".join(filter(None, (*parts, said_of_all(doubted_all), doubtful(report, MOST_NAMED)))) + "."


_TOO_MANY: Final = "are too many for it to be the hosts: longer runs of all help more than a second look"


def _look_slow(report: Report) -> list[str]:
    """Return "2 of 10 hosts look slow: n005 (20 to 27 % worse in 244 of 255 numbers) and n007 (12 to 13 % in 48); one session each, to be measured again", the
    worst first; nothing of none, or where too many look so."""
    again = report.again
    if not again or (report.chance.too_many and not report.chance.apart):
        return []
    of = " more" if report.accused else f" of {fmt.plural(len(report.statuses), 'host')}"
    look = "looks" if len(again) == 1 else "look"
    return [
        f"{len(again)}{of} {look} slow: {sizes(report, again, MOST_NAMED)}",
        f"they {_TOO_MANY}"
        if report.chance.many_apart
        else f"{sessions_of(report, again)}: to be measured again",
    ]


def _too_many(report: Report) -> str:
    """Say that others look slow than those that stand out, and are too many for it to be the hosts; "" where chance makes as many."""
    chance = report.chance
    if not chance.too_many or chance.alone or not chance.others or chance.many_apart:
        return ""
    others = f"{chance.others} {'more ' if chance.apart else ''}hosts"
    return f"{others} looked slow, which {_TOO_MANY}"


def _accused(report: Report) -> str:
    """Return "node019 of 41 hosts is broken, node[007,012] are slow": the same words for the same hosts as everywhere."""
    by_status = report.by_status()
    said: list[str] = []
    for word in ("broken", "slow"):
        if hosts := by_status[word]:
            few = len(report.accused) <= MOST_NAMED
            named = listed(hosts) if few else fmt.count(len(hosts))
            of = (
                "" if said or len(report.statuses) == 1 else f" of {fmt.plural(len(report.statuses), 'host')}"
            )
            order = list(dict.fromkeys(odd.host for odd in report.odd if odd.host in hosts)) or hosts
            how = size(report, *order) if len(order) == 1 else sizes(report, order, MOST_NAMED)
            said.append(
                f"{named}{of} {'is' if len(hosts) == 1 else 'are'} {word}{f': {how}' if few and how else ''}"
            )
    return ", ".join(said)


def _named(hosts: Sequence[str]) -> str:
    """Return "node[003,017]", of many "40 hosts"."""
    return listed(hosts) if len(hosts) <= MOST_NAMED else fmt.plural(len(hosts), "host")


def _key_numbers(report: Report) -> Iterable[KeyNumber]:
    by_status = report.by_status()
    unknown = len(by_status["unknown"])
    rows = [("Hosts", len(report.statuses), f"of {fmt.plural(len(report.groups), 'kind')}")]
    if unknown < len(report.statuses):
        apart = ", ".join(f"{len(by_status[word])} {word}" for word in ("broken", "slow"))
        apart += f"; {unknown} not judged" if unknown else ""
        rows += [
            ("Broken or slow", len(report.accused), apart),
            ("To measure again", len(report.again), _why_again(report)),
        ]
    rows.append(("Numbers", *_compared(report)))
    for rank, (name, value, context) in enumerate(rows):
        yield KeyNumber(name=name, value=fmt.count(value), unit="", context=context, rank=rank)


def _why_again(report: Report) -> str:
    lone = len(report.chance.alone)
    beside = f"{lone}{' more' if report.again else ''} off as chance makes" if lone else ""
    return "; ".join(filter(None, [report.suspected(report.again), beside])) or "nobody is suspicious"


def _compared(report: Report) -> tuple[int, str]:
    """Return how many numbers were compared, and what was done with the others; of none all."""
    every = [strip for group in report.groups for _, strip in group.strips]
    compared = sum(bool(strip.base) for strip in every)
    whole = all(
        len(s.hosts) == len(g.hosts) for g in report.groups for _, s in g.strips if s.base or not compared
    )
    if not compared:
        return len(every), "on all hosts, none of them compared" if whole else "none of them compared"
    kinds = f"compared{' on each host' if whole else ', not each on every host'}"
    if len(report.groups) > 1:
        kinds = "compared, all kinds of host together"
    more = len(every) - compared
    unjudged = all(s.base or not g.judged for g in report.groups for _, s in g.strips)
    of_kinds = " of kinds of host too few to be judged" if unjudged else ""
    rest = f"{fmt.count(more)} more{of_kinds} {'is' if more == 1 else 'are'} not" if more else ""
    return compared, "; ".join(filter(None, (kinds, rest)))


def _provenance(report: Report) -> Iterable[tuple[str, str]]:
    yield "Hosts", listed(report.sessions)
    for group in report.groups[:4]:
        yield f"{fmt.plural(len(group.hosts), 'host')} with", group.hardware.name
    kernels = sorted({str(s.facts.get("kernel") or "") for own in report.sessions.values() for s in own} - {""})  # fmt: skip
    if kernels:
        yield (
            "Kernel",
            "; ".join(kernels[:4]) + (f"; and {len(kernels) - 4} more" if len(kernels) > 4 else ""),
        )
    first, last = (f"{minute(at)} UTC" for at in report.times)
    yield "Measured", first if first == last else f"{first} to {last}"
    files = sum(len(own) for own in report.files.values())
    yield (
        "Sessions",
        f"{sum(len(own) for own in report.sessions.values())} in {fmt.plural(files, 'result file')}",
    )


def _checks(report: Report) -> Iterable[Check]:
    for text in report.warnings:
        yield Check(level="warn", subject=f"{text}.", text="")
    for group in report.groups:
        hosts = listed(group.hosts)
        for text in filter(None, (group.past if group.beside_baseline else "", group.of_zero)):
            yield Check(level="info", subject="Compared otherwise, or not.", text=f"{hosts}: {text}.")
        if group.changed:
            yield Check(level="warn", subject="Not as the baseline was.", text=f"{hosts}: {group.changed}.")
        if group.apart:
            yield Check(level="warn", subject="Other hardware.", text=f"{hosts}: {group.apart}")
        if blind := group.blind(report.threshold):
            yield Check(
                level="info", subject="May go unseen.", text=f"{hosts}: {group.unseen(report.threshold)}.",
                items=tuple(f"{one.name}: up to {fmt.number(bound * 100, 2, fmt.UP)} %" for one, bound in blind[:20]),
                counted=f"{fmt.plural(len(blind), 'number')}{', the first 20' if len(blind) > 20 else ''}",
            )  # fmt: skip
    for reason, names in report.unjudged.items():
        yield Check(
            level="warn" if {*names} & {*report.silent} else "info",
            subject="Not judged.",
            text=f"{listed(names)}: {reason}{report.helps(reason)}.",
        )
    old = [gap for gap in report.further_gaps if gap.what == "not screened"]
    lacking_runs = [gap for gap in report.further_gaps if gap.what != "not screened"]
    for subject, gaps, said in (
        ("Incomplete.", lacking_runs, "not all that was asked for is there to be judged"),
        ("Not screened lately.", old, "what is judged is older than was asked for"),
    ):
        if gaps:
            yield Check(
                level="warn", subject=subject, text=f"{_of_gaps(gaps)}: {said}.",
                items=tuple(gap.text for gap in gaps[:20]),
                counted=f"{fmt.plural(len(gaps), 'gap')}{', the first 20' if len(gaps) > 20 else ''}",
            )  # fmt: skip
    if report.unmatched:
        yield Check(
            level="warn", subject="Not compared.", text="Some hosts ran cells in another way than most.",
            items=tuple(f"{one.what} of {listed(one.hosts)}: {one.reason}" for one in report.unmatched),
            counted=fmt.plural(len(report.unmatched), "difference"),
        )  # fmt: skip
    if lacking := sorted({host for _, hosts in report.missing for host in hosts}):
        yield Check(
            level="warn", subject="Missing numbers.", text=f"{_named(lacking)} {'lacks' if len(lacking) == 1 else 'lack'} what others have.",
            items=tuple(f"{what}: {listed(hosts)}" for what, hosts in report.missing[:20]),
            counted=f"{fmt.plural(len(report.missing), 'gap')}{', the first 20' if len(report.missing) > 20 else ''}",
        )  # fmt: skip


def _of_gaps(gaps: Sequence[Gap]) -> str:
    """Return "node[2-3] and the file node3.db": what some gaps are of."""
    hosts = sorted({name for gap in gaps if gap.what != "unreadable" for name in gap.of})
    files = sorted({name for gap in gaps if gap.what == "unreadable" for name in gap.of})
    several = f"the files {', '.join(files)}" if len(files) <= MOST_NAMED else fmt.plural(len(files), "file")
    told = f"the file {files[0]}" if len(files) == 1 else several
    return fmt.words([*([_named(hosts)] if hosts else []), *([told] if files else [])])


def _methods(report: Report) -> Iterable[str]:
    with_ = {
        "hosts": "is the median of the hosts.",
        "baseline": "are the sessions of the baseline.",
        "both": "are the sessions of the baseline where it has the number of their kind, else the median of the hosts.",
    }[against(strip for group in report.groups for _, strip in group.strips)]
    yield (
        "Hosts are compared within groups of equal hardware: processor, packages, cores and NUMA nodes, memory within 2 %, and its modules "
        "where every host recorded them; only what ran with the same options, threads and PUs. What one boot of a host did within an hour "
        "is one session and counts as one value, the median of its repeats"
        f"; what they are compared with {with_}"
    )
    least = f"{report.threshold * 100:.3g} %"
    yield (
        "The spread is 1.4826 times the median absolute deviation, at least 0.3 % of the median, what the last printed digit makes, and what "
        "the scatter of the hosts' own sessions makes of a host's median (beside a baseline, of a session, and at least "
        f"{ASSUMED_SPREAD * 100:.3g} % where that has fewer than {LEAST_HOSTS} sessions of the number); z is the distance in such spreads, above 0 worse."
    )
    yield (
        f"Slow: {least} worse in each of three sessions or more (of few printed digits 1.5 of the last, where that is more), and by more than chance makes of equal "
        "hosts in 5 of 100 fleets (a t value for as many comparisons as there are hosts times numbers that do not move together), each session by half of that; "
        f"broken: likewise, and the median {BROKEN * 100:.3g} % worse."
    )
    yield (
        "Slightly slow everywhere: the mean z over all numbers lies 3.5 robust standard deviations above that of the "
        f"other hosts, and by more than chance makes of equal hosts in 1 of 100 fleets, and each session is {report.threshold * 100 / 3:.3g} % worse on average, half of the numbers by half of that. "
        f"Two groups of hosts: apart by more than {least} and than twice what either spans, the smaller with more than {HALF * 100:.3g} % of the hosts; there nobody is judged."
    )
    yield (
        f"Unseen: two spreads more than chance asks of each of three sessions (of 40 hosts with 54 numbers, for example, 4.5 spreads in all), at least {least}; of "
        f"hosts worse by just that, about three in four are at least suspicious, of those worse by just {least} half or fewer."
    )


def _rules(report: Report) -> str:
    """Say how hosts are ordered, and by which rule one is suspicious or fast: what stands in the table, once on the page."""
    least, half = (f"{share * 100:.3g} %" for share in (report.threshold, report.threshold / 2))
    there = {odd.found.status for odd in report.odd} | {report.statuses[e.name] for e in report.everywhere}
    blind = any(odd.found.reason == NOT_RECORDED for odd in report.odd)
    order = "The worst number of each, of a fast host the best; in the order of the rows above"
    said = [order]
    if "suspicious" in there:
        said.append(
            f"Suspicious is, in fewer than three sessions, who is {least} worse than the median, even inside the spread of the hosts, or beyond that spread (z above {SUSPICIOUS_Z}) "
            f"and {half} worse, even below the threshold of {least}: where it is one of the two alone, that is said. Of three sessions or more, it is who would be slow but for chance, "
            f"or for a session that disagrees{', or since it is not recorded on which PUs it ran' if blind else ''}"
        )
    if there & ACCUSED:
        said.append(
            "Slow is who is worse than the median by the threshold, in each of three sessions, and by more than chance makes"
        )
    if any(odd.found.of_rule for odd in report.odd):
        said.append(
            "Who is beyond a floor or a tolerance of the rules is slow in three sessions, suspicious in fewer, whatever the others have"
        )
    if "fast" in there:
        said.append("Fast is who is as much better in each session: other memory modules, or another clock?")
    return " ".join(
        f"{text}{'' if text.endswith('?') else '.'}" for text in (*said, report.chance.text) if text
    )


def _odd(report: Report, order: Sequence[str]) -> dict[str, list[Odd]]:
    """Return host to look at → its odd numbers; the worst verdict first, of one verdict in the order of the maps, in which a host of which more
    runs failed may stand higher."""
    by_host = group_by(report.counted(), lambda odd: odd.host)
    every = by_host | {e.name: [] for e in report.everywhere if e.name not in by_host}
    place = {host: i for i, host in enumerate(order)}
    return {
        host: every[host]
        for host in sorted(every, key=lambda n: (WORDS.index(report.statuses[n]), place.get(n, len(place))))
    }


def _suspects(
    report: Report, shown: Iterable[tuple[str, list[Odd]]], links: Mapping[str, str]
) -> Iterable[Suspect]:
    mild = {e.name: e for e in report.everywhere}
    accused = {*report.accused}
    for host, own in shown:
        first = own[0] if own and host not in mild else None
        yield Suspect(
            host=host,
            anchor=anchor_of(f"node {host}"),
            verdict=report.statuses[host],
            bad=host in accused,
            number=f"{first.series.name}{mark(first.found.doubt)}" if first
            else f"slightly slow everywhere: {on_average(mild[host])}{mark(mild[host].doubt)}",
            value=first.value if first else "",
            median=fmt.quantity(first.strip.middle, first.series.said_unit, step=first.series.step) if first else "",
            change=fmt.change(first.change) if first else "",
            z=fmt.number(first.found.z if first else mild[host].z, 2),
            odd=str(len(own)),
            special="; ".join(report.differing.get(host, ())),
            sessions=fmt.plural(report.counted_sessions[host], "session"),
            reports=tuple((file, links.get(file, "")) for file in report.files[host]),
            numbers=_numbers(own),
        )  # fmt: skip


def _by_chance(report: Report) -> Table:
    """Return the odd numbers of the hosts that are off as chance makes."""
    own = _numbers(report.by_chance)
    hosts = [odd.host for odd in report.by_chance]
    return Table(
        columns=("Host", *own.columns),
        rows=tuple((host, *row) for host, row in zip(hosts, own.rows, strict=True)),
        numeric=frozenset(n + 1 for n in own.numeric),
        doubts=own.doubts,
    )


def _numbers(own: Sequence[Odd]) -> Table:
    return Table(
        columns=("Number", "Verdict", "Value", "Median", "Change", "z", "Sessions"),
        rows=tuple(
            (
                o.series.name, o.found.status + (f", {o.reason}" if o.reason else ""),
                o.value, fmt.quantity(o.strip.middle, o.series.said_unit, step=o.series.step),
                fmt.change(o.change), fmt.number(o.found.z, 2), fmt.count(o.found.sessions),
            )
            for o in own
        ),
        numeric=frozenset({2, 3, 4, 5, 6}),
        doubts=tuple({ROW: o.found.doubt} if o.found.doubt else {} for o in own) if any(o.found.doubt for o in own) else (),
    )  # fmt: skip
