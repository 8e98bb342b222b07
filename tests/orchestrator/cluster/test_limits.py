"""Which jobs get less time than they may take."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from orchestrator.cluster import begin, slurm
from orchestrator.cluster.engine import Host, Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.plan.prepare import PlanOptions

KIND = "2:32:2"


def sweep(*sbatch: str) -> Sweep:
    one = Sweep(id="3f9a12bc", folder="/acc", via="slurm", hosts=("n1", "n2", "n3"), experiments={}, words=())
    return dataclasses.replace(one, sbatch=sbatch, limits_min={KIND: 40})


@pytest.mark.parametrize(
    ("words", "allowed_min", "start"),
    [
        ((), 0, ""),
        ((), 40, ""),
        ((), 30, "Slurm starts no job: it asks for 40 min"),
        (("-t", "1:00:00"), 30, "Slurm starts no job: it asks for 60 min"),
        (("--time=30",), 30, "jobs end after 30 min, and may need 40"),
        (("-t", "5"), 0, "jobs end after 5 min"),
        (("-t", "60"), 0, ""),
        (("-t", "whenever"), 0, ""),
    ],
)
def test_short_jobs(words: tuple[str, ...], allowed_min: int, start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SBATCH_TIMELIMIT", raising=False)
    hosts = {name: Host(name=name, kind=KIND, allowed_min=allowed_min) for name in ("n1", "n2")}
    jobs = [Submission(host=name, limit_min=40) for name in ("n1", "n2", "n3")]

    warnings = slurm.time_warnings(sweep(*words), jobs, hosts)

    assert [(text[: len(start)], names) for text, names in warnings.items()] == (
        [(start, ["n1", "n2"])] if start else []
    )


@pytest.mark.parametrize(
    ("kind", "minutes"), [("1:2:1", 62), ("2:32:2 icelake", 62), ("0:0:0", 0), ("0:16:1", 0), ("", 0)]
)
def test_the_limit_of_a_kind_is_known_if_its_shape_is(kind: str, minutes: int, tmp_path: Path) -> None:
    """A host without lscpu reports no shape, and some of Arm report no sockets."""
    (tmp_path / "e.yaml").write_text(
        "schema: 1\ntool: command\nrepeats: 2\n"
        "fixed: {command: echo 1, metrics: {n: {regex: '([0-9]+)'}}, seconds: 600}\n"
    )

    assert begin.limit_min(kind, [tmp_path / "e.yaml"], PlanOptions()) == minutes


def test_the_variable_of_the_user_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBATCH_TIMELIMIT", "1-0")
    assert slurm.requested_min(sweep("-t", "9"), Submission(host="n1")) == 1440
    monkeypatch.delenv("SBATCH_TIMELIMIT")
    assert slurm.requested_min(sweep("-t", "9"), Submission(host="n1")) == 9
