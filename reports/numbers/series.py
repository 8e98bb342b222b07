"""One number of one cell, followed over machines and sessions: what a fleet, a history and a monitor look at. Pure.

A cell is the same on every machine (`Point.point_id`), so a number is known by its tool, the program that made it, its
cell, and its name in the run (`reports.numbers`). Between machines of different kinds, cells are matched by
`reports.compare.matching` instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from reports import numbers
from reports.numbers import Name, Number, last_digit
from reports.results import naming
from reports.results.convicted import Guilty, doubting
from reports.results.grouping import group_by
from reports.results.model import UNREPEATED, Results, Run
from reports.results.sessions import SessionKey
from reports.text import format as fmt
from reports.text.hostlist import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What a number is, wherever and whenever it was measured."""

    tool: str
    program: str  # what must not be mixed: the tool's name, or its stand-in's
    sweep: str
    point_id: str
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One run's number, in its base unit."""

    run: Run
    number: Number
    doubt: str = ""  # the checks that convict its cell: "F1, F7"

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
    values: tuple[Value, ...]

    @property
    def unit(self) -> str:
        return self.key.name.unit

    @property
    def tool(self) -> str:
        return self.key.tool

    @property
    def printed_by(self) -> Hashable:
        return self.key.program, self.key.sweep, self.key.name.family

    def numbers(self) -> Iterator[Number]:
        return (value.number for value in self.values)

    def printed_to(self, step: float) -> Series:
        values = tuple(replace(v, number=v.number.printed_to(step or None)) for v in self.values)
        return replace(self, values=values)


def disturbed_text(results: Results, done: str, tool: str | None = None) -> str:
    """Return "3 runs of n[001,007] were disturbed at every attempt, and their numbers are not judged"; "" of none. `done`: what is not
    done with them. Those of which the sweep was stopped before they were repeated are told apart."""
    unrepeated = set(results.unrepeated)
    given_up = [run for run in results.disturbed if run not in unrepeated]
    texts = []
    for runs, why in ((given_up, "disturbed at every attempt"), (results.unrepeated, UNREPEATED)):
        if of_tool := [run for run in runs if tool in (None, run.tool)]:
            hosts = listed(dict.fromkeys(run.host for run in of_tool))
            was, their = ("were", "their") if len(of_tool) > 1 else ("was", "its")
            count = fmt.plural(len(of_tool), "run")
            texts.append(f"{count} of {hosts} {was} {why}, and {their} numbers are not {done}")
    return "; ".join(texts)


def void_text(runs: Iterable[Run], done: str) -> str:
    """Return "2 runs of n1 were not valid by their own check, and their numbers are not judged"; "" where none of the runs is void."""
    void = [run for run in runs if run.void]
    if not void:
        return ""
    was, their = ("were", "their") if len(void) > 1 else ("was", "its")
    hosts = listed(dict.fromkeys(run.host for run in void))
    return f"{fmt.plural(len(void), 'run')} of {hosts} {was} not valid by {their} own check, and {their} numbers are not {done}"


def what_helps(results: Results) -> str:
    """Return what to do about disturbed runs that are left out."""
    unrepeated = results.unrepeated
    return REPEAT if unrepeated and len(unrepeated) == len(results.disturbed) else ANEW


REPEAT: Final = "`pinsweep audit` says by what; unless it still runs, the same `pinsweep run` repeats them"
"""What helps where the sweep was stopped before that."""
ANEW: Final = "`pinsweep audit` says by what; --include least uses the least disturbed"
"""What helps where disturbed runs are left out."""


def collect(
    results: Results,
    doubts: Guilty = MappingProxyType({}),
    *,
    undirected: bool = False,
) -> tuple[Series, ...]:
    """Return every number of the good runs that can be better or worse, in the order of the results.

    `undirected`: also those of which neither is better.
    """
    values: dict[Key, list[Value]] = {}
    for key, own in _each(results):
        if key.name.better != "neither" or undirected:
            known = values.setdefault(key, [])
            for run, number in own:
                doubt = doubting(doubts, (run.file, run.record.point_id), key.name.tells_of)
                known.append(Value(run=run, number=number, doubt=doubt))
    return tuple(
        last_digit.told(
            Series(key=key, cell=_cell(known[0].run), values=tuple(known)) for key, known in values.items()
        )
    )


def _each(results: Results) -> Iterable[tuple[Key, Sequence[tuple[Run, Number]]]]:
    """Give the numbers that all repeats of a cell in a file have; what only some have stands for no cell."""

    def cell(run: Run) -> Hashable:
        return run.file, run.tool, naming.program_kind(run), run.cell.sweep, run.record.point_id

    runs = (run for tool in results.tools for run in results.good(tool) if not run.void)
    for repeats in group_by(runs, cell).values():
        first = repeats[0]
        program, sweep, point_id = naming.program_kind(first), first.cell.sweep, first.record.point_id
        every = ((run, number) for run in repeats for number in numbers.each_number(run))
        for name, own in group_by(every, lambda one: one[1].name).items():
            if len(own) >= len(repeats):
                yield Key(tool=first.tool, program=program, sweep=sweep, point_id=point_id, name=name), own


def _cell(run: Run) -> str:
    return f"{run.cell.sweep}, {run.cell.describe()}" if run.cell.labels() else run.cell.sweep
