"""The JSON Schema for editors: it takes what the loader takes, and refuses the common mistakes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from orchestrator.experiment.expand import expand
from orchestrator.experiment.load import ExperimentError, parse_experiment
from orchestrator.experiment.quantities import QuantityError, parse
from orchestrator.experiment.schema import QUANTITY, json_schema
from orchestrator.machine.descriptions import topology_from_text
from orchestrator.tools import get_tool, tool_names

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs" / "experiments.md"
FENCE = re.compile(r"^```(yaml|yaml broken|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(match[1], match[2]) for match in FENCE.finditer(DOCS.read_text("utf-8"))]


def whole(text: str) -> str:
    return text if "schema: 1" in text else f"schema: 1\n{text}"


EXAMPLES = {f"docs {n}": whole(text) for n, (kind, text) in enumerate(BLOCKS, 1) if kind == "yaml"}
SHIPPED = {path.name: path.read_text("utf-8") for path in sorted((ROOT / "experiments").glob("*.yaml"))}
FILES = {**EXAMPLES, **SHIPPED, "auto": "schema: 1\ntool: stream\nrepeats: auto"}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json_schema()


@pytest.fixture(scope="module")
def validator(schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema)


def test_it_is_a_schema(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_file_that_editors_use_is_the_present_one(schema: dict[str, Any]) -> None:
    """After a change: `pinsweep schema > docs/experiment.schema.json`."""
    assert json.loads((ROOT / "docs" / "experiment.schema.json").read_text("utf-8")) == schema


def keys(node: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each key that an experiment may have, with its schema."""
    for name, member in node.get("properties", {}).items():
        yield f"{where}.{name}", member
        yield from keys(member, f"{where}.{name}")


@pytest.fixture(scope="module")
def described(schema: dict[str, Any]) -> list[tuple[str, Any]]:
    parts = {name: part for name, part in schema["$defs"].items() if not name.endswith(":parts")}
    return [pair for where, part in {"": schema, **parts}.items() for pair in keys(part, where)]


def test_every_key_has_a_description_and_an_example_that_is_valid(
    schema: dict[str, Any], described: list[tuple[str, Any]]
) -> None:
    for name, key in described:
        validator = jsonschema.Draft202012Validator({**key, "$defs": schema["$defs"]})
        assert key.get("description"), name
        assert all(map(validator.is_valid, key.get("examples", ()))), name
        assert key.get("examples") or ":" in name or "enum" in str(key) or "const" in key, name


@pytest.mark.parametrize("tool", tool_names())
def test_an_experiment_takes_every_option_and_every_example(tool: str, schema: dict[str, Any]) -> None:
    options = get_tool(tool).options()
    needed = {name: [*o.examples, *o.choices][0] for name, o in options.items() if o.required}
    assert {*schema["$defs"][tool]["properties"]} == {*options, "place"}
    for name, key in schema["$defs"][tool]["properties"].items():
        for example in key.get("examples", ()):
            fixed = {**needed, name: example}
            axis = "matrix: {bits: [128]}\n" if "{bits}" in str(fixed.get("command")) else ""
            text = f"schema: 1\ntool: {tool}\nfixed: {json.dumps(fixed)}\n{axis}"
            try:
                parse_experiment(text, "e.yaml")
            except ExperimentError as error:  # it belongs to another value of another option
                assert [m for m in error.mistakes if not m.what.startswith(OF_OTHERS)] == []  # noqa: PT017


OF_OTHERS = ("belongs to ", "lies outside the scratch file")


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_it_takes_what_the_loader_takes(text: str, validator: jsonschema.Draft202012Validator) -> None:
    assert parse_experiment(text, "test.yaml").sweeps
    assert [error.message for error in validator.iter_errors(yaml.safe_load(text))] == []


@pytest.mark.parametrize(
    "text",
    ["8", "0.5", "1..8", "1..cores x2", "2..32 step 2", "25%", "all", "1..all", "0.5 x L2", "4*LLC", "4k..1M x4", "10kB",
     "eight", "coers", "1..", "..8", "1..8 step", "25 cores", "x L2", "1, 2", "10 GB", "-1", ""],
)  # fmt: skip
def test_its_pattern_of_a_quantity_is_the_parsers(text: str) -> None:
    try:
        parse(text, "pus")
    except QuantityError:
        expected = False
    else:
        expected = True

    assert bool(re.search(QUANTITY, text)) is expected


def test_the_mistakes_in_the_documentation_are_those_one_gets() -> None:
    kinds = [kind for kind, _ in BLOCKS]
    at = kinds.index("yaml broken")
    with pytest.raises(ExperimentError) as error:
        parse_experiment(BLOCKS[at][1], "lab.yaml")

    assert kinds[at + 1] == "text"
    assert error.value.lines() == BLOCKS[at + 1][1].splitlines()


@pytest.mark.parametrize(("tool", "words", "cells"), [("stream", "19 cells", 19), ("fio", "17 cells", 17)])
def test_the_documentation_counts_cells_rightly(tool: str, words: str, cells: int) -> None:
    machine = topology_from_text("pack:2 [numa] core:10 pu:1")
    found = [expand(parse_experiment(text, "x.yaml"), machine)[0] for text in EXAMPLES.values()]

    assert words in DOCS.read_text("utf-8")
    assert (tool, cells) in [(own[0].tool, len(own)) for own in found if own]


def test_the_documentation_names_every_key_and_every_tool(schema: dict[str, Any]) -> None:
    text = DOCS.read_text("utf-8")

    for word in (*schema["properties"], *tool_names(), *schema["properties"]["requires"]["properties"]):
        assert f"`{word}`" in text or f"{word}:" in text
