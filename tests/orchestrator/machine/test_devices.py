"""What uses a block device, and which device it is, decided from values."""

from __future__ import annotations

import pytest

from orchestrator.machine import devices
from orchestrator.machine.devices import Block, Mount, System

MOUNTINFO = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/root rw,discard
41 27 0:45 /sub /data\\040on\\040btrfs rw - btrfs /dev/sdg rw,subvol=/sub
42 27 7:0 / /mnt/odd\x0bname\rhere rw - ext4 /dev/loop0 rw
"""
SWAPS = """\
Filename				Type		Size		Used		Priority
/dev/sda2                               partition	65532		0		-2
/swap\\040file                           file		65532		0		-3
"""


def test_mounts_and_swaps_are_read_as_the_kernel_writes_them() -> None:
    mounts = devices.parse_mounts(MOUNTINFO)

    assert [(mount.number, mount.source, mount.point) for mount in mounts[1:]] == [
        ("254:0", "/dev/root", "/"),
        ("0:45", "/dev/sdg", "/data on btrfs"),
        ("7:0", "/dev/loop0", "/mnt/odd\x0bname\rhere"),
    ]
    assert devices.parse_swaps(SWAPS) == ("/dev/sda2", "/swap file")


def mount(number: str, point: str, source: str = "/dev/root") -> Mount:
    return Mount(number=number, source=source, point=point)


SYSTEM = System(
    blocks={
        "8:0": Block(name="sda"),
        "8:1": Block(name="sda1", disk="8:0"),
        "8:2": Block(name="sda2", disk="8:0"),
        "8:3": Block(name="sda3", disk="8:0", holders=("252:0", "252:1")),
        "8:4": Block(name="sda4", disk="8:0"),
        "252:0": Block(name="dm-0", label="vg0-root", slaves=("8:3",)),
        "252:1": Block(name="dm-1", label="vg0-free", slaves=("8:3",)),
        "8:16": Block(name="sdb"),
        "8:17": Block(name="sdb1", disk="8:16"),
        "8:32": Block(name="sdc"),
        "8:33": Block(name="sdc1", disk="8:32", holders=("9:0",)),
        "9:0": Block(name="md0", slaves=("8:33",)),
        "8:48": Block(name="sdd", holders=("9:1",)),
        "9:1": Block(name="md1", slaves=("8:48",)),
        "259:0": Block(name="md1p1", disk="9:1"),
        "259:1": Block(name="md1p2", disk="9:1"),
        "8:96": Block(name="sdg"),
        "8:112": Block(name="sdh"),
        "7:0": Block(name="loop0", data="8:112"),
        "8:128": Block(name="sdi"),
        "8:129": Block(name="sdi1", disk="8:128"),
        "8:144": Block(name="sdj", holders=("251:0",)),
        "251:0": Block(name="bcache0", slaves=("8:144",)),
        "7:1": Block(name="loop1", data="1#97"),
        "7:2": Block(name="loop2", data="1#97"),
        "7:3": Block(name="loop3", data="1#98"),
        "7:4": Block(name="loop4", data="8:3"),
        "7:5": Block(name="loop5", data="1#97"),  # partitioned
        "259:5": Block(name="loop5p1", disk="7:5"),
        "7:6": Block(name="loop6", data="1#97", holders=("252:6",)),
        "252:6": Block(name="dm-6", slaves=("7:6",)),
        "7:7": Block(name="loop7", data="7:1"),
        "7:8": Block(name="loop8", data="1#99"),
        "7:9": Block(name="loop9", data="8:2"),
        "7:10": Block(name="loop10", data="8:240"),  # a device that is gone
        "8:160": Block(name="sdk", holders=("252:2",)),
        "252:2": Block(name="dm-2", label="mpatha", slaves=("8:160",), holders=("252:3", "252:4")),
        "252:3": Block(name="dm-3", label="mpatha-part1", slaves=("252:2",)),
        "252:4": Block(name="dm-4", label="mpatha-part2", slaves=("252:2",)),
        "8:176": Block(name="sdl", holders=("252:5",)),
        "252:5": Block(name="dm-5", slaves=("8:176",)),
    },
    mounts=(
        mount("252:0", "/"),
        mount("8:1", "/boot"),
        mount("259:0", "/raid"),
        mount("0:45", "/data on btrfs", "/dev/sdg"),
        mount("8:128", "/stick"),
        mount("251:0", "/cached"),
        mount("7:2", "/image"),
        mount("252:3", "/san"),
        mount("8:176", "/impossible"),
        mount("0:50", "/erofs", "/images/c"),
        mount("8:240", "/gone", "/dev/sdb"),  # a disk that was called sdb and is not there any more
    ),
    swaps=("8:2", "1#99"),
    nodes={"/dev/sdg": "8:96", "/dev/sdb": "8:16", "/images/c": "1#99"},
)  # fmt: skip

ROOT = ("sda3 is held by dm-0 (vg0-root)", "dm-0 (vg0-root) is mounted at /")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sda1", ["sda1 is mounted at /boot"]),
        ("sda2", ["sda2 is swap space"]),
        ("sda3", [*ROOT, "sda3 is held by dm-1 (vg0-free)", "sda3 is held by loop4"]),
        ("sda", ["sda1 is mounted at /boot", "sda2 is swap space", *ROOT]),  # a whole disk: its partitions
        ("dm-0", ["dm-0 (vg0-root) is mounted at /"]),
        ("sdc", ["sdc1 is held by md0"]),
        ("sdc1", ["sdc1 is held by md0"]),
        ("sdd", ["sdd is held by md1", "md1p1 is mounted at /raid"]),
        ("md1", ["md1p1 is mounted at /raid"]),
        ("md1p1", ["md1p1 is mounted at /raid"]),
        ("sdg", ["sdg is mounted at /data on btrfs"]),
        ("sdh", ["sdh is held by loop0"]),
        ("sdi", ["sdi is mounted at /stick"]),
        ("sdi1", ["sdi is mounted at /stick"]),  # a partition: the whole disk
        ("sdj", ["sdj is held by bcache0", "bcache0 is mounted at /cached"]),
        ("loop1", ["loop2 is mounted at /image"]),  # another way to the same file
        ("loop4", [*ROOT, "sda3 is held by dm-1 (vg0-free)"]),  # another way to the same device
        ("loop5p1", ["loop2 is mounted at /image"]),  # the file of its whole disk
        ("dm-6", ["loop2 is mounted at /image"]),  # the file of what it is made of
        ("loop7", ["loop2 is mounted at /image"]),  # on a loop device on the file
        ("loop2", ["loop6 is held by dm-6", "loop1 is held by loop7"]),
        ("loop8", ["the file of loop8 is swap space", "the file of loop8 is mounted at /erofs"]),
        ("loop9", ["sda2 is swap space"]),
        ("sdk", ["sdk is held by dm-2 (mpatha)", "dm-3 (mpatha-part1) is mounted at /san"]),
        ("dm-2", ["dm-2 (mpatha) is held by dm-3 (mpatha-part1)", "dm-3 (mpatha-part1) is mounted at /san"]),
        ("dm-5", ["sdl is mounted at /impossible"]),  # what it is made of
    ],
)
def test_what_uses_a_device_is_named(name: str, expected: list[str]) -> None:
    found = devices.uses(number(name), SYSTEM)

    assert set(expected) <= set(found)


@pytest.mark.parametrize(
    "name",
    [
        "sda4",  # beside mounted partitions
        "dm-1",  # a logical volume beside the mounted root, on the same disk
        "dm-4",  # a partition of a multipath device, beside a mounted one
        "md0",
        "md1p2",
        "sdb",  # only an outdated name in mountinfo
        "sdb1",
        "loop0",
        "loop3",
        "loop10",
    ],
)
def test_what_only_stands_beside_something_in_use_is_free(name: str) -> None:
    assert devices.uses(number(name), SYSTEM) == ()


def number(name: str) -> str:
    (found,) = (number for number, block in SYSTEM.blocks.items() if block.name == name)
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [("loop5p1", ["loop5p1", "loop1", "loop2", "loop6"]), ("loop7", ["loop7", "loop1", "loop2", "loop5", "loop6"]), ("loop0", ["loop0", "sdh"]), ("sda4", ["sda4"]), ("dm-0", ["dm-0"])],
)  # fmt: skip
def test_all_with_the_same_bytes_are_found(name: str, expected: list[str]) -> None:
    assert {SYSTEM.blocks[each].name for each in devices.same_data(number(name), SYSTEM)} == set(expected)


def test_a_file_that_may_be_anothers_is_in_use() -> None:
    blocks = {"7:0": Block(name="loop0", data="1#2"), "7:1": Block(name="loop1"), "8:0": Block(name="sda")}
    assert devices.uses("7:0", System(blocks=blocks)) == ()
    for system in (
        System(blocks=blocks, swaps=(devices.UNKNOWN,)),
        System(blocks={**blocks, "7:2": Block(name="loop2", data=devices.UNKNOWN)}),
    ):
        assert [bool(devices.uses(each, system)) for each in ("7:0", "8:0")] == [True, False]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("2049#7", "2049#7", True), ("2049#7", "2050#7", False), ("2049#7", "45#7", True), ("2049#7", "45#8", False), ("2049#7", "7:1", False)],
)  # fmt: skip
def test_a_file_of_overlayfs_is_known_by_its_inode(one: str, other: str, same: bool) -> None:
    """2049 and 2050 are disks; 45 has no device."""
    assert devices.is_same_file(one, other) is devices.is_same_file(other, one) is same


def test_sysfs_that_runs_in_circles_is_walked_once() -> None:
    circle = System(
        blocks={
            "1:0": Block(name="a", holders=("1:1",), slaves=("1:1",)),
            "1:1": Block(name="b", holders=("1:0",), slaves=("1:0",)),
        }
    )

    assert devices.uses("1:0", circle) == ("a is held by b",)


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("ng0n1", "nvme0n1"),
        ("ng12n3", "nvme12n3"),
        ("nvme0", ""),
        ("ng0", ""),
        ("ng0n1p1", ""),
        ("null", ""),
        ("sg0", ""),
        ("1:3", ""),
    ],
)
def test_only_the_character_device_of_an_nvme_namespace_has_a_block_device(name: str, block: str) -> None:
    assert devices.namespace_of(name) == block


DISK = {"dev": "8:16", "size": "2048", "diskseq": "9"}
PART = {"partition": "2", "start": "1024", "size": "512"}


@pytest.mark.parametrize(
    ("disk", "partition", "expected"),
    [
        (
            {**DISK, "device/serial": "S1", "wwid": "eui.1"},
            None,
            {"serial": "S1", "WWID": "eui.1", "size": "1048576 B"},
        ),
        ({**DISK, "serial": "", "device/wwid": "naa.5"}, None, {"WWID": "naa.5", "size": "1048576 B"}),
        ({**DISK, "dm/uuid": "LVM-x"}, None, {"UUID": "LVM-x", "size": "1048576 B"}),
        (DISK, None, {"device number": "8:16", "disk sequence number": "9", "size": "1048576 B"}),
        (
            {"dev": "8:16", "size": "2048"},
            PART,
            {"device number": "8:16", "partition": "2", "start": "524288 B", "size": "262144 B"},
        ),
        (
            {**DISK, "serial": "S1"},
            PART,
            {"serial": "S1", "partition": "2", "start": "524288 B", "size": "262144 B"},
        ),
    ],
)
def test_identity_is_what_the_disk_says_of_itself_else_its_number(
    disk: dict[str, str], partition: dict[str, str] | None, expected: dict[str, str]
) -> None:
    assert devices.identity(disk, partition) == expected
