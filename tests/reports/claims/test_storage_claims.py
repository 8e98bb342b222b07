"""Titles and key numbers of fio and poke hold of their own tables, and bounds of the unrounded values: of made-up results."""

from __future__ import annotations

import itertools
import random
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reports import charts
from reports.charts.chapter import Chapter
from reports.draw.figure import Figure, Table
from reports.numbers import numbers
from reports.numbers.poke import latencies
from reports.report import overview as _overview
from reports.results import model
from reports.results.load import load
from reports.text import format as fmt

SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 14))]

TAIL = re.compile(r"(.+?): one (?:access|I/O) in a (?:thousand|hundred) takes over ([\d. ]+) × the median( in each repeat)?(?: \((.+): over ([\d. ]+) ×\))?, the slowest of (.+) took (.+)")  # fmt: skip
MODES = re.compile(r"(.+): \w+ speeds, (.+)")


def rows(table: Table) -> list[dict[str, str]]:
    """The rows by their columns, without the ranges of the repeats."""
    texts = ("Target", "Access", "Modes: median, share")
    return [
        {name: str(cell) if name in texts else str(cell).split(" (")[0] for name, cell in zip(table.columns, row, strict=True)}
        for row in table.rows
    ]  # fmt: skip


def row_of(name: str, table: Table) -> dict[str, str]:
    (found,) = [row for row in rows(table) if row["Target"].lower() == name.lower()]
    return found


def judge_tail(figure: Figure) -> None:
    """What a tail's title says is in the row that it names."""
    (table,) = figure.numbers
    if tail := TAIL.fullmatch(figure.title):
        row = row_of(tail[1], table)
        assert (tail[6], tail[7]) == (row["I/Os" if "I/Os" in row else "Accesses"], row["Longest"])
    elif modes := MODES.fullmatch(figure.title):
        row = row_of(modes[1], table)
        listed = [part.replace(", ", " (") + ")" for part in row["Modes: median, share"].split("; ")]
        assert modes[2] == fmt.words(listed)
    else:
        assert figure.title == "Latency tails"
    for row in rows(table):  # a larger share lies at a longer time
        known = [value(row[name]) for name in ("Median", "90 %", "99 %", "99.9 %", "99.99 %") if row[name] != fmt.NOTHING]  # fmt: skip
        assert known == sorted(known)
        assert known[-1] <= value(row["Longest"]) * 1.005


def judge_moments(figure: Figure, cells: dict[tuple[str, str], list[dict[str, float]]]) -> None:
    """Mean and deviation beside one another are the medians over the repeats of the cell that row and column name, and all cells are there."""
    (table,) = figure.tables
    said: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows(table):
        for head, text in row.items():
            if head not in ("Size", "Access") and text != fmt.NOTHING:
                target, statistic = head.split(" (")[0].split(",")[0], head.rsplit(", ", 1)[1].lower()
                said.setdefault((row["Size"], target), {})[statistic] = value(text)
    assert said.keys() == cells.keys()
    for of, own in said.items():
        for statistic in ("mean", "sd"):
            expected = statistics.median(repeat[statistic] for repeat in cells[of])
            assert own[statistic] == pytest.approx(expected, rel=0.006)


def value(text: str) -> float:
    number, unit = text.removeprefix("≤ ").replace(fmt.THIN, "").split(" ")
    return float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


def chapter_of(path: Path, tool: str) -> tuple[model.Results, Chapter]:
    results = load([path])
    return results, charts.chart_module(tool).chapter(results, tool)


@pytest.mark.parametrize("seed", SEEDS)
def test_poke(seed: int, make: Any, tmp_path: Path) -> None:
    dice = random.Random(seed)
    maker = make.Maker(tmp_path / "p.db")
    for size in dice.sample([2**10, 2**20, 2**26, 2**30], dice.randint(1, 3)):
        target = dice.choice(["memory", "file"])
        for _ in range(dice.randint(1, 3)):
            n, median = dice.choice([300, 5000, 12_000]), 10 ** dice.uniform(1.3, 5)
            samples = make.sample(
                n, median, sigma=dice.uniform(0.01, 0.5), tail=median * dice.uniform(5, 500)
            )
            if dice.random() < 0.4:
                samples = [v * (30 if i % 5 == 0 else 1) for i, v in enumerate(samples)]
            options = {"target": target, "bytes": size}
            maker.add(
                "s", "poke", options, make.poke_text(samples, target=target, size=size), axes=("bytes",)
            )

    results, chapter = chapter_of(maker.write(), "poke")

    figure, *moments = chapter.figures
    judge_tail(figure)
    by_cell: dict[str, list[dict[str, float]]] = {}
    sizes: dict[tuple[str, str], str] = {}
    for run in results.good("poke"):
        (told,) = latencies(run).values()
        by_cell.setdefault(run.record.point_id, []).append(dict(told))
        sizes[fmt.size(int(run.options["bytes"])), str(run.options["target"]).capitalize()] = (
            run.record.point_id
        )
    assert len(moments) == (len({size for size, _ in sizes}) > 1)
    for beside in moments:
        judge_moments(beside, {of: by_cell[point] for of, point in sizes.items()})
    quantile = "p99" if " in a hundred " in figure.title else "p99.9"
    ratios = [
        sorted(own[quantile] / own["p50"] for own in cell)
        for cell in by_cell.values() if all(quantile in own for own in cell)
    ]  # fmt: skip
    if tail := TAIL.fullmatch(figure.title):
        told = [float(text.replace(fmt.THIN, "")) for text in (tail[2], tail[5]) if text]
        of = [next(own for own in ratios if 0 <= 1 - one / own[0] < 0.01) for one in told]  # by every repeat
        longest = max(own[0] for own in ratios)
        # what no repeat of the one has is told of the other
        assert of[-1][0] == longest or longest <= of[0][-1] or (quantile == "p99" and len(told) == 1)
    for key in chapter.key_numbers:
        name, _, median = key.context.partition("; median ")
        row = row_of(name, figure.numbers[0])
        assert (f"{key.value} {key.unit}", median) == (row["99.9 %"], row["Median"])
    if overview := _overview.figure(chapter.access_times):
        times = {row["Time"].lstrip("≤≈ ") for row in rows(overview.numbers[0])}
        assert set(re.findall(r"([\d.\u202f]+ [nµm]?s)\b", overview.title)) <= times


LIMITS = {"100 µs": 100e3, "1 ms": 1e6, "10 ms": 10e6}


def check_within(
    figure: Figure, fans: Sequence[Figure], cells: dict[str, dict[int, list[dict[str, float]]]]
) -> None:
    """The most IOPS within a limit on p99 are those of one tested depth, at which every repeat keeps it; title and ring of a fan say the same."""

    def within(limit: float, of: dict[int, list[dict[str, float]]], rate: fmt.Scale) -> str:
        kept = {
            depth: [one["IOPS"] for one in own if one["latency p99"] <= limit] for depth, own in of.items()
        }
        whole = {depth: statistics.median(own) for depth, own in kept.items() if len(own) == len(of[depth])}
        if of and len(whole) == len(of):
            return "≥ most"
        iops, depth = max(((v, d) for d, v in whole.items()), default=(0.0, 0))
        return f"{rate.number(iops)} at {depth}" if depth else fmt.NOTHING

    bs = {"4 KiB blocks": "4k", "64 KiB blocks": "64k"}
    offered: dict[tuple[str, str], str] = {}
    for row in (
        row
        for table in (*figure.tables, *figure.numbers)
        if any(column.startswith("Most ") for column in table.columns)
        for row in rows(table)
    ):
        rate = next(
            s for s in (fmt.scale_for([10.0**n], "IOPS") for n in (1, 4, 7)) if f"Most {s.unit}" in row
        )
        every = cells[bs[row["Panel"]] if "Panel" in row else next(iter(cells))]
        of = {depth: own for depth, own in every.items() if all("latency p99" in one for one in own)}
        for limit in [limit for limit in LIMITS if f"{rate.unit} at p99 ≤ {limit}" in row]:
            said = row[f"{rate.unit} at p99 ≤ {limit}"]
            assert said == within(LIMITS[limit], of, rate) or (said.startswith("≥ ") and len(of) < len(every))
            offered[fmt.sentence(", ".join(filter(None, (row.get("Panel"), row["Access"])))), limit] = said
    for fan in fans:
        if claimed := re.fullmatch(r"(.+): (.+) k?IOPS with p99 within (.+?), at depth (\d+)", fan.title):
            access, iops, limit, depth = claimed.groups()
            assert offered[access, limit] == f"{iops} at {depth}" or not re.match(
                rf"{re.escape(iops)} ", offered[access, limit]
            )
            rings = {p.title: p.wide["datasets"]["rings"] for p in fan.panels}
            assert [ring["x"] for ring in rings[access]] == [int(depth)]
        else:
            assert re.fullmatch(r"p99 is .+ × the median", fan.title)


@pytest.mark.parametrize("seed", SEEDS)
def test_fio(seed: int, make: Any, tmp_path: Path) -> None:
    dice = random.Random(1000 + seed)
    maker = make.Maker(tmp_path / "f.db")
    depths = sorted(dice.sample([1, 2, 4, 8, 16, 32, 64], dice.randint(1, 5)))
    for bs, most in (("4k", 10 ** dice.uniform(3, 5)), ("64k", 10 ** dice.uniform(3, 5)))[
        : dice.randint(1, 2)
    ]:
        knee = dice.choice([1, 2, 4, 8, 16, 200])
        for depth, repeat in itertools.product(depths, range(dice.randint(1, 3))):
            iops = most * min(1.0, depth / knee) * dice.uniform(0.9, 1.1) ** (repeat + 1)
            rw = "randread"
            text = make.fio_text({"read": (iops, depth / iops * 1e6)}, bs=bs, rw=rw, iodepth=depth)
            maker.add("s", "fio", {"rw": rw, "bs": bs, "iodepth": depth}, text, axes=("bs", "iodepth"))

    results, chapter = chapter_of(maker.write(), "fio")

    figure, *fans = chapter.figures
    cells: dict[str, dict[int, list[dict[str, float]]]] = {}
    for run in results.good("fio"):
        told = {n.name.quantity: n.value for n in numbers(run)}
        cells.setdefault(str(run.options["bs"]), {}).setdefault(int(run.options["iodepth"]), []).append(told)
    middle = {
        bs: {at: {name: statistics.median(own[name] for own in same) for name in same[0]} for at, same in of.items()}
        for bs, of in cells.items()
    }  # fmt: skip
    if past := re.match(
        r"(?:Past depth|Depth) (\d+) .*(?:only more waiting|more depth only waits)", figure.title
    ):
        for of in middle.values():
            full = int(past[1])
            assert all(of[d]["IOPS"] <= of[full]["IOPS"] / 0.95 * 1.0001 for d in of if d > full)
            assert of[max(of)]["latency p50"] > of[full]["latency p50"]
    elif more := re.fullmatch(r"More depth still gives more reads at (\d+)", figure.title):
        assert all(
            max(of) == int(more[1]) == max(of, key=lambda d, of=of: of[d]["IOPS"]) for of in middle.values()
        )  # type: ignore[misc]
    else:
        assert figure.title in ("IOPS and latency", "IOPS and latency over iodepth")
        assert (figure.title == "IOPS and latency") == (len(depths) == 1)
    timed = [sum(all("latency p99" in one for one in own) for own in of.values()) for of in cells.values()]
    assert bool(fans) == (max(timed) > 1)
    if max(map(len, cells.values())) > 1:
        check_within(figure, fans, cells)
    rates = [n for n in chapter.key_numbers if n.unit.endswith("B/s")]
    key = max((n for n in chapter.key_numbers if n not in rates), key=lambda n: n.merit)
    bytes_of = {"4k": 4096, "64k": 65536}
    moved = {(bs, at): own["IOPS"] * bytes_of[bs] for bs, of in middle.items() for at, own in of.items()}
    assert len(rates) == (len(middle) == 2), "of blocks of one size the IOPS say it"
    for rate in rates:
        at = ("64k" if " 64 KiB " in rate.name else "4k", int(re.findall(r"iodepth (\d+)", rate.context)[0]))
        assert moved[at] == max(moved.values())
        assert f"{rate.value} {rate.unit}" == fmt.quantity(round(moved[at]), "B/s")
    best = max(cell["IOPS"] for of in middle.values() for cell in of.values())
    assert f"{key.value} {key.unit}" == fmt.quantity(best, "IOPS")
    bs, depth = ("64k" if "64 KiB" in key.name else "4k"), int(re.findall(r"iodepth (\d+)", key.context)[0])
    assert middle[bs][depth]["IOPS"] == best
    assert key.context.endswith(f"mean latency {fmt.quantity(middle[bs][depth]['latency mean'], 'ns')}")
