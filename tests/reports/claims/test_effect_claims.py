"""What is said of the axes of a sweep holds of its numbers, reckoned here again: ties, missing cells and repeats, zeros, negative numbers,
both directions, two metrics."""

from __future__ import annotations

import itertools
import math
import random
import re
import statistics
from pathlib import Path
from typing import Any

import pytest

from reports.charts.command import chapter
from reports.draw.strip import Track
from reports.results.load import load
from tests.laws import lots

Cells = dict[tuple[str, ...], list[float]]


def beyond(a: list[float], b: list[float]) -> bool:
    """The printed rule: repeats apart, medians further apart than 3 % and than the spread of the repeats; with fewer than three a side than
    10 %. Or, of values above 0 that both sides repeat, 1.4 times as far apart as the wider repeats on a log scale, of two 3.1 times."""
    if max(a) >= min(b) and max(b) >= min(a):
        return False
    small, large = sorted(map(abs, (statistics.median(a), statistics.median(b))))
    spread = max((max(own) - min(own)) / abs(statistics.median(own)) for own in (a, b))
    least, n = 0.10 if min(len(a), len(b)) < 3 else 0.03, min(len(a), len(b))
    wide = max(math.log(max(own) / min(own)) for own in (a, b)) if min(*a, *b) > 0 else math.inf
    logs = n > 1 and small > 0 and math.log(large / small) > (3.1 if n < 3 else 1.4) * wide
    return 1 - small / large > least and (1 - small / large > spread or logs)


def made(dice: random.Random) -> tuple[str, dict[str, list[str]], Cells]:
    """Return which way is better, the levels of each axis, and the repeats of each cell."""
    better = dice.choice(["higher", "lower"])
    axes = {name: [f"{name}{i}" for i in range(dice.randint(2, 4))] for name in dice.sample(["a", "b", "c"], dice.randint(1, 3))}  # fmt: skip
    factor = {level: dice.choice([1.0, 1.0, 1.02, 1.3, 3.0]) for own in axes.values() for level in own}
    noise, most = dice.choice([0.0, 0.01, 0.2]), dice.choice([1, 2, 3, 5])
    cells: Cells = {}
    for cell in itertools.product(*axes.values()):
        value = 100.0
        for level in cell:
            value *= factor[level]
        kind = dice.random()
        value = 0.0 if kind < 0.02 else -value if kind < 0.04 else value
        repeats = dice.randint(max(1, most - 1), most)
        if dice.random() < 0.93:
            cells[cell] = [round(value * dice.gauss(1, noise), 2) for _ in range(repeats)]
    return better, axes, cells


@pytest.mark.parametrize("seeds", lots(range(84), quick=6, slow=30, of=12), ids=str)
def test_a_title_of_axes_holds(seeds: range, make: Any, tmp_path: Path) -> None:
    for seed in seeds:
        dice = random.Random(seed)
        better, axes, cells = made(dice)
        if len(cells) < 2:
            continue
        maker = make.Maker(tmp_path / f"{seed}.db")
        metrics = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": better}, "other": {"regex": r"other (\S+)", "better": "lower"}}  # fmt: skip
        for cell, values in cells.items():
            for value in values:
                options = {"command": "s", "metrics": metrics, **dict(zip(axes, cell, strict=True))}
                maker.add("s", "command", options, f"rate {value:.2f}\nother 7\n", axes=tuple(axes), sweep_title="A sweep")  # fmt: skip
        (figure,) = chapter(load([maker.write()])).figures
        holds(figure.title, better, axes, cells)
        for track in figure.strip.tracks if figure.strip else ():
            shown(track, standing(list(axes).index(track.name), better, cells))


def holds(title: str, better: str, axes: dict[str, list[str]], cells: Cells) -> None:
    told = {
        axis: (low, high)
        for low, high, axis in re.findall(r"([\d.]+)(?: to ([\d.]+))? ×(?: better)? by (\w+)", title)
    }
    clear = {name: found for i, name in enumerate(axes) if (found := effect(i, better, cells))}
    assert told.keys() == clear.keys(), (title, clear)
    for name, said in told.items():
        factor, ends, best = clear[name]
        right = ends if ends[1] > 3 * ends[0] else (factor,)  # a mean that is none of them is not said
        assert [float(one) for one in said if one] == pytest.approx(right, rel=0.006), (title, name, right)
        if at := re.search(r"best at (\w+)", title):
            assert at[1] == best[0], title
            assert len(best) == 1, (title, "others are as good within their repeats", best)
    few = {len(own) == 1 for own in cells.values()}
    head = (
        "rate"
        if True not in few
        else "rate, of some cells one run"
        if len(few) > 1
        else "rate, one run a cell"
    )
    assert title.startswith(f"{head}: ") == bool(told)


def shown(track: Track, found: Standing | None) -> None:
    """What the line of an axis says and fills is what differs from its best level in each row of cells."""
    assert found
    best, others, turned = found
    ahead = [name for name, (_, clear) in others.items() if clear]
    assert track.said.startswith(f"{track.name}: {best} is "), track.said
    assert sorted(re.findall(r" × better than (\w+)", track.said)) == sorted(ahead), track.said
    assert sum(dot.clear for dot in track.dots[1:]) == len(ahead)
    assert track.dots[0].clear == (bool(ahead) and not turned)
    assert (" is best, " in track.said) == (len(ahead) == len(others) and not turned), track.said
    ranges = {name: (float(low), float(high or low)) for low, high, name in re.findall(r"([\d.]+)(?: to ([\d.]+))? × as good as (\w+)", track.said)}  # fmt: skip
    assert ranges == {name: pytest.approx((min(of), max(of)), rel=0.006) for name, (of, clear) in others.items() if not clear}  # fmt: skip


Standing = tuple[str, dict[str, tuple[list[float], bool]], bool]
"""The best level; of each other one its ratios and whether it differs in each row of cells; is another better where a level is missing?"""


def standing(i: int, better: str, cells: Cells) -> Standing | None:
    """Return how the levels of an axis stand; None of an axis without an effect."""
    names = sorted({cell[i] for cell in cells})
    rows: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for cell, values in cells.items():
        rows.setdefault((*cell[:i], *cell[i + 1 :]), {})[cell[i]] = values
    some = [row for row in rows.values() if len(row) > 1]
    full = [row for row in some if len(row) == len(names)]
    if len(names) < 2 or not full or min(v for row in some for own in row.values() for v in own) <= 0:
        return None
    mean = {name: statistics.geometric_mean(statistics.median(row[name]) for row in full) for name in names}
    order = sorted(names, key=lambda name: mean[name], reverse=better == "higher")
    best = order[0]
    both = {name: [row for row in some if best in row and name in row] for name in order[1:]}

    def ratios(other: str) -> list[float]:
        sides = ((statistics.median(row[best]), statistics.median(row[other])) for row in both[other])
        return [a / b if better == "higher" else b / a for a, b in sides]

    def ahead(other: str) -> bool:
        return min(ratios(other)) > 1 and all(beyond(row[best], row[other]) for row in both[other])

    turns = (
        (statistics.median(row[best]), statistics.median(row[name]), beyond(row[best], row[name]))
        for name in order[1:]
        for row in both[name]
        if len(row) < len(names)
    )
    turned = any(apart and (a < b if better == "higher" else a > b) for a, b, apart in turns)
    return best, {name: (ratios(name), ahead(name)) for name in order[1:]}, turned


def effect(i: int, better: str, cells: Cells) -> tuple[float, tuple[float, float], list[str]] | None:
    """Return the factor of an axis that is beyond the repeats in each row of cells, the lowest and the highest of these rows, and its best
    levels; else None."""
    found = standing(i, better, cells)
    if not found or found[2]:
        return None
    best, others, _ = found
    factor, worst = max((statistics.geometric_mean(ratios), name) for name, (ratios, _) in others.items())
    ratios, ahead = others[worst]
    return (factor, (min(ratios), max(ratios)), [best, *(name for name, (_, clear) in others.items() if not clear)]) if ahead else None  # fmt: skip


def test_best_at_is_not_said_of_one_that_others_equal(make: Any, tmp_path: Path) -> None:
    """8 and 16 threads are alike: "best at 16" told a difference of 0.1 % within repeats that are 4 % apart."""
    maker = make.Maker(tmp_path / "r.db")
    metrics = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}
    for n, rate in ((1, 100.0), (8, 800.0), (16, 801.0)):
        for of in (0.98, 1.0, 1.02):
            maker.add("s", "command", {"command": "s", "metrics": metrics, "n": n}, f"rate {rate * of:.2f}\n", axes=("n",))  # fmt: skip
    (figure,) = chapter(load([maker.write()])).figures
    assert figure.title == "rate: 8.01 × better by n"


def test_hosts_are_not_pooled(make: Any, tmp_path: Path) -> None:
    """Two files of two hosts: the factor of an axis is of cells of one host each."""
    metrics = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}
    paths = []
    for host, times in (("one", 1.0), ("two", 3.0)):
        maker = make.Maker(tmp_path / f"{host}.db", host=host)
        for n in (1, 2, 4):
            for of in (0.99, 1.0, 1.01):
                maker.add("s", "command", {"command": "s", "metrics": metrics, "n": n}, f"rate {100 * n * times * of:.2f}\n", axes=("n",))  # fmt: skip
        paths.append(maker.write())
    (figure,) = chapter(load(paths)).figures
    assert figure.title in ("rate: 4.00 × better by n", "rate: 4.00 × better by n, best at 4")
