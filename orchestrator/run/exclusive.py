"""Allow one sweep at a time on the same cores. A folder for all users has the PUs of each sweep on this machine. I/O.

Each pinsweep has a record in the folder, a small file. The record is locked (flock) while pinsweep or its watchdog
lives. An unlocked record belongs to a dead process and is removed. The folder is locked while records are read and
added. Only the lock and the PUs of a record are trusted. The other fields are only shown.
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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from orchestrator.machine.cpulist import format_cpulist, named_cpus, parse_cpulist
from orchestrator.machine.topology import Topology
from orchestrator.model import PlannedRun
from orchestrator.run.events import Holder, OnEvent, Waiting
from orchestrator.run.process import Stop
from orchestrator.run.scratch import Stopped
from parsers.errors import UserError

FOLDER_VARIABLE: Final = "PINSWEEP_RUNTIME_DIR"
FOLDERS: Final = (Path("/run/lock/pinsweep"), Path("/dev/shm/pinsweep"))
"""Folders that all users of a machine share.

The first usable folder is used, because some systems reserve /run/lock for root.
"""

LOOK_EVERY_S = 1.0
_MAX_BYTES: Final = 64 << 10  # size of a record: 4096 PUs take 1 KiB
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def used_pus(runs: Iterable[PlannedRun], topology: Topology) -> frozenset[int]:
    """Return the PUs that some runs use; a run without a place may use all that are allowed. Pure."""
    return frozenset[int]().union(*(run.placement.cpus if run.placement else topology.allowed_cpus for run in runs))


def wanted_pus(runs: Iterable[PlannedRun], topology: Topology) -> frozenset[int]:
    """Return the PUs of all cores that some runs use, SMT siblings included. Pure."""
    used = used_pus(runs, topology)
    cores = {topology.core_of.get(cpu) for cpu in used}
    return used.union(*(core.cpus for core in topology.cores if core.index in cores))


def every_pu(topology: Topology) -> frozenset[int]:
    """Return all PUs of a machine, because --tune disturbs sweeps on any of them. Pure."""
    return frozenset(pu.os_index for pu in topology.pus)


@contextlib.contextmanager
def reserved(
    cpus: Iterable[int], file: Path, stop: Stop, on_event: OnEvent = lambda _: None
) -> Iterator[tuple[int, ...]]:
    """Reserve PUs for this process, and wait while another sweep uses one of them.

    Yields the descriptors that hold the reservation, so that the watchdog can hold them too. Raises Stopped on a stop
    during the wait. Raises UserError if the folder in PINSWEEP_RUNTIME_DIR cannot be used.
    """
    cpus = frozenset(cpus)
    with _shared_folder() if cpus else contextlib.nullcontext() as folder:
        if folder is None:
            if cpus:
                on_event(Waiting())
            yield ()
            return
        name = f"{os.getpid()}-{secrets.token_hex(4)}.pus"
        record = _wait(folder, name, cpus, file, stop, on_event)
        try:
            yield (record,)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
            os.close(record)


def _wait(folder: int, name: str, cpus: frozenset[int], file: Path, stop: Stop, on_event: OnEvent) -> int:
    """Wait until no other record names one of the PUs; return the descriptor of our new record. Raises Stopped."""
    reported: Holder | None = None
    while stop.requested is None:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another process reads at this moment
            select.select([stop], [], [], 0.02)
            continue
        try:
            records = (_holder(folder, other, cpus) for other in os.listdir(folder) if other.endswith(".pus"))
            holder = next(filter(None, records), None)
            if holder is None:
                return _make_record(folder, name, cpus, file)
        finally:
            fcntl.flock(folder, fcntl.LOCK_UN)
        if holder != reported:
            reported = holder
            on_event(Waiting(holder=holder))
        select.select([stop], [], [], LOOK_EVERY_S)
    raise Stopped


def _make_record(folder: int, name: str, cpus: frozenset[int], file: Path) -> int:
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
        record = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
        os.fchmod(record, 0o644)  # others must be able to read it under any umask
        fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(record, text.encode())
    except OSError as error:
        raise UserError(
            os.readlink(f"/proc/self/fd/{folder}"),  # noqa: PTH115 (text for people)
            f"cannot reserve the CPUs of this sweep: {error.strerror}",
            f"name another folder in {FOLDER_VARIABLE}, or use --share-machine",
        ) from error
    return record


def _holder(folder: int, name: str, cpus: frozenset[int]) -> Holder | None:
    """Return the owner of a record that is locked and names one of the PUs. An unlocked record is removed."""
    try:
        record = os.open(name, _READ, dir_fd=folder)
    except OSError:  # its owner removed it, it is a link, or we may not read it
        return None
    status = os.fstat(record)
    try:
        if not stat.S_ISREG(status.st_mode):
            return None
        fcntl.flock(record, fcntl.LOCK_SH | fcntl.LOCK_NB)
        with contextlib.suppress(OSError):  # another user's
            os.unlink(name, dir_fd=folder)
        return None
    except BlockingIOError:
        return _read(os.read(record, _MAX_BYTES), status.st_uid, cpus)
    finally:
        os.close(record)


def _read(text: bytes, uid: int, cpus: frozenset[int]) -> Holder | None:
    try:
        raw = json.loads(text)
        shared = cpus & parse_cpulist(str(raw["pus"]))
    except (ValueError, TypeError, KeyError, RecursionError):  # not one of our records
        return None
    if not shared:
        return None
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = f"user {uid}"
    words = {key: _printable(raw.get(key)) for key in ("pid", "host", "file", "since")}
    return Holder(**words, user=user, shared=named_cpus(shared))


def _printable(value: object) -> str:
    """Return text from another user as one line without terminal control characters."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(value))[:200]


@contextlib.contextmanager
def _shared_folder() -> Iterator[int | None]:
    """Open the shared folder, and make it if missing. None if no folder can be used."""
    name = os.environ.get(FOLDER_VARIABLE)
    folder = None
    for path in (Path(name),) if name else FOLDERS:
        try:
            is_new = not path.exists()
            path.mkdir(parents=bool(name), exist_ok=True)
            folder = os.open(path, _READ | os.O_DIRECTORY)
            if not os.access(path, os.W_OK | os.X_OK):
                os.close(folder)
                folder = None
                raise PermissionError(13, "Permission denied")
            if is_new and not name and os.fstat(folder).st_uid == os.geteuid():
                os.fchmod(folder, 0o1777)
            break
        except OSError as error:
            if name:
                raise UserError(
                    f"{FOLDER_VARIABLE}={name}", f"cannot be used: {error.strerror}", "name a folder of yours"
                ) from error
    try:
        yield folder
    finally:
        if folder is not None:
            os.close(folder)
