"""What is around a run: its logs, the page cache, stops below the tool."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.plan.prepare import PlanOptions
from orchestrator.run import execute, process
from orchestrator.run.execute import collect_logs, drop_page_cache, require_drop_caches
from orchestrator.run.outcome import Rules
from orchestrator.run.process import Stop, run_process
from orchestrator.run.session import CACHE_DROPPED, run_experiments
from orchestrator.run.watchdog import Watchdog
from orchestrator.store.result_file import open_result
from parsers.errors import PinsweepError, UserError
from tests.stopping import BEATS, began, end, state
from tests.waits import PATIENCE_S, until


def test_logs_follow_each_other_by_their_numbers(tmp_path: Path) -> None:
    for name in ("fio_lat.1.log", "fio_lat.10.log", "fio_lat.2.log", "fio_clat.1.log", "fio_bw.1.log"):
        (tmp_path / name).write_text(f"1, {name}\n")
    (tmp_path / "fio_lat.3.log").symlink_to("/etc/hostname")

    text = collect_logs([f"{tmp_path}/fio_lat.*log", f"{tmp_path}/fio_bw.*log", f"{tmp_path}/none/x.*log"])

    names = ["fio_lat.1.log", "fio_lat.2.log", "fio_lat.10.log", "fio_bw.1.log"]
    assert text.decode() == "".join(f"==> {name} <==\n1, {name}\n" for name in names)


def test_a_long_log_is_cut_after_a_whole_line(tmp_path: Path) -> None:
    for job in (1, 2):
        (tmp_path / f"fio_lat.{job}.log").write_text("12, 345, 0, 4096\n" * 100)

    text = collect_logs([f"{tmp_path}/fio_lat.*log"], max_bytes=80).decode()

    assert text == "".join(
        f"==> fio_lat.{job}.log <==\n12, 345, 0, 4096\n12, 345, 0, 4096\n[cut: the first 34 of 1700 bytes]\n"
        for job in (1, 2)
    )


POKE = """\
schema: 1
title: Poke
tool: poke
sweeps:
  - {name: files, fixed: {target: file, bytes: 64k, block: 4k, count: 30}, matrix: {op: [read, write]}, repeats: 1}
  - {name: timer, fixed: {target: "null", count: 30}, matrix: {seed: [1, 2, 3]}, repeats: 1}
"""


def run_poke(folder: Path, *, drop_caches: bool, repeats: int = 1) -> None:
    (folder / "e.yaml").write_text(POKE)
    run_experiments(
        [folder / "e.yaml"], PlanOptions(output=folder / "e.db", warm_up=False, repeats=repeats), version="0", argv=[],
        rules=Rules(allow_disturbed=True), drop_caches=drop_caches,
    )  # fmt: skip


def test_the_cache_is_dropped_before_runs_on_files_alone(
    tmp_path: Path, home: Mapping[str, str], runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in home.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(execute, "DROP_CACHES", tmp_path / "drop_caches")
    (tmp_path / "drop_caches").touch()
    drops: list[str] = []
    monkeypatch.setattr(execute, "drop_page_cache", lambda: drops.append("dropped"))

    run_poke(tmp_path, drop_caches=True)

    assert len(drops) == 2
    with open_result(tmp_path / "e.db") as result:
        assert result.sessions()[0].facts["page_cache"] == CACHE_DROPPED
    with pytest.raises(UserError, match="page cache"):
        run_poke(tmp_path, drop_caches=False, repeats=2)


def test_a_cache_that_cannot_be_dropped_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "DROP_CACHES", tmp_path / "absent" / "drop_caches")
    with pytest.raises(UserError, match="--drop-caches"):
        require_drop_caches()
    with pytest.raises(PinsweepError, match="cannot be written"):
        drop_page_cache()


class OnceBegun:
    """Looks that are settled when the tool's child has begun."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def look(self, pid: int, *, early: bool) -> bool:
        return bool(began(self.folder))

    def has_changed(self) -> bool:
        return False

    def last_look(self, seen: Mapping[str, Any]) -> None:
        pass


def test_a_stop_of_the_tools_child_is_counted(
    watchdog: Watchdog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = 0
    real = process._has_stopped_child

    def count(tool: int) -> bool:
        nonlocal checks
        stopped = real(tool)
        checks += 1
        return stopped

    def wait_for_checks() -> None:
        last = checks
        until(lambda: checks > last + 1)

    def stop_it() -> None:
        until(lambda: checks)
        (pid,) = began(tmp_path)
        os.kill(pid, signal.SIGSTOP)
        until(lambda: state(pid) == "T")
        wait_for_checks()
        os.kill(pid, signal.SIGCONT)
        wait_for_checks()
        end(tmp_path, pid)

    monkeypatch.setattr(process, "_has_stopped_child", count)
    monkeypatch.setattr(process, "OUTPUT_CHECK_S", 0.02)
    monkeypatch.setattr(process, "LOOKS", 10_000)
    monkeypatch.setattr(process, "LOOK_EVERY_S", 0.02)
    thread = threading.Thread(target=stop_it)
    thread.start()
    with Stop() as stop:
        outcome = run_process(
            ["sh", "-c", f"cd {tmp_path}; sh -c '{BEATS}'; echo 8"], {},
            watchdog=watchdog, timeout_s=PATIENCE_S, stop=stop, looks=OnceBegun(tmp_path),
        )  # fmt: skip
    thread.join()

    assert (outcome.stdout, outcome.stops) == (b"7\n8\n", 1)
    assert 0 < outcome.stopped_s < outcome.wall_s
