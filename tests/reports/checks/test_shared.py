"""What several hosts had in common while they measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.checks.audit import Finding, audit
from reports.results.load import load

ON_NFS = {"scratch_file_system": "nfs4", "scratch_source": "srv:/home", "scratch_sweeps": "files\ndisk"}


def found(make: Any, folder: Path, hosts: dict[str, dict[str, Any]]) -> list[Finding]:
    paths = []
    for host, facts in hosts.items():
        maker = make.Maker(folder / f"{host}.db", host=host)
        maker.facts = {**make.FACTS, **facts}
        for sweep in ("disk", "memory"):
            maker.add(sweep, "stream", {"threads": 2}, make.stream_text(9e3, 2), axes=("threads",))
        paths.append(maker.write())
    return [finding for finding in audit(load(paths)) if finding.id == "G17"]


def test_hosts_that_worked_on_files_of_one_server_are_counted(make: Any, tmp_path: Path) -> None:
    other = {**ON_NFS, "scratch_source": "other:/home"}
    said = found(make, tmp_path, {"n1": ON_NFS, "n2": ON_NFS, "n3": ON_NFS, "n4": other})

    assert [(f.where, f.level, f.sweep) for f in said[:3]] == [(f"n{n}", "warn", "disk") for n in (1, 2, 3)]
    assert said[0].cells == (("1 cell of disk", "scratch is on nfs4 (srv:/home): 3 hosts shared it"),)
    assert [(f.where, f.level) for f in said[3:]] == [("n4", "info")]
    assert said[3].cells[0][1] == (
        "scratch is on nfs4 (other:/home): network and server are measured, with all who use them"
    )


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({}, ""),
        (ON_NFS, "ext4"),
        (ON_NFS, "fuseblk"),
        (ON_NFS, "fuse.fuse-overlayfs"),
        ({**ON_NFS, "scratch_sweeps": ""}, "lustre"),
        ({**ON_NFS, "scratch_sweeps": 5}, "lustre"),
        ({**ON_NFS, "scratch_sweeps": "disks"}, "lustre"),
    ],
)
def test_a_disk_of_its_own_or_no_files_are_no_finding(
    make: Any, tmp_path: Path, facts: dict[str, Any], kind: str
) -> None:
    facts = facts and {**facts, "scratch_file_system": kind}
    assert not found(make, tmp_path, {"n1": facts, "n2": facts})


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "9p", "fuse.sshfs", "fuse.glusterfs"]
)
def test_what_others_can_have_mounted_is_named(make: Any, tmp_path: Path, kind: str) -> None:
    facts = {**ON_NFS, "scratch_file_system": kind}
    (one, two) = found(make, tmp_path, {"n1": facts, "n2": facts})
    assert kind in one.cells[0][1]
    assert two.level == "warn"
