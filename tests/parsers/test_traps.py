"""Traps in the outputs of tools that no other test file holds."""

from __future__ import annotations

import pytest

from parsers import fio, imb, lscpu, mlc, numactl, stream
from parsers.errors import ParseError

MATRIX = """\
Intel(R) Memory Latency Checker - v3.10
Command line parameters: --latency_matrix

Using buffer size of 200.000MiB
Measuring idle latencies for sequential access (in ns)...
\t\tNuma node
Numa node\t     0\t     1\t     4\t
       0\t  73.8\t 151.1\t 310.0\t
       1\t 150.9\t  74.0\t 420.5\t
"""


def test_a_matrix_need_not_be_square_nor_its_nodes_numbered_on() -> None:
    rows = mlc.parse(MATRIX).measurements.records()

    assert {(r["from"], r["to"]): r["value"] for r in rows} == {
        (0, 0): 73.8, (0, 1): 151.1, (0, 4): 310.0, (1, 0): 150.9, (1, 1): 74.0, (1, 4): 420.5,
    }  # fmt: skip


@pytest.mark.parametrize("head", ["Numa node", "Memory node", "Socket"])
def test_the_head_of_a_matrix_has_several_names(head: str) -> None:
    text = MATRIX.replace("\t\tNuma node\n", f"\t\t{head}\n").replace("Numa node\t", f"{head}\t")
    assert len(mlc.parse(text).measurements.rows) == 6


@pytest.mark.parametrize(
    ("line", "metric"),
    [
        ("Each iteration took 201.2 core clocks ( 80.5    ns)", "core_clocks"),
        ("Each iteration took 186.5 base frequency clocks (\t89.0\tns)", "base_clocks"),
    ],
)
def test_clocks_of_different_clocks_are_different_metrics(line: str, metric: str) -> None:
    text = f"Intel(R) Memory Latency Checker - v3.7\nCommand line parameters: --idle_latency\n\nUsing buffer size of 200.000MiB\n{line}\n"
    found = {str(r["metric"]): r["value"] for r in mlc.parse(text).measurements.records()}
    assert found.keys() == {"latency", metric}
    assert found["latency"] in (80.5, 89.0)


def test_a_full_run_prints_neither_command_nor_buffer() -> None:
    text = "Intel(R) Memory Latency Checker - v3.9\n" + MATRIX[MATRIX.index("Measuring") :]
    parsed = mlc.parse(text)
    assert len(parsed.measurements.rows) == 6
    assert parsed.facts.get("command_line") is None
    assert parsed.facts["tool_version"] == "v3.9"


def test_markdown_eats_the_stars_of_a_notice() -> None:
    text = MATRIX.replace("Measuring", "* Unable to modify prefetchers (try executing 'modprobe msr')\n* So, enabling random access for latency measurements\nMeasuring")  # fmt: skip
    assert {"no_msr", "random_access"} <= {flag.id for flag in mlc.parse(text).flags}


FIO = '{"fio version": "fio-3.33", "jobs": [%s]%s}\n'
READ = '{"jobname": "%s", "groupid": 0, "error": %d, "job options": {"rw": "read"}, "read": {"io_bytes": 4096, "bw_bytes": 409600, "iops": 100.0, "runtime": 10, "total_ios": 1, "lat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}}}'


def test_a_job_that_failed_has_its_errno() -> None:
    parsed = fio.parse(FIO % (READ % ("a", 5), ""))
    assert parsed.has("job_error")


def test_a_job_whose_verify_failed_read_other_data_than_it_wrote() -> None:
    parsed = fio.parse(FIO % (READ % ("a", 84), ""))
    assert parsed.has("validation_failed")
    assert not parsed.has("job_error"), "the same fact, once"
    assert not fio.parse(FIO % (READ % ("a", 5), "")).has("validation_failed")


def test_two_documents_without_anything_between() -> None:
    text = (FIO % (READ % ("a", 0), "")).strip() + (FIO % (READ % ("b", 0), "")).strip()
    assert fio.parse(text).facts["documents"] == 2


@pytest.mark.parametrize("disks", [', "disk_util": []', ""])
def test_disks_may_be_none_or_missing(disks: str) -> None:
    names = {r["name"] for r in fio.parse(FIO % (READ % ("a", 0), disks)).measurements.records()}
    assert names == {"a"}


def test_only_a_banner_is_a_run_that_was_killed() -> None:
    with pytest.raises(ParseError, match="started and printed no result"):
        fio.parse("fio-3.33\n")


def test_the_same_benchmark_once_for_each_number_of_processes() -> None:
    table = "# Benchmarking Allreduce\n# #processes = {n}\n#---\n       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n            4         1000         1.00         2.00         1.50\n"
    rows = imb.parse("".join(table.format(n=n) for n in (2, 4))).measurements.records()
    assert {r["nprocs"] for r in rows if r["metric"] == "time_avg"} == {2, 4}


def test_the_threads_that_were_counted_are_those_that_ran() -> None:
    text = "STREAM version $Revision: 5.10 $\nNumber of Threads requested = 4\nNumber of Threads counted = 8\nFunction    Best Rate MB/s  Avg time     Min time     Max time\n" + "".join(f"{k}:  1000.0  0.16  0.16  0.16\n" for k in ("Copy", "Scale", "Add", "Triad"))  # fmt: skip
    assert stream.parse(text).facts["threads"] == 8


def test_nodes_without_cpus_or_memory() -> None:
    text = "available: 2 nodes (0,8)\nnode 0 cpus: 0 1\nnode 0 size: 100 MB\nnode 0 free: 50 MB\nnode 8 cpus:\nnode 8 size: 0 MB\nnode 8 free: 0 MB\nnode distances:\nnode   0   8 \n  0:  10  50 \n  8:  255  10 \n"
    parsed = numactl.parse(text)
    rows = {(r["node"], r.get("to"), r["metric"]): r["value"] for r in parsed.measurements.records()}
    assert rows[8, None, "cpus"] == 0
    assert rows[8, None, "size"] == 0
    assert (rows[0, 8, "distance"], rows[8, 0, "distance"]) == (50, 255)
    assert parsed.has("asymmetric")


def test_a_node_may_have_no_cpus_in_lscpu() -> None:
    text = "Architecture: x86_64\nThread(s) per core: 1\nNUMA node0 CPU(s): 0-3\nNUMA node1 CPU(s):\nModel name: -\n"
    parsed = lscpu.parse(text)
    assert parsed.tables["nodes"].records() == [
        {"run": 1, "node": 0, "cpus": "0-3"},
        {"run": 1, "node": 1, "cpus": ""},
    ]
    assert "model_name" not in parsed.facts
