"""One sweep at a time on the same cores: who measures on which PUs of this machine is written in a folder that all users share. I/O.

Each pinsweep has a record there, a small file that it keeps locked (flock) for as long as it or its watchdog lives: what is not locked
is nobody's, so that no dead process is waited for. The folder itself is locked while the records are read and one is added. Nothing in
them is believed but that they are locked and which PUs they name; the rest is shown.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import platform
import pwd
import secrets
import select
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.machine.cpulist import format_cpulist, named_cpus, parse_cpulist
from orchestrator.machine.topology import Topology
from orchestrator.model import PlannedRun
from orchestrator.run.process import Stop
from orchestrator.run.scratch import Stopped
from parsers.errors import UserError

FOLDER_VARIABLE: Final = "PINSWEEP_RUNTIME_DIR"
FOLDERS: Final = (Path("/run/lock/pinsweep"), Path("/dev/shm/pinsweep"))
"""Where all users of a machine see each other; the first that can be had. /run/lock is root's on some distributions."""

LOOK_EVERY_S = 1.0
_MOST_BYTES: Final = 64 << 10  # of a record: the PUs of a machine of 4096 are 1 KiB
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Another pinsweep that measures on PUs that this one wants. Its own words, but for `user` and `shared`."""

    pid: str
    host: str  # in a container, its name there
    file: str
    since: str
    user: str
    shared: str  # the PUs that both want: "CPUs 0-3"

    def __str__(self) -> str:
        """Return "pid 4242 of ann on n07, since 2026-01-02 03:04 UTC, result file /data/ann/a.db"."""
        return f"pid {self.pid} of {self.user} on {self.host}, since {self.since}, result file {self.file}"


OnWait = Callable[[Holder | Path | None], None]
"""Is told who is waited for, once each, or whose scratch folder; None: no folder can be used, so that others are not seen."""


def told(holder: Holder | Path | None) -> str:
    """Return in words what `OnWait` is told."""
    if isinstance(holder, Path):
        return f"waiting  for another sweep that uses the scratch folder {holder}"
    if holder is None:
        return f"other sweeps on these CPUs are not seen: neither {FOLDERS[0]} nor {FOLDERS[1]} can be made"
    return f"waiting  for another sweep on {holder.shared}: {holder}"


def used_pus(runs: Iterable[PlannedRun], topology: Topology) -> frozenset[int]:
    """Return the PUs that some runs use; without a place, a run may use all that are allowed. Pure."""
    used: set[int] = set()
    for run in runs:
        used |= set(run.placement.cpus) if run.placement else topology.allowed_cpus
    return frozenset(used)


def wanted_pus(runs: Iterable[PlannedRun], topology: Topology) -> frozenset[int]:
    """Return the PUs of all cores that some runs use, SMT siblings included. Pure."""
    used = used_pus(runs, topology)
    cores = {topology.core_of.get(cpu) for cpu in used}
    return used.union(*(core.cpus for core in topology.cores if core.index in cores))


def every_pu(topology: Topology) -> frozenset[int]:
    """Return all PUs of a machine: what is set for all of them disturbs who measures on any. Pure."""
    return frozenset(pu.os_index for pu in topology.pus)


@contextlib.contextmanager
def reserved(
    cpus: Iterable[int], file: Path, stop: Stop, on_wait: OnWait = lambda _: None
) -> Iterator[tuple[int, ...]]:
    """Have some PUs for this process; wait until nobody else has one of them.

    Yields the descriptors that keep the PUs, for the watchdog to keep as well. Raises Stopped on a stop while waiting, UserError if
    the folder that PINSWEEP_RUNTIME_DIR names cannot be used.
    """
    cpus = frozenset(cpus)
    folder = _folder() if cpus else None
    if folder is None:
        if cpus:
            on_wait(None)
        yield ()
        return
    try:
        record = _wait(folder, cpus, file, stop, on_wait)
        try:
            yield (record.descriptor,)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(record.name, dir_fd=folder)
            os.close(record.descriptor)
    finally:
        os.close(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    name: str
    descriptor: int


def _wait(folder: int, cpus: frozenset[int], file: Path, stop: Stop, on_wait: OnWait) -> _Record:
    told: Holder | None = None
    while stop.requested is None:
        found = _taken_or_holder(folder, cpus, file)
        if isinstance(found, _Record):
            return found
        if found is not None and found != told:
            told = found
            on_wait(found)
        select.select([stop], [], [], LOOK_EVERY_S if found else 0.02)
    raise Stopped


def _taken_or_holder(folder: int, cpus: frozenset[int], file: Path) -> _Record | Holder | None:
    """Take the PUs, or return who has some of them; None if another process is looking at this moment."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    try:
        for name in os.listdir(folder):
            if name.endswith(".pus") and (holder := _holder(folder, name, cpus)):
                return holder
        return _take(folder, cpus, file)
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


def _take(folder: int, cpus: frozenset[int], file: Path) -> _Record:
    name = f"{os.getpid()}-{secrets.token_hex(4)}.pus"
    text = json.dumps(
        {
            "pus": format_cpulist(cpus),
            "pid": os.getpid(),
            "host": platform.node(),
            "file": str(file.absolute()),
            "since": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        }
    )
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
        os.fchmod(descriptor, 0o644)  # others must be able to read it whatever the umask
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(descriptor, text.encode())
    except OSError as error:
        raise UserError(
            os.readlink(f"/proc/self/fd/{folder}"),  # noqa: PTH115 (text for people)
            f"cannot hold the CPUs that this sweep uses: {error.strerror}",
            f"{FOLDER_VARIABLE} names a folder for it; --share-machine does without",
        ) from error
    return _Record(name=name, descriptor=descriptor)


def _holder(folder: int, name: str, cpus: frozenset[int]) -> Holder | None:
    """Return whose record it is if it is somebody's and names one of the PUs. What nobody has locked is removed."""
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except OSError:  # its owner removed it, it is a link, or it is not for us to read
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read(os.read(descriptor, _MOST_BYTES), status.st_uid, cpus)
        with contextlib.suppress(OSError):  # another user's
            os.unlink(name, dir_fd=folder)
        return None
    finally:
        os.close(descriptor)


def _read(text: bytes, uid: int, cpus: frozenset[int]) -> Holder | None:
    try:
        raw = json.loads(text)
        shared = cpus & parse_cpulist(str(raw["pus"]))
    except (ValueError, TypeError, KeyError, RecursionError):  # it is no record of ours
        return None
    if not shared:
        return None
    words = {key: _shown(raw.get(key)) for key in ("pid", "host", "file", "since")}
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = f"user {uid}"
    return Holder(**words, user=user, shared=named_cpus(shared))


def _shown(value: object) -> str:
    """Return somebody else's words as one line that a terminal does not obey."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(value))[:200]


def _folder() -> int | None:
    """Open the shared folder, made if it is not there; None if there is none to be had."""
    if named := os.environ.get(FOLDER_VARIABLE):
        try:
            Path(named).mkdir(parents=True, exist_ok=True)
            return _opened(Path(named))
        except OSError as error:
            raise UserError(
                f"{FOLDER_VARIABLE}={named}", f"cannot be used: {error.strerror}", "name a folder of yours"
            ) from error
    for path in FOLDERS:
        with contextlib.suppress(OSError):
            made = not path.exists()
            path.mkdir(exist_ok=True)
            folder = _opened(path)
            if made and os.fstat(folder).st_uid == os.geteuid():
                os.fchmod(folder, 0o1777)
            return folder
    return None


def _opened(path: Path) -> int:
    folder = os.open(path, _READ | os.O_DIRECTORY)
    if not os.access(path, os.W_OK | os.X_OK):
        os.close(folder)
        raise PermissionError(13, "Permission denied", str(path))
    return folder
