"""Make, fill, limit and remove the scratch folder. I/O.

A marker file identifies the folder and is also its lock. pinsweep never writes to or removes a folder without the
marker. If this process is killed, the watchdog ends the tool and then removes the folder. The watchdog holds the lock
too, so the next pinsweep waits until the folder is removed. The watchdog starts before the folder is made.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from orchestrator.machine import identity, lockfile, safe_files
from orchestrator.machine.probe import free_bytes
from orchestrator.model import PlannedRun, ScratchFile, Write
from orchestrator.plan.survey import (
    SCRATCH_MACHINE,
    SCRATCH_MARKER,
    SCRATCH_ROOT,
    is_free,
    is_of_this_machine,
    refuse_shared,
)
from orchestrator.run.events import OnEvent, Waiting
from orchestrator.run.process import Stop
from orchestrator.run.watchdog import Watchdog
from parsers.errors import PinsweepError, UserError
from parsers.units import size_text

MARKER_TEXT = "This folder was made by pinsweep, which removes it with all that is in it.\n"

_CHUNK_BYTES = 8 << 20
_PATIENCE_S = 1.0
"""Seconds to wait for a folder before a message, because the removal for a killed pinsweep takes time."""


class Stopped(Exception):
    """A stop was requested before the start of a run, while pinsweep wrote scratch files or waited for other sweeps."""


class Claim:
    """A claim to a scratch folder while this process plans.

    Sweeps that start at the same time see the claim, and kill -9 removes it. Use as a context manager. The claim is the
    name of an abstract socket (unix(7)), which only one process can have. A process in another container or on another
    host does not see the claim, but the lock of the folder keeps it out.
    """

    def __init__(self) -> None:
        self._name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._name.close()

    def take(self, folder: Path) -> bool:
        """Claim a folder. Return False if another process uses or claims it."""
        if not is_free(folder):
            return False
        digest = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()
        try:
            self._name.bind(f"\0{SCRATCH_ROOT}/{digest}")
        except OSError as error:
            return error.errno != errno.EADDRINUSE
        return True


class Scratch:
    """An open scratch folder, and the watchdog that removes it if this process dies."""

    def __init__(self, path: Path, watchdog: Watchdog) -> None:
        self.path = path
        self.watchdog = watchdog
        self.left = False  # it could not be removed
        self._made: dict[str, ScratchFile] = {}
        self._unsynced = False  # something in the folder changed since the file system was synced

    def prepare(self, files: tuple[ScratchFile, ...], stop: Stop) -> None:
        """Make the files that are missing or changed; if there is no room, files of other runs give way.

        Afterwards the file system holds back nothing that a run or this method wrote or removed. Raises PinsweepError if
        there is no room or a file cannot be written, Stopped on a stop.
        """
        for file in files:
            path = Path(file.path)
            if not path.is_relative_to(self.path):
                raise ValueError(f"{path} is outside the scratch folder {self.path}")
            if self._made.get(file.path) == file and _is_whole(path, file):
                continue
            try:
                self._make_room(file, files)
                if file.text is not None:
                    path.write_text(file.text, "utf-8")
                elif file.folder:
                    path.mkdir()
                else:
                    _fill(path, file.size_bytes, stop)
            except OSError as error:
                self.remove((file,))
                cause = f"cannot be written: {error.strerror}"
                raise PinsweepError(str(path), cause, "--scratch names another folder") from error
            except Stopped:
                self.remove((file,))
                raise
            self._made[file.path] = file
            self._unsynced = True
        if self._unsynced:
            _sync_file_system(self.path)
            self._unsynced = False

    def settle(self, writes: Iterable[Write]) -> None:
        """Sync the written files of a run before the next run starts, and forget changed files."""
        for write in writes:
            self._unsynced = True
            path = Path(write.path)
            for written in (path, *(path.rglob("*") if path.is_dir() else ())):
                with contextlib.suppress(OSError):  # removed, or it cannot be synced
                    _sync(written)
            if write.spoils:
                self._made.pop(write.path, None)

    def remove(self, files: tuple[ScratchFile, ...]) -> None:
        """Remove some files and folders."""
        for file in files:
            self._unsynced |= self._made.pop(file.path, None) is not None
            path = Path(file.path)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def _make_room(self, file: ScratchFile, wanted: tuple[ScratchFile, ...]) -> None:
        """Remove the old file, and then unneeded files until the new file fits."""
        self.remove((file,))
        unneeded = [made for made in self._made.values() if made not in wanted]
        while (free := free_bytes(self.path)) is not None and file.size_bytes > free:
            if not unneeded:
                sizes = f"no room for {size_text(file.size_bytes)} of scratch: {size_text(max(0, free))} free"
                raise PinsweepError(str(self.path), sizes, "--scratch names a folder on another file system")
            self.remove((unneeded.pop(0),))


def _fill(path: Path, size_bytes: int, stop: Stop) -> None:
    """Write `size_bytes` of incompressible data, and sync them to the device."""
    block = os.urandom(min(_CHUNK_BYTES, max(1, size_bytes)))
    with path.open("xb") as file:
        written = 0
        while written < size_bytes:
            if stop.requested is not None:
                raise Stopped
            # each chunk begins with its own offset, so a device that deduplicates finds no two equal
            chunk = written.to_bytes(8, "little") + block[8:]
            written += file.write(chunk[: size_bytes - written])
        file.flush()
        os.fsync(file.fileno())


def _is_whole(path: Path, file: ScratchFile) -> bool:
    """Return whether a file has its full length and no holes, even if a tool changed it.

    False for a folder, which must be empty.
    """
    if file.folder or not path.is_file():
        return False
    if file.text is not None or not file.size_bytes:
        return True
    with path.open("rb", buffering=0) as opened:
        if os.fstat(opened.fileno()).st_size != file.size_bytes:
            return False
        try:  # trimmed, or allocated and never written: read as zeros without asking the device
            return os.lseek(opened.fileno(), 0, os.SEEK_HOLE) == file.size_bytes
        except OSError:  # the file system cannot report holes
            return True


def _sync_file_system(path: Path) -> None:
    """Write back all cached data of the file system of `path`, with metadata.

    Errors are ignored, because they may concern other files.
    """
    import ctypes

    _with_file(path, ctypes.CDLL(None).syncfs, os.O_DIRECTORY)


def _sync(path: Path) -> None:
    _with_file(path, os.fsync, os.O_NONBLOCK | os.O_NOCTTY)


def _with_file(path: Path, function: Callable[[int], object], flags: int) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        function(opened)
    finally:
        os.close(opened)


def uses_scratch(runs: Iterable[PlannedRun]) -> bool:
    """Return whether a run needs files of the scratch folder, starts in it, or writes files to sync there. Pure."""
    return any(run.scratch or run.cwd or run.writes for run in runs)


@contextmanager
def open_scratch(
    path: Path,
    *,
    stop: Stop | None = None,
    on_event: OnEvent = lambda _: None,
    keep: Iterable[int] = (),
    on_orphaned: Callable[[], None] = lambda: None,
    wanted: bool = True,
) -> Iterator[Scratch]:
    """Start the watchdog, make and lock the folder, and remove it at the end. If not `wanted`, only start the watchdog.

    The watchdog holds the descriptors `keep` and the folder's lock. After this process was killed and the tool has
    ended, the watchdog calls `on_orphaned` and removes the folder. Waits while another pinsweep uses the folder. Raises
    UserError for a foreign folder, PinsweepError without a watchdog, and Stopped for a stop during the wait.
    """

    def clear() -> None:
        try:
            on_orphaned()
        finally:
            _remove_orphaned(path)

    scratch = Scratch(path, Watchdog(keep=keep, on_orphaned=clear if wanted else on_orphaned))
    watchdog = scratch.watchdog
    if not wanted:
        try:
            yield scratch
        finally:
            watchdog.stop()
        return
    try:
        lock = _lock(path, stop, on_event)
    except BaseException:
        watchdog.stop()
        raise
    finished = False
    try:
        watchdog.hold(lock)
        _clear(path)  # a killed run may have left files
        yield scratch
    finally:
        try:
            if not watchdog.busy:
                with contextlib.suppress(OSError):
                    _remove(path)
                finished = True
        finally:  # an impatient user interrupts this, too
            scratch.left = path.exists()
            os.close(lock)  # first: the watchdog may have to take it again
            watchdog.stop(finished=finished)
            if scratch.left:  # NFS keeps a file that is open
                _remove_empty(path)
                scratch.left = path.exists()


def _lock(path: Path, stop: Stop | None, on_event: OnEvent) -> int:
    """Make the folder, lock its marker, and return the descriptor. Raises Stopped, UserError."""
    waited = False
    try:
        while stop is None or stop.requested is None:
            path.parent.parent.mkdir(parents=True, exist_ok=True)
            refuse_shared(path, make=True)
            with contextlib.suppress(FileNotFoundError):  # its owner removed it between two of these calls
                if not _is_ours(path):
                    hint = "move it away, or choose another with --scratch"
                    raise UserError(str(path), "this folder was not made by pinsweep", hint)
                lock = lockfile.acquire(path / SCRATCH_MARKER, _PATIENCE_S)
                if lock is not None and is_of_this_machine(path / SCRATCH_MARKER):
                    return _marked(path, lock)
                if lock is not None:
                    os.close(lock)
                    cause = "another machine of this name uses this folder, or has left it"
                    raise UserError(str(path), cause, "start again for a new folder, or name one with --scratch")
                if not waited:
                    waited = True
                    on_event(Waiting(scratch=path))
    except OSError as error:
        _remove_empty(path)
        cause = f"cannot be made: {error.strerror}"
        raise UserError(str(path), cause, "name a writable folder with --scratch") from error
    raise Stopped


def _marked(path: Path, lock: int) -> int:
    """Write the identity into the locked marker, and return its descriptor."""
    try:
        os.truncate(lock, 0)
        os.pwrite(lock, _marker_text().encode(), 0)
    except OSError:  # the file system is full
        _remove(path)
        os.close(lock)
        raise
    return lock


def _is_ours(path: Path) -> bool:
    """Return whether the folder is empty, or has a marker from pinsweep, also from another machine.

    Raises OSError without a folder.
    """
    try:
        words, _, machine = safe_files.head(path / SCRATCH_MARKER).decode().partition(f"{SCRATCH_MACHINE} ")
        return words in ("", MARKER_TEXT) and not re.search(r"[^0-9a-f\n]", machine)
    except (OSError, UnicodeDecodeError):
        return not any(path.iterdir())


def _marker_text() -> str:
    return f"{MARKER_TEXT}{SCRATCH_MACHINE} {identity.machine()}\n"


def _remove(path: Path) -> None:
    """Remove a folder with a marker. The marker is last. Raises OSError if a file remains."""
    if not (path / SCRATCH_MARKER).exists():
        return
    _clear(path)
    (path / SCRATCH_MARKER).unlink()
    path.rmdir()
    _remove_empty(path)


def _clear(path: Path) -> None:
    """Remove all files except the marker, without following links. Raises OSError if a file remains."""
    for entry in path.iterdir():
        if entry.name != SCRATCH_MARKER:
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _remove_orphaned(path: Path) -> None:
    """Remove the folder of a killed pinsweep, unless another pinsweep has it now."""
    with contextlib.suppress(OSError, UserError):
        refuse_shared(path)
        if not _is_ours(path) or not is_of_this_machine(path / SCRATCH_MARKER):
            return
        # the kernel may still be closing files of the other process
        lock = lockfile.acquire(path / SCRATCH_MARKER, _PATIENCE_S)
        if lock is not None:
            try:
                _remove(path)
            finally:
                os.close(lock)
    _remove_empty(path)


def _remove_empty(path: Path) -> None:
    """Remove the folder and its default parent folder, if they are empty."""
    with contextlib.suppress(OSError):
        path.rmdir()
    if path.parent.name == SCRATCH_ROOT:
        with contextlib.suppress(OSError):
            path.parent.rmdir()
