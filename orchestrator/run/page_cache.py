"""`run --drop-caches`: runs that work on files begin with an empty page cache. I/O but for `works_on_files`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from orchestrator.model import PlannedRun
from parsers.errors import PinsweepError, UserError

KEPT: Final = "kept"
DROPPED: Final = "dropped before each run on files"
"""What a session records of it, as the fact `page_cache`."""

_KNOB: Final = Path("/proc/sys/vm/drop_caches")


def check(knob: Path = _KNOB) -> None:
    """Raise UserError where this user cannot drop the page cache. Nothing is dropped."""
    try:
        os.close(os.open(knob, os.O_WRONLY | os.O_CLOEXEC))
    except OSError as error:
        raise UserError(
            "--drop-caches", f"{knob} cannot be written: {error.strerror}", "run it as root, or leave --drop-caches out"
        ) from error  # fmt: skip


def drop(knob: Path = _KNOB) -> None:
    """Write back what is dirty, then have the kernel forget all cached file contents, of the whole machine.

    Raises PinsweepError where it cannot.
    """
    os.sync()  # what is dirty is not dropped
    try:
        knob.write_text("1\n", "ascii")
    except OSError as error:
        raise PinsweepError(str(knob), f"cannot be written: {error.strerror}", "leave --drop-caches out") from error  # fmt: skip


def works_on_files(run: PlannedRun) -> bool:
    """Tell whether a run measures scratch files, files of the user's or devices, as far as its plan says."""
    return bool(run.writes or run.reads or any(file.text is None for file in run.scratch))
