"""A host that only measures has click, rich and PyYAML, and no pandas, scipy and Jinja2."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = """\
import sys
for name in ("pandas", "numpy", "scipy", "jinja2", "markupsafe", "vl_convert", "ruptures", "ClusterShell", "pyarrow"):
    sys.modules[name] = None
from pinsweep.__main__ import main
main()
"""
ECHO = """\
schema: 1
title: Echo
tool: command
fixed: {command: "sh -c 'echo 7'", metrics: {v: {regex: "(7)", unit: s, better: lower}}}
"""
STREAM = ROOT / "tests/fixtures/stream/pinsweep_0.1_two_threads.out"


@pytest.fixture
def measured(tmp_path: Path, home: Mapping[str, str]) -> Path:
    (tmp_path / "e.yaml").write_text(ECHO)
    done = on_a_node(tmp_path, home, "run", "e.yaml", "-o", "e.db")
    assert done.returncode == 0, done.stderr
    assert "3 ok" in done.stderr
    return tmp_path


def on_a_node(folder: Path, home: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *words], cwd=folder, env={**os.environ, **home}, capture_output=True, text=True, check=False
    )  # fmt: skip


@pytest.mark.slow
def test_it_runs_and_its_results_are_looked_at_and_handed_on(measured: Path, home: Mapping[str, str]) -> None:
    for words in (
        ("doctor",), ("plan", "e.yaml"), ("show", "e.db"), ("audit", "e.db"),
        ("export", "e.db", "--copy", "copy.db"), ("parse", str(STREAM)), ("init", "--list"),
    ):  # fmt: skip
        done = on_a_node(measured, home, *words)
        assert "bug" not in done.stderr
        assert done.returncode == 0 or words == ("doctor",), (words, done.stderr)  # a tool may be missing


@pytest.mark.slow
def test_what_needs_more_says_what_and_how_to_have_it(measured: Path, home: Mapping[str, str]) -> None:
    done = on_a_node(measured, home, "report", "e.db", "-o", "e.html")

    assert done.returncode == 1
    error, hint = done.stderr.splitlines()
    assert error == "error: report: needs jinja2, which is not installed here"
    command = hint.removeprefix(f"hint: {sys.executable} -m pip install ").partition(";")[0]
    wanted = {re.split("[><=]", word)[0].lower() for word in shlex.split(command)}
    assert wanted == {"pandas", "scipy", "jinja2", "vl-convert-python"}  # what is missing, no extra


@pytest.mark.slow
def test_a_check_without_numpy_is_no_fault_of_the_host(measured: Path, home: Mapping[str, str]) -> None:
    """An exit status of 1 drains it. What is compared with a baseline needs more than what measures, and the line says what to do."""
    words = ("check", "e.yaml", "--allow-disturbed", "--within", "600")
    bare = on_a_node(measured, home, *words)
    assert (bare.returncode, bare.stdout, bare.stderr) == (0, "", "")

    done = on_a_node(measured, home, *words, "--baseline", "e.db")

    assert (done.returncode, done.stderr) == (3, "")
    (line,) = done.stdout.splitlines()
    assert line.startswith("UNKNOWN baseline not compared with the baseline: that needs ")
    assert f": {sys.executable} -m pip install " in line


def test_the_requirements_of_a_node_are_among_those_of_all() -> None:
    def locked(name: str) -> dict[str, set[str]]:
        blocks = re.split(r"\n(?=\w)", (ROOT / "requirements" / name).read_text())
        return {block.split()[0]: set(re.findall(r"sha256:\w+", block)) for block in blocks if "==" in block}

    node, base = locked("node.txt"), locked("base.txt")

    assert {name.partition("==")[0] for name in node} == {
        "attrs",
        "click",
        "jsonschema",
        "jsonschema-specifications",
        "referencing",
        "rpds-py",
        "typing-extensions",
        "rich",
        "pyyaml",
        "markdown-it-py",
        "mdurl",
        "pygments",
    }
    assert all(base[name] == hashes and hashes for name, hashes in node.items())
