"""Folders and files where other users may write, too: /tmp, the folder of a project. I/O."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import stat
from pathlib import Path

from parsers.errors import UserError

HEAD_BYTES = 4096


def trusted_users() -> frozenset[int]:
    """Return root, this user, and the owners of "/" and of pinsweep's own files: what they write runs already."""
    return frozenset({0, os.geteuid(), Path("/").stat().st_uid, Path(__file__).stat().st_uid})


def other_writers(folder: Path) -> str:
    """Say who else may exchange what a folder holds, or the folder itself; "" if nobody. The path has no links.

    In a sticky folder (/tmp) others cannot move what is not theirs. For root, an owner and a group must be trusted, too: who called sudo is.
    Raises OSError.
    """
    is_root, caller = os.geteuid() == 0, os.environ.get("SUDO_UID", "")
    trusted = trusted_users() | ({int(caller)} if caller.isdecimal() else set())
    for path in (folder, *folder.parents):
        about = path.lstat()
        if stat.S_ISLNK(about.st_mode):
            return f"{path} is a link"
        if is_root and about.st_uid not in trusted:
            return f"{path} belongs to the user {user_name(about.st_uid)}"
        if not about.st_mode & stat.S_ISVTX and (writer := other_writer(about, groups=is_root)):
            return f"{writer} may write {path}"
    return ""


def refuse_foreign(folder: Path) -> None:
    """Raise UserError unless a folder is this user's, and nobody else may write it. Raises OSError where there is none."""
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode):
        why = "is not a folder"
    elif about.st_uid != os.geteuid():
        why = f"belongs to the user {user_name(about.st_uid)}"
    elif writer := other_writer(about):
        why = f"can be written by {writer}"
    else:
        return
    raise UserError(str(folder), why, "remove it, or name another folder with --scratch")


def head(path: Path) -> bytes:
    """Return the first 4 KiB of a file; a link is not followed. Raises OSError for what is not a file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        refuse_special(descriptor)
        return os.read(descriptor, HEAD_BYTES)
    finally:
        os.close(descriptor)


def refuse_special(descriptor: int) -> None:
    """Raise OSError unless a descriptor is of a regular file."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def other_writer(about: os.stat_result, *, groups: bool = True) -> str:
    """Return "everybody" or "the group staff", if others than root and this user may write; a private group is not others."""
    if about.st_mode & stat.S_IWOTH:
        return "everybody"
    if groups and about.st_mode & stat.S_IWGRP and _has_others(about.st_gid):
        with contextlib.suppress(KeyError):
            return f"the group {grp.getgrgid(about.st_gid).gr_name}"
        return f"the group {about.st_gid}"
    return ""


def _has_others(gid: int) -> bool:
    """Tell whether a group has anybody but root and this user. A group without a name may have anybody."""
    try:
        members = {pwd.getpwnam(name).pw_uid for name in grp.getgrgid(gid).gr_mem}
    except KeyError:
        return True
    return bool(
        (members | {user.pw_uid for user in pwd.getpwall() if user.pw_gid == gid}) - {0, os.geteuid()}
    )
