"""Every number that a page says stands in a table of it, at the precision said; bounds hold of the value, too.

Read as a reader does: the words come from the page, the values from the tables of the figure beneath (for a key number: of
the page). Over every fixture, and over results made up from a seed.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pinsweep.cli import cli
from reports.draw.figure import Figure, Table
from reports.page.model import KeyNumber, Page
from reports.report import build
from reports.results import load
from tests.laws import lots

FIXTURES = sorted(Path(__file__).parents[2].joinpath("fixtures").glob("*/*.out"))

UNITS = {
    "ns": ("s", 1e-9), "µs": ("s", 1e-6), "ms": ("s", 1e-3), "s": ("s", 1.0), "%": ("%", 1.0), "×": ("×", 1.0),
    **{f"{p}B/s": ("B/s", f) for p, f in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))},
    **{f"{p}IOPS": ("/s", f) for p, f in (("", 1.0), ("k", 1e3), ("M", 1e6))},
    **{f"{p}/s": ("/s", f) for p, f in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9))},
    **{f"{p}iB": ("B", 2.0**f) for p, f in (("K", 10), ("M", 20), ("G", 30), ("T", 40))},
    **{f"{p}B": ("B", f) for p, f in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))},
}  # fmt: skip
_UNIT = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True))
_DIGITS = "\\d{1,3}(?:\u202f\\d{3})+(?:\\.\\d+)?|\\d+(?:\\.\\d+)?"
_NUMBER = re.compile(
    rf"(?<![\w.:÷/-])(?P<sign>[−-]?)(?P<digits>{_DIGITS})(?:\s?(?P<unit>{_UNIT})(?!\w))?(?![\w:])"
)
_SPELLED = dict(zip(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), range(1, 13), strict=True))  # fmt: skip
_AT_LEAST = re.compile(r"\b(?:over|more than|at least|not up to|did not double up to)\s*$")
_AT_MOST = re.compile(r"\b(?:under|less than|at most|up to|within)\s*$")


@dataclass(frozen=True, slots=True)
class Said:
    """A number as a text says it: `low` to `high` is what it may stand for, in base units."""

    text: str
    value: float
    step: float  # of its last digit
    kind: str  # "s", "B/s", "%", …; "" without a unit
    bound: int = 0  # 1: at least so much, -1: at most

    @property
    def low(self) -> float:
        return self.value - (self.step / 2 if self.bound == 0 else 0 if self.bound > 0 else self.step)

    @property
    def high(self) -> float:
        return self.value + (self.step / 2 if self.bound == 0 else self.step if self.bound > 0 else 0)

    def stands_for(self, other: Said) -> bool:
        """May both be of one value? A table's own last digit is a range, too."""
        slack = 1e-9 * abs(self.value)
        same = not self.kind or not other.kind or self.kind == other.kind
        return same and self.low - slack <= other.high and other.low <= self.high + slack


def said(text: str, unit: str = "") -> Iterator[Said]:
    """Yield the numbers of a text; those without a unit take that of the next of an enumeration ("12 to 27 GB/s"), else `unit`."""
    found = list(_NUMBER.finditer(text))
    for i, match in enumerate(found):
        own = match["unit"]
        if not own and (range_of := re.search(rf"({_UNIT}) \([^()]*$", text[: match.start()])):
            own = range_of[1]  # "16.1 µs (15.4–16.9)"
        if not own:
            behind = found[i + 1] if i + 1 < len(found) else None
            between = text[match.end() : behind.start()] if behind else ""
            own = (behind["unit"] if behind and between in (" to ", "–", " and ") else "") or unit
        kind, factor = UNITS.get(own, ("", 1.0))
        digits = match["digits"].replace("\u202f", "")
        places = len(digits.partition(".")[2])
        before = text[: match.start()]
        bound = 1 if _AT_LEAST.search(before) else -1 if _AT_MOST.search(before) else 0
        step = 10.0**-places
        if not places:  # "1 230" and "240" may be rounded to their zeros: three digits are said
            step = 10.0 ** max(0, min(len(digits) - 3, len(digits) - len(digits.rstrip("0"))))
        sign = -1 if match["sign"] else 1
        yield Said(match[0], sign * float(digits) * factor, step * factor, kind, bound)


def cells(table: Table) -> Iterator[tuple[tuple[str, ...], list[Said]]]:
    """Yield each row with the numbers in it, in the unit of the cell, of its column's head, or of the caption."""
    about = re.search(rf"\bin ({_UNIT})(?!\w)", table.caption)
    units = []
    for column in table.columns:
        head = re.search(rf"(?:, |^|\()({_UNIT})(?![\w:])", column)
        units.append(head[1] if head else about[1] if about else "")
    for row in table.rows:
        numbers = [s for text, unit in zip(row, units, strict=True) for s in said(str(text), unit)]
        yield row, numbers


def columns(table: Table) -> Iterator[list[Said]]:
    """Yield the numbers of each column."""
    about = re.search(rf"\bin ({_UNIT})(?!\w)", table.caption)
    for i, column in enumerate(table.columns):
        head = re.search(rf"(?:, |^|\()({_UNIT})(?![\w:])", column)
        unit = head[1] if head else about[1] if about else ""
        yield [s for row in table.rows for s in said(str(row[i]), unit)]


def tables(figure: Figure) -> tuple[Table, ...]:
    return (*figure.tables, *figure.numbers)


def derived(one: Said, tables: Iterable[Table]) -> bool:
    """Is it the ratio, or the share lost or gained, of two numbers of one kind in a row, a column or a small table?"""
    if one.kind not in ("×", "%"):
        return False

    def fits(a: Said, b: Said) -> bool:
        if a.kind != b.kind or a.value <= 0 or b.value <= 0 or a.low <= 0 or b.low <= 0:
            return False
        low, high = a.low / b.high, a.high / b.low
        if one.kind == "×":
            return low <= one.high and one.low <= high
        changes = sorted((1 - low, 1 - high)), sorted((low - 1, high - 1))
        return any(x[0] * 100 <= one.high and one.low <= x[1] * 100 for x in changes)

    for table in tables:
        groups = [numbers for _, numbers in cells(table)]
        groups += list(columns(table))
        if len(table.rows) <= 16:
            groups.append([s for _, numbers in cells(table) for s in numbers])
        if any(fits(a, b) for group in groups for a, b in itertools.permutations(group[:200], 2)):
            return True
    return False


def untied(figure: Figure) -> list[str]:
    """Return the numbers of a figure's title that none of its tables has."""
    lacking = []
    listed = [s for table in tables(figure) for _, numbers in cells(table) for s in numbers]
    heads = [s for t in tables(figure) for text in (*t.columns, t.caption, *(c for r in t.rows for c in r)) for s in said(str(text))]  # fmt: skip
    title = figure.title
    for row in (row for table in tables(figure) for row in table.rows):
        title = title.replace(f"({row[0]})", "")  # the name of a row, no number
    for one in said(_named(title)):
        if any(one.stands_for(other) for other in (*listed, *heads)) or derived(one, tables(figure)):
            continue
        lacking.append(f"{one.text!r} of the title {figure.title!r}")
    axes = figure.axes
    lacking += [
        f"{one.text!r} of the axes {axes!r}"
        for one in said(axes.replace(" (", "; ("))  # "to 32 KiB (7.99 to 8.04)": a ratio
        if not any(one.stands_for(s) for s in (*listed, *heads))
    ]
    for word, n in _SPELLED.items():  # "Three threads fill"
        if re.search(rf"\b{word} threads?\b", figure.title, re.IGNORECASE) and not any(
            s.value == n for s in listed
        ):
            lacking.append(f"{word!r} of the title {figure.title!r}")
    return lacking


def _named(title: str) -> str:
    """Leave out what is a name and no number: "99.9 %", "IOPS at p99 ≤ 1 ms"."""
    return re.sub(r"p\d[\d.]*", "", title)


def key_untied(number: KeyNumber, figures: Sequence[Figure]) -> list[str]:
    """Return what a key number says that no row of the page has: its value, its range, and its conditions in the same row."""
    every = [t for f in figures for t in tables(f)]
    rows = [(row, numbers, t) for t in every for row, numbers in cells(t)]
    unit = number.unit
    (value,) = said(f"{number.value} {unit}")
    homes = [(row, numbers, t) for row, numbers, t in rows if any(value.stands_for(s) for s in numbers)]
    heads = [s for t in every for c in t.columns for s in said(c)]
    lacking = []
    if not homes:
        lacking.append(f"{number.value} {unit} ({number.name}; {number.context})")
    lacking += [
        f"{one.text!r} of the range {number.repeats!r} of {number.name}"
        for one in said(number.repeats)
        if not any(one.stands_for(s) for _, numbers, _ in rows for s in numbers)
    ]
    context = _PROGRAM.sub("", number.context)
    for one in said(_named(context)):
        near = [s for row, numbers, t in homes for s in (*numbers, *(h for c in t.columns for h in said(c)))]
        if any(one.stands_for(s) for s in (*near, *heads)) or derived(one, every):
            continue
        if any(one.stands_for(s) for _, numbers, _ in rows for s in numbers) and one.kind:
            continue  # a second quantity, from another table of the same cell
        if re.search(
            rf"\bof {one.text}$", context[: context.index(one.text) + len(one.text)]
        ) and one.value in (len(t.rows) for t in every):
            continue  # "lowest of 3": of the rows of a table
        lacking.append(f"{one.text!r} of {number.context!r} of {number.name}")
    return lacking


_PROGRAM = re.compile(
    r"buffer \d+ \w*B|(?:not )?Intel MLC [^,;]*|pinsweep \w+ [\d.]+|R:W [\d:]+|\d+:\d+(?: nt)?"
)


def figures_of(built: Page) -> list[Figure]:
    return [f for s in built.sections for b in s.blocks for f in b.figures]


def untrue(built: Page) -> list[str]:
    """Return every number that a page says and no table of it has."""
    figures = figures_of(built)
    lacking = [one for figure in figures for one in untied(figure)]
    lacking += [one for number in built.key_numbers for one in key_untied(number, figures)]
    return lacking


@pytest.mark.parametrize("text", FIXTURES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_page_of_a_fixture_says_what_its_tables_say(text: Path, tmp_path: Path) -> None:
    if CliRunner().invoke(cli, ["parse", str(text), "-o", str(tmp_path / "a.db")]).exit_code:
        pytest.skip("not a text that is taken in by itself")
    if not (tmp_path / "a.db").exists():
        pytest.skip("a description, no result")
    assert untrue(build.build(load.load([tmp_path / "a.db"]))) == []


# --- made-up results ---------------------------------------------------------------------------------------


def made(make: Any, seed: int, path: Path) -> Any:
    """Return a maker with the results of a seed: one to three tools, of many scales, more or less noisy, more or less complete.

    Its `truth` has what was written: (tool, place) → axis value → the values of its repeats, as they are printed.
    """
    chance = random.Random(seed)
    maker = make.Maker(path)
    maker.truth = defaultdict(lambda: defaultdict(list))
    noise = chance.choice([0.0, 0.002, 0.01, 0.04, 0.3])
    repeats = chance.choice([1, 1, 2, 3, 5])

    def near(value: float) -> float:
        return value * math.exp(chance.gauss(0, noise))

    def lost() -> dict[str, str]:
        return {"status": "failed", "reason": "exit status 1"} if chance.random() < 0.05 else {}

    for tool in chance.sample(TOOLS, chance.choice([1, 1, 2, 3])):
        tool(make, maker, chance, near, lost, repeats)
    return maker


Near = Callable[[float], float]
Lost = Callable[[], dict[str, str]]


def a_stream(make: Any, maker: Any, chance: random.Random, near: Near, lost: Lost, repeats: int) -> None:
    full = 10 ** chance.uniform(3.5, 5.9)
    places = chance.choice([["local"], ["local", "remote"], ["node 0", "node 1"], ["local", "remote", "all"]])
    cost = {
        place: chance.choice([1.0, 0.97, 0.93, 0.85, 0.5]) if place != "local" else 1.0 for place in places
    }
    counts = sorted(chance.sample([1, 2, 3, 4, 6, 8, 12, 16, 32, 64], chance.randint(1, 7)))
    knee = chance.choice([1, 2, 4, 9, 100])
    for place, threads, _ in itertools.product(places, counts, range(repeats)):
        rate, status = near(full * cost[place] * min(1.0, threads / knee)), lost()
        maker.add("triad", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",), place=place, relation=place, **status)  # fmt: skip
        if not status:
            maker.truth["stream", place][threads].append(round(rate, 1))


def an_mlc(make: Any, maker: Any, chance: random.Random, near: Near, lost: Lost, repeats: int) -> None:
    idle, peak = chance.uniform(60, 300), 10 ** chance.uniform(3.5, 5.9)
    delays = sorted(chance.sample([0, 2, 8, 15, 50, 100, 200, 300, 400, 700, 1000, 3500, 9000, 20000], chance.randint(2, 12)))  # fmt: skip
    steep = chance.choice([0.05, 0.3, 1.5, 4.0])
    back = chance.choice([1.0, 1.0, 0.8])
    mixes = chance.sample(["", "2", "5", "6", "9"], chance.randint(1, 3))
    for mix, _ in itertools.product(mixes, range(repeats)):
        gain = 1 + 0.1 * mixes.index(mix)
        rows = []
        for delay in delays:
            load = min(0.995, 20 / (20 + delay))
            rate = peak * gain * load * (back if delay == 0 else 1)
            rows.append((delay, near(idle * (1 + steep * load**4 / (1.02 - load) / 20)), near(rate)))
        maker.add("loaded", "mlc", {"mode": "loaded_latency", "traffic": mix or "R"}, make.mlc_text(rows, traffic=mix), axes=("traffic",), **lost())  # fmt: skip
    if chance.random() < 0.5:
        nodes = chance.choice([1, 2, 4, 8])
        far = chance.choice([1.0, 1.02, 1.6, 2.3])
        for bandwidth, _ in itertools.product((False, True), range(repeats)):
            base = peak if bandwidth else idle
            table = [[near(base if i == j else base / far if bandwidth else base * far) for j in range(nodes)] for i in range(nodes)]  # fmt: skip
            mode = "bandwidth_matrix" if bandwidth else "latency_matrix"
            maker.add("matrix", "mlc", {"mode": mode}, make.matrix_text(table, bandwidth=bandwidth), axes=("mode",), **lost())  # fmt: skip


def an_imb(make: Any, maker: Any, chance: random.Random, near: Near, lost: Lost, repeats: int) -> None:
    alpha, rate = 10 ** chance.uniform(-0.8, 1.6), 10 ** chance.uniform(2, 4.5)
    places = chance.choice([["same cache"], ["same cache", "other package"], ["same cache", "same package", "other package"]])  # fmt: skip
    sizes = [0, *(2**i for i in range(chance.choice([3, 12, 23])))]
    for i, place in enumerate(places):
        slower, thinner = chance.choice([1.0, 1.04, 1.5, 2.6]) ** i, chance.choice([1.0, 0.95, 0.5]) ** i
        for _ in range(repeats):
            times, status = {n: near(alpha * slower + n / (rate * thinner)) for n in sizes}, lost()
            maker.add("pingpong", "imb", {"benchmark": "PingPong"}, make.imb_text(times), place=place, relation=place, **status)  # fmt: skip
            for n, value in {} if status else times.items():
                maker.truth["imb", place][n].append(round(value, 2))


def a_fio(make: Any, maker: Any, chance: random.Random, near: Near, lost: Lost, repeats: int) -> None:
    most, service = 10 ** chance.uniform(2, 6), chance.uniform(8, 9000)
    depths = sorted(chance.sample([1, 2, 4, 8, 16, 32, 64, 128], chance.randint(1, 6)))
    accesses = chance.sample(["randread", "randwrite", "randrw"], chance.randint(1, 3))
    sizes = chance.sample(["4k", "32k", "1M"], chance.randint(1, 2))
    for rw, bs, depth, _ in itertools.product(accesses, sizes, depths, range(repeats)):
        iops = near(min(most, depth / service * 1e6))
        parts = {"read": iops * 0.7, "write": iops * 0.3} if rw == "randrw" else {"write" if "write" in rw else "read": iops}  # fmt: skip
        told = {name: (value, near(depth / iops * 1e6)) for name, value in parts.items()}
        text = make.fio_text(told, bs=bs, rw=rw, iodepth=depth)
        maker.add("ssd", "fio", {"rw": rw, "bs": bs, "iodepth": depth}, text, axes=("rw", "bs", "iodepth"), **lost())  # fmt: skip


def a_poke(make: Any, maker: Any, chance: random.Random, near: Near, lost: Lost, repeats: int) -> None:
    n = chance.choice([50, 2000, 12_000])
    for target, size in chance.sample([("memory", 2**10), ("memory", 2**20), ("memory", 2**30), ("file", 2**30)], chance.randint(1, 3)):  # fmt: skip
        median, sigma = chance.uniform(20, 5000), chance.uniform(0.05, 0.6)
        for _ in range(repeats):
            samples = make.sample(n, median=near(median), sigma=sigma, tail=chance.choice([1e4, 1.5e6, 9e8]))
            maker.add("tails", "poke", {"target": target, "bytes": size, "count": n}, make.poke_text(samples, target=target, size=size), axes=("target", "bytes"), **lost())  # fmt: skip


TOOLS = [a_stream, an_mlc, an_imb, a_fio, a_poke]


def differ(a: Sequence[float], b: Sequence[float]) -> bool:
    """The rule that findings print, written once more: the repeats do not overlap, and the medians are further apart than 3 %
    and than the wider spread; than 10 % where a side has fewer than three."""
    if max(a) >= min(b) and max(b) >= min(a):
        return False
    low, high = sorted((statistics.median(a), statistics.median(b)))
    spreads = [(max(side) - min(side)) / statistics.median(side) for side in (a, b)]
    return high / low - 1 > max(0.10 if min(len(a), len(b)) < 3 else 0.03, *spreads) - 1e-9


def unproven(maker: Any, built: Page) -> list[str]:
    """Return the titles that claim a difference which the values do not carry."""
    wrong = []
    truth = maker.truth
    for title in (f.title for f in figures_of(built)):
        if re.search(r"remote (?:memory )?(?:costs|gives)", title):
            at = int(re.search(r" at (\d+) thread", title)[1])  # type: ignore[index]
            best = [truth["stream", place][at] for place in ("local", "remote")]
            change = statistics.median(best[1]) / statistics.median(best[0]) - 1
            (share,) = (s for s in said(title) if s.kind == "%")
            if (
                not differ(*best)
                or not share.low <= abs(change) * 100 <= share.high
                or ("costs" in title) != (change < 0)
            ):
                wrong.append(f"{title!r}: {best}")
        if "in latency" in title:
            small = {place: times[0] for (tool, place), times in truth.items() if tool == "imb" and times}
            if not any(differ(a, b) for a, b in itertools.combinations(small.values(), 2)):
                wrong.append(f"{title!r}: {small}")
        filled = re.match(r"(\w+) threads? fills?", title)
        if filled:
            line = {
                n: statistics.median(v)
                for n, v in truth[
                    "stream",
                    "local" if ("stream", "local") in truth else next(p for t, p in truth if t == "stream"),
                ].items()
            }
            n = next(n for n in sorted(line) if line[n] >= 0.95 * max(line.values()))
            if _SPELLED.get(filled[1].lower(), filled[1]) not in (n, str(n)):
                wrong.append(f"{title!r}: {line}")
    return wrong


@pytest.mark.parametrize("seeds", lots(range(200), quick=3, slow=36), ids=str)
def test_a_page_of_made_up_results_says_what_its_tables_and_its_values_say(
    seeds: range, make: Any, tmp_path: Path
) -> None:
    found = {}
    for seed in seeds:
        maker = made(make, seed, tmp_path / f"{seed}.db")
        built = build.build(load.load([maker.write()]))
        lacking = [*untrue(built), *unproven(maker, built)]
        if lacking:
            found[seed] = lacking
    assert found == {}
