"""Which numbers of a run are compared, and the last digit behind each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.fio.report import bucket
from parsers.text import decode
from reports.numbers import (
    Number,
    curve_numbers,
    each_number,
    peaks,
)
from reports.numbers.last_digit import common_step
from reports.results import model
from reports.results.load import load
from reports.results.model import Run
from reports.tools.fio import bin_width

FIXTURES = Path(__file__).parents[2] / "fixtures"


def numbers(run: Run) -> list[Number]:
    return [number for number in each_number(run) if number.name.better != "neither" or number.name.derived]


def run_of(make: Any, tmp_path: Path, tool: str, text: str, options: dict[str, Any] | None = None) -> model.Run:
    path = make.Maker(tmp_path / f"{tool}.db").add("s", tool, options or {}, text).write()
    return load([path]).good(tool)[0]


def by_name(found: list[Number]) -> dict[tuple[str, tuple[tuple[str, object], ...]], Number]:
    return {(n.name.quantity, n.name.part): n for n in found}


@pytest.mark.parametrize("tool", ["fio", "imb", "likwid_bench", "mlc", "osu", "poke", "stream"])
def test_words_tell_the_numbers_of_a_run_apart(make: Any, tmp_path: Path, tool: str) -> None:
    """A number is one of its run by its name, and by what is said of it: those of 2 and of 4 ranks of one text are two."""
    maker = make.Maker(tmp_path / "a.db")
    for n, path in enumerate(sorted((FIXTURES / tool).glob("*.out"))):
        maker.add("s", tool, {"n": n}, decode(path.read_bytes()))
    runs = load([maker.write()]).good(tool)
    assert runs
    for run in runs:
        names = [number.name for number in numbers(run)]
        assert len({name.words for name in names}) == len(set(names)) == len(names)


def test_imb_gets_its_digits_back_from_the_bandwidth(make: Any, tmp_path: Path) -> None:
    text = make.imb_text({0: 0.19, 8: 0.1936, 64: 0.25, 1024: 0.4, 4096: 0.9, 65536: 8.0})

    found = {
        dict(n.name.part).get("message_size"): n
        for n in numbers(run_of(make, tmp_path, "imb", text))
        if not n.name.derived
    }

    assert found[0].resolution == pytest.approx(10 / 190)  # "0.19", and no bytes: nothing to get digits from
    assert found[8].value == pytest.approx(193.6, rel=5e-4)  # printed as 0.19, beside 41.32 MB/s
    assert found[8].resolution < 5e-4


def test_a_bandwidth_that_counts_twice_is_left_alone(make: Any, tmp_path: Path) -> None:
    text = make.imb_text({8: 0.19, 64: 0.25}).replace("42.11", "84.21")
    found = [n for n in numbers(run_of(make, tmp_path, "imb", text)) if dict(n.name.part).get("message_size") == 8]

    assert (found[0].value, found[0].resolution) == (190.0, pytest.approx(10 / 190))


def test_pingpong_offers_start_up_peak_and_half_size(make: Any, tmp_path: Path) -> None:
    times = {0: 0.3} | {2**p: 0.3 + 2**p / 10_000 for p in range(23)}  # 0.3 µs, 10 GB/s
    found = {n.name.quantity: n for n in numbers(run_of(make, tmp_path, "imb", make.imb_text(times))) if n.name.derived}

    assert found["α"].value == pytest.approx(300, rel=0.01)
    assert found["peak bandwidth"].value == pytest.approx(1e10, rel=0.01)
    assert found["n½"].name.better == "neither"


def test_mlc_gives_rows_and_what_the_curve_offers(make: Any, tmp_path: Path) -> None:
    rows = [(0, 250.0, 20e3), (100, 140.0, 18e3), (500, 90.0, 8e3), (5000, 80.0, 1e3), (9000, 80.2, 500.0)]
    found = numbers(run_of(make, tmp_path, "mlc", make.mlc_text(rows)))

    latencies = {dict(n.name.part)["delay"]: n for n in found if n.name.quantity == "latency" and not n.name.derived}
    assert {delay: n.value for delay, n in latencies.items()} == {d: lat for d, lat, _ in rows}
    assert latencies[5000].resolution == pytest.approx(0.01 / 80)
    derived = {n.name.quantity: n.value for n in found if n.name.derived}
    assert derived["peak bandwidth"] == 20e9
    assert derived["unloaded latency"] == 80.2  # of two idle rows that of the least load
    assert 18e9 < derived["bandwidth within 2 × unloaded latency"] < 20e9


def test_fio_gives_quantiles_only_where_ten_lie_beyond(make: Any, tmp_path: Path) -> None:
    few = make.fio_text({"read": (20.0, 90.0)}, bs="4k", rw="randread", iodepth=1)  # 400 I/Os: 4 of them above p99
    many = make.fio_text({"read": (20000.0, 90.0)}, bs="4k", rw="randread", iodepth=1)

    names = [
        {n.name.quantity for n in numbers(run_of(make, tmp_path / word, "fio", text))}
        for word, text in (("few", few), ("many", many))
    ]

    assert names[0] == {"IOPS", "latency mean", "latency p50"}
    assert names[1] == {"IOPS", "latency mean", "latency p50", "latency p99"}


@given(st.integers(128, 2**40))
def test_a_bin_is_as_wide_as_fio_makes_it(value: int) -> None:
    low, high = bucket(str(value))

    assert bin_width(value) == high - low


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([12.5e6, 12.4e6, 11.9e6, 12.1e6, 13.0e6], 1e5),
        ([0.19, 0.2, 0.33, 0.48, 7.25], 0.01),
        ([1, 2, 3, 4, 5.123456], 1e-6),
        ([100, 200, 300], 0.0),  # too few to tell
        ([0.1234567890123, 1.1, 2.2, 3.3, 4.4], 0.0),
    ],
)
def test_the_last_digit_of_a_program_that_nobody_knows(values: list[float], step: float) -> None:
    assert common_step(values) == pytest.approx(step)


@given(st.lists(st.integers(1, 10**6), min_size=5, unique=True), st.integers(-3, 6))
def test_values_are_multiples_of_their_step(values: list[int], power: int) -> None:
    scaled = [value * 10.0**power for value in values]

    step = common_step(scaled)

    assert step >= 10.0**power * 0.999
    assert all(abs(v / step - round(v / step)) < 1e-5 for v in scaled)


def test_a_curve_over_threads_offers_its_peak_and_where_it_is_full(make: Any, tmp_path: Path) -> None:
    rates = {1: 8000.0, 2: 15000.0, 4: 19500.0, 8: 20000.0}
    curve = {
        n: numbers(run_of(make, tmp_path / str(n), "stream", make.stream_text(rate, n))) for n, rate in rates.items()
    }

    triad = {n.name.quantity: n.value for n in curve_numbers("stream", curve) if n.name.part == (("kernel", "triad"),)}

    assert triad == {"threads for 95 % of the peak": 4.0}
    cells = {n: {number.name: [number.value] for number in found} for n, found in curve.items()}
    tops = {peak.title: at for peak, (at, _) in peaks("stream", cells).items()}
    assert tops == {f"{kernel} peak bandwidth": 8 for kernel in ("copy", "scale", "add", "triad")}
    assert not peaks("stream", {n: cells[n] for n in (1, 2)})
    assert not curve_numbers("stream", {n: curve[n] for n in (1, 2)})


def test_cells_over_depth_offer_iops_at_a_latency(make: Any, tmp_path: Path) -> None:
    cells = {}
    for depth, iops, mean in ((1, 10e3, 50.0), (4, 40e3, 100.0), (16, 60e3, 400.0)):
        text = make.fio_text({"read": (iops, mean)}, bs="4k", rw="randread", iodepth=depth)
        run = run_of(make, tmp_path / str(depth), "fio", text, {"iodepth": depth})
        cells[depth] = {number.name: [number.value] for number in numbers(run)}

    def within(slo: float | None) -> dict[str, int]:
        found = peaks("fio", cells, slo)
        return {peak.quantity: at for peak, (at, name) in found.items() if peak.quantity != "peak IOPS"}

    assert within(190e3) == {"IOPS at p99 ≤ 190 µs": 4}  # p99 is 1.9 × the mean
    for slo in (None, 90e3, 800e3):  # not asked for, kept nowhere, kept everywhere: the most is a bound then
        assert not within(slo)

    for of_a_depth in cells.values():  # a second repeat, whose p99 at depth 4 is beyond the limit
        for name, values in of_a_depth.items():
            values.append(values[0] * (1.2 if name.statistic == "p99" else 1))
    assert not within(190e3), "no depth gives what the repeats have at different ones"
