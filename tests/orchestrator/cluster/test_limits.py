"""Which jobs are given less time than they may take."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cluster import limits, slurm
from orchestrator.cluster.engine import Host, Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.plan.prepare import PlanOptions

TAKES = "reckoned to take 12 min, 40 with its margin"
GOES_ON = "where it ends too early `run -o` goes on"


@pytest.mark.parametrize(
    ("words", "allowed", "said"),
    [
        ((), 0, ""),
        ((), 40, ""),
        ((), 30, f"a job asks for 40 min, and the partition allows 30: Slurm starts none; it is {TAKES}: --time=30 in --sbatch has it begin, and {GOES_ON}"),
        (("-t", "1:00:00"), 30, f"a job asks for 60 min, and the partition allows 30: Slurm starts none; it is {TAKES}: --time=30 in --sbatch has it begin, and {GOES_ON}"),
        (("--time=30",), 30, f"a job is ended after 30 min (--sbatch), and is {TAKES}: {GOES_ON}"),
        (("-t", "5"), 0, f"a job is ended after 5 min (--sbatch), and is {TAKES}: {GOES_ON}"),
        (("-t", "60"), 0, ""),
        (("-t", "whenever"), 0, ""),
    ],
)  # fmt: skip
def test_a_job_that_may_be_ended_or_never_begun_is_told(
    words: tuple[str, ...], allowed: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SBATCH_TIMELIMIT", raising=False)
    kind = "2:32:2"
    sweep = Sweep(
        id="3f9a12bc", folder="/acc", via="slurm", hosts=("n1", "n2", "n3"), experiments={}, words=(), sbatch=words,
        limits_min={kind: 40}, estimates_min={kind: 12},
    )  # fmt: skip
    hosts = {name: Host(name=name, kind=kind, allowed_min=allowed) for name in ("n1", "n2")}
    jobs = [Submission(host=name, limit_min=40) for name in sweep.hosts]

    found = limits.short(jobs, hosts, sweep, lambda job: slurm.asked_min(sweep, job))

    assert {why.text: names for why, names in found.items()} == ({said: ["n1", "n2"]} if said else {})


@pytest.mark.parametrize(
    ("kind", "known"),
    [("1:2:1", True), ("2:32:2 icelake", True), ("0:0:0", False), ("0:16:1", False), ("", False)],
)
def test_how_long_a_host_takes_is_known_where_its_shape_is(kind: str, known: bool, tmp_path: Path) -> None:
    """A host without lscpu, or with one of Arm that knows no sockets, ended the sweep: "pack:0 numa:1 …: how many?"."""
    (tmp_path / "e.yaml").write_text(
        "schema: 1\ntool: command\nfixed: {command: echo 1, metrics: {n: {regex: '([0-9]+)'}}, seconds: 600}\nrepeats: 2\n"
    )

    takes = limits.takes(kind, [tmp_path / "e.yaml"], PlanOptions())

    assert (takes is not None) == known
    assert takes is None or (takes.estimate_min, takes.limit_min) == (20, 62)


def test_what_the_user_s_own_variable_says_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep(
        id="3f9a12bc", folder="/acc", via="slurm", hosts=("n1",), experiments={}, words=(), sbatch=("-t", "9")
    )
    monkeypatch.setenv("SBATCH_TIMELIMIT", "1-0")

    assert slurm.asked_min(sweep, Submission(host="n1")) == 1440
    monkeypatch.delenv("SBATCH_TIMELIMIT")
    assert slurm.asked_min(sweep, Submission(host="n1")) == 9
