"""The folder that a result file is made in, or is put into. I/O."""

from __future__ import annotations

import os
from pathlib import Path


def make(folder: Path) -> None:
    """Make a folder and its parents, and sync their entries, so that a committed run has a folder on the disk."""
    if folder.is_dir():
        return
    make(folder.parent)
    folder.mkdir(exist_ok=True)
    sync(folder.parent)


def sync(folder: Path) -> None:
    """Sync the entries of a folder to the disk, after a file was made, renamed or removed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refused(path: Path, folder: Path) -> tuple[str, str]:
    """Return why nothing can be written into a folder, and what to do."""
    named = "the working folder" if path.parent == Path() else f"its folder {path.parent}"
    read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
    why = "is on a file system that is mounted read-only" if read_only else "is closed to you for writing"
    beside = ", and each commit needs a journal next to the file" if path.exists() else ""
    return f"{named} {why}{beside}", "name a file in another folder with -o"
