"""Folders and files where other users may write, too: /tmp, the folder of a project. I/O."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import BinaryIO

from parsers.errors import UserError
from parsers.units import size_text

HEAD_BYTES = 4096
_MAX_LINKS = 40  # as the kernel
_TERMINALS = frozenset({4, 5, *range(136, 144)})  # tty, /dev/tty, pts
_SINKS = frozenset({os.makedev(1, 3), os.makedev(1, 7)})  # /dev/null, /dev/full


def trusted_users() -> frozenset[int]:
    """Return root, this user, and the owners of "/" and of pinsweep's files, whose code already runs."""
    return frozenset({0, os.geteuid(), Path("/").stat().st_uid, Path(__file__).stat().st_uid})


def other_writers(folder: Path) -> str:
    """Return which other user may change a folder or its content, or "". The path has no links. Raises OSError.

    In a sticky folder (/tmp), other users cannot move foreign files. For root, parent folders count, and owners and
    groups must be trusted. The caller of sudo is trusted.
    """
    is_root = os.geteuid() == 0
    for path in (folder, *(folder.parents if is_root else ())):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return f"{path} is a link"
        if is_root and status.st_uid not in _trusted_owners():
            return f"{path} belongs to the user {user_name(status.st_uid)}"
        if not status.st_mode & stat.S_ISVTX and (writer := other_writer(path, status, groups=is_root)):
            return f"{writer} may write {path}"
    return ""


def refuse_foreign(folder: Path) -> None:
    """Raise UserError unless a folder belongs to this user and only this user may write it.

    Raises OSError without a folder.
    """
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        why = "is not a folder"
    elif status.st_uid != os.geteuid():
        why = f"belongs to the user {user_name(status.st_uid)}"
    elif writer := other_writer(folder, status):
        why = f"can be written by {writer}"
    else:
        return
    raise UserError(str(folder), why, "remove it, or name another folder with --scratch")


def head(path: Path) -> bytes:
    """Return the first 4 KiB of a file, without following a link. Raises OSError for other kinds of path."""
    with open_file(path) as stream:
        return stream.read(HEAD_BYTES)


def read_named(path: Path, max_bytes: int) -> bytes:
    """Return the content of a file that the user names, also through a link.

    Raises OSError for a larger file or another kind of path.
    """
    with open_file(path, links=True) as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"larger than {size_text(max_bytes)}")
    return data


def open_file(path: Path, *, links: bool = False) -> BufferedReader:
    """Open a file to read, without following a link or waiting for a FIFO. Raises OSError for other kinds of path."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | (0 if links else os.O_NOFOLLOW)
    stream = os.fdopen(os.open(path, flags), "rb")
    try:
        refuse_special(stream.fileno())
    except OSError:
        stream.close()
        raise
    return stream


def create(path: Path) -> BufferedWriter:
    """Make a new file in the place of an old one; nothing is written through a link. Raises OSError."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o644), "wb")


def refuse_special(descriptor: int) -> None:
    """Raise OSError unless a descriptor is of a regular file."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def follow(path: Path) -> Path:
    """Return the target of a path. Raises OSError for a link that another user could have made to redirect an output.

    The last link must belong to a trusted user. For root, and in folders where other users may add links, links in
    parent folders must too. The kernel's protected_symlinks has the same rule.
    """
    folder, parts, links, is_root = Path("/"), [*reversed(path.absolute().parts[1:])], 0, os.geteuid() == 0
    while parts:
        part = parts.pop()
        step = folder.parent if part == ".." else folder / part
        try:
            status = step.lstat()
        except (FileNotFoundError, NotADirectoryError):
            status = None
        if status is None or not stat.S_ISLNK(status.st_mode):
            folder = step
            continue
        is_shared = folder.stat().st_mode & (stat.S_ISVTX | stat.S_IWOTH)
        if status.st_uid not in _trusted_owners() and (is_root or is_shared or not parts):
            raise PermissionError(errno.EPERM, f"{step} is a link of the user {user_name(status.st_uid)}")
        if (links := links + 1) > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = step.readlink()
        folder = Path("/") if target.is_absolute() else folder
        parts += reversed(target.parts[target.is_absolute() :])
    return folder


@contextlib.contextmanager
def replacement(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` at the end of the block. A pipe or a terminal is written directly.

    Missing folders are made. Raises OSError, also for a device and for a file that another user could have put there.
    """
    import tempfile  # `plan` writes nothing

    real = follow(path)
    if (stream := _open_channel(path)) is not None:
        with stream:
            yield stream
        return
    folder = _open_folder(real.parent)  # nobody can replace an open folder or file
    try:
        handle, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=f"/proc/self/fd/{folder}")
        name = Path(name).name
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                mask = os.umask(0)
                os.umask(mask)
                os.fchmod(handle, 0o666 & ~mask)
            os.replace(name, real.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def open_anew(path: Path) -> BinaryIO:
    """Return a new file in the place of `path`, to be written piece by piece; else as `replacement`."""
    with replacement(path) as file:
        return os.fdopen(os.dup(file.fileno()), "wb")


def _open_folder(path: Path) -> int:
    """Open a folder without following a link, and make it if missing."""
    folder = os.open("/", os.O_PATH | os.O_CLOEXEC)
    for part in path.parts[1:]:
        above = folder
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=above)
            folder = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        finally:
            os.close(above)
    return folder


def _open_channel(path: Path) -> BinaryIO | None:
    """Open a pipe or a terminal.

    None for a file or a missing path. Raises OSError for a device and another user's pipe.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISREG(status.st_mode):
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if _is_channel(status):
        stream = path.open("wb")
        if _is_channel(os.fstat(stream.fileno())):  # it may have been exchanged since
            return stream
        stream.close()
    raise PermissionError(errno.EPERM, "it is a device, or another user's pipe")


def _is_channel(status: os.stat_result) -> bool:
    """Return whether this is a terminal, /dev/null, a pipe of a trusted user or standard output."""
    return (
        (stat.S_ISCHR(status.st_mode) and (os.major(status.st_rdev) in _TERMINALS or status.st_rdev in _SINKS))
        or (stat.S_ISFIFO(status.st_mode) and status.st_uid in _trusted_owners())
        or any(os.path.samestat(status, os.fstat(standard)) for standard in (1, 2))
    )


def _trusted_owners() -> frozenset[int]:
    caller = os.environ.get("SUDO_UID", "")
    return trusted_users() | ({int(caller)} if caller.isdecimal() else set())


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def other_writer(path: Path, status: os.stat_result, *, groups: bool = True) -> str:
    """Return "everybody" or "the group staff" if other users may write. "" for a private group."""
    if status.st_mode & stat.S_IWOTH:
        return "everybody"
    if not groups or not status.st_mode & stat.S_IWGRP:
        return ""
    with contextlib.suppress(OSError):  # a file system without extended attributes
        if "system.posix_acl_access" in os.listxattr(path):  # then the bits of the group are a mask
            return "an access control list"
    if _has_others(status.st_gid):
        with contextlib.suppress(KeyError):
            return f"the group {grp.getgrgid(status.st_gid).gr_name}"
        return f"the group {status.st_gid}"
    return ""


def _has_others(gid: int) -> bool:
    """Return whether a group has other members than root and this user. A group without a name may have."""
    try:
        members = {pwd.getpwnam(name).pw_uid for name in grp.getgrgid(gid).gr_mem}
    except KeyError:
        return True
    return bool((members | {user.pw_uid for user in pwd.getpwall() if user.pw_gid == gid}) - {0, os.geteuid()})
