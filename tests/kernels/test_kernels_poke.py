"""poke's figures, files and refusals. What its JSON means is the parser's test (tests/parsers/test_poke.py)."""

from __future__ import annotations

import json
import math
import os
import signal
import stat
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orchestrator.programs import kernels
from reports.numbers import clock
from reports.numbers.formulas import Bucket
from tests.waits import PATIENCE_S, until

Kernel = Callable[[str], Callable[..., "subprocess.CompletedProcess[str]"]]


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert (done.returncode, done.stderr) == (0, "")
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    (only,) = document(done)["results"]
    return dict(only)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--target=memory", "--bytes=1k"],
        ["--target=memory", "--bytes=1MB", "--op=write"],
        ["--target=memory", "--bytes=1M", "--op=write+fence", "--pages=4k"],
        ["--target=memory", "--bytes=1M", "--block=256"],
        ["--target=memory", "--bytes=0"],
        ["--target=file", "--bytes=0"],
        ["--target=null"],
        ["--target=compute", "--loop=empty"],
        ["--target=compute", "--loop=muladd", "--iterations=10"],
        ["--target=compute", "--loop=sine", "--iterations=10"],
    ],
)
def test_distribution_is_one_whole(kernel: Kernel, arguments: list[str]) -> None:
    whole = document(kernel("poke")(*arguments, "--count=20000", "--largest=50"))
    (only,) = whole["results"]
    buckets, largest, quantiles = only["histogram"], only["largest"], only["quantiles_ns"]

    assert only["count"] == sum(count for _, _, count in buckets) == 20000
    assert all(low < high and (high - low <= 0.01 * low or high <= 0.13) for low, high, _ in buckets)
    assert all(left[1] <= right[0] for left, right in pairwise(buckets))
    assert [value for value, _ in largest] == sorted((value for value, _ in largest), reverse=True)
    assert len(largest) == 50
    assert largest[0][0] == only["max_ns"]
    assert list(quantiles) == ["0.01", "0.05", "0.25", "0.5", "0.75", "0.9", "0.95", "0.99", "0.999"]
    ordered = [only["min_ns"], *quantiles.values(), only["max_ns"]]
    assert ordered == sorted(ordered)
    assert only["min_ns"] <= only["mean_ns"] <= only["max_ns"]
    for share, value in quantiles.items():  # a quantile lies in the bucket where the counts say it does
        rank, seen = math.ceil(float(share) * 20000 - 1e-9), 0
        for low, high, count in buckets:
            seen += count
            if seen >= rank:
                assert low - 0.001 <= value <= high
                break
    assert 0 < whole["timer"]["resolution_ns"] <= 1000
    assert 0 <= whole["timer"]["overhead_ns"] <= 10000


def test_the_resolution_is_how_far_apart_the_values_of_the_timer_come(kernel: Kernel) -> None:
    """On a virtual machine whose counter is looked at every 10 ns it was 0.4 ns, and one value later was a change."""
    whole = document(kernel("poke")("--target=null", "--count=100000"))
    apart = whole["timer"]["resolution_ns"]
    often = [Bucket(*of) for of in whole["results"][0]["histogram"] if of[2] >= 1000]
    values = [b.low for a, b in pairwise([Bucket(-math.inf, 0, 0), *often]) if b.low - a.low > apart / 2]

    assert apart > 0.7 * clock.step(often, least=0.4)
    assert all(b - a > 0.7 * apart for a, b in pairwise(values))


def test_places_and_figures_of_sizes(kernel: Kernel) -> None:
    """The lesson of the notebook this probe is for: nothing, a cache and memory are steps apart."""
    run = kernel("poke")
    nothing, cache, memory = (
        result(run("--target=memory", f"--bytes={size}", "--count=50000"))["quantiles_ns"]["0.5"]
        for size in ("0", "1kB", "256MB")
    )

    assert nothing <= cache * 1.5
    assert memory > 1.5 * cache


def test_cost_of_writing_in_order_is_far_below_a_poke(kernel: Kernel) -> None:
    """The least of some: each is measured once, and beside others all takes longer, now and then."""
    some = [result(kernel("poke")("--target=memory", "--bytes=16M", "--count=1000", "--op=write")) for _ in range(4)]
    first, again = (min(one[f"{name}_ns_per_byte"] for one in some) for name in ("first_touch", "sequential"))

    assert 0.001 < again < first
    assert again < min(one["quantiles_ns"]["0.5"] for one in some)
    assert result(kernel("poke")("--target=null", "--count=10"))["sequential_ns_per_byte"] is None


def test_few_samples_give_few_quantiles(kernel: Kernel) -> None:
    run = kernel("poke")

    assert result(run("--target=null", "--count=19"))["quantiles_ns"] == {}
    assert list(result(run("--target=null", "--count=20"))["quantiles_ns"]) == ["0.5"]
    assert list(result(run("--target=null", "--count=100"))["quantiles_ns"]) == ["0.25", "0.5", "0.75", "0.9"]
    one = result(run("--target=null", "--count=1"))
    assert one["sd_ns"] == 0
    assert len(one["largest"]) == 1


def test_a_longer_loop_takes_longer(kernel: Kernel) -> None:
    figures = [
        result(kernel("poke")("--target=compute", f"--loop={loop}", "--count=300", f"--iterations={n}"))
        for loop, n in (("empty", 20000), ("muladd", 20000), ("sine", 20000), ("sine", 40000))
    ]
    empty, muladd, sine, twice = (figure["min_ns"] for figure in figures)

    assert empty < muladd < sine
    assert twice == pytest.approx(2 * sine, rel=0.5)
    assert figures[2]["ns_per_iteration"] == pytest.approx(figures[2]["mean_ns"] / 20000, rel=1e-3)


def test_window_is_all_that_is_written(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"\0" * 65536)

    done = kernel("poke")(
        "--target=file", f"--file={path}", "--op=write", "--window=16k:8k", "--block=64", "--count=5000"
    )

    assert result(done)["bytes"] == 65536
    data = path.read_bytes()
    assert len(data) == 65536
    assert not any(data[:16384])
    assert not any(data[24576:])
    assert sum(any(data[at : at + 64]) for at in range(16384, 24576, 64)) == 128  # every slot was met


def test_reading_leaves_a_file_as_it_is(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"precious" * 1024)
    path.chmod(0o400)

    assert result(kernel("poke")("--target=file", f"--file={path}", "--count=100"))["bytes"] == 8192
    assert path.read_bytes() == b"precious" * 1024


def test_file_of_its_own_is_made_and_removed(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "made"
    arguments = ["--target=file", f"--file={path}", "--bytes=300k", "--op=write", "--fsync", "--count=30"]
    only = result(kernel("poke")(*arguments, "--create"))

    assert only["sequential_ns_per_byte"] > 0
    assert list(tmp_path.iterdir()) == []
    path.write_text("mine")
    done = kernel("poke")(*arguments, "--create")
    assert (done.returncode, done.stderr) == (2, f"poke: --create {path}: File exists\n")
    assert path.read_text() == "mine"


def test_direct_reads(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"\1" * 65536)
    done = kernel("poke")("--target=file", f"--file={path}", "--direct", "--block=4096", "--count=50")

    if "has no O_DIRECT" in done.stderr:
        pytest.skip("the temporary folder's file system has no O_DIRECT")
    assert document(done)["direct"] is True


def test_many_files_are_written_read_and_removed(kernel: Kernel, tmp_path: Path) -> None:
    done = kernel("poke")("--target=files", "--files=40", "--file-size=10kB", f"--dir={tmp_path}", "--fsync")
    write, read = document(done)["results"]

    assert [write["op"], read["op"]] == ["write", "read"]
    for figures in (write, read):
        assert (figures["count"], figures["bytes"], figures["block"]) == (40, 400000, 10000)
        assert figures["total_ns"] >= 40 * figures["mean_ns"] * 0.99
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--target=files", "--files=1000000", "--file-size=100", "--dir=."],
        [
            "--target=file",
            "--file=made",
            "--create",
            "--bytes=1M",
            "--fsync",
            "--op=write",
            "--count=10000000",
        ],
    ],
)
def test_terminated_it_removes_its_files(tmp_path: Path, arguments: list[str]) -> None:
    with subprocess.Popen([kernels.build("poke"), *arguments], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        until(lambda: any(tmp_path.iterdir()))
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=PATIENCE_S)[0] == b""

    assert process.returncode == -signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_nothing_but_a_regular_file_is_opened(kernel: Kernel, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    refused = [tmp_path, tmp_path / "pipe", tmp_path / "link", Path("/dev/null"), Path("/dev/full")]
    refused += [path for path in Path("/dev").iterdir() if stat.S_ISBLK(path.lstat().st_mode)][:1]
    for path in refused:
        done = kernel("poke")("--target=file", f"--file={path}", "--bytes=1", "--op=write", "--count=1")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"poke: {path} is not a regular file; devices are never touched\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--target is needed: memory, file, null, compute or files"),
        (["--target=disk"], "'disk' is not one of memory, file, null, compute, files"),
        (["--target=memory"], "--bytes is needed"),
        (["--target=memory", "--bytes=-1"], "'-1' is not a size"),
        (["--target=memory", "--bytes=1.5"], "'1.5' is not a size"),
        (["--target=memory", "--bytes=4q"], "'4q' is not a size"),
        (["--target=memory", "--bytes=900T"], "of memory are needed"),
        (["--target=memory", "--bytes=1k", "--count=0"], "--count: 0 is not between"),
        (["--target=memory", "--bytes=1k", "--window=512:1k"], "does not lie inside 1024 bytes"),
        (["--target=memory", "--bytes=1k", "--window=512"], "'512' is not OFFSET:LENGTH"),
        (["--target=memory", "--bytes=1k", "--block=2k"], "2048 bytes do not fit into 1024"),
        (["--target=memory", "--bytes=1k", "--block=0"], "--block: between 1 byte and 1 GiB"),
        (["--target=memory", "--bytes=1k", "--direct"], "--direct has no effect on --target memory"),
        (["--target=memory", "--bytes=1k", "--loop=sine"], "--loop has no effect on --target memory"),
        (["--target=null", "--bytes=1k"], "--target null has no bytes"),
        (["--target=file"], "--file is needed"),
        (["--target=file", "--file=/no/such"], "/no/such: no such file; --create makes one"),
        (["--target=file", "--file=/no/such", "--create"], "--create needs --bytes"),
        (["--target=file", "--file=/no/such", "--create", "--bytes=1k"], "No such file or directory"),
        (["--target=file", "--file=x", "--op=write+fence"], "write+fence is for memory"),
        (["--target=file", "--file=x", "--fsync"], "--fsync has no effect on reads"),
        (["--target=file", "--file=x", "--direct"], "--block: with --direct a multiple of 512"),
        (["--target=files", "--files=2"], "--files, --file-size and --dir are needed"),
        (["--target=files", "--files=2", "--file-size=1k", "--dir=/no/such"], "/no/such is not a folder"),
        (["--target=null", "--turbo"], "unknown option '--turbo'"),
        (["--target=null", "--count"], "--count needs a value"),
        (["--target=null", "more"], "unexpected 'more'"),
    ],
)
def test_refuses_in_one_sentence(kernel: Kernel, arguments: list[str], says: str) -> None:
    done = kernel("poke")(*arguments)

    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith("poke: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


def test_file_shorter_than_asked_is_refused(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"12345")
    done = kernel("poke")("--target=file", f"--file={path}", "--bytes=1k")

    assert (done.returncode, done.stderr) == (2, f"poke: {path} has 5 bytes, --bytes asks for 1024\n")


@pytest.mark.slow
def test_sanitizers_find_nothing(sanitized: Kernel, tmp_path: Path) -> None:
    for arguments in (
        ["--target=memory", "--bytes=10007", "--block=13", "--op=write", "--largest=100000"],
        ["--target=memory", "--bytes=1M", "--window=1:77", "--op=write+fence"],
        ["--target=file", f"--file={tmp_path}/made", "--create", "--bytes=10007", "--block=13"],
        ["--target=files", "--files=3", "--file-size=5001", f"--dir={tmp_path}"],
        ["--target=compute", "--loop=muladd"],
    ):
        count = [] if "--target=files" in arguments else ["--count=1000"]
        document(sanitized("poke")(*arguments, *count))


@pytest.mark.parametrize("family", ["portable", "arm"])
@pytest.mark.slow
def test_runs_elsewhere(family: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(family)("poke")
    for op in ("read", "write", "write+fence"):
        whole = document(run("--target=memory", "--bytes=10k", f"--op={op}", "--count=2000"))
        assert sum(count for _, _, count in whole["results"][0]["histogram"]) == 2000
    assert whole["timer"]["name"] == {
        "portable": "clock_gettime(CLOCK_MONOTONIC_RAW)",
        "arm": "cntvct_el0+isb",
    }[family]  # fmt: skip
