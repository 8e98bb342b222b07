"""The sides that a user names, by files, folders, baselines, or two levels of an axis: looked up and read. I/O."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from parsers.errors import UserError
from reports.compare.sides import Side, levels, refuse_sweeps, refuse_twice, side
from reports.results.baselines import resolve_any
from reports.results.load import Watched, load
from reports.results.model import short_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What is compared, and the files that it was read from."""

    a: Side
    b: Side
    files: tuple[Path, ...]
    by: str = ""  # the axis whose levels they are, "" of files


def two_levels(words: Iterable[str], by: str, only: Collection[str], *, watched: Watched) -> Given:
    """Return two levels of an axis within some files; by: "place=local,remote". Raises UserError as `sides.levels` does."""
    axis, _, wanted = (part.strip() for part in by.partition("="))
    files = _files(words)
    results = load(files, watched=watched)
    refuse_sweeps(only, results)
    a, b = levels(results, axis, wanted, only)
    return Given(a=a, b=b, files=files, by=axis)


def two_sides(
    words_a: Sequence[str], words_b: Sequence[str], only: Collection[str], *, watched: Watched
) -> Given:  # fmt: skip
    """Return the sides of some files each. Raises UserError where both have a file or a session in common."""
    files_a, files_b = _files(words_a), _files(words_b)
    if both := {*map(os.path.realpath, files_a)} & {*map(os.path.realpath, files_b)}:
        raise UserError(
            min(both),
            "is on both sides",
            "a file compared with itself is always the same; --aa asks how often runs that did not change are accused",
        )
    results_a, results_b = (load(files, watched=watched) for files in (files_a, files_b))
    refuse_twice(results_a, results_b)
    refuse_sweeps(only, results_a, results_b)
    called = _called([*words_a, *words_b])
    a, b = (_title([called[word] for word in words]) for words in (words_a, words_b))
    return Given(a=side("A", a, results_a, only), b=side("B", b, results_b, only), files=(*files_a, *files_b))


def _files(words: Iterable[str]) -> tuple[Path, ...]:
    """Return the files that words name, each once, whatever they call it."""
    paths = [path for word in words for path in resolve_any(word)]
    return tuple({os.path.realpath(path): path for path in paths}.values())


def _called(words: Sequence[str]) -> dict[str, str]:
    """Return for each word on the command line, a file, say, the shortest end that tells it from the others."""
    paths = {word: Path(word).absolute() for word in words}
    different = list(dict.fromkeys(paths.values()))
    short = dict(zip(different, short_names(different), strict=True))
    return {word: short[path] for word, path in paths.items()}


def _title(words: Sequence[str]) -> str:
    """Return "mon.db, tue.db, wed.db and 4 more"."""
    known = list(dict.fromkeys(words))
    return ", ".join(known[:3]) + (f" and {len(known) - 3} more" if len(known) > 3 else "")
