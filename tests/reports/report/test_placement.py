"""Where it ran: the picture of a machine's nodes, cores and PUs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.machine.descriptions import topology_from_text
from orchestrator.model import Group, Place
from reports.report import build, placement, squares
from reports.report.render import render_report
from reports.results.load import load

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hwloc"


def result(make: Any, path: Path, topology: str, groups: dict[str, tuple[Group, ...]]) -> Path:
    maker = make.Maker(path)
    maker.topology = topology
    maker.groups = groups
    for place in groups:
        maker.add(
            "s", "stream", {"threads": 1}, make.stream_text(9e3, 1), place=place, axes=("place", "threads")
        )
    done: Path = maker.write()
    return done


@pytest.mark.parametrize("name", ["two-socket-interleaved", "memory-only-node"])
def test_a_square_for_every_pu_and_a_bar_where_memory_is_bound(name: str, make: Any, tmp_path: Path) -> None:
    text = (FIXTURES / f"{name}.xml").read_text()
    topology = topology_from_text(text)
    first, last = topology.numa_nodes[0], topology.numa_nodes[-1]
    cpu = topology.cores[0].cpus[0]
    groups = {
        "here": (Group(cpus=first.cpus, membind=(first.os_index,)),),
        "there": (Group(cpus=(cpu,), membind=(last.os_index,)),),
    }

    host = placement.of_hosts(load([result(make, tmp_path / "r.db", text, groups)]))[0]

    here, there = host.places
    for placed, used, node in ((here, len(first.cpus), first), (there, 1, last)):
        blocks = [block for package in placed.packages for block in package]
        drawn = {
            colour: sum(d.count("M") for block in blocks for c, d in block.squares if c == colour)
            for colour in (squares.UNUSED, "#2B7BBF")
        }
        assert drawn == {squares.UNUSED: len(topology.pus) - used, "#2B7BBF": used}
        assert [block.name for block in blocks if block.memory] == [f"node {node.os_index}"]
    assert f"{len(first.cpus)} of " in here.packages[0][0].said


def test_processes_of_one_run_have_their_colours_and_equal_places_share_a_row(
    make: Any, tmp_path: Path
) -> None:
    topology = "pack:2 [numa] core:4 pu:2"
    pair = (Group(cpus=(0, 1)), Group(cpus=(8,)))
    path = result(make, tmp_path / "r.db", topology, {"other package": pair, "other node": pair})

    host = placement.of_hosts(load([path]))[0]

    assert host.machine == "2 packages, 2 NUMA nodes, 8 cores and 16 PUs"
    assert [(p.name, p.programs) for p in host.places] == [("other package and other node", "stream")]
    (near,), (far,) = host.places[0].packages
    assert near.said == "node 0: 2 of 8 PUs"
    assert dict(near.squares)["#2B7BBF"] == "M0 0h20v16h-20zM0 18h20v16h-20z"
    assert near.numbers[:2] == ((10, 12, "0", "#000000"), (10, 30, "1", "#000000"))
    assert "#D4620F" in dict(far.squares)
    page = render_report([path], tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'aria-label="node 0: 2 of 8 PUs"' in page
    assert 'href="#placement"' in page


def test_a_frame_for_each_last_level_cache_and_numbers_up_to_64_cores(make: Any, tmp_path: Path) -> None:
    def picture(topology: str) -> Any:
        path = result(make, tmp_path / f"{topology}.db", topology, {"local": (Group(cpus=(0, 17)),)})
        return placement.of_hosts(load([path]))[0].places[0].packages[0][0]

    several, one, large = map(picture, ("pack:1 [numa] l3:4 core:16 pu:1", "pack:1 [numa] l3:1 core:16 pu:2", "pack:1 [numa] l3:13 core:5 pu:2"))  # fmt: skip

    assert (several.frames.count("M"), one.frames, large.frames.count("M")) == (4, "", 13)
    assert [pu for _, _, pu, _ in several.numbers] == [str(cpu) for cpu in range(64)]
    assert len({(x, y) for x, y, _, _ in several.numbers}) == 64
    assert all(0 < x < several.width and 0 < y < several.height for x, y, _, _ in several.numbers)
    assert (len(one.numbers), large.numbers) == (32, ())


@given(st.integers(1, 3), st.integers(1, 16), st.integers(1, 12), st.integers(1, 2), st.sampled_from([squares.ROOM, squares.ROOM_ALONE]))  # fmt: skip
def test_a_picture_of_cores_takes_no_more_room_than_there_is(
    packages: int, caches: int, cores: int, pus: int, room: int
) -> None:
    """It was shrunk to its box, and its numbers with it: 8.9 px of 10."""
    topology = topology_from_text(f"pack:{packages} [numa] l3:{caches} core:{cores} pu:{pus}")
    inside = [core for core in topology.cores if core.package == 0]

    picture = squares.node("", inside, topology, {}, bound=False, room=room)

    drawn = [(int(x), int(y)) for x, y in re.findall(r"M(\d+) (\d+)h", dict(picture.squares)[squares.UNUSED])]
    assert len({*drawn}) == len(inside) * pus
    assert picture.width <= room
    assert all(x < picture.width and y < picture.height for x, y in drawn)
    if caches > 1 and cores > 1:
        assert picture.frames.count("M") == caches


def test_chiplets_stand_side_by_side() -> None:
    """Sixteen of eight cores stood one below the other, as their frames were not reckoned with."""
    topology = topology_from_text("pack:1 [numa] l3:16 core:8 pu:2")

    picture = squares.node("", topology.cores, topology, {}, bound=False, room=squares.ROOM_ALONE)

    assert len(set(re.findall(r"M[\d.]+ ([\d.]+)h", picture.frames))) == 4


def test_without_a_topology_there_is_no_picture(make: Any, tmp_path: Path) -> None:
    groups = {"local": (Group(cpus=(0,)),)}

    assert placement.of_hosts(load([result(make, tmp_path / "r.db", "<topology/>", groups)])) == ()


def test_hosts_that_look_alike_share_a_picture(make: Any, tmp_path: Path) -> None:
    group = (Group(cpus=(0,), membind=(0,)),)
    paths = []
    for i in range(6):
        maker = make.Maker(tmp_path / f"n{i}.db", host=f"n{i}")
        maker.topology = f"pack:{2 if i == 5 else 1} [numa] core:4 pu:1"
        maker.groups = {"local": group}
        maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1), place="local")
        paths.append(maker.write())

    assert [host.host for host in placement.of_hosts(load(paths))] == ["n0 and 4 more", "n5"]


def test_places_that_exchanged_their_names_are_left_as_they_are(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for kind, order in (("pu", "ab"), ("core", "ba")):
        for n, name in enumerate(order):
            maker.places[name] = Place(name=name, cpus=f"{kind} {n}")
            maker.groups[name] = (Group(cpus=(n,)),)
            maker.add("s", "stream", {"threads": 1}, make.stream_text(20e3, 1), axes=("place",), place=name)

    results = load([maker.write()])

    assert len({run.record.point_id for run in results.good("stream")}) == 4
    assert not results.aliases


def test_two_placements_of_one_name_are_told_apart(make: Any, tmp_path: Path) -> None:
    """One thread and two at the place "local": two rows were called that."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = "pack:1 [numa] core:2 pu:1"
    for threads in (1, 2):
        maker.groups["local"] = (Group(cpus=tuple(range(threads)), membind=(0,)),)
        options = {"threads": threads}
        maker.add("s", "stream", options, make.stream_text(9e3, 1), place="local", axes=("place", "threads"))
    for name in ("all", "here"):  # the latter is where one thread at "local" was, too
        maker.groups["here"] = (Group(cpus=(0,), membind=(0,)),)
        maker.groups["all"] = (Group(cpus=(0, 1)),)
        maker.add(
            "s", "stream", {"threads": 2}, make.stream_text(9e3, 1), place=name, axes=("place", "threads")
        )

    (host,) = placement.of_hosts(load([maker.write()]))

    assert sorted(place.name for place in host.places) == [
        "all", "local and here, CPU 0, memory of node 0", "local, CPUs 0,1, memory of node 0",
    ]  # fmt: skip


def test_what_was_asked_for_no_place_is_called_all_and_says_what_it_had(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.topology = "pack:1 numa:1 core:4 pu:1"
    maker.groups = {
        "one": (Group(cpus=(0,), membind=(0,)),),
        "every": (Group(cpus=(0, 1, 2, 3), membind=(0,)),),
    }
    for sweep, place in (("a", "one"), ("b", "every")):
        maker.add(sweep, "stream", {"threads": 1}, make.stream_text(9e3, 1), place=place)
        run = maker._runs[-1]
        run["placement"], run["point"] = replace(run["placement"], name=""), replace(run["point"], place=None)

    shown = build.build(load([maker.write()])).placement

    assert shown
    assert [place.name for place in shown.hosts[0].places] == [
        "all, CPU 0, memory of node 0", "all, CPUs 0-3, memory of node 0",
    ]  # fmt: skip


def test_a_warm_up_is_of_the_programs_that_had_one(make: Any, tmp_path: Path) -> None:
    """One whose shortest run takes long warms itself up."""
    maker = make.Maker(tmp_path / "a.db")
    for warm_up in (True, False):
        maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1), warm_up=warm_up)
    maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text({0: 0.5, 64: 0.6}))

    (said,) = [text for text in build.build(load([maker.write()])).methods if "warm-up" in text]
    assert "warm-ups of STREAM 5.10, before" in said
    assert "1 run." in said
