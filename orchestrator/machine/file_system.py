"""The file system that a sweep's files lie on, and what of it moves figures of storage. Pure but for `file_system_of`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.machine.devices import Mount, parse_mounts
from orchestrator.machine.noise import Finding
from parsers.units import size_text

IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "devtmpfs", "rootfs"})
ELSEWHERE: Final = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "vboxsf", "ceph", "glusterfs", "lustre", "beegfs", "gpfs", "afs", "orangefs",
        "pvfs2", "ocfs2", "gfs2", "wekafs", "panfs", "nfsd", "ncpfs", "coda",
    }
)  # fmt: skip
"""A server, or the host of a virtual machine, has the data."""

_FUSE_HERE: Final = frozenset(
    {"fuse.fuse-overlayfs", "fuse.lxcfs", "fuse.ntfs-3g", "fuse.ntfs", "fuse.exfat", "fuse.bindfs", "fuse.gvfsd-fuse", "fuse.portal"}
)  # fmt: skip

NEARLY_FULL: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """The mount that a folder lies on."""

    point: str
    kind: str  # "ext4"
    source: str
    options: tuple[str, ...] = ()  # of the mount and of the file system: "rw", "relatime", "discard"
    size_bytes: int = 0  # 0: it does not tell (ramfs)
    free_bytes: int = 0  # as an ordinary user may use it
    encrypted: bool = False

    def __str__(self) -> str:
        """Return "ext4 at /data (/dev/sda1; rw,relatime,discard), 120 GiB of 400 GiB free"."""
        free = f"{size_text(self.free_bytes)} of {size_text(self.size_bytes)} free"
        where = f"{self.kind} at {self.point} ({self.source}; {','.join(self.options)})"
        return f"{where}, {free}" if self.size_bytes else where


def is_shared(kind: str) -> bool:
    """Whether several hosts may have their files on one file system of this kind: nfs4, lustre, fuse.sshfs. Pure.

    What FUSE serves comes from elsewhere, but for some that are known.
    """
    return kind in ELSEWHERE or (kind.startswith("fuse.") and kind not in _FUSE_HERE)


def mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """Return the mount that an absolute path without links lies on: the longest that leads there; of several, the last."""
    above = [m for m in mounts if m.point == "/" or path == m.point or path.startswith(f"{m.point}/")]
    return max(reversed(above), key=lambda mount: len(mount.point), default=None)


def file_system_of(folder: Path, root: Path = Path("/")) -> FileSystem | None:
    """Return the file system of a folder, or of its nearest parent that is there; None if the kernel does not tell.

    `root`: where /proc and /sys are.
    """
    while not folder.exists():
        folder = folder.parent
    try:
        space = os.statvfs(folder)  # first: it has an automounter mount what is not there yet
        mounts = parse_mounts((root / "proc/self/mountinfo").read_text("utf-8", "surrogateescape"))
    except (OSError, ValueError):
        return None
    mount = mount_of(os.path.realpath(folder), mounts)
    if mount is None:
        return None
    return FileSystem(
        point=mount.point,
        kind=mount.kind,
        source=mount.source,
        options=mount.options,
        size_bytes=space.f_blocks * space.f_frsize,
        free_bytes=space.f_bavail * space.f_frsize,
        encrypted=_is_encrypted(root / "sys/dev/block" / mount.number),
    )


def recorded(result: Path, scratch: Path | None = None, root: Path = Path("/")) -> dict[str, str | None]:
    """Return what a session records of the file systems that its files lie on: of the result file, and of the scratch folder where it
    uses one. None: the kernel did not tell."""
    of_result = file_system_of(result.absolute().parent, root)
    found = {"result_file_system": of_result.kind if of_result else None}
    if scratch is not None:
        under = file_system_of(scratch.absolute(), root)
        found["scratch_file_system"] = under.kind if under else None
        found["scratch_source"] = under.source if under else None
    return found


def _is_encrypted(block: Path) -> bool:
    """Whether a device, or one that it is made of (LVM on LUKS), is dm-crypt's."""
    try:
        if (block / "dm/uuid").read_text("ascii", "replace").startswith("CRYPT-"):
            return True
    except OSError:
        pass
    try:
        parts = list((block / "slaves").iterdir())
    except OSError:
        return False
    return any(_is_encrypted(part) for part in parts)


def findings(
    found: FileSystem, another: str = "--scratch names a folder on the file system to be measured"
) -> list[Finding]:
    """Return what of a file system makes figures of storage mean something else; `another` says how to take one. Pure."""
    where = f"{found.point} is {found.kind}"
    said: list[Finding] = []

    def warn(what: str, why: str, fix: str = another) -> None:
        said.append(Finding(level="warn", what=what, why=why, fix=fix))

    if found.kind in IN_MEMORY:
        warn(where, "this file system is in memory: it measures memory, no disk")
    elif found.kind in ELSEWHERE:
        warn(
            where,
            "the data are on another machine: network and server are measured with it, and their other users",
        )
    elif found.kind == "overlay":
        warn(where, "files go through its layers, and a file of a lower layer is copied before it is written")
    elif found.kind == "fuse" or found.kind.startswith(("fuse.", "fuseblk")):
        warn(where, "a process of its own serves every access")
    elif found.kind == "zfs":
        warn(
            where,
            "it caches in memory of its own, where most versions let direct I/O go, too; it may compress them",
        )
    if found.encrypted or found.kind == "ecryptfs":
        warn(
            f"{found.source} at {found.point} is encrypted",
            "a CPU works on every block: it limits what the disk can do",
        )
    options = {option.partition("=")[0]: option for option in found.options}
    remount = f"mount -o remount,{{}} {found.point}"
    if "sync" in options:
        warn(
            f"{found.point} is mounted with sync", "every write waits for the device", remount.format("async")
        )
    if options.get("data") == "data=journal":
        warn(
            f"{found.point} is mounted with data=journal",
            "every block is written twice",
            "mount it with data=ordered",
        )
    compressing = [option for name, option in options.items() if name in ("compress", "compress-force")]
    if compressing and compressing[0] != "compress=no":
        warn(
            f"{found.point} is mounted with {compressing[0]}", "cells whose data can be compressed write less than they count",
            remount.format("compress=no"),
        )  # fmt: skip
    if "discard" in options and found.kind not in IN_MEMORY:
        said.append(
            Finding(
                level="info", what=f"{found.point} is mounted with discard",
                why="what a cell removes is given back to the device while the next one runs", fix=remount.format("nodiscard"),
            )
        )  # fmt: skip
    used = found.size_bytes - found.free_bytes
    if found.kind not in IN_MEMORY and found.size_bytes and used > NEARLY_FULL * found.size_bytes:
        warn(
            f"{found.point} has {size_text(found.free_bytes)} of {size_text(found.size_bytes)} left",
            "files on a nearly full file system are in pieces, and SSDs are slow then",
            f"free some, or {another}",
        )
    return said
