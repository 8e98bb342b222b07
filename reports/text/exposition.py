"""Format metric families for OpenMetrics scrapers and node_exporter's textfile collector.

Only gauges without timestamps are used, because the textfile collector refuses other types and timestamps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A metric family with all samples."""

    name: str
    text: str
    samples: Mapping[Labels, float]
    unit: str = ""  # the end of the name; "" for a plain number


def exposition(families: Iterable[Family]) -> str:
    """Return metric families as one text that ends with `# EOF`. Families without samples are left out."""
    from prometheus_client.core import GaugeMetricFamily
    from prometheus_client.openmetrics.exposition import generate_latest

    gauges = []
    for family in families:
        gauge = GaugeMetricFamily(family.name, family.text, unit=family.unit)
        for labels, value in family.samples.items():
            # UTF-8 has no lone surrogates; 2.04e-07, not 2.0400000000000002e-07
            texts = {name: text.encode("utf-8", "replace").decode() for name, text in labels}
            gauge.add_sample(family.name, texts, float(f"{value:.12g}"))
        gauges += [gauge] if family.samples else []
    return str(generate_latest(SimpleNamespace(collect=lambda: gauges)).decode())


def fit(name: str) -> str:
    """Return a name of letters, digits and underscores that does not begin with a digit."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{plain}" if plain[:1].isdigit() else plain
