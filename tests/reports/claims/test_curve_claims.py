"""B ÷ A over an axis: what stands in the picture, its tips and its title is of the runs, reckoned here again."""

from __future__ import annotations

import itertools
import math
import random
import re
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reports.compare.comparison import compare
from reports.compare.section import delta
from reports.compare.sides import side
from reports.results.load import load
from tests.laws import lots

Key = tuple[str, int]
SAID = {"regressed": "regressed", "improved": "improved", "the same": "same", "inconclusive": "inconclusive", "without a verdict": "one run"}  # fmt: skip


def sides(make: Any, folder: Path, dice: random.Random) -> tuple[str, list[dict[Key, list[float]]]]:
    """Write a.db and b.db: a metric over n for each alg, with cells that failed, zeros and few repeats; return which way is better."""
    better, noise = dice.choice(["higher", "lower"]), dice.choice([0.0, 0.01, 0.1])
    most, changed = dice.choice([1, 2, 3, 6]), dice.choice([1.0, 1.0, 0.8, 2.5, 0.01])
    algs, counts = ("x", "y", "z")[: dice.randint(1, 3)], (1, 2, 4, 8, 0)[: dice.randint(3, 5)]
    out = []
    for name, factor in (("a", 1.0), ("b", changed)):
        maker = make.Maker(folder / f"{name}.db")
        metrics = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": better}}
        found: dict[Key, list[float]] = {}
        for alg, n in itertools.product(algs, counts):
            value = 0.0 if dice.random() < 0.04 else 100.0 * (n + 1) * factor
            for _ in range(most):
                failed = dice.random() < 0.06
                number = round(value * dice.gauss(1, noise), 3)
                options = {"command": "s", "metrics": metrics, "alg": alg, "n": n}
                text = "" if failed else f"rate {number:.3f}\n"
                maker.add(
                    "s", "command", options, text, axes=("alg", "n"), status="failed" if failed else "ok"
                )
                if not failed:
                    found.setdefault((alg, n), []).append(number * 1e6)
        maker.write()
        out.append(found)
    return better, out


@pytest.mark.parametrize("seeds", lots(range(40), quick=10, slow=20), ids=str)
def test_a_curve_is_of_its_runs(seeds: range, make: Any, tmp_path: Path) -> None:
    seen = 0
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        better, (a, b) = sides(make, folder, random.Random(seed))
        loaded = {name: load([folder / f"{name}.db"]) for name in ("a", "b")}
        if not all(results.good("command") for results in loaded.values()):
            continue
        found = compare(*(side(name.upper(), f"{name}.db", results) for name, results in loaded.items()))
        for figure in delta(found).curves:
            holds(figure, better, a, b)
            seen += 1
    assert seen > 4


def holds(figure: Any, better: str, a: dict[Key, list[float]], b: dict[Key, list[float]]) -> None:
    points = [point for panel in figure.panels for point in panel.wide["datasets"]["points"]]
    assert len({(point["series"], point["tip"].split(" · ")[0]) for point in points}) == len(points)
    words: Counter[str] = Counter()
    algs = {alg for alg, _ in a if alg in {other for other, _ in b}}
    for point in points:
        assert re.match(r"\S+ · .*, [^,]+ → [^,]+, [a-z ]+$", point["tip"]), point["tip"]
        at, said, from_to, word = re.fullmatch(
            r"(\S+) · (.*), ([^,]+ → [^,]+), ([a-z ]+)", point["tip"]
        ).groups()  # type: ignore[union-attr]
        alg = point["series"] if point["series"] in algs else next(iter(algs))
        key = (alg, int(at))
        ratios = [math.log(y / x) for x, y in itertools.product(a[key], b[key])]
        assert point["y"] == pytest.approx(math.exp(statistics.median(ratios)), rel=1e-3), point
        median_a, median_b = (statistics.median(of[key]) for of in (a, b))
        shown = [float(number.replace("\u202f", "")) for number in re.findall(r"[\d.\u202f]+", from_to)[:2]]
        assert shown[1] / shown[0] == pytest.approx(median_b / median_a, rel=0.02, abs=0.02)
        change = float(re.match(r"[+−]?([\d.\u202f]+)", said)[1].replace("\u202f", ""))  # type: ignore[index]
        sign = -1 if said.startswith("−") else 1
        assert sign * change / 100 == pytest.approx(point["y"] - 1, rel=0.02, abs=0.0006)
        up = point["y"] > 1
        assert word != "regressed" or up == (better == "lower"), point
        assert word != "improved" or up == (better == "higher"), point
        assert (word == "one run") == (min(len(a[key]), len(b[key])) < 2), point
        words[word] += 1
    title = figure.title.partition(": ")[2].partition(", ")[2]
    counts = {SAID[word]: int(n) for n, word in re.findall(r"(\d+)(?: of \d+ points?)? (regressed|improved|the same|inconclusive|without a verdict)", title)}  # fmt: skip
    everywhere = {key for key in a if key in b}
    lost = re.search(r"Without a ratio, in the table only: (\d+) points?", figure.sub)
    beside = Counter(counts) - words  # the title counts what has no ratio, too
    assert words + beside == Counter(counts), (title, words)
    assert beside.total() == int(lost[1] if lost else 0), figure.sub
    assert len(points) + beside.total() == len(everywhere), figure.sub
    assert int(re.search(r"of (\d+) points?", title)[1]) == len(everywhere)  # type: ignore[index]
    assert ("More is better." in figure.sub) == (better == "higher")
