"""Programs that root would start though others could have put them there. I/O: reads who may write where.

Root's PATH may hold a folder that anybody may write: a `numactl` of anybody's would be started as root, beside other people's data. By
its path a program is the user's own word. Who owns a folder is trusted; who else may write it is not.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import stat
from pathlib import Path

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
    return next((path for path in found if os.geteuid() != 0 or not reason(path)), "")


def refuse(found: str, *, hint: str = "") -> None:
    """Raise UserError where root would start a program that others could have put where it was found."""
    if os.geteuid() == 0 and (why := reason(found)):
        raise UserError(
            found,
            f"{why}: whoever may write there could have put this program there, and root would start it",
            hint or f"name it by its path, take the folder out of PATH, or `chmod go-w {Path(found).parent}`",
        )


def reason(found: str) -> str:
    """Say who else may write a program, the folder it was found in, or one above, links followed; "" if nobody.

    In a folder above, that is sticky (/tmp), others cannot move what is not theirs; into the folder itself they can put something.
    """
    for program in dict.fromkeys((os.path.abspath(found), os.path.realpath(found))):  # noqa: PTH100 (links stay)
        for path in (Path(program), *Path(program).parents):
            try:
                about = path.stat()
            except OSError:
                continue
            above = path not in (Path(program), Path(program).parent)
            if above and about.st_mode & stat.S_ISVTX:
                continue
            if about.st_mode & stat.S_IWOTH:
                return f"everybody may write {path}"
            if about.st_mode & stat.S_IWGRP and _has_others(about.st_gid):
                return f"the group {_group(about.st_gid)} may write {path}"
    return ""


def _has_others(gid: int) -> bool:
    """Tell whether anybody but root is in a group. One that has no name is somebody's."""
    try:
        members = set(grp.getgrgid(gid).gr_mem)
    except KeyError:
        return True
    return bool(members - {"root"}) or any(user.pw_gid == gid and user.pw_uid for user in pwd.getpwall())


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
