"""Experiment and machine → points: which cells there are, which are skipped and why, in what order they run."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.experiment.expand import MAX_CELLS, expand, unmet
from orchestrator.experiment.load import ExperimentError, parse_experiment
from orchestrator.experiment.quantities import SAMPLE
from orchestrator.machine.descriptions import topology_from_text
from orchestrator.machine.topology import Topology
from orchestrator.model import Cell, Experiment, Place, Skipped

DESCRIPTION = "pack:2 [numa(memory=64GB)] l3:1(size=33554432) l2:10(size=1048576) l1d:1(size=32768) core:1 pu:1"
DUAL = topology_from_text(DESCRIPTION)
"""The machine of a course: two packages of ten cores, a NUMA node each, no SMT."""
LAPTOP = topology_from_text("pack:1 core:2 pu:2")
"""Two cores; the description says nothing about caches and memory."""


def load(text: str) -> Experiment:
    return parse_experiment("schema: 1\n" + text, "test.yaml")


def cells(text: str, topology: Topology = DUAL, **known: Any) -> tuple[Cell, ...]:
    found, skipped = expand(load(text), topology, **known)
    assert skipped == ()
    return found


def labels(text: str, topology: Topology = DUAL) -> list[dict[str, Any]]:
    return [cell.labels() for cell in cells(text, topology)]


def skips(text: str, topology: Topology, **known: Any) -> tuple[Skipped, ...]:
    return expand(load(text), topology, **known)[1]


def test_the_first_axis_turns_slowest() -> None:
    assert labels("tool: fio\nmatrix: {bs: [4k, 32k], iodepth: [1, 4]}") == [
        {"bs": "4k", "iodepth": 1},
        {"bs": "4k", "iodepth": 4},
        {"bs": "32k", "iodepth": 1},
        {"bs": "32k", "iodepth": 4},
    ]


def test_a_seed_sweep_unrolls_over_the_machine() -> None:
    """numactl --membind=0|1 --physcpubind=0..9 ./stream, with 1 to 10 threads (as on the machine of the seed)."""
    text = """
tool: stream
matrix:
  threads: 1..cores_per_numa_node
  place:
    - {name: local,  cpus: numa_node 0, memory: numa_node 0}
    - {name: remote, cpus: numa_node 0, memory: numa_node 1}
exclude: [{place: remote, threads: 1}]
"""
    found = cells(text)

    assert [p.labels() for p in found] == [
        {"threads": n, "place": where}
        for n, where in itertools.product(range(1, 11), ("local", "remote"))
        if (n, where) != (1, "remote")
    ]
    assert found[1].place == Place(name="local", cpus="numa_node 0", memory="numa_node 0")
    assert "place" not in found[1].options
    assert len(cells(text, LAPTOP)) == 3  # 1 and 2 threads; where node 1 is missing, the placement says so


def test_zip_walks_and_matrix_multiplies() -> None:
    got = labels("tool: fio\nmatrix: {bs: [4k, 8k]}\nzip: {iodepth: [1, 32], numjobs: [4, 1]}")

    assert got == [
        {"bs": bs, "iodepth": depth, "numjobs": jobs} for bs in ("4k", "8k") for depth, jobs in ((1, 4), (32, 1))
    ]  # fmt: skip


def test_include_does_as_github_actions_says() -> None:
    """The example of GitHub's documentation, fruit for bs and animal for iodepth, colour and shape for two others."""
    got = labels("""
tool: command
fixed: {command: "echo {fruit}", metrics: {n: {regex: "(.)", unit: "1"}}}
matrix: {fruit: [apple, pear], animal: [cat, dog]}
include:
  - {color: green}
  - {color: pink, animal: cat}
  - {fruit: apple, shape: circle}
  - {fruit: banana}
  - {fruit: banana, animal: cat}
""")

    assert got == [
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]


def test_include_alone_makes_the_cells() -> None:
    assert labels("tool: fio\nfixed: {bs: 4k}\ninclude: [{rw: randread, iodepth: 1}, {rw: write, bs: 1M}]") == [
        {"rw": "randread", "iodepth": 1, "bs": "4k"},
        {"rw": "write", "bs": "1M"},
    ]


def test_include_takes_a_place_by_its_name() -> None:
    found = cells("""
tool: stream
matrix:
  threads: [1, 2]
  place: [{name: near, cpus: numa_node 1, memory: local}]
include: [{threads: 4, place: near}, {threads: 8, place: all}]
""")

    assert [p.place.cpus if p.place else None for p in found] == ["numa_node 1"] * 3 + ["all"]


def test_excludes_come_before_includes_and_take_lists_and_ranges() -> None:
    got = labels("""
tool: fio
matrix: {iodepth: 1..6, bs: [4k, 8k]}
exclude: [{iodepth: [2, 4..6]}, {iodepth: 3, bs: 8k}]
include: [{iodepth: 2, bs: 4k}]
""")

    assert got == [
        {"iodepth": 1, "bs": "4k"}, {"iodepth": 1, "bs": "8k"}, {"iodepth": 3, "bs": "4k"}, {"iodepth": 2, "bs": "4k"},
    ]  # fmt: skip


def test_nothing_that_varies_is_one_cell() -> None:
    (cell,) = cells("tool: mlc\nfixed: {mode: latency_matrix}")

    assert (cell.options, cell.axes, cell.describe()) == ({"mode": "latency_matrix"}, (), "(one cell)")


def test_inner_axes_belong_to_one_process() -> None:
    (fixed,) = cells("tool: mlc\nfixed: {mode: loaded_latency, delays: [0, 100, 200..400 step 100]}")
    several = cells("tool: mlc\nfixed: {mode: loaded_latency}\nmatrix: {delays: [[0, 50], 100, 0..20 step 10]}")
    sizes = cells("tool: imb\nmatrix: {message_sizes: [1..64 x4, [0, 4k]]}")

    assert fixed.options["delays"] == (0, 100, 200, 300, 400)
    assert [p.options["delays"] for p in several] == [(0, 50), (100,), (0, 10, 20)]
    assert [p.options["message_sizes"] for p in sizes] == [(1, 4, 16, 64), (0, "4k")]
    assert several[2].describe() == "delays=0,10,20"


def test_excluding_an_inner_axis_names_the_whole_of_it() -> None:
    found = cells(
        "tool: mlc\nfixed: {mode: loaded_latency}\nmatrix: {delays: [[0, 50], [100]]}\nexclude: [{delays: [0, 50]}]"
    )

    assert [p.options["delays"] for p in found] == [(100,)]


@pytest.mark.parametrize(
    ("tool", "axis", "values", "expected"),
    [
        ("stream", "threads", "[1, 2, 25%, all]", [1, 2, 5, 20]),
        ("stream", "threads", "[1, 5%, 1..2]", [1, 2]),  # 5 % of 20 is 1: once is enough
        ("stream", "threads", "cores_per_numa_node", [10]),
        ("fio", "numjobs", "[1, 25%, cores_per_numa_node]", [1, 5, 10]),
        ("fio", "iodepth", "1..32 x4", [1, 4, 16]),
        (
            "fio",
            "io_size",
            "[512M, 1G, 4096]",
            ["512M", "1G", 4096],
        ),  # fio's own per cent, not ours
        ("fio", "bs", "4k..64k x4", ["4k", "16k", "64k"]),
        ("fio", "filename", "[../data, memory]", ["../data", "memory"]),
        ("fio", "rate", "[10m, 15]", ["10m", 15]),
        ("stream", "array_size", "[4 x LLC, 0.5 x L2, 512M, auto]", ["128M", "512k", "512M", "auto"]),
        ("imb", "np", "[2, 50%]", [2, 10]),
        ("imb", "time", "[1, 1.5]", [1, 1.5]),
        ("fio", "direct", "[on, 0]", [True, False]),
    ],
)
def test_values_are_what_the_option_takes(tool: str, axis: str, values: str, expected: list[Any]) -> None:
    got = [cell.options[axis] for cell in cells(f"tool: {tool}\nmatrix: {{{axis}: {values}}}")]

    assert got == expected
    assert [type(v) for v in got] == [type(v) for v in expected]


def test_a_size_is_in_its_shortest_form_computed_or_written() -> None:
    found = cells("tool: poke\nfixed: {target: memory}\nmatrix: {bytes: [0.5 x L2, 10kB, 4k..8k x2, 1..2]}")

    assert [p.options["bytes"] for p in found] == ["512k", "10kB", "4k", "8k", 1, 2]


@pytest.mark.parametrize(
    ("axis", "first", "other"), [("bs", "4k", "4096"), ("size", "1M", "1024K"), ("runtime", "60", "1m")]
)
def test_exclude_and_include_find_what_fio_takes_for_one(axis: str, first: str, other: str) -> None:
    matrix = f"tool: fio\nmatrix: {{{axis}: [{first}], direct: [on, off]}}"

    assert len(cells(f"{matrix}\nexclude: [{{{axis}: {other}, direct: on}}]")) == 1
    assert [cell.options.get("iodepth") for cell in cells(f"{matrix}\ninclude: [{{{axis}: {other}, iodepth: 4}}]")] == [
        4,
        4,
    ]


@pytest.mark.parametrize(
    ("sweep", "axis", "spellings", "value"),
    [
        ("tool: fio", "iodepth", ["4", "'4'"], 4),
        ("tool: fio", "rate_iops", ["15", "'15'"], 15),
        ("tool: fio", "direct", ["1", "on", "true"], True),
        ("tool: fio", "rw", ["read", "'read'"], "read"),
        ("tool: mlc\nfixed: {mode: loaded_latency}", "t", ["2", "2.0", "2s", "2000 ms", "'2'"], 2),
        ("tool: mlc\nfixed: {mode: loaded_latency}", "t", ["0.5", "500ms", "'0.50 s'"], 0.5),
        ("tool: mlc\nfixed: {mode: loaded_latency}", "W", ["3", "'3'"], "3"),
        ("tool: poke\nfixed: {target: memory}", "bytes", ["4k", "4096", "'4096'", "4KiB", "4096B", "4.096kB"], "4k"),
        ("tool: poke\nfixed: {target: memory}", "bytes", ["1kB", "1000", "'1000'", "1000B"], "1kB"),
        ("tool: poke\nfixed: {target: memory}", "bytes", ["0.5 x LLC", "16M", "16777216"], "16M"),
        ("tool: imb", "message_sizes", ["[[0, 1k]]", "[['0', 1024]]", "[[0, 1KiB]]"], (0, "1k")),
        ("tool: imb", "time", ["1", "1.0", "'1.00'", "1s"], 1),
        ("tool: stream", "threads", ["2", "'2'", "10%"], 2),
        ("tool: stream", "array_size", ["4096", "'4096'"], 4096),
    ],
)  # fmt: skip
def test_a_cell_is_the_same_however_its_values_are_written(
    sweep: str, axis: str, spellings: list[str], value: Any
) -> None:
    alone = [cells(f"{sweep}\nmatrix: {{{axis}: {text}}}") for text in spellings]
    listed = ", ".join(text.removeprefix("[").removesuffix("]") for text in spellings)

    assert len({cell.point_id for (cell,) in alone}) == 1
    assert {cell.options[axis] for (cell,) in alone} == {value}
    assert {type(cell.options[axis]) for (cell,) in alone} == {type(value)}
    assert len(cells(f"{sweep}\nmatrix: {{{axis}: [{listed}]}}")) == 1
    for text in spellings:  # exclude and include find it by any spelling, too
        first, other = (
            spellings[0].removeprefix("[").removesuffix("]"),
            text.removeprefix("[").removesuffix("]"),
        )
        matrix = f"{sweep}\nmatrix: {{{axis}: [{first}], place: [{{name: a, cpus: all}}, {{name: b, cpus: all}}]}}"
        assert len(cells(f"{matrix}\nexclude: [{{{axis}: {other}, place: b}}]")) == 1
        assert len(cells(f"{matrix}\ninclude: [{{{axis}: {other}, place: a}}]")) == 2


def test_what_a_program_may_read_as_something_else_stays_something_else() -> None:
    text = """
tool: command
fixed: {command: "echo {v}", metrics: {n: {regex: "(.)", unit: "1"}}}
matrix: {v: [1, '1', 1.0, '1.0', '1.00', '01', '1e3', inf, 'nan', 'true', true]}
"""
    found = cells(text)

    assert [p.options["v"] for p in found] == [1, 1.0, "1.00", "01", "1e3", "inf", "nan", "true", True]
    assert len({p.point_id for p in found}) == len(found)


def test_labels_are_as_short_as_they_were_written() -> None:
    found = cells("tool: poke\nfixed: {target: memory}\nmatrix: {bytes: [0, 1kB, 1MB, 0.5 x L2, 64, 4096]}")
    sizes = cells("tool: imb\nmatrix: {message_sizes: [[0, 1, 1024]]}")

    assert [p.describe() for p in found] == [f"bytes={n}" for n in ("0", "1kB", "1MB", "512k", "64", "4k")]
    assert sizes[0].describe() == "message_sizes=0,1,1k"
    assert cells("tool: mlc\nfixed: {mode: loaded_latency}\nmatrix: {t: [2s]}")[0].describe() == "t=2"


def test_words_are_words_and_times_seconds() -> None:
    found = cells("tool: mlc\nfixed: {mode: loaded_latency, t: 500 ms}\nmatrix: {W: [R, 3]}")

    assert [(p.options["W"], p.options["t"]) for p in found] == [("R", 0.5), ("3", 0.5)]


def test_a_number_the_machine_does_not_give_skips_its_cells_only() -> None:
    text = "tool: stream\nmatrix: {array_size: [512M, 4 x L3], threads: [1, 2]}\nexclude: [{array_size: 4 x L3, threads: 2}]"
    found, skipped = expand(load(text), LAPTOP)

    assert [p.labels() for p in found] == [
        {"array_size": "512M", "threads": 1},
        {"array_size": "512M", "threads": 2},
    ]
    assert skipped == (
        Skipped(
            sweep="test",
            cell={"array_size": "4 x L3", "threads": 1},
            reason="array_size: this machine does not report its L3",
        ),
    )


@pytest.mark.parametrize(
    ("text", "machine", "reasons"),
    [
        ("tool: stream\nfixed: {array_size: 4 x LLC}\nmatrix: {threads: [1, 2]}", "pack:1 core:2 pu:2", ["report its LLC"] * 2),
        ("tool: stream\nmatrix: {threads: 2..cores}", "pack:1 core:1 pu:1", ["2..cores is empty"]),
        ("tool: mlc\nfixed: {mode: loaded_latency}\nmatrix: {l: [64, 8 x L2]}", DESCRIPTION, ["8388608 is more than 262144"]),
    ],
)  # fmt: skip
def test_what_this_machine_cannot_give_is_skipped_with_the_reason(text: str, machine: str, reasons: list[str]) -> None:
    got = skips(text, topology_from_text(machine))

    assert len(got) == len(reasons)
    assert all(reason in skipped.reason for skipped, reason in zip(got, reasons, strict=True))


def test_given_numbers_stand_in_for_the_topology() -> None:
    assert len(cells("tool: stream\nmatrix: {threads: 1..cores}", DUAL, numbers={"cores": 3})) == 3


def test_too_many_cells_are_a_mistake_before_they_are_built() -> None:
    axes = ", ".join(f"{name}: 1..100" for name in ("iodepth", "numjobs", "rwmixread"))
    with pytest.raises(ExperimentError, match=f"1000000 cells.*") as error:  # noqa: F541
        load(f"tool: fio\nmatrix: {{{axes}}}")

    assert str(MAX_CELLS) in error.value.hint


# --- requires ---


@pytest.mark.parametrize(
    ("requires", "reason"),
    [
        ("{packages: 2}", ""),
        ("{packages: 3}", "requires packages >= 3: this machine has 2"),
        ("{packages: '== 1'}", "requires packages == 1: this machine has 2"),
        ("{cores: '< 20'}", "requires cores < 20: this machine has 20"),
        ("{numa_nodes: 2, memory: 100G}", ""),
        ("{memory: '>= 256G'}", "requires memory >= 256G: this machine has 119 GiB"),
        ("{smt: false}", ""),
        ("{smt: on}", "requires SMT on: this machine has 1 PUs per core"),
        ("{root: true}", "requires root"),
        ("{program: fio}", ""),
        ("{program: fio >= 3.20}", ""),
        ("{program: [fio >= 3.9, fio < 4]}", ""),
        ("{program: fio >= 3.40}", "requires fio >= 3.40: this host has 3.33"),
        ("{program: mlc}", "requires mlc: mlc is not installed"),
        ("{program: imb >= 2019}", "requires imb >= 2019: imb does not report its version"),
    ],
)
def test_needs_that_are_not_met_skip_every_cell(requires: str, reason: str) -> None:
    text = f"tool: stream\nmatrix: {{threads: [1, 2]}}\nrequires: {requires}"
    found, skipped = expand(load(text), DUAL, root=False, versions={"fio": "3.33", "imb": ""})

    assert [s.reason for s in skipped] == ([reason] * 2 if reason else [])
    assert len(found) == (0 if reason else 2)


def test_what_is_not_known_is_not_asked_for() -> None:
    assert unmet({"root": True, "program": ("mlc >= 3",)}, SAMPLE) == ""
    assert unmet({"L3": "8M"}, {"L2": 1}) == "requires L3 8M: this machine does not report its L3"


# --- laws ---

words = st.lists(st.sampled_from(["4k", "8k", "16k", "1M"]), min_size=1, max_size=4, unique=True)
numbers = st.lists(st.integers(1, 64), min_size=1, max_size=4, unique=True)
AXES = {"bs": words, "iodepth": numbers, "numjobs": numbers, "rwmixread": numbers}


@st.composite
def matrices(draw: st.DrawFn) -> tuple[dict[str, list[Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Draw (matrix, exclude, include); include entries name every axis, so that each is one cell."""
    names = draw(st.lists(st.sampled_from(sorted(AXES)), min_size=1, max_size=3, unique=True))
    matrix = {name: draw(AXES[name]) for name in names}
    cell = st.fixed_dictionaries({n: st.sampled_from(vs) for n, vs in matrix.items()})
    some = cell.flatmap(
        lambda c: st.lists(st.sampled_from(names), min_size=1, unique=True).map(lambda ns: {n: c[n] for n in ns})
    )
    return matrix, draw(st.lists(some, max_size=3)), draw(st.lists(st.fixed_dictionaries({n: AXES[n].map(lambda v: v[0]) for n in names}), max_size=3))  # fmt: skip


@given(matrices())
def test_cells_are_the_product_without_the_excluded_and_with_the_included(
    drawn: tuple[dict[str, list[Any]], list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    matrix, exclude, include = drawn
    product = [dict(zip(matrix, row, strict=True)) for row in itertools.product(*matrix.values())]
    kept = [cell for cell in product if not any(entry.items() <= cell.items() for entry in exclude)]
    kept += [entry for i, entry in enumerate(include) if entry not in kept and entry not in include[:i]]

    parts = [
        f"matrix: {matrix}",
        *([f"exclude: {exclude}"] if exclude else []),
        *([f"include: {include}"] if include else []),
    ]
    text = "tool: fio\n" + "\n".join(parts)
    if not kept:
        with pytest.raises(ExperimentError, match="removes every cell"):
            load(text)
    else:
        assert labels(text) == kept
        assert len({p.point_id for p in cells(text)}) == len(kept)
