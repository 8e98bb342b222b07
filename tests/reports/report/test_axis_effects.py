"""What each axis of a sweep does, in a table and in sentences, each ratio reckoned by hand."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.draw.figure import Figure
from reports.report import axis_effects, build
from reports.results.load import load
from reports.results.model import Results

RATES = {
    ("local", 1): 10,
    ("local", 2): 20,
    ("local", 4): 30,
    ("remote", 1): 5,
    ("remote", 2): 8,
    ("remote", 4): 12,
}
"""GB/s. Threads, 4 against 1: 3 and 2.4, their geometric mean 2.683; local against remote: 2, 2.5, 2.5, and 2.321."""


def stream(make: Any, path: Path, wobble: float = 0.001, rates: Mapping[tuple[str, int], float] = RATES, **more: Any) -> Results:  # fmt: skip
    maker = make.Maker(path, **more)
    for (place, threads), rate in rates.items():
        for by in (1 - wobble, 1, 1 + wobble):
            text = make.stream_text(rate * 1e3 * by, threads)
            maker.add("s", "stream", {"threads": threads}, text, place=place, axes=("place", "threads"), sweep_title="Bandwidth")  # fmt: skip
    return load([maker.write()])


def test_each_effect_is_a_ratio_with_its_range(make: Any, tmp_path: Path) -> None:
    found = axis_effects.figure(stream(make, tmp_path / "r.db"))

    assert found
    assert found.tables[0].rows == (
        ("Bandwidth", "bandwidth", "threads", "1", "4", "2.68", "2.40 to 3.00", "yes"),
        ("Bandwidth", "bandwidth", "place", "remote", "local", "2.32", "2.00 to 2.50", "yes"),
    )
    assert axis_effects.sentences(found) == [
        "Bandwidth, bandwidth: 2.68 × better by threads from 1 to 4 (2.40 to 3.00), 2.32 × by place from remote to local (2.00 to 2.50)"
    ]


def test_a_rate_that_was_asked_for_is_no_effect(make: Any, tmp_path: Path) -> None:
    """ "1 070 × better by rate_iops from 400 to 0" was the finding of a sweep."""
    maker = make.Maker(tmp_path / "r.db")
    for jobs, rate in itertools.product((1, 4), (0, 400)):
        for wobble in (0.999, 1.0, 1.001):
            iops = (rate or 1e5) * jobs * wobble
            text = make.fio_text({"read": (iops, 10.0)}, bs="4k", rw="randread", iodepth=1)
            options = {"rw": "randread", "bs": "4k", "numjobs": jobs, "rate_iops": rate}
            maker.add("s", "fio", options, text, axes=("numjobs", "rate_iops"))
    results = load([maker.write()])

    found = axis_effects.figure(results)

    assert found
    assert [row[2] for row in found.tables[0].rows] == ["numjobs"]
    assert "No level of rate_iops is better: it is a limit that was asked for." in found.sub


@pytest.mark.parametrize(("option", "others"), [("direct", 0.0), ("rwmixread", 1e3)])
def test_what_fio_accesses_has_no_better_level(option: str, others: float, make: Any, tmp_path: Path) -> None:
    """ "IOPS: 1.88 × better by rwmixread" was of the reads alone, of which a mix has more."""
    maker = make.Maker(tmp_path / "r.db")
    for level, depth in itertools.product((0, 1), (1, 8)):
        for by in (0.99, 1, 1.01):
            parts = {
                "read": (1e4 * depth * (1 if level else 50) * by, 0.1),
                "write": (others * depth * by, 0.1),
            }
            text = make.fio_text(parts, bs="4k", rw="randrw", iodepth=depth)
            options = {"rw": "randrw", "bs": "4k", "iodepth": depth, option: level}
            maker.add("s", "fio", options, text, axes=(option, "iodepth"))
    results = load([maker.write()])

    found = axis_effects.figure(results)

    assert found
    assert [row[2] for row in found.tables[0].rows] == ["iodepth"]
    assert " chooses what is accessed: no level is the better one." in found.sub


def test_a_sweep_called_as_its_number_is_named_once(make: Any, tmp_path: Path) -> None:
    found = axis_effects.figure(stream(make, tmp_path / "r.db"))
    assert found
    (table,) = found.tables
    rows = tuple(("bandwidth", *row[1:]) for row in table.rows)

    (said,) = axis_effects.sentences(replace(found, tables=(replace(table, rows=rows),)))

    assert said.startswith("bandwidth: 2.68 × better by threads")


def _drawn(results: Results) -> list[Figure]:
    page = build.build(results)
    return [f for s in page.sections for b in s.blocks for f in b.figures if f.panels and f.of]


def test_what_the_repeats_do_not_carry_is_in_the_table_and_no_sentence(make: Any, tmp_path: Path) -> None:
    found = axis_effects.figure(stream(make, tmp_path / "r.db", wobble=0.5))

    assert found
    assert [row[-1] for row in found.tables[0].rows] == ["no", "no"]
    assert axis_effects.sentences(found) == []


def test_a_mix_is_not_set_against_runs_of_one_direction(make: Any, tmp_path: Path) -> None:
    """Of randrw the larger direction stood for the run: randread was "better" than a workload that moved more in all."""
    maker = make.Maker(tmp_path / "r.db")
    moved = {
        "randread": {"read": 1000.0},
        "randwrite": {"write": 500.0},
        "randrw": {"read": 800.0, "write": 800.0},
    }
    for (rw, rates), depth, by in itertools.product(moved.items(), (1, 8), (0.99, 1.0, 1.01)):
        text = make.fio_text(
            {way: (rate * depth * by, 100.0) for way, rate in rates.items()}, bs="4k", rw=rw, iodepth=depth
        )
        maker.add("s", "fio", {"rw": rw, "iodepth": depth}, text, axes=("rw", "iodepth"))

    table = axis_effects.figure(load([maker.write()]))

    assert table
    assert [row[2:6] for row in table.tables[0].rows] == [
        ("iodepth", "1", "8", "8.00"), ("access", "randwrite", "randread", "2.00"),
    ]  # fmt: skip
    assert "Without the runs that read and write at once" in table.sub


def test_of_several_hosts_no_axis_is_told_apart_from_them(make: Any, tmp_path: Path) -> None:
    paths = [tmp_path / f"{host}.db" for host in ("a", "b")]
    for path in paths:
        stream(make, path, host=path.stem)

    assert axis_effects.figure(load(paths)) is None


def test_what_a_turn_of_a_loop_takes_is_not_compared_where_it_is_mostly_the_timer(
    make: Any, tmp_path: Path
) -> None:
    """One turn takes 26 ns with the timer, each of 1000 turns 6.02: of the 20 ns a turn has a thousandth."""
    maker = make.Maker(tmp_path / "r.db")
    for turns, took in ((1, 26.0), (1000, 6020.0)):
        text = json.loads(make.poke_text([took] * 100, target="compute", op="sine"))
        text["results"][0] |= {"iterations": turns, "ns_per_iteration": took / turns, "bytes": 0}
        options = {"target": "compute", "loop": "sine", "iterations": turns}
        for _ in range(3):
            maker.add("s", "poke", options, json.dumps(text), axes=("iterations",))

    found = axis_effects.figure(load([maker.write()]))

    assert found
    assert found.tables[0].rows[0][-1] == "mostly the timer"
    assert axis_effects.sentences(found) == []


def test_a_title_without_a_digit_may_be_a_finding() -> None:
    told = Figure(id="f", title="Where latency starts to climb", sub="", found=True)

    assert told.says
    assert not Figure(id="f", title="IOPS over iodepth", sub="").says
    assert not Figure(id="f", title="Nodes 0 to 3", sub="", of="nodes", sweep="Nodes 0 to 3").says


def bcast(benchmark: str, np: int, times: Mapping[int, float]) -> str:
    """IMB's table of a collective: message size → time of the slowest rank (µs)."""
    line = "#" + "-" * 64 + "\n"
    rows = "".join(
        f"{n:13d} {1000:12d} {t * 0.9:12.2f} {t:12.2f} {t * 0.95:12.2f}\n" for n, t in times.items()
    )
    return (
        f"{line}#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n{line}"
        f"# Calling sequence was: \n\n# IMB-MPI1 {benchmark}\n\n{line}# Benchmarking {benchmark} \n# #processes = {np} \n{line}"
        f"       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n{rows}\n\n# All processes entering MPI_Finalize\n\n"
    )


def collectives(make: Any, path: Path, time: Callable[[int, int], float], names: Sequence[str] = ("Bcast",)) -> Results:  # fmt: skip
    """time: of ranks and message size, in µs; remote takes half as long again."""
    maker = make.Maker(path)
    for name in names:
        for place, slower in (("local", 1.0), ("remote", 1.5)):
            for np in (2, 4):
                for by in (0.999, 1, 1.001):
                    times = {n: time(np, n) * slower * by for n in (0, 4, 64, 1024, 65536)}
                    options = {"benchmark": name, "np": np}
                    axes = (*(("benchmark",) if len(names) > 1 else ()), "place", "np")
                    maker.add("s", "imb", options, bcast(name, np, times), place=place, axes=axes)
    return load([maker.write()])


def test_cells_that_hold_curves_are_set_against_one_another_at_one_size(make: Any, tmp_path: Path) -> None:
    """That of 2 ranks begins with a cold start: 4 B stood for 4 ranks, 64 B for 2."""
    times = {4: 90.0, 64: 20.0, 1024: 40.0, 65536: 800.0}
    results = collectives(make, tmp_path / "r.db", lambda np, n: times.get(n, 90) * (1 if np == 2 else 2) if n != 4 or np == 2 else 36.0)  # fmt: skip

    (figure,) = _drawn(results)

    assert figure.title == "Bcast time max at 64 B: 2.00 × better by np (2), 1.50 × by place (local)"


def test_what_turns_with_the_message_size_is_no_title(make: Any, tmp_path: Path) -> None:
    """A title claimed the effect that 10 of 23 sizes had, over a table that said the opposite of the others."""
    results = collectives(make, tmp_path / "r.db", lambda np, n: 10.0 * np if n <= 64 else n / np)

    (figure,) = _drawn(results)

    assert figure.title == "Bcast time max at 4 B: 1.50 × better by place (local)"
    assert "Bcast time max at 4 B: 2.00 × better by np from 4 to 2 (the other way at 2 of 4 sizes), 1.50 × by place from remote to local" in figure.axes  # fmt: skip
    assert [row[-1] for row in figure.numbers[-1].rows] == ["the other way at 2 of 4 sizes", "yes"]


def test_a_figure_of_one_benchmark_bears_no_effect_of_the_benchmark(make: Any, tmp_path: Path) -> None:
    def time(np: int, n: int) -> float:
        return 10.0 * np + n / 100

    figures = _drawn(collectives(make, tmp_path / "r.db", time, ("Allreduce", "Bcast")))

    assert [(f.title, "benchmark" in f.told) for f in figures] == [
        ("Allreduce time max at 4 B: 2.00 × better by np (2), 1.50 × by place (local)", False),
        ("Bcast time max at 4 B: 2.00 × better by np (2), 1.50 × by place (local)", False),
    ]


@pytest.mark.parametrize(
    ("names", "words"),
    [(["read IOPS", "write IOPS"], "IOPS"), (["bandwidth"], "bandwidth"), (["latency", "rate"], "number")],
)
def test_cells_share_the_words_that_all_of_them_have(names: list[str], words: str) -> None:
    assert axis_effects._words(names) == words
