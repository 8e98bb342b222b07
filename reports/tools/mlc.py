"""Memory latency and bandwidth: the tables of Intel MLC or of memlat.

A loaded-latency curve has one row per injection delay: the latency of a reading thread (ns), and the bandwidth of the
other threads (B/s). The delay is the tool's own count. A longer delay gives a lower load. The other tables have a
latency or a bandwidth per node, per pair of nodes or CPUs, or per traffic mix.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from parsers import mlc
from parsers.measurement import Parsed, Scalar, whole
from parsers.mlc import TRAFFIC_TEXT
from parsers.units import size_bytes
from reports.chart import Band, Chart, Point, Rule, Title
from reports.checks import Fault, check
from reports.checks._cells import cell_key, siblings_key, sweeps
from reports.document import Column, Quantity, Table
from reports.numbers.model import Name, Number, Part
from reports.numbers.possible import module_peak
from reports.numbers.repeats import Repeats, cells
from reports.results import naming
from reports.results.convicted import CellKey
from reports.results.grouping import group_by
from reports.results.hardware import BEYOND, FITS
from reports.results.machines import machine_key
from reports.results.model import Results, Run
from reports.results.traffic import traffic_name
from reports.text import format as fmt
from reports.tools.base import Key, Tool

if TYPE_CHECKING:
    import pandas as pd

# --- reading -----------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """One latency (ns) or bandwidth (B/s) of a table. A label without a value in this table is None."""

    turn: int | None  # index of the run in an output with several runs, from 1
    section: str  # one of parsers.mlc.SECTIONS; "" if the table has no title
    row: int | None  # of a loaded-latency table, from 0
    traffic: str | None  # "read", "3:1 nt"
    delay: Scalar  # an int, but for tables that a person typed
    transfer: str | None  # for a cache-to-cache table: "remote L2->L2 HITM, homed in writer"
    source: Scalar  # for a matrix: the row, a NUMA node or a CPU
    target: Scalar  # for a matrix: the column
    metric: str  # "latency" or "bandwidth"
    value: float


def entries(of: Run | Parsed) -> tuple[Entry, ...]:
    """Return all latencies and bandwidths in the order of the output. Clocks are left out, because clocks repeat the
    latency.
    """
    parsed = of if isinstance(of, Parsed) else of.parsed
    return parsed.once(_entries) if parsed else ()


def _entries(parsed: Parsed) -> tuple[Entry, ...]:
    def text(value: Scalar) -> str | None:
        return None if value is None else str(value)

    return tuple(
        Entry(
            whole(row.get("run")), text(row.get("section")) or "", whole(row.get("row")), text(row.get("traffic")), row.get("delay"),
            text(row.get("transfer")), row.get("from"), row.get("to"), row.metric, row.value,
        )
        for row in parsed.measured()
        if row.metric in ("latency", "bandwidth")
    )  # fmt: skip


def load_curves(of: Run | Parsed) -> dict[tuple[int | None, str | None], list[Load]]:
    """Return (run of the text, traffic) → rows of the loaded-latency table. Rows need both numbers, and stay in the
    order of the output.
    """
    rows: dict[tuple[int | None, str | None, int | None, int], dict[str, float]] = {}
    for e in entries(of):
        delay = whole(e.delay)
        if e.section == "loaded_latency" and delay is not None:
            rows.setdefault((e.turn, e.traffic, e.row, delay), {})[e.metric] = e.value
    curves: dict[tuple[int | None, str | None], list[Load]] = {}
    for (turn, traffic, _, delay), row in rows.items():
        if len(row) == 2:
            curves.setdefault((turn, traffic), []).append(Load(delay, row["latency"], row["bandwidth"]))
    return curves


# --- numbers -----------------------------------------------------------------------------------------------

IDLE: Final = "latency/alone"
"""Flags of the latency without load, not of a row of a loaded-latency curve."""
UNLOADED: Final = "latency/unloaded"
"""The rows of a curve with the lowest load. "latency/50" is the row of delay 50."""
AT_PEAK: Final = "latency/peak"
"""The row of a curve with the most bandwidth."""

MIN_ROWS: Final = 4
"""Rows that a curve needs for derived numbers."""


def _numbers(of: Run | Parsed) -> Iterator[Number]:
    rows = entries(of)
    several = len({row.turn for row in rows}) > 1
    turns: Counter[tuple[str, str, Part]] = Counter()
    for row in rows:
        labels = (("delay", row.delay), ("transfer", row.transfer), ("from", row.source), ("to", row.target))
        part = _part(row.turn if several else None, row.traffic, *labels)
        turns[row.section, row.metric, part] += 1
        if (turn := turns[row.section, row.metric, part]) > 1:  # a delay may come twice
            part = (*part, ("turn", turn))
        metric, step, kind = mlc.METRICS[row.metric], mlc.PRINTED[row.metric], row.section.replace("_", " ")
        if kind == "loaded latency" and row.metric == "latency":
            step = mlc.PRINTED_LOADED_LATENCY
        idle = row.metric == "latency" and row.delay is None
        name = Name(metric=row.metric, unit=metric.unit, better=metric.better, kind=kind, part=part, made_of=IDLE if idle else "")  # fmt: skip
        yield Number(name=name, value=row.value, step=step)
    for (number, traffic), loads in load_curves(of).items():
        if len(loads) >= MIN_ROWS:
            yield from _offered(_part(number if several else None, traffic), offers_of(loads))


def _part(turn: int | None, traffic: str | None, *labels: tuple[str, Scalar]) -> Part:
    """Return the labels that have a value."""
    every = (("run", turn), ("traffic", traffic), *labels)
    return tuple((label, value) for label, value in every if value is not None)


def _offered(part: Part, offers: Offers) -> Iterator[Number]:
    rate, latency = mlc.PRINTED["bandwidth"], mlc.PRINTED_LOADED_LATENCY
    yield Number.derived("peak bandwidth", "B/s", "higher", offers.peak, part, rate, made_of="bandwidth")
    if not offers.is_idle:
        return
    yield Number.derived("unloaded latency", "ns", "lower", offers.unloaded, part, latency, made_of=UNLOADED)
    if offers.is_doubled:  # else the peak is a bound
        name = "bandwidth within 2 × unloaded latency"
        yield Number.derived(name, "B/s", "higher", offers.at_double, part, rate)


def _headline(cell: Repeats) -> str:
    """Return two kinds of numbers, each from lowest to highest, such as "local memory 81.0 ns, remote memory 139
    ns".
    """
    leader = cell.lead
    if leader is None:
        return ""
    kinds = group_by(cell.columns, lambda name: (_kind(name), name.unit))
    main = _kind(leader), leader.unit
    others = [kind for kind in kinds if kind[0] and kind != main]
    latencies = [kind for kind in others if kind[1] == "ns"]
    order = [*latencies[:1], main] if leader.unit == "B/s" else [main, *others[:1]]

    def text(kind: tuple[str, str]) -> str:
        names = kinds[kind] if kind[0] else [leader]
        step = cell.columns[names[0]].steps[0] and mlc.PRINTED["latency" if kind[1] == "ns" else "bandwidth"]
        value = fmt.span([cell.columns[name].median for name in names], kind[1], step=step)
        return f"{kind[0] or leader.words} {value}"

    return ", ".join(map(text, order))


def _kind(name: Name) -> str:
    """Return the headline's name for a kind of number, or "" for a row of a loaded-latency curve."""
    if name.derived:
        return name.metric
    if name.kind in ("latency matrix", "bandwidth matrix"):
        labels = dict(name.part)
        return "local memory" if labels.get("from") == labels.get("to") else "remote memory"
    return "" if name.kind == "loaded latency" else name.kind


# --- what a curve offers -----------------------------------------------------------------------------------


class Load(NamedTuple):
    """One row of a loaded-latency table: latency of the reading thread, and bandwidth of the other threads."""

    delay: int  # the tool's own count
    latency: float  # ns
    bandwidth: float  # B/s


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """The derived numbers of one loaded-latency curve."""

    unloaded: float  # ns
    is_idle: bool  # False: even the lowest load moves half of the peak, so the memory was never idle
    peak: float  # B/s
    latency_at_peak: float  # ns
    at_double: float  # B/s: the highest rate with a latency of at most 2 × unloaded
    is_doubled: bool  # False: `at_double` is a bound


IDLE_SHARE: Final = 0.10
"""Rows with at most this share of the peak count as idle memory."""

MIN_IDLE: Final = 3
"""With fewer such rows, the row of the lowest load is used."""


def offers_of(rows: Sequence[Load]) -> Offers:
    """Return the derived numbers of a curve with at least one row (measurement guide, 6).

    unloaded   median latency of the rows with at most 10 % of the peak; with fewer than three, of the lowest load
    at_double  the highest bandwidth with a latency of at most 2 × unloaded, interpolated linearly along the curve

    The latency doubles only if a slower row moves half of the peak or has more load than such a row.
    """
    ordered = sorted(rows, key=lambda row: -row.delay)
    peak = max(ordered, key=lambda row: row.bandwidth)
    idle = _idle(ordered, peak)
    unloaded = statistics.median(row.latency for row in idle)
    half = next(i for i, row in enumerate(ordered) if row.bandwidth >= peak.bandwidth / 2)
    return Offers(
        unloaded=unloaded, is_idle=half > 0, peak=peak.bandwidth, latency_at_peak=peak.latency, at_double=_bandwidth_within(ordered, 2 * unloaded),
        is_doubled=any(row.latency > 2 * unloaded for row in ordered[half:]),
    )  # fmt: skip


def _idle(ordered: Sequence[Load], peak: Load) -> Sequence[Load]:
    """Return the rows of an idle memory. `ordered` is sorted by rising load."""
    idle = [row for row in ordered if row.bandwidth <= IDLE_SHARE * peak.bandwidth]
    return idle if len(idle) >= MIN_IDLE else ordered[:1]


def _bandwidth_within(ordered: Sequence[Load], limit: float) -> float:
    """Return the highest bandwidth (B/s) with a latency of at most `limit` (ns), or 0 if every row is slower."""
    within = [row.bandwidth for row in ordered if row.latency <= limit]
    crossings = [
        a.bandwidth + (limit - a.latency) / (b.latency - a.latency) * (b.bandwidth - a.bandwidth)
        for a, b in itertools.pairwise(ordered)
        if (a.latency - limit) * (b.latency - limit) < 0
    ]
    return max([*within, *crossings], default=0.0)


# --- charts ------------------------------------------------------------------------------------------------

_ABOUT: Final = (
    "Loaded latency: the unloaded latency is the median of the rows that move at most 10 % of the peak bandwidth, or the row of the least "
    "load if there are fewer than three. Bandwidth within 2 × unloaded is interpolated along the curve. The latency is that of one reading "
    "thread, whatever the other threads do."
)

_CURVE: Final = ("where", "place", "point_id", "program", "traffic", "run_")
"""Columns that identify a loaded-latency curve."""


UNKNOWN_TRAFFIC: Final = "traffic unknown"

_LABELS: Final = ("traffic", "delay", "turn", "run_", "transfer", "from", "to")


def offers(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per loaded-latency curve, from the medians of the repeats.

    `rows` is the result of `_loaded`. The new columns are unloaded, knee, peak (B/s) and latency_at_peak (ns).
    `unloaded` is in ns, or NaN if even the lowest load moves half of the peak. `knee` is the highest bandwidth (B/s) at
    2 × the unloaded latency, or NaN if the latency never doubles.
    """
    lines = []
    for _, group in rows.groupby([name for name in _CURVE if name in rows], sort=False, dropna=False):
        medians = group.groupby(["delay", "turn"], as_index=False, dropna=False)[["value", "bandwidth"]].median()
        curve = offers_of([Load(*row) for row in zip(medians["delay"], medians["value"], medians["bandwidth"], strict=True)])  # fmt: skip
        lines.append(
            {
                **group.iloc[0].to_dict(), "unloaded": curve.unloaded if curve.is_idle else math.nan,
                "knee": curve.at_double if curve.is_idle and curve.is_doubled else math.nan, "peak": curve.peak, "latency_at_peak": curve.latency_at_peak,
            }
        )  # fmt: skip
    return rows.head(0).assign(unloaded=0.0, knee=0.0, peak=0.0, latency_at_peak=0.0) if not lines else _frame(lines)


def _frame(records: Sequence[Mapping[Hashable, object]]) -> pd.DataFrame:
    from parsers.frames import pd

    return pd.DataFrame.from_records(list(records))


def _loaded(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per latency for curves with enough rows, with the `bandwidth`.

    `kind` is the panel, by stride and buffer, and by place if there are several mixes.
    """
    rows = _labelled(rows)
    keys = ["run", "traffic", "delay", "turn", "run_"]
    rates = rows.loc[rows["metric"] == "bandwidth", [*keys, "value"]].rename(columns={"value": "bandwidth"})
    loaded = rows[rows["metric"] == "latency"].merge(rates, on=keys)
    if not len(loaded):
        return loaded
    curves = loaded.groupby([*_CURVE], dropna=False)
    loaded = loaded[curves["delay"].transform("nunique") >= MIN_ROWS]
    words = [_options(loaded, name) for name in ("l", "b")]
    if loaded["traffic"].nunique() > 1:
        words.insert(0, [*loaded["place"]])
    panel = [", ".join(filter(None, row)) for row in zip(*words, strict=True)]
    return loaded.assign(traffic=_traffic(loaded), kind=panel)


def _labelled(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with one column per label of any table. Labels of other tables are missing."""
    return rows.assign(**{name: None for name in _LABELS if name not in rows})


def _options(rows: pd.DataFrame, name: str) -> list[str]:
    """Return the value of an option as text, or "" if a cell lacks the option."""
    values = rows[name] if name in rows else [None] * len(rows)
    return [
        "" if value is None or value != value else naming.option_value("mlc", name, whole(value) or value)
        for value in values
    ]


def _with_traffic(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(traffic=_traffic(_labelled(rows)))


def _traffic(rows: pd.DataFrame) -> pd.Series[str]:
    return rows["traffic"].fillna(UNKNOWN_TRAFFIC).map(traffic_name)


def _knees(rows: pd.DataFrame) -> list[Point]:
    panels = [name for name in LOADED.panels if name in rows]
    return [
        Point(x=row["knee"], y=2 * row["unloaded"], label="", panel={name: row[name] for name in panels})
        for row in offers(rows).to_dict("records")
        if not math.isnan(row["knee"])
    ]


def _theoretical(rows: pd.DataFrame) -> list[Rule]:
    """Return the bandwidth of the memory modules, if all rows have the same."""
    peaks = rows["memory_peak"].unique()
    return [Rule(label="memory modules", x=float(peaks[0]))] if len(peaks) == 1 and peaks[0] > 0 else []


def _of_mixes(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Hold if the peaks of several mixes of one place differ by more than 10 %."""
    lines = offers(rows).sort_values("peak")
    if lines["traffic"].nunique() < 2 or lines["point_id"].nunique() > lines["traffic"].nunique():
        return None
    low, high = lines.iloc[0], lines.iloc[-1]
    if high["peak"] < 1.1 * low["peak"]:
        return None
    return {
        "high": _bytes(high["peak"]),
        "mix": high["traffic"],
        "low": _bytes(low["peak"]),
        "other": low["traffic"],
    }


def _of_any(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Hold for several curves: the highest peak, by mix and place."""
    lines = offers(rows).sort_values("peak")
    best = lines.iloc[-1]
    return (
        {"high": _bytes(best["peak"]), "mix": ", ".join(filter(None, (best["traffic"], best["place"])))}
        if len(lines) > 1
        else None
    )


def _of_places(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Hold for one curve of local and one of remote memory."""
    lines = offers(rows).set_index("relation")
    if sorted(lines.index) != ["local", "remote"]:
        return None
    peaks = lines["peak"].to_dict()
    return {name: _bytes(peaks[name]) for name in ("local", "remote")}


def _of_one(rows: pd.DataFrame, *, doubled: bool) -> Mapping[str, Any] | None:
    """Hold for a single curve, with or without a doubled latency."""
    lines = offers(rows)
    if len(lines) != 1 or bool(lines["knee"].notna().iloc[0]) != doubled or lines["unloaded"].isna().iloc[0]:
        return None
    line = lines.iloc[0]
    return {
        "knee": _bytes(line["knee"]),
        "peak": _bytes(line["peak"]),
        "latency": Quantity(line["latency_at_peak"], "ns"),
    }


def _bytes(value: float) -> Quantity:
    return Quantity(float(value), "B/s")


def offers_table(rows: pd.DataFrame) -> Table:
    """Return four numbers per loaded-latency curve, in the order of falling peaks. `rows` is the result of
    `_loaded`.
    """
    lines = offers(rows).sort_values("peak", ascending=False)
    keys: list[str] = []
    groups = 1
    for name in ("where", "place", "kind", "traffic", "cell"):
        if (n := len(lines[[*keys, name]].drop_duplicates())) > groups:
            keys.append(name)
            groups = n
    columns = (
        *(Column(name=name, title={"kind": "panel"}.get(name, "")) for name in keys), Column(name="unloaded", title="unloaded latency", unit="ns"),
        Column(name="knee", title="bandwidth within 2 × unloaded", unit="B/s"), Column(name="peak", title="peak bandwidth", unit="B/s"),
        Column(name="latency_at_peak", title="latency at the peak", unit="ns"),
    )  # fmt: skip
    return Table.from_frame(lines, *columns, id="offers", title="What each curve offers")


LOADED: Final = Chart(
    id="loaded", title="Latency over bandwidth", x="bandwidth", where={"kind": "loaded latency"}, rows=_loaded, color="traffic",
    panels=("where", "kind"), order="delay", log_y=True, x_unit="B/s", x_title="Bandwidth", y_title="Latency", rules=_theoretical, rings=_knees, summary=offers_table,
    titles=(
        Title(template="Latency doubles at {knee}, and the peak is {peak}", values=partial(_of_one, doubled=True)),
        Title(template="{peak} at {latency}: the load does not double the latency", values=partial(_of_one, doubled=False)),
        Title(template="Local memory reaches {local}, remote memory {remote}", values=_of_places),
        Title(template="Peak bandwidth is {high} with {mix}, {low} with {other}", values=_of_mixes),
        Title(template="The highest peak is {high}, with {mix}", values=_of_any),
    ),
    caption="One point per injection delay. A circle marks twice the unloaded latency.",
    about=_ABOUT,
)  # fmt: skip


def _by_index(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a matrix with whole numbers of nodes or CPUs."""
    rows = _labelled(rows).dropna(subset=["from", "to"])
    return rows.assign(**{name: rows[name].map(_index) for name in ("from", "to")}, traffic=_traffic(rows))


def _index(value: object) -> int | str:
    index = whole(value) if isinstance(value, int | float | str) else None
    return str(value) if index is None else index


def _local_and_remote(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Hold if nodes have local and remote values: medians, and remote ÷ local."""
    is_local = rows["from"] == rows["to"]
    if is_local.all() or not is_local.any() or rows["point_id"].nunique() > 1 or rows["traffic"].nunique() > 1:
        return None
    local, remote = (rows.loc[mask, "value"].median() for mask in (is_local, ~is_local))
    unit = rows["unit"].iloc[0]
    return {
        "local": Quantity(local, unit),
        "remote": Quantity(remote, unit),
        "times": f"{fmt.number(remote / local)} ×",
    }


def _between(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Hold for several pairs: the lowest and the highest median."""
    medians = rows.groupby(["from", "to"])["value"].median()
    if len(medians) < 2 or rows["point_id"].nunique() > 1:
        return None
    return {"low": Quantity(medians.min(), "ns"), "high": Quantity(medians.max(), "ns")}


def _matrix(id_: str, title: str, kinds: tuple[str, ...], x: str, y: str, *titles: Title, panel: str = "traffic") -> Chart:  # fmt: skip
    return Chart(
        id=id_, title=title, x="to", y="from", where={"kind": kinds}, rows=_by_index, kind="heat", panels=("where", "place", "kind", panel), x_title=x,
        y_title=y, titles=titles, caption="A darker cell is a higher value.",
    )  # fmt: skip


LATENCIES: Final = _matrix(
    "latency_matrix", "Idle latency by NUMA node", ("latency matrix", "cpu latency matrix"), "to memory of node", "from node",
    Title(template="Remote memory answers in {remote}, local memory in {local}", values=_local_and_remote),
)  # fmt: skip

BANDWIDTHS: Final = _matrix(
    "bandwidth_matrix", "Bandwidth by NUMA node", ("bandwidth matrix",), "to memory of node", "from node",
    Title(template="Remote memory delivers {remote}, local memory {local}", values=_local_and_remote),
)  # fmt: skip

CORES: Final = _matrix(
    "c2c_latency", "Cache-to-cache latency", ("c2c latency",), "reader", "writer",
    Title(template="A modified line takes {low} to {high} between two caches", values=_between), panel="transfer",
)  # fmt: skip

SMALL: Final = "small pages"

MIN_SIZES: Final = 4
"""Sizes from which idle latencies are a curve over the working set."""


def _by_size(rows: pd.DataFrame) -> pd.DataFrame:
    """Return idle latencies with `size` (B) and `pages`, for machines with enough sizes."""
    if "b" not in rows:
        return rows.head(0)
    rows = rows.assign(size=rows["b"].map(_size), pages=SMALL)
    if "L" in rows:
        rows["pages"] = rows["L"].map(lambda huge: "huge pages" if huge and huge == huge else SMALL)
    return rows[rows.groupby("where")["size"].transform("nunique") >= MIN_SIZES]


def _size(value: object) -> float:
    """Return the bytes of option -b. The default unit is KiB. A text that is not a size gives NaN."""
    kib = whole(value) if isinstance(value, int | float | str) else None
    try:
        return float(kib * 1024 if kib is not None else size_bytes(str(value)))
    except ValueError:
        return math.nan


def _caches(rows: pd.DataFrame) -> list[tuple[str, float]]:
    """Return (name, bytes) of the caches above the core that all rows ran on, smallest first."""
    texts = rows["caches"].unique()
    return [(f"L{level}", float(size)) for level, size in json.loads(texts[0] or "[]")] if len(texts) == 1 else []


def _cache_bands(rows: pd.DataFrame) -> list[Band]:
    caches = _caches(rows)
    lows = [0.0, *(size for _, size in caches)]
    bands = [Band(label=name, low=low, high=size) for low, (name, size) in zip(lows, caches, strict=False)]
    return [*bands, Band(label="memory", low=lows[-1], high=math.inf)] if bands else []


def _from_levels(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Hold if some sizes fit well in the first cache, and some are well beyond the last cache."""
    caches = _caches(rows)
    if not caches:
        return None
    small = rows[rows["pages"] == SMALL]
    pages = "" if len(small) in (0, len(rows)) else f" with {SMALL}"
    rows = small if len(small) else rows
    inside = rows[rows["size"] <= FITS * caches[0][1]]
    outside = rows[rows["size"] >= BEYOND * caches[-1][1]]
    if not len(inside) or not len(outside):
        return None
    first, memory = (group.loc[group["size"] == group["size"].max(), "value"].median() for group in (inside, outside))
    return {
        "cache": caches[0][0],
        "first": Quantity(first, "ns"),
        "memory": Quantity(memory, "ns"),
        "pages": pages,
    }


LADDER: Final = Chart(
    id="ladder", title="Idle latency by working set", x="size", where={"kind": "idle latency", "metric": "latency"}, rows=_by_size, color="pages",
    log_x=True, log_y=True, x_unit="B", x_title="Working set", y_title="Latency", bands=_cache_bands,
    titles=(Title(template="A load takes {first} from {cache}, and {memory} from memory{pages}", values=_from_levels),),
    caption="Each load needs the one before. Bands: the caches of the core.",
)  # fmt: skip


def _single(rows: pd.DataFrame) -> pd.DataFrame:
    """Return idle latencies without a curve over the working set, and cache transfers without a pair."""
    ladder = _by_size(rows[rows["kind"] == "idle latency"]).index
    rows = _labelled(rows[~rows.index.isin(ladder)])
    rows = rows[rows["from"].isna()]
    cells = rows["cell"].where(rows.groupby("kind")["point_id"].transform("nunique") > 1, "")
    words = zip(rows["kind"], rows["transfer"].fillna(""), cells, strict=True)
    return rows.assign(name=[", ".join(filter(None, row)) for row in words])


SINGLE: Final = Chart(
    id="latencies", title="Further latencies", x="value", y="name", where={"kind": ("idle latency", "c2c latency")}, rows=_single, kind="points",
    x_title="Latency",
)  # fmt: skip


SEARCHES: Final = ("peak injection bandwidth", "max bandwidth")
"""Tables of the highest bandwidth of each mix."""


def _highest(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    medians = rows.groupby(["where", "point_id", "traffic"], as_index=False)["value"].median()
    best = medians.iloc[int(medians["value"].argmax())]
    return {"high": _bytes(best["value"]), "mix": best["traffic"]} if len(medians) > 1 else None


PEAKS: Final = Chart(
    id="peaks", title="Peak bandwidth by mix of reads and writes", x="value", y="traffic", kind="points", x_title="Bandwidth",
    where={"kind": SEARCHES}, rows=_with_traffic, panels=("where", "kind"),
    titles=(Title(template="Peak bandwidth is {high} with {mix}", values=_highest),),
)  # fmt: skip


# --- checks ------------------------------------------------------------------------------------------------

FAMILY = (1, "Memory (MLC, memlat)")

LINE: Final = 64
"""Bytes of a cache line: one access of the latency thread."""

LINES_A_CORE: Final = 48
"""Lines that a core can wait for at a time: 10 to 16 fill buffers, and prefetches of the L2 cache."""

UNDERCUT: Final = 1.08
"""A row that is this many times slower than a row with more load was disturbed."""

MIN_CHECKED: Final = 5
"""Rows that the check of a curve needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A loaded-latency curve with medians over the repeats of a cell, in the order of rising delay."""

    run: Run
    traffic: str
    rows: tuple[Load, ...]

    @property
    def by_delay(self) -> dict[int, float]:
        return {row.delay: row.bandwidth for row in self.rows}


def curves(results: Results) -> list[Curve]:
    """Return the curves of each cell in the order of the cells. A repeated delay in a table gives separate rows."""
    repeats: dict[tuple[CellKey, str], dict[tuple[int, int], list[tuple[Run, Load]]]] = {}
    for run in results.good("mlc"):
        delays: Counter[tuple[str, int]] = Counter()
        for (_, traffic), loads in load_curves(run).items():
            for load in loads:
                delays[traffic or "", load.delay] += 1
                rows = repeats.setdefault((cell_key(run), traffic or ""), {})
                rows.setdefault((load.delay, delays[traffic or "", load.delay]), []).append((run, load))
    return [
        Curve(run=next(iter(rows.values()))[0][0], traffic=traffic, rows=tuple(
            Load(delay, statistics.median(load.latency for _, load in same), statistics.median(load.bandwidth for _, load in same))
            for (delay, _), same in sorted(rows.items(), key=lambda row: row[0][0])
        ))
        for (_, traffic), rows in repeats.items()
    ]  # fmt: skip


@check("M1", "warn")
def disturbed_row(results: Results) -> Iterator[Fault]:
    """latency above that of a higher load

    A lower load never waits longer. The load falls as the injection delay rises. A row is flagged if the latency is
    above 1.08 × the lowest latency at a smaller delay. Curves of fewer than five rows are not judged.

    Do: measure again on a quiet machine with a fixed clock, and do not quote these rows.
    """
    for curve in curves(results):
        if len(curve.rows) < MIN_CHECKED:
            continue
        lowest = curve.rows[0].latency
        slow: list[tuple[Load, float]] = []
        for row in curve.rows[1:]:
            if row.latency > UNDERCUT * lowest:
                slow.append((row, lowest))
            lowest = min(lowest, row.latency)
        if slow:
            metric, *also = _flagged(curve.rows, [row for row, _ in slow])
            row, lowest = max(slow, key=lambda pair: pair[0].latency / pair[1])
            yield Fault(
                level="warn", run=curve.run, metric=metric, also=tuple(also),
                text=f"{len(slow)} of {len(curve.rows)} rows are slower than under more load: {_ns(row.latency)} at delay {row.delay}, {_ns(lowest)} at a smaller one",
            )  # fmt: skip


def _flagged(rows: Sequence[Load], slow: Sequence[Load]) -> Iterator[str]:
    """Yield the flags of slow rows. The row with the lowest load flags the unloaded latency, the peak flags the
    latency at the peak.
    """
    peak = max(rows, key=lambda row: row.bandwidth)
    yield from (f"latency/{row.delay}" for row in slow)
    if any(row in slow for row in _idle(rows[::-1], peak)):
        yield UNLOADED
    if peak in slow:
        yield AT_PEAK


@check("M2", "error")
def impossible_bandwidth(results: Results) -> Iterator[Fault]:
    """impossible bandwidth

    The latency thread alone moves 64 B per latency, so that no loaded-latency row can show less (3 % are allowed). No row can show more
    than MT/s × 8 B of each memory module, if the session recorded DDR modules. The usual cause of too much is a buffer that fits in the
    caches (-b). A sweep over -b is not judged.

    Do: look at the raw output for a mistaken unit or column, and check the buffer size.
    """
    for curve in curves(results):
        for row in curve.rows:
            least = LINE / row.latency * 1e9 if row.latency > 0 else 0.0
            if row.bandwidth < 0.97 * least:
                text = f"{_rate(row.bandwidth)} at delay {row.delay}, and the latency thread alone moves {_rate(least)}"
                yield Fault(level="error", run=curve.run, text=text)
    for run in results.good("mlc"):
        limit = module_peak(run)
        most = max((entry.value for entry in entries(run) if entry.metric == "bandwidth"), default=0.0)
        if limit and most > limit and not sweeps(run, "b"):
            yield Fault(level="error", run=run, own=True, text="{}, the modules can move {}", quoted=((most, "B/s"), (limit, "B/s")), metric="bandwidth")  # fmt: skip


@check("M3", "info")
def kind_of_writes(results: Results) -> Iterator[Fault]:
    """non-temporal writes

    -W6 to -W10 and -W27 write non-temporally: no line is read before it is written. -W2 to -W5, -W11, -W12 and -W23 write ordinarily. The
    latency is that of one reading thread in both cases. Only captured output is named, because its headings may say otherwise.

    Do: name the traffic as reports do ("R:W 3:1, non-temporal").
    """
    for curve in curves(results):
        traffic = TRAFFIC_TEXT.get(curve.traffic, "")
        if curve.run.captured and "non-temporal" in traffic:
            yield Fault(level="info", run=curve.run, text=f"{traffic}; the latency is the reader’s")


@check("M4", "info")
def lines_in_flight(results: Results) -> Iterator[Fault]:
    """more lines in flight than the cores can wait for

    Bandwidth × latency ÷ 64 B is the number of lines in flight if both values describe the same accesses. A value above
    48 per core is impossible, so the latency of the reading thread does not describe the traffic. If the cores are not
    recorded, the limit is 2 × the maximum of the read-only curves in the same output.

    Do: quote the latency as that of a reader next to this traffic.
    """
    found = curves(results)
    reads: dict[CellKey, list[float]] = {}
    for curve in found:
        if curve.traffic == "read":
            reads.setdefault(machine_key(curve.run), []).append(max(map(_lines, curve.rows)))
    for curve in found:
        machine = curve.run.session.topology
        placed = {cpu for group in curve.run.placed for cpu in group.cpus}
        limit = 0.0
        if machine is not None:
            cores = [core for core in machine.cores if not placed or not placed.isdisjoint(core.cpus)]
            limit = float(LINES_A_CORE * len(cores))
        elif machine_key(curve.run) in reads:
            limit = 2 * max(reads[machine_key(curve.run)])
        row = max(curve.rows, key=_lines)
        if limit and _lines(row) > limit:
            text = f"{_above(_lines(row), limit)} lines in flight at delay {row.delay}, limit {fmt.number(limit, rounding=fmt.UP)}"
            yield Fault(level="info", run=curve.run, text=text)


def _lines(row: Load) -> float:
    """Return the cache lines in flight, by Little's law."""
    return row.bandwidth * row.latency * 1e-9 / LINE


def _above(value: float, limit: float) -> str:
    """Return a number with enough digits to exceed a limit, such as "96.2" for 96 or "3 075" for 3 072."""
    digits = next(n for n in range(3, 17) if round(value, n - 1 - math.floor(math.log10(value))) > limit)
    return fmt.number(value, digits)


@check("M5", "warn", flags=("no_msr", "random_access"))
def prefetchers_on(results: Results) -> Iterator[Fault]:
    """prefetchers not switched off

    MLC switches the hardware prefetchers off through /dev/cpu/*/msr. Without root or the msr module MLC cannot, and
    reports the failure. Then an idle latency of a walk in order is too low, often by half. Newer versions access at
    random instead, which is slower. Only latencies are flagged.

    Do: load the msr module and run as root, or compare only with runs that had the prefetchers on, too.
    """
    for cell in cells(results, "mlc"):
        runs = cell.runs
        timed = (run for run in runs if any(entry.metric == "latency" for entry in entries(run)))
        flagged = [run for run in timed if run.parsed and run.parsed.has("no_msr")]
        if flagged:
            random = any(run.parsed and run.parsed.has("random_access") for run in flagged)
            text = f"the prefetchers were on{', and the access was at random' if random else ''}"
            yield Fault(level="warn", run=flagged[0], text=text, metric="latency")


def units(results: Results) -> Iterator[Fault]:
    """G7: an idle latency under 1 ns."""
    for run in results.good("mlc"):
        low = min((row.value for row in entries(run) if row.metric == "latency"), default=1.0)
        if low < 1.0:
            yield Fault(level="error", run=run, own=True, text="a latency of {}", quoted=((low, "ns"),), metric="latency")  # fmt: skip


_NOT_PRINTED: Final = ("l", "b", "X", "r", "e", "L")
"""Options that the output does not repeat. Only the numbers show the effect."""

_EFFECT: Final = math.log(1.2)
"""The change of bandwidth that proves an effect of an option."""

_NO_EFFECT: Final = math.log(1.1)


def no_effect(results: Results) -> Iterator[Fault]:
    """G1: options that change the bandwidth of other curves, but not of this curve."""
    judged = [curve for curve in curves(results) if len(curve.rows) >= MIN_CHECKED]
    for name in _NOT_PRINTED:
        pairs = [(a, b, changes) for a, b in _pairs(judged, name) if (changes := _changes(a, b))]
        effects = [statistics.median(changes) for _, _, changes in pairs]
        if max(effects, default=0.0) <= _EFFECT:
            continue
        for a, b, changes in pairs:
            if max(changes) < _NO_EFFECT:
                first, second = (f"-{name} {curve.run.cell.options.get(name, 'not given')}" for curve in (a, b))
                within = fmt.number(math.expm1(max(changes)) * 100, 2, fmt.UP)
                yield Fault(
                    level="warn", run=b.run,
                    text=f"{b.traffic or 'unknown traffic'}: {first} and {second} agree within {within} %; elsewhere -{name} changes the bandwidth by {fmt.percent(math.expm1(max(effects)))}",
                )  # fmt: skip


def _pairs(found: Sequence[Curve], name: str) -> Iterator[tuple[Curve, Curve]]:
    """Yield the curves that differ in one option."""
    ignored = (name, "source")  # `source` numbers equal outputs and is not an option
    groups = group_by(found, lambda c: (*siblings_key(c.run, (*ignored, "W") if c.traffic else ignored), c.traffic))  # fmt: skip
    for members in groups.values():
        for a, b in itertools.combinations(members, 2):
            if str(a.run.cell.options.get(name)) != str(b.run.cell.options.get(name)):
                yield a, b


def _changes(a: Curve, b: Curve) -> list[float]:
    """Return |ln(bandwidth ÷ bandwidth)| of the common rows above half of a peak, or () for fewer than three rows."""
    left, right = a.by_delay, b.by_delay
    halves = max(left.values()) / 2, max(right.values()) / 2
    loaded = [d for d in left if d in right and (left[d] >= halves[0] or right[d] >= halves[1])]
    return [abs(math.log(left[d] / right[d])) for d in loaded] if len(loaded) >= 3 else []


def _ns(latency: float) -> str:
    return fmt.quantity(latency, "ns", step=mlc.PRINTED_LOADED_LATENCY)


def _rate(bandwidth: float) -> str:
    return fmt.quantity(bandwidth, "B/s")


# --- the tool ---------------------------------------------------------------------------------------------


class Mlc(Tool):
    """Curves, matrices and single numbers of one run."""

    SECTION = "Memory"
    RANK = 11
    METHODS = _ABOUT
    CHARTS = (LOADED, LATENCIES, BANDWIDTHS, CORES, LADDER, SINGLE, PEAKS)
    KEYS = (
        Key(name="Memory, unloaded", rank=10.5, where={"metric": "unloaded latency"}, context="{traffic}, {place}"),
        Key(name="Memory, idle", rank=10, where={"key": "idle"}, context="{place}, {buffer}", size="size", source="from", target="to"),
        Key(name="Idle latency", rank=30, where={"key": "cache"}, context="{buffer}", size="size"),
        Key(name="Memory, peak", rank=11, where={"key": "peak"}, context="{traffic}, {place}"),
        Key(name="Memory, reads", rank=31, where={"key": "pair"}, context="from node {from} to {to}", source="from", target="to"),
    )  # fmt: skip
    DRAWN = ("loaded latency",)
    WORKING_SET = ("b",)
    NOISE = 0.03
    CUT = "the peak may be higher, the unloaded latency lower"
    FAULTS = {"G1": no_effect, "G7": units}  # noqa: RUF012

    def numbers(self, run: Run) -> Iterator[Number]:
        """Yield the latency and bandwidth of each row of each table, and what each loaded-latency curve offers."""
        return _numbers(run)

    def lead(self, cell: Repeats) -> Name | None:
        """Return the highest bandwidth, the peak for a loaded-latency curve. Without bandwidths, return the lowest
        latency.
        """
        medians = {name: column.median for name, column in cell.columns.items()}
        rates = [name for name in medians if name.unit == "B/s"]
        if rates:
            return max(rates, key=lambda name: (medians[name], name.derived))
        return min(medians, key=medians.__getitem__, default=None)

    def headline(self, cell: Repeats) -> str:
        """Return "unloaded latency 81.0 ns, peak bandwidth 25.9 GB/s", "local memory 81.0 ns, remote memory 139 ns"."""
        return _headline(cell)

    def keys(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return idle latencies, peaks, and the bandwidth between nodes."""
        rows = _labelled(rows)
        sizes = rows["b"].map(_size) if "b" in rows else math.nan
        rows = rows.assign(size=sizes, traffic=_traffic(rows), buffer=_options(rows, "b"))
        return super().keys(rows.assign(key=[_key(row) for row in rows.to_dict("records")]))

    def busy(self, run: Run) -> int:  # noqa: ARG002
        return 1  # the thread that times

    def mistyped(self, command: str) -> Iterator[str]:
        for word in re.findall(r"(?<=\s)-(\d+)(?=\s|$)", command):
            hint = f", “-l{word[1:]}” with a digit for its letter?" if re.match("1.", word) else ""
            yield f"MLC has no option “-{word}”{hint}"


def _key(row: Mapping[Hashable, Any]) -> str:
    """Return the kind of key number of a row, or ""."""
    is_read = row["traffic"] in ("read only", UNKNOWN_TRAFFIC)
    if row["kind"] == "idle latency" and row["metric"] == "latency":
        last = max((size for _, size in json.loads(row["caches"])), default=math.inf)
        return "cache" if row["size"] <= BEYOND * last else "idle"
    if row["kind"] in ("latency matrix", "bandwidth matrix"):
        return "idle" if row["kind"] == "latency matrix" else "pair" if is_read else ""
    return "peak" if row["metric"] == "peak bandwidth" or row["kind"] in SEARCHES else ""


TOOL = Mlc()
