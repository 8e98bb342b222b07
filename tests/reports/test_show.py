"""`show` and the end of `run`: tables of what a result file holds."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.model import Cell
from parsers import get_parser
from parsers.errors import ParseError, UserError
from reports import numbers, show
from reports.checks import audit
from reports.document import Document, Interval, Quantity, Table, Text
from reports.report.all_runs import seen_text
from reports.results.load import load

FIXTURES = Path(__file__).parents[1] / "fixtures"

METRICS = {
    "zeta": {"regex": "zeta ([0-9]+)", "unit": "ms", "better": "lower"},
    "bandwidth": {"regex": "bw ([0-9]+)", "unit": "MB/s", "better": "higher"},
}


def tables(document: Document) -> list[Table]:
    return [block for block in document.blocks if isinstance(block, Table)]


def texts(document: Document) -> list[str]:
    return [block.text for block in document.blocks if isinstance(block, Text)]


def best(path: Path) -> list[tuple[object, ...]]:
    """The rows at the end of a run: sweep, number, value, cell."""
    results = load([path])
    (table,) = tables(show.ending(results, ()))
    return [(*row[:2], row[2].value, row[3]) for row in table.rows if isinstance(row[2], Quantity)]


def stream(make: Any, path: Path, rates: dict[int, tuple[float, ...]]) -> Path:
    maker = make.Maker(path)
    for threads, values in rates.items():
        for rate in values:
            maker.add("s", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",))
    written: Path = maker.write()
    return written


def test_a_sweep_is_a_table(make: Any, tmp_path: Path) -> None:
    path = stream(make, tmp_path / "r.db", {1: (10e3, 10.2e3, 10.1e3), 2: (20e3, 20.2e3, 90e3)})

    (table,) = tables(show.show_result(path))

    assert [column.name for column in table.columns] == ["threads", "triad bandwidth", "range of 3 runs"]
    assert table.rows == (
        (1, 10.1e9, Interval(10e9, 10.2e9, "B/s")),
        (2, 20.2e9, Interval(20e9, 90e9, "B/s")),
    )
    assert table.flags == ("", "G11")


def test_cells_with_equal_labels_have_a_column_of_what_differs(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for place, size in (("local", 1), ("remote", 1), ("local", 2)):
        options = {"threads": 1, "array_size": size}
        maker.add("s", "stream", options, make.stream_text(1e3, 1), axes=("threads",), place=place, relation=place)

    (table,) = tables(show.show_result(maker.write()))

    assert [column.name for column in table.columns][:3] == ["threads", "array_size", "place"]
    assert [row[:3] for row in table.rows] == [(1, 1, "local"), (1, 1, "remote"), (1, 2, "local")]


def test_a_further_number_stands_beside_a_rate(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for depth, latency in ((1, 90.0), (8, 400.0)):
        text = make.fio_text({"read": (1e4, latency)}, bs="4k", rw="randread", iodepth=depth)
        maker.add("f", "fio", {"rw": "randread", "bs": "4k", "iodepth": depth}, text, axes=("rw", "iodepth"))
    maker.add("t", "poke", {"target": "memory", "bytes": 1000}, make.poke_text([200.0] * 19_900 + [900.0] * 100))

    fio, tails = tables(show.show_result(maker.write()))

    assert [column.name for column in fio.columns] == ["rw", "iodepth", "read IOPS", "read latency mean"]
    assert [row[-1] for row in fio.rows] == [90e3, 400e3]
    assert [column.name for column in tails.columns][-2:] == [
        "memory read latency p50",
        "memory read latency p99.9",
    ]


def test_further_numbers_of_several_kinds_have_no_column(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    texts = {
        1: make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randrw", iodepth=1),
        2: (FIXTURES / "fio/jsonplus_randrw.out").read_text("utf-8"),
    }
    for depth, text in texts.items():
        maker.add("f", "fio", {"rw": "randrw", "iodepth": depth}, text, axes=("iodepth",))

    (table,) = tables(show.show_result(maker.write()))

    assert [column.name for column in table.columns] == ["iodepth", "number", "value"]


def test_cells_of_several_numbers_name_them(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for n, metric, text in ((1, "zeta", "zeta 10"), (2, "bandwidth", "bw 20")):
        options = {"command": "x", "metrics": {metric: METRICS[metric]}, "n": n}
        for _ in range(n):
            maker.add("s", "command", options, text, axes=("n",))

    (table,) = tables(show.show_result(maker.write()))

    assert [column.name for column in table.columns] == ["n", "number", "value", "range", "runs"]
    assert [row[:2] for row in table.rows] == [(1, "zeta"), (2, "bandwidth")]
    assert [row[-1] for row in table.rows] == [1, 2]


@pytest.mark.parametrize("of", sorted(FIXTURES.glob("*/*.out")), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_every_output_has_a_leading_number_among_its_numbers(of: Path) -> None:
    tool = of.parent.name
    with contextlib.suppress(ParseError):
        parsed = get_parser(tool).parse(of.read_text(errors="surrogateescape"), {})
        cell = numbers.fresh(Cell(sweep="s", tool=tool, options={}), [parsed])
        assert cell.headline
        assert min(cell.values, default=0) >= 0


@pytest.mark.parametrize("status", ["ok", "disturbed"])
def test_sweeps_are_in_the_order_of_their_experiment(status: str, make: Any, tmp_path: Path) -> None:
    """Not in that of their runs, which is random."""
    maker = make.Maker(tmp_path / "r.db")
    for name, own in (*((n, "") for n in "abc"), *((n, status) for n in "cba")):
        maker.add(name, "stream", {"threads": 2}, make.stream_text(2e4, 2), status=own)

    assert [table.id for table in tables(show.show_result(maker.write())) if table.id != "missing"] == [*"abc"]


def test_what_was_not_measured(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for threads, status, reason in (
        (1, "ok", ""), (2, "failed", "exit status 3"), (4, "failed", "exit status 3"), (8, "disturbed", "busy"), (16, "", "")
    ):  # fmt: skip
        text = make.stream_text(2e4, threads) if status == "ok" else ""
        maker.add("s", "stream", {"threads": threads}, text, axes=("threads",), status=status, reason=reason)
    maker.skip("s", "no CPU 32; this machine has 16", threads=32)
    document = show.show_result(maker.write())

    *_, table = tables(document)

    assert table.rows == (
        ("failed", "s", 2, "threads=2 (run 2)", "exit status 3"),
        ("not repeated yet", "s", 1, "threads=8 (run 4)", "busy"),
        ("not started", "s", 1, "threads=16", ""),
        ("skipped", "s", 1, "threads=32", "no CPU 32"),
    )
    assert texts(document)[0] == "node07 · 2026-11-21 · 1 of 5 runs ok, 1 disturbed"


@pytest.mark.parametrize("better", ["lower", "higher", "neither"])
def test_the_end_of_a_run_has_the_best_cell(better: str, make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    metrics = {"lat": {"regex": r"lat ([\d.]+)", "unit": "us", "better": better}}
    for threads, value in ((1, 4.0), (4, 2.0), (16, 20.0)):
        maker.add("demo", "command", {"command": "demo", "metrics": metrics, "threads": threads}, f"lat {value}\n", axes=("threads",))  # fmt: skip

    value, threads = {"lower": (2e3, 4)}.get(better, (20e3, 16))
    assert best(maker.write()) == [("demo", "lat", value, f"threads={threads}")]


def test_the_best_is_that_of_the_medians(make: Any, tmp_path: Path) -> None:
    """One lucky run of three does not make a cell the best."""
    path = stream(make, tmp_path / "r.db", {1: (9e3, 9.1e3, 30e3), 2: (20e3, 20.1e3, 20.2e3)})

    assert best(path) == [("s", "bandwidth", 20.1e9, "threads=2")]


def test_blocks_of_other_sizes_are_ranked_by_bandwidth(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for bs, iops in (("4k", 40_000.0), ("1m", 1_000.0)):
        text = make.fio_text({"read": (iops, 8e6 / iops)}, bs=bs, rw="randread", iodepth=8)
        maker.add("disk", "fio", {"rw": "randread", "bs": bs, "iodepth": 8}, text, axes=("bs",))

    assert best(maker.write()) == [("disk", "bandwidth", pytest.approx(1000 * 2**20), "bs=1m")]


def test_of_sizes_the_smallest_is_no_best(make: Any, tmp_path: Path) -> None:
    """Less memory is always faster: the first cell is shown."""
    maker = make.Maker(tmp_path / "r.db")
    for size, median in ((8192, 90.0), (4096, 60.0)):
        options = {"target": "memory", "bytes": size}
        maker.add("s", "poke", options, make.poke_text([median] * 100, target="memory"), axes=("bytes",))

    assert [row[3] for row in best(maker.write())] == ["bytes=4096"]


def test_runs_are_listed(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    maker.add("s", "stream", {"threads": 2}, make.stream_text(2e4, 2), warm_up=True, wall_s=2.0)
    maker.add("s", "stream", {"threads": 2}, "", status="failed", wall_s=1.0)

    (table,) = tables(show.show_runs(maker.write()))

    assert table.rows == (
        (1, "ok", 2.0, "s", "(one cell)", "warm-up"),
        (2, "failed", 1.0, "s", "(one cell)", 1),
    )


def test_a_tab_of_an_output_is_blanks(make: Any, tmp_path: Path) -> None:
    path = make.Maker(tmp_path / "r.db").add("s", "stream", {"threads": 1}, "a\tb").write()

    assert "a       b" in texts(show.show_run(path, 1))


def test_one_run_in_detail(full_result: Path) -> None:
    lines = texts(show.show_run(full_result, 1))

    assert "status       ok" in lines
    assert any("numactl --physcpubind=0-3" in line for line in lines)
    assert "--- output ---" in lines


@pytest.mark.parametrize(("runs", "held"), [(0, "no runs"), (3, "runs 1 to 3")], ids=str)
def test_no_such_run(runs: int, held: str, make: Any, tmp_path: Path) -> None:
    path = stream(make, tmp_path / "a.db", dict.fromkeys(range(1, 1 + runs), (9000.0,)))

    with pytest.raises(UserError, match="no run 7") as refused:
        show.show_run(path, 7)
    assert refused.value.hint == f"the file holds {held}"


def test_how_to_resume(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a b.db")
    maker.add("demo", "stream", {"threads": 1}, "", status="")
    path = maker.write()
    with sqlite3.connect(path) as database:
        argv = json.dumps(["run", "e.yaml", "-oold.db", "--strict"])
        database.execute("UPDATE session SET argv = ?", [argv])

    again = f"To resume: pinsweep run e.yaml --strict -o '{path}'"
    assert texts(show.show_result(path))[-1] == again
    assert texts(show.show_runs(path)) == [again]


def test_what_disturbed_a_run_that_counts(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    busy = {"elapsed_s": 3.0, "reasons": [{"id": "foreign", "text": "other processes took 53 % of CPU 0"}]}
    for counters in (busy, {"elapsed_s": 3.0, "reasons": []}):
        maker.add("s", "stream", {"threads": 2}, make.stream_text(2e4, 2), counters=counters)
    path = maker.write()

    disturbed, quiet = (texts(show.show_run(path, number)) for number in (1, 2))

    assert "disturbed    other processes took 53 % of CPU 0" in disturbed
    assert not any(line.startswith("disturbed") for line in quiet)
    assert "2 of 2 runs ok, 1 disturbed" in texts(show.show_result(path))[0]


SEEN = {"pid": 7, "name": "walk", "rank": None, "cpus": "0", "mems_allowed": "0", "policy": "bind:0", "pages": {"0": 5}, "threads": {"0": 1}, "last_cpus": "0"}  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (None, "not recorded"),
        ({"processes": [SEEN], "orchestrator": "1", "at_end": {"cpus": "0"}}, "walk on CPU 0, memory of node 0, 1 thread; pinsweep on CPU 1"),
        ({"processes": [{**SEEN, "rank": 3, "cpus": "0-1", "policy": "interleave=static:0-1", "threads": {"0": 1, "1": 2}}]},
         "rank 3: walk on CPUs 0-1, memory interleaved over nodes 0-1, 3 threads"),
        ({"note": "placement not seen (it took 2 ms)", "processes": []}, "placement not seen (it took 2 ms)"),
        ({"processes": "?", "more": 3}, "processes ?; more 3"),
    ],
)  # fmt: skip
def test_where_a_run_was_observed(seen: Any, said: str, make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db").add("s", "stream", {}, make.stream_text(2e4, 2))
    (run,) = load([maker.write()]).runs

    assert seen_text(replace(run.record, seen=seen)) == said


def test_flags_are_counted(make: Any, tmp_path: Path) -> None:
    path = stream(make, tmp_path / "r.db", {1: (10e3, 20e3, 90e3), 2: (10e3, 20e3, 90e3)})
    results = load([path])

    (warning,) = texts(show.ending(results, audit.audit(results)))

    assert re.search(r"\(G11\): 2 cells$", warning)
