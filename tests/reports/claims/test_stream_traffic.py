"""STREAM's bytes as counted, and as memory moves them where the program says that its stores fetch their line first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.charts import stream
from reports.draw.figure import Figure
from reports.numbers import formulas
from reports.report import build
from reports.results import load


def figure(make: Any, path: Path, *stores: str, dimms: str = "") -> Figure:
    """Triad of 30 GB/s by our kernel; a cell for each way to store, "": the program does not say."""
    maker = make.Maker(path)
    maker.facts = {**maker.facts, "dimms": dimms}
    for how in stores:
        text = make.stream_text(30e3, 2)
        said = f"Number of Threads counted = 2\n# stores: {how}: as it says\n"
        if how:
            text = text.replace("Number of Threads counted = 2\n", said)
            text = text.replace(
                "STREAM version $Revision: 5.10 $",
                "pinsweep stream 0.1 (STREAM-style; not the STREAM benchmark)",
            )
        maker.add(
            "s",
            "stream",
            {"threads": 2, "stores": how or "auto"},
            text,
            axes=("stores",),
            place="local",
            relation="local",
        )
    built = build.build(load.load([maker.write()]))
    (found,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id == "scaling-s"]
    return found


def test_the_numbers_of_a_column_have_as_many_digits(make: Any, tmp_path: Path) -> None:
    """ "31.5" stood below "31.52": the zero was printed."""
    maker = make.Maker(tmp_path / "r.db")
    for threads, rate in ((1, 31523.4), (2, 31500.0), (4, 31000.0)):
        maker.add("s", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",), place="local")  # fmt: skip
    (found,) = stream.chapter(load.load([maker.write()]), "stream").figures
    (table,) = found.numbers
    column = table.columns.index("local, GB/s")

    assert [row[column] for row in table.rows if row[0] == "triad"] == ["31.52", "31.50", "31.00"]


def told(found: Figure, column: str) -> dict[str, str]:
    (table,) = found.numbers
    return {row[0]: row[table.columns.index(column)] for row in table.rows}


def test_a_kernel_moves_what_it_counts_and_the_lines_that_it_fetches() -> None:
    """Copy reads one array and writes one, Triad reads two: the written one is read, too."""
    counted = {"copy": 2, "scale": 2, "add": 3, "triad": 3}

    assert {k: (n + 1) / n for k, n in counted.items()} == formulas.TRAFFIC


def test_ordinary_stores_are_told_as_counted_and_as_traffic(make: Any, tmp_path: Path) -> None:
    found = figure(make, tmp_path / "r.db", "cached", dimms="2 × 32 GB DDR4 3200 MT/s")
    counted, traffic = told(found, "local, GB/s"), told(found, "local as traffic, GB/s")

    for kernel, factor in formulas.TRAFFIC.items():
        assert float(traffic[kernel]) == pytest.approx(float(counted[kernel]) * factor, rel=1e-3)
    assert float(traffic["triad"]) == 40.0
    assert found.panels[0].wide["datasets"]["rows"][-1]["tip"] == "Triad · 30.00 GB/s, 40.00 GB/s as traffic"
    assert found.note.startswith(
        "As counted; each store fetches its line first: as traffic 3/2 of Copy and Scale and 4/3 of Add and Triad."
    )
    assert "The most is 59 % of the 51.2 GB/s" in found.note
    assert "as traffic 78 %" in found.note


@pytest.mark.parametrize(("how", "said"), [("nt", "non-temporal stores fetch no line"), ("auto", "which is not told here"), ("", "which is not told here")])  # fmt: skip
def test_no_traffic_is_claimed_of_stores_that_do_not_say_it(
    make: Any, tmp_path: Path, how: str, said: str
) -> None:
    found = figure(make, tmp_path / "r.db", how)

    assert said in found.note
    assert not any("as traffic" in column for column in found.numbers[0].columns)
    assert all("traffic" not in r["tip"] for r in found.panels[0].wide["datasets"]["rows"])


def test_of_two_ways_to_store_only_one_has_a_traffic(make: Any, tmp_path: Path) -> None:
    found = figure(make, tmp_path / "r.db", "cached", "nt")
    (table,) = found.numbers
    at = table.columns.index("local as traffic, GB/s")
    panels = {row[table.columns.index("Panel")]: row[at] for row in table.rows if row[0] == "triad"}

    assert sorted(panels.values()) in (["40.00", "–"], ["40.0", "–"])
    assert "which is not told here" in found.note


def test_of_arrays_of_several_sizes_the_key_number_is_of_the_largest(make: Any, tmp_path: Path) -> None:
    """62 GB/s of an array of 64 KiB stood in the box of the memory, and at the head of the page."""
    maker = make.Maker(tmp_path / "r.db")
    for elements, rate in ((8_000, 62e3), (20_000_000, 12e3)):
        text = make.stream_text(rate, 1).replace("20000000", str(elements))
        maker.add("s", "stream", {"threads": 1, "array_size": elements}, text, axes=("array_size",))

    (number,) = build.build(load.load([maker.write()])).key_numbers

    assert (number.value, number.context) == ("12.0", "1 thread, array_size 20000000, the largest array")


def test_the_largest_array_may_be_one_of_which_no_run_is_sound(make: Any, tmp_path: Path) -> None:
    """ "the largest array" stood beside one of 1 MiB where those of 16 and 128 MiB were measured, and disturbed."""
    maker = make.Maker(tmp_path / "r.db")
    for elements, status in ((1_000_000, "ok"), (20_000_000, "disturbed")):
        text = make.stream_text(12e3, 1).replace("20000000", str(elements))
        maker.add("s", "stream", {"threads": 1, "array_size": elements}, text, axes=("array_size",), status=status)  # fmt: skip

    (number,) = build.build(load.load([maker.write()])).key_numbers

    assert number.context == "1 thread, array_size 1000000, the largest array that was not disturbed"


def test_arrays_in_a_cache_are_no_number_of_the_memory(make: Any, tmp_path: Path) -> None:
    """What 64 KiB gave stood in the box of the memory, since all larger arrays were disturbed."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = "pack:1 [numa] l3:1(size=8MiB) core:2 pu:1"
    for elements, status in ((8_000, "ok"), (20_000_000, "disturbed")):
        text = make.stream_text(62e3, 1).replace("20000000", str(elements))
        maker.add("s", "stream", {"threads": 1, "array_size": elements}, text, axes=("array_size",), status=status)  # fmt: skip

    assert build.build(load.load([maker.write()])).key_numbers == ()


def test_a_band_of_one_thread_count_is_a_bar(make: Any, tmp_path: Path) -> None:
    """ "Band: lowest to highest of the repeats." stood over dots beside which nothing was drawn: a band of one x has no width."""
    maker = make.Maker(tmp_path / "r.db")
    for of in (9e3, 10e3, 12e3):
        maker.add("s", "stream", {"threads": 1}, make.stream_text(of, 1), axes=("threads",))
        maker.add("s", "stream", {"threads": 2}, make.stream_text(2 * of, 2), axes=("threads",), status="disturbed")  # fmt: skip

    found = stream.chapter(load.load([maker.write()])).figures[0]

    assert "Bars: lowest to highest of the repeats." in found.sub
    assert "and" not in found.sub
    rows = found.panels[0].wide["datasets"]["ranges"]
    assert [(row["low"], row["high"], row["alone"]) for row in rows] == [(9.0, 12.0, True)]
    kinds = {layer["mark"]["type"] for layer in found.panels[0].wide["layer"] if layer["data"]["name"] == "ranges"}  # fmt: skip
    assert kinds == {"area", "rule"}


def test_hosts_with_arrays_of_their_own_sizes_each_have_their_number(make: Any, tmp_path: Path) -> None:
    """Arrays are as large as the caches of a host ask for: that of one is not to be left out for the other's."""
    files = []
    for host, elements, rate in (("n1", 20_000_000, 24e3), ("n2", 80_000_000, 12e3)):
        maker = make.Maker(tmp_path / f"{host}.db", host=host)
        text = make.stream_text(rate, 1).replace("20000000", str(elements))
        maker.add("s", "stream", {"threads": 1, "array_size": "auto"}, text)
        files.append(maker.write())

    (number, *_) = build.build(load.load(files)).key_numbers

    assert number.value == "24.0"
    assert "largest array" not in number.context


def test_panels_far_apart_have_axes_of_their_own(make: Any, tmp_path: Path) -> None:
    """Arrays in memory, 5 GB/s, lay flat on an axis to 100 that those in a cache asked for."""
    maker = make.Maker(tmp_path / "r.db")
    for elements, rate in ((8_000, 80e3), (20_000_000, 5e3)):
        for threads in (1, 2):
            text = make.stream_text(rate * threads, threads).replace("20000000", str(elements))
            maker.add("s", "stream", {"threads": threads, "array_size": elements}, text, axes=("threads", "array_size"))  # fmt: skip

    found = stream.chapter(load.load([maker.write()])).figures[0]

    ends = [panel.wide["encoding"]["y"]["scale"]["domain"][1] for panel in found.panels]
    assert max(ends) >= 10 * min(ends)
    assert "Each panel has its own axis of bandwidth." in found.sub
