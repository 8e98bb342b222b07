"""The numbers and the distributions of runs: of a file of many runs a digest of each cell, kept in the file. I/O.

    "numbers POINT", "shapes POINT"   answers (`orchestrator.store.answers`) of each cell: what its good runs are compared by, and
                                      the bins of their latencies, so that a comparison reads a row a cell, not each run's text
    "readings POINT"                  what the readings of their tool make of them: a page reads these, and few texts. They are handed
                                      out where they are asked for (`orchestrator.store.in_short`, `reports.readings`)

A cell of which nothing is kept is worked out from its runs' texts, and so is all of a file that cannot be written.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from orchestrator.store.cache import dump_small
from orchestrator.store.in_short import readings_dumped
from orchestrator.store.result_file import ResultFile, open_result
from parsers.errors import PinsweepError
from parsers.measurement import Scalar
from reports import numbers, readings
from reports.numbers.formulas import Bucket
from reports.numbers.model import Bins, Name, Number
from reports.results import remembered
from reports.results.grouping import group_by
from reports.results.model import Results, Run

T = TypeVar("T")

Shapes = Sequence[tuple[Name, Sequence[Bucket]]]
"""Distributions, by the names of their quantiles without the statistic."""

_AT_ONCE: Final = 200
"""Cells that are kept in one commit."""
_HELD: Final = 8
"""Cells that are held: of a pair each is asked for twice, at once."""


class Kept:
    """What the runs of some results say, from what is kept of it."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._files: dict[str, ResultFile] = {}
        self._numbers = functools.lru_cache(maxsize=_HELD)(self._numbers_of)
        self._shapes = functools.lru_cache(maxsize=_HELD)(self._shapes_of)

    def close(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def numbers(self, run: Run) -> Sequence[Number]:
        """Return what a run is compared by, as `numbers.numbers` does."""
        told = self._numbers(run.file, run.record.point_id).get(run.record.run_id)
        return numbers.numbers(run) if told is None else told

    def histograms(self, run: Run) -> Shapes:
        """Return the latency distributions of a run, as `numbers.histograms` does."""
        if not numbers.has_histograms(run.tool):
            return []
        told = self._shapes(run.file, run.record.point_id).get(run.record.run_id)
        return numbers.histograms(run) if told is None else told

    def _numbers_of(self, name: str, point_id: str) -> dict[int, list[Number]]:
        return self._of_cell(name, f"numbers {point_id}", _numbers_loaded)

    def _shapes_of(self, name: str, point_id: str) -> dict[int, Shapes]:
        return self._of_cell(name, f"shapes {point_id}", _shapes_loaded)

    def _of_cell(
        self, name: str, question: str, load: Callable[[str], Iterator[tuple[int, T]]]
    ) -> dict[int, T]:
        """Return run_id → what is kept of it; nothing of a cell of which nothing is."""
        if name not in self._results.kept_by:
            return {}
        try:
            file = self._files.get(name)
            if file is None:
                file = self._files[name] = open_result(self._results.paths[name], known=True)
            text = file.kept_answer(question, self._results.kept_by[name])
            return {} if text is None else dict(load(text))
        except PinsweepError:  # the file may have gone since: the runs tell
            return {}
        except (
            ValueError,
            KeyError,
            TypeError,
            IndexError,
            OverflowError,
            RecursionError,
        ):  # nothing that `keep` kept
            return {}


def keep(results: Results) -> None:
    """Keep what the good runs of one file say, where it has many and can be written, and they are still all. A file that has gone since,
    or is damaged, keeps nothing."""
    with contextlib.suppress(PinsweepError):
        _keep(results)


def _keep(results: Results) -> None:
    if not results.known_by:
        return
    (path,) = results.paths.values()
    good = (run for tool in results.tools for run in results.good(tool) if not run.captured)
    cells = group_by(good, lambda run: run.record.point_id)
    with open_result(path, known=True) as file:
        if not file.writable or remembered.known_by(file) != results.known_by:
            return
        lacking = iter([p for p in cells if not file.has_answer(f"shapes {p}", results.known_by)])
    while some := list(itertools.islice(lacking, _AT_ONCE)):
        told = [answer for point in some for answer in _answers(point, cells[point])]
        with open_result(path, known=True) as file:
            file.keep_answers(results.known_by, told)


# --- out and in --------------------------------------------------------------------------------------------


def _answers(point: str, runs: Sequence[Run]) -> Iterator[tuple[str, str]]:
    told = [(run.record.run_id, numbers.numbers(run), numbers.histograms(run)) for run in runs]
    yield f"numbers {point}", _numbers_dumped((run_id, own) for run_id, own, _ in told)
    yield f"shapes {point}", _shapes_dumped((run_id, own) for run_id, _, own in told)
    yield f"readings {point}", readings_dumped((run.record.run_id, _read_of(run)) for run in runs)
    for run in runs:
        if run.parsed:
            run.parsed.let_go()


def _read_of(run: Run) -> dict[str, tuple[str, Sequence[Any]]]:
    """Return what the readings of a run's tool make of it, as they are kept; of a tool without any its small tables."""
    if run.parsed is None:
        return {}
    own = readings.of_tool(run.tool)
    tables = {} if own else run.parsed.tables
    found: list[tuple[str, tuple[str, Sequence[Any]] | None]]
    found = [(f"table {name}", dump_small(name, table)) for name, table in tables.items()]
    found += [(reading.name, reading.dumped(run.parsed)) for reading in own]
    return {name: told for name, told in found if told is not None}


def _numbers_dumped(runs: Iterable[tuple[int, Sequence[Number]]]) -> str:
    names: dict[str, int] = {}
    heads: dict[tuple[int, ...], int] = {}
    rows = []
    for run_id, every in runs:
        head = tuple(_numbered(number.name, names) for number in every)
        rows.append((run_id, heads.setdefault(head, len(heads)), [n.value for n in every], [n.step for n in every]))  # fmt: skip
    return json.dumps({"names": list(names), "heads": list(heads), "runs": rows})


def _numbers_loaded(text: str) -> Iterator[tuple[int, list[Number]]]:
    """Undo `_numbers_dumped`. Raises ValueError, KeyError, TypeError or IndexError for what it did not write."""
    said = json.loads(text)
    names = [_name(one) for one in said["names"]]
    heads = [[names[at] for at in head] for head in said["heads"]]
    for run_id, head, values, steps in said["runs"]:
        _check_numbers(values)
        _check_numbers([step for step in steps if step is not None])
        told = zip(heads[head], values, steps, strict=True)
        yield run_id, [Number(name=name, value=value, step=step) for name, value, step in told]


def _shapes_dumped(runs: Iterable[tuple[int, Shapes]]) -> str:
    names: dict[str, int] = {}
    bins: dict[tuple[float, float], int] = {}

    def shape(name: Name, own: Sequence[Bucket]) -> tuple[int, list[int], list[int]]:
        return _numbered(name, names), [bins.setdefault(b[:2], len(bins)) for b in own], [b.n for b in own]

    rows = [(run_id, [shape(*one) for one in every]) for run_id, every in runs]
    return json.dumps({"names": list(names), "bins": list(bins), "runs": rows})


def _shapes_loaded(text: str) -> Iterator[tuple[int, Shapes]]:
    """Undo `_shapes_dumped`. Raises ValueError, KeyError, TypeError, IndexError or OverflowError for what it did not write."""
    import numpy as np

    said = json.loads(text)
    names = [_name(one) for one in said["names"]]
    _check_numbers([end for ends in said["bins"] for end in ends])
    low, high = np.array(said["bins"], dtype=float).reshape(len(said["bins"]), 2).T
    every = [one for _, own in said["runs"] for one in own]
    places, counts = ([value for one in every for value in one[column]] for column in (1, 2))
    if {*map(type, places), *map(type, counts)} - {int} or any(len(at) != len(n) for _, at, n in every):
        raise ValueError("not the counts of bins")
    at, n = np.array(places, dtype=np.int64), np.array(counts, dtype=np.int64)
    if len(at) and (min(at.min(), n.min()) < 0 or at.max() >= len(low)):
        raise ValueError("not the counts of bins")
    low, high = low[at], high[at]  # of all runs, one behind the other
    end = 0
    for run_id, own in said["runs"]:
        shapes = []
        for of, _, own_counts in own:
            start, end = end, end + len(own_counts)
            shapes.append((names[of], Bins(low[start:end], high[start:end], n[start:end])))
        yield run_id, shapes


def _numbered(name: Name, names: dict[str, int]) -> int:
    return names.setdefault(_said(name), len(names))


@functools.lru_cache(maxsize=1 << 12)
def _said(name: Name) -> str:
    return json.dumps(
        [
            name.metric, name.unit, name.better, name.statistic, name.kind, name.part, name.derived, name.unsaid, name.made_of,
        ]
    )  # fmt: skip


@functools.lru_cache(maxsize=1 << 14)
def _name(said: str) -> Name:
    metric, unit, better, statistic, kind, part, derived, unsaid, made_of = json.loads(said)
    if better not in ("higher", "lower", "neither") or not isinstance(derived, bool):
        raise ValueError("not the name of a number")
    if not all(isinstance(word, str) for word in (metric, unit, statistic, kind, made_of)):
        raise ValueError("not the name of a number")
    return Name(
        metric=metric, unit=unit, better=better, statistic=statistic, kind=kind, part=_part(part), derived=derived,
        unsaid=_part(unsaid), made_of=made_of,
    )  # fmt: skip


def _part(raw: Sequence[Any]) -> tuple[tuple[str, Scalar], ...]:
    if any(not isinstance(label, str) or isinstance(value, list | dict) for label, value in raw):
        raise ValueError("not the labels of a number")
    return tuple((label, value) for label, value in raw)


def _check_numbers(values: Sequence[Any]) -> None:
    if {*map(type, values)} - {int, float} or not all(map(math.isfinite, values)):
        raise ValueError("not numbers")
