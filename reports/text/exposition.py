"""Metric families as the text that OpenMetrics scrapers and node_exporter's textfile collector read. Pure.

Gauges only, and no timestamps: the textfile collector refuses other types, and files with times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A metric family: all its samples stand together in the text."""

    name: str
    unit: str  # the end of the name; "" for a plain number
    text: str
    samples: tuple[tuple[Labels, float], ...]


def exposition(families: Iterable[Family]) -> str:
    """Return metric families as one text, `# EOF` included; those without samples are left out."""
    return "".join(map(_family_text, families)) + "# EOF\n"


def _family_text(family: Family) -> str:
    if not family.samples:
        return ""
    head = [f"# HELP {family.name} {escaped(family.text)}", f"# TYPE {family.name} gauge"]
    if family.unit:
        head.append(f"# UNIT {family.name} {family.unit}")
    return "".join(f"{line}\n" for line in [*head, *_samples(family.name, family.samples)])


def _samples(name: str, samples: Sequence[tuple[Labels, float]]) -> Iterable[str]:
    for labels, value in samples:
        inside = ",".join(f'{key}="{escaped(text)}"' for key, text in labels)
        yield f"{name}{{{inside}}} {value:.12g}"  # 2.04e-07, not 2.0400000000000002e-07


def escaped(text: str) -> str:
    r"""Escape \, " and line ends; lone surrogates, which UTF-8 does not have, are replaced."""
    plain = text.encode("utf-8", "replace").decode("utf-8")
    return plain.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def fit(name: str) -> str:
    """Return a name of letters, digits and underscores that begins with no digit."""
    found = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{found}" if found[:1].isdigit() else found
