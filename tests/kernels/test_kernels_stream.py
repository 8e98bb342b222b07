from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.programs import kernels

# STREAM 5.10 prints a row by "%s%12.1f  %11.6f  %11.6f  %11.6f": the layout, not only the figures
ROW = re.compile(r"^(Copy|Scale|Add|Triad):( +[\d.]{3,})  ( *[\d.]+)  ( *[\d.]+)  ( *[\d.]+)$", re.MULTILINE)
ARRAYS = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}

Kernel = Callable[[str], Callable[..., "subprocess.CompletedProcess[str]"]]


def rates(text: str) -> dict[str, tuple[float, float, float, float]]:
    """Return {kernel: (MB/s, average, least, most seconds)}."""
    found = {m[1]: (float(m[2]), float(m[3]), float(m[4]), float(m[5])) for m in ROW.finditer(text)}
    assert list(found) == list(ARRAYS), text
    return found


@pytest.mark.parametrize("precision", ["double", "float"])
@pytest.mark.parametrize("stores", ["auto", "cached", "nt"])
def test_rates_are_bytes_asked_for_over_least_time(kernel: Kernel, stores: str, precision: str) -> None:
    done = kernel("stream")("--array-size", "1000003", "--stores", stores, "--precision", precision)

    assert done.returncode == 0, done
    width = {"double": 8, "float": 4}[precision]
    for name, (rate, average, least, most) in rates(done.stdout).items():
        assert least <= average <= most
        assert rate * 1e6 * least == pytest.approx(ARRAYS[name] * width * 1000003, rel=0.02)
        assert 100 < rate < 5e6
    assert f"This system uses {width} bytes per array element." in done.stdout
    assert "Array size = 1000003 (elements), Offset = 0 (elements)" in done.stdout
    assert f"# stores: {stores}:" in done.stdout


def test_layout_is_streams_own_under_a_banner_that_is_not(kernel: Kernel, version: str) -> None:
    text = kernel("stream")("--array-size", "20000", "--ntimes", "3").stdout
    rule = "-" * 61

    assert text.startswith(f"{rule}\npinsweep stream {version} (STREAM-style; not the STREAM benchmark)\n{rule}\n")
    assert "$Revision" not in text
    assert "Function    Best Rate MB/s  Avg time     Min time     Max time\nCopy: " in text
    assert re.search(r"^Solution Validates: avg error less than 1\.000000e-13 on all three arrays$", text, re.M)
    assert all(len(line) == 62 for line in text.splitlines() if ROW.match(line))
    assert text.endswith(f"{rule}\n")


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_counts_threads_and_says_where_they_ran(kernel: Kernel, threads: int) -> None:
    done = kernel("stream")("--array-size", "5", env={**os.environ, "OMP_NUM_THREADS": str(threads)})

    assert done.returncode == 0
    assert f"Number of Threads requested = {threads}\nNumber of Threads counted = {threads}\n" in done.stdout
    cpus = re.search(r"^# cpus: ([\d,]+)$", done.stdout, re.M)
    assert cpus
    assert len(cpus[1].split(",")) == threads
    assert {int(cpu) for cpu in cpus[1].split(",")} <= os.sched_getaffinity(0)


def test_stays_on_the_cpu_it_is_given(kernel: Kernel) -> None:
    cpu = max(os.sched_getaffinity(0))
    done = kernel("stream")(
        "--array-size=1000",
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )

    assert f"# cpus: {cpu},{cpu}\n" in done.stdout


@pytest.mark.parametrize("pages", ["default", "4k", "thp"])
def test_says_which_pages_it_got(kernel: Kernel, pages: str) -> None:
    text = kernel("stream")("--array-size", "2000000", "--ntimes=2", "--pages", pages).stdout

    found = re.search(rf"^# pages: {pages}; ([\d.]+) of 45\.8 MiB in huge pages$", text, re.M)
    assert found, text
    mode = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if pages == "4k":
        assert float(found[1]) == 0
    elif pages == "thp" and mode.exists() and "[never]" not in mode.read_text():
        assert float(found[1]) > 0


def test_array_smaller_than_the_rule_is_said(kernel: Kernel) -> None:
    text = kernel("stream")("--array-size", "1000").stdout

    if "the kernel does not show them" not in text:
        assert "less than the 4 x that STREAM's rules ask for" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--ntimes", "1"], "--ntimes: 1 is not between 2 and 100"),
        (["--ntimes", "101"], "--ntimes: 101 is not between 2 and 100"),
        (["--ntimes", "31", "--precision", "float"], "overflow float"),
        (["--array-size", "0"], "--array-size: 0 is not between"),
        (["--array-size", "10k"], "'10k' is not a whole number"),
        (["--array-size", "-5"], "'-5' is not a whole number"),
        (["--array-size", "99999999999999999999"], "is not a whole number"),
        (["--array-size", "200000000000000"], "of memory are needed"),
        (["--stores", "fast"], "'fast' is not one of auto, cached, nt"),
        (["--pages", "1g"], "'1g' is not one of default, 4k, thp, hugetlb"),
        (["--stores"], "--stores needs a value"),
        (["--turbo"], "unknown option '--turbo'"),
        (["10000000"], "unexpected '10000000'"),
    ],
)
def test_refuses_in_one_sentence(kernel: Kernel, arguments: list[str], says: str) -> None:
    done = kernel("stream")(*arguments)

    assert done.returncode == 2
    assert done.stderr.startswith("stream: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert "Copy" not in done.stdout


def test_most_passes_do_not_overflow(kernel: Kernel) -> None:
    for arguments in (["--ntimes=100"], ["--ntimes=30", "--precision=float"]):
        done = kernel("stream")("--array-size=1000", *arguments)
        assert done.returncode == 0, done.stdout
        assert "Solution Validates" in done.stdout


@pytest.mark.slow
def test_wrong_arithmetic_fails_validation(tmp_path: Path, kernel_cache: Path) -> None:
    """A compiler that gets Triad wrong, imitated by source: b - s*c instead of b + s*c."""
    shutil.copytree(kernels.sources_folder(), tmp_path / "kernels")
    loops = tmp_path / "kernels" / "stream_loops.h"
    text = loops.read_text()
    assert text.count("a[i] = b[i] + s * c[i];") == 1
    loops.write_text(text.replace("a[i] = b[i] + s * c[i];", "a[i] = b[i] - s * c[i];"))
    program = kernels.compile_cached(
        tmp_path / "kernels" / "stream.c", kernels.find_compiler(), ("-O1", "-fopenmp"), kernel_cache
    )

    done = subprocess.run([program, "--array-size=1000"], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "Solution Validates" not in done.stdout
    assert "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)" in done.stdout
    assert "For array a[], 1000 errors were found." in done.stdout
    rates(done.stdout)


@pytest.mark.slow
def test_sanitizers_find_nothing(sanitized: Kernel) -> None:
    for arguments in (
        ["--array-size=7"],
        ["--array-size=10001", "--stores=nt", "--offset=3", "--precision=float"],
    ):
        done = sanitized("stream")(*arguments, "--ntimes=3", env={**os.environ, "OMP_NUM_THREADS": "3"})
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_runs_without_code_for_the_cpu(portable: Kernel) -> None:
    assert portable("stream")("--array-size=1000", "--stores=cached").returncode == 0
    done = portable("stream")("--array-size=1000", "--stores=nt")
    assert (done.returncode, done.stderr) == (2, "stream: --stores nt: none on this architecture\n")


@pytest.mark.parametrize("stores", ["auto", "cached", "nt"])
@pytest.mark.slow
def test_runs_on_arm(arm: Kernel, stores: str) -> None:
    for precision in ("double", "float"):
        done = arm("stream")(f"--stores={stores}", f"--precision={precision}", "--array-size=10007", "--ntimes=3")
        assert done.returncode == 0, done.stdout
        assert "Solution Validates" in done.stdout
