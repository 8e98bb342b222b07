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

from orchestrator.experiment.quantities import QuantityError
from orchestrator.experiment.validate import validate
from orchestrator.experiment.yaml_nodes import ExperimentError, Mistake, read
from orchestrator.machine import safe_files
from orchestrator.model import Mark
from parsers.errors import UserError
from parsers.units import share_of, to_base

_EXAMPLE: Final = "docs/fleet.md shows a file of rules"

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
        if not any(fnmatchcase(number[key], self.metric or "*") for key in ("quantity", "statistic", "title", "name")):
            return False
        if not all(fnmatchcase(number[key], getattr(self, key) or "*") for key in ("tool", "sweep")):
            return False
        labels = {key: number[key] for key in ("place", "relation", "kind")}
        labels |= json.loads(number["axes"]) | json.loads(number["labels"])
        return all(fnmatchcase(_text(labels.get(name, "")), value) for name, value in self.where)


def _text(value: Any) -> str:  # noqa: ANN401
    return str(value).lower() if isinstance(value, bool) else str(value)


def limits(rules: Iterable[Rule], number: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the floor and the tolerance of a number, a row of `Measurements.frame`. Raises ExperimentError if a floor
    has another unit."""
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
    document = read(text, path, _EXAMPLE)
    document.check_switches()
    validate(document, _SCHEMA, {"floor": _floor, "tolerance": _tolerance})
    document.check()
    return tuple(_rule(rule, document.marks["rules", n]) for n, rule in enumerate(document.data["rules"]))


def _rule(rule: Mapping[str, Any], mark: Mark) -> Rule:
    floor, unit = _floor(str(rule["floor"])) if "floor" in rule else (None, "")
    return Rule(
        mark=mark,
        **{key: str(rule.get(key, "")).strip() for key in ("metric", "tool", "sweep")},
        where=tuple((name, _text(value)) for name, value in rule.get("where", {}).items()),
        floor=floor,
        unit=unit,
        tolerance=_tolerance(rule["tolerance"]) if "tolerance" in rule else None,
    )


_NAME: Final = {"type": ["string", "number"], "pattern": r"\S"}
_SCHEMA: Final = {
    "type": "object",
    "required": ["rules"],
    "additionalProperties": False,
    "properties": {
        "rules": {
            "description": _EXAMPLE,
            "type": "array",
            "minItems": 1,
            "items": {
                "description": "give it a `floor` or a `tolerance`",
                "type": "object",
                "additionalProperties": False,
                "anyOf": [{"required": ["floor"]}, {"required": ["tolerance"]}],
                "properties": {
                    "metric": _NAME,
                    "tool": _NAME,
                    "sweep": _NAME,
                    "where": {
                        "type": "object",
                        "minProperties": 1,
                        "additionalProperties": {"type": ["string", "number", "boolean"]},
                    },
                    "floor": {"type": ["string", "number"], "format": "floor", "exclusiveMinimum": 0},
                    "tolerance": {"type": "string", "format": "tolerance"},
                },
            },
        }
    },
}


def _floor(text: str) -> tuple[float, str]:
    """Return `180 GB/s`, `95 ns` or `0.8` in a base unit. Raises QuantityError if it is not a number above 0."""
    match = _FLOOR.fullmatch(text.strip())
    factor, unit = to_base((match and match[2]) or "1")
    floor = float(match[1]) * factor if match else 0.0
    if not 0 < floor < math.inf:
        raise QuantityError(f"{text!r} is not a number with a unit", "write 180 GB/s, 95 ns, 40 kIOPS")
    return floor, unit


def _tolerance(text: str) -> float:
    share = share_of(text.strip()) if text.strip().endswith("%") else None
    if share is None:
        raise QuantityError(f"{text!r} is not a part of the median", "write 8 %, more than 0 and less than 100")
    return share
