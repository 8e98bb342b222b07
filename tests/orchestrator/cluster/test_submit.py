"""Which jobs start now, and which wait for a canary."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cluster import submit
from orchestrator.cluster.engine import Engine, Host, Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.states import State
from orchestrator.cluster.submit import View

KINDS = {"n1": "a", "n2": "a", "n3": "a", "m1": "b", "m2": "b"}


class Recorder(Engine):
    """An engine that accepts all hosts but these, and records the jobs."""

    def __init__(self, sweep: Sweep, refused: Sequence[str] = ()) -> None:
        super().__init__(sweep)
        self.refused = refused
        self.after: dict[str, str] = {}

    def hosts(self, names: Sequence[str]) -> Mapping[str, Any]:
        raise AssertionError

    jobs = hosts  # type: ignore[assignment]

    def submit(self, submissions: Iterable[Submission]) -> tuple[dict[str, str], dict[str, str]]:
        jobs = list(submissions)
        self.after |= {job.host: job.after for job in jobs}
        accepted = {job.host: f"7{job.host}" for job in jobs if job.host not in self.refused}
        return accepted, {job.host: "no" for job in jobs if job.host in self.refused}


def view(tmp_path: Path, *, canary: bool, at_once: int = 0, **words: Any) -> View:
    """A sweep whose hosts are in these states; the others were not submitted."""
    sweep = Sweep(id="3f9a12bc", folder=str(tmp_path), via="slurm", hosts=tuple(KINDS), experiments={}, words=())
    sweep = dataclasses.replace(sweep, canary=canary, at_once=at_once, limits_min={"a": 5})
    (tmp_path / "log").mkdir(exist_ok=True)
    states = [State(host=host, word=words.get(host, "not submitted"), job=f"1{host}") for host in KINDS]
    nodes = {host: Host(name=host, kind=kind, idle=host != "n1") for host, kind in KINDS.items()}
    return View(sweep=sweep, states=tuple(states), nodes=nodes)


def test_idle_hosts_come_first_each_in_a_lane(tmp_path: Path) -> None:
    jobs = submit.missing_jobs(view(tmp_path, canary=False, at_once=2, n3="done", m1="running"))

    assert [(job.host, job.lane, job.limit_min) for job in jobs] == [("n2", 1, 5), ("m2", 2, 0), ("n1", 1, 5)]


@pytest.mark.parametrize(
    ("canary", "words", "refused", "after"),
    [
        (False, {}, (), {"n1": "", "n2": "", "n3": "", "m1": "", "m2": ""}),
        (True, {}, (), {"n2": "", "m1": "", "n3": "7n2", "n1": "7n2", "m2": "7m1"}),
        (True, {"n2": "done", "m1": "running"}, (), {"n3": "", "n1": "", "m2": "1m1"}),
        (True, {}, ("n2",), {"n2": "", "m1": "", "m2": "7m1"}),
    ],
)
def test_a_host_waits_for_the_canary_of_its_kind(
    canary: bool, words: dict[str, str], refused: tuple[str, ...], after: dict[str, str], tmp_path: Path
) -> None:
    now = view(tmp_path, canary=canary, **words)
    engine = Recorder(now.sweep, refused)

    job_ids, refusals = submit.start(now, engine, submit.missing_jobs(now))

    assert engine.after == after
    assert set(job_ids) == set(after) - set(refused)
    assert set(refusals) == ({"n1", "n2", "n3"} if refused else set())
