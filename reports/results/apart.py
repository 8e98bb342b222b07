"""Work in a process of its own, whose memory goes with it: Python gives little of its own back. I/O."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

T = TypeVar("T")

LARGE: Final = 64 << 20
"""Bytes of result files from which on all that is read of them is read in a process of its own, before more memory is wanted."""


def are_large(paths: Iterable[Path]) -> bool:
    """Are these files large together? One that is not there has no size."""
    return sum(path.stat().st_size for path in paths if path.exists()) >= LARGE


def apart(made: Callable[[], T]) -> T:
    """Return what `made` returns, a value that can be pickled. It sees all that is here, and changes none of it; it is to print nothing:
    a thread that shows how far this process is may hold the screen.

    Raises what `made` raises, with where that was as a note; where its process is killed, ChildProcessError. No process is left.
    """
    for stream in (sys.stdout, sys.stderr):  # else both processes write what is in them
        with contextlib.suppress(OSError):
            stream.flush()
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        _answer(made, into)
    try:
        os.close(into)
        with os.fdopen(out, "rb") as answer:
            told = answer.read()
    except BaseException:  # Ctrl-C: whoever asked is gone
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
    if status:
        raise ChildProcessError(f"a part of pinsweep ended with {os.waitstatus_to_exitcode(status)}")
    done, value = pickle.loads(told)
    if not done:
        raise value
    found: T = value
    return found


def _answer(made: Callable[[], T], into: int) -> None:
    """Write what is made, or what is raised instead, and end this process."""
    status = 1
    gc.disable()  # of 100 000 runs a collection goes through millions of objects, and frees nothing: all goes with the process
    try:
        try:
            told = pickle.dumps((True, made()))
        except BaseException as error:
            told = _dumped(error)
        with os.fdopen(into, "wb") as answer:
            answer.write(told)
        status = 0
    finally:
        os._exit(status)


def _dumped(error: BaseException) -> bytes:
    where = traceback.format_exc()
    try:
        error.add_note(where)
        return pickle.dumps((False, error))
    except Exception:  # an error may hold anything
        return pickle.dumps((False, RuntimeError(where)))
