"""How jobs are submitted: some at a time, never twice. Programs of a shell stand in for sbatch and squeue."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cluster import slurm
from orchestrator.cluster.engine import Away, Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.slurm import Slurm

Program = Callable[[str, str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """program(name, text): it is called in the place of Slurm's; `$host` in its text is that of the job, `$here` a folder."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    head = f'#!/bin/bash\nhere={tmp_path}\nhost=$(sed "s/.* -w \\([a-z0-9]*\\) .*/\\1/" <<< "$*")\necho $host >> $here/{{name}}.asked\n'

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.write_text(head.format(name=name) + text)
        path.chmod(0o755)

    return write


def submit(tmp_path: Path, hosts: int) -> tuple[dict[str, str], dict[str, str]]:
    names = tuple(f"n{number}" for number in range(1, hosts + 1))
    sweep = Sweep(
        id="3f9a12bc", folder=str(tmp_path / "acc"), via="slurm", hosts=names, experiments={}, words=()
    )
    return Slurm(sweep, patience_s=0).submit(Submission(host=name) for name in names)


def asked(tmp_path: Path, name: str) -> list[str]:
    return (tmp_path / f"{name}.asked").read_text().split()


def test_some_sbatch_wait_for_slurm_at_a_time(tmp_path: Path, program: Program) -> None:
    """n2 gets its answer when n3 has asked: one by one, they would never end."""
    program(
        "sbatch",
        'touch $here/$host.there\nif [ $host = n2 ]; then for i in $(seq 600); do [ -e $here/n3.there ] && break; sleep 0.05; done; fi\n'
        '[ $host != n2 ] || [ -e $here/n3.there ] || { echo "sbatch: error: n3 never came" >&2; exit 1; }\necho ${host#n}\n',
    )  # fmt: skip

    taken, refused = submit(tmp_path, 9)

    assert not refused
    assert taken == {f"n{number}": str(number) for number in range(1, 10)}
    assert asked(tmp_path, "sbatch")[0] == "n1"  # alone: what is wrong with all of them is told by one


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

    assert submit(tmp_path, 1) == ({"n1": "1"}, {})
    assert (tmp_path / "env").read_text() == "SBATCH_ACCOUNT=1\n"


def test_what_is_refused_for_all_in_the_same_words_is_not_asked_a_thousand_times(
    tmp_path: Path, program: Program
) -> None:
    program(
        "sbatch", "echo 'sbatch: error: Batch job submission failed: Invalid qos specification' >&2; exit 1"
    )

    taken, refused = submit(tmp_path, 100)

    assert not taken
    assert refused == {f"n{number}": "Invalid qos specification" for number in range(1, 101)}
    assert len(asked(tmp_path, "sbatch")) <= 5


def test_who_got_no_answer_is_looked_up_before_it_is_submitted_again(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of n2 and n4 sbatch heard nothing: n2 was taken all the same, n4 was not."""
    monkeypatch.setattr(slurm, "_SETTLES_S", 0.0)
    program(
        "sbatch",
        'if [[ $host == n[24] ]] && ! [ -e $here/$host.silent ]; then touch $here/$host.silent; echo "Socket timed out" >&2; exit 1; fi\necho ${host#n}\n',
    )
    program("squeue", "echo 'n2|72|PENDING|None'")

    taken, refused = submit(tmp_path, 6)

    assert not refused
    assert taken == {"n1": "1", "n2": "72", "n3": "3", "n4": "4", "n5": "5", "n6": "6"}
    assert sorted(asked(tmp_path, "sbatch")) == ["n1", "n2", "n3", "n4", "n4", "n5", "n6"]


def test_who_waits_for_slurm_is_told_so(program: Program) -> None:
    program(
        "squeue",
        "if mkdir $here/once 2>/dev/null; then echo 'slurm_load_jobs error: Socket timed out' >&2; exit 1; fi\necho 'n1|7|RUNNING|None'",
    )
    sweep = Sweep(id="3f9a12bc", folder="/acc", via="slurm", hosts=("n1",), experiments={}, words=())
    told: list[str] = []

    jobs = Slurm(sweep, on_wait=told.append).jobs()

    assert jobs["n1"].id == "7"
    assert told == [
        "Slurm does not answer, and is asked again for 60 s: squeue: slurm_load_jobs error: Socket timed out"
    ]


def test_ten_thousand_hosts_are_no_word_that_linux_refuses(program: Program) -> None:
    program("sinfo", "echo 'frontier00007|idle|1:64:2|(null)|batch*|infinite|none'")
    names = tuple(f"frontier{number:05}" for number in range(10_000))
    sweep = Sweep(id="3f9a12bc", folder="/acc", via="slurm", hosts=names, experiments={}, words=())

    hosts = Slurm(sweep, patience_s=0).hosts(names)

    assert [name for name, host in hosts.items() if not host.problem] == ["frontier00007"]


def test_who_only_looks_waits_for_no_answer(program: Program) -> None:
    program("squeue", "exec sleep 60")
    sweep = Sweep(id="3f9a12bc", folder="/acc", via="slurm", hosts=("n1",), experiments={}, words=())

    with pytest.raises(Away, match="squeue: timed out after 0 s"):
        Slurm(sweep, patience_s=0, answer_s=0.1).jobs()


def test_where_slurm_stays_silent_nothing_is_submitted_again(tmp_path: Path, program: Program) -> None:
    program(
        "sbatch",
        'if [ $host = n1 ]; then echo 1; else echo "Unable to contact slurm controller" >&2; exit 1; fi',
    )
    program("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1")

    taken, refused = submit(tmp_path, 20)

    assert taken == {"n1": "1"}
    assert list(refused) == [f"n{number}" for number in range(2, 21)]
    assert all("may have taken the job" in why for why in refused.values())
    assert len(asked(tmp_path, "sbatch")) == 5
