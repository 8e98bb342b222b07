"""Make files that are a lock of one process and its forks.

The lock ends with the last process, also after kill -9. I/O.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from orchestrator.machine.safe_files import refuse_special


def acquire(path: Path, patience_s: float = 0.0) -> int | None:
    """Make the file and lock it. Return the descriptor with the lock, or None if another process has the lock.

    The owner may remove the file before it releases the lock, so only a lock of the present file counts. Raises OSError
    if the file cannot be made, is a link or a device.
    """
    ends = time.monotonic() + patience_s
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        try:
            refuse_special(lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), path.lstat()):
                return lock
        except FileNotFoundError:
            pass  # its owner removed it after we opened it
        except BlockingIOError:
            if time.monotonic() >= ends:
                os.close(lock)
                return None
            time.sleep(0.1)
        except OSError:
            os.close(lock)
            raise
        os.close(lock)


def is_held(path: Path) -> bool:
    """Return whether a process holds the lock now, without making the file."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
