"""How jobs are submitted: some at a time, never twice. Shell scripts replace sbatch, squeue and sinfo."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cluster import slurm
from orchestrator.cluster.engine import Submission, Unavailable
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.slurm import Slurm

Program = Callable[[str, str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """program(name, text) replaces a command of Slurm; `$host` in its text is that of the job, `$here` a folder."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        host = '$(sed "s/.* -w \\([a-z0-9]*\\) .*/\\1/" <<< "$*")'
        path.write_text(f"#!/bin/bash\nhere={tmp_path}\nhost={host}\necho $host >> $here/{name}.calls\n{text}\n")
        path.chmod(0o755)

    return write


def sweep(*hosts: str) -> Sweep:
    return Sweep(id="3f9a12bc", folder="/acc", via="slurm", hosts=hosts, experiments={}, words=())


def submit(count: int) -> tuple[dict[str, str], dict[str, str]]:
    names = [f"n{number}" for number in range(1, count + 1)]
    return Slurm(sweep(*names), patience_s=0).submit(Submission(host=name) for name in names)


def calls(tmp_path: Path, name: str) -> list[str]:
    return (tmp_path / f"{name}.calls").read_text().split()


def test_some_sbatch_run_at_a_time(tmp_path: Path, program: Program) -> None:
    """n2 gets its answer when n3 has asked: one by one, they would never end."""
    program(
        "sbatch",
        "touch $here/$host.there\n"
        "[ $host = n2 ] && for i in $(seq 600); do [ -e $here/n3.there ] && break; sleep 0.05; done\n"
        "[ $host != n2 ] || [ -e $here/n3.there ] || exit 1\necho ${host#n}",
    )

    assert submit(9) == ({f"n{number}": str(number) for number in range(1, 10)}, {})


def test_variables_that_change_the_jobs_do_not_reach_sbatch(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "SBATCH_ARRAY_INX",
        "SBATCH_CLUSTERS",
        "SBATCH_EXCLUSIVE",
        "SLURM_CLUSTERS",
        "SBATCH_ACCOUNT",
    ):
        monkeypatch.setenv(name, "1")
    program("sbatch", "env | grep -E '^(SBATCH|SLURM)_' > $here/env; echo 1")

    assert submit(1) == ({"n1": "1"}, {})
    assert (tmp_path / "env").read_text() == "SBATCH_ACCOUNT=1\n"


def test_after_some_equal_refusals_the_other_hosts_are_not_tried(tmp_path: Path, program: Program) -> None:
    program("sbatch", "echo 'sbatch: error: Batch job submission failed: Invalid qos' >&2; exit 1")

    assert submit(100) == ({}, {f"n{number}": "Invalid qos" for number in range(1, 101)})
    assert len(calls(tmp_path, "sbatch")) <= 5


def test_without_an_answer_the_job_is_looked_up_before_it_is_submitted_again(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sbatch heard nothing for n2 and n4: n2 was accepted, n4 was not."""
    monkeypatch.setattr(slurm, "_SETTLES_S", 0.0)
    program(
        "sbatch",
        "[[ $host == n[24] ]] && mkdir $here/$host.silent 2>/dev/null && echo 'Socket timed out' >&2 && exit 1\n"
        "echo ${host#n}",
    )
    program("squeue", "echo 'n2|72|PENDING|None'")

    assert submit(6) == ({"n1": "1", "n2": "72", "n3": "3", "n4": "4", "n5": "5", "n6": "6"}, {})
    assert sorted(calls(tmp_path, "sbatch")) == ["n1", "n2", "n3", "n4", "n4", "n5", "n6"]


def test_while_slurm_is_silent_nothing_is_submitted_again(tmp_path: Path, program: Program) -> None:
    program("sbatch", "[ $host = n1 ] && echo 1 && exit; echo 'Unable to contact slurm controller' >&2; exit 1")
    program("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1")

    accepted, refused = submit(20)

    assert accepted == {"n1": "1"}
    assert refused == {f"n{number}": slurm._UNKNOWN for number in range(2, 21)}
    assert len(calls(tmp_path, "sbatch")) <= 5


def test_a_question_is_repeated_with_one_message(program: Program) -> None:
    program("squeue", "mkdir $here/once && echo 'Socket timed out' >&2 && exit 1\necho 'n1|7|RUNNING|None'")
    messages: list[str] = []

    jobs = Slurm(sweep("n1"), on_wait=messages.append).jobs()

    assert jobs["n1"].id == "7"
    assert len(messages) == 1


def test_a_glance_does_not_wait_for_an_answer(program: Program) -> None:
    program("squeue", "exec sleep 60")

    with pytest.raises(Unavailable, match="timed out"):
        Slurm(sweep("n1"), patience_s=0, answer_s=0.1).jobs()


def test_ten_thousand_hosts_are_not_a_word_that_linux_refuses(program: Program) -> None:
    program("sinfo", "echo 'frontier00007|idle|1:64:2|(null)|batch*|infinite|none'")
    names = [f"frontier{number:05}" for number in range(10_000)]

    hosts = Slurm(sweep(*names), patience_s=0).hosts(names)

    assert [name for name, host in hosts.items() if not host.problem] == ["frontier00007"]
