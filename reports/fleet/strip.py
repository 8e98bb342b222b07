"""The figures of a group of hosts: the heat map, and strips: a row for each family of numbers, a dot for each host, better to the right."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from reports.checks.doubts import mark
from reports.draw import axes, label_placement, vega
from reports.draw import figure as model
from reports.draw.figure import Figure, Panel, Table, panel, row_of
from reports.draw.plot import Plot
from reports.draw.vega import Frame, Rows, Spec
from reports.fleet.families import families, middle_of
from reports.fleet.heat import Chosen, choose, heat
from reports.fleet.outliers import ACCUSED, Group, Report, against
from reports.fleet.sizes import MOST_NAMED
from reports.numbers.series import Series
from reports.results.grouping import group_by
from reports.results.levels import natural
from reports.results.model import Run
from reports.text import format as fmt
from reports.text.hostlist import listed
from reports.text.names import cut_apart
from reports.verdicts.fleet import MAD, Host, Status, Strip
from reports.verdicts.model import relative

MOST_ROWS = 24
"""Rows of a figure; the numbers with the worst hosts come first, the rest is in the table."""

CLIP = 20.0
"""Per cent: what is further off is a triangle at the edge and says how far."""

_MOST_NAMED = 48
"""Hosts that lie so close that they share a name: of more it says how many."""

_ROW = 46
_ABREAST = 3
"""Rows; of more there are two panels side by side."""
_COLOURS = {
    "others": vega.GREY,
    "fast": vega.SERIES[0],
    "suspicious": vega.ORDERED[-1],
    "slow": vega.SERIES[1],
}


def heat_map(
    group: Group,
    report: Report,
    number: int,
    several: bool,
    links: Mapping[str, str] = MappingProxyType({}),
    *,
    of: Chosen | None = None,
) -> Figure | None:
    """Draw the hosts of a group beside the families of numbers; None where there is nothing to compare. `links`: host → where more is
    said of it; `of`: what it shows, where that is known already."""
    of = of or choose(group, report)
    if of is None:
        return None
    heated = heat(group, report, of, links)
    known = group.compared
    if known:
        title = _finding(group, report, several)
    else:
        title = f"{fmt.plural(len(group.hosts), 'host')}{_kind(group, report, several)} that could not be judged: furthest apart in {heated.furthest}"
    return Figure(
        id=f"heat-{number}", title=title, sub="", grid=heated.grid, runs=tuple(run for one, _ in known for run in _runs(one)),
        note=f"{fmt.plural(len(group.hosts), 'host')}: {group.hardware.name}. {heated.sub}", numbers=heated.tables if known else heated.tables[1:],
    )  # fmt: skip


def figure(group: Group, report: Report, number: int, several: bool) -> Figure | None:
    """Draw the numbers of a group of hosts; None where there is nothing to compare."""
    known = group.compared
    if not known:
        return None
    hosts = f"{fmt.plural(len(group.hosts), 'host')}{_kind(group, report, several)}"
    mild = {e.name: report.statuses[e.name] for e in report.everywhere}
    known.sort(key=lambda row: _worst(row[1]), reverse=True)
    accused = {*report.accused}
    shown = _chosen(known, [n for n in group.hosts if n in accused or n in report.rerun])
    reach = min(CLIP, max([5.0, *(abs(_at(strip, n)) for _, strip in shown for n in strip.hosts)]))
    several_sweeps = len({one.key.sweep for one, _ in shown}) > 1
    ways = {strip.metric.better for _, strip in shown}
    signed = {"higher": 1, "lower": -1}[ways.pop()] if len(ways) == 1 else 0
    dots_of = {  # whatever the width
        id(strip): [_dot(one, strip, n, _word(n, mild), reach) for n in strip.hosts] for one, strip in shown
    }

    def build(shown: Sequence[tuple[Series, Strip]], width: int) -> Spec:
        frame = Frame(width=width, height=30 + _ROW * len(shown) + 44, left=10, right=10, top=8)
        x = _axis(reach * 1.04, signed)
        y = axes.Axis(kind="linear", low=float(len(shown)), high=0.0, ticks=(), title="")
        plot = Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {
            "rows": [],
            "medians": [
                {"x": 0, "y": i + 0.42, "y2": i + 0.78} for i in range(len(shown))
            ],  # beside the dots, through no name
            "dots": [],
            "odd": [],
            "names": [],
        }
        middles = [fmt.quantity(strip.middle, one.said_unit, step=one.step) for one, strip in shown]
        room = frame.plot_width - max(map(label_placement.text_width, middles), default=0.0) - 12
        names = [one.title(sweep=several_sweeps) for one, _ in shown]
        cut = cut_apart(names, label_placement.fits(room))
        for i, (_, strip) in enumerate(shown):
            data["rows"].append({"name_y": i + 0.3, "y": i + 0.6, "text": cut[names[i]], "value": middles[i]})
            dots = [{**dot, "y": i + 0.6} for dot in dots_of[id(strip)]]
            data["dots"] += _thinned([d for d in dots if d["series"] == "others"], plot)
            data["odd"] += [d for d in dots if d["series"] != "others"]
            data["names"] += _names(
                strip, [n for n in strip.hosts if _word(n, mild) != "others"], i + 0.6, reach, plot
            )
        series = [vega.Series(name=name, colour=colour) for name, colour in _COLOURS.items()]
        return vega.fill("strip", frame=frame, x=x, y=y, series=series, data=data)

    def drawn_as(part: Sequence[tuple[Series, Strip]]) -> Panel:
        said = "; ".join(
            f"{one.name}: median {fmt.quantity(strip.middle, one.said_unit, step=one.step)}, {_said(strip, mild)}"
            for one, strip in part
        )
        return panel("", f"Hosts about the median of each number. {said}.", lambda width: build(part, width))

    more = fmt.plural(len(known) - len(shown), "more number is", "more numbers are")
    left_out = f" {more} in the table." if len(known) > len(shown) else ""
    drawn = {_word(n, mild) for _, strip in shown for n in strip.hosts}
    beyond = any(abs(_at(strip, n)) > reach + 1e-9 for _, strip in shown for n in strip.hosts)
    half = (len(shown) + 1) // 2 if len(shown) > _ABREAST else len(shown)
    return Figure(
        id=f"strip-{number}",
        title=f"{hosts} about the median of each number",
        sub=f"A row is a number, a dot a host, the line the median of {middle_of(shown)}; better lies to the right. "
        "Shown is the number in which each slow or suspicious host stands out most (by verdict, then z), and one of each other kind.",
        panels=tuple(drawn_as(part) for part in (shown[:half], shown[half:]) if part),
        note="Named is who is slow, suspicious or fast"
        + (f", with the change of the number itself where it is more than {CLIP:.0f} %: a triangle at the edge" if beyond else "")
        + f".{left_out}",
        key=tuple(model.Key(name=_WORDS[w], colour=_COLOURS[w], dot=True, diamond=w == "suspicious") for w in _WORDS if w == "others" or w in drawn),
        numbers=(_table(known, mild),),
    )  # fmt: skip


_WORDS = {"others": "a host", "slow": "slow or broken", "suspicious": "suspicious", "fast": "fast"}


def _chosen(known: Sequence[tuple[Series, Strip]], named: Sequence[str]) -> list[tuple[Series, Strip]]:
    """Return the rows to draw, the worst first: of each of the hosts that the title speaks of its worst number, then of each family in which nobody is
    odd, or somebody who is in no row so far."""
    worst: dict[str, tuple[tuple[int, float], int]] = {}  # host → how odd, where
    for i, (_, strip) in enumerate(known):
        for n in strip.hosts:
            if n.is_odd:
                worst[n.name] = max(worst.get(n.name, ((0, 0.0), 0)), (_rank(n), -i))
    first = [-worst[name][1] for name in named if name in worst]
    place = {id(one): i for i, (one, _) in enumerate(known)}
    there = set(first)
    odd = [{n.name for n in strip.hosts if n.is_odd} for _, strip in known]
    drawn = set[str]().union(*(odd[i] for i in there))
    for family in families(known):
        own_places = sorted(place[id(one)] for one, _ in family.numbers)  # the worst first
        of_family = set[str]().union(*(odd[i] for i in own_places))
        if there.isdisjoint(own_places) and not (of_family and of_family <= drawn):
            first.append(own_places[0])
            drawn |= odd[own_places[0]]
    chosen = list(dict.fromkeys(first))[: max(MOST_ROWS, len(there))]
    return [known[i] for i in sorted(chosen)]


def _kind(group: Group, report: Report, several: bool) -> str:
    return f" with {group.hardware.beside(g.hardware for g in report.groups)}" if several else ""


def _finding(group: Group, report: Report, several: bool) -> str:
    """Return the figure's title: what is true of its hosts."""
    if len(group.hosts) == 1:
        return _of_one(group, report)
    members = {*group.hosts}
    of = {word: [n for n in names if n in members] for word, names in report.by_status().items()}
    accused = [(len(of[word]), word) for word in ("broken", "slow") if of[word]]
    suspicious = [n for n in report.again if n in members]
    judged = fmt.plural(len(group.hosts) - len(of["unknown"]), "host")
    kind = _kind(group, report, several)
    where = f" of {judged}{kind}{' that could be judged' if of['unknown'] else ''}"
    if accused:
        (first, word), *rest = [(n, f"{'is' if n == 1 else 'are'} {word}") for n, word in accused]
        others = "".join(f", {fmt.spelled(n)} {word}" for n, word in rest)
        return f"{fmt.spelled(first).capitalize()}{where} {word}{others}"
    if group.halves:
        return f"{fmt.plural(len(group.hosts), 'host')} fall into two groups: {listed(group.halves[0].worse)} worse than {listed(group.halves[0].better)}"
    if suspicious:
        if report.chance.too_many and not report.chance.alone and not report.chance.apart:
            return f"None{where} is known to be slow; {fmt.spelled(len(suspicious))} look slow, too many for it to be the hosts"
        look = "looks" if len(suspicious) == 1 else "look"
        named = f": {listed(suspicious)}" if len(suspicious) <= MOST_NAMED else ""
        return f"{fmt.spelled(len(suspicious)).capitalize()}{where} {look} slow{named}"
    if unseen := group.unseen(report.threshold):
        return f"None{where} is known to be slow; {unseen}"
    return f"None{where} is known to be slow"


def _of_one(group: Group, report: Report) -> str:
    """Return what is true of the only host of a group: beside a baseline, without which it is not judged."""
    (host,) = group.hosts
    status = report.statuses[host]
    if status == "unknown":
        return f"{host} could not be judged"
    if status in ACCUSED:
        return f"{host} is {status}"
    more = "it looks slow" if host in report.again else group.unseen(report.threshold)
    return "; ".join(filter(None, [f"{host} is not known to be slow", more]))


def _at(strip: Strip, host: Host) -> float:
    """Return where a host lies: per cent of the median, better above 0. What is written is the number's own change."""
    assert strip.base
    return (1.0 if strip.metric.better == "higher" else -1.0) * relative(host.value, strip.base) * 100


def _rank(host: Host) -> tuple[int, float]:
    return (2 if host.status in ACCUSED else 1 if host.is_odd else 0), abs(host.z or 0.0)


def _worst(strip: Strip) -> tuple[int, float]:
    """Sort key of a row: is somebody slow in it, and how far is the furthest odd host."""
    return max((_rank(n) for n in strip.hosts if n.is_odd), default=(0, 0.0))


def _word(host: Host, mild: Mapping[str, Status]) -> str:
    """Return the series of a dot; of a host that is a little slow everywhere what is said of it as a whole."""
    status = host.status if host.is_odd else mild.get(host.name, host.status)
    return "slow" if status in ACCUSED else status if status in _COLOURS else "others"


def _dot(one: Series, strip: Strip, host: Host, word: str, reach: float) -> dict[str, Any]:
    """Return a host's dot, its row to be set; what lies beyond the axis is a triangle at its edge."""
    at = _at(strip, host)
    inside = "diamond" if word == "suspicious" else "circle"  # its colour is near to that of the slow ones
    shape = inside if abs(at) <= reach + 1e-9 else "triangle-right" if at > 0 else "triangle-left"
    tip = f"{host.name} · {fmt.quantity(host.value, one.said_unit, 4, step=one.step)}"
    status = f" · {host.status}{mark(host.doubt)}" if host.is_odd else mark(host.doubt)
    return {
        "series": word,
        "x": round(max(-reach, min(reach, at)), 3),
        "y": 0.0,
        "shape": shape,
        "tip": tip + status,
    }


def _thinned(dots: Sequence[dict[str, Any]], plot: Plot) -> Rows:
    """Return the dots that can be told apart; of those that fall on one pixel, one that says how many."""
    by_pixel = group_by(dots, lambda dot: round(plot.at(dot["x"], dot["y"])[0] / 2))
    return [
        {**first, "tip": first["tip"] + (f" and {len(more)} more" if more else "")}
        for first, *more in by_pixel.values()
    ]


def _names(strip: Strip, marked: Sequence[Host], y: float, reach: float, plot: Plot) -> Rows:
    """Name the marked hosts below their dots, side by side where each name can lie below its own dot; else as one."""
    width = plot.frame.plot_width
    groups = [[n] for n in sorted(marked, key=lambda n: (_at(strip, n), n.name))]
    ends = {n.name: max(-reach, min(reach, _at(strip, n))) for n in marked}

    while True:
        ats = [statistics.fmean([ends[n.name] for n in group]) for group in groups]
        texts = [_text(strip, group, reach, width) for group in groups]
        wide = [label_placement.text_width(text) for text in texts]
        dots = [plot.at(at, y)[0] for at in ats]
        lefts = _side_by_side(dots, wide, width)
        strays = [
            not left - 2 <= dot <= left + size + 2 for dot, left, size in zip(dots, lefts, wide, strict=True)
        ]
        if len(groups) < 2 or not any(strays):
            break
        i = strays.index(True)
        beside = [k for k in (i - 1, i + 1) if 0 <= k < len(groups)]
        k = min(beside, key=lambda k: abs(dots[k] - dots[i]))
        first = min(i, k)
        groups[first : first + 2] = [groups[first] + groups[first + 1]]
    return [
        {"x": round(at, 3), "y": y, "text": text, "dx": round(left + size / 2 - dot, 1), "dy": 16, "align": "center"}
        for at, text, dot, left, size in zip(ats, texts, dots, lefts, wide, strict=True)
    ]  # fmt: skip


_BETWEEN = 6.0
"""px between two names."""


def _side_by_side(dots: Sequence[float], wide: Sequence[float], width: float) -> list[float]:
    """Return the left ends of names in the order of their dots, none on another and all within the plot, as near to their dots as that allows:
    those that would touch share what they are moved by."""
    blocks: list[tuple[list[int], float]] = []  # members, left end
    for i in range(len(dots)):
        members = [i]
        while True:
            offsets = _offsets(members, wide)
            total = offsets[-1] + wide[members[-1]]
            left = statistics.fmean(
                dots[k] - wide[k] / 2 - offset for k, offset in zip(members, offsets, strict=True)
            )
            left = min(max(left, 0.0), width - total)
            if not blocks or blocks[-1][1] + _span_of(blocks[-1][0], wide) + _BETWEEN <= left:
                break
            members = blocks.pop()[0] + members
        blocks.append((members, left))
    return [left + offset for members, left in blocks for offset in _offsets(members, wide)]


def _offsets(members: Sequence[int], wide: Sequence[float]) -> list[float]:
    return list(itertools.accumulate((wide[k] + _BETWEEN for k in members[:-1]), initial=0.0))


def _span_of(members: Sequence[int], wide: Sequence[float]) -> float:
    return sum(wide[k] for k in members) + _BETWEEN * (len(members) - 1)


def _text(strip: Strip, hosts: Sequence[Host], reach: float, width: float) -> str:
    """Return the names of hosts, with the change of those beyond the axis; in fewer words where there is no room for that."""
    if len(hosts) > _MOST_NAMED:
        return fmt.plural(len(hosts), "host")
    middle = strip.base or 1.0
    each = ", ".join(
        f"{n.name} {fmt.change(relative(n.value, middle))}" if abs(_at(strip, n)) > reach + 1e-9 else n.name
        for n in hosts
    )
    if label_placement.text_width(each) <= width:
        return each
    if len(hosts) > 1:
        for text in (listed(n.name for n in hosts), fmt.plural(len(hosts), "host")):
            if label_placement.text_width(text) <= width:
                return text
    return label_placement.fitting(each, width)


def _axis(reach: float, signed: int) -> axes.Axis:
    """Return the axis of the distances, better to the right. `signed`: 1 where more is better of all numbers and the change of each rises with the
    axis, -1 where less is; 0 of both kinds, whose ticks have no sign."""
    step = next(s for s in (1, 2, 5, 10) if reach / s <= 4.5)

    def text(at: float) -> str:
        sign = ("+" if at * signed > 0 else fmt.MINUS) if at and signed else ""
        return f"{sign}{abs(at):g}"

    def ticks(step: float) -> tuple[tuple[float, str], ...]:
        most = int(reach / step)
        return tuple((round(step * i, 3), text(round(step * i, 3))) for i in range(-most, most + 1))

    what = "change from the median" if signed else "distance from the median"
    return axes.Axis(
        kind="linear", low=-reach, high=reach, ticks=ticks(step), title=f"Worse ← {what}, % → better",
        fine=(ticks(step), ticks(step / 2), ticks(step / 10)),
    )  # fmt: skip


def _said(strip: Strip, mild: Mapping[str, Status]) -> str:
    marked = [
        f"{n.name} {n.status if n.is_odd else mild[n.name]}"
        for n in strip.hosts
        if _word(n, mild) != "others"
    ]
    return (
        ", ".join(marked[:6]) + (f" and {len(marked) - 6} more" if len(marked) > 6 else "")
        or "nobody slow or fast"
    )


def _spread(strip: Strip) -> str:
    """Return what the hosts differ by, or the sessions of a baseline scatter by; "≤ 0.30 %" where that is less than can be told."""
    if not strip.spread or not strip.base:
        return fmt.NOTHING
    values = strip.metric.baseline or [host.value for host in strip.hosts]
    seen = MAD * statistics.median(abs(value - strip.base) for value in values)
    said = fmt.percent(strip.spread / strip.base)
    return f"≤ {said}" if seen < strip.spread * (1 - 1e-9) else said


def _table(known: Sequence[tuple[Series, Strip]], mild: Mapping[str, Status]) -> Table:
    """Return every number: its median, how far hosts differ, its worst and best host, and whom the figure marks."""
    rows = []
    what = {
        "hosts": "Hosts differ",
        "baseline": "The baseline scatters",
        "both": "Hosts differ, or the baseline scatters,",
    }[against(strip for _, strip in known)]
    for one, strip in known:
        scale = fmt.scale_for([strip.middle], one.said_unit)
        ends = [end(strip.hosts, key=lambda n: _at(strip, n)) for end in (min, max)]
        told = [f"{n.name} {scale.number(n.value, step=one.step)}" for n in ends]
        if ends[0].value == ends[1].value:  # of equal hosts none is the worst
            told = [fmt.NOTHING, fmt.NOTHING]
        assert strip.base
        marked = [
            f"{n.name} {fmt.change(relative(n.value, strip.base))}"
            for n in strip.hosts
            if _word(n, mild) != "others"
        ]
        rows.append(
            (
                one.name, f"{scale.number(strip.middle, step=one.step)} {scale.unit}".strip(), _spread(strip),
                f"{fmt.number(strip.unseen * 100, 2, fmt.UP)} %" if strip.unseen and not strip.worse_half else "", fmt.count(len(strip.hosts)),
                *told,
                ", ".join(marked),
            )
        )  # fmt: skip
    return Table(
        columns=(
            "Number",
            "Median",
            f"{what} by (robust SD)",
            "Unseen up to",
            "Hosts",
            "Worst",
            "Best",
            "Marked",
        ),
        rows=tuple(rows),
        numeric=frozenset({1, 2, 3, 4}),
        of=tuple(row_of(_runs(one)) for one, _ in known),
        metric_of=tuple(one.key.name.tells_of for one, _ in known),
    )


def _runs(one: Series) -> list[Run]:
    """Return whose values a row has, by host, whatever the order of the files."""
    return sorted((value.run for value in one.values), key=lambda run: natural(run.host))
