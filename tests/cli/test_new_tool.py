"""A tool is found by its name: one that nobody has heard of goes through every command, and no file but its own knows it.

The tree is copied, `tests/cli/new_tool` laid over it, and pinsweep started there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow  # modules are imported anew from another tree

ROOT = Path(__file__).resolve().parents[2]
OVERLAY = Path(__file__).resolve().parent / "new_tool"

Pinsweep = Callable[..., str]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    for name in ("parsers", "orchestrator", "reports", "pinsweep", "kernels", "experiments"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(OVERLAY, tree, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return tree


@pytest.fixture(scope="module")
def pinsweep(tree: Path, tmp_path_factory: pytest.TempPathFactory, starter_of: Callable[..., Any]) -> Pinsweep:
    home = str(tmp_path_factory.mktemp("home"))
    folders = [str(tree / "bin"), os.environ["PATH"]]
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))  # of compiled kernels
    own = {"XDG_CACHE_HOME": cache, "XDG_CONFIG_HOME": home, "HOME": home, "PATH": os.pathsep.join(folders)}
    starter = starter_of(tree)

    def run(*words: str | Path, status: int = 0) -> str:
        done = starter([*map(str, words)], cwd=tree, env={**os.environ, **own}, given="")
        assert done.returncode == status, done.stderr
        return str(done.stdout + done.stderr)

    return run


@pytest.fixture(scope="module")
def measured(tree: Path, pinsweep: Pinsweep) -> str:
    (tree / "foo.yaml").write_text(pinsweep("init", "foo").replace("repeats: 5", "repeats: 2"))
    said = pinsweep("run", "foo.yaml", "-o", "foo.db")
    assert "4 ok" in said
    assert "N1" in said
    return "foo.db"


@pytest.mark.usefixtures("measured")
def test_it_is_planned(pinsweep: Pinsweep) -> None:
    assert "bin/foo --count=100 --lanes=1" in pinsweep("plan", "foo.yaml", "--commands")
    assert '"foo"' in pinsweep("schema")
    assert "foo 1.2" in " ".join(pinsweep("doctor").split())


def test_it_is_shown_and_audited(measured: str, pinsweep: Pinsweep) -> None:
    assert "Foo Network Test 1.2" in pinsweep("show", measured)
    found = json.loads(pinsweep("audit", measured, "--format", "json"))["findings"]
    (finding,) = (one for one in found if one["id"] != "D1")  # the tests beside this one may disturb it
    assert (finding["id"], finding["check"]) == ("N1", "message slower than a letter")


def test_captured_output_is_recognised(tree: Path, pinsweep: Pinsweep) -> None:
    text = "$ foo --count=7\nfoo 1.2, 7 messages\n   8 B   1.5 us\n"
    (tree / "old.txt").write_text(text.partition("\n")[2] + text)
    pinsweep("parse", "old.txt", "-o", "old.db")

    rows = pinsweep("export", "old.db").splitlines()
    assert len(rows) == 3
    assert rows[1].endswith(",8,time,ns,1500.0")


def test_its_part_in_a_check_of_any_tool_is_found(tree: Path, pinsweep: Pinsweep) -> None:
    printed = "foo 1.2, 7 messages\n   8 B   1.5 us\n"
    (tree / "typed.txt").write_text(f"{printed}$ foo --count=7 --lane=2\n{printed}")
    pinsweep("parse", "typed.txt", "-o", "typed.db")

    (finding,) = json.loads(pinsweep("audit", "typed.db", "--format", "json", status=1))["findings"]
    assert finding["id"] == "G2"
    assert finding["cells"][0]["arithmetic"].startswith("foo has no option “--lane”, in “foo --count=7")


def test_it_is_exported(measured: str, pinsweep: Pinsweep) -> None:
    assert len(pinsweep("export", measured).splitlines()) == 1 + 4 * 3
    assert "pinsweep_foo_time_seconds{" in pinsweep("export", measured, "--openmetrics")


def test_it_has_a_section_and_a_table_to_hand_in(tree: Path, measured: str, pinsweep: Pinsweep) -> None:
    pinsweep("report", measured, "-o", "foo.html")
    pinsweep("report", measured, "--lab", "lab")

    page = (tree / "foo.html").read_text()
    assert "<h2>Network</h2>" in page
    assert "there and back" in page
    assert "Messages of foo" in (tree / "lab" / "report.md").read_text()


def test_it_is_compared_followed_and_judged(measured: str, pinsweep: Pinsweep) -> None:
    pinsweep("run", "foo.yaml", "-o", "other.db")

    assert "0 of 6 numbers regressed" in pinsweep("compare", measured, "other.db")
    for command in ("fleet", "history"):
        told = json.loads(pinsweep(command, measured, "other.db", "--format", "json"))
        assert "foo" in json.dumps(told)
