"""What the tests share: the command line as a user starts it, a home of its own for each test, where the corpus lies.

The corpus of captured and published outputs is not ours to pass on: it lies in shared/corpus, in the checkout or beside it,
or where PINSWEEP_CORPUS says. Tests that need it skip with the reason where it is absent.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
"""pinsweep(*words, cwd=…, env=…, input=…) → the finished process, with text streams."""


for _folder in Path(__file__).resolve().parents[1:3]:
    if (_folder / "shared" / "corpus").is_dir():
        os.environ.setdefault("PINSWEEP_CORPUS", str(_folder / "shared" / "corpus"))

settings.register_profile("pinsweep", deadline=None)  # no test is about time
settings.load_profile("pinsweep")


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Environment variables that keep a test away from the user's configuration and data; kernels stay cached."""
    folder = tmp_path_factory.mktemp("home")
    kept = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))}
    return {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "data"), **kept}


@pytest.fixture
def pinsweep(tmp_path: Path, home: Mapping[str, str]) -> Cli:
    def run(
        *words: str | Path,
        cwd: Path = tmp_path,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pinsweep", *map(str, words)], cwd=cwd, env={**os.environ, **home, **(env or {})},
            input=input, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    return run
