"""docs/promises.md names tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_each_test_that_a_promise_names_is_there() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)", (ROOT / "docs/promises.md").read_text()))
    missing = [
        f"{path}::{name}"
        for path, name in sorted(named)
        if name
        not in {node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)}
    ]

    assert len(named) >= 15
    assert not missing


def test_each_row_of_a_promise_names_a_test_or_refers_to_one() -> None:
    blocks = (ROOT / "docs/promises.md").read_text().split("\n\n")
    tables = [block.splitlines() for block in blocks if block.startswith(("| promise", "| where"))]
    rows = [line for table in tables for line in table[2:]]  # what is measured, and not promised, has a table, too

    assert len(rows) >= 30
    assert [
        row for row in rows if "tests/" not in row and "the same" not in row and "all of the above" not in row
    ] == []
