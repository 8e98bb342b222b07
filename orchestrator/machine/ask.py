"""Ask a program something short (a version, a topology, a compilation) within a time limit. I/O."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from orchestrator.machine import planted
from orchestrator.machine.process_tree import ends_within
from orchestrator.machine.safe_files import open_file

_DEAD_AFTER_S = 1.0
"""Time after SIGKILL; a process that does not obey it (a device that hangs) is not waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The output of a program, and its exit status (negative: the signal)."""

    exit_status: int
    stdout: bytes
    stderr: bytes


def ask(argv: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None) -> Answer | None:
    """Return the output of a program in the locale C. None if it cannot be started, or has not ended in time.

    `env` is the complete environment, or None for the environment of this process. The output goes to files, because
    background processes of the program would keep a pipe open. After the time limit, the process group is ended.

    Raises UserError for a program by name that other users could have put on root's PATH.
    """
    program = planted.which(argv[0]) or argv[0]
    with in_memory() as stdout, in_memory() as stderr:
        try:
            process = subprocess.Popen(
                [program, *argv[1:]], stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True,
                env={**(os.environ if env is None else env), "LC_ALL": "C"},
            )  # fmt: skip
        except OSError:
            return None
        ended = False
        try:
            ended = ends_within(process.pid, timeout_s)
        finally:  # Ctrl-C goes to the terminal's process group, which it is not in
            if not ended:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_DEAD_AFTER_S)
        if not ended:
            return None
        stdout.seek(0)
        stderr.seek(0)
        return Answer(exit_status=process.wait(), stdout=stdout.read(), stderr=stderr.read())


def in_memory() -> IO[bytes]:
    """Return a new file in memory, not in /dev/shm, which is small in containers.

    Some builds of Python lack memfd_create(2). Then the file is an unlinked temporary file.
    """
    try:
        return os.fdopen(os.memfd_create("output"), "w+b", buffering=0)
    except (AttributeError, OSError):
        return tempfile.TemporaryFile(buffering=0)


def checksum(path: str) -> str:
    """Return the SHA-256 of a file, in hexadecimal, or "" for an unreadable file."""
    try:
        with open_file(Path(path), links=True) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
