"""What Tab offers, as bash asks for it."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

MEASURED = Path(__file__).resolve().parents[1] / "fixtures/result_files/schema-2.db.gz"

OWN = """\
schema: 1
sweeps:
  - {name: idle, tool: mlc, fixed: {mode: idle_latency}, matrix: {b: [16k, 32k], place: [numa_node 0, core 0]}}
  - {name: scaling, tool: stream, matrix: {threads: [1, 2], array_size: [1M, 2M]}}
"""


def offered(line: str, folder: Path, home: Mapping[str, str]) -> list[str]:
    """Return what bash would show after Tab at the end of a line; `=` is a word of its own to it."""
    words = [part for word in line.split(" ") for part in re.findall(r"=|[^=]+", word) or [""]]
    script = (
        'eval "$(pinsweep completion bash)"; COMP_WORDS=("${@:1}"); COMP_CWORD=$(($# - 1)); compopt() { :; }; '
        '_pinsweep_completion pinsweep; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script, "_", *words],
        cwd=folder, env={**os.environ, **home, "PATH": path}, text=True, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines() if done.stdout.strip() else []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pinsweep rep", ["report"]),
        ("pinsweep run quick", ["quickstart"]),
        ("pinsweep run own", ["own.yaml"]),
        ("pinsweep plan own.yaml --only s", ["scaling"]),
        ("pinsweep plan own.yaml --cells ", ["b=", "place=", "threads=", "array_size="]),
        ("pinsweep plan own.yaml --cells b=", ["16k", "32k"]),
        ("pinsweep plan own.yaml --cells threads=2 --cells b=16k,", ["16k,32k"]),
        ("pinsweep plan own.yaml --cells=place=n", [r"numa_node\ 0"]),
        ("pinsweep plan own.yaml --format=j", ["json"]),
        ("pinsweep plan broken.yaml --cells ", []),
        ("pinsweep init st", ["stream"]),
        ("pinsweep completion f", ["fish"]),
        ("pinsweep schema run-", ["run-events"]),
        ("pinsweep show ", ["old.db", "own.db", "nightly/"]),
        ("pinsweep audit nightly/", ["nightly/monday.db"]),
        ("pinsweep compare ow", ["own.db"]),
        ("pinsweep compare own.db old.db --by ", ["n", "program", "host", "relation"]),
        ("pinsweep compare own.db old.db --only ", ["e"]),
    ],
)
def test_tab_offers(line: str, words: list[str], tmp_path: Path, home: Mapping[str, str]) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    (tmp_path / "broken.yaml").write_text("schema: [")
    (tmp_path / "nightly").mkdir()
    for name in ("old.db", "nightly/monday.db", "two words.db"):
        (tmp_path / name).touch()
    (tmp_path / "own.db").write_bytes(gzip.decompress(MEASURED.read_bytes()))

    assert offered(line, tmp_path, home) == words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one(shell: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pinsweep", "completion", shell], text=True, capture_output=True, check=True
    )

    assert "_PINSWEEP_COMPLETE" in done.stdout
    if found := shutil.which(shell):
        (tmp_path / "script").write_text(done.stdout)
        subprocess.run([found, "-n", str(tmp_path / "script")], check=True)


def test_no_help_shows_what_is_meant_for_its_formatter() -> None:
    help_of_all = (Path(__file__).resolve().parents[2] / "docs/cli.md").read_text()

    assert "\\b" not in help_of_all  # a paragraph that is to be left as it is, in a docstring that is raw
    assert "\nbash  eval" in help_of_all.replace("\n  ", "\n")


@pytest.mark.parametrize("group", [[], ["baseline"], ["kernels"]], ids=" ".join)
def test_no_summary_of_a_command_is_cut(group: list[str], home: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "pinsweep", *group, "--help"]
    told = subprocess.run(
        command, text=True, capture_output=True, check=True, env={**os.environ, **home, "COLUMNS": "80"}
    )

    _, _, listed = told.stdout.partition("\nCommands:\n")
    summaries = [line for line in listed.partition("\n\n")[0].splitlines() if line.startswith("  ")]
    assert summaries
    assert [line for line in summaries if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pinsweep rep", ["report"]),
        ("pinsweep run quick", ["quickstart"]),
        ("pinsweep plan own.yaml --only s", ["scaling"]),
        ("pinsweep show ", ["old.db"]),
        ("pinsweep plan own.yaml --cells b=16k,", ["b=16k,32k"]),
        ("pinsweep plan own.yaml --cells=place=n", ["--cells=place=numa_node 0"]),
    ],
)
@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_tab_offers_the_same_in_fish(
    line: str, words: list[str], tmp_path: Path, home: Mapping[str, str]
) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    (tmp_path / "old.db").touch()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    done = subprocess.run(
        ["fish", "--no-config", "-c", "pinsweep completion fish | source; complete -C $argv[1]", line],
        cwd=tmp_path, env={**os.environ, **home, "PATH": path}, text=True, capture_output=True, check=True,
    )  # fmt: skip

    assert [found.partition("\t")[0] for found in done.stdout.splitlines()] == words


@pytest.mark.parametrize(
    ("words", "found"),
    [("--cells\nb=", ["b=16k", "b=32k"]), ("--cells=place=n", ["--cells=place=numa_node 0"])],
)
def test_tab_offers_whole_words_in_zsh(
    words: str, found: list[str], tmp_path: Path, home: Mapping[str, str]
) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    asked = f"pinsweep\nplan\nown.yaml\n{words}"
    env = {"_PINSWEEP_COMPLETE": "zsh_complete", "COMP_WORDS": asked, "COMP_CWORD": str(asked.count("\n"))}

    done = subprocess.run(
        [Path(sys.executable).parent / "pinsweep"],
        cwd=tmp_path, env={**os.environ, **home, **env}, text=True, capture_output=True, check=False,
    )  # fmt: skip

    assert done.stdout.splitlines()[1::3] == found
