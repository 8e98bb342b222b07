"""The kernels on AArch64: cross-compiled, and run by qemu's user mode. Their times mean nothing there; what they do and print does."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.programs import kernels
from parsers import get_parser

COMPILER = shutil.which("aarch64-linux-gnu-gcc")
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
LIBRARIES = Path("/usr/aarch64-linux-gnu")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (COMPILER and QEMU),
        reason="no aarch64-linux-gnu-gcc or no qemu-aarch64 here (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)",
    ),
]

Run = Callable[..., str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """run(name, *options): a kernel compiled for AArch64, as users get it but for the CPU; returns what it prints."""
    folder = tmp_path_factory.mktemp("aarch64")

    def start(name: str, *options: str) -> str:
        source, program = kernels.sources_folder() / f"{name}.c", folder / name
        if not program.exists():
            argv = [str(COMPILER), *kernels.OPTIONS, "-o", str(program), str(source), "-lm"]
            subprocess.run(argv, check=True)
        argv = [str(QEMU), "-L", str(LIBRARIES), str(program), *options]
        done = subprocess.run(argv, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return start


def test_stream_computes_what_it_should(run: Run) -> None:
    printed = run("stream", "--array-size=100000", "--ntimes=3")

    assert "Solution Validates" in printed
    parsed = get_parser("stream").parse(printed, {})
    assert {row[1] for row in parsed.tables["measurements"].rows} == {"copy", "scale", "add", "triad"}


@pytest.mark.parametrize(
    ("options", "metric"),
    [
        (("--idle_latency", "-b256", "-t0.1"), "latency"),
        (("--loaded_latency", "-d0", "-b256", "-t0.1", "-W8"), "bandwidth"),  # with non-temporal stores
        (("--max_bandwidth", "-b256", "-t0.1"), "bandwidth"),
    ],
)
def test_memlat_gives_its_tables(options: tuple[str, ...], metric: str, run: Run) -> None:
    parsed = get_parser("mlc").parse(run("memlat", *options), {})

    values = [value for *_, name, _, value in parsed.tables["measurements"].rows if name == metric]
    assert values
    assert all(value > 0 for value in values)


def test_poke_times_single_accesses(run: Run) -> None:
    printed = run("poke", "--target", "memory", "--bytes", "64k", "--count", "1000")

    rows = get_parser("poke").parse(printed, {}).tables["measurements"].rows
    assert len(rows) > 3
