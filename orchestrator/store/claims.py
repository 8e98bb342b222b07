"""A file that one process has for itself, and what it forks: the file itself is locked, whatever name it is opened by. I/O.

The lock is gone with the last of them, also after kill -9. A file that is nothing but a lock is `machine.lockfile`.
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
        """Tell whether the path still leads to this very file."""
        try:
            return os.path.samestat(os.fstat(self.descriptor), self.path.stat())
        except OSError:
            return False

    def end(self, *, unused: bool) -> None:
        """Let others have it; if it was made for nothing, remove it. Only after SQLite has closed its connection:
        to close any descriptor of a file drops the ordinary locks of the process on it."""
        if unused and self.made and self.stands():
            self.path.unlink()
        os.close(self.descriptor)


def claim(path: Path) -> Claim:
    """Open a file, made empty if it is not there, and lock it for this process before anything is written.

    It is a lock of the file, not of a name: symbolic links, hard links, bind mounts and containers all lead to the
    same one. A lock file beside it would be one lock per name. flock() on the file would do on a local disk, but NFS
    makes a lock of a byte range of it, which SQLite's own would meet. So this is a byte range where SQLite has none,
    locked for the open file: an ordinary lock goes whenever the process closes any descriptor of the file.

    Raises Taken, and OSError where the file cannot be written, another user could have put it there, or the file system has no locks, without which SQLite
    does not work either.
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
    """Lock as many bytes as this process's pid: the kernel tells others where such a lock lies, not whose it is."""
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
