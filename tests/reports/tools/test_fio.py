"""fio: its figures from rows, bins and logs. Its numbers are in tests/net, its checks in tests/reports/checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.document import Figure
from reports.measurements import measure
from reports.report.build import build
from reports.results.load import load
from reports.tools.fio import TOOL

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "fio"
IOPS = {1: 10e3, 4: 38e3, 16: 100e3, 64: 102e3}


def figures(path: Path) -> dict[str, Figure]:
    """Return the figures of a file by their ids without the sweep."""
    results = load([path])
    found = (figure for section in build(results).sections for figure in section.blocks)
    return {figure.id.removesuffix("-s"): figure for figure in found if isinstance(figure, Figure)}


def sweep(make: Any, path: Path, **options: Any) -> Path:
    """Write reads at random over depths, full from 16 on; p99 is 1.9 times the mean."""
    maker = make.Maker(path)
    for depth, rate in IOPS.items():
        for noise in (1.0, 1.01):
            iops = rate * noise
            text = make.fio_text({"read": (iops, 0.999 * depth / iops * 1e6)}, bs="4k", rw="randread", iodepth=depth)
            given = {
                "rw": "randread",
                "bs": "4k",
                "iodepth": depth,
                "ioengine": "libaio",
                "direct": True,
                **options,
            }
            maker.add("s", "fio", given, text, axes=("iodepth", *options))
    written: Path = maker.write()
    return written


def marks(figure: Figure, kind: str) -> list[tuple[Any, Any, str]]:
    return [(r["x"], r["y"], r["text"]) for r in figure.spec["data"]["values"] if r["mark"] == kind]


def test_a_sweep_over_depth_is_lines_with_the_depth_that_saturates_and_the_one_that_keeps_a_limit(
    make: Any, tmp_path: Path
) -> None:
    found = figures(sweep(make, tmp_path / "a.db"))

    assert [*found] == ["fio-iodepth", "fio-latency-iodepth", "fio-percentiles-iodepth"]
    rates, percentiles = found["fio-iodepth"], found["fio-percentiles-iodepth"]
    assert rates.title == "Randread: IOPS saturate at iodepth 16, 100 kIOPS"
    assert [(row["iodepth"], row["repeats"]) for row in rates.table.records()] == [(d, 2) for d in IOPS]
    assert [(x, round(y)) for x, y, _ in marks(rates, "ring")] == [(16, 100)]
    assert percentiles.title == "Randread: 100 kIOPS at depth 16 keep p99 within 1.00 ms"
    assert [label for *_, label in marks(percentiles, "ring")] == ["100 kIOPS at 16"]
    assert len(marks(percentiles, "rule")) == 1


@pytest.mark.parametrize(
    ("axis", "levels", "ids", "xs"),
    [
        ("bs", ["4k", "64k"], ["fio-bandwidth", "fio-block-size", "fio-latency-block-size", "fio-percentiles-block-size"], [4096, 65536]),
        ("rwmixread", [70, 100], ["fio-rwmixread", "fio-latency-rwmixread", "fio-percentiles-rwmixread"], [70, 100]),
        ("ioengine", ["psync", "io_uring"], ["fio-cells", "fio-latency-cells"], ["ioengine=psync", "ioengine=io_uring"]),
    ],
)  # fmt: skip
def test_other_axes_have_their_own_charts(
    make: Any, tmp_path: Path, axis: str, levels: list[Any], ids: list[str], xs: list[Any]
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for level in levels:
        bs = level if axis == "bs" else "4k"
        text = make.fio_text({"read": (10e3, 99.0)}, bs=bs, rw="randread", iodepth=1)
        maker.add("s", "fio", {"rw": "randread", "bs": bs, axis: level}, text, axes=(axis,))
    found = figures(maker.write())

    assert [*found] == ids
    first = found[ids[0]]
    assert [row[first.table.columns[0].name] for row in first.table.records()] == xs
    if axis == "bs":
        assert [row["median"] for row in first.table.records()] == [10e3 * 4096, 10e3 * 65536]


def test_parts_of_a_mix_are_two_lines_and_verify_reads_are_not_theirs(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for rw in ("randrw", "randwrite"):
        for depth in (1, 2):
            parts = dict.fromkeys(("read", "write"), (5000.0 * depth, 99.0))
            maker.add("s", "fio", {"rw": rw, "bs": "4k", "iodepth": depth}, make.fio_text(parts, bs="4k", rw=rw, iodepth=depth), axes=("rw", "iodepth"))  # fmt: skip

    accesses = {row["access"] for row in figures(maker.write())["fio-iodepth"].table.records()}

    assert accesses == {"randrw, reads", "randrw, writes", "randwrite", "randwrite, verify reads"}


def test_bins_are_tails_and_histograms_with_their_peaks(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.add("s", "fio", {"rw": "randrw"}, (FIXTURES / "jsonplus_randrw.out").read_text())
    found = figures(maker.write())

    tail, histogram = found["fio-tail"], found["fio-histogram"]
    reads = [row for row in tail.table.records() if row["curve"] == "randrw, reads"]
    assert reads[0]["median"] == 1.0
    shares = [row["median"] for row in reads]
    assert shares == sorted(shares, reverse=True)
    assert {row["curve"] for row in tail.table.records()} == {"randrw, reads", "randrw, writes", "normal, same mean and SD"}  # fmt: skip
    counts = [row["median"] for row in histogram.table.records() if (row["curve"], row["kind"]) == ("randrw, reads", "samples")]  # fmt: skip
    assert sum(counts) == 25825  # total_ios of the text
    assert histogram.summary
    assert {row["repeats"] for row in histogram.summary.records()} == {"1 of 1"}


def log(name: str, lines: list[tuple[int, int]], direction: int = 0) -> str:
    """A file of fio's; lines: (ms, value)."""
    return f"\n==> fio_{name}.log <==\n" + "".join(f"{t}, {v}, {direction}, 4096, 0\n" for t, v in lines)


def test_logs_are_drawn_over_time(make: Any, tmp_path: Path) -> None:
    """100 I/Os a second of 100 µs, in the eighth second of 800 µs; IOPS of two jobs in windows of a second."""
    each = [(s * 1000 + i * 10, 800_000 if s == 7 else 100_000) for s in range(10) for i in range(100)]
    windows = [(1000 * s, 500 * s) for s in range(1, 5)]
    text = make.fio_text({"read": (100.0, 170.0)}, bs="4k", rw="randread", iodepth=1)
    text = text.replace('"name": "job"', '"name": "job", "log_avg_msec": "1000"')
    rates = log("iops.1", windows) + log("iops.2", windows[:3])
    path = make.Maker(tmp_path / "a.db").add("s", "fio", {"rw": "randread"}, text + rates).write()
    lats = make.Maker(tmp_path / "b.db").add("s", "fio", {"rw": "randread"}, text.replace(', "log_avg_msec": "1000"', "") + log("lat.1", [*each, (10_000, 100_000)])).write()  # fmt: skip

    drawn = figures(path)["fio-logged-iops"].table.records()
    assert [(row["elapsed"], row["median"]) for row in drawn] == [(s * 1e9, 1000 * s) for s in (1, 2, 3)]
    time = figures(lats)["fio-time"]
    assert [row["median"] for row in time.table.records() if row["statistic"] == "mean"] == [8e5 if s == 7 else 1e5 for s in range(10)]  # fmt: skip


def test_key_numbers_are_of_cells_and_directions(make: Any, tmp_path: Path) -> None:
    measured = measure(load([sweep(make, tmp_path / "a.db")]))
    keys = TOOL.keys(measured.tidy("fio"))

    rates = keys[keys["name"] == "Storage IOPS"]
    assert rates.loc[rates["value"].idxmax(), ["context", "n"]].tolist() == ["randread, iodepth 64", 2]
    assert keys.loc[keys["name"] == "Storage read, p50", "value"].tolist() == pytest.approx([95e3 * 0.994], rel=1e-2)
