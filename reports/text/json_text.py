r"""Convert values to JSON for all program-readable output. Pure.

Numbers are in base units, as in every frame. A missing number (nan, an infinity) is null. Characters that a terminal
would obey (control characters, bidirectional marks, half surrogates) become \uXXXX.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Set
from typing import Any, Final

_OBEYED: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that `reports.text.plain` replaces and `json` does not escape."""


def json_text(value: Any) -> str:  # noqa: ANN401 (anything JSON holds)
    """Return a document as JSON in many lines, with a line end."""
    return _escaped(json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False)) + "\n"


def json_line(value: Any) -> str:  # noqa: ANN401
    """Return a document as one line of ASCII JSON (newline-delimited JSON), with a line end."""
    text = json.dumps(_plain(value), separators=(",", ":"), allow_nan=False)
    return _escaped(text) + "\n"


def _escaped(text: str) -> str:
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Return a JSON value: numpy's numbers as Python numbers, sets sorted, other objects as text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Set):
        return sorted((_plain(item) for item in value), key=str)
    return _plain(value.item()) if hasattr(value, "item") else str(value)
