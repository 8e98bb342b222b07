"""A cell that a check convicts is marked wherever its numbers are shown: in every figure, table and key number of it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pinsweep.cli import cli
from reports import show
from reports.charts import chart_module
from reports.checks._cells import cell_key
from reports.checks.audit import audit, convicted, doubts
from reports.checks.doubts import _names, of_figure, of_table
from reports.draw.figure import MOST_ROWS, ROW, Figure, Table, row_of
from reports.page.html import html
from reports.page.model import Page
from reports.report import build
from reports.report.key_numbers import chosen
from reports.results.convicted import CellKey, by_metric, doubting
from reports.results.load import load
from reports.results.model import Results, Run

PUBLISHED = (
    Path(os.environ.get("PINSWEEP_CORPUS", Path(__file__).resolve().parents[3] / "shared" / "corpus"))
    / "published"
)
FIXTURES = sorted(Path(__file__).parents[2].joinpath("fixtures").glob("*/*.out"))


def figures(built: Page) -> list[Figure]:
    return [f for s in built.sections for b in s.blocks for f in b.figures]


def tables(figure: Figure) -> tuple[Table, ...]:
    return (*figure.tables, *figure.numbers)


def unmarked(results: Results, page: Page | None = None, told: Collection[str] = ()) -> list[str]:
    """Return what shows a convicted cell and does not say so; rows that do not tell whose they are; marks without a reason. Without a
    page, it is made, and drawn, too. `told`: the checks that the page names once, for all numbers."""
    guilty, built = convicted(audit(results)), page or build.build(results)

    def ids_of(runs: Iterable[Run], metric: str) -> set[str]:
        return {key for key in doubts(guilty, runs, metric).split(", ") if key} - {*told}

    def columns(table: Table, row: int, at: int) -> dict[int, str]:
        """The columns of what the table has of a cell, with their metrics; those that the table does not name are of its last."""
        rest = (
            table.metric_of[row] if table.metric_of else table.metrics.get(-1, "*" if table.metrics else "")
        )
        every = range(len(table.columns)) if at < 0 else (at,)
        part = f"/{table.part_of_metric[row]}" if table.part_of_metric else ""
        return {i: f"{table.metrics[i]}{part}" if i in table.metrics else rest for i in every}

    good = {cell_key(run) for tool in results.told for run in results.shown(tool)}
    wrong = []
    for figure in figures(built):
        here = [(table, row, own) for table in tables(figure) for row, own in enumerate(table.of)]
        told_of = [(runs, metric) for table, row, own in here for at, runs in own.items() for metric in columns(table, row, at).values()]  # fmt: skip
        wrong += [f"{figure.id}: rows without cells" for t in tables(figure) if len(t.of) != len(t.rows)]
        shown: set[CellKey] = {cell_key(run) for *_, own in here for runs in own.values() for run in runs}
        doubting = {key for runs, metric in told_of for key in ids_of(runs, metric)}
        lacking = [key for key in doubting if f"({key}, " not in figure.doubted]
        wrong += [f"{figure.id}: title and caption do not name {key}" for key in lacking]
        wrong += [f"{figure.id}: a mark for nothing"] if figure.doubt and not doubting else []
        unseen = {*re.findall(r"\(([A-Z]\d+), ", figure.doubt)} - doubting
        wrong += [f"{figure.id}: {key} is of no row" for key in unseen if not any(len(t.rows) == MOST_ROWS for t in tables(figure))]  # fmt: skip
        wrong += [f"{figure.id}: cells that have no numbers"] if shown - good else []
        for table, read in ((table, table.doubted) for table in tables(figure)):
            for number, (row, own, bare) in enumerate(zip(read.rows, table.of, table.rows, strict=True)):
                ids = {k for at, runs in own.items() for i, metric in columns(table, number, at).items() if at < 0 or bare[i] != "–" for k in ids_of(runs, metric)}  # fmt: skip
                said = read.caption if table.heat else row[-1]
                if not ids and len(row) > len(bare) and said != "–":
                    wrong.append(f"{figure.id}: row {bare[0]} has no number that is doubted")
                if any(key not in said for key in ids):
                    wrong.append(f"{figure.id}: row {bare[0]} does not name {ids}")
                for at, runs in own.items():
                    bad = at >= 0 and bare[at] != "–" and ids_of(runs, columns(table, number, at)[at])
                    if bad and not row[at].startswith("⚠"):
                        wrong.append(f"{figure.id}: row {bare[0]}, column {table.columns[at]}")
    told = {cell_key(r) for f in figures(built) for t in tables(f) for own in t.of for rs in own.values() for r in rs}  # fmt: skip
    silent = {cell_key(run) for number in built.key_numbers for run in number.runs if ids_of((run,), number.metric) and not number.doubt}  # fmt: skip
    wrong += [f"key number of {cell}" for cell in silent]
    if page is None and told & set(guilty) and "⚠" not in html(built):
        wrong.append("the page")
    return wrong


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(path, id=f"{path.parent.name}-{path.stem}", marks=[pytest.mark.slow] if i % 3 else [])
        for i, path in enumerate(FIXTURES)
    ],
)
@pytest.mark.slow
def test_a_page_of_a_fixture_marks_what_is_doubted(text: Path, tmp_path: Path) -> None:
    if CliRunner().invoke(cli, ["parse", str(text), "-o", str(tmp_path / "a.db")]).exit_code:
        pytest.skip("not a text that is taken in by itself")
    if not (tmp_path / "a.db").exists():
        pytest.skip("a description, no result")
    assert unmarked(load([tmp_path / "a.db"])) == []


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
def test_a_page_of_every_tool_marks_what_is_doubted(full_result: Path) -> None:
    results = load([full_result])
    assert convicted(audit(results))
    assert unmarked(results) == []


def test_repeats_that_are_far_apart_are_those_of_a_kernel(make: Any, tmp_path: Path) -> None:
    """G11, of a triad of 18.5 and 37.8 GB/s, stood at the add of 16.07 and 16.09."""
    maker = make.Maker(tmp_path / "a.db")
    for triad in (18.5e3, 37.8e3):
        text = make.stream_text(triad, 2)
        text = re.sub(r"(?m)^(Add: +)\S+", rf"\g<1>{16e3 + triad / 1e4:.1f}", text)
        maker.add("s", "stream", {"threads": 2}, text, axes=("threads",))
    results = load([maker.write()])
    built = build.build(results)

    (numbers,) = [t.doubted for f in figures(built) for t in f.numbers if t.columns[0] == "Kernel"]
    assert {row[0]: "G11" in row[-1] for row in numbers.rows} == {"triad": True, "add": False, "scale": True, "copy": True}  # fmt: skip
    assert unmarked(results, built) == []


def test_a_check_of_some_columns_says_which(make: Any, tmp_path: Path) -> None:
    """ "⚠ D1, G11" stood at a row whose IOPS G11 doubts, and D1 all of it: the latencies looked as doubtful."""
    maker = make.Maker(tmp_path / "a.db")
    for factor in (1.0, 1.0, 2.5):
        text = make.fio_text({"read": (1e4 * factor, 100.0)}, rw="randread", bs="4k", iodepth=1)
        maker.add("s", "fio", {"rw": "randread", "iodepth": 1, "direct": 0}, text, axes=("iodepth",))
    results = load([maker.write()])
    built = build.build(results)

    said = {t.columns[3]: t.doubted.rows[0][-1] for f in figures(built) for t in f.numbers if t.columns[1] == "iodepth"}  # fmt: skip
    assert "; G11: IOPS" in said["Mean latency, µs"]
    assert unmarked(results, built) == []


def test_a_caption_doubts_what_its_figure_shows(make: Any, tmp_path: Path) -> None:
    """The IOPS of three repeats were far apart (G11), their latencies were not: "all 3 cells" stood below percentiles of which no row had a mark."""
    maker = make.Maker(tmp_path / "a.db")
    for depth in (1, 2, 4):
        for factor in (1.0, 1.0, 2.5):
            text = make.fio_text({"read": (1e4 * depth * factor, 100.0 / factor)}, rw="randread", bs="4k", iodepth=depth)  # fmt: skip
            maker.add("s", "fio", {"rw": "randread", "iodepth": depth}, text, axes=("iodepth",))
    results = load([maker.write()])
    built = build.build(results)

    assert [("G11" in f.doubt, f.id) for f in figures(built)] == [(True, "fio-s"), (False, "fio-fan-s")]
    assert unmarked(results, built) == []


def test_a_title_that_compares_with_a_convicted_pair_is_marked(make: Any, tmp_path: Path) -> None:
    """Ranks of one pair may have run anywhere (P1): what is said of both pairs is doubtful, and the row of the other is not."""
    maker = make.Maker(tmp_path / "a.db")
    for place, zero in (("intra", 0.19), ("inter", 0.49)):
        for _ in range(3):
            times = {0: zero, **{2**p: zero + 2**p / 9e3 for p in range(23)}}
            maker.add(
                "p", "imb", {"benchmark": "PingPong"}, make.imb_text(times), place=place, relation=place
            )
    path = maker.write()
    found = load([path])
    bad = next(run for run in found.runs if run.place == "inter")
    (figure, *_) = figures(build.build(found))
    assert "2.58 ×" in figure.title

    near = of_figure(figure, {(*cell_key(bad), "PingPong/time/4096"): "G6", (*cell_key(bad), "*"): ""})
    assert (near.heading, near.doubt_counted) == (
        figure.title,
        "G6 1 of 2 cells",
    )  # it tells of 0 B and of the peak
    marked = of_figure(figure, {cell_key(bad): "P1"})
    assert marked.heading == f"⚠ {figure.title}"
    assert (
        marked.doubted
        == "⚠ Doubtful cells: ranks on the same core, or free to move (P1, 1 of 2 cells: inter)."
    )
    offers, *_, numbers = (table.doubted for table in tables(marked))
    assert [(row[0], row[-1]) for row in offers.rows] == [("intra", "–"), ("inter", "⚠ P1")]
    at = {name: i for i, name in enumerate(numbers.columns)}
    for row in numbers.rows:
        assert [name for name, i in at.items() if row[i].startswith("⚠")] in (
            ["inter, ns", "inter, GB/s", "Doubted by"],
            ["inter, ns", "Doubted by"],  # 0 B has no bandwidth
        )
    plain_rows, marked_rows = ([row for t in tables(f) for row in t.rows] for f in (figure, marked))
    assert plain_rows == marked_rows  # the numbers themselves are as they were


FULL = """Intel(R) Memory Latency Checker - v3.9
*** Unable to modify prefetchers (try executing 'modprobe msr')
*** So, enabling random access for latency measurements
Measuring idle latencies (in ns)...
		Numa node
Numa node	     0	     1
       0	  81.5	 139.0
       1	 138.8	  81.9

Measuring Peak Injection Memory Bandwidths for the system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using traffic with the following read-write ratios
ALL Reads        :	230101.1
3:1 Reads-Writes :	220202.2
2:1 Reads-Writes :	215303.3
1:1 Reads-Writes :	200404.4
Stream-triad like:	201505.5

Measuring Memory Bandwidths between nodes within system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using Read-only traffic type
		Numa node
Numa node	     0	     1
       0	115001.1	34002.2
       1	34003.3	115004.4

Measuring Loaded Latencies for the system
Using all the threads from each core if Hyper-threading is enabled
Using Read-only traffic type
Inject	Latency	Bandwidth
Delay	(ns)	MB/sec
==========================
 00000	 250.10	 228001.0
 00100	 150.20	 190002.0
 00500	  95.30	  80003.0
 05000	  85.40	  10004.0
 20000	  84.50	   4005.0
"""


def test_prefetchers_that_were_on_doubt_no_bandwidth(tmp_path: Path) -> None:
    """MLC measures bandwidths with the prefetchers on, whoever started it: M5 is of its latencies."""
    (tmp_path / "full.txt").write_text(FULL)
    done = CliRunner().invoke(cli, ["parse", str(tmp_path / "full.txt"), "-o", str(tmp_path / "a.db")])
    assert done.exit_code == 0, done.output
    built = build.build(load([tmp_path / "a.db"]))

    doubted = {figure.id.partition("-")[0]: "M5" in figure.doubt for figure in figures(built)}
    assert doubted == {
        "loaded": True, "latency_matrix": True, "bandwidth_matrix": False, "peaks": False,
    }  # fmt: skip
    said = {number.name: number.doubt for number in built.key_numbers}
    assert said == {"Memory, idle": "M5", "Memory, peak": ""} or said == {
        "Idle latency": "M5",
        "Memory, peak": "",
    }
    (loaded,) = [figure for figure in figures(built) if figure.id.startswith("loaded")]
    marked = {
        (column, "⚠" in text)
        for table in tables(loaded)
        for row in table.doubted.rows
        for column, text in zip(table.columns, row, strict=False)
        if column != "Traffic"
    }
    assert marked == {
        ("Unloaded, ns", True), ("GB/s within 2 × unloaded", True), ("Peak, GB/s", False), ("at delay", False), ("ns at peak", True),
        ("GB/s within 1.5 × unloaded", True), ("Delay 0 ÷ peak", False), ("Lines in flight", True),
        ("Delay", False), ("Latency, ns", True), ("Bandwidth, GB/s", False),
    }  # fmt: skip
    exported = CliRunner().invoke(cli, ["export", str(tmp_path / "a.db"), "--format", "openmetrics"]).stdout
    assert 'checks="M5"' in exported


def test_a_doubtful_text_is_named_once(tmp_path: Path) -> None:
    """ "a.txt, source a.txt": the text, and the option that tells it from the other."""
    for name, text in (("a.txt", FULL), ("b.txt", FULL.replace("84.50", "84.60"))):
        (tmp_path / name).write_text(text)
    done = CliRunner().invoke(
        cli,
        ["parse", *(str(tmp_path / name) for name in ("a.txt", "b.txt")), "-o", str(tmp_path / "r.db")],
    )
    assert done.exit_code == 0, done.output
    runs = load([tmp_path / "r.db"]).runs

    assert sorted(_names(list(runs)).values()) == ["a.txt", "b.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["fio", "imb", "mlc", "stream"])
def test_pages_of_published_texts_mark_what_is_doubted(tool: str, tmp_path: Path) -> None:
    texts = sorted(PUBLISHED.joinpath(tool).glob("*"))
    if not texts:
        pytest.skip("no published texts (shared/corpus)")
    for text in texts:
        CliRunner().invoke(cli, ["parse", str(text), "-o", str(tmp_path / f"{text.name}.db")])
    files = sorted(tmp_path.glob("*.db"))
    assert files
    assert unmarked(load(files)) == []


@pytest.mark.parametrize(("tool", "context"), [("imb", "inter 2.58 ×"), ("stream", "remote 0.500 ×")])
def test_a_key_number_that_tells_of_another_cell_bears_its_mark(
    make: Any, tmp_path: Path, tool: str, context: str
) -> None:
    """The number of the near cell is sound; what is said beside it is of the far cell, which is not."""
    maker = make.Maker(tmp_path / "a.db")
    for place, zero in (
        (("intra", 0.19), ("inter", 0.49)) if tool == "imb" else (("local", 1.0), ("remote", 0.5))
    ):
        for _ in range(3):
            text = make.imb_text({0: zero, **{2**p: zero + 2**p / 9e3 for p in range(23)}}) if tool == "imb" else make.stream_text(2e4 * zero, 4)  # fmt: skip
            options = {"benchmark": "PingPong"} if tool == "imb" else {"threads": 4}
            maker.add("s", tool, options, text, place=place, relation=place)
    results = load([maker.write()])
    far = next(run for run in results.runs if run.place in ("inter", "remote"))
    candidates = chart_module(tool).chapter(results, tool).key_numbers

    (number,) = [n for n in chosen(candidates, results, {cell_key(far): "S3"})[0] if context in n.context]
    assert number.doubt == "S3"
    assert all(run.place != far.place for run in number.runs)


ALLREDUCE = (
    "\n# Benchmarking Allreduce\n# #processes = 2\n#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    "0 1000 0.02 0.03 0.03\n8 1000 0.41 0.43 0.42\n"
)


def test_a_time_of_one_benchmark_makes_no_other_doubtful(make: Any, tmp_path: Path) -> None:
    """An Allreduce of nothing, 0.03 µs, put its ⚠ G6 at PingPong's 9.84 µs, its figure and the head of the page."""
    text = make.imb_text({0: 9.84, 8: 10.1, 1024: 12.0, 4096: 14.0}) + ALLREDUCE
    path = make.Maker(tmp_path / "a.db").add("s", "imb", {}, text).write()

    page = build.build(load([path]))

    assert [(n.value, n.doubt) for n in page.key_numbers] == [("9.84", "")]
    assert "⚠" not in show.show_result(path)
    marked = {f.title.partition(":")[0]: "(G6, " in f.doubt for f in figures(page)}
    assert marked.pop("Allreduce")
    assert not any(marked.values())


def test_what_doubts_the_whole_doubts_its_parts_and_no_part_another() -> None:
    guilty = by_metric([(("f", "c"), "P3", "PingPong"), (("f", "c"), "G11", "PingPong/bandwidth")])

    asked = ("", "PingPong", "PingPong/bandwidth", "PingPong/time", "Allreduce", "Allreduce/time")
    assert [doubting(guilty, ("f", "c"), metric) for metric in asked] == [
        "P3, G11", "P3, G11", "P3, G11", "P3", "", "",
    ]  # fmt: skip


def test_a_timer_that_is_too_slow_for_one_access_does_not_make_a_walk_doubtful(
    make: Any, tmp_path: Path
) -> None:
    """G6 of single accesses of 22 ns marked the time per byte of a sequential walk, which is timed as a whole."""
    document = json.loads(make.poke_text([22.0] * 3000))
    document["results"][0]["sequential_ns_per_byte"] = 0.03
    path = make.Maker(tmp_path / "a.db").add("s", "poke", {"target": "memory"}, json.dumps(document)).write()

    page = build.build(load([path]))

    marked = {f.title.partition(":")[0]: "(G6, " in f.doubt for f in figures(page)}
    assert marked.pop("Time per byte") is False
    assert any(marked.values())


def test_a_range_of_four_decades_is_told_in_two_units(make: Any, tmp_path: Path) -> None:
    """ "0.000240 to 2.23 ms" stood at the head of a page."""
    maker = make.Maker(tmp_path / "a.db")
    for first in (0.24, 2230.0, 0.24):
        maker.add("s", "imb", {}, make.imb_text({0: first, 8: 0.3, 64: 0.4, 1024: 0.5}))

    (number,) = (n for n in build.build(load([maker.write()])).key_numbers if n.name.startswith("MPI"))

    assert number.repeats == "240 ns to 2.23 ms"


def test_of_a_row_whose_numbers_are_not_doubted_alike_each_that_is_has_a_mark(make: Any, tmp_path: Path) -> None:  # fmt: skip
    """The time of a pair, which one check doubted, had a mark, and the peak beside it, which two did, had none."""
    maker = make.Maker(tmp_path / "r.db")
    maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text({0: 0.5, 8: 0.6, 64: 1.0, 512: 2.0}))
    (run,) = load([maker.write()]).good("imb")
    table = Table(
        columns=("Pair", "0 B", "Peak", "at"), rows=(("near", "1 µs", "9 GB/s", "–"),), of=(row_of([run]),),
        metrics={ROW: "PingPong", 1: "PingPong/time", 2: "PingPong/bandwidth", 3: "PingPong/bandwidth"},
    )  # fmt: skip
    rate = (cell_key(run), "G11", "PingPong/bandwidth")

    def told(*said: tuple[CellKey, str, str]) -> tuple[str, ...]:
        return of_table(table, by_metric(said)).doubted.rows[0]

    assert told((cell_key(run), "P3", "PingPong"), rate) == ("near", "⚠ 1 µs", "⚠ 9 GB/s", "–", "⚠ G11, P3")
    assert told(rate) == ("near", "1 µs", "⚠ 9 GB/s", "–", "⚠ G11")
    assert told((cell_key(run), "D1", "")) == ("near", "1 µs", "9 GB/s", "–", "⚠ D1")


def test_a_title_has_a_mark_where_a_number_that_it_tells_is_doubted(make: Any, tmp_path: Path) -> None:
    """Of ten cells one was doubted, of which the title says nothing, and “⚠ STREAM Triad …” stood over all of them."""
    maker = make.Maker(tmp_path / "a.db")
    for place in ("local", "remote", "smt siblings"):
        for threads, rate in ((1, 9e3), (2, 17e3), (4, 22e3)):
            for _ in range(3):
                maker.add("s", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",), place=place, relation=place)  # fmt: skip
    found = load([maker.write()])
    (figure,) = [f for f in figures(build.build(found)) if f.id.startswith("scaling")]
    assert figure.says

    def marked(place: str, metric: str) -> bool:
        own = {cell_key(run): "S3" for run in found.runs if run.place == place}
        guilty = {(*cell, metric): ids for cell, ids in own.items()} | {(*cell, "*"): "" for cell in own}
        of = of_figure(figure, guilty)
        assert of.doubted
        return of.heading.startswith("⚠ ")

    assert marked("local", "bandwidth/triad")
    assert not marked("smt siblings", "bandwidth/triad")
    assert not marked("local", "bandwidth/copy")


def test_a_row_that_is_slower_than_under_more_load_doubts_itself_alone(make: Any, tmp_path: Path) -> None:
    """Two rows of nineteen marked all fifty-seven numbers of three mixes."""
    rows = [(0, 250.0, 150e3), (50, 320.0, 166e3), (100, 110.0, 145e3), (200, 90.0, 95e3), (1000, 84.0, 9e3), (9000, 84.0, 4e3), (20000, 84.0, 3e3)]  # fmt: skip
    maker = make.Maker(tmp_path / "r.db")
    maker.add("loaded", "mlc", {"mode": "loaded_latency"}, make.mlc_text(rows))
    results = load([maker.write()])
    built = build.build(results)
    (figure,) = [f for f in figures(built) if f.id.startswith("loaded")]
    offers, *_ = figure.tables

    (every,) = [table for table in figure.numbers if table.columns[1] == "Delay"]
    assert [row[1] for row in every.doubted.rows if row[2].startswith("⚠")] == ["50"]
    assert [text.startswith("⚠") for text in offers.doubted.rows[0][1:6]] == [False, True, False, False, True]
    assert {n.name: n.doubt for n in built.key_numbers} == {"Memory, idle": "", "Memory, peak": ""}
    assert [n.context.partition(";")[0] for n in built.key_numbers if "⚠" in n.context] == [
        "read only, at a latency of 320 ns ⚠ M1"
    ]
    assert "M1, the only cell" in figure.doubt


def test_a_column_with_a_comma_in_its_name_is_named_whole(make: Any, tmp_path: Path) -> None:
    """ "⚠ G11: pair of cores 0" stood at a row, of the pair of cores 0 and 1, whose times no check doubts."""
    table = Table(
        columns=("Message", "pair 0,1, µs", "pair 0,1, MB/s", "pair 2,3, µs"), rows=(("1 B", "1", "2", "3"),), metrics={1: "t", 2: "r", 3: "t"},
        doubts=({2: "G11", 3: "G11"},),
    )  # fmt: skip

    assert table.doubted.rows[0][-1] == "⚠ G11: pair 0,1, MB/s, pair 2,3"
