from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from parsers import stream
from parsers.errors import ParseError
from parsers.measurement import Parsed, Scalar

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "stream"

RULE = "-------------------------------------------------------------\n"
HEAD = "Function    Best Rate MB/s  Avg time     Min time     Max time\n"
ROWS = (
    "Copy:           14422.1     0.018347     0.011094     0.040936\n"
    "Scale:          12450.4     0.014904     0.012851     0.024788\n"
    "Add:            14278.1     0.020710     0.016809     0.036362\n"
    "Triad:          14350.5     0.021266     0.016724     0.037559\n"
)
VALID = "Solution Validates: avg error less than 1.000000e-13 on all three arrays\n"
TEXT = f"""{RULE}STREAM version $Revision: 5.10 $
{RULE}This system uses 8 bytes per array element.
{RULE}Array size = 10000000 (elements), Offset = 0 (elements)
Memory per array = 76.3 MiB (= 0.1 GiB).
Total memory required = 228.9 MiB (= 0.2 GiB).
Each kernel will be executed 10 times.
 The *best* time for each kernel (excluding the first iteration)
 will be used to compute the reported bandwidth.
{RULE}Number of Threads requested = 4
Number of Threads counted = 4
{RULE}Your clock granularity/precision appears to be 1 microseconds.
Each test below will take on the order of 15887 microseconds.
   (= 15887 clock ticks)
Increase the size of the arrays if this shows that
you are not getting at least 20 clock ticks per test.
{RULE}{HEAD}{ROWS}{RULE}{VALID}{RULE}"""

HPCC = f"""This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012
Begin of StarSTREAM section.
{RULE}This system uses 8 bytes per DOUBLE PRECISION word.
Array size = 83333, Offset = 0
Each test is run 10 times.
{RULE}Function      Rate (GB/s)   Avg time     Min time     Max time
Copy:          20.5602       0.0001       0.0001       0.0001
Scale:         12.3452       0.0001       0.0001       0.0001
Add:           20.6107       0.0001       0.0001       0.0001
Triad:         19.9728       0.0001       0.0001       0.0001
{RULE}{VALID}{RULE}Node(s) with error 0
Minimum Copy GB/s 20.100000
Average Copy GB/s 20.560231
Maximum Copy GB/s 20.900000
End of StarSTREAM section.
Begin of SingleSTREAM section.
Node(s) with error 0
Single STREAM Copy GB/s 24.745057
Single STREAM Triad GB/s 25.653133
End of SingleSTREAM section.
"""
HPCC_SUMMARY = "STREAM_VectorSize=83333\nSTREAM_Threads=1\nStarSTREAM_Copy=20.5602\nSingleSTREAM_Triad=25.6531\n"


def values(parsed: Parsed, metric: str = "bandwidth", **labels: Scalar) -> list[Scalar]:
    wanted = labels | {"metric": metric}
    return [row["value"] for row in parsed.measurements.records() if wanted.items() <= row.items()]


def flags(parsed: Parsed) -> set[str]:
    return {flag.id for flag in parsed.flags}


# -- captured here


@pytest.mark.parametrize("case", sorted(FIXTURES.glob("*.toml")), ids=lambda path: path.stem)
def test_captured_output_has_the_facts_and_flags_that_a_person_read(case: Path) -> None:
    parsed = stream.parse(case.with_suffix(".out").read_text())  # its rows: test_cases.py
    expected = tomllib.loads(case.read_text())

    assert expected["facts"].items() <= parsed.facts.items()
    assert flags(parsed) == set(expected["flags"])


# -- the corpus


# -- what a text says


def test_a_complete_text_has_its_figures_and_facts() -> None:
    parsed = stream.parse(TEXT)

    assert len(parsed.measurements.rows) == 16
    assert values(parsed, kernel="scale") == [12450.4e6]
    assert values(parsed, "time_avg", kernel="add") == [20_710_000.0]
    assert parsed.facts == {
        "program": "stream",
        "tool_version": "5.10",
        "array_size": 10_000_000,
        "bytes_per_element": 8,
        "offset": 0,
        "ntimes": 10,
        "threads": 4,
        "threads_requested": 4,
        "clock_granularity_us": 1,
        "clock_ticks": 15887,
        "validation": "passed",
    }
    assert flags(parsed) == set()


def test_hpcc_prints_gigabytes() -> None:
    parsed = stream.parse(HPCC + HPCC_SUMMARY)
    star, single = parsed.tables["runs"].records()

    assert values(parsed, run=1, kernel="triad") == [19.9728e9]
    assert values(parsed, "bandwidth_least", run=1, kernel="copy") == [20.1e9]
    assert values(parsed, "bandwidth_most", run=1, kernel="copy") == [20.9e9]
    assert values(parsed, run=2, kernel="triad") == [25.653133e9]  # the summary's 25.6531 is no second figure
    assert (star["program"], single["program"]) == ("HPCC StarSTREAM", "HPCC SingleSTREAM")
    assert parsed.facts["tool_version"] == "1.5.0"
    assert (star["array_size"], single["threads"]) == (83333, 1)


def test_hpcc_summary_alone_is_enough() -> None:
    parsed = stream.parse(HPCC_SUMMARY)

    assert stream.recognise(HPCC_SUMMARY)
    assert values(parsed, run=1, kernel="copy") == [20.5602e9]
    assert values(parsed, run=2, kernel="triad") == [25.6531e9]
    assert "kernels_missing" in flags(parsed)


def test_the_table_says_its_unit_and_its_columns() -> None:
    old = "Function      Rate (MB/s)   RMS time     Min time     Max time\nCopy:         220.6927       0.1457       0.1450       0.1466\n"
    parsed = stream.parse(old)
    assert values(parsed, "time_rms") == [145_700_000.0]
    assert values(parsed, "time_avg") == []  # a root mean square is no mean
    assert values(parsed) == [220.6927e6]

    other = "Function    Best Rate GB/s  Avg time     Min time     cyc/elem\nCopy:   16.4  0.010284  0.009751  1.5\n"
    parsed = stream.parse(other)
    assert values(parsed) == [16.4e9]
    assert {row["metric"] for row in parsed.measurements.records()} == {"bandwidth", "time_avg", "time_min"}


def test_a_table_without_its_head_has_no_unit() -> None:
    assert not stream.recognise(ROWS)
    with pytest.raises(ParseError, match="Copy") as refusal:
        stream.parse(ROWS)
    assert "head" in refusal.value.hint


@pytest.mark.parametrize(
    ("old", "new", "flag"),
    [
        (VALID, "", "validation_absent"),
        (
            VALID,
            "Failed Validation on array a[]\n        Expected  : 1.0 \n        Observed  : 2.0 \n",
            "validation_failed",
        ),
        (
            VALID,
            f"Failed Validation on array b[], AvgRelAbsErr > epsilon (1e-13)\n{VALID}",
            "validation_failed",
        ),
        ("15887 clock ticks", "19 clock ticks", "clock_ticks_low"),
        ("counted = 4", "counted = 8", "threads_differ"),
        ("STREAM version $Revision: 5.10 $\n", "", "no_banner"),
        (
            "STREAM version $Revision: 5.10 $",
            "pinsweep stream 0.1 (STREAM-style; not the STREAM benchmark)",
            "stand_in",
        ),
        ("14422.1", "inf", "non_finite"),
        ("14422.1", "-nan", "non_finite"),
        ("14422.1", "Infinity", "non_finite"),
        ("0.011094", "0.000000", "not_measured"),
        ("14422.1", "-1.0000", "not_measured"),
        (ROWS.splitlines(keepends=True)[2], "", "kernels_missing"),
    ],
)
def test_what_a_reader_must_know_is_flagged(old: str, new: str, flag: str) -> None:
    assert old in TEXT
    assert flags(stream.parse(TEXT.replace(old, new))) == {flag}


def test_a_damaged_line_is_said_and_its_neighbours_are_kept() -> None:
    parsed = stream.parse(TEXT.replace("0.014904", "0.0149?4"))
    assert flags(parsed) == {"unread", "kernels_missing"}
    assert len(parsed.measurements.rows) == 12


def test_a_tick_limit_of_twenty_is_enough() -> None:
    assert flags(stream.parse(TEXT.replace("15887 clock ticks", "20 clock ticks"))) == set()


@pytest.mark.parametrize(
    ("replaced", "threads"),
    [
        ("Number of Threads counted = 8\n", 8),
        ("", None),
        ("Printing one line per active thread....\n" * 4, 4),
        ("Printing one line per active thread....\n" * 3, None),  # lines lost or cut: 4 were requested
    ],
)
def test_threads_are_those_that_were_counted(replaced: str, threads: int | None) -> None:
    parsed = stream.parse(TEXT.replace("Number of Threads counted = 4\n", replaced))
    assert parsed.facts.get("threads") == threads
    assert parsed.facts["threads_requested"] == 4


def test_non_finite_rates_are_missing_rows() -> None:
    parsed = stream.parse(TEXT.replace("14422.1", "inf"))
    assert values(parsed, kernel="copy") == []
    assert values(parsed, "time_min", kernel="copy") == [11_094_000.0]


def test_runs_one_after_the_other_stay_apart() -> None:
    other = TEXT.replace("14422.1", "99999.9").replace("10000000", "20000000")
    parsed = stream.parse(f"4 threads\n{TEXT}\n8 threads\n{other}")
    first, second = parsed.tables["runs"].records()

    assert values(parsed, kernel="copy") == [14422.1e6, 99999.9e6]
    assert (first["array_size"], second["array_size"]) == (10_000_000, 20_000_000)
    assert (first["heading"], second["heading"]) == ("4 threads", "8 threads")
    assert "array_size" not in parsed.facts


def test_tables_under_one_head_and_heads_without_banner_are_runs() -> None:
    assert len(stream.parse(HEAD + ROWS + ROWS).tables["runs"].rows) == 2
    assert len(stream.parse(f"Type 1:\n{HEAD}{ROWS}Type 3:\n{HEAD}{ROWS}").tables["runs"].rows) == 2
    assert len(stream.parse(HEAD + HEAD + ROWS).tables["runs"].rows) == 1


@pytest.mark.parametrize("tag", ["[{}] ", "{}: ", " {}: ", "[1,{}]<stdout>:"])
def test_ranks_that_printed_into_each_other_are_taken_apart(tag: str) -> None:
    other = TEXT.replace("14422.1", "99999.9")
    pairs = zip(TEXT.splitlines(), other.splitlines(), strict=True)
    both = "".join(f"{tag.format(rank)}{line}\n" for pair in pairs for rank, line in enumerate(pair))
    parsed = stream.parse(both)

    assert stream.recognise(both)
    assert values(parsed, kernel="copy") == [14422.1e6, 99999.9e6]
    assert [run["rank"] for run in parsed.tables["runs"].records()] == [0, 1]
    assert flags(parsed) == set()


def test_a_variant_keeps_its_own_kernels() -> None:
    parsed = stream.parse(HEAD + ROWS + "Write:          30000.0     0.018347     0.011094     0.040936\n" + RULE)
    assert values(parsed, kernel="write") == [30000.0e6]


# -- laws


def test_lines_of_a_few_characters_are_not_asked_by_every_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte of them took 2 s: 500 000 lines, two dozen expressions each."""
    monkeypatch.setattr(stream._Reader, "_say", None)

    with pytest.raises(ParseError):
        stream.parse("=\nab c\n" * 100)


def test_a_long_run_of_blanks_in_a_row_is_read_once() -> None:
    """Each blank was tried as the beginning of the end of the row: 0.15 s for 5000, 0.57 s for 10 000, minutes for
    these."""
    head = "Function    Best Rate MB/s  Avg time     Min time     Max time\n"
    text = head + "Copy: 1" + " " * 300_000 + "x\n" + "Copy: 13512.4 0.1 0.1 0.1  \n"

    assert _limited_to(60, text) == 0


def _limited_to(seconds: int, text: str) -> int:
    """Return the exit status of a process that parses the text in so much CPU time at most."""
    program = (
        "import resource, sys; from parsers import stream\n"
        f"resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))\n"
        "stream.parse(sys.stdin.read())"
    )
    return subprocess.run([sys.executable, "-c", program], input=text, text=True, check=False).returncode
