"""What is asked of a host by ssh, and what its answer means."""

from __future__ import annotations

import subprocess
from pathlib import Path

from orchestrator.cluster import ssh
from orchestrator.cluster.engine import Host, Submission
from orchestrator.cluster.folder import Sweep
from tests.waits import until


def sweep(folder: Path) -> Sweep:
    return Sweep(
        id="3f9a12bc",
        folder=str(folder),
        via="ssh",
        hosts=("n1",),
        experiments={},
        words=(),
        local=str(folder),
    )


def test_what_an_answer_means() -> None:
    assert ssh.host_of("n1", 0, "free\n2:32:2\n") == (Host(name="n1", kind="2:32:2"), False)
    assert ssh.host_of("n1", 0, "runs\n2:32:2\n") == (Host(name="n1", kind="2:32:2", idle=False), True)
    assert "slurmd" in ssh.host_of("n1", 0, "slurmd\n")[0].problem
    assert ssh.host_of("n1", None, "")[0].problem == "no answer within 20 s"
    assert (
        ssh.host_of("n1", 255, "ssh: connect: No route to host\n")[0].problem
        == "ssh: connect: No route to host"
    )


def test_a_job_is_started_once_and_outlives_who_started_it(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "job.sh").write_text(
        f'echo "$PINSWEEP_HOST $1" >> {tmp_path}/begun; until [ -e {tmp_path}/go ]; do sleep 0.02; done\n'
    )
    one = Submission(host="n1", words=("a b; c",))

    def ask(command: str) -> list[str]:
        here = "pidof() { false; }\n"  # a test cluster beside this test has a slurmd
        return subprocess.run(
            ["bash", "-c", here + command], capture_output=True, text=True, check=True
        ).stdout.split()

    started = ask(ssh.start_command(sweep(tmp_path), one, 1))
    again = ask(ssh.start_command(sweep(tmp_path), one, 2))
    state = ask(ssh.look_command(sweep(tmp_path), "n1"))[0]
    (tmp_path / "go").touch()

    assert (started, again, state) == (["started"], ["runs"], "runs")
    assert (tmp_path / "begun").read_text() == "n1 a b; c\n"
    until(lambda: ask(ssh.look_command(sweep(tmp_path), "n1"))[0] == "free")
