"""Sweeps of three nodes by a real Slurm, and what happens to them: nodes die, Slurm does not answer, who submits is killed."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.conftest import NODES, Cluster, begun, runs, spans, states_of
from tests.waits import until

pytestmark = pytest.mark.slow

Experiment = Callable[..., Path]

HEALTH = """\
schema: 1
title: Health
repeats: 2
sweeps:
  - name: memory
    tool: stream
    fixed: {ntimes: 2, array_size: 100000}
    matrix: {place: [{name: local, cpus: each numa_node, memory: local}]}
  - name: disk
    tool: fio
    fixed: {ioengine: psync, bs: 4k, size: 1M, number_ios: 100, direct: false}
    matrix: {rw: [randread, randwrite]}
"""


def wrapper(folder: Path, name: str, text: str) -> Path:
    """Put a program into a folder that goes before the others; `{real}` in its text is the real one."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/bash\n" + text.replace("{real}", str(shutil.which(name))))
    path.chmod(0o755)
    return folder


PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/sweep-a-cluster.md"
_BEGIN, _END = "<!-- begun: tests/cluster/test_slurm.py -->\n", "<!-- ended -->"


def _is_the_page(cluster: Cluster, sweep: Path, waited: str) -> None:
    """The page shows what was printed here, but for names of this machine; PINSWEEP_BLESS=1 writes it anew."""
    words = "health.yaml --nodes 'node[1-3]' -o acc/"
    planned = cluster.pinsweep("plan", "health.yaml", "--nodes", NODES, "-o", "acc3/", cwd=sweep.parent)
    status = cluster.pinsweep("status", "acc/", cwd=sweep.parent)
    assert (planned.returncode, status.returncode) == (0, 0)
    parts = (f"plan {words}", planned.stdout), (f"run {words} --wait", waited), ("status acc/", status.stdout)
    text = "".join(f"```\n$ pinsweep {asked}\n{said}```\n\n" for asked, said in parts)
    for found, shown in (
        (r"pinsweep-[0-9a-f]{8}", "pinsweep-3f9a12bc"),
        (r"sweep [0-9a-f]{8}", "sweep 3f9a12bc"),
        (rf"{re.escape(str(sweep.parent))}/acc3?", "/shared/acc"),
        (rf"work={re.escape(str(sweep.parent))}", "work=/shared"),
        (r"(?s)(\noptions=[^\n]*\n)\n.*?(\n# HOST)", r"\1…\n\2"),
        (r"(?m)^python=\S+", "python=/opt/pinsweep/bin/python"),
        (r"--time=\d+", "--time=6"),
        (r"by pinsweep [0-9.]+", "by pinsweep VERSION"),
        (" --allow-disturbed", ""),  # of the tests' environment
    ):
        text = re.sub(found, shown, text)
    before, _, rest = PAGE.read_text().partition(_BEGIN)
    shown_now, _, after = rest.partition(_END)
    if os.environ.get("PINSWEEP_BLESS"):
        PAGE.write_text(f"{before}{_BEGIN}{text}{_END}{after}")
    else:
        assert shown_now == text


def test_three_hosts_into_one_folder(cluster: Cluster, sweep: Path) -> None:
    """Real fio and kernels on all hosts at once: as many files as hosts, with equal cells, and the page is this transcript."""
    (sweep.parent / "health.yaml").write_text(HEALTH)

    begun = cluster.pinsweep("run", "health.yaml", "--nodes", NODES, "-o", "acc/", "--wait", cwd=sweep.parent)

    assert begun.returncode == 0, begun.stderr + begun.stdout
    _is_the_page(cluster, sweep, begun.stdout)
    assert [runs(sweep / f"node{n}.db")[:2] for n in (1, 2, 3)] == [(6, 6)] * 3
    for log in (sweep / "log").glob("node*"):  # results are home a moment before a job's last line
        until(lambda log=log: log.read_text().splitlines()[-1] == "rc=0 complete")
    assert not list(sweep.glob(".*"))
    again = cluster.pinsweep("run", "-o", sweep)
    assert again.returncode == 0
    assert len(list((sweep / "log").glob("node*"))) == 3  # nobody got a second job
    fleet = json.loads(cluster.pinsweep("fleet", sweep, "--format", "json").stdout)
    assert sorted(itertools.chain(*fleet["nodes"].values())) == ["node1", "node2", "node3"]


def test_a_host_that_dies_goes_on_where_it_was(cluster: Cluster, sweep: Path, experiment: Experiment) -> None:
    path = experiment(cells=2, repeats=5, passes=5)
    assert cluster.pinsweep("run", path, "--nodes", NODES, "-o", sweep).returncode == 0
    until(lambda: begun(sweep, "node1") and begun(sweep, "node3") and begun(sweep, "node2") == 6)

    cluster.node("node2", "off")
    (sweep.parent / "go").touch()
    lost = cluster.until(sweep, "done", "lost")

    assert {host: word for host, (word, _) in lost.items()} == {
        "node1": "done",
        "node2": "lost",
        "node3": "done",
    }
    shown = cluster.pinsweep("status", sweep, "--format", "json")
    assert shown.returncode == 1
    row = json.loads(shown.stdout)["hosts"]["node2"]
    assert (row["done"], row["runs"], "down" in row["reason"]) == (5, 10, True)
    number = json.loads((sweep / "sweep.json").read_text())["id"]
    shutil.rmtree(
        Path(tempfile.gettempdir(), f"pinsweep-{number}-node2")
    )  # a host that forgets what was on its disk
    cluster.node("node2", "on")
    early = states_of(cluster.pinsweep("run", "-o", sweep, "--format", "json"))["node2"]
    assert "down" in early[1], early  # it rebooted unexpectedly: no job starts there
    cluster.login("scontrol", "update", "nodename=node2", "state=resume")
    until(
        lambda: cluster.login("sinfo", "-h", "-n", "node2", "-o", "%T", "-p", "main").stdout.strip() == "idle"
    )

    again = cluster.pinsweep("run", "-o", sweep, "--wait")

    assert again.returncode == 0, again.stdout + again.stderr
    assert [runs(sweep / f"node{n}.db") for n in (1, 2, 3)] == [(10, 10, 1), (10, 10, 2), (10, 10, 1)]


def test_hosts_that_hang_and_that_are_cut_off_never_have_two_writers(
    cluster: Cluster, sweep: Path, experiment: Experiment
) -> None:
    """Slurm takes node2 and node3 for dead, and their jobs run on; they come back, and get another one at once."""
    path = experiment(cells=2, repeats=3, passes=1)
    assert cluster.pinsweep("run", path, "--nodes", "node[2-3]", "-o", sweep).returncode == 0
    for host in ("node2", "node3"):
        until(lambda host=host: begun(sweep, host) == 2)

    cluster.node("node2", "hang")
    cluster.node("node3", "unplug")
    cluster.until(sweep, "lost")
    before = cluster.jobs(sweep)
    skipped = cluster.pinsweep("run", "-o", sweep, "--format", "json")
    assert all("Not responding" in reason for _, reason in states_of(skipped).values())
    assert cluster.jobs(sweep) == before
    cluster.node("node2", "resume")
    cluster.node("node3", "plug")

    def goes_on(so: Callable[[], bool]) -> None:
        """Wait until it is so; on a busy machine Slurm takes a host for dead once more, which then gets another job."""
        until(lambda: cluster.pinsweep("run", "-o", sweep) and so())

    goes_on(lambda: all(begun(sweep, host) > 2 for host in ("node2", "node3")))  # by other jobs than before
    (sweep.parent / "go").touch()
    goes_on(lambda: {word for word, _ in cluster.states(sweep).values()} == {"done"})

    for host in ("node2", "node3"):
        assert runs(sweep / f"{host}.db")[:2] == (6, 6)
        sessions = spans(sweep / f"{host}.db")
        assert len(sessions) >= 2
        assert all(one[1] <= two[0] for one, two in itertools.pairwise(sessions))


def test_who_submits_is_killed_and_another_goes_on_from_elsewhere(
    cluster: Cluster, sweep: Path, experiment: Experiment, tmp_path: Path
) -> None:
    path = experiment(passes=0)
    third = '[[ "$*" != *"-w node3 "* ]] || kill -9 $PPID\nexec {real} "$@"\n'
    killed = cluster.pinsweep(
        "run", path, "--nodes", NODES, "-o", sweep, path=[wrapper(tmp_path / "bin", "sbatch", third)]
    )
    assert killed.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    home = tmp_path / "home"
    home.mkdir()

    again = cluster.pinsweep("run", "-o", sweep, cwd=tmp_path, home=home)

    assert again.returncode == 0, again.stdout + again.stderr
    jobs = cluster.login("squeue", "-h", "-o", "%n").stdout.split()
    assert sorted(jobs) == ["node1", "node2", "node3"]
    (sweep.parent / "go").touch()
    cluster.until(sweep, "done")
    assert [runs(sweep / f"node{n}.db") for n in (1, 2, 3)] == [(2, 2, 1)] * 3


def test_slurm_does_not_answer_and_takes_the_job_all_the_same(
    cluster: Cluster, sweep: Path, experiment: Experiment, tmp_path: Path
) -> None:
    path = experiment(passes=0)
    freeze, thaw = (
        cluster.breaking("login", "freeze", "slurmctld"),
        cluster.breaking("login", "thaw", "slurmctld"),
    )
    second = f'if [[ "$*" == *"-w node2 "* ]] && mkdir {tmp_path}/once; then {freeze}; (sleep 8; {thaw}) >/dev/null 2>&1 & fi\nexec {{real}} "$@"\n'

    done = cluster.pinsweep(
        "run", path, "--nodes", NODES, "-o", sweep, path=[wrapper(tmp_path / "bin", "sbatch", second)]
    )

    assert done.returncode == 0, done.stdout + done.stderr
    jobs = cluster.login("squeue", "-h", "-o", "%n").stdout.split()
    assert sorted(jobs) == ["node1", "node2", "node3"]
    cluster.node("login", "restart", "slurmctld")
    assert {word for word, _ in cluster.states(sweep).values()} <= {"running", "queued"}


def test_each_host_that_gets_no_job_is_named_with_the_reason(
    cluster: Cluster, sweep: Path, experiment: Experiment
) -> None:
    path = experiment()
    cluster.login("scontrol", "update", "nodename=node1", "state=drain", "reason=bad DIMM")

    words = ("--nodes", NODES, "-o", sweep, "--sbatch", "-p short -t 5")

    planned = cluster.pinsweep("plan", path, *words, "--format", "json")
    done = cluster.pinsweep("run", path, *words)

    [warning] = json.loads(planned.stdout)["warnings"]
    assert "node[2-3]" in warning
    assert done.returncode in (0, 1), done.stderr
    found = cluster.until(sweep, "skipped", "not submitted", "failed")  # by then Slurm has said why
    assert found["node1"] == ("skipped", 'drained "bad DIMM"')
    assert all(
        re.search(r"Partition(TimeLimit|Config): .*long", found[host][1]) for host in ("node2", "node3")
    )
    assert cluster.pinsweep("status", sweep).returncode == 1


def test_status_asks_the_controller_a_few_questions_however_many_hosts_there_are(
    cluster: Cluster, sweep: Path, experiment: Experiment
) -> None:
    """squeue and sinfo each ask about partitions, too. Of hosts that are done or at work, sinfo is not asked."""
    cluster.login("scontrol", "update", "nodename=node3", "state=drain", "reason=bad DIMM")

    def questions(acc: Path) -> dict[str, int]:
        cluster.login("sdiag", "--reset")
        assert cluster.pinsweep("status", acc).returncode == 3
        said = cluster.login("sdiag").stdout
        return {
            name: int(n)
            for name, n in re.findall(r"REQUEST_((?!STATS)\w+_INFO)(?:_SINGLE)?\s.*?count:(\d+)", said)
        }

    path = experiment(passes=0)
    assert cluster.pinsweep("run", path, "--nodes", "node[1-2]", "-o", sweep).returncode == 0
    until(lambda: begun(sweep, "node1") and begun(sweep, "node2"))
    assert questions(sweep) == {"JOB_INFO": 1, "PARTITION_INFO": 1}
    (sweep.parent / "go").touch()
    cluster.until(sweep, "done")

    (sweep.parent / "go").unlink()
    cluster.pinsweep("run", path, "--nodes", NODES, "-o", sweep.with_name("more"))
    until(lambda: begun(sweep, "node1") == begun(sweep, "node2") == 3)
    assert questions(sweep.with_name("more")) == {"JOB_INFO": 1, "NODE_INFO": 1, "PARTITION_INFO": 2}


def test_a_prolog_that_fails_is_named_and_nobody_waits_for_ever(
    cluster: Cluster, sweep: Path, experiment: Experiment
) -> None:
    prolog = cluster.folder / "etc/prolog"
    good = prolog.read_text()
    prolog.write_text('#!/bin/sh\n[ "$SLURMD_NODENAME" != node2 ]\n')
    try:
        words = ("--nodes", NODES, "-o", sweep, "--wait", "--format", "json")
        done = cluster.pinsweep("run", experiment(), *words)
    finally:
        prolog.write_text(good)

    assert done.returncode == 1, done.stderr
    states = states_of(done)
    assert [word for word, _ in states.values()] == ["done", "skipped", "done"]
    assert re.search(r"Prolog error.*Error running \w* ?prolog: 1", states["node2"][1])
    assert cluster.pinsweep("status", sweep).returncode == 1


def test_what_hosts_were_measured_with_is_named_where_it_differs(cluster: Cluster, sweep: Path) -> None:
    """node1: no compiler, but the kernels of another host in the cache that they share; node2: no compiler; node3: another fio and kernel."""
    folder = sweep.parent
    (folder / "health.yaml").write_text(HEALTH.replace("repeats: 2", "repeats: 1"))
    wrapper(folder / "fio", "fio", '[ "$1" = --version ] && exec echo fio-3.11\nexec {real} "$@"\n')
    old = wrapper(folder / "old", "python", f'exec setarch --uname-2.6 {sys.executable} "$@"\n') / "python"
    bare = folder / "bare"
    bare.mkdir()
    for tool in Path("/usr/bin").iterdir():
        if not re.search(r"cc|clang|c\+\+", tool.name):
            (bare / tool.name).symlink_to(tool)
    cache = f"XDG_CACHE_HOME={folder}/cache"
    assert (
        cluster.login("env", cache, sys.executable, "-P", "-m", "pinsweep", "kernels", "build").returncode
        == 0
    )
    setup = (
        f"case $host in\nnode1) export PATH={bare} {cache};;\nnode2) export PATH={bare} XDG_CACHE_HOME={folder}/none;;\n"
        f"node3) export PATH={folder}/fio:$PATH {cache}; python={old};;\nesac"
    )

    words = ("--nodes", NODES, "-o", sweep, "--wait", "--setup", setup, "--format", "json")
    done = cluster.pinsweep("run", "health.yaml", *words, cwd=folder)

    assert done.returncode == 0, done.stdout + done.stderr
    differences = json.loads(done.stdout)["differences"]
    values = {(host, row["what"]): row["here"] for row in differences for host in row["hosts"]}
    assert values["node3", "fio"] == "3.11"
    assert values["node3", "kernel"].startswith("2.6.")
    assert any(host == "node2" for host, _ in values)
    fleet = json.loads(cluster.pinsweep("fleet", sweep, "--format", "json").stdout)
    assert {(what["what"], *what["nodes"]) for what in fleet["unlike"]} >= {
        ("kernel", "node3"),
        ("fio", "node3"),
    }
    assert ["node2"] in [one["nodes"] for one in fleet["missing"]]


def test_the_command_that_drains_a_failed_host_quotes_what_its_tool_printed(
    cluster: Cluster, sweep: Path, experiment: Experiment
) -> None:
    path = experiment(then="[ $(hostname) != node2 ] || { echo 'no room; $(reboot)' >&2; exit 5; }")

    cluster.pinsweep("run", path, "--nodes", NODES, "-o", sweep, "--wait")

    word, reason = cluster.states(sweep)["node2"]
    assert (word, "exit status 5: no room" in reason) == ("failed", True)
    shown = cluster.pinsweep("status", sweep)
    assert shown.returncode == 1
    line = shlex.split(shown.stdout.splitlines()[-1])
    assert line[:4] == ["scontrol", "update", "nodename=node2", "state=drain"]
    assert len(line) == 5
    assert "no room (reboot)" in line[4]
    before = cluster.jobs(sweep)
    cluster.pinsweep("run", "-o", sweep)
    assert cluster.jobs(sweep) == before  # only --retry-failed starts what failed


def test_the_command_that_fleet_prints_measures_suspicious_hosts_again(
    cluster: Cluster, sweep: Path, experiment: Experiment, tmp_path: Path
) -> None:
    slow, good = sweep.parent / "slow.node3", sweep.parent / "good"
    path = experiment(
        repeats=1, then=f"[ ! -e {sweep.parent}/slow.$(hostname) ] || {{ echo value 500; exit; }}"
    )
    assert cluster.pinsweep("run", path, "--nodes", "node1", "-o", good, "--wait").returncode == 0
    slow.touch()
    assert cluster.pinsweep("run", path, "--nodes", NODES, "-o", sweep, "--wait").returncode == 0
    slow.unlink()
    words = ("fleet", sweep, "--baseline", good / "node1.db")
    fleet = json.loads(cluster.pinsweep(*words, "--format", "json").stdout)
    assert fleet["nodes"] == {"suspicious": ["node3"], "ok": ["node1", "node2"]}
    lines = cluster.pinsweep(*words).stdout.splitlines()
    [command] = [line for line in lines if line.startswith("pinsweep run ")]

    done = cluster.pinsweep(*shlex.split(command)[1:], "--wait", cwd=tmp_path)

    assert done.returncode == 0, command + done.stdout + done.stderr
    again = {file.stem: runs(file) for file in (sweep / "again-1").glob("*.db")}
    assert again == dict.fromkeys(("node1", "node2", "node3"), (1, 1, 1))


def test_a_full_shared_file_system_stops_no_run_and_the_next_job_brings_all_home(
    cluster: Cluster, sweep: Path, experiment: Experiment
) -> None:
    if not cluster.small.is_mount():
        pytest.skip("no file system may be mounted here")
    path = experiment(passes=1, repeats=3)
    acc = cluster.small / "acc"
    assert cluster.pinsweep("run", path, "--nodes", "node[1-2]", "-o", acc).returncode == 0
    until(lambda: begun(sweep, "node1") == 2 and begun(sweep, "node2") == 2)
    with contextlib.suppress(OSError), (cluster.small / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(512))
    (sweep.parent / "go").touch()
    cluster.until(acc, "failed")

    assert begun(sweep, "node1") == begun(sweep, "node2") == 3
    (cluster.small / "filler").unlink()
    again = cluster.pinsweep("run", "-o", acc, "--wait")
    assert again.returncode == 0, again.stdout + again.stderr
    assert begun(sweep, "node1") == begun(sweep, "node2") == 3
    assert [runs(acc / f"node{n}.db")[:2] for n in (1, 2)] == [(3, 3), (3, 3)]
    cluster.forgets.append(cluster.name_of(acc))
    shutil.rmtree(acc)


def test_a_part_of_a_host_is_refused(cluster: Cluster, sweep: Path, experiment: Experiment) -> None:
    path = experiment()
    cluster.login("scontrol", "update", f"nodename={NODES}", "state=drain", "reason=later")
    cluster.pinsweep("run", path, "--nodes", NODES, "-o", sweep)
    cluster.login("scontrol", "update", f"nodename={NODES}", "state=resume")

    step = cluster.login("srun", "-w", "node1", "-N1", "-n1", "-c1", "bash", sweep / "job.sh")

    assert step.returncode == 3, step.stdout + step.stderr
    assert step.stdout.splitlines()[-1].startswith("rc=3 ")
    assert not (sweep / "node1.db").exists()


def test_one_at_a_time(cluster: Cluster, sweep: Path, experiment: Experiment) -> None:
    path = experiment(then=f"echo $(hostname) >> {sweep.parent}/order")

    done = cluster.pinsweep("run", path, "--nodes", NODES, "-o", sweep, "--at-once", "1", "--wait")

    assert done.returncode == 0, done.stdout + done.stderr
    order = (sweep.parent / "order").read_text().split()
    assert [order[n] == order[n + 1] for n in (0, 2, 4)] == [True] * 3
    assert sorted(order[::2]) == ["node1", "node2", "node3"]


def test_a_canary_with_a_broken_tool_lets_no_other_job_run(cluster: Cluster, sweep: Path) -> None:
    folder = sweep.parent
    (folder / "health.yaml").write_text(HEALTH)
    wrapper(
        folder / "fio", "fio", '[ "$1" = --version ] && echo fio-3.33 && exit\necho I/O error >&2\nexit 1\n'
    )
    setup = f"export PATH={folder}/fio:$PATH XDG_CACHE_HOME={folder}/cache"

    done = cluster.pinsweep(
        "run",
        "health.yaml",
        "--nodes",
        NODES,
        "-o",
        sweep,
        "--canary",
        "--wait",
        "--format",
        "json",
        "--setup",
        setup,
        cwd=folder,
    )

    assert done.returncode == 1
    row = json.loads(done.stdout)["hosts"]["node1"]
    assert (row["state"], row["done"], row["runs"], "I/O error" in row["reason"]) == ("failed", 2, 6, True)
    assert [log.name.split(".")[0] for log in (sweep / "log").glob("node*")] == ["node1"]
    until(lambda: not cluster.left_behind(sweep))  # it is home, though it failed
    (folder / "fio" / "fio").unlink()  # mended
    again = cluster.pinsweep("run", "-o", sweep, "--retry-failed", "--wait")
    assert again.returncode == 0, again.stdout + again.stderr
    assert [runs(sweep / f"node{n}.db")[1] for n in (1, 2, 3)] == [6] * 3


def test_hosts_whose_jobs_squeue_has_forgotten_are_judged_by_the_folder(
    cluster: Cluster, sweep: Path, experiment: Experiment
) -> None:
    path = experiment(passes=1, then="[ $(hostname) != node2 ] || exit 5")
    with cluster.configured("MinJobAge=5"):
        assert cluster.pinsweep("run", path, "--nodes", NODES, "-o", sweep).returncode == 0
        until(lambda: begun(sweep, "node1") == begun(sweep, "node3") == 2)
        cluster.login("scancel", "-w", "node3")
        until(lambda: "rc=" in "".join(log.read_text() for log in (sweep / "log").glob("node3.*")))
        (sweep.parent / "go").touch()
        cluster.until(sweep, "done", "failed")
        until(lambda: not cluster.login("squeue", "-h", "-t", "all").stdout.strip())

        found = cluster.states(sweep)

    assert found["node1"] == ("done", "")
    assert found["node2"][0] == "failed"
    assert "exit status 5" in found["node2"][1]
    assert found["node3"][0] == "failed"


def test_writes_nothing_before_it_is_asked_to(cluster: Cluster, sweep: Path, experiment: Experiment) -> None:
    path = experiment()

    words = ("--nodes", NODES, "-o", sweep, "--canary", "--at-once", "2", "--format", "json")
    done = cluster.pinsweep("plan", path, *words)

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "#SBATCH --exclusive" in answer["job"]
    behind = {host: "afterok:CANARY" in line for host, line in answer["submissions"].items()}
    assert behind == {"node1": False, "node2": True, "node3": True}
    assert len(answer["limits_min"]) == 1
    assert not sweep.exists()
