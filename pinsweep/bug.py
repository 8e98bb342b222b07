"""Reports of bugs in pinsweep: a sentence for the user, and the traceback in a file."""

from __future__ import annotations

import contextlib
import errno
import sys
from collections.abc import Sequence
from pathlib import Path

_MOST_FILES = 50
"""Files of a command line that are looked at."""


_HINTS = {
    errno.EMFILE: "raise the limit of open files: ulimit -n 1024",
    errno.ENFILE: "raise the limit of open files of the machine: sysctl fs.file-max",
    errno.ENOMEM: "raise the memory limit (ulimit -v, cgroup)",
    errno.EAGAIN: "raise the limit of processes: ulimit -u, or pids.max of the cgroup",
    errno.ENOSYS: "pinsweep needs Linux 4.15 or newer, and a sandbox that allows this system call",
    errno.EPERM: "a sandbox (seccomp, container) may forbid this system call",
    errno.EACCES: "check the permissions of the folders on the path",
}


def describe_system_error(error: OSError) -> tuple[str, str, str]:
    """Return the place, the message and the hint of an error of the operating system.

    The place is the file, or the function of pinsweep that asked the system if no file is named.
    """
    place = str(error.filename or "") or _function(error)
    hint = "" if error.filename and error.errno == errno.EPERM else _HINTS.get(error.errno or 0, "")
    return place, error.strerror or str(error), hint


def _function(error: OSError) -> str:
    """Return the innermost function of pinsweep in a traceback: `orchestrator.machine.ask.in_memory`."""
    import traceback

    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] in ("pinsweep", "reports", "orchestrator", "parsers"):
            return f"{module}.{frame.f_code.co_name}"
    return ""


def of_a_file(words: Sequence[str]) -> Exception | None:
    """Return the damage of a result file on the command line, also in a folder or glob, or None. A damaged file is
    not a bug of pinsweep."""
    with contextlib.suppress(Exception):  # we come from an error already
        from orchestrator.store.database import MAGIC
        from reports.results.strange import damage

        for path in _files(words):
            with path.open("rb") as stream:
                begins = stream.read(len(MAGIC))
            if begins == MAGIC and (found := damage(path)):
                return found
    return None


def _files(words: Sequence[str]) -> list[Path]:
    named = [path for word in words for path in (Path(word), *_of_glob(word))]
    found = [one for path in named for one in (sorted(path.glob("*.db")) if path.is_dir() else [path])]
    return list(dict.fromkeys(path for path in found if path.is_file()))[:_MOST_FILES]


def _of_glob(word: str) -> list[Path]:
    with contextlib.suppress(ValueError, NotImplementedError):  # no pattern, or one from the root on
        folder, _, name = word.rpartition("/")
        return sorted(Path(folder or ".").glob(name)) if "*" in name or "?" in name else []
    return []


def told() -> tuple[str, str]:
    """Write the traceback of the current exception to a new file. Return an error and a hint with the name of the
    file."""
    import tempfile
    import traceback

    from parsers import extensions

    with tempfile.NamedTemporaryFile("w", prefix="pinsweep-bug-", suffix=".txt", delete=False) as file:
        file.write(f"{sys.argv!r}\n{traceback.format_exc()}")
    kind, value, _ = sys.exc_info()
    if value and (found := extensions.of_error(value)):
        return (
            f"error: {found[0]}: broke down in {extensions.what_is_wrong(value)}",
            f"hint: report it to the authors of {found[0].name}, with {file.name}; without it: pip uninstall {found[0].name}",
        )
    return (
        f"error: a bug in pinsweep: {kind.__name__ if kind else '?'}: {value}",
        f"hint: please report it with {file.name}",
    )
