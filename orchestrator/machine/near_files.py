"""Which file of a folder a mistyped name may mean. I/O: lists the folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from parsers.errors import like


def near_files(path: Path | str, endings: Sequence[str]) -> str:
    """Return "did you mean 'labs/lab1.yaml'?" for a missing path, from the files in its folder. "" without a similar
    file.
    """
    missing = Path(path)
    stem = missing.stem if missing.suffix[1:] in endings else missing.name
    try:
        names = [name for name in sorted(os.listdir(missing.parent)) if name.rpartition(".")[2] in endings]  # noqa: PTH208
    except OSError:
        return ""
    stems = {Path(name).stem: name for name in reversed(names)}  # endings would make all names similar
    part_of = [name for name in names if len(stem) > 2 and stem in name]
    near = stems.get(stem) or stems.get(like(stem, stems)) or next(iter(part_of), "")
    return f"did you mean {str(missing.parent / near)!r}?" if near else ""
