"""Calls pinsweep in this process, for the commands that only read: a start is a fork of 20 ms, and what it imports late is imported anew."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from orchestrator.programs import find

READING = frozenset(
    {"audit", "baseline", "compare", "export", "fleet", "history", "init", "parse", "plan", "report", "schema", "show", "status"}
)  # fmt: skip
"""Commands that start nothing, wait for nobody, and leave the process as it was."""

_END = b"\0the end\0"


def call(
    words: Sequence[str], *, cwd: Path, env: Mapping[str, str], given: str, terminal: bool = False
) -> subprocess.CompletedProcess[str]:
    """Return what `Starter` returns of the same words, from this process with other standard streams, environment and folder."""
    from pinsweep.__main__ import main

    with ThreadPoolExecutor(3) as pool, ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr("sys.argv", ["pinsweep", *words])
        patch.setattr("pinsweep.terminal._begun", False)
        patch.setattr("gc.freeze", lambda: None)  # what one call leaves is rubbish for the next
        patch.setattr("gc.set_threshold", lambda *_: None)
        patch.chdir(cwd)
        stack.enter_context(_environment(env))
        find.configured.cache_clear()
        stack.callback(find.configured.cache_clear)
        typed, give = os.pipe()
        pool.submit(_write_all, give, given)
        ends = [pty.openpty() if terminal else os.pipe() for _ in range(2)]
        said = [pool.submit(_read_to_end, read) for read, _ in ends]
        with _streams(typed, *(write for _, write in ends)), pytest.raises(SystemExit) as ended:
            main()
    out, err = (of.result() for of in said)
    return subprocess.CompletedProcess(["pinsweep", *words], int(ended.value.code or 0), out, err)


def read_all(fd: int) -> str:
    """Return what comes until the end, and close it."""
    parts = []
    with os.fdopen(fd, "rb") as stream, suppress(OSError):  # EIO: what wrote into this terminal has ended
        while part := stream.read1():
            parts.append(part)
    return b"".join(parts).decode()


def _read_to_end(fd: int) -> str:
    """Return what comes until _END: where a library keeps a copy of the standard streams, as V8 does, the last of them is never closed."""
    told = b""
    with os.fdopen(fd, "rb") as stream:
        while not told.endswith(_END) and (part := stream.read1()):
            told += part
    return told.removesuffix(_END).decode()


def _write_all(fd: int, text: str) -> None:
    with suppress(BrokenPipeError), os.fdopen(fd, "w") as stream:  # who does not read it has ended before
        stream.write(text)


@contextmanager
def _environment(env: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(env)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _streams(typed: int, out: int, err: int) -> Iterator[None]:
    """Let 0, 1 and 2 be these, which are closed at the end, the last two with _END before."""
    streams = sys.stdin, sys.stdout, sys.stderr
    kept = [os.dup(number) for number in range(3)]
    try:
        for number, end in enumerate((typed, out, err)):
            os.dup2(end, number)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
        )
        try:
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        for number, end in enumerate(kept):
            os.dup2(end, number)
        for end in (out, err):
            os.write(end, _END)
        for end in (typed, out, err, *kept):
            os.close(end)
