"""The file system under test: which mount a folder lies on, and what of it makes figures mean something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.machine.devices import parse_mounts
from orchestrator.machine.file_system import FileSystem, file_system_of, findings, mount_of

SERVER = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 253:0 / / rw,relatime shared:1 - xfs /dev/mapper/rhel-root rw,attr2,noquota
29 27 259:1 / /scratch rw,noatime shared:3 - ext4 /dev/nvme0n1 rw,sync,discard,data=journal
30 27 0:40 / /tmp rw,nosuid - tmpfs tmpfs rw,size=1048576k
31 27 0:45 /srv /srv rw - btrfs /dev/sda2 rw,compress=zstd:3,space_cache
32 27 0:50 / /mnt/my\\040disk rw - nfs4 server:/x rw,vers=4.2,sync
33 30 259:2 / /tmp rw - ext4 /dev/nvme1n1 rw
"""


def fs(kind: str = "ext4", *options: str, free: int = 50, encrypted: bool = False) -> FileSystem:
    return FileSystem(
        point="/data", kind=kind, source="/dev/sda1", options=options, size_bytes=100 << 30, free_bytes=free << 30,
        encrypted=encrypted,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "point", "kind"),
    [
        ("/scratch/a", "/scratch", "ext4"),
        ("/scratch", "/scratch", "ext4"),
        ("/scratchy/a", "/", "xfs"),
        ("/srv/ann", "/srv", "btrfs"),
        ("/mnt/my disk/a", "/mnt/my disk", "nfs4"),
        ("/tmp/a", "/tmp", "ext4"),  # mounted over the other
    ],
)
def test_a_folder_lies_on_the_last_mount_that_leads_there(path: str, point: str, kind: str) -> None:
    mount = mount_of(path, parse_mounts(SERVER))

    assert mount is not None
    assert (mount.point, mount.kind) == (point, kind)
    assert mount_of("/a", ()) is None


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (fs(), ""),
        (fs("xfs", "rw", "async"), ""),
        (fs("btrfs", "compress=no"), ""),
        (fs("tmpfs", free=1), "this file system is in memory: it measures memory, no disk"),
        (fs("nfs4"), "network and server"),
        (fs("lustre"), "network and server"),
        (fs("overlay"), "go through its layers"),
        (fs("fuse.sshfs"), "a separate process"),
        (fs("zfs"), "caches in its own memory"),
        (fs(encrypted=True), "encryption of every block limits"),
        (fs("ecryptfs"), "encryption of every block limits"),
        (fs("ext4", "rw", "sync"), "every write waits"),
        (fs("ext4", "data=journal"), "written two times"),
        (fs("ext4", "data=ordered"), ""),
        (fs("btrfs", "compress-force=zstd:3"), "compressible data"),
        (fs(free=5), "nearly full"),
    ],
)
def test_what_changes_the_meaning_of_a_figure_is_a_warning(found: FileSystem, said: str) -> None:
    warned = findings(found)

    assert [finding.level for finding in warned] == ["warn"] * bool(said)
    assert all(said in finding.why and finding.fix and "/data" in finding.what for finding in warned)


def test_discard_is_told_and_is_no_warning() -> None:
    (finding,) = findings(fs("ext4", "rw", "discard"))

    assert (finding.level, finding.fix) == ("info", "mount -o remount,nodiscard /data")
    assert not findings(fs("tmpfs", "discard"))[1:]


def test_lvm_on_luks_is_encrypted(tmp_path: Path) -> None:
    """What `lsblk` shows of an installed laptop: vg-home on dm-0, which is dm-crypt's, on nvme0n1p3."""
    block = tmp_path / "sys/dev/block"
    for number, uuid in (("253:1", "LVM-abc"), ("253:0", "CRYPT-LUKS2-12ab-luks")):
        (block / number / "dm").mkdir(parents=True)
        (block / number / "dm/uuid").write_text(f"{uuid}\n")
        (block / number / "slaves").mkdir()
    (block / "253:1/slaves/dm-0").symlink_to(block / "253:0")
    (tmp_path / "proc/self").mkdir(parents=True)
    mountinfo = tmp_path / "proc/self/mountinfo"

    for number, encrypted in (("253:1", True), ("253:0", True), ("259:1", False)):
        mountinfo.write_text(f"27 1 {number} / / rw - ext4 /dev/mapper/vg-home rw\n")
        found = file_system_of(tmp_path / "not" / "there", tmp_path)
        assert found is not None
        assert found.encrypted is encrypted


def test_this_machine_has_a_file_system(tmp_path: Path) -> None:
    found = file_system_of(tmp_path)

    assert found is not None
    assert found.kind in Path("/proc/filesystems").read_text()
    assert 0 <= found.free_bytes <= found.size_bytes
    assert file_system_of(tmp_path, root=tmp_path) is None
