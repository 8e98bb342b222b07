"""Texts that no tool prints: memory and time grow with their length, and there is an end to what is read."""

from __future__ import annotations

import re
import tracemalloc

import pytest

from parsers import _bounds, get_parser
from parsers._wrappings import without_comments
from parsers.errors import ParseError
from parsers.text import MOST_LINES, why_not_read

MLC = "Intel(R) Memory Latency Checker - v3.10\n"
MATRIX = f"{MLC}Command line parameters: --latency_matrix\n\nMeasuring idle latencies (in ns)...\n\t\tNuma node\nNuma node\t     0\t     1\n"
NORMAL = "a: (groupid=0, jobs=1): err= 0: pid=1\n"
LSCPU = "Architecture: x86_64\nCPU(s): 4\nThread(s) per core: 1\nModel name: one\nFlags: fpu\n"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_more_lines_than_anybody_prints_are_not_read(ending: str) -> None:
    assert why_not_read((ending * MOST_LINES).encode()) == ""
    assert "lines" in why_not_read((ending * (MOST_LINES + 1)).encode())


@pytest.mark.parametrize("tool", ["stream", "mlc", "imb", "osu", "likwid_bench", "numactl", "lscpu", "fio"])
def test_what_is_read_line_by_line_has_an_end(tool: str) -> None:
    with pytest.raises(ParseError, match="lines are not read one by one"):
        get_parser(tool).parse(f"{NORMAL}{LSCPU}available: 1 nodes (0)\n" + "\n" * _bounds.MOST_LINES)


def test_a_curve_of_more_rows_than_its_figures_may_be_is_not_begun() -> None:
    """700 000 rows of two figures each took 1.1 GB and 13 s before they were too many."""
    with pytest.raises(ParseError, match="more than 175,000 lines are not read one by one"):
        get_parser("mlc").parse(MLC + "00000\t1.00\t100.0\n" * (_bounds.MOST_ROWS // 2))


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        ("stream", "pinsweep stream 1.0"),
        ("mlc", "Intel(R) Memory Latency Checker - v3.10\nCommand line parameters: --idle_latency"),
        ("fio", NORMAL.strip()),
        ("likwid_bench", "LIKWID MICRO BENCHMARK\nMByte/s:\t\t1.50"),
    ],
)
def test_a_text_of_nothing_but_headings_has_an_end(tool: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bounds, "MOST_PARTS", 1000)
    get_parser(tool).parse(f"{line}\n" * 1000)

    with pytest.raises(ParseError, match="more than 1,000 runs or tables"):
        get_parser(tool).parse(f"{line}\n" * 1001)


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("fio", '{"fio version": "fio-3.36", "jobs": [' + "{}," * _bounds.MOST_VALUES + "{}]}"),
        ("fio", '{"fio version": "fio-3.36", "jobs": [' + "{}," * _bounds.MOST_PARTS + "{}]}"),
        ("poke", '{"program": "pinsweep poke", "a": ' + "[" * _bounds.MOST_VALUES),
    ],
    ids=["values", "jobs", "poke"],
)
def test_json_has_an_end(tool: str, text: str) -> None:
    with pytest.raises(ParseError, match="more than"):
        get_parser(tool).parse(text)


def test_a_nest_of_lists_gives_no_paths_longer_than_the_text() -> None:
    deep = '{"b":' * 900 + "[" + "1," * 10_000 + "1]" + "}" * 900
    job = '{"jobname": "a", "read": {"io_bytes": 1, "runtime": 1, "iops": 1.0}, "deep": ' + deep + "}"

    parsed = get_parser("fio").parse('{"fio version": "fio-3.36", "jobs": [' + job + "]}")

    assert "other" not in parsed.tables


def test_comments_are_looked_through_in_no_more_memory_than_the_text() -> None:
    text = "#\n" * 100_000

    tracemalloc.start()
    bare = without_comments(text, re.compile(""))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert bare == "\n" * 100_000
    assert peak < 20 * len(text)  # 176 times, where what may be tried again was remembered


@pytest.mark.parametrize(
    ("tool", "head", "line", "count"),
    [
        ("mlc", MATRIX, "       0\t  77.4\t 130.1\n", 50_000),
        ("mlc", f"{MATRIX}{MLC}", "Remote Socket L2->L2 HITM latency (data address homed in writer socket)\n", 20_000),
        ("numactl", "available: 1 nodes (0)\nnode 0 cpus: 0 1\n", " 2 3 4 5\n", 50_000),
        ("lscpu", LSCPU, "          sse sse2\n", 100_000),
        ("imb", "", "# Intel (R) MPI Benchmarks 2021.3, MPI-1 part\n#bytes #repetitions t[usec] Mbytes/sec\n", 20_000),
    ],
    ids=["matrix", "transfers", "cpus", "flags", "tables"],
)  # fmt: skip
@pytest.mark.slow
def test_a_line_again_and_again_takes_no_longer_each_time(tool: str, head: str, line: str, count: int) -> None:
    """Where it did, these took minutes."""
    get_parser(tool).parse(head + line * count)
