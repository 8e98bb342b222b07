"""A number and the name under which every command compares, exports and shows the number. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self, overload

from parsers.measurement import Direction, Measurement, Metric, Scalar
from reports.numbers.formulas import Bucket
from reports.text import format as fmt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Part = tuple[tuple[str, Scalar], ...]
"""Labels that distinguish a number within a run: (("kernel", "triad"),), (("traffic", "read"), ("delay", 100))."""

Buckets = tuple[Bucket, ...]


class Bins(Sequence[Bucket]):
    """Buckets as three arrays. A `Bucket` is made on demand, because a file may hold 100 000 distributions."""

    __slots__ = ("high", "low", "n")

    def __init__(self, low: NDArray[np.float64], high: NDArray[np.float64], n: NDArray[np.int64]) -> None:
        self.low, self.high, self.n = low, high, n  # (buckets,) each

    def __len__(self) -> int:
        return len(self.n)

    def __iter__(self) -> Iterator[Bucket]:
        return map(Bucket, self.low.tolist(), self.high.tolist(), self.n.tolist())

    @overload
    def __getitem__(self, index: int) -> Bucket: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Bucket]: ...
    def __getitem__(self, index: int | slice) -> Bucket | Sequence[Bucket]:
        return tuple(self)[index]


_FIRST: Final = ("kernel", "benchmark", "direction", "target", "op", "test", "operation")
"""Labels before the metric in a title, written as plain values."""

_FROM_TO: Final = re.compile(r"(from \S+), to ")

SIZE: Final = "message_size"
"""The label over which the numbers of one run are a curve."""

_ROWS: Final = (SIZE, "delay")
"""Labels of the rows of such a curve. A check may flag a single row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """The identity of a number within a run.

    Numbers with the same name measure the same quantity. Numbers of another unit or direction are never compared.
    """

    metric: str  # "bandwidth", "latency"
    unit: str  # a base unit
    better: Direction
    statistic: str = ""  # statistic within one run: "p99", "mean"; "": the run has one value
    kind: str = ""  # benchmark, if the tool has several: "latency matrix", "PingPong"
    part: Part = ()
    derived: bool = False  # computed from a curve, not read
    unsaid: Part = field(default=(), compare=False)  # labels of `part` that go without saying
    made_of: str = field(default="", compare=False)  # the underlying metric, if different from `metric`

    @property
    def tells_of(self) -> str:
        """Return the metric whose flags apply to this number, as `results.convicted` writes the metric.

        Examples are "bandwidth", "latency/p99", "PingPong/time/8" (a message size) and "latency/50" (an injection
        delay). The result is "" for a number with several metrics. The metric of `family` covers all rows of a table.
        """
        metric = f"{self.metric}/{self.statistic}" if self.statistic else self.metric
        metric_id = self.made_of if self.made_of or self.derived else metric
        row = next((value for label, value in self.part if label in _ROWS), None)
        return metric_id if row is None or not metric_id else f"{metric_id}/{row}"

    @property
    def quantity(self) -> str:
        """Return metric and statistic, such as "latency p99"."""
        return f"{self.metric} {self.statistic}" if self.statistic else self.metric

    @property
    def family(self) -> Name:
        """The name that all rows of a table share."""
        return replace(self, part=())

    @property
    def title(self) -> str:
        """Return the title that all rows of a table share, such as "triad bandwidth", "read latency p99" or "latency
        matrix".
        """
        quantity = self.quantity.replace("_", " ")
        # an idle latency is a latency
        is_named = self.kind.endswith(f" {quantity}") or self.kind == f"{quantity} matrix"
        labels = dict(self.part)
        first = [str(labels[label]) for label in _FIRST if label in labels]
        if labels.get("target") == "null":  # poke: an empty access
            first = ["empty access"]
        return " ".join(filter(None, (*first, self.kind, "" if is_named else quantity)))

    @property
    def row(self) -> str:
        """Return the label of the row, such as "4 processes, 8 B" or "from 0 to 1". The label is "" if the run has a
        single row.
        """
        text = ", ".join(
            _label(label, value)
            for label, value in self.part
            if label not in _FIRST and (label, value) not in self.unsaid
        )
        return _FROM_TO.sub(r"\1 to ", text)

    @property
    def words(self) -> str:
        """Return the name for tables, charts and files, such as "triad bandwidth" or "PingPong time at 8 B"."""
        if not self.row:
            return self.title
        if "statistic" in dict(self.part):
            return f"{self.title}, {self.row}"
        return f"{self.title} {'' if self.row.startswith('from ') else 'at '}{self.row}"

    @property
    def said_unit(self) -> str:
        """Return the unit for readers: "IOPS" for fio's operations per second, "" for a plain number."""
        if self.unit == "1/s" and "IOPS" in self.metric:
            return "IOPS"
        return "" if self.unit == "1" else self.unit

    def fields(self) -> dict[str, Any]:
        """Return the name as a dictionary for JSON, with the labels unchanged."""
        return {
            "metric": self.metric, "statistic": self.statistic or None, "unit": self.unit, "better": self.better,
            "kind": self.kind or None, "labels": dict(self.part), "derived": self.derived,
        }  # fmt: skip


def _label(label: str, value: Scalar) -> str:
    """Return a label and a value as text, such as "8 B", "4 processes" or "delay 100"."""
    if label == SIZE and isinstance(value, int | float):
        return _size(value)
    if label == "statistic":  # of poke's time per byte
        return "written in order" if value == "sequential" else str(value)
    if label == "nprocs" and isinstance(value, int):
        return fmt.plural(value, "process", "processes")
    return f"{label.replace('_', ' ')} {value}"


def _size(value: float) -> str:
    """Return a size without rounding: 4096 is "4 KiB", 4097 is "4097 B"."""
    exact = value % fmt.scale_for([value], "B").factor == 0
    return fmt.size(value) if exact else f"{value} B"


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number of one run, or of the runs of one repeat (`curve_numbers`)."""

    name: Name
    value: float  # in the name's unit
    step: float | None = None  # last printed digit or bin width, in the unit; None if unknown

    @classmethod
    def read(cls, row: Measurement, metric: Metric, part: Part, step: float | None, *, kind: str = "") -> Self:
        """Return a measurement as the program printed the value, with the last printed digit."""
        name = Name(metric=row.metric, unit=row.unit, better=metric.better, kind=kind, part=part)
        return cls(name=name, value=row.value, step=step)

    @classmethod
    def derived(
        cls,
        metric: str,
        unit: str,
        better: Direction,
        value: float,
        part: Part,
        step: float | None = None,
        *,
        unsaid: Part = (),
        made_of: str = "",
    ) -> Self:
        """Return a number that is derived from a curve."""
        return cls(
            name=Name(
                metric=metric,
                unit=unit,
                better=better,
                part=part,
                derived=True,
                unsaid=unsaid,
                made_of=made_of,
            ),
            value=value,
            step=step,
        )

    @property
    def resolution(self) -> float:
        """Return ρ, the last printed digit ÷ the value. IMB's `0.19` µs gives 0.053. Unknown digits give 0."""
        return resolution(self.value, self.step)

    def printed_to(self, step: float | None) -> Number:
        """Return the number with this last digit."""
        return replace(self, step=step)


def resolution(value: float, step: float | None) -> float:
    """Return the last printed digit ÷ the value. An unknown digit gives 0."""
    return step / abs(value) if step and value else 0.0


def part_of(row: Measurement, *labels: str) -> Part:
    """Return the labels of a row that are in `labels`, in the order of `labels`."""
    return tuple((label, value) for label in labels if (value := row.get(label)) is not None)
