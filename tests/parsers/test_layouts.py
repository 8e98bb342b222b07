"""Layouts that nobody sent yet, but that people will paste: each number that is read is right, or its line is
flagged `unread`."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from parsers import get_parser, guess_parsers
from parsers.measurement import Parsed
from parsers.text import number, scaled

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def parse(text: str, tool: str) -> Parsed:
    assert guess_parsers(text) == (tool,)
    return get_parser(tool).parse(text, {})


def values(parsed: Parsed, metric: str, **labels: object) -> list[float]:
    found = (row for row in parsed.measured() if row.metric == metric)
    return [row.value for row in found if all(row.get(name) == value for name, value in labels.items())]


def flags(parsed: Parsed) -> set[str]:
    return {flag.id for flag in parsed.flags}


# --- numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "value"),
    [("145,200.4", 145200.4), ("1,234,567.25", 1234567.25), ("-1,234.5", -1234.5), ("203,58", 203.58),
     ("1,234", None), ("1,23,456.7", None), ("12,34.5", None), ("1.234,5", None), ("1,234.", None)],
)  # fmt: skip
def test_grouped_thousands_are_read_where_they_can_be_nothing_else(word: str, value: float | None) -> None:
    assert number(word) == value
    assert scaled(word, 1e6) == (None if value is None else value * 1e6)


# --- MLC ---------------------------------------------------------------------------------------------------

LOADED = (
    "Intel(R) Memory Latency Checker - v3.11b\nCommand line parameters: --loaded_latency -W3\n\nMeasuring Loaded Latencies for the system\n"
    "Using 3:1 Read-Write traffic type\nInject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n==========================\n"
    " 00000\t203.58\t 145200.4\n 00002\t201.10\t 144200.4\n"
)


def test_mlc_with_grouped_thousands() -> None:
    parsed = parse(LOADED.replace("145200", "145,200").replace("144200", "144,200"), "mlc")

    assert values(parsed, "bandwidth") == [145200.4e6, 144200.4e6]


def test_a_bandwidth_of_mlc_with_apostrophes_is_unread() -> None:
    text = "Intel(R) Memory Latency Checker - v3.10\n\nMeasuring Peak Injection Memory Bandwidths for the system\nALL Reads        :\t93'339.7\n3:1 Reads-Writes :\t12345.6\n"
    parsed = parse(text, "mlc")

    assert values(parsed, "bandwidth") == [12345.6e6]
    assert "unread" in flags(parsed)


@pytest.mark.parametrize("row", [" 00000\t203.58\t *********", " 00000\t203.58\t 145.200,4", "[10:22:33]  00000\t203.58\t 145200.4"])  # fmt: skip
def test_a_row_of_mlc_that_cannot_be_read_is_unread_and_no_end_of_the_text(row: str) -> None:
    parsed = parse(LOADED.replace("-W3", "-W3 -d0").replace(" 00000\t203.58\t 145200.4", row), "mlc")

    assert values(parsed, "latency") == [201.1]
    assert flags(parsed) == {"unread"}


# --- STREAM ------------------------------------------------------------------------------------------------

STREAM = (FIXTURES / "stream/stream_omp2.out").read_text()


def test_an_array_size_with_grouped_thousands_is_not_cut_at_the_comma() -> None:
    size = get_parser("stream").parse(STREAM, {}).facts["array_size"]
    assert parse(STREAM.replace(f"= {size} ", f"= {size:,} "), "stream").facts["array_size"] == size


def test_a_column_that_stream_does_not_have_is_one_column() -> None:
    head, *rows = (line for line in STREAM.split("\n") if line[:5] in ("Funct", "Copy:", "Scale", "Add: ", "Triad"))
    more = STREAM
    for line in rows:
        more = more.replace(line, f"{line}     0.000123")
    parsed = parse(more.replace(head, f"{head}   Std dev"), "stream")

    assert parsed.measurements == get_parser("stream").parse(STREAM, {}).measurements
    assert flags(parsed) == flags(get_parser("stream").parse(STREAM, {}))


def test_a_markdown_table_of_stream_is_known() -> None:
    text = "| Function | Best Rate MB/s | Avg time | Min time | Max time |\n|---|---:|---:|---:|---:|\n| Copy: | 41234.5 | 0.016012 | 0.016001 | 0.016123 |\n"
    assert values(parse(text, "stream"), "bandwidth") == [41234.5e6]


def test_the_arrays_of_stream_over_mpi_are_the_aggregate() -> None:
    text = STREAM.replace("Array size =", "Total Aggregate Array size =").replace("5.10 $", "5.10 MPI $")
    assert parse(text, "stream").facts["array_size"] == parse(STREAM, "stream").facts["array_size"]


# --- IMB ---------------------------------------------------------------------------------------------------

IMB = (FIXTURES / "imb/pingpong_default.out").read_text()


@pytest.mark.parametrize(
    ("part", "program"),
    [
        ("MPI-2 part", "IMB-EXT"),
        ("MPI-IO partn", "IMB-IO"),
        ("MPI-NBC part", "IMB-NBC"),
        ("MPI-RMA part", "IMB-RMA"),
    ],
)
def test_the_parts_of_imb_by_their_titles(part: str, program: str) -> None:
    assert parse(IMB.replace("MPI-1 part", part), "imb").facts["program"] == program


def test_stars_where_a_figure_was_too_wide_are_unread() -> None:
    *_, row = (line for line in IMB.split("\n") if line.startswith("      4194304"))
    size, repetitions, _, _ = row.split()
    parsed = parse(IMB.replace(row, f"      {size}          {repetitions}***********"), "imb")

    assert flags(parsed) >= {"unread"}
    assert values(parsed, "time", message_size=int(size)) == []


# --- fio ---------------------------------------------------------------------------------------------------

FIO = (FIXTURES / "fio/normal_randrw.out").read_text()


def test_decimal_commas_of_fio_are_read() -> None:
    lines = FIO.split("\n")
    comma = [line if "total=" in line or "(g=" in line or line.startswith("fio-") else _comma(line) for line in lines]
    assert comma != lines

    assert parse("\n".join(comma), "fio").measurements == parse(FIO, "fio").measurements


def _comma(line: str) -> str:
    digits = range(1, len(line) - 1)
    cells = {i for i in digits if line[i] == "." and line[i - 1].isdigit() and line[i + 1].isdigit()}
    return "".join("," if i in cells else char for i, char in enumerate(line))


def test_a_figure_of_fio_that_cannot_be_read_is_unread() -> None:
    text = "r: (groupid=0, jobs=1): err= 0: pid=1: Sun Dec  5 00:54:06 2021\n  read: IOPS=300, BW=1200KiB/s (1229kB/s)(11.7?iB/10000msec)\n    clat (usec): min=100, max=900, avg=****, stdev=10.00\n     issued rwts: total=3000,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    parsed = parse(text, "fio")

    assert [flag.text[0] for flag in parsed.flags if flag.id == "unread"] == ["2"]
    assert "no_io" not in flags(parsed)
    assert values(parsed, "clat", statistic="max") == [9e5]


# --- the machine -------------------------------------------------------------------------------------------

NUMACTL = "available: 1 nodes (0)\nnode 0 cpus: {}\nnode 0 size: 1000 MB\nnode 0 free: 900 MB\nnode distances:\nnode   0 \n  0:  10 \n"


def test_a_list_of_cpus_that_was_wrapped_is_whole_or_unread() -> None:
    cpus = [str(cpu) for cpu in range(64)]
    wrapped = f"{' '.join(cpus[:23])}\n{' '.join(cpus[23:40])}\n{' '.join(cpus[40:])}"
    assert values(parse(NUMACTL.format(wrapped), "numactl"), "cpus") == [64]

    torn = " ".join(cpus)
    parsed = parse(NUMACTL.format(f"{torn[:60]}\n{torn[60:]}"), "numactl")  # 2|3
    assert torn[59:61].isdigit()
    assert values(parsed, "cpus") == []
    assert "unread" in flags(parsed)


def test_a_distance_that_was_cut_in_the_middle_is_left_out() -> None:
    parsed = parse(NUMACTL.format("0 1").removesuffix("0 \n") + "\n", "numactl")  # 1 of 10: the least is 10

    assert values(parsed, "distance") == []
    assert "truncated" in flags(parsed)


def test_lscpu_in_german_and_sizes_with_a_decimal_comma() -> None:
    german = "Architektur:                         x86_64\nCPU(s):                              16\nListe der Online-CPU(s):             0-15\nThread(s) pro Kern:                  2\nKern(e) pro Sockel:                  8\nSockel:                              1\n"
    assert parse(german, "lscpu").facts["cores_per_socket"] == 8

    caches = "NAME ONE-SIZE ALL-SIZE WAYS TYPE        LEVEL  SETS PHY-LINE COHERENCY-SIZE\nL1d       32K     128K    8 Data            1    64        1             64\nL2       1,3M       5M   20 Unified         2  1024        1             64\n"
    assert values(parse(caches, "lscpu"), "size_each", cache="L2") == [1.3 * 2**20]


# --- lines that a mail broke -------------------------------------------------------------------------------


def broken(text: str, width: int) -> str:
    """Break lines at blanks, as mails do."""
    return "\n".join(part for line in text.split("\n") for part in (textwrap.wrap(line, width, drop_whitespace=False, break_long_words=False) or [""]))  # fmt: skip


def test_rows_of_imb_that_a_mail_broke_are_joined() -> None:
    head = "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec"
    rows = "".join(
        f"{2**i:13} {1000:12} {1.01 * i:12.2f} {1.02 * i:12.2f} {1.015 * i:12.2f} {2**i / i:12.2f}\n"
        for i in range(2, 9)
    )
    text = f"{IMB.partition('# Benchmarking')[0]}# Benchmarking Sendrecv\n# #processes = 2\n{head}\n{rows}\n# All processes entering MPI_Finalize\n"
    assert broken(text, 72) != text

    assert parse(broken(text, 72), "imb").measurements == parse(text, "imb").measurements


@pytest.mark.parametrize(("name", "width"), [("allreduce_full", 60), ("ibcast", 72)])
def test_rows_of_osu_that_a_mail_broke_are_joined(name: str, width: int) -> None:
    text = (FIXTURES / f"osu/{name}.out").read_text()
    assert broken(text, width) != text

    assert parse(broken(text, width), "osu").measurements == parse(text, "osu").measurements


C2C = (
    "Intel(R) Memory Latency Checker - v3.11b\nCommand line parameters: --c2c_latency\n\nMeasuring cache-to-cache transfer latency (in ns)...\n"
    "Local Socket L2->L2 HIT  latency\t65.6\nLocal Socket L2->L2 HITM latency\t66.1\n"
    + "".join(
        f"Remote Socket L2->L2 HITM latency (data address homed in {side} socket)\n\t\t\tReader Numa Node\nWriter Numa Node     0\t     1\t\n"
        f"            0\t     -\t {first}\t\n            1\t {second}\t     -\t\n"
        for side, first, second in (("writer", 132.3, 131.9), ("reader", 133.4, 134.5))
    )
)


def test_titles_of_mlc_that_a_mail_broke_still_name_their_tables() -> None:
    assert parse(broken(C2C, 66), "mlc").measurements == parse(C2C, "mlc").measurements

    lost = parse(C2C.replace("homed in reader socket", "…"), "mlc")
    assert sorted(values(lost, "latency")) == [65.6, 66.1, 131.9, 132.3]
    assert "unread" in flags(lost)


def test_a_local_latency_of_mlc_that_cannot_be_read_is_unread() -> None:
    assert "unread" in flags(parse(C2C.replace("65.6", "****"), "mlc"))


@pytest.mark.parametrize("tool", ["imb", "osu"])
def test_a_row_with_one_figure_that_cannot_be_read_is_unread(tool: str) -> None:
    text = (FIXTURES / {"imb": "imb/multi0_np4.out", "osu": "osu/latency.out"}[tool]).read_text()
    row = [line for line in text.split("\n") if re.match(r"\s*\d+\s+.*\.\d\d$", line)][3]
    figure = re.findall(r"\d+\.\d\d", row)[0]

    parsed = parse(text.replace(row, row.replace(figure, f"{figure[:-1]}?")), tool)

    assert "unread" in flags(parsed)
    assert row.split()[0] in next(flag.text for flag in parsed.flags if flag.id == "unread")


def test_flags_of_lscpu_that_a_mail_broke_do_not_end_it() -> None:
    text = (FIXTURES / "lscpu/list.out").read_text()
    assert broken(text, 72) != text

    assert parse(broken(text, 72), "lscpu").measurements == parse(text, "lscpu").measurements
    assert "unread" in flags(parse(re.sub(r"(L2[^:]*: *)\S+", r"\1****", text), "lscpu"))
