"""The experiment language as a JSON Schema, for editors: completion, hover texts, and most mistakes while typing. Pure.

It is made from the same tables as the checks of `orchestrator.experiment.load`, which stays the judge: what several options or
a machine decide is beyond a schema. Editors read YAML 1.1 or 1.2; where `on` is a word to one and a truth value to
the other, both are let through here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.experiment import load, quantities, repeats
from orchestrator.experiment.load_options import PLACE_KEYS
from orchestrator.model import MOST_REPEATS
from orchestrator.placement.selectors import CPUS, MEMORY
from orchestrator.tools import Option, get_tool, tool_names

Schema = dict[str, Any]

TEXTS: Final[Mapping[str, str]] = {
    "schema": "version of this language",
    "title": "what the report says above it",
    "tool": "the program to sweep",
    "name": "what tables and files call the sweep",
    "fixed": "options of every cell, by the tool's own names",
    "matrix": "axes: every combination of their values is a cell",
    "zip": "axes that walk together: their first values, their second values, …",
    "include": "options added to the cells they fit, or else cells of their own",
    "exclude": "cells to leave out: all that agree with an entry; a list means any of its values",
    "repeats": "how often every cell runs, each time as a new process; auto: until its median is known to 2.5 %, 6 to 15 times",
    "order": "interleaved: rounds, each in a random order of its own; listed: rounds in the order of the file",
    "timeout": "when a run is ended: seconds, or 90s, 2 min, 1 h; without it the estimate decides",
    "requires": "what the machine must have; where it has not, the cells are skipped with the reason",
    "sweeps": "several sweeps in one file; what stands at its head holds for all of them",
    "place": "where a cell runs and where its memory is: a selector for the cpus, or a mapping",
    "cpus": "selector: " + ", ".join(CPUS),
    "memory": "selector: " + ", ".join(MEMORY),
    "spread": "compact fills core after core; spread takes turns over packages and NUMA nodes",
}
"""What an editor shows for each key."""

EXAMPLES: Final[Mapping[str, list[Any]]] = {
    "title": ["Random reads by depth"],
    "name": ["randread"],
    "fixed": [{"place": "numa_node 0"}],
    "matrix": [{"place": ["local", "remote"]}, {"place": ["core 0", "all"]}],
    "zip": [{"place": ["core 0", "all"]}],
    "include": [[{"place": "all"}]],
    "exclude": [[{"place": "all"}]],
    "repeats": [5, "auto"],
    "timeout": [90, "90s", "2 min"],
    "requires": [{"numa_nodes": 2, "memory": ">= 8G"}],
    "sweeps": [[{"name": "reads", "matrix": {"place": ["core 0", "all"]}}]],
    "place": ["numa_node 0", {"name": "remote", "cpus": "numa_node 0", "memory": "remote"}],
    "cpus": ["core 0-3", "numa_node 0", "same cache"],
    "memory": ["local", "remote", "interleave"],
}
"""How each key is written."""

NEEDS: Final[Mapping[str, str]] = {
    "smt": "whether cores have several PUs in use",
    "root": "whether pinsweep runs as root",
    "program": "a program with its version, or several",
}

SWITCH: Final[Schema] = {"enum": [True, False, "on", "off", "yes", "no"]}
TEXT: Final[Schema] = {"type": ["string", "number", "boolean"]}
TIME: Final = r"^\s*[0-9]+(\.[0-9]+)?\s*(ms|s|sec|min|h)?\s*$"


def json_schema() -> Schema:
    """Return the schema (draft 2020-12) of an experiment file, with every option of every tool and its help."""
    tools = {name: get_tool(name) for name in tool_names()}
    single = {
        "quantity": _quantity(),
        "place": _place(),
        "text": TEXT,
        "flag": {"enum": [*SWITCH["enum"], 0, 1]},
    }
    defs = {**single, **{f"{name}s": _one_or_more(schema) for name, schema in single.items()}}
    for name, tool in tools.items():
        defs |= _options(name, tool.options(), is_open=tool.OPEN)
    head = {key: _key(key) for key in (*load.HEAD_KEYS, *load.MATRIX_KEYS)}
    sweep = {"name": {"type": "string", "pattern": r"^\w[\w.+-]*$"}, **head}
    defs["sweep"] = {
        "type": "object",
        "properties": _described(sweep),
        "required": ["name"],
        "additionalProperties": False,
        "allOf": [_if_tool(name, _parts(name)) for name in tools],
    }
    top = {
        "schema": {"const": load.SCHEMA},
        **head,
        "sweeps": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/sweep"}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pinsweep experiment",
        "type": "object",
        "properties": _described(top),
        "required": ["schema"],
        "additionalProperties": False,
        "allOf": [
            {"if": {"required": ["sweeps"]}, "then": {"not": {"anyOf": [{"required": [key]} for key in load.MATRIX_KEYS]}}, "else": {"required": ["tool"]}},
            *(_if_tool(name, {**_parts(name), "sweeps": _sweeps_of(name)}) for name in tools),
            {"if": {"not": {"required": ["tool"]}}, "then": {"properties": {"sweeps": {"items": {"required": ["tool"]}}}}},
        ],
        "$defs": defs,
    }  # fmt: skip


def _described(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    return {
        key: {"description": TEXTS[key], **_examples(EXAMPLES.get(key, [])), **schema}
        for key, schema in properties.items()
    }


def _examples(listed: list[Any]) -> Schema:
    return {"examples": listed} if listed else {}


def _key(key: str) -> Schema:
    """Return what holds for a key whatever the tool is."""
    entries: Schema = {"type": "array", "minItems": 1, "items": {"type": "object", "minProperties": 1}}
    found: dict[str, Schema] = {
        "title": {"type": ["string", "number"]},
        "tool": {"enum": list(tool_names())},
        "fixed": {"type": "object", "minProperties": 1},
        "matrix": {"type": "object", "minProperties": 1},
        "zip": {"type": "object", "minProperties": 1},
        "include": entries,
        "exclude": entries,
        "repeats": {
            "anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_REPEATS}, {"const": repeats.AUTO}]
        },
        "order": {"enum": list(load.ORDERS)},
        "timeout": {
            "anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": TIME}]
        },
        "requires": _requires(),
    }
    return found[key]


def _requires() -> Schema:
    number = {
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": r"^\s*([<>]=?|==?)?\s*[0-9]"},
        ]
    }
    program = {"type": "string", "pattern": r"^\s*[a-z][\w-]*\s*(([<>]=?|==?)\s*[0-9]+(\.[0-9]+)*)?\s*$"}
    return {
        "type": "object",
        "properties": {
            **{
                name: {
                    "description": f"how many {name.replace('_', ' ')} at least, or a comparison",
                    "examples": [sample, f">= {sample}"],
                    **number,
                }
                for name, sample in quantities.SAMPLE.items()
            },
            "smt": {"description": NEEDS["smt"], **SWITCH},
            "root": {"description": NEEDS["root"], **SWITCH},
            "program": {
                "description": NEEDS["program"],
                "examples": ["numactl", "numactl >= 2.0"],
                "anyOf": [program, {"type": "array", "items": program}],
            },
        },
        "additionalProperties": False,
    }


def _place() -> Schema:
    text: Schema = {"type": "string", "minLength": 1}
    fields = {"name": {**text, "description": "what tables and charts show", "examples": ["remote"]}}
    fields |= _described({"cpus": text, "memory": text, "spread": {"enum": ["compact", "spread"]}})
    return {
        "description": TEXTS["place"],
        "anyOf": [
            text,
            {
                "type": "object",
                "properties": {key: fields[key] for key in PLACE_KEYS},
                "additionalProperties": False,
                "anyOf": [{"required": ["cpus"]}, {"required": ["memory"]}],
            },
        ],
    }


def _quantity() -> Schema:
    """Return a pattern for what `quantities.parse` reads; it lets through some that are empty or too long."""
    number = r"[0-9]+(\.[0-9]+)?"
    names = "|".join(map(re.escape, quantities.SAMPLE))
    term = rf"({number}([kKmMgGtTpP](i?[bB]|i)?|[bB])?|{number}\s*%|all|({number}\s*[x×*]\s*)?({names}))"
    step = rf"(\s+step\s+{number}\w*|\s*[x×*]\s*{number})?"
    return {
        "type": "string",
        "pattern": rf"^\s*{term}(\s*\.\.\s*{term}{step})?\s*$",
        "description": "a number, a range (1..8, 1..64 x2), a share (25%, all), or the machine's own (cores, 0.5 x L2)",
    }


# --- a tool's options ---


def _options(tool: str, options: Mapping[str, Option], *, is_open: bool) -> dict[str, Schema]:
    """Return the definitions `TOOL` (options with one value each), `TOOL:axes` and `TOOL:exclude`."""
    values = {
        name: {"description": option.help, **_examples(_of_option(option)), **_value(option)}
        for name, option in options.items()
    }
    values["place"] = {"$ref": "#/$defs/place", "examples": EXAMPLES["place"]}
    inner = {name for name, option in options.items() if option.inner}
    names = {"type": ["string", "number"]}
    return {
        tool: {
            "type": "object",
            "properties": {n: _one_or_more(v) if n in inner else v for n, v in values.items()},
            "additionalProperties": {"$ref": "#/$defs/text"} if is_open else False,
        },
        f"{tool}:axes": {
            "type": "object",
            "properties": {n: _one_or_more(_one_or_more(v) if n in inner else v) for n, v in values.items()},
            "additionalProperties": {"$ref": "#/$defs/texts"} if is_open else False,
        },
        f"{tool}:exclude": {
            "type": "object",
            "properties": {
                "place": {"description": "names of places", "examples": ["remote"], **_one_or_more(names)}
            },
            **({} if is_open else {"propertyNames": {"enum": list(values)}}),
        },
    }


def _one_or_more(schema: Schema) -> Schema:
    """Return a schema for a value or a list of values; the description stays outside, where editors look for it."""
    if "$ref" in schema and not schema["$ref"].endswith("s"):
        return {**schema, "$ref": f"{schema['$ref']}s"}
    described = {k: v for k, v in schema.items() if k in ("description", "examples")}
    bare = {k: v for k, v in schema.items() if k not in described}
    return {**described, "anyOf": [bare, {"type": "array", "minItems": 1, "items": bare}]}


def _of_option(option: Option) -> list[Any]:
    """Return values of an option as an experiment writes them; of one whose words are listed none."""
    if option.examples:
        return list(option.examples)
    low = option.low or 0
    match option.kind:
        case "int" | "float":
            return [max(1, low)]
        case "seconds":
            return [max(10, low), "90s"]
        case "size":
            return ["4k", "0.5 x L2"]
        case _:
            return []


def _value(option: Option) -> Schema:
    """Return what one value of an option may be."""
    bounds: Schema = {}
    if option.low is not None:
        bounds["minimum"] = option.low
    if option.high is not None:
        bounds["maximum"] = option.high
    quantity = {"$ref": "#/$defs/quantity"}
    match option.kind:
        case "flag":
            return {"$ref": "#/$defs/flag"}
        case "int":
            return {"anyOf": [{"type": "integer", **bounds}, quantity]}
        case "float":
            return {"anyOf": [{"type": "number", **bounds}, quantity]}
        case "seconds":
            return {"anyOf": [{"type": "number", **bounds}, {"type": "string", "pattern": TIME}, quantity]}
        case "size":
            return {"anyOf": [{"type": "integer", **bounds}, quantity]}
        case "word" if option.suffix:
            more = {"type": "string", "pattern": f"^({'|'.join(option.choices)}){option.suffix}$"}
            return {"anyOf": [{"enum": list(option.choices)}, more]}
        case "word" if option.choices:
            numbers = [int(choice) for choice in option.choices if choice.isdecimal()]
            return {"enum": [*option.choices, *numbers]}
        case "mapping" if option.fields:
            keys = {
                name: {"description": own.help, **(_value(own) if own.choices else {"type": "string"})}
                for name, own in option.fields.items()
            }
            each = {"type": "object", "properties": keys, "additionalProperties": False}
            return {"type": "object", "minProperties": 1, "additionalProperties": each}
        case "mapping":
            return {"type": "object"}
        case _:
            return {"$ref": "#/$defs/text"}


def _parts(tool: str) -> Schema:
    """Return what the parts of a sweep may hold, given its tool."""
    return {
        "fixed": {"$ref": f"#/$defs/{tool}"},
        "matrix": {"$ref": f"#/$defs/{tool}:axes"},
        "zip": {"$ref": f"#/$defs/{tool}:axes"},
        "include": {"items": {"$ref": f"#/$defs/{tool}"}},
        "exclude": {"items": {"$ref": f"#/$defs/{tool}:exclude"}},
    }


def _if_tool(tool: str, properties: Schema) -> Schema:
    return {
        "if": {"required": ["tool"], "properties": {"tool": {"const": tool}}},
        "then": {"properties": properties},
    }


def _sweeps_of(tool: str) -> Schema:
    """Return what holds for the sweeps of a file with this tool at its head, if they name none of their own."""
    return {"items": {"if": {"not": {"required": ["tool"]}}, "then": {"properties": _parts(tool)}}}
