"""fio's entries: what is asked of each of thousands is worked out once a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reports.results.load import load
from reports.tools import fio


def test_the_processes_of_many_entries_are_counted_in_one_go(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report of 2500 entries looked through all of them for each: 9 of its 21 s."""
    document = json.loads(
        make.fio_text({"read": (1000.0, 50.0)}, bs="4k", rw="randread", iodepth=4, numjobs=3)
    )
    (job,) = document["jobs"]
    names = [*(f"job{n}" for n in range(30)), "twice", "twice"]
    document["jobs"] = [{**job, "jobname": name} for name in names]
    maker = make.Maker(tmp_path / "r.db").add("s", "fio", {"rw": "randread"}, json.dumps(document))
    (run,) = load([maker.write()]).runs
    looks = 0
    jobs = fio.jobs

    def counted(of: Any) -> Any:
        nonlocal looks
        looks += 1
        return jobs(of)

    monkeypatch.setattr(fio, "jobs", counted)

    assert fio.job_count(run) == 30 * 3 + 2  # numjobs is of an entry that is alone in its name
    assert looks <= 40  # one a job for its options, not one a pair
    assert [fio.processes(run, job) for job in jobs(run)[-3:]] == [3, 1, 1]
