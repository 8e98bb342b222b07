"""Reserve a file for one process and its forks. The lock is on the file itself, under any name. I/O.

The lock ends with the last of these processes, also after kill -9. `machine.lockfile` handles files that are only a
lock.
"""

from __future__ import annotations

import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.machine.safe_files import follow, refuse_special

_FLOCK: Final = struct.Struct("hhqqi")
"""C's struct flock: type, whence, start, length, pid."""

_CLAIM_AT: Final = 1 << 62
"""First of the bytes that `claim` locks: beyond all that a file holds, and beyond SQLite's own locks at 2**30."""


class Taken(Exception):
    """Another process has claimed the file."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self.pid = pid  # as that process knows itself: in a container, its pid there


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A file that this process has for itself until `end`."""

    path: Path  # its real one
    descriptor: int
    made: bool  # it was not there before

    def stands(self) -> bool:
        """Return whether the path still leads to this file."""
        try:
            return os.path.samestat(os.fstat(self.descriptor), self.path.stat())
        except OSError:
            return False

    def end(self, *, unused: bool) -> None:
        """Release the file, and remove the file if it is empty and new.

        Call this only after SQLite has closed its connection, because closing any descriptor of a file drops the
        ordinary locks of the process.
        """
        if unused and self.made and self.stands():
            self.path.unlink()
        os.close(self.descriptor)


def claim(path: Path) -> Claim:
    """Open a file, create it if missing, and lock it for this process before any write.

    The lock is on the file and not on a name. Symbolic links, hard links, bind mounts and containers lead to the same
    lock. A separate lock file would be one lock per name. On a local disk, flock() would be enough. On NFS, flock() is
    a lock of a byte range and conflicts with SQLite's locks. So this is a byte range that SQLite does not use, locked
    for the open file. An ordinary lock would end when the process closes any descriptor of the file.

    Raises Taken. Raises OSError if the file cannot be written, if another user could have created it, or if the file
    system has no locks. SQLite needs locks too.
    """
    while True:
        real = follow(path)
        try:
            descriptor, made = os.open(real, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), False
        except FileNotFoundError:
            try:
                descriptor = os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            except FileExistsError:
                continue  # another made it between the two calls
            made = True
        try:
            refuse_special(descriptor)
            _lock(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        claimed = Claim(path=real, descriptor=descriptor, made=made)
        if claimed.stands():
            return claimed
        os.close(descriptor)  # its owner removed it after we opened it


def _lock(descriptor: int) -> None:
    """Lock as many bytes as this process's pid.

    The kernel shows the range of such a lock to other processes, but not the owner.
    """
    wanted = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _CLAIM_AT, os.getpid(), 0)
    while True:
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES: POSIX allows both
            kind, _, _, length, _ = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, wanted))
            if kind != fcntl.F_UNLCK:  # else it was let go between the two calls
                raise Taken(length) from None
        else:
            return
