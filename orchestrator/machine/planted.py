"""Find programs that root must not start, because another user could have put them on root's PATH. I/O.

Root would start a `numactl` from a folder that another user may write. A program that the user names by path is the
user's choice.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from orchestrator.machine.safe_files import other_writer, trusted_users, user_name
from parsers.errors import UserError


def which(name: str, path: str | None = None, *, hint: str = "") -> str:
    """Return the path of a program by name, or "". A name with a slash is already a path.

    Raises UserError for root if another user may have put the program there. `hint` describes another way to name it.
    """
    program = shutil.which(name, path=path) or ""
    if program and "/" not in name:
        refuse(program, hint=hint)
    return program


def harmless(*names: str) -> str:
    """Return the path of the first installed program of these names. "" if there is none or `refuse` refuses it.

    Use this for programs that only describe the machine, because a sweep can do without.
    """
    programs = (path for name in names if (path := shutil.which(name)))
    return next((path for path in programs if not danger(path)), "")


def refuse(program: str, *, hint: str = "") -> None:
    """Raise UserError if root would start a program from another user."""
    if why := danger(program):
        hint = hint or "take its folder out of PATH, or give it to root: `chown root`, `chmod go-w`"
        raise UserError(program, why, hint)


def danger(program: str) -> str:
    """Return why root must not start a program that the user did not name. "" for other users, and for a safe program."""
    why = reason(program) if os.geteuid() == 0 else ""
    return why and f"{why}: another user could have put this program there, and root would start it"


def reason(program: str) -> str:
    """Return which other user may replace a program, or "".

    Owners and writers of the program, of its parent folders and of links count. In a sticky parent folder (/tmp), other
    users cannot move foreign files. In the program's folder, they can add files.
    """
    path = Path(program).absolute()  # links and ".." are not resolved
    near = {p for end in (path, path.resolve()) for p in (end, end.parent)}
    for step in _way(path):
        try:
            status = step.lstat()
        except OSError:
            continue
        if status.st_uid not in trusted_users():
            return f"{step} belongs to the user {user_name(status.st_uid)}"
        if stat.S_ISLNK(status.st_mode) or (status.st_mode & stat.S_ISVTX and step not in near):
            continue
        if other := other_writer(step, status):
            return f"{other} may write {step}"
    return ""


def _way(path: Path) -> Iterator[Path]:
    """Yield a path, its parent folders, and the targets of links with their parent folders."""
    for part in (path, *path.parents):
        yield part
        if part.is_symlink():
            yield from _way(part.parent / part.readlink())
