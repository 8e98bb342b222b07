"""Decide the uses and the identity of a block device from sysfs and /proc. Pure.

Devices are distinguished by their numbers ("8:1", major:minor), because any node under any name leads to the same
device. `write_guard` reads the input, and refuses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

SECTOR_BYTES: Final = 512  # sysfs counts sizes and starts in 512 B, with any sector size of the device

IDENTIFYING: Final[Mapping[str, tuple[str, ...]]] = {
    "serial": ("device/serial", "serial"),
    "WWID": ("wwid", "device/wwid"),
    "UUID": ("dm/uuid", "md/uuid"),
    "backing file": ("loop/backing_file",),
}
"""The marks of a device → the files below its sysfs folder that may hold them; the first that does counts."""

UNKNOWN: Final = "?"

_NVME_NAMESPACE = re.compile(r"ng(\d+n\d+)")
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block device as sysfs describes it. Other devices are named by their numbers."""

    name: str  # the kernel's: sda1, nvme0n1, dm-0
    label: str = ""  # the name that a device-mapper device was given: vg0-root
    disk: str = ""  # the whole disk of a partition
    holders: tuple[str, ...] = ()  # made of this device: RAID, LVM, bcache
    slaves: tuple[str, ...] = ()  # the devices below this device
    data: str = ""  # under a loop device: the device (number), the file (`file_key`), or UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A line of /proc/self/mountinfo."""

    number: str  # "0:45" if the file system has no device (btrfs)
    source: str
    point: str
    kind: str = ""  # "ext4"
    options: tuple[str, ...] = ()  # options of the mount, then of the file system, without duplicates


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """All block devices, and their users."""

    blocks: Mapping[str, Block]  # device number → device
    mounts: tuple[Mount, ...] = ()
    swaps: tuple[str, ...] = ()  # numbers of devices, and `file_key` of files; UNKNOWN
    nodes: Mapping[str, str] = field(default_factory=dict)
    """Path of a mount's source → number of a device, or `file_key`."""


def parse_mounts(mountinfo: str) -> tuple[Mount, ...]:
    """Read /proc/self/mountinfo: `42 27 7:0 / /mnt rw shared:1 - ext4 /dev/loop0 rw`. Raises ValueError."""
    mounts = []
    for line in filter(None, mountinfo.split("\n")):  # not splitlines(): names may hold other ends of line
        fields = line.split(" ")
        kind, source, *rest = fields[fields.index("-", 6) + 1 :]
        options = tuple(filter(None, dict.fromkeys(",".join((fields[5], *rest)).split(","))))
        source, point = _unescape(source), _unescape(fields[4])
        mounts.append(Mount(number=fields[2], source=source, point=point, kind=kind, options=options))
    return tuple(mounts)


def parse_swaps(swaps: str) -> tuple[str, ...]:
    """Return the paths in /proc/swaps. The first line is a heading."""
    return tuple(_unescape(line.split()[0]) for line in filter(None, swaps.split("\n")[1:]))


def _unescape(field: str) -> str:
    """Return a field of mountinfo or swaps without the kernel's escapes: `\\040` is a blank."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), field)


def file_key(device: int, inode: int) -> str:
    """Return a key of a file that is equal under all names: hard links, bind mounts, a removed name."""
    return f"{device}#{inode}"


def is_same_file(key: str, other: str) -> bool:
    """Return whether two keys may be of one file.

    overlayfs and btrfs show a file under several numbers without a device, and with one inode.
    """
    (device, _, inode), (other_device, _, other_inode) = key.partition("#"), other.partition("#")
    if not inode or inode != other_inode:
        return False
    return device == other_device or 0 in map(os.major, (int(device), int(other_device)))


def namespace_of(name: str) -> str:
    """Return the block device of an NVMe namespace's character device: "nvme0n1" for "ng0n1". "" for other devices."""
    match = _NVME_NAMESPACE.fullmatch(name)
    return f"nvme{match[1]}" if match else ""


# --- uses --------------------------------------------------------------------------------------------------


def uses(number: str, system: System) -> tuple[str, ...]:
    """Return the uses that would lose data in an overwrite: "sda2 is mounted at /home". () for a free device.

    The check covers the device and its partitions, the whole disk of a partition, all devices on top of these, and all
    devices below. Other partitions of the disk and other devices of the same volume group do not count.
    """
    copies = same_data(number, system)
    below = {device: set(_below(device, system)) for device in copies}
    texts: dict[str, None] = {}
    for device in copies:
        known = {*copies, *(part for other in copies if other != device for part in below[other])}
        texts |= dict.fromkeys(_uses(device, system, known))
    return tuple(texts)


def _uses(number: str, system: System, known: Container[str]) -> Iterator[str]:
    parts = (number, *_partitions(number, system), *_disk(number, system))
    holders = []
    for part in parts:
        yield from _claims(part, system)
        for holder in _holders(part, system):
            if holder not in known:
                yield f"{_name(part, system)} is held by {_name(holder, system)}"
                holders.append(holder)
    below = _below(number, system)
    above = _closure(holders, lambda device: (*_holders(device, system), *_partitions(device, system)))
    for device in (*above, *below):
        yield from _claims(device, system)
    for device in (number, *_disk(number, system), *below):
        yield from _claims_of_file(device, system)


def same_data(number: str, system: System) -> tuple[str, ...]:
    """Return a device and all devices with the same bytes: the device under a loop device, other loop devices on its
    file.
    """
    copies: dict[str, None] = {}
    waiting, known = [number], {number}
    while waiting:
        device = waiting.pop()
        copies[device] = None
        parts = (device, *_disk(device, system), *_below(device, system))
        known |= set(parts)
        waiting += (new := {copy for part in parts for copy in _same_data(part, system)} - known)
        known |= new
    return tuple(copies)


def _claims(number: str, system: System) -> Iterator[str]:
    """Yield what uses this very device: mounts and swap."""
    for mount in system.mounts:
        # a file system without a device has only a source; for other file systems the source may be an outdated name
        source = system.nodes.get(mount.source) if mount.number.startswith("0:") else mount.number
        if source == number:
            yield f"{_name(number, system)} is mounted at {mount.point}"
    if number in system.swaps:
        yield f"{_name(number, system)} is swap space"


def _claims_of_file(number: str, system: System) -> Iterator[str]:
    """Yield what uses the file under a loop device, or could: what cannot be examined."""
    data = system.blocks[number].data
    if not data or data in system.blocks:
        return
    for mount in system.mounts:  # EROFS mounts files
        if is_same_file(system.nodes.get(mount.source, ""), data):
            yield f"the file of {_name(number, system)} is mounted at {mount.point}"
    if any(is_same_file(data, swap) for swap in system.swaps):
        yield f"the file of {_name(number, system)} is swap space"
    if UNKNOWN in (*system.swaps, *(block.data for block in system.blocks.values())):
        yield f"a loop device or a swap file that cannot be examined may be on the file of {_name(number, system)}"


def _partitions(number: str, system: System) -> tuple[str, ...]:
    return tuple(other for other, block in system.blocks.items() if block.disk == number)


def _holders(number: str, system: System) -> tuple[str, ...]:
    """Return the devices that the kernel has made on a device, and the loop devices on it."""
    block = system.blocks.get(number)
    loops = (other for other, loop in system.blocks.items() if loop.data == number)
    return (*(block.holders if block else ()), *loops)


def _disk(number: str, system: System) -> tuple[str, ...]:
    """Return the whole disk of a partition."""
    disk = system.blocks[number].disk
    return (disk,) if disk in system.blocks else ()


def _below(number: str, system: System) -> list[str]:
    """Return the devices below a device and its disk, down to the whole disks."""

    def steps(device: str) -> list[str]:
        slaves = [slave for slave in system.blocks[device].slaves if slave in system.blocks]
        return [*slaves, *(disk for slave in slaves for disk in _disk(slave, system))]

    return _closure([part for device in (number, *_disk(number, system)) for part in steps(device)], steps)


def _same_data(number: str, system: System) -> tuple[str, ...]:
    data = system.blocks[number].data
    if not data or data in system.blocks:
        return (data,) if data else ()
    return tuple(other for other, block in system.blocks.items() if is_same_file(block.data, data))


def _closure(start: Iterable[str], step: Callable[[str], Iterable[str]]) -> list[str]:
    """Return all objects that the steps reach, with the start, without duplicates."""
    reached: dict[str, None] = {}
    waiting = list(start)
    while waiting:
        device = waiting.pop(0)
        if device not in reached:
            reached[device] = None
            waiting += step(device)
    return list(reached)


def _name(number: str, system: System) -> str:
    block = system.blocks.get(number)
    if block is None:
        return number
    return f"{block.name} ({block.label})" if block.label else block.name


# --- identity ----------------------------------------------------------------------------------------------


def identity(disk: Mapping[str, str], partition: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the identity of a device, to distinguish it from later devices with its name.

    `disk` and `partition` map files of their sysfs folders to texts. "" or absent means unknown. For a disk without a
    serial number or similar, the identity is the device number and the sequence number of the disk in this boot.
    """
    marks = {name: next(filter(None, map(disk.get, files)), "") for name, files in IDENTIFYING.items()}
    if not any(marks.values()):
        marks = {"device number": disk["dev"], "disk sequence number": disk.get("diskseq", "")}
    if partition is not None:
        marks |= {"partition": partition["partition"], "start": _bytes(partition["start"])}
    marks["size"] = _bytes((disk if partition is None else partition)["size"])
    return {name: text for name, text in marks.items() if text}


def _bytes(sectors: str) -> str:
    return f"{int(sectors) * SECTOR_BYTES} B"


def difference(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return the difference of two identities, or "": "serial A when it was allowed, serial B now"."""
    for name in (*then, *now):
        before, after = then.get(name), now.get(name)
        if before != after:
            return f"{name} {before or 'unknown'} when it was allowed, {name} {after or 'unknown'} now"
    return ""
