"""`run --tune`: set what makes figures vary while a sweep lasts, and put it back, whatever happens. I/O but for `facts_after`.

Set are the frequency governor (performance) and automatic NUMA balancing (off). Not turbo and huge pages, which change what is
measured; nor services, which no written value puts back.

What was is written to a state file before anything is changed. Whoever holds the file locked is still at work: pinsweep, or its watchdog, which puts back when pinsweep was killed. What nobody holds is left over, and
`doctor --restore` puts it back. A restart of the machine undoes both, the settings and the file in /run.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from orchestrator.run.exclusive import FOLDER_VARIABLE
from parsers.errors import UserError

ROOT: Final = Path("/")
FOLDER: Final = Path("/run/pinsweep")
STATE: Final = "tuned.json"

_POLICIES: Final = "sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
_BALANCING: Final = "proc/sys/kernel/numa_balancing"
_KNOB: Final = re.compile(
    r"sys/devices/system/cpu/cpufreq/policy\d+/scaling_governor|proc/sys/kernel/numa_balancing"
)
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
    """What a state file says, and whether somebody is at work on it."""

    pid: int
    since: str
    file: str
    changes: tuple[Change, ...]
    in_use: bool

    def __str__(self) -> str:
        """Return "pid 4242, since 2026-01-02 03:04 UTC, result file /data/a.db"."""
        return f"pid {self.pid}, since {self.since}, result file {self.file}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The machine as `tuned` has set it."""

    changes: tuple[Change, ...] = ()
    keep: tuple[int, ...] = ()  # descriptors for the watchdog
    put_back: Callable[[], None] = lambda: None  # what the watchdog does where this process was killed


def words(changes: Iterable[Change]) -> str:
    """Return "CPU frequency governor powersave → performance (8 of them), automatic NUMA balancing 1 → 0". Pure."""
    alike: dict[tuple[str, str, str], int] = {}
    for change in changes:
        key = change.what, change.was, change.now
        alike[key] = alike.get(key, 0) + 1
    return ", ".join(
        f"{what} {was} → {now}{f' ({number} policies)' if number > 1 else ''}"
        for (what, was, now), number in alike.items()
    )


def facts_after(changes: Iterable[Change]) -> dict[str, str]:
    """Return the facts of a machine (`orchestrator.machine.probe.facts`) that are others once it is changed so. Pure."""
    found = {}
    for change in changes:
        if change.path == _BALANCING:
            found["numa_balancing"] = "off"
        else:
            found["governor"] = change.now
    return found


def needed(root: Path = ROOT) -> tuple[Change, ...]:
    """Return what --tune would change now. Raises UserError where it could not: no rights, no such governor."""
    changes = []
    for path in sorted(root.glob(_POLICIES)):
        was = _word(path)
        offered = _word(path.with_name("scaling_available_governors")).split()
        if was in ("", "performance"):
            continue
        if was == "userspace":
            raise UserError("--tune", f"{path} is userspace: somebody chose a frequency", "leave --tune out")
        if offered and "performance" not in offered:
            raise UserError(
                "--tune", f"{path} does not offer performance, only {', '.join(offered)}", "leave --tune out"
            )
        changes.append(Change(path=str(path.relative_to(root)), was=was, now="performance"))
    if _word(root / _BALANCING) == "1":
        changes.append(Change(path=_BALANCING, was="1", now="0"))
    for change in changes:
        if not os.access(root / change.path, os.W_OK):
            raise UserError(
                "--tune", f"{root / change.path} cannot be written", "run it as root, or leave --tune out"
            )
    return tuple(changes)


@contextlib.contextmanager
def tuned(file: Path, say: Callable[[str], None] = lambda _: None, root: Path = ROOT) -> Iterator[Tuned]:
    """Change what is `needed`, and put it back at the end; what a killed run left is put back before. `say` is told of both.

    Raises UserError where that is impossible; nothing is changed then.
    """
    folder = _folder()
    needed(root)
    held = _held(folder, make=True)
    try:
        if left := _changes(held):
            for line in _put_back(left, root):
                say(line)
            say(f"an earlier run left it tuned: {words(left)} was put back first")
        changes = needed(root)
        if not changes:
            say("nothing to change")
            _forget(folder)
            yield Tuned()
            return
        _write(held, file, changes)

        def put_back() -> None:
            trouble = _put_back(changes, root)
            for line in trouble:
                say(line)
            if not trouble:
                _forget(folder)

        try:
            _apply(changes, root)
            say(f"{words(changes)}, until the end")
            yield Tuned(changes=changes, keep=(held,), put_back=put_back)
        finally:
            put_back()
    finally:
        os.close(held)


def current() -> State | None:
    """Return who has tuned this machine, or has left it so; None if nobody has."""
    try:
        descriptor = _open(_folder() / STATE, os.O_RDONLY)
    except (OSError, UserError):
        return None
    try:
        changes = _changes(descriptor)
        if not changes:
            return None
        raw = json.loads(_text(descriptor))
        return State(
            pid=int(raw["pid"]),
            since=str(raw["since"]),
            file=str(raw["file"]),
            changes=changes,
            in_use=not _lock(descriptor, fcntl.LOCK_SH),
        )
    finally:
        os.close(descriptor)


def restore(root: Path = ROOT) -> tuple[str, tuple[str, ...]]:
    """Put back what a killed run left; return what was put back and what was not, in words.

    Raises UserError where that is impossible: without rights, or while the run is at work.
    """
    folder = _folder()
    if current() is None:
        return "nothing to put back", ()
    descriptor = _held(folder, make=False)
    try:
        changes = _changes(descriptor)
        for change in changes:
            if not os.access(root / change.path, os.W_OK) and _word(root / change.path) == change.now:
                raise UserError("--restore", f"{root / change.path} cannot be written", "run it as root")
        trouble = _put_back(changes, root)
        _forget(folder)
        back = [Change(path=c.path, was=c.now, now=c.was) for c in changes if _word(root / c.path) == c.was]
        return f"put back: {words(back) or 'nothing'}", tuple(trouble)
    finally:
        os.close(descriptor)


# --- the kernel's files ------------------------------------------------------------------------------------


def _apply(changes: Sequence[Change], root: Path) -> None:
    for change in changes:
        try:
            _set(root / change.path, change.now)
        except OSError as error:
            raise UserError(
                "--tune",
                f"{root / change.path} cannot be set to {change.now}: {error.strerror}",
                "leave --tune out",
            ) from error


def _put_back(changes: Sequence[Change], root: Path) -> list[str]:
    """Set what is still as we set it; return what was not put back, and why. What somebody else has set meanwhile is theirs."""
    trouble = []
    for change in reversed(changes):
        path = root / change.path
        present = _word(path)
        if present == change.was:
            continue
        if present != change.now:
            trouble.append(
                f"{path} was not put back to {change.was}: it is {present or 'gone'} now, by somebody else"
            )
            continue
        try:
            _set(path, change.was)
        except OSError as error:
            trouble.append(f"{path} could not be put back to {change.was}: {error.strerror}")
    return trouble


def _set(path: Path, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.write(descriptor, f"{value}\n".encode())  # one write: the kernel takes each as a value
    finally:
        os.close(descriptor)


def _word(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""


# --- the state file ----------------------------------------------------------------------------------------


def _folder() -> Path:
    return Path(os.environ.get(FOLDER_VARIABLE) or FOLDER)


def _held(folder: Path, *, make: bool) -> int:
    """Open the state file and lock it. Raises UserError if another run has it, or it is not ours."""
    path = folder / STATE
    while True:
        try:
            if make:
                folder.mkdir(parents=True, exist_ok=True)
            descriptor = _open(path, os.O_RDWR | (os.O_CREAT if make else 0))
        except OSError as error:
            raise UserError(
                str(path),
                f"cannot be opened: {error.strerror}",
                f"run it as root, or name a folder with {FOLDER_VARIABLE}",
            ) from error
        if not _lock(descriptor, fcntl.LOCK_EX):
            os.close(descriptor)
            at_work = current()
            raise UserError(
                "this machine",
                f"another `pinsweep run --tune` has tuned it ({at_work or 'it is just beginning'})",
                "wait for it",
            )
        with contextlib.suppress(FileNotFoundError):  # its owner removed it after we opened it
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def _open(path: Path, how: int) -> int:
    """Open a state file of this user's or of root's. Raises UserError if others could have written it, OSError if it cannot be opened."""
    descriptor = os.open(path, how | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    found = os.fstat(descriptor)
    mine = found.st_uid in (0, os.geteuid()) and found.st_nlink == 1 and not found.st_mode & 0o022
    if not stat.S_ISREG(found.st_mode) or not mine:
        os.close(descriptor)
        raise UserError(str(path), "others can write this file: it is not believed", "remove it")
    return descriptor


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write(descriptor: int, file: Path, changes: Sequence[Change]) -> None:
    """Write the state, and have it safe: until this returns nothing is changed, so that half a file means that nothing was."""
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
    """Return the changes in a state file; () if it was cut short, or names what we never change."""
    try:
        found = tuple(Change(**raw) for raw in json.loads(_text(descriptor))["changes"])
        sound = all(
            _KNOB.fullmatch(c.path) and _VALUE.fullmatch(c.was) and _VALUE.fullmatch(c.now) for c in found
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return ()
    return found if sound else ()


def _text(descriptor: int) -> bytes:
    return os.pread(descriptor, 1 << 20, 0)


def _forget(folder: Path) -> None:
    (folder / STATE).unlink(missing_ok=True)
