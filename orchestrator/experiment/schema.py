"""Describe the experiment language as a JSON Schema, for editors and for `orchestrator.experiment.load`. Pure.

A value has one flat schema. `minimum` applies to numbers, `pattern` and `format` apply to texts. Editors use the
`pattern`. The `format` comes first, checks the same text and names the mistake (FORMATS).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from orchestrator.experiment import expand, quantities, repeats, yaml_nodes
from orchestrator.experiment.quantities import PERCENT_OF, QuantityError
from orchestrator.model import LONGEST_S, MOST_REPEATS
from orchestrator.placement.selectors import CPUS, MEMORY
from orchestrator.tools import Kind, Option, get_tool, tool_names, tools_known
from parsers import extensions
from parsers.errors import nearest

Schema = dict[str, Any]

VERSION: Final = 1
"""The version of the language. A file that needs a newer one is refused."""

KEYS: Final[Mapping[str, tuple[str, list[Any]]]] = {
    "schema": ("version of this language", []),
    "title": ("title of the report", ["Random reads by depth"]),
    "tool": ("the program to sweep", []),
    "name": ("name of the sweep in tables and files: letters, digits and . _ + -", ["randread"]),
    "fixed": ("options of every cell, by the tool's own names", [{"place": "numa_node 0"}]),
    "matrix": (
        "axes: every combination of their values is a cell",
        [{"place": ["local", "remote"]}, {"place": ["core 0", "all"]}],
    ),
    "zip": (
        "axes of one length that vary together",
        [{"place": ["core 0", "all"]}],
    ),
    "include": ("options to add to matching cells, or separate cells", [[{"place": "all"}]]),
    "exclude": (
        "cells to leave out; a list in an entry means any of its values",
        [[{"place": "all"}]],
    ),
    "repeats": (
        f"runs of each cell, each a new process; {repeats.AUTO}: until the median is known to 2.5 %, 6 to 15 runs",
        [5, repeats.AUTO],
    ),
    "order": ("interleaved: rounds, each in a random order; listed: rounds in the order of the file", []),
    "timeout": (
        "longest time of a run: seconds, or 90s, 2 min, 1 h; default: from the estimate",
        [90, "90s", "2 min"],
    ),
    "requires": (
        "needs of the machine; without them, the cells are skipped",
        [{"numa_nodes": 2, "memory": ">= 8G"}],
    ),
    "sweeps": (
        "several sweeps in one file; keys at its head apply to all of them",
        [[{"name": "reads", "matrix": {"place": ["core 0", "all"]}}]],
    ),
    "place": (
        "where a cell runs and where its memory is: a selector for the cpus, or a mapping",
        ["numa_node 0", {"name": "remote", "cpus": "numa_node 0", "memory": "remote"}],
    ),
    "cpus": (f"selector: {', '.join(CPUS)}", ["core 0-3", "numa_node 0", "same cache"]),
    "memory": (f"selector: {', '.join(MEMORY)}", ["local", "remote", "interleave"]),
    "spread": ("compact fills core after core; spread takes turns over packages and NUMA nodes", []),
    "smt": ("whether cores have several PUs in use", []),
    "root": ("whether pinsweep runs as root", []),
    "program": ("a program with its version, or several", ["numactl", "numactl >= 2.0"]),
}
"""Description of each key for editors, and its syntax."""

SWITCH: Final[Schema] = {"enum": [True, False, "on", "off", "yes", "no"]}
FLAG: Final[Schema] = {"enum": [*SWITCH["enum"], 0, 1]}
TEXT: Final[Schema] = {"type": ["string", "number", "boolean"]}
LABEL: Final[Schema] = {"type": ["string", "number"], "pattern": r"\S"}
TIME: Final = r"^\s*[0-9]+(\.[0-9]+)?\s*(ms|s|sec|min|h)?\s*$"
OPTIONS: Final[Schema] = {"type": "object", "minProperties": 1}
ENTRIES: Final[Schema] = {"type": "array", "minItems": 1, "items": OPTIONS}
MATRIX: Final[Mapping[str, Schema]] = {
    "matrix": OPTIONS,
    "zip": OPTIONS,
    "include": ENTRIES,
    "exclude": ENTRIES,
}


def json_schema(names: Iterable[str] | None = None) -> Schema:
    """Return the schema (draft 2020-12) of an experiment file with all options of the tools in `names`.

    None includes all tools.
    """
    tools = tool_names() if names is None else tuple(names)
    by_tool = [_if_tool(name, {"$ref": f"#/$defs/{name}:parts"}) for name in tools]
    inherited = [
        _if_tool(
            name,
            _each_sweep({"if": {"not": {"required": ["tool"]}}, "then": {"$ref": f"#/$defs/{name}:parts"}}),
        )
        for name in tools
    ]
    head: Schema = {
        "title": LABEL,
        "tool": {"type": "string", "format": "tool", "enum": list(tool_names())},
        "fixed": OPTIONS,
        **MATRIX,
        "repeats": {"type": ["integer", "string"], "minimum": 1, "maximum": MOST_REPEATS, "pattern": f"^{repeats.AUTO}$"},
        "order": {"enum": ["interleaved", "listed"]},
        "timeout": {"type": ["number", "string"], "exclusiveMinimum": 0, "maximum": LONGEST_S, "format": "time", "pattern": TIME},
        "requires": _requires(),
    }  # fmt: skip
    sweep = {"name": {"type": "string", "pattern": f"^{yaml_nodes.NAME}$"}, **head}
    sweeps = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/sweep"}}
    needs_tool: Schema = {"required": ["tool"], "properties": {"tool": {"description": tools_known()}}}
    several: Schema = {"properties": {key: {"not": {}, "description": "move it into a sweep"} for key in MATRIX}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pinsweep experiment",
        **_object({"schema": {"const": VERSION}, **head, "sweeps": sweeps}, required=["schema"]),
        "allOf": [
            {"if": {"required": ["sweeps"]}, "then": several, "else": needs_tool},
            {"if": {"not": {"required": ["tool"]}}, "then": _each_sweep(needs_tool)},
            *by_tool,
            *inherited,
        ],
        "$defs": {
            "place": _place(),
            **{key: value for name in tools for key, value in _options(name).items()},
            "sweep": {**_object(sweep, required=["name"]), "allOf": by_tool},
        },
    }


def _object(properties: Mapping[str, Schema], **keywords: Any) -> Schema:  # noqa: ANN401
    """Return the schema of a mapping with only these keys, each with its text and examples."""
    described = {key: _describe(*KEYS[key], schema) for key, schema in properties.items()}
    return {"type": "object", "properties": described, "additionalProperties": False, **keywords}


def _describe(text: str, examples: Iterable[Any], schema: Schema) -> Schema:
    listed = list(examples)
    return {"description": text, **({"examples": listed} if listed else {}), **schema}


def _if_tool(tool: str, then: Schema) -> Schema:
    return {"if": {"required": ["tool"], "properties": {"tool": {"const": tool}}}, "then": then}


def _each_sweep(schema: Schema) -> Schema:
    return {"properties": {"sweeps": {"items": schema}}}


def _requires() -> Schema:
    number: Schema = {"type": ["integer", "string"], "minimum": 0, "pattern": r"^\s*([<>]=?|==?)?\s*[0-9]"}
    program: Schema = {"type": "string", "format": "program"}
    program["pattern"] = r"^\s*[a-z][\w-]*\s*(([<>]=?|==?)\s*[0-9]+(\.[0-9]+)*)?\s*$"
    needs = _object({"smt": SWITCH, "root": SWITCH, "program": _one_or_more(program)})
    for name, sample in quantities.SAMPLE.items():
        text = f"how many {name.replace('_', ' ')} at least, or a comparison"
        kind = "condition on a size" if name in quantities.BYTES else "condition"
        needs["properties"][name] = _describe(text, [sample, f">= {sample}"], {**number, "format": kind})
    return needs


def _place() -> Schema:
    text: Schema = {"type": "string", "minLength": 1}
    fields: Schema = {"name": LABEL, "cpus": text, "memory": text, "spread": {"enum": ["compact", "spread"]}}
    place = _object(fields, type=["string", "object"], minLength=1)
    place["anyOf"] = [{"type": "string"}, {"required": ["cpus"]}, {"required": ["memory"]}]
    return {"description": KEYS["place"][0], **place}


# --- a tool's options ---


def _quantity_pattern() -> str:
    """Return a pattern for the syntax of `quantities.parse`.

    The pattern also matches some empty and some overlong ranges.
    """
    number = r"[0-9]+(\.[0-9]+)?"
    names = "|".join(map(re.escape, quantities.SAMPLE))
    term = rf"({number}([kKmMgGtTpP](i?[bB]|i)?|[bB])?|{number}\s*%|all|({number}\s*[x×*]\s*)?({names}))"
    step = rf"(\s+step\s+{number}\w*|\s*[x×*]\s*{number})?"
    return rf"^\s*{term}(\s*\.\.\s*{term}{step})?\s*$"


QUANTITY: Final = _quantity_pattern()


def _options(tool: str) -> dict[str, Schema]:
    """Return the definitions `TOOL` (options with one value each), `TOOL:axes` and `TOOL:parts` (of a sweep)."""
    module = get_tool(tool)
    options = module.options()
    values = {name: _describe(option.help, _examples(option), _value(name, option)) for name, option in options.items()}
    values["place"] = _describe(*KEYS["place"], {"$ref": "#/$defs/place"})
    several = {
        name: {
            **{key: schema[key] for key in ("description", "examples") if key in schema},
            **_one_or_more({"$ref": f"#/$defs/{tool}/properties/{name}"}),
        }
        for name, schema in values.items()
    }
    excluded = {"properties": {"place": _describe("names of places", ["remote"], _one_or_more(LABEL))}}
    one, axes = {"$ref": f"#/$defs/{tool}"}, {"$ref": f"#/$defs/{tool}:axes"}
    parts = {
        "fixed": one,
        "matrix": axes,
        "zip": axes,
        "include": {"items": one},
        "exclude": {"items": excluded},
    }
    return {
        tool: _tool_object(values, module.OPEN),
        f"{tool}:axes": _tool_object(several, module.OPEN, several=True),
        f"{tool}:parts": {"properties": parts},
    }


def _tool_object(values: Schema, is_open: bool, *, several: bool = False) -> Schema:
    """Return the schema of options. An open tool takes other names as axes of the experiment's own."""
    if not is_open:
        return {"type": "object", "properties": values, "additionalProperties": False}
    text, share = ({**TEXT, "format": name} for name in ("free text", "free text or share"))
    shares = "|".join(name for name in PERCENT_OF if name not in values)
    patterns = {f"^({shares})$": share, rf"^(?!({'|'.join([shares, *values])})$)[^\W\d]\w*$": text}
    return {
        "type": "object",
        "properties": values,
        "patternProperties": {p: _one_or_more(v) if several else v for p, v in patterns.items()},
        "additionalProperties": False,
    }


def _one_or_more(schema: Schema) -> Schema:
    """Return the schema of a value or a list of values."""
    return {"if": {"type": "array"}, "then": {"minItems": 1, "items": schema}, "else": schema}


def _examples(option: Option) -> list[Any]:
    """Return example values of an option as an experiment writes them. Empty for an option with a fixed set of words."""
    low = option.low or 0
    by_kind: dict[str, list[Any]] = {
        "int": [max(1, low)],
        "float": [max(1, low)],
        "seconds": [max(10, low), "90s"],
        "size": ["4k", "0.5 x L2"],
    }
    return list(option.examples) or by_kind.get(option.kind, [])


_NUMBERS: Final = {
    "int": (["integer", "string"], QUANTITY),
    "size": (["integer", "string"], QUANTITY),
    "float": (["number", "string"], QUANTITY),
    "seconds": (["number", "string"], f"{TIME}|{QUANTITY}"),
}


def _value(name: str, option: Option) -> Schema:
    """Return the schema of an option value. If a list is one value, the schema is for the list."""
    kind, words = f"{option.kind} or share" if name in PERCENT_OF else option.kind, [*option.choices]
    match option.kind:
        case "flag":
            value = FLAG
        case "int" | "size" | "float" | "seconds":
            types, pattern = _NUMBERS[option.kind]
            bounds = {"minimum": option.low, "maximum": option.high}
            value = {"type": types, "format": kind, "pattern": pattern}
            value |= {key: bound for key, bound in bounds.items() if bound is not None}
        case "word" if option.suffix:
            whole = {"pattern": f"^({'|'.join(words)})({option.suffix})$"}
            has_suffix = {"pattern": f"({option.suffix})$"}
            value = {"type": "string", "if": has_suffix, "then": whole, "else": {"enum": words}}
        case "word" if words:
            value = {"enum": [*words, *(int(word) for word in words if word.isdecimal())]}
        case "mapping":
            fields = {
                field: _describe(inner.help, (), _value(field, inner) if inner.choices else {"type": "string"})
                for field, inner in option.fields.items()
            }
            entry = {"type": "object", "properties": fields, "additionalProperties": False}
            value = {
                "type": "object",
                **({"minProperties": 1, "additionalProperties": entry} if fields else {}),
            }
        case _:
            value = {**TEXT, "format": kind}
    return _one_or_more(value) if option.inner else value


# --- formats ---


_BLANK_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s+([kmgtp]i?b?|b)\s*", re.IGNORECASE)
"""A size as people write it and no tool reads it."""


def _check_value(name: str, kind: Kind, is_known: bool, text: str) -> None:
    if is_known and (match := _BLANK_SIZE.fullmatch(text)):
        raise QuantityError(f"{text!r} has a blank in it", f"{match[1]}{match[2]}, without a blank")
    expand.quantity_of(name, Option(kind=kind, help=""), text)


def _check_time(text: str) -> None:
    if not quantities.seconds(text):
        raise QuantityError("is 0: every run would fail", "remove it, and the estimate of the run decides")


def _check_tool(name: str) -> None:
    if name not in tool_names():
        raise QuantityError(
            f"no tool {name!r}", extensions.why_not(name) or nearest(name, tool_names()) or tools_known()
        )


_SHARED: Final = next(iter(PERCENT_OF))
_KINDS: Final[Mapping[str, tuple[Kind, bool]]] = {
    **{kind: (kind, True) for kind in ("int", "float", "size", "seconds", "text")},
    "free text": ("text", False),
}
FORMATS: Final[Mapping[str, Callable[[str], object]]] = {
    **{text: functools.partial(_check_value, "", *kind) for text, kind in _KINDS.items()},
    **{f"{text} or share": functools.partial(_check_value, _SHARED, *kind) for text, kind in _KINDS.items()},
    "time": _check_time,
    "tool": _check_tool,
    "condition": functools.partial(expand.condition, size=False),
    "condition on a size": functools.partial(expand.condition, size=True),
    "program": lambda text: _check_tool(expand.program_condition(text)[0]),
}
"""`format` → what reads such a text. Each raises QuantityError."""
