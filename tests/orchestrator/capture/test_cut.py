"""Where the runs of a captured text begin, and what it tells of their options."""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.capture import cut as captured
from orchestrator.capture import intake
from orchestrator.capture.kept import store
from orchestrator.store.result_file import open_result
from parsers import get_parser
from parsers.text import decode

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def cut(tool: str, data: bytes) -> list[bytes]:
    return captured.cut(tool, data, get_parser(tool).parse(decode(data), {}))


def options(tool: str, data: bytes) -> dict[str, Any]:
    return captured.options(tool, get_parser(tool).parse(decode(data), {}))


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


def test_groups_with_one_job_name_are_cells_of_their_own(tmp_path: Path) -> None:
    job = {"jobname": "same", "error": 0, "job options": {"rw": "read", "bs": "4k"}, "read": {"iops": 9.5, "bw_bytes": 38912, "io_bytes": 389120, "runtime": 10000, "total_ios": 95}}  # fmt: skip
    (tmp_path / "a.json").write_text(
        json.dumps({"fio version": "fio-3.33", "jobs": [{**job, "groupid": n} for n in range(3)]})
    )
    asked = intake.intake_options(None, (), (), "", "")
    texts = [x for x in intake.read([str(tmp_path / "a.json")], asked) if isinstance(x, intake.Captured)]

    kept = store(texts, tmp_path / "a.db", asked, version="test")

    assert kept.added == 3
    with open_result(tmp_path / "a.db") as result:
        assert len({stored.cell.describe() for stored in result.cells()}) == 3


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

    told = captured.options("mlc", parsed)

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


MLC = (
    "Intel(R) Memory Latency Checker - v3.10\nCommand line parameters: --loaded_latency -W{w} -d100\n\nUsing buffer size of 100.000MiB/thread\n"
    "\nMeasuring Loaded Latencies for the system\nInject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n==========================\n 00100\t 98.94\t  {rate}\n"
)
IMB = (
    "#----------------------------------------------------------------\n#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n"
    "#----------------------------------------------------------------\n#---------------------------------------------------\n# Benchmarking PingPong \n"
    "# #processes = 2 \n#---------------------------------------------------\n       #bytes #repetitions      t[usec]   Mbytes/sec\n"
    "            0         1000         {time}         0.00\n      1048576           40       104.86     10000.00\n\n# All processes entering MPI_Finalize\n\n"
)
STREAM = LOOP.split("$ ")[1].partition("\n")[2]

SIDES = {
    "stream": (STREAM, STREAM.replace("1000.0", "2000.0")),
    "mlc": (MLC.format(w=3, rate="1000.0"), MLC.format(w=3, rate="2000.0")),
    "imb": (IMB.format(time="0.50"), IMB.format(time="1.50")),
}
TYPED = {
    "stream": "numactl -N {} ./stream",
    "mlc": "numactl -N {} ./mlc --loaded_latency -W3 -d100",
    "imb": "numactl -N {} mpirun -np 2 IMB-MPI1 PingPong",
}
TWICE = {
    tool: "".join(f"$ {TYPED[tool].format(n)}\n{side}" for n, side in enumerate(sides)) for tool, sides in SIDES.items()
}


def alone(tool: str, text: str) -> set[float]:
    return {m.value for m in get_parser(tool).parse(text, {}).measured()}


def before(prefix: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{prefix}{line}\n" for line in text.rstrip("\n").split("\n"))


HELD: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "a host": before("n001: "),
    "times": before("2024-05-01T10:00:01.1234567Z "),
    "times and commands that a shell echoes": lambda t: before("2024-05-01T10:00:01.1234567Z ")(t.replace("$ ", "+ ")),
    "journald": before("May 01 10:00:01 host run.sh[1234]: "),
    "quoted": before("> "),
    "a rank": before("[0] "),
    "indented": lambda t: f"It was:\n\n{before('    ')(t)}",
    "a comment": before("# "),
    "script": lambda t: "Script started on 2024-05-01\n" + t.replace("\n", "\r\n").replace("$ ", "\x1b]0;u@h: ~\x07\x1b[01;32mu@h\x1b[00m:~$ "),
    "UTF-16": lambda t: t,
    "JSON": lambda t: json.dumps({"data": t.split("\n")}),
    "a web page": lambda t: "\n<br>\n".join(html.escape(line).replace("  ", "&nbsp;&nbsp;") for line in t.split("\n")),
}  # fmt: skip


def taken_in(text: str | bytes, folder: Path) -> tuple[list[dict[str, Any]], list[str], list[str | None]]:
    """Return (rows of each cell, its command, what names it) of a text that is taken in."""
    file, kept = folder / "t.txt", folder / "t.db"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    kept.unlink(missing_ok=True)
    asked = intake.intake_options(None, (), (), "", "")
    texts = [x for x in intake.read([str(file)], asked) if isinstance(x, intake.Captured)]
    store(texts, kept, asked, version="test")
    with open_result(kept) as result:
        cells = {stored.cell.point_id: stored.cell for stored in result.cells()}
        runs = [(run, cells[run.point_id]) for run in result.runs()]
        assert len(cells) == len(runs)
        figures = [{m.value for m in result.parsed(run, cell).measured()} for run, cell in runs]
        names = [cell.place.name if cell.place else cell.options.get("source") for _, cell in runs]
        return figures, [" ".join(run.argv) for run, _ in runs], names


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("tool", TWICE)
def test_each_run_of_a_text_is_a_cell_that_its_command_names(tmp_path: Path, tool: str, held: str) -> None:
    text = HELD[held](TWICE[tool])
    figures, commands, names = taken_in(text.encode("utf-16") if held == "UTF-16" else text, tmp_path)

    assert figures == [alone(tool, side) for side in SIDES[tool]]
    assert [command.split()[:3] for command in commands] == [["numactl", "-N", "0"], ["numactl", "-N", "1"]]
    assert names == ["0", "1"]


def interleaved(first: str, second: str, before: str = "{}: ", names: tuple[str, str] = ("node1", "node2")) -> str:
    """Return what two hosts print at once, line by line in turns."""
    pairs = itertools.zip_longest(*(text.rstrip("\n").split("\n") for text in (first, second)))
    return "".join(f"{before.format(name)}{line}\n" for pair in pairs for name, line in zip(names, pair, strict=True) if line is not None)  # fmt: skip


def blocks(head: str) -> Callable[[str, str], str]:
    return lambda a, b: head.format("node1") + a + head.format("node2") + b


TOGETHER: dict[str, tuple[Callable[[str, str], str], list[str]]] = {
    "pdsh": (interleaved, ["node1", "node2"]),
    "pdsh, typed above": (lambda a, b: "$ pdsh -w node[1-2] ./x\n" + interleaved(a, b), ["node1", "node2"]),
    "pdsh, with times": (lambda a, b: before("2024-05-01T10:00:01.1234567Z ")(interleaved(a, b)), ["node1", "node2"]),
    "pdsh, in colours": (lambda a, b: interleaved(a, b, "\x1b[32m{}\x1b[0m: "), ["node1", "node2"]),
    "one host after the other": (lambda a, b: before("node1: ")(a) + before("node2: ")(b), ["node1", "node2"]),
    "parallel --tag": (lambda a, b: interleaved(a, b, "{}\t"), ["node1", "node2"]),
    "compose": (lambda a, b: interleaved(a, b, "{}  | ", ("bench-1", "bench-2")), ["bench-1", "bench-2"]),
    "srun -l": (lambda a, b: interleaved(a, b, names=("0", "1")), ["rank 0", "rank 1"]),
    "mpirun --tag-output": (lambda a, b: interleaved(a, b, "[1,{}]<stdout>:", ("0", "1")), ["rank 0", "rank 1"]),
    "clush -b": (blocks("---------------\n{}\n---------------\n"), ["node1", "node2"]),
    "ansible": (blocks("{} | CHANGED | rc=0 >>\n"), ["node1", "node2"]),
    "tail": (blocks("==> {} <==\n"), ["node1", "node2"]),
}  # fmt: skip


@pytest.mark.parametrize("how", TOGETHER)
@pytest.mark.parametrize("tool", SIDES)
def test_rows_of_different_hosts_are_never_one_cell(tmp_path: Path, tool: str, how: str) -> None:
    merged, hosts = TOGETHER[how]

    figures, _, names = taken_in(merged(*SIDES[tool]), tmp_path)

    assert figures == [alone(tool, side) for side in SIDES[tool]]
    assert names == hosts


def test_hosts_keep_their_names_beside_those_of_their_parts(tmp_path: Path) -> None:
    figures, _, names = taken_in(interleaved(TWICE["stream"], TWICE["stream"]), tmp_path)

    assert len(figures) == 4
    assert names == ["0", "1", "0", "1"]  # places, beside the hosts
    again = SIDES["mlc"][0] + "\n" + SIDES["mlc"][1]
    assert taken_in(interleaved(again, again), tmp_path)[2] == ["node1, part 1", "node1, part 2", "node2, part 1", "node2, part 2"]  # fmt: skip


def test_a_host_without_figures_is_named_and_takes_none_from_the_others(tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text(interleaved(*SIDES["stream"]) + "node3: bash: ./stream: No such file\n")

    read = list(intake.read([str(file)], intake.intake_options(None, (), (), "", "")))

    assert not any(item.failed for item in read if isinstance(item, intake.Left))
    assert [(type(item).__name__, item.name.rpartition(", ")[2]) for item in read] == [("Captured", "node1"), ("Captured", "node2"), ("Left", "node3")]  # fmt: skip


def test_ranks_of_one_program_are_no_hosts(tmp_path: Path) -> None:
    debug = "".join(f"[{rank}] MPI startup(): 0 {rank}\n" for rank in range(4))
    figures, _, names = taken_in(debug + before("[0] ")(SIDES["imb"][0]), tmp_path)

    assert (len(figures), names) == (1, [None])


def test_a_run_without_figures_among_others_is_said(tmp_path: Path) -> None:
    refused = "Intel(R) Memory Latency Checker - v3.10\nCommand line parameters: --loaded_latency -W6 -L\n\nInvalid Argument\n"
    (tmp_path / "t.txt").write_bytes((SIDES["mlc"][0] + refused + SIDES["mlc"][1]).encode("utf-16"))
    asked = intake.intake_options(None, (), (), "", "")
    texts = [x for x in intake.read([str(tmp_path / "t.txt")], asked) if isinstance(x, intake.Captured)]

    kept = store(texts, tmp_path / "t.db", asked, version="test")

    assert kept.added == 2
    assert any("no figures in it" in note for note in kept.notes)


def test_a_text_without_figures_says_what_its_tool_refused(tmp_path: Path) -> None:
    """IMB had no time for a single size: "was it cut off, or stopped?" was asked."""
    head = "# Benchmarking PingPong\n# #processes = 2\n#bytes #repetitions t[usec] Mbytes/sec\n"
    (tmp_path / "t.txt").write_text(f"{head}0 time-out.; Time limit is over\n\n# All processes entering MPI_Finalize\n")
    asked = intake.intake_options(None, (), (), "", "")

    kept = store((x for x in intake.read([str(tmp_path / "t.txt")], asked) if isinstance(x, intake.Captured)), tmp_path / "t.db", asked, version="test")  # fmt: skip

    (left,) = kept.left
    assert "0 B and what is larger was not run: the time for all sizes was over" in left.reason
