"""The kernels where a container forbids what they could do without: memory policies and performance counters."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
from collections.abc import Callable
from typing import Any

import pytest

SYSCALLS = {
    "x86_64": {"mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239, "perf_event_open": 298},
    "aarch64": {"mbind": 235, "get_mempolicy": 236, "set_mempolicy": 237, "perf_event_open": 241},
}
"""What Docker's own filter forbids without CAP_SYS_NICE and CAP_PERFMON."""

Family = Callable[[str], Callable[..., Any]]


def confine() -> None:
    """Forbid the system calls to this process and its children, with EPERM."""
    numbers = SYSCALLS[platform.machine()].values()
    allow, deny = 0x7FFF0000, 0x00050000 | 1
    program = [(0x20, 0, 0, 0)]  # load the number of the call
    program += [(0x15, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]  # equal: to the end
    program += [(0x06, 0, 0, allow), (0x06, 0, 0, deny)]
    code = b"".join(struct.pack("HBBI", *step) for step in program)
    buffer = ctypes.create_string_buffer(code)
    fprog = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, fprog, 0, 0):  # PR_SET_NO_NEW_PRIVS; PR_SET_SECCOMP, filter
        raise OSError(ctypes.get_errno(), "prctl")


pytestmark = pytest.mark.skipif(platform.machine() not in SYSCALLS, reason="no numbers of system calls for it")


@pytest.fixture(autouse=True)
def filters_work() -> None:
    child = os.fork()
    if not child:
        try:
            confine()
            libc = ctypes.CDLL(None, use_errno=True)
            number = SYSCALLS[platform.machine()]["get_mempolicy"]
            denied = libc.syscall(number, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == 1
            os._exit(0 if denied else 2)
        except OSError:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 1:
        pytest.skip("no seccomp filters here")
    assert status == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--idle_latency", "-b1m", "-t0.02"),
        ("--latency_matrix", "-b1m", "-t0.02"),
        ("--bandwidth_matrix", "-b1m", "-t0.02"),
        ("--peak_injection_bandwidth", "-b1m", "-t0.02"),
    ],
)
def test_memlat(words: tuple[str, ...], kernel: Family) -> None:
    done = kernel("memlat")(*words, preexec_fn=confine)

    nodes = [name for name in os.listdir("/sys/devices/system/node") if name.startswith("node")]  # noqa: PTH208
    if "matrix" in words[0] and len(nodes) > 1:
        assert done.returncode == 2
        assert "mbind: Operation not permitted" in done.stderr
    else:
        assert done.returncode == 0, done.stderr


def test_memory_from_a_node_that_is_the_only_one(kernel: Family) -> None:
    done = kernel("memlat")("--idle_latency", "-b1m", "-t0.02", "-j0", preexec_fn=confine)
    other = kernel("memlat")("--idle_latency", "-b1m", "-t0.02", "-j63", preexec_fn=confine)

    nodes = [name for name in os.listdir("/sys/devices/system/node") if name.startswith("node")]  # noqa: PTH208
    assert done.returncode == (0 if len(nodes) == 1 else 2), done.stderr
    assert other.returncode == 2


def test_stream_and_poke(kernel: Family) -> None:
    stream = kernel("stream")("--array-size=100000", "--ntimes=2", preexec_fn=confine)
    poke = kernel("poke")("--target=memory", "--bytes=1M", "--count=100", preexec_fn=confine)

    assert "Triad:" in stream.stdout
    assert json.loads(poke.stdout)["results"]
