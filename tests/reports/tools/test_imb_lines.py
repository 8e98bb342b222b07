"""IMB is read once: the page, compare, show and the checks take the same times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parsers import imb
from reports.numbers import each_number
from reports.results.load import load
from reports.tools.imb import pingpong, timings


def parsed(make: Any, times: dict[int, float]) -> Any:
    return imb.parse(make.imb_text(times))


def test_a_row_is_a_line_of_a_table(make: Any) -> None:
    zero, small, large = timings(parsed(make, {0: 0.19, 8: 0.1936, 1 << 20: 99.0}))

    assert (zero.benchmark, zero.nprocs, zero.message_size, zero.repetitions) == ("PingPong", 2, 0, 1000)
    assert (zero.time, zero.time_step, zero.bandwidth) == (190.0, 10.0, None)
    assert small.time == pytest.approx(193.6, rel=5e-4)  # printed as 0.19 µs beside 41.32 MB/s
    assert small.time_step is not None
    assert small.time_step < 0.1
    assert large.time == pytest.approx(99e3, rel=1e-6)
    assert (large.time_avg, large.mode, large.group) == (None, None, None)


def test_a_size_that_comes_twice_is_two_rows(make: Any) -> None:
    text = make.imb_text({8: 0.5}).replace("            8         1000         0.50        16.00\n", "8 1000 0.50 16.00\n8 1000 0.60 13.33\n")  # fmt: skip

    assert [row.time for row in timings(imb.parse(text))] == pytest.approx([500, 600], rel=1e-3)


def test_a_table_that_lost_its_head_is_pingpong_everywhere(make: Any, tmp_path: Path) -> None:
    table = "#bytes #repetitions t[usec] Mbytes/sec\n" + "".join(
        f"{size} 1000 {0.3 + size / 1e4:.2f} {size / (0.3 + size / 1e4):.2f}\n" for size in (0, 1024, 4096, 65536, 1 << 20)
    )  # fmt: skip
    maker = make.Maker(tmp_path / "r.db")
    maker.add("p", "imb", {}, table)
    (run,) = load([maker.write()]).good("imb")

    assert len(pingpong([run])) == 5
    assert {n.name.quantity for n in each_number(run)} == {"time", "α", "peak bandwidth", "n½"}


def test_export_gives_times_as_they_were_printed(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text({8: 0.1936}))
    results = load([maker.write()])
    frame = results.tidy("imb")

    assert frame.loc[frame["metric"] == "time", "value"].tolist() == [190.0]
