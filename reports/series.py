"""One number of one cell, followed over machines and sessions: what a fleet, a history and a monitor look at. Pure.

A cell is the same on every machine (`Point.point_id`), so a number is known by its tool, the program that made it, its
cell, and its name in the run (`reports.numbers`). Between machines of different kinds, cells are matched by
`reports.matching` instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from parsers.measurement import Direction
from reports import naming
from reports.frames import Results, Run
from reports.numbers import Number, Part, numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What a number is, wherever and whenever it was measured."""

    tool: str
    program: str  # what must not be mixed: the tool's name, or its stand-in's
    sweep: str
    point_id: str
    kind: str
    part: Part
    metric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One run's number, in its base unit."""

    run: Run
    value: float
    step: float  # its last printed digit, or the width of its bin; 0: not known

    @property
    def session(self) -> tuple[str, int]:
        """The session it was measured in: its file, its number there."""
        return self.run.file, self.run.session.session


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """All values of a number, in the order of the results."""

    key: Key
    cell: str  # "scaling, place=local threads=4", for people
    quantity: str  # "triad bandwidth"
    unit: str
    better: Direction
    values: tuple[Value, ...]

    @property
    def name(self) -> str:
        """`scaling, place=local threads=4: triad bandwidth`, for people."""
        return f"{self.cell}: {self.quantity}"


def collect(results: Results, *, undirected: bool = False) -> tuple[Series, ...]:
    """Return every number of the good runs that can be better or worse, in the order of the results.

    `undirected`: also those of which neither is better.
    """
    values: dict[Key, list[Value]] = {}
    heads: dict[Key, tuple[Run, Number]] = {}
    for run, key, number in _each(results):
        if number.better != "neither" or undirected:
            values.setdefault(key, []).append(Value(run=run, value=number.value, step=number.step or 0.0))
            heads.setdefault(key, (run, number))
    return tuple(
        Series(
            key=key, cell=_cell(run), quantity=quantity(number), unit=number.unit, better=number.better, values=tuple(values[key])
        )
        for key, (run, number) in heads.items()
    )  # fmt: skip


def _each(results: Results) -> Iterable[tuple[Run, Key, Number]]:
    for tool in results.tools:
        for run in results.good(tool):
            program = naming.program_kind(run)
            for number in numbers(run):
                yield (
                    run,
                    Key(
                        tool=tool, program=program, sweep=run.point.sweep, point_id=run.record.point_id,
                        kind=number.kind, part=number.part, metric=number.metric,
                    ),
                    number,
                )  # fmt: skip


def _cell(run: Run) -> str:
    return f"{run.point.sweep}, {run.point.describe()}" if run.point.labels() else run.point.sweep


_SAID_FIRST: Final = ("kernel", "benchmark", "direction", "target", "op")
_NOT_SAID: Final = frozenset({"nprocs", *_SAID_FIRST})


def quantity(number: Number) -> str:
    """Return "triad bandwidth", "read latency p99", "loaded latency at delay 100, traffic 2:1"."""
    labels = dict(number.part)
    first = [str(labels[name]) for name in _SAID_FIRST if name in labels]
    rest = [f"{name.replace('_', ' ')} {value}" for name, value in number.part if name not in _NOT_SAID]
    kind = [number.kind] if number.kind and number.kind not in first else []
    metric = number.metric.replace("_", " ")
    if kind and kind[0].endswith(metric):  # "idle latency" is a latency
        kind, metric = [], kind[0]
    return " ".join([*kind, *first, metric]) + (f" at {', '.join(rest)}" if rest else "")
