"""STREAM: its figures and key numbers from rows, and its checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.model import Group, Place
from reports.checks.audit import audit
from reports.measurements import measure
from reports.results.load import load
from reports.tools.stream import TOOL

TEXT = 9000.0  # MB/s of the triad
MACHINE = "pack:2 core:4 pu:2"


def drawn(path: Path) -> list[Any]:
    results = load([path])
    measured = measure(results)
    return list(TOOL.figures(measured.tidy("stream"), measured.keys("stream"), measured.runs))


def test_a_sweep_over_threads_is_a_line_per_place_with_the_thread_count_that_fills_memory(
    make: Any, tmp_path: Path
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for place, rates in (("local", (10, 19, 20, 20)), ("remote", (5, 9, 14, 15))):
        for threads, rate in zip((1, 2, 4, 8), rates, strict=True):
            for noise in (0, 40):
                maker.add("s", "stream", {"threads": threads}, make.stream_text(rate * 1e3 + noise, threads), axes=("threads",), place=place, relation=place)  # fmt: skip
    path = maker.write()
    (figure,) = drawn(path)

    rows = figure.table.records()
    assert [(row["place"], row["threads"], row["repeats"]) for row in rows if row["place"] == "local"] == [
        ("local", 1, 2),
        ("local", 2, 2),
        ("local", 4, 2),
        ("local", 8, 2),
    ]
    rings = [(row["x"], round(row["y"], 1)) for row in figure.spec["data"]["values"] if row["mark"] == "ring"]
    assert sorted(rings) == [(2, 19.0), (4, 14.0)]  # 8 threads on 4 CPUs are flagged
    assert figure.title == "Triad is full at 2 threads: 19.0 GB/s"

    keys = TOOL.keys(measure(load([path])).tidy("stream"))
    assert keys.loc[keys["value"].idxmax(), ["name", "context", "n"]].tolist() == ["STREAM triad", "threads 4, local", 2]  # fmt: skip


@pytest.mark.parametrize("status", ["ok", "disturbed"])
def test_a_cell_is_dots_per_kernel_and_disturbed_runs_are_flagged_and_in_no_title(
    make: Any, tmp_path: Path, status: str
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for attempt in (1, 2, 3) if status == "disturbed" else (1,):
        maker.add("s", "stream", {"threads": 2}, make.stream_text(TEXT, 2), axes=("threads",), place="local", repeat=1, attempt=attempt, status=status, reason="others ran")  # fmt: skip
    (figure,) = drawn(maker.write())

    assert len(figure.table.rows) == 4
    assert figure.title == ("Bandwidth by kernel" if status == "disturbed" else "Triad reaches 9.00 GB/s with 2 threads")  # fmt: skip
    assert ("D1" in figure.flags) == (status == "disturbed")


@pytest.mark.parametrize(
    ("topology", "options", "replacement", "axes", "expected"),
    [
        ("l3:1(size=160MB)", {}, ("", ""), (), {("S1", "error")}),  # arrays of 160 MB
        ("l3:1(size=159MB)", {}, ("", ""), (), {("S1", "warn")}),
        ("l3:1(size=41MB)", {}, ("", ""), (), {("S1", "warn")}),
        ("l3:1(size=40MB)", {}, ("", ""), (), set()),
        ("l3:1(size=512MB)", {"array_size": 20000000}, ("", ""), ("array_size",), {("S1", "warn")}),
        ("l3:1(size=64MB)", {"array_size": 20000000}, ("", ""), ("array_size",), {("S1", "info")}),
        ("", {}, ("(= 9000 clock ticks)", "(= 11 clock ticks)"), (), {("S1", "error")}),
        ("", {}, ("Threads requested = 4", "Threads requested = 8"), (), {("S3", "error")}),
        ("", {"threads": 8}, ("", ""), (), {("S3", "error")}),
        ("", {}, ("9000.0", "8583.0"), (), {("G7", "error")}),  # MiB/s under a head that says MB/s
    ],
)
def test_checks_of_one_run(
    make: Any,
    tmp_path: Path,
    topology: str,
    options: Any,
    replacement: tuple[str, str],
    axes: Any,
    expected: Any,
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    if topology:
        maker.topology = f"pack:1 numa:1 {topology} core:4 pu:1"
    text = make.stream_text(TEXT, 4).replace(*replacement) if replacement[0] else make.stream_text(TEXT, 4)
    maker.add("s", "stream", {"threads": 4, **options}, text, axes=axes, place="all")

    found = {(one.id, one.level) for one in audit(load([maker.write()]))}
    assert {one for one in found if one[0] in ("S1", "S2", "S3", "S4", "G7")} == expected


@pytest.mark.parametrize(
    ("cpus", "groups", "threads", "found"),
    [
        ("numa_node 0", (0, 1), 2, True),  # two threads on one core of four
        ("core 0", (0, 1), 2, False),  # that is what was requested
        ("numa_node 0", (0, 2), 2, False),
    ],
)
def test_threads_share_a_core_though_the_place_has_more(
    make: Any, tmp_path: Path, cpus: str, groups: tuple[int, ...], threads: int, found: bool
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.topology, maker.places = "pack:1 numa:1 core:4 pu:2", {cpus: Place(name=cpus, cpus=cpus)}
    maker.groups = {cpus: (Group(cpus=groups, membind=(0,)),)}
    maker.add("s", "stream", {"threads": threads}, make.stream_text(TEXT, threads), place=cpus)

    assert any(one.id == "S3" for one in audit(load([maker.write()]))) == found
