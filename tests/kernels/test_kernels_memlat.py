"""memlat prints MLC's tables: read here by the parser that reads MLC's own."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.programs import kernels
from parsers import mlc

Kernel = Callable[[str], Callable[..., "subprocess.CompletedProcess[str]"]]

CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")


def rows(text: str, metric: str) -> list[dict[str, object]]:
    return [row for row in mlc.parse(text).measurements.records() if row["metric"] == metric]


def idle_ns(done: subprocess.CompletedProcess[str]) -> float:
    assert done.returncode == 0, done.stderr
    (row,) = rows(done.stdout, "latency")
    assert row["section"] == "idle_latency"
    return float(str(row["value"]))


def with_load(kernel: Kernel, *arguments: str, rates: int = 1) -> subprocess.CompletedProcess[str]:
    """Run for longer and longer, until all load has been seen: on a busy machine its threads may not get a CPU for a while."""
    for seconds in (0.02, 0.2, 2, 8, 30):
        done = kernel("memlat")(*arguments, f"-t{seconds}")
        if done.returncode:
            break
        seen = [float(str(row["value"])) for row in rows(done.stdout, "bandwidth")]
        if len(seen) >= rates and min(seen) > 10e6:
            break
    return done


def test_memory_is_slower_than_the_first_cache(kernel: Kernel) -> None:
    """Of the first cache the least of some: beside others all takes longer, now and then."""
    run = kernel("memlat")
    first, memory = (
        min(idle_ns(run("--idle_latency", "-t0.05", buffer)) for _ in range(times))
        for buffer, times in (("-b16k", 4), ("-b64m", 1))
    )

    assert first > 0.1
    assert 3 * first < memory


def test_idle_latency_line_is_mlcs_own(kernel: Kernel, version: str) -> None:
    text = kernel("memlat")("--idle_latency", "-b1024", "-t0.05").stdout

    banner = f"pinsweep memlat {version} (MLC-style; not Intel(R) Memory Latency Checker)\n"
    assert text.startswith(f"{banner}Command line parameters: --idle_latency -b1024 -t0.05\n\n")
    assert "\nUsing buffer size of 1.000MiB\n" in text
    assert re.search(
        r"^Each iteration took \d+\.\d (base frequency|core) clocks \(\t\d+\.\d\tns\)$", text, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("given", "mib"), [("-b100000", "97.656"), ("-b1m", "1.000"), ("-b512k", "0.500"), ("-b8", "0.008")]
)
def test_buffer_is_in_kib_or_by_suffix(kernel: Kernel, given: str, mib: str) -> None:
    done = kernel("memlat")("--idle_latency", given, "-t0.01")

    assert f"Using buffer size of {mib}MiB\n" in done.stdout


@two_cpus
def test_loaded_latency_measures_the_delays_of_a_file_in_its_order(kernel: Kernel, tmp_path: Path) -> None:
    delays = tmp_path / "delays.txt"
    delays.write_text("0\n20000\n\n 300\n0\n")

    for seconds in (0.05, 0.05, 0.2, 0.5, 1, 2):  # on a busy machine the load thread may not get its CPU
        done = kernel("memlat")("--loaded_latency", f"-g{delays}", f"-t{seconds}", "-b8m")
        assert done.returncode == 0, done.stderr
        assert [row["delay"] for row in rows(done.stdout, "latency")] == [0, 20000, 300, 0]
        full, slow, some, again = (float(str(row["value"])) for row in rows(done.stdout, "bandwidth"))
        if min(full, again) > 2 * slow and some > 2 * slow:  # a delay slows the load down, and each its own row
            break
    else:
        pytest.fail(f"a delay of 20000 does not slow the load down most:\n{done.stdout}")
    assert "Using Read-only traffic type\n" in done.stdout
    assert re.search(r"^ 00300\t *\d+\.\d\d\t *\d+\.\d$", done.stdout, re.MULTILINE)


@two_cpus
def test_default_delays_are_mlcs(kernel: Kernel) -> None:
    done = kernel("memlat")("--loaded_latency", "-t0.01", "-b1m", f"-c{CPUS[1]}", f"-k{CPUS[0]}")

    usual = [0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000]
    assert [row["delay"] for row in rows(done.stdout, "latency")] == usual
    assert f"# load threads: 1, on CPUs {CPUS[0]}\n" in done.stdout
    assert f"# latency thread: CPU {CPUS[1]}," in done.stdout


@two_cpus
@pytest.mark.parametrize(
    ("mix", "words"),
    [
        ("-R", "Read-only"),
        ("-W2", "2:1 read-write"),
        ("-W3", "3:1 read-write"),
        ("-W4", "3:2 read-write"),
        ("-W5", "1:1 read-write"),
        ("-W6", "0:1 read-nontemporal write"),
        ("-W7", "2:1 read-nontemporal write"),
        ("-W8", "1:1 read-nontemporal write"),
        ("-W9", "3:1 read-nontemporal write"),
        ("-W10", "2:1 read-nontemporal write stream-triad like"),
        ("-W11", "3:1 read-write stream-triad like"),
        ("-W12", "4:1 read-write"),
    ],
)
def test_every_traffic_type_runs_and_is_named(kernel: Kernel, mix: str, words: str) -> None:
    done = with_load(kernel, "--loaded_latency", mix, "-d0", "-b4m", "-l128")

    assert done.returncode == 0, done.stderr
    assert f"\nUsing {words} traffic type\n" in done.stdout
    (row,) = rows(done.stdout, "bandwidth")
    assert 10e6 < float(str(row["value"])) < 2e12


def test_matrices_have_a_row_per_node_with_cpus(kernel: Kernel) -> None:
    latency = kernel("memlat")("--latency_matrix", "-b8m", "-t0.05")
    bandwidth = with_load(kernel, "--bandwidth_matrix", "-b8m", "-W8")

    assert "Measuring idle latencies for random access (in ns)...\n\t\tNuma node\nNuma node\t" in latency.stdout
    assert "Using 1:1 read-nontemporal write traffic type\n" in bandwidth.stdout
    for text, metric in ((latency.stdout, "latency"), (bandwidth.stdout, "bandwidth")):
        cells = rows(text, metric)
        assert len(cells) >= 1
        assert all(float(str(cell["value"])) > 0 for cell in cells)
        assert {cell["from"] for cell in cells} <= {cell["to"] for cell in cells}


@pytest.mark.parametrize(("mode", "decimals"), [("--peak_injection_bandwidth", 1), ("--max_bandwidth", 2)])
def test_peak_lines_are_mlcs_five(kernel: Kernel, mode: str, decimals: int) -> None:
    done = with_load(kernel, mode, "-b4m", rates=5)

    found = re.findall(r"^([^\n:]+(?::1 [^\n:]+)?:)\t\d+\.(\d+)\t$", done.stdout, re.MULTILINE)
    assert [label for label, _ in found] == [
        "ALL Reads        :",
        "3:1 Reads-Writes :",
        "2:1 Reads-Writes :",
        "1:1 Reads-Writes :",
        "Stream-triad like:",
    ]
    assert {len(digits) for _, digits in found} == {decimals}
    assert len(rows(done.stdout, "bandwidth")) == 5


@two_cpus
def test_cache_to_cache(kernel: Kernel) -> None:
    done = kernel("memlat")("--c2c_latency", "-t0.1", "-a")

    local = {row.get("transfer"): row["value"] for row in rows(done.stdout, "latency")}
    assert {"local L2->L2 HIT", "local L2->L2 HITM"} <= set(local)
    assert all(float(str(value)) > 1 for value in local.values())
    assert "Local Socket L2->L2 HIT  latency\t" in done.stdout
    pairs = [row for row in rows(done.stdout, "latency") if "from" in row]
    assert {(row["from"], row["to"]) for row in pairs} >= {(CPUS[0], CPUS[1]), (CPUS[1], CPUS[0])}


def test_memory_of_a_node_and_first_touch_elsewhere(kernel: Kernel) -> None:
    for option in ("-j0", f"-i{CPUS[-1]}"):
        assert idle_ns(kernel("memlat")("--idle_latency", option, "-b1m", "-t0.02")) > 0


THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.skipif(not THP.exists() or "[never]" in THP.read_text(), reason="no transparent huge pages here")
def test_huge_pages_are_used(kernel: Kernel) -> None:
    done = kernel("memlat")("--idle_latency", "-L", "-b64m", "-t0.05")

    assert done.returncode == 0, done.stderr
    found = re.search(r"; (\d+) of 64 MiB in huge pages; 64 MiB of lines are used,", done.stdout, re.MULTILINE)
    assert found
    assert int(found[1]) >= 57


def no_huge_pages() -> None:
    """Forbid transparent huge pages to this process, as a machine without them does."""
    pr_set_thp_disable = 41
    if ctypes.CDLL(None, use_errno=True).prctl(pr_set_thp_disable, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


@pytest.mark.parametrize("mode", ["--idle_latency", "--loaded_latency", "--peak_injection_bandwidth"])
def test_huge_pages_that_do_not_come_are_no_silent_loss(kernel: Kernel, mode: str) -> None:
    options = ["-b8m", "-t0.02", *(["-d0"] if mode == "--loaded_latency" else [])]  # one of its 19 delays
    if "HugePages_Free:        0\n" not in Path("/proc/meminfo").read_text():
        pytest.skip("huge pages are reserved on this machine")
    if mode == "--loaded_latency" and len(CPUS) < 2:
        pytest.skip("needs two CPUs")

    done = kernel("memlat")(mode, "-L", *options, preexec_fn=no_huge_pages)

    assert done.returncode == 2
    assert done.stderr.startswith("memlat: -L: no huge pages: none are reserved in /proc/sys/vm/nr_hugepages")
    assert "ns)" not in done.stdout
    without = kernel("memlat")(mode, *options, preexec_fn=no_huge_pages)
    assert (without.returncode, without.stderr) == (0, "")


@pytest.mark.parametrize(
    ("size", "stride", "passes", "reach", "ranges"),
    [
        (1 << 20, 256, 4, 256 << 10, 4),  # what memlat does by default: every line, one of four in each pass
        (1 << 20, 256, 1, 256 << 10, 4),  # -l256
        (1 << 20, 256, 4, 0, 1),  # -D0
        (300 << 10, 192, 3, 96 << 10, 4),  # the last range is not a whole one
        (4096, 64, 1, 1 << 20, 1),  # smaller than a range
        (64 << 10, 4096, 1, 8192, 8),
    ],
)
def test_a_chase_is_one_cycle_through_every_line_it_is_to_use(
    walk: Callable[..., subprocess.CompletedProcess[str]],
    size: int,
    stride: int,
    passes: int,
    reach: int,
    ranges: int,
) -> None:
    done = walk(*map(str, (size, stride, passes, reach)))

    assert (done.returncode, done.stderr) == (0, "")
    count, distinct, twice, moves = map(int, done.stdout.split())
    assert count == size // stride * passes
    assert distinct == count
    assert twice == 0  # each pass uses one line of an element
    assert ranges * passes - passes < moves <= ranges * passes  # it stays in a range until that is done


@two_cpus
def test_load_alone_has_no_latency(kernel: Kernel) -> None:
    done = with_load(kernel, "--loaded_latency", "-T", "-d0", "-b4m")

    assert done.returncode == 0, done.stderr
    assert f"# load threads: {len(CPUS)}, on CPUs {','.join(map(str, CPUS))}\n" in done.stdout
    assert "\nInject\tBandwidth\nDelay\tMB/sec\n=" in done.stdout
    assert "# latency thread" not in done.stdout
    (row,) = rows(done.stdout, "bandwidth")
    assert (row["delay"], row["traffic"]) == (0, "read")
    assert rows(done.stdout, "latency") == []


@pytest.mark.parametrize("mix", ["-R", "-W4", "-W9", "-W10"])
def test_random_load_runs_and_says_so(kernel: Kernel, mix: str) -> None:
    done = with_load(kernel, "--bandwidth_matrix", "-U", mix, "-b4m")

    assert done.returncode == 0, done.stderr
    assert rows(done.stdout, "bandwidth")


def one_cpu() -> None:
    os.sched_setaffinity(0, {CPUS[0]})


def test_one_cpu_has_no_loaded_latency(kernel: Kernel) -> None:
    done = kernel("memlat")("--loaded_latency", "-t0.1", "-b4m", preexec_fn=one_cpu)

    assert done.returncode == 2
    assert done.stderr == (
        f"memlat: no CPU is left for load threads beside the latency thread on CPU {CPUS[0]}: "
        "a loaded latency without load is none\n"
    )
    assert "needs two CPUs" in kernel("memlat")("--c2c_latency", preexec_fn=one_cpu).stderr
    assert idle_ns(kernel("memlat")("--idle_latency", "-t0.02", "-b4m", preexec_fn=one_cpu)) > 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--idle_latency", "--c2c_latency"], "one mode at a time"),
        (["--idle_latency", "-d5"], "-d has no effect in idle_latency"),
        (["--peak_injection_bandwidth", "-R"], "-R has no effect in peak_injection_bandwidth"),
        (["-b4m"], "-b has no effect in a run without a mode"),
        (["--loaded_latency", "-W1"], "-W: 1 is not between 2 and 12"),
        (["--loaded_latency", "-W3", "-R"], "-R and -W contradict each other"),
        (["--loaded_latency", "-d1", "-g/dev/null"], "-d and -g contradict each other"),
        (["--loaded_latency", "-g/no/such/file"], "-g /no/such/file: No such file or directory"),
        (["--loaded_latency", "-g/dev/null"], "-g /dev/null: no delay in it"),
        (["--loaded_latency", "-k0-x"], "'0-x' is not a list of numbers"),
        (["--loaded_latency", f"-c{CPUS[0]}", f"-k{CPUS[0]}", "-b4m"], "is the latency thread's (-c)"),
        (["--idle_latency", "-c8000", "-b4m"], "cannot run on CPU 8000"),
        (["--idle_latency", "-j1000", "-b4m"], "node 1000 has no memory"),
        (["--idle_latency", "-l100"], "-l: 100 is not a multiple of 64 bytes"),
        (["--idle_latency", "-b1"], "-b: a buffer of 1024 bytes is too small"),
        (["--idle_latency", "-b4x"], "'4x' is not a size"),
        (["--idle_latency", "-b900000g"], "of memory are needed"),
        (["--idle_latency", "-t0"], "'0' is not a time in seconds"),
        (["--idle_latency", "-t"], "-t needs a value"),
        (["--idle_latency", "--turbo"], "unknown option '--turbo'"),
        (["--idle_latency", "-D2"], "-D: 2 lines are less than a stride"),
        (["--idle_latency", "-D8", "-l1024"], "-D: 8 lines are less than a stride"),
        (["--idle_latency", "-x5"], "-x: figures take a time here"),
        (["--idle_latency", "-Y"], "-Y is an option of MLC that memlat does not have"),
        (["--loaded_latency", "-m", "ff"], "-m is an option of MLC that memlat does not have"),
        (["--loaded_latency", "-N"], "unknown option '-N'"),
        (["--idle_latency", "-U"], "-U has no effect in idle_latency"),
        (["--latency_matrix", "-T"], "-T has no effect in latency_matrix"),
        (["--loaded_latency", "-T", "-c0"], "-T and -c contradict each other"),
        (["--loaded_latency", "-T", "-r"], "-T and -r contradict each other"),
        (["--loaded_latency", "-d1000001"], "-d: 1000001 is not between 0 and 1000000"),
        (["--loaded_latency", "-k9000", "-b4m"], "'9000' is not a list of numbers below 8192"),
        (["--loaded_latency", "-W3x"], "-W: '3x' is not a whole number"),
        (["--c2c_latency", "-c0", "-w0"], "-w: CPU 0 is the reader's (-c)"),
        (["--idle_latency", "-i8000", "-b4m"], "cannot run on CPU 8000"),
        (["--bandwidth_matrix", "-c0"], "-c has no effect in bandwidth_matrix"),
        (["--idle_latency", "-t", "x"], "'x' is not a time in seconds"),
        (["--idle_latency", "-c-1"], "-c: '-1' is not a whole number"),
        (["idle_latency"], "unexpected 'idle_latency'"),
    ],
)
def test_refuses_in_one_sentence(kernel: Kernel, arguments: list[str], says: str) -> None:
    done = kernel("memlat")(*arguments)

    assert done.returncode == 2, done
    assert done.stderr.startswith("memlat: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


def test_a_delay_that_is_none_is_named_with_its_line(kernel: Kernel, tmp_path: Path) -> None:
    delays = tmp_path / "delays.txt"
    for bad in ("-3", "1 2", "0x10", "99999999999"):
        delays.write_text(f"0\n{bad}\n")
        done = kernel("memlat")("--loaded_latency", "-g", str(delays))
        assert done.returncode == 2
        assert f"{delays}:2: not a delay" in done.stderr


@two_cpus
def test_terminated_it_ends_at_once_and_says_so(tmp_path: Path) -> None:
    delays = tmp_path / "delays.txt"
    delays.write_text("2\n" * 4000)  # minutes
    with subprocess.Popen(
        [kernels.build("memlat"), "--loaded_latency", f"-g{delays}", "-t0.05", "-b4m"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if line.startswith(" 00002"):
                break
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
        process.wait()

    assert rest.count(" 00002") < 3998
    assert process.returncode == -signal.SIGTERM
    assert rest.endswith("\nExiting...\n")


@two_cpus
@pytest.mark.slow
def test_sanitizers_find_nothing(sanitized: Kernel) -> None:
    run = sanitized("memlat")
    for arguments in (
        ["--loaded_latency", "-W11", "-d3", "-b64k"],
        ["--loaded_latency", "-W6", "-d0", "-b64k", "-L"],
        ["--idle_latency", "-b8", "-D64"],
        ["--idle_latency", "-b300k", "-D0", "-l192"],
        ["--loaded_latency", "-T", "-U", "-W10", "-d3", "-b64k"],
        ["--latency_matrix", "-b1m"],
        ["--bandwidth_matrix", "-b64k"],
        ["--max_bandwidth", "-b64k", "-X"],
        ["--c2c_latency", "-a"],
    ):
        done = run(*arguments, "-t0.02")
        assert (done.returncode, done.stderr) == (0, ""), arguments


@two_cpus
@pytest.mark.slow
def test_runs_without_code_for_the_cpu(portable: Kernel) -> None:
    run = portable("memlat")

    assert idle_ns(run("--idle_latency", "-b64k", "-t0.01")) > 0
    assert run("--loaded_latency", "-W3", "-d0", "-b64k", "-t0.01").returncode == 0
    assert "no non-temporal stores" in run("--loaded_latency", "-W6", "-d0", "-b64k", "-t0.01").stderr
    assert "HITM" in run("--c2c_latency", "-t0.01").stdout


@two_cpus
@pytest.mark.slow
def test_runs_on_arm(arm: Kernel) -> None:
    run = arm("memlat")

    assert idle_ns(run("--idle_latency", "-b64k", "-t0.01")) > 0
    for mix in ("-R", "-W5", "-W7"):
        done = run("--loaded_latency", mix, "-d0", "-b64k", "-t0.01")
        assert (done.returncode, len(rows(done.stdout, "latency"))) == (0, 1), done
