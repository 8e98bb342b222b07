"""What the tools promise of our kernels' options when a file is loaded is what the kernels say when they run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.synthetic import topology_from_synthetic
from orchestrator.model import Cell
from orchestrator.programs import kernels
from orchestrator.tools import Program, Site, get_tool, mlc, poke

MEMLAT: dict[str, tuple[Any, str]] = {
    "d": (0, "-d0"),
    "l": (128, "-l128"),
    "W": ("2", "-W2"),
    "b": ("1m", "-b1m"),
    "t": (0.05, "-t0.002"),
    "e": (True, "-e"),
    "r": (True, "-r"),
    "X": (True, "-X"),
    "L": (True, "-L"),
    "T": (True, "-T"),
    "U": (True, "-U"),
}


@pytest.mark.parametrize(
    "mode",
    [pytest.param(mode, marks=pytest.mark.slow) if mode == "loaded_latency" else mode for mode in mlc.MODES],
)
def test_memlat_refuses_what_does_not_load(mode: str) -> None:
    memlat = kernels.build("memlat")
    for name, (value, word) in MEMLAT.items():
        quick = ["-t0.002", *(["-b64k"] if mode != "c2c_latency" and name != "b" else [])]
        done = subprocess.run([memlat, f"--{mode}", word, *quick], capture_output=True, text=True, check=False)

        refused = f"-{word[1]} has no effect" in done.stderr
        assert refused == bool(mlc.TOOL.problems({"mode": mode, name: value})), (name, done.stderr)


POKE: dict[str, tuple[Any, ...]] = {
    "op": ("write",),
    "count": (10,),
    "block": (8,),
    "direct": (True,),
    "fsync": (True,),
    "window": (512,),
    "pages": ("4k",),
    "loop": ("muladd",),
    "iterations": (10,),
    "files": (2,),
    "file_size": (100,),
    "largest": (3,),
    "seed": (7,),
}
BASE: dict[str, dict[str, Any]] = {
    "null": {},
    "memory": {"bytes": 4096},
    "file": {"bytes": 4096, "op": "write"},
    "compute": {},
    "files": {"files": 2, "file_size": 10},
}


@pytest.mark.parametrize("target", poke.TARGETS)
def test_whatever_loads_for_poke_runs(target: str, tmp_path: Path) -> None:
    """And what does not load is what poke itself calls without effect."""
    program = Program(name="poke", path=str(kernels.build("poke")))
    site = Site(topology=topology_from_synthetic("core:1 pu:1"), numactl="", scratch=str(tmp_path))
    few = {} if target == "files" else {"count": 10}
    for name, (value,) in POKE.items():
        options = {"target": target, **few, **BASE[target], name: value}
        if target == "file" and name == "direct":
            continue  # the file system of the tests may have none

        problems = get_tool("poke").problems(options)

        if problems:
            assert [option for option, _ in problems] == [name]
            by_hand = [program.path, f"--target={target}", f"--{name.replace('_', '-')}"]
            if name not in ("direct", "fsync"):
                by_hand[-1] += f"={value}" if name != "window" else f"=0:{value}"
            done = subprocess.run(by_hand, capture_output=True, text=True, check=False)
            assert "has no effect on" in done.stderr, name
            assert done.returncode == 2
            continue
        command = poke.TOOL.command(Cell(sweep="s", tool="poke", options=options, place=None), None, site, program)
        for file in command.scratch:
            path = Path(file.path)
            if file.folder:
                path.mkdir(exist_ok=True)
            else:
                path.write_bytes(bytes(file.size_bytes))
        done = subprocess.run(command.argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done.stderr)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"target": "file", "bytes": "1M", "fsync": True}, "fsync"),  # poke reads if nothing is said
        ({"target": "file", "bytes": "1M", "op": "read", "fsync": True}, "fsync"),
        ({"target": "file", "bytes": "1M", "op": "write+fence"}, "op"),
        ({"target": "file", "bytes": "1M", "direct": True, "block": 100}, "block"),
        ({"target": "file", "bytes": "1kB", "direct": True}, "direct"),
        ({"target": "file", "bytes": "1M", "window": "2M"}, "window"),
        ({"target": "file", "bytes": "1M", "window": "4k", "block": "8k"}, "block"),
        ({"target": "memory", "bytes": 100, "block": 4096}, "block"),
        ({"target": "null", "bytes": "1M"}, "bytes"),
        ({"target": "compute", "op": "read"}, "op"),
        ({"target": "files", "files": 2, "file_size": 10, "count": 10}, "count"),
    ],
)
def test_a_cell_of_poke_that_cannot_run_is_told_by_the_option_that_is_wrong(
    options: dict[str, Any], wrong: str
) -> None:
    assert [name for name, _ in poke.TOOL.problems(options)] == [wrong]


@pytest.mark.parametrize(
    "options",
    [
        {"target": "file", "bytes": 0, "direct": True, "block": 4096},  # the zero of an axis of sizes
        {"target": "null", "op": "read", "count": 100},  # the zero of an axis of targets
        {"target": "file", "bytes": "8GB", "window": "8GB", "block": 4096},
        {"target": "memory", "bytes": "1M", "window": "4 x L2"},  # the machine decides
    ],
)
def test_what_can_run_is_no_problem(options: dict[str, Any]) -> None:
    assert poke.TOOL.problems(options) == []


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"l": 100}, ["l"]),
        ({"b": "much"}, ["b"]),
        ({"b": "100B"}, ["b"]),
        ({"b": 2}, ["b"]),
        ({"b": 200000}, []),
        ({"b": "64m"}, []),
        ({"b": "480M"}, []),
        ({"b": "4k", "l": 4096}, ["b"]),
    ],
)
def test_buffers_and_strides_of_mlc(options: dict[str, Any], wrong: list[str]) -> None:
    assert [name for name, *_ in mlc.TOOL.problems({"mode": "loaded_latency", **options})] == wrong


@pytest.mark.parametrize(("written", "given"), [(200000, "-b200000"), ("64m", "-b65536"), ("2g", "-b2097152")])
def test_a_buffer_is_told_in_kib(written: Any, given: str) -> None:
    site = Site(topology=topology_from_synthetic("core:2 pu:1"), numactl="numactl", scratch="")
    cell = Cell(sweep="s", tool="mlc", options={"mode": "idle_latency", "b": written}, place=None)

    assert given in mlc.TOOL.command(cell, None, site, Program(name="mlc", path="mlc")).argv


@pytest.mark.parametrize("tool", ["poke", "stream"])
def test_what_is_said_of_an_option_that_is_not_given_is_what_the_kernel_says(tool: str) -> None:
    usage = subprocess.run([kernels.build(tool), "--help"], capture_output=True, text=True, check=True).stdout
    said = {
        name: found[1]
        for name, option in get_tool(tool).options().items()
        if (found := re.search(r"; (?:default )?(\d+)(?: if not given)?$", option.help))
    }

    assert said
    for name, number in said.items():
        assert re.search(rf"--{name} [^\n]*?(\({number}\)|\b{number} by default)", usage), name
