"""What real tools leave in a scratch file, and what the next cell finds there: the bytes of a fresh file."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.synthetic import topology_from_synthetic
from orchestrator.model import Cell
from orchestrator.programs import kernels
from orchestrator.run.process import Stop
from orchestrator.run.scratch import open_scratch
from orchestrator.tools import Program, Site, get_tool

SIZE = 1 << 20
FIO = {"size": "1M", "bs": "4k", "io_size": "1M", "ioengine": "psync", "direct": False}
POKE = {"target": "file", "bytes": "1M", "block": "4k", "count": 2000}


@pytest.mark.parametrize(
    ("tool", "options", "refilled"),
    [
        pytest.param("fio", {"rw": "write", "zero_buffers": True}, True, id="zeros"),
        pytest.param("fio", {"rw": "write", "buffer_compress_percentage": 90}, True, id="compressible"),
        pytest.param("fio", {"rw": "write", "verify": "crc32c"}, True, id="verified"),
        pytest.param("fio", {"rw": "write"}, False, id="random bytes"),
        pytest.param("poke", {"op": "write"}, True, id="poke write"),
        pytest.param("poke", {"op": "read"}, False, id="poke read"),
    ],
)
def test_a_cell_finds_a_fresh_file_whatever_ran_before(
    tool: str, options: dict[str, Any], refilled: bool, tmp_path: Path
) -> None:
    with open_scratch(tmp_path / "s") as scratch, Stop() as stop:
        command = built(tool, options, str(scratch.path))
        (file,) = command.scratch
        scratch.prepare(command.scratch, stop)
        subprocess.run(command.argv, cwd=scratch.path, check=True, capture_output=True)
        left = Path(file.path).read_bytes()
        scratch.settle(command.writes)
        scratch.prepare(command.scratch, stop)

        found = Path(file.path).read_bytes()
        assert (found != left) == refilled
        assert_fresh(found)
        with Path(file.path).open("rb") as opened:
            assert os.lseek(opened.fileno(), 0, os.SEEK_HOLE) == SIZE


def assert_fresh(data: bytes) -> None:
    """Nothing in it compresses, and no two blocks are equal."""
    assert len(data) == SIZE
    assert len(zlib.compress(data, 1)) > 0.99 * SIZE
    assert len({data[at : at + 4096] for at in range(0, SIZE, 4096)}) == SIZE // 4096


def built(tool: str, options: dict[str, Any], folder: str) -> Any:
    path = shutil.which("fio") if tool == "fio" else str(kernels.build("poke"))
    if not path:
        pytest.skip(f"{tool} is not installed")
    site = Site(topology=topology_from_synthetic("pack:1 core:1 pu:1"), numactl="", scratch=folder)
    cell = Cell(sweep="s", tool=tool, options={**(FIO if tool == "fio" else POKE), **options})
    return get_tool(tool).command(cell, None, site, Program(name=tool, path=path, version="1"))
