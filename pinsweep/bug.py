"""What is said of a bug of ours: a sentence for the user, the traceback in a file."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

_MOST_FILES = 50
"""Files of a command line that are looked at."""


def of_a_file(words: Sequence[str]) -> Exception | None:
    """Return what is wrong with a result file that a command line names, a folder's or a glob's, too: who cannot be made a page of is
    asked first whether pinsweep wrote it. None where nothing is, or that cannot be told."""
    with contextlib.suppress(Exception):  # we come from an error already
        from orchestrator.store.database import MAGIC
        from reports.results.strange import damage

        for path in _files(words):
            with path.open("rb") as stream:
                begins = stream.read(len(MAGIC))
            if begins == MAGIC and (found := damage(path)):
                return found
    return None


def _files(words: Sequence[str]) -> list[Path]:
    named = [path for word in words for path in (Path(word), *_of_glob(word))]
    found = [one for path in named for one in (sorted(path.glob("*.db")) if path.is_dir() else [path])]
    return list(dict.fromkeys(path for path in found if path.is_file()))[:_MOST_FILES]


def _of_glob(word: str) -> list[Path]:
    with contextlib.suppress(ValueError, NotImplementedError):  # no pattern, or one from the root on
        folder, _, name = word.rpartition("/")
        return sorted(Path(folder or ".").glob(name)) if "*" in name or "?" in name else []
    return []


def told() -> tuple[str, str]:
    """Write the traceback of the exception that is being handled to a file of its own; return an error and a hint that names it."""
    import tempfile
    import traceback

    from parsers import extensions

    with tempfile.NamedTemporaryFile("w", prefix="pinsweep-bug-", suffix=".txt", delete=False) as file:
        file.write(f"{sys.argv!r}\n{traceback.format_exc()}")
    kind, value, _ = sys.exc_info()
    if value and (found := extensions.of_error(value)):
        return (
            f"error: {found[0]}: broke down in {extensions.what_is_wrong(value)}",
            f"hint: tell those who make {found[0].name}, with {file.name}; without it: pip uninstall {found[0].name}",
        )
    return (
        f"error: a bug in pinsweep: {kind.__name__ if kind else '?'}: {value}",
        f"hint: please report it with {file.name}",
    )
