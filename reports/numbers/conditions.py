"""How numbers were made: with which options, on which PUs, by how many threads. What differs there is not compared. Pure.

A cell says where it ran in words ("all", "local"): under a smaller mask, or where a program counts the CPUs itself, the same cell
is another measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.model import Group
from reports.numbers.series import Series
from reports.results.cells import flat
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.text import format as fmt

_MOST_GROUPS: Final = 4
NOT_SAID: Final = "not recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where a run executed and with how many threads, exactly."""

    placed: tuple[Group, ...]  # (): it was not placed
    allowed: str  # the PUs that the session of a run that was not placed could use
    threads: str  # as the program counted them, else as it was told; "" where neither is known

    @property
    def known(self) -> bool:
        """Is it recorded on which PUs the run was?"""
        return bool(self.placed or self.allowed)

    @property
    def words(self) -> dict[str, str]:
        """Return it for people: "PUs": "0-31", "memory nodes": "0", "threads": "32"."""
        memory = _listed([group.membind or group.interleave for group in self.placed])
        return {
            "PUs": _listed([group.cpus for group in self.placed]) or self.allowed,
            "memory nodes": memory,
            "threads": self.threads,
        }


def way(run: Run) -> Way:
    counted = run.parsed.facts.get("threads") if run.parsed else None
    return Way(
        placed=run.placed,
        allowed="" if run.placed else str(run.session.facts.get("cpus_allowed") or ""),
        threads=str(counted or run.options.get("threads") or run.record.env.get("OMP_NUM_THREADS") or ""),
    )


def _listed(groups: Sequence[Sequence[int]]) -> str:
    """Return "0-3", of a few processes "0 | 8", of many "0-63 of 64 processes"."""
    texts = [format_cpulist(group) for group in groups]
    if len(set(texts)) <= 1:
        return texts[0] if texts else ""
    if len(texts) <= _MOST_GROUPS:
        return " | ".join(texts)
    return f"{format_cpulist(i for group in groups for i in group)} of {len(groups)} processes"


def told_apart(collected: Iterable[Series]) -> list[Series]:
    """Return a series for each number, way and program; where several bear one name, their cells say in what they differ."""
    every = [
        replace(one, values=tuple(own))
        for one in collected
        for _, own in sorted(
            group_by(one.values, lambda value: way(value.run)).items(), key=lambda w: repr(w[0])
        )
    ]
    out = []
    for alike in group_by(every, lambda one: one.name).values():
        differ = differing([facts(one) for one in alike]) if len(alike) > 1 else []
        out += [replace(one, cell=", ".join([one.cell, *said(facts(one), differ)])) for one in alike]
    return out


def facts(one: Series) -> dict[str, str]:
    """Return all that tells a number from one of its name: options, place, program, way, unit and direction."""
    run = one.values[0].run
    options = {name: _text(value) for name, value in flat(run.cell)}
    made = way(run).words
    if (
        asked := options.get("threads")
    ) is not None:  # what was counted is news only where it is something else
        counted = made.pop("threads")
        made |= {"threads counted": counted} if counted != asked else {}
    return {**options, "program": one.key.program, **made, "unit": one.unit or "none", "better": one.better}


def differing(several: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the names of what is not the same in all."""
    names = dict.fromkeys(name for one in several for name in one)
    return [name for name in names if len({one.get(name, "") for one in several}) > 1]


def said(one: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Return ["threads=32", "PUs=0-31"]."""
    return [f"{name}={one.get(name) or NOT_SAID}" for name in names]


def _text(value: object) -> str:
    return fmt.words(map(str, value)) if isinstance(value, tuple | list) else str(value)
