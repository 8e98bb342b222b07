"""A cell that was never quiet is drawn hollow in every chart, with the reason, and no statement is made of it."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from reports.draw import vega
from reports.draw.figure import Figure, Panel
from reports.page.model import Page
from reports.report import build
from reports.results.load import load
from tests.reports.claims.test_doubts import unmarked

SAID = ": something else disturbed every run (D1)."
BUSY = "other processes took 14 % of CPU 3 (0.42 s of 3.0 s)"
DISTURBED = json.dumps({"elapsed_s": 3.0, "reasons": [{"id": "foreign", "text": BUSY}]})
CELLS = "SELECT point_id FROM run WHERE status = 'ok' GROUP BY point_id ORDER BY min(run_id)"
KINDS = {"points", "past", "rows", "zero", "tails"}
"""Data sets whose rows are numbers of cells; a histogram is of one cell, which is a quiet one if there is any."""


def edited(result: Path, path: Path, which: str, then: str, *values: str) -> Path:
    """Return a copy of a result file with the runs of some cells changed; `which`: all of them, or the first or last cell of each sweep."""
    shutil.copyfile(result, path)
    with sqlite3.connect(path) as db:
        sweeps: dict[str, list[str]] = {}
        for (cell,) in db.execute(CELLS).fetchall():
            (sweep,) = db.execute("SELECT sweep FROM point WHERE point_id = ?", (cell,)).fetchone()
            sweeps.setdefault(sweep, []).append(cell)
        chosen = {"all": slice(None), "first": slice(1), "last": slice(-1, None)}[which]
        for cells in sweeps.values():
            for cell in cells[chosen]:
                if then == "DELETE":
                    of = "(SELECT run_id FROM run WHERE point_id = ?)"
                    for table in ("output", "parsed", "run"):
                        db.execute(f"DELETE FROM {table} WHERE run_id IN {of}", (cell,))
                else:
                    db.execute(f"UPDATE run SET {then} WHERE point_id = ?", (*values, cell))
    return path


def disturbed(result: Path, path: Path, which: str) -> Path:
    return edited(result, path, which, "status = 'disturbed', reason = ?, counters = ?", BUSY, DISTURBED)


OF_MANY = {"strip", "history"}  # hosts or sessions: one that was never quiet is missing there
TEMPLATES = {
    path.name.removesuffix(".vl.json")
    for path in (Path(vega.__file__).parents[1] / "templates" / "charts").glob("*.vl.json")
} - OF_MANY


def template(panel: Panel) -> str:
    """Return the name of the template that a picture was made from: by its description."""
    (name,) = [name for name in TEMPLATES if vega.template(name)["description"] == panel.wide["description"]]
    return name


def figures(page: Page) -> list[Figure]:
    return [f for s in page.sections for b in s.blocks for f in b.figures]


def hollow(panel: Panel) -> list[str]:
    """Return the data sets of a picture with hollow rows."""
    return [name for name, rows in panel.wide["datasets"].items() if any(row.get("hollow") for row in rows)]


def solid(panel: Panel) -> list[str]:
    """Return the data sets of a picture with numbers of cells that are not hollow."""
    drawn = panel.wide["datasets"].items()
    return [name for name, rows in drawn if name in KINDS and any(not row.get("hollow") for row in rows)]


LEFT_OUT = re.compile(", disturbed at [a-z ]+ ([0-9]+)")
OF_NO_WHOLE_CURVE = {
    "first": {
        "scaling-scaling": "Remote memory costs 10.9 % at 10 threads",
        "fio-storage": "IOPS and latency over iodepth",
    },
    "last": {
        "fio-storage": "Past depth 8 the storage gives hardly more reads, only more waiting"
    },  # of the writes one depth
}
"""Where a curve is full, and what all do, is told of curves that are known at all of their points."""


@pytest.mark.slow
@pytest.mark.parametrize("which", ["first", "last"])
def test_what_was_never_quiet_is_hollow_in_every_chart_and_in_no_statement(
    full_result: Path, tmp_path: Path, which: str
) -> None:
    results = load([disturbed(full_result, tmp_path / "disturbed.db", which)])
    page = build.build(results)
    without = build.build(load([edited(full_result, tmp_path / "without.db", which, "DELETE")]))

    drawn = figures(page)
    found = {f.id: [name for panel in f.panels for name in hollow(panel)] for f in drawn}
    without_it = (
        {"moments"} if which == "last" else set()
    )  # the last is a file of one size: over sizes it is not drawn
    assert {f.id for f in drawn if f.panels and not found[f.id]} == without_it
    for figure in drawn:
        assert (SAID in figure.sub) == bool(found[figure.id]), figure.id
        for panel in figure.panels:
            for name in hollow(panel):
                styles = [layer["mark"] for layer in panel.wide["layer"] if layer.get("transform", [{}])[0].get("filter") == "datum.hollow"]  # fmt: skip
                assert styles, (figure.id, name)
                assert all(mark["strokeWidth"] for mark in styles if mark["type"] == "bar"), figure.id
    assert unmarked(results, page) == []
    titles = {figure.id: figure.title for figure in figures(without)} | OF_NO_WHOLE_CURVE[which]
    assert {f.id: f.title for f in drawn if f.id in titles} == titles
    numbers = [(k.name, k.value, k.unit, k.context) for k in page.key_numbers]
    said = re.compile(rf"{LEFT_OUT.pattern}| \([^)]+: disturbed\)")
    assert [(*of, said.sub("", context)) for *of, context in numbers] == [
        (k.name, k.value, k.unit, k.context) for k in without.key_numbers
    ]
    assert {name: found[1] for name, *_, context in numbers if (found := LEFT_OUT.search(context))} == {
        "first": {"STREAM Triad": "1", "Storage, 4 KiB random reads": "1"},
        "last": {},  # remote threads, and writes: no key number is of them
    }[which]


@pytest.mark.slow
def test_a_page_of_nothing_quiet_shows_it_hollow_and_claims_nothing(
    full_result: Path, tmp_path: Path
) -> None:
    results = load([disturbed(full_result, tmp_path / "disturbed.db", "all")])
    page = build.build(results)

    assert page.key_numbers == ()
    assert {template(panel) for f in figures(page) for panel in f.panels} == TEMPLATES - {
        "rows",
        "ratio",
        "heat",
        "ladder",
        "moments",
        "over-time",
    }
    for figure in figures(page):
        assert [(figure.id, panel.title, solid(panel)) for panel in figure.panels if solid(panel)] == []
        assert not figure.panels or SAID in figure.sub, figure.id
        assert "×" not in figure.title, figure.title
    assert "⚠ doubtful: all numbers, by D1" in page.sentence  # once, not at each of them
    assert unmarked(results, page, told=("D1",)) == []


def offered(page: Page, tool: str) -> list[tuple[str, str]]:
    """Return the name and the mark of each row of the tables of what a tool's series offer."""
    every = (t.doubted for f in figures(page) if f.id.startswith(tool) for t in (*f.tables, *f.numbers))
    tables = [table for table in every if table.caption.startswith("What each")]
    return [(row[0], row[-1] if "⚠" in row[-1] else "") for table in tables for row in table.rows]


@pytest.mark.slow
def test_what_is_never_quiet_is_a_marked_row_of_what_each_offers(full_result: Path, tmp_path: Path) -> None:
    """fio's and IMB's left it out, as if it had not run; MLC's did not. fio's, of depths that were never quiet, offer nothing."""
    last, every = (disturbed(full_result, tmp_path / f"{which}.db", which) for which in ("last", "all"))
    pages = [build.build(load([path])) for path in (full_result, last, every)]
    for tool in ("fio", "imb", "loaded"):
        quiet, last_of, none = (offered(page, tool) for page in pages)

        assert quiet
        assert [name for name, _ in last_of] == [name for name, _ in quiet]
        assert [name for name, _ in none] == ([] if tool == "fio" else [name for name, _ in quiet])
        assert "⚠ doubtful: all numbers, by D1" in pages[2].sentence
        if tool != "fio":  # there a cell is one depth of a series
            marked, before = (sum("D1" in ids for _, ids in rows) for rows in (last_of, quiet))
            assert marked == before + 1


def test_what_was_never_quiet_stands_among_the_others_and_has_its_repeats_counted(
    make: Any, tmp_path: Path
) -> None:
    """Such cells stood last, in the order in which they had run, and the repeats were those of the quiet ones alone."""
    maker = make.Maker(tmp_path / "a.db")
    for size, status in ((1000, "disturbed"), (200, "ok"), (30, "disturbed"), (4000, "ok")):
        for _ in range(3 if status == "disturbed" else 2):
            maker.add(
                "s", "stream", {"threads": 1, "array_size": size}, make.stream_text(9e3, 1), axes=("array_size",),
                status=status, reason=BUSY,
            )  # fmt: skip

    (figure,) = figures(build.build(load([maker.write()])))

    assert [panel.title for panel in figure.panels] == [
        f"array_size {size}" for size in (30, 200, 1000, 4000)
    ]
    assert "2 to 3 repeats a cell with numbers" in figure.sub


@pytest.mark.parametrize(("tool", "said"), [("stream", "array_size 200"), ("mlc", "64 B stride")])
def test_a_key_number_says_what_tells_its_cell_from_those_that_were_never_quiet(
    make: Any, tmp_path: Path, tool: str, said: str
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for size, status in ((200, "ok"), (1000, "disturbed")):
        options = {"threads": 1, "array_size": size} if tool == "stream" else {"mode": "loaded_latency", "l": 64 if size == 200 else 256}  # fmt: skip
        rows = [(0, 250.0, 6000.0), (100, 120.0, 5000.0), (500, 90.0, 4000.0), (5000, 80.0, 700.0)]
        text = make.stream_text(9e3, 1) if tool == "stream" else make.mlc_text(rows, stride=int(options["l"]))
        maker.add("s", tool, options, text, axes=tuple(options), status=status, reason=BUSY)

    numbers = build.build(load([maker.write()])).key_numbers

    assert numbers
    assert [said in number.context for number in numbers] == [True] * len(numbers), numbers


def test_a_row_of_a_cell_that_was_never_quiet_is_hollow_and_has_its_name(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    metrics = {"rate": {"regex": r"rate ([\d.]+) MB/s", "unit": "MB/s", "better": "higher"}}
    for level, status in (("low", "ok"), ("high", "disturbed")):
        options = {"command": "zip -{level}", "metrics": metrics, "level": level}
        maker.add(
            "zip",
            "command",
            options,
            f"rate {len(level)} MB/s\n",
            axes=("level",),
            status=status,
            reason=BUSY,
        )
    (figure,) = figures(build.build(load([maker.write()])))
    (panel,) = figure.panels

    assert template(panel) == "rows"
    assert [(row["name"], row.get("hollow", False)) for row in panel.wide["datasets"]["rows"]] == [
        ("level low", False),
        ("level high", True),
    ]
    assert SAID in figure.sub


def test_the_most_of_a_curve_says_at_which_depths_nothing_is_known(make: Any, tmp_path: Path) -> None:
    """The only quiet depth was “95 % from depth 1, ≥ most”, and its IOPS were a key number without a word."""
    maker = make.Maker(tmp_path / "a.db")
    for rw in ("randread", "randwrite"):
        for depth, status in ((1, "ok"), (8, "disturbed"), (32, "disturbed" if rw == "randread" else "ok")):
            text = make.fio_text(
                {rw.removeprefix("rand"): (1000.0 * depth, 90.0)}, bs="4k", rw=rw, iodepth=depth
            )
            maker.add("s", "fio", {"rw": rw, "bs": "4k", "iodepth": depth}, text, axes=("rw", "iodepth"), status=status, reason=BUSY)  # fmt: skip

    page = build.build(load([maker.write()]))

    (number,) = page.key_numbers
    assert number.context == "randread, iodepth 1, disturbed at depths 8 and 32, mean latency 90.0 µs"
    (offers,) = [t for f in figures(page) for t in f.tables if t.caption.startswith("What each")]
    columns = ("Access", "Most kIOPS", "at depth", "not counted", "95 % from depth")
    assert offers.columns[:5] == columns
    assert [row[:5] for row in offers.rows] == [
        ("randread", "1.00", "1", "8 and 32", "–"),
        ("randwrite", "32.0", "32", "8", "–"),
    ]
    assert not any("≥ most" in cell for row in offers.rows for cell in row)
    assert not any("Too few" in figure.sub for figure in figures(page))


def test_a_series_that_was_never_quiet_offers_nothing(make: Any, tmp_path: Path) -> None:
    """“Most 32.0 kIOPS, 95 % from depth 32, ≥ most”, of dots that are all hollow."""
    maker = make.Maker(tmp_path / "a.db")
    for rw, status in (("randread", "disturbed"), ("randwrite", "ok")):
        for depth in (1, 8, 32):
            text = make.fio_text(
                {rw.removeprefix("rand"): (1000.0 * depth, 90.0 * depth)}, bs="4k", rw=rw, iodepth=depth
            )
            maker.add("s", "fio", {"rw": rw, "bs": "4k", "iodepth": depth}, text, axes=("rw", "iodepth"), status=status, reason=BUSY)  # fmt: skip

    page = build.build(load([maker.write()]))

    (offers,) = [t for f in figures(page) for t in f.tables if t.caption.startswith("What each")]
    reads, writes = (dict(zip(offers.columns, row, strict=True)) for row in offers.rows)
    assert reads.pop("Access") == "randread"
    assert reads.pop("not counted") == "1, 8 and 32"
    assert {*reads.values()} == {"–"}
    assert (writes["Most kIOPS"], writes["95 % from depth"]) == ("32.0", "32")
    assert "depths at which every run was disturbed" in offers.caption
    assert not any("randread" in f.title for f in figures(page))


def test_a_sweep_that_was_never_quiet_has_no_table_of_what_it_offers(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for depth in (1, 8, 32):
        text = make.fio_text({"read": (1000.0 * depth, 90.0 * depth)}, bs="4k", rw="randread", iodepth=depth)
        maker.add("s", "fio", {"rw": "randread", "bs": "4k", "iodepth": depth}, text, axes=("iodepth",), status="disturbed", reason=BUSY)  # fmt: skip

    page = build.build(load([maker.write()]))

    captions = [t.caption for f in figures(page) for t in (*f.tables, *f.numbers)]
    assert captions
    assert not any(c.startswith("What each") for c in captions)


@pytest.mark.parametrize(
    ("void", "said"),
    [
        (False, "1 thread, disturbed at thread counts 2 and 4"),
        (True, "1 thread, wrong by its own check at thread counts 2 and 4"),
    ],
)
def test_the_most_of_stream_says_with_how_many_threads_nothing_is_known(
    make: Any, tmp_path: Path, void: bool, said: str
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for threads in (1, 2, 4):
        text = make.stream_text(9e3 * threads, threads)
        if void and threads > 1:
            text = text.replace("Solution Validates", "Failed Validation on array a[]")
        status = "ok" if void or threads == 1 else "disturbed"
        maker.add("s", "stream", {"threads": threads}, text, axes=("threads",), status=status, reason=BUSY)

    (number,) = build.build(load([maker.write()])).key_numbers

    assert (number.name, number.context) == ("STREAM Triad", said)
