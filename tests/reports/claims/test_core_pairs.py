"""Maps from core to core: every pair that was measured is in them, and their titles say what each kind of pair takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.descriptions import topology_from_text
from orchestrator.machine.topology import Topology
from orchestrator.model import Group, Place
from orchestrator.placement.place import resolve
from orchestrator.placement.selectors import Unplaceable
from reports.charts import titles
from reports.charts.core_pairs import CACHE, PACKAGE, PACKAGES, SIBLINGS, in_tree, kinds
from reports.draw.figure import Figure
from reports.numbers.formulas import Spread
from reports.report import build
from reports.results import load

MACHINE = "pack:2 [numa] l3:2(size=32MiB) core:2 pu:2(indexes=core:pu)"
TIMES = {SIBLINGS: 12.0, CACHE: 40.0, PACKAGE: 110.0, PACKAGES: 210.0}


def near(machine: Topology | None, a: int, b: int) -> str:
    return kinds(machine, [(a, b)])[a, b]


def c2c_text(cpus: Sequence[int], latency: Callable[[int, int], float]) -> str:
    head = "".join(f"{cpu:6d}\t" for cpu in cpus)
    lines = "".join(
        f"{a:8d}\t" + "".join("     -\t" if a == b else f"{latency(a, b):6.1f}\t" for b in cpus) + "\n"
        for a in cpus
    )
    return (
        "pinsweep memlat 0.2 (MLC-style; not Intel(R) Memory Latency Checker)\nCommand line parameters: --c2c_latency -a\n\n"
        "Measuring cache-to-cache transfer latency (in ns)...\nLocal Socket L2->L2 HITM latency\t60.1\n\n"
        f"Measuring cache-to-cache HITM latency between CPUs (in ns)...\n\t\t\tReader CPU\nWriter CPU\t{head}\n{lines}"
    )


def caches(make: Any, path: Path, description: str = MACHINE, wobble: float = 0.01) -> Figure:
    maker = make.Maker(path)
    maker.topology = description
    machine = topology_from_text(description)
    cpus = sorted(core.cpus[0] for core in machine.cores)
    for r in range(3):
        text = c2c_text(cpus, lambda a, b, r=r: TIMES[near(machine, a, b)] * (1 + wobble * r) + a / 10)  # type: ignore[misc]
        maker.add("caches", "mlc", {"mode": "c2c_latency", "a": True}, text)
    return figure(maker.write(), "cores-")


def figure(path: Path, prefix: str) -> Figure:
    built = build.build(load.load([path]))
    (found,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id.startswith(prefix)]
    return found


def test_a_map_has_all_pairs_and_says_what_each_kind_takes(make: Any, tmp_path: Path) -> None:
    found = caches(make, tmp_path / "r.db")
    (table,) = found.tables

    assert (
        found.title
        == "A modified line takes 40.4 to 41.1 ns in one cache, 111 to 112 ns in one package, 212 to 213 ns between packages"
    )
    assert table.columns == ("CPU", *map(str, range(8)))
    assert table.cuts == {2, 4, 6}
    assert [row[i + 1] for i, row in enumerate(table.rows)] == ["–"] * 8
    assert sum(text != "–" for row in table.rows for text in row[1:]) == 8 * 7
    assert table.rows[0][1:4] == ("–", "40.4", "111")


def test_of_many_cores_it_is_a_picture(make: Any, tmp_path: Path) -> None:
    found = caches(make, tmp_path / "r.db", "pack:2 [numa] l3:2(size=32MiB) core:5 pu:1")
    (panel,), (full,) = found.panels, found.numbers

    assert found.tables == ()
    assert len(panel.wide["datasets"]["cells"]) == 20 * 19
    assert "CPU 0 to 1 · 40.4 ns" in {c["tip"].split(" (")[0] for c in panel.wide["datasets"]["cells"]}
    assert len(full.rows) == 20


def test_repeats_that_are_apart_are_not_told(make: Any, tmp_path: Path) -> None:
    assert caches(make, tmp_path / "r.db", wobble=0.3).title == "A modified line, from core to core"


def test_messages_between_pairs_are_a_map_both_ways(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = MACHINE
    machine = topology_from_text(MACHINE)
    for a, b in ((0, 1), (0, 2), (0, 4)):
        place = f"pair of cores {a},{b}"
        maker.groups[place] = (Group(cpus=(a,), membind=(0,)), Group(cpus=(b,), membind=(0,)))
        time = TIMES[near(machine, a, b)] / 100
        for _ in range(3):
            maker.add("messages", "imb", {"benchmark": "PingPong"}, make.imb_text({0: time, 8: time + 0.01}), axes=("place",), place=place)  # fmt: skip
    found = figure(maker.write(), "imb-cores-")
    (table,) = found.tables

    assert (
        found.title
        == "A short message takes 400 ns in one cache, 1.10 µs in one package, 2.10 µs between packages"
    )
    assert "0 B" in table.caption
    cells = {
        (row[0], c): text for row in table.rows for c, text in zip(table.columns[1:], row[1:], strict=True)
    }
    assert cells["0", "1"] == cells["1", "0"] != "–"
    assert cells["1", "2"] == "–"  # not measured


def test_a_pair_that_was_measured_both_ways_has_both(make: Any, tmp_path: Path) -> None:
    """Rank 0 on one core or on the other: two cells, each in its own place; of the third pair nothing is told twice."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = MACHINE
    for (a, b), time in {(0, 1): 0.4, (1, 0): 0.5, (0, 2): 1.1}.items():
        place = f"pair of cores {a},{b}"
        maker.groups[place] = (Group(cpus=(a,), membind=(0,)), Group(cpus=(b,), membind=(0,)))
        maker.add("messages", "imb", {"benchmark": "PingPong"}, make.imb_text({0: time, 8: time + 0.01}), axes=("place",), place=place)  # fmt: skip
    found = figure(maker.write(), "imb-cores-")
    (table,) = found.tables

    cells = {
        (row[0], c): text for row in table.rows for c, text in zip(table.columns[1:], row[1:], strict=True)
    }
    shown = {pair: cells[pair] for pair in (("0", "1"), ("1", "0"), ("0", "2"), ("2", "0"))}
    assert list(shown.values()) == ["400", "500", "1\u202f100", "1\u202f100"]
    assert found.title.startswith("A short message takes 400 to 500 ns in one cache, 1.10 µs in one package")


def test_one_pair_is_no_map(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = MACHINE
    maker.groups["a"] = (Group(cpus=(0,)), Group(cpus=(1,)))
    maker.add(
        "messages",
        "imb",
        {"benchmark": "PingPong"},
        make.imb_text({0: 0.2, 8: 0.3}),
        axes=("place",),
        place="a",
    )
    built = build.build(load.load([maker.write()]))

    assert not [f for s in built.sections for b in s.blocks for f in b.figures if "cores" in f.id]


def test_a_kind_that_nothing_tells_has_no_word() -> None:
    same = [Spread(40.0, 40.0, 40.1, 3), Spread(44.0, 43.9, 44.0, 3)]

    assert titles.between_cores("A modified line", {"": same}) == "A modified line takes 40 to 44 ns"


# --- where they are ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def machine() -> Topology:
    return topology_from_text(MACHINE)


@pytest.mark.parametrize(("a", "b", "word"), [(0, 8, SIBLINGS), (0, 1, CACHE), (0, 9, CACHE), (0, 2, PACKAGE), (3, 4, PACKAGES)])  # fmt: skip
def test_what_two_cpus_have_in_common(machine: Topology, a: int, b: int, word: str) -> None:
    assert near(machine, a, b) == near(machine, b, a) == word
    assert near(None, a, b) == ""


def test_cpus_stand_in_the_order_of_the_tree(machine: Topology) -> None:
    assert in_tree(machine, {0, 1, 2, 8, 4}) == ([0, 8, 1, 2, 4], frozenset({3, 4}))
    assert in_tree(None, {4, 1}) == ([1, 4], frozenset())


def test_each_pair_of_cores_is_a_place(machine: Topology) -> None:
    place = Place(name="each pair of cores", cpus="each pair of cores", memory="local")
    found = resolve(place, machine, threads=1, processes=2)

    assert len(found) == 8 * 7 / 2
    assert [group.cpus for group in found[0].groups] == [(0,), (1,)]
    assert found[-1].name == "pair of cores 6,7"
    assert [group.membind for group in found[-1].groups] == [(1,), (1,)]


def test_a_pair_of_cores_that_is_not_there_is_refused(machine: Topology) -> None:
    with pytest.raises(Unplaceable, match="core 9 cannot be used"):
        resolve(Place(name="x", cpus="pair of cores 0,9", memory="local"), machine, threads=1, processes=2)


def test_what_each_kind_of_pair_takes_stands_at_the_head_and_on_the_machine(
    make: Any, tmp_path: Path
) -> None:
    caches(make, tmp_path / "r.db")
    page = build.build(load.load([tmp_path / "r.db"]))
    (drawn,) = page.machines
    node, other = drawn.packages
    wide, _ = drawn.between

    assert [(n.name, n.value, n.context.partition(",")[0]) for n in page.key_numbers] == [
        ("Cache to cache, in one cache", "40.8", "median of 4 pairs"),
        ("Cache to cache, in one package", "111", "median of 8 pairs"),
        ("Cache to cache, between packages", "212", "median of 16 pairs"),
    ]
    assert [(n.value, n.context.partition(",")[0]) for n in node.numbers] == [
        ("40.5", "median of 2 pairs"), ("111", "median of 4 pairs"),
    ]  # fmt: skip
    assert [n.value for n in other.numbers] == ["41.0", "112"]
    assert [text for _, text in wide.arcs[0].lines] == ["212 ns cache to cache"]
    assert node.memory is None
    assert node.squares
    assert {colour for colour, *_ in node.squares.squares} == {"#2B7BBF"}


def test_a_kind_of_pair_has_one_value_on_a_page(make: Any, tmp_path: Path) -> None:
    """The key number was 127 ns, the title 130 ns: medians over the pairs of a run, and over the runs of a pair."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = "pack:1 [numa] l3:1(size=32MiB) core:2 pu:1"
    for there, back in ((120.0, 130.0), (130.0, 130.0), (130.0, 110.0)):
        text = c2c_text((0, 1), lambda a, _, ways=(there, back): ways[a])  # type: ignore[misc]
        maker.add("caches", "mlc", {"mode": "c2c_latency", "a": True}, text)
    path = maker.write()

    (number, *_) = build.build(load.load([path])).key_numbers
    assert number.value == "130"
    assert "130 ns" in figure(path, "cores-").title


def test_of_a_machine_that_is_not_known_no_kind_is_told(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = ""
    maker.add("caches", "mlc", {"mode": "c2c_latency", "a": True}, c2c_text(range(4), lambda a, b: 40.0 + a + b))  # fmt: skip

    assert build.build(load.load([maker.write()])).key_numbers == ()


def test_what_differs_as_the_two_ways_of_a_pair_do_has_no_shade(make: Any, tmp_path: Path) -> None:
    """Of one run there are no repeats: what differed from one way to the other by chance had all twelve shades."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = ""
    maker.add("caches", "mlc", {"mode": "c2c_latency", "a": True}, c2c_text(range(4), lambda a, b: 100.0 if a < b else 160.0))  # fmt: skip
    figure, *_ = [f for s in build.build(load.load([maker.write()])).sections for b in s.blocks for f in b.figures]  # fmt: skip

    assert {shade for row in figure.tables[0].heat for shade in row} == {None, 0}
    assert "shade" not in figure.told
