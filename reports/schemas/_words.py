"""JSON Schema in a few words: each returns a schema; what is described is always there, unless `maybe` says so. Pure."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def text(about: str) -> Schema:
    return {"type": "string", "description": about}


def number(about: str) -> Schema:
    return {"type": "number", "description": about}


def integer(about: str) -> Schema:
    return {"type": "integer", "description": about}


def flag(about: str) -> Schema:
    return {"type": "boolean", "description": about}


def one_of(about: str, *words: str) -> Schema:
    return {"enum": [*words], "description": about}


def anything(about: str) -> Schema:
    return {"description": about}


def scalar(about: str) -> Schema:
    return {"type": ["string", "number", "boolean", "null"], "description": about}


def listed(item: Schema, about: str = "") -> Schema:
    """Without words of its own a list has those of its items."""
    of_each = item.get("description", "")
    return {"type": "array", "items": item, **_said(about or (of_each and f"Each: {of_each}"))}


def mapped(value: Schema, about: str) -> Schema:
    """An object whose keys are no fixed words."""
    return {"type": "object", "additionalProperties": value, "description": about}


def record(about: str, **fields: Schema) -> Schema:
    """An object with these members; more may come in later versions."""
    maybe = {name for name, field in fields.items() if "maybe" in field}
    own = {name: {k: v for k, v in field.items() if k != "maybe"} for name, field in fields.items()}
    return {
        "type": "object",
        **_said(about),
        "required": [n for n in own if n not in maybe],
        "properties": own,
    }


def null(schema: Schema) -> Schema:
    """The same, or null where there is none."""
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*kinds, "null"]}


def maybe(schema: Schema) -> Schema:
    """A member that may be left out."""
    return {**schema, "maybe": True}


def _said(about: str) -> Schema:
    return {"description": about} if about else {}
