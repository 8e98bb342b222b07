"""Pages of docs/ that are followed word for word: their files are written, their commands run by bash, one after the other.

In a page, ```` ```yaml lab1.yaml ```` is a file, and ```` ```console ```` a transcript: `$ ` begins a command, what stands below it was
printed, `…` stands for any lines, and inside of a line for any text. Numbers and their units may be others on every machine. What is
measured for half a second or a second in an experiment of a page is measured for less here.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DOUBT = re.compile(r"⚠ [A-Z]\d+(?:, [A-Z]\d+)* *")
_DOUBT_OF_ALL = re.compile(r"^⚠ doubtful: all numbers.*?(?=\n\n)\n", re.MULTILINE | re.DOTALL)
_RANGE = re.compile(r"\[[\d.]+ to [^]]+\]")  # on a busy machine in the place of a ±
_NUMBER = re.compile(r"≈?±?<?(?<![=\w])\d[\d.,]*(?: ?(?:%|ns|µs|ms|s|min|IOPS|kIOPS|[kMG]?B/s|[KMGT]i?B)(?!\w))?")
_NUMBERS = rf"{_NUMBER.pattern}(?: {_NUMBER.pattern})*"  # "42 s" here, "1 min 31 s" there


_SHORTER = {r"\bt: 0\.\d+": "t: 0.05", r"\bruntime: 1\b(?!:)": "runtime: 200ms"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A file to be written, or a command with what it printed."""

    file: str = ""
    text: str = ""
    command: str = ""
    printed: tuple[str, ...] = ()


def steps(page: Path) -> Iterator[Step]:
    """Give the files and commands of a page, in its order."""
    for language, name, text in _BLOCK.findall(page.read_text("utf-8")):
        if name:
            yield Step(file=name, text=text)
        elif language == "console":
            for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, printed = block.partition("\n")
                yield Step(command=command, printed=tuple(printed.splitlines()))


def follow(page: Path, folder: Path) -> None:
    """Do in a folder what a page says; every command ends well, or with 2 where the page shows an error, and prints what the page shows.

    Raises: AssertionError, with the command and all that it printed.
    """
    for step in steps(page):
        if step.file:
            text = step.text
            for time, less in _SHORTER.items():
                text = re.sub(time, less, text)
            (folder / step.file).write_text(text)
            continue
        done = shell(step.command, folder)
        mistake = any(line.startswith("error: ") for line in step.printed)
        assert done.returncode == (2 if mistake else 0), f"{step.command}\n{done.stdout}"
        missing = lacking(done.stdout.splitlines(), step.printed)
        assert missing is None, f"{step.command}\ndoes not print: {missing}\n{done.stdout}"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line with this pinsweep on PATH, in a folder that is its home, too. What it says of mistakes is in stdout."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PINSWEEP_NO_WARM_UP"},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_DATA_HOME": str(folder / "data"),
        "PINSWEEP_RUNTIME_DIR": str(folder / "runtime"),
        "PINSWEEP_INCLUDE": "all",
        "PINSWEEP_ALLOW_DISTURBED": "1",  # the tests share the machine
        "COLUMNS": "80",
    }
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder, env=environment, text=True, check=False, timeout=300,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def lacking(printed: Sequence[str], shown: Sequence[str]) -> str | None:
    """Return the first line of a part of what is shown (parts end at `…`) that is not printed behind the part before it; "(no more)"
    where more is printed than shown; None where all is as shown."""
    quiet = _DOUBT_OF_ALL.sub("", "\n".join(printed)).split("\n") if printed else []
    left = [_RANGE.sub("±100 %", _DOUBT.sub("", line)) for line in quiet]
    gap = False
    for is_gap, lines in itertools.groupby(shown, lambda line: line == "…"):
        if is_gap:
            gap = True
            continue
        texts = list(lines)
        part = [_pattern(line) for line in texts]
        starts = range(len(left) - len(part) + 1) if gap else range(1)
        at = next((i for i in starts if _fits(part, left[i:])), None)
        if at is None:
            return texts[0]
        left, gap = left[at + len(part) :], False
    return None if gap or not left or not shown else "(no more)"


def _fits(part: Sequence[re.Pattern[str]], lines: Sequence[str]) -> bool:
    return len(part) <= len(lines) and all(pattern.fullmatch(line) for pattern, line in zip(part, lines, strict=False))


def _pattern(line: str) -> re.Pattern[str]:
    """Return what a printed line looks like where numbers and units may be others, and `…` is any text."""
    parts = (re.split(_NUMBERS, part) for part in line.split("…"))
    return re.compile(".*".join(_NUMBERS.join(map(_text, part)) for part in parts))


def _text(text: str) -> str:
    return r"\s+".join(map(re.escape, re.split(r"\s+", text)))
