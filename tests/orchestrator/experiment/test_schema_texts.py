"""What an editor shows for each key of an experiment: a description, and examples that the schema itself takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from orchestrator.experiment.load import parse_experiment
from orchestrator.experiment.schema import json_schema
from orchestrator.experiment.yaml_nodes import ExperimentError, Mistake
from orchestrator.tools import get_tool, tool_names

SCHEMA = json_schema()


def keys(schema: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Give each key that an experiment may have, with its schema."""
    for name, one in schema.get("properties", {}).items():
        yield f"{where}.{name}", one
        yield from keys(one, f"{where}.{name}")
        for alternative in one.get("anyOf", ()):
            yield from keys(alternative, f"{where}.{name}")


EVERY = [pair for part, one in (("", SCHEMA), *SCHEMA["$defs"].items()) for pair in keys(one, part)]


def test_every_key_is_described() -> None:
    assert [name for name, one in EVERY if "description" not in one and "$ref" not in one] == []


def test_every_example_is_one() -> None:
    wrong = [
        (name, example)
        for name, one in EVERY
        for example in one.get("examples", ())
        if not jsonschema.Draft202012Validator({**one, "$defs": SCHEMA["$defs"]}).is_valid(example)
    ]
    assert wrong == []


def test_every_option_has_an_example_or_its_words() -> None:
    without = {
        f"{tool}.{name}"
        for tool in tool_names()
        for name, one in SCHEMA["$defs"][tool]["properties"].items()
        if not (one.get("examples") or "enum" in str(one) or "#/$defs/flag" in str(one))
    }
    assert without == set()


OF_OTHERS = ("belongs to ", "lies outside the scratch file")
"""How a value is refused that goes with other options."""


@pytest.mark.parametrize("tool", tool_names())
def test_an_experiment_takes_every_example(tool: str) -> None:
    needed = {
        name: option.examples[0] if option.examples else option.choices[0]
        for name, option in get_tool(tool).options().items() if option.required
    }  # fmt: skip
    refused = [
        mistake
        for name, one in SCHEMA["$defs"][tool]["properties"].items()
        for example in one.get("examples", ())
        for mistake in mistakes(tool, {**needed, name: example})
    ]
    assert [str(one) for one in refused if not one.what.startswith(OF_OTHERS)] == []


def mistakes(tool: str, fixed: dict[str, Any]) -> tuple[Mistake, ...]:
    axis = "matrix: {bits: [128]}\n" if "{bits}" in str(fixed.get("command")) else ""
    try:
        parse_experiment(f"schema: 1\ntool: {tool}\nfixed: {json.dumps(fixed)}\n{axis}", "e.yaml")
    except ExperimentError as error:
        return error.mistakes
    return ()
