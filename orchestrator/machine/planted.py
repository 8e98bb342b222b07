"""Programs that root would start though others could have put them there. I/O: reads who may write where.

Root's PATH may hold a folder that somebody else may write: a `numactl` of theirs would be started as root. If the user names a program by
its path, the user has chosen it.
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
    """Return the path of a program that is looked for by name, "" if there is none; a name with a slash is a path already.

    Raises UserError for root where others may have put it there: `hint` says how else to name it.
    """
    found = shutil.which(name, path=path) or ""
    if found and "/" not in name:
        refuse(found, hint=hint)
    return found


def harmless(*names: str) -> str:
    """Return the path of the first program of these names that is there and that `refuse` would let root start; "" if there is none.

    For programs that only describe the machine: without them less is known, and a sweep can do without.
    """
    found = (path for name in names if (path := shutil.which(name)))
    return next((path for path in found if not danger(path)), "")


def refuse(found: str, *, hint: str = "") -> None:
    """Raise UserError where root would start a program that others could have put where it was found."""
    if why := danger(found):
        raise UserError(
            found, why, hint or "take its folder out of PATH, or give it to root: `chown root`, `chmod go-w`"
        )


def danger(found: str) -> str:
    """Say why root must not start a program that the user did not name; "" for other users, and if only root could have put it there."""
    why = reason(found) if os.geteuid() == 0 else ""
    return why and f"{why}: another user could have put this program there, and root would start it"


def reason(found: str) -> str:
    """Say who else may exchange a program: owners and writers of the program, of the folders above and of links on the way; "" if nobody.

    The owner of "/" and of pinsweep's own files is trusted: what they write runs already. In a folder above that is sticky (/tmp), others
    cannot move what is not theirs; into the program's own folder they can put something.
    """
    program = Path(found).absolute()  # links and ".." stay
    near = {path for end in (program, program.resolve()) for path in (end, end.parent)}
    trusted = trusted_users()
    for path in _way(program):
        try:
            about = path.lstat()
        except OSError:
            continue
        if about.st_uid not in trusted:
            return f"{path} belongs to the user {user_name(about.st_uid)}"
        if stat.S_ISLNK(about.st_mode) or (about.st_mode & stat.S_ISVTX and path not in near):
            continue
        if other := other_writer(path, about):
            return f"{other} may write {path}"
    return ""


def _way(path: Path) -> Iterator[Path]:
    """Yield a path, all folders above it, and the same of what links among them lead to."""
    for part in (path, *path.parents):
        yield part
        if part.is_symlink():
            yield from _way(part.parent / part.readlink())
