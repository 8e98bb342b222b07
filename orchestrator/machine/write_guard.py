"""Check that a device to overwrite is free, and is still the device that the user named. I/O.

A device that cannot be examined counts as in use. `devices` decides, and this module asks the kernel.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.machine import devices
from orchestrator.machine.devices import IDENTIFYING, UNKNOWN, Block, System
from orchestrator.machine.kernel_files import read_word
from orchestrator.machine.safe_files import follow, other_writers
from parsers.errors import PinsweepError, UserError

SHOWN_USES: Final = 3

_NODE_HINT: Final = "name the device by its node in /dev"

_LOOP_GET_STATUS64: Final = 0x4C05
_LOOP_INFO64: Final = struct.Struct("=QQQ208x")
"""The device and inode of the file that a loop device is on, and the device that it is (0: a file), as <linux/loop.h> has them."""


def _node(path: str) -> tuple[str, str]:
    """Return ("block" or "char", number) of a device node, ("file", key) of a file, or ("", ""). Follows links."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return "", ""
    if stat.S_ISREG(status.st_mode):
        return "file", devices.file_key(status.st_dev, status.st_ino)
    kind = "block" if stat.S_ISBLK(status.st_mode) else "char" if stat.S_ISCHR(status.st_mode) else ""
    return kind, _number(status.st_rdev) if kind else ""


def _number(device: int) -> str:
    return f"{os.major(device)}:{os.minor(device)}"


def _claim(path: str) -> None:
    """Open a block device exclusively for a moment. Raises OSError, with EBUSY if the device is in use.

    fio's check reads /etc/mtab. Without this file (containers, small systems), fio writes to a mounted device.
    """
    os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_NONBLOCK | os.O_CLOEXEC))


def _loop(path: str) -> str:
    """Return the file or device under a loop device, as `Block.data`. Raises OSError.

    The path in sysfs may be of another file, or of none.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        device, inode, itself = _LOOP_INFO64.unpack(
            fcntl.ioctl(descriptor, _LOOP_GET_STATUS64, bytes(_LOOP_INFO64.size))
        )
    finally:
        os.close(descriptor)
    return _number(itself) if itself else devices.file_key(device, inode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """The folders for kernel queries. Tests use other folders."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    node: Callable[[str], tuple[str, str]] = _node
    claim: Callable[[str], None] = _claim
    loop: Callable[[str], str] = _loop


HERE: Final = Kernel()


def allow(path: str, kernel: Kernel = HERE) -> tuple[str, Mapping[str, str]]:
    """Return the real path and the identity of a device named with --allow-write.

    Raises UserError if it is not a device that can be allowed, if it is in use, or if that is not known.
    """
    try:
        real = str(follow(Path(path)))
    except OSError as error:
        raise UserError("--allow-write", f"{path}: {error.strerror}", _NODE_HINT) from error
    try:
        number, node = _block_device(real, path, kernel)
        with contextlib.suppress(OSError):  # an imagined machine lacks this folder
            if why := other_writers(Path(real).parent):
                raise _refusal(f"another user could exchange {path}: {why}", _NODE_HINT)
        _refuse_used(number, node, path, kernel)
        return real, _identity(number, path, kernel)
    except PinsweepError as error:
        raise UserError("--allow-write", error.cause, error.hint) from error


def check(path: str, identity: Mapping[str, str], kernel: Kernel = HERE) -> None:
    """Check right before a run that the device is still the allowed device, and still free.

    `identity` is the result of `allow`. Raises PinsweepError otherwise. A sweep lasts for hours, and a new disk may
    take over a name.
    """
    number, node = _block_device(path, path, kernel)
    if other := devices.difference(identity, _identity(number, path, kernel)):
        raise _refusal(f"{path} is another device now: {other}")
    _refuse_used(number, node, path, kernel)


def _refusal(cause: str, hint: str = "") -> PinsweepError:
    return PinsweepError("not started", cause, hint)


def _block_device(real: str, path: str, kernel: Kernel) -> tuple[str, str]:
    """Return (number, node) of the block device of a path, which may be an NVMe namespace's character device."""
    kind, number = kernel.node(real)
    if kind == "block":
        return number, real
    if kind != "char":
        raise _refusal(f"{path} is not a device", "name the block device to overwrite, e.g. /dev/nvme1n1")
    # by its number: a node may bear any name
    name = devices.namespace_of((kernel.sys / "dev" / "char" / number).resolve().name)
    if not name:
        raise _refusal(
            f"{path} is a character device, and not one of an NVMe namespace",
            "name a block device, e.g. /dev/nvme1n1, or an NVMe namespace, e.g. /dev/ng1n1",
        )
    node = f"/dev/{name}"
    number = read_word(kernel.sys / "class" / "block" / name / "dev")
    if number and kernel.node(node) == ("block", number):
        return number, node
    raise _unknown(path, f"there is no block device {node} of the same namespace")


def _refuse_used(number: str, node: str, path: str, kernel: Kernel) -> None:
    """Raise PinsweepError unless the device is unused and the kernel gives this process exclusive access."""
    try:
        system = read_system(kernel)
    except (OSError, ValueError) as error:
        raise _unknown(path, str(error)) from error
    if number not in system.blocks:
        raise _unknown(path, f"{kernel.sys}/dev/block has no {number}")
    if texts := devices.uses(number, system):
        more = f"; and {len(texts) - SHOWN_USES} more" if len(texts) > SHOWN_USES else ""
        raise _in_use(path, "; ".join(texts[:SHOWN_USES]) + more)
    nodes = {other: f"/dev/{system.blocks[other].name}" for other in devices.same_data(number, system)}
    for other, claimed in (nodes | {number: node}).items():
        if kernel.node(claimed) != ("block", other):
            raise _unknown(path, f"{claimed} cannot be opened: it is not there")
        try:
            kernel.claim(claimed)
        except OSError as error:
            if error.errno == errno.EBUSY:
                it = "it" if claimed == node else claimed
                owner = "another user of the device (a mount in another namespace, RAID, LVM, ZFS)"
                raise _in_use(path, f"the kernel has given {it} to {owner}") from error
            raise _unknown(path, f"{claimed} cannot be opened: {error.strerror}") from error


def _in_use(path: str, how: str) -> PinsweepError:
    return _refusal(
        f"{path} is in use: {how}",
        "release it first; a device of a file system, swap or RAID is not overwritten",
    )


def _unknown(path: str, why: str) -> PinsweepError:
    return _refusal(
        f"whether {path} is in use cannot be found out: {why}",
        "such a device is not overwritten; name one that can be examined here",
    )


# --- reading -----------------------------------------------------------------------------------------------


def read_system(kernel: Kernel = HERE) -> System:
    """Return all block devices, mounts and swaps. Raises OSError or ValueError if the kernel does not show them."""
    blocks = {entry.name: _block(entry.resolve(), kernel) for entry in (kernel.sys / "dev" / "block").iterdir()}
    mounts = devices.parse_mounts(_text(kernel.proc / "self" / "mountinfo", needed=True))
    sources = {mount.source for mount in mounts if mount.source.startswith("/")}
    swaps = devices.parse_swaps(_text(kernel.proc / "swaps"))  # absent from kernels without swap
    return System(
        blocks=blocks,
        mounts=mounts,
        swaps=tuple(kernel.node(path)[1] or UNKNOWN for path in swaps),
        nodes={path: key for path in sources for kind, key in [kernel.node(path)] if kind in ("block", "file")},
    )


def _block(folder: Path, kernel: Kernel) -> Block:
    return Block(
        name=folder.name,
        label=_text(folder / "dm" / "name"),
        disk=_text(folder.parent / "dev") if (folder / "partition").exists() else "",
        holders=_linked(folder / "holders"),
        slaves=_linked(folder / "slaves"),
        data=_data(folder, kernel),
    )


def _data(folder: Path, kernel: Kernel) -> str:
    """Return the file or device under a loop device, as `Block.data`."""
    file = _text(folder / "loop" / "backing_file")
    if not file:
        return ""
    try:
        return kernel.loop(f"/dev/{folder.name}")
    except OSError:  # this user may not open it
        kind, number = kernel.node(file)
        return number if kind == "block" else UNKNOWN


def _linked(folder: Path) -> tuple[str, ...]:
    """Return the numbers of the devices that a sysfs folder links to, or names for devices without a number."""
    try:
        entries = sorted(folder.iterdir())
    except FileNotFoundError:  # the device was just removed, or lacks this folder
        return ()
    return tuple(_text(entry / "dev") or entry.name for entry in entries)


def _identity(number: str, path: str, kernel: Kernel) -> dict[str, str]:
    folder = (kernel.sys / "dev" / "block" / number).resolve()
    files = ("dev", "size", "diskseq", *(file for files in IDENTIFYING.values() for file in files))
    partition = None
    try:
        if (folder / "partition").exists():
            partition = {file: _text(folder / file, needed=True) for file in ("partition", "start", "size")}
            folder = folder.parent
        # some files exist and cannot be read
        return devices.identity({file: read_word(folder / file) for file in files}, partition)
    except (OSError, ValueError) as error:
        raise _unknown(path, f"sysfs does not describe {number}: {error}") from error


def _text(path: Path, *, needed: bool = False) -> str:
    """Return a file's text without surrounding blanks. "" if it is absent, unless `needed`. Raises OSError."""
    try:
        return path.read_bytes().decode("utf-8", errors="replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        if needed:
            raise
        return ""
