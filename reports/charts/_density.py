"""A histogram on linear axes beside the normal distribution of the same mean and deviation. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

from reports.charts._tails import Distribution, bucket_tip, plural_of
from reports.draw import axes, vega
from reports.draw.figure import Panel, panel
from reports.draw.plot import height, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.numbers.formulas import Bucket
from reports.text import format as fmt

SHARES: Final = (0.999, 0.99, 0.95, 0.9)
"""Of the samples that are shown, the fastest: beyond, a linear axis has nothing but a tail."""
_MEDIANS: Final = 6
"""So many times the median of what is shown a linear axis holds: of more it is one bar beside nothing."""
_BINS: Final = 60


def share(d: Distribution) -> float | None:
    """Return the largest of SHARES of the samples that take a few times their median at most; None where none does."""
    middle = formulas.quantile(d.buckets, 0.5)
    return next((of for of in SHARES if middle and body(d, of)[-1].low <= _MEDIANS * middle), None)


def body(d: Distribution, share: float) -> list[Bucket]:
    """Return the buckets of the fastest share of the samples; the last one whole."""
    shares = itertools.accumulate(b.n for b in d.buckets)
    return [b for b, seen in zip(d.buckets, shares, strict=True) if seen - b.n < share * d.n]


def bins(buckets: Sequence[Bucket], count: int = _BINS, *, finest: float = 0.0) -> list[Bucket]:
    """Return the samples in so many bins of one width, none narrower than a bucket or than `finest`, the step of the clock (ns): a bucket
    gives to each bin as much as lies in it."""
    low, high = buckets[0].low, buckets[-1].high
    if not high > low:  # all samples are one number
        return [Bucket(low, high, sum(b.n for b in buckets))]
    width = max((high - low) / count, finest, *(b.high - b.low for b in buckets))
    counts = [0.0] * max(1, math.ceil((high - low) / width - 1e-9))
    for b in buckets:
        first = int((b.low - low) / width)
        for i in range(first, min(len(counts), int((b.high - low) / width) + 1)):
            inside = min(b.high, low + (i + 1) * width) - max(b.low, low + i * width)
            counts[i] += b.n * max(0.0, inside) / (b.high - b.low) if b.high > b.low else 0.0
    return [Bucket(low + i * width, low + (i + 1) * width, round(n)) for i, n in enumerate(counts)]


def density_panel(d: Distribution, colour: str, *, noun: str = "access") -> Panel | None:
    """Draw the fastest 99.9 % on linear axes, fewer where these are far from the median, and the normal distribution of their mean and deviation; None of samples
    that hardly differ, or of which one in ten takes many times the median. colour: that of its tail."""
    if (part := share(d)) is None:
        return None
    shown = body(d, part)
    mean, deviation = formulas.moments(shown)
    own = bins(shown, finest=d.step)
    if d.n < 1000 or len(own) < 8 or deviation <= 0:
        return None
    scale = fmt.scale_to_largest([own[-1].high], "ns")
    n, width = sum(b.n for b in shown), own[0].high - own[0].low
    many = fmt.sentence(plural_of(noun))

    def normal(at: float) -> float:
        return (
            n * width / (deviation * math.sqrt(2 * math.pi)) * math.exp(-(((at - mean) / deviation) ** 2) / 2)
        )

    ends = [own[0].low + i * (own[-1].high - own[0].low) / 120 for i in range(121)]
    ends_of_x = [end / scale.factor for end in (own[0].low, own[-1].high)]
    # a shape needs room, not a zero
    x_axis = axes.around if ends_of_x[0] > ends_of_x[1] / 2 else axes.from_zero
    whole = x_axis(ends_of_x, f"{fmt.sentence(noun)} time, {scale.unit}")
    y = axes.from_zero([max(b.n for b in own), normal(mean)], f"{many} per bucket")
    bars: Rows = [
        {
            "series": d.name, "x": b.low / scale.factor, "x2": b.high / scale.factor, "y": b.n, "base": 0,
            "tip": bucket_tip(b, noun), **({"hollow": True} if d.hollow else {}),
        }
        for b in own
        if b.n
    ]  # fmt: skip
    line: Rows = [
        {"series": d.name, "x": at / scale.factor, "y": normal(at), "order": i, "segment": 0}
        for i, at in enumerate(ends)
    ]

    def build(width: int) -> Spec:
        frame = Frame(width=width, height=height(width, 360, 320), left=left_margin(y))
        series = [vega.Series(name=d.name, colour=colour)]
        return vega.fill("density", frame=frame, x=whole, y=y, series=series, data={"bars": bars, "normal": line})  # fmt: skip

    return panel(
        f"The fastest {100 * part:g} %, linear: {d.name}",
        f"{many} per bucket of {fmt.quantity(width, 'ns')}, and dashed the normal distribution of their mean, {fmt.quantity(mean, 'ns')}, and deviation, {fmt.quantity(deviation, 'ns')}.",
        build,
    )
