"""What Tab offers, as bash asks for it."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import Cli

MEASURED = Path(__file__).resolve().parents[1] / "fixtures/result_files/schema-2.db.gz"

OWN = """\
schema: 1
sweeps:
  - {name: idle, tool: mlc, fixed: {mode: idle_latency}, matrix: {b: [16k, 32k], place: [numa_node 0, core 0]}}
  - {name: scaling, tool: stream, matrix: {threads: [1, 2], array_size: [1M, 2M]}}
"""


IN_BASH = [
    ("pinsweep plan own.yaml --cells ", ["b=", "place=", "threads=", "array_size="]),
    ("pinsweep show ", ["old.db", "own.db", "nightly/"]),
]
OFFERED = [
    *IN_BASH,
    ("pinsweep rep", ["report"]),
    ("pinsweep compare --fail-on re", ["regressed"]),
    ("pinsweep history --fail-on regressed,", ["regressed,failed", "regressed,gone", "regressed,suspicious"]),
    ("pinsweep run quick", ["quickstart"]),
    ("pinsweep run own", ["own.yaml"]),
    ("pinsweep plan own.yaml --only s", ["scaling"]),
    ("pinsweep plan own.yaml --format j", ["json"]),
    ("pinsweep plan broken.yaml --cells ", []),
    ("pinsweep init st", ["stream", "stream-membind"]),
    ("pinsweep completion f", ["fish"]),
    ("pinsweep schema run-", ["run-events"]),
    ("pinsweep audit nightly/", ["nightly/monday.db"]),
    ("pinsweep compare ow", ["own.db"]),
    ("pinsweep compare own.db old.db --by ", ["n", "program", "host", "relation"]),
    ("pinsweep compare own.db old.db --only ", ["e"]),
]


def answered(shell: str, words: list[str], called: Cli, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines that a shell's script gets for a line of these words."""
    monkeypatch.setenv("_PINSWEEP_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", "\n".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    done = called()
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.yaml").write_text(OWN)
    (tmp_path / "broken.yaml").write_text("schema: [")
    (tmp_path / "nightly").mkdir()
    for name in ("old.db", "nightly/monday.db", "two words.db"):
        (tmp_path / name).touch()
    (tmp_path / "own.db").write_bytes(gzip.decompress(MEASURED.read_bytes()))
    return tmp_path


@pytest.mark.parametrize(("line", "words"), OFFERED)
def test_tab_offers(line: str, words: list[str], folder: Path, called: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pinsweep tells bash's script: a kind and a word a line."""
    told = answered("bash", line.split(" "), called, monkeypatch)

    offered = [line.partition(",")[2] for line in told if line]
    assert offered == words


@pytest.mark.parametrize(
    ("line", "words"),
    [IN_BASH[0], pytest.param(*IN_BASH[1], marks=pytest.mark.slow)],
)
def test_tab_offers_it_in_bash(line: str, words: list[str], folder: Path, home: Mapping[str, str]) -> None:
    script = (
        'eval "$(pinsweep completion bash)"; COMP_WORDS=("${@:1}"); COMP_CWORD=$(($# - 1)); compopt() { :; }; '
        '_pinsweep_completion pinsweep; printf "%s\n" "${COMPREPLY[@]}"'
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-c", script, "_", *line.split(" ")],
        cwd=folder, env={**os.environ, **home, "PATH": path}, text=True, capture_output=True, check=True,
    )  # fmt: skip

    assert done.stderr == ""
    assert done.stdout.splitlines() == words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one(shell: str, tmp_path: Path, pinsweep: Cli) -> None:
    done = pinsweep("completion", shell)

    assert "_PINSWEEP_COMPLETE" in done.stdout
    if found := shutil.which(shell):
        (tmp_path / "script").write_text(done.stdout)
        subprocess.run([found, "-n", str(tmp_path / "script")], check=True)


def test_no_help_shows_what_is_meant_for_its_formatter() -> None:
    help_of_all = (Path(__file__).resolve().parents[2] / "docs/cli.md").read_text()

    assert "\\b" not in help_of_all  # a paragraph that is to be left as it is, in a docstring that is raw
    assert "\nbash  eval" in help_of_all.replace("\n  ", "\n")


@pytest.mark.parametrize("group", [[], ["baseline"], ["kernels"]], ids=" ".join)
def test_no_summary_of_a_command_is_cut(group: list[str], pinsweep: Cli) -> None:
    told = pinsweep(*group, "--help", env={"COLUMNS": "80"})

    _, _, listed = told.stdout.partition("\nCommands:\n")
    summaries = [line for line in listed.partition("\n\n")[0].splitlines() if line.startswith("  ")]
    assert summaries
    assert [line for line in summaries if not line.endswith(".") or line.endswith("...")] == []
