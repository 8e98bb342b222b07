"""Sweeps on the real tools of this machine: a second or two each. They check that it works, never how fast."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.waits import nothing_is_left

needs_fio = pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed")
needs_numactl = pytest.mark.skipif(not shutil.which("numactl"), reason="numactl is not installed")
needs_imb = pytest.mark.skipif(
    not (Path(sys.executable).parent / "IMB-MPI1").exists(),
    reason="the mpi extra is not installed (x86-64 only)",
)
needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(path) as db:
        return db.execute(query).fetchall()


def stdout(path: Path, run_id: int) -> bytes:
    ((data,),) = rows(path, f"SELECT zlib FROM output WHERE run_id = {run_id} AND stream = 'stdout'")
    return zlib.decompress(data)


@needs_fio
def test_a_read_does_not_measure_what_a_write_left(pinsweep: Cli, tmp_path: Path) -> None:
    """Zeros compress: a read of them is another measurement below ZFS, btrfs or VDO. verify says what the read found."""
    (tmp_path / "z.yaml").write_text(
        "schema: 1\ntitle: z\ntool: fio\norder: listed\nrepeats: 1\n"
        "fixed: {size: 1M, bs: 64k, ioengine: psync, direct: false}\n"
        "include:\n"
        "  - {rw: write, zero_buffers: true}\n"
        '  - {rw: randread, verify: pattern, verify_pattern: "0x00", verify_fatal: true}\n'
    )

    done = pinsweep("run", "z.yaml", "-o", "z.db")

    assert done.returncode == 1
    assert "1 failed, 1 ok" in done.stderr
    assert "Invalid or incomplete multibyte" in done.stderr or "verify" in done.stderr


@needs_fio
@needs_numactl
class TestFio:
    TEXT = """\
schema: 1
title: fio
tool: fio
fixed: {ioengine: psync, direct: false, size: 1M, bs: 4k, runtime: 100ms}
matrix:
  rw: [randread, randrw]
repeats: 1
"""

    def test_a_sweep_on_a_scratch_file(self, pinsweep: Cli, tmp_path: Path) -> None:
        (tmp_path / "f.yaml").write_text(self.TEXT)

        done = pinsweep("run", "f.yaml", "-o", "f.db")

        assert done.returncode == 0, done.stderr
        assert "IOPS" in done.stderr
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["f.db", "f.yaml"]
        report = json.loads(stdout(tmp_path / "f.db", 1))
        assert report["fio version"].startswith("fio-")

    @pytest.mark.slow
    def test_a_file_of_the_users_survives_every_mode(self, pinsweep: Cli, tmp_path: Path) -> None:
        thesis = tmp_path / "thesis"
        thesis.write_bytes(os.urandom(4 << 20))
        before = hashlib.sha256(thesis.read_bytes()).hexdigest()
        for rw in ("write", "randwrite", "rw", "randrw", "trim", "randtrim", "trimwrite"):
            text = self.TEXT.replace("[randread, randrw]", f"[{rw}]").replace(
                "{ioengine", f"{{filename: {thesis}, ioengine"
            )
            (tmp_path / "f.yaml").write_text(text)

            done = pinsweep("run", "f.yaml", "-o", "f.db")

            assert done.returncode == 2, rw
            assert "pinsweep did not make it" in done.stderr
        assert hashlib.sha256(thesis.read_bytes()).hexdigest() == before
        assert not (tmp_path / "f.db").exists()

    def test_reading_a_file_of_the_users_is_fine_and_leaves_it_alone(self, pinsweep: Cli, tmp_path: Path) -> None:
        thesis = tmp_path / "thesis"
        thesis.write_bytes(os.urandom(4 << 20))
        before = thesis.read_bytes()
        text = self.TEXT.replace("[randread, randrw]", "[randread]").replace(
            "{ioengine", f"{{filename: {thesis}, ioengine"
        )
        (tmp_path / "f.yaml").write_text(text)

        assert pinsweep("run", "f.yaml", "-o", "f.db").returncode == 0
        assert thesis.read_bytes() == before

    def test_a_missing_file_is_not_made(self, pinsweep: Cli, tmp_path: Path) -> None:
        """fio itself makes a missing file, and the folders above it, and exits with 0."""
        text = self.TEXT.replace("[randread, randrw]", "[randread]").replace(
            "{ioengine", f"{{filename: {tmp_path}/no/file, ioengine"
        )
        (tmp_path / "f.yaml").write_text(text)

        done = pinsweep("run", "f.yaml", "-o", "f.db")

        assert done.returncode == 1
        assert "does not exist" in done.stderr
        assert not (tmp_path / "no").exists()

    def test_a_misspelt_option_surfaces_before_anything_starts(self, pinsweep: Cli, tmp_path: Path) -> None:
        (tmp_path / "f.yaml").write_text(self.TEXT.replace("bs: 4k", "iodpeth: 4"))

        done = pinsweep("run", "f.yaml", "-o", "f.db")

        assert done.returncode == 2
        assert "f.yaml:4:" in done.stderr
        assert "iodepth" in done.stderr
        assert not (tmp_path / "f.db").exists()

    def test_a_value_that_fio_refuses_is_a_failed_run_with_its_words(self, pinsweep: Cli, tmp_path: Path) -> None:
        (tmp_path / "f.yaml").write_text(self.TEXT.replace("bs: 4k", "bs: 4k, verify: nosuchsum"))

        done = pinsweep("run", "f.yaml", "-o", "f.db")

        assert done.returncode == 1
        assert "nosuchsum" in done.stderr

    @pytest.mark.parametrize(
        "folder",
        [
            "vic;backup",
            *(pytest.param(name, marks=pytest.mark.slow) for name in ("vic#3", "a:b", "with blank", "new\nline")),
        ],
    )
    def test_no_name_of_a_folder_leads_fio_astray(self, pinsweep: Cli, tmp_path: Path, folder: str) -> None:
        """fio cuts a path at ; and #, and wrote to the stump: a file of the user's."""
        victim = tmp_path / "vic"
        victim.write_bytes(b"years of work")
        (tmp_path / folder).mkdir()
        (tmp_path / "vic;x.yaml").write_text(self.TEXT.replace("[randread, randrw]", "[randrw]"))

        done = pinsweep("run", "vic;x.yaml", "-o", "f.db", "--scratch", folder)

        assert done.returncode == 0, done.stderr
        assert victim.read_bytes() == b"years of work"
        assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(["f.db", "vic", "vic;x.yaml", folder])

    def test_verifying_writes_nothing_where_pinsweep_was_started(self, pinsweep: Cli, tmp_path: Path) -> None:
        (tmp_path / "f.yaml").write_text(
            self.TEXT.replace("[randread, randrw]", "[randwrite]").replace("bs: 4k", "bs: 4k, verify: crc32c")
        )

        assert pinsweep("run", "f.yaml", "-o", "f.db").returncode == 0
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["f.db", "f.yaml"]

    def test_a_full_file_system_is_a_failed_run_and_the_sweep_goes_on(self, pinsweep: Cli, tmp_path: Path) -> None:
        """A sweep whose scratch does not fit, and one that needs none, in one file."""
        text = """\
schema: 1
title: too large
repeats: 1
sweeps:
  - {name: large, tool: fio, fixed: {size: 900T, runtime: 1, rw: randread}}
  - {name: none, tool: fio, fixed: {ioengine: "null", size: 1M, runtime: 100ms, rw: randread}}
"""
        (tmp_path / "f.yaml").write_text(text)

        done = pinsweep("run", "f.yaml", "-o", "f.db")

        assert "large" in done.stderr
        assert "needs 900 TiB of scratch space" in done.stderr
        assert rows(tmp_path / "f.db", "SELECT sweep, status FROM run JOIN point USING (point_id)") == [("none", "ok")]


@needs_numactl
class TestKernels:
    def test_stream_runs_a_thread_on_each_pu_that_the_plan_says(self, pinsweep: Cli, tmp_path: Path) -> None:
        text = "schema: 1\ntitle: s\ntool: stream\nfixed: {array_size: 1M, ntimes: 2}\nmatrix: {threads: [1, all]}\nrepeats: 1\n"
        (tmp_path / "s.yaml").write_text(text)

        done = pinsweep("run", "s.yaml", "-o", "s.db", env={"PINSWEEP_STREAM": "kernel"})

        assert done.returncode == 0, done.stderr
        for run_id, placement in rows(tmp_path / "s.db", "SELECT run_id, placement FROM run"):
            asked = json.loads(placement)["groups"][0]["cpus"]
            printed = next(
                line for line in stdout(tmp_path / "s.db", run_id).decode().splitlines() if line.startswith("# cpus:")
            )
            assert sorted(map(int, printed.removeprefix("# cpus:").split(","))) == asked

    def test_a_stream_that_fails_its_validation_is_a_failed_run(self, pinsweep: Cli, tmp_path: Path) -> None:
        """The table stands, the exit status is 0, and the figures are wrong."""
        real = tmp_path / "broken-stream"
        real.write_text(
            "#!/bin/sh\n"
            "echo 'STREAM version $Revision: 5.10 $'\n"
            "echo 'Function    Best Rate MB/s  Avg time     Min time     Max time'\n"
            'for k in Copy Scale Add Triad; do echo "$k:           12000.0     0.000013     0.000013     0.000013"; done\n'
            "echo 'Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)'\n"
        )
        real.chmod(0o755)
        (tmp_path / "s.yaml").write_text("schema: 1\ntitle: s\ntool: stream\nmatrix: {threads: [1]}\nrepeats: 1\n")

        done = pinsweep("run", "s.yaml", "-o", "s.db", env={"PINSWEEP_STREAM": str(real)})

        assert done.returncode == 1
        assert "check of its arrays failed" in done.stderr

    @needs_two_cpus
    def test_loaded_latency_gives_a_row_for_each_delay_in_order(self, pinsweep: Cli, tmp_path: Path) -> None:
        text = """\
schema: 1
title: m
tool: mlc
fixed: {mode: loaded_latency, delays: [0, 100, 5000, 0], t: 0.05, b: 4m}
matrix: {W: [R, 8]}
repeats: 1
"""
        (tmp_path / "m.yaml").write_text(text)

        done = pinsweep("run", "m.yaml", "-o", "m.db", env={"PINSWEEP_MLC": "kernel"})
        parsed = json.loads(
            pinsweep("parse", "mlc", "-", "--format", "json", input=stdout(tmp_path / "m.db", 1).decode()).stdout
        )

        assert done.returncode == 0, done.stderr
        assert [row["delay"] for row in parsed["measurements"] if row["metric"] == "latency"] == [
            0,
            100,
            5000,
            0,
        ]

    def test_mlc_without_root_says_what_it_measures_instead(self, pinsweep: Cli, tmp_path: Path) -> None:
        """Recorded behaviour: without root MLC measures random access; the plan says so."""
        fake = tmp_path / "mlc"
        fake.write_text("#!/bin/sh\nexit 1\n")
        fake.chmod(0o755)
        (tmp_path / "m.yaml").write_text("schema: 1\ntitle: m\ntool: mlc\nfixed: {mode: idle_latency}\nrepeats: 1\n")

        plan = json.loads(pinsweep("plan", "m.yaml", "--format", "json", env={"PINSWEEP_MLC": str(fake)}).stdout)

        assert plan["runs"][0]["argv"][-1].startswith("-")
        assert bool(plan["runs"][0]["notes"]) == (os.geteuid() != 0)

    def test_tails_of_memory_and_of_a_file(self, pinsweep: Cli, tmp_path: Path) -> None:
        text = """\
schema: 1
title: t
tool: poke
fixed: {count: 2000}
matrix: {target: [memory, file], bytes: [0, 1MB]}
repeats: 1
"""
        (tmp_path / "t.yaml").write_text(text)

        assert pinsweep("run", "t.yaml", "-o", "t.db").returncode == 0
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["t.db", "t.yaml"]

    @pytest.mark.slow
    def test_many_small_files_and_a_large_one(self, pinsweep: Cli, tmp_path: Path) -> None:
        text = """\
schema: 1
title: f
tool: poke
fixed: {target: files}
zip: {files: [1, 50], file_size: [500kB, 10kB]}
matrix: {fsync: [false, true]}
repeats: 2
"""
        (tmp_path / "f.yaml").write_text(text)

        done = pinsweep("run", "f.yaml", "-o", "f.db")

        assert done.returncode == 0, done.stderr
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["f.db", "f.yaml"]


@needs_numactl
@needs_imb
@needs_two_cpus
class TestImb:
    TEXT = """\
schema: 1
title: p
tool: imb
fixed: {benchmark: PingPong, msglog: "0:4", iter: 100}
matrix: {place: [same package]}
repeats: 1
"""

    def test_pingpong_with_a_mask_for_each_rank(self, pinsweep: Cli, tmp_path: Path) -> None:
        (tmp_path / "p.yaml").write_text(self.TEXT)

        done = pinsweep("run", "p.yaml", "-o", "p.db")

        assert done.returncode == 0, done.stderr
        ((argv, placement),) = rows(tmp_path / "p.db", "SELECT argv, placement FROM run")
        cpus = [group["cpus"] for group in json.loads(placement)["groups"]]
        assert len(cpus) == 2
        assert len({tuple(mask) for mask in cpus}) == 2
        assert [word for word in json.loads(argv) if word.startswith("--physcpubind=")] == [
            f"--physcpubind={mask[0]}" for mask in cpus
        ]

    def test_a_benchmark_of_another_name_is_refused_by_name(self, pinsweep: Cli, tmp_path: Path) -> None:
        (tmp_path / "p.yaml").write_text(self.TEXT.replace("PingPong", "PingPang"))

        done = pinsweep("run", "p.yaml", "-o", "p.db")

        assert done.returncode == 2
        assert "PingPong" in done.stderr

    @pytest.mark.slow
    def test_a_timeout_ends_the_ranks_too(self, pinsweep: Cli, tmp_path: Path, home: Mapping[str, str]) -> None:
        (tmp_path / "p.yaml").write_text(
            self.TEXT.replace('"0:4", iter: 100', '"22:22", iter: "1000000,1000000000", iter_policy: "off", time: 600')
            + "timeout: 2\n"
        )

        done = pinsweep("run", "p.yaml", "-o", "p.db")

        assert done.returncode == 1
        assert rows(tmp_path / "p.db", "SELECT status FROM run") == [("timeout",)]
        assert nothing_is_left(home)


@pytest.mark.slow
@needs_fio
@needs_numactl
@needs_two_cpus
def test_every_command_that_plan_prints_runs_by_hand(pinsweep: Cli, tmp_path: Path) -> None:
    """`plan --format shell` is a script that works on its own."""
    text = """\
schema: 1
title: all
repeats: 1
sweeps:
  - {name: f, tool: fio, fixed: {rw: randread, size: 1M, runtime: 200ms, ioengine: psync, direct: false}}
  - {name: s, tool: stream, fixed: {threads: 1, array_size: 1M, ntimes: 2}}
  - {name: m, tool: mlc, fixed: {mode: loaded_latency, delays: [0, 100], t: 0.05, b: 4m}}
  - {name: p, tool: poke, fixed: {target: file, bytes: 1MB, count: 100}}
"""
    (tmp_path / "a.yaml").write_text(text)
    script = pinsweep("plan", "a.yaml", "--format", "shell")

    done = subprocess.run(["sh", "-s"], input=script.stdout, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "Triad:" in done.stdout
    assert '"fio version"' in done.stdout


def test_the_host_is_recorded(pinsweep: Cli, tmp_path: Path) -> None:
    text = "schema: 1\ntitle: c\ntool: command\nfixed: {command: echo 1, metrics: {one: {regex: '(1)'}}}\nrepeats: 1\n"
    (tmp_path / "c.yaml").write_text(text)

    pinsweep("run", "c.yaml", "-o", "c.db")

    ((host, facts),) = rows(tmp_path / "c.db", "SELECT host, facts FROM session")
    assert host == platform.node()
    assert json.loads(facts)["kernel"] == platform.release()


@needs_fio
def test_logs_that_fio_writes_are_kept_and_have_every_io(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "l.yaml").write_text(
        "schema: 1\ntitle: l\ntool: fio\nrepeats: 1\n"
        "fixed: {size: 1M, bs: 4k, rw: randrw, ioengine: psync, direct: false, number_ios: 200, numjobs: 2,\n"
        "        write_lat_log: true, write_hist_log: true, log_hist_msec: 100}\n"
    )

    done = pinsweep("run", "l.yaml", "-o", "l.db", "--allow-disturbed", "--no-warm-up")
    assert done.returncode == 0, done.stderr
    logs = pinsweep("show", "l.db", "1", "--logs").stdout
    printed = stdout(tmp_path / "l.db", 1).decode()

    (job,) = json.loads(printed[printed.index("{") :])["jobs"]
    names = [line.split()[1] for line in logs.splitlines() if line.startswith("==>")]
    lines = logs.split("==> fio_clat_hist")[0].splitlines()
    assert names[:2] == ["fio_lat.1.log", "fio_lat.2.log"]
    assert set(names[2:]) <= {"fio_clat_hist.1.log", "fio_clat_hist.2.log"}
    for number, direction in enumerate(("read", "write")):
        own = [int(line.split(", ")[1]) for line in lines if line.split(", ")[2:3] == [str(number)]]
        assert len(own) == job[direction]["total_ios"]
        assert max(own) == job[direction]["lat_ns"]["max"]
    assert not (tmp_path / "pinsweep-scratch").exists()
