"""One number of one cell, followed over machines and sessions: what a fleet, a history and a monitor look at. Pure.

A cell is the same on every machine (`Point.point_id`), so a number is known by its tool, the program that made it, its
cell, and its name in the run (`reports.numbers`). Between machines of different kinds, cells are matched by
`reports.matching` instead.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from parsers.errors import UserError
from parsers.measurement import Direction
from reports import naming, numbers
from reports.frames import Results, Run
from reports.numbers import Number, Part

SessionKey = tuple[str, int]
"""A session: its file, its number there."""


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
    number: Number

    @property
    def value(self) -> float:
        return self.number.value

    @property
    def session(self) -> SessionKey:
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

    @property
    def resolution(self) -> float:
        """The last printed digit through the value, of the runs' median; 0: not known."""
        return statistics.median(value.number.resolution for value in self.values)

    def sessions(self) -> Mapping[SessionKey, tuple[float, ...]]:
        """Return session → the values of its runs, in the order of the results.

        Repeats of one session share what was odd about that hour: they make its median steadier, and are one piece of
        evidence all the same.
        """
        found: dict[SessionKey, list[float]] = {}
        for value in self.values:
            found.setdefault(value.session, []).append(value.value)
        return {session: tuple(own) for session, own in found.items()}


def collect_some(results: Results) -> tuple[Series, ...]:
    """Return what `collect` does. Raises UserError where there is nothing to judge: a verdict on nothing would read as a good one."""
    found = collect(results)
    if not found:
        files = list(dict.fromkeys(machine.file for machine in results.machines))
        raise UserError(
            ", ".join(files[:3]) + (", …" if len(files) > 3 else "") or "these files",
            "no run gave a number that can be better or worse",
            "`pinsweep show` says how the runs ended",
        )
    return found


def collect(results: Results, *, undirected: bool = False) -> tuple[Series, ...]:
    """Return every number of the good runs that can be better or worse, in the order of the results.

    `undirected`: also those of which neither is better.
    """
    values: dict[Key, list[Value]] = {}
    heads: dict[Key, tuple[Run, Number]] = {}
    for run, key, number in _each(results):
        if number.name.better != "neither" or undirected:
            values.setdefault(key, []).append(Value(run=run, number=number))
            heads.setdefault(key, (run, number))
    return _with_steps(
        Series(
            key=key, cell=_cell(run), quantity=quantity(number), unit=number.name.unit, better=number.name.better, values=tuple(values[key])
        )
        for key, (run, number) in heads.items()
    )  # fmt: skip


def _with_steps(found: Iterable[Series]) -> tuple[Series, ...]:
    """Give numbers of programs whose format nobody knows the last digit that the values of all their cells show."""
    listed = tuple(found)
    unknown: dict[tuple[str, str, str], list[float]] = {}
    for one in listed:
        if _is_unknown(one):
            unknown.setdefault(_family(one), []).extend(v.value for v in one.values)
    steps = {family: numbers.common_step(values) for family, values in unknown.items()}
    return tuple(_stepped(one, steps[_family(one)]) if _is_unknown(one) else one for one in listed)


def _is_unknown(one: Series) -> bool:
    return numbers.digits_unknown(one.key.tool, one.values[0].number)


def _family(one: Series) -> tuple[str, str, str]:
    return one.key.program, one.key.kind, one.key.metric


def _stepped(one: Series, step: float) -> Series:
    values = tuple(replace(v, number=v.number.printed_to(step or None)) for v in one.values)
    return replace(one, values=values)


def _each(results: Results) -> Iterable[tuple[Run, Key, Number]]:
    for tool in results.tools:
        for run in results.good(tool):
            program = naming.program_kind(run)
            for number in numbers.numbers(run):
                yield (
                    run,
                    Key(
                        tool=tool, program=program, sweep=run.point.sweep, point_id=run.record.point_id,
                        kind=number.name.kind, part=number.name.part, metric=number.name.quantity,
                    ),
                    number,
                )  # fmt: skip


def _cell(run: Run) -> str:
    return f"{run.point.sweep}, {run.point.describe()}" if run.point.labels() else run.point.sweep


_SAID_FIRST: Final = ("kernel", "benchmark", "direction", "target", "op")
_NOT_SAID: Final = frozenset({"nprocs", *_SAID_FIRST})


def quantity(number: Number) -> str:
    """Return "triad bandwidth", "read latency p99", "loaded latency at delay 100, traffic 2:1"."""
    labels = dict(number.name.part)
    first = [str(labels[name]) for name in _SAID_FIRST if name in labels]
    rest = [f"{name.replace('_', ' ')} {value}" for name, value in number.name.part if name not in _NOT_SAID]
    kind = [number.name.kind] if number.name.kind and number.name.kind not in first else []
    metric = number.name.quantity.replace("_", " ")
    if kind and kind[0].endswith(metric):  # "idle latency" is a latency
        kind, metric = [], kind[0]
    return " ".join([*kind, *first, metric]) + (f" at {', '.join(rest)}" if rest else "")
