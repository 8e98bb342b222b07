"""Where the runs of a captured text begin, and what it tells of their options."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator import captured, intake
from orchestrator.store import open_result
from orchestrator.tools import fio
from parsers import get_parser, taken
from parsers.text import decode

CORPUS = Path(os.environ.get("PINSWEEP_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus of outputs here")


def cut(tool: str, data: bytes) -> list[bytes]:
    return captured.cut(tool, data, get_parser(tool).parse(decode(data), {}))


def options(tool: str, data: bytes) -> dict[str, Any]:
    return captured.told(tool, get_parser(tool).parse(decode(data), {}))


OUTPUTS = sorted(
    path
    for tool in ("fio", "imb", "mlc", "stream")
    for path in (FIXTURES / tool).glob("*.out")
    if path.stat().st_size < 100_000
)


@pytest.mark.parametrize("path", OUTPUTS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_pieces_are_the_text_and_say_what_it_says(path: Path) -> None:
    tool, data = path.parent.name, path.read_bytes()
    parser = get_parser(tool)
    try:
        once = parser.parse(decode(data), {})
    except Exception:
        pytest.skip("not readable on purpose")
    if not once.measurements.rows or once.flags:
        pytest.skip("cut, or without figures: appended to itself it is another text")
    twice = data.rstrip(b"\n") + b"\n\n" + data

    pieces = cut(tool, twice)

    assert b"".join(pieces) == twice
    rows = sorted(map(repr, captured._figures([parser.parse(decode(p), {}) for p in pieces])))
    assert rows == sorted(map(repr, captured._figures([parser.parse(decode(twice), {})])))


LOOP = "".join(
    f"$ OMP_NUM_THREADS={n} numactl -m 0 ./stream\n"
    "-------------------------------------------------------------\nSTREAM version $Revision: 5.10 $\n"
    f"Array size = 10000000 (elements), Offset = 0 (elements)\nNumber of Threads requested = {n}\nNumber of Threads counted = {n}\n"
    "Function    Best Rate MB/s  Avg time     Min time     Max time\n"
    + "".join(f"{k}:  {1000.0 * n:.1f}  0.16  0.16  0.16\n" for k in ("Copy", "Scale", "Add", "Triad"))
    + "Solution Validates: avg error less than 1.000000e-13 on all three arrays\n"
    for n in (1, 2, 4)
)


def test_a_shell_loop_is_a_cell_for_each_command() -> None:
    pieces = cut("stream", LOOP.encode())

    assert [options("stream", piece)["threads"] for piece in pieces] == [1, 2, 4]
    assert "".join(map(decode, pieces)) == LOOP
    parsed = get_parser("stream").parse(decode(pieces[1]), {})
    assert captured.command_of("stream", pieces[1], parsed) == (
        "OMP_NUM_THREADS=2",
        "numactl",
        "-m",
        "0",
        "./stream",
    )


def test_windows_line_ends_are_cut_too() -> None:
    assert len(cut("stream", LOOP.replace("\n", "\r\n").encode())) == 3
    assert cut("stream", LOOP.encode("utf-16")) == [LOOP.encode("utf-16")]  # bytes are no characters there


@needs_corpus
def test_runs_of_the_corpus() -> None:
    def corpus(place: str) -> bytes:
        return (CORPUS / place).read_bytes()

    assert len(cut("fio", corpus("published/fio/readOutput128_fio3.16.txt"))) == 3
    assert len(cut("imb", corpus("generated/imb/multi1_np4.txt"))) == 1  # one run prints many tables
    told = options("fio", corpus("published/fio/ceph_randread-4k_fio3.1.txt"))
    assert told == {"rw": "randread", "bs": "4k", "ioengine": "libaio", "iodepth": 32}
    told = options("fio", corpus("generated/fio/normal_group_reporting.txt"))
    assert told["numjobs"] == 3
    assert options("mlc", corpus("published/mlc/win_W9_256_v3.10.txt")) == {
        "mode": "loaded_latency",
        "W": "9",
        "l": 256,
    }
    assert options("imb", corpus("generated/imb/pingpong_default.txt")) == {"benchmark": "PingPong", "np": 2}


@needs_corpus
def test_the_groups_of_a_job_file_are_cells() -> None:
    data = (CORPUS / "published/fio/chris_tail_latency_fio3.36.json").read_bytes()
    parser = get_parser("fio")
    whole = parser.parse(decode(data), {})

    readings = taken("fio").parts(whole)
    parsed = [parser.parse(decode(data), reading) for reading in readings]

    assert readings == [{"document": 0, "group": 0}, {"document": 0, "group": 1}]
    assert [captured.told("fio", p)["iodepth"] for p in parsed] == [32, 128]
    jobs = [len([r for r in p.measurements.rows if r[1] is not None]) for p in (*parsed, whole)]
    assert jobs[0] + jobs[1] == jobs[2]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("4096B", "4k"),
        ("4K", "4k"),
        ("4KiB", "4k"),
        ("32.0KiB", "32k"),
        ("1024KiB", "1M"),
        ("64m", "64M"),
        ("100", 100),
        ("4GB", "4GB"),
        ("4k,64k", "4k,64k"),
        ("10%", "10%"),
    ],
)
def test_sizes_are_written_as_in_cells_of_experiments(written: str, value: str | int) -> None:
    assert fio._size(written) == value


def test_groups_with_one_job_name_are_cells_of_their_own(tmp_path: Path) -> None:
    job = {"jobname": "same", "error": 0, "job options": {"rw": "read", "bs": "4k"}, "read": {"iops": 9.5, "bw_bytes": 38912, "io_bytes": 389120, "runtime": 10000, "total_ios": 95}}  # fmt: skip
    (tmp_path / "a.json").write_text(
        json.dumps({"fio version": "fio-3.33", "jobs": [{**job, "groupid": n} for n in range(3)]})
    )
    wishes = intake.wishes_from(None, (), (), "", "")
    texts = [x for x in intake.read([str(tmp_path / "a.json")], wishes) if isinstance(x, intake.Captured)]

    kept = intake.store(texts, tmp_path / "a.db", wishes, version="test")

    assert kept.added == 3
    with open_result(tmp_path / "a.db") as result:
        assert len({stored.point.describe() for stored in result.points()}) == 3


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("--loaded_latency", {"mode": "loaded_latency", "l": 64, "W": "R"}),
        ("--loaded_latency -W9", {"mode": "loaded_latency", "l": 64, "W": "9"}),
        ("--loaded_latency -l256 -R", {"mode": "loaded_latency", "l": 256, "W": "R"}),
        ("--loaded_latency -operthread.txt", {"mode": "loaded_latency", "l": 64}),
        ("--loaded_latency -1256 -W9", {"mode": "loaded_latency", "W": "9"}),
    ],
)
def test_what_a_command_leaves_to_mlc_is_mlcs_own(command: str, options: dict[str, Any]) -> None:
    text = f"Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: {command}\n\nInject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n 00000\t203.58\t 145200.4\n"
    parsed = get_parser("mlc").parse(text, {})

    told = captured.told("mlc", parsed)

    assert {**captured.defaults("mlc", told, parsed), **told} == options
    bare = get_parser("mlc").parse(text[text.index("Inject") :], {})
    assert captured.defaults("mlc", {"mode": "loaded_latency"}, bare) == {}


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("### Intersocket", "Intersocket"),
        ("g. 256B, read: write = 3:1", "256B, read: write = 3:1"),
        ("==== Run 2 ====", "Run 2"),
        ("**Before**", "Before"),
        ("# Benchmarking PingPong", ""),
        ("==========================", ""),
        ("  0:  10  21", ""),
    ],
)
def test_what_is_a_heading(line: str, heading: str) -> None:
    assert captured.heading_of(line) == heading


def test_commands_that_differ_in_their_place_alone() -> None:
    def same(a: str, b: str) -> bool:
        return captured.same_but_place([a.split(), b.split()])

    assert same("numactl -N 0 -m 0 ./stream", "numactl -N 0 -m 1 ./stream")
    assert same("mpirun -np 2 hwloc-bind core:0 core:7 ./IMB", "mpirun -np 2 hwloc-bind core:0 core:15 ./IMB")
    assert same("taskset -c 0 fio a.fio", "taskset -c 8 fio a.fio")
    assert not same("numactl -m 0 ./stream", "numactl -m 1 ./other")
    assert not same("./stream", "./stream")
    assert not same("numactl -m 0 ./stream", "")
