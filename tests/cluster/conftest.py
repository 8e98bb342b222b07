"""A cluster of three nodes with a real Slurm and sshd, in namespaces of this machine (shared/test-cluster).

test-cluster lies in shared/, in the checkout or beside it, or where PINSWEEP_TEST_CLUSTER_SCRIPTS says. Without it, without root, its
packages or the right to make namespaces these tests skip with the reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import site
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.waits import until

PROJECT = Path(__file__).resolve().parents[2]
NODES = "node[1-3]"
HOSTS = ("node1", "node2", "node3")


class Cluster:
    """The cluster: what a user on its login node does, and what breaks it."""

    def __init__(self, scripts: Path, folder: Path) -> None:
        self._scripts = scripts
        self._broken = False
        self.forgets: list[str] = []  # sweeps that are over: what their jobs left as they were ended
        self.folder = folder
        self.shared = folder / "shared"
        self.small = folder.with_name(f"{folder.name}-small")
        """A file system of 1 MB that all nodes see, mounted before they began; or nothing, where that is not possible."""

    def up(self, *words: str) -> None:
        done = self._script("up", *words)
        if done.returncode:
            pytest.skip(f"no cluster here: {' '.join(done.stderr.split())}")

    def down(self) -> None:
        self._script("down")

    def node(self, *words: str) -> None:
        """`node2 off`, `login freeze slurmctld` …"""
        self._broken = True
        self._script("node", *words, check=True)

    def breaking(self, *words: str) -> str:
        """Return the line of a shell that does the same, on the login node, too."""
        self._broken = True
        return " ".join([str(self._scripts / "node"), "--dir", str(self.folder), *words])

    def login(self, *words: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a command on the login node. `path`: folders before the others of PATH; `user`, `cwd`, `home`."""
        return subprocess.run(
            self.argv(*words, **more), **self.how(**more), capture_output=True, text=True, check=False
        )

    def argv(self, *words: str | Path, user: str = "", home: Path | None = None, **_: Any) -> list[str]:
        before = ["--dir", str(self.folder), *(["--user", user] if user else [])]
        env = ["env", f"HOME={home}"] if home else []
        return [str(self._scripts / "login"), *before, *env, *map(str, words)]

    def how(self, *, path: Sequence[Path] = (), cwd: Path | None = None, **_: Any) -> dict[str, Any]:
        env = {k: v for k, v in os.environ.items() if k != "PINSWEEP_RUNTIME_DIR"}  # each node has a /run of its own
        env["PINSWEEP_HOME_EVERY_S"] = "0"
        env["PINSWEEP_SSH_CONFIG"] = str(self.folder / "etc/ssh_config")
        env["PATH"] = os.pathsep.join([*map(str, path), env["PATH"]])
        return {"env": env, "cwd": cwd or self.shared}

    def pinsweep(self, *words: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        python = self.python_of(more["user"]) if "user" in more else [sys.executable]
        return self.login(*python, "-P", "-m", "pinsweep", *words, **more)

    def python_of(self, user: str) -> list[str]:
        """Return what starts a Python that has pinsweep and that this user may start; skip where there is none."""
        if self.login(sys.executable, "-c", "", user=user).returncode == 0:
            return [sys.executable]
        packages = os.pathsep.join([str(PROJECT), *site.getsitepackages()])
        python = ["env", f"PYTHONPATH={packages}", "/usr/bin/python3"]
        same = f"import sys, pinsweep; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
        if self.login(*python, "-P", "-c", same, user=user).returncode:
            pytest.skip(f"{user} may not start {sys.executable}, and /usr/bin/python3 is another version")
        return python

    def name_of(self, sweep: Path) -> str:
        return f"pinsweep-{json.loads((sweep / 'sweep.json').read_text())['id']}"

    @contextlib.contextmanager
    def configured(self, *lines: str) -> Iterator[None]:
        """Begin Slurm anew with these lines in its configuration, and without them afterwards."""
        local = self.folder / "etc/slurm.local"
        before = local.read_text()
        self.configure(*lines)
        yield
        local.write_text(before)
        self.up()

    def configure(self, *lines: str) -> None:
        """Have these lines in slurm.conf, in the place of others of their names."""
        local = self.folder / "etc/slurm.local"
        names = {line.split("=")[0] for line in lines}
        kept = [line for line in local.read_text().splitlines() if line.split("=")[0] not in names]
        local.write_text("".join(f"{line}\n" for line in [*kept, *lines]))
        self.up()

    def limit(self, what: str) -> None:
        """Limit what the ordinary user may do: "MaxSubmitJobs=2"."""
        done = self.login("sacctmgr", "-i", "modify", "user", "bench", "set", what)
        assert done.returncode == 0, done.stderr

    def unusable(self, nodes: str) -> list[str]:
        """Return the states of nodes that Slurm would start nothing on."""
        found = self.login("sinfo", "-h", "-N", "-p", "main", "-n", nodes, "-o", "%T").stdout.split()
        return [word for word in found if word not in ("idle", "mixed", "allocated", "completing")]

    def mend(self) -> None:
        """End all jobs, and put right what a test broke."""
        if self._broken:
            self.up()
            self._broken = False
        until(self._is_idle)
        for name in self.forgets:
            for left in Path(tempfile.gettempdir()).glob(f"{name}-*"):
                shutil.rmtree(left, ignore_errors=True)
        self.forgets.clear()

    def _is_idle(self) -> bool:
        """Whether nothing runs and all nodes are idle; what runs is ended, and who is out is called back."""
        if self.login("squeue", "-h").stdout.strip():
            for user in ("root", "bench"):
                self.login("scancel", "-u", user)
            return False
        states = self.login("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T").stdout.split()
        for node, state in zip(states[::2], states[1::2], strict=True):
            if state.startswith(("drain", "down", "fail")):
                self.login("scontrol", "update", f"nodename={node}", "state=resume")
        return set(states[1::2]) == {"idle"}

    def _script(self, name: str, *words: str, check: bool = False) -> subprocess.CompletedProcess[str]:
        argv = [str(self._scripts / name), "--dir", str(self.folder), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=check)


def _scripts() -> Path:
    """Return the folder of test-cluster; skip where there is none, or nobody may start it."""
    beside = (root / "shared" / "test-cluster" for root in (PROJECT, PROJECT.parent))
    asked = os.environ.get("PINSWEEP_TEST_CLUSTER_SCRIPTS")
    scripts = next((p for p in ([Path(asked)] if asked else beside) if (p / "up").is_file()), None)
    if scripts is None:
        pytest.skip(f"the test cluster is not here: no {asked or 'shared/test-cluster'}")
    if os.geteuid() != 0:
        pytest.skip("the test cluster needs root")
    return scripts


@contextlib.contextmanager
def started(*words: str) -> Iterator[Cluster]:
    """A cluster of its own."""
    cluster = Cluster(_scripts(), Path(tempfile.mkdtemp(prefix="pinsweep-c-", dir="/tmp")))
    cluster.folder.chmod(0o755)  # for its ordinary user
    cluster.small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=1777", "tmpfs", str(cluster.small)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        cluster.up(*words)
        yield cluster
    finally:
        cluster.down()
        if mounted:
            subprocess.run(["umount", "-l", str(cluster.small)], check=True)
        cluster.small.rmdir()
        shutil.rmtree(cluster.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def running() -> Iterator[Cluster]:
    accounts = all(map(shutil.which, ("slurmdbd", "mariadbd")))
    with started(*(["--accounting"] if accounts else [])) as cluster:
        if accounts:
            cluster.configure("AccountingStorageEnforce=limits")
        yield cluster


@pytest.fixture
def cluster(running: Cluster) -> Iterator[Cluster]:
    yield running
    running.mend()


@pytest.fixture
def accounting(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster, with accounts and limits; skips where it has none."""
    if not (cluster.folder / "etc/slurmdbd.conf").is_file():
        pytest.skip("no accounts here: slurmdbd or mariadb-server-core is not installed")
    yield cluster
    cluster.limit("MaxSubmitJobs=-1")


TOOL = """\
echo >> {folder}/begun.$(hostname)
until [ $(wc -l < {folder}/begun.$(hostname)) -le {passes} ] || [ -e {folder}/go ]; do sleep 0.05; done
{then}
echo value 1000
"""

SWEEP = """\
schema: 1
title: Waits
tool: command
repeats: {repeats}
fixed:
  command: bash {folder}/tool.sh
  metrics: {{n: {{regex: "value ([0-9]+)", unit: "1", better: higher}}}}
matrix: {{x: {values}}}
"""


class Answer:
    """What `run`, `plan` or `status` with --format json gave."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.returncode, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr

    @property
    def json(self) -> dict[str, Any]:
        assert self.stdout, self.stderr
        return json.loads(self.stdout)  # type: ignore[no-any-return]

    @property
    def states(self) -> dict[str, str]:
        """Host → its state."""
        return {host: row["state"] for host, row in self.json["hosts"].items()}

    @property
    def reasons(self) -> dict[str, str]:
        return {host: row["reason"] for host, row in self.json["hosts"].items()}

    @property
    def jobs(self) -> dict[str, str]:
        """Host → the latest job that it got."""
        return {host: row["job"] for host, row in self.json["hosts"].items()}


class SharedSweep:
    """A sweep of the nodes in a folder that they share, whose tool waits as a test wants."""

    def __init__(self, cluster: Cluster, shared: Path, acc: Path | None = None) -> None:
        self.cluster, self.shared = cluster, shared
        self.path = acc or shared / "acc"
        self.experiment = shared / "waits.yaml"

    def tool(self, *, cells: int = 1, repeats: int = 2, passes: int = 1000, then: str = "") -> SharedSweep:
        """Write the experiment: its runs, after the first `passes` of a host, wait for `go`."""
        (self.shared / "tool.sh").write_text(TOOL.format(folder=self.shared, passes=passes, then=then))
        values = list(range(cells))
        self.experiment.write_text(SWEEP.format(folder=self.shared, repeats=repeats, values=values))
        return self

    def go(self) -> None:
        """Let the tool go on on all hosts."""
        (self.shared / "go").touch()

    def run(self, *words: str | Path, nodes: str = NODES, command: str = "run", **more: Any) -> Answer:
        """Begin the sweep."""
        words = (command, self.experiment, "--nodes", nodes, "-o", self.path, "--format", "json", *words)
        return Answer(self.cluster.pinsweep(*words, **more))

    def again(self, *words: str, **more: Any) -> Answer:
        """Continue the sweep."""
        return Answer(self.cluster.pinsweep("run", "-o", self.path, "--format", "json", *words, **more))

    def status(self, **more: Any) -> Answer:
        return Answer(self.cluster.pinsweep("status", self.path, "--format", "json", **more))

    def until(self, *words: str) -> Answer:
        """Wait until every host is in one of these states."""
        answer = self.status()

        def is_so() -> bool:
            nonlocal answer
            answer = self.status()
            return set(answer.states.values()) <= set(words)

        try:
            until(is_so)
        except AssertionError as error:
            ends = {p.name: p.read_text(errors="replace").splitlines()[-1:] for p in self.logs()}
            nodes, jobs = (self.cluster.login(*argv).stdout for argv in (("sinfo", "-N"), ("squeue", "-a")))
            raise AssertionError(f"{error}: {answer.json}\n{ends}\n{nodes}\n{jobs}") from None
        return answer

    def begun(self, host: str) -> int:
        """Return how many runs have begun on a host."""
        path = self.shared / f"begun.{host}"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def until_begun(self, count: int, *hosts: str) -> None:
        """Wait until as many runs have begun on each host."""
        until(lambda: all(self.begun(host) >= count for host in hosts))

    def runs(self, *hosts: str) -> list[tuple[int, int, int]]:
        """Return of each host how many runs it has, how many different ones, and of how many sessions."""
        return [runs(self.path / f"{host}.db") for host in hosts or HOSTS]

    def logs(self) -> list[Path]:
        return sorted((self.path / "log").glob("node*"))

    def left_behind(self) -> list[Path]:
        """Return what the sweep has left on the hosts, which share /tmp here."""
        return list(Path(tempfile.gettempdir()).glob(f"{self.cluster.name_of(self.path)}-*"))


@pytest.fixture
def sweep(cluster: Cluster) -> Iterator[SharedSweep]:
    """A sweep that is not there yet, on the shared file system."""
    folder = Path(tempfile.mkdtemp(dir=cluster.shared))
    yield SharedSweep(cluster, folder)
    cluster.forgets += [cluster.name_of(path.parent) for path in folder.glob("*/sweep.json")]
    shutil.rmtree(folder)


def runs(path: Path) -> tuple[int, int, int]:
    """Return how many runs a result file holds, how many different ones, and of how many sessions."""
    with sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True) as db:
        return db.execute(  # type: ignore[no-any-return]
            "SELECT count(*), count(DISTINCT point_id || ' ' || repeat), count(DISTINCT session) FROM run"
            " WHERE status = 'ok' AND NOT warm_up"
        ).fetchone()


def spans(path: Path) -> list[tuple[float, float]]:
    """Return of each session of a result file when its first run began and when its last one ended."""
    with sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True) as db:
        return db.execute(
            "SELECT min(julianday(started_utc)), max(julianday(started_utc) + wall_s / 86400) FROM run GROUP BY session ORDER BY session"
        ).fetchall()
