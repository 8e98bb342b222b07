"""Cells of two machines brought together: by parameters and relative place, or left over with a reason."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model import Group, canonical_json
from reports.compare.comparison import compare
from reports.compare.matching import cells, match
from reports.compare.sides import Side
from reports.measurements import records
from reports.results.load import load
from reports.results.shares import share
from tests.reports.compare.conftest import of

HWLOC = Path(__file__).parents[2] / "fixtures" / "hwloc"
SMALL = (HWLOC / "two-socket-smt.xml").read_text()  # nodes of 2 cores, 4 PUs: 0,1,4,5 and 2,3,6,7
LARGE = (HWLOC / "ulysses-2x10.xml").read_text()  # nodes of 10 cores, 10 PUs: 0-9 and 10-19


def machine(
    make: Any, path: Path, topology: str, runs: Sequence[tuple[dict[str, Any], str, str, list[int]]], sweep: str = "scaling"
) -> Side:  # fmt: skip
    """STREAM runs: (options, place, relation, PUs) each."""
    maker = make.Maker(path, host=path.stem)
    maker.topology = topology
    for options, place, relation, cpus in runs:
        maker.groups = {place: (Group(cpus=tuple(cpus), membind=(0,)),)}
        text = make.stream_text(20000.0, options.get("threads", 4))
        maker.add(sweep, "stream", options, text, axes=(*options, "place"), place=place, relation=relation)
    return of("A", maker.write())


def matched(a: Side, b: Side) -> list[tuple[str, str, str]]:
    of_a, of_b = cells(a.runs), cells(b.runs)
    pairs, _ = match(of_a, of_b)
    return [(of_a.loc[row["a"], "cell"], of_b.loc[row["b"], "cell"], row["how"]) for row in records(pairs)]


def reasons(a: Side, b: Side) -> list[tuple[str, str, str, str]]:
    found = compare(a, b)
    return [(row["side"], row["cell"], row["reason"], row["detail"]) for row in records(found.unmatched)]


@pytest.mark.parametrize(
    ("cpus", "text"),
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
def test_a_share_has_no_numbers_of_cpus(make: Any, tmp_path: Path, cpus: list[int], text: str) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.topology, maker.groups = SMALL, {"here": (Group(cpus=tuple(cpus), membind=(0,)),)}
    maker.add("s", "stream", {}, make.stream_text(1e4, 1), place="here", relation="local")

    assert share(load([maker.write()]).good("stream")[0]) == text


LOCAL = ("local", [0, 1, 4, 5])
NODE_1 = ("node 1", list(range(10, 20)))


@pytest.mark.parametrize(
    ("a", "b", "pairs"),
    [
        ([({}, *LOCAL)], [({}, *NODE_1)], ["relative"]),  # another numbering
        ([({"threads": 1}, "l", [0]), ({"threads": 2}, "l", [0, 1])], [({"threads": 1}, "l", [0]), ({"threads": 5}, "l", list(range(5)))], ["same", "share"]),
        ([({"threads": 8}, *LOCAL)], [({"threads": 10}, *NODE_1)], []),  # 8 threads on 4 PUs are another share
    ],
)  # fmt: skip
def test_places_of_two_machines_are_matched(make: Any, tmp_path: Path, a: Any, b: Any, pairs: list[str]) -> None:
    sides = [
        machine(
            make,
            tmp_path / f"{name}.db",
            text,
            [(options, place, "local", cpus) for options, place, cpus in runs],
        )
        for name, text, runs in (("a", SMALL, a), ("b", LARGE, b))
    ]

    assert [how for *_, how in matched(*sides)] == pairs


def test_a_renamed_sweep_is_found(make: Any, tmp_path: Path) -> None:
    runs = [({"threads": 1}, "local", "local", [0])]
    sides = [machine(make, tmp_path / f"{name}.db", SMALL, runs, sweep=name) for name in ("old", "new")]

    assert [how for *_, how in matched(*sides)] == ["renamed"]


def test_a_device_belongs_to_the_machine(make: Any, tmp_path: Path) -> None:
    sides = []
    for name, device in (("a", "/dev/nvme0n1"), ("b", "/dev/sdb")):
        maker = make.Maker(tmp_path / f"{name}.db", host=name)
        options = {"filename": device, "rw": "randread", "bs": "4k", "iodepth": 4}
        text = make.fio_text({"read": (1e4, 90)}, bs="4k", rw="randread", iodepth=4)
        sides.append(of("A", maker.add("disk", "fio", options, text).write()))

    assert matched(*sides) == [("", "", "path")]


def test_what_several_cells_fit_is_not_guessed(make: Any, tmp_path: Path) -> None:
    a = machine(make, tmp_path / "a.db", SMALL, [({"ntimes": 3}, "local", "local", [0, 1, 4, 5])])
    b = machine(
        make, tmp_path / "b.db", LARGE,
        [({"ntimes": 3}, "node 0", "local", list(range(10))), ({"ntimes": 3}, "node 1", "local", list(range(10, 20)))],
    )  # fmt: skip

    assert [(side, reason, count) for side, _, reason, count in reasons(a, b)] == [
        ("A", "several cells match", "2"),
        ("B", "several cells match", "1"),
        ("B", "several cells match", "1"),
    ]


def edited(make: Any, path: Path, *texts: str) -> Side:
    """A program's number, read in one direction after the other; each in a session of its own text."""
    for text in texts:
        maker = make.Maker(path, host=path.stem)
        maker.text = text
        better, _, unit = text.partition(" ")
        spec = {"t": {"regex": r"t ([\d.]+)", "better": better, **({"unit": unit} if unit else {})}}
        maker.add("s", "command", {"command": ["z"], "metrics": spec, "n": 1}, "t 12.1\n", axes=("n",))
        maker.write()
    return of("A", path)


def test_the_same_cell_is_found_next_to_its_edited_copy(make: Any, tmp_path: Path) -> None:
    a = edited(make, tmp_path / "a.db", "lower")
    b = edited(make, tmp_path / "b.db", "lower", "higher")

    assert [how for *_, how in matched(a, b)] == ["same"]
    left = reasons(a, b)
    assert [(side, cell) for side, cell, *_ in left] == [("B", "n=1 metrics.t.better=higher")]


def test_cells_that_were_edited_on_both_sides_are_matched_by_their_labels(make: Any, tmp_path: Path) -> None:
    a = edited(make, tmp_path / "a.db", "lower", "higher")
    b = edited(make, tmp_path / "b.db", "lower ms", "higher ms")

    assert {pair[:2] for pair in matched(a, b)} == {
        (f"n=1 metrics.t.better={word}",) * 2 for word in ("lower", "higher")
    }


def test_the_detail_is_what_differs_in_the_nearest_cell(make: Any, tmp_path: Path) -> None:
    a = machine(make, tmp_path / "a.db", SMALL, [({"ntimes": n}, "l", "local", [0]) for n in (3, 9)])
    b = machine(make, tmp_path / "b.db", SMALL, [({"ntimes": n}, "l", "local", [0]) for n in (3, 4)])

    assert reasons(a, b) == [
        ("A", "ntimes=9 place=l", "no such cell", "ntimes: 9, not 3"),
        ("B", "ntimes=4 place=l", "no such cell", "ntimes: 4, not 3"),
    ]


def test_a_skipped_and_a_disturbed_cell_have_their_reason(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "b.db", host="b")
    axes = ("threads", "place")
    for threads, status in ((1, "disturbed"), (2, ""), (8, "ok")):
        text = make.stream_text(1e4, 8) if threads == 8 else ""
        maker.add("scaling", "stream", {"threads": threads}, text, axes=axes, place="l", relation="local", status=status, repeats=3)  # fmt: skip
    maker.skip("scaling", "this machine has 1 NUMA node", threads=4, place="l")
    b = of("B", maker.write())
    a = machine(make, tmp_path / "a.db", SMALL, [({"threads": n}, "l", "local", [0]) for n in (1, 2, 4, 8)])

    assert [(reason, detail) for _, _, reason, detail in reasons(a, b)] == [
        ("disturbed", ""),
        ("not run yet", ""),
        ("skipped", "this machine has 1 NUMA node"),
    ]


def test_one_option_in_two_spellings_is_one_cell(make: Any, tmp_path: Path) -> None:
    """`bs: 4k` of one file and `bs: 4096` of the other."""
    sides = []
    for name, bs, engine in (("a", "4k", "libaio"), ("b", 4096, "io_uring")):
        maker = make.Maker(tmp_path / f"{name}.db")
        for depth, more in ((1, {}), (4, {}), (1, {"ioengine": engine})):
            text = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=depth)
            maker.add(
                "s",
                "fio",
                {"rw": "randread", "bs": bs, "iodepth": depth, **more},
                text,
                axes=("bs", "iodepth"),
            )
        sides.append(of("A", maker.write()))

    assert [how for *_, how in matched(*sides)] == ["same", "same"]
    assert {detail for *_, detail in reasons(*sides)} == {
        "ioengine: libaio, not none",
        "ioengine: io_uring, not none",
    }


NUMBER = itertools.count()
CELL = st.builds(
    lambda sweep, options, place, relation: {
        "first": next(NUMBER), "key": next(NUMBER), "tool": "stream", "sweep": sweep, "relation": relation, "share": "one PU",
        "parameters": canonical_json(options), "without_threads": canonical_json({k: v for k, v in options.items() if k != "threads"}) if "threads" in options else None,
        "without_paths": canonical_json({k: v for k, v in options.items() if not isinstance(v, str)}), "selectors": place, "position": "",
        "threads_per_pu": "1", "labels": canonical_json(options), "name": "", "runs": [],
    },
    sweep=st.sampled_from("ab"),
    options=st.dictionaries(st.sampled_from(("threads", "n", "file")), st.sampled_from((1, 2, "/x", "/y"))),
    place=st.sampled_from("pq"),
    relation=st.sampled_from(("local", "remote")),
)  # fmt: skip


@given(a=st.lists(CELL, min_size=1, max_size=8), b=st.lists(CELL, min_size=1, max_size=8))
def test_every_cell_is_in_one_pair_at_most(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> None:
    pairs, _ = match(*(pd.DataFrame(own).set_index("first") for own in (a, b)))

    assert pairs["a"].is_unique
    assert pairs["b"].is_unique
    assert set(pairs["a"]) <= {cell["first"] for cell in a}
    assert set(pairs["b"]) <= {cell["first"] for cell in b}
