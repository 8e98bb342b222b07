from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from parsers import mlc
from parsers.measurement import Parsed, Scalar

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "mlc"

FULL = """Intel(R) Memory Latency Checker - v3.11b
*** Unable to modify prefetchers (try executing 'modprobe msr')
*** So, enabling random access for latency measurements
Measuring idle latencies for random access (in ns)...
\t\tNuma node
Numa node\t     0\t     1\t     8\t
       0\t  91.5\t 140.2\t 310.0\t
       1\t 141.0\t  92.2\t 305.5\t

Measuring Peak Injection Memory Bandwidths for the system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using traffic with the following read-write ratios
ALL Reads        :\t200000.5\t
3:1 Reads-Writes :\t190000.4\t
2:1 Reads-Writes :\t180000.3\t
1:1 Reads-Writes :\t170000.2\t
Stream-triad like:\t160000.1\t

Measuring Memory Bandwidths between nodes within system\x20
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using Read-only traffic type
\t\tNuma node
Numa node\t     0\t     1\t     8\t
       0\t100000.7\t34000.4\t9000.1\t
       1\t34000.3\t100001.6\t9001.2\t

Measuring Loaded Latencies for the system
Using all the threads from each core if Hyper-threading is enabled
Using Read-only traffic type
Inject\tLatency\tBandwidth
Delay\t(ns)\tMB/sec
==========================
 00000\t166.18\t 210643.1
 00002\t177.85\t 208001.7
 00008\t166.21\t 206740.7

Measuring cache-to-cache transfer latency (in ns)...
Local Socket L2->L2 HIT  latency\t50.5
Local Socket L2->L2 HITM latency\t49.9
Remote Socket L2->L2 HITM latency (data address homed in writer socket)
\t\t\tReader Numa Node
Writer Numa Node     0\t     1\t
            0\t     -\t 114.0\t
            1\t 114.6\t     -\t
Remote Socket L2->L2 HITM latency (data address homed in reader socket)
\t\t\tReader Numa Node
Writer Numa Node     0\t     1\t
            0\t     -\t 115.0\t
            1\t 123.2\t     -\t
"""

LOADED = """Intel(R) Memory Latency Checker - v3.10
Command line parameters: --loaded_latency {options}

Using buffer size of 100.000MiB/thread for reads and an additional 100.000MiB/thread for writes

Measuring Loaded Latencies for the system
Using all the threads from each core if Hyper-threading is enabled
{traffic}Inject\tLatency\tBandwidth
Delay\t(ns)\tMB/sec
==========================
 00000\t166.18\t 210643.1
 00002\t177.85\t 208001.7
 20000\t166.21\t 206740.7
"""


def values(
    parsed: Parsed, metric: str | None = None, cell: tuple[int, int] | None = None, **labels: Scalar
) -> list[Scalar]:
    """Return the values of the rows that have these labels; `cell` is (from, to) of a matrix."""
    wanted = labels | ({"metric": metric} if metric else {})
    if cell:
        wanted |= dict(zip(("from", "to"), cell, strict=True))
    return [row["value"] for row in parsed.measurements.records() if wanted.items() <= row.items()]


def flags(parsed: Parsed) -> set[str]:
    return {flag.id for flag in parsed.flags}


# -- the corpus


# -- what a text says


def test_a_full_run_has_all_its_figures() -> None:
    parsed = mlc.parse(FULL)

    assert len(parsed.measurements.rows) == 6 + 5 + 6 + 2 * 3 + 2 + 4
    assert values(parsed, section="latency_matrix", cell=(0, 8)) == [310.0]
    assert values(parsed, section="latency_matrix", cell=(8, 0)) == []  # no CPUs there: no row is printed
    assert values(parsed, section="bandwidth_matrix", traffic="read", cell=(1, 8)) == [9001.2e6]
    assert values(parsed, section="peak_injection_bandwidth", traffic="1:1") == [170000.2e6]
    assert values(parsed, "latency", section="loaded_latency", row=1, delay=2, traffic="read") == [177.85]
    assert values(parsed, "bandwidth", section="loaded_latency", delay=8) == [206740.7e6]
    assert values(parsed, transfer="remote L2->L2 HITM, homed in reader", cell=(1, 0)) == [123.2]
    assert values(parsed, transfer="remote L2->L2 HITM, homed in reader", cell=(0, 0)) == []
    assert parsed.facts["tool_version"] == "v3.11b"
    assert parsed.facts["program"] == "mlc"
    assert flags(parsed) == {"no_msr", "random_access", "truncated"}  # 3 of the 19 default delays


@pytest.mark.parametrize(
    ("options", "line", "context", "traffic"),
    [
        ("-W9", "", {}, "3:1 nt"),
        ("-W 9", "", {}, "3:1 nt"),
        ("-W6 -l256", "", {}, "write nt"),
        ("-W11", "", {}, "triad rfo"),
        ("-W13", "", {}, "W13"),
        ("-R", "", {}, "read"),
        ("", "Using Read-only traffic type\n", {}, "read"),
        ("", "Using Read-only traffic type\n", {"W": 9}, "read"),
        ("-W9", "", {"W": 6}, "3:1 nt"),
        ("-d0", "", {"W": 9}, "3:1 nt"),
        ("-d0", "", {"W": "7"}, "2:1 nt"),
        ("-d0", "", {"W": "R"}, "read"),
        ("-d0", "", {"R": True}, "read"),
        ("-d0", "", {"R": False}, "read"),
        ("-d0", "", {"l": 256}, "read"),
        ("-d0", "", {}, "read"),
        ("-operthread.txt -W3", "", {}, None),
    ],
)
def test_traffic_is_what_the_text_or_the_options_say_or_missing(
    options: str, line: str, context: dict[str, object], traffic: str | None
) -> None:
    parsed = mlc.parse(LOADED.format(options=options, traffic=line), context)

    assert {row.get("traffic") for row in parsed.measurements.records()} == {traffic}


def test_an_extract_keeps_the_traffic_line_above_its_table() -> None:
    table = "Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n 00000\t80.00\t 1500.0\n"
    parsed = mlc.parse(f"Using Read-only traffic type\n{table}")
    assert values(parsed, "latency", traffic="read") == [80.0]
    twice = mlc.parse(f"Using Read-only traffic type\n{table}\n$ mlc --loaded_latency -W5\n{table}")
    assert values(twice, "latency", traffic="1:1") == [80.0]


def test_a_delay_may_stand_there_twice() -> None:
    text = LOADED.format(options="-gdelays.txt", traffic="") + " 00000\t80.00\t  1500.0\n"
    parsed = mlc.parse(text)

    assert values(parsed, "latency", delay=0) == [166.18, 80.0]
    assert values(parsed, "latency", delay=0, row=3) == [80.0]
    assert flags(parsed) == set()


def test_runs_keep_their_labels_and_command_lines_apart() -> None:
    one = LOADED.format(options="-W6", traffic="")
    text = f"==== Run 1 ====\n{one}\n==== Run 2 ====\n{one.replace('-W6', '-W7 -X').replace('166.18', '200.00')}"
    parsed = mlc.parse(text)
    first, second = parsed.tables["runs"].records()

    assert (first["heading"], second["heading"]) == ("==== Run 1 ====", "==== Run 2 ====")
    assert (first["command_line"], second["command_line"]) == (
        "--loaded_latency -W6",
        "--loaded_latency -W7 -X",
    )
    assert values(parsed, "latency", run=2, delay=0, traffic="2:1 nt") == [200.0]
    assert parsed.facts["mode"] == "loaded_latency"
    assert "command_line" not in parsed.facts


def test_a_prompt_tells_the_command_where_the_tool_does_not() -> None:
    table = "Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n 00000\t80.00\t 1500.0\n"
    parsed = mlc.parse(f"root@host:~# ./mlc --loaded_latency -W5 -d0\n{table}")

    assert values(parsed, "latency", traffic="1:1") == [80.0]
    assert parsed.facts["command_line"] == "--loaded_latency -W5 -d0"
    assert flags(parsed) == {"no_banner"}


def test_a_command_belongs_only_to_what_stands_right_below_it() -> None:
    table = "Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n 00000\t80.00\t 1500.0\n"
    parsed = mlc.parse(f"$ mlc --loaded_latency -W5\nbash: mlc: command not found\n{table}")

    assert values(parsed, "latency") == [80.0]
    assert "command_line" not in parsed.facts
    assert parsed.measurements.records()[0].get("traffic") is None


REPORT = """a. read only
Command "sudo ./mlc --loaded_latency"

Inject Delay\tlatency (ns)\tBandwidth (MB/sec)
00000\t204.11\t17783.5
00002\t203.71\t17836.0

20000 59.32\t1187.2
-------------\t--------
b. 3 : 1 Command = "sudo ./mlc --loaded_latency -W9 -l256 "

Inject Delay\tlatency (ns)\tBandwidth (MB/sec)
00000\t208.72\t21243.8
"""


def test_tables_in_a_report_are_runs() -> None:
    parsed = mlc.parse(REPORT)
    first, second = parsed.tables["runs"].records()

    assert values(parsed, "bandwidth", run=1) == [17783.5e6, 17836.0e6, 1187.2e6]
    assert values(parsed, "latency", run=2, traffic="3:1 nt") == [208.72]
    assert (first["heading"], second["heading"]) == ("a. read only", "b. 3 : 1")
    assert second["stride_bytes"] == 256


def test_all_cores_are_rows_of_cpus() -> None:
    text = """Intel(R) Memory Latency Checker - v3.9a
Command line parameters: --latency_matrix -r -a

Using buffer size of 2000.000MiB
Measuring idle latencies (in ns) for all cores...
\t\tNuma node
CPU\t     0\t     1\t
     0\t 117.8\t 184.4\t
    12\t 185.5\t 119.0\t
"""
    parsed = mlc.parse(text)

    assert values(parsed, section="cpu_latency_matrix", cell=(12, 1)) == [119.0]
    assert parsed.facts["buffer_read_bytes"] == 2000 * 2**20


def test_a_verbose_matrix_is_read_once() -> None:
    text = """Intel(R) Memory Latency Checker - v3.11b
Command line parameters: --latency_matrix -v
Measuring idle latencies for sequential access (in ns)...

Numa node  0 (core   1) measuring latency to memory on numa node  0 ..
Each iteration took 251.2 base frequency clocks (\t132.5\tns)
"""
    matrix = "\t\tNuma node\nNuma node\t     0\t\n       0\t 132.5\t\n"
    alone, both = mlc.parse(text), mlc.parse(text + matrix)

    assert values(alone, "latency", section="latency_matrix", cell=(0, 0)) == [132.5]
    assert set(both.measurements.rows) == set(alone.measurements.rows)
    assert values(both, "base_clocks") == [251.2]


@pytest.mark.parametrize(
    "end", ["       1\t 14^C\n", "       1\t 141.5\t^C\n", "       1\t 141.5\t  8", "       1\t 141.5"]
)
def test_a_matrix_that_breaks_off_keeps_its_whole_rows(end: str) -> None:
    head = "Intel(R) Memory Latency Checker - v3.9\nMeasuring idle latencies (in ns)...\n\t\tNuma node\n"
    parsed = mlc.parse(f"{head}Numa node\t     0\t     1\t\n       0\t  82.1\t 141.0\t\n{end}")

    assert values(parsed) == [82.1, 141.0]
    assert parsed.has("truncated")


def test_remarks_behind_a_row_are_no_part_of_it() -> None:
    text = "Measuring idle latencies (in ns)...\n    Numa node\nNuma node    0\n    0   145.8  //measured often\n"
    assert values(mlc.parse(text)) == [145.8]


def test_a_report_in_markdown_tables() -> None:
    text = """Measuring Idle Latencies (ns)
| Numa Node | 0 |
|----|----|
| 0 | 37.3 |

Measuring Peak Injection Memory Bandwidths for the system (MB/sec)
|Read/Write Ratios | Bandwidth |
|-----|-----|
| ALL Reads | 28547.3 |
|3:1 Reads-Writes | 25585.4 |
| 2:1 Reads-Writes | 25077.1 |
| 1:1 Reads-Writes | 25874.6 |
| Stream-triad like | 25310.3 |
"""
    parsed = mlc.parse(text)
    assert values(parsed, section="latency_matrix", cell=(0, 0)) == [37.3]
    assert values(parsed, section="peak_injection_bandwidth", traffic="triad") == [25310.3e6]
    assert flags(parsed) == {"no_banner"}


def test_throughput_only_has_no_latency() -> None:
    head = "Intel(R) Memory Latency Checker - v3.10\nCommand line parameters: --loaded_latency -T -d0\n"
    two = mlc.parse(head + "Inject\tBandwidth\nDelay\tMB/sec\n======\n 00000\t 210643.1\n")
    three = mlc.parse(head + "Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n 00000\t  0.00\t 210643.1\n")

    for parsed in (two, three):
        assert [row[-3:] for row in parsed.measurements.rows] == [("bandwidth", "B/s", 210643.1e6)]
    assert "not_measured" in flags(three)


@pytest.mark.parametrize(
    ("last", "kept"),
    [
        (" 00015\t\nExiting...\n\n", 3),
        (" 00015\t1243.62\n", 3),
        (" 00015\t1243.62\t  161^C\n", 3),
        (" 00015\t1243.62\t  16126.7^C\n$ ", 4),
        ("^C\n", 3),
        (" 00015\t1243.62\t  161\n", 3),
        (" 00015\t1243.62\t  161", 3),
        (" 00015\t1243.62\t  16126.7", 4),
        (" 00015\t1243.62\t  16126.7\n", 4),
    ],
)
def test_an_interrupted_table_keeps_its_whole_rows(last: str, kept: int) -> None:
    text = LOADED.format(options="-t10", traffic="").replace("20000", "00008") + last
    parsed = mlc.parse(text)

    assert len(values(parsed, "latency")) == len(values(parsed, "bandwidth")) == kept
    assert parsed.has("truncated")


def test_a_short_list_of_asked_delays_is_complete() -> None:
    assert flags(mlc.parse(LOADED.format(options="-gdelays.txt", traffic=""))) == set()


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        ("Command line parameters: --peak_injection_bandwidth -R\n", {"no_figures"}),
        (
            "Invalid Argument:--help\n\nUSAGE: ...\n./mlc --idle_latency   prints it\n",
            {"no_figures", "invalid_argument"},
        ),
        (
            "Command line parameters: --idle_latency -r\n*************   Hugepages need to be allocated using /proc/sys/vm/nr_hugepages ******\n",
            {"no_figures", "hugepages_missing"},
        ),
        ("Measuring Loaded Latencies for the system\n", {"no_figures", "truncated"}),
        ("*** Unable to access mlcdrv.sys to modify prefetchers\n", {"no_figures", "no_msr"}),
    ],
)
def test_no_figures_is_said_and_is_no_error(below: str, expected: set[str]) -> None:
    parsed = mlc.parse("Intel(R) Memory Latency Checker - v3.11b\n" + below)

    assert parsed.measurements.rows == ()
    assert flags(parsed) == expected


@pytest.mark.parametrize("mode", ["peak_injection_bandwidth", "idle_latency"])
def test_random_access_is_said_of_a_latency_alone(mode: str) -> None:
    """A text of bandwidths said "latency of random access" of latencies that it does not have."""
    body = {
        "peak_injection_bandwidth": "ALL Reads        :\t52000.1\n",
        "idle_latency": "Each iteration took 187.3 core clocks (\t81.5\tns)\n",
    }
    parsed = mlc.parse(f"Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: --{mode} -r\n\n{body[mode]}")

    assert parsed.measurements.rows
    assert parsed.facts["access"] == "random"
    assert parsed.has("random_access") == (mode == "idle_latency")


@pytest.mark.parametrize(("word", "flag"), [("inf", "non_finite"), ("-nan", "non_finite"), ("0.00", "not_measured")])
def test_what_is_no_figure_is_a_missing_row_and_a_flag(word: str, flag: str) -> None:
    parsed = mlc.parse(LOADED.format(options="-W6", traffic="").replace("177.85", word))

    assert values(parsed, "latency") == [166.18, 166.21]
    assert len(values(parsed, "bandwidth")) == 3
    assert flag in flags(parsed)


def test_a_damaged_line_is_said_and_its_neighbours_are_kept() -> None:
    parsed = mlc.parse(LOADED.format(options="-W6", traffic="").replace("177.85", "1x7.85"))

    assert values(parsed, "latency") == [166.18, 166.21]
    assert "unread" in flags(parsed)


OTHER_TABLE = "Storage, measured with fio\n1\t4k\t512M\t8\t20\t68822\t74167\t72613.5\t99.41\t93.3\n2 31.5 40.2 7.5\n"


def test_what_looks_like_figures_below_a_whole_table_and_prose_is_none_of_its_rows() -> None:
    """A report's fio table below its last curve made that curve "not whole: the peak may be higher"."""
    parsed = mlc.parse(LOADED.format(options="-W6", traffic="") + "\n" + OTHER_TABLE + "the end\n")

    assert len(values(parsed, "latency")) == 3
    assert "unread" not in flags(parsed)


def test_prose_amid_a_table_hides_no_damaged_row() -> None:
    rows = LOADED.format(options="-W6", traffic="").replace("177.85", "1x7.85").splitlines(keepends=True)
    damaged = next(i for i, row in enumerate(rows) if "1x7.85" in row)
    rows.insert(damaged, "Message from syslogd on the host\n")

    assert "unread" in flags(mlc.parse("".join(rows)))


def test_the_stand_in_says_what_it_is() -> None:
    banner = "pinsweep memlat 0.1 (MLC-style; not Intel(R) Memory Latency Checker)"
    parsed = mlc.parse(
        LOADED.format(options="-W6", traffic="").replace("Intel(R) Memory Latency Checker - v3.10", banner)
    )

    assert (parsed.facts["program"], parsed.facts["tool_version"]) == ("memlat", "0.1")
    assert flags(parsed) == {"stand_in"}
    assert len(parsed.measurements.rows) == 6


@pytest.mark.parametrize("case", sorted(FIXTURES.glob("*.toml")), ids=lambda path: path.stem)
def test_captured_output_has_the_facts_and_flags_that_a_person_read(case: Path) -> None:
    parsed = mlc.parse(case.with_suffix(".out").read_text())  # its rows: test_cases.py
    expected = tomllib.loads(case.read_text())

    assert expected["facts"].items() <= parsed.facts.items()
    assert flags(parsed) == set(expected["flags"])


def test_the_kernel_says_more_about_its_runs_than_mlc() -> None:
    text = (FIXTURES / "memlat_0.1_six_runs.out").read_text()
    loaded = mlc.parse(text).tables["runs"].records()[1]

    assert (loaded["threads"], loaded["load_cpus"], loaded["latency_cpu"]) == (1, "1", 0)
    assert loaded["delay_turn_ns"] == 0.279
    assert "heading" not in loaded


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("Read-only", "read"),
        ("2:1 read-write", "2:1"),
        ("0:1 read-nontemporal write", "write nt"),
        ("3:1 read-nontemporal write", "3:1 nt"),
        ("2:1 read-Non Temporal Write", "2:1 nt"),
        ("2:1 read-nontemporal write stream-triad like", "triad nt"),
        ("3:1 read-write stream-triad like", "triad rfo"),
        ("Something Else", "something else"),
    ],
)
def test_traffic_lines_become_canonical_words(said: str, word: str) -> None:
    parsed = mlc.parse(LOADED.format(options="", traffic=f"Using {said} traffic type\n"))
    assert {row.get("traffic") for row in parsed.measurements.records()} == {word}


@pytest.mark.parametrize(
    ("banner", "version"),
    [
        ("Intel(R) Memory Latency Checker - v2.3", "v2.3"),
        ("Intel(R) Memory Latency Checker - v3.12", "v3.12"),
        (
            "Intel(R) Memory Latency Checker (for Internal Use Only) - v3.12-rc01-private",
            "v3.12-rc01-private",
        ),
        ("Intel® Memory Latency Checker – v3.9", "v3.9"),
        ("**Intel(R) Memory Latency Checker - v3.8**", "v3.8"),
    ],
)
def test_banners(banner: str, version: str) -> None:
    text = FULL.replace("Intel(R) Memory Latency Checker - v3.11b", banner)

    assert mlc.recognise(text)
    parsed = mlc.parse(text)
    assert parsed.facts["tool_version"] == version
    assert parsed.measurements == mlc.parse(FULL).measurements


def test_units_are_what_the_text_says() -> None:
    giga = REPORT.replace("(MB/sec)", "(GB/s)")
    assert values(mlc.parse(giga), "bandwidth", run=2) == [pytest.approx(21243.8e9)]


def test_a_table_after_an_idle_latency_without_its_title_is_not_read() -> None:
    idle = "Each iteration took 201.2 core clocks ( 80.5    ns)\n"
    parsed = mlc.parse(LOADED.format(options="-W6", traffic="") + idle + idle + " 00015\t1.00\t 1.0\n")
    assert values(parsed, "latency", section="idle_latency") == [80.5, 80.5]


# -- laws


BETWEEN_CACHES = """Intel(R) Memory Latency Checker - v3.7
Command line parameters: --c2c_latency

Measuring cache-to-cache transfer latency (in ns)...
Local Socket L2->L2 HIT  latency        55.5
Remote Socket L2->L2 HITM latency (data address homed in writer socket)
                        Reader Numa Node
Writer Numa Node     0       1       2
            0        -   115.6   120.1
            1    115.6       -   121.3
            2    120.2   121.4       -
"""


def test_a_matrix_between_caches_has_a_row_for_each_of_its_columns() -> None:
    whole = BETWEEN_CACHES.splitlines(keepends=True)

    assert flags(mlc.parse("".join(whole))) == set()
    for cut in range(6, len(whole)):
        assert flags(mlc.parse("".join(whole[:cut]))) == {"truncated"}, whole[cut - 1]


def matrix(nodes: int, *, command: str | None, rows: int) -> str:
    """A latency matrix over NUMA nodes, its first rows."""
    head = "Intel(R) Memory Latency Checker - v3.9\n" + (f"Command line parameters: {command} \n" if command else "")
    lines = [f"{i:8d}" + "".join(f"\t{80.0 + 9 * abs(i - j):7.1f}" for j in range(nodes)) for i in range(rows)]
    names = "".join(f"\t{i:6d}" for i in range(nodes))
    return f"{head}\nMeasuring idle latencies (in ns)...\n\t\tNuma node\nNuma node{names}\t\n" + "".join(
        f"{line}\t\n" for line in lines
    )


@pytest.mark.parametrize(
    ("nodes", "rows", "command", "expected"),
    [
        (2, 2, "--latency_matrix", set()),
        (2, 1, "--latency_matrix", {"rows_missing"}),  # HBM or CXL beside one package, or a cut
        (8, 4, "--latency_matrix", {"rows_missing"}),
        (8, 3, "--latency_matrix", {"truncated"}),
        (2, 1, None, {"truncated"}),  # a run of all modes goes on behind it
    ],
)
def test_a_matrix_over_nodes_that_lacks_rows_is_never_silent(
    nodes: int, rows: int, command: str | None, expected: set[str]
) -> None:
    text = matrix(nodes, rows=rows, command=command)

    assert flags(mlc.parse(text)) == expected
    within = text.rindex("\t", 0, len(text) - 3)  # of its last row a figure is missing
    assert flags(mlc.parse(text[:within])) >= {"truncated"}


@pytest.mark.parametrize(
    "text",
    [
        ("Intel(R) Memory Latency Checker - v3.9\nMeasuring idle latencies (in ns)...\n\t\tNuma node\nNuma node\t     0\t     1\t     2\n       0\t  81.0\t 138.7\t 138.9\n       1\t 139.4\t  82.0\t 139.1\n"
        "The last socket was measured on the next day, after a firmware update.\n       2\t 139.4\t 14#.0\t  82.6\n"),
        ("Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: --loaded_latency -d500\n\nInject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n==========================\n 00000\t256.12\t  23456.1\n 00100\t190.12\t  21456.1\n"
        "And this is the one that we were asked for, at the end of the day.\n 00500\t100.1?\t  12456.1\n"),
    ],
    ids=["matrix", "loaded latency"],
)  # fmt: skip
def test_a_damaged_row_of_the_table_is_told_below_prose_too(text: str) -> None:
    """Rows below prose that follows a table are another table's, but for those that lack nothing of its rows but a
    digit."""
    for end in ("", "\nThat was all.\n"):
        parsed = mlc.parse(text + end)
        assert {flag.id for flag in parsed.flags} & {"unread", "truncated"}
    other = text.replace("\n       2\t 139.4\t 14#.0\t  82.6\n", "\n       7\t big\t 3.1\t  small\n").replace("\n 00500\t100.1?\t  12456.1\n", "\n 00500\tbig\t  small\n")  # fmt: skip
    assert "unread" not in {flag.id for flag in mlc.parse(other + "\nThat was all.\n").flags}


C2C = """\
Intel(R) Memory Latency Checker - v3.7
Command line parameters: --c2c_latency

Measuring cache-to-cache transfer latency (in ns)...
Local Socket L2->L2 HIT  latency        55.5
Local Socket L2->L2 HITM latency        55.6
Remote Socket L2->L2 HITM latency (data address homed in writer socket)
                        Reader Numa Node
Writer Numa Node     0       1
            0        -   115.6
            1    115.6       -
"""


@pytest.mark.parametrize(
    "end", ["55.5\nLocal Socket L2", "55.6\nRemote Socket L2->L2 H", "homed in writer socket)", "0        -   115.6", "1    115."]
)  # fmt: skip
def test_a_table_between_caches_that_was_cut_is_flagged(end: str) -> None:
    cut = C2C[: C2C.index(end) + len(end)]

    assert [flag.id for flag in mlc.parse(cut).flags] == ["truncated"]
    assert {row.value for row in mlc.parse(cut).measured()} <= {55.5, 55.6, 115.6}


ALL = """Intel(R) Memory Latency Checker - v3.10
Measuring idle latencies for random access (in ns)...
                Numa node
Numa node            0       1
       0          90.2   144.3
       1         143.2    89.1

Measuring Peak Injection Memory Bandwidths for the system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using traffic with the following read-write ratios
ALL Reads        :      211194.2
3:1 Reads-Writes :      190000.1
2:1 Reads-Writes :      189000.1
1:1 Reads-Writes :      188000.1
Stream-triad like:      187000.1

Measuring Memory Bandwidths between nodes within system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
                Numa node
Numa node            0       1
       0      105000.1 34000.2
       1       34000.3 105000.4

"""


@pytest.mark.parametrize("sections", [2, 3])
def test_a_run_of_all_that_ends_between_two_sections_says_so(sections: int) -> None:
    cut = "Measuring".join(ALL.split("Measuring")[: sections + 1])
    one = cut.replace("v3.10\n", "v3.10\nCommand line parameters: --peak_injection_bandwidth\n")

    assert [flag.id for flag in mlc.parse(cut).flags if "missing" in flag.id] == ["sections_missing"]
    assert not [flag for flag in mlc.parse(one).flags if flag.id == "sections_missing"]


def test_one_section_tells_nothing_of_those_behind_it() -> None:
    alone = "Measuring".join(ALL.split("Measuring")[:2])

    assert not [flag for flag in mlc.parse(alone).flags if flag.id == "sections_missing"]
