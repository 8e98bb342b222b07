"""Quantiles of one run's latency distribution. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from reports.numbers import formulas
from reports.numbers.formulas import Bucket
from reports.numbers.model import Name, Number, Part

QUANTILES: Final = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999))
"""Given where at least ten samples lie beyond (`formulas.quantile`)."""


def latency(part: Part, statistic: str = "", metric: str = "latency") -> Name:
    return Name(metric=metric, statistic=statistic, unit="ns", better="lower", part=part)


def quantile(statistic: str, value: float, part: Part, step: float | None, metric: str = "latency") -> Number:
    return Number(name=latency(part, statistic, metric), value=value, step=step)


def quantiles(part: Part, buckets: Sequence[Bucket], least: float = 0.0, metric: str = "latency") -> Iterator[Number]:
    """Yield the QUANTILES of a distribution. The step is the width of the bin, and at least `least`."""
    values = formulas.quantiles(buckets, [share for _, share in QUANTILES])
    for (statistic, _), value in zip(QUANTILES, values, strict=True):
        if value is not None and value > 0:
            bucket = next((b for b in buckets if b.low <= value < b.high), None)
            step = max(bucket.high - bucket.low if bucket else 0.0, least)
            yield quantile(statistic, value, part, step or None, metric)
