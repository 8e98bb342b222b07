"""Find the file system of a sweep's files, and its effect on storage figures. I/O in `file_system_of`, otherwise pure."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.machine.devices import Mount, parse_mounts
from orchestrator.machine.kernel_files import list_folder, read_word
from orchestrator.machine.noise import Finding, note, warning
from parsers.units import size_text

IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "devtmpfs", "rootfs"})
_SERVED = """
nfs nfs4 cifs smb3 9p virtiofs vboxsf ceph glusterfs lustre beegfs gpfs afs orangefs pvfs2 ocfs2 gfs2 wekafs panfs nfsd ncpfs coda
"""
REMOTE: Final = frozenset(_SERVED.split())
"""A server, or the host of a virtual machine, has the data."""

_LOCAL_FUSE: Final = re.compile(r"fuse\.(fuse-overlayfs|lxcfs|ntfs-3g|ntfs|exfat|bindfs|gvfsd-fuse|portal)")

_COMPRESSES = "compressible data writes less than the run counts"
_KINDS: Final = {
    **dict.fromkeys(IN_MEMORY, "this file system is in memory: it measures memory, no disk"),
    **dict.fromkeys(
        REMOTE, "the data are on another machine: figures are of network and server, with their other users"
    ),
    "overlay": "files go through its layers, and a file of a lower layer is copied before it is written",
    "fuse": "a separate process serves every access",
    "fuseblk": "a separate process serves every access",
    "zfs": "it caches in its own memory, where most versions let direct I/O go, too; it may compress them",
}
_OPTIONS: Final = {  # mount option → the effect, the option to remount with
    "sync": ("every write waits for the device", "async"),
    "data=journal": ("every block is written two times", "data=ordered"),
    "compress": (_COMPRESSES, "compress=no"),
    "compress-force": (_COMPRESSES, "compress=no"),
}

NEARLY_FULL: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """The mount that contains a folder."""

    point: str
    kind: str  # "ext4"
    source: str
    options: tuple[str, ...] = ()  # options of the mount and the file system: "rw", "relatime", "discard"
    size_bytes: int = 0  # 0: not known (ramfs)
    free_bytes: int = 0  # as an ordinary user may use it
    encrypted: bool = False

    def __str__(self) -> str:
        """Return "ext4 at /data (/dev/sda1; rw,relatime,discard), 120 GiB of 400 GiB free"."""
        free = f"{size_text(self.free_bytes)} of {size_text(self.size_bytes)} free"
        where = f"{self.kind} at {self.point} ({self.source}; {','.join(self.options)})"
        return f"{where}, {free}" if self.size_bytes else where


def is_shared(kind: str) -> bool:
    """Return whether several hosts may share a file system of this kind: nfs4, lustre, fuse.sshfs. Pure."""
    return kind in REMOTE or (kind.startswith("fuse.") and not _LOCAL_FUSE.fullmatch(kind))


def mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """Return the mount of an absolute path without links: the longest mount point, and the last of equal mount points."""
    above = [m for m in mounts if m.point == "/" or path == m.point or path.startswith(f"{m.point}/")]
    return max(reversed(above), key=lambda mount: len(mount.point), default=None)


def file_system_of(folder: Path, root: Path = Path("/")) -> FileSystem | None:
    """Return the file system of a folder, or of its nearest existing parent. None if the kernel does not show it.

    `root` holds /proc and /sys.
    """
    while not folder.exists():
        folder = folder.parent
    try:
        space = os.statvfs(folder)  # first: it makes an automounter mount a missing file system
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
    """Return the facts of a session about the file systems of its result file and of its scratch folder, if any."""
    of_result = file_system_of(result.absolute().parent, root)
    facts = {"result_file_system": of_result.kind if of_result else None}
    if scratch is not None:
        below = file_system_of(scratch.absolute(), root)
        facts |= {
            "scratch_file_system": below.kind if below else None,
            "scratch_source": below.source if below else None,
        }
    return facts


def _is_encrypted(block: Path) -> bool:
    """Return whether a device, or a device below it (LVM on LUKS), is from dm-crypt."""
    is_crypt = read_word(block / "dm/uuid").startswith("CRYPT-")
    return is_crypt or any(map(_is_encrypted, list_folder(block / "slaves")))


def findings(
    system: FileSystem, other_place: str = "--scratch names a folder on the file system to be measured"
) -> list[Finding]:
    """Return what changes the meaning of storage figures on a file system; `other_place` is the fix. Pure."""
    faults: list[Finding] = []
    if why := _KINDS.get(system.kind, _KINDS.get(system.kind.partition(".")[0], "")):
        faults.append(warning(f"{system.point} is {system.kind}", why, other_place))
    if system.encrypted or system.kind == "ecryptfs":
        text = f"{system.source} at {system.point} is encrypted"
        faults.append(warning(text, "encryption of every block limits the disk", other_place))
    mounted, remount = f"{system.point} is mounted with", "mount -o remount,{} " + system.point
    for option in system.options:
        effect = _OPTIONS.get(option) or _OPTIONS.get(option.partition("=")[0])
        if effect and option != "compress=no":
            faults.append(warning(f"{mounted} {option}", effect[0], remount.format(effect[1])))
    if system.kind not in IN_MEMORY and "discard" in system.options:
        why = "removed data is returned to the device during the next run"
        faults.append(note(f"{mounted} discard", why, remount.format("nodiscard")))
    free, size = system.free_bytes, system.size_bytes
    if system.kind not in IN_MEMORY and size and size - free > NEARLY_FULL * size:
        text = f"{system.point} has {size_text(free)} of {size_text(size)} left"
        why = "files on a nearly full file system are in pieces, and SSDs are slow then"
        faults.append(warning(text, why, f"free some, or {other_place}"))
    return faults
