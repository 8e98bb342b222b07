"""poke: quantiles of the time per access, per byte, per loop turn and for all files, with charts and checks.

poke prints some quantiles of the samples. Any other quantile is the middle of its bucket, with an error of at most 1 %.
The time per turn is the median sample ÷ the turns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from parsers import poke
from parsers.measurement import Parsed, number, whole
from parsers.units import size_bytes
from reports.chart import Band, Chart
from reports.checks import Fault
from reports.checks._cells import QUOTE_THE_TAIL, braced, from_table, wide
from reports.numbers._quantiles import QUANTILES, latency, quantile, quantiles
from reports.numbers.clock import step as values_apart
from reports.numbers.formulas import Bucket
from reports.numbers.model import Buckets, Name, Number, Part
from reports.numbers.repeats import Repeats
from reports.results.model import Results, Run
from reports.text import format as fmt
from reports.tools import _distributions
from reports.tools.base import Key, Tool

if TYPE_CHECKING:
    import pandas as pd

K = TypeVar("K", bound=Hashable)


# --- what poke prints --------------------------------------------------------------------------------------


class Time(NamedTuple):
    """One printed time: per access, per byte, per loop turn, per timer call, or the total."""

    metric: str  # parsers.poke.METRICS
    target: str | None  # accessed target: "memory", "file", "null"; None for the timer
    op: str | None  # "read", "write+fence"
    statistic: str | None  # "mean", "max", "p99.9", "first touch"
    value: float  # ns; per byte ns/B


def times(source: Run | Parsed) -> tuple[Time, ...]:
    """Return every time, in the order of the text."""
    parsed = source if isinstance(source, Parsed) else source.parsed
    return parsed.once(_times) if parsed else ()


def _times(parsed: Parsed) -> tuple[Time, ...]:
    def text(value: object) -> str | None:
        return None if value is None else str(value)

    return tuple(
        Time(m.metric, text(m.get("target")), text(m.get("op")), text(m.get("statistic")), m.value)
        for m in parsed.measured()
    )


def first(source: Run | Parsed, metric: str) -> float | None:
    """Return the first time of a metric, or None if the metric is missing."""
    return next((time.value for time in times(source) if time.metric == metric), None)


def latencies(source: Run | Parsed) -> Mapping[Part, Mapping[str, float]]:
    """Return the printed latency statistics of each operation: "p50", "p99.9", "mean", "sd", "max" (ns). A median
    needs 20 samples.
    """
    parsed = source if isinstance(source, Parsed) else source.parsed
    return parsed.once(_latencies) if parsed else {}


def _latencies(parsed: Parsed) -> Mapping[Part, Mapping[str, float]]:
    out: dict[Part, dict[str, float]] = {}
    for time in times(parsed):
        if time.metric == "latency" and time.statistic:
            values = out.setdefault(_part(time), {})
            several = time.statistic == "max" and "max" in values  # documents of one target
            values[time.statistic] = max(values["max"], time.value) if several else time.value
    return out


def _part(time: Time) -> Part:
    return (("target", time.target), ("op", time.op))


def turns_of(source: Run | Parsed) -> dict[Part, int]:
    """Return the turns per sample of each loop: the mean sample ÷ the mean turn."""
    means = {part: values.get("mean") for part, values in latencies(source).items()}
    turns = [time for time in times(source) if time.metric == "time_per_iteration" and time.value]
    return {_part(time): max(1, round(mean / time.value)) for time in turns if (mean := means.get(_part(time)))}


def _bins(parsed: Parsed) -> dict[Part, Buckets]:
    """Return the histogram of each operation that has samples."""
    out: dict[Part, list[Bucket]] = {}
    rows = parsed.tables["histogram"].rows if "histogram" in parsed.tables else ()
    for target, op, low, high, count in rows:
        part: Part = (("target", str(target)), ("op", str(op)))
        out.setdefault(part, []).append(Bucket(number(low), number(high), int(number(count))))
    return {part: tuple(buckets) for part, buckets in out.items() if any(bucket.n for bucket in buckets)}


def _binned_quantiles(parsed: Parsed) -> dict[Part, dict[str, tuple[float, float | None]]]:
    """Return the binned quantiles of each operation: statistic → value and step (ns)."""
    least = first(parsed, "timer_resolution") or 0.0
    return {
        part: {n.name.statistic: (n.value, n.step) for n in quantiles((), values, least)}
        for part, values in _bins(parsed).items()
    }


# --- charts ------------------------------------------------------------------------------------------------

_TOTALS: Final = {
    "time_per_byte": "Time per byte", "time_per_iteration": "Time per turn of a loop", "total_time": "Time of all files together",
}  # fmt: skip
_MOMENTS: Final = ("mean", "sd")
_UNSAID: Final = ("read", "none", "None")
"""Operations that a name does not say."""

_LOOPS: Final = {"empty": "empty loop", "muladd": "multiply-add", "sine": "sine"}


def _name(run: Run, target: str, op: str) -> str:
    """Return "memory, 1 GB", "file, 1 MB, direct, write", "files, 1000 of 10 kB, write", "sine, 100 000 turns", "empty access"."""
    if target == "null":
        return "empty access"
    if target == "compute":
        turns = turns_of(run).get((("target", target), ("op", op)))
        return ", ".join([_LOOPS.get(op, op), *([fmt.plural(turns, "turn")] if turns else [])])
    options, parts = run.options, [target]
    if target == "files" and options.get("files"):
        size = options.get("file_size")
        parts.append(f"{options['files']}{f' of {fmt.size(size_bytes(str(size)))}' if size else ''}")
    elif options.get("bytes") is not None:
        parts.append(fmt.size(size_bytes(str(options["bytes"]))))
    if options.get("window"):
        parts.append(f"first {fmt.size(size_bytes(str(options['window'])))}")
    return ", ".join([*parts, *_way(run, op, target)])


def _way(run: Run, op: str, target: str) -> list[str]:
    """Return the differences of accesses with equal size, such as "4 KiB blocks", "direct", "write" or "remote"."""
    block = run.options.get("block") if "block" in run.cell.axes else None
    words = [f"{fmt.size(size_bytes(str(block)))} blocks"] if block else []
    words += [word for word in ("direct", "fsync") if run.options.get(word)]
    words += [op] if op not in _UNSAID or target == "files" else []
    return [*words, *([run.place] if run.place not in ("", "all", "local") else [])]


def _samples(run: Run) -> Iterator[dict[str, Any]]:
    """Give the bins of a run, and mean and standard deviation of each operation."""
    if run.parsed is None:
        return
    least = first(run, "timer_resolution") or 0.0
    reach = _reach_of(run.options) or 0.0
    for part, buckets in _bins(run.parsed).items():
        step = max(least, values_apart(buckets, least)) if least else 0.0
        yield from _distributions.bins(
            _name(run, *_texts(part)),
            buckets,
            order=reach,
            step=step,
            timer=first(run, "timer_overhead") or 0.0,
        )
    for part, values in latencies(run).items():
        for statistic in _MOMENTS:
            if values.get(statistic):
                yield {"metric": "moment", "statistic": statistic, "value": values[statistic], "unit": "ns", "access": _access(*_texts(part))}  # fmt: skip


def _texts(part: Part) -> tuple[str, str]:
    target, op = (str(value) for _, value in part)
    return target, op


def _access(target: object, op: object) -> str:
    """Return "memory", "file, write"."""
    return ", ".join([str(target), *([str(op)] if op not in _UNSAID else [])])


def _accesses(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of memory and files, with `access` and the accessed `size` (B)."""
    if "access" not in frame or frame["access"].isna().all():
        target, op = (frame[f"{label}_" if f"{label}_" in frame else label] for label in ("target", "op"))
        frame = frame.assign(access=list(map(_access, target, op)))
    return frame.assign(size=frame["options"].map(_reach))[
        frame["access"].str.startswith(("memory", "file,")) | (frame["access"] == "file")
    ]


def _by_size(*statistics_shown: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return what picks these statistics of sweeps over sizes."""

    def rows(frame: pd.DataFrame) -> pd.DataFrame:
        frame = _accesses(frame)
        return frame[frame["statistic"].isin(statistics_shown)] if frame["size"].nunique() > 1 else frame[:0]

    return rows


def _reach(options: str) -> float | None:
    """Return the number of bytes that the accesses cover: the window, the size, or None if unknown."""
    return _reach_of(json.loads(options))


def _reach_of(settings: Mapping[str, Any]) -> float | None:
    sizes = [size_bytes(str(settings[name])) for name in ("window", "bytes") if settings.get(name) is not None]
    return min(sizes, default=None)


def _caches(rows: pd.DataFrame) -> list[Band]:
    """Return the caches of the runs' CPU as ranges of size, if all runs have the same caches."""
    caches = rows["caches"].unique()
    levels = json.loads(caches[0]) if len(caches) == 1 else []
    lows = [1.0, *(size for _, size in levels)]
    return [Band(label=f"L{level}", low=low, high=size) for low, (level, size) in zip(lows, levels, strict=False)]


def _totals(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the `name` of cell and operation."""
    words = [frame["cell"].where(frame["cell"] != "(one cell)", "")]
    words += [frame[name].fillna("") for name in ("target_", "target", "op_", "op", "statistic_") if name in frame]
    names = [", ".join(dict.fromkeys(filter(None, map(str, row)))) for row in zip(*words, strict=True)]
    return frame.assign(name=names)


_CHARTS: Final = (
    *_distributions.charts("poke", "operation"),
    *(
        Chart(
            id=f"poke-{name}", title=f"{words} of one access by size", where={"metric": metric}, rows=_by_size(*statistics_shown), x="size", color="statistic",
            panels=("access", "where"), log_x=True, log_y=True, x_unit="B", x_title="size", y_title="time of one access", bands=_caches,
        )
        for name, words, metric, statistics_shown in (
            ("sizes", "Percentiles", "latency", tuple(statistic for statistic, _ in QUANTILES)),
            ("moments", "Mean and standard deviation", "moment", _MOMENTS),
        )
    ),
    *(
        Chart(id=f"poke-{metric.replace('_', '-')}", title=title, where={"metric": metric}, rows=_totals, kind="points", x="value", y="name", log_x=True, x_title=title.lower())
        for metric, title in _TOTALS.items()
    ),
)  # fmt: skip


# --- numbers -----------------------------------------------------------------------------------------------

_TAIL: Final = "p99.9"


def _named(metric: str, part: Part, statistic: str = "", made_of: str = "") -> Name:
    kind = poke.METRICS[metric]
    return Name(
        metric=metric,
        statistic=statistic,
        unit=kind.unit,
        better=kind.better,
        part=part,
        made_of=made_of,
    )


# --- checks ------------------------------------------------------------------------------------------------


def clock(results: Results) -> Iterator[Fault]:
    """G6: cost and step of the timer, and means that a few slow accesses dominate."""
    runs = results.good("poke")
    for run in runs:
        for flag in run.parsed.flags if run.parsed else ():
            if flag.id == "clock_backwards":
                yield Fault(level="warn", run=run, own=True, text=flag.text, metric="latency")
        overhead = first(run, "timer_overhead") or 0.0
        for time in times(run) if run.parsed and run.parsed.has("timer_limited") else ():
            timed = (time.metric, time.statistic) == ("latency", "p50") and time.target != "null"
            if timed and overhead > time.value / 2:
                yield Fault(
                    level="warn", run=run, own=True, metric="" if time.target == "compute" else "latency",  # the time per turn is of the same samples
                    text="the timer takes {} of a median of {}", quoted=((overhead, "ns"), (time.value, "ns")),
                )  # fmt: skip
    yield from _near_nothing([run for run in runs if from_table(run)])
    for run in runs:
        for owner, mean, deviation in wide(run):
            name = "empty access" if owner == "null none" else owner
            yield Fault(level="info", run=run, own=True, text=f"{braced(name)}: mean {{}}, standard deviation {{}}", quoted=((mean, "ns"), (deviation, "ns")), todo=QUOTE_THE_TAIL)  # fmt: skip


def _near_nothing(runs: Sequence[Run]) -> Iterator[Fault]:
    """Judge the means of a table by that of an access to 0 bytes."""
    tables = [
        (run, {t.target: t.value for t in times(run) if (t.metric, t.statistic) == ("latency", "mean")}) for run in runs
    ]
    empty = {
        key: value for run, means in tables if whole(run.options.get("bytes")) == 0 for key, value in means.items()
    }
    for run, means in tables:
        for target, mean in means.items():
            none = empty.get(target, 0.0)
            if whole(run.options.get("bytes")) and 0 < mean <= 10 * none:
                text = f"{target}: {fmt.quantity(mean, 'ns')}, an access to 0 bytes takes {fmt.quantity(none, 'ns')}"
                yield Fault(level="warn", run=run, text=text)


# --- the tool ---------------------------------------------------------------------------------------------


class Poke(Tool):
    """poke, a kernel of pinsweep."""

    SECTION = "Latency tails"
    RANK = 40
    METHODS = (
        "Tails: the buckets of the repeats are added up; a bucket is at most 1 % wide. A quantile is the median over the repeats of what poke prints; it "
        "needs ten samples beyond it. The time per turn of a loop is the median sample through its turns. A peak reaches from valley to valley "
        "and has 2 % of the samples or more."
    )
    WORKING_SET = ("bytes", "window", "block", "file_size")
    ACCESSED = ("target", "direct", "loop")
    CHARTS = _CHARTS
    KEYS = tuple(
        Key(
            name=f"Access to {target}", rank=15 + i, where={"metric": "latency", "statistic": "p50", "access": target}, context="{size_text}, {place}",
            tail={"statistic": _TAIL}, size="size" if target == "memory" else "", device="device" if target == "file" else "",
        )
        for i, target in enumerate(("memory", "file"))
    )  # fmt: skip
    FAULTS = {"G6": clock}  # noqa: RUF012

    def numbers(self, run: Run) -> Iterator[Number]:
        step, printed = first(run, "timer_resolution"), latencies(run)
        complete = all(values.get(statistic) for values in printed.values() for statistic, _ in QUANTILES)
        bins = {} if complete or run.parsed is None else run.parsed.once(_binned_quantiles)
        for part, values in printed.items():
            steps = bins.get(part, {}) | {name: (value, step) for name, value in values.items() if value}
            for statistic, _ in QUANTILES:
                if statistic in steps:
                    value, width = steps[statistic]
                    yield quantile(statistic, value, part, width)
        for time in times(run):
            if time.metric in ("time_per_byte", "total_time"):
                labels: Part = tuple(
                    (label, value) for label, value in zip(poke.LABELS, time[1:4], strict=True) if value is not None
                )
                yield Number(name=_named(time.metric, labels, made_of=f"{time.metric}/{time.op or time.statistic}"), value=time.value)  # fmt: skip
        for part, turns in turns_of(run).items():
            if median := printed[part].get("p50"):
                yield Number(name=_named("time_per_iteration", part, "p50"), value=median / turns)

    def histograms(self, run: Run) -> list[tuple[Name, Buckets]]:
        return [(latency(part), values) for part, values in _bins(run.parsed).items()] if run.parsed else []

    def samples(self, run: Run) -> Iterator[Mapping[str, Any]]:
        yield from _samples(run)

    def keys(self, rows: pd.DataFrame) -> pd.DataFrame:
        if len(rows):
            rows = _accesses(rows).assign(device="storage")
            rows = rows.assign(
                size_text=rows["size"].map(lambda size: "" if size is None or size != size else fmt.size(size))
            )
        return super().keys(rows)

    def headline(self, cell: Repeats) -> str:
        """Return "median 184 ns, p99.9 883 ns".

        Files give "all together: write 8.30 ms, read 2.36 ms". A loop gives "median 6.05 µs, 6.05 ns a turn".
        """
        medians = {name: column.median for name, column in cell.columns.items()}
        totals = {dict(name.part).get("op"): value for name, value in medians.items() if name.metric == "total_time"}
        if totals:
            return "all together: " + ", ".join(f"{op} {fmt.quantity(value, 'ns')}" for op, value in totals.items())
        first = next((name.part for name in medians if name.metric == "latency"), ())
        values = {
            name.statistic: value for name, value in medians.items() if (name.metric, name.part) == ("latency", first)
        }
        names = {"median": "p50", _TAIL: _TAIL}
        words = [f"{word} {fmt.quantity(values[key], 'ns')}" for word, key in names.items() if key in values]
        turn = next((value for name, value in medians.items() if name.metric == "time_per_iteration"), None)
        return ", ".join([*words, *([f"{fmt.quantity(turn, 'ns')} a turn"] if turn else [])])

    def lead(self, cell: Repeats) -> Name | None:
        """Return the time of all files together, else of a turn of a loop, else the median of an operation."""
        kinds = (("total_time", ""), ("time_per_iteration", "p50"), ("latency", "p50"))
        return next((name for kind in kinds for name in cell.columns if (name.metric, name.statistic) == kind), None)

    def moved(self, cell: Repeats) -> list[tuple[float, float]]:
        """Return the bandwidth (B/s) over all files in each repeat, and the number of bytes."""
        if cell.lead is None or cell.lead.metric != "total_time":
            return []
        sizes = (run.parsed.facts.get("bytes") if run.parsed else None for run in cell.runs)
        pairs = zip(cell.values, sizes, strict=True)
        return [(size / (ns * 1e-9), size) for ns, size in pairs if isinstance(size, int) and size]

    def ranked(self, parsed: Parsed) -> bool:
        """Was anything accessed? An empty access is the timer alone."""
        return any(time.target not in (None, "null") for time in times(parsed))

    def busy(self, run: Run) -> int:
        return int(run.options.get("target", "memory") in ("memory", "compute", "null"))


TOOL: Final = Poke()
