"""Result files that the tests of a comparison start from."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from reports.compare.comparison import Comparison, compare
from reports.compare.sides import Side, side
from reports.measurements import records
from reports.results.load import load

HOSTILE = "<script>alert(1)</script>|\x1b[31m\n::error::x,y:%0A`*_[a](b)\x07 ]]> &"
RATE = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}


def of(name: str, *paths: Path) -> Side:
    return side(name, paths[0].name, load(paths))  # type: ignore[arg-type]


def rows(found: Comparison) -> list[dict[str, Any]]:
    return records(found.verdicts)


def stream_file(
    make: Any, path: Path, rate: Callable[[int, str], float], *, seed: int = 1, repeats: int = 5, noise: float = 0.003, **facts: Any
) -> Path:  # fmt: skip
    """STREAM at 1 to 4 threads, local and remote, with noise from run to run; `rate` scales a cell."""
    rng = random.Random(seed)
    maker = make.Maker(path)
    maker.facts = {**make.FACTS, **facts}
    for threads in (1, 2, 3, 4):
        for place in ("local", "remote"):
            for _ in range(repeats):
                level = 5000.0 * threads * (0.7 if place == "remote" else 1.0) * rate(threads, place)
                text = make.stream_text(level * rng.gauss(1, noise), threads)
                maker.add("scaling", "stream", {"threads": threads}, text, axes=("threads", "place"), place=place, relation=place)  # fmt: skip
    written: Path = maker.write()
    return written


def command_file(make: Any, path: Path, cells: Sequence[tuple[dict[str, Any], str, str]], **settings: Any) -> Path:
    """Runs of a command: (options beside the command, status, output) each."""
    maker = make.Maker(path)
    for name, value in settings.items():
        setattr(maker, name, value)
    for options, status, text in cells:
        own = {"command": ["x"], "metrics": RATE, **options}
        maker.add(
            "s",
            "command",
            own,
            text,
            axes=tuple(options),
            status=status,
            reason="no memory" if status == "failed" else "",
        )
    written: Path = maker.write()
    return written


@pytest.fixture(scope="module")
def before(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stream_file(make, tmp_path_factory.mktemp("files") / "before.db", lambda *_: 1.0)


@pytest.fixture(scope="module")
def again(make: Any, before: Path) -> Path:
    """The same machine, on another day."""
    return stream_file(make, before.with_name("again.db"), lambda *_: 1.0, seed=2)


@pytest.fixture(scope="module")
def after(make: Any, before: Path) -> Path:
    """10 % less at the remote places, with a new kernel."""
    return stream_file(
        make, before.with_name("after.db"), lambda _, place: 0.9 if place == "remote" else 1.0, seed=2, kernel="6.1.0-21-amd64"
    )  # fmt: skip


@pytest.fixture(scope="module")
def slow_remote(before: Path, after: Path) -> Comparison:
    return compare(of("A", before), of("B", after))


@pytest.fixture(scope="module")
def hostile(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Hosts, kernels, sweeps and labels that try to break out of each format."""
    folder = tmp_path_factory.mktemp("hostile")
    sides = []
    for name, factor in (("A", 1.0), ("B", 0.5)):
        maker = make.Maker(folder / f"{name}.db", host=HOSTILE + name)
        maker.facts = {**make.FACTS, "kernel": HOSTILE + name}
        for level in range(4):
            for r in range(5):
                options = {"command": ["x"], "metrics": RATE, "level": f"{HOSTILE}{level}"}
                maker.add(HOSTILE, "command", options, f"rate {factor * (100 + level + r / 10):.2f}\n", axes=("level",))  # fmt: skip
        only = {"command": ["x"], "metrics": RATE, "level": f"only {name} {HOSTILE}"}
        maker.add(HOSTILE, "command", only, "rate 3\n", axes=("level",))
        sides.append(side(name, HOSTILE + name, load([maker.write()])))  # type: ignore[arg-type]
    return compare(*sides)
