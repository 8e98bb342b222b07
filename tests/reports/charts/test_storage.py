"""What the pages of fio and poke say is of one cell, holds, and says of what it is."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pinsweep.cli import cli
from reports.checks import audit
from reports.draw import vega
from reports.draw.figure import Figure, Table
from reports.numbers import numbers
from reports.report import build
from reports.results.load import load
from reports.text import format as fmt


def figures(path: Path, tool: str) -> list[Figure]:
    built = build.build(load([path]))
    return [f for s in built.sections for b in s.blocks if b.tool == tool for f in b.figures]


def column(table: Table, name: str) -> list[str]:
    return [str(row[table.columns.index(name)]) for row in table.rows]


# --- poke: one cell ----------------------------------------------------------------------------------------


def files(make: Any, n: int, size: int, median: float) -> str:
    """poke's document of n files, written and read back."""
    found = {}
    for op, of in (("write", median), ("read", median / 3)):
        text = json.loads(
            make.poke_text(make.sample(n, of, tail=of * 5), target="files", op=op, size=n * size)
        )
        text["results"][0] |= {"files": n, "block": size, "total_ns": n * of * 1.5}
        found[op] = text
    found["write"]["results"] += found["read"]["results"]
    return json.dumps(found["write"])


def test_one_file_and_a_thousand_are_two_cells(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for n, size, median in ((1, 10_000_000, 8e6), (1000, 10_000, 4e5)):
        for _ in range(3):
            options = {"target": "files", "files": n, "file_size": size}
            maker.add("s", "poke", options, files(make, n, size, median), axes=("files", "file_size"))

    tails, totals = figures(maker.write(), "poke")

    (table,) = tails.numbers
    assert list(zip(column(table, "Target"), column(table, "Files"), strict=True)) == [
        ("files, 1 of 10 MB, write", "3"),
        ("files, 1 of 10 MB, read", "3"),
        ("files, 1000 of 10 kB, write", "3\u202f000"),
        ("files, 1000 of 10 kB, read", "3\u202f000"),
    ]
    assert column(table, "SD")[:2] == [fmt.NOTHING] * 2  # of one file a run
    assert column(table, "Median")[:2] == [fmt.NOTHING] * 2  # ten beyond it, says the caption
    assert (
        totals.title
        == "10 MB as 1\u202f000 files takes 50.0 × as long to write and 50.0 × as long to read as 1 file"
    )
    assert column(totals.tables[0], "Median over repeats") == [
        "12.0 ms", "1.2 ns", "4.00 ms", "0.4 ns", "600 ms", "60 ns", "200 ms", "20 ns",
    ]  # each of all files together, then per byte  # fmt: skip


@pytest.mark.parametrize(
    ("many_writes", "fsync", "title"),
    [
        (
            (4e5, 4e5, 4e5),
            True,
            "10 MB as 1\u202f000 files takes 50.0 × as long to write and 50.0 × as long to read as 1 file",
        ),
        (
            (4e5, 8.001e5, 4e5),
            False,
            "10 MB as 1\u202f000 files takes 50.0 to 101 × as long to write and 50.0 to 101 × as long to read as 1 file",
        ),
        (
            (4e5, 4e6, 1e5),
            False,
            "Time of all files together",
        ),  # the repeats are nearly as far apart as the medians
    ],
)
def test_what_many_files_cost_is_said_of_pairs_that_agree(
    make: Any, tmp_path: Path, many_writes: tuple[float, ...], fsync: bool, title: str
) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for sync in (False, True)[: 1 + fsync]:
        for n, size, medians in ((1, 10_000_000, (8e6,) * 3), (1000, 10_000, many_writes)):
            for median in medians:
                options = {"target": "files", "files": n, "file_size": size, "fsync": sync}
                maker.add(
                    "s", "poke", options, files(make, n, size, median), axes=("files", "file_size", "fsync")
                )

    *_, totals = figures(maker.write(), "poke")

    assert totals.title.replace("50.0 to 50.0", "50.0") == title


def test_an_edited_count_begins_cells_that_say_so(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for count, median in ((2000, 270.0), (100, 900.0)):
        for _ in range(2):
            options = {"target": "memory", "bytes": 2**30, "count": count}
            maker.add("s", "poke", options, make.poke_text(make.sample(count, median)))

    (figure,) = figures(maker.write(), "poke")

    (table,) = figure.numbers
    assert column(table, "Target") == ["memory, 1 GiB, count 2000", "memory, 1 GiB, count 100"]
    assert column(table, "Accesses") == ["4\u202f000", "200"]
    assert [m.split(" ")[0] for m in column(table, "Median")] == ["270", "897"]


def test_an_access_says_how_much_it_moves(make: Any, tmp_path: Path) -> None:
    """1 B of a small file and 4 KiB of a larger one are not the same access."""
    maker = make.Maker(tmp_path / "f.db")
    for size, block in ((1000, 1), (10**9, 4096)):
        text = json.loads(make.poke_text(make.sample(20_000, 900), target="file", size=size))
        text["results"][0]["block"] = block
        options = {"target": "file", "bytes": size}
        maker.add("s", "poke", options, json.dumps(text), axes=("bytes",))
    maker.add("s", "poke", {"target": "memory", "bytes": 2**20}, make.poke_text(make.sample(20_000, 60)), axes=("bytes",))  # fmt: skip

    built = build.build(load([maker.write()]))

    drawn = {f.id: f for s in built.sections for b in s.blocks for f in b.figures}
    names = {"file, 1 kB, 1 B blocks", "file, 1 GB, 4 KiB blocks", "memory, 1 MiB"}
    assert set(column(drawn["tail-s"].numbers[0], "Target")) == names
    assert "An access moves 1 B of memory. " in drawn["tail-s"].sub
    assert set(column(drawn["overview"].numbers[0], "Access")) == {n[:1].upper() + n[1:] for n in names}


# --- poke: what a sample is --------------------------------------------------------------------------------


def loop(make: Any, turns: int = 10**6) -> str:
    text = json.loads(make.poke_text(make.sample(20_000, 1.31e6), target="compute", op="muladd", size=0))
    result = text["results"][0]
    result |= {"iterations": turns, "ns_per_iteration": result["mean_ns"] / turns}
    return json.dumps(text)


def test_a_loop_is_no_access(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    options = {"target": "compute", "loop": "muladd", "iterations": 10**6}
    maker.add("loop", "poke", options, loop(make))
    maker.add("timer", "poke", {"target": "null"}, make.poke_text(make.sample(20_000, 20), target="null", op="none", size=0))  # fmt: skip
    for size, median in ((2**20, 41.9), (2**30, 270.4)):
        maker.add("memory", "poke", {"target": "memory", "bytes": size}, make.poke_text(make.sample(20_000, median)), axes=("bytes",))  # fmt: skip

    built = build.build(load([maker.write()]))

    drawn = {f.id: f for s in built.sections for b in s.blocks for f in b.figures}
    assert drawn["tail-loop"].title.startswith(
        "Multiply-add, 1\u202f000\u202f000 turns: one sample in a thousand takes over "
    )
    assert "20\u202f000 samples a curve" in drawn["tail-loop"].sub
    assert "access" not in " ".join([drawn["tail-loop"].title, drawn["tail-loop"].sub, *(p.description for p in drawn["tail-loop"].panels)])  # fmt: skip
    overview = drawn["overview"]
    assert column(overview.numbers[0], "Access") == ["Timer alone", "Memory, 1 MiB", "Memory, 1 GiB"]
    # the timer's 20 ns are no access
    assert overview.title == "One access: 41.9 ns (Memory, 1 MiB) to 270 ns (Memory, 1 GiB)"
    (key,) = built.key_numbers
    assert (key.name, key.context.split(";")[0]) == ("Access, p99.9", "memory, 1 GiB")


def test_the_overview_cuts_names_where_they_do_not_differ(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for direct in (False, True):
        options = {"target": "file", "bytes": 8 * 10**9, "window": 8 * 10**9, "direct": direct}
        text = make.poke_text(make.sample(20_000, 40e3 if direct else 1e3), target="file")
        maker.add("s", "poke", options, text, axes=("direct",))

    built = build.build(load([maker.write()]))

    (overview,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id == "overview"]
    assert column(overview.numbers[0], "Access") == [
        "File, 8 GB, first 8 GB",
        "File, 8 GB, first 8 GB, direct",
    ]
    for spec in (overview.panels[0].wide, overview.panels[0].narrow):
        assert spec["datasets"]["rows"][1]["name"].endswith("direct")


def test_repeats_are_the_range_that_was_seen(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for size, repeats in ((2**20, 1), (2**30, 3)):
        for _ in range(repeats):
            options = {"target": "memory", "bytes": size}
            maker.add("s", "poke", options, make.poke_text(make.sample(2000, 270)), axes=("bytes",))

    figure, _ = figures(maker.write(), "poke")

    assert figure.sub.startswith("pinsweep poke 0.1, 1 to 3 repeats a cell with numbers; ")
    assert "2\u202f000 to 6\u202f000 single accesses a curve, the repeats together" in figure.sub


# --- fio ---------------------------------------------------------------------------------------------------

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "fio"
TEXTS = {path.stem: path for path in sorted(FIXTURES.glob("*.out")) if not path.stem.startswith("err_")}


def taken(path: Path, tmp_path: Path) -> Path:
    result = CliRunner().invoke(cli, ["parse", str(path), "-o", str(tmp_path / "a.db")])
    assert result.exit_code == 0, result.output
    return tmp_path / "a.db"


def taken_all(tmp_path: Path) -> Path:
    """The texts of a folder, taken in together."""
    path = tmp_path / "all.db"
    done = CliRunner().invoke(cli, ["parse", *map(str, sorted(tmp_path.glob("*.json"))), "-o", str(path)])
    assert done.exit_code == 0, done.output
    return path


def fio(make: Any, path: Path, cells: Any, repeats: int = 1, **edits: Any) -> Path:
    """Cells of random reads: (options beside rw, text of fio_text). edits: of the options that the text tells."""
    maker = make.Maker(path)
    for options, text in cells:
        for _ in range(repeats):
            document = json.loads(text)
            document["jobs"][0]["job options"] |= edits
            maker.add("s", "fio", options, json.dumps(document), axes=tuple(options))
    return maker.write()


def drawn_bars(figure: Figure) -> list[Any]:
    return [row for panel in figure.panels for row in panel.wide["datasets"].get("ranges", ())]


@pytest.mark.parametrize("case", TEXTS)
def test_a_caption_says_of_bars_what_is_drawn(case: str, tmp_path: Path) -> None:
    figure, *_ = figures(taken(TEXTS[case], tmp_path), "fio")

    assert ("Bars: " in figure.sub) == bool(drawn_bars(figure))
    assert ("Dashed: " in figure.sub) == any(
        r["dashed"] for p in figure.panels for r in p.wide["datasets"]["points"]
    )
    assert "over iodepth" not in figure.title
    assert "over IOPS" not in f"{figure.sub}{[p.title for p in figure.panels]}"  # of one depth


def test_bars_of_several_processes_are_not_those_of_their_group(make: Any, tmp_path: Path) -> None:
    """group_reporting sums the processes' own lowest samples."""
    text = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1, numjobs=4)

    (figure,) = figures(fio(make, tmp_path / "f.db", [({"rw": "randread", "numjobs": 4}, text)]), "fio")

    assert "4 jobs" in figure.sub
    assert "Bars" not in figure.sub
    assert not drawn_bars(figure)
    assert not {"IOPS min", "IOPS max"} & {name for table in figure.numbers for name in table.columns}


def test_a_table_has_samples_bandwidth_and_utilisation(make: Any, tmp_path: Path) -> None:
    document = json.loads(make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1))
    document["disk_util"] = [{"name": "nvme0n1", "read_ios": 1, "write_ios": 0, "read_ticks": 1, "write_ticks": 0, "in_queue": 1, "util": 99.98}]  # fmt: skip

    (figure,) = figures(fio(make, tmp_path / "f.db", [({"rw": "randread"}, json.dumps(document))]), "fio")

    _, table = figure.numbers
    of = {name: column(table, name)[0] for name in table.columns}
    assert (of["IOPS min"], of["IOPS max"], of["Bandwidth, MB/s"]) == ("9\u202f700", "10\u202f200", "41.0")
    assert of["Utilisation"] == "100 %"
    assert "100 % at depth 1 does not say that an NVMe device can do no more" in table.caption


def test_percentiles_stand_with_the_range_of_their_repeats(make: Any, tmp_path: Path) -> None:
    """ "47 600" stood as the p99 of two repeats of 12 900 and 82 300 µs, beside IOPS with their range."""
    maker = make.Maker(tmp_path / "a.db")
    for iops, took in ((1e4, 90.0), (2e4, 900.0)):
        for depth in (1, 2):
            text = make.fio_text({"read": (iops, took)}, bs="4k", rw="randread", iodepth=depth)
            maker.add("s", "fio", {"rw": "randread", "iodepth": depth}, text, axes=("iodepth",))

    found = figures(maker.write(), "fio")

    tables = [table for figure in found for table in figure.numbers]
    quantiles = [(table, name) for table in tables for name in table.columns if re.match(r"p\d", name)]
    assert {name.partition(",")[0] for _, name in quantiles} >= {
        "p50 latency",
        "p99 latency",
        "p50",
        "p90",
        "p99",
    }
    assert all("–" in cell for table, name in quantiles for cell in column(table, name))  # or has no number


@pytest.mark.parametrize("samples", [(1, 1), (1, 3), (3, 3)])
def test_a_single_sample_has_no_lowest_and_highest(samples: Sequence[int], make: Any, tmp_path: Path) -> None:
    """ "IOPS min 7 762" stood beside "6 465 (4 530–8 399)"."""
    maker = make.Maker(tmp_path / "a.db")
    for n in samples:
        document = json.loads(make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1))
        document["jobs"][0]["read"]["iops_samples"] = n
        maker.add("s", "fio", {"rw": "randread"}, json.dumps(document))

    (figure,) = figures(maker.write(), "fio")

    of = {name: column(table, name) for table in figure.numbers for name in table.columns}
    told = [cell for name in ("IOPS min", "IOPS max") for cell in of.get(name, ["–"]) if cell != "–"]
    assert len(told) == (2 if min(samples) > 1 else 0)


def test_what_a_published_table_tells_of_all_jobs_stands_in_the_table(tmp_path: Path) -> None:
    text = tmp_path / "t.txt"
    rows = "1 8 68822 74167 72613 99.41 93.3\n4 8 129872 134632 132017 98.8 194.04\n"
    text.write_text(f"fio --rw=randread --bs=4k\n\ndepth jobs min max avg util lat\n{rows}")
    done = CliRunner().invoke(
        cli, ["parse", "table", str(text), "--tool", "fio", "-o", str(tmp_path / "t.db"), "--columns", "iodepth, numjobs, iops.min, iops.max, iops, disk_util[%], lat[us]"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output

    _, table = figures(tmp_path / "t.db", "fio")[0].numbers

    assert table.columns == ("Access", "iodepth", "IOPS", "IOPS min", "IOPS max", "Utilisation")
    assert column(table, "IOPS min") == ["68\u202f820", "129\u202f900"]
    assert table.caption.startswith("IOPS min and max: as the text’s table has them; ")


def test_the_longest_is_what_fio_says(tmp_path: Path) -> None:
    path = taken(TEXTS["jsonplus_two_jobs_lat"], tmp_path)
    longest = max(job["read"]["lat_ns"]["max"] for job in json.loads(TEXTS["jsonplus_two_jobs_lat"].read_text())["jobs"])  # fmt: skip

    _, tails = figures(path, "fio")

    assert column(tails.numbers[0], "Longest") == [fmt.quantity(longest, "ns")]


def test_what_a_text_does_not_tell_is_not_said(tmp_path: Path) -> None:
    built = build.build(load([taken(TEXTS["terse_v3"], tmp_path)]))

    (figure,) = [f for s in built.sections for b in s.blocks if b.tool == "fio" for f in b.figures]
    assert "number of jobs not said" in figure.sub
    assert figure.panels == ()  # there is no depth to draw it at
    assert [(table.rows[0][0], *column(table, "iodepth")) for table in figure.tables] == [
        ("reads", fmt.NOTHING)
    ] * 2
    assert not any("iodepth 1" in k.context or "50:50" in k.context or "1 job" in k.context for k in built.key_numbers)  # fmt: skip


def test_a_mix_that_a_text_does_not_tell_is_not_one_half(tmp_path: Path) -> None:
    figure, *_ = figures(taken(TEXTS["normal_randrw"], tmp_path), "fio")

    assert [key.name for key in figure.key] == ["randrw, reads", "randrw, writes"]
    assert "The share of reads in the mix is not said." in figure.sub


def test_a_mix_of_a_captured_document_is_not_taken_for_the_default(make: Any, tmp_path: Path) -> None:
    text = make.fio_text({"read": (7662.0, 90.0), "write": (39340.0, 90.0)}, bs="4k", rw="rw", iodepth=1)
    (tmp_path / "mix.json").write_text(text)

    figure, *_ = figures(taken(tmp_path / "mix.json", tmp_path), "fio")

    assert [key.name for key in figure.key] == ["rw, reads", "rw, writes"]
    assert "The share of reads in the mix is not said." in figure.sub


def groups_of_jobs(tmp_path: Path) -> Path:
    """Two jobs, one after the other, and the disk's share of time busy over both."""
    document = json.loads(TEXTS["jsonplus_two_jobs_lat"].read_text())
    document["jobs"][1]["groupid"] = 1
    document["disk_util"] = [{"name": "nvme0n1", "read_ios": 1, "write_ios": 0, "read_ticks": 1, "write_ticks": 0, "in_queue": 1, "util": 76.2}]  # fmt: skip
    (tmp_path / "groups.json").write_text(json.dumps(document))
    return taken(tmp_path / "groups.json", tmp_path)


def test_the_utilisation_of_a_whole_text_is_that_of_no_group(tmp_path: Path) -> None:
    figure, *_ = figures(groups_of_jobs(tmp_path), "fio")

    assert all("Utilisation" not in table.columns for table in (*figure.tables, *figure.numbers))


def test_two_groups_of_one_text_are_one_text(tmp_path: Path) -> None:
    path = groups_of_jobs(tmp_path)
    built = build.build(load([path]))

    assert len(built.runs.rows) == 2
    assert (
        built.sentence
        == "1 text taken in, its host unknown. ⚠ doubtful: all numbers, by F7 (the page cache was measured, not the device)."
    )


def test_mixes_that_rwmixwrite_tells_apart_are_two(make: Any, tmp_path: Path) -> None:
    cells = []
    for share in (10, 90):
        text = make.fio_text({"read": (1e3, 90.0), "write": (1e3, 9.0)}, bs="4k", rw="randrw", iodepth=1)
        cells.append(({"rw": "randrw", "rwmixwrite": share}, text))

    (figure,) = figures(fio(make, tmp_path / "f.db", cells), "fio")

    assert {key.name for key in figure.key} == {
        f"randrw {mix}, {way}" for mix in ("10:90", "90:10") for way in ("reads", "writes")
    }


def test_jobs_of_other_blocks_in_one_figure_are_said(tmp_path: Path) -> None:
    document = json.loads(TEXTS["jsonplus_two_jobs_lat"].read_text())
    writer = document["jobs"][1]
    writer["read"], writer["write"] = writer["write"], writer["read"]
    writer["job options"]["rw"] = "randwrite"
    (tmp_path / "two.out").write_text(json.dumps(document))

    figure, *_ = figures(taken(tmp_path / "two.out", tmp_path), "fio")

    assert "Blocks differ: randread 4 KiB and randwrite 64 KiB." in figure.sub


def test_two_jobs_and_their_unequal_blocks_are_said(tmp_path: Path) -> None:
    built = build.build(load([taken(TEXTS["jsonplus_two_jobs_lat"], tmp_path)]))

    figure = next(f for s in built.sections for b in s.blocks if b.tool == "fio" for f in b.figures)
    assert ", 2 jobs. " in figure.sub
    assert "Jobs of 4 KiB and 64 KiB blocks ran together" in figure.sub
    (key,) = built.key_numbers
    assert key.name == "Storage, 4 KiB and 64 KiB random reads"


def test_reads_of_a_verify_phase_are_called_that(make: Any, tmp_path: Path) -> None:
    parts = {"write": (1e3, 500.0), "read": (9e3, 50.0)}
    cells = [
        ({"rw": "randwrite", "verify": "crc32c", "iodepth": depth}, make.fio_text(parts, bs="4k", rw="randwrite", iodepth=depth))
        for depth in (1, 4, 16)
    ]  # fmt: skip
    path = fio(make, tmp_path / "f.db", cells)

    built = build.build(load([path]))

    figure, *_ = [f for s in built.sections for b in s.blocks if b.tool == "fio" for f in b.figures]
    assert {row["series"] for p in figure.panels for row in p.wide["datasets"]["points"]} == {"randwrite"}
    assert set(column(figure.numbers[0], "Access")) == {"randwrite", "randwrite, verify reads"}
    assert "verifies what it wrote" in figure.sub
    (key,) = built.key_numbers
    assert (key.name, key.value) == ("Storage, 4 KiB random writes", "1.00")
    (run, *_) = load([path]).good("fio")
    assert {n.name.title for n in numbers(run) if n.name.metric == "IOPS"} == {
        "write IOPS",
        "verify read IOPS",
    }


def test_cells_of_one_io_in_flight_are_rows_of_their_own(make: Any, tmp_path: Path) -> None:
    """Through the page cache and past it were one row, with the median of both."""
    cells = []
    for direct, latency in ((False, 1.0), (True, 90.0)):
        text = make.fio_text({"read": (1e4, latency)}, bs="4k", rw="randread", iodepth=1)
        cells.append(({"rw": "randread", "bs": "4k", "iodepth": 1, "direct": direct}, text))

    built = build.build(load([fio(make, tmp_path / "f.db", cells)]))

    (overview,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id == "overview"]
    assert list(zip(*(column(overview.numbers[0], of) for of in ("Access", "Time")), strict=True)) == [
        ("4 KiB read, iodepth 1, through the page cache", "950 ns"), ("4 KiB read, iodepth 1, direct", "85.5 µs"),
    ]  # fmt: skip


def test_the_overview_has_the_tail_that_the_page_has(make: Any, tmp_path: Path) -> None:
    """The column of 99.9 % was empty for I/Os, and another figure had the number."""
    cells = []
    for tail in (800, 1000, None):
        document = json.loads(make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1))
        if tail:
            document["jobs"][0]["read"]["lat_ns"]["percentile"]["99.900000"] = tail * 1000
        cells.append(({"rw": "randread", "bs": "4k", "iodepth": 1}, json.dumps(document)))

    text = make.fio_text({"write": (1e4, 190.0)}, bs="4k", rw="randwrite", iodepth=1)
    other = ({"rw": "randwrite", "bs": "4k", "iodepth": 1}, text)
    told = []
    for n in (2, 3):
        built = build.build(load([fio(make, tmp_path / f"{n}.db", [*cells[:n], other])]))
        (overview,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id == "overview"]
        told.append(column(overview.numbers[0], "99.9 %")[0])
    assert told == ["900 µs", "–"]  # of what only some repeats tell, nothing


def test_a_title_over_panels_holds_for_each(make: Any, tmp_path: Path) -> None:
    """4 KiB saturate at 8, 64 KiB rise to the end."""
    cells = []
    for bs, most in (("4k", 8), ("64k", 1000)):
        for depth in (1, 4, 8, 32):
            iops = 1e4 * min(depth, most)
            text = make.fio_text({"read": (iops, depth / iops * 1e6)}, bs=bs, rw="randread", iodepth=depth)
            cells.append(({"rw": "randread", "bs": bs, "iodepth": depth}, text))

    both, *_ = figures(fio(make, tmp_path / "f.db", cells), "fio")
    one, *_ = figures(fio(make, tmp_path / "g.db", cells[:4]), "fio")

    assert one.title == "Past depth 8 the storage gives hardly more reads, only more waiting"
    assert (
        both.title
        == "Bandwidth, one run a cell: 16.0 to 64.0 × better by block size (64 KiB), 8.00 to 32.0 × by iodepth"
    )  # 8 and 32 times: no knee for both


def test_key_numbers_name_their_cell(make: Any, tmp_path: Path) -> None:
    text = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=8, numjobs=4)
    cells = [({"rw": "randread", "bs": "4k", "iodepth": 8, "numjobs": 4}, text)]

    (key,) = build.build(load([fio(make, tmp_path / "f.db", cells)])).key_numbers

    assert (key.name, key.context) == (
        "Storage, 4 KiB random reads",
        "randread, iodepth 8, 4 jobs, mean latency 90.0 µs",
    )


def test_an_engine_without_storage_is_no_storage(make: Any, tmp_path: Path) -> None:
    """fio's null engine does nothing: "Storage, 2.23 MIOPS", "the storage gives hardly more reads", "4 KiB read: 30.5 ns" were said."""
    cells = []
    for depth in (1, 4, 8, 32):
        iops = 1e4 * min(depth, 8)
        text = make.fio_text({"read": (iops, depth / iops * 1e6)}, bs="4k", rw="randread", iodepth=depth).replace('"ioengine": "libaio"', '"ioengine": "null"')  # fmt: skip
        cells.append(({"rw": "randread", "bs": "4k", "iodepth": depth, "ioengine": "null"}, text))
    path = fio(make, tmp_path / "f.db", cells)

    page = build.build(load([path]))

    assert page.key_numbers == ()
    assert [f.id for f in figures(path, "fio")] == ["fio-s"]
    (figure,) = figures(path, "fio")
    assert figure.title == "IOPS and latency"
    assert "randread: 10.0 kIOPS at depth 1, 80.0 kIOPS at depth 32." in figure.panels[0].description


def test_what_is_said_of_a_single_depth_is_said_once(make: Any, tmp_path: Path) -> None:
    text = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=8)

    (figure,) = figures(fio(make, tmp_path / "f.db", [({"rw": "randread", "iodepth": 8}, text)]), "fio")

    assert figure.panels[0].description.endswith("randread: 10.0 kIOPS at depth 8.")


def test_what_a_tail_takes_over_every_repeat_takes(make: Any, tmp_path: Path) -> None:
    """Of 200 and 155 × the median "over 175 ×" was said."""
    maker = make.Maker(tmp_path / "f.db")
    for median, longest in ((50_000, 10_000_000), (60_000, 9_300_000)):
        document = json.loads(make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1))
        (job,) = document["jobs"]
        job["read"]["lat_ns"]["bins"] = {str(median): 19_900, str(longest): 100}
        maker.add("s", "fio", {"rw": "randread", "bs": "4k", "iodepth": 1}, json.dumps(document))

    (title,) = [f.title for f in figures(maker.write(), "fio") if f.id.startswith("fio-tail")]

    assert re.search("one I/O in a thousand takes over 15[3-6] × the median", title)


def test_the_title_is_of_the_longest_tail_that_is_drawn(make: Any, tmp_path: Path) -> None:
    """The title told of the first curve, the dullest of them, and the histogram showed it."""
    maker = make.Maker(tmp_path / "f.db")
    for rw, longest in (("randread", 100_000), ("randwrite", 9_300_000)):
        way = rw.removeprefix("rand")
        document = json.loads(make.fio_text({way: (1e4, 90.0)}, bs="4k", rw=rw, iodepth=1))
        document["jobs"][0][way]["lat_ns"]["bins"] = {"50000": 19_900, str(longest): 100}
        maker.add("s", "fio", {"rw": rw, "bs": "4k", "iodepth": 1}, json.dumps(document), axes=("rw",))

    (tails,) = [f for f in figures(maker.write(), "fio") if f.id.startswith("fio-tail")]

    assert tails.title.startswith("Randwrite, depth 1: one I/O in a thousand takes over 18")
    assert [p.title for p in tails.panels] == ["Tail (1 − CDF)", "Histogram, write, depth 1"]


def test_a_title_tells_of_a_tail_that_is_longer_than_those_that_are_drawn(make: Any, tmp_path: Path) -> None:
    """Of a block size that is in the numbers alone one I/O in a thousand took 40 × the median."""
    maker = make.Maker(tmp_path / "f.db")
    for bs, longest in (("4k", 100_000), ("64k", 2_000_000)):
        document = json.loads(make.fio_text({"read": (1e4, 90.0)}, bs=bs, rw="randread", iodepth=1))
        document["jobs"][0]["read"]["lat_ns"]["bins"] = {"50000": 19_900, str(longest): 100}
        maker.add("s", "fio", {"rw": "randread", "bs": bs, "iodepth": 1}, json.dumps(document), axes=("bs",))

    (tails,) = [f for f in figures(maker.write(), "fio") if f.id.startswith("fio-tail")]

    assert re.match(
        r"Randread, depth 1, 4 KiB blocks: one I/O in a thousand takes over [12]\.\d+ × the median \(randread, depth 1, 64 KiB blocks: over (39|40)", tails.title
    )  # fmt: skip


def test_a_key_number_is_named_by_what_it_is_the_best_of(make: Any, tmp_path: Path) -> None:
    """The highest of 3 texts of "4 KiB reads" was the highest of the two with random reads."""
    for n, (rw, iops) in enumerate((("randread", 1e4), ("randread", 2e4), ("read", 9e4))):
        text = make.fio_text({"read": (iops, 90.0)}, bs="4k", rw=rw, iodepth=1)
        (tmp_path / f"{n}.json").write_text(text)
    texts = [*map(str, tmp_path.glob("*.json"))]
    CliRunner().invoke(cli, ["parse", *texts, "-o", str(tmp_path / "a.db")], catch_exceptions=False)

    (key,) = build.build(load([tmp_path / "a.db"])).key_numbers

    assert (key.name, key.value) == ("Storage, 4 KiB random reads", "20.0")
    assert "highest of several texts" in key.context


def test_a_key_number_names_the_text_that_gives_it(make: Any, tmp_path: Path) -> None:
    for name, iops in (("slow", 1e4), ("quick", 2e4)):
        text = make.fio_text({"read": (iops, 90.0)}, bs="4k", rw="randread", iodepth=1)
        (tmp_path / f"{name}.json").write_text(text)
    path = tmp_path / "a.db"
    assert (
        CliRunner().invoke(cli, ["parse", *map(str, tmp_path.glob("*.json")), "-o", str(path)]).exit_code == 0
    )

    (key,) = build.build(load([path])).key_numbers

    assert (key.value, key.context) == (
        "20.0",
        "randread, iodepth 1, source quick.json, mean latency 90.0 µs; highest of several texts",
    )


def test_reads_in_order_and_at_random_have_names_of_their_own(make: Any, tmp_path: Path) -> None:
    """Both were "read" beside the tails, and one curve took the other's place."""
    document = json.loads(TEXTS["jsonplus_two_jobs_lat"].read_text())
    cells = []
    for rw in ("read", "randread"):
        for job in document["jobs"]:
            job["job options"]["rw"] = rw
        cells.append(({"rw": rw, "iodepth": 1}, json.dumps(document)))

    _, tails = figures(fio(make, tmp_path / "f.db", cells), "fio")

    points = tails.panels[0].wide["datasets"]["points"]
    assert {row["series"] for row in points} == {"read, depth 1", "randread, depth 1"}


def test_an_access_that_the_timer_hides_is_a_bound(make: Any, tmp_path: Path) -> None:
    """The timer takes 20 ns: a median of 39 ns is not resolved, one of 42 ns is."""
    maker = make.Maker(tmp_path / "f.db")
    for size, median in ((1000, 39.0), (2**20, 42.0), (2**30, 270.4)):
        maker.add("memory", "poke", {"target": "memory", "bytes": size}, make.poke_text(make.sample(20_000, median)), axes=("bytes",))  # fmt: skip

    built = build.build(load([maker.write()]))

    drawn = {f.id: f for s in built.sections for b in s.blocks for f in b.figures}
    assert column(drawn["overview"].numbers[0], "Time") == ["≤ 39.0 ns", "42.0 ns", "270 ns"]
    assert (
        drawn["overview"].title
        == "One access: at most 39.0 ns in the median (Memory, 1 kB) to 270 ns (Memory, 1 GiB)"
    )
    assert "the timer’s own cost in it (20 ns, in steps of 0.5 ns)" in drawn["tail-memory"].sub


def test_a_quantile_that_some_repeats_have_stands_in_no_row(make: Any, tmp_path: Path) -> None:
    """The p99.9 of the one long repeat lay below the p99 of both."""
    maker = make.Maker(tmp_path / "f.db")
    for n, median in ((20_000, 100), (9_000, 1000)):
        options = {"target": "memory", "bytes": 2**20, "count": 20_000}
        maker.add("s", "poke", options, make.poke_text(make.sample(n, median)), axes=("bytes",))
    path = maker.write()

    (figure,) = figures(path, "poke")

    (table,) = figure.numbers
    assert column(table, "99.9 %") == [fmt.NOTHING]
    assert column(table, "99 %") != [fmt.NOTHING]
    assert "ten samples of each run lie beyond it" in table.caption


def test_a_key_number_names_the_place_and_the_axes_of_its_cell(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for place, direct, iops in (("local", 1, 1e4), ("remote", 1, 2e4), ("remote", 0, 1e3)):
        text = make.fio_text({"read": (iops, 90.0)}, bs="4k", rw="randread", iodepth=1)
        options = {"rw": "randread", "bs": "4k", "iodepth": 1, "direct": direct}
        maker.add("s", "fio", options, text, axes=("direct",), place=place, relation=place)

    (key,) = build.build(load([maker.write()])).key_numbers

    assert key.context == "randread, iodepth 1, direct, remote, mean latency 90.0 µs"


def test_a_mix_whose_parts_fio_put_together_has_a_name(make: Any, tmp_path: Path) -> None:
    document = json.loads(make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randrw", iodepth=1))
    (job,) = document["jobs"]
    job["mixed"] = job.pop("read")
    del job["write"], job["trim"]
    options = {"rw": "randrw", "bs": "4k", "iodepth": 1, "unified_rw_reporting": 1}
    path = make.Maker(tmp_path / "f.db").add("s", "fio", options, json.dumps(document)).write()

    built = build.build(load([path]))

    (figure,) = figures(path, "fio")
    assert figure.numbers[0].rows[0][0] == "randrw 50:50"
    assert "Dashed" not in figure.sub
    assert [key.name for key in built.key_numbers] == ["Storage, 4 KiB I/Os"]


def test_a_text_without_latencies_does_not_name_those_of_others(make: Any, tmp_path: Path) -> None:
    """Beside one with `disable_lat=1` completion latencies were called latencies."""
    for name, depth in (("a", 1), ("b", 4)):
        told = json.loads(make.fio_text({"read": (1000.0, 90.0)}, bs="4k", rw="randread", iodepth=depth))
        (job,) = told["jobs"]
        if name == "b":
            job["read"] |= {
                of: {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
                for of in ("slat_ns", "clat_ns", "lat_ns")
            }
        else:
            job["read"]["clat_ns"] = {**job["read"]["lat_ns"], "mean": 80e3}
            job["read"]["lat_ns"].pop("percentile", None)
        (tmp_path / f"{name}.json").write_text(json.dumps(told))

    figure, *_ = figures(taken_all(tmp_path), "fio")

    assert "Completion latency (clat): " in figure.sub
    assert any("clat" in name for name in figure.numbers[0].columns)


def test_a_mix_that_nobody_asked_for_is_not_missed(make: Any, tmp_path: Path) -> None:
    """A captured document need not print the options of all of its jobs."""
    text = make.fio_text({"read": (9000.0, 90.0), "write": (1000.0, 90.0)}, bs="4k", rw="rw", iodepth=1)
    (tmp_path / "mix.json").write_text(text)
    results = load([taken(tmp_path / "mix.json", tmp_path)])
    told = json.loads(text)
    told["jobs"][0]["job options"]["rwmixread"] = "70"
    (tmp_path / "told.json").write_text(json.dumps(told))

    assert not [f for f in audit.audit(results) if f.id == "F8"]
    asked = load([taken(tmp_path / "told.json", tmp_path)])
    assert [f.title for f in audit.audit(asked) if f.id == "F8"]


def test_jobs_that_a_document_put_together_are_not_one(make: Any, tmp_path: Path) -> None:
    document = json.loads(make.fio_text({"read": (9000.0, 90.0)}, bs="4k", rw="read", iodepth=1))
    (job,) = document["jobs"]
    del job["job options"]["numjobs"]
    for name, runtime, said in (("three", 3 * job["read"]["runtime"], "number of jobs not said"), ("one", job["read"]["runtime"], "1 job")):  # fmt: skip
        job["job options"]["group_reporting"] = ""
        job["job_runtime"] = runtime
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.json").write_text(json.dumps(document))

        figure, *_ = figures(taken(tmp_path / name / "a.json", tmp_path / name), "fio")

        assert said in figure.sub


def test_the_same_access_in_two_sweeps_is_two_rows_with_names(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for sweep, direct, iops in (("device", 1, 1e4), ("cache", 0, 1e5)):
        text = make.fio_text({"read": (iops, 1e6 / iops)}, bs="4k", rw="randread", iodepth=1)
        maker.add(sweep, "fio", {"rw": "randread", "bs": "4k", "iodepth": 1, "direct": direct}, text)

    built = build.build(load([maker.write()]))

    (overview,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id == "overview"]
    assert column(overview.numbers[0], "Access") == [
        "4 KiB read, iodepth 1, through the page cache",
        "4 KiB read, iodepth 1, direct",
    ]


def test_blocks_of_many_sizes_are_not_fios_own(make: Any, tmp_path: Path) -> None:
    """Of `bssplit: 4k/50:64k/50` a key number said "4 KiB reads"."""
    text = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1)
    options = {"rw": "randread", "bssplit": "4k/50:64k/50", "iodepth": 1}
    cells = [(options, text.replace('"bs": "4k"', '"bssplit": "4k/50:64k/50"'))]

    built = build.build(load([fio(make, tmp_path / "f.db", cells)]))

    assert [key.name for key in built.key_numbers] == ["Storage, random reads"]
    assert "4 KiB" not in str([f for s in built.sections for b in s.blocks for f in b.figures])


def test_no_panel_joins_points_across_a_depth_that_was_not_run(make: Any, tmp_path: Path) -> None:
    """Latency over IOPS of a sweep that was half done went straight from depth 1 to 16; the other panels left the gap."""
    maker = make.Maker(tmp_path / "f.db")
    for rw, depths in (("randread", (1, 16)), ("randwrite", (1, 4, 16))):
        for depth in depths:
            text = make.fio_text(
                {rw.removeprefix("rand"): (1e4 * depth, 50.0 * depth)}, bs="4k", rw=rw, iodepth=depth
            )
            maker.add("s", "fio", {"rw": rw, "bs": "4k", "iodepth": depth}, text, axes=("rw", "iodepth"))

    figure = figures(maker.write(), "fio")[0]

    for panel in figure.panels:
        points = panel.wide["datasets"]["points"]
        assert [row["segment"] for row in points] == [0, 1, 0, 0, 0], panel.title


def test_a_cross_is_of_the_panel_that_it_stands_in(make: Any, tmp_path: Path) -> None:
    """An engine that failed everywhere is no depth at which the other one failed."""
    maker = make.Maker(tmp_path / "f.db")
    for engine, status, depths in (("libaio", "ok", (1, 4, 16)), ("rados", "failed", (1, 4)), ("libaio", "failed", (64,))):  # fmt: skip
        for depth in depths:
            options = {"rw": "randread", "bs": "4k", "ioengine": engine, "iodepth": depth}
            text = make.fio_text({"read": (1e4 * depth, 90.0)}, bs="4k", rw="randread", iodepth=depth)
            maker.add(
                "s",
                "fio",
                options,
                text if status == "ok" else "",
                axes=("ioengine", "iodepth"),
                status=status,
            )

    figure = figures(maker.write(), "fio")[0]

    assert {row["x"] for panel in figure.panels for row in panel.wide["datasets"].get("crosses", ())} == {64}


def test_a_tail_without_a_median_is_described_without_one(make: Any, tmp_path: Path) -> None:
    path = (
        make.Maker(tmp_path / "p.db")
        .add("s", "poke", {"target": "memory"}, make.poke_text(make.sample(12)))
        .write()
    )

    (figure,) = figures(path, "poke")

    assert "median" not in figure.panels[0].description


def sections(make: Any, *told: str) -> str:
    """A captured document of two sections of a job file, of which group_reporting prints the options of one."""
    document = json.loads(make.fio_text({"read": (9000.0, 90.0), "write": (3000.0, 90.0)}, bs="64k", rw="randwrite", iodepth=2))  # fmt: skip
    (job,) = document["jobs"]
    del job["job options"]["numjobs"]
    job["job options"] |= dict.fromkeys(told, "crc32c")
    job["job_runtime"] = 2 * job["read"]["runtime"]
    return json.dumps(document)


def test_sections_that_fio_put_together_do_not_have_the_options_of_one(make: Any, tmp_path: Path) -> None:
    """Reads of another section were "verify reads" at depth 2, in blocks of 64 KiB, by 1 job."""
    (tmp_path / "a.json").write_text(sections(make))
    path = taken(tmp_path / "a.json", tmp_path)

    built = build.build(load([path]))

    figure = figures(path, "fio")[0]
    assert [table.rows[0][:2] for table in figure.tables] == [("reads", fmt.NOTHING)] * 2
    assert "number of jobs not said" in figure.sub
    assert "verifies" not in figure.sub
    assert [(key.name, key.context) for key in built.key_numbers] == [("Storage, reads", "reads, mean latency 90.0 µs")]  # fmt: skip
    assert not [f for f in audit.audit(load([path])) if f.id == "F3"]


def test_what_was_verified_is_one_section(make: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(sections(make, "verify"))

    figure, *_ = figures(taken(tmp_path / "a.json", tmp_path), "fio")

    assert "Reads with which a write verifies what it wrote are in the numbers only." in figure.sub


def test_writes_and_trims_of_one_job_are_two_series(make: Any, tmp_path: Path) -> None:
    text = make.fio_text({"write": (1e4, 90.0), "trim": (1e4, 80.0)}, bs="4k,8k", rw="trimwrite", iodepth=1)
    options = {"rw": "trimwrite", "bs": "4k,8k", "iodepth": 1, "ioengine": "libaio"}
    path = make.Maker(tmp_path / "f.db").add("s", "fio", options, text).write()

    (key,) = build.build(load([path])).key_numbers

    figure, *_ = figures(path, "fio")
    assert column(figure.numbers[0], "Access") == ["trimwrite, trims", "trimwrite, writes"]
    assert "Dashed: a mix, split into its trims and writes." in figure.sub
    assert key.name == "Storage, 8 KiB trims"


def test_a_column_of_a_table_tells_the_direction(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(
        "rw bs iodepth iops lat\nrandread 4k 1 10000 100\nrandread 4k 2 20000 100\nrandwrite 4k 1 7000 100\n"
    )
    path, told = tmp_path / "t.db", "rw, bs, iodepth, iops, lat[us]"

    done = CliRunner().invoke(
        cli, ["parse", "table", str(tmp_path / "t.txt"), "--tool", "fio", "--columns", told, "-o", str(path)]
    )

    assert done.exit_code == 0, done.output
    (figure,) = figures(path, "fio")
    assert [key.name for key in figure.key] == ["randread", "randwrite"]


def test_the_depth_of_an_engine_that_waits_is_said_to_be_none(make: Any, tmp_path: Path) -> None:
    contexts = []
    for engine in ("psync", "libaio"):
        options = {"rw": "randread", "bs": "4k", "ioengine": engine, "iodepth": 128}
        text = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=128)
        path = make.Maker(tmp_path / f"{engine}.db").add("s", "fio", options, text).write()
        (number,) = build.build(load([path])).key_numbers
        contexts.append(number.context)

    assert contexts[0].startswith("randread, iodepth 128 (one in flight a job), mean")
    assert contexts[1].startswith("randread, iodepth 128, mean")


def test_a_key_number_is_the_best_of_its_name_in_all_sweeps(make: Any, tmp_path: Path) -> None:
    """The direct sweep is best at 64 KiB; its 4 KiB reads are faster than the buffered sweep's all the same."""
    maker = make.Maker(tmp_path / "f.db")
    for sweep, direct, rates in (("direct", 1, {"4k": 5e4, "64k": 8e4}), ("buffered", 0, {"4k": 2e4})):
        for bs, rate in rates.items():
            options = {"rw": "randread", "bs": bs, "iodepth": 4, "direct": direct}
            text = make.fio_text({"read": (rate, 90.0)}, bs=bs, rw="randread", iodepth=4)
            maker.add(sweep, "fio", options, text, axes=("bs",))
    path = maker.write()

    told = {n.name: (n.value, n.context) for n in build.build(load([path])).key_numbers}

    assert told["Storage, 64 KiB random reads"][0] == "80.0"
    assert told["Storage, 4 KiB random reads"][0] == "50.0"
    assert told["Storage, 4 KiB random reads"][1].startswith("randread, iodepth 4, direct, mean")


def test_a_table_says_how_many_jobs_where_no_panel_does(make: Any, tmp_path: Path) -> None:
    """Panels of captured texts are named by three options: rows of 64 jobs stood under a caption that said 1 job of those drawn."""
    for n, iops in enumerate((1e4, 64e4, 2e4)):
        many = iops > 1e5
        text = make.fio_text({"read": (iops, 90.0)}, bs="8k" if many else "4k", rw="randread", iodepth=1)
        document = json.loads(text)
        told = document["jobs"][0]["job options"]
        del told["numjobs"]  # of one job nobody writes it
        told |= {"size": "2g", "runtime": "9", "numjobs": "64"} if many else {"size": "1g", "runtime": "8"}
        (tmp_path / f"{n}.json").write_text(json.dumps(document), encoding="utf-8")

    figure, *_ = figures(taken_all(tmp_path), "fio")

    for table in figure.numbers:
        assert sorted(zip(column(table, "Jobs"), column(table, "IOPS"), strict=True)) == [
            ("1", "10\u202f000"), ("1", "20\u202f000"), ("64", "640\u202f000"),
        ]  # fmt: skip


def test_a_legend_and_a_caption_are_of_what_is_drawn(make: Any, tmp_path: Path) -> None:
    """Of many texts the first are drawn: the legend has their series, and no mix of theirs lacks its share."""
    mix = make.fio_text({"read": (900.0, 90.0), "write": (900.0, 90.0)}, bs="4k", rw="randrw", iodepth=1)
    reads = [
        make.fio_text({"read": (1e3 * n, 90.0)}, bs="4k", rw="randread", iodepth=1) for n in range(1, 25)
    ]
    for n, text in enumerate([*reads, mix]):
        (tmp_path / f"{n:02}.json").write_text(text, encoding="utf-8")

    figure, *_ = figures(taken_all(tmp_path), "fio")

    assert "1 more panel" in figure.sub
    assert figure.key == ()
    assert "Where no share of reads stands, the text does not say it." in figure.sub
    assert "The share of reads in the mix is not said." not in figure.sub


def test_cells_that_nothing_joins_are_rows_behind_the_curves(make: Any, tmp_path: Path) -> None:
    """Twelve panels of one dot each stood before the ones that tell something, which were in the numbers only."""
    maker = make.Maker(tmp_path / "r.db")
    sizes = {"4k": (1,), "8k": (32,), "16k": (1,), "64k": (1, 8)}
    for bs, depth in ((bs, depth) for bs, depths in sizes.items() for depth in depths):
        for rw, way in (("randread", "read"), ("randwrite", "write")):
            options = {"bs": bs, "rw": rw, "iodepth": depth}
            text = make.fio_text({way: (1000.0 * depth, 100.0)}, **options)
            maker.add("s", "fio", options, text, axes=("bs", "rw", "iodepth"))

    drawn = next(f for f in figures(maker.write(), "fio") if f.panels)

    curves = [p.title for p in drawn.panels if "points" in p.wide["datasets"]]
    assert {title.split(",")[0] for title in curves} == {"64 KiB blocks"}
    dots = drawn.panels[len(curves) :]
    assert [p.title for p in dots] == ["IOPS", "Bandwidth", "Median latency", "p99 latency"]
    rows = dots[0].wide["datasets"]["rows"]
    assert [(row["name"], row["text"], row["series"]) for row in rows] == [
        (f"{bs} KiB blocks, {way}, iodepth {depth}", f"{depth}.00 kIOPS" if depth < 10 else "32.0 kIOPS", f"{way}s")
        for bs, depth in ((4, 1), (8, 32), (16, 1))
        for way in ("read", "write")
    ]  # fmt: skip
    scale = dots[0].wide["encoding"]["color"]["scale"]
    assert (scale["domain"], tuple(scale["range"])) == (["reads", "writes"], vega.SERIES[:2])


def test_a_timer_that_differs_between_runs_is_a_range(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for size, cost in ((2**20, "20.0"), (2**30, "30.0")):
        text = make.poke_text(make.sample(20_000, 270.4)).replace(
            '"overhead_ns": 20.0', f'"overhead_ns": {cost}'
        )
        maker.add("memory", "poke", {"target": "memory", "bytes": size}, text, axes=("bytes",))

    built = build.build(load([maker.write()]))

    (figure,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id == "tail-memory"]
    assert "the timer’s own cost in it (20 to 30 ns, in steps of 0.5 ns)" in figure.sub


def test_blocks_of_other_sizes_are_ranked_by_bandwidth(make: Any, tmp_path: Path) -> None:
    """Most IOPS are those of the smallest blocks: "best" is of one size, or of what was moved, and says so."""
    maker = make.Maker(tmp_path / "a.db")
    for bs, iops in (("4k", 40_000.0), ("64k", 9_000.0), ("1m", 1_000.0)):
        options = {"rw": "randread", "bs": bs, "iodepth": 8, "ioengine": "libaio", "direct": True}
        for of in (0.99, 1.0, 1.01):
            text = make.fio_text({"read": (of * iops, 8e6 / iops)}, bs=bs, rw="randread", iodepth=8)
            maker.add("disk", "fio", options, text, axes=("bs",))
    results = load([maker.write()])

    numbers = {n.name: (n.value, n.unit, n.context) for n in build.build(results).key_numbers}
    assert numbers == {
        "Storage, 4 KiB random reads": ("40.0", "kIOPS", "randread, iodepth 8, mean latency 200 µs"),
        "Storage bandwidth, 1 MiB random reads": ("1.05", "GB/s", "randread, iodepth 8, the most of all block sizes"),
    }  # fmt: skip


def test_blocks_of_one_size_are_ranked_by_iops(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for depth, iops in ((1, 9_000.0), (8, 40_000.0)):
        options = {"rw": "randread", "bs": "4k", "iodepth": depth, "ioengine": "libaio", "direct": True}
        maker.add("disk", "fio", options, make.fio_text({"read": (iops, depth * 1e6 / iops)}, bs="4k", rw="randread", iodepth=depth), axes=("iodepth",))  # fmt: skip
    results = load([maker.write()])

    assert [n.name for n in build.build(results).key_numbers] == ["Storage, 4 KiB random reads"]


# --- fio: panels beside each other -------------------------------------------------------------------------


@pytest.mark.parametrize(("large", "shared"), [(6e4, True), (2e4, False)])
def test_panels_of_iops_share_an_axis_unless_blocks_of_another_size_would_lie_low(
    make: Any, tmp_path: Path, large: float, shared: bool
) -> None:
    """64 KiB blocks were in the bottom fifth of the axis of 4 KiB; their bandwidths are compared on one."""
    maker = make.Maker(tmp_path / "r.db")
    for bs, iops in (("4k", 1e5), ("32k", large)):
        for depth in (1, 8):
            options = {"bs": bs, "rw": "randread", "iodepth": depth}
            text = make.fio_text({"read": (iops, 100.0)}, **options)
            maker.add("s", "fio", options, text, axes=("bs", "iodepth"))

    drawn = next(f for f in figures(maker.write(), "fio") if f.panels)
    tops = {
        p.title: p.wide["encoding"]["y"]["scale"]["domain"] for p in drawn.panels if p.title.endswith(" IOPS") and "over" not in p.title
    }  # fmt: skip
    assert len(tops) == 2
    assert (tops["4 KiB blocks, IOPS"] == tops["32 KiB blocks, IOPS"]) == shared
    assert ("The IOPS axes differ." in drawn.sub) != shared


@pytest.mark.parametrize(
    "kinds",
    [("read",), ("write",), ("randwrite", "read"), ("randread", "read", "randwrite", "write"), ("randrw", "write"), ("randread", "read", "randrw", "randwrite")],
)  # fmt: skip
def test_blue_is_reads_and_orange_writes_in_every_panel(
    make: Any, tmp_path: Path, kinds: tuple[str, ...]
) -> None:
    """Colours went by the order of the kinds: reads were orange beside writes that came first."""
    maker = make.Maker(tmp_path / "c.db")
    for rw, depth in itertools.product(kinds, (1, 8)):
        ways = ["read"] * (rw not in ("randwrite", "write")) + ["write"] * (rw not in ("randread", "read"))
        for bs in ("4k", "64k"):
            own = {"bs": bs, "rw": rw, "iodepth": depth}
            text = make.fio_text(dict.fromkeys(ways, (1000.0 * depth, 100.0)), **own)
            maker.add("s", "fio", own, text, axes=("bs", "rw", "iodepth"))

    panels = [p for f in figures(maker.write(), "fio") if not f.id.startswith("fio-fan") for p in f.panels]

    assert panels
    for panel in panels:
        scale = panel.wide["encoding"]["color"]["scale"]
        by_name = dict(zip(scale["domain"], scale["range"], strict=True))
        for own, others in ((vega.SERIES[0], "write"), (vega.SERIES[1], "read")):
            assert not [n for n, colour in by_name.items() if colour == own and _direction(n) == others]
            if {_direction(n) for n in by_name} - {others}:
                assert own in by_name.values()


@pytest.mark.parametrize(("log", "window", "id"), [("lat", 0, "fio-time-s"), ("iops", 1000, "fio-windows-s")])
def test_hue_is_the_direction_and_dash_or_shade_the_rest(
    make: Any, tmp_path: Path, log: str, window: int, id: str
) -> None:
    """A mix’s reads were green and its writes purple, and so were depths of a tail; over time reads of depth 32 were orange."""
    maker = make.Maker(tmp_path / "c.db")
    for rw, depth in itertools.product(("randread", "randwrite", "randrw"), (1, 8)):
        ways = {"randread": ("read",), "randwrite": ("write",)}.get(rw, ("read", "write"))
        document = json.loads(make.fio_text(dict.fromkeys(ways, (1000.0 * depth, 100.0)), bs="4k", rw=rw, iodepth=depth))  # fmt: skip
        for way in ways:
            document["jobs"][0][way]["lat_ns"]["bins"] = {"90000": 600, "110000": 600}
        document["jobs"][0]["job options"] |= {"log_avg_msec": str(window)} if window else {}
        lines = [(t, way) for way in ways for t in range(1000, 6000, window or 100)]
        logs = f"\n==> fio_{log}.1.log <==\n" + "".join(
            f"{t}, 100000, {way == 'write':d}, {0 if window else 4096}, 0\n" for t, way in lines
        )
        maker.add("s", "fio", {"rw": rw, "bs": "4k", "iodepth": depth}, json.dumps(document) + logs, axes=("rw", "iodepth"))  # fmt: skip
    drawn = {f.id: f for f in figures(maker.write(), "fio")}

    hues = {"read": vega.BLUES, "write": vega.ORANGES}
    assert {"fio-s", "fio-tail-s", id} <= set(drawn)
    for name, figure in drawn.items():
        for panel in figure.panels if not name.startswith("fio-fan") else ():
            scale = panel.wide["encoding"]["color"]["scale"]
            for series, colour in zip(scale["domain"], scale["range"], strict=True):
                assert colour in (*hues[_direction(series or panel.title.lower())], vega.GREY)
    mixed = {key.name: (key.colour, key.dashed) for key in drawn["fio-s"].key}
    assert mixed["randrw 50:50, reads"] == (vega.SERIES[0], True)
    assert mixed["randrw 50:50, writes"] == (vega.SERIES[1], True)


def _direction(series: str) -> str:
    """ "randrw 50:50, writes" writes."""
    return "write" if "write" in series else "read"


def test_tails_that_are_called_alike_are_drawn(make: Any, tmp_path: Path) -> None:
    """Of repeats that have different numbers of jobs two tails had one name, one colour, and there was no page."""
    document = json.loads((FIXTURES / "jsonplus_two_jobs.out").read_text())
    maker = make.Maker(tmp_path / "r.db")
    for jobs in (2, 3):
        text = json.dumps(
            {**document, "jobs": [{**document["jobs"][0], "jobname": f"job{n}"} for n in range(jobs)]}
        )
        maker.add("s", "fio", {"rw": "randread", "bs": "64k", "size": "1M", "ioengine": "psync"}, text)

    (tails,) = [f for f in figures(maker.write(), "fio") if f.id.startswith("fio-tail")]

    assert all(panel.wide for panel in tails.panels)
