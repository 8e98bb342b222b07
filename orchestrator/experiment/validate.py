"""Check a YAML document against a JSON Schema, and describe each mistake with line and column. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from orchestrator.experiment.quantities import QuantityError
from orchestrator.experiment.yaml_nodes import Document, Path, shown
from parsers.errors import list_hint, nearest

Formats = Mapping[str, Callable[[str], object]]
"""`format` of a schema → what reads such a text. It raises QuantityError, with a hint."""

MAX_LISTED: Final = 20
"""Names in a hint."""


def validate(
    document: Document,
    schema: Mapping[str, Any],
    formats: Formats,
    *,
    data: Any = None,  # noqa: ANN401
    path: Path = (),
    describe: Callable[[Path, str, Any], str] = lambda *_: "",
) -> None:
    """Add the mistakes in `document`, or in its part `data` at `path`, to the document.

    `describe` returns a better hint for a path, the violated schema keyword and the value, or "".
    """
    import jsonschema

    checker = jsonschema.FormatChecker(formats=())
    for name, parse in formats.items():
        checker.checks(name, raises=QuantityError)(_reader(parse))
    kind = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": _check_pattern})  # type: ignore[no-untyped-call]
    for error in kind(schema, format_checker=checker).iter_errors(data if path else document.data):
        for inner, what, hint in _mistakes(error):
            at = (*path, *inner)
            is_key = error.validator in ("additionalProperties", "not")
            if isinstance(error.instance, bool):
                hint = f'if the text is meant: "{shown(error.instance)}"'
            hint = describe(at, error.validator, error.instance) or hint
            document.wrong(at, what, hint, document.keys[at] if is_key else None)


def _check_pattern(validator: Any, pattern: str, text: Any, schema: Mapping[str, Any]) -> Iterator[Any]:  # noqa: ANN401
    """Check a pattern, unless a `format` reads the text: such a pattern is for editors, and slow on long texts."""
    if "format" not in schema:
        import jsonschema

        yield from jsonschema.Draft202012Validator.VALIDATORS["pattern"](validator, pattern, text, schema)


def _reader(parse: Callable[[str], object]) -> Callable[[object], bool]:
    def is_right(value: object) -> bool:
        if isinstance(value, str):
            parse(value)
        return True

    return is_right


def _mistakes(error: Any) -> Iterator[tuple[Path, str, str]]:  # noqa: ANN401
    """Yield (path, cause, hint) for one ValidationError."""
    path, value, limit, schema = (*error.absolute_path,), error.instance, error.validator_value, error.schema
    about = schema.get("description", "")
    match error.validator:
        case "additionalProperties":
            known, patterns = [*schema["properties"]], "|".join(schema.get("patternProperties", ["(?!)"]))
            listed = f"known here: {', '.join(known)}" if len(known) <= MAX_LISTED else ""
            for name in value:
                if name not in known and not re.search(patterns, name):
                    yield (*path, name), "unknown key", nearest(name, known) or listed
        case "required":
            for name in limit:
                if name not in value:
                    property_schema = schema.get("properties", {}).get(name, {})
                    yield (*path, name), "is missing", property_schema.get("description", "")
        case "type":
            yield path, f"expected {_type(limit, value)}, got {shown(value)}", about
        case "enum" | "const":
            choices = [shown(c).strip("'") for c in (limit if error.validator == "enum" else [limit])]
            words = re.split(r"[\s/,;|]+", str(value))
            is_list = len(words) > 1 and {*words} <= {*choices}
            hint = f"a list has brackets: [{', '.join(words)}]" if is_list else nearest(str(value), choices)
            yield path, f"{shown(value)} is not one of {', '.join(choices)}", hint or about
        case "format":
            yield path, error.cause.what, error.cause.hint or about
        case "anyOf":
            names = " or ".join(f"`{name}`" for option in limit for name in option.get("required", ()))
            yield path, f"has no {names}", about
        case keyword:
            hint = list_hint(str(value)) if keyword == "pattern" else ""
            yield path, _SIMPLE[keyword].format(value=shown(value), limit=limit), hint or about


_SIMPLE: Final = {
    "minimum": "{value} is less than {limit}",
    "exclusiveMinimum": "{value} is not more than {limit}",
    "maximum": "{value} is more than {limit}",
    "minItems": "is empty",
    "minProperties": "is empty",
    "minLength": "is empty",
    "pattern": "{value} is not valid here",
    "not": "is not allowed here",
}
"""Keyword → description of the mistake."""


def _type(names: str | list[str], value: object) -> str:
    """Return the name of the expected types `names` for a message about `value`."""
    words = {
        "object": "`key: value` lines",
        "array": "a list",
        "string": "a text",
        "boolean": "true or false",
    }
    words |= {"integer": "a whole number", "number": "a number"}
    names = [names] if isinstance(names, str) else names
    if isinstance(value, list | dict) and "string" in names:
        return "one value"
    return " or ".join(words[name] for name in names)
