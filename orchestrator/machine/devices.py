"""What uses a block device, and which device it is: decided from what sysfs and /proc say. Pure.

Devices are told apart by their numbers ("8:1", major:minor): any node under any name leads to the same device.
`orchestrator.machine.probe.write_guard` reads what is needed here, and refuses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

SECTOR_BYTES: Final = 512  # sysfs counts sizes and starts in these, whatever the device's own sectors are

IDENTIFYING: Final[Mapping[str, tuple[str, ...]]] = {
    "serial": ("device/serial", "serial"),
    "WWID": ("wwid", "device/wwid"),
    "UUID": ("dm/uuid", "md/uuid"),
    "backing file": ("loop/backing_file",),
}
"""What tells a device from all others → the files below its sysfs folder that may hold it, the first that does counts."""

UNKNOWN: Final = "?"

_NVME_NAMESPACE = re.compile(r"ng(\d+n\d+)")
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block device as sysfs describes it. Other devices are named by their numbers."""

    name: str  # the kernel's: sda1, nvme0n1, dm-0
    label: str = ""  # the name that a device-mapper device was given: vg0-root
    disk: str = ""  # of a partition: its whole disk
    holders: tuple[str, ...] = ()  # made of this device: RAID, LVM, bcache
    slaves: tuple[str, ...] = ()  # what this device is made of
    data: str = (
        ""  # of a loop device: the number of the device that it is on, else `file_key` of its file; UNKNOWN
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A line of /proc/self/mountinfo."""

    number: str  # "0:45" where the file system has no device of its own: btrfs
    source: str
    point: str
    kind: str = ""  # "ext4"
    options: tuple[str, ...] = ()  # of the mount, then of the file system; each once


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """All block devices, and who uses them."""

    blocks: Mapping[str, Block]  # by number
    mounts: tuple[Mount, ...] = ()
    swaps: tuple[str, ...] = ()  # numbers of devices, and `file_key` of files; UNKNOWN
    nodes: Mapping[str, str] = field(default_factory=dict)
    """What the source of a mount leads to: path → number of a device, or `file_key`."""


def parse_mounts(mountinfo: str) -> tuple[Mount, ...]:
    """Read /proc/self/mountinfo: `42 27 7:0 / /mnt rw shared:1 - ext4 /dev/loop0 rw`. Raises ValueError if it is none."""
    found = []
    for line in filter(None, mountinfo.split("\n")):  # names may hold what else is taken for an end of line
        fields = line.split(" ")
        kind, source, *rest = fields[fields.index("-", 6) + 1 :]
        options = dict.fromkeys([*fields[5].split(","), *",".join(rest).split(",")])
        found.append(
            Mount(
                number=fields[2],
                source=_plain(source),
                point=_plain(fields[4]),
                kind=kind,
                options=tuple(filter(None, options)),
            )
        )
    return tuple(found)


def parse_swaps(swaps: str) -> tuple[str, ...]:
    """Read the paths in /proc/swaps, whose first line is a heading."""
    return tuple(_plain(line.split()[0]) for line in filter(None, swaps.split("\n")[1:]))


def _plain(field: str) -> str:
    """Return a field of mountinfo or swaps without the kernel's escapes: `\\040` is a blank."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), field)


def file_key(device: int, inode: int) -> str:
    """Return what a file has under all its names: hard links, bind mounts, a name that was removed."""
    return f"{device}#{inode}"


def is_same_file(key: str, other: str) -> bool:
    """Tell whether two keys may be of one file. overlayfs and btrfs show it under several numbers without a device, and with one inode."""
    (device, _, inode), (other_device, _, other_inode) = key.partition("#"), other.partition("#")
    if not inode or inode != other_inode:
        return False
    return device == other_device or 0 in map(os.major, (int(device), int(other_device)))


def namespace_of(name: str) -> str:
    """Return the block device of an NVMe namespace's character device: "nvme0n1" for "ng0n1"; "" for all others."""
    match = _NVME_NAMESPACE.fullmatch(name)
    return f"nvme{match[1]}" if match else ""


# --- what uses it ------------------------------------------------------------------------------------------


def uses(number: str, system: System) -> tuple[str, ...]:
    """Say what would lose data if the device were overwritten: "sda2 is mounted at /home", "sda3 is held by dm-0"; () if free.

    Looked at: the device and its partitions; the whole disk, of a partition; all that is made of these; what the device
    itself is made of. A device beside it on the same disk, or of the same volume group, is none of its business.
    """
    alike = same_data(number, system)
    found: dict[str, None] = {}
    for each in alike:
        known = {*alike, *(below for other in alike if other != each for below in _below(other, system))}
        found |= dict.fromkeys(_uses(each, system, known))
    return tuple(found)


def _uses(number: str, system: System, leave_out: Container[str]) -> Iterator[str]:
    own = (number, *_partitions(number, system), *_disk(number, system))
    for part in own:
        yield from _claims(part, system)
        for holder in _holders(part, system):
            if holder not in leave_out:
                yield f"{_name(part, system)} is held by {_name(holder, system)}"
    held = (holder for part in own for holder in _holders(part, system) if holder not in leave_out)
    for above in _closure(held, lambda each: (*_holders(each, system), *_partitions(each, system))):
        yield from _claims(above, system)
    for below in _below(number, system):
        yield from _claims(below, system)
    for each in (number, *_disk(number, system), *_below(number, system)):
        yield from _claims_of_file(each, system)


def same_data(number: str, system: System) -> tuple[str, ...]:
    """Return a device and all others with bytes of its own: what a loop device is on, other loop devices on its file."""
    alike: dict[str, None] = {}
    todo, known = [number], {number}
    while todo:
        each = todo.pop()
        alike[each] = None
        own = (each, *_disk(each, system), *_below(each, system))
        known |= set(own)
        todo += (found := {same for part in own for same in _same_data(part, system)} - known)
        known |= found
    return tuple(alike)


def _claims(number: str, system: System) -> Iterator[str]:
    """Say what uses this very device: mounts and swap."""
    for mount in system.mounts:
        anonymous = mount.number.startswith(
            "0:"
        )  # then only the source tells; else it may be an outdated name
        if number == (system.nodes.get(mount.source) if anonymous else mount.number):
            yield f"{_name(number, system)} is mounted at {mount.point}"
    if number in system.swaps:
        yield f"{_name(number, system)} is swap space"


def _claims_of_file(number: str, system: System) -> Iterator[str]:
    """Say what uses the file that a loop device is on, or could: what cannot be found out."""
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
    """Return what the kernel has made of a device, loop devices on it included."""
    block = system.blocks.get(number)
    loops = (other for other, loop in system.blocks.items() if loop.data == number)
    return (*(block.holders if block else ()), *loops)


def _disk(number: str, system: System) -> tuple[str, ...]:
    """Return the whole disk of a partition."""
    disk = system.blocks[number].disk
    return (disk,) if disk in system.blocks else ()


def _below(number: str, system: System) -> list[str]:
    """Return what a device is made of, and what these are made of."""

    def slaves(each: str) -> list[str]:
        return [slave for slave in system.blocks[each].slaves if slave in system.blocks]

    def steps(each: str) -> tuple[str, ...]:
        return (*slaves(each), *(disk for slave in slaves(each) for disk in _disk(slave, system)))

    return _closure([below for each in (number, *_disk(number, system)) for below in steps(each)], steps)


def _same_data(number: str, system: System) -> tuple[str, ...]:
    data = system.blocks[number].data
    if not data or data in system.blocks:
        return (data,) if data else ()
    return tuple(other for other, block in system.blocks.items() if is_same_file(block.data, data))


def _closure(start: Iterable[str], step: Callable[[str], Iterable[str]]) -> list[str]:
    """Return everything that steps lead to, the start included, each once."""
    found: dict[str, None] = {}
    todo = list(start)
    while todo:
        each = todo.pop(0)
        if each not in found:
            found[each] = None
            todo += step(each)
    return list(found)


def _name(number: str, system: System) -> str:
    block = system.blocks.get(number)
    if block is None:
        return number
    return f"{block.name} ({block.label})" if block.label else block.name


# --- which it is -------------------------------------------------------------------------------------------


def identity(disk: Mapping[str, str], partition: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what tells a device from others that may bear its name later.

    `disk` and `partition` are files of their sysfs folders → texts; "" or absent: not known. Where a disk has neither
    a serial number nor the like, its device number stands for it, and its place in the sequence of disks of this boot.
    """
    found = {
        word: text
        for word, files in IDENTIFYING.items()
        if (text := next(filter(None, map(disk.get, files)), ""))
    }
    if not found:
        found = {"device number": disk["dev"]}
        if disk.get("diskseq"):
            found["disk sequence number"] = disk["diskseq"]
    if partition is not None:
        found["partition"] = partition["partition"]
        found["start"] = _bytes(partition["start"])
    return found | {"size": _bytes((disk if partition is None else partition)["size"])}


def _bytes(sectors: str) -> str:
    return f"{int(sectors) * SECTOR_BYTES} B"


def difference(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Say how two identities differ, "" if they do not: "serial A when it was allowed, serial B now"."""
    for word in (*then, *now):
        before, after = then.get(word), now.get(word)
        if before != after:
            return f"{word} {before or 'unknown'} when it was allowed, {word} {after or 'unknown'} now"
    return ""
