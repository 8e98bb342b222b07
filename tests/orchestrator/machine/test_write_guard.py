"""The guard before a device on imagined machines: folders that look like /sys and /proc. Real devices: tests/cli/test_devices.py."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.machine.write_guard import Kernel, allow, check
from parsers.errors import PinsweepError, UserError

Allowed = tuple[str, Mapping[str, str]]


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


class TestWhetherItIsFree:
    @pytest.mark.parametrize("path", ["/dev/sdy", "/dev/sdy1", "/dev/nvme7n1", "/dev/ng7n1"])
    def test_a_free_device_is_allowed_and_known_again(self, machine: Machine, path: str) -> None:
        real, identity = allow(path, machine.kernel)

        assert real == path
        check(path, identity, machine.kernel)

    @pytest.mark.parametrize("number", [errno.EPERM, errno.EACCES, errno.ENXIO, errno.EIO, errno.ENOMEDIUM])
    @pytest.mark.parametrize("path", ["/dev/nvme7n1", "/dev/ng7n1"])
    def test_an_open_that_fails_is_a_refusal_with_its_reason(
        self, machine: Machine, path: str, number: int
    ) -> None:
        machine.claims["/dev/nvme7n1"] = number

        assert machine.refusal(path) == (
            f"whether {path} is in use cannot be found out: /dev/nvme7n1 cannot be opened: {os.strerror(number)}"
        )

    @pytest.mark.parametrize("path", ["/dev/nvme7n1", "/dev/ng7n1"])
    def test_what_the_kernel_has_given_away_is_in_use(self, machine: Machine, path: str) -> None:
        machine.claims["/dev/nvme7n1"] = errno.EBUSY

        assert f"{path} is in use: the kernel has given it to somebody else" in machine.refusal(path)

    def test_mounts_swap_and_holders_are_found_without_the_open(self, machine: Machine) -> None:
        machine.block("sdx", "8:112")
        machine.block("dm-0", "252:0", dm__name="vg0-root", dm__uuid="LVM-1")
        machine.hold("dm-0", "sdx")
        machine.mount("252:0", "/")
        machine.block("sdw", "8:96")
        machine.swap("/dev/sdw")
        machine.block("sdv", "8:80")
        machine.block("loop0", "7:0", loop__backing_file="/dev/sdv")
        machine.mount("0:45", "/btrfs", "/dev/nvme7n1")

        assert machine.refusal("/dev/sdx") == (
            "/dev/sdx is in use: sdx is held by dm-0 (vg0-root); dm-0 (vg0-root) is mounted at /"
        )
        assert machine.refusal("/dev/sdw") == "/dev/sdw is in use: sdw is swap space"
        assert machine.refusal("/dev/sdv") == "/dev/sdv is in use: sdv is held by loop0"
        for path in ("/dev/nvme7n1", "/dev/ng7n1"):
            assert machine.refusal(path) == f"{path} is in use: nvme7n1 is mounted at /btrfs"
        assert machine.refusal("/dev/sdy") == ""

    def test_a_file_is_known_under_all_its_names(self, machine: Machine) -> None:
        """Hard links, bind mounts, names that were removed: only the kernel knows that they are one."""
        machine.block("loop0", "7:0", loop__backing_file="/images/a (deleted)")
        machine.block("loop1", "7:1", loop__backing_file="/images/hard-link")
        machine.loops = {"/dev/loop0": "1#2", "/dev/loop1": "1#2"}
        assert machine.refusal("/dev/loop1") == ""

        machine.claims["/dev/loop0"] = errno.EBUSY  # mounted where only others see it
        assert "/dev/loop0" in machine.refusal("/dev/loop1")
        machine.claims = {}
        machine.mount("7:0", "/mnt")
        assert machine.refusal("/dev/loop1") == "/dev/loop1 is in use: loop0 is mounted at /mnt"
        machine.loops["/dev/loop1"] = "1#3"
        assert machine.refusal("/dev/loop1") == ""
        del machine.loops["/dev/loop0"]
        assert "cannot be examined" in machine.refusal("/dev/loop1")
        machine.loops = {"/dev/loop1": "8:128", "/dev/loop0": "1#3"}  # by a node that was removed since
        machine.mount("8:128", "/disk")
        assert machine.refusal("/dev/loop1") == "/dev/loop1 is in use: sdy is mounted at /disk"

    def test_a_loop_device_on_a_swap_file_is_in_use(self, machine: Machine) -> None:
        machine.block("loop0", "7:0", loop__backing_file="/link")
        machine.loops = {"/dev/loop0": "1#2"}
        machine.nodes["/swap"] = "file", "1#2"
        assert machine.refusal("/dev/loop0") == ""
        machine.swap("/swap")
        assert machine.refusal("/dev/loop0") == "/dev/loop0 is in use: the file of loop0 is swap space"

    def test_many_uses_are_cut_short(self, machine: Machine) -> None:
        for number in range(5):
            machine.mount("8:129", f"/mnt/{number}")

        assert machine.refusal("/dev/sdy") == (
            "/dev/sdy is in use: sdy1 is mounted at /mnt/0; sdy1 is mounted at /mnt/1; sdy1 is mounted at /mnt/2; and 2 more"
        )

    @pytest.mark.parametrize("lost", ["sys/dev/block", "sys/dev/block/8:128", "proc/self/mountinfo"])
    def test_what_the_kernel_does_not_show_counts_as_in_use(self, machine: Machine, lost: str) -> None:
        (machine.root / lost).rename(machine.root / "lost")

        assert "whether /dev/sdy is in use cannot be found out: " in machine.refusal("/dev/sdy")

    def test_text_that_is_no_mountinfo_counts_as_in_use(self, machine: Machine) -> None:
        (machine.root / "proc" / "self" / "mountinfo").write_text("permission denied\n")

        assert "whether /dev/sdy is in use cannot be found out: " in machine.refusal("/dev/sdy")

    def test_a_kernel_without_swap_has_no_list_of_it(self, machine: Machine) -> None:
        (machine.root / "proc" / "swaps").unlink()

        assert machine.refusal("/dev/sdy") == ""


class TestCharacterDevices:
    @pytest.mark.parametrize("name", ["null", "sg0", "nvme7", "nvme-generic"])
    def test_others_than_of_an_nvme_namespace_are_refused(self, machine: Machine, name: str) -> None:
        machine.char(name, "1:3")

        assert machine.refusal(f"/dev/{name}") == (
            f"/dev/{name} is a character device, and not one of an NVMe namespace"
        )

    def test_the_number_counts_and_not_the_name(self, machine: Machine) -> None:
        machine.char("null", "1:3", node="/srv/ng7n1")
        machine.nodes["/srv/node"] = "char", "242:7"
        machine.mount("259:7", "/data")

        assert "not one of an NVMe namespace" in machine.refusal("/srv/ng7n1")
        assert machine.refusal("/srv/node") == "/srv/node is in use: nvme7n1 is mounted at /data"

    def test_a_namespace_without_its_block_device_is_refused(self, machine: Machine) -> None:
        machine.char("ng8n1", "242:8")

        assert machine.refusal("/dev/ng8n1") == (
            "whether /dev/ng8n1 is in use cannot be found out: there is no block device /dev/nvme8n1 of the same namespace"
        )

    def test_a_block_node_of_another_device_is_not_looked_at_instead(self, machine: Machine) -> None:
        machine.nodes["/dev/nvme7n1"] = "block", "8:128"

        assert "there is no block device /dev/nvme7n1" in machine.refusal("/dev/ng7n1")

    def test_files_and_nothing_at_all_are_not_devices(self, machine: Machine) -> None:
        assert machine.refusal("/dev/sdq") == "/dev/sdq is not a device"


class TestWhetherItIsStillTheSame:
    def write(self, machine: Machine, path: str) -> Allowed:
        return path, allow(path, machine.kernel)[1]

    def reason(self, machine: Machine, write: Allowed) -> str:
        with pytest.raises(PinsweepError) as caught:
            check(*write, machine.kernel)
        return str(caught.value)

    def test_another_disk_under_the_name_is_told_by_its_serial_number(self, machine: Machine) -> None:
        write = self.write(machine, "/dev/sdy")
        machine.block("sdz", "8:144", device__serial="S2")
        machine.nodes["/dev/sdy"] = machine.nodes["/dev/sdz"]

        assert self.reason(machine, write) == (
            "not started: /dev/sdy is another device now: serial S1 when it was allowed, serial S2 now"
        )

    def test_the_same_disk_may_come_back_under_another_number(self, machine: Machine) -> None:
        write = self.write(machine, "/dev/sdy")
        machine.block("sdz", "8:144", device__wwid="naa.5000", device__serial="S1")
        machine.nodes["/dev/sdy"] = machine.nodes["/dev/sdz"]

        check(*write, machine.kernel)

    def test_a_partition_that_was_moved_is_another(self, machine: Machine) -> None:
        write = self.write(machine, "/dev/sdy1")
        (machine.root / "sys" / "class" / "block" / "sdy1" / "start").write_text("128\n")

        assert "start 32768 B when it was allowed, start 65536 B now" in self.reason(machine, write)

    def test_a_disk_without_a_serial_number_is_told_by_its_number(self, machine: Machine) -> None:
        machine.block("vdx", "254:16", diskseq="4")
        write = self.write(machine, "/dev/vdx")
        (machine.root / "sys" / "class" / "block" / "vdx" / "diskseq").write_text("5\n")

        assert "disk sequence number 4 when it was allowed, disk sequence number 5 now" in self.reason(
            machine, write
        )
        machine.nodes["/dev/vdx"] = machine.nodes["/dev/sdy"]
        assert "device number 254:16 when it was allowed" in self.reason(machine, write)

    @pytest.mark.parametrize("path", ["/dev/nvme7n1", "/dev/ng7n1"])
    def test_a_device_that_was_mounted_since_is_refused(self, machine: Machine, path: str) -> None:
        write = self.write(machine, path)
        machine.mount("259:7", "/data")

        assert self.reason(machine, write) == f"not started: {path} is in use: nvme7n1 is mounted at /data"

    def test_a_device_that_cannot_be_opened_any_more_is_refused(self, machine: Machine) -> None:
        write = self.write(machine, "/dev/sdy")
        machine.claims["/dev/sdy"] = errno.ENXIO

        assert "cannot be found out" in self.reason(machine, write)

    def test_a_device_that_is_gone_is_refused(self, machine: Machine) -> None:
        write = self.write(machine, "/dev/sdy")
        del machine.nodes["/dev/sdy"]
        assert self.reason(machine, write) == "not started: /dev/sdy is not a device"

        machine.nodes["/dev/sdy"] = "block", "8:200"
        assert "cannot be found out" in self.reason(machine, write)

    def test_a_write_that_nobody_allowed_is_refused(self, machine: Machine) -> None:
        write: Allowed = ("/dev/sdy", {})

        assert "unknown when it was allowed" in self.reason(machine, write)
