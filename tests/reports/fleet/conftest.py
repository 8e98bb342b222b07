"""Result files of hosts whose figures are near each other, by 0.5 % of noise."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from reports.fleet.judge import Fleet, judge
from reports.results.load import load


class Files:
    """The result files of a fleet. `good`: files of good hosts by name, which are copied."""

    def __init__(self, make: Any, folder: Path, good: Mapping[str, Path]) -> None:
        self.make, self.folder, self.good = make, folder, good
        self.noise, self.paths = random.Random(1), list[Path]()

    def add(
        self, host: str, slower: float = 0.0, *, latency: float = 0.0, sessions: int = 1, mlc: bool = True,
        facts: Mapping[str, Any] | None = None, day: int = 0, status: str = "ok", reason: str = "",
    ) -> Files:  # fmt: skip
        for _ in range(sessions):
            path = self.folder / f"{len(self.paths):04}.db"
            maker = self.make.Maker(path, host=host)
            maker.facts = {**self.make.FACTS, **(facts or {})}
            if day:
                maker.started, maker.ended = (f"2026-11-{day:02}T0{hour}:00:00+00:00" for hour in (1, 2))
            bad = {} if status == "ok" else {"status": status, "reason": reason}
            for threads, base in ((1, 10e3), (4, 20e3)):
                text = self.make.stream_text(base * (1 + self.noise.gauss(0, 0.005)) / (1 + slower), threads)
                maker.add("scaling", "stream", {"threads": threads}, "" if bad else text, axes=("threads",), **bad)
            if mlc:
                idle = 80 * (1 + self.noise.gauss(0, 0.005)) * (1 + latency)
                text = self.make.matrix_text([[idle, idle * 1.7], [idle * 1.7, idle]])
                maker.add("matrix", "mlc", {"mode": "latency_matrix"}, "" if bad else text, axes=("mode",), **bad)
            self.paths.append(maker.write())
        return self

    def hosts(self, first: int, last: int, *, sessions: int = 1, **more: Any) -> Files:
        for number in range(first, last + 1):
            host = f"n{number:02}"
            if more or host not in self.good:
                self.add(host, sessions=sessions, **more)
                continue
            for _ in range(sessions):
                path = self.folder / f"{len(self.paths):04}.db"
                shutil.copy(self.good[host], path)
                self.paths.append(path)
        return self

    def ran(self, *argv: str) -> Files:
        """Record the command line of all sessions."""
        import json

        for path in self.paths:
            with sqlite3.connect(path) as db:
                db.execute("UPDATE session SET argv = ?", (json.dumps(argv),))
        return self

    def judge(self, **more: Any) -> Fleet:
        return judge(load(self.paths), **more)


@pytest.fixture(scope="session")
def good(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    files = Files(make, tmp_path_factory.mktemp("good"), {}).hosts(1, 15)
    return {f"n{number:02}": path for number, path in enumerate(files.paths, 1)}


@pytest.fixture
def files(make: Any, tmp_path: Path, good: Mapping[str, Path]) -> Files:
    return Files(make, tmp_path, good)


@pytest.fixture
def past(make: Any, tmp_path: Path, good: Mapping[str, Path]) -> Files:
    (tmp_path / "past").mkdir()
    return Files(make, tmp_path / "past", good)


@pytest.fixture
def programs(make: Any, tmp_path: Path) -> Callable[..., Fleet]:
    """Return a function that judges hosts of one program: `text(host, session)` is its output, numbered from 0."""

    def made(
        hosts: int,
        sessions: int,
        metrics: Mapping[str, Mapping[str, str]],
        text: Callable[[int, int], str],
        **more: Any,
    ) -> Fleet:
        paths = []
        for host in range(hosts):
            for session in range(sessions):
                maker = make.Maker(tmp_path / f"p{host:02}-{session}.db", host=f"n{host:02}")
                maker.facts = {**make.FACTS, "boot_id": f"{host} {session}"}
                maker.add("s", "command", {"command": ["x"], "metrics": metrics}, text(host, session))
                paths.append(maker.write())
        return judge(load(paths), **({"baseline": load(paths)} if more.pop("itself", False) else {}), **more)

    return made
