"""What each command prints with `--format json`, as JSON Schema (2020-12): `pinsweep schema NAME` prints it.

A name is the words of its command, joined by "-". answers.yaml lists the members and explains its notation. Members are added in
later versions, so that no schema forbids further members.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any, Final

from parsers.errors import UserError, nearest

Schema = dict[str, Any]

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"

_SCALARS: Final[dict[str, Schema]] = {
    "text": {"type": "string"}, "int": {"type": "integer"}, "num": {"type": "number"}, "flag": {"type": "boolean"},
    "scalar": {"type": ["string", "number", "boolean", "null"]}, "any": {},
}  # fmt: skip


def names() -> list[str]:
    """Return the names of all answers."""
    return sorted([*_answers()["answers"], "run-events"])


def schema(name: str) -> Schema:
    """Return the JSON Schema of an answer. Raises UserError for an unknown name."""
    if name not in names():
        hint = nearest(name, names()) or "pinsweep schema --list names them"
        raise UserError("schema", f"no answer is called {name!r}", hint)
    head = {"$schema": DRAFT, "title": f"pinsweep {name}"}
    if name == "run-events":
        return {**head, "oneOf": [_event(event, members) for event, members in _answers()["events"].items()]}
    return {**head, **_schema(_answers()["answers"][name])}


@functools.cache
def _answers() -> dict[str, Any]:
    import yaml

    return dict(yaml.safe_load(resources.files(__name__).joinpath("answers.yaml").read_text("utf-8")))


def _event(name: str, members: dict[str, Any]) -> Schema:
    node = _schema({"event": "text", "time_utc": "text", **members})
    node["properties"]["event"] = {"const": name}
    return node


def _schema(kind: Any) -> Schema:  # noqa: ANN401 (anything YAML holds)
    """Return the JSON Schema of a type in the notation of answers.yaml."""
    if isinstance(kind, list):
        return {"type": "array", "items": _schema(kind[0])}
    if isinstance(kind, str):
        return _SCALARS[kind] if kind in _SCALARS else {"enum": kind.split("|")}
    members = {name.removesuffix("~"): _member(name, member) for name, member in kind.items() if name != "*"}
    required = [name for name in kind if name != "*" and not ("*" in kind and name.endswith("~"))]
    node: Schema = {"type": "object"}
    if members:
        node |= {"required": [name.removesuffix("~") for name in required], "properties": members}
    if "*" in kind:
        node["additionalProperties"] = _schema(kind["*"])
    return node


def _member(name: str, kind: Any) -> Schema:  # noqa: ANN401
    node = dict(_schema(kind))
    if name.endswith("~"):
        if "enum" in node:
            node["enum"] = [*node["enum"], None]
        else:
            node["type"] = [node["type"], "null"]
    words = _answers()["words"].get(name.removesuffix("~"))
    return {**node, "description": words} if words else node
