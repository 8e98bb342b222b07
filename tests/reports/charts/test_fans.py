"""fio's percentiles over iodepth: a fan a kind of access, and a limit that is judged at tested depths only."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reports.charts.fio import chapter
from reports.draw import vega
from reports.draw.figure import Figure
from reports.draw.label_placement import text_width
from reports.results.load import load


def swept(
    make: Any,
    path: Path,
    p99: dict[int, float],
    *,
    kinds: tuple[str, ...] = ("randread",),
    host: str = "node07",
    failed: Sequence[tuple[str, int]] = (),
    ios: int | Mapping[str, int] = 1_000_000,
) -> tuple[Figure, ...]:
    """p99: iodepth → µs; p50 is half of it, p90 0.8 of it, p99.9 twice and p99.99 four times; two repeats, IOPS 1000 × depth.
    ios: I/Os at depth 1, of all kinds or of each, of the other depths a million."""
    maker = make.Maker(path, host=host)
    for rw in kinds:
        for depth, tail in p99.items():
            for wobble in (0.99, 1.01):
                document = json.loads(
                    make.fio_text({"read": (1000.0 * depth * wobble, tail)}, bs="4k", rw=rw, iodepth=depth)
                )
                shares = {"50": 0.5, "90": 0.8, "99": 1.0, "99.9": 2.0, "99.99": 4.0}
                read = document["jobs"][0]["read"]
                few = ios if isinstance(ios, int) else ios[rw]
                read["total_ios"] = read["lat_ns"]["N"] = few if depth == 1 else 1_000_000
                read["lat_ns"]["percentile"] = {
                    f"{float(q):.6f}": round(tail * 1e3 * k * wobble) for q, k in shares.items()
                }
                maker.add(
                    "s",
                    "fio",
                    {"rw": rw, "bs": "4k", "iodepth": depth},
                    json.dumps(document),
                    axes=("rw", "iodepth"),
                )
    for rw, depth in failed:
        options = {"rw": rw, "bs": "4k", "iodepth": depth}
        maker.add("s", "fio", options, "", axes=("rw", "iodepth"), status="timeout", reason="still running after 60 s")  # fmt: skip
    return chapter(load([maker.write()])).figures


TAILS = {1: 90.0, 4: 200.0, 16: 700.0, 64: 3000.0}


def test_a_depth_that_gave_no_number_is_a_cross_in_the_panel_of_its_kind(make: Any, tmp_path: Path) -> None:
    """The panels ended at the last depth that gave one, as if no other had been tried."""
    _, fan = swept(make, tmp_path / "f.db", TAILS, kinds=("randread", "read"), failed=[("read", 256)])

    by_title = {panel.title: panel.wide for panel in fan.panels}
    assert [cross["tip"] for cross in by_title["Read"]["datasets"]["crosses"]] == [
        "read, iodepth 256 · no number: still running after 60 s"
    ]
    assert not by_title["Randread"]["datasets"]["crosses"]
    assert by_title["Read"]["encoding"]["x"]["axis"]["values"] == [1, 4, 16, 64, 256]
    assert "Cross on the axis: a cell without a number." in fan.sub


def test_a_fan_has_five_percentiles_over_the_tested_depths(make: Any, tmp_path: Path) -> None:
    _, fan = swept(make, tmp_path / "f.db", TAILS, kinds=("randread", "read"))

    assert [panel.title for panel in fan.panels] == ["Randread", "Read"]
    for panel in fan.panels:
        for spec in (panel.wide, panel.narrow):
            assert [n["text"] for n in spec["datasets"]["names"]] == ["p50", "p90", "p99", "p99.9", "p99.99"]
            assert {r["x"] for r in spec["datasets"]["points"]} == set(TAILS)
            assert spec["encoding"]["x"]["axis"]["values"] == [*TAILS]
            vega.draw(spec, "x", "")
    assert len({str(panel.wide["encoding"]["y"]["scale"]) for panel in fan.panels}) == 1


def test_a_percentile_of_one_depth_is_told_once(make: Any, tmp_path: Path) -> None:
    """ "p99.9: 400 µs at depth 4, 400 µs at 4." was told of one point."""
    _, fan = swept(make, tmp_path / "f.db", {1: 90.0, 4: 200.0}, ios=5000)

    said = fan.panels[0].description
    assert "p99: 90.0 µs at depth 1, 200 µs at depth 4." in said
    assert "p99.9: 400 µs at depth 4. " in said


def test_a_fan_is_drawn_as_far_as_its_runs_tell_and_what_they_lack_is_named(
    make: Any, tmp_path: Path
) -> None:
    """Cells with a median and no p99 were in no panel, no table and no word; one of them takes no limit for its own."""
    first, fan = swept(make, tmp_path / "f.db", {1: 90.0, 4: 200.0, 16: 20e3}, kinds=("randread", "read"), ios={"randread": 500, "read": 10})  # fmt: skip

    by_title = {panel.title: panel.wide["datasets"]["points"] for panel in fan.panels}
    drawn = {(title, row["series"], row["x"]) for title, points in by_title.items() for row in points}
    assert {("Randread", "p50", 1), ("Randread", "p90", 1)} <= drawn
    assert ("Read", "p50", 4) in drawn
    assert not {("Randread", "p99", 1), ("Read", "p50", 1)} & drawn
    assert "Too few I/Os in a run: for p99 of randread, depth 1; for the median of read, depth 1." in fan.sub
    assert [row[:2] for row in fan.numbers[0].rows] == [("randread", d) for d in ("1", "4", "16")] + [("read", d) for d in ("4", "16")]  # fmt: skip
    assert fan.numbers[0].rows[0][fan.numbers[0].columns.index("p99, µs")] == "–"
    assert "Where no p99 stands, a run has too few I/Os." in first.sub


def test_a_kind_of_one_depth_is_said_to_be_in_the_numbers_only(make: Any, tmp_path: Path) -> None:
    """The table had a row of it, and nothing told why there was no panel."""
    maker = make.Maker(tmp_path / "f.db")
    for rw, depths in (("randread", (1, 4)), ("write", (1,))):
        for depth in depths:
            text = make.fio_text(
                {rw.removeprefix("rand"): (1000.0 * depth, 90.0)}, bs="4k", rw=rw, iodepth=depth
            )
            maker.add("s", "fio", {"rw": rw, "bs": "4k", "iodepth": depth}, text, axes=("rw", "iodepth"))
    _, fan = chapter(load([maker.write()])).figures

    assert [panel.title for panel in fan.panels] == ["Randread"]
    assert "write" in [row[0] for row in fan.numbers[0].rows]
    assert fan.sub.endswith("Of one depth, in the numbers only: write.")


def test_a_host_is_called_as_it_is(make: Any, tmp_path: Path) -> None:
    """ "Node07, randread: p99 within …" was the title of node07's."""
    paths = [tmp_path / "a.db", tmp_path / "b.db"]
    for path, host in zip(paths, ("vm", "node07"), strict=True):
        swept(make, path, TAILS, host=host)
    _, fan = chapter(load(paths)).figures

    assert [panel.title for panel in fan.panels] == ["vm, randread", "node07, randread"]
    assert fan.title.startswith("vm, randread: 1.00 kIOPS with p99 within ")


def test_the_most_within_the_limit_is_at_a_tested_depth(make: Any, tmp_path: Path) -> None:
    """Between 16 and 64 nobody knows: 32.5 kIOPS, interpolated, were never seen."""
    first, fan = swept(make, tmp_path / "f.db", TAILS)

    assert fan.title == "Randread: 1.00 kIOPS with p99 within 100 µs, at depth 1"
    (ring,) = fan.panels[0].wide["datasets"]["rings"]
    assert ring["x"] == 1
    offers = dict(zip(first.tables[0].columns, first.tables[0].rows[0], strict=True))
    assert offers["kIOPS at p99 ≤ 100 µs"] == "1.00 at 1"
    assert offers["kIOPS at p99 ≤ 1 ms"] == "16.0 at 16"
    assert "interpolated" not in first.tables[0].caption
    assert not fan.tables, "the limit is told once"


@pytest.mark.parametrize("tails", [{1: 90.0, 8: 95.0}, {1: 99.5, 8: 500.0}, {1: 2e4, 8: 3e4}])
def test_no_depth_is_named_where_the_limit_tells_none(make: Any, tmp_path: Path, tails: dict[int, float]) -> None:  # fmt: skip
    """Every depth keeps it, the repeats (1 % apart) differ, none keeps it."""
    _, fan = swept(make, tmp_path / "f.db", tails)

    assert fan.title == "p99 is 2.00 × the median"
    assert not fan.panels[0].wide["datasets"]["rings"]


def test_title_and_ring_are_of_what_every_repeat_keeps(make: Any, tmp_path: Path) -> None:
    """A panel whose repeats keep the limit at depth 1, and one of them at 4, too, had no ring, and the title was of the only panel in which they agree."""
    maker = make.Maker(tmp_path / "f.db")
    p99 = {("randread", 1): (100, 110), ("randread", 4): (200, 1800), ("randwrite", 1): (500, 600), ("randwrite", 4): (5e3, 6e3)}  # fmt: skip
    for (rw, depth), tails in p99.items():
        for tail in tails:
            document = json.loads(make.fio_text({rw[4:]: (1000.0 * depth, tail / 2)}, bs="4k", rw=rw, iodepth=depth))  # fmt: skip
            document["jobs"][0][rw[4:]]["lat_ns"]["percentile"] = {f"{q:.6f}": tail * k for q, k in ((50, 5e2), (90, 8e2), (99, 1e3))}  # fmt: skip
            maker.add("s", "fio", {"rw": rw, "bs": "4k", "iodepth": depth}, json.dumps(document), axes=("rw", "iodepth"))  # fmt: skip
    first, fan = chapter(load([maker.write()])).figures

    assert fan.title == "Randread: 1.00 kIOPS with p99 within 1 ms, at depth 1"
    assert [[ring["x"] for ring in p.wide["datasets"]["rings"]] for p in fan.panels] == [[1], [1]]
    assert [note["text"] for note in fan.panels[0].wide["datasets"]["notes"]] == ["1.00 kIOPS at 1"]
    (offers,) = first.tables
    assert [row[offers.columns.index("kIOPS at p99 ≤ 1 ms")] for row in offers.rows] == ["1.00 at 1", "1.00 at 1"]  # fmt: skip
    assert "keeps it in every repeat that with the most IOPS. " in fan.sub


def test_bandwidth_is_no_second_picture_of_iops_of_one_size(make: Any, tmp_path: Path) -> None:
    """With one block size the panel of bandwidth was that of IOPS, × 4 KiB."""
    maker = make.Maker(tmp_path / "f.db")
    for depth in (1, 8):
        document = json.loads(make.fio_text(dict.fromkeys(("read", "write"), (100.0 * depth, 90.0)), bs="4k", rw="randrw", iodepth=depth))  # fmt: skip
        for way in ("read", "write"):
            document["jobs"][0][way]["bw_bytes"] = 100 * depth * 4096
        maker.add("s", "fio", {"rw": "randrw", "bs": "4k", "iodepth": depth}, json.dumps(document), axes=("iodepth",))  # fmt: skip
    first, *_ = chapter(load([maker.write()])).figures

    assert [panel.title for panel in first.panels] == ["IOPS", "Latency", "Latency over IOPS"]
    assert "Bandwidth, in the numbers, is IOPS × 4 KiB." in first.sub
    dashes = {row["series"]: row["dashed"] for row in first.panels[0].wide["datasets"]["points"]}
    assert dashes == {"randrw 50:50, reads": True, "randrw 50:50, writes": "between"}, "one lies on the other"


def test_bandwidth_stands_beside_iops_panel_by_panel(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for bs, size in (("4k", 4096), ("64k", 65536)):
        for depth in (1, 8):
            document = json.loads(
                make.fio_text({"read": (100.0 * depth, 90.0)}, bs=bs, rw="randread", iodepth=depth)
            )
            document["jobs"][0]["read"]["bw_bytes"] = 100 * depth * size
            maker.add(
                "s",
                "fio",
                {"rw": "randread", "bs": bs, "iodepth": depth},
                json.dumps(document),
                axes=("bs", "iodepth"),
            )
    first, *_ = chapter(load([maker.write()])).figures

    assert [panel.title for panel in first.panels] == [
        f"{bs} blocks, {what}" for bs in ("4 KiB", "64 KiB") for what in ("IOPS", "bandwidth", "latency", "latency over IOPS")
    ]  # fmt: skip
    moved = [panel for panel in first.panels if panel.title.endswith("bandwidth")]
    assert moved[0].wide["encoding"]["y"]["scale"] == moved[1].wide["encoding"]["y"]["scale"]
    assert max(r["y"] for r in moved[1].wide["datasets"]["points"]) == pytest.approx(100 * 8 * 65536 / 1e6)


def test_a_single_run_has_bars_of_its_lowest_and_highest_sample(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for depth in (1, 8):
        text = make.fio_text(
            {"read": (1000.0 * depth, 90.0)},
            bs="4k",
            rw="randread",
            iodepth=depth,
            samples={"read": (800.0 * depth, 1300.0 * depth)},
        )
        maker.add("s", "fio", {"rw": "randread", "bs": "4k", "iodepth": depth}, text, axes=("iodepth",))
    first, *_ = chapter(load([maker.write()])).figures

    assert "Bars: lowest and highest IOPS sample of the run." in first.sub
    ranges = first.panels[0].wide["datasets"]["ranges"]
    assert [(r["x"], r["low"], r["high"]) for r in ranges] == [(1, 0.8, 1.3), (8, 6.4, 10.4)]
    drawn = vega.draw(first.panels[0].wide, "x", "")
    (whiskers,) = re.findall(r'stroke-width="1.5" d="(M[^"]*)"', drawn)
    assert whiskers.count("M") == 2


def test_a_cross_stands_in_the_fan_of_its_own_cell_alone(make: Any, tmp_path: Path) -> None:
    """A mix of half reads that gave no number had a cross at the mix of 70 % reads, too; and a name may not lie on it."""
    maker = make.Maker(tmp_path / "f.db")
    for share in (50, 70):
        for depth in (1, 4, 16):
            options = {"rw": "randrw", "bs": "4k", "iodepth": depth, "rwmixread": share}
            lost = (share, depth) == (50, 16)
            document = json.loads(make.fio_text({"read": (1e3 * depth, 90.0), "write": (1e3 * depth, 40.0)}, bs="4k", rw="randrw", iodepth=depth))  # fmt: skip
            for kind in ("read", "write"):
                document["jobs"][0][kind]["lat_ns"]["percentile"] = {
                    "50.000000": 9e4,
                    "99.000000": 2e5 * depth,
                }
            maker.add("s", "fio", options, "" if lost else json.dumps(document), axes=("iodepth", "rwmixread"), status="failed" if lost else "ok")  # fmt: skip

    _, fan = chapter(load([maker.write()])).figures

    crossed = {panel.title: len(panel.wide["datasets"]["crosses"]) for panel in fan.panels}
    assert crossed == {"Randrw 50:50, reads": 1, "Randrw 50:50, writes": 1, "Randrw 70:30, reads": 0, "Randrw 70:30, writes": 0}  # fmt: skip


def test_no_name_beside_a_line_lies_on_a_cross(make: Any, tmp_path: Path) -> None:
    """The name of a line that ends early stood among the crosses of the depths beyond."""
    maker = make.Maker(tmp_path / "f.db")
    for rw, ends, rate in (("randread", 64, 1e5), ("randwrite", 4, 2e3), ("read", 0, 0), ("write", 0, 0)):
        for depth in (1, 4, 16, 64):
            parts = {"read" if rw == "randread" else "write": (rate, 90.0)}
            text = make.fio_text(parts, bs="4k", rw=rw, iodepth=depth) if depth <= ends else ""
            maker.add("s", "fio", {"rw": rw, "bs": "4k", "iodepth": depth}, text, axes=("rw", "iodepth"), status="ok" if text else "failed")  # fmt: skip

    for spec in (chapter(load([maker.write()])).figures[0].panels[0].wide,):
        (low, high), top = (spec["encoding"][by]["scale"]["domain"] for by in ("x", "y"))
        (name,) = [row for row in spec["datasets"]["names"] if row["series"] == "randwrite"]
        x, end = (math.log(at / low) / math.log(high / low) * spec["width"] for at in (16, name["x"]))
        left, baseline = end + name["dx"], (1 - name["y"] / top[1]) * spec["height"] + name["dy"]
        beside = [c["y_px"] for c in spec["datasets"]["crosses"] if c["x"] == 16]
        assert len(beside) == 3
        if left - 4 < x < left + text_width(str(name["text"])) + 4:
            assert not [y for y in beside if baseline - 12 < y < baseline + 6]


def test_a_caption_lists_the_engines_the_ways_and_the_numbers_of_jobs(make: Any, tmp_path: Path) -> None:
    """ "libaio, 1 to 2 jobs" told neither that half of the cells went through the page cache nor that no cell has a number between."""
    maker = make.Maker(tmp_path / "f.db")
    for jobs, direct, engine in ((1, 1, "libaio"), (4, 1, "io_uring"), (1, 0, "libaio")):
        document = json.loads(
            make.fio_text({"read": (9e3, 90.0)}, bs="4k", rw="randread", iodepth=1, numjobs=jobs)
        )
        document["jobs"][0]["job options"] |= {"direct": str(direct), "ioengine": engine}
        options = {"rw": "randread", "numjobs": jobs, "direct": direct, "ioengine": engine}
        maker.add("s", "fio", options, json.dumps(document), axes=("numjobs", "direct", "ioengine"))

    figure = chapter(load([maker.write()])).figures[0]

    assert "; io_uring or libaio, direct or through the page cache, 1 or 4 jobs." in figure.sub


def test_of_limits_that_all_keep_everywhere_the_tightest_is_told(make: Any, tmp_path: Path) -> None:
    """Three columns said "≥ most"."""
    first, *_ = swept(make, tmp_path / "f.db", {1: 20.0, 4: 40.0}, kinds=("randread", "read"))

    (offers,) = first.tables
    assert [name for name in offers.columns if "≤" in name] == ["kIOPS at p99 ≤ 100 µs"]


def test_blocks_of_one_table_have_figures_in_its_unit(make: Any, tmp_path: Path) -> None:
    """16 MiB stood there with "0.0719" kIOPS."""
    maker = make.Maker(tmp_path / "f.db")
    for bs, rate in (("4k", 20e3), ("16M", 71.9)):
        for depth in (1, 4):
            text = make.fio_text({"read": (rate, 900.0)}, bs=bs, rw="read", iodepth=depth)
            maker.add("s", "fio", {"rw": "read", "bs": bs, "iodepth": depth}, text, axes=("bs", "iodepth"))
    first, *_ = chapter(load([maker.write()])).figures

    (offers,) = first.tables
    assert [row[offers.columns.index("Most IOPS")] for row in offers.rows] == ["20\u202f000", "71.9"]


def test_a_limit_is_not_kept_everywhere_where_a_depth_has_no_p99(make: Any, tmp_path: Path) -> None:
    """ "≥ most": kept at every depth, of which one had too few I/Os to tell."""
    first, fan = swept(make, tmp_path / "f.db", {1: 90.0, 4: 200.0, 16: 700.0}, ios=500)

    (offers,) = first.tables
    assert dict(zip(offers.columns, offers.rows[0], strict=True))["kIOPS at p99 ≤ 1 ms"] == "16.0 at 16"
    assert "≥" not in offers.caption
    assert fan.panels[0].wide["datasets"]["rings"]
