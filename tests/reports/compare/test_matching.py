"""Cells of two machines brought together: by parameters and relative place, or named with the reason why not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model import Group, Place
from reports.compare.failures import silent
from reports.compare.matching import CellOfSide, absence, cells, match, scope, spoken
from reports.compare.sides import side as side_of
from reports.results import model
from reports.results.load import load

HWLOC = Path(__file__).parents[2] / "fixtures" / "hwloc"
SMALL = (HWLOC / "two-socket-smt.xml").read_text()  # nodes of 2 cores, 4 PUs: 0,1,4,5 and 2,3,6,7
LARGE = (HWLOC / "ulysses-2x10.xml").read_text()  # nodes of 10 cores, 10 PUs: 0-9 and 10-19


def side(
    make: Any, path: Path, topology: str, runs: Sequence[tuple[dict[str, Any], str, str, list[int]]], sweep: str = "scaling"
) -> model.Results:  # fmt: skip
    """A result file of STREAM runs: (options, place, relation, PUs) each."""
    maker = make.Maker(path, host=path.stem)
    maker.topology = topology
    for options, place, relation, cpus in runs:
        maker.groups = {place: (Group(cpus=tuple(cpus), membind=(0,)),)}
        text = make.stream_text(20000.0, options.get("threads", 4))
        maker.add(sweep, "stream", options, text, axes=(*options, "place"), place=place, relation=relation)
    return load([maker.write()])


def cells_of(results: model.Results) -> list[CellOfSide]:
    return cells(run for tool in results.tools for run in results.good(tool))


@pytest.mark.parametrize(
    ("cpus", "said"),
    [
        ([0], "one PU"),
        ([0, 4], "one core"),
        ([0, 1], "half of a NUMA node"),
        ([0, 1, 4, 5], "all of a NUMA node"),
        ([0, 1, 4], "3/4 of a NUMA node"),
        ([0, 1, 2, 3], "half of the machine"),
        (list(range(8)), "all of the machine"),
    ],
)
def test_a_scope_is_a_share_and_no_numbers(make: Any, tmp_path: Path, cpus: list[int], said: str) -> None:
    results = side(make, tmp_path / "a.db", SMALL, [({"threads": len(cpus)}, "here", "local", cpus)])

    assert scope(results.good("stream")[0]) == said


@pytest.mark.parametrize(
    ("cpus", "said"),
    [
        ([0, 1], "one PU a core of a NUMA node"),
        ([0, 1, 2, 3], "one PU a core of the machine"),
        ([0, 2], "one PU a core of half of the machine"),
        ([0, 2, 4, 6], "half of the machine"),
        ([0], "one PU"),
        ([0, 4], "one core"),
        ([0, 1, 4], "3/4 of a NUMA node"),
    ],
)
def test_of_cores_with_smt_people_are_told_of_their_pus(
    make: Any, tmp_path: Path, cpus: list[int], said: str
) -> None:
    results = [
        side(make, tmp_path / name, SMALL, [({"threads": len(cpus)}, place, "local", cpus)])
        for name, place in (("a.db", "here"), ("b.db", "there"))
    ]

    assert spoken(results[0].good("stream")[0]) == said
    (pair,) = match(*map(cells_of, results)).pairs
    assert pair.said == f"matched by relative place: here and there are both local, {said}"


def test_another_numbering_is_the_same_place(make: Any, tmp_path: Path) -> None:
    a = side(make, tmp_path / "a.db", SMALL, [({"ntimes": 3}, "local", "local", [0, 1, 4, 5])])
    b = side(make, tmp_path / "b.db", LARGE, [({"ntimes": 3}, "node 1", "local", list(range(10, 20)))])

    found = match(cells_of(a), cells_of(b))

    assert [(p.a.name, p.b.name, p.how) for p in found.pairs] == [
        ("ntimes=3 place=local", "ntimes=3 place=node 1", "relative")
    ]
    assert (
        found.pairs[0].said
        == "matched by relative place: local and node 1 are both local, all of a NUMA node"
    )
    assert not found.unmatched


def test_threads_are_matched_as_given_and_then_by_share(make: Any, tmp_path: Path) -> None:
    """`threads: [1, 0.5 x pus_per_numa_node]` gives 1 and 2 here, 1 and 5 there."""
    a = side(
        make, tmp_path / "a.db", SMALL, [({"threads": 1}, "l", "local", [0]), ({"threads": 2}, "l", "local", [0, 1])]
    )  # fmt: skip
    b = side(
        make,
        tmp_path / "b.db",
        LARGE,
        [({"threads": 1}, "l", "local", [0]), ({"threads": 5}, "l", "local", [0, 1, 2, 3, 4])],
    )

    found = match(cells_of(a), cells_of(b))

    assert [(p.a.options["threads"], p.b.options["threads"], p.how) for p in found.pairs] == [
        (1, 1, "same"),
        (2, 5, "share"),
    ]
    assert "2 threads of A and 5 of B, local, half of a NUMA node" in found.pairs[1].said


def test_a_device_belongs_to_the_machine(make: Any, tmp_path: Path) -> None:
    results = []
    for name, device in (("a", "/dev/nvme0n1"), ("b", "/dev/sdb")):
        maker = make.Maker(tmp_path / f"{name}.db", host=name)
        options = {"filename": device, "rw": "randread", "bs": "4k", "iodepth": 4}
        maker.add(
            "disk", "fio", options, make.fio_text({"read": (1e4, 90)}, bs="4k", rw="randread", iodepth=4)
        )
        results.append(load([maker.write()]))

    found = match(*map(cells_of, results))

    assert [p.said for p in found.pairs] == [
        "matched though paths differ: filename is /dev/nvme0n1 of A, /dev/sdb of B"
    ]


def test_a_renamed_sweep_is_found(make: Any, tmp_path: Path) -> None:
    runs = [({"threads": 1}, "local", "local", [0])]
    a = side(make, tmp_path / "a.db", SMALL, runs, sweep="old")
    b = side(make, tmp_path / "b.db", SMALL, runs, sweep="new")

    assert [p.said for p in match(cells_of(a), cells_of(b)).pairs] == [
        "matched under another name: sweep old of A, new of B"
    ]


def test_what_several_cells_fit_is_not_guessed(make: Any, tmp_path: Path) -> None:
    a = side(make, tmp_path / "a.db", SMALL, [({"ntimes": 3}, "local", "local", [0, 1, 4, 5])])
    b = side(
        make, tmp_path / "b.db", LARGE,
        [({"ntimes": 3}, "node 0", "local", list(range(10))), ({"ntimes": 3}, "node 1", "local", list(range(10, 20)))],
    )  # fmt: skip

    found = match(cells_of(a), cells_of(b))

    assert not found.pairs
    assert [(u.side, u.reason) for u in found.unmatched] == [
        ("A", "2 cells of B fit it"),
        ("B", "it and 1 other cell of B fit 1 cell of A"),
        ("B", "it and 1 other cell of B fit 1 cell of A"),
    ]


def own(make: Any, path: Path, *texts: str) -> model.Results:
    """A program's number, read in one direction after the other; each in a session of its own text."""
    for text in texts:
        maker = make.Maker(path, host=path.stem)
        maker.text = text
        better, _, unit = text.partition(" ")
        spec = {"t": {"regex": r"t ([\d.]+)", "better": better, **({"unit": unit} if unit else {})}}
        maker.add("s", "command", {"command": ["z"], "metrics": spec, "n": 1}, "t 12.1\n", axes=("n",))
        maker.write()
    return load([path])


def test_the_same_cell_is_found_beside_its_edited_copy(make: Any, tmp_path: Path) -> None:
    a = own(make, tmp_path / "a.db", "lower")
    b = own(make, tmp_path / "b.db", "lower", "higher")

    for left, right, side in ((a, b, "B"), (b, a, "A")):
        found = match(cells_of(left), cells_of(right))
        assert [p.a.key == p.b.key for p in found.pairs] == [True]
        other = "B" if side == "A" else "A"
        assert [(u.side, u.cell, u.reason) for u in found.unmatched] == [
            (side, "n=1 metrics.t.better=higher", f"{other} has such a cell, which is compared with another of {side}")
        ]  # fmt: skip


def test_cells_that_were_edited_alike_on_both_sides_are_matched_by_their_labels(
    make: Any, tmp_path: Path
) -> None:
    """Of both texts the unit has been mended since."""
    a = own(make, tmp_path / "a.db", "lower", "higher")
    b = own(make, tmp_path / "b.db", "lower ms", "higher ms")

    found = match(cells_of(a), cells_of(b))

    assert {(p.a.name, p.b.name) for p in found.pairs} == {
        (f"n=1 metrics.t.better={word}",) * 2 for word in ("lower", "higher")
    }
    assert not found.unmatched


def test_the_reason_names_what_the_other_side_has(make: Any, tmp_path: Path) -> None:
    a = side(make, tmp_path / "a.db", SMALL, [({"ntimes": n}, "l", "local", [0]) for n in (3, 9)])
    b = side(make, tmp_path / "b.db", SMALL, [({"ntimes": n}, "l", "local", [0]) for n in (3, 4, 20)])

    reasons = [(u.side, u.cell, u.reason) for u in match(cells_of(a), cells_of(b)).unmatched]

    assert reasons == [
        ("A", "ntimes=9 place=l", "B has no ntimes=9; it has 3, 4 and 20"),
        ("B", "ntimes=4 place=l", "A has no ntimes=4; it has 3 and 9"),
        ("B", "ntimes=20 place=l", "A has no ntimes=20; it has 3 and 9"),
    ]


def test_what_the_other_side_has_in_another_cell_is_not_called_none(make: Any, tmp_path: Path) -> None:
    """Of cell offset=8 an option was changed: A's nearest cells are those of another offset, but it has offset=8."""
    axes = ("offset",)
    sides = []
    for name, ntimes in (("a", 3), ("b", 5)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for offset in (4, 6, 8):
            options = {"offset": offset, "ntimes": ntimes if offset == 8 else 3}
            maker.add("s", "stream", options, make.stream_text(9e3, 1), axes=axes)
        sides.append(cells_of(load([maker.write()])))

    assert [(u.side, u.cell, u.reason) for u in match(*sides).unmatched] == [
        ("A", "offset=8", "B has no such cell with ntimes=3; it has one with 5"),
        ("B", "offset=8", "A has no ntimes=5; it has 3"),
    ]


@given(a=st.deferred(lambda: st.lists(CELL, max_size=8)), b=st.deferred(lambda: st.lists(CELL, max_size=8)))
def test_no_value_is_called_absent_that_a_cell_has(a: list[CellOfSide], b: list[CellOfSide]) -> None:
    sides = {"A": a, "B": b}
    for item in match(a, b).unmatched:
        if told := re.match(r"([AB]) has no (\w+)=(\S+);", item.reason):
            have = {str(cell.options.get(told[2])) for cell in sides[told[1]]}
            assert told[3] not in have


def test_a_cell_that_does_not_tell_an_option_is_not_called_none(make: Any, tmp_path: Path) -> None:
    a = side(make, tmp_path / "a.db", SMALL, [({"ntimes": 3, "offset": 8}, "l", "local", [0])])
    b = side(make, tmp_path / "b.db", SMALL, [({"ntimes": 3}, "l", "local", [0])])

    (reason,) = [u.reason for u in match(cells_of(a), cells_of(b)).unmatched if u.side == "A"]

    assert reason == "B has no offset=8; it has a cell that does not tell its offset"


def test_a_reason_spells_a_value_as_the_cell_is_named(make: Any, tmp_path: Path) -> None:
    """ "only A has disk, bs=16k: B has no bs=16384; it has 4096 and 32768"."""
    sides = []
    for name, sizes in (("a", ("4k", "16k")), ("b", ("4096", "32k", "128k"))):
        maker = make.Maker(tmp_path / f"{name}.db")
        for bs in sizes:
            text = make.fio_text({"read": (1000.0, 90.0)}, bs=bs, rw="randread", iodepth=1)
            maker.add("s", "fio", {"rw": "randread", "bs": bs, "iodepth": 1}, text, axes=("bs",))
        sides.append(cells_of(load([maker.write()])))

    reasons = {one.cell: one.reason for one in match(*sides).unmatched}
    assert reasons == {
        "bs=16k": "B has no bs=16k; it has 4096, 32k and 128k",
        "bs=32k": "A has no bs=32k; it has 4k and 16k",
        "bs=128k": "A has no bs=128k; it has 4k and 16k",
    }


def test_a_skipped_and_a_disturbed_cell_say_so(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "b.db", host="b")
    axes = ("threads", "place")
    maker.add(
        "scaling", "stream", {"threads": 1}, "", axes=axes, place="l", relation="local", status="disturbed"
    )
    maker.add(
        "scaling", "stream", {"threads": 2}, "", axes=axes, place="l", relation="local", status="", repeats=3
    )
    maker.skip("scaling", "this machine has 1 NUMA node", threads=4, place="l")
    other = load([maker.write()])
    runs = [({"threads": n}, "l", "local", [0]) for n in (1, 2, 4)]
    absent = absence(other, "B")
    found = match(
        cells_of(side(make, tmp_path / "a.db", SMALL, runs)), [], lambda _, cell: absent(cell),
        silent=([], silent(side_of("B", "b.db", other), ())),
    )  # fmt: skip

    assert [one.reason for one in found.unmatched] == [
        "its only run left out in B (disturbed)",
        "B has not run it yet",
        "B could not run it, b: this machine has 1 NUMA node",
    ]


CELL = st.builds(
    lambda sweep, options, place, relation: CellOfSide(
        key=object(), sweep=sweep, title=sweep, tool="stream", options=options, place=Place(name=place), relation=relation,
        scope="one PU", axes=tuple(options), runs=(),
    ),
    sweep=st.sampled_from("ab"),
    options=st.dictionaries(st.sampled_from(("threads", "n", "file")), st.sampled_from((1, 2, "/x", "/y"))),
    place=st.sampled_from("pq"),
    relation=st.sampled_from(("local", "remote")),
)  # fmt: skip


@given(a=st.lists(CELL, max_size=8), b=st.lists(CELL, max_size=8))
def test_every_cell_is_in_one_pair_or_named(a: list[CellOfSide], b: list[CellOfSide]) -> None:
    found = match(a, b)

    assert len(found.pairs) + sum(u.side == "A" for u in found.unmatched) == len(a)
    assert len(found.pairs) + sum(u.side == "B" for u in found.unmatched) == len(b)
    assert len({id(p.a) for p in found.pairs}) == len({id(p.b) for p in found.pairs}) == len(found.pairs)
    assert all(u.reason for u in found.unmatched)


def test_one_option_in_two_spellings_is_one_cell(make: Any, tmp_path: Path) -> None:
    """`bs: 4k` of one file and `bs: 4096` of the other, as in one file."""
    sides = []
    for name, bs, engine in (("a", "4k", "libaio"), ("b", 4096, "io_uring")):
        maker = make.Maker(tmp_path / f"{name}.db")
        for depth in (1, 4):
            text = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=depth)
            maker.add(
                "s", "fio", {"rw": "randread", "bs": bs, "iodepth": depth}, text, axes=("bs", "iodepth")
            )
        other = {"rw": "randread", "bs": bs, "iodepth": 1, "ioengine": engine}
        maker.add("s", "fio", other, text, axes=("bs", "iodepth"))
        sides.append(cells_of(load([maker.write()])))

    found = match(*sides)

    assert [(pair.a.name, pair.b.name, pair.how) for pair in found.pairs] == [
        ("bs=4k iodepth=1", "bs=4096 iodepth=1", "same"),
        ("bs=4k iodepth=4", "bs=4096 iodepth=4", "same"),
    ]
    assert "ioengine" in found.unmatched[0].reason
    assert "bs" not in found.unmatched[0].reason


@pytest.mark.parametrize(
    ("relation", "cpus", "said"),
    [("all", range(8), "all of the machine"), ("remote", [0], "remote, one PU"), ("local", [0, 4], "local, one core")],
)  # fmt: skip
def test_a_cell_of_another_place_says_where_it_is(
    relation: str, cpus: Sequence[int], said: str, make: Any, tmp_path: Path
) -> None:
    """ "B has no cell there (local, one PU); it has all, all of a NUMA node"."""
    a = side(make, tmp_path / "a.db", SMALL, [({"ntimes": 3}, "here", "local", [0])])
    b = side(make, tmp_path / "b.db", SMALL, [({"ntimes": 3}, "there", relation, list(cpus))])

    reasons = [one.reason for one in match(cells_of(a), cells_of(b)).unmatched]

    assert reasons == [
        f"B has such a cell, but in another place: {said} (here: local, one PU)",
        f"A has such a cell, but in another place: local, one PU (here: {said})",
    ]
