"""What stands on the page and in a terminal, kept as texts: titles, captions, tables, axes, and the data of every chart.

`PINSWEEP_BLESS=1 pytest tests/reports/claims/test_golden.py` writes the files of `golden/` anew: read their diff. The results are made
from plain formulas (`conftest.full`), so a number that changes is a change of ours.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reports import show
from reports.draw.figure import Figure, Panel, Table
from reports.page.model import Page
from reports.results.load import load

GOLDEN = Path(__file__).parent / "golden"
TOOLS = ("stream", "mlc", "imb", "fio", "poke", "command", "overview")
_MOST = 8
"""Rows of a longer data set or table are kept by their first, their last and their number."""


def settled(name: str, text: str) -> None:
    """Compare with the file of `golden/`, or write it."""
    path = GOLDEN / name
    if os.environ.get("PINSWEEP_BLESS"):
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"PINSWEEP_BLESS=1 writes {name}"
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("tool", TOOLS)
def test_figures(tool: str, full_built: Page) -> None:
    figures = [f for s in full_built.sections for b in s.blocks if b.tool == tool for f in b.figures]

    assert figures
    settled(f"{tool}.json", json.dumps([_figure(f) for f in figures], ensure_ascii=False, indent=1) + "\n")


def test_header_and_checks(full_built: Page) -> None:
    built = full_built
    texts = {
        "title": built.title,
        "sentence": built.sentence,
        "numbers": [f"{n.name}: {n.value} {n.unit}; {n.repeats}; {n.context}" for n in built.key_numbers],
        "provenance": [": ".join(pair) for pair in built.provenance],
        "not recorded": list(built.not_recorded),
        "checks": [
            f"{c.level} {c.subject} {c.text} ({c.counted})"
            for c in built.checks
            if not c.id  # what an audit finds has tests of its own
        ],
        "methods": list(built.methods),
    }
    settled("page.json", json.dumps(texts, ensure_ascii=False, indent=1) + "\n")


def test_terminal(full_result: Path) -> None:
    results = load([full_result])
    plain, drawn = show.show_result(full_result), show.show_result(full_result, bars=True)

    assert all(len(line) <= 80 for line in [*plain.splitlines(), *drawn.splitlines()])
    assert not set("█▏▁▇") & set(plain)
    settled("show.txt", drawn + "\n")
    settled("summary.txt", "\n".join([*show.summary(results, bars=True), *show.summary(results), ""]))


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "id": figure.id,
        "title": figure.heading,
        "sub": " ".join(filter(None, (figure.sub, figure.marks, figure.doubted))),
        "note": figure.told,
        "key": [f"{k.name} {k.colour}{' dashed' if k.dashed else ''}" for k in figure.key],
        "tables": [_table(t) for t in figure.tables],
        "numbers": [_table(t) for t in figure.numbers],
        "panels": [_panel(p) for p in figure.panels],
    }


def _table(table: Table) -> list[str]:
    table = table.doubted
    rows = [" | ".join(row) for row in table.rows]
    return [table.caption, " | ".join(table.columns), *_ends(rows)]


def _panel(panel: Panel) -> dict[str, Any]:
    spec = panel.wide
    axes = {
        name: f"{channel['title']}: {channel['scale']['type']} {_short(channel['scale']['domain'])}"
        + (f" at {_short(channel['axis']['values'])}" if channel.get("axis") else "")
        for name, channel in spec["encoding"].items()
        if name in ("x", "y")
    }
    data = {
        name: _ends([json.dumps(_rounded(row), ensure_ascii=False) for row in rows])
        for name, rows in spec["datasets"].items()
        if rows
    }
    return {"title": panel.title, "description": panel.description, **axes, "data": data}


def _ends(rows: list[str]) -> list[str]:
    if len(rows) <= _MOST:
        return rows
    return [*rows[:3], f"… {len(rows) - 4} more …", *rows[-1:]]


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()}


def _short(values: list[float]) -> str:
    return ", ".join(f"{v:.4g}" for v in values)


@pytest.mark.slow
def test_bars_are_for_terminals(full_result: Path) -> None:
    """What a pipe gets is plain; what a terminal gets has the bars."""
    command = [sys.executable, "-m", "pinsweep", "show", str(full_result)]
    environment = {
        **os.environ,
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "80",
        "TERM": "xterm",
        "NO_COLOR": "1",
    }

    piped = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    leader, follower = pty.openpty()
    with subprocess.Popen(command, stdout=follower, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(follower)
        drawn = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            drawn += chunk
    os.close(leader)

    assert process.returncode == 0
    assert "█" not in piped
    assert drawn.decode().replace("\r\n", "\n") == (GOLDEN / "show.txt").read_text(encoding="utf-8")
