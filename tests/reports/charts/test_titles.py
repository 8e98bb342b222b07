"""Titles claim what the data carries, and no more."""

from __future__ import annotations

import pytest

from reports.charts import titles
from reports.numbers import formulas
from reports.numbers.formulas import Bucket, Mode, Spread


def spread(value: float, n: int = 1, width: float = 0.0) -> Spread:
    return Spread(value, value * (1 - width / 2), value * (1 + width / 2), n)


def scaling(local: dict[int, float], remote: dict[int, float], n: int = 1, width: float = 0.0) -> str:
    curves = {
        name: {t: spread(v, n, width) for t, v in line.items()}
        for name, line in (("local", local), ("remote", remote))
        if line
    }
    return titles.scaling("Triad", curves)


FULL = {1: 10.0, 2: 19.0, 3: 23.0, 4: 23.1, 5: 23.2}


@pytest.mark.parametrize(
    ("local", "remote", "n", "width", "title"),
    [
        (
            FULL,
            {t: v * 0.85 for t, v in FULL.items()},
            1,
            0.0,
            "Three threads fill local memory; remote costs 15.0 % at 5 threads",
        ),
        (FULL, {t: v * 0.95 for t, v in FULL.items()}, 1, 0.0, "Three threads fill local memory"),
        (
            FULL,
            {t: v * 0.95 for t, v in FULL.items()},
            5,
            0.01,
            "Three threads fill local memory; remote costs 5.00 % at 5 threads",
        ),
        (FULL, {t: v * 0.95 for t, v in FULL.items()}, 5, 0.2, "Three threads fill local memory"),
        (FULL, {1: 5.0, 2: 9.0}, 5, 0.01, "Three threads fill local memory"),  # not measured at five
        ({1: 10.0, 2: 20.0}, {1: 19.0, 2: 12.0}, 1, 0.0, "Remote memory costs 40.0 % at 2 threads"),
        ({1: 10.0, 2: 20.0, 4: 40.0}, {}, 1, 0.0, "Triad bandwidth still rises at 4 threads"),
        ({1: 10.0, 2: 20.0}, {}, 1, 0.0, "Triad bandwidth over threads"),
        ({1: 10.0}, {1: 10.0}, 1, 0.0, "Triad bandwidth"),
    ],
)
def test_scaling(local: dict[int, float], remote: dict[int, float], n: int, width: float, title: str) -> None:
    assert scaling(local, remote, n, width) == title


def test_several_places_are_not_called_memory() -> None:
    curves = {place: {t: spread(v) for t, v in FULL.items()} for place in ("node 0", "node 1")}

    assert titles.scaling("Triad", curves) == "Triad bandwidth over threads"


def test_pingpong() -> None:
    near, far = (
        titles.Messages("0 B", spread(time), spread(peak), "256 KiB")
        for time, peak in ((200, 1e10), (520, 5e9))
    )

    assert (
        titles.pingpong({"same package": near, "other package": far})
        == "Crossing the package costs 2.60 × in latency at 0 B and 50.0 % of bandwidth"
    )
    scattered = {
        "same package": titles.Messages("0 B", spread(200, 2, 1.9), None),
        "other package": titles.Messages("0 B", spread(520, 2, 1.9), None),
    }
    assert titles.pingpong(scattered) == "Message passing: time and bandwidth"
    assert titles.pingpong({}) == "Message passing: time and bandwidth"
    said = "A message of 0 B takes 200 ns; bandwidth reaches 10.0 GB/s at 256 KiB"
    assert titles.pingpong({"same cache": near}) == said
    for last, falls in (
        (6e9, ""),
        (1e9, " and falls to 1.00 GB/s at 4 MiB"),
    ):  # 30 times, and no title said so
        assert titles.pingpong({"same cache": near._replace(last=("4 MiB", spread(last)))}) == said + falls
    unsteady = {"same cache": titles.Messages("0 B", Spread(523e3, 470, 1050e3, 2), spread(3e9))}
    assert titles.pingpong(unsteady) == "Message passing: time and bandwidth"


WAITS = {"randread": {d: Spread(d * 50e3, d * 50e3, d * 50e3, 1) for d in (1, 4, 8, 32)}}
"""A queue that is kept full: each depth waits longer."""


def test_iodepth() -> None:
    def line(*values: float) -> dict[int, Spread]:
        return {depth: spread(v) for depth, v in zip((1, 4, 8, 32), values, strict=False)}

    reads = ("randread",)
    assert (
        titles.iodepth({"randread": line(20, 80, 150, 151)}, WAITS, reads)
        == "Past depth 8 the storage gives hardly more reads, only more waiting"
    )
    assert (
        titles.iodepth({"randread": line(20, 80, 150, 300)}, WAITS, reads)
        == "More depth still gives more reads at 32"
    )
    assert (
        titles.iodepth({"randwrite": line(150, 151, 150, 152)}, {"randwrite": WAITS["randread"]}, reads)
        == "Depth 1 gives nearly all the I/Os there are; more depth only waits"
    )
    assert titles.iodepth({"randread": line(150, 300)}, WAITS, reads) == "IOPS and latency over iodepth"
    assert titles.iodepth({"randread": line(150)}, WAITS, reads) == "IOPS and latency"
    assert titles.iodepth({}, {}, ()) == "IOPS and latency"


def test_depth_is_said_to_give_iops_where_every_series_does_the_same() -> None:
    """ "More depth still gives more reads at 32" stood above writes that did so, too."""

    def line(*values: float) -> dict[int, Spread]:
        return {depth: spread(v) for depth, v in zip((1, 4, 8, 32), values, strict=True)}

    rising, full = line(20, 80, 150, 300), line(20, 80, 150, 151)
    both = {"randread": rising, "randwrite": line(10, 40, 75, 150)}
    assert titles.iodepth(both, {}, ("randread",), every=True) == "More depth still gives more IOPS at 32"
    apart = {"randread": rising, "randwrite": full}
    assert titles.iodepth(apart, {}, ("randread",), every=True) == "IOPS and latency over iodepth"
    assert titles.iodepth(apart, {}, ("randread",)) == "More depth still gives more reads at 32"


def test_how_far_p99_is_from_the_median_holds_for_every_repeat() -> None:
    assert titles.percentiles([1.806, 121.4, 3]) == "p99 is 1.80 to 122 × the median"
    assert titles.percentiles([1.9999, 2.0001]) == "p99 is 2.00 × the median"
    assert titles.percentiles([]) == "Percentiles of the latency over iodepth"


def test_more_waiting_is_said_of_what_waits_longer() -> None:
    """A synchronous engine has one I/O in flight whatever iodepth says: neither IOPS nor latency moves."""
    flat = {"randread": {d: spread(100) for d in (1, 4, 8, 32)}}

    assert titles.iodepth(flat, flat, ("randread",)) == "IOPS and latency over iodepth"


def test_tails_need_ten_thousand_samples() -> None:
    few = [Bucket(100, 101, 999), Bucket(900, 901, 1)]

    assert formulas.quantile(few, 0.999) is None
    assert titles.tail("memory", (), 900, 1000) == "Latency tails"
    assert "over 3.11 × the median, the slowest of 100\u202f000 took 1.49 ms" in titles.tail(
        "memory", (840 / 270,), 1.49e6, 100_000
    )
    assert titles.tail("Empty access", (1.0, 1.5), 48.3e3, 300_000) == "Empty access: the slowest of 300\u202f000 took 48.3 µs"  # fmt: skip
    assert titles.tail("Empty access", (1.0, 1.5), None, 300_000) == "Latency tails"
    assert titles.tail("File, direct", (4.217, 5.0), None, 15_000, one_in="hundred") == "File, direct: one access in a hundred takes over 4.21 × the median in each repeat"  # fmt: skip


@pytest.mark.parametrize(
    ("median", "p999", "said"),
    [(164, 735, "4.48"), (35.6e3, 6.39e6, "179"), (1000, 3499, "3.49"), (1000, 59_999, "59.9")],
)
def test_over_is_a_bound_that_holds(median: float, p999: float, said: str) -> None:
    text = titles.tail("x", (p999 / median,), None, 100_000)

    assert text == f"x: one access in a thousand takes over {said} × the median"
    assert float(said) < p999 / median
    several = titles.tail("x", (p999 / median, 1e6), None, 100_000, longer=("y", p999 / median))
    assert several == f"{text} in each repeat (y: over {said} ×)"


def test_the_ends_of_the_overview_have_the_digits_of_its_table() -> None:
    def of(name: str, *values: float, bound: bool = False) -> tuple[str, Spread, bool]:
        return name, formulas.spread(values), bound

    assert titles.overview([of("a", 89.7), of("b", 144.2)]) == "One access: 89.7 ns (a) to 144 ns (b)"
    bounded = titles.overview([of("m", 18.11, bound=True), of("a", 89.7)])
    assert bounded == "One access: at most 18.1 ns in the median (m) to 89.7 ns (a)", (
        "483 ns was said to be the fastest"
    )
    assert titles.overview([of("m", 18.1, bound=True), of("n", 23.1, bound=True)]) == "Time for one access"
    assert titles.overview([of("a", 89.7)]) == "Time for one access"
    apart = titles.overview([of("a", 89.7), of("b", 300.0, 400.0, 500.0)])
    assert apart == "One access: 89.7 ns (a) to ≈ 400 ns (b)"
    noise = titles.overview([of("a", 122.0, 126.0, 129.0), of("b", 116.0, 130.0, 143.0)])
    assert noise == "One access: 126 ns to 130 ns, no difference that can be told"


def test_modes() -> None:
    two = [Mode(15e3, 0.06, 1e4, 1e5), Mode(13e6, 0.94, 1e5, 1e8)]

    assert titles.modes("Reads", two) == "Reads: two speeds, 15.0 µs (6.0 %) and 13.0 ms (94 %)"
    assert titles.modes("Reads", two[:1]) == ""
    assert titles.modes("Reads", two * 3) == ""
