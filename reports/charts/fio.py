"""Storage: fio's IOPS and latency over iodepth, per block size and kind of access."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parsers.measurement import whole
from parsers.units import size_bytes
from reports.charts import _tails, curve_rows, facets, wording
from reports.charts import titles as findings
from reports.charts._tails import Distribution
from reports.charts.chapter import AccessTime, Chapter
from reports.charts.curve_rows import Curve
from reports.draw import axes, label_placement, vega
from reports.draw.figure import Figure, Key, Panel, Table, panel
from reports.draw.plot import Plot, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.numbers.fio import (
    WORDS,
    asked,
    cpu_per_io,
    depth_of_all,
    given,
    histograms,
    in_flight,
    is_verify,
    job_count,
    joined,
    read_share,
    summaries,
    tells_options,
    utilisation,
)  # fmt: skip
from reports.page.model import KeyNumber
from reports.readings import groups
from reports.results.grouping import group_by
from reports.results.model import Results, Run, texts_of
from reports.results.naming import block, program_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

SECTION = "Storage"
RANK = 30
METHODS = (
    "fio: IOPS are those of the whole run. Latency is submission plus completion, as pinsweep asks fio for; of text that tells "
    "only how the completion is distributed it is the completion latency, clat, by that name. Mean and quantiles are of the same "
    "one, all jobs of the run together: the mean of all I/Os, and the quantiles of the jobs’ joined bins; of several jobs without "
    "bins there are none. In flight ÷ asked is IOPS × latency of all that a run does ÷ (iodepth × jobs), by Little’s law: near 1 "
    "where the queue was kept full; of an engine that waits for each I/O the iodepth counts as 1. The most IOPS are of one depth: the highest median. IOPS within a limit on p99 are the most on the envelope of a "
    "series’ depths, between two depths over the logarithm of the latency, of each repeat, of several the median; “≥”: in one repeat or more "
    "every depth kept the limit. 95 % of the maximum, too, is of each repeat; a ring stands where all agree. CPU per I/O is user and system time of fio’s processes ÷ all their "
    "I/Os, so the two parts of a mix share one figure."
)

_KINDS = ("randread", "randwrite", "read", "write", "randrw", "rw", "readwrite", "trim", "randtrim")
_MIXES = ("randrw", "rw", "readwrite")
_THOUSANDS = {"IOPS": "IOPS", "kIOPS": "Thousand IOPS", "MIOPS": "Million IOPS"}
_SHORT = {"randread": "read", "randwrite": "write", "randrw": "mix", "readwrite": "mix", "rw": "mix"}


def chapter(results: Results, tool: str = "fio") -> Chapter:
    """Draw one figure per sweep: IOPS and latency panels per block size, a line per kind and direction."""
    runs = results.good(tool)
    figures, key_numbers, times = [], [], []
    leading: set[str] = set()
    both = len({_cache([run]) for run in runs} - {""}) > 1
    for sweep, members in group_by(runs, lambda r: r.cell.sweep).items():
        found = cells(members)
        if len(found):
            figures.append(
                _figure(sweep, members, found, facets.lost(results, tool, sweep, members, within=_WITHIN))
            )
            if tails := _tails_figure(sweep, members, found):
                figures.append(tails)
            numbers = _key_numbers(found, both)
            leading |= {number.name for number in numbers[:1]}
            key_numbers += numbers
            times += _access_times(found, both)
    return Chapter(
        tool=tool, figures=tuple(figures), key_numbers=tuple(n for n in key_numbers if n.name in leading), access_times=tuple(times), programs=wording.programs(runs)
    )  # fmt: skip


def cells(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the summaries (`numbers.fio`) of what did I/O, a row per run and direction, panel by panel, then by kind of access.

    Beside the columns of the summaries: iodepth and processes (Int64, NA where the text does not say); kind, series and label (str:
    "randread", "randrw 70:30, reads", "mix r"); size (str: "4 KiB", "4 KiB and 64 KiB", "" if not known); cpu (ns per I/O), asked and
    in_flight (I/Os of the run), busy (share of the time, of the busiest disk), float; verify (bool: reads that nobody asked for);
    panel (a Facet), and order (int), the rank of the kind.
    """
    import pandas as pd

    found = summaries.frame(runs).dropna(subset="iops")
    both = found.dropna(subset="mean")["which"].nunique() > 1
    run, direction = found["run"], found["direction"]

    found = found.assign(
        iodepth=pd.array(list(map(_depth, run, direction)), dtype="Int64"), processes=run.map(job_count).astype("Int64"), size=list(map(_size, run, direction)),
        kind=list(map(_kind, run, direction)), verify=list(map(is_verify, run, direction)),
        cpu=run.map(cpu_per_io).astype(float), asked=run.map(asked).astype(float), in_flight=run.map(in_flight).astype(float),
        busy=run.map(_utilisations(runs)).astype(float),
    )  # fmt: skip
    which = found["which"] if both else [""] * len(found)
    names = [_series(*of) for of in zip(run, found["kind"], found["direction"], which, strict=True)]
    alike = Counter(short for _, short in set(names))
    found["series"] = [name for name, _ in names]
    found["label"] = [short if alike[short] == 1 else name for name, short in names]
    found["order"] = [_KINDS.index(kind) if kind in _KINDS else len(_KINDS) for kind in found["kind"]]
    apart = facet_names(runs, found)
    found["panel"] = run.map(lambda r: facets.facet(r, apart))
    panels = list(dict.fromkeys(found["panel"]))
    found["at"] = [panels.index(of) for of in found["panel"]]
    return found.sort_values(["at", *_RANKED], kind="stable")


_RANKED = ["order", "kind", "verify", "direction", "which"]


def _utilisations(runs: Sequence[Run]) -> dict[Run, float | None]:
    """Return run → share of the time in which its busiest disk had an I/O; None of groups of jobs whose text tells only that of all."""
    texts = texts_of(runs)

    def whole_text(run: Run) -> tuple[object, ...]:
        reading = run.record.capture.reading if run.record.capture else {}
        return (run.file, texts[run], reading.get("document")) if "group" in reading else (run,)

    together = group_by(runs, whole_text).values()
    return {run: utilisation(run) if len(same) == 1 else None for same in together for run in same}


def _depth(run: Run, direction: str = "") -> int | None:
    """Return the iodepth of the jobs of a direction; None where they differ, or the text does not say."""
    if joined(run):
        return depth_of_all(run)
    depths = given(run, "iodepth", 1, direction) or {run.options.get("iodepth", 1)}
    return whole(depths.pop()) if len(depths) == 1 else None


def _no_depth(run: Run, direction: str) -> str:
    """Say why a run has no iodepth."""
    if joined(run):
        return "fio put several jobs together and tells the options of one of them"
    differ = len(given(run, "iodepth", 1, direction)) > 1
    return "its jobs differ in it" if differ else "the text does not say it"


def _size(run: Run, direction: str) -> str:
    """Return "4 KiB", "4 KiB and 64 KiB" of jobs that differ; "" where the text does not say, or a job has blocks of many sizes."""
    told = {_of(direction, str(size)) for size in given(run, "bs", "4k", direction) - {None}}
    many = any(given(run, name, direction=direction) - {None} for name in _MANY_SIZES)
    sizes = [] if many or joined(run) or not all(map(_bytes, told)) else sorted(told, key=_bytes)
    return fmt.words(dict.fromkeys(map(block, sizes)))


def _of(direction: str, sizes: str) -> str:
    """Return which of fio's `4k,64k` is that of a direction: those of reads, writes and trims, the last for the rest."""
    each = sizes.split(",")
    return (
        each[min(("read", "write", "trim").index(direction), len(each) - 1)]
        if direction != "mixed"
        else sizes
    )


_MANY_SIZES = ("bssplit", "bsrange", "blocksize_range")


def _bytes(size: str) -> int:
    try:
        return size_bytes(size)
    except ValueError:  # "4k,64k": of reads and writes; "4k-64k"
        return 0


def _kind(run: Run, direction: str) -> str:
    """Return what was asked for: "randread"; "reads" of a text that does not say."""
    if joined(run):
        return _ios(direction)
    told = (given(run, "rw", direction=direction) | given(run, "readwrite", direction=direction)) - {None}
    if not told:
        return "read" if tells_options(run) else _ios(direction)
    return fmt.words(sorted(map(str, told)))


def _series(run: Run, kind: str, direction: str, which: str) -> tuple[str, str]:
    """Return (name, short name): "randread", "read"; "randrw 70:30, reads", "mix r". which: "" where all have the same latency."""
    name, short = f"{kind}{_share(run) if kind in _MIXES else ''}", _SHORT.get(kind, kind)
    if is_verify(run, direction):
        name, short = f"{kind}, verify reads", "verify"
    elif direction != "mixed" and kind not in (direction, f"rand{direction}", _ios(direction)):
        name, short = f"{name}, {_ios(direction)}", f"{short} {direction[0]}"
    return (f"{name} (clat)", f"{short} clat") if which == "clat" else (name, short)


def _ios(direction: str) -> str:
    return "I/Os" if direction == "mixed" else f"{direction}s"


def _share(run: Run) -> str:
    """Return " 70:30", the reads and writes of a mix; "" where the text does not say or the jobs differ."""
    share = read_share(run)
    return "" if share is None else f" {share}:{100 - share}"


_WITHIN = ("iodepth", "rw", "readwrite", "rwmixread", "rwmixwrite")


def facet_names(runs: Sequence[Run], found: pd.DataFrame) -> list[str]:
    """Return the options that panels differ in: not depth and kinds of access, which are drawn within; of more than six kinds, each
    has a panel of its own."""
    within = _WITHIN if found["series"].nunique() <= curve_rows.MOST_SERIES else ("iodepth",)
    drawn = zip(found["run"], zip(found["series"], found["iodepth"].astype(str), strict=True), strict=True)
    return facets.panel_names(runs, within=facets.told(drawn, within))


def _latency(found: pd.DataFrame) -> tuple[str, str]:
    """Return what the latencies of a figure are called, in words and in tables: "completion latency", "clat". Where there are both
    kinds, the series tell which."""
    return (WORDS["clat"], "clat") if (found["which"] == "clat").all() else (WORDS["lat"], "latency")


def _figure(sweep: str, runs: Sequence[Run], found: pd.DataFrame, lost: Sequence[Run]) -> Figure:
    """Draw what was asked for at a depth that is known; the tables have the rest, too."""
    latency, term = _latency(found)
    asked_for = found[~found["verify"]]
    plotted = asked_for.dropna(subset="iodepth")
    picture = _picture(runs, plotted, lost, latency) if len(plotted) else None
    offers = _offers(plotted, term)
    numbers = _numbers(found, term)
    large = [offers] if offers and len(offers.rows) > _MOST_OFFERS else []
    small = [offers] if offers and not large else []
    return Figure(
        id=f"fio-{sweep}", of=sweep, sweep=runs[0].sweep_title,
        title=picture.title if picture else "IOPS and latency",
        sub=" ".join(filter(None, (*_ran(found if picture is None else picture.drawn, found), *(picture.marks if picture else ())))),
        panels=picture.panels if picture else (),
        key=picture.key if picture else (),
        tables=tuple(small) if picture else (*small, *numbers),
        numbers=(*large, *(numbers if picture else [])),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    """The panels of a figure, what its title may say of all of them, what is drawn in them, and what its marks mean."""

    title: str
    drawn: pd.DataFrame
    panels: tuple[Panel, ...]
    key: tuple[Key, ...]
    marks: tuple[str, ...]


def _picture(runs: Sequence[Run], found: pd.DataFrame, lost: Sequence[Run], latency: str) -> _Picture:
    names = facet_names(runs, found)
    ranked = found.sort_values(_RANKED, kind="stable")
    known = list(dict.fromkeys(zip(ranked["series"], ranked["label"], strict=True)))
    colours = dict(zip((name for name, _ in known), vega.palette(len(known)), strict=True))
    missing = group_by(lost, lambda r: facets.facet(r, names))
    crosses = {of: [float(depth) for run in own if (depth := _depth(run))] for of, own in missing.items()}
    depths = sorted({*map(int, found["iodepth"]), *(int(d) for own in crosses.values() for d in own)})
    panels = {of: own for (of,), own in groups(found, ["panel"])}
    shown = dict(list(panels.items())[: facets.MOST_PANELS // 2])
    middle = "p50" if found["p50"].notna().all() else "mean"
    once = max(len(same) for same in group_by(runs, facets.cell).values()) == 1 and not facets.pooled(runs)
    drawn = {
        of: {what: _lines(own, known, what, samples=once) for what in ("iops", middle, "p99")} for of, own in shown.items()
    }  # fmt: skip
    shared = _shared([*drawn.values()], latency, middle, colours, depths)
    rows = [_row(lines, of, crosses.get(of, []), shared) for of, lines in drawn.items()]
    titles = {_finding(own, known, middle) for own in panels.values()}
    marks = _marks(runs, [*drawn.values()], rows, shared)
    if missing:
        marks.append("Cross on the axis: a cell that failed.")
    if len({row["iops"].wide["encoding"]["y"]["title"] for row in rows}) > 1:
        marks.append("The IOPS axes differ.")
    marks.append(wording.not_drawn(len(panels), len(shown)).strip())
    seen = found[found["panel"].isin([*shown])]
    key = [name for name, _ in known if name in set(seen["series"])]
    return _Picture(
        title=titles.pop() if len(titles) == 1 else "IOPS and latency over iodepth",
        drawn=seen,
        panels=tuple(row[what] for what in ("iops", "latency", "p99", "tradeoff") for row in rows if what in row),
        key=tuple(Key(name=name, colour=colours[name], dashed=_is_mix(name)) for name in key) if len(key) > 1 else (),
        marks=tuple(marks),
    )  # fmt: skip


_Lines = Mapping[str, list[Curve]]
"""The curves of a panel's runs: IOPS, the middle latency, p99."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What all panels of a figure have in common."""

    latency: str  # which, in words
    middle: str  # "p50", or "mean" where a run has no median
    word: str  # "median" or "mean"
    colours: dict[str, str]
    depths: list[int]
    scale: fmt.Scale  # of times
    times: axes.Axis  # one for all panels: what waits longer is seen to
    waits: axes.Axis  # of the middle latency alone
    apart: bool  # one panel each for the middle and p99; else thin lines in one


def _shared(
    drawn: Sequence[_Lines], latency: str, middle: str, colours: dict[str, str], depths: list[int]
) -> _Shared:
    ends = [y for by in drawn for what in (middle, "p99") for line in by[what] for _, y in line.points]
    times = [v for y in ends for v in (y.low, y.high)]
    scale = fmt.scale_for(times, "ns")
    word = "median" if middle == "p50" else "mean"
    axis = axes.decades(
        [v / scale.factor for v in times], f"{_begun(word)} {latency}, {scale.unit} (log scale)", margin=1.3
    )
    medians = [y.median for by in drawn for line in by[middle] for _, y in line.points]
    waits = axes.decades([v / scale.factor for v in medians], axis.title, margin=1.5)
    return _Shared(
        latency=latency, middle=middle, word=word, colours=colours, depths=depths, scale=scale, times=axis, waits=waits,
        apart=len(drawn) == 1,
    )  # fmt: skip


def _row(lines: _Lines, of: facets.Facet, crosses: Sequence[float], shared: _Shared) -> dict[str, Panel]:
    """Draw some runs: "iops" and, where there are such numbers, "latency", "p99" and "tradeoff"."""
    where, latency, scale = facets.facet_title(of, "fio"), shared.latency, shared.scale
    iops, delays, tails = lines["iops"], lines[shared.middle], lines["p99"]
    values = [v for line in iops for _, y in line.points for v in (y.low, y.high)]
    values += [v for line in iops for _, low, high in line.ranges or () for v in (low, high)]
    rate = fmt.scale_to_largest(values, "IOPS")
    axis = axes.from_zero([v / rate.factor for v in values], _THOUSANDS[rate.unit])

    def titled(text: str) -> str:
        return f"{where}, {text}" if where else _begun(text)

    def draw(
        title: str, drawn: list[Curve], y: axes.Axis, factor: float, unit: str, thin: Sequence[Curve] = ()
    ) -> Panel:
        return _panel(title, drawn, shared.colours, shared.depths, y, factor, unit, crosses, thin)

    row = {"iops": draw(titled("IOPS"), iops, axis, rate.factor, "IOPS")}
    if delays:
        thin = () if shared.apart else tails
        row["latency"] = draw(titled(latency), delays, shared.times, scale.factor, "ns", thin)
        if any(len(line.points) > 1 for line in delays):
            over = titled(f"{latency} over IOPS")
            row["tradeoff"] = _tradeoff(
                over, iops, delays, shared.colours, axis, rate.factor, shared.waits, scale.factor
            )
    if shared.apart and tails:
        y99 = shared.times.titled(f"p99 {latency}, {scale.unit} (log scale)")
        row["p99"] = draw(titled(f"{latency}, p99"), tails, y99, scale.factor, "ns")
    return row


def _marks(
    runs: Sequence[Run], drawn: Sequence[_Lines], rows: Sequence[Mapping[str, Panel]], shared: _Shared
) -> list[str]:
    """Say what bars, rings, thin and dashed lines are, of those that are drawn."""
    every = [line for by in drawn for of_kind in by.values() for line in of_kind]
    marks = list(_bars(runs, every))
    if any(curve_rows.saturates(line) for by in drawn for line in by["iops"]):
        marks.append("Ring: 95 % of that curve’s maximum.")
    latency = _begun(shared.latency)
    if any("latency" in row for row in rows):
        thin = "; thin line: p99" if not shared.apart and any(by["p99"] for by in drawn) else ""
        kind = "clat" if shared.latency == WORDS["clat"] else "lat"
        marks.append(f"{latency} ({kind}): the {shared.word} of a run{thin}.")
    if any("tradeoff" in row for row in rows):
        marks.append(f"{latency} over IOPS: one point per iodepth; a curve that goes straight up only waits.")
    if mixed := [line.name.removesuffix(" (clat)").rpartition(", ")[2] for line in every if line.dashed]:
        marks.append(f"Dashed: a mix, split into its {fmt.words(dict.fromkeys(mixed))}.")
    return marks


def _is_mix(series: str) -> bool:
    return "," in series


def _finding(own: pd.DataFrame, known: Sequence[tuple[str, str]], middle: str) -> str:
    """Return what is true of a panel; a figure's title says it if it is of all of them."""
    drawn = {what: _lines(own, known, what) for what in ("iops", middle)}
    iops, waits = (
        {line.name: {int(d): s for d, s in line.points} for line in lines} for lines in drawn.values()
    )
    full = {line.name: formulas.saturations(line.turns) for line in drawn["iops"]}
    return findings.iodepth(iops, waits, ("randread", "read"), full)


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


_NO_STORAGE = {"null", "cpuio", "net", "netsplice"}
"""Engines without a file behind them."""


def _ran(drawn: pd.DataFrame, found: pd.DataFrame) -> list[str]:
    """Say what ran of what is drawn: program and repeats, engine, cache, jobs and, where jobs of a run differ in it, block size; and what
    is to be known of the tables, which have all that was found."""
    runs = list(dict.fromkeys(drawn["run"]))
    engines, cache = _engines(runs), _cache(runs)
    jobs = drawn["processes"]
    low, high = jobs.min(), jobs.max()
    many = (
        "number of jobs not said" if jobs.isna().any()
        else fmt.plural(int(high), "job") if low == high else f"{low} to {fmt.plural(int(high), 'job')}"
    )  # fmt: skip
    said = [f"{wording.ran(runs, program_name)}; {', '.join(filter(None, [*sorted(engines), cache, many]))}."]
    if mixed := sorted(size for size in set(found["size"]) if " and " in size):
        said.append(f"Jobs of {mixed[0]} blocks ran together: a row has the I/Os of all sizes.")
    elif (found.groupby("panel")["size"].nunique() > 1).any():
        sizes = dict.fromkeys(zip(found["series"], found["size"], strict=True))
        told = (f"{name} {size or 'not said'}" for name, size in sizes)
        said.append(f"Blocks differ: {fmt.words(told)}.")
    if found["iodepth"].isna().any():
        without = zip(*(found.loc[found["iodepth"].isna(), of] for of in ("run", "direction")), strict=True)
        why = dict.fromkeys(itertools.starmap(_no_depth, without))
        said.append(f"Where no iodepth stands, {', or '.join(why)}.")
    if any(map(_lacks_share, found["run"], found["kind"])):
        of_all = all(map(_lacks_share, drawn["run"], drawn["kind"]))
        said.append(
            "The share of reads in the mix is not said."
            if of_all
            else "Where no share of reads stands, the text does not say it."
        )
    if found["verify"].any():
        said.append("Reads with which a write verifies what it wrote are in the numbers only.")
    return said


def _lacks_share(run: Run, kind: str) -> bool:
    return kind in _MIXES and not _share(run)


def _engines(runs: Iterable[Run]) -> set[str]:
    return {str(value) for run in runs for value in given(run, "ioengine") - {None}}


_CACHED = "through the page cache"


def _cache(runs: Sequence[Run]) -> str:
    """Return "direct" or "through the page cache"; "" where the runs differ, nothing tells, or no file is behind their engine."""
    direct = {str(value) for run in runs for value in given(run, "direct", 0)}
    ways = {"direct": {"1", "True"}, _CACHED: {"0", "False"}}
    stored = direct and not _engines(runs) & _NO_STORAGE
    return next((way for way, values in ways.items() if stored and direct <= values), "")


def _bars(runs: Sequence[Run], lines: Sequence[Curve]) -> Iterator[str]:
    """Say what the bars are, if there are any."""
    if any(high > low for line in lines for _, low, high in line.ranges or ()):
        yield "Bars: lowest and highest IOPS sample of the run."
    if any(y.high > y.low for line in lines for _, y in line.points):
        yield f"Bars: lowest to highest {wording.over(runs)}."


LIMITS = (100e3, 1e6, 10e6)
"""Limits on p99 (ns) at which the most IOPS are given: of a flash array, of a service on disks, of what people still wait for."""


def _offers(found: pd.DataFrame, term: str) -> Table | None:
    """Return the most IOPS of each series, from which depth on, and within a limit on p99; None of sweeps without depths."""
    series = list(groups(found, ["panel", "series", "processes"]))
    if all(own["iodepth"].nunique() < 2 for _, own in series):
        return None
    named = any(found["panel"])
    rows, within = [], []
    for (of, name, _), own in series:
        iops = {int(depth): float(at["iops"].median()) for (depth,), at in groups(own, ["iodepth"])}
        repeats = _repeats(own)
        full = formulas.saturations([{at: rate for at, (rate, _) in one.items()} for one in repeats])
        within.append([_within(repeats, limit) for limit in LIMITS])
        rows.append(
            (
                name, *([facets.facet_title(of, "fio")] if named else []), fmt.quantity(max(iops.values()), "IOPS"),
                fmt.whole(max(sorted(iops), key=iops.__getitem__)), fmt.whole(full[0]) if len(full) == 1 else f"{full[0]} to {full[-1]}",
            )
        )  # fmt: skip
    # a limit that nobody keeps says nothing; of those that everybody keeps everywhere, the tightest says it all
    told = [i for i, _ in enumerate(LIMITS) if any(row[i] is not None for row in within)]
    first = 2 if named else 1
    p99 = "p99" if term == "latency" else f"p99 {term}"
    differ = "; 95 %: from one depth to another as the repeats differ" * any(
        " to " in row[-1] for row in rows
    )
    limits = f"; within a limit on {p99}, between two depths interpolated" * bool(told)
    return Table(
        caption=f"What each series offers{limits}{differ}",
        columns=(
            "Access", *(["Panel"] if named else []), "Most IOPS", "at depth", "95 % from depth",
            *(f"IOPS at {p99} ≤ {fmt.quantity(LIMITS[i], 'ns', 1)}" for i in told),
        ),
        rows=tuple(
            (*row, *(kept[i] or fmt.NOTHING for i in told)) for row, kept in zip(rows, within, strict=True)
        ),
        numeric=frozenset(range(first, first + 3 + len(told))),
    )  # fmt: skip


_Repeat = Mapping[int, tuple[float, float]]
"""iodepth → (IOPS, p99 in ns or NaN) of one repeat."""


def _repeats(own: pd.DataFrame) -> list[_Repeat]:
    """Return the curve of each repeat of a series, of those that have the most depths."""
    rows = zip(own["run"], own["iodepth"], own["iops"], own["p99"].astype(float), strict=True)
    turns = group_by(rows, lambda row: row[0].turn).values()
    curves = [{int(depth): (float(iops), p99) for _, depth, iops, p99 in turn} for turn in turns]
    most = max(map(len, curves))
    return [curve for curve in curves if len(curve) == most]


def _within(repeats: Sequence[_Repeat], limit: float) -> str | None:
    """Return the most IOPS within a limit (ns) on p99: the median over the repeats of what each of them gives, a bound where one kept
    it at every depth. None where one of them gives nothing."""
    points = [[(rate, p99) for rate, p99 in one.values() if p99 == p99] for one in repeats]
    most = [formulas.within_slo(of, limit) for of in points]
    known = [one for one in most if one is not None]
    if len(known) < len(most):
        return None
    bound = any(all(p99 <= limit for _, p99 in of) for of in points)
    middle = statistics.median(known)
    return f"≥ {fmt.quantity(middle, 'IOPS', rounding=fmt.DOWN)}" if bound else fmt.quantity(middle, "IOPS")


_MOST_OFFERS = 12
"""A table of what the series offer is open up to so many rows; a longer one is with the numbers."""


def _tails_figure(sweep: str, runs: Sequence[Run], found: pd.DataFrame) -> Figure | None:
    """Draw how long single I/Os took, from the bins of json+: each series of one panel at its lowest and highest depth."""
    found = found[~found["verify"]]
    bins = {(run, dict(name.part)["direction"]): own for run in runs for name, own in histograms(run)}
    binned = found[[key in bins for key in zip(found["run"], found["direction"], strict=True)]]
    if not len(binned):
        return None
    every: list[tuple[facets.Facet, str, int, str, Distribution]] = []
    for (of, series, label, depth, _, direction), own in groups(
        binned, ["panel", "series", "label", "iodepth", "processes", "direction"]
    ):
        told = [
            {name: value for name, value in (("mean", mean), ("max", largest)) if value == value}
            for mean, largest in zip(own["mean"], own["largest"], strict=True)
        ]
        members = [(run, bins[run, direction], of_run) for run, of_run in zip(own["run"], told, strict=True)]
        at = _known(depth)
        words = f"depth {at}" if at else "depth not said"
        drawn = _tails.pooled(f"{label}, {words}", "", members)
        where = facets.facet_title(of, "fio")
        listed = f"{series}, {words}{', ' + where if where else ''}"
        every.append((of, series, at or 0, listed, drawn))
    first = every[0][0]
    by_series = group_by((d for d in every if d[0] == first), lambda d: d[1]).values()
    ends = [(same, {min(d[2] for d in same), max(d[2] for d in same)}) for same in by_series]
    chosen = [d[-1] for same, at in ends for d in same if d[2] in at][: _tails.MOST_CURVES]
    subject = chosen[0]
    name = _begun(next(listed for *_, listed, d in every if d is subject))
    where, latency = facets.facet_title(first, "fio"), _latency(binned)[0]
    noun = "I/O" if latency == WORDS["lat"] else "I/O completion"
    title = findings.modes(name, subject.steady_modes) or findings.tail(
        name, subject.at("p50"), subject.at("p99.9"), subject.largest, subject.n, noun="I/O",
    )  # fmt: skip
    left = len(every) - len(chosen)
    return Figure(
        id=f"fio-tail-{sweep}",
        of=sweep, sweep=runs[0].sweep_title,
        title=title,
        sub=f"{wording.ran(_tails.runs_of(chosen), program_name)}{'; ' + where if where else ''}; {latency} of {_tails.counted(chosen)} "
        f"I/Os a curve{_tails.together(chosen)}, from fio’s own bins. Dashed: a normal distribution with the mean and "
        f"standard deviation of “{subject.name}”.{f' {left} more in the numbers.' if left else ''}",
        panels=(
            _tails.tail_panel(chosen, subject, noun=noun),
            _tails.histogram_panel(subject, chosen, noun=noun),
        ),
        numbers=(_tails.numbers([replace(d, name=listed) for *_, listed, d in every], noun=noun),),
    )  # fmt: skip


def _lines(
    own: pd.DataFrame, known: Sequence[tuple[str, str]], what: str, *, samples: bool = False
) -> list[Curve]:
    """Return one curve per series of the panel over iodepth: "iops", or in ns "mean", "p50", "p99". samples: the IOPS of single
    processes have the range of fio's samples."""
    lines = []
    for name, short in known:
        of = own[own["series"] == name]
        of = of[
            ~of["iodepth"].isin(of.loc[of[what].isna(), "iodepth"])
        ]  # what only some repeats tell is not of the cell
        pairs = zip(of["iodepth"].astype(float), of[what], strict=True)
        line = curve_rows.curve(name, pairs, runs=of["run"], label=short, dashed=_is_mix(name))
        if what == "iops" and samples:
            one = of[of["processes"] == 1].dropna(subset=["iops_min", "iops_max"])
            ranges = one[["iodepth", "iops_min", "iops_max"]].astype(float).itertuples(index=False, name=None)
            line = replace(line, ranges=tuple(ranges))
        lines.append(line)
    return [line for line in lines if line.points]


def _panel(
    title: str, lines: list[Curve], colours: dict[str, str], depths: list[int], y: axes.Axis, factor: float, unit: str,
    crosses: Sequence[float], thin: Sequence[Curve] = (),
) -> Panel:  # fmt: skip
    x = axes.at_tested(depths, "iodepth per job (log)")

    def tip(depth: float, value: formulas.Spread) -> str:
        return f"iodepth {depth:g} · {wording.exact(value, unit)}"

    def build(width: int) -> Spec:
        frame = Frame(
            width=width, height=268, left=left_margin(y), right=curve_rows.name_margin(lines, width)
        )
        plot = Plot(frame=frame, x=x, y=y)
        data = {
            "points": curve_rows.point_rows(lines, depths, factor, tip),
            "tails": curve_rows.point_rows(thin, depths, factor, lambda d, v: f"{tip(d, v)}, p99"),
            "ranges": curve_rows.range_rows(lines, depths, factor),
            "crosses": curve_rows.cross_rows(crosses),
            **curve_rows.end_names(lines, plot, factor),
            **(curve_rows.saturation_rings(lines, plot, factor) if unit == "IOPS" else {}),
        }
        series = [vega.Series(name=c.name, colour=colours[c.name], dashed=c.dashed) for c in lines]
        return vega.fill("depth", frame=frame, x=x, y=y, series=series, data=data)

    described = " ".join(
        f"{line.name}: {fmt.quantity(line.points[0][1].median, unit)} at depth {line.points[0][0]:g}, "
        f"{fmt.quantity(line.points[-1][1].median, unit)} at {line.points[-1][0]:g}."
        for line in lines
    )
    return panel(title, f"{title} by iodepth. {described}", build)


def _tradeoff(
    title: str, iops: list[Curve], delays: list[Curve], colours: dict[str, str],
    x: axes.Axis, x_factor: float, y: axes.Axis, y_factor: float,
) -> Panel:  # fmt: skip
    """Latency over IOPS, joined in the order of iodepth; the depths stand at the points of the first curve."""
    lines: list[tuple[Curve, list[tuple[float, formulas.Spread, formulas.Spread]]]] = []
    for rate in iops:
        waits = dict(next((line.points for line in delays if line.name == rate.name), ()))
        lines.append((rate, [(depth, v, waits[depth]) for depth, v in rate.points if depth in waits]))
    lines = [(rate, points) for rate, points in lines if points]

    def build(width: int) -> Spec:
        frame = Frame(width=width, height=268, left=left_margin(y), right=20)
        plot = Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {"points": [], "notes": [], "names": [], "leads": []}
        named: list[tuple[list[label_placement.Point], str]] = []
        for rate, points in lines:
            places = [plot.at(v.median / x_factor, w.median / y_factor) for _, v, w in points]
            named.append((places, rate.label or rate.name))
            data["points"] += [
                {
                    "series": rate.name, "x": v.median / x_factor, "y": w.median / y_factor, "order": order,
                    "segment": 0, "dashed": rate.dashed,
                    "tip": f"iodepth {depth:g} · {wording.exact(v, 'IOPS')} · {wording.exact(w, 'ns')}",
                }
                for order, (depth, v, w) in enumerate(points)
            ]  # fmt: skip
        bounds = (2.0, -10.0, frame.plot_width + 18, frame.plot_height - 2)
        strokes = [stroke for places, _ in named for stroke in itertools.pairwise(places)]
        depths = [(at, f"{depth:g}") for at, (depth, _, _) in zip(named[0][0], lines[0][1], strict=True)]
        boxes: list[label_placement.Box] = []
        for place in label_placement.near(depths, strokes, (), bounds, 11.5, (1.0,)):
            ((px, py), text), row = depths[place.index], data["points"][place.index]
            box = label_placement.box_of(px + place.dx, py + place.dy, text, 11.5)
            if place.cost < 6 and not any(label_placement.touch(box, other) for other in boxes):
                boxes.append(box)
                data["notes"].append(
                    {"x": row["x"], "y": row["y"], "text": text, "dx": place.dx, "dy": place.dy, "align": "left"}
                )  # fmt: skip
        for name, (places, text), (rate, points) in zip(
            label_placement.along(named, boxes, bounds, prefer=frame.plot_height * 0.3),
            named,
            lines,
            strict=True,
        ):
            _, v, w = points[0]
            (x0, y0) = places[0]
            data["names"].append(
                {
                    "series": rate.name, "x": v.median / x_factor, "y": w.median / y_factor, "text": text,
                    "dx": round(name.x - x0, 1), "dy": round(name.y - y0, 1), "align": "left",
                }
            )  # fmt: skip
            if name.lead:
                (x1, y1), (x2, y2) = name.lead
                data["leads"].append({"series": rate.name, "x_px": x1, "y_px": y1, "x2_px": x2, "y2_px": y2})
        series = [vega.Series(name=r.name, colour=colours[r.name], dashed=r.dashed) for r, _ in lines]
        return vega.fill("tradeoff", frame=frame, x=x, y=y, series=series, data=data)

    described = " ".join(
        f"{rate.name}: {fmt.quantity(points[0][2].median, 'ns')} at {fmt.quantity(points[0][1].median, 'IOPS')}, "
        f"{fmt.quantity(points[-1][2].median, 'ns')} at {fmt.quantity(points[-1][1].median, 'IOPS')}."
        for rate, points in lines
    )
    return panel(title, f"{title}, in the order of iodepth. {described}", build)


_SAMPLES = (
    "IOPS min and max: the lowest and the highest of fio’s samples of half a second; a short run has few"
)
_TOLD = "IOPS min and max: as the text’s table has them"
_BUSY = (
    "utilisation: the share of the time in which the busiest disk had an I/O; 100 % at depth 1 does not say that an NVMe device can do "
    "no more"
)


def _numbers(found: pd.DataFrame, term: str) -> list[Table]:
    """Every series at every depth, in two tables that fit on paper: latency, then rates. Medians over the repeats, of IOPS and the
    mean latency with their range; of IOPS samples the lowest and the highest, which fio gives of single processes only, and a text's
    table of all. Beside the depth stands the number of jobs, where it differs and no panel is named by it."""
    scale = fmt.scale_for(found["mean"].dropna(), "ns")
    moved = fmt.scale_for(found["bandwidth"].dropna(), "B/s")
    read_off = found["run"].map(lambda run: run.parsed.has("from_table")).astype(bool)
    alone = (found["processes"] == 1) | (
        read_off & found["iops"].between(found["iops_min"], found["iops_max"])
    )
    found = found.assign(
        filled=(found["in_flight"] / found["asked"]).where(~found["verify"].astype(bool)),
        iops_min=found["iops_min"].where(alone).astype(float), iops_max=found["iops_max"].where(alone).astype(float),
    )  # fmt: skip
    sampled, moves, timed, costed = (
        found[of].notna().any() for of in ("iops_min", "bandwidth", "busy", "cpu")
    )
    named = any(found["panel"])
    many = found["processes"].nunique(dropna=False) > 1 and "numjobs" not in {
        name for of in found["panel"] for name, _ in of
    }
    latencies, rates = [], []
    for (of, name, depth, jobs, _), own in groups(
        found.sort_values(["at", *_RANKED, "iodepth"], kind="stable"), ["panel", "series", "iodepth", "processes", "direction"]
    ):  # fmt: skip
        middle = own[["bandwidth", "p50", "p99", "filled", "busy", "cpu"]].median(skipna=False)
        means = own["mean"].dropna()
        iops = wording.spread_text(formulas.spread(list(own["iops"])), fmt.Scale(factor=1, unit="IOPS"), 4)
        first = (
            name,
            *([facets.facet_title(of, "fio")] if named else []),
            fmt.whole(_known(depth)),
            *([fmt.whole(_known(jobs))] if many else []),
            iops,
        )
        latencies.append(
            (
                *first, wording.spread_text(formulas.spread(list(means)), scale) if len(means) else fmt.NOTHING,
                scale.number(middle["p50"]), scale.number(middle["p99"]), fmt.number(middle["filled"]),
                *([fmt.quantity(middle["cpu"], "ns")] if costed else []),
            )
        )  # fmt: skip
        low, high = own["iops_min"].min(skipna=False), own["iops_max"].max(skipna=False)
        rates.append(
            (
                *first, *([fmt.number(low, 4), fmt.number(high, 4)] if sampled else []), *([moved.number(middle["bandwidth"])] if moves else []),
                *([fmt.percent(middle["busy"], 3) if middle["busy"] == middle["busy"] else fmt.NOTHING] if timed else []),
            )
        )  # fmt: skip
    said = _begun(
        "; ".join(
            [*([_TOLD if read_off.any() else _SAMPLES] if sampled else []), *([_BUSY] if timed else [])]
        )
    )
    columns = ("Access", *(["Panel"] if named else []), "iodepth", *(["Jobs"] if many else []), "IOPS")
    of_latency = (*(f"{s} {term}, {scale.unit}" for s in ("Mean", "p50", "p99")), "in flight ÷ asked", *(["CPU per I/O"] if costed else []))  # fmt: skip
    of_rates = (*(["IOPS min", "IOPS max"] if sampled else []), *([f"Bandwidth, {moved.unit}"] if moves else []), *(["Utilisation"] if timed else []))  # fmt: skip
    return [
        Table(
            columns=(*columns, *more), rows=tuple(rows), numeric=frozenset(range(columns.index("iodepth"), len(columns) + len(more))), caption=caption
        )
        for more, rows, caption in ((of_latency, latencies, ""), (of_rates, rates, said))
        if more
    ]  # fmt: skip


def _known(value: Any) -> int | None:  # noqa: ANN401 (a cell of a frame)
    """Return a whole number; None of one that is missing."""
    import pandas as pd

    return None if pd.isna(value) else int(value)


_SAID = ("bs", "numjobs", "host", "direct", *_WITHIN)
"""Options that a key number has in words of its own; hosts are those of all key numbers of a page."""


def _key_numbers(found: pd.DataFrame, both: bool) -> list[KeyNumber]:
    """Return the number of each cell, the best first. `both`: some runs of the page are direct, others through the page cache."""
    found = found[~found["verify"]]
    if not len(found):
        return []
    random, reads = found["kind"] == "randread", found["direction"] == "read"
    own = found[random] if random.any() else found[reads] if reads.any() else found
    by = ["point_id", "direction"] if facets.pooled(found["run"]) else ["file", "point_id", "direction"]
    cells = sorted((same for _, same in groups(own, by)), key=lambda same: -same["iops"].median())
    return [_key_number(same, both) for same in cells]


def _named(same: pd.DataFrame) -> str:
    first = same.iloc[0]
    return " ".join(filter(None, ("Storage,", first["size"], _ios(first["direction"]))))


def _key_number(same: pd.DataFrame, both: bool) -> KeyNumber:
    best = same.iloc[0]
    depth, jobs = _known(best["iodepth"]), job_count(best["run"], best["direction"])
    waits = depth and depth > 1 and best["asked"] == jobs  # a synchronous engine
    context = [best["series"].removesuffix(" (clat)")]
    context += [f"iodepth {depth}{' (one in flight a job)' if waits else ''}"] if depth else []
    context += [fmt.plural(jobs, "job")] if jobs and jobs > 1 else []
    context += [cache] if both and (cache := _cache([best["run"]])) else []
    apart = tuple((name, value) for name, value in best["panel"] if name not in _SAID)
    context += [title] if (title := facets.facet_title(apart, "fio")) else []
    if len(means := same["mean"].dropna()):
        context.append(f"mean {_latency(same)[1]} {fmt.quantity(means.median(), 'ns')}")
    of = formulas.spread(list(same["iops"]))
    return wording.key_number(_named(same), of, "IOPS", ", ".join(context), 14, same["run"])


def _access_times(found: pd.DataFrame, both: bool) -> list[AccessTime]:
    """The median time of one I/O with nothing else in flight; the mean, by that name, where no median is told. A row per cell."""
    alone = found[
        (found["asked"] == 1) & ~found["series"].map(_is_mix) & ~found["kind"].isin(_MIXES) & ~found["verify"]
    ]
    by = (
        ["point_id", "direction", "which"]
        if facets.pooled(found["run"])
        else ["file", "point_id", "direction", "which"]
    )
    times = []
    for _, same in groups(alone.sort_values(_RANKED, kind="stable"), by):
        statistic = "p50" if same["p50"].notna().all() else "mean"
        if same[statistic].notna().all():
            of = formulas.spread(list(same[statistic]))
            times.append(
                AccessTime(
                    name=_access(same, both), run=same["run"].iloc[0], group="storage", median=of.median, repeats=of, source=program_name(same["run"].iloc[0]),
                    statistic="median" if statistic == "p50" else "mean",
                )
            )  # fmt: skip
    return times


def _access(same: pd.DataFrame, both: bool) -> str:
    """Return "4 KiB read, iodepth 1"; "4 KiB read clat, one in flight" where the engine waits for each, whatever its depth; and that it
    goes through the page cache, or which way it goes where `both` are on the page."""
    one = same.iloc[0]
    words = (one["size"], _SHORT.get(one["kind"], one["kind"]), one["which"] == "clat" and "clat")
    depth = "iodepth 1" if _known(one["iodepth"]) == 1 else "one in flight"
    way = _cache(list(same["run"]))
    told = way if both or way == _CACHED else ""
    return ", ".join(filter(None, [" ".join(word for word in words if word), depth, told]))
