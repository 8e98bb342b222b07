"""Define MLC's vocabulary: sections, kinds of traffic, and options of the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

SECTIONS: Final = (
    "idle_latency", "latency_matrix", "cpu_latency_matrix", "peak_injection_bandwidth", "max_bandwidth", "bandwidth_matrix",
    "loaded_latency", "c2c_latency",
)  # fmt: skip
"""cpu_latency_matrix: --latency_matrix -a, with one row per CPU."""

_TYPES: Final = (  # MLC's -W (usage texts of v3.10 and v3.11b, which agree), the canonical word, its text for people
    (None, "read", "reads only"),
    (2, "2:1", "2:1 read-write"),
    (3, "3:1", "3:1 read-write"),
    (4, "3:2", "3:2 read-write"),
    (5, "1:1", "1:1 read-write"),
    (6, "write nt", "non-temporal writes only"),
    (7, "2:1 nt", "2:1 read-non-temporal write"),
    (8, "1:1 nt", "1:1 read-non-temporal write"),
    (9, "3:1 nt", "3:1 read-non-temporal write"),
    (None, "triad", "Stream-triad like"),
    (10, "triad nt", "2:1 read-non-temporal write, triad-like (the two reads from two buffers)"),
    (11, "triad rfo", "3:1 read-write, triad-like (the two reads from two buffers)"),
    (12, "4:1", "4:1 read-write"),
    (21, "read 2 streams", "reads only, 2 address streams"),
    (23, "3:1 2 streams", "3:1 read-write, 2 address streams"),
    (27, "2:1 nt 2 streams", "2:1 read-non-temporal write, 2 address streams"),
)
TRAFFIC: Final = {number: word for number, word, _ in _TYPES if number is not None}
TRAFFIC_TEXT: Final = {word: text for _, word, text in _TYPES}
"""Canonical traffic → text for people. An unknown type is shown as typed: "W13"."""

DEFAULT_DELAYS: Final = (
    *(0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700),
    *(1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000),
)
"""The delays of a loaded-latency run that was given neither -d nor -g."""

_MIX = re.compile(r"(\d+:\d+) read-(?:(non-?\s?temporal )?)write( stream-triad like)?", re.IGNORECASE)
_VALUED: Final = frozenset("bcijkmJdgltxWDnfMoKwSCEGpsq")


def traffic_of(options: Mapping[str, Any]) -> str | None:
    """Return the canonical traffic of -W n or -R in options: {"W": 9} is "3:1 nt", {"W": "R"} is "read". Else None."""
    kind = str(options.get("W", "")).strip().lstrip("-").removeprefix("W").strip()
    if is_index(kind):
        return TRAFFIC.get(int(kind), f"W{int(kind)}")
    if kind.upper() == "R" or ("R" in options and options["R"] is not False and not kind):
        return "read"
    return kind if kind in TRAFFIC_TEXT else None


def traffic_word(text: str) -> str:
    """Return the canonical traffic of the line "Using … traffic type". An unknown traffic is returned unchanged."""
    if text.lower() in ("read-only", "read only"):
        return "read"
    match = _MIX.fullmatch(text)
    if not match:
        return text.lower()
    ratio, streams, triad = match.groups()
    if triad:
        return "triad nt" if streams else "triad rfo"
    if ratio == "0:1":
        return "write nt" if streams else "write"
    return f"{ratio} nt" if streams else ratio


def command_options(command: str) -> dict[str, str]:
    """Return the options of an MLC command line: `--mode -W9 -l64 -X` is {"--mode": "", "W": "9", "l": "64", "X":
    ""}.
    """
    options: dict[str, str] = {}
    words = command.split()
    for i, word in enumerate(words):
        if word.startswith("--"):
            options[word] = ""
        elif len(word) > 1 and word[0] == "-" and word[1].isalpha():
            value = word[2:]
            following = words[i + 1] if i + 1 < len(words) else "-"
            if not value and word[1] in _VALUED and following[:1].isdigit():
                value = following
            options[word[1]] = value
    return options


def is_index(word: str) -> bool:
    """Return whether the word is the number of a node or CPU, a delay or a stride."""
    return word.isascii() and word.isdigit() and len(word) < 16
