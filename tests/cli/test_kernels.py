"""`pinsweep kernels build`, and a node without a compiler that measures with what it left."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Cli

pytestmark = pytest.mark.skipif(not shutil.which("gcc") or not shutil.which("numactl"), reason="needs gcc and numactl")


def test_a_node_without_a_compiler_measures_with_what_another_compiled(pinsweep: Cli, tmp_path: Path) -> None:
    """numactl alone is on its PATH."""
    (tmp_path / "bin").mkdir()
    for name in ("numactl", "sh"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    (tmp_path / "p.yaml").write_text(
        "schema: 1\ntitle: P\ntool: poke\nfixed: {target: compute, count: 10, place: numa_node 0}\nrepeats: 1\n"
    )
    node = {"PATH": str(tmp_path / "bin")}

    built = pinsweep("kernels", "build")
    done = pinsweep("run", "p.yaml", "-o", "p.db", env=node)
    bare = pinsweep("run", "p.yaml", "-o", "q.db", env={**node, "XDG_CACHE_HOME": str(tmp_path / "empty")})

    assert built.returncode == 0, built.stderr
    assert [Path(line).name for line in built.stdout.splitlines()] == ["memlat", "poke", "stream"]
    assert all(Path(line).is_file() for line in built.stdout.splitlines())
    assert done.returncode == 0, done.stderr
    assert "1 ok" in done.stderr
    assert bare.returncode == 1
    assert "`pinsweep kernels build` on a host that has one" in bare.stderr
