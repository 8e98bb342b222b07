"""`pinsweep parse` as a user meets it: a folder of old outputs becomes a result file that everything works on."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import tarfile
from pathlib import Path

import pytest

from orchestrator.store.result_file import open_result
from reports.export.record import of_run
from reports.report.all_runs import command_text
from reports.results.load import load
from tests.conftest import Cli

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CORPUS = Path(os.environ.get("PINSWEEP_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))

TABLE = "threads  rate\n1  5000\n2  9800\n4  15000\n"


def stream(threads: int, rate: float) -> str:
    rows = "".join(f"{k}:  {rate:.1f}  0.16  0.16  0.16\n" for k in ("Copy", "Scale", "Add", "Triad"))
    return (
        "STREAM version $Revision: 5.10 $\n"
        f"Number of Threads requested = {threads}\nNumber of Threads counted = {threads}\n"
        f"Function    Best Rate MB/s  Avg time     Min time     Max time\n{rows}"
        "Solution Validates: avg error less than 1.000000e-13 on all three arrays\n"
    )


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Outputs of two nodes, two repeats each, and a file that is none."""
    folder = tmp_path / "logs"
    for slower, node in enumerate(("n001", "n002")):
        (folder / node).mkdir(parents=True)
        for threads in (1, 2):
            for run in (1, 2):
                text = stream(threads, (1000.0 - 10 * slower) * threads + run)
                (folder / node / f"stream-t{threads}-run{run}.txt").write_text(text)
    (folder / "README").write_text("what these are\n")
    return folder


def cells(path: Path) -> list[tuple[str, int]]:
    with open_result(path) as result:
        cells = {s.cell.point_id: s.cell for s in result.cells()}
        return [(cells[r.point_id].describe(), r.repeat) for r in result.runs()]


def test_a_folder_becomes_cells_with_the_axes_of_its_file_names(pinsweep: Cli, logs: Path, tmp_path: Path) -> None:
    done = pinsweep("parse", "logs", "-o", "old.db", "--axis", "node=(n[0-9]+)", "--axis", "repeat=run([0-9]+)")

    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "skipped logs/README: not the output of a known tool" in done.stderr
    assert "8 runs of 8 texts taken into old.db" in done.stderr
    assert sorted(cells(tmp_path / "old.db")) == [
        (f"node={node} threads={threads}", repeat)
        for node in ("n001", "n002")
        for threads in (1, 2)
        for repeat in (1, 2)
    ]
    shown = pinsweep("show", "old.db")
    assert "GB/s" in shown.stdout
    table = pinsweep("export", "old.db", "--shape", "wide")
    assert "node" in table.stdout.split("\n")[0].split(",")


def test_texts_that_tell_the_same_are_never_taken_for_repeats(pinsweep: Cli, logs: Path, tmp_path: Path) -> None:
    done = pinsweep("parse", "logs", "-o", "old.db")

    assert '--axis "repeat=run([0-9]+)"' in done.stderr
    found = cells(tmp_path / "old.db")
    assert len({cell for cell, _ in found}) == 8
    assert ("source=n001/stream-t1-run1.txt threads=1", 1) in found


def test_taking_in_again_adds_what_is_new(pinsweep: Cli, logs: Path, tmp_path: Path) -> None:
    pinsweep("parse", "logs/n001", "-o", "old.db")

    again = pinsweep("parse", "logs", "-o", "old.db")

    assert "4 runs of 8 texts taken into old.db, 4 runs were there already" in again.stderr
    assert len(cells(tmp_path / "old.db")) == 8
    (logs / "n002" / "new.txt").write_text(stream(4, 4000.0))
    assert "1 run of 9 texts" in pinsweep("parse", "logs", "-o", "old.db").stderr


def test_repeats_go_on_counting(pinsweep: Cli, logs: Path, tmp_path: Path) -> None:
    repeat = ("--axis", "repeat=run([0-9]+)")
    pinsweep("parse", "logs/n001/stream-t1-run1.txt", "-o", "a.db", *repeat)

    pinsweep("parse", "logs/n001/stream-t1-run2.txt", "-o", "a.db", *repeat)

    assert cells(tmp_path / "a.db") == [("threads=1", 1), ("threads=1", 2)]


def test_each_part_of_a_text_has_the_repeats_of_its_own(called: Cli, tmp_path: Path) -> None:
    """The parts of run1.txt and of run2.txt were cells of one run each."""
    line = "-" * 61 + "\n"
    for n in (1, 2):
        (tmp_path / f"run{n}.txt").write_text("".join(line + stream(1, rate + n) + line for rate in (900, 950)))

    called("parse", "run1.txt", "run2.txt", "-o", "a.db", "--axis", "repeat=run([0-9]+)")

    assert sorted(cells(tmp_path / "a.db")) == [(f"source=part {k} threads=1", n) for k in (1, 2) for n in (1, 2)]


def test_the_same_bytes_from_two_nodes_are_two_runs(pinsweep: Cli, logs: Path, tmp_path: Path) -> None:
    for node in ("n001", "n002"):
        (logs / node / "same.txt").write_text(stream(8, 8000.0))

    pinsweep("parse", "logs/n001/same.txt", "logs/n002/same.txt", "-o", "a.db", "--axis", "node=(n[0-9]+)")

    assert cells(tmp_path / "a.db") == [("node=n001 threads=8", 1), ("node=n002 threads=8", 1)]


def test_what_cannot_be_read_is_said_file_by_file_and_the_rest_is_taken(
    pinsweep: Cli, logs: Path, tmp_path: Path
) -> None:
    done = pinsweep("parse", "logs/README", "logs/n001/stream-t1-run1.txt", "-o", "a.db")

    assert done.returncode == 1
    assert "error: logs/README: not the output of a known tool: 'what these are'" in done.stderr
    assert len(cells(tmp_path / "a.db")) == 1
    assert pinsweep("parse", "logs/README", "-o", "b.db").returncode == 1
    assert not (tmp_path / "b.db").exists()
    assert pinsweep("parse", "nosuch.txt", "logs").returncode == 2


def test_an_archive_and_a_glob_give_what_the_folder_gives(pinsweep: Cli, logs: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "logs.tar.gz", "w:gz") as archive:
        archive.add(logs, "logs")
    axes = ("--axis", "node=(n[0-9]+)", "--axis", "repeat=run([0-9]+)")
    pinsweep("parse", "logs", "-o", "folder.db", *axes)

    packed = pinsweep("parse", "logs.tar.gz", "-o", "archive.db", *axes)
    globbed = pinsweep("parse", "logs/*/*.txt", "-o", "glob.db", *axes)

    assert (packed.returncode, globbed.returncode) == (0, 0)
    assert sorted(cells(tmp_path / "archive.db")) == sorted(cells(tmp_path / "folder.db"))
    assert sorted(cells(tmp_path / "glob.db")) == sorted(cells(tmp_path / "folder.db"))


def test_the_bytes_are_kept(pinsweep: Cli, tmp_path: Path) -> None:
    text = "\ufeff" + stream(2, 2000.0).replace("\n", "\r\n")
    (tmp_path / "windows.txt").write_bytes(text.encode("utf-16"))

    done = pinsweep("parse", "windows.txt", "-o", "w.db")

    assert done.returncode == 0, done.stderr
    with open_result(tmp_path / "w.db") as result:
        assert result.output(1) == text.encode("utf-16")
        (record,) = result.runs()
        assert result.parsed(record, result.cells()[0].cell).facts["threads"] == 2


@pytest.mark.parametrize(("iodepth", "words"), [(10**20, []), (4, ["--set", f"asked={10**20}"])])
def test_an_option_of_more_than_64_bits_is_kept_as_it_is_written(
    pinsweep: Cli, tmp_path: Path, iodepth: int, words: list[str]
) -> None:
    text = (FIXTURES / "fio" / "normal_randrw.out").read_text()
    (tmp_path / "f.txt").write_text(re.sub(r"iodepth=\d+", f"iodepth={iodepth}", text))

    pinsweep("parse", "f.txt", *words, "-o", "f.db")

    with open_result(tmp_path / "f.db") as result:
        (stored,) = result.cells()
    assert str(10**20) in stored.cell.options.values()
    assert pinsweep("show", "f.db").returncode == 0


def test_runs_of_one_text_that_tell_the_same_are_no_texts(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text(MATRIX + MATRIX.replace("84.2", "84.1"))
    (tmp_path / "one.txt").write_text(MATRIX.replace("85.0", "84.5"))

    both = pinsweep("parse", "two.txt", "one.txt", "-o", "s.db").stderr
    alone = pinsweep("parse", "two.txt", "-o", "t.db").stderr

    assert "note     3 runs of 2 texts tell the same options as another (e.g. two.txt, part 1)" in both
    assert "3 runs of 2 texts taken into s.db" in both
    assert "note     2 runs of 1 text tell the same options as another" in alone


MATRIX = """\
Intel(R) Memory Latency Checker - v3.9
Measuring idle latencies (in ns)...
\t\tNuma node
Numa node\t     0\t     1\t
       0\t  85.0\t 136.3\t
       1\t 137.2\t  84.2\t

"""


def test_different_osu_benchmarks_are_no_repeats_of_one_cell(pinsweep: Cli, tmp_path: Path) -> None:
    """Five texts of five benchmarks were said to tell the same, with what to do for repeats."""
    texts = sorted((FIXTURES / "osu").glob("*.out"))

    said = pinsweep("parse", *map(str, texts), "-o", "s.db").stderr
    again = pinsweep("parse", str(texts[0]), "--set", "copy=1", "-o", "s.db").stderr

    assert "tell the same" not in said + again
    with open_result(tmp_path / "s.db") as result:
        found = [stored.cell.options["benchmark"] for stored in result.cells()]
    assert (len(found), len(set(found))) == (len(texts) + 1, len(texts))


def test_command_lines_that_differ_are_where_the_note_says(pinsweep: Cli, tmp_path: Path) -> None:
    for name, words in (("a", "taskset -c 0 ./stream_c.exe"), ("b", "numactl -N 1 ./stream_c.exe")):
        (tmp_path / f"{name}.txt").write_text(f"$ {words}\n{stream(2, 2000.0)}")

    said = pinsweep("parse", "a.txt", "b.txt", "-o", "s.db").stderr

    (words,) = re.findall(r"Their command lines differ: `pinsweep (show) RESULT RUN` prints that of a run", said)
    assert "numactl -N 1" in pinsweep(words, "s.db", "2").stdout


def test_of_a_captured_run_nothing_is_said_that_nobody_recorded(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(stream(2, 2000.0))
    pinsweep("parse", "s.txt", "-o", "s.db")

    shown = pinsweep("show", "s.db", "1").stdout
    (listed,) = pinsweep("show", "s.db", "--runs").stdout.splitlines()[1:]

    assert re.search(r"^imported     \S+$", shown, re.M)
    assert "\ncommand      not recorded\n" in shown
    assert not re.search("took|exit", shown)
    assert listed.split()[:4] == ["1", "taken", "in", "–"]


def test_standard_input_and_json(pinsweep: Cli) -> None:
    done = pinsweep("parse", "-", "--format", "json", input=stream(2, 2000.0))

    rows = json.loads(done.stdout)["measurements"]
    assert {
        "file": "-",
        "run": 1,
        "kernel": "triad",
        "metric": "bandwidth",
        "unit": "B/s",
        "value": 2e9,
    } in rows


def test_a_table_with_named_columns(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(TABLE)
    words = ("parse", "table", "t.txt", "--tool", "stream", "--columns", "threads, local:bandwidth[MB/s]")

    done = pinsweep(*words, "-o", "t.db")

    assert done.returncode == 0, done.stderr
    assert cells(tmp_path / "t.db") == [(f"place=local threads={n}", 1) for n in (1, 2, 4)]
    assert "9.80" in pinsweep("show", "t.db").stdout
    printed = pinsweep(*words).stdout
    assert "t.txt place=local threads=2\n" in printed
    assert "9.8 GB/s" in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["t.txt", "-o", "t.db", "--axis", "node"], "'node' is not NAME=VALUE"),
        (["t.txt", "-o", "t.db", "--axis", "host=(.)"], "'host' is a column that pinsweep fills itself"),
        (["t.txt", "-o", "t.db", "--axis", "n=("], "is not a regular expression"),
        (["t.txt", "-o", "t.db", "--axis", "n=(a)(b)"], "has 2 groups"),
        (["t.txt", "-o", "t.db", "--set", "repeat=1"], "all files cannot be the same repeat"),
        (["t.txt", "--axis", "n=(.)"], "name it with -o"),
        (["t.txt", "--tool", "command", "--set", "metrics=x"], "metrics: is not a mapping"),
        (["table", "t.txt", "--tool", "stream"], "a table needs its columns"),
        (["table", "t.txt", "--columns", "threads, bandwidth[MB/s]"], "--tool"),
        (["t.txt", "--columns", "threads"], "use --tool with --columns"),
        (
            ["table", "t.txt", "--tool", "stram", "--columns", "threads, bandwidth[MB/s]"],
            "no parser of that name",
        ),
        (
            ["table", "t.txt", "--tool", "stream", "--columns", "threads, bandwith[MB/s]"],
            "did you mean 'bandwidth'?",
        ),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_what_cannot_be_meant(pinsweep: Cli, tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "t.txt").write_text(TABLE)

    done = pinsweep("parse", *words)

    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "t.db").exists()


def test_an_axis_that_a_name_does_not_hold(pinsweep: Cli, logs: Path, tmp_path: Path) -> None:
    shutil.copy(logs / "n001" / "stream-t1-run1.txt", logs / "other.txt")

    done = pinsweep("parse", "logs", "-o", "old.db", "--axis", "node=(n[0-9]+)")

    assert done.returncode == 1
    assert "error: logs/other.txt: --axis node: 'n[0-9]+' is not in the name".replace("'n", "'(n").replace("+'", "+)'") in done.stderr  # fmt: skip
    assert len(cells(tmp_path / "old.db")) == 8
    assert "8 runs of 8 texts taken into old.db" in done.stderr


def test_facts_of_the_machine_are_no_runs(pinsweep: Cli, logs: Path, tmp_path: Path) -> None:
    text = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 100 MB\nnode 0 free: 50 MB\nnode 1 cpus: 2 3\n"
    text += "node 1 size: 100 MB\nnode 1 free: 50 MB\nnode distances:\nnode   0   1 \n  0:  10  21 \n  1:  21  10 \n"
    (tmp_path / "numa.txt").write_text(text)

    printed = pinsweep("parse", "numa.txt")
    kept = pinsweep("parse", "numa.txt", "logs/n001/stream-t1-run1.txt", "-o", "a.db")

    assert "node_count 2" in printed.stdout
    assert kept.returncode == 0
    assert "1 run of 1 text taken into a.db" in kept.stderr
    with open_result(tmp_path / "a.db") as result:
        assert result.sessions()[0].facts["numa_distances"] == [
            [0, 0, 10],
            [0, 1, 21],
            [1, 0, 21],
            [1, 1, 10],
        ]
        assert len(result.runs()) == 1

    alone = pinsweep("parse", "numa.txt", "-o", "b.db")
    assert alone.returncode == 1
    assert alone.stderr.splitlines() == [
        "1 text describes a machine and no run: kept in a file that holds runs; without -o it is printed",
        "nothing was taken",
    ]
    assert not (tmp_path / "b.db").exists()

    pinsweep("parse", "logs/n001/stream-t1-run1.txt", "-o", "c.db")
    later = pinsweep("parse", "numa.txt", "-o", "c.db")
    assert later.returncode == 0
    assert later.stderr.splitlines() == ["1 text describes a machine: kept beside the runs of c.db"]
    with open_result(tmp_path / "c.db") as result:
        assert [bool(session.facts.get("numa_distances")) for session in result.sessions()] == [False, True]
    assert load([tmp_path / "c.db"]).measured == ()


def test_commands_are_shown_as_they_were_typed(pinsweep: Cli, tmp_path: Path) -> None:
    typed = "sudo ./mlc  --idle_latency | awk '{print $5}'"
    printed = "Intel(R) Memory Latency Checker - v3.9\nEach iteration took 230.3 core clocks (\t82.3\tns)\n"
    (tmp_path / "t.txt").write_text(f"$ {typed}\n{printed}")
    pinsweep("parse", "t.txt", "-o", "t.db")

    assert f"command      {typed}\n" in pinsweep("show", "t.db", "1").stdout
    (run,) = load([tmp_path / "t.db"]).runs
    assert command_text(run) == typed
    assert of_run(run)["started_utc"] is None


SHARED_XML = """<topology version="2.0"><object type="Machine" os_index="0" cpuset="0xf" complete_cpuset="0xf" allowed_cpuset="0x3" nodeset="0x3"
 complete_nodeset="0x3" allowed_nodeset="0x1">
<object type="Package" os_index="0" cpuset="0x3" nodeset="0x1"><object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" local_memory="1073741824"/>
<object type="Core" os_index="0" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
<object type="Core" os_index="1" cpuset="0x2"><object type="PU" os_index="1" cpuset="0x2"/></object></object>
<object type="Package" os_index="1" cpuset="0xc" nodeset="0x2"><object type="NUMANode" os_index="1" cpuset="0xc" nodeset="0x2" local_memory="1073741824"/>
<object type="Core" os_index="2" cpuset="0x4"><object type="PU" os_index="2" cpuset="0x4"/></object>
<object type="Core" os_index="3" cpuset="0x8"><object type="PU" os_index="3" cpuset="0x8"/></object></object></object></topology>"""


def test_of_a_machine_is_said_what_is_counted(pinsweep: Cli, tmp_path: Path) -> None:
    """Of 64 PUs in 8 packages a job had 16: "packages 2, pus 16", and nothing more; 67 040 501 pages were 67 040 000."""
    (tmp_path / "m.xml").write_text(SHARED_XML)
    (tmp_path / "numastat.txt").write_text(
        "                           node0\nnuma_hit                67040501\nnuma_miss                      0\n"
    )
    (tmp_path / "tree.txt").write_text("Machine (16GB total)\n  Package L#0\n    NUMANode L#0 (P#0 16GB)\n")

    printed = pinsweep("parse", "m.xml", "numastat.txt")
    tree = pinsweep("parse", "tree.txt")
    planned = pinsweep("plan", "quickstart", "--topology", "tree.txt")

    lines = [" ".join(line.split()) for line in printed.stdout.splitlines()]
    assert lines[1:4] == [
        "may_be_used 2 of 4 PUs (CPUs 0-1) and the memory of 1 of 2 NUMA nodes",
        "packages 1",
        "numa_nodes 1",
    ]
    assert "1 0 numa_hit 67 040 501 pages" in lines
    offline = pinsweep("parse", str(FIXTURES / "hwloc" / "cpu5-offline.xml"))
    assert offline.stdout.splitlines()[1].split() == ["offline", "CPU", "5"]
    assert {"  L2 4 MiB", "  memory 1.43 GiB"} < {*offline.stdout.splitlines()}  # a bare 4194304 stood there
    for done in (tree, planned):
        assert "lstopo --of xml machine.xml" in done.stderr


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus of outputs here")
@pytest.mark.slow
def test_the_corpus_is_taken_in_and_drawn(pinsweep: Cli, tmp_path: Path) -> None:
    done = pinsweep("parse", CORPUS / "published" / "fio", CORPUS / "published" / "mlc", "-o", "c.db")

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert len(cells(tmp_path / "c.db")) > 60
    drawn = pinsweep("report", "c.db", "-o", "c.html")
    assert drawn.returncode == 0, drawn.stderr
    page = (tmp_path / "c.html").read_text()
    assert page.count("<svg") > 8
    assert "iodepth" in page
    assert "Loaded latency" in page


SEEDS = CORPUS.parent / "seeds"
needs_seeds = pytest.mark.skipif(not SEEDS.is_dir(), reason="no seeds beside the corpus")


def loaded(rows: dict[int, float]) -> str:
    table = "".join(f"{delay:05}\t{latency:.2f}\t{9000 - latency:.1f}\n" for delay, latency in rows.items())
    return f"Inject Delay\tlatency (ns)\tBandwidth (MB/sec)\n{table}\n"


REPORT = f"""\
# Memory

a. 64B, read only Command "sudo ./mlc --loaded_latency"

{loaded({0: 204.11, 100: 70.81})}
b. 64B, read : write = 3 : 1 Command "sudo ./mlc --loaded_latency -W9"

{loaded({0: 208.72, 100: 75.25})}
c. 256B, read: write = 3:1

Command = "sudo ./mlc --loaded_latency -1256 -W9 "

{loaded({0: 142.48, 100: 86.55})}
# Storage

a. reads

Command "sudo fio --name =read --ioengine=libaio --iodepth=1/4 --rw=randread --bs=4k --direct=1 --numjobs=16"

Iodepth	Bs	Iops min	Iops avg
1	4k	68822	72613
4	4k	129872	132017

b. a mix

 $label Command "sudo fio --name = readwrite --ioengine=libaio -- iodepth=1/4 --rw=randrw --rwmixwrite=30 --bs=4k --direct=1"$

		Iops	Iops
Iodepth	Bs	write	read
1	4k	25119	58587
4	4k	55047	128382

c. writes

Command "sudo fio --name =write --ioengine=libaio --iodepth=1/4 --rw=randwrite --bs=4k --direct=1 --numjobs=16"

Iodepth	Bs	Iops min	Iops avg
1	4k	203365	301050
4	4k	353688	361466
"""


def runs(path: Path) -> dict[str, str]:
    """Return {cell: its command line}."""
    with open_result(path) as result:
        cells = {s.cell.point_id: s.cell for s in result.cells()}
        return {cells[r.point_id].describe(): " ".join(r.argv) for r in result.runs()}


def test_a_whole_report_is_named_cells_of_one_result(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text(REPORT)

    memory = pinsweep("parse", "report.txt", "-o", "r.db")
    storage = pinsweep(
        "parse", "table", "report.txt", "--tool", "fio", "-o", "r.db",
        "--columns", "iodepth, bs, iops.min, iops", "--columns", "iodepth, bs, direction=write:iops, direction=read:iops",
    )  # fmt: skip

    assert (memory.returncode, storage.returncode) == (0, 0), memory.stderr + storage.stderr
    assert "W=R: not given, the default of Intel MLC" in memory.stderr
    found = runs(tmp_path / "r.db")
    assert [c for c in found if "mode=" in c] == [
        "mode=loaded_latency W=R l=64", "mode=loaded_latency W=9 l=64", "mode=loaded_latency W=9 l=256",
    ]  # fmt: skip
    assert found["mode=loaded_latency W=9 l=256"] == "sudo ./mlc --loaded_latency -1256 -W9"
    assert {c.partition(" bs")[0] for c in found if "rw=" in c} == {
        "rw=randread",
        "rw=randrw",
        "rw=randwrite",
    }
    assert len(found) == 9
    assert not any("source=" in cell for cell in found)
    assert all(f"--{cell.split()[0]}" in command for cell, command in found.items() if "rw=" in cell)
    with open_result(tmp_path / "r.db") as result:
        cells = {s.cell.point_id: s.cell for s in result.cells()}
        mixed = [(r, cells[r.point_id]) for r in result.runs() if "randrw" in " ".join(r.argv)]
        rows = [row for run, cell in mixed for row in result.parsed(run, cell).measurements.records()]
    assert [(r["direction"], r["value"]) for r in rows] == [
        ("write", 25119), ("read", 58587), ("write", 55047), ("read", 128382),
    ]  # fmt: skip


PINGPONG = """\
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         {0:.2f}         0.00
      4194304           10       {1:.2f}     {2:.2f}
"""


def test_two_tables_of_one_text_are_two_places_where_their_commands_differ_in_that_alone(
    pinsweep: Cli, tmp_path: Path
) -> None:
    text = (
        "## Latency\n\n### Intrasocket\n\n```\n$ module load impi\n$ mpirun -np 2 hwloc-bind core:0 core:7 ./IMB-MPI1 PingPong\n```\n\nThe output\n```\n"
        + PINGPONG.format(0.19, 351.14, 11391.37)
        + "```\ngave a latency of 0.20 us.\n\n### Intersocket\nHere on cores 0 and 15, in two sockets.\n\n```\n"
        + "$ mpirun -np 2 hwloc-bind core:0 core:15 ./IMB-MPI1 PingPong\n...\n\n"
        + PINGPONG.format(0.49, 731.65, 5467.12)
        + "```\n"
    )
    (tmp_path / "report.md").write_text(text)
    (tmp_path / "same.md").write_text(text.replace("hwloc-bind core:0 core:15 ./IMB", "./other/IMB"))

    for name in ("report", "same"):
        assert pinsweep("parse", f"{name}.md", "-o", f"{name}.db").returncode == 0

    assert runs(tmp_path / "report.db") == {
        "place=Intrasocket benchmark=PingPong np=2": "mpirun -np 2 hwloc-bind core:0 core:7 ./IMB-MPI1 PingPong",
        "place=Intersocket benchmark=PingPong np=2": "mpirun -np 2 hwloc-bind core:0 core:15 ./IMB-MPI1 PingPong",
    }
    assert set(runs(tmp_path / "same.db")) == {
        f"source={n} benchmark=PingPong np=2" for n in ("Intrasocket", "Intersocket")
    }


def test_each_place_of_a_table_has_its_own_command(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text(
        "## One core\n`OMP_NUM_THREADS=1 numactl -N 0 -m 0 ./stream`\n\n## All\n`OMP_NUM_THREADS=$i numactl -N 0 -m 0 ./stream`\n"
        "and remote:\n`OMP_NUM_THREADS=$i numactl -N 0 -m 1 ./stream`\n\n| threads | a | b |\n|---|---|---|\n| 1 | 10 | 8 |\n"
    )

    pinsweep("parse", "table", "t.md", "--tool", "stream", "--columns", "threads, local:bandwidth[GB/s], remote:bandwidth[GB/s]", "-o", "t.db")  # fmt: skip

    assert runs(tmp_path / "t.db") == {
        "place=local threads=1": "OMP_NUM_THREADS=$i numactl -N 0 -m 0 ./stream",
        "place=remote threads=1": "OMP_NUM_THREADS=$i numactl -N 0 -m 1 ./stream",
    }


@needs_seeds
def test_a_published_report_is_taken_in_by_one_command(pinsweep: Cli, tmp_path: Path) -> None:
    for number in ("003", "004"):
        shutil.copy(next(SEEDS.glob(f"{number}_*.txt")), tmp_path / f"{number}.txt")
    fio = "iodepth, bs, size, numjobs, runtime, "

    for words in (
        ("003.txt", "--tool", "stream", "--columns", "threads, local:bandwidth[MB/s], remote:bandwidth[MB/s]", "-o", "3.db"),
        ("004.txt", "--tool", "fio", "-o", "4.db", "--columns", fio + "iops.min, iops.max, iops, disk_util[%], lat[us]",
         "--columns", fio + "direction=write:iops, direction=write:lat[us], direction=read:iops, direction=read:lat[us], disk_util[%]"),
    ):  # fmt: skip
        done = pinsweep("parse", *words)
        assert done.returncode == 0, done.stderr

    third, fourth = runs(tmp_path / "3.db"), runs(tmp_path / "4.db")
    assert len(third) == 22
    assert {cell for cell in third if "np=2" in cell} == {
        f"place={n} benchmark=PingPong np=2" for n in ("Intrasocket", "Intersocket")
    }
    assert [cell for cell in fourth if "mode=" in cell] == [
        f"mode=loaded_latency W={w} l={stride}" for stride in (64, 256) for w in ("R", "9", "7", "8", "6")
    ]
    assert len(fourth) == 40
    assert all(fourth.values())


FIO = '{"fio version": "fio-3.36", "jobs": [{"jobname": "a", "read": {"iops": 5000.0, "total_ios": 5000, "bw_bytes": 20480000}}]}\n'


def test_the_outputs_of_two_tools_in_one_text_are_both_taken(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text(f"# Memory\n{stream(2, 9000.0)}\n# Disk\n{FIO}")

    both = pinsweep("parse", "report.txt", "-o", "both.db")
    again = pinsweep("parse", "stream", "report.txt", "-o", "both.db")
    for tool in ("fio", "stream"):  # the second was told to be there already
        pinsweep("parse", tool, "report.txt", "-o", "one-by-one.db")

    assert both.returncode == 0, both.stderr
    assert "2 runs of 1 text taken into both.db" in both.stderr
    assert "0 runs of 1 text taken into both.db, 1 run was there already" in again.stderr
    assert sorted(cells(tmp_path / "both.db")) == sorted(cells(tmp_path / "one-by-one.db"))
    assert len(cells(tmp_path / "both.db")) == 2


def test_what_is_said_of_the_tables_of_a_report_is_not_said_of_the_outputs_in_it(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text(f"# Memory\n{stream(2, 9000.0)}\n# Disk\n\niodepth  IOPS\n1  5000\n4  9000\n")

    done = pinsweep(
        "parse", "report.txt", "--tool", "fio", "--columns", "iodepth, iops", "--set", "rw=randread",
        "--command", "fio --rw=randread", "-o", "r.db",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "3 runs of 1 text taken into r.db" in done.stderr
    found = runs(tmp_path / "r.db")
    (memory,) = [cell for cell in found if "threads" in cell]
    assert "rw" not in memory
    assert found[memory] == ""
    assert [found[cell] for cell in found if cell != memory] == ["fio --rw=randread"] * 2


def test_a_text_that_an_older_pinsweep_took_is_known(pinsweep: Cli, tmp_path: Path) -> None:
    """Its digest was without the tool."""
    (tmp_path / "s.txt").write_text(stream(2, 9000.0))
    pinsweep("parse", "s.txt", "-o", "s.db")
    said = json.dumps([{}, {}, None, None], sort_keys=True)
    before = hashlib.sha256((tmp_path / "s.txt").read_bytes() + said.encode()).hexdigest()[:32]
    with sqlite3.connect(tmp_path / "s.db") as db:
        ((now,),) = db.execute("SELECT json_extract(seen, '$.digest') FROM run").fetchall()
        db.execute("UPDATE run SET seen = replace(seen, ?, ?)", (now, before))
    db.close()

    again = pinsweep("parse", "s.txt", "-o", "s.db")

    assert now != before
    assert "1 run was there already" in again.stderr
