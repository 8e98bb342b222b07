from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import imb
from parsers.errors import ParseError
from parsers.measurement import Flag, Parsed, Scalar
from parsers.text import decode

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "imb"

WHOLE = {path.stem: decode(path.read_bytes()) for path in FIXTURES.glob("*.out")}


def values(parsed: Parsed, **labels: Scalar) -> list[float]:
    rows = parsed.measurements.records()
    return [float(r["value"] or 0) for r in rows if all(r.get(k) == v for k, v in labels.items())]


def value(parsed: Parsed, **labels: Scalar) -> float:
    (found,) = values(parsed, **labels)
    return found


def table(*rows: str, head: str = "", columns: str = "#bytes #repetitions t[usec] Mbytes/sec") -> str:
    return "\n".join([head, "# Benchmarking PingPong ", "# #processes = 2 ", f"       {columns}", *rows, ""])


END = "# All processes entering MPI_Finalize"
TITLE = "#    Intel(R) MPI Benchmarks {}, MPI-1 part    "

# --- the corpus -----------------------------------------------------------------------------------


# --- cut and changed texts ------------------------------------------------------------------------


def test_no_table_says_why() -> None:
    with pytest.raises(ParseError, match="PingPong is invalid for 1 processes"):
        imb.parse(TITLE.format("2021.11") + "\n\n# !! Benchmark PingPong invalid for 1 processes !! \n")
    with pytest.raises(ParseError, match="head of a run without a table"):
        imb.parse(TITLE.format("2021.11") + "\n# List of Benchmarks to run:\n# PingPong\n")


# --- the megabyte ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "megabyte"),
    [
        ("# PALLAS MPI Benchmark Suite V2.2, MPI-1 part", 2**20),
        ("#    Intel (R) MPI Benchmark Suite V3.0, MPI-1 part", 2**20),
        ("#    Intel (R) MPI Benchmarks 4.1 Update 1, MPI-1 part    ", 2**20),
        ("#    Intel (R) MPI Benchmarks 2018, MPI-1 part    ", 10**6),
        ("#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part    ", 10**6),
        ("#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part", 10**6),
    ],
)
def test_the_version_decides_the_megabyte(title: str, megabyte: int) -> None:
    parsed = imb.parse(table("  1 1000 0.00 4.00", head=title))

    assert parsed.facts["megabyte"] == megabyte
    assert value(parsed, metric="bandwidth") == 4.0 * megabyte
    assert parsed.has("megabyte") == (megabyte == 2**20)


@given(
    megabyte=st.sampled_from([2**20, 10**6]),
    counted=st.sampled_from([1, 2, 4]),
    size=st.integers(1, 2**22),
    time=st.floats(0.5, 1e5),
    title=st.sampled_from(["", TITLE.format("2017 Update 2")]),
)
def test_without_a_version_size_over_time_decides(
    megabyte: int, counted: int, size: int, time: float, title: str
) -> None:
    rate = counted * size / time * 1e6 / megabyte
    parsed = imb.parse(table(f"  {size} 10 {time:.2f} {rate:.2f}", head=title))

    if rate > 1:  # enough digits
        assert parsed.facts["megabyte"] == megabyte
    else:
        assert parsed.facts.get("megabyte", megabyte) == megabyte, "unclear, or right"


def test_a_megabyte_that_cannot_be_told_is_not_guessed() -> None:
    parsed = imb.parse(table("  0 10 0.10 0.00", "  1 10 10.01 0.10"))

    assert parsed.has("megabyte_unclear")
    assert values(parsed, metric="bandwidth") == []
    assert value(parsed, metric="mbytes_per_sec") == 0.10
    assert "megabyte" not in parsed.facts


def test_a_version_that_arithmetic_contradicts_is_said() -> None:
    parsed = imb.parse(table("  4194304 10 400.00 10000.00", END, head=TITLE.format("2021.11")))

    assert [flag.id for flag in parsed.flags] == ["megabyte_contradicts"]


# --- rows -----------------------------------------------------------------------------------------


def test_what_is_zero_or_not_finite_is_no_row() -> None:
    parsed = imb.parse(
        table("  0 1000 0.19 0.00", "  1 1000 0.00 inf", "  2 1000 0.20 0.00", head=TITLE.format("2021.11"))
    )

    assert [(r["message_size"], r["metric"]) for r in parsed.measurements.records()] == [
        (0, "time"),
        (2, "time"),
    ]
    assert parsed.has("not_finite")


def test_lines_of_others_between_the_rows_are_left_out() -> None:
    rows = (
        "  0 1000 0.19 0.00",
        "slurmstepd: error: 12 34",
        "[node1:123] 4 more processes have sent help",
        "  8 1000 0.20 40.00",
        "",
        "  16 1000 0.20 80.00",
        "# end",
        "  32 1000 1 2 3",
        END,
    )
    parsed = imb.parse(table(*rows, head=TITLE.format("2021.11")))

    assert values(parsed, metric="bandwidth") == [40e6, 80e6]
    assert parsed.flags == ()


def test_a_row_that_is_cut_is_no_row() -> None:
    text = table("  0 1000 0.19 0.00", "  8 1000 0.20 40.0", head=TITLE.format("2021.11")).rstrip("\n")
    parsed = imb.parse(text)

    assert values(parsed, message_size=8, metric="time") == [200.0]
    assert values(parsed, message_size=8, metric="bandwidth") == [], "40.0 may be the beginning of 40.05"
    assert parsed.has("truncated")
    assert parsed.facts["complete"] is False


@pytest.mark.parametrize(
    ("title", "complete"),
    [
        (TITLE.format("4.1 Update 1"), False),
        (TITLE.format("3.2"), None),
        (TITLE.format("2021.11").replace("MPI-1", "MT"), None),
    ],
)
def test_the_last_line_is_missed_where_it_is_printed(title: str, complete: bool | None) -> None:
    assert imb.parse(table("  8 1000 0.20 40.00", head=title)).facts.get("complete") is complete
    assert imb.parse(table("  8 1000 0.20 40.00", head=title)).has("incomplete") is (complete is False)
    ended = imb.parse(table("  8 1000 0.20 40.00", f"{END}\n", head=title))
    assert ended.facts["complete"] is True
    assert not ended.has("incomplete")


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("15: Error Reduce_scatter,size = 4,sample #0", "validation_failed"),
        ("Process 15: Got invalid buffer:", "validation_failed"),
        ("Application error code 1 occurred", "aborted"),
        ("application called MPI_Abort(MPI_COMM_WORLD, 16) - process 15", "aborted"),
        (
            "Abort(403275522) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Send: Other MPI error",
            "aborted",
        ),
        ("MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD", "aborted"),
        (
            "[n1:2914] *** An error occurred in MPI_Recv\n[n1:2914] *** MPI_ERRORS_ARE_FATAL (processes in this",
            "aborted",
        ),
        (
            "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   KILLED BY SIGNAL: 9 (Killed)",
            "aborted",
        ),
        ("mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 9 (Killed).", "aborted"),
        (
            "prterun noticed that process rank 1 with PID 4242 on node n1 exited on\nsignal 9 (Killed).",
            "aborted",
        ),
        ("srun: error: n2: task 1: Killed", "aborted"),
        (
            "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2024-05-01T10:00:00 DUE TO TIME LIMIT ***",
            "aborted",
        ),
    ],
)
@pytest.mark.parametrize("after", ["  16 1000 0.20 80.00\n", ""])
def test_a_run_that_failed_says_so(line: str, flag: str, after: str) -> None:
    for head in (TITLE.format("2021.11"), ""):
        parsed = imb.parse(table("  8 1000 0.20 40.00", head=head) + f"\n{line}\n{after}")

        assert parsed.has(flag)
        assert values(parsed, metric="time", message_size=8) == [200.0]
    assert not imb.parse(f"{line}\n" + table("  8 1000 0.20 40.00", head=head)).has(flag), "it is of something before"


def test_names_that_imb_does_not_know() -> None:
    parsed = imb.parse(WHOLE["bad_option"])

    assert [flag.id for flag in parsed.flags] == ["invalid_benchmark_name"]
    assert "-nosuchopt, 3" in parsed.flags[0].text


def test_names_that_an_old_imb_does_not_know() -> None:
    head = (
        TITLE.format("4.1")
        + "\n\n# Attention, invalid benchmark name(s):\n# pingpongg\n\n# List of valid benchmarks:\n#\n# PingPong\n"
    )
    parsed = imb.parse(table("  8 1000 0.20 40.00", head=head))

    assert [flag.text for flag in parsed.flags if flag.id == "invalid_benchmark_name"] == [
        "IMB does not know pingpongg; it ran what it knows with its defaults"
    ]


def refused(rows: str) -> Flag:
    """Return the only flag of a table in which these rows stand for sizes that were not run."""
    (flag,) = imb.parse(table("  1 1000 0.20 5.00", *rows.split("\n"), END, head=TITLE.format("2021.11"))).flags
    return flag


def test_sizes_that_were_refused() -> None:
    parsed = imb.parse(WHOLE["out_of_mem"])

    assert [(flag.id, flag.text) for flag in parsed.flags] == [
        ("out_of_mem", "PingPong with 2 processes: 1 MiB was not run: 0.003 GB of buffers a process are more than -mem allows; `mem: 0.01` (GB) allows it"),
        ("out_of_mem", "Alltoall with 2 processes: 512 KiB was not run: 0.003 GB of buffers a process are more than -mem allows; `mem: 0.01` (GB) allows it"),
    ]  # fmt: skip
    timed = imb.parse(
        table(
            "  0 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over",
            END,
            head=TITLE.format("2021.11"),
        )
    )
    assert timed.measurements.rows == ()
    assert [flag.id for flag in timed.flags] == ["time_out"]


@pytest.mark.parametrize(
    ("rows", "flag", "said"),
    [
        ("2097152 out-of-mem.; needed X=   2.251 GB; use flag\n4194304 out-of-mem.; needed X=   4.501 GB; use flag", "out_of_mem",
         "2 sizes from 2 MiB on were not run: up to 4.501 GB of buffers a process are more than -mem allows; `mem: 4.51` (GB) allows it"),
        ("4194304 out-of-mem.; needed X=   2.250 GB; use", "out_of_mem", "4 MiB was not run: 2.250 GB of buffers a process are more than -mem allows; `mem: 2.26` (GB) allows it"),
        ("4194304 out-of-mem.; use flag", "out_of_mem", "4 MiB was not run: more memory than -mem allows; `mem:` with more GB a process allows it"),
        ("262144 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use", "time_out",
         "256 KiB and what is larger was not run: the time for all sizes was over; `time:` with more seconds a size (-time) allows it"),
        ("4 int-overflow; The production rank*size caused int overflow; X", "int_overflow",
         "4 B was not run: processes × size is more than IMB can count; fewer processes (`np:`), or sizes up to less (`msglog:`)"),
    ],
)  # fmt: skip
def test_what_was_not_run_is_said_with_the_option_that_runs_it(rows: str, flag: str, said: str) -> None:
    found = refused(rows)

    assert found.id == flag
    assert found.text.partition(" processes: ")[2] == said


def test_the_tail_that_a_modified_imb_prints() -> None:
    rows = ("  8 1000 0.83 0.97 0.90 9.00", "[ 0.83, 0.90, 0.97 ]")
    parsed = imb.parse(
        table(
            *rows,
            head=TITLE.format("2019 Update 6"),
            columns="#bytes #repetitions t_min t_max t_avg Mbytes/sec",
        )
    )

    assert value(parsed, metric="time_max") == 970.0
    tail = parsed.tables["tail"].records()
    assert [(r["message_size"], r["index"], r["value"]) for r in tail] == [
        (8, 0, 830.0),
        (8, 1, 900.0),
        (8, 2, 970.0),
    ]


def test_columns_that_only_some_builds_print() -> None:
    columns = "#bytes #rep.s t[usec] Mbytes/sec defects new[W]"
    parsed = imb.parse(table("  8 1000 1.00 8.00 0.00 3.00", END, head=TITLE.format("2021.11"), columns=columns))

    assert value(parsed, metric="bandwidth") == 8e6
    assert value(parsed, metric="defects") == 0
    assert [flag.text for flag in parsed.flags] == ["columns that are not read: new[W]"]


def test_the_mt_part_is_younger_than_the_old_megabyte() -> None:
    text = table("  8 1000 1.00 8.39 100", columns="#bytes #repetitions t_avg[usec] Mbytes/sec Msg/sec").replace(
        "PingPong", "UniBandMT"
    )

    assert value(imb.parse(text), metric="bandwidth") == 8.39e6


def test_pins_and_head() -> None:
    parsed = imb.parse(WHOLE["debug5_pinlist"])

    pins = parsed.tables["pins"].records()
    assert [(p["rank"], p["host"], p["cpus"]) for p in pins] == [(0, "vm", "0-1"), (1, "vm", "0-1")]
    assert parsed.facts["program"] == "IMB-MPI1"
    assert parsed.facts["mpi"] == "4.1"
    assert str(parsed.facts["command"]).endswith("IMB-MPI1 PingPong -msglog 6")


def test_groups_and_ranks() -> None:
    first = imb.parse(WHOLE["multi1_np4"]).tables["benchmarks"].records()[0]

    assert (first["groups"], first["nprocs"], first["ranks"]) == (2, 2, "0,1;2,3")
    mapped = WHOLE["pingpong_default"].replace(
        "# #processes = 2 ", "# #processes = 2; rank order (rowwise): \n#     0    2"
    )
    assert imb.parse(mapped).tables["benchmarks"].records()[0]["ranks"] == "0,2"
