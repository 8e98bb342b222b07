"""What each command prints with `--format json`, as JSON Schema (2020-12): `pinsweep schema NAME` prints it. Pure.

A name is the words of its command, joined by "-". Members are added in later versions, so that no schema forbids more of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from parsers.errors import UserError, nearest
from reports.schemas import _machine, _results, _sweep, _verdicts
from reports.schemas._words import Schema

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"

_ANSWERS: Final[Mapping[str, Schema]] = MappingProxyType(
    {**_machine.ANSWERS, **_sweep.ANSWERS, **_results.ANSWERS, **_verdicts.ANSWERS}
)


def names() -> list[str]:
    """Return the names of all answers."""
    return sorted(_ANSWERS)


def schema(name: str) -> Schema:
    """Return the JSON Schema of an answer. Raises UserError for a name that is none."""
    if name not in _ANSWERS:
        hint = nearest(name, _ANSWERS) or "pinsweep schema --list names them"
        raise UserError("schema", f"no answer is called {name!r}", hint)
    return {"$schema": DRAFT, "title": f"pinsweep {name}", **_ANSWERS[name]}


__all__ = ["DRAFT", "Schema", "names", "schema"]
