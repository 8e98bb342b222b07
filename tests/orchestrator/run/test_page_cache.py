"""`run --drop-caches`: who may, before which runs, and what a session says of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.machine.facts import lines
from orchestrator.run.page_cache import DROPPED, KEPT, check, drop
from orchestrator.store.result_file import open_result
from parsers.errors import PinsweepError, UserError

ROOT = Path(__file__).resolve().parents[3]

MAIN = """
import sys
from pathlib import Path
from orchestrator.run import page_cache
for function in (page_cache.check, page_cache.drop):
    function.__defaults__ = (Path(sys.argv[1]),)
drop, write_text = page_cache.drop, Path.write_text
page_cache.drop = lambda: (drop(), print("dropped", flush=True))
del sys.argv[1]
from pinsweep.__main__ import main
main()
"""
"""pinsweep with another file for the kernel's: the cache of this machine is everybody's."""

EXPERIMENT = """\
schema: 1
title: Poke
tool: poke
sweeps:
  - {name: files, fixed: {target: file, bytes: 64k, block: 4k, count: 30}, matrix: {op: [read, write]}, repeats: 1}
  - {name: timer, fixed: {target: "null", count: 30}, matrix: {seed: [1, 2, 3]}, repeats: 1}
"""


def run(knob: Path, home: Mapping[str, str], cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (cwd / "e.yaml").write_text(EXPERIMENT)
    env = {**os.environ, **home, "PYTHONPATH": str(ROOT)}
    argv = [
        sys.executable,
        "-c",
        MAIN,
        str(knob),
        "run",
        "e.yaml",
        "-o",
        "e.db",
        "--no-warm-up",
        "--allow-disturbed",
        *words,
    ]
    return subprocess.run(argv, cwd=cwd, env=env, text=True, capture_output=True, check=False)


@pytest.mark.slow
def test_the_cache_is_dropped_before_runs_on_files_alone_and_the_session_says_so(
    tmp_path: Path, home: Mapping[str, str], runtime: Path
) -> None:
    knob = tmp_path / "drop_caches"
    knob.touch()

    done = run(knob, home, tmp_path, "--drop-caches")

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("dropped") == 2
    assert knob.read_text() == "1\n"
    with open_result(tmp_path / "e.db") as result:
        (session,) = result.sessions()
    assert session.facts["page_cache"] == DROPPED
    assert "page cache dropped before each run on files (--drop-caches)" in lines(session.facts)["Paging"]

    again = run(knob, home, tmp_path, "--repeats", "2")
    assert again.returncode == 2
    assert "page cache: " in again.stderr


def test_where_it_cannot_be_dropped_nothing_starts(
    tmp_path: Path, home: Mapping[str, str], runtime: Path
) -> None:
    done = run(tmp_path / "absent", home, tmp_path, "--drop-caches")

    assert done.returncode == 2
    assert done.stderr.startswith("error: --drop-caches: ")
    assert "cannot be written: No such file" in done.stderr
    assert "hint: run it as root, or leave --drop-caches out" in done.stderr
    assert not (tmp_path / "e.db").exists()


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--drop-caches"):
        check(tmp_path / "absent")
    with pytest.raises(PinsweepError, match="cannot be written"):
        drop(tmp_path)


def test_a_page_says_nothing_of_a_cache_that_was_kept() -> None:
    assert lines({"page_cache": KEPT}) == lines({})
