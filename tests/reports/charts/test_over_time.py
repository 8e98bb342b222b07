"""fio's logs over time: what is drawn of them, and the one sentence that they bear out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports.charts.fio import chapter
from reports.checks.audit import audit
from reports.draw import vega
from reports.draw.figure import Figure
from reports.results.load import load


def log(name: str, lines: list[tuple[int, int]], direction: int = 0, block: int = 4096) -> str:
    """A file of fio's; lines: (ms, value)."""
    return f"\n==> fio_{name}.log <==\n" + "".join(f"{t}, {v}, {direction}, {block}, 0\n" for t, v in lines)


def figures(make: Any, path: Path, *logs: str, cells: int = 1, **options: str) -> dict[str, Figure]:
    maker = make.Maker(path)
    for depth in range(1, cells + 1):
        for own in logs:
            text = make.fio_text({"read": (1000.0, 100.0)}, bs="4k", rw="randread", iodepth=depth)
            for name, value in options.items():
                text = text.replace('"name": "job"', f'"name": "job", "{name}": "{value}"')
            maker.add(
                "s", "fio", {"rw": "randread", "bs": "4k", "iodepth": depth}, text + own, axes=("iodepth",)
            )
    return {f.id: f for f in chapter(load([maker.write()])).figures}


def each(slow: dict[int, int], seconds: int = 10) -> list[tuple[int, int]]:
    """100 I/Os a second of 100 µs, in the seconds of `slow` of so many ns."""
    return [(s * 1000 + i * 10, slow.get(s, 100_000)) for s in range(seconds) for i in range(100)]


def test_the_slowest_second_is_named_beside_the_median_one(make: Any, tmp_path: Path) -> None:
    figure = figures(make, tmp_path / "a.db", log("lat.1", [*each({7: 800_000}), (10_000, 100_000)]))[
        "fio-time-s"
    ]

    assert figure.title == "Randread: the slowest second’s mean latency is 8.00 × the median second’s"
    ((*_, median, slowest, at, ratio, empty),) = figure.numbers[0].rows
    assert (median, slowest, at, ratio, empty) == ("100 µs", "800 µs", "7.00", "8.00 ×", "0")
    drawn = figure.panels[0].wide["datasets"]
    assert [(ring["x"], ring["y"]) for ring in drawn["rings"]] == [(7.5, 800e3)]
    assert [note["text"] for note in drawn["notes"]] == ["800 µs, 8.00 ×"]
    assert [(row["x"], row["y"]) for row in drawn["means"]] == [(s + 0.5, 8e5 if s == 7 else 1e5) for s in range(10)]  # fmt: skip


def test_seconds_that_are_alike_are_called_steady(make: Any, tmp_path: Path) -> None:
    figure = figures(make, tmp_path / "a.db", log("lat.1", each({3: 120_000})))["fio-time-s"]

    assert figure.title.startswith("Latency is steady over time: the slowest second’s mean is 1.20 ×")


def test_every_io_is_counted_once_in_a_cell_at_its_time_and_latency(make: Any, tmp_path: Path) -> None:
    figure = figures(make, tmp_path / "a.db", log("lat.1", each({7: 800_000})))["fio-time-s"]
    (panel,) = figure.panels

    cells = panel.wide["datasets"]["cells"]
    assert sum(int(c["tip"].rsplit("·")[-1].split()[0]) for c in cells) == 1000
    assert all(c["low"] <= 800_000 <= c["high"] for c in cells if 7 <= c["left"] < 8)
    assert all(c["low"] <= 100_000 <= c["high"] for c in cells if not 7 <= c["left"] < 8)
    for spec in (panel.wide, panel.narrow):
        vega.draw(spec, "x", "")


def test_seconds_without_an_io_are_counted(make: Any, tmp_path: Path) -> None:
    lines = [line for line in each({}) if not 4000 <= line[0] < 6000]

    figure = figures(make, tmp_path / "a.db", log("lat.1", [*lines, (10_000, 100_000)]))["fio-time-s"]

    assert figure.numbers[0].rows[0][-1] == "2"
    assert [row["segment"] for row in figure.panels[0].wide["datasets"]["means"]] == [0] * 4 + [2] * 4


def test_the_repeat_with_the_slowest_second_is_drawn_and_all_are_in_the_numbers(
    make: Any, tmp_path: Path
) -> None:
    calm, slow = log("lat.1", each({})), log("lat.1", each({2: 400_000}))
    figure = figures(make, tmp_path / "a.db", calm, slow)["fio-time-s"]

    assert [panel.title for panel in figure.panels] == ["Randread, repeat 2"]
    assert [row[-2] for row in figure.numbers[0].rows] == ["1.00 ×", "4.00 ×"]
    assert "the repeat with the slowest moment" in figure.sub


def test_panels_share_their_axes_and_no_more_than_eight_are_drawn(make: Any, tmp_path: Path) -> None:
    figure = figures(make, tmp_path / "a.db", log("lat.1", each({})), cells=9)["fio-time-s"]

    assert len(figure.panels) == 8
    assert "1 more panel is in the numbers only" in figure.sub
    assert len({str(panel.wide["encoding"]["y"]["scale"]) for panel in figure.panels}) == 1


def test_jobs_of_a_cut_log_are_drawn_as_far_as_all_of_them_are_told(make: Any, tmp_path: Path) -> None:
    cut = "[cut: the first 1 of 2 bytes]\n"
    logs = log("lat.1", each({}, 10)) + cut + log("lat.2", each({}, 7)) + cut

    figure = figures(make, tmp_path / "a.db", logs)["fio-time-s"]

    assert figure.numbers[0].rows[0][3] == "6.99"
    assert "write_hist_log" in figure.sub


def test_a_histogram_stands_in_for_a_log_that_was_cut(make: Any, tmp_path: Path) -> None:
    bins = ["0"] * 1856
    bins[647] = "100"
    lines = "".join(f"{s * 1000}, 0, 4096, {', '.join(bins)}\n" for s in range(1, 11))
    logs = (
        log("lat.1", each({}, 3)) + "[cut: the first 1 of 2 bytes]\n\n==> fio_clat_hist.1.log <==\n" + lines
    )

    figure = figures(make, tmp_path / "a.db", logs, log_hist_msec="1000")["fio-time-s"]

    (row,) = figure.numbers[0].rows
    assert row[2:5] == ("1\u202f000", "10.0", "36.6 µs")
    assert "completion latency" in figure.sub
    assert "lacks the last window" in figure.sub


def test_one_kind_of_window_takes_half_of_the_page(make: Any, tmp_path: Path) -> None:
    windows = log("iops.1", [(t, 1000) for t in range(500, 5001, 500)], block=0)

    assert figures(make, tmp_path / "a.db", windows, log_avg_msec="500")["fio-windows-s"].half


def test_windows_are_lines_of_all_jobs_together(make: Any, tmp_path: Path) -> None:
    times = range(500, 5001, 500)
    logs = "".join(
        log(f"{kind}.{job}", [(t + job, value * job) for t in times], block=0)
        for kind, value in (("iops", 1000), ("bw", 4000), ("lat", 90_000))
        for job in (1, 2)
    )

    found = figures(make, tmp_path / "a.db", logs, log_avg_msec="500")

    assert "fio-time-s" not in found
    figure = found["fio-windows-s"]
    assert figure.title == "IOPS, bandwidth and mean latency over time"
    assert [row[2:6] for row in figure.numbers[0].rows] == [
        ("IOPS", "10", "3.00 kIOPS", "3.00 kIOPS"), ("Bandwidth", "10", "12.3 MB/s", "12.3 MB/s"), ("Latency", "10", "135 µs", "135 µs"),
    ]  # fmt: skip
    for panel in figure.panels:
        vega.draw(panel.narrow, "x", "")


def test_a_sweep_without_logs_has_no_such_figure(make: Any, tmp_path: Path) -> None:
    assert not {"fio-time-s", "fio-windows-s"} & {*figures(make, tmp_path / "a.db", "")}


def test_a_log_that_was_asked_for_is_no_option_that_fio_took_otherwise(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    text = make.fio_text({"read": (1000.0, 100.0)}, bs="4k", rw="randread", iodepth=1)
    text = text.replace('"name": "job"', '"name": "job", "write_lat_log": "logs/fio"')
    maker.add("s", "fio", {"rw": "randread", "bs": "4k", "iodepth": 1, "write_lat_log": True}, text)

    assert "G2" not in {finding.id for finding in audit(load([maker.write()]))}


def test_what_was_never_quiet_is_hollow_and_claims_nothing(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    windows = log("iops.1", [(t, 1000) for t in range(500, 5001, 500)], block=0)
    for depth, own, options in (
        (1, log("lat.1", each({7: 800_000})), ""),
        (2, windows, '"log_avg_msec": "500", '),
    ):
        text = make.fio_text({"read": (1000.0, 100.0)}, bs="4k", rw="randread", iodepth=depth)
        text = text.replace('"name": "job"', f'{options}"name": "job"') + own
        reasons = {"reasons": [{"id": "steal", "text": "the hypervisor took 0.5 s"}]}
        maker.add(
            "s", "fio", {"rw": "randread", "bs": "4k", "iodepth": depth}, text, axes=("iodepth",), status="disturbed",
            counters=reasons,
        )  # fmt: skip

    found = {f.id: f for f in chapter(load([maker.write()])).figures}

    for name, rows in (("fio-time-s", "cells"), ("fio-windows-s", "points")):
        figure = found[name]
        assert "Hollow: something else disturbed every run" in figure.sub
        assert "×" not in figure.title
        for panel in figure.panels:
            assert all(row["hollow"] for row in panel.wide["datasets"][rows])
            vega.draw(panel.wide, "x", "")
