"""Texts as strangers publish them: issue threads, mails, wikis, job logs, comments in scripts. Each excerpt is
whole."""

from __future__ import annotations

import base64
import json
import quopri
from pathlib import Path

import pytest

from parsers import get_parser, guess_parsers
from parsers.errors import ParseError
from parsers.measurement import Parsed
from parsers.text import decode

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def parse(text: str, tool: str) -> Parsed:
    """Read a text without naming the tool, as a user does."""
    assert guess_parsers(text) == (tool,)
    return get_parser(tool).parse(text, {})


def values(parsed: Parsed, **labels: object) -> list[float]:
    """Return the values of the rows that have these labels (and this metric), in order."""
    return [
        row.value
        for row in parsed.measured()
        if all((row.metric if name == "metric" else row.get(name)) == value for name, value in labels.items())
    ]


def flags(parsed: Parsed) -> set[str]:
    return {flag.id for flag in parsed.flags}


# --- fio -----------------------------------------------------------------------------------------------------

OLD_FIO = """\
test: (groupid=0, jobs=1): err= 0: pid=9962: Thu Nov 22 14:17:23 2018
  read : io=30717MB, bw=207776KB/s, iops=51944 , runt=151383msec
  write: io=4932.0KB, bw=168205 B/s, iops=41 , runt= 30025msec
    clat (msec): min=16 , max=124 , avg=24.34, stdev= 5.70
  cpu          : usr=14.26%, sys=28.45%, ctx=9244919, majf=0, minf=6
"""
ISSUED = "     issued rwts: total=8128,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"


def test_fio_up_to_2_0_15_prints_blanks_before_commas_and_units() -> None:
    parsed = parse(OLD_FIO, "fio")

    assert values(parsed, direction="read", metric="iops") == [51944]
    assert values(parsed, direction="read", metric="bandwidth") == [207776 * 1024]
    assert values(parsed, direction="read", metric="runtime") == [151_383e6]
    assert values(parsed, direction="write", metric="bandwidth") == [168205]
    assert values(parsed, direction="write", metric="io_bytes") == [4932 * 1024]
    assert values(parsed, direction="write", metric="clat", statistic="mean") == [24.34e6]
    assert "no_io" not in flags(parsed)


def test_a_line_of_fio_that_cannot_be_read_is_said_and_still_names_the_direction() -> None:
    parsed = parse(OLD_FIO.replace("iops=41 ,", "iops=4-1 ,, x,").replace("runt= 30025msec", "runt=?"), "fio")

    assert values(parsed, direction="write", metric="clat", statistic="mean") == [24.34e6]
    assert "unread" in flags(parsed)
    assert "no_io" not in flags(parsed)


CUT = """\
read: (groupid=0, jobs=1): err= 0: pid=8540: Tue Apr 5 18:48:09 2022
  read: IOPS=1552, BW=12.1MiB/s (12.7MB/s)(1024MiB/84403msec)
"""


@pytest.mark.parametrize(
    ("line", "metric", "kept"),
    [
        ("   iops        : min= 1357, max= 16\n", "iops", {"total": 1552, "min": 1357}),
        ("   iops        : min= 1357, max= 1698, avg=1553.1\n", "iops", {"total": 1552, "min": 1357, "max": 1698}),
        ("    clat (usec): min=10, max=20, avg=12.34, stdev= 5.7\n", "clat", {"min": 1e4, "max": 2e4, "mean": 12340}),
        ("  cpu          : usr=0.26%, sys=0.31%, ctx=56\n", "ctx", {}),
        ("     issued rwts: total=81\n", "total_ios", {}),
    ],
)  # fmt: skip
def test_a_figure_that_may_be_cut_in_the_middle_is_left_out(line: str, metric: str, kept: dict[str, float]) -> None:
    parsed = parse(CUT + line, "fio")

    found = {row.get("statistic"): row.value for row in parsed.measured() if row.metric == metric}
    assert found == kept
    assert "truncated" in flags(parsed)


AVOCADO = """\
20:17:44 DEBUG| [stdout] t: (groupid=0, jobs=1): err= 0: pid=19348: Thu Sep 17 20:17:58 2020
20:17:58 DEBUG| [stdout]   write: IOPS=9881, BW=38.6MiB/s (40.5MB/s)(512MiB/13262msec); 0 zone resets
20:17:58 DEBUG| [stdout]   cpu          : usr=29.85%, sys=1.20%, ctx=19348, majf=0, minf=17
"""


@pytest.mark.parametrize(
    "before",
    ["20:17:58 DEBUG| [stdout] ", "05/21 12:33:44 DEBUG|base_utils:0106| [stdout] ", "2020-09-17 20:17:44,123 INFO - ",
     "[INFO] ", "[stdout] ", "INFO: ", "job\tRun fio\t2024-05-01T10:00:00.1234567Z ", "2024-05-01T10:00:00.123456Z 01O "],
)  # fmt: skip
def test_what_test_frameworks_put_before_lines_is_no_name_of_a_job(before: str) -> None:
    parsed = parse(
        AVOCADO.replace("20:17:44 DEBUG| [stdout] ", before).replace("20:17:58 DEBUG| [stdout] ", before),
        "fio",
    )

    assert values(parsed, name="t", direction="write", metric="iops") == [9881]
    assert values(parsed, name="t", metric="minf") == [17]


def test_fio_in_a_mail() -> None:
    text = (FIXTURES / "fio/normal_randrw.out").read_text()
    mail = quopri.encodestring(text.encode()).decode()
    assert "=3D" in mail
    whole = get_parser("fio").parse(text, {})
    head = "From: a@b.c\nSubject: fio=slow\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: {}\n\n"

    assert parse(mail, "fio").tables == whole.tables
    assert parse(f"Hello,\nit was:\n{mail}\nBye =\n", "fio").tables == whole.tables
    assert parse(head.format("quoted-printable") + mail, "fio").tables == whole.tables
    assert parse(head.format("base64") + base64.encodebytes(text.encode()).decode(), "fio").tables == whole.tables
    terse = (FIXTURES / "fio/terse_v5.out").read_text()
    assert parse(quopri.encodestring(terse.encode()).decode(), "fio").tables == parse(terse, "fio").tables


def test_a_plain_part_beside_an_encoded_one_keeps_its_figures() -> None:
    """`iops=51944` looks encoded: 51 is Q."""
    text = f"Content-Transfer-Encoding: quoted-printable\n\nmin=3D1\n--b0\nContent-Type: text/plain\n\n{OLD_FIO}"

    assert values(parse(text, "fio"), direction="read", metric="iops") == [51944]


# --- IMB and OSU ---------------------------------------------------------------------------------------------

SENDRECV = """\
# Benchmarking Sendrecv
# #processes = 2
#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec
524288 80 46.49 59.52 54.79 17616.61
1048576 40 164.35 258.68 217.49 8107.16 <- drops
2097152 20 824.89 936.35 893.57 4479.40
"""
LATENCY = """\
# OSU MPI Latency Test v5.6
# Size          Latency (us)
1                       1.86
2                       1.87   <- low
4                       1.88
"""
LOADED = """\
Inject\tLatency\tBandwidth
Delay\t(ns)\tMB/sec
==========================
 00050\t 106.63\t  68930.6
 00100\t 98.94\t  68357.8 <--- low
 00200\t 65.25\t   9989.8
"""
STREAM = """\
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy: 42156.8 0.060789 0.060732 0.060845 <- A
Scale: 42157.8 0.060789 0.060732 0.060845
"""


@pytest.mark.parametrize(
    ("text", "tool", "labels", "figures"),
    [
        (SENDRECV, "imb", {"metric": "time_avg"}, [54790, 217490, 893570]),
        (SENDRECV.replace("<- drops", "(drops!)"), "imb", {"metric": "time_avg"}, [54790, 217490, 893570]),
        (SENDRECV.replace(" <- drops", "<- drops"), "imb", {"metric": "time_avg"}, [54790, 217490, 893570]),
        (SENDRECV.replace("1048576", "> 1048576"), "imb", {"metric": "time_avg"}, [54790, 217490, 893570]),
        (LATENCY, "osu", {"metric": "latency"}, [1860, 1870, 1880]),
        (LATENCY.replace("<- low", "# low"), "osu", {"metric": "latency"}, [1860, 1870, 1880]),
        (LOADED, "mlc", {"metric": "latency"}, [106.63, 98.94, 65.25]),
        (LOADED.replace(" 00100\t 98.94\t  68357.8 <", '"00100   98.94    68357.8" <'), "mlc", {"metric": "latency"}, [106.63, 98.94, 65.25]),
        (STREAM, "stream", {"metric": "bandwidth"}, [42156.8e6, 42157.8e6]),
    ],
)  # fmt: skip
def test_a_row_with_a_note_behind_it_is_read(
    text: str, tool: str, labels: dict[str, object], figures: list[float]
) -> None:
    parsed = parse(text, tool)

    assert values(parsed, **labels) == figures
    assert "unread" not in flags(parsed)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        (SENDRECV.replace("<- drops", "1.5 x slower"), "imb"),
        (SENDRECV.replace(" 217.49 8107.16 <- drops", " ?"), "imb"),
        (SENDRECV.replace(" 217.49 8107.16 <- drops", ""), "imb"),
        (LATENCY.replace("<- low", "2.5 x"), "osu"),
        (LOADED.replace("<--- low", "2.5 x"), "mlc"),
        (STREAM.replace("<- A", "2.5 x"), "stream"),
        (OLD_FIO.replace("runt=151383msec", "runt=151 383 msec"), "fio"),
        ("node distances:\nnode   0   1\n  0:  10  21\n  1:  21  1o\n", "numactl"),
        (
            "Cycles per update:\t0.500000\nCycles per cacheline:\t4.100000\nMByte/s:\t\t12.00 13.00\n",
            "likwid_bench",
        ),
    ],
)
def test_a_row_that_cannot_be_read_is_said(text: str, tool: str) -> None:
    assert "unread" in flags(parse(text, tool))


def test_notes_in_the_description_of_a_machine() -> None:
    parsed = parse("available: 1 nodes (0)\nnode 0 cpus: 0 1 <- two\nnode 0 size: 64 MB # small\nnode distances:\nnode   0 \n  0:  10  <- itself\n", "numactl")  # fmt: skip

    assert [row.value for row in parsed.measured()] == [2, 64 * 2**20, 10]
    assert flags(parsed) == set()


def test_osu_ibarrier_has_a_head_without_a_mark() -> None:
    parsed = parse(
        "# OSU MPI Non-blocking Barrier Latency Test v5.7.1\n# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
        "       Overall(us)       Compute(us)    Coll. Init(us)      MPI_Test(us)      MPI_Wait(us)    Pure Comm.(us)"
        "     Min Comm.(us)     Max Comm.(us)        Overlap(%)\n"
        "             89.72             68.02              5.67              0.00             15.91             63.15"
        "             63.12             63.21             65.64\n",
        "osu",
    )

    assert values(parsed, metric="time_overall") == [89720]
    assert values(parsed, metric="overlap") == [0.6564]


def test_osu_heads_that_their_file_comments_once_more() -> None:
    """As in logs put together by hand: the barrier was lost unsaid, and the rates below it fell to the table above."""
    parsed = parse(
        "# OSU MPI Allreduce Latency Test v5.6.2\n# Size       Avg Latency(us)\n4                       4.08\n\n"
        "# OSU MPI Barrier Latency Test v5.6.2\n# # Avg Latency(us)\n              3.28\n\n"
        "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2\n# # [ pairs: 24 ] [ window size: 64 ]\n"
        "# # Size                  MB/s        Messages/s\n 1                     169.15      169152814.02\n",
        "osu",
    )

    assert [(row.labels["benchmark"], row.value) for row in parsed.measured()] == [
        ("MPI Allreduce Latency Test", 4080),
        ("MPI Barrier Latency Test", 3280),
        ("MPI Multiple Bandwidth / Message Rate Test", 169.15e6),
        ("MPI Multiple Bandwidth / Message Rate Test", 169152814.02),
    ]
    assert flags(parsed) == set()


def test_rows_below_an_osu_head_that_is_not_known_are_not_the_table_s_above() -> None:
    parsed = parse(
        "# OSU MPI Allreduce Latency Test v9\n# Size       Avg Latency(us)\n4                       4.08\n\n"
        "# OSU MPI Persistence Test v9\n# Bytes        Wonder(us)\n8                3.28\n",
        "osu",
    )

    assert [row.value for row in parsed.measured()] == [4080]
    assert flags(parsed) == {"unread", "empty_table"}


def test_rows_of_imb_whose_head_is_not_known_are_said() -> None:
    parsed = parse(
        "# Benchmarking PingPong \n# #processes = 2 \n       #bytes #repetitions      t[usec]   Mbytes/sec\n"
        "            8         1000         2.00         4.00\n\n# Benchmarking Foo \n# #processes = 4 \n"
        "       #octets #wonders      t[usec]   Mbytes/sec\n            8         1000         7.00         8.00\n",
        "imb",
    )

    assert {row.labels["benchmark"] for row in parsed.measured()} == {"PingPong"}
    assert "Foo with 4 processes: 1 line" in next(flag.text for flag in parsed.flags if flag.id == "unread")


def test_html_is_undone() -> None:
    page = "# Benchmarking PingPong \n<br>\n# #processes = 2 \n<br>\n&nbsp;&nbsp;&nbsp;&nbsp;#bytes #repetitions      t[usec]   Mbytes/sec\n<br>\n&nbsp;&nbsp;&nbsp;&nbsp;0         1000        57.31         0.00\n"  # fmt: skip
    assert values(parse(page, "imb"), nprocs=2, message_size=0, metric="time") == [57310]
    quoted = "".join(f'<span class="quote">&gt; {line}</span><br>' for line in LATENCY.splitlines())
    assert values(parse(f"<html><body>{quoted}</body></html>", "osu"), metric="latency") == [1860, 1870, 1880]
    table = "<table>" + "".join(f"<tr><td>{line.replace(chr(9), '</td><td>')}</td></tr>" for line in LOADED.splitlines()) + "</table>"  # fmt: skip
    assert values(parse(table, "mlc"), metric="latency") == [106.63, 98.94, 65.25]


def test_comment_marks_before_every_line_are_undone() -> None:
    parsed = parse("# available: 1 nodes (0)\n# node 0 cpus: 0 1\n# node 0 size: 65536 MB\n# node distances:\n# node   0\n#   0:  10\n", "numactl")  # fmt: skip
    assert [row.value for row in parsed.measured()] == [2, 2**36, 10]
    assert flags(parsed) == set()


def test_comments_in_a_script_are_undone_and_its_own_lines_are_no_figures() -> None:
    script = "#!/bin/bash\nset -e\n" + "".join(f"# {line}\n" for line in LOADED.splitlines()) + "./mlc --loaded_latency\nexit 0\n"  # fmt: skip
    assert values(parse(script, "mlc"), metric="latency") == [106.63, 98.94, 65.25]


@pytest.mark.parametrize(
    ("text", "tool", "count"),
    [
        (SENDRECV[SENDRECV.index("#bytes") :], "imb", 12),
        ("<p># OSU MPI latency Test\n# Size Latency (us)\n0 1.23\n", "osu", 1),
        (LATENCY.replace("# OSU", "OSU"), "osu", 3),
        (LATENCY[LATENCY.index("# Size") :], "osu", 3),
        ("node distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n", "numactl", 4),
        ("Cycles:\t\t\t123\nTime:\t\t\t1.0 sec\nMByte/s:\t\t12.00\nCycles per update:\t0.500000\nCycles per cacheline:\t4.100000\n", "likwid_bench", 5),
    ],
)  # fmt: skip
def test_extracts_are_known_without_their_heads(text: str, tool: str, count: int) -> None:
    assert len(parse(text, tool).measurements.rows) == count


# --- MLC -----------------------------------------------------------------------------------------------------

FULL = """\
Intel(R) Memory Latency Checker - v3.9a
Measuring idle latencies (in ns)...
\t\tNuma node
Numa node\t     0\t
       0\t  73.8\t

Measuring Peak Injection Memory Bandwidths for the system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
ALL Reads        :\t17616.6\t
3:1 Reads-Writes :\t17616.7\t
2:1 Reads-Writes :\t17616.8\t
1:1 Reads-Writes :\t17616.9\t
Stream-triad like:\t17616.5\t
"""


@pytest.mark.parametrize(
    "note",
    ["# you can also run ./mlc --latency_matrix alone\n", "$ ./mlc --latency_matrix was what I ran first\n"],
)
def test_a_sentence_that_names_mlc_is_no_command_of_what_stands_below(note: str) -> None:
    parsed = parse(note + FULL, "mlc")

    assert "command_line" not in parsed.facts
    assert "mode" not in parsed.facts
    assert parsed.tables["measurements"] == parse(FULL, "mlc").tables["measurements"]


def test_a_comment_between_the_parts_of_a_run_does_not_split_it() -> None:
    head, title, rest = FULL.partition("Measuring Peak")
    parsed = parse(f"{head}# mlc --peak_injection_bandwidth\n{title}{rest}", "mlc")

    assert len(parsed.tables["runs"].rows) == 1
    assert parsed.tables["measurements"] == parse(FULL, "mlc").tables["measurements"]
    assert "no_banner" not in flags(parsed)


# --- log keepers ---------------------------------------------------------------------------------------------


def test_lines_kept_as_json() -> None:
    lines = LATENCY.splitlines()
    whole = parse(LATENCY, "osu").tables
    for kept in (
        json.dumps({"data": lines}),
        json.dumps({"data": lines}, indent=2),
        json.dumps([{"pod": "a", "output": LATENCY}]),
        json.dumps({"rc": 0, "stdout": LATENCY, "stdout_lines": lines}),
        "".join(json.dumps({"log": line + "\n", "stream": "stdout"}) + "\n" for line in lines),
        json.dumps([{"level": "info", "msg": line} for line in lines]),
    ):
        assert parse(kept, "osu").tables == whole, kept


def test_fio_json_in_a_string_of_another_json() -> None:
    text = decode((FIXTURES / "fio/jsonplus_randrw.out").read_bytes())
    assert parse(json.dumps({"stdout": text}), "fio").tables == parse(text, "fio").tables


# --- lscpu ---------------------------------------------------------------------------------------------------


def test_the_architecture_of_something_else_takes_none_from_the_machine() -> None:
    text = (FIXTURES / "lscpu/list.out").read_text()
    whole = get_parser("lscpu").parse(text, {})
    parsed = parse("Package: x\nArchitecture:\tarm64\n" + "line of a log\n" * 300 + text, "lscpu")

    assert parsed.facts["architecture"] == whole.facts["architecture"] != "arm64"
    assert parsed.tables == whole.tables


# --- what is not read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "BabelStream\nVersion: 4.0\nFunction    MBytes/sec  Min (sec)   Max         Average\nCopy        784632.1    0.00068     0.00070     0.00069\n",
        "tinymembench v0.4.9 (simple benchmark for memory throughput and latency)\n C copy backwards : 5313.0 MB/s (2.8%)\n",
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n102400.00 MiB transferred (11943.41 MiB/sec)\n",
        "IOR-3.3.0: MPI Coordinated Test of Parallel I/O\nMax Write: 4210.52 MiB/sec (4415.05 MB/sec)\n",
        "MPI_ID  Function    Best Rate MB/s  Avg time\n0  Copy:  1000.0  0.1\n",
        "#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n 65536 1000 11000.0 11000.0 0.17\n",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong\n 8 2 float sum -1 20.1 0.00 0.00 0\n",
    ],
)  # fmt: skip
def test_tools_that_are_not_read_yet_are_named_with_what_would_do(text: str) -> None:
    with pytest.raises(ParseError) as error:
        guess_parsers(text)
    assert "not read yet" in str(error.value)
    assert "parse table" in error.value.hint
