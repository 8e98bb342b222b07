"""What a host is asked by ssh, and what its answers mean."""

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
from orchestrator.cluster.engine import Host
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.ssh import Ssh
from orchestrator.cluster.ssh_text import LookAnswer, parse_fetch, parse_look
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


def ask(folder: Path, call: str, *, shell: str = "sh", more: str = "", **values: str) -> tuple[int, str]:
    """Answer a script as a host without a slurmd: what a test cluster on this machine has."""
    script = "pidof() { false; }\n" + ssh_text.script(sweep(folder), "n1", call, **values) + more
    done = subprocess.run([shell, "-c", "exec bash -s"], input=script, capture_output=True, text=True, check=False)
    return done.returncode, ssh_text.answer(f"Welcome!\n{done.stdout}")


@pytest.mark.parametrize(
    ("rc", "text", "answer"),
    [
        (0, "free\nshared\npython\nnothing\n2:32:2\n", LookAnswer(host=Host(name="n1", kind="2:32:2"))),
        (
            0,
            "runs\napart\npython\nstored\n2:32:2\n",
            LookAnswer(host=Host(name="n1", kind="2:32:2", idle=False), runs=True, is_apart=True, has_results=True),
        ),
        (None, "", LookAnswer(host=Host(name="n1", problem="no answer within 20 s", silent=True))),
        (
            255,
            "x\nssh: No route to host\n",
            LookAnswer(host=Host(name="n1", problem="ssh: No route to host", silent=True)),
        ),
    ],
)
def test_a_host_by_its_answer(rc: int | None, text: str, answer: LookAnswer) -> None:
    assert parse_look("n1", rc, text) == answer


def test_a_host_with_a_slurmd_or_without_python_gets_no_job() -> None:
    assert "slurmd" in parse_look("n1", 0, "slurmd\n").host.problem
    assert "/opt/p/python" in parse_look("n1", 0, "free\napart\nnone\nnothing\n1:1:1\n", "/opt/p/python").host.problem


@pytest.mark.slow
def test_a_job_starts_once_and_outlives_the_connection(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "job.sh").write_text(
        f'echo "$PINSWEEP_HOST $1" >> {tmp_path}/begun; until [ -e {tmp_path}/go ]; do sleep 0.02; done\n'
    )

    started = ask(tmp_path, "start 'a b; c'", apart="", number="1")
    again = ask(tmp_path, "start 'a b; c'", apart="", number="2")
    state = ask(tmp_path, "look", python="true")[1].split()[0]
    (tmp_path / "go").touch()

    assert (started, again, state) == ((0, "started\n"), (0, "runs\n"), "runs")
    assert (tmp_path / "begun").read_text() == "n1 a b; c\n"
    until(lambda: ask(tmp_path, "look", python="true")[1].split()[0] == "free")


def test_results_are_fetched_completely_and_then_removed(tmp_path: Path) -> None:
    home = tmp_path / "pinsweep-3f9a12bc-n1.home"
    (home / "log").mkdir(parents=True)
    (home / "n1.db").write_bytes(bytes(range(256)) * 5000)
    (home / "log" / "n1.3").write_text("[1/2] disk\nrc=0 complete\n")

    first = parse_fetch(*ask(tmp_path, "fetch", known="none"))
    assert first is not None
    assert first.results == (home / "n1.db").read_bytes()
    assert first.logs == {"3": b"[1/2] disk\nrc=0 complete\n"}
    assert parse_fetch(*ask(tmp_path, "fetch", known=first.digest)) == dataclasses.replace(first, results=None)
    ask(tmp_path, "clean", known="0" * 64)
    assert home.exists(), "there are newer results"
    ask(tmp_path, "clean", known=first.digest)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("program", "problem"),
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, problem: str
) -> None:
    looks = "printf 'pinsweep answers\\nfree\\nshared\\npython\\nnothing\\n1:1:1\\n'"
    path = tmp_path / "ssh"
    path.write_text(f'#!/bin/bash\ncase "$*" in *" n1 "*) {program};; *) {looks};; esac\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(ssh._ask, "__kwdefaults__", ssh._ask.__kwdefaults__ | {"within_s": 2.0})
    two = dataclasses.replace(sweep(tmp_path / "acc"), hosts=("n1", "n2"))

    hosts = Ssh(two).hosts(two.hosts)

    assert {host: one.problem for host, one in hosts.items()} == {"n1": problem, "n2": ""}


@pytest.mark.parametrize("name", ["results", "log 3"])
def test_an_answer_that_unpacks_to_too_much_is_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh_text, "_MAX_RESULT_BYTES", 1 << 20)
    data = bytes(2 << 20)
    packed = base64.b64encode(gzip.compress(data)).decode()
    head = f"results {hashlib.sha256(data).hexdigest()}" if name == "results" else f"results none\n{name}"

    assert parse_fetch(0, f"{head}\n{packed}\nend\n") is None


def test_an_answer_that_is_cut_or_changed_is_none(tmp_path: Path) -> None:
    home = tmp_path / "pinsweep-3f9a12bc-n1.home"
    (home / "log").mkdir(parents=True)
    (home / "n1.db").write_bytes(b"x" * 100)
    _, text = ask(tmp_path, "fetch", known="none")
    digest = text.split()[1]

    assert parse_fetch(0, text) is not None
    assert not any(parse_fetch(0, text[:cut]) for cut in range(0, len(text) - 1, 7))
    assert parse_fetch(255, text) is None
    assert parse_fetch(0, text.replace(digest, "0" * 64)) is None


@pytest.mark.parametrize("shell", ["bash", "sh", "tcsh", "fish", "zsh", "ksh"])
def test_every_login_shell_takes_a_script_and_its_stdin(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")

    assert ask(tmp_path, "cat; exit 7", shell=shell, more="a 'b' $!\n") == (7, "a 'b' $!\n")
