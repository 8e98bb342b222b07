"""What is asked of a host by ssh, and what its answer means."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from orchestrator.cluster import ssh, ssh_text
from orchestrator.cluster.engine import Host, Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.ssh import Ssh
from orchestrator.cluster.ssh_text import Seen
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
    there = ssh_text.seen("n1", 0, "free\nshared\npython\nnothing\n2:32:2\n")
    assert there == Seen(host=Host(name="n1", kind="2:32:2"))
    busy = ssh_text.seen("n1", 0, "runs\napart\npython\nkept\n2:32:2\n")
    assert busy == Seen(host=Host(name="n1", kind="2:32:2", idle=False), runs=True, apart=True, kept=True)
    assert "slurmd" in ssh_text.seen("n1", 0, "slurmd\n").host.problem
    bare = ssh_text.seen("n1", 0, "free\napart\nnone\nnothing\n1:1:1\n", "/opt/p/python")
    assert bare.host.problem == (
        "has no /opt/p/python: install pinsweep on it at this path, or name its Python by --setup 'python=PATH'"
    )
    assert ssh_text.seen("n1", None, "").host.problem == "no answer within 20 s"
    away = "ssh: connect: No route to host"
    assert ssh_text.seen("n1", 255, f"{away}\n").host.problem == away


@pytest.mark.slow
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

    started = ask(ssh_text.start_command(sweep(tmp_path), one, 1))
    again = ask(ssh_text.start_command(sweep(tmp_path), one, 2))
    state = ask(ssh_text.look_command(sweep(tmp_path), "n1"))[0]
    (tmp_path / "go").touch()

    assert (started, again, state) == (["started"], ["runs"], "runs")
    assert (tmp_path / "begun").read_text() == "n1 a b; c\n"
    until(lambda: ask(ssh_text.look_command(sweep(tmp_path), "n1"))[0] == "free")


def test_what_a_host_keeps_is_fetched_whole_and_then_removed(tmp_path: Path) -> None:
    of = sweep(tmp_path)
    home = tmp_path / "pinsweep-3f9a12bc-n1.home"
    (home / "log").mkdir(parents=True)
    (home / "n1.db").write_bytes(bytes(range(256)) * 5000)
    (home / "log" / "n1.3").write_text("[1/2] disk\nrc=0 complete\n")

    def ask(command: str) -> tuple[int, str]:
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    found = ssh_text.fetched(*ask(ssh_text.fetch_command(of, "n1", "none")))
    assert found is not None
    assert found.results == (home / "n1.db").read_bytes()
    assert found.logs == {"3": b"[1/2] disk\nrc=0 complete\n"}
    again = ssh_text.fetched(*ask(ssh_text.fetch_command(of, "n1", found.digest)))
    assert again is not None
    assert (again.results, again.digest) == (None, found.digest)
    assert ask(ssh_text.clean_command(of, "n1", "0" * 64))[0] == 0
    assert home.exists(), "there are other results by now"
    assert ask(ssh_text.clean_command(of, "n1", found.digest))[0] == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ("exec yes", "its answer is larger than 64 KiB"),
        ("exec cat /dev/zero", "its answer is larger than 64 KiB"),
        ("exec head -c 100000 /dev/zero", "its answer is larger than 64 KiB"),
        ("exec yes >&2", "its answer is larger than 64 KiB"),
        ("exec sleep 60", "no answer within 20 s"),
        ("echo ssh: No route to host >&2; exit 255", "ssh: No route to host"),
    ],
)
def test_an_endless_answer_costs_a_host_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, problem: str
) -> None:
    looks = "printf 'pinsweep answers\\nfree\\nshared\\npython\\nnothing\\n1:1:1\\n'"
    program = tmp_path / "ssh"
    program.write_text(f'#!/bin/bash\ncase "$*" in *" n1 "*) {says};; *) {looks};; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(ssh._ask, "__kwdefaults__", ssh._ask.__kwdefaults__ | {"within_s": 2.0})
    two = dataclasses.replace(sweep(tmp_path / "acc"), hosts=("n1", "n2"))

    found = Ssh(two).hosts(two.hosts)

    assert {host: one.problem for host, one in found.items()} == {"n1": problem, "n2": ""}


@pytest.mark.parametrize("name", ["results", "log 3"])
def test_what_unpacks_to_more_than_a_host_can_have_is_no_answer(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_text, "_RESULT_BYTES", 1 << 20)
    data = bytes(2 << 20)
    packed = base64.b64encode(gzip.compress(data)).decode()
    head = f"results {hashlib.sha256(data).hexdigest()}" if name == "results" else f"results none\n{name}"

    assert ssh_text.fetched(0, f"{head}\n{packed}\nend\n") is None


def test_an_answer_that_is_cut_is_none(tmp_path: Path) -> None:
    home = tmp_path / "pinsweep-3f9a12bc-n1.home"
    home.mkdir()
    (home / "n1.db").write_bytes(b"x" * 100)
    command = ssh_text.fetch_command(sweep(tmp_path), "n1", "none")
    text = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout

    assert ssh_text.fetched(0, text) is not None
    assert [ssh_text.fetched(0, text[:cut]) for cut in range(0, len(text) - 4, 7)] == [None] * len(
        range(0, len(text) - 4, 7)
    )
    assert ssh_text.fetched(255, text) is None
    digest = text.split()[1]
    assert ssh_text.fetched(0, text.replace(digest, "0" * 64)) is None


SCRIPT = """\
x='a b'
if ! [ "$x" = "" ]; then
    cat
    echo "$x!" $(( 1 + 1 ))
fi
"""


@pytest.mark.parametrize("shell", ["bash", "sh", "tcsh", "fish", "zsh", "ksh"])
def test_every_login_shell_takes_what_is_asked(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")

    done = subprocess.run(
        [shell, "-c", ssh_text.wrapped(SCRIPT)],
        input="by stdin\n",
        capture_output=True,
        text=True,
        check=False,
    )

    assert ssh_text.answer(f"Welcome!\n{done.stdout}") == "by stdin\na b! 2\n", done.stderr


def test_an_answer_is_what_comes_behind_rubbish() -> None:
    assert ssh_text.answer("Welcome\npinsweep answers\nstarted") == "started"
    assert ssh_text.answer("pinsweep answers") == ""
    assert ssh_text.answer("fish: Unknown command") == "fish: Unknown command"
