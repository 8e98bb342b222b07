"""Floors and tolerances of a site, from YAML. Pure but for `load`.

    rules:
      - metric: bandwidth            # metric and statistic, or as the table prints it; * and ? stand for anything
        sweep: scaling               # of this sweep only
        where: {kernel: triad, threads: 8, place: local}
        floor: 180 GB/s              # a host worse than this is slow, whatever the others do
      - metric: "latency*"
        tolerance: 8 %               # so much worse than the median is slow, whatever the spread

Of several rules that fit a number, the last one that has a floor gives the floor, the last one with a tolerance the
tolerance. docs/fleet.md says the same for people.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from yaml.nodes import Node

from orchestrator.experiment.yaml_nodes import BAD, ExperimentError, Mistake, NodeReader, compose, shown
from orchestrator.machine import safe_files
from orchestrator.model import Mark
from parsers.errors import UserError
from parsers.units import share_of, to_base

_EXAMPLE: Final = "docs/fleet.md shows a file of rules"

KEYS: Final = ("metric", "tool", "sweep", "where", "floor", "tolerance")
_FLOOR: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*(\S.*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One entry. None and empty: any."""

    mark: Mark
    metric: str
    tool: str
    sweep: str
    where: tuple[tuple[str, str], ...]
    floor: float | None  # in `unit`, a base unit
    unit: str
    tolerance: float | None  # relative: 0.08

    def fits(self, number: Mapping[str, Any]) -> bool:
        """Does the rule hold for a number, a row of `Measurements.frame`?"""
        if not any(
            fnmatchcase(number[key], self.metric or "*") for key in ("quantity", "statistic", "title", "name")
        ):
            return False
        if not all(fnmatchcase(number[key], getattr(self, key) or "*") for key in ("tool", "sweep")):
            return False
        labels = {key: number[key] for key in ("place", "relation", "kind")}
        labels |= json.loads(number["axes"]) | json.loads(number["labels"])
        return all(fnmatchcase(_text(labels.get(name, "")), value) for name, value in self.where)


def _text(value: Any) -> str:  # noqa: ANN401
    return str(value).lower() if isinstance(value, bool) else str(value)


def limits(rules: Iterable[Rule], number: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the floor and the tolerance of a number, a row of `Measurements.frame`. Raises ExperimentError if a floor has another unit."""
    floor = tolerance = None
    for rule in rules:
        if rule.fits(number):
            if rule.floor is not None and rule.unit != number["unit"]:
                what = f"is in {rule.unit or 'no unit'}, but {number['number']} is in {number['unit'] or 'no unit'}"
                hint = "narrow the rule with `metric` or `where`"
                raise ExperimentError([Mistake(mark=rule.mark, key="floor", what=what, hint=hint)])
            floor = rule.floor if rule.floor is not None else floor
            tolerance = rule.tolerance if rule.tolerance is not None else tolerance
    return floor, tolerance


def load(path: Path) -> tuple[Rule, ...]:
    """Read a file of rules. Raises ExperimentError with all its mistakes, UserError if it cannot be read."""
    try:
        text = safe_files.read_named(path, 1 << 20).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(str(path), "not UTF-8", "save it as UTF-8") from error
    except OSError as error:
        raise UserError(str(path), error.strerror or str(error), _EXAMPLE) from error
    return parse(text, str(path))


def parse(text: str, path: str) -> tuple[Rule, ...]:
    """Return the rules of a text; `path` names it in messages. Raises ExperimentError with all mistakes at once."""
    reader = NodeReader(path)
    entries = reader.mapping(compose(text, path, _EXAMPLE), "", ("rules",))
    rules: list[Rule] = []
    if "rules" in entries:
        for number, item in enumerate(reader.items(entries["rules"][1], "rules", "rules"), 1):
            rules += _rule(reader, item, f"rules[{number}]")
    elif not reader.mistakes:
        reader.wrong(Mark(path=path, line=1, column=1), "rules", "is missing", _EXAMPLE)
    if reader.mistakes:
        raise ExperimentError(reader.mistakes)
    return tuple(rules)


def _rule(reader: NodeReader, node: Node, key: str) -> list[Rule]:
    before = len(reader.mistakes)
    entries = reader.mapping(node, key, KEYS)
    words = {
        name: (reader.text(entries[name][1], f"{key}.{name}") or "") if name in entries else ""
        for name in ("metric", "tool", "sweep")
    }
    where: list[tuple[str, str]] = []
    if "where" in entries:
        for name, (_, value_node) in reader.filled(entries["where"][1], f"{key}.where").items():
            value = reader.scalar(value_node, f"{key}.where.{name}")
            if value is not BAD:
                where.append((name, _text(value)))
    floor, unit, tolerance = None, "", None
    for name in sorted({"floor", "tolerance"} & entries.keys()):
        value_node = entries[name][1]
        value = reader.scalar(value_node, f"{key}.{name}")
        if value is BAD:
            continue
        text = "" if isinstance(value, bool) else str(value).strip()
        if name == "floor":
            floor, unit = _floor(text)
        else:
            tolerance = share_of(text) if text.endswith("%") else None
        if (floor if name == "floor" else tolerance) is None:
            reader.wrong(value_node, f"{key}.{name}", f"{shown(value)} {_WRONG[name][0]}", _WRONG[name][1])
    if len(reader.mistakes) == before and not {"floor", "tolerance"} & entries.keys():
        reader.wrong(node, key, "has no limit", "give it a `floor` or a `tolerance`")
    if len(reader.mistakes) > before:
        return []
    return [Rule(mark=reader.mark(node), **words, where=tuple(where), floor=floor, unit=unit, tolerance=tolerance)]  # fmt: skip


_WRONG: Final = {
    "floor": ("is not a number with a unit", "write 180 GB/s, 95 ns, 40 kIOPS"),
    "tolerance": ("is not a part of the median", "write 8 %, more than 0 and less than 100"),
}


def _floor(text: str) -> tuple[float | None, str]:
    """Return `180 GB/s`, `95 ns` or `0.8` in a base unit; None if it is not a number above 0."""
    match = _FLOOR.fullmatch(text)
    factor, unit = to_base((match and match[2]) or "1")
    floor = float(match[1]) * factor if match else 0.0
    return (floor, unit) if 0 < floor < math.inf else (None, "")
