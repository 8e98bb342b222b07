"""The picture of the links between NUMA nodes: what stands at an arc is of its pair, and no words lie on others."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from reports.page.model import Arc, KeyNumber
from reports.report import links
from reports.report.links import classes, pictures


def number(name: str, value: float, unit: str, *, doubt: str = "") -> KeyNumber:
    base = -value if unit == "ns" else value * 1e9
    return KeyNumber(name=name, value=f"{value:g}", unit=unit, context="", rank=0, merit=base, doubt=doubt)


def box(arc: Arc) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the paper that an arc's words stand on."""
    x, y, wide, high = map(float, re.match(r"M(\S+) (\S+?)h([\d.]+)v([\d.]+)", arc.paper).groups())  # type: ignore[union-attr]
    return x, y, x + wide, y + high


@pytest.mark.parametrize("nodes", range(2, links.MOST_NODES + 1))
def test_no_words_of_an_arc_lie_on_those_of_another(nodes: int) -> None:
    """The time of a message was cut off by the words beside it: where it has no room it stands in the list below alone."""
    numbers = {
        ("link", a, b): [number("Memory, idle", 100.0 + 20 * abs(a - b), "ns"), number("Reads", 40.0 - 3 * abs(a - b), "GB/s")]
        for a in range(nodes)
        for b in range(nodes)
        if a != b
    } | {("pair", a, b): [number("MPI, one way", 1250.0, "ns")] for a, b in combinations(range(nodes), 2)}  # fmt: skip

    drawn = pictures(range(nodes), numbers)

    assert [picture.width for picture in drawn] == [1120, 368]
    for picture in drawn:
        assert len(picture.arcs) == nodes * (nodes - 1) // 2
        boxes = [box(arc) for arc in picture.arcs]
        assert all(
            one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1] for one, other in combinations(boxes, 2)
        )  # fmt: skip
        assert all(
            left >= 0 and right <= picture.width and low <= picture.height for left, _, right, low in boxes
        )


def test_an_arc_has_the_numbers_of_its_pair() -> None:
    """Of ways that are alike the better; of others both; of what was not measured nothing, and no width; a width stands
    for a bandwidth only where there is one."""
    numbers = {
        ("link", 0, 1): [number("Memory, idle", 122.0, "ns"), number("Reads", 36.0, "GB/s"), number("Triad", 6.0, "GB/s")],
        ("link", 1, 0): [number("Memory, idle", 141.0, "ns"), number("Reads", 35.9, "GB/s", doubt="M2")],
        ("pair", 0, 2): [number("MPI, one way", 1250.0, "ns")],
    }  # fmt: skip

    wide, _ = pictures((0, 1, 2), numbers)

    assert [arc.rated for arc in wide.arcs] == ["GB/s" in arc.said for arc in wide.arcs]
    told = {arc.said: (arc.width, [text for _, text in arc.lines]) for arc in wide.arcs}
    assert told == {
        "node 0 and node 1: 122 to 141 ns, 36 GB/s ⚠": (7.0, ["122 to 141 ns · 36 GB/s ⚠"]),
        "node 0 and node 2: 1250 ns MPI": (1.5, ["1250 ns MPI"]),
        "node 1 and node 2: not measured": (1.5, []),
    }


def test_of_many_nodes_what_is_equally_far_has_its_range() -> None:
    """The arcs of eight nodes were a web of 28, with words on them all. A doubt of one of the ways is a doubt of the range; of what is
    alike one number is told, and no ends."""
    nodes = range(8)
    far = {(a, b): "same package" if a // 4 == b // 4 else "another package" for a in nodes for b in nodes}
    numbers = {
        ("link", a, b): [
            number("Memory, idle", (120.0 if far[a, b] == "same package" else 195.0) + (a == 3) * 4 - b, "ns", doubt="M2" if (a, b) == (0, 1) else ""),
            number("Reads", 14.5, "GB/s"),
        ]
        for a in nodes
        for b in nodes
        if a != b
    } | {("pair", 2, 5): [number("MPI, one way", 1250.0, "ns")]}  # fmt: skip

    told = {
        part.name: [(n.value, n.unit, n.context, n.doubt) for n in part.numbers]
        for part in classes(nodes, numbers, far)
    }

    assert told == {
        "Between nodes: another package": [
            ("188 to 195", "ns", "32 ways, lowest 0 → 7, highest 3 → 4", ""),
            ("14.5", "GB/s", "32 ways", ""),
            ("1250", "ns", "1 pair, 2 ↔ 5", ""),
        ],
        "Between nodes: same package": [
            ("113 to 124", "ns", "24 ways, lowest 4 → 7, highest 3 → 0", "M2"),
            ("14.5", "GB/s", "24 ways", ""),
        ],
    }
    assert classes(range(links.MOST_NODES), numbers, far) == ()  # they have a picture
    few = dict(list(numbers.items())[: links.MOST_LISTED])
    assert classes(nodes, few, far) == ()  # each is seen


def test_where_nothing_lies_between_nodes_there_is_no_picture() -> None:
    assert pictures((0,), {("node", 0): [number("Memory, idle", 80.0, "ns")]}) == ()
    assert pictures((0, 1), {("node", 0): [number("Memory, idle", 80.0, "ns")]}) == ()
    many = range(links.MOST_NODES + 1)
    assert pictures(many, {("link", 0, 1): [number("Memory, idle", 80.0, "ns")]}) == ()
