"""The machine with what was measured on it: each number where its run was placed, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.descriptions import topology_from_text
from orchestrator.model import Group
from parsers.units import size_bytes
from reports.checks.audit import convicted
from reports.measurements import measure
from reports.page.model import Drawing, Part
from reports.report import declared, machine
from reports.report.build import build
from reports.report.render import render_report
from reports.results.load import load
from tests.conftest import Cli

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hwloc"


def machines(*files: Path) -> tuple[Drawing, ...]:
    results = load(files)
    measured = measure(results, disturbed=True)
    chapters = [declared.chapter(tool, results, measured) for tool in results.told]
    return machine.drawings(results, chapters, convicted(measured.findings))


def drawn(*files: Path) -> Drawing:
    """Return the drawing of the one machine of these files."""
    (drawing,) = machines(*files)
    return drawing


def parts(drawing: Drawing) -> Iterator[Part]:
    """Give every part, those inside of others too."""
    stack = [*drawing.packages, *drawing.links, *drawing.disks]
    while stack:
        part = stack.pop(0)
        yield part
        stack += [*part.parts, *part.disks, *([part.memory] if part.memory else [])]


def told(drawing: Drawing) -> dict[str, set[str]]:
    """Return part → its numbers; memory as "… memory"."""
    found: dict[str, set[str]] = {}
    for part in parts(drawing):
        if part.numbers:
            found.setdefault(part.name, set()).update(f"{n.value} {n.unit}" for n in part.numbers)
        if part.memory and part.memory.numbers:
            found[f"{part.name}, memory"] = {f"{n.value} {n.unit}" for n in part.memory.numbers}
    found.pop("Memory", None)
    return found


def two_sockets(make: Any, path: Path, description: str = "two-socket-smt") -> Any:
    """A machine of two packages: local and remote STREAM, messages in a package and between two."""
    maker = make.Maker(path)
    maker.topology = (FIXTURES / f"{description}.xml").read_text()
    topology = topology_from_text(maker.topology)
    first, second = topology.packages[:2]
    cores = {p.index: [c.cpus[0] for c in topology.cores if c.package == p.index] for p in topology.packages}
    near, far = topology.node_of[cores[first.index][0]], topology.node_of[cores[second.index][0]]
    a, b = cores[first.index][:2]
    maker.groups = {
        "local": (Group(cpus=(a,), membind=(near,)),),
        "remote": (Group(cpus=(a,), membind=(far,)),),
        "same package": (Group(cpus=(a,), membind=(near,)), Group(cpus=(b,), membind=(near,))),
        "other package": (
            Group(cpus=(a,), membind=(near,)),
            Group(cpus=(cores[second.index][0],), membind=(far,)),
        ),
        "whole": (Group(cpus=topology.packages[0].cpus, membind=(near,)),),
    }
    for place, rate in (("local", 10e3), ("remote", 6e3)):
        maker.add(
            "s", "stream", {"threads": 1}, make.stream_text(rate, 1), place=place, axes=("place", "threads")
        )
    for place, time in (("same package", 0.5), ("other package", 1.25)):
        maker.add(
            "p",
            "imb",
            {"benchmark": "PingPong"},
            make.imb_text({0: time, 64: time * 1.1}),
            place=place,
            axes=("place",),
        )
    return maker


def test_a_matrix_fills_every_node_and_every_link(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = (FIXTURES / "two-socket-smt.xml").read_text()
    maker.add("m", "mlc", {"mode": "latency_matrix"}, make.matrix_text([[81.0, 141.0], [143.0, 83.0]]))
    rates = [[91e3, 31e3], [32e3, 92e3]]
    maker.add("b", "mlc", {"mode": "bandwidth_matrix"}, make.matrix_text(rates, bandwidth=True))

    drawing = drawn(maker.write())

    assert not drawing.numbers
    assert told(drawing) == {
        "Package 0, node 0, memory": {"81.0 ns", "91.0 GB/s"},
        "Package 1, node 1, memory": {"83.0 ns", "92.0 GB/s"},
        "node 0 → memory of node 1": {"141 ns", "31.0 GB/s"},
        "node 1 → memory of node 0": {"143 ns", "32.0 GB/s"},
    }


@pytest.mark.parametrize("name", ["memory-only-node", "four-node", "ulysses-2x10", "two-socket-interleaved"])
@pytest.mark.slow
def test_every_part_of_any_machine_is_drawn_once(name: str, make: Any, tmp_path: Path) -> None:
    maker = two_sockets(make, tmp_path / "r.db", name)
    page = tmp_path / "r.html"
    result = maker.write()
    topology = topology_from_text(maker.topology)

    drawing = drawn(result)
    render_report([result], page, static=True)

    pictures = [part.squares for part in parts(drawing) if part.squares]
    squares = sum(path.count("M") for picture in pictures for _, path in picture.squares)
    assert squares == sum(len(core.cpus) for core in topology.cores)
    nodes = [f"node {node.os_index}" for node in topology.numa_nodes]
    names = [part.name for part in parts(drawing) if "↔" not in part.name and "→" not in part.name]
    assert [sum(name.endswith(node) for name in names) for node in nodes] == [1] * len(nodes)
    assert re.search("not measured|measured only together", page.read_text())


@pytest.mark.usefixtures("undrawn")
def test_memory_without_cpus_says_once_that_it_was_measured_from_other_nodes(
    make: Any, tmp_path: Path
) -> None:
    """ "node 2 no CPUs measured only together with other parts Memory 504 MiB measured only together with other parts"."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = (FIXTURES / "memory-only-node.xml").read_text()
    maker.groups["CXL"] = (Group(cpus=(0,), membind=(2,)),)
    maker.add("s", "stream", {"threads": 1}, make.stream_text(6e3, 1), place="CXL", axes=("place",))

    render_report([maker.write()], tmp_path / "r.html", static=True)

    words = re.sub(r"<[^>]+>|\s+", " ", (tmp_path / "r.html").read_text())
    assert re.search(
        r"node 2 no CPUs Memory [0-9]+ MiB; measured from other nodes ", re.sub(" +", " ", words)
    )


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
def test_each_machine_has_a_drawing_with_its_own_numbers(make: Any, tmp_path: Path) -> None:
    one = two_sockets(make, tmp_path / "a.db").write()
    other = two_sockets(make, tmp_path / "b.db")
    other.host = "node08"
    other.add("s", "stream", {"threads": 2}, make.stream_text(11e3, 1), place="local", axes=("threads",))
    page = tmp_path / "r.html"

    first, second = machines(one, other.write())
    render_report([one, tmp_path / "b.db"], page, static=True)

    assert (first.host, second.host) == ("node07", "node08")
    assert told(first) == told(drawn(one))
    assert told(second)["Package 0, node 0, memory"] == {"11.0 GB/s"}
    assert "node08: 2 packages" in page.read_text()
    (unknown,) = machines(
        make.full(tmp_path / "unknown.db")
    )  # Intel MLC tells of nodes, nothing of their packages
    assert unknown.machine == "2 NUMA nodes of a machine whose topology is not known"
    assert not unknown.squared


@pytest.mark.parametrize(("options", "time"), [({"bytes": "32kB"}, 1), ({"bytes": "4MB", "window": "32kB"}, 1), ({"bytes": "64GB"}, 0)])  # fmt: skip
def test_a_cache_has_the_time_of_what_is_accessed_in_it(
    make: Any, tmp_path: Path, options: dict[str, str], time: int
) -> None:
    """Of a window of a larger buffer no more is accessed: its time stood in the cache that holds all of the buffer."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = "pack:1 numa:1 l3:1(size=64MB) l2:1(size=2MB) l1d:1(size=48kB) core:1 pu:1"
    maker.groups = {"local": (Group(cpus=(0,), membind=(0,)),)}
    text = make.poke_text([90.0] * 20_000)  # more than twice the timer
    maker.add("m", "poke", {"target": "memory", **options}, text, place="local")
    shown = [level for drawing in machines(maker.write()) for part in parts(drawing) for level in part.levels]
    assert [level.name for level in shown if level.number] == ["L1"] * time


def idle(buffer: int, latency: float) -> str:
    return (
        "pinsweep memlat 0.2 (MLC-style; not Intel MLC)\nCommand line parameters: --idle_latency\n\n"
        f"Using buffer size of {buffer / 2**20:.3f}MiB\n"
        f"Each iteration took {latency * 2.6:.1f} base frequency clocks (\t{latency:.1f}\tns)\n"
    )


@pytest.mark.parametrize(("of_memory", "words"), [(104.0, "; not told apart from memory"), (180.0, "")])
def test_a_cache_that_others_fill_is_not_told_as_one(
    make: Any, tmp_path: Path, of_memory: float, words: str
) -> None:
    """161 ns stood as L3's beside 173 ns of memory, on a host whose L3 other guests have."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = "pack:1 numa:1(memory=8GB) l3:1(size=32MB) l2:1(size=1MB) l1d:1(size=32kB) core:2 pu:1"
    maker.groups = {"local": (Group(cpus=(0,), membind=(0,)),)}
    for b, latency in (("16k", 1.2), ("512k", 5.6), ("16m", 100.0), ("64m", of_memory)):
        for more in (0, 0.03, 0.06):
            text = idle(size_bytes(b), latency * (1 + more))
            maker.add(
                "ws",
                "mlc",
                {"mode": "idle_latency", "b": b},
                text,
                axes=("b",),
                place="local",
                relation="local",
            )
    (drawing,) = machines(maker.write())
    told = {level.name: level.told for part in parts(drawing) for level in part.levels if level.number}

    assert told == {"L1": "buffer 16 KiB", "L2": "buffer 512 KiB", "L3": f"buffer 16 MiB{words}"}


@pytest.mark.parametrize(("largest", "box"), [("1m", "cache"), ("64m", "memory")])
def test_what_fits_in_a_cache_is_no_number_of_the_memory(
    make: Any, tmp_path: Path, largest: str, box: str
) -> None:
    """Two kinds of pages at each size: a cache has the lower of its largest buffer; memory only what is larger than all caches."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = "pack:1 numa:1(memory=8GB) l3:1(size=32MB) l2:1(size=2MB) l1d:1(size=48kB) core:2 pu:1"
    maker.groups = {"local": (Group(cpus=(0,), membind=(0,)),)}
    for b, small, huge in (("16k", 1.0, 1.1), ("32k", 2.2, 2.1), ("48k", 3.0, 3.0), ("1m", 6.0, 4.0), (largest, 9.0, 7.0)):  # fmt: skip
        for pages, latency in ((False, small), (True, huge)):
            text = idle(size_bytes(b), latency)
            options = {"mode": "idle_latency", "b": b, "L": pages}
            maker.add("ws", "mlc", options, text, axes=("b", "L"), place="local", relation="local")
    (drawing,) = machines(maker.write())
    found = list(parts(drawing))
    levels = {level.name: level.number.value for part in found for level in part.levels if level.number}
    (memory,) = [part for part in found if part.name == "Memory"]

    assert (
        levels["L1"] == "2.1"
    )  # of 32k the lower; the 1.0 of 16k says less of it; 48k has no room for anything else
    assert [n.name for n in memory.numbers] == (["Memory, idle"] if box == "memory" else [])
    assert box == "memory" or memory.instead == "only buffers that fit in a cache were walked over"


HEAD = """Intel(R) Memory Latency Checker - v3.10
Command line parameters: --latency_matrix

Using buffer size of 200.000MiB
Measuring idle latencies for random access (in ns)...
"""
MATRICES = (
    HEAD + "\t\tNuma node\nNuma node\t     0\t     1\n       0\t  {0}\t 144.3\n       1\t 143.1\t  89.1\n"
)


def captured(pinsweep: Cli, folder: Path, *texts: str) -> Path:
    """Take in texts of Intel MLC that tell nothing of their host."""
    files = [folder / f"matrix-{n}.txt" for n in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    done = pinsweep("parse", "mlc", *map(str, files), "-o", str(folder / "taken.db"))
    assert done.returncode == 0, done.stderr
    return folder / "taken.db"


def test_a_text_that_tells_of_nodes_has_them_drawn_without_a_topology(pinsweep: Cli, tmp_path: Path) -> None:
    drawing = drawn(captured(pinsweep, tmp_path, MATRICES.format(90.2)))
    assert drawing.host == "matrix-0.txt"
    assert "topology is not known" in drawing.machine
    assert told(drawing) == {
        "node 0, memory": {"90.2 ns"},
        "node 1, memory": {"89.1 ns"},
        "node 0 → memory of node 1": {"144 ns"},
        "node 1 → memory of node 0": {"143 ns"},
    }


def test_the_nodes_of_two_texts_are_no_machine_together(pinsweep: Cli, tmp_path: Path) -> None:
    one, other = machines(captured(pinsweep, tmp_path, MATRICES.format(90.2), MATRICES.format(70.5)))
    assert {one.host, other.host} == {"matrix-0.txt", "matrix-1.txt"}
    assert told(one)["node 0, memory"] == {"90.2 ns"}
    assert told(other)["node 0, memory"] == {"70.5 ns"}


def test_a_node_that_only_others_asked_is_not_told_as_not_measured(pinsweep: Cli, tmp_path: Path) -> None:
    rows = "       0\t  90.2\t 144.3\t 562.0\n       1\t 143.1\t  89.1\t 391.0\n"
    text = f"{HEAD}\t\tNuma node\nNuma node\t     0\t     1\t     2\n{rows}"
    node = drawn(captured(pinsweep, tmp_path, text)).packages[2]
    assert node.memory
    assert not node.memory.numbers
    assert node.memory.instead == "asked for from other nodes alone"


def test_a_machine_is_drawn_on_a_page_of_any_program(make: Any, tmp_path: Path) -> None:
    """Its pages began with a table of what was recorded: the program's best cell has no place of its own, and is all of the machine's."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = (FIXTURES / "two-socket-smt.xml").read_text()
    metrics = {
        "rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"},
        "wait": {"regex": r"wait ([\d.]+)", "unit": "us", "better": "lower"},
    }
    for threads in (1, 2, 4):
        options = {"command": "x", "metrics": metrics, "threads": threads}
        maker.add("s", "command", options, f"rate {100 * threads}\nwait {8 / threads}\n", axes=("threads",))
    built = build(load([maker.write()]))

    told = [(n.name, n.value, n.unit, n.context) for n in built.key_numbers]
    assert told == [
        ("rate", "400", "MB/s", "threads=4"),
        ("wait", "2.0", "µs", "threads=4"),
    ]
    (drawing,) = built.machines
    assert [n.value for n in drawing.numbers] == ["400", "2.0"]


@pytest.mark.usefixtures("undrawn")
def test_no_square_is_filled_for_a_run_that_was_not_placed(make: Any, tmp_path: Path) -> None:
    """Both PUs of a machine stood filled, "one of these numbers was measured there", for a program that ran wherever the kernel put it."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = (FIXTURES / "memory-only-node.xml").read_text()
    metrics = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}
    for n in (1, 2, 2):
        maker.add("s", "command", {"command": "s", "metrics": metrics, "n": n}, f"rate {n}\n", axes=("n",))
    result = maker.write()

    pictures = [part.squares for part in parts(drawn(result)) if part.squares]
    render_report([result], tmp_path / "r.html", static=True)

    assert [picture.used for picture in pictures] == [0] * len(pictures)
    page = (tmp_path / "r.html").read_text()
    assert "filled: one of these numbers was measured there; none is for runs that were not placed." in page
    assert "perhaps used by runs that were not placed" in page
    assert "measured only together" not in page
