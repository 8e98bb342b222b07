"""A number and its name: the one by which compare, fleet, history, export and OpenMetrics know and say it. Pure."""

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
"""What tells a number from the others of its run: (("kernel", "triad"),), (("traffic", "read"), ("delay", 100))."""

Buckets = tuple[Bucket, ...]


class Bins(Sequence[Bucket]):
    """Buckets by their columns: of those of a hundred thousand runs no value each is made unless somebody asks."""

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
"""Labels that stand before the metric, their values alone."""

_FROM_TO: Final = re.compile(r"(from \S+), to ")

SIZE: Final = "message_size"
"""The label over which the numbers of one run are a curve."""

_ROWS: Final = (SIZE, "delay")
"""Labels of the rows of such a curve, of which a check may doubt one alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """What a number is, wherever and whenever it was measured: its whole identity within a run.

    Two numbers of one name are of one quantity; of another unit or direction they are of another, and never compared.
    """

    metric: str  # "bandwidth", "latency"
    unit: str  # a base unit
    better: Direction
    statistic: str = ""  # of the metric, within one run: "p99", "mean"; "": the run has one value
    kind: str = ""  # which of the tool's benchmarks, where it has several: "latency matrix", "PingPong"
    part: Part = ()
    derived: bool = False  # computed from a curve, not read
    unsaid: Part = field(default=(), compare=False)  # labels of `part` that go without saying
    made_of: str = field(default="", compare=False)  # what it tells of, where that is not its metric

    @property
    def tells_of(self) -> str:
        """The metric of which a doubt is one of this number, too, as in `results.convicted`: "bandwidth", "latency/p99", of a message size
        "PingPong/time/8", of an injection delay "latency/50"; "" of several. That of its `family` is the metric at all sizes."""
        metric = f"{self.metric}/{self.statistic}" if self.statistic else self.metric
        told = self.made_of if self.made_of or self.derived else metric
        row = next((value for label, value in self.part if label in _ROWS), None)
        return told if row is None or not told else f"{told}/{row}"

    @property
    def quantity(self) -> str:
        """Metric and statistic: "latency p99"."""
        return f"{self.metric} {self.statistic}" if self.statistic else self.metric

    @property
    def family(self) -> Name:
        """The name that all rows of a table share."""
        return replace(self, part=())

    @property
    def title(self) -> str:
        """What all rows of a table are: "triad bandwidth", "read latency p99", "PingPong time", "latency matrix"."""
        quantity = self.quantity.replace("_", " ")
        # an idle latency is a latency
        said = self.kind.endswith(f" {quantity}") or self.kind == f"{quantity} matrix"
        labels = dict(self.part)
        first = [str(labels[label]) for label in _FIRST if label in labels]
        if labels.get("target") == "null":  # poke: an empty access
            first = ["empty access"]
        return " ".join(filter(None, (*first, self.kind, "" if said else quantity)))

    @property
    def row(self) -> str:
        """Which row of the table: "4 processes, 8 B", "traffic 2:1, delay 100", "from 0 to 1"; "" where the run has one."""
        said = ", ".join(
            _label(label, value)
            for label, value in self.part
            if label not in _FIRST and (label, value) not in self.unsaid
        )
        return _FROM_TO.sub(r"\1 to ", said)

    @property
    def words(self) -> str:
        """The name as every table, chart and file says it: "triad bandwidth", "PingPong time at 8 B"."""
        if not self.row:
            return self.title
        if "statistic" in dict(self.part):
            return f"{self.title}, {self.row}"
        return f"{self.title} {'' if self.row.startswith('from ') else 'at '}{self.row}"

    @property
    def said_unit(self) -> str:
        """The unit as people call it: "IOPS" of fio's operations per second, nothing of a plain number."""
        if self.unit == "1/s" and "IOPS" in self.metric:
            return "IOPS"
        return "" if self.unit == "1" else self.unit

    def fields(self) -> dict[str, Any]:
        """Return the name for programs, ready for JSON; the labels as they are."""
        return {
            "metric": self.metric, "statistic": self.statistic or None, "unit": self.unit, "better": self.better,
            "kind": self.kind or None, "labels": dict(self.part), "derived": self.derived,
        }  # fmt: skip


def _label(label: str, value: Scalar) -> str:
    """Return a label and its value in words: "8 B", "4 processes", "delay 100"."""
    if label == SIZE and isinstance(value, int | float):
        return _size(value)
    if label == "statistic":  # of poke's time per byte
        return "written in order" if value == "sequential" else str(value)
    if label == "nprocs" and isinstance(value, int):
        return fmt.plural(value, "process", "processes")
    return f"{label.replace('_', ' ')} {value}"


def _size(value: float) -> str:
    """`_size(4096)` is "4 KiB", `_size(4097)` is "4097 B": sizes are told apart to the byte."""
    exact = value % fmt.scale_for([value], "B").factor == 0
    return fmt.size(value) if exact else f"{value} B"


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One number of one run, or of the runs of one repeat (`curve_numbers`)."""

    name: Name
    value: float  # in the name's unit
    step: float | None = None  # the last printed digit, or the width of its bin, in the unit; None: not known

    @classmethod
    def read(
        cls, row: Measurement, metric: Metric, part: Part, step: float | None, *, kind: str = ""
    ) -> Self:
        """Return a measurement as it was printed, with the last digit that its program prints."""
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
        """Return what a curve offers."""
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
        """ρ, the last digit through the value: IMB's `0.19` µs gives 0.053. 0 where it is not known."""
        return resolution(self.value, self.step)

    def printed_to(self, step: float | None) -> Number:
        """Return the number with this last digit."""
        return replace(self, step=step)


def resolution(value: float, step: float | None) -> float:
    """Return the last digit through the value; 0 where it is not known."""
    return step / abs(value) if step and value else 0.0


def part_of(row: Measurement, *labels: str) -> Part:
    """Return those of the labels that a row has, in this order."""
    return tuple((label, value) for label in labels if (value := row.get(label)) is not None)
