"""Change settings of the machine for `run --tune`, and always restore them. I/O, except `facts_after`.

--tune sets the frequency governor (performance) and automatic NUMA balancing (off). Turbo and huge pages would change
the measured quantity, and services cannot be restored by writing a value. So --tune does not change them.

A state file has the old values before any change. The run or its watchdog holds the lock on this file, and the watchdog
restores the values if pinsweep was killed. `doctor --restore` restores the values of an unlocked file. A reboot resets
the settings and /run.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from orchestrator.machine import lockfile
from orchestrator.run.exclusive import FOLDER_VARIABLE
from parsers.errors import UserError

ROOT: Final = Path("/")
FOLDER: Final = Path("/run/pinsweep")
STATE: Final = "tuned.json"

_POLICIES: Final = "sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
_BALANCING: Final = "proc/sys/kernel/numa_balancing"
_KNOB: Final = re.compile(rf"{_POLICIES.replace('*', '[0-9]+')}|{_BALANCING}")
_VALUE: Final = re.compile(r"\w{1,32}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file of the kernel's."""

    path: str  # below the root: "proc/sys/kernel/numa_balancing"
    was: str
    now: str

    @property
    def what(self) -> str:
        return "automatic NUMA balancing" if self.path == _BALANCING else "CPU frequency governor"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The content of a state file, and whether a run still uses it."""

    pid: int
    since: str
    file: str
    changes: tuple[Change, ...]
    in_use: bool

    def __str__(self) -> str:
        """Return "pid 4242, since 2026-01-02 03:04 UTC, result file /data/a.db"."""
        return f"pid {self.pid}, since {self.since}, result file {self.file}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The machine after `tuned` changed it."""

    changes: tuple[Change, ...] = ()
    keep: tuple[int, ...] = ()  # descriptors for the watchdog
    put_back: Callable[[], None] = lambda: None  # for the watchdog, if this process is killed


def words(changes: Iterable[Change]) -> str:
    """Return "CPU frequency governor powersave → performance (8 policies), automatic NUMA balancing 1 → 0". Pure."""
    counts = Counter(f"{change.what} {change.was} → {change.now}" for change in changes)
    return ", ".join(f"{text} ({n} policies)" if n > 1 else text for text, n in counts.items())


def facts_after(changes: Iterable[Change]) -> dict[str, str]:
    """Return the facts of a machine (`orchestrator.machine.probe.facts`) that some changes alter. Pure."""
    return dict(("numa_balancing", "off") if c.path == _BALANCING else ("governor", c.now) for c in changes)


def needed(root: Path = ROOT) -> tuple[Change, ...]:
    """Return the changes that --tune would make now. Raises UserError without the rights, or without the governor."""
    hint = "leave --tune out"
    changes = []
    for path in sorted(root.glob(_POLICIES)):
        governor, offered = _word(path), _word(path.with_name("scaling_available_governors")).split()
        if governor in ("", "performance"):
            continue
        if governor == "userspace":
            raise UserError("--tune", f"{path} is userspace, so a user chose a frequency", hint)
        if offered and "performance" not in offered:
            raise UserError("--tune", f"{path} does not offer performance, only {', '.join(offered)}", hint)
        changes.append(Change(path=str(path.relative_to(root)), was=governor, now="performance"))
    if _word(root / _BALANCING) == "1":
        changes.append(Change(path=_BALANCING, was="1", now="0"))
    for change in changes:
        if not os.access(root / change.path, os.W_OK):
            raise UserError("--tune", f"{root / change.path} cannot be written", f"run as root, or {hint}")
    return tuple(changes)


@contextlib.contextmanager
def tuned(file: Path, say: Callable[[str], None] = lambda _: None, root: Path = ROOT) -> Iterator[Tuning]:
    """Make the changes in `needed`, and undo them at the end.

    First restore after a killed run. `say` gets one line per action.

    Raises UserError, without any change, if this is impossible.
    """
    path = _path()
    needed(root)
    lock = _hold(path)
    try:
        if left := _changes(lock):
            for line in _put_back(left, root):
                say(line)
            say(f"an earlier run left it tuned: {words(left)} was put back first")
        changes = needed(root)
        if not changes:
            say("nothing to change")
            path.unlink(missing_ok=True)
            yield Tuning()
            return
        _write(lock, file, changes)

        def put_back() -> None:
            trouble = _put_back(changes, root)
            for line in trouble:
                say(line)
            if not trouble:
                path.unlink(missing_ok=True)

        try:
            for change in changes:
                _apply(change, root)
            say(f"{words(changes)}, until the end")
            yield Tuning(changes=changes, keep=(lock,), put_back=put_back)
        finally:
            put_back()
    finally:
        os.close(lock)


def current() -> State | None:
    """Return the run that has tuned this machine or has left it tuned, or None."""
    path = _path()
    try:
        state = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        _refuse_foreign(state, path)
        if not (changes := _changes(state)):
            return None
        raw = json.loads(_text(state))
        return State(
            pid=int(raw["pid"]), since=str(raw["since"]), file=str(raw["file"]), changes=changes, in_use=lockfile.is_held(path)
        )  # fmt: skip
    except (UserError, ValueError, TypeError, KeyError):
        return None
    finally:
        os.close(state)


def restore(root: Path = ROOT) -> tuple[str, tuple[str, ...]]:
    """Restore the settings after a killed run. Return the restored and the remaining settings as text.

    Raises UserError without the rights, and while the run is active.
    """
    if current() is None:
        return "nothing to put back", ()
    lock = _hold(_path())
    try:
        changes = _changes(lock)
        for change in changes:
            if not os.access(root / change.path, os.W_OK) and _word(root / change.path) == change.now:
                raise UserError("--restore", f"{root / change.path} cannot be written", "run as root")
        trouble = _put_back(changes, root)
        _path().unlink(missing_ok=True)
        back = [replace(c, was=c.now, now=c.was) for c in changes if _word(root / c.path) == c.was]
        return f"put back: {words(back) or 'nothing'}", tuple(trouble)
    finally:
        os.close(lock)


# --- the kernel's files ------------------------------------------------------------------------------------


def _apply(change: Change, root: Path) -> None:
    path = root / change.path
    try:
        _set(path, change.now)
    except OSError as error:
        cause = f"{path} cannot be set to {change.now}: {error.strerror}"
        raise UserError("--tune", cause, "leave --tune out") from error


def _put_back(changes: Sequence[Change], root: Path) -> list[str]:
    """Restore settings that still have pinsweep's value.

    Return the remaining settings with reasons. Later values from other programs do not change.
    """
    trouble = []
    for change in reversed(changes):
        path = root / change.path
        present = _word(path)
        if present not in (change.was, change.now):
            trouble.append(f"{path} was not put back to {change.was}: another program set {present or 'nothing'}")
        elif present == change.now:
            try:
                _set(path, change.was)
            except OSError as error:
                trouble.append(f"{path} could not be put back to {change.was}: {error.strerror}")
    return trouble


def _set(path: Path, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.write(descriptor, f"{value}\n".encode())  # one write: the kernel takes each write as a value
    finally:
        os.close(descriptor)


def _word(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""


# --- the state file ----------------------------------------------------------------------------------------


def _path() -> Path:
    return Path(os.environ.get(FOLDER_VARIABLE) or FOLDER) / STATE


def _hold(path: Path) -> int:
    """Make and lock the state file. Raises UserError if another run has it, or if another user could have written it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = lockfile.acquire(path)
    except OSError as error:
        cause = f"cannot be opened: {error.strerror}"
        raise UserError(str(path), cause, f"run as root, or name a folder with {FOLDER_VARIABLE}") from error
    if lock is None:
        owner = current() or "it is just beginning"
        cause = f"another `pinsweep run --tune` has tuned it ({owner})"
        raise UserError("this machine", cause, "wait for it")
    try:
        _refuse_foreign(lock, path)
    except UserError:
        os.close(lock)
        raise
    return lock


def _refuse_foreign(descriptor: int, path: Path) -> None:
    """Raise UserError for a state file that other users than this user and root can write."""
    status = os.fstat(descriptor)
    mine = status.st_uid in (0, os.geteuid()) and status.st_nlink == 1 and not status.st_mode & 0o022
    if not stat.S_ISREG(status.st_mode) or not mine:
        raise UserError(str(path), "this file is not trusted, because other users can write to it", "remove it")


def _write(descriptor: int, file: Path, changes: Sequence[Change]) -> None:
    """Write and sync the state. Nothing is changed before that: half a file means that nothing was."""
    text = {
        "pid": os.getpid(),
        "since": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "file": str(file.absolute()),
        "changes": [asdict(change) for change in changes],
    }
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(text).encode(), 0)
    os.fsync(descriptor)


def _changes(descriptor: int) -> tuple[Change, ...]:
    """Return the changes in a state file. Empty for an incomplete file, and for files or values that --tune never sets."""
    try:
        changes = tuple(Change(**raw) for raw in json.loads(_text(descriptor))["changes"])
        if all(_KNOB.fullmatch(c.path) and _VALUE.fullmatch(c.was) and _VALUE.fullmatch(c.now) for c in changes):
            return changes
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    return ()


def _text(descriptor: int) -> bytes:
    return os.pread(descriptor, 1 << 20, 0)
