"""What the page says of memory latency and bandwidth is true of every curve, panel and cell that it is said of."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import mlc
from reports import numbers, show
from reports.charts import titles
from reports.charts.mlc import chapter
from reports.draw.figure import Figure
from reports.numbers import formulas
from reports.numbers.formulas import Load, Spread
from reports.page.model import KeyNumber
from reports.report import build
from reports.results import load
from reports.results.traffic import traffic_name
from reports.text import format as fmt

CURVE = [(0, 131.0, 8450.0), (100, 120.0, 8000.0), (500, 110.0, 4000.0), (5000, 103.1, 730.0)]


def figures(path: Path, tool: str = "mlc") -> list[Figure]:
    built = build.build(load.load([path]))
    return [f for s in built.sections for b in s.blocks if b.tool == tool for f in b.figures]


def key(path: Path, name: str) -> KeyNumber:
    (found,) = [n for n in build.build(load.load([path])).key_numbers if n.name.startswith(name)]
    return found


def loaded(make: Any, path: Path, *runs: Sequence[tuple[int, float, float]]) -> Path:
    maker = make.Maker(path)
    for rows in runs:
        maker.add("s", "mlc", {"mode": "loaded_latency", "W": "R"}, make.mlc_text(rows))
    written: Path = maker.write()
    return written


# --- the printed rule --------------------------------------------------------------------------------------


@given(st.floats(1, 1e12), st.floats(0.5, 2))
def test_with_one_run_a_side_no_sentence_speaks_of_less_than_a_tenth(value: float, ratio: float) -> None:
    one, other = (Spread(v, v, v, 1) for v in (value, value * ratio))
    places = {"local": {1: one, 2: one}, "remote": {1: other, 2: other}}

    title = titles.scaling("Triad", places)
    said = re.search(r"(costs|gives) ([\d.]+) %", title)

    assert bool(said) == formulas.differs(one, other)
    if said:
        assert abs(other.median / one.median - 1) > 0.10
    for pairs in ([(one, other)], [(one, other), (one, one)]):
        if len(pairs) > 1 or not formulas.differs(one, other):
            assert "×" not in titles.matrix("Idle latency", {"": pairs})


def test_nodes_are_no_repeats(make: Any, tmp_path: Path) -> None:
    """Twelve pairs of nodes, one run each: 7 % is less than the rule asks."""
    matrix = [[100.0 if a == b else 107.0 for b in range(4)] for a in range(4)]
    maker = make.Maker(tmp_path / "r.db").add(
        "s", "mlc", {"mode": "latency_matrix"}, make.matrix_text(matrix)
    )

    assert figures(maker.write())[0].title == "Idle latency between NUMA nodes"


@pytest.mark.parametrize(
    ("repeats", "said"), [((1.0,), "n = 1, no spread known"), ((1.0, 1.02, 0.98), "±2.0 % (n = 3)")]
)
def test_the_n_of_a_number_of_several_nodes_is_that_of_its_repeats(
    make: Any, tmp_path: Path, repeats: tuple[float, ...], said: str
) -> None:
    """Of eight nodes it was "n = 8", and nodes that differ were "unsteady"."""
    maker = make.Maker(tmp_path / "r.db")
    for factor in repeats:
        matrix = [[(80 + 5 * a if a == b else 200) * factor for b in range(8)] for a in range(8)]
        maker.add("s", "mlc", {"mode": "latency_matrix"}, make.matrix_text(matrix))

    found = key(maker.write(), "Memory, idle")

    assert (found.value, found.spread, found.unsteady, found.repeats) == ("97.5", said, False, "")
    assert "median of 8 nodes, 80.0 to 115 ns" in found.context


def test_remote_memory_is_compared_at_one_number_of_threads(make: Any, tmp_path: Path) -> None:
    """Remote's best is 0.923 of local's best, with a quarter of its threads; with as many it is 0.72."""
    maker = make.Maker(tmp_path / "r.db")
    for place, rates in (("local", {4: 30e3, 16: 40e3}), ("remote", {4: 36.92e3, 16: 28.8e3})):
        for n, rate in rates.items():
            options = {"threads": n}
            maker.add(
                "s",
                "stream",
                options,
                make.stream_text(rate, n),
                axes=("threads", "place"),
                place=place,
                relation=place,
            )
    path = maker.write()

    assert key(path, "STREAM Triad").context == "16 threads, local; remote 0.720 ×"
    assert figures(path, "stream")[0].title == "Remote memory costs 28.0 % at 16 threads"


def test_repeats_that_overlap_give_no_ratio_of_remote_memory(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for place, rates in (("local", (30e3, 40e3, 41e3)), ("remote", (29e3, 31e3, 32e3))):
        for rate in rates:
            maker.add(
                "s",
                "stream",
                {"threads": 4},
                make.stream_text(rate, 4),
                axes=("place",),
                place=place,
                relation=place,
            )

    assert key(maker.write(), "STREAM Triad").context == "4 threads, local"


# --- matrices ----------------------------------------------------------------------------------------------

EIGHT = [
    [96.0 if a == b else 117.0 + a if a // 4 == b // 4 else 220.0 + a for b in range(8)] for a in range(8)
]


def test_nodes_of_two_distances_are_two_numbers(make: Any, tmp_path: Path) -> None:
    """Eight nodes in two packages: no pair is at the median of all."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = "pack:2 numa:4 core:2 pu:1"
    maker.add("s", "mlc", {"mode": "latency_matrix"}, make.matrix_text(EIGHT))

    figure, *_ = figures(maker.write())

    assert (
        figure.title
        == "Idle latency to other nodes’ memory is 1.22 to 1.29 × that within a node (same package), 2.29 to 2.36 × (another package)"
    )


def test_a_ratio_of_two_machines_says_of_how_many_tables_it_is(make: Any, tmp_path: Path) -> None:
    """ "1.60 to 1.84 × that within a node" was 1.60 to 1.63 of one machine, 1.83 to 1.84 of the other."""
    maker = make.Maker(tmp_path / "r.db")
    for source, far in (("a.txt", 136.0), ("b.txt", 144.0)):
        maker.add("s", "mlc", {"mode": "latency_matrix", "t": source}, make.matrix_text([[80.0, far], [far, 80.0]]), axes=("t",))  # fmt: skip

    figure, *_ = figures(maker.write())

    assert (
        figure.title
        == "Idle latency to other nodes’ memory is 1.70 to 1.80 × that within a node, in 2 tables"
    )


def test_nodes_whose_distance_nothing_tells_are_a_range(make: Any, tmp_path: Path) -> None:
    path = (
        make.Maker(tmp_path / "r.db")
        .add("s", "mlc", {"mode": "latency_matrix"}, make.matrix_text(EIGHT))
        .write()
    )

    assert (
        figures(path)[0].title == "Idle latency to other nodes’ memory is 1.22 to 2.36 × that within a node"
    )
    rows = [(row.name, row.median) for row in chapter(load.load([path]), "mlc").access_times]
    assert rows == [  # near and far nodes have no median that a pair is at
        ("Memory, idle, local", 96.0),
        ("Memory, idle, nearest other node, 0 to 1", 117.0),
        ("Memory, idle, farthest other node, 7 to 0", 227.0),
    ]


def test_matrices_of_several_texts_have_no_median(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for n in range(9):
        rows = make.matrix_text([[80.0 + n, 140.0], [140.0, 80.0 + n]])
        maker.add("s", "mlc", {"mode": "latency_matrix", "source": f"m{n}.txt"}, rows, axes=("source",))
    path = maker.write()

    (figure,) = figures(path)
    number = key(path, "Memory, idle")

    assert not [t.caption for t in (*figure.tables, *figure.numbers) if "median" in t.caption]
    assert (len(figure.tables), len(figure.numbers)) == (4, 9)
    assert (number.value, number.unit) == ("80.0", "ns")
    assert number.context.startswith("local, source m0.txt; ")


def test_nothing_off_the_diagonal_is_called_own_memory(make: Any, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "fixtures" / "mlc" / "memlat_0.1_six_runs.out").read_text()
    path = make.Maker(tmp_path / "r.db").add("s", "mlc", {"mode": "c2c_latency"}, text).write()

    (figure,) = [f for f in figures(path) if f.id.startswith("cores")]

    assert "own memory" not in figure.marks


def test_a_load_without_a_reader_is_called_bandwidth(make: Any, tmp_path: Path) -> None:
    """ "Loaded latency" was the title of a table of bandwidths: with -T nothing times a latency."""
    maker = make.Maker(tmp_path / "r.db")
    text = "pinsweep memlat 0.1\n\nCommand line parameters: --loaded_latency -T -d0\n\nInject\tBandwidth\nDelay\tMB/sec\n==================\n 00000\t 12345.6\n"
    maker.add("s", "mlc", {"mode": "loaded_latency", "T": True, "d": 0, "W": "R"}, text)

    (figure,) = figures(maker.write())

    assert figure.title == "Bandwidth of the load"


# --- loaded latency ----------------------------------------------------------------------------------------


def test_the_floor_of_few_idle_rows_is_that_of_the_least_load(make: Any, tmp_path: Path) -> None:
    rows = [*CURVE[:3], (1000, 99.84, 2900.0), CURVE[3]]
    path = loaded(make, tmp_path / "r.db", rows)

    number = key(path, "Memory, idle")

    assert (number.value, number.unit) == ("103", "ns")
    assert "least load, delay 5000" in number.context


@pytest.mark.parametrize(
    ("wider", "told"), [(1.03, ["Memory, idle, 64 B stride"]), (1.3, ["Memory, idle, 64 B stride", "Memory, idle, 256 B stride"])]
)  # fmt: skip
def test_a_walk_that_was_timed_twice_is_told_once(
    wider: float, told: list[str], make: Any, tmp_path: Path
) -> None:
    """ "One access: 126 ns (256 B stride) to 130 ns (64 B stride)": repeats of one walk, under no load, with other numbers of their noise."""
    maker = make.Maker(tmp_path / "r.db")
    for stride, by in ((64, 1.0), (256, wider)):
        for noise in (0.97, 1.0, 1.02):
            text = make.mlc_text([(d, ns * by * noise, rate) for d, ns, rate in CURVE], stride=stride)
            maker.add("s", "mlc", {"mode": "loaded_latency", "W": "R", "l": stride}, text, axes=("l",))
    results = load.load([maker.write()])

    assert [time.name for time in chapter(results).access_times] == told


@pytest.mark.parametrize(("given", "name"), [({}, "Memory, idle"), ({"D": 0}, "Memory, idle, whole buffer")])
def test_walks_over_the_whole_buffer_and_within_ranges_have_two_names(
    given: dict[str, int], name: str, make: Any, tmp_path: Path
) -> None:
    """ "Memory, idle" was one number, 105 ns, with the translations hidden, and another, 212 ns, with them."""
    rows = [(d, ns, rate) for d, ns, rate in CURVE]
    maker = make.Maker(tmp_path / "r.db")
    maker.add("s", "mlc", {"mode": "loaded_latency", "W": "R", **given}, make.mlc_text(rows))

    assert key(maker.write(), "Memory, idle").name == name


def test_an_idle_latency_above_the_loaded_one_is_no_key_number(make: Any, tmp_path: Path) -> None:
    rows = [(delay, 307.0 if delay == 5000 else latency, rate) for delay, latency, rate in CURVE]
    path = loaded(make, tmp_path / "r.db", rows)

    assert "Memory, idle" not in {number.name for number in build.build(load.load([path])).key_numbers}
    (time,) = chapter(load.load([path])).access_times
    assert "slower than under more load" in time.source
    assert "disturbed" not in time.source, "nothing says that something else ran"
    assert figures(path)[0].title == "Latency under load"


def test_page_and_compare_say_one_floor_peak_and_bandwidth(make: Any, tmp_path: Path) -> None:
    """Median over the repeats of what each of them offers; the peaks lie at different delays."""
    runs = [
        [(0, 250.0, 6000.0), (100, 120.0, 5000.0), (500, 90.0, 4000.0), (5000, 80.0, 700.0)],
        [(0, 150.0, 3000.0), (100, 140.0, 4400.0), (500, 95.0, 3500.0), (5000, 90.0, 700.0)],
        [(0, 160.0, 4000.0), (100, 130.0, 3900.0), (500, 92.0, 3000.0), (5000, 85.0, 700.0)],
    ]
    path = loaded(make, tmp_path / "r.db", *runs)
    found: dict[str, list[float]] = {}
    for run in load.load([path]).good("mlc"):
        for number in numbers.numbers(run):
            if number.name.derived:
                found.setdefault(number.name.metric, []).append(number.value)
    medians = {name: statistics.median(values) for name, values in found.items()}
    (offers,) = figures(path)[0].tables
    row = dict(zip(offers.columns, offers.rows[0], strict=True))

    counts = {name: len(values) for name, values in found.items()}
    assert counts == {"peak bandwidth": 3, "unloaded latency": 3, "bandwidth within 2 × unloaded latency": 1}
    assert medians["unloaded latency"] == 85.0
    assert medians["peak bandwidth"] == 4.4e9
    loads = [[Load(delay, latency, 1e6 * rate) for delay, latency, rate in rows] for rows in runs]
    within = formulas.over_repeats([formulas.loaded_latency(rows) for rows in loads]).at_double
    assert within <= medians["peak bandwidth"]
    assert row["Unloaded, ns"] == "85.0 *"
    assert "Unloaded: the median of the rows of each run that move at most 10 % of its peak" in offers.caption
    (alone,) = figures(loaded(make, tmp_path / "one.db", runs[0]))[0].tables
    assert "Unloaded: the median of the rows that move at most 10 % of the peak" in alone.caption
    assert row["Peak, GB/s"] == "4.40 (4.00–6.00)"
    bound = "peak" if within == medians["peak bandwidth"] else f"{math.floor(within / 1e7) / 100:.2f}"
    assert row["GB/s within 2 × unloaded"] == f"≥ {bound}"
    assert key(path, "Memory, under load").value == "4.40"


@given(st.lists(st.tuples(st.floats(50, 500), st.floats(1e9, 1e11)), min_size=4, max_size=12))
def test_a_title_of_loaded_latency_holds_for_the_rows(rows: list[tuple[float, float]]) -> None:
    loads = [Load(100 * n, latency, rate) for n, (latency, rate) in enumerate(rows)]
    offers = formulas.loaded_latency(loads)

    title = titles.loaded_latency([offers])

    if title.startswith("Memory latency doubles"):
        assert title == f"Memory latency doubles at {fmt.quantity(offers.at_double, 'B/s')}"
        assert any(load.latency > 2 * offers.unloaded for load in loads)
        assert offers.latency_at_peak > 2 * offers.unloaded
    if title.startswith("Memory moves"):
        assert title == f"Memory moves {fmt.quantity(offers.peak, 'B/s')} within twice its unloaded latency"
        assert any(load.latency <= 2 * offers.unloaded for load in loads if load.bandwidth == offers.peak)
    if title.startswith("Latency did not double"):
        half = offers.peak / 2
        first = next(i for i, load in enumerate(formulas.by_load(loads)) if load.bandwidth >= half)
        assert all(load.latency <= 2 * offers.unloaded for load in formulas.by_load(loads)[first:])


def test_where_latency_doubles_is_a_value_and_no_bound(make: Any, tmp_path: Path) -> None:
    """A title said 106, its table 107 and OpenMetrics 106.9."""
    rows = [(9000, 64.0, 1e3), (5000, 64.0, 1.1e3), (3000, 64.0, 1.2e3), (2, 128.0, 106.9e3), (0, 190.0, 111e3)]  # fmt: skip
    path = make.Maker(tmp_path / "m.db").add("s", "mlc", {"delays": "0-9000"}, make.mlc_text(rows)).write()

    figures = [f for s in build.build(load.load([path])).sections for b in s.blocks for f in b.figures]

    (title,) = [f.title for f in figures if "doubles" in f.title]
    assert title == "Memory latency doubles at 107 GB/s"


def test_a_peak_that_the_load_cannot_reach_says_so(make: Any, tmp_path: Path) -> None:
    rows = [(0, 107.0, 10600.0), (100, 104.0, 9000.0), (500, 101.0, 4000.0), (5000, 100.0, 700.0)]
    marked = make.mlc_text(rows).replace("Inject\t", "# load threads: 1, on CPUs 1\nInject\t", 1)
    banner = "pinsweep memlat 0.1 (MLC-style; not Intel(R) Memory Latency Checker)"
    marked = marked.replace("Intel(R) Memory Latency Checker - v3.9", banner)
    path = make.Maker(tmp_path / "r.db").add("s", "mlc", {"mode": "loaded_latency"}, marked).write()

    assert key(path, "Memory, 1 load thread").value == "10.6"
    assert figures(path)[0].title == "Latency did not double: 1 load thread reaches 10.6 GB/s"


def test_the_line_of_an_unloaded_latency_says_whose_it_is(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for traffic in ("", "6"):
        slow = 1.0 if traffic else 1.3
        text = make.mlc_text([(d, ns * slow, rate) for d, ns, rate in CURVE], traffic=traffic)
        maker.add("s", "mlc", {"mode": "loaded_latency", "W": traffic or "R"}, text, axes=("W",))

    (panel,) = figures(maker.write())[0].panels

    texts = [note["text"] for note in panel.wide["datasets"]["notes"]]
    assert texts[0] == "unloaded (write nt) 103 ns"


# --- idle latency ------------------------------------------------------------------------------------------


def idle_text(latency: float, mib: float) -> str:
    return (
        "Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: --idle_latency \n\n"
        f"Using buffer size of {mib:.3f}MiB\nEach iteration took {latency * 2.6:.1f} base frequency clocks (\t{latency:.1f}\tns)\n"
    )


def test_buffers_of_several_sizes_are_several_numbers(make: Any, tmp_path: Path) -> None:
    """3.4, 16, 336 and 307 ns: the key number is of the largest buffer, and no 142 ns anywhere."""
    maker = make.Maker(tmp_path / "r.db")
    sizes = {
        "16k": (3.4, 0.015625),
        "0.5 x L2": (16.0, 0.5),
        "0.5 x L3": (336.0, 16.0),
        "4 x L3": (307.0, 132.0),
    }
    for size, (latency, mib) in sizes.items():
        options = {"mode": "idle_latency", "b": size}
        maker.add("s", "mlc", options, idle_text(latency, mib), axes=("b",))
    path = maker.write()

    number = key(path, "Idle latency")  # no machine is known whose caches it would be larger than
    times = chapter(load.load([path])).access_times

    assert (number.value, number.context) == ("307", "buffer 4 x L3; Intel MLC 3.9")
    assert sorted(time.median for time in times) == [3.4, 16.0, 307.0, 336.0]
    assert "Idle latency, buffer 16 KiB" in {time.name for time in times}


def test_a_buffer_that_may_lie_in_a_cache_is_not_called_memory(make: Any, tmp_path: Path) -> None:
    """A number without a unit is one of KiB."""
    for machine, want in (
        ("", "Idle latency"),
        ("pack:1 numa:1 l3:1(size=33554432) core:4 pu:1", "Memory, idle"),
    ):
        maker = make.Maker(tmp_path / f"{want}.db")
        maker.topology = machine or maker.topology
        for size, latency in ((64, 2.9), (1_800_000, 75.8)):
            text = idle_text(latency, size / 1024)
            maker.add("s", "mlc", {"mode": "idle_latency", "b": size}, text, axes=("b",))
        times = chapter(load.load([maker.write()])).access_times

        assert [t.name for t in times] == ["Idle latency, buffer 64 KiB", f"{want}, buffer 1800000 KiB"]


def test_two_places_of_one_relation_are_two_numbers(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for place, latency in (("node 0", 80.0), ("node 1", 95.0)):
        options = {"mode": "idle_latency"}
        maker.add(
            "s", "mlc", options, idle_text(latency, 200.0), axes=("place",), place=place, relation="local"
        )

    number = key(maker.write(), "Memory, idle")

    assert (number.value, number.context) == ("80.0", "node 0; lowest of 2 cells; Intel MLC 3.9")


# --- STREAM ------------------------------------------------------------------------------------------------


def test_a_ratio_beside_a_key_number_is_of_its_own_panel(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for size, local, remote in ((1, 20e3, 10e3), (2, 40e3, 32e3)):
        for place, rate in (("local", local), ("remote", remote)):
            options = {"threads": 4, "array_size": size}
            text = make.stream_text(rate, 4)
            maker.add("s", "stream", options, text, axes=("array_size", "place"), place=place, relation=place)

    number = key(maker.write(), "STREAM Triad")

    assert (number.value, number.context) == ("40.0", "4 threads, local, array_size 2; remote 0.800 ×")


def test_a_stand_in_is_not_called_stream(make: Any, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "fixtures" / "stream" / "pinsweep_0.1_two_threads.out").read_text()
    path = make.Maker(tmp_path / "r.db").add("s", "stream", {"threads": 2}, text).write()

    assert figures(path, "stream")[0].title == "Triad (stand-in) moves 3.01 GB/s with 2 threads"


@given(st.lists(st.floats(1, 100), min_size=3, max_size=8))
def test_threads_fill_memory_where_fewer_do_not(rates: list[float]) -> None:
    line = {n: Spread(rate, rate, rate, 1) for n, rate in enumerate(rates, 1)}

    title = titles.scaling("Triad", {"all": line})

    if found := re.search(r"(\w+) threads? fills? memory", title):
        n = ["One", "Two", "Three", "Four", "Five", "Six"].index(found[1]) + 1
        assert line[n].median >= 0.95 * max(rates)
        assert all(line[count].median < 0.95 * max(rates) for count in range(1, n))
    if "still rises" in title:
        assert line[len(rates) - 1].median < 0.9 * line[len(rates)].median


def test_nine_files_of_one_host_are_one_host(make: Any, tmp_path: Path) -> None:
    paths = []
    for n in range(9):
        maker = make.Maker(tmp_path / f"{n}.db", title=f"Day {n}")
        maker.started = f"2026-11-{n + 1:02d}T09:15:02+00:00"
        maker.add("s", "stream", {"threads": 2}, make.stream_text(20e3 + n, 2))
        paths.append(maker.write())

    built = build.build(load.load(paths))
    (figure,) = [f for s in built.sections for b in s.blocks if b.tool == "stream" for f in b.figures]

    assert "9 hosts" not in figure.sub
    assert "hosts" not in built.sentence
    rows = [row for p in figure.panels for row in p.wide["datasets"]["rows"]]
    assert all(row["low"] == row["x"] == row["high"] for row in rows)  # files are no repeats


LOCAL = "Measuring cache-to-cache transfer latency (in ns)...\nLocal Socket L2->L2 HIT  latency\t8.8\nLocal Socket L2->L2 HITM latency\t8.9\n"


def test_transfers_within_a_socket_are_a_table(make: Any, tmp_path: Path) -> None:
    path = make.Maker(tmp_path / "r.db").add("s", "mlc", {"mode": "c2c_latency"}, LOCAL).write()

    (figure,) = figures(path)

    assert figure.tables[0].rows == (
        ("local L2->L2 HIT", "8.8"),
        ("local L2->L2 HITM", "8.9"),
    )
    assert figure.title == "Cache-to-cache latency within a socket"  # beside that of the matrices


@pytest.mark.parametrize("disk", [False, True])
def test_idle_latencies_alone_are_a_figure(disk: bool, make: Any, tmp_path: Path) -> None:
    """Four buffers from 64 KiB to 1.7 GiB: "No figure is drawn of what these runs gave"; beside a disk they stood under "Storage"."""
    maker = make.Maker(tmp_path / "r.db")
    for size, ns in ((64, 2.9), (1_800_000, 75.8)):
        text = f"Intel(R) Memory Latency Checker - v3.11b\nCommand line parameters: --idle_latency -b{size}\n\nEach iteration took 9.0 base frequency clocks (\t{ns}\tns)\n"
        maker.add("s", "mlc", {"mode": "idle_latency", "b": size}, text, axes=("b",))
    for depth in (1, 4) if disk else ():
        text = make.fio_text({"read": (1e4 * depth, 100.0)}, rw="randread", bs="4k", iodepth=depth)
        maker.add("d", "fio", {"rw": "randread", "bs": "4k", "iodepth": depth}, text, axes=("iodepth",))

    page = build.build(load.load([maker.write()]))

    section, *others = page.sections
    assert [section.title, *(s.title for s in others)] == ["Access times", *(["Storage"] if disk else [])]
    assert section.blocks[0].figures[0].title.startswith("One access: 2.9 ns (")


def test_a_load_that_never_reached_one_and_a_half_floors_gives_a_bound(make: Any, tmp_path: Path) -> None:
    figure = figures(loaded(make, tmp_path / "r.db", CURVE))[0]

    (row,) = figure.numbers[0].rows
    assert row[1] == "≥ peak"  # 131 ns there: 1.27 × 103.1


@pytest.mark.parametrize("peak", [17.76e3, 17.74e3])
def test_a_bound_that_is_the_peak_has_no_other_digits(make: Any, tmp_path: Path, peak: float) -> None:
    """ "≥ 17.7" stood beside a peak of 17.8: one rounded down, as a bound is, the other as a number is."""
    rows = [
        (0, 101.0, peak),
        (100, 100.8, 0.5 * peak),
        (1000, 100.2, 1e3),
        (5000, 100.1, 5e2),
        (9000, 100.0, 1e2),
    ]

    figure = figures(loaded(make, tmp_path / "r.db", rows))[0]

    row = dict(zip(figure.tables[0].columns, figure.tables[0].rows[0], strict=True))
    further = dict(zip(figure.numbers[0].columns, figure.numbers[0].rows[0], strict=True))
    assert row["Peak, GB/s"] == f"{peak / 1e3:.1f}"
    assert (row["GB/s within 2 × unloaded"], further["GB/s within 1.5 × unloaded"]) == ("≥ peak", "≥ peak")


def test_a_key_number_is_of_the_runs_of_its_curve_and_names_its_traffic(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for mix, traffic, factor in (("R", "", 1.0), (2, "2", 0.9)):
        rows = [(delay, latency * factor, rate * factor) for delay, latency, rate in CURVE]
        maker.add(
            "s",
            "mlc",
            {"mode": "loaded_latency", "W": mix},
            make.mlc_text(rows, traffic=traffic),
            axes=("W",),
        )
    path = maker.write()

    assert {run.options["W"] for run in key(path, "Memory, idle").runs} == {"R"}
    assert {run.options["W"] for run in key(path, "Memory, under load").runs} == {"R"}
    assert ", read only" in key(path, "Memory, idle").context


# --- traffic -----------------------------------------------------------------------------------------------


def test_every_traffic_of_mlc_has_a_name_that_says_what_it_is() -> None:
    """-W6 and the other non-temporal ones are called that, -W11 is no "rfo", and no name is of two types."""
    for short in (False, True):
        names = {word: traffic_name(word, short=short) for word in mlc.TRAFFIC_TEXT}
        assert len(set(names.values())) == len(names)
        for word, text in mlc.TRAFFIC_TEXT.items():
            assert ("non-temporal" in text) == ("non-temporal" in names[word] or " nt" in names[word]), word
            assert ("2 address streams" in text) == ("2 streams" in names[word]), word
            assert "rfo" not in names[word]
            assert (word[:3] in names[word]) or word[0].isalpha(), word
    assert traffic_name("triad rfo") == "R:W 3:1, triad-like"
    assert traffic_name("write nt") == "write only, non-temporal"


def test_panels_of_runs_without_triad_are_counted_with_those_that_are_not_drawn(make: Any, tmp_path: Path) -> None:  # fmt: skip
    maker = make.Maker(tmp_path / "r.db")
    for n in range(10):
        text = make.stream_text(20e3, 2)
        text = text if n else "\n".join(line for line in text.splitlines() if not line.startswith(("Add:", "Triad:"))) + "\n"  # fmt: skip
        maker.add("s", "stream", {"threads": 2, "n": n}, text, axes=("n",))

    (figure, *_) = figures(maker.write(), "stream")

    assert len(figure.panels) == 8
    assert "2 more panels are in the numbers only." in figure.sub


def test_a_lowest_latency_says_of_what(make: Any, tmp_path: Path) -> None:
    """ "lowest of 2" stood at the head of a page of six cells."""
    maker = make.Maker(tmp_path / "r.db")
    for size, ns in ((16, 1.5), (1024, 21.0), (262144, 111.0)):
        for huge in (False, True):
            options = {"mode": "idle_latency", "b": f"{size}k", **({"L": True} if huge else {})}
            maker.add("ws", "mlc", options, idle_text(ns - huge, size / 1024), axes=("b", "L"), place="local")

    assert (
        "; lowest of 2 with this buffer; " in build.build(load.load([maker.write()])).key_numbers[0].context
    )


def test_what_a_load_could_not_reach_is_no_peak(make: Any, tmp_path: Path) -> None:
    """The latency never doubles: page and `show` say so, as the key number does."""
    path = loaded(make, tmp_path / "r.db", CURVE)

    (figure, *_) = figures(path)

    assert "peak 8.45 GB/s of this load" in figure.panels[0].description
    assert "peak 8.45 GB/s of this load" in show.show_result(path)
    assert key(path, "Memory, under load").value == "8.45"


@pytest.mark.slow
def test_a_caption_names_the_programs_that_are_drawn(make: Any, tmp_path: Path) -> None:
    """Ten panels, of which eight are drawn and two shaded: each caption has their programs alone."""
    maker = make.Maker(tmp_path / "r.db")
    for n in range(10):
        for traffic in ("", "6"):
            text = make.mlc_text(CURVE, traffic=traffic).replace("v3.9", f"v3.{n:02d}")
            maker.add(
                "s", "mlc", {"mode": "loaded_latency", "W": traffic or "R", "b": n}, text, axes=("b", "W")
            )

    curves, climb = figures(maker.write())

    assert ("3.07" in curves.sub, "3.08" in curves.sub) == (True, False)
    assert ("3.01" in climb.sub, "3.02" in climb.sub) == (True, False)
    assert "8 more panels are in the numbers only." in climb.sub
    assert [table.caption.rpartition(", ")[2] for table in climb.tables] == ["buffer 0 B", "buffer 1 KiB"]


@pytest.mark.parametrize(
    ("most", "said"), [(110.4e3, "The same on the loaded-latency curve: read only 110 GB/s."), (105e3, "")]
)
def test_two_searches_for_the_most_are_told_apart(make: Any, tmp_path: Path, most: float, said: str) -> None:
    """“Memory, peak 111 GB/s, read only, at 189 ns” stood over “Bandwidth reaches 110 GB/s over all cores”, and nothing said which is which."""
    head = "Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: --peak_injection_bandwidth \n\n"
    peaks = f"{head}Measuring Peak Injection Memory Bandwidths for the system\nALL Reads        :\t105000.0\n"
    rows = [(20000, 65.0, 1700.0), (1000, 70.0, 14e3), (200, 85.0, 54e3), (100, 99.0, 83e3), (0, 189.0, most)]
    maker = make.Maker(tmp_path / "r.db")
    for mode, text in (("loaded_latency", make.mlc_text(rows)), ("peak_injection_bandwidth", peaks)):
        maker.add("s", "mlc", {"mode": mode}, text, axes=("mode",))
    path = maker.write()

    (found,) = [f for f in figures(path) if f.id.startswith("peaks")]
    assert (found.title, found.note) == ("Bandwidth reaches 105 GB/s over all cores (peak injection)", said)
    (key,) = [n for n in build.build(load.load([path])).key_numbers if n.name == "Memory, peak"]
    assert key.context.startswith("read only, at a latency of 189 ns;")


def test_all_cores_are_those_of_a_load_that_was_not_placed(make: Any, tmp_path: Path) -> None:
    said = {}
    for option in ("", " -k2-3"):
        text = (
            f"Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: --max_bandwidth{option} \n\n"
            "Measuring Maximum Memory Bandwidths for the system\nALL Reads        :\t28100.00\n"
        )
        maker = make.Maker(tmp_path / f"r{len(option)}.db").add("s", "mlc", {"mode": "max_bandwidth"}, text)
        path = maker.write()
        said[option] = figures(path)[0], show.show_result(path)

    assert said[""][0].title == "Bandwidth reaches 28.1 GB/s over all cores (maximum)"
    assert said[" -k2-3"][0].title == "Bandwidth reaches 28.1 GB/s over the chosen cores (maximum)"
    assert "all cores" in said[""][1]
    for text in (said[" -k2-3"][0].sub, said[" -k2-3"][1]):
        assert "all cores" not in text


def test_a_caption_of_stream_explains_the_marks_that_are_there(make: Any, tmp_path: Path) -> None:
    """Of the first line of a panel one thread was not measured: no dotted line is drawn; of nine panels the programs of eight are named."""
    maker = make.Maker(tmp_path / "r.db")
    for place, counts in (("local", (2, 4)), ("remote", (1, 2))):
        for n in counts:
            text = make.stream_text(5e3 * n, n)
            maker.add(
                "s", "stream", {"threads": n}, text, axes=("place", "threads"), place=place, relation=place
            )
    for n in range(9):
        text = make.stream_text(5e3, 1).replace("5.10", f"5.{n + 20}")
        maker.add("m", "stream", {"threads": 1, "array_size": n}, text, axes=("array_size",))

    lines, many = figures(maker.write(), "stream")

    assert not lines.panels[0].wide["datasets"]["references"]
    assert "Dotted" not in lines.sub
    assert ("5.27" in many.sub, "5.28" in many.sub) == (True, False)


def test_what_only_some_repeats_double_is_a_bound_and_called_one(make: Any, tmp_path: Path) -> None:
    """One of three repeats doubles its floor, and so do the medians: 163 ns over 78.5. Peaks are at two delays."""
    of = {83.4: (165.5, 118.0), 76.2: (163.3, 114.0), 78.5: (151.4, 150.0)}
    runs = [
        [
            (0, slow, 50e3),
            (50, near, 51e3 if floor == 78.5 else 40e3),
            (500, floor, 4e3),
            (5000, floor, 2e3),
            (9000, floor, 1e3),
        ]
        for floor, (slow, near) in of.items()
    ]
    path = loaded(make, tmp_path / "r.db", *runs)

    figure = figures(path)[0]
    row = dict(zip(figure.tables[0].columns, figure.tables[0].rows[0], strict=True))

    assert (figure.title, row["at delay"], row["GB/s within 2 × unloaded"][:2]) == (
        "Latency under load",
        "0 to 50",
        "≥ ",
    )
    assert any(
        "in one repeat or more no load reached that latency" in m
        for m in build.build(load.load([path])).methods
    )


@pytest.mark.parametrize(
    ("local", "remote", "said"),
    [
        ((20.0,), (19.0,), ""),  # one run a side: under 10 % nothing
        ((20.0,), (16.0,), "20.0 %"),
        ((20.0, 20.1, 19.9), (16.0, 16.1, 15.9), "20.0 %"),
        ((20.0, 20.1, 19.9), (19.0, 19.02, 18.98), "5.00 %"),
        ((20.0, 20.1, 19.9), (19.8, 19.9, 20.0), ""),  # they overlap
        ((20.0, 22.0, 18.5), (15.5, 16.0, 15.0), "22.5 %"),
        ((20.0, 24.0, 18.0), (15.0, 17.0, 14.0), ""),  # by less than the repeats are apart
    ],
)
def test_title_and_key_number_claim_remote_memory_by_one_rule(
    make: Any, tmp_path: Path, local: tuple[float, ...], remote: tuple[float, ...], said: str
) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for place, rates in (("local", local), ("remote", remote)):
        for rate in rates:
            text = make.stream_text(rate * 1e3, 4)
            maker.add("s", "stream", {"threads": 4}, text, axes=("place",), place=place, relation=place)

    built = build.build(load.load([maker.write()]))

    (figure,) = [f for s in built.sections for b in s.blocks for f in b.figures]
    (key,) = built.key_numbers
    assert ("costs" in figure.title) == bool(said)
    assert said in figure.title
    assert ("; remote" in key.context) == bool(said)


def test_an_idle_latency_of_a_buffer_says_of_which(make: Any, tmp_path: Path) -> None:
    """Of one cell alone "Idle latency 150 ns" stood at the head of the page; where it lies, in a cache or in memory, nobody said."""
    text = (
        "Intel(R) Memory Latency Checker - v3.11b\nCommand line parameters: --idle_latency -b64m\n\n"
        "Using buffer size of 64.000MiB\nEach iteration took 300.0 base frequency clocks (\t150.0\tns)\n"
    )
    path = make.Maker(tmp_path / "r.db").add("s", "mlc", {"mode": "idle_latency", "b": "64m"}, text).write()

    (number,) = build.build(load.load([path])).key_numbers

    assert "64m" in number.context or "64 MiB" in number.context
