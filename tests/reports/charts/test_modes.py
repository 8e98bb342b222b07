"""Histograms of every size, what their peaks most likely are, and how much a cache held by the share that hit it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reports.charts import _tails, poke
from reports.charts._poke_modes import part
from reports.draw import label_placement
from reports.draw.figure import Figure
from reports.numbers import formulas
from reports.results.load import load

XML = """<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x1"
 complete_nodeset="0x1" allowed_nodeset="0x1"><object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" local_memory="17179869184"/>
<object type="Package" os_index="0" cpuset="0x3"><object type="L3Cache" cpuset="0x3" cache_size="33554432" depth="3" cache_type="0">
<object type="L2Cache" cpuset="0x3" cache_size="1048576" depth="2" cache_type="0"><object type="Core" os_index="0" cpuset="0x3">
<object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/></object></object></object></object></object></topology>"""


def figure(
    make: Any,
    path: Path,
    cells: Sequence[tuple[Mapping[str, Any], Mapping[float, int]]],
    repeats: int = 2,
    status: str = "ok",
) -> Figure:
    """A sweep of cells, each with its options and its samples: time in ns → how many."""
    maker = make.Maker(path)
    maker.topology = XML
    maker.facts = {**maker.facts, "memory_available_bytes": 6 * 2**30}
    for options, samples in cells:
        times = [time * (1 + 0.02 * (i % 3 - 1)) for time, n in samples.items() for i in range(n)]
        text = make.poke_text(times, target=options["target"], size=options["bytes"])
        for _ in range(repeats):
            maker.add("s", "poke", options, text, axes=("bytes", "window"), place="all", status=status)
    (found,) = (f for f in poke.chapter(load([maker.write()])).figures if f.id.startswith("tail-"))
    return found


FILE = {"target": "file", "bytes": 8 * 10**9}


def test_every_window_has_a_histogram_on_one_axis_of_time(make: Any, tmp_path: Path) -> None:
    cells = [({**FILE, "window": w}, {1500.0: 500, 80_000.0: 500}) for w in ("8GB", "512k", "256M")]
    found = figure(make, tmp_path / "r.db", cells)

    assert [p.title for p in found.panels[1:4]] == [
        f"Histogram, file, 8 GB, first {size}" for size in ("512 KiB", "256 MiB", "8 GB")
    ]
    domains = {json.dumps(p.wide["encoding"]["x"]["scale"]["domain"]) for p in found.panels[1:4]}
    assert len(domains) == 1


def test_the_page_cache_is_as_large_as_the_share_that_hit_it(make: Any, tmp_path: Path) -> None:
    """The post's sum: 6 % of the reads from 8 GB took 15 µs, so 500 MB of it were cached."""
    cells = [
        ({**FILE, "window": "8GB"}, {1500.0: 60, 80_000.0: 940}),
        ({**FILE, "bytes": 10**6, "direct": True}, {75_000.0: 1000}),
    ]
    found = figure(make, tmp_path / "r.db", cells)

    assert found.title == "File, 8 GB, first 8 GB: 6.0 % of the reads hit the page cache, so it held 480 MB"
    (table,) = found.tables
    cached, device = table.rows
    assert cached[2:] == ("6.0 %", "page cache", "480 MB", "at most 6 GiB")
    assert device[2:] == ("94 %", "the device (direct reads: 75.0 µs)", "–", "–")


def test_a_file_that_its_own_reads_fill_the_cache_with_tells_no_size(make: Any, tmp_path: Path) -> None:
    """200 misses of 4 KiB are 800 KiB: "it held 820 B" was said of a file of 1 KiB."""
    found = figure(make, tmp_path / "r.db", [({**FILE, "bytes": 1024}, {1500.0: 800, 80_000.0: 200})])

    assert "held" not in found.title
    assert {row[4] for row in found.tables[0].rows} == {"–"}


def test_what_one_repeat_alone_shows_is_no_title(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for hit in (60, 600):
        samples = [1500.0] * hit + [80_000.0] * (1000 - hit)
        maker.add("s", "poke", FILE, make.poke_text(samples, target="file", size=FILE["bytes"]))
    found = poke.chapter(load([maker.write()])).figures[0]

    assert "held" not in found.title


def test_no_mode_is_of_a_cache_that_has_no_room_for_it(make: Any, tmp_path: Path) -> None:
    """37 % of 16 MiB were “a smaller cache” beside an L2 of 1 MiB, and the others therefore all that L3 held."""
    memory = {"target": "memory", "bytes": 2**24}
    large, small = (
        [row[3:] for row in figure(make, tmp_path / name, [(memory, samples)]).tables[0].rows]
        for name, samples in (("r.db", {45.0: 370, 160.0: 630}), ("s.db", {45.0: 50, 160.0: 950}))
    )

    assert [row[0] for row in large] == ["–", "L3"]
    assert "L3 32 MiB" not in {cell for row in large for cell in row}
    assert [row[0] for row in small] == ["a smaller cache", "L3"]
    assert small[1] == ("L3", "15 MiB")


def test_a_part_of_an_array_is_no_size_of_a_cache_with_room_for_all_of_it(make: Any, tmp_path: Path) -> None:
    """ "22 KiB" of 500 KiB stood beside "L3 300 MiB", under a caption that called it how much the cache held."""
    memory = {"target": "memory", "bytes": 2**24}
    (table,) = figure(make, tmp_path / "r.db", [(memory, {45.0: 50, 160.0: 950})]).tables

    assert table.columns == ("Histogram", "Mode", "Share", "Most likely", "Of the data")
    assert "Of the data: share × size, the part that was found there" in table.caption
    assert "The machine tells" not in table.caption


def test_of_many_repeats_without_a_common_peak_the_range_is_told(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for at in (86, 96, 105, 141, 152, 165):
        maker.add("s", "poke", {"target": "memory", "bytes": 2**30}, make.poke_text([at * 1.5 ** (i / 600) for i in range(600)]), axes=("bytes",))  # fmt: skip
    (found,) = (f for f in poke.chapter(load([maker.write()])).figures if f.id.startswith("tail-"))

    assert [row[1:4] for t in found.tables for row in t.rows] == [
        ("–", "100 %", "no common peak; the repeats’ lie at 106 to 201 ns")
    ]


def test_peaks_of_disturbed_runs_are_not_explained(make: Any, tmp_path: Path) -> None:
    memory = {"target": "memory", "bytes": 2**24}
    found = figure(make, tmp_path / "r.db", [(memory, {45.0: 50, 160.0: 950})], status="disturbed")

    (table,) = found.tables
    assert [row[3] for row in table.rows] == ["–", "–"]


def test_a_mode_of_memory_is_the_cache_that_smaller_arrays_show(make: Any, tmp_path: Path) -> None:
    def array(size: int) -> dict[str, Any]:
        return {"target": "memory", "bytes": size}

    cells = [
        (array(2**19), {45.0: 1000}),  # the timer takes 20
        (array(2**24), {60.0: 1000}),
        (array(2**30), {61.0: 25, 120.0: 925, 300.0: 40, 2e6: 30}),
    ]
    found = figure(make, tmp_path / "r.db", cells)

    rows = {(row[0].removeprefix("memory, "), row[3]): row[4:] for row in found.tables[0].rows}
    assert rows["512 KiB", "L2"] == ("all 512 KiB", "–")
    assert rows["16 MiB", "L3"] == ("all 16 MiB", "–")
    assert rows["1 GiB", "L3"] == ("25 MiB", "L3 32 MiB")
    assert rows["1 GiB", "memory"] == ("–", "–")
    assert ("1 GiB", "memory, after a walk through the page tables") in rows
    assert ("1 GiB", "interrupted, by a page fault or by other work on this CPU") in rows
    assert found.title == "Memory, 1 GiB: 2.5 % of the reads hit L3, so it held 25 MiB"


def test_where_a_smaller_cache_may_hold_half_of_an_array_no_mode_has_a_place_of_its_own(
    make: Any, tmp_path: Path
) -> None:
    """1 MB beside an L2 of 1 MiB: its 45 ns were called L3, its 160 ns memory, and those of 256 MB nothing that a cache is."""
    cells = [
        ({"target": "memory", "bytes": 10**6}, {45.0: 790, 160.0: 210}),
        ({"target": "memory", "bytes": 256 * 10**6}, {175.0: 130, 340.0: 870}),
    ]
    found = figure(make, tmp_path / "r.db", cells)

    assert [row[3] for row in found.tables[0].rows] == [
        "L2 or L3", "a larger cache, or memory", "a cache, or its page’s translation at hand", "memory",
    ]  # fmt: skip


def test_a_read_is_told_by_reads(make: Any, tmp_path: Path) -> None:
    """A median of reads and writes in L3 together, 115 ns, was what a read of 175 ns had to be like."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = XML
    for op, size, times in (("read", 2**24, [170.0] * 1000), ("write", 2**24, [60.0] * 1000), ("read", 2**27, [175.0] * 200 + [350.0] * 800)):  # fmt: skip
        for _ in range(2):
            maker.add("s", "poke", {"target": "memory", "bytes": size, "op": op}, make.poke_text(times, size=size, op=op), axes=("bytes", "op"), place="all")  # fmt: skip
    (found,) = (f for f in poke.chapter(load([maker.write()])).figures if f.id.startswith("tail-"))

    assert [row[3] for row in found.tables[0].rows if row[0].startswith("memory, 128 MiB")] == [
        "L3",
        "memory",
    ]


@pytest.mark.parametrize(("size", "hits"), [(2**30, 50), (2**24, 600)])
def test_no_cache_is_said_to_hold_what_its_size_speaks_against(
    make: Any, tmp_path: Path, size: int, hits: int
) -> None:
    """50 MiB of 1 GiB are more than an L3 of 32 MiB; and of 16 MiB, which it has room for, it does not hold 60 %."""
    small = ({"target": "memory", "bytes": 2**23}, {60.0: 1000})
    found = figure(
        make,
        tmp_path / "r.db",
        [small, ({"target": "memory", "bytes": size}, {61.0: hits, 120.0: 1000 - hits})],
    )

    assert "held" not in found.title


def test_where_the_caches_are_not_known_nothing_is_called_one(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    text = make.poke_text([60.0] * 100 + [120.0] * 900)
    maker.add("s", "poke", {"target": "memory", "bytes": 2**30}, text)
    found = poke.chapter(load([maker.write()])).figures[0]

    assert {row[3] for row in found.tables[0].rows} == {"–"}
    assert "held" not in found.title


@pytest.mark.parametrize("share", [0.001, 0.0204, 0.06, 0.5, 0.97, 0.9996])
@pytest.mark.parametrize("size", [8 * 10**9, 2**30, 512 * 1024, 10**6])
def test_a_part_of_a_size_is_said_in_its_own_units(share: float, size: int) -> None:
    number, unit = re.fullmatch(r"([\d.]+) (\w+)", part(share, size).replace("\u202f", "")).groups()  # type: ignore[union-attr]
    factor = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]
    assert float(number) * factor == pytest.approx(share * size, rel=0.06)
    assert part(1.0, 2**30) == "all 1 GiB"


def test_the_caption_counts_what_its_histograms_have_and_names_what_has_none(make: Any, tmp_path: Path) -> None:  # fmt: skip
    """ "3 repeats a cell; 60 000 a curve" stood above a histogram of one repeat of 20 000, and sizes had none, unsaid."""
    maker = make.Maker(tmp_path / "r.db")
    for i in range(8):
        text = make.poke_text([100.0 + i + k % 3 for k in range(500)], size=2 ** (10 + i))
        for _ in range(3 if i else 1):
            maker.add("s", "poke", {"target": "memory", "bytes": 2 ** (10 + i), "block": 1}, text, axes=("bytes",))  # fmt: skip
    (found,) = (f for f in poke.chapter(load([maker.write()])).figures if f.id.startswith("tail-"))

    assert "1 to 3 repeats a cell with numbers; 500 to 1\u202f500 single accesses a curve" in found.sub
    assert (
        "4 more curves are in the numbers only. Without a histogram: memory, 4 KiB and memory, 32 KiB."
        in found.sub
    )


@pytest.mark.parametrize(
    ("median", "low", "high", "said"),
    [(588, 580, 604, "588 ns (580–604)"), (354, 272, 51_900, "354 ns (272 ns–51.9 µs)"), (6410, 7.92, 12_800, "6.41 µs (7.92 ns–12.8 µs)"), (20, 20, 20, "20 ns")],
)  # fmt: skip
def test_ends_of_a_range_that_are_far_away_have_their_own_unit(
    median: float, low: float, high: float, said: str
) -> None:
    """ "6.41 µs (0.00792–12.8)" and "354 ns (272–51 900)"."""
    assert _tails.over_repeats(formulas.Spread(median, low, high, 3)) == said


def test_what_no_repeat_has_is_no_peak_of_any(make: Any, tmp_path: Path) -> None:
    """ "149 ns, 40 %, in 0 of 2 repeats": their peaks at 127 ns and at 177 ns make one together that is of neither."""
    maker = make.Maker(tmp_path / "r.db")
    for low in (100, 140):
        times = [30.0 + i % 3 for i in range(600)] + [low * 1.6 ** (i / 400) for i in range(400)]
        maker.add("s", "poke", {"target": "memory", "bytes": 2**30}, make.poke_text(times), axes=("bytes",))
    (found,) = (f for f in poke.chapter(load([maker.write()])).figures if f.id.startswith("tail-"))

    assert found.tables[0].rows[1] == (
        "memory, 1 GiB", "–", "40 %", "no common peak; the repeats’ lie at 126 and 177 ns", "–",
    )  # fmt: skip
    assert found.numbers[0].rows[0][-1] == "31.5 ns, 60 %; 40 % around 149 ns, where no repeat has a peak"
    (histogram,) = (panel for panel in found.panels if panel.title.startswith("Histogram"))
    named = [note["text"] for note in histogram.wide["datasets"]["notes"]]
    assert "31.5 ns, 60 %" in named
    assert not any("149 ns" in text for text in named)


def test_an_explanation_is_that_of_one_mode(make: Any, tmp_path: Path) -> None:
    """ "page cache" stood beside 649 ns and beside 793 ns."""
    found = figure(make, tmp_path / "r.db", [({**FILE, "bytes": 10**9}, {600.0: 200, 900.0: 800})])

    assert [row[3] for row in found.tables[0].rows] == [
        "page cache, as the 900 ns; nothing tells why it is faster",
        "page cache",
    ]


@pytest.mark.parametrize("modes", [(60, 200, 600), (100, 300, 1000, 4000), (80, 160, 320), (500, 700, 20000)])
def test_the_name_of_a_mode_lies_on_no_upright(make: Any, tmp_path: Path, modes: Sequence[int]) -> None:
    """The dotted median went through "59.5 ns, 55 %"; and the largest mode keeps its name."""
    samples = {float(at) * (1 + 0.001 * k): 400 // (1 + i) for i, at in enumerate(modes) for k in range(3)}
    found = figure(make, tmp_path / "r.db", [({"target": "memory", "bytes": 2**30}, samples)])

    (histogram,) = [panel for panel in found.panels if panel.title.startswith("Histogram")]
    for spec in (histogram.wide, histogram.narrow):
        (low, high), wide = spec["encoding"]["x"]["scale"]["domain"], spec["width"]

        def px(at: float, low: float = low, high: float = high, wide: float = wide) -> float:
            return wide * math.log(at / low) / math.log(high / low)

        uprights = [px(row["x"]) for row in spec["datasets"]["references"]]
        named = [
            note
            for note in spec["datasets"]["notes"]
            if " ns" in note["text"] and "median" not in note["text"]
        ]
        starts = [px(note["x"]) + note["dx"] for note in named if note["align"] == "left"]
        ends = [
            at + label_placement.text_width(note["text"], 11.5)
            for at, note in zip(starts, named, strict=True)
        ]
        assert named
        assert not any(start < at < end for start, end in zip(starts, ends, strict=True) for at in uprights)


@pytest.mark.parametrize("modes", [(39, 78, 161), (60, 100, 160, 260), (80, 160, 320)])
def test_a_name_over_the_peak_of_another_has_a_hairline_to_its_own(
    make: Any, tmp_path: Path, modes: Sequence[int]
) -> None:
    """ "78.1 ns" stood right above the bar of 39 ns, and "410 µs" above that of 179 µs."""
    samples = {float(at) * (1 + 0.001 * k): 100 * (1 + i) for i, at in enumerate(modes) for k in range(3)}
    found = figure(make, tmp_path / "r.db", [({"target": "memory", "bytes": 2**30}, samples)])

    (histogram,) = [panel for panel in found.panels if panel.title.startswith("Histogram")]
    for spec in (histogram.wide, histogram.narrow):
        (low, high), wide = spec["encoding"]["x"]["scale"]["domain"], spec["width"]
        named = [note for note in spec["datasets"]["notes"] if " ns" in note["text"] and "med" not in note["text"]]  # fmt: skip
        at = {note["text"]: wide * math.log(note["x"] / low) / math.log(high / low) for note in named}
        led = {lead["x_px"] for lead in spec["datasets"]["leads"]}
        assert len(named) > 1
        for note in named:
            start = at[note["text"]] + note["dx"]
            end = start + label_placement.text_width(note["text"], 11.5)
            over = [text for text, px in at.items() if start < px < end and text != note["text"]]
            assert not over or round(at[note["text"]], 1) in led, (note["text"], over)


def test_a_single_mode_says_in_how_many_repeats_it_is(make: Any, tmp_path: Path) -> None:
    """ "one" stood in the table where the other one says that no repeat has a peak there."""
    maker = make.Maker(tmp_path / "r.db")
    for at in (100, 148):
        maker.add("s", "poke", {"target": "memory", "bytes": 2**30}, make.poke_text([at * 1.5 ** (i / 600) for i in range(600)]), axes=("bytes",))  # fmt: skip
    (found,) = (f for f in poke.chapter(load([maker.write()])).figures if f.id.startswith("tail-"))

    assert found.numbers[0].rows[0][-1] == "one, where no repeat has a peak"
