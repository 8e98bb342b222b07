"""An answer on a terminal: lines as long as it is wide, verdicts in colours, words whole; in a pipe the plain text, whatever the terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_status import begin
from tests.conftest import Cli
from tests.reports import conftest as make

SGR = re.compile(r"\x1b\[[0-9;]*m")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""Colours, and how a bar is drawn."""

WIDTHS = (60, 80, 120)
COLOURED = {"TERM": "xterm-256color"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """hosts/: twelve, of which n11 is slow in all sessions; nights/: twelve of one host, the last six 20 % slower; old.db, new.db: as these."""
    folder = tmp_path_factory.mktemp("made")

    def session(path: Path, host: str, slower: float, i: int, number: int = 1) -> None:
        maker = make.Maker(path, host=host)
        maker.started = f"2026-01-{1 + i:02}T03:00:00+00:00"
        maker.facts = {**make.FACTS, "boot_id": f"{host} {i}", "kernel": "6.1" if i < 6 else "6.8"}
        for threads in (1, 16):
            rate = 10e3 * threads * (1 + 0.002 * (i % 3)) / (1 + slower)
            for repeat in (number, number + 1):
                options = {"threads": threads, "array_size": 80_000_000}
                maker.add("scaling-of-the-bandwidth", "stream", options, make.stream_text(rate, threads), axes=("threads", "array_size"), repeat=repeat)  # fmt: skip
        maker.add("failing", "stream", {"threads": 2}, "", status="failed", reason="exit status 1: no numbers in what it printed", repeat=number)  # fmt: skip
        maker.write()

    (folder / "hosts").mkdir()
    (folder / "nights").mkdir()
    for n in range(12):
        for i in range(3):
            session(folder / f"hosts/n{n:02}-{i}.db", f"n{n:02}", 0.2 if n == 11 else 0.001 * (n % 4), i)
    for i in range(12):
        session(folder / f"nights/{i:02}.db", "n00", 0.2 if i >= 6 else 0.0, i)
    coarse = make.Maker(folder / "coarse.db", host="n00")
    coarse.add("pingpong", "imb", {"benchmark": "PingPong"}, make.imb_text({0: 0.19, 8: 0.2, 2**20: 88.0}))
    coarse.write()
    return folder


@pytest.fixture(scope="module")
def files(made: Path) -> Path:
    """Beside these wide.db, cells with long options and texts; tails.db, poke by size; two.yaml, an experiment of which a part cannot run; sweep/, begun on
    hosts of which none has answered."""
    wide = make.Maker(made / "wide.db", host="a-host-with-a-name-that-is-longer-than-most")
    rows = [(delay, 90 + 5000 / (delay + 20), 30e3 - delay) for delay in (0, 50, 100, 500, 5000)]
    for stride in (64, 256):
        for mix in (2, 5):
            options = {"mode": "loaded_latency", "l": stride, "W": mix}
            text = make.mlc_text(rows, traffic=str(mix), stride=stride)
            wide.add(
                "loaded-latency-by-stride-and-mix",
                "mlc",
                options,
                text,
                axes=("mode", "l", "W"),
                place="local",
            )
        for repeat in range(6):
            wide.add("disturbed", "stream", {"threads": stride}, make.stream_text(10e3, stride), axes=("threads",), status="disturbed", reason="other processes took 72 % of CPU 0 (0.22 s of 0.30 s)", repeat=repeat + 1)  # fmt: skip
    wide.write()
    tails = make.Maker(made / "tails.db")
    for size in (2**14, 2**30):
        for wait in (0, 900):
            text = make.poke_text([90.0 + k % 3 for k in range(20_000)] + [90.0 + wait] * 500, size=size)
            tails.add("tails", "poke", {"target": "memory", "bytes": size, "op": "read"}, text, axes=("bytes", "op"))  # fmt: skip
    tails.write()
    (made / "two.yaml").write_text(TWO)
    begin(made / "sweep", "n01", "n02", "n17")
    (made / "bin").mkdir()
    for name in ("squeue", "sinfo", "sacct"):
        (made / "bin" / name).write_text("#!/bin/sh\nexit 0\n")
        (made / "bin" / name).chmod(0o755)
    return made


TWO = """\
schema: 1
title: Rate
sweeps:
  - name: rate-of-something-with-a-long-name
    tool: command
    fixed: {command: "echo rate {x}", metrics: {rate: {regex: "rate ([0-9]+)", unit: MB/s, better: higher}}}
    matrix: {x: [1, 2], place: [{name: elsewhere, cpus: core 0, memory: numa_node 77}, {name: here, cpus: core 0}]}
"""

COMMANDS = [
    ["show", "nights/00.db"], ["show", "nights/00.db", "--runs"], ["fleet", "hosts"], ["fleet", "hosts", "--all"], ["history", "nights"],
    ["compare", *(w for i in range(4) for w in ("-a", f"nights/{i:02}.db")), *(w for i in range(6, 10) for w in ("-b", f"nights/{i:02}.db"))],
    ["audit", "coarse.db"],
]  # fmt: skip


def ask(pinsweep: Cli, made: Path, words: list[str], *, terminal: bool = True, **env: str) -> str:
    done = pinsweep(*words, cwd=made, terminal=terminal, env=env)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.replace("\r\n", "\n")


SLOW = (["fleet", "hosts"], ["fleet", "hosts", "--all"], ["history", "nights"])
EACH = [pytest.param(words, marks=pytest.mark.slow) if words in SLOW else words for words in COMMANDS]


@pytest.mark.slow
@pytest.mark.parametrize("words", EACH, ids=lambda words: "-".join(words[::2])[:24])
def test_no_line_is_longer_than_the_terminal_is_wide(pinsweep: Cli, made: Path, words: list[str]) -> None:
    plain = ask(pinsweep, made, words, terminal=False)
    assert not SGR.search(plain)
    known = set(re.findall(r"[\w.%+−µ]+", plain))
    for width in WIDTHS:
        shown = ask(pinsweep, made, words, COLUMNS=str(width), **COLOURED)
        lines = SGR.sub("", shown).splitlines()
        assert max(map(len, lines)) <= width, max(lines, key=len)
        if words[0] == "audit" and width >= 80:  # the same words, none of them broken
            spoken = (word for line in lines if "…" not in line for word in re.findall(r"[\w.%+−µ]+", line))
            # a line a kind of number is a terminal's own: "26 numbers", "--all lists the numbers", "of several numbers their range"
            own = {"all", "lists", "several", "their", "range", "without"}
            assert {word for word in spoken if word not in known and not word.isdigit()} <= own


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words[::2])[:24])
def test_colours_are_on_a_terminal_and_words_stay(pinsweep: Cli, made: Path, words: list[str]) -> None:
    coloured = ask(pinsweep, made, words, COLUMNS="80", **COLOURED)
    bare = ask(pinsweep, made, words, COLUMNS="80", NO_COLOR="1", **COLOURED)
    assert SGR.search(coloured)
    assert not SGR.search(bare)
    assert SGR.sub("", coloured) == bare
    plain = ask(pinsweep, made, words, terminal=False)
    assert ask(pinsweep, made, words, COLUMNS="60", TERM="dumb") == plain
    forced = ask(pinsweep, made, words, terminal=False, FORCE_COLOR="1", COLUMNS="60", **COLOURED)
    assert SGR.search(forced)
    assert SGR.sub("", forced) == plain


BESIDE = [
    *COMMANDS, ["compare", "-a", "nights/00.db", "-b", "nights/06.db", "-o", "c.html"], ["audit", "wide.db", "tails.db", "nights"],
    ["show", "wide.db"], ["show", "tails.db", "--runs"], ["plan", "two.yaml"], ["status", "sweep"],
]  # fmt: skip
"""Commands whose answers, and what is said beside them, keep to the width."""

COMMAND_LINE = re.compile(r"^ +(?:[A-Z_]+=\S+ )*\S*/?(?:numactl|[\w.-]+) .*--|^pinsweep |^error: |^hint: ")
"""Lines that are whole whatever the width: they are copied."""


@pytest.mark.slow
@pytest.mark.parametrize("words", BESIDE, ids=lambda words: "-".join(words[:2]))
@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_said_beside_an_answer_fits_too(pinsweep: Cli, files: Path, words: list[str], width: int) -> None:
    """The last line of `audit` was 62 characters long at 60, the sum of `plan` 74: both stand on stderr."""
    path = f"{files / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = pinsweep(*words, cwd=files, terminal=True, env={"COLUMNS": str(width), "PATH": path, **COLOURED})

    assert done.returncode in (0, 1, 3), done.stderr
    said = ESCAPES.sub("", f"{done.stdout}\n{done.stderr}").replace("\r\n", "\n")
    lines = [line.rpartition("\r")[2] for line in said.split("\n")]
    assert [line for line in lines if len(line) > width and not COMMAND_LINE.search(line)] == []


def test_doctor_keeps_to_the_width_and_to_no_colour(pinsweep: Cli, made: Path) -> None:
    """Lines of 141 characters were broken by the terminal, inside a word; NO_COLOR had ten coloured lines."""
    shown = ask(pinsweep, made, ["doctor"], COLUMNS="60", **COLOURED)
    assert SGR.search(shown)
    lines = SGR.sub("", shown).splitlines()
    tools = lines.index("Tools"), lines.index("Noise")  # paths are whole, to be copied
    words = [word for line in (*lines[: tools[0]], *lines[tools[1] :]) for word in line.split() if len(line) > 60]
    assert not words or max(map(len, words)) > 50
    for bare in ({"NO_COLOR": "1", **COLOURED}, {"TERM": "dumb"}):
        assert not SGR.search(ask(pinsweep, made, ["doctor"], COLUMNS="60", **bare))


def coloured(text: str) -> Iterator[str]:
    yield from re.findall(r"\x1b\[[0-9;]*m(.*?)\x1b\[0m", text)


@pytest.mark.slow
def test_a_verdict_is_what_is_coloured(pinsweep: Cli, made: Path) -> None:
    assert "broken" in set(coloured(ask(pinsweep, made, ["fleet", "hosts"], COLUMNS="80", **COLOURED)))
    assert "regressed" in set(coloured(ask(pinsweep, made, COMMANDS[5], COLUMNS="80", **COLOURED)))
    assert any(one.endswith("failed") for one in coloured(ask(pinsweep, made, ["show", "nights/00.db"], COLUMNS="80", **COLOURED)))  # fmt: skip
    pytest.importorskip("ruptures", reason="ruptures, which finds the steps, is for no such Python")
    assert "regressed" in set(coloured(ask(pinsweep, made, ["history", "nights"], COLUMNS="120", **COLOURED)))
