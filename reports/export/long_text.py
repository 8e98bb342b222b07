"""The long form of all tools as CSV or JSON, piece by piece: a hundred thousand runs have millions of rows, and no table holds them at once. Pure.

Two walks over the runs. The first finds which columns hold anything, and which hold numbers; the second writes. The runs of a sweep
print the same table with other numbers (`Numbered`): what such a table says is put into a template once, and filled in per run.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from parsers.measurement import Heads, Numbered, Parsed, Table
from reports.results.convicted import Guilty
from reports.results.model import Long, Results
from reports.text.plain import csv_text

DOUBTED: Final = "doubted_by"
"""The column, behind the program's, of the checks that doubt a cell; a user's own option of that name keeps it."""

_LAST: Final = ("metric", "unit", "value")
_AT_ONCE: Final = 10_000
"""Rows of one run that are written at once; it may have a million."""

_Key = tuple[Heads, tuple[Any, ...]]
"""Of tails: the table that is the same of many runs, and what a run's options say where the table says nothing."""


def lines(
    results: Results, tools: Sequence[str], guilty: Guilty, form: Literal["csv", "json"] = "csv"
) -> Iterator[str]:
    """Give the text of a table, what stands before its rows first, then the rows of a run at once: those of `tools` below one another,
    the columns of all side by side. A column without any value is left out."""
    parts = [_Part(tool, results.long(tool), guilty) for tool in tools]
    kinds: dict[str, _Kind] = {}
    for part in parts:
        part.look(kinds)
    shown = dict.fromkeys(name for part in parts for name in part.columns if name in part.filled)
    columns = [*(name for name in shown if name not in _LAST), *_LAST] if shown else ["tool", *_LAST]
    of = _FORMS[form]
    yield of.begin(columns)
    between = ""
    for part in parts:
        for rows in part.text(columns, kinds, of):
            yield between + rows
            between = of.between
    yield of.end


@dataclass(slots=True)
class _Kind:
    """What the values of a column are, all tools together."""

    numbers: bool = True
    whole: bool = True

    def look(self, value: Any) -> None:  # noqa: ANN401 (an option's value)
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        self.numbers = self.numbers and plain
        self.whole = self.whole and plain and math.isfinite(value) and value == int(value)

    def said(self, value: Any, quoted: Callable[[Any], str]) -> str:  # noqa: ANN401
        if not self.numbers:
            return quoted(value)
        return str(int(value)) if self.whole else repr(float(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How a table is written."""

    begin: Callable[[Sequence[str]], str]  # what stands before the rows, of the columns
    row: tuple[str, str]  # what stands around the fields of a row
    named: Callable[[str], str]  # what stands before a field, of its column
    quoted: Callable[[Any], str]  # a value of a column that holds others than numbers
    nothing: str
    between: str  # rows
    end: str


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows of a run: what it says of all of them, and what is each row's own."""

    once: Sequence[Any]
    tails: Sequence[Sequence[Any]]  # labels, metric and unit
    numbers: Sequence[float]
    key: _Key | None  # the same for blocks that have the same tails


class _Part:
    """The rows of one tool."""

    def __init__(self, tool: str, long: Long, guilty: Guilty) -> None:
        self._tool, self._long, self._guilty = tool, long, guilty
        self._behind = long.columns.index("program") + 1
        doubted = DOUBTED if DOUBTED not in long.columns else f"{DOUBTED}_"
        self._once = ("tool", *self._with(long.columns[: long.labels], doubted))
        self._tail = long.columns[long.labels : -1]
        self.columns = (*self._once, *self._tail, "value")
        self.filled = {*_LAST} if long.runs else set()  # columns with a value
        self._kept_tails = functools.lru_cache(maxsize=512)(self._tails)

    def _with(self, values: Sequence[Any], doubted: Any) -> list[Any]:  # noqa: ANN401
        return [*values[: self._behind], doubted, *values[self._behind :]]

    def look(self, kinds: dict[str, _Kind]) -> None:
        """Find out what each column holds."""
        looked: set[_Key | None] = set()
        for block in self._blocks():
            self._look(kinds, zip(self._once, block.once, strict=True))
            if block.key is None or block.key not in looked:
                looked.add(block.key)
                self._look(
                    kinds, (pair for tail in block.tails for pair in zip(self._tail, tail, strict=True))
                )

    def _look(self, kinds: dict[str, _Kind], values: Iterable[tuple[str, Any]]) -> None:
        for name, value in values:
            kind = kinds.get(name)
            if kind is not None and not kind.numbers and name in self.filled:
                continue  # a column of words, whatever else it holds
            if _is_there(value):
                self.filled.add(name)
                kinds.setdefault(name, _Kind()).look(value)

    def text(self, columns: Sequence[str], kinds: Mapping[str, _Kind], form: _Form) -> Iterator[str]:
        """Give the rows, some at once, under columns of which this part has some."""
        before, behind = form.row
        labelled = {name: form.named(name) for name in columns}
        once = {name: i for i, name in enumerate(self._once)}
        groups = [(own, list(names)) for own, names in itertools.groupby(columns[:-1], once.__contains__)]

        def fields(names: Iterable[str], values: Mapping[str, Any]) -> str:
            return ",".join(
                labelled[n]
                + (kinds[n].said(v, form.quoted) if _is_there(v := values.get(n)) else form.nothing)
                for n in names
            )

        def row(tail: Sequence[Any]) -> str:
            values = dict(zip(self._tail, tail, strict=True))
            said = ("%s" if own else fields(names, values).replace("%", "%%") for own, names in groups)
            return f"{before}{','.join([*said, f'{value}%r'])}{behind}"

        value = labelled[columns[-1]].replace("%", "%%")

        kept_template = functools.lru_cache(maxsize=512)(
            lambda key: form.between.join(map(row, self._kept_tails(*key)))
        )
        for block in self._blocks():
            values = dict(zip(self._once, block.once, strict=True))
            said: list[Any] = [fields(names, values) for own, names in groups if own]
            filled = [*said, None] * len(block.numbers)
            filled[len(said) :: len(said) + 1] = block.numbers
            if not block.numbers:
                continue
            template = kept_template(block.key) if block.key else form.between.join(map(row, block.tails))
            yield template % tuple(filled)

    def _blocks(self) -> Iterator[_Block]:
        first = self._long.labels
        for run in self._long.runs:
            begun, table = self._long.begun(run), run.parsed.once(_measurements) if run.parsed else None
            doubted = self._guilty.get((run.file, run.record.point_id))
            if table and isinstance(table.rows, Numbered) and self._says_no_other(table.columns):
                key = table.rows.heads, tuple(begun[first:-3])
                once = [self._tool, *self._with(begun[:first], doubted)]
                yield _Block(once, self._kept_tails(*key), table.rows.values, key)
                continue
            rows = self._long.rows(run)
            while some := list(itertools.islice(rows, _AT_ONCE)):
                for own, same in itertools.groupby(some, lambda row: row[:first]):
                    alike = list(same)
                    once = [self._tool, *self._with(own, doubted)]
                    yield _Block(once, [row[first:-1] for row in alike], [row[-1] for row in alike], None)

    def _says_no_other(self, columns: Sequence[str]) -> bool:
        """Has no label of a table the name of what the run says once?"""
        return {*self._once}.isdisjoint(columns)

    def _tails(self, heads: Heads, begun: tuple[Any, ...]) -> list[list[Any]]:
        names = self._tail[:-2]
        return [
            [
                *(labels.get(name, otherwise) for name, otherwise in zip(names, begun, strict=True)),
                metric,
                unit,
            ]
            for metric, unit, labels in heads.series
        ]


_SPECIAL: Final = re.compile(r'[",\r\n]')


def _quoted(text: str) -> str:
    text = csv_text(text)
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if _SPECIAL.search(text) else text


def _is_there(value: object) -> bool:
    return value is not None and value == value  # nan is not itself


def _json(value: Any) -> str:  # noqa: ANN401 (an option's value)
    return json.dumps(value if isinstance(value, str | int | float) else str(value), ensure_ascii=False)


_FORMS: Final[Mapping[str, _Form]] = {
    "csv": _Form(
        begin=lambda columns: ",".join(map(_quoted, columns)) + "\n", row=("", "\n"), named=lambda _: "",
        quoted=lambda value: _quoted(str(value)), nothing="", between="", end="",
    ),
    "json": _Form(
        begin=lambda _: "[", row=("{", "}"), named=lambda name: f"{_json(name)}:",
        quoted=_json, nothing="null", between=",", end="]\n",
    ),
}  # fmt: skip


def _measurements(parsed: Parsed) -> Table:
    """Return what is asked for twice, once to see what the columns hold and once to write it: a large file is read once."""
    return parsed.measurements
