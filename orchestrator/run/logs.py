"""The log files that a run leaves in the scratch folder, as one text that is kept beside what it printed. I/O.

Each stands below a line "==> NAME <==", as `tail -n +1 FILE FILE` prints them: such a text, captured by hand, is read alike.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 8 << 20
"""Of all logs of a run together: of fio's logs of each I/O 300 000 lines. Each has its share, so that all end at about one time."""


def collected(patterns: Sequence[str], most_bytes: int = MOST_BYTES) -> bytes:
    """Return the files that match (in the order of the patterns, by their numbers), empty where there are none.

    Of a file that is longer than its share the first whole lines are kept, and a line behind them says of how many bytes. A file that
    cannot be read is left out: the run's result does not hang on it.
    """
    files = [file for pattern in patterns for file in _matching(Path(pattern))]
    share = most_bytes // max(1, len(files))
    return b"".join(filter(None, (_kept(file, share) for file in files)))


def _matching(pattern: Path) -> list[Path]:
    found = (file for file in pattern.parent.glob(pattern.name) if file.is_file() and not file.is_symlink())
    return sorted(found, key=lambda file: [(len(n), n) for n in re.findall(r"\d+|\D+", file.name)])


def _kept(file: Path, most_bytes: int) -> bytes:
    try:
        with file.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            text = opened.read(most_bytes)
    except OSError:
        return b""
    head = f"==> {file.name} <==\n".encode()
    if size <= len(text):
        return head + text + (b"" if text.endswith(b"\n") or not text else b"\n")
    text = text[: text.rfind(b"\n") + 1]
    return head + text + f"[cut: the first {len(text)} of {size} bytes]\n".encode()
