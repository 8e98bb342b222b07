"""What scripts/fuzz_parsers.py found, and texts whose time once grew with the square of their length: read or
refused."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from parsers import guess_parsers, parser_names
from parsers.errors import ParseError
from parsers.text import decode
from tests.programs import ROOT, program

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
    return program("scripts/fuzz_parsers.py")


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_the_fuzzer_found_stays_found(fuzz: ModuleType, path: Path) -> None:
    fuzz.check(path.name.partition("-")[0], decode(path.read_bytes()))


@pytest.mark.parametrize("name", parser_names())
@pytest.mark.slow
def test_a_long_text_of_nothing_is_refused_in_time(fuzz: ModuleType, name: str) -> None:
    for atom in LONG:
        fuzz.check(name, atom * (20_000 // len(atom)) + "x")
    fuzz.check(name, '{"fio version"\n' * 100_000)
    fuzz.check(name, "a" * 10_000 + "\x08" * 10_000)


@pytest.mark.parametrize("atom", ["\n", "\r\r\n", "0: a\n", " ", "=\n", "{", "| 1 | 2 |\n"])
@pytest.mark.slow
def test_a_long_text_of_nothing_is_guessed_in_time(atom: str) -> None:
    """Where an expression goes on over the ends of lines, a megabyte takes hours, not a second."""
    with pytest.raises(ParseError):
        guess_parsers(atom * ((1 << 20) // len(atom)))


def test_there_is_something_to_check() -> None:
    assert FOUND
    assert sum(path.stat().st_size for path in FOUND) < 100_000
