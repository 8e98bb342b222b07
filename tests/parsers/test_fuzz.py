"""What scripts/fuzz_parsers.py found, and texts whose time once grew with the square of their length: read or refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from parsers import parser_names
from parsers.text import decode

ROOT = Path(__file__).resolve().parents[2]
FOUND = sorted((ROOT / "tests" / "fixtures" / "fuzz").glob("*.txt"))
LONG = (
    "\r",
    "\r\r\n",
    "\n",
    " \n",
    "a\x08",
    "\x1b[",
    "> ",
    "[0]",
    "0: ",
    "{",
    "|",
    "-",
    "#\n",
    '{"fio version"\n',
    "9",
)


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_parsers", ROOT / "scripts" / "fuzz_parsers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_the_fuzzer_found_stays_found(fuzz: ModuleType, path: Path) -> None:
    fuzz.check(path.name.partition("-")[0], decode(path.read_bytes()))


@pytest.mark.parametrize("name", parser_names())
def test_a_long_text_of_nothing_is_refused_in_time(fuzz: ModuleType, name: str) -> None:
    for atom in LONG:
        fuzz.check(name, atom * (20_000 // len(atom)) + "x")
    fuzz.check(name, "a" * 10_000 + "\x08" * 10_000)


def test_there_is_something_to_check() -> None:
    assert FOUND
    assert sum(path.stat().st_size for path in FOUND) < 100_000
