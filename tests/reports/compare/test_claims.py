"""What a comparison says holds of its table: numbers at its digits, counts of its words, and the other way round for B against A."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from reports.compare import formats, terminal
from reports.compare import text as texts
from reports.compare.comparison import compare
from reports.compare.folds import Fold, lines_of, rows_of
from reports.compare.model import Comparison, Row, Shared
from reports.compare.section import Delta, Line, delta
from reports.compare.sides import side
from reports.report.build import build
from reports.report.render import render_report
from reports.results.load import load
from tests.laws import lots
from tests.reports.compare.clauses import as_verdicts, hold, split

WORDS = {"same": "the same", "one run": "without a verdict"}
MIRROR = {"regressed": "improved", "improved": "regressed"}
OF_TWO = {"worse": "regressed", "better": "improved"}
NUMBER = re.compile(r"[+−]?\d[\d\u202f]*(?:\.\d+)?|∞")


# --- made-up results ---------------------------------------------------------------------------------------


def made(
    make: Any, path: Path, rng: random.Random, effects: dict[str, float], noise: float, repeats: int
) -> Path:
    """One session of several tools; `effects`: tool, or tool and level → what B's numbers are multiplied by."""
    maker = make.Maker(path, host=f"node{rng.randrange(2)}")
    maker.facts = {**make.FACTS, "kernel": path.stem}

    def times(*keys: str) -> float:
        value = rng.gauss(1, noise)
        for key in keys:
            value *= effects.get(key, 1.0)
        return value

    for _ in range(repeats):
        for threads, place in itertools.product((1, 2, 4, 8), ("local", "remote")):
            rate = 5000 * threads * times("stream", f"stream {place}", f"stream {threads}")
            maker.add("scaling", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads", "place"), place=place, relation=place)  # fmt: skip
        pingpong = {0: 0.5 * times("imb")} | {
            2**p: (0.5 + 2**p / 1e4) * times("imb") for p in range(0, 22, 3)
        }
        maker.add("pp", "imb", {"benchmark": "PingPong"}, make.imb_text(pingpong))
        loads = [(d, (80 + 2000 / (10 + d)) * times("mlc"), 2e4 / (1 + d / 100) * times()) for d in (0, 50, 300, 900)]  # fmt: skip
        maker.add("load", "mlc", {"mode": "loaded_latency"}, make.mlc_text(loads))
        for depth in (1, 4, 16):
            reads = {"read": (1e4 * depth**0.7 * times("fio"), 90 * depth**0.3 * times("fio"))}
            maker.add("disk", "fio", {"iodepth": depth}, make.fio_text(reads, bs="4k", rw="randread", iodepth=depth), axes=("iodepth",))  # fmt: skip
        for alg in "xyz":
            spec = {"took": {"regex": r"t (\S+)", "unit": "ms", "better": "lower"}}
            options = {"command": ["z"], "metrics": spec, "alg": alg}
            maker.add("own", "command", options, f"t {25 * times('command'):.0f}\n", axes=("alg",))
    written: Path = maker.write()
    return written


def pair(make: Any, folder: Path, seed: int) -> tuple[Comparison, Comparison]:
    """The comparison of two made-up sides, and that of B with A."""
    rng = random.Random(seed)
    keys = ("stream", "stream remote", "stream 2", "imb", "mlc", "fio", "command")
    effects = {key: rng.choice((1.0, 1.0, 0.9, 1.1, 0.6, 2.5)) for key in keys}
    noise = rng.choice((0.001, 0.01, 0.05, 0.2))
    sides = []
    for name, own in (("a", {}), ("b", effects)):
        sessions, repeats = rng.choice((1, 1, 2, 5)), rng.choice((1, 2, 3, 4))
        paths = [made(make, folder / f"{name}{i}.db", rng, own, noise, repeats) for i in range(sessions)]
        sides.append((name, load(paths)))
    (a, left), (b, right) = sides
    return (
        compare(side("A", a, left), side("B", b, right)),
        compare(side("A", b, right), side("B", a, left)),
    )


# --- the table ---------------------------------------------------------------------------------------------


def lines(page: Delta) -> list[tuple[str, str, str, str, str, str, str]]:
    """Every row of both tables of the page: number, unit, A, B, shift, interval, verdict."""
    shown = [(f"{x.place}: {x.metric}", x.sub.rpartition(", ")[0], x.a, x.b, x.change, x.interval, OF_TWO.get(x.verdict, x.verdict)) for x in page.lines if not x.points]  # fmt: skip
    rest = [
        (n, u, a, b, s, i, OF_TWO.get(word := v.partition(", ")[0], word))
        for n, u, a, b, s, i, _, v in (page.rest.rows if page.rest else ())
    ]
    assert not rest or set(shown) <= set(rest)
    return rest or shown


def found(text: str) -> set[str]:
    return set(NUMBER.findall(text))


def tallied(text: str) -> tuple[Counter[str], int]:
    """Read "3 of 6 points regressed, 2 the same" as counts, and of how many."""
    first, *rest = text.split(", ")
    n, of, word = re.fullmatch(r"(\d+) of (\d+) \w+ (.+)", first).groups()  # type: ignore[union-attr]
    return Counter({word: int(n), **{w: int(k) for k, w in (one.split(" ", 1) for one in rest)}}), int(of)


def holds(comparison: Comparison) -> None:
    """Check every sentence of a comparison against its table."""
    page = delta(comparison)
    table = lines(page)
    assert len(table) == len(comparison.rows)
    words = Counter(WORDS.get(line[-1], line[-1]) for line in table)
    known = found(" ".join(itertools.chain.from_iterable(table)))

    headline(comparison, page, words, known)
    for figure in (*page.curves, *page.unmoved):
        title = as_verdicts(figure.title, one_machine=comparison.one_machine)
        sweep, metric, said = re.fullmatch(r"(\w+): (.+?), (\d.*)", title).groups()  # type: ignore[union-attr]
        counts, of = tallied(re.sub(r" \([^)]*\)", "", said))
        for word, by in re.findall(r"(regressed|improved) \(([^)]*)\)", said):
            own = [row for row in comparison.of(word) if (row.sweep, row.number.title) == (sweep, metric)]
            assert by == texts.span(own)
        of_metric = [
            x for x in table if x[0].startswith(sweep) and x[0].split(": ")[1].split(" at ")[0] == metric
        ]
        drawn = Counter(WORDS.get(x[-1], x[-1]) for x in of_metric)
        assert counts == drawn
        assert of == counts.total() == len(of_metric)
    for shared in comparison.shared:
        together(comparison, shared)
    for key in page.key_numbers:
        a, b = key.value.split(" → ")
        (line,) = [x for x in table if conditions(x[0]) == (key.name, key.context.partition("; ")[0])]
        assert line[1:4] == (key.unit, a, b)
        repeats = as_verdicts(key.repeats, one_machine=comparison.one_machine)
        assert repeats.rpartition(", ")[2] == line[-1]
        moved = line[4].partition(" (")[0]
        told = f"{moved}{f' ({line[5]})' if line[5] else ''}, {line[-1]}"
        medians, _, typical = repeats.rpartition("typical pair ")
        assert typical == told
        assert not re.match(rf"medians {re.escape(moved)}(?=, )", medians)
    for text in (
        terminal.table(comparison, everything=True),
        formats.as_markdown(comparison),
        formats.as_junit(comparison),
    ):
        assert not re.search(
            r"\bno (point|number|change|difference)", text.replace("no number in common", "")
        )
    each_number_has_one_line(comparison, page)
    alone = [line for line in page.lines if not line.points]
    for line, row in zip(alone, sorted_rows(comparison, alone), strict=True):
        opposite(line, row)
    assert moved_first(page)


def each_number_has_one_line(comparison: Comparison, page: Delta) -> None:
    """A line of several numbers is of one verdict, sweep, unit and direction, and says of them how many, which range and which ends."""
    known = lines_of(comparison)
    entries = [*itertools.chain(*known.of.values()), *known.once]
    told = [row for entry in entries for row in rows_of(entry)]
    echoing = [row for row in comparison.rows if not any(row is one for one in told)]
    assert len(told) + len(echoing) == len(comparison.rows)
    assert all(row.derived and not row.once for row in echoing)
    for row in echoing:
        assert row.verdict in {r.verdict for r in comparison.rows if r.sweep == row.sweep and not r.derived}
    assert sum(known.echoing.values()) == len(echoing)
    shown = {(line.metric, line.place, line.points, line.change): line for line in page.lines if line.points}
    for fold in (entry for entry in entries if isinstance(entry, Fold)):
        assert len({(r.word, r.sweep, r.unit, r.better, r.derived) for r in fold.rows}) == 1
        titles, cells = {r.number.title for r in fold.rows}, {r.pair.key for r in fold.rows}
        n, of = map(int, re.match(r"(\d+) of (\d+) (?:points?|numbers?)", fold.counted).groups())  # type: ignore[union-attr]
        every = [r for r in comparison.rows if r.number.title in titles and r.sweep == fold.rows[0].sweep]
        assert n == len(fold.rows) <= of <= len(every)
        assert fold.whole == (n == of)
        assert len(cells) <= of
        assert all(word in fold.metric for title in titles for word in title.split(" "))
        if line := shown.get((fold.metric, fold.where, fold.points, texts.span(fold.rows))):
            assert (line.a, line.b, line.interval) == (
                *texts.ends(fold.rows)[:2],
                texts.interval(texts.outer(fold.rows)),
            )


def moved_first(page: Delta) -> bool:
    """Are curves that did not move closed where others did, and no others?"""
    drawn, closed = (
        [bool(re.search("regressed|improved|worse|better", figure.title)) for figure in figures]
        for figures in (page.curves, page.unmoved)
    )
    return not any(closed) and (not any(drawn) or all(drawn))


def conditions(name: str) -> tuple[str, str]:
    """`"pp: PingPong time at 8 B"` is the PingPong time in "pp, 8 B"."""
    place, metric = name.split(": ")
    title, _, row = metric.partition(" at ")
    return title, ", ".join(filter(None, (place, row)))


def headline(comparison: Comparison, page: Delta, words: Counter[str], known: set[str]) -> None:
    judged = sum(words.values()) - words["without a verdict"]
    said = page.sentence
    assert said in formats.as_github(comparison).replace("%25", "%").replace("%3A", ":").replace("%2C", ",")
    assert json.loads(formats.as_json(comparison))["sentence"] == said
    if not judged:
        assert said.startswith(f"One run on a side: {sum(words.values())} numbers, no verdict. B against A: ")
        return
    counts = re.search(
        r"(\d+) of (\d+) numbers? regressed, (\d+) improved, (\d+) (?:is|are) the same, (\d+) (?:is|are) inconclusive\.(.*)",
        as_verdicts(said, one_machine=comparison.one_machine),
    )  # fmt: skip
    assert counts
    assert [int(n) for n in counts.groups()[:5]] == [
        words["regressed"], judged, words["improved"], words["the same"], words["inconclusive"],
    ]  # fmt: skip
    rest = counts[6].removeprefix(
        f" {words['without a verdict']} more have one run on a side, and no verdict."
    )
    rest = re.sub(r" ⚠ doubtful: all .+?\.(?= |$)", "", rest).strip()
    assert bool(rest) == bool(comparison.of("regressed", "improved"))
    if rest:
        hold(comparison, split(rest.removesuffix(".")))
    provisional = re.match(r"Provisional(?: for (\d+) numbers?)?, one session a side: ", said)
    one = all(of.evidence == 1 for of in (comparison.a, comparison.b))
    assert bool(provisional) == one


def together(comparison: Comparison, shared: Shared) -> None:
    """Count the cells of each level again."""
    cells: dict[str, dict[Any, set[str]]] = {}
    for row in comparison.rows:
        if not row.once and not row.derived and row.decision.ratio is not None:
            cells.setdefault(row.labels.get(shared.axis, ""), {}).setdefault(row.pair.key, set()).add(
                row.verdict
            )
    order = ("regressed", "inconclusive", "improved", "same")
    for level in shared.levels:
        counted = Counter(
            next(word for word in order if word in words) for words in cells[level.name].values()
        )
        assert {word: n for word, n in level.counts.items() if n} == counted


def sorted_rows(comparison: Comparison, shown: Iterable[Line]) -> list[Row]:
    by_name = {row.title: row for row in comparison.rows}
    return [by_name[f"{line.place}: {line.metric}"] for line in shown]


def opposite(line: Line, row: Row) -> None:
    """A shift that goes the other way than the medians beside it says so; so does one of another size."""
    medians = row.median_b - row.median_a
    against = line.change[0] in "+−" and medians * (1 if line.change[0] == "+" else -1) < 0
    assert "medians" in line.change or not against


def mirrored(there: Comparison, back: Comparison) -> None:
    forth, other = ({x[0]: x for x in lines(delta(one))} for one in (there, back))
    assert forth.keys() == other.keys()
    for name, line in forth.items():
        assert (line[2], line[3]) == (other[name][3], other[name][2])
        assert MIRROR.get(line[-1], line[-1]) == other[name][-1]
        if line[4][0] in "+−" and other[name][4][0] in "+−":
            assert line[4][0] != other[name][4][0]


@pytest.mark.parametrize("seeds", lots(range(12), quick=1, slow=5, of=1), ids=str)
def test_what_is_said_stands_in_the_table(make: Any, tmp_path: Path, seeds: range) -> None:
    (seed,) = seeds
    there, back = pair(make, tmp_path, seed)

    holds(there)
    holds(back)
    mirrored(there, back)


# --- one by one --------------------------------------------------------------------------------------------


def loads(make: Any, path: Path, factors: Iterable[float], noise: float = 0.0) -> Path:
    maker = make.Maker(path, host="vm")
    rng = random.Random(path.stem)
    for factor in factors:
        rows = [(d, 90.0 * factor * rng.gauss(1, noise), 2e4 / (1 + d / 100)) for d in (0, 100, 500, 900)]
        maker.add("load", "mlc", {"mode": "loaded_latency"}, make.mlc_text(rows))
    written: Path = maker.write()
    return written


def of_files(a: Path, b: Path) -> Comparison:
    return compare(side("A", a.name, load([a])), side("B", b.name, load([b])))


def test_points_that_nobody_can_tell_are_not_told_as_no_worse(make: Any, tmp_path: Path) -> None:
    found = of_files(*(loads(make, tmp_path / f"{n}.db", [1, 1.6, 0.7]) for n in "ab"))

    page = delta(found)
    (latency, *_) = (*page.curves, *page.unmoved)
    assert latency.title == "load: loaded latency, 4 of 4 points inconclusive"
    (drawn,) = latency.panels
    assert [row["x"] for row in drawn.wide["datasets"]["points"]] == [
        0,
        1,
        2,
        3,
    ]  # delay 0, too, has its place
    assert "load: loaded latency at traffic read, delay 0" in {line[0] for line in lines(delta(found))}


def test_key_numbers_of_a_comparison_are_of_one_cell_on_both_sides(make: Any, tmp_path: Path) -> None:
    """B's best size or thread count may be another: what stands there is what A's best cell has become."""
    paths = []
    for name, rates in (("a", {1: 9e3, 4: 2e4}), ("b", {1: 9e3, 4: 8e3})):
        maker = make.Maker(tmp_path / f"{name}.db")
        for threads, rate in rates.items():
            for _ in range(3):
                maker.add("scaling", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",))  # fmt: skip
        paths.append(maker.write())
    found = of_files(*paths)

    results = load(paths)
    page = build(results, delta(found))
    (number,) = page.key_numbers
    assert (number.name, number.value, number.unit) == ("triad bandwidth", "20.00 → 8.000", "GB/s")
    assert number.context == "scaling, threads 4; 1 of 2 regressed"
    assert number.repeats.startswith("−60.0 % (")
    assert number.repeats.endswith("), regressed")
    assert page.title == "Comparison: b.db against a.db"
    assert "Comparison" not in build(results).title
    assert "→" not in build(results).key_numbers[0].value


def test_no_key_number_of_a_comparison_is_of_the_timer_alone(make: Any, tmp_path: Path) -> None:
    """An empty access is the fastest of all, and says nothing of a machine."""
    paths = []
    for name in "ab":
        maker = make.Maker(tmp_path / f"{name}.db")
        for target, median in (("null", 16.0), ("memory", 60.0)):
            for _ in range(3):
                maker.add("tails", "poke", {"target": target}, make.poke_text([median] * 100, target=target), axes=("target",))  # fmt: skip
        paths.append(maker.write())

    page = build(load(paths), delta(of_files(*paths)))
    assert [number.name for number in page.key_numbers] == ["memory read latency p50"]


def test_a_key_number_of_a_comparison_bears_the_mark_of_its_check(make: Any, tmp_path: Path) -> None:
    """B's queue holds eight times what was asked for: that cannot be, and F1 says so."""
    paths = []
    for name, factor in (("a", 1), ("b", 8)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for _ in range(3):
            text = make.fio_text({"read": (4e4 * factor, 100.0)}, bs="4k", rw="randread", iodepth=4)
            maker.add("disk", "fio", {"iodepth": 4, "rw": "randread", "bs": "4k", "ioengine": "libaio", "direct": True}, text)  # fmt: skip
            maker.add("scaling", "stream", {"threads": 1}, make.stream_text(9e3, 1))
        paths.append(maker.write())

    page = build(load(paths), delta(of_files(*paths)))

    assert [bool(number.doubt) for number in page.key_numbers] == [
        "IOPS" in number.name for number in page.key_numbers
    ]
    assert "F1 of B" in {number.doubt for number in page.key_numbers}
    assert "one below a verdict or in the last column alone doubts all numbers of its row" in page.marks
    assert "below a verdict" not in build(load(paths)).marks


def test_what_doubts_all_numbers_of_a_side_is_told_once(make: Any, tmp_path: Path) -> None:
    """ "⚠ D1 of A" stood at each of 26 numbers, at their figure and the key number."""
    paths = []
    for name, factor in (("a", 1), ("b", 8)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for depth, _ in itertools.product((4, 8), range(3)):
            text = make.fio_text(
                {"read": (1e4 * depth * factor, 100.0)}, bs="4k", rw="randread", iodepth=depth
            )
            maker.add("disk", "fio", {"iodepth": depth, "rw": "randread", "bs": "4k", "ioengine": "libaio", "direct": True}, text, axes=("iodepth",))  # fmt: skip
        paths.append(maker.write())
    found = of_files(*paths)

    page, markdown = delta(found), formats.as_markdown(found)

    once = "⚠ doubtful: all numbers, by F1 of B (more or fewer I/Os in flight than were asked for)."
    assert once in page.sentence
    assert once in " ".join(terminal.table(found).split())
    assert [text.count("F1") for text in (str(page), terminal.table(found), markdown)] == [1, 1, 1]
    assert {tuple(cell["doubtful"]) for cell in json.loads(formats.as_json(found))["cells"]} == {("F1",)}


def test_a_key_number_of_a_comparison_is_of_a_cell_that_no_check_convicts(make: Any, tmp_path: Path) -> None:
    paths = []
    for name, most in (("a", 80e3), ("b", 20e3)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for rate in (9e3, 9.1e3, 9.2e3):
            maker.add("scaling", "stream", {"threads": 1}, make.stream_text(rate, 1), axes=("threads",))
        for rate in (20e3, 21e3, most):
            maker.add("scaling", "stream", {"threads": 4}, make.stream_text(rate, 4), axes=("threads",))
        paths.append(maker.write())

    (number,) = build(load(paths), delta(of_files(*paths))).key_numbers

    assert (number.context, number.doubt) == ("scaling, threads 1", "")


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((0, 8), []),
        ((0, 8, 16), ["p: A has no PingPong time at 16 B"]),
    ],
)
def test_a_row_that_only_one_side_has_is_no_cell_that_only_it_has(
    make: Any, tmp_path: Path, sizes: tuple[int, ...], said: list[str]
) -> None:
    paths = []
    for name, of in (("a", (0, 8)), ("b", sizes)):
        maker = make.Maker(tmp_path / f"{name}.db")
        maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text(dict.fromkeys(of, 0.5)))
        paths.append(maker.write())

    found = of_files(*paths)

    assert [group.text for group in texts.absent(found.unmatched)] == said
    assert "only B" not in terminal.table(found)
    assert "only B" not in formats.as_junit(found)


@pytest.mark.slow
def test_a_doubt_reaches_every_form_of_a_comparison(make: Any, tmp_path: Path) -> None:
    """Two files of one name. In B's the queue of depth 4 holds eight times what was asked for (F1); depth 8 is sound on both sides."""
    paths = []
    for folder, factor in (("old", 1), ("new", 8)):
        (tmp_path / folder).mkdir()
        maker = make.Maker(tmp_path / folder / "r.db")
        for depth, times in ((4, factor), (8, 1)):
            for _ in range(3):
                text = make.fio_text(
                    {"read": (4e4 * times, depth * 25.0)}, bs="4k", rw="randread", iodepth=depth
                )
                maker.add("disk", "fio", {"iodepth": depth, "rw": "randread", "bs": "4k", "ioengine": "libaio", "direct": True}, text, axes=("iodepth",))  # fmt: skip
        paths.append(maker.write())
    found = of_files(*paths)

    bad = {row.cell: row.doubt for row in found.rows}
    assert bad == {"iodepth=4": "F1 of B", "iodepth=8": ""}
    lines = terminal.table(found, everything=True).splitlines()
    listed = [line for line in lines if "iodepth 4" in line and "→" in line]
    assert listed
    assert all("⚠ F1 of B" in line for line in listed)
    assert not [line for line in lines if "iodepth 8" in line and "⚠" in line]
    assert ", ⚠ doubtful: " in texts.sentence(found)
    told = {
        row["cell"]: (row["doubtful"], row["a"]["doubtful"], row["b"]["doubtful"])
        for row in json.loads(formats.render(found, "json"))["cells"]
    }
    assert told == {"iodepth=4": (["F1"], [], ["F1"]), "iodepth=8": ([], [], [])}
    markdown = formats.render(found, "markdown")
    assert "⚠ doubtful: F1 of B" in markdown
    n = sum(row.doubt == "F1 of B" for row in found.rows)
    counted = f"{n} of {len(found.rows)} numbers, by the checks of their cells: F1 of B ({n}); pinsweep audit says why"
    assert f"- Doubtful: {counted}\n" in markdown
    page = render_report(paths, tmp_path / "p.html", static=True, comparison=delta(found)).read_text()
    header, _, rest = page.partition("</header>")
    assert (
        f'<a href="#checks">Checks</a> doubt {n} of {len(found.rows)} numbers: <a href="#check-F1">F1 of B</a> ({n}).'
        in header
    )
    assert 'id="check-F1"' in rest
    worse = of_files(*paths[::-1])
    assert worse.counts["regressed"]
    cases = ElementTree.fromstring(formats.render(worse, "junit")).iter("testcase")
    for case in cases:
        doubted = "iodepth=4" in case.get("classname", "")
        said = [
            case.findtext("system-out", ""),
            *(failure.get("message", "") for failure in case.findall("failure")),
        ]
        assert {"⚠ doubtful: F1 of A" in text for text in said} == {doubted}
    github = formats.render(worse, "github").splitlines()
    assert all("⚠ doubtful: F1 of A" in line for line in github if line.startswith("::error"))
    assert [line for line in github if line.startswith("::warning title=doubtful::")] == [
        f"::warning title=doubtful::{counted.replace('of B', 'of A')}"
    ]
    section = delta(found)
    open_ = {(line.place, line.doubt) for line in section.lines}
    closed = section.rest.doubted.rows if section.rest else ()
    assert ("disk, iodepth 4", "F1 of B") in open_ or any(row[-1] == "⚠ F1 of B" for row in closed)
    assert ("disk, iodepth 4", "") not in open_


def test_a_doubt_says_of_which_side_it_is(make: Any, tmp_path: Path) -> None:
    """F1 of both, G10 of A, nothing of B alone; a link of the key numbers leads to the check."""
    row = Row(
        pair=None, number=None, labels={}, a=(), b=(), decision=None, doubts=("F1, G10", "F1"),  # type: ignore[arg-type]
    )  # fmt: skip
    assert row.doubt == "F1, G10 of A"
    assert dataclasses.replace(row, doubts=("", "F1")).doubt == "F1 of B"
    assert dataclasses.replace(row, doubts=("", "")).doubt == ""


def test_the_axis_of_the_intervals_says_where_its_ends_are(make: Any, tmp_path: Path) -> None:
    """The picture is of how B does against A: its ends are a ratio and its inverse, 1.5 × worse is −33 %."""
    spec = {"took": {"regex": r"t (\S+)", "unit": "ms", "better": "lower"}, "rate": {"regex": r"r (\S+)", "better": "higher"}}  # fmt: skip
    for slower, end in ((1.1, "1.18 ×"), (1.4, "1.5 ×"), (3.9, "4 ×")):
        paths = []
        for name, times in (("a", 1.0), ("b", slower)):
            path = tmp_path / f"{name}{slower}.db"
            maker = make.Maker(path)
            for value in (100.0, 101.0, 100.5):
                text = f"t {value * times:.1f}\nr {value / times:.1f}\n"
                maker.add("s", "command", {"command": "x", "metrics": spec}, text)
            paths.append(maker.write())
        page = delta(of_files(*paths))

        assert [text for _, text in page.axis] == [f"{end} worse", f"{end} better"]
        assert f"from {end} worse to {end} better (log)" in page.reading
        dots = {line.metric: line.mark.filled[-1][1] for line in page.lines if line.mark}
        assert len(dots) == 2
        places = [float(re.match(r"M([\d.]+)", dot)[1]) for dot in dots.values()]  # type: ignore[index]
        assert places[0] == pytest.approx(
            places[1], abs=0.2
        )  # 1.4 times the time and 1 ÷ 1.4 of the rate are as much worse


def test_an_interval_holds_its_number(make: Any, tmp_path: Path) -> None:
    """A hundred thousand times the time: "∞ to ∞" holds nothing."""
    assert texts.interval((99_999.0, 100_001.0)) == "10\u202f000 to ∞ ×"
    assert texts.interval((99.0, float("inf"))).endswith(" to ∞ ×")
    assert texts.interval((-0.5, 2.0)) == "−50.0 to 200 %"
    assert texts.interval((-0.9999999, 9.24)) == "0 to 10.3 ×"
    assert texts.interval((24.21, 47.2)) == "25.2 to 48.2 ×"


def test_a_change_and_its_interval_are_told_in_one_notation() -> None:
    """ "+240 % (× 0.80 to 12.1)": per cent and a factor in one row."""
    assert texts.change(2.4, (-0.2, 11.02)) == "3.40 ×"
    assert texts.change(2.4, (-0.2, 8.9)) == "+240 %"
    assert texts.change(-0.5, (-0.9, float("inf"))) == "0.500 ×"


def test_a_direction_that_was_turned_is_told_once(make: Any, tmp_path: Path) -> None:
    paths = []
    for name, better in (("a", "lower"), ("b", "higher")):
        maker = make.Maker(tmp_path / f"{name}.db")
        spec = {"took": {"regex": r"t (\S+)", "unit": "ms", "better": better}}
        for value in (25.1, 25.2):
            maker.add("s", "command", {"command": "x", "metrics": spec}, f"t {value}\n")
        paths.append(maker.write())

    found = of_files(*paths)

    (group,) = texts.absent(found.unmatched)
    said = "not the same direction (A: lower is better; B: higher is better): took"
    assert group.text == f"s: {said}"
    assert (
        texts.sentence(found) == f"No number can be compared: {said}."
    )  # "The two sides have no number in common."


def test_two_files_of_a_host_are_one_host(make: Any, tmp_path: Path) -> None:
    paths = []
    for name in "ab":
        maker = make.Maker(Path(loads(make, tmp_path / f"{name}.db", [1, 1])), host="vm")
        maker.skip("load", "this machine has 1 NUMA node", place="remote")
        paths.append(maker.write())
    page = build(load(paths), delta(of_files(*paths)))

    said = [check.text for check in page.checks] + [check.subject for check in page.checks]
    assert any("in 2 files" in text for text in said)
    assert not [text for text in said if "2 hosts" in text]


def test_many_hosts_are_one_list(make: Any, tmp_path: Path) -> None:
    """They were "h0, h1 and h2 and 7 more hosts"."""
    for i in range(10):
        maker = make.Maker(tmp_path / f"{i}.db", host=f"h{i}")
        maker.add("s", "stream", {"threads": 1}, make.stream_text(5e3, 1))
        maker.write()
    found = load(sorted(tmp_path.glob("*.db")))

    assert ": h0, h1, h2 and 7 more hosts, 10 sessions, " in texts.side(side("A", "before", found))
    assert ("Hosts", "h0, h1, h2, h3, h4, h5, h6, h7 and 2 more") in build(found).provenance


def test_what_could_not_be_decided_is_no_contrast(make: Any, tmp_path: Path) -> None:
    """Two threads fell more than one, and were too noisy to tell: that is not "0 of 4 regressed"."""
    paths = []
    for name, rate in (("a", 1.0), ("b", 0.9)):
        rng = random.Random(name)
        maker = make.Maker(tmp_path / f"{name}.db")
        for threads, ntimes in itertools.product((1, 2), (10, 20, 30, 40)):
            for _ in range(4):
                value = 5e3 * threads * rng.gauss(1, 0.4 if threads == 2 else 0.001) * rate
                options = {"threads": threads, "ntimes": ntimes}
                maker.add(
                    "s", "stream", options, make.stream_text(value, threads), axes=("threads", "ntimes")
                )
        paths.append(maker.write())

    found = of_files(*paths)

    assert {row.labels["threads"] for row in found.of("regressed") if not row.derived} == {"1"}
    assert "threads" not in {shared.axis for shared in found.shared}
    assert "threads=1" not in texts.sentence(found)


def test_what_is_open_and_changed_by_less_is_a_contrast(make: Any, tmp_path: Path) -> None:
    """Two threads fell by none to 3 %, which nobody can tell, one by 20 %: the level was not named."""
    paths = []
    for name, rate in (("a", 1.0), ("b", 0.8)):
        rng = random.Random(name)
        maker = make.Maker(tmp_path / f"{name}.db")
        for threads, ntimes in itertools.product((1, 2), (10, 20, 30, 40)):
            for _ in range(4):
                value = 5e3 * threads * rng.gauss(1, 0.02) * (rate if threads == 1 else 1.0)
                text = make.stream_text(value, threads)
                maker.add(
                    "s", "stream", {"threads": threads, "ntimes": ntimes}, text, axes=("threads", "ntimes")
                )
        paths.append(maker.write())

    found = of_files(*paths)

    assert "inconclusive" in {row.verdict for row in found.rows if row.labels["threads"] == "2"}
    ((first, second),) = [shared.levels for shared in found.shared if shared.axis == "threads"]
    assert (first.name, first.counts["regressed"], first.cells) == ("1", 4, 4)
    assert (second.name, second.counts["inconclusive"], second.less, second.cells) == ("2", 4, 4, 4)
    said = r"are inconclusive\. s, threads 1: 4 of 4 cells regressed, bandwidth −[\d.]+ to −[\d.]+ %, ⚠ doubtful: G5 of B"
    assert re.search(said, texts.sentence(found))


def test_what_nothing_is_a_share_of_hides_no_contrast(make: Any, tmp_path: Path) -> None:
    """A counter of errors that stays 0 is inconclusive in every cell, and the level was not named beside it."""
    spec = {
        "took": {"regex": r"took (\S+)", "unit": "s", "better": "lower"},
        "errors": {"regex": r"errors (\S+)", "unit": "1", "better": "lower"},
    }
    paths = []
    for name, factor in (("a", 1.0), ("b", 1.2)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for mode, n, repeat in itertools.product("xy", range(4), range(4)):
            took = 10 * (factor if mode == "x" else 1.0) * (1 + repeat / 1000)
            options = {"command": ["p"], "metrics": spec, "mode": mode, "n": n}
            maker.add("s", "command", options, f"took {took:.4f}\nerrors 0\n", axes=("mode", "n"))
        paths.append(maker.write())

    found = of_files(*paths)

    learned = [
        dataclasses.replace(f, tau=0.02, tau_source="sessions") if "took" in f.name else f
        for f in found.families
    ]
    noise = texts.noise(dataclasses.replace(found, families=tuple(learned)))
    assert (
        noise == "Noise between sessions: 2.0 % learned from the sessions of a side."
    )  # of no errors, which are not judged
    assert re.search(
        r" s, mode x: 4 of 4 cells regressed, took \+[\d.]+(?: to \+[\d.]+)? %\.", texts.sentence(found)
    )


def test_one_process_is_one_cell_however_much_it_prints(make: Any, tmp_path: Path) -> None:
    """Nine message sizes of one PingPong are one process, and no pattern."""
    paths = []
    for name, slower in (("a", 1.0), ("b", 1.3)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for i in range(4):
            times = {2**p: (0.5 + 2**p / 1e4) * (1 + i / 1000) for p in range(0, 18, 2)}
            for benchmark, factor in (("PingPong", slower), ("PingPing", 1.0)):
                text = make.imb_text({size: t * factor for size, t in times.items()})
                maker.add("p", "imb", {"benchmark": benchmark}, text.replace("PingPong", benchmark), axes=("benchmark",))  # fmt: skip
        paths.append(maker.write())

    found = of_files(*paths)

    assert sum(not row.derived for row in found.of("regressed")) == 9
    assert not found.shared


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ((100.2, 100.0, 100.6, 199.0, 198.0), (198.6, 99.0, 101.0, 198.7, 199.2), "medians +97.4 %"),
        ((100.0, 101.0, 102.0), (110.0, 112.0, 114.0), ""),
    ],
)
def test_medians_off_by_another_size_than_the_shift_are_told(
    make: Any, tmp_path: Path, one: tuple[float, ...], other: tuple[float, ...], said: str
) -> None:
    """Of two modes, 100 and 199 ms, each side has one more often: the typical pair is alike, the medians are not."""
    spec = {"took": {"regex": r"t (\S+)", "better": "lower"}}
    paths = []
    for name, values in (("a", one), ("b", other)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for value in values:
            maker.add("s", "command", {"command": ["x"], "metrics": spec}, f"t {value:.2f}\n")
        paths.append(maker.write())
    (row,) = of_files(*paths).rows
    assert abs(row.change or 0) < 0.15
    assert ("medians" in texts.shift(row)) == bool(said)
    assert said in texts.shift(row)
    assert row.interval
    (key,) = delta(of_files(*paths)).key_numbers
    typical = f"{texts.change(row.change)} ({texts.interval(row.interval)}), {row.verdict}"
    assert re.fullmatch(rf"(?:medians [+−]?[\d.]+ %, typical pair )?{re.escape(typical)}", key.repeats)
    assert not said or key.repeats == f"{said}, typical pair {typical}"


def test_a_shift_against_the_medians_says_so(make: Any, tmp_path: Path) -> None:
    """The medians fall by 9.5 %, the typical pair rises by 10.9 %."""
    spec = {"took": {"regex": r"t (\S+)", "better": "lower"}}
    paths = []
    for name, values in (("a", (92.0, 116.0, 117.0)), ("b", (102.0, 105.0, 130.0))):
        maker = make.Maker(tmp_path / f"{name}.db")
        for value in values:
            maker.add("s", "command", {"command": ["x"], "metrics": spec}, f"t {value:.2f}\n")
        paths.append(maker.write())
    found = of_files(*paths)

    assert "+10.9 %" in texts.shift(found.rows[0])
    for text in (
        " ".join(terminal.table(found).split()), formats.as_markdown(found), formats.as_junit(found), delta(found).lines[0].change,
    ):  # fmt: skip
        assert "medians −9.5 %" in text
    assert "Shift of the typical pair of runs" in terminal.table(found)


def test_more_threads_on_as_many_pus_are_no_share_of_the_machine(make: Any, tmp_path: Path) -> None:
    """4 threads and 8, on the same four PUs: +100 % was "improved", "matched by share of the machine"."""
    paths = []
    for name, counts in (("a", (1, 4)), ("b", (1, 8))):
        maker = make.Maker(tmp_path / f"{name}.db")
        for threads in counts:
            for _ in range(3):
                text = make.stream_text(5e3 * threads, threads)
                maker.add(
                    "s",
                    "stream",
                    {"threads": threads},
                    text,
                    axes=("threads",),
                    place="local",
                    relation="local",
                )
        paths.append(maker.write())
    found = of_files(*paths)

    assert {row.labels["threads"] for row in found.rows if not row.derived} == {"1"}
    assert not found.matched


def of_a_program(make: Any, tmp_path: Path, factor: Callable[[str, int], float]) -> Comparison:
    """What it took, and how fast and large it was, for n of 1, 2, 4; `factor`: what B's number of a metric and n is multiplied by."""
    better = {"took": "lower", "rate": "higher", "size": "lower"}
    metrics = {name: {"regex": rf"{name} (\S+)", "better": way} for name, way in better.items()}
    sides = []
    for side_name in "ab":
        maker = make.Maker(tmp_path / f"{side_name}.db")
        for n, i in itertools.product((1, 2, 4), range(4)):
            base = {"took": 100.0 * n, "rate": 1000.0 / n, "size": 5000.0 * n}
            told = {
                name: value * (1 + i / 2000) * (factor(name, n) if side_name == "b" else 1.0)
                for name, value in base.items()
            }
            maker.add("p", "command", {"command": "x", "metrics": metrics, "n": n}, "".join(f"{k} {v:.3f}\n" for k, v in told.items()), axes=("n",))  # fmt: skip
        sides.append(maker.write())
    return of_files(*sides)


@pytest.mark.parametrize(
    ("factors", "value", "context", "verdict"),
    [
        ({"took": 1.2, "rate": 1 / 1.21}, "200.1 → 240.2", "p, n 2; 2 of 3 regressed", "regressed"),
        ({"took": 1 / 1.2, "rate": 1.3, "size": 1.5}, "200.1 → 166.8", "p, n 2; 2 of 3 improved; of other metrics 2 of 6 regressed, 2 improved", "improved"),
        ({"size": 1.5}, "100.1 → 100.1", "p, n 1; of other metrics 2 of 6 regressed", "same"),
        ({}, "100.1 → 100.1", "p, n 1", "same"),
    ],
)  # fmt: skip
def test_the_key_number_is_of_the_first_metric_and_of_a_cell_that_says_what_the_verdict_says(
    make: Any, tmp_path: Path, factors: dict[str, float], value: str, context: str, verdict: str
) -> None:
    """Of six regressed numbers of eight it said “rate 19.95 → 19.94, inconclusive”: the metric that was worst, and A's best cell."""
    found = of_a_program(make, tmp_path, lambda metric, n: factors.get(metric, 1.0) if n > 1 else 1.0)

    (number,) = delta(found).key_numbers

    assert (number.name, number.value, number.context) == ("took", value, context)
    assert number.repeats.endswith(f", {verdict}")
