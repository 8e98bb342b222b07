"""scripts/fuzz.py, its short form; and what its long form once found: read, or refused with a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.programs import ROOT, program

FOUND = {path.name: path for path in sorted((ROOT / "tests" / "fuzz_inputs").glob("*-*"))}
LINES = {"parse-blank": b"stream\n" + 50_000 * b"\n"}
"""What was found, too, and is no file: nobody reads fifty thousand lines."""


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    return program("scripts/fuzz.py")


@pytest.mark.parametrize("name", [*FOUND, *LINES])
def test_what_was_found_stays_found(fuzz: ModuleType, name: str, tmp_path: Path) -> None:
    data = LINES[name] if name in LINES else FOUND[name].read_bytes()

    assert fuzz.take(name.partition("-")[0], data, tmp_path) in ("read", "refused")


@pytest.mark.slow
def test_changed_inputs_are_read_or_refused(tmp_path: Path) -> None:
    assert_taken(("experiment", "parse", "topology", "result"), 18, tmp_path)


@pytest.mark.slow
def test_changed_inputs_of_the_command_line_are_read_or_refused(tmp_path: Path) -> None:
    assert_taken(("command", "run"), 9, tmp_path)


def assert_taken(kinds: tuple[str, ...], inputs: int, folder: Path) -> None:
    """In an interpreter of its own: it forks, and vl-convert's threads, which other tests began here, are in no forked child."""
    asked = [word for kind in kinds for word in ("--kind", kind)]
    words = [
        ROOT / "scripts" / "fuzz.py",
        "--inputs",
        inputs,
        "--seconds",
        500,
        "--keep",
        folder / "found",
        *asked,
    ]
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
    assert {line.split()[1] for line in done.stdout.splitlines()} == set(kinds)


def test_what_goes_wrong_is_found_and_kept(fuzz: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exceptions, memory without end, time without end, and a child that dies."""

    def wrong(data: bytes, _: Path) -> None:
        match data[:1]:
            case b"m":
                bytearray(2 * fuzz.MEMORY)
            case b"t":
                while True:
                    pass
            case b"d":
                os._exit(1)
            case b"k":
                raise KeyError("k")

    monkeypatch.setattr(fuzz, "CPU_S", 0.2)
    monkeypatch.setitem(fuzz._TAKEN, "topology", wrong)
    worker = fuzz._Worker(("topology",), tmp_path)
    answers = {key: worker.take("topology", key) for key in (b"m", b"t", b"d", b"k", b"f")}
    worker.end()

    assert answers[b"m"].strip().endswith("MemoryError")
    assert answers[b"t"].startswith("took more than")
    assert answers[b"d"] == "crashed"
    assert "KeyError: 'k'" in answers[b"k"]
    assert answers[b"f"] == "read"
