"""Histograms of every size, and the peaks of each with their shares."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reports.charts import _tails, poke
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


def test_a_share_is_that_of_its_own_peak(make: Any, tmp_path: Path) -> None:
    """The misses of a cached file, 1.26 % and 1.85 %, were in the 100 % of its hits."""
    samples = {1500.0: 9669, 20_000.0: 126, 100_000.0: 185, 3e6: 20}
    (table,) = figure(make, tmp_path / "r.db", [(FILE, samples)]).tables

    assert [row[1:] for row in table.rows] == [("1.50 µs", "97 %", "2 of 2"), ("between peaks", "3.3 %", "–")]


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
        "memory, 1 GiB", "–", "40 %", "0 of 2",
    )  # fmt: skip
    assert found.numbers[0].rows[0][-1] == "31.5 ns, 60 %; 40 % around 149 ns, where no repeat has a peak"
    (histogram,) = (panel for panel in found.panels if panel.title.startswith("Histogram"))
    named = [note["text"] for note in histogram.wide["datasets"]["notes"]]
    assert "31.5 ns, 60 %" in named
    assert not any("149 ns" in text for text in named)


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
