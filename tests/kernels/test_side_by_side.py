"""One experiment by the real program and by its stand-in: the same columns and units, and a page that names which is which.

PINSWEEP_OFFICIAL_STREAM names the official stream.c, which is not ours to pass on; it is compiled here. MLC runs on few
machines and may not be passed on either: a published output of it is taken in as captured text.
"""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.programs import kernels
from tests.conftest import Cli

CORPUS = Path(os.environ.get("PINSWEEP_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))
CAPTURED = {
    "stream": Path(__file__).parents[1] / "fixtures" / "stream" / "stream_omp2.out",
    "mlc": CORPUS / "published" / "mlc" / "csit_clx_loaded_latency.txt",
}
ELEMENTS = 1_000_000
EXPERIMENT = {  # without array_size: the real program has it compiled in, and is refused another
    "stream": "tool: stream\nmatrix: {threads: [1]}\nfixed:\n  ntimes: 5\n",
    "mlc": "tool: mlc\nfixed: {mode: loaded_latency, e: true, t: 0.05, b: 1m, delays: [0, 300, 20000]}\n",
}
OURS = {"stream": "pinsweep stream, not STREAM", "mlc": "pinsweep memlat, not Intel MLC"}


def ran(pinsweep: Cli, folder: Path, tool: str, program: str, name: str, more: str = "") -> Path:
    """Run the experiment with one program; return its result file."""
    path = folder / "experiment.yaml"
    path.write_text(f"schema: 1\nrepeats: 2\n{EXPERIMENT[tool]}{more}")
    done = pinsweep("run", path, "-o", folder / name, env={f"PINSWEEP_{tool.upper()}": program})
    assert done.returncode == 0, done.stderr
    return folder / name


def frame(pinsweep: Cli, result: Path, tool: str) -> list[Mapping[str, str]]:
    done = pinsweep("export", result, "--format", "csv", "--tool", tool)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def meaning(rows: list[Mapping[str, str]]) -> set[tuple[str, ...]]:
    """What the numbers of a file are numbers of, in which units."""
    named = ("tool", "kernel", "section", "metric", "unit")
    return {tuple(row.get(name, "") for name in named) for row in rows}


def words(page: Path) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.read_text()))


def test_official_stream_and_ours(pinsweep: Cli, tmp_path: Path) -> None:
    source = os.environ.get("PINSWEEP_OFFICIAL_STREAM")
    if not source:
        pytest.skip("PINSWEEP_OFFICIAL_STREAM does not name the official stream.c")
    program = tmp_path / "stream_c"
    native = [flag for flag in kernels.OPTIONS if not flag.startswith("-W")]
    subprocess.run(
        [kernels.find_compiler(), *native, f"-DSTREAM_ARRAY_SIZE={ELEMENTS}", source, "-o", program],
        check=True,
    )

    theirs = ran(pinsweep, tmp_path, "stream", str(program), "theirs.db")
    ours = ran(pinsweep, tmp_path, "stream", "kernel", "ours.db")

    compared(pinsweep, "stream", theirs, ours, "STREAM 5.10")
    assert frame(pinsweep, theirs, "stream")[0].keys() == frame(pinsweep, ours, "stream")[0].keys()


@pytest.mark.parametrize(("tool", "official"), [("stream", "STREAM 5.10"), ("mlc", "Intel MLC 3.7")])
@pytest.mark.slow
def test_captured_output_and_ours(pinsweep: Cli, tmp_path: Path, tool: str, official: str) -> None:
    if not CAPTURED[tool].is_file():
        pytest.skip(f"no {CAPTURED[tool].name}: the corpus is not here")
    if tool == "mlc" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a loaded latency needs two CPUs")
    theirs = tmp_path / "theirs.db"
    taken = pinsweep("parse", tool, CAPTURED[tool], "-o", theirs)
    assert taken.returncode == 0, taken.stderr

    small = f"  array_size: {ELEMENTS}\n" if tool == "stream" else ""
    ours = ran(pinsweep, tmp_path, tool, "kernel", "ours.db", small)

    compared(pinsweep, tool, theirs, ours, official)


def compared(pinsweep: Cli, tool: str, theirs: Path, ours: Path, official: str) -> None:
    """Both files say the same kinds of things; the page names both programs, and a comparison keeps them apart."""
    real, stand_in = frame(pinsweep, theirs, tool), frame(pinsweep, ours, tool)
    page = ours.with_name("both.html")
    done = pinsweep("report", theirs, ours, "-o", page, "--static")
    verdict = pinsweep("compare", theirs, ours)

    assert meaning(real) == meaning(stand_in)
    assert done.returncode == 0, done.stderr
    assert official in words(page)
    assert OURS[tool] in words(page)
    assert f"Numbers from {OURS[tool]}" in words(page)
    assert "--across-programs" in verdict.stdout + verdict.stderr
