"""Outputs that are not whole: what is doubtful in them is marked wherever it is shown, and what is not is left in peace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pinsweep.cli import cli
from reports import show
from reports.checks.audit import Finding, audit
from reports.results.load import load

FIXTURES = Path(__file__).parents[2] / "fixtures"
CUT_MLC = (
    "Intel(R) Memory Latency Checker - v3.11b\nCommand line parameters: --loaded_latency\n\n"
    "Measuring Loaded Latencies for the system\nUsing Read-only traffic type\nInject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n"
    "==========================\n 00000\t1261.27\t  16790.5\n 00002\t1248.66\t  16105.3\n 00008\t1243.62\t  16126.7\n 00015\t\nExiting...\n"
)
IMB = "# Benchmarking PingPong\n# #processes = 2\n#bytes #repetitions t[usec] Mbytes/sec\n0 1000 0.20 0.00\n"


def taken(folder: Path, text: str) -> Path:
    (folder / "a.txt").write_text(text, encoding="utf-8")
    done = CliRunner().invoke(cli, ["parse", str(folder / "a.txt"), "-o", str(folder / "a.db")])
    assert done.exit_code == 0, done.output
    return folder / "a.db"


def told(path: Path) -> list[Finding]:
    return [finding for finding in audit(load([path])) if finding.id == "G16"]


def failed_job(make: Any) -> str:
    document = json.loads(make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1))
    document["jobs"][0]["error"] = 5
    return json.dumps(document)


def test_a_curve_that_was_cut_is_flagged(tmp_path: Path) -> None:
    """Three rows of the most load: "Peak 16.8 GB/s at delay 0" was said of them and nothing else."""
    path = taken(tmp_path, CUT_MLC)

    (finding,) = told(path)
    assert (finding.level, finding.cells[0][1].rpartition("; ")[2]) == (
        "warn",
        "the peak may be higher, the unloaded latency lower",
    )


def test_a_run_that_its_own_output_calls_failed_is_not_listed_as_ok(make: Any, tmp_path: Path) -> None:
    path = taken(tmp_path, failed_job(make))

    (table,) = show.show_runs(path).blocks

    assert [(f.level, f.cells[0][1]) for f in told(path)] == [("warn", "job 'job' failed with errno 5 (EIO)")]
    assert (table.rows[0][1], table.flags) == ("taken in", ("G16",))


def test_of_repeats_only_the_one_at_fault_is_marked_in_the_list(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    whole = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1)
    for text in (whole, failed_job(make), whole):
        maker.add("s", "fio", {"rw": "randread", "bs": "4k", "direct": True}, text)
    path = maker.write()

    (table,) = show.show_runs(path).blocks

    assert table.flags == ("", "G16", "")
    assert told(path)[0].cells[0][1].endswith("(1 of 3 repeats)")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("4194304 out-of-mem.; needed X=   4.501 GB; use flag", "4 MiB was not run"),
        ("262144 time-out.; Time limit is over", "256 KiB and what is larger was not run"),
    ],
)
def test_sizes_that_were_refused_leave_the_others_in_peace(tmp_path: Path, row: str, said: str) -> None:
    path = taken(tmp_path, f"{IMB}{row}\n\n# All processes entering MPI_Finalize\n")

    (finding,) = told(path)
    assert finding.level == "info"
    assert said in finding.cells[0][1]


MATRIX = (
    "Intel(R) Memory Latency Checker - v3.9a\nCommand line parameters: --latency_matrix -r\n\n"
    "Measuring idle latencies (in ns)...\n                Numa node\nNuma node            0       1       2\n"
    "       0         117.4   184.3   561.7\n       1         186.0   117.9   391.0\n"
)


@pytest.mark.parametrize(("topology", "findings"), [("memory-only-node", 0), ("four-node", 1), ("", 1)])
def test_a_node_without_cpus_has_no_row_and_nothing_is_missing(
    make: Any, tmp_path: Path, topology: str, findings: int
) -> None:
    """Of a machine with CXL memory the advice was to take the whole output in: this is the whole output."""
    maker = make.Maker(tmp_path / "a.db")
    maker.topology = (FIXTURES / "hwloc" / f"{topology}.xml").read_text() if topology else ""
    maker.add("m", "mlc", {"mode": "latency_matrix"}, MATRIX)

    found = told(maker.write())

    assert len(found) == findings
    assert all("a NUMA node without CPUs (CXL, HBM) starts no access" in f.todo for f in found)


def test_a_verify_that_fails_is_one_fact(make: Any, tmp_path: Path) -> None:
    """G10 and G16 said the same errno of one job, and G16 to take the whole output in, which was there."""
    document = json.loads(make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1))
    document["jobs"][0]["error"] = 84

    said = {f.id: f for f in audit(load([taken(tmp_path, json.dumps(document))])) if f.level != "info"}

    assert list(said) == ["G10"]
    assert said["G10"].cells[0][1] == ("job 'job' read back other data than it had written (verify): errno 84")


def test_what_to_do_of_a_failed_job_is_not_to_take_in_what_is_there(make: Any, tmp_path: Path) -> None:
    (finding,) = told(taken(tmp_path, failed_job(make)))

    assert finding.todo.startswith("look for the cause")
