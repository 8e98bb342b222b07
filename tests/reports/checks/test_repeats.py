"""What the repeats of a cell say together: scatter, groups, drift, a slow first one, cells that did not settle."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from reports.checks.audit import audit
from reports.checks.repeats import _unsettled, by_chance
from reports.numbers import scatter
from reports.results.load import load


def stream(make: Any, path: Path, *cells: Sequence[float], seconds: float = 60, beside: str = "") -> Path:
    """A file of STREAM, in rounds: the triad rates (MB/s) of each cell's repeats. beside: the name of another sweep, of one run."""
    maker = make.Maker(path)
    if beside:
        maker.add(beside, "stream", {"threads": 1}, make.stream_text(20e3, 1))
    at = 0
    for repeat in range(max(map(len, cells))):
        for n, rates in enumerate(cells, 1):
            if repeat < len(rates):
                started = f"2026-11-21T{int(9 + at // 3600):02}:{int(at // 60 % 60):02}:{int(at % 60):02}+00:00"
                text = make.stream_text(rates[repeat], n)
                maker.add("s", "stream", {"threads": n}, text, axes=("threads",), started=started)
                at += seconds
    return maker.write()


def found(path: Path, key: str) -> list[tuple[str, str, str]]:
    return [(f.level, *cell) for f in audit(load([path])) if f.id == key for cell in f.cells]


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ((5.53e3, 22.5e3, 6.38e3), [("warn", "3 repeats, 5.53 to 22.5 GB/s")]),
        ((20e3, 21e3, 24e3), [("warn", "3 repeats, 20.0 to 24.0 GB/s")]),
        ((20e3, 20.5e3, 21e3), []),
        ((20e3,), []),
        ((20e3, 20.1e3, 20.2e3, 20.1e3, 19.9e3, 20e3, 9e3), [("info", "7 repeats, 9.00 to 20.2 GB/s")]),
        ((20e3, 20.3e3, 19.7e3, 20.1e3, 20.5e3, 19.5e3, 20.2e3, 19.8e3, 20.4e3, 19.6e3), []),
        ((20e3, 20.5e3, 19.5e3, 20.2e3, 20.9e3, 19.1e3, 20.3e3, 19.7e3, 20.4e3, 19.6e3), []),
        ((20e3, 21.5e3, 18.5e3, 20.6e3, 22.2e3, 17.8e3, 20.9e3, 19.1e3, 21.2e3, 18.8e3), [("warn", "10 repeats, 17.8 to 22.2 GB/s")]),
        (
            (22.1e3, 5.5e3, 22.3e3, 5.4e3, 5.6e3, 22.4e3, 5.5e3, 22.2e3),
            [("warn", "8 repeats, 5.40 to 22.4 GB/s, in two groups: 5.40 to 5.60 GB/s and 22.1 to 22.4 GB/s")],
        ),
    ],
)  # fmt: skip
def test_repeats_that_differ(make: Any, tmp_path: Path, rates: Sequence[float], said: list[Any]) -> None:
    path = stream(make, tmp_path / "a.db", rates)

    assert [(level, text) for level, _, text in found(path, "G11")] == said


@pytest.mark.parametrize("repeats", [pytest.param(n, marks=pytest.mark.slow) for n in (8, 10, 15)])
def test_of_cells_with_two_percent_of_noise_hardly_any_is_named(make: Any, tmp_path: Path, repeats: int) -> None:
    """Every second one was: the interval of a median of eight is their range."""
    random = Random(repeats)
    cells = [[20e3 * random.gauss(1, 0.02) for _ in range(repeats)] for _ in range(60)]

    assert len(found(stream(make, tmp_path / "a.db", *cells), "G11")) <= 1


def test_many_repeats_of_a_program_that_scatter_are_named_and_so_is_what_is_known(make: Any, tmp_path: Path) -> None:
    """18 repeats, ±12 %: their standard deviation, 7 %, is usual of three of an unknown program; of 18 it leaves the median open."""
    metrics = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}
    random = Random(4)
    maker = make.Maker(tmp_path / "a.db")
    for n, sd in ((1, 0.07), (2, 0.005)):
        for _ in range(18):
            text = f"rate {100 * random.gauss(1, sd):.2f}\n"
            maker.add("s", "command", {"command": "x", "metrics": metrics, "n": n}, text, axes=("n",))

    ((level, cell, text),) = found(maker.write(), "G11")

    assert (level, cell) == ("warn", "n=1")
    assert text.startswith("18 repeats, 88.")


@pytest.mark.parametrize(
    ("beside", "counted"), [("", "60 runs of 20 cells of s"), ("other", "60 runs of 20 cells of s")]
)
def test_a_drift_is_told_with_its_slope(beside: str, counted: str, make: Any, tmp_path: Path) -> None:
    """20 cells, 3 rounds of 20 min each: 6 % less at the end. Of two sweeps "60 runs of 20 cells" told of neither, nor of which number."""
    random = Random(1)
    cells = [[20e3 * (1 - 0.06 * (r * 20 + n) / 60) * random.gauss(1, 0.004) for r in range(3)] for n in range(20)]

    ((level, cell, text),) = found(stream(make, tmp_path / "a.db", *cells, beside=beside), "G14")

    assert (level, cell) == ("warn", counted)
    assert 5 < float(text.split()[0]) < 7
    assert text.endswith(" worse within 59 min")


def test_without_a_drift_nothing_is_told(make: Any, tmp_path: Path) -> None:
    random = Random(2)
    cells = [[20e3 * random.gauss(1, 0.01) for _ in range(5)] for _ in range(8)]

    path = stream(make, tmp_path / "a.db", *cells)

    assert found(path, "G14") == found(path, "G15") == []


def test_a_first_repeat_that_was_cold_is_named(make: Any, tmp_path: Path) -> None:
    cells = [[15e3, 20e3, 20.1e3, 19.9e3, 20.05e3], [20e3, 20.1e3, 19.9e3, 20.05e3, 20e3]]

    assert found(stream(make, tmp_path / "a.db", *cells), "G15") == [
        ("info", "threads=1", "first 15.0 GB/s, others 19.9 to 20.1 GB/s")
    ]


def test_what_did_not_settle_says_how_far_it_is_known(make: Any, tmp_path: Path) -> None:
    wide = [20e3, 25e3] * 7 + [20e3]
    path = stream(make, tmp_path / "a.db", [20e3] * 6, wide, [25e3, 20e3] * 4, [20e3] * 3)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE point SET most_repeats = 15")

    assert found(path, "G13") == [
        ("warn", "threads=2", "±25 % after 15 repeats"),
        ("warn", "threads=3", "±11 % after 8 of at most 15 repeats"),
        (
            "warn",
            "threads=4",
            "3 repeats, and 6 are needed to know a median to ±2.5 %",
        ),
    ]


@pytest.mark.parametrize(("noise", "named"), [(0.024, True), (0.004, False)])
def test_what_settled_among_many_that_did_not_is_named_unless_it_is_calm(
    make: Any, tmp_path: Path, noise: float, named: bool
) -> None:
    random = Random(4)
    noisy = [[20e3 * random.gauss(1, 0.05) for _ in range(15)] for _ in range(11)]
    settled = [20e3 * (1 + noise * step) for step in (-1, 1, -0.6, 0, 0.6, 1, -1, 0.05)]
    path = stream(make, tmp_path / "a.db", *noisy, settled)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE point SET most_repeats = 15")

    told = [text for _, cell, text in found(path, "G13") if cell == "threads=12"]
    text = "settled, but 11 of 12 cells did not; with their noise ±"
    assert [said.startswith(text) for said in told] == [True] * named


def test_what_settled_beside_cells_that_were_cut_short_is_not_by_chance() -> None:
    """Of three repeats, of none that differ and about nothing no noise can be told."""
    settled = [[1.0, 1.01, 0.99, 1.0, 1.0, 1.01]]
    assert (
        by_chance(settled, [[1.0, 2.0, 3.0]] * 3) == by_chance(settled, [[0.0, 0.0, 0.0, 0.0, 1.0, -1.0]] * 3) == [""]
    )


def test_an_interval_wider_than_the_number_is_none() -> None:
    assert _unsettled([1.0, 1.0, 2.0, 2.0, 9.0, 30.0], 15, 15) == ("unknown median after 6 repeats")


def gains(make: Any, path: Path, *cells: Sequence[float]) -> Path:
    maker = make.Maker(path)
    metrics = {"gain": {"regex": r"gain (\S+)", "unit": "MB/s", "better": "higher"}}
    for n, values in enumerate(cells):
        for value in values:
            options = {"command": "x", "metrics": metrics, "n": n}
            maker.add("s", "command", options, f"gain {value:.2f}\n", axes=("n",))
    return maker.write()


def test_repeats_of_zero_and_below_are_repeats(make: Any, tmp_path: Path) -> None:
    """They were left out: of −1.0, −0.3, 0.4 and 1.1 it said "0.4 and 1.1: the highest is 2.8 × the lowest", of 0, 0, 4.0, 4.2 nothing."""
    path = gains(make, tmp_path / "a.db", (-10, -3, 4), (0, 0, 4.0, 4.2), (0, 0, 0), (-5, -5, -5.1))

    assert [(cell, text) for _, cell, text in found(path, "G11")] == [
        ("n=0", "3 repeats, −10.0 to 4.00 MB/s"),
        ("n=1", "4 repeats, 0 to 4.20 MB/s"),
    ]


@pytest.mark.parametrize(
    ("zeros", "level", "said"),
    [
        ((0.17, 0.4, 37.4), "warn", "PingPong time at 0 B: 0.17 to 37.4 µs"),
        ((0.3, 0.31, 0.29, 0.3, 0.31, 0.3, 37.4), "info", "PingPong time at 0 B: 0.29 to 37.4 µs"),
        ((0.3, 0.4, 0.85), "", ""),
    ],
)  # fmt: skip
def test_other_numbers_of_a_cell_that_are_apart_beyond_reason_are_named(
    make: Any, tmp_path: Path, zeros: Sequence[float], level: str, said: str
) -> None:
    """“0.4 (0.17–37.4)” stood in a table whose peaks agree, without a mark or a word."""
    maker = make.Maker(tmp_path / "p.db")
    for zero in zeros:
        maker.add(
            "p",
            "imb",
            {"benchmark": "PingPong"},
            make.imb_text({0: zero, 1024: 2.0, 2**20: 99.0, 2**22: 390.0}),
        )
    path = maker.write()

    assert found(path, "G11") == ([(level, "(one cell)", said)] if said else [])


def test_how_many_other_numbers_are_far_apart_is_said(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "p.db")
    for much in (1.0, 2.0, 40.0):
        maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text({0: 0.5 * much, 8: 0.6 * much, 64: 0.7 * much, 2**20: 99.0, 2**22: 390.0}))  # fmt: skip

    ((_, _, said),) = found(maker.write(), "G11")

    assert said.endswith(", and 2 other numbers")


@pytest.mark.parametrize(
    ("values", "unit", "told"),
    [
        ((-0.08, -0.06, -0.01), "dB", False), ((20.0, 30.0, 40.0), "dBm", False), ((2.0, 3.0, 4.0), "°C", False), ((2.0, 3.0, 4.0), "K", True),
        ((0, 1, 2), "1", False), ((0, 1, 2), "errors", False), ((20, 30, 60), "1", True), ((0.004, 0.01, 0.019), "1", False),
        ((0.4, 0.9, 1.9), "1", True), ((1.0, 3.0, 5.0), "%", False), ((20.0, 40.0, 60.0), "%", True), ((0.1, 0.2, 0.3), "", True),
        ((1.0, 2.0, 4.0), "ns", True), ((0.0, 0.0, 4e6), "B/s", True), ((2.0, 3.0, 4.0), "W", True), ((2.1, 3.0, 4.0), "points", True),
    ],
)  # fmt: skip
def test_shares_are_told_of_what_has_a_zero_and_is_not_near_it(
    values: tuple[float, ...], unit: str, told: bool
) -> None:
    assert scatter.tells_shares(values, unit) is told


@pytest.mark.parametrize(("better", "named"), [("higher", True), ("neither", False)])
def test_of_what_is_neither_better_nor_worse_no_repeat_is_called_worse(
    make: Any, tmp_path: Path, better: str, named: bool
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    metrics = {"heap": {"regex": "heap ([0-9.]+)", "unit": "MB", "better": better}}
    for value in (150, 200, 201, 199, 200.5):
        maker.add("s", "command", {"command": "x", "metrics": metrics}, f"heap {value}\n")

    assert any(f.id == "G15" for f in audit(load([maker.write()]))) is named
