"""fio's logs over time, below the lines that `tail -n +1 FILE FILE` prints over files."""

from __future__ import annotations

import json

from parsers import fio
from parsers.measurement import Parsed, Scalar

JOB = {
    "jobname": "j",
    "groupid": 0,
    "error": 0,
    "read": {"total_ios": 3, "io_bytes": 12288, "runtime": 2000, "iops": 1.5},
}


def text(*logs: str, version: str = "fio-3.33", **options: str) -> str:
    document = {
        "fio version": version,
        "jobs": [{**JOB, "job options": {"name": "j", "write_lat_log": "x", **options}}],
    }
    return "\n".join([json.dumps(document, indent=1), *logs])


def rows(parsed: Parsed, table: str = "log") -> list[dict[str, Scalar]]:
    return parsed.tables[table].records() if table in parsed.tables else []


def test_a_log_of_each_io_is_a_row_an_io_in_base_units() -> None:
    parsed = fio.parse(text("==> x_lat.2.log <==\n1, 790588, 0, 4096, 0\n3, 499182, 1, 8192, 0\n"))

    assert rows(parsed) == [
        {"log": "lat", "job": 2, "direction": "read", "block": 4096, "window": 0, "statistic": "each", "time": 1_000_000, "value": 790588},
        {"log": "lat", "job": 2, "direction": "write", "block": 8192, "window": 0, "statistic": "each", "time": 3_000_000, "value": 499182},
    ]  # fmt: skip


def test_several_files_with_blank_lines_and_carriage_returns_between_are_told_apart() -> None:
    text_ = text(
        "==> x_iops.1.log <==\n200, 2895, 0, 0, 0\n",
        "==> dir/y_z_bw.log <==\r\n200, 7, 0, 0, 0\r\n",
        log_avg_msec="200",
    )

    found = rows(fio.parse(text_))

    assert [(r["log"], r.get("job"), r.get("block"), r["window"], r["statistic"], r["value"]) for r in found] == [
        ("iops", 1, None, 200_000_000, "mean", 2895), ("bw", None, None, 200_000_000, "mean", 7 * 1024),
    ]  # fmt: skip
    assert fio.parse(text_).flags == fio.parse(text()).flags, "a log is no line that nobody reads"


def test_windows_of_the_largest_are_told_from_means() -> None:
    found = rows(fio.parse(text("==> x_clat.1.log <==\n200, 5, 0, 0, 0\n", log_avg_msec="200", log_max_value="1")))

    assert found[0]["statistic"] == "max"


def test_a_log_of_a_fio_before_3_is_in_microseconds() -> None:
    parsed = fio.parse(text("==> x_lat.1.log <==\n1, 790, 0, 4096\n", version="fio-2.17"))

    assert rows(parsed)[0]["value"] == 790_000


def test_a_histogram_has_the_edges_of_fios_own_bins_at_any_coarseness() -> None:
    fine, coarse = [0] * 1856, [0] * (1856 >> 2)
    fine[647], coarse[161] = 7, 7  # of 36608 ns: that json+ names the bucket [36352, 36864) by
    lines = [f"501, 0, 4096, {', '.join(map(str, own))}\n" for own in (fine, coarse)]

    one, four = (
        rows(fio.parse(text(f"==> x_clat_hist.1.log <==\n{line}", log_hist_msec="500")), "log_histogram")[0]
        for line in lines
    )

    assert one == {
        "job": 1, "direction": "read", "block": 4096, "window": 500_000_000, "time": 501_000_000, "low": 36352, "high": 36864, "count": 7,
    }  # fmt: skip
    assert (four["low"], four["high"]) == (34816, 36864)


def test_a_log_that_was_cut_says_up_to_when_it_is_kept() -> None:
    cut = "==> x_lat.1.log <==\n1, 790588, 0, 4096, 0\n2500, 499182, 0, 4096, 0\n[cut: the first 45 of 900 bytes]\n"

    (flag,) = [flag for flag in fio.parse(text(cut)).flags if flag.id == "log_cut"]

    assert "up to 2.5 s" in flag.text


def test_what_is_no_log_stays_with_the_text_and_harms_nothing() -> None:
    strange = [
        "==> x_lat.1.log <==\nnothing\n", "==> x_clat_hist.1.log <==\n1, 2, 3, 4\n", "==> x_lat.1.log <==\n1, 9, 7, 4096, 0\n",
        f"==> x_lat.1.log <==\n1, {'9' * 4000}, 0, 4096, 0\n", "==> x_lat.1.log <==\n",
    ]  # fmt: skip

    parsed = fio.parse(text(*strange))

    assert not rows(parsed)
    assert parsed.measurements.rows == fio.parse(text()).measurements.rows
