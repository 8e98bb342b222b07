"""The links between the NUMA nodes of a machine: of few nodes as a picture, an arc a pair, the wider the more bytes a second, with what was
measured on it; of more the range of what is equally far. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from reports.draw import label_placement
from reports.draw.figure import MARK
from reports.page.model import Arc, KeyNumber, Links, Part
from reports.results.distances import Pair
from reports.results.grouping import group_by
from reports.text import format as fmt

MOST_NODES: Final = 4
"""Of more the arcs are a web: what is equally far has a box."""

MOST_LISTED: Final = 6
"""Links beyond are listed when asked for."""

_WIDE: Final = 1120
_NARROW: Final = 368
_LINE: Final = 14
_TOP: Final = 24
"""Where the arcs begin, below the nodes' names."""
_PLAIN: Final = 1.5
_WIDEST: Final = 7.0
_ALIKE: Final = 1.03
"""Ways whose numbers are no further apart have one, the better."""

_Key = tuple[str | int, ...]


def pictures(nodes: Sequence[int], numbers: Mapping[_Key, Sequence[KeyNumber]]) -> tuple[Links, ...]:
    """Return the picture for a wide page and that for a narrow one; () where nothing was measured between two nodes, or they are too many.

    nodes: all of the machine, in their order; numbers: ("link", from, to) and ("pair", a, b) → what was measured.
    """
    told = {(a, b): _told(a, b, numbers) for a, b in combinations(nodes, 2)}
    if not any(told.values()) or len(nodes) > MOST_NODES:
        return ()
    found = {
        (a, b): _best(n for way in ((a, b), (b, a)) for n in numbers.get(("link", *way), ())) for a, b in told
    }
    rates = {pair: best["rate"].merit if "rate" in best else 0.0 for pair, best in found.items()}
    in_one = {
        (a, b): _fitting(words, _WIDE / len(nodes) if (a, b) != (nodes[0], nodes[-1]) else _WIDE)
        for (a, b), words in told.items()
    }
    return _picture(nodes, told, in_one, rates, _WIDE), _picture(nodes, told, told, rates, _NARROW)


def classes(
    nodes: Sequence[int], numbers: Mapping[_Key, Sequence[KeyNumber]], far: Mapping[Pair, str]
) -> tuple[Part, ...]:
    """Return what is equally far with the range of each of its numbers; of so few nodes or links that each is seen nothing.

    far: two nodes, whose CPUs and whose memory → how far apart, "same package"; of what is missing nothing tells.
    """
    ways = {key: own for key, own in numbers.items() if key[:1] in (("link",), ("pair",))}
    if len(nodes) <= MOST_NODES or len(ways) <= MOST_LISTED:
        return ()
    return tuple(
        Part(name=f"Between nodes: {word}" if word else "Between nodes", numbers=tuple(_ranges({key: ways[key] for key in keys})))
        for word, keys in sorted(group_by(ways, lambda key: far.get((key[1], key[2]), "")).items())
    )  # fmt: skip


def _ranges(ways: Mapping[_Key, Sequence[KeyNumber]]) -> Iterable[KeyNumber]:
    """Give each number of some ways once: from the lowest to the highest, with where these are."""
    every = [(number, key) for key, own in ways.items() for number in own]
    for same in group_by(every, lambda one: (one[0].name, one[0].program, one[0].better, one[1][0])).values():
        (low, at), (high, to) = (end(same, key=lambda one: abs(one[0].merit)) for end in (min, max))
        value, unit = _range(low, high)
        both = same[0][1][0] == "pair"
        many = len({key for _, key in same})
        alike = (low.value, low.unit) == (high.value, high.unit)
        where = (
            f", lowest {_way(at)}, highest {_way(to)}" if not alike else f", {_way(at)}" if many == 1 else ""
        )
        doubts = dict.fromkeys(doubt for number, _ in same for doubt in number.doubt.split(", ") if doubt)
        yield replace(
            low, value=value, unit=unit, context=f"{fmt.plural(many, 'pair' if both else 'way')}{where}", doubt=", ".join(doubts),
            runs=tuple(dict.fromkeys(run for number, _ in same for run in number.runs)), spread="", repeats="", unsteady=False, possible="",
        )  # fmt: skip


def _way(key: _Key) -> str:
    kind, a, b = key
    return f"{a} ↔ {b}" if kind == "pair" else f"{a} → {b}"


def _range(low: KeyNumber, high: KeyNumber) -> tuple[str, str]:
    """Return "122 to 141" and its unit; of numbers that look the same one."""
    if (low.value, low.unit) == (high.value, high.unit):
        return high.value, high.unit
    unit = f" {low.unit}" if low.unit != high.unit else ""
    return f"{low.value}{unit} to {high.value}", high.unit


def _fitting(words: Sequence[str], room: float) -> list[str]:
    """Return the line of the first words, of one at least, that reach neither of the lines beside them, `room` px away."""
    lines = [" · ".join(words[:n]) for n in range(len(words), 0, -1)]
    return [next((line for line in lines if _wide([line]) <= room), lines[-1])] if lines else []


def _wide(lines: Iterable[str]) -> float:
    """Return the px that the longest of some lines takes, with the paper around it."""
    return max(map(label_placement.text_width, lines), default=0.0) + 12


def _picture(
    nodes: Sequence[int], told: Mapping[tuple[int, int], Sequence[str]], shown: Mapping[tuple[int, int], Sequence[str]],
    rates: Mapping[tuple[int, int], float], width: int,
) -> Links:  # fmt: skip
    """told: all that is known of a pair; rates: its bandwidth (B/s), 0 of none; shown: the lines that stand at its arc's lowest point, on the paper, so that no arc runs through them."""
    step, most = width / len(nodes), max(rates.values()) or 1.0
    widest = min(_WIDEST, step / 12)  # of many nodes on a narrow page the arcs would be one blot
    at = {node: step * (i + 0.5) for i, node in enumerate(nodes)}
    level = max(map(len, shown.values())) * _LINE + (24 if len(nodes) == 2 else 12)
    arcs = []
    for (a, b), lines in sorted(shown.items(), key=lambda item: at[item[0][0]] - at[item[0][1]]):
        low = _TOP + level * round((at[b] - at[a]) / step)
        control = _TOP + (low - _TOP) / 0.75  # where a cubic hangs so far below its ends
        top = low - len(lines) * _LINE / 2
        wide = _wide(lines)
        arcs.append(
            Arc(
                path=f"M{at[a]:g} {_TOP}C{at[a]:g} {control:g} {at[b]:g} {control:g} {at[b]:g} {_TOP}",
                width=round(_PLAIN + (widest - _PLAIN) * rates[a, b] / most, 1),
                x=(at[a] + at[b]) / 2,
                lines=tuple((top + _LINE * (i + 1) - 3, text) for i, text in enumerate(lines)),
                paper=f"M{(at[a] + at[b] - wide) / 2:g} {top - 1:g}h{wide:g}v{len(lines) * _LINE + 2}h{-wide:g}z"
                if lines
                else "",
                rated=rates[a, b] > 0,
                said=f"node {a} and node {b}: {', '.join(told[a, b]) or 'not measured'}",
            )
        )
    return Links(
        width=width, height=round(_TOP + level * (len(nodes) - 0.5)), arcs=tuple(arcs),
        nodes=tuple((at[node], f"node {node}" if step > 60 else str(node)) for node in nodes),
    )  # fmt: skip


def _told(a: int, b: int, numbers: Mapping[_Key, Sequence[KeyNumber]]) -> tuple[str, ...]:
    """Return what was measured between two nodes: the time of an access and the bandwidth, of both ways, and the times of a message and of a line from
    cache to cache."""
    links = [_best(numbers.get(("link", *way), ())) for way in ((a, b), (b, a))]
    found = [[kinds[kind] for kinds in links if kind in kinds] for kind in ("time", "rate")]
    messages = group_by(numbers.get(("pair", a, b), ()), lambda number: number.name.partition(",")[0])
    words = [_both(own) for own in found if own]
    best = [(what, number) for what, own in messages.items() for number in _best(own).values()]
    return (
        *words,
        *(
            f"{_both([number])} {what[0].lower() + what[1:] if what[1:2].islower() else what}"
            for what, number in best
        ),
    )


def _best(numbers: Iterable[KeyNumber]) -> dict[str, KeyNumber]:
    """Return the lowest time and the highest bandwidth."""
    best: dict[str, KeyNumber] = {}
    for number in numbers:
        kind = "rate" if number.unit.endswith("B/s") else "time"
        if kind not in best or number.merit > best[kind].merit:
            best[kind] = number
    return best


def _both(ways: Sequence[KeyNumber]) -> str:
    """Return the better of both ways, "122 ns"; of ways that are apart "122 to 141 ns", the lower first."""
    low, high = (end(ways, key=lambda n: abs(n.merit)) for end in (min, max))
    doubt = f" {MARK}" if any(number.doubt for number in ways) else ""
    if abs(high.merit) <= _ALIKE * abs(low.merit):
        better = max(ways, key=lambda n: n.merit)
        return f"{better.value} {better.unit}{doubt}"
    return f"{' '.join(_range(low, high))}{doubt}"
