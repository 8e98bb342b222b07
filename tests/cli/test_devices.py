"""--allow-write on real devices of this machine: loop devices on files, and others that are only planned for."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.plan.prepare import PlanOptions, prepare
from orchestrator.run.events import Ended, Event
from orchestrator.run.outcome import Rules
from orchestrator.run.rerun import CellRef, Pair, prepare_again, run_again
from orchestrator.run.session import run_experiments
from orchestrator.store.result_file import open_result
from parsers.errors import UserError
from tests.conftest import Cli

SHARED = Rules(allow_disturbed=True)  # tests run side by side
Loop = Callable[..., str]
"""loop(backing="", options=()) → the node of a new loop device on a file, else on a new one of 64 MiB"""

pytestmark = pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed")
ROOT_PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"

TEXT = """\
schema: 1
title: A device
tool: fio
fixed: {{filename: {device}, ioengine: psync, size: 1M, bs: 64k, runtime: 100ms, place: {{cpus: pu 0, memory: any}}}}
matrix: {{rw: [{rw}]}}
repeats: 2
order: listed
"""


def do(*argv: str | Path) -> str:
    """Run a program of the administrator's; skip where there is none, or it may not do what it should."""
    program = shutil.which(argv[0], path=ROOT_PATH)
    if program is None:
        pytest.skip(f"{argv[0]} is not installed")
    done = subprocess.run([program, *argv[1:]], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{argv[0]}: {done.stderr.strip().splitlines()[0]}")
    return done.stdout.strip()


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    if os.geteuid() != 0:
        pytest.skip("needs root: loop devices")
    made: list[str] = []

    def attach(backing: str | Path = "", options: tuple[str, ...] = ()) -> str:
        if not backing:
            backing = tmp_path / f"disk{len(made)}.img"
            backing.touch()
            os.truncate(backing, 64 << 20)
        made.append(do("losetup", "--find", "--show", *options, backing))
        return made[-1]

    yield attach
    for device in reversed(made):
        subprocess.run(["losetup", "-d", device], check=True, env={"PATH": ROOT_PATH})


@contextlib.contextmanager
def mounted(device: str, cell: Path) -> Iterator[None]:
    cell.mkdir(exist_ok=True)
    do("mount", device, cell)
    try:
        yield
    finally:
        subprocess.run(["umount", cell], check=True, env={"PATH": ROOT_PATH})


@pytest.fixture
def answer(tmp_path: Path) -> Callable[[str], str]:
    """What `plan` says to --allow-write DEVICE; "" if it plans to overwrite it."""

    def ask(device: str) -> str:
        experiment = tmp_path / "d.yaml"
        experiment.write_text(TEXT.format(device=device, rw="randwrite"))
        try:
            found = prepare([experiment], PlanOptions(allow_write=(device,)), seed=1)
        except UserError as error:
            return error.cause
        assert all(write.kind == "device" for run in found.plan.runs for write in run.writes)
        return ""

    return ask


def name(device: str) -> str:
    return Path(device).name


class TestWhatIsInUseIsRefused:
    def test_the_disk_below_the_root_folder(self, pinsweep: Cli, tmp_path: Path) -> None:
        """Whoever may not open it exclusively (containers, users) was told that it is free."""
        number = Path("/").stat().st_dev
        nodes = (p for p in Path("/dev").iterdir() if p.is_block_device() and p.stat().st_rdev == number)
        device = next(nodes, None)
        if device is None:
            pytest.skip("the root folder's file system has no block device here")
        (tmp_path / "d.yaml").write_text(TEXT.format(device=device, rw="randwrite"))

        done = pinsweep("plan", "d.yaml", "--allow-write", device)

        assert done.returncode == 2
        assert f"error: --allow-write: {device} is in use: {device.name} is mounted at /" in done.stderr
        assert "hint: release it first" in done.stderr

    def test_a_mounted_one_and_everything_it_is_part_of(
        self, loop: Loop, answer: Callable[[str], str], tmp_path: Path
    ) -> None:
        device, beside = loop(), loop()
        do("mkfs.ext4", "-q", device)
        assert answer(device) == answer(beside) == ""

        with mounted(device, tmp_path / "mnt"):
            assert answer(device) == f"{device} is in use: {name(device)} is mounted at {tmp_path}/mnt"
            assert answer(beside) == ""

    def test_swap(self, loop: Loop, answer: Callable[[str], str]) -> None:
        device = loop()
        do("mkswap", device)
        do("swapon", device)
        try:
            assert answer(device) == f"{device} is in use: {name(device)} is swap space"
        finally:
            do("swapoff", device)

    def test_partitions_and_their_disk(self, loop: Loop, answer: Callable[[str], str], tmp_path: Path) -> None:
        image = tmp_path / "partitioned.img"
        partitioned(image)
        device = loop(image)
        do("partx", "--add", device)
        first, second = f"{device}p1", f"{device}p2"
        try:
            do("mkfs.ext4", "-q", first)
            assert answer(device) == answer(first) == answer(second) == ""

            with mounted(first, tmp_path / "mnt"):
                for used in (device, first):
                    assert answer(used) == f"{used} is in use: {name(first)} is mounted at {tmp_path}/mnt"
                assert answer(second) == ""
        finally:
            do("partx", "--delete", device)

    def test_a_loop_device_on_the_device(self, loop: Loop, answer: Callable[[str], str]) -> None:
        """The kernel claims nothing for it: an exclusive open succeeds."""
        below = loop()
        above = loop(below)

        assert answer(below) == f"{below} is in use: {name(below)} is held by {name(above)}"
        assert answer(above) == ""

    @pytest.mark.parametrize("way", ["name", "hard link", "bind mount", "removed name"])
    def test_two_loop_devices_on_one_file(
        self, loop: Loop, answer: Callable[[str], str], tmp_path: Path, way: str
    ) -> None:
        image, another = tmp_path / "images" / "disk", tmp_path / "other" / "disk"
        for path in (image, another):
            path.parent.mkdir()
        image.touch()
        os.truncate(image, 64 << 20)
        one = loop(image)
        if way == "bind mount":
            do("mount", "--bind", image.parent, another.parent)
        elif way != "name":
            another.hardlink_to(image)
        other = loop(image if way == "name" else another)
        if way == "bind mount":
            do("umount", "--lazy", another.parent)
        if way == "removed name":
            image.unlink()
        assert answer(other) == answer(one) == ""
        do("mkfs.ext4", "-q", one)

        with mounted(one, tmp_path / "mnt"):
            assert answer(other) == f"{other} is in use: {name(one)} is mounted at {tmp_path}/mnt"

    def test_a_loop_device_by_a_node_that_was_removed(
        self, loop: Loop, answer: Callable[[str], str], tmp_path: Path
    ) -> None:
        below = loop()
        make_node(tmp_path / "node", stat.S_IFBLK, Path(below).stat().st_rdev)
        above = loop(tmp_path / "node")
        (tmp_path / "node").unlink()
        do("mkfs.ext4", "-q", below)
        with mounted(below, tmp_path / "mnt"):
            assert answer(above) == f"{above} is in use: {name(below)} is mounted at {tmp_path}/mnt"

    def test_the_file_of_active_swap(self, loop: Loop, answer: Callable[[str], str], tmp_path: Path) -> None:
        file = tmp_path / "swap"
        file.write_bytes(bytes(1 << 20))
        file.chmod(0o600)
        do("mkswap", file)
        device = loop(file)
        do("swapon", file)
        try:
            assert answer(device) == f"{device} is in use: the file of {name(device)} is swap space"
        finally:
            do("swapoff", file)

    def test_btrfs_whose_mounts_have_a_number_of_no_device(
        self, loop: Loop, answer: Callable[[str], str], tmp_path: Path
    ) -> None:
        image = tmp_path / "btrfs.img"
        image.touch()
        os.truncate(image, 256 << 20)
        do("mkfs.btrfs", "-q", image)
        device = loop(image)

        with mounted(device, tmp_path / "mnt"):
            assert answer(device) == f"{device} is in use: {name(device)} is mounted at {tmp_path}/mnt"

    def test_a_logical_volume_and_what_it_lies_on(
        self, loop: Loop, answer: Callable[[str], str], tmp_path: Path
    ) -> None:
        disk = loop()
        used, free = f"pinsweep-{os.getpid()}-used", f"pinsweep-{os.getpid()}-free"
        do("dmsetup", "create", used, "--table", f"0 65536 linear {disk} 0")
        try:
            do("dmsetup", "create", free, "--table", f"0 32768 linear {disk} 65536")
            try:
                do("dmsetup", "mknodes")  # where there is no udev
                do("mkfs.ext4", "-q", f"/dev/mapper/{used}")
                with mounted(f"/dev/mapper/{used}", tmp_path / "mnt"):
                    assert f"{disk} is in use: {name(disk)} is held by dm-" in answer(disk)
                    for device in (disk, f"/dev/mapper/{used}"):
                        assert f" ({used}) is mounted at {tmp_path}/mnt" in answer(device)
                    assert answer(f"/dev/mapper/{free}") == ""
            finally:
                do("dmsetup", "remove", "--retry", free)
        finally:
            do("dmsetup", "remove", "--retry", used)

    def test_one_that_is_mounted_where_only_others_see_it(
        self, loop: Loop, answer: Callable[[str], str], tmp_path: Path
    ) -> None:
        device = loop()
        other = loop(tmp_path / "disk0.img")
        do("mkfs.ext4", "-q", device)
        (tmp_path / "mnt").mkdir()
        do("unshare", "--mount", "true")
        script = 'mount "$1" "$2" && echo mounted && read -r _'
        with subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script, "sh", device, tmp_path / "mnt"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        ) as elsewhere:  # fmt: skip
            assert elsewhere.stdin is not None
            assert elsewhere.stdout is not None
            assert elsewhere.stdout.readline() == "mounted\n"

            assert f"{device} is in use: " in answer(device)
            assert f"{other} is in use: the kernel has given {device} to another user" in answer(other)

            elsewhere.stdin.close()


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/dev/tty"])
def test_character_devices_are_refused(path: str, answer: Callable[[str], str]) -> None:
    assert answer(path) == f"{path} is a character device, and not one of an NVMe namespace"


def test_a_character_device_under_a_better_name_is_refused(answer: Callable[[str], str], tmp_path: Path) -> None:
    node = tmp_path / "ng0n1"
    make_node(node, stat.S_IFCHR, Path("/dev/null").stat().st_rdev)

    assert answer(str(node)) == f"{node} is a character device, and not one of an NVMe namespace"


def test_a_node_that_another_user_could_exchange_is_refused(
    loop: Loop, answer: Callable[[str], str], tmp_path: Path
) -> None:
    folder = tmp_path / "nodes"
    folder.mkdir()
    make_node(folder / "disk", stat.S_IFBLK, Path(loop()).stat().st_rdev)
    for mode, refused in ((0o755, False), (0o777, True), (0o1777, False)):
        folder.chmod(mode)
        assert ("another user could exchange" in answer(str(folder / "disk"))) is refused
    os.chown(folder, 12345, 12345)
    assert "another user could exchange" in answer(str(folder / "disk"))

    link = tmp_path / "link"
    link.symlink_to(loop())
    assert answer(str(link)) == ""
    os.chown(link, 12345, 12345, follow_symlinks=False)
    assert "is a link of the user 12345" in answer(str(link))


class TestBeforeEachRun:
    """The node is ours, so that a name can be given to another device, as a new disk takes over /dev/sdb."""

    @pytest.mark.slow
    def test_another_device_under_the_name_is_not_written_to(self, loop: Loop, tmp_path: Path) -> None:
        allowed, other = loop(), loop()
        node = tmp_path / "disk"
        make_node(node, stat.S_IFBLK, Path(allowed).stat().st_rdev)

        def exchange(event: Event) -> None:
            if isinstance(event, Ended) and event.number == 1:
                node.unlink()
                make_node(node, stat.S_IFBLK, Path(other).stat().st_rdev)

        records = swept(node, tmp_path, exchange)

        assert [status for status, _ in records] == ["ok", "ok", "failed", "ok"]  # what only reads goes on
        assert records[2][1] == (
            f"not started: {node} is another device now: backing file {tmp_path}/disk0.img when it was allowed,"
            f" backing file {tmp_path}/disk1.img now"
        )
        assert not any((tmp_path / "disk1.img").read_bytes())
        assert any((tmp_path / "disk0.img").read_bytes())

    @pytest.mark.slow
    def test_one_that_is_in_use_meanwhile_is_not_written_to(self, loop: Loop, tmp_path: Path) -> None:
        device = loop()
        stack = contextlib.ExitStack()

        def use(event: Event) -> None:
            if isinstance(event, Ended) and event.number == 1:
                do("mkfs.ext4", "-q", "-F", device)
                stack.enter_context(mounted(device, tmp_path / "mnt"))

        with stack:
            records = swept(Path(device), tmp_path, use)

        assert [status for status, _ in records] == ["ok", "ok", "failed", "ok"]
        assert records[2][1] == f"not started: {device} is in use: {name(device)} is mounted at {tmp_path}/mnt"

    @pytest.mark.slow
    def test_a_confirmation_is_no_exception(self, loop: Loop, tmp_path: Path) -> None:
        allowed, other = loop(), loop()
        node = tmp_path / "disk"
        make_node(node, stat.S_IFBLK, Path(allowed).stat().st_rdev)
        swept(node, tmp_path, lambda _: None)
        path = tmp_path / "d.db"
        with open_result(path) as result:
            cells = [CellRef(path=path, point_id=stored.cell.point_id) for stored in result.cells()]
        pairs = [Pair(a=cell, b=cell, repeats=1) for cell in cells]
        rerun = prepare_again(pairs, folder=tmp_path, allow_write=(str(node),), seed=1)

        node.unlink()
        make_node(node, stat.S_IFBLK, Path(other).stat().st_rdev)
        records: dict[str, str] = {}

        def note(event: Event) -> None:
            if isinstance(event, Ended):
                records[str(event.run.cell.options["rw"])] = event.record.reason

        run_again(rerun, tmp_path, version="0", argv=[], rules=SHARED, on_event=note)

        assert records["randread"] == ""
        assert f"not started: {node} is another device now" in records["randwrite"]
        assert not any((tmp_path / "disk1.img").read_bytes())


def swept(device: Path, tmp_path: Path, on_event: Callable[[Event], None]) -> list[tuple[str, str]]:
    """Write, read, write, read; return (status, reason) of each."""
    (tmp_path / "d.yaml").write_text(TEXT.format(device=device, rw="randwrite, randread"))
    records: list[tuple[str, str]] = []

    def note(event: Event) -> None:
        if isinstance(event, Ended):
            records.append((event.record.status, event.record.reason))
        on_event(event)

    run_experiments(
        [tmp_path / "d.yaml"],
        PlanOptions(output=tmp_path / "d.db", allow_write=(str(device),)),
        version="0", argv=[], seed=1, rules=SHARED, on_event=note,
    )  # fmt: skip
    return records


def make_node(path: Path, kind: int, number: int) -> None:
    try:
        os.mknod(path, 0o600 | kind, number)
    except PermissionError:
        pytest.skip("needs root: mknod")


def partitioned(image: Path) -> None:
    """Make a disk of 64 MiB with an MBR and two partitions of 16 MiB."""
    entries = [
        bytes([0, 0, 0, 0, 0x83, 0, 0, 0]) + start.to_bytes(4, "little") + (32768).to_bytes(4, "little")
        for start in (2048, 34816)
    ]
    image.write_bytes((bytes(446) + b"".join(entries)).ljust(510, b"\0") + b"\x55\xaa")
    os.truncate(image, 64 << 20)
