"""Count the lines of code that name a tool outside its own rooms: what a new tool would have to edit. Goal: 0.

    python scripts/tool_lines.py            each line, then their number; exit status 1 if there is one

A tool's rooms are the modules that bear its name or stand in a folder of its name (`parsers/osu.py`, `parsers/fio/json.py`). Comments and
docstrings may name tools: they are examples. So may help texts of the command line (`help=`, `epilog=`).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("parsers", "orchestrator", "reports", "pinsweep")
WORDS = {
    "fio": r"fio", "mlc": r"mlc|Intel MLC|MLC|memlat", "stream": r"STREAM", "imb": r"imb|IMB|IMB-MPI1|PingPong", "osu": r"osu|OSU",
    "likwid_bench": r"likwid|likwid_bench|LIKWID", "poke": r"poke",
}  # fmt: skip
NAMES = re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join(WORDS.values()) + r")(?![A-Za-z0-9])")


def main() -> int:
    paths = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    found = [line for path in paths for line in lines(path)]
    for path, number, text in found:
        print(f"{path.relative_to(ROOT)}:{number}: {text}")
    print(f"{len(found)} lines")
    return 1 if found else 0


def lines(path: Path) -> Iterator[tuple[Path, int, str]]:
    source = path.read_text("utf-8")
    texts = source.splitlines()
    stem = path.parent.name if path.parent.name in WORDS else path.stem.lstrip("_")
    rooms = [tool for tool in WORDS if stem == tool or stem.startswith(f"{tool}_")]
    if rooms:
        return
    tree = ast.parse(source)
    numbers: set[int] = set()
    skipped = set(_documentation(tree))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        for text in _said(node):
            if NAMES.search(text) or text in WORDS:
                numbers.add(node.lineno)
    yield from ((path, number, texts[number - 1].strip()) for number in sorted(numbers))


def _said(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.ImportFrom):
        yield from (node.module or "").split(".")
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.Name) and node.id.strip("_").lower() != "stream":  # a name for many things
        yield from node.id.lower().split("_")
    elif isinstance(node, ast.FunctionDef):
        yield from node.name.strip("_").lower().split("_")


def _documentation(tree: ast.AST) -> Iterator[int]:
    """Docstrings, attribute docstrings, and help texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)
        if isinstance(node, ast.keyword) and node.arg in ("help", "epilog", "short_help"):
            yield from (id(child) for child in ast.walk(node.value))


if __name__ == "__main__":
    sys.exit(main())
