"""How much of the product one text passes through: the functions and files that `pinsweep report` calls.

    python benchmarks/calls.py [TEXT]        default: a STREAM text of tests/fixtures

The text is taken in first (`pinsweep parse`), and is not counted. A function counts once, however often it is called.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("parsers", "orchestrator", "reports", "pinsweep")


def pinsweep(*words: str) -> None:
    """Run a command in this process. Raises SystemExit if it fails."""
    from pinsweep.cli import cli

    if status := cli.main(words, standalone_mode=False):
        raise SystemExit(f"pinsweep {words[0]} ended with {status}")


def calls(*words: str) -> Counter[str]:
    """Return file → how many of its functions a command calls."""
    functions: set[tuple[str, int, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            functions.add((code.co_filename, code.co_firstlineno, code.co_name))

    sys.setprofile(note)
    try:
        pinsweep(*words)
    finally:
        sys.setprofile(None)
    inside = (Path(file) for file, _, name in functions if not name.startswith("<") and file.startswith(str(ROOT)))
    parts = (path.relative_to(ROOT) for path in inside)
    return Counter(str(path) for path in parts if path.parts[0] in PRODUCT)


def main() -> None:
    text = sys.argv[1] if len(sys.argv) > 1 else str(next((ROOT / "tests/fixtures/stream").glob("*.out")))
    with tempfile.TemporaryDirectory() as folder:
        result, page = f"{folder}/r.db", f"{folder}/r.html"
        pinsweep("parse", text, "-o", result)
        counted = calls("report", result, "-o", page)
    for name in PRODUCT:
        files = [file for file in counted if file.startswith(f"{name}/")]
        print(f"{name:14}{sum(counted[file] for file in files):6} functions in {len(files):3} files")
    print(f"{'all':14}{counted.total():6} functions in {len(counted):3} files")


if __name__ == "__main__":
    main()
