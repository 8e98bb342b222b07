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
from pathlib import Path

import pytest

from tests.cluster.conftest import HOSTS, NODES, Cluster, SharedSweep, spans
from tests.waits import until

pytestmark = pytest.mark.slow

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


def _is_the_page(sweep: SharedSweep, waited: str) -> None:
    """The page shows what was printed here, but for names of this machine; PINSWEEP_BLESS=1 writes it anew."""
    words = "health.yaml --nodes 'node[1-3]' -o acc/"
    planned = sweep.cluster.pinsweep("plan", "health.yaml", "--nodes", NODES, "-o", "acc3/", cwd=sweep.shared)
    status = sweep.cluster.pinsweep("status", "acc/", cwd=sweep.shared)
    assert (planned.returncode, status.returncode) == (0, 0)
    parts = (f"plan {words}", planned.stdout), (f"run {words} --wait", waited), ("status acc/", status.stdout)
    text = "".join(f"```\n$ pinsweep {asked}\n{said}```\n\n" for asked, said in parts)
    for found, shown in (
        (r"pinsweep-[0-9a-f]{8}", "pinsweep-3f9a12bc"),
        (r"sweep [0-9a-f]{8}", "sweep 3f9a12bc"),
        (rf"{re.escape(str(sweep.shared))}/acc3?", "/shared/acc"),
        (rf"work={re.escape(str(sweep.shared))}", "work=/shared"),
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


def test_three_hosts_into_one_folder(cluster: Cluster, sweep: SharedSweep) -> None:
    """Real fio and kernels on all hosts at once; the how-to page is this transcript."""
    (sweep.shared / "health.yaml").write_text(HEALTH)

    words = ("run", "health.yaml", "--nodes", NODES, "-o", "acc/", "--wait")
    done = cluster.pinsweep(*words, cwd=sweep.shared)

    assert done.returncode == 0, done.stderr + done.stdout
    _is_the_page(sweep, done.stdout)
    assert [row[:2] for row in sweep.runs()] == [(6, 6)] * 3
    for log in sweep.logs():  # results are sent a moment before a job's last line
        until(lambda log=log: log.read_text().splitlines()[-1] == "rc=0 complete")
    assert not list(sweep.path.glob(".*"))
    assert sweep.again().returncode == 0
    assert len(sweep.logs()) == 3  # no host got a second job
    fleet = json.loads(cluster.pinsweep("fleet", sweep.path, "--format", "json").stdout)
    assert sorted(itertools.chain(*fleet["nodes"].values())) == list(HOSTS)


def test_a_host_that_dies_continues_where_it_was(cluster: Cluster, sweep: SharedSweep) -> None:
    assert sweep.tool(cells=2, repeats=5, passes=5).run().returncode == 0
    sweep.until_begun(1, "node1", "node3")
    sweep.until_begun(6, "node2")

    cluster.node("node2", "off")
    sweep.go()
    lost = sweep.until("done", "lost")

    assert list(lost.states.values()) == ["done", "lost", "done"]
    row = lost.json["hosts"]["node2"]
    assert (lost.returncode, row["done"], row["runs"], "down" in row["reason"]) == (1, 5, 10, True)
    for folder in sweep.left_behind():  # a host that forgets its disk
        shutil.rmtree(folder)
    cluster.node("node2", "on")
    assert "down" in sweep.again().reasons["node2"]  # it rebooted unexpectedly: no job starts there
    cluster.login("scontrol", "update", "nodename=node2", "state=resume")
    until(lambda: not cluster.unusable("node2"))

    again = sweep.again("--wait")

    assert again.returncode == 0, again.stderr
    assert sweep.runs() == [(10, 10, 1), (10, 10, 2), (10, 10, 1)]


def test_hosts_that_hang_or_are_cut_off_never_have_two_writers(cluster: Cluster, sweep: SharedSweep) -> None:
    """Slurm takes node2 and node3 for dead, and their jobs still run; they come back, and get another one at once."""
    hosts = ("node2", "node3")
    assert sweep.tool(cells=2, repeats=3, passes=1).run(nodes="node[2-3]").returncode == 0
    sweep.until_begun(2, *hosts)

    cluster.node("node2", "hang")
    cluster.node("node3", "unplug")
    before = sweep.until("lost").jobs
    assert all("Not responding" in reason for reason in sweep.again().reasons.values())
    assert sweep.status().jobs == before
    cluster.node("node2", "resume")
    cluster.node("node3", "plug")

    # on a busy machine Slurm takes a host for dead once more, which then gets another job
    until(lambda: sweep.again() and all(sweep.begun(host) > 2 for host in hosts))
    sweep.go()
    until(lambda: sweep.again() and set(sweep.status().states.values()) == {"done"})

    assert [row[:2] for row in sweep.runs(*hosts)] == [(6, 6)] * 2
    for host in hosts:
        sessions = spans(sweep.path / f"{host}.db")
        assert len(sessions) >= 2
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(sessions))


def test_after_a_killed_submission_another_process_continues(
    cluster: Cluster, sweep: SharedSweep, tmp_path: Path
) -> None:
    third = '[[ "$*" != *"-w node3 "* ]] || kill -9 $PPID\nexec {real} "$@"\n'
    killed = sweep.tool(passes=0).run(path=[wrapper(tmp_path / "bin", "sbatch", third)])
    assert killed.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    home = tmp_path / "home"
    home.mkdir()

    again = sweep.again(cwd=tmp_path, home=home)

    assert again.returncode == 0, again.stderr
    assert sorted(cluster.login("squeue", "-h", "-o", "%n").stdout.split()) == list(HOSTS)
    sweep.go()
    sweep.until("done")
    assert sweep.runs() == [(2, 2, 1)] * 3


def test_slurm_does_not_answer_and_accepts_the_job_all_the_same(
    cluster: Cluster, sweep: SharedSweep, tmp_path: Path
) -> None:
    freeze, thaw = (cluster.breaking("login", word, "slurmctld") for word in ("freeze", "thaw"))
    second = (
        f'if [[ "$*" == *"-w node2 "* ]] && mkdir {tmp_path}/once; then\n'
        f'{freeze}; (sleep 8; {thaw}) >/dev/null 2>&1 &\nfi\nexec {{real}} "$@"\n'
    )

    answer = sweep.tool(passes=0).run(path=[wrapper(tmp_path / "bin", "sbatch", second)])

    assert answer.returncode == 0, answer.stderr
    assert sorted(cluster.login("squeue", "-h", "-o", "%n").stdout.split()) == list(HOSTS)
    cluster.node("login", "restart", "slurmctld")
    assert set(sweep.status().states.values()) <= {"running", "queued"}


def test_each_host_without_a_job_is_named_with_the_reason(cluster: Cluster, sweep: SharedSweep) -> None:
    cluster.login("scontrol", "update", "nodename=node1", "state=drain", "reason=bad DIMM")
    words = ("--sbatch", "-p short -t 5")

    planned = sweep.tool().run(*words, command="plan")
    answer = sweep.run(*words)

    [warning] = planned.json["warnings"]
    assert "node[2-3]" in warning
    assert answer.returncode in (0, 1), answer.stderr
    answer = sweep.until("skipped", "not submitted", "failed")  # by then Slurm has said why
    assert (answer.states["node1"], answer.reasons["node1"]) == ("skipped", 'drained "bad DIMM"')
    assert all("Partition" in answer.reasons[host] for host in ("node2", "node3"))
    assert answer.returncode == 1


def test_status_asks_the_controller_a_few_questions(cluster: Cluster, sweep: SharedSweep) -> None:
    """squeue and sinfo each ask about partitions, too. sinfo is not asked about hosts that are done or at work."""
    cluster.login("scontrol", "update", "nodename=node3", "state=drain", "reason=bad DIMM")

    def questions(of: SharedSweep) -> dict[str, int]:
        cluster.login("sdiag", "--reset")
        assert of.status().returncode == 3
        counts = re.findall(r"REQUEST_((?!STATS)\w+_INFO)(?:_SINGLE)?\s.*?count:(\d+)", cluster.login("sdiag").stdout)
        return {name: int(count) for name, count in counts}

    assert sweep.tool(passes=0).run(nodes="node[1-2]").returncode == 0
    sweep.until_begun(1, "node1", "node2")
    assert questions(sweep) == {"JOB_INFO": 1, "PARTITION_INFO": 1}
    sweep.go()
    sweep.until("done")

    (sweep.shared / "go").unlink()
    more = SharedSweep(cluster, sweep.shared, sweep.shared / "more")
    more.run()
    sweep.until_begun(3, "node1", "node2")
    assert questions(more) == {"JOB_INFO": 1, "NODE_INFO": 1, "PARTITION_INFO": 2}


def test_a_failed_prolog_is_named_and_no_job_waits_for_ever(cluster: Cluster, sweep: SharedSweep) -> None:
    prolog = cluster.folder / "etc/prolog"
    good = prolog.read_text()
    prolog.write_text('#!/bin/sh\n[ "$SLURMD_NODENAME" != node2 ]\n')
    try:
        answer = sweep.tool().run("--wait")
    finally:
        prolog.write_text(good)

    assert answer.returncode == 1, answer.stderr
    assert list(answer.states.values()) == ["done", "skipped", "done"]
    assert re.search(r"Prolog error.*Error running \w* ?prolog: 1", answer.reasons["node2"])
    assert sweep.status().returncode == 1


def test_hosts_that_were_measured_with_something_else_are_named(cluster: Cluster, sweep: SharedSweep) -> None:
    """node1: no compiler, but the kernels of a cache; node2: no compiler; node3: another fio and kernel."""
    folder = sweep.shared
    sweep.experiment.write_text(HEALTH.replace("repeats: 2", "repeats: 1"))
    wrapper(folder / "fio", "fio", '[ "$1" = --version ] && exec echo fio-3.11\nexec {real} "$@"\n')
    old = wrapper(folder / "old", "python", f'exec setarch --uname-2.6 {sys.executable} "$@"\n') / "python"
    bare = folder / "bare"
    bare.mkdir()
    for tool in Path("/usr/bin").iterdir():
        if not re.search(r"cc|clang|c\+\+", tool.name):
            (bare / tool.name).symlink_to(tool)
    cache = f"XDG_CACHE_HOME={folder}/cache"
    build = cluster.login("env", cache, sys.executable, "-P", "-m", "pinsweep", "kernels", "build")
    assert build.returncode == 0
    setup = (
        f"case $host in\nnode1) export PATH={bare} {cache};;\n"
        f"node2) export PATH={bare} XDG_CACHE_HOME={folder}/none;;\n"
        f"node3) export PATH={folder}/fio:$PATH {cache}; python={old};;\nesac"
    )

    answer = sweep.run("--wait", "--setup", setup)

    assert answer.returncode == 0, answer.stderr
    values = {(host, row["what"]): row["here"] for row in answer.json["differences"] for host in row["hosts"]}
    assert values["node3", "fio"] == "3.11"
    assert values["node3", "kernel"].startswith("2.6.")
    assert any(host == "node2" for host, _ in values)
    fleet = json.loads(cluster.pinsweep("fleet", sweep.path, "--format", "json").stdout)
    unlike = {(row["what"], *row["nodes"]) for row in fleet["unlike"]}
    assert unlike >= {("kernel", "node3"), ("fio", "node3")}
    assert ["node2"] in [row["nodes"] for row in fleet["missing"]]


def test_the_command_that_drains_a_failed_host_quotes_its_tool(cluster: Cluster, sweep: SharedSweep) -> None:
    sweep.tool(then="[ $(hostname) != node2 ] || { echo 'no room; $(reboot)' >&2; exit 5; }")

    answer = sweep.run("--wait")

    assert answer.states["node2"] == "failed"
    assert "exit status 5: no room" in answer.reasons["node2"]
    shown = cluster.pinsweep("status", sweep.path)
    line = shlex.split(shown.stdout.splitlines()[-1])
    assert (shown.returncode, line[:-1]) == (1, ["scontrol", "update", "nodename=node2", "state=drain"])
    assert "no room (reboot)" in line[-1]
    assert sweep.again().jobs == answer.jobs  # only --retry-failed starts failed runs


def test_the_command_that_fleet_prints_measures_suspicious_hosts_again(
    cluster: Cluster, sweep: SharedSweep, tmp_path: Path
) -> None:
    slow = sweep.shared / "slow.node3"
    sweep.tool(repeats=1, then=f"[ ! -e {sweep.shared}/slow.$(hostname) ] || {{ echo value 500; exit; }}")
    good = SharedSweep(cluster, sweep.shared, sweep.shared / "good")
    assert good.run("--wait", nodes="node1").returncode == 0
    slow.touch()
    assert sweep.run("--wait").returncode == 0
    slow.unlink()
    words = ("fleet", sweep.path, "--baseline", good.path / "node1.db")
    fleet = json.loads(cluster.pinsweep(*words, "--format", "json").stdout)
    assert fleet["nodes"] == {"suspicious": ["node3"], "ok": ["node1", "node2"]}
    lines = cluster.pinsweep(*words).stdout.splitlines()
    [command] = [line for line in lines if line.startswith("pinsweep run ")]

    done = cluster.pinsweep(*shlex.split(command)[1:], "--wait", cwd=tmp_path)

    assert done.returncode == 0, command + done.stdout + done.stderr
    assert SharedSweep(cluster, sweep.shared, sweep.path / "again-1").runs() == [(1, 1, 1)] * 3


def test_a_full_shared_file_system_stops_no_run_and_the_next_job_sends_all(
    cluster: Cluster, sweep: SharedSweep
) -> None:
    if not cluster.small.is_mount():
        pytest.skip("no file system may be mounted here")
    hosts = ("node1", "node2")
    small = SharedSweep(cluster, sweep.shared, cluster.small / "acc").tool(passes=1, repeats=3)
    assert small.run(nodes="node[1-2]").returncode == 0
    small.until_begun(2, *hosts)
    with contextlib.suppress(OSError), (cluster.small / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(512))
    small.go()
    small.until("failed")

    assert [small.begun(host) for host in hosts] == [3, 3]
    (cluster.small / "filler").unlink()
    again = small.again("--wait")
    assert again.returncode == 0, again.stderr
    assert [small.begun(host) for host in hosts] == [3, 3]
    assert [row[:2] for row in small.runs(*hosts)] == [(3, 3)] * 2
    cluster.forgets.append(cluster.name_of(small.path))
    shutil.rmtree(small.path)


def test_a_part_of_a_host_is_refused(cluster: Cluster, sweep: SharedSweep) -> None:
    cluster.login("scontrol", "update", f"nodename={NODES}", "state=drain", "reason=later")
    sweep.tool().run()
    cluster.login("scontrol", "update", f"nodename={NODES}", "state=resume")

    step = cluster.login("srun", "-w", "node1", "-N1", "-n1", "-c1", "bash", sweep.path / "job.sh")

    assert step.returncode == 3, step.stdout + step.stderr
    assert step.stdout.splitlines()[-1].startswith("rc=3 ")
    assert not (sweep.path / "node1.db").exists()


def test_one_at_a_time(sweep: SharedSweep) -> None:
    sweep.tool(then=f"echo $(hostname) >> {sweep.shared}/order")

    answer = sweep.run("--at-once", "1", "--wait")

    assert answer.returncode == 0, answer.stderr
    order = (sweep.shared / "order").read_text().split()
    assert order[::2] == order[1::2]
    assert sorted(order[::2]) == list(HOSTS)


def test_behind_a_canary_with_a_broken_tool_no_job_runs(sweep: SharedSweep) -> None:
    folder = sweep.shared
    sweep.experiment.write_text(HEALTH)
    broken = '[ "$1" = --version ] && echo fio-3.33 && exit\necho I/O error >&2\nexit 1\n'
    wrapper(folder / "fio", "fio", broken)
    setup = f"export PATH={folder}/fio:$PATH XDG_CACHE_HOME={folder}/cache"

    answer = sweep.run("--canary", "--wait", "--setup", setup)

    assert answer.returncode == 1
    row = answer.json["hosts"]["node1"]
    assert (row["state"], row["done"], row["runs"], "I/O error" in row["reason"]) == ("failed", 2, 6, True)
    assert [log.name.split(".")[0] for log in sweep.logs()] == ["node1"]
    until(lambda: not sweep.left_behind())  # its results were sent, though it failed
    (folder / "fio" / "fio").unlink()  # mended
    again = sweep.again("--retry-failed", "--wait")
    assert again.returncode == 0, again.stderr
    assert [row[1] for row in sweep.runs()] == [6] * 3


def test_hosts_whose_jobs_squeue_has_forgotten_are_judged_by_the_folder(cluster: Cluster, sweep: SharedSweep) -> None:
    sweep.tool(passes=1, then="[ $(hostname) != node2 ] || exit 5")
    with cluster.configured("MinJobAge=5"):
        assert sweep.run().returncode == 0
        sweep.until_begun(2, "node1", "node3")
        cluster.login("scancel", "-w", "node3")
        until(lambda: "rc=" in "".join(log.read_text() for log in sweep.logs() if "node3" in log.name))
        sweep.go()
        sweep.until("done", "failed")
        until(lambda: not cluster.login("squeue", "-h", "-t", "all").stdout.strip())

        answer = sweep.status()

    assert list(answer.states.values()) == ["done", "failed", "failed"]
    assert "exit status 5" in answer.reasons["node2"]


def test_a_plan_writes_nothing(sweep: SharedSweep) -> None:
    answer = sweep.tool().run("--canary", "--at-once", "2", command="plan")

    assert answer.returncode == 0, answer.stderr
    assert "#SBATCH --exclusive" in answer.json["job"]
    behind = {host: "afterok:CANARY" in line for host, line in answer.json["submissions"].items()}
    assert behind == {"node1": False, "node2": True, "node3": True}
    assert len(answer.json["limits_min"]) == 1
    assert not sweep.path.exists()
