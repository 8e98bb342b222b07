"""The guard before a device on imagined machines: folders that look like /sys and /proc. Real devices: tests/cli/test_devices.py."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.machine.write_guard import Kernel, allow, check
from parsers.errors import PinsweepError, UserError


class Machine:
    """Writes what the kernel would show of some devices."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.nodes: dict[str, tuple[str, str]] = {}
        self.loops: dict[str, str] = {}  # node → what it is on, where it may be opened
        self.claims: dict[str, int] = {}  # node → what an exclusive open fails with
        self.mountinfo = ["22 27 0:21 / /proc rw - proc proc rw"]
        for folder in ("sys/dev/block", "sys/dev/char", "sys/class/block", "proc/self"):
            (root / folder).mkdir(parents=True)
        (root / "proc" / "swaps").write_text("Filename Type Size Used Priority\n")
        self.mount("0:21", "/proc", "proc")

    def block(self, name: str, number: str, below: str = "", **files: str) -> None:
        folder = self.root / "sys" / "devices" / below / name
        for part in ("holders", "slaves"):
            (folder / part).mkdir(parents=True)
        for file, text in {"dev": number, "size": "2048", **files}.items():
            path = folder / file.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{text}\n")
        for link in (f"dev/block/{number}", f"class/block/{name}"):
            (self.root / "sys" / link).symlink_to(folder)
        self.nodes[f"/dev/{name}"] = "block", number

    def char(self, name: str, number: str, node: str = "") -> None:
        folder = self.root / "sys" / "devices" / name
        folder.mkdir(parents=True)
        (self.root / "sys" / "dev" / "char" / number).symlink_to(folder)
        self.nodes[node or f"/dev/{name}"] = "char", number

    def hold(self, holder: str, slave: str) -> None:
        folder = {name: (self.root / "sys" / "class" / "block" / name).resolve() for name in (holder, slave)}
        (folder[slave] / "holders" / holder).symlink_to(folder[holder])
        (folder[holder] / "slaves" / slave).symlink_to(folder[slave])

    def mount(self, number: str, cell: str, source: str = "/dev/root") -> None:
        self.mountinfo.append(f"42 27 {number} / {cell} rw shared:1 - ext4 {source} rw")
        (self.root / "proc" / "self" / "mountinfo").write_text("\n".join(self.mountinfo) + "\n")

    def swap(self, path: str) -> None:
        with (self.root / "proc" / "swaps").open("a") as file:
            file.write(f"{path} partition 1 0 -2\n")

    @property
    def kernel(self) -> Kernel:
        def claim(path: str) -> None:
            if number := self.claims.get(path, 0):
                raise OSError(number, os.strerror(number))

        def loop(path: str) -> str:
            if path not in self.loops:
                raise PermissionError(errno.EPERM, "Operation not permitted")
            return self.loops[path]

        return Kernel(
            sys=self.root / "sys",
            proc=self.root / "proc",
            node=lambda path: self.nodes.get(path, ("", "")),
            claim=claim,
            loop=loop,
        )

    def refusal(self, path: str) -> str:
        """What --allow-write PATH is answered with; "" if it is allowed."""
        try:
            allow(path, self.kernel)
        except UserError as error:
            return error.cause
        return ""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with a free disk /dev/sdy, its partition, and an NVMe namespace."""
    machine = Machine(tmp_path)
    machine.block("sdy", "8:128", device__wwid="naa.5000", device__serial="S1")
    machine.block("sdy1", "8:129", below="sdy", partition="1", start="64", size="512")
    machine.block("nvme7n1", "259:7", wwid="eui.7", device__serial="S7   ")
    machine.char("ng7n1", "242:7")
    return machine


@pytest.mark.parametrize("path", ["/dev/sdy", "/dev/sdy1", "/dev/nvme7n1", "/dev/ng7n1"])
def test_a_free_device_is_allowed_and_known_again(machine: Machine, path: str) -> None:
    real, identity = allow(path, machine.kernel)

    assert real == path
    check(path, identity, machine.kernel)


def lvm(machine: Machine) -> None:
    machine.block("dm-0", "252:0", dm__name="vg0-root", dm__uuid="LVM-1")
    machine.hold("dm-0", "sdy")
    machine.mount("252:0", "/")


def on_swap_file(machine: Machine) -> None:
    machine.block("loop0", "7:0", loop__backing_file="/link")
    machine.loops = {"/dev/loop0": "1#2"}
    machine.nodes["/swap"] = "file", "1#2"
    machine.swap("/swap")


def other_name(machine: Machine) -> None:
    machine.char("null", "1:3", node="/srv/ng7n1")
    machine.nodes["/srv/node"] = "char", "242:7"
    machine.mount("259:7", "/data")


def lose(path: str) -> Callable[[Machine], object]:
    return lambda machine: (machine.root / path).rename(machine.root / "lost")


NAMESPACE = ["/dev/nvme7n1", "/dev/ng7n1"]
UNKNOWN = "cannot be found out"
REFUSED: list[tuple[list[str], Callable[[Machine], object], str]] = [  # (devices, what is done to the machine, the word)
    *((NAMESPACE, lambda m, n=n: m.claims.update({"/dev/nvme7n1": n}), f"{UNKNOWN}: /dev/nvme7n1 cannot be opened: {os.strerror(n)}")
      for n in (errno.EPERM, errno.EACCES, errno.ENXIO, errno.EIO, errno.ENOMEDIUM)),
    (NAMESPACE, lambda m: m.claims.update({"/dev/nvme7n1": errno.EBUSY}), "is in use: the kernel has given it to another user of the device"),
    (NAMESPACE, lambda m: m.mount("0:45", "/btrfs", "/dev/nvme7n1"), "is in use: nvme7n1 is mounted at /btrfs"),
    (["/dev/sdy"], lvm, "is in use: sdy is held by dm-0 (vg0-root); dm-0 (vg0-root) is mounted at /"),
    (["/dev/sdy"], lambda m: m.swap("/dev/sdy"), "is in use: sdy is swap space"),
    (["/dev/sdy"], lambda m: m.block("loop0", "7:0", loop__backing_file="/dev/sdy"), "is in use: sdy is held by loop0"),
    (["/dev/loop0"], on_swap_file, "is in use: the file of loop0 is swap space"),
    (["/dev/sdy"], lambda m: [m.mount("8:129", f"/mnt/{n}") for n in range(5)], "sdy1 is mounted at /mnt/2; and 2 more"),
    (["/dev/sdy"], lose("sys/dev/block"), UNKNOWN),
    (["/dev/sdy"], lose("sys/dev/block/8:128"), UNKNOWN),
    (["/dev/sdy"], lose("proc/self/mountinfo"), UNKNOWN),
    (["/dev/sdy"], lambda m: (m.root / "proc/self/mountinfo").write_text("permission denied\n"), UNKNOWN),
    *(([f"/dev/{name}"], lambda m, name=name: m.char(name, "1:3"), "not one of an NVMe namespace")
      for name in ("null", "sg0", "nvme7", "nvme-generic")),
    (["/srv/ng7n1"], other_name, "not one of an NVMe namespace"),  # the number counts, not the name
    (["/srv/node"], other_name, "is in use: nvme7n1 is mounted at /data"),
    (["/dev/ng8n1"], lambda m: m.char("ng8n1", "242:8"), f"{UNKNOWN}: there is no block device /dev/nvme8n1"),
    (["/dev/ng7n1"], lambda m: m.nodes.update({"/dev/nvme7n1": ("block", "8:128")}), "there is no block device /dev/nvme7n1"),
    (["/dev/sdq"], lambda m: None, "is not a device"),
]  # fmt: skip


@pytest.mark.parametrize(("paths", "change", "word"), REFUSED)
def test_a_device_that_may_be_in_use_is_refused(
    machine: Machine, paths: list[str], change: Callable[[Machine], object], word: str
) -> None:
    change(machine)

    for path in paths:
        assert word in machine.refusal(path)


def test_a_kernel_without_swap_has_no_list_of_it(machine: Machine) -> None:
    (machine.root / "proc" / "swaps").unlink()

    assert machine.refusal("/dev/sdy") == ""


def test_a_file_is_known_under_all_its_names(machine: Machine) -> None:
    """Hard links, bind mounts, names that were removed: only the kernel knows that they are one."""
    machine.block("loop0", "7:0", loop__backing_file="/images/a (deleted)")
    machine.block("loop1", "7:1", loop__backing_file="/images/hard-link")
    machine.loops = {"/dev/loop0": "1#2", "/dev/loop1": "1#2"}
    assert machine.refusal("/dev/loop1") == ""

    machine.claims["/dev/loop0"] = errno.EBUSY  # mounted where only others see it
    assert "/dev/loop0" in machine.refusal("/dev/loop1")
    machine.claims = {}
    machine.mount("7:0", "/mnt")
    assert "loop0 is mounted at /mnt" in machine.refusal("/dev/loop1")
    machine.loops["/dev/loop1"] = "1#3"
    assert machine.refusal("/dev/loop1") == ""
    del machine.loops["/dev/loop0"]
    assert "cannot be examined" in machine.refusal("/dev/loop1")
    machine.loops = {"/dev/loop1": "8:128", "/dev/loop0": "1#3"}  # by a node that was removed since
    machine.mount("8:128", "/disk")
    assert "sdy is mounted at /disk" in machine.refusal("/dev/loop1")


# --- is it still the same? ---


def another_disk(machine: Machine) -> None:
    machine.block("sdz", "8:144", device__serial="S2")
    machine.nodes["/dev/sdy"] = machine.nodes["/dev/sdz"]


def same_disk(machine: Machine) -> None:
    machine.block("sdz", "8:144", device__wwid="naa.5000", device__serial="S1")
    machine.nodes["/dev/sdy"] = machine.nodes["/dev/sdz"]


def rewrite(name: str, file: str) -> Callable[[Machine], object]:
    return lambda machine: (machine.root / "sys/class/block" / name / file).write_text("128\n")


@pytest.mark.parametrize(
    ("path", "change", "word"),
    [
        ("/dev/sdy", same_disk, ""),  # under another number
        ("/dev/sdy", another_disk, "serial S1 when it was allowed, serial S2 now"),
        ("/dev/sdy1", rewrite("sdy1", "start"), "start 32768 B when it was allowed, start 65536 B now"),
        ("/dev/vdx", rewrite("vdx", "diskseq"), "disk sequence number 4 when it was allowed"),
        ("/dev/vdx", lambda m: m.nodes.update({"/dev/vdx": m.nodes["/dev/sdy"]}), "device number 254:16 when it was allowed"),
        ("/dev/nvme7n1", lambda m: m.mount("259:7", "/data"), "is in use: nvme7n1 is mounted at /data"),
        ("/dev/ng7n1", lambda m: m.mount("259:7", "/data"), "is in use: nvme7n1 is mounted at /data"),
        ("/dev/sdy", lambda m: m.claims.update({"/dev/sdy": errno.ENXIO}), UNKNOWN),
        ("/dev/sdy", lambda m: m.nodes.pop("/dev/sdy"), "is not a device"),
        ("/dev/sdy", lambda m: m.nodes.update({"/dev/sdy": ("block", "8:200")}), UNKNOWN),
    ],
)  # fmt: skip
def test_a_device_that_changed_since_is_refused(
    machine: Machine, path: str, change: Callable[[Machine], object], word: str
) -> None:
    machine.block("vdx", "254:16", diskseq="4")  # a disk without a serial number
    _, identity = allow(path, machine.kernel)
    change(machine)

    if word:
        with pytest.raises(PinsweepError, match=re.escape(word)):
            check(path, identity, machine.kernel)
    else:
        check(path, identity, machine.kernel)


def test_a_write_that_nobody_allowed_is_refused(machine: Machine) -> None:
    with pytest.raises(PinsweepError, match="unknown when it was allowed"):
        check("/dev/sdy", {}, machine.kernel)
