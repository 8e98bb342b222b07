"""The cells of fio as a frame, and what their columns are called."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from parsers.measurement import whole
from parsers.units import size_bytes
from reports.charts import curve_rows, facets
from reports.draw import vega
from reports.numbers.fio import (
    WORDS,
    asked,
    cpu_per_io,
    depth_of_all,
    given,
    in_flight,
    is_verify,
    job_count,
    joined,
    read_share,
    summaries,
    tells_options,
    utilisation,
)
from reports.readings.fio import disks, jobs
from reports.results.grouping import group_by
from reports.results.model import Run, texts_of
from reports.results.naming import block
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

_KINDS = ("randread", "randwrite", "read", "write", "randrw", "rw", "readwrite", "trim", "randtrim")


MIXES = ("randrw", "rw", "readwrite")


SHORT = {"randread": "read", "randwrite": "write", "randrw": "mix", "readwrite": "mix", "rw": "mix"}


def cells(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the summaries (`numbers.fio`) of what did I/O, a row per run and direction, panel by panel, then by kind of access.

    Beside the columns of the summaries: iodepth and processes (Int64, NA where the text does not say); kind, series and label (str:
    "randread", "randrw 70:30, reads", "mix r"); size (str: "4 KiB", "4 KiB and 64 KiB", "" if not known); cpu (ns per I/O), asked and
    in_flight (I/Os of the run), busy (share of the time, of the busiest disk), float; disks (frozenset of str, those that fio names); verify (bool: reads that nobody asked for);
    engines (frozenset of str) and way (str: "direct", CACHED, "" where nothing tells or no file is behind them); panel (a Facet), at (int),
    the rank of the panel, and order (int), that of the kind.
    """
    from parsers.frames import pd

    alone = _alone(runs)
    parts = [_read(runs[at : at + _AT_ONCE], alone) for at in range(0, len(runs), _AT_ONCE)]
    found = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    both = found.dropna(subset="mean")["which"].nunique() > 1
    run = found["run"]
    which = found["which"] if both else [""] * len(found)
    told = zip(run, found["kind"], found["direction"], found["verify"], which, strict=True)
    names = [_series(*of) for of in told]
    alike = Counter(short for _, short in set(names))
    found["series"] = [name for name, _ in names]
    found["label"] = [short if alike[short] == 1 else name for name, short in names]
    found["order"] = [_KINDS.index(kind) if kind in _KINDS else len(_KINDS) for kind in found["kind"]]
    apart = _facet_names(runs, found)
    each: dict[facets.Facet, facets.Facet] = {}
    found["panel"] = run.map(lambda r: each.setdefault(of := facets.facet(r, apart), of))
    panels = {of: at for at, of in enumerate(dict.fromkeys(found["panel"]))}
    found["at"] = [panels[of] for of in found["panel"]]
    return found.sort_values(["at", *RANKED], kind="stable")


_AT_ONCE = 1000
"""Runs that are read before what was read of them is let go, where there are more."""


def _read(runs: Sequence[Run], alone: Container[Run]) -> pd.DataFrame:
    """Return the columns of `cells` that each run tells by itself. `alone`: of which the text tells what their disks did."""
    from parsers.frames import pd

    found = summaries.frame(runs).dropna(subset="iops").drop(columns=["latencies", "steps"])
    run, direction = found["run"], found["direction"]
    first: dict[object, Run] = {}
    alike = run.map({one: first.setdefault(_options_of(one), one) for one in run})  # tells the same options
    engines = {one: engines_of(one) for one in alike}
    ways = {one: _way(one, engines[one]) for one in alike}

    def of_each(told: Callable[[Run, str], T]) -> list[T]:
        return list(map(functools.cache(told), alike, direction))

    return found.assign(
        iodepth=pd.array(of_each(depth_of), dtype="Int64"), processes=alike.map(functools.cache(job_count)).astype("Int64"), size=of_each(_size),
        kind=of_each(_kind), verify=pd.array(of_each(is_verify), dtype="bool"),
        cpu=run.map(cpu_per_io).astype(float), asked=alike.map(functools.cache(asked)).astype(float), in_flight=run.map(in_flight).astype(float),
        engines=alike.map(engines), way=[ways[one] for one in alike],
        disks=run.map({one: frozenset(disk.name for disk in disks(one)) for one in run}),
        busy=run.map({one: utilisation(one) if one in alone else None for one in run}).astype(float),
    )  # fmt: skip


def _options_of(run: Run) -> object:
    """Return what its options are told from, the same for the repeats of a cell that pinsweep ran: those that fio prints are one mapping
    for all texts in which they are the same (`reports.readings.rows`)."""
    if run.captured:
        return run
    told = (
        (j.document, j.job, j.name, j.direction, bool(j.iops), j.processes, id(j.options)) for j in jobs(run)
    )
    return id(run.cell), *told


RANKED = ["order", "kind", "verify", "direction", "which"]


def _alone(runs: Sequence[Run]) -> set[Run]:
    """Return the runs whose text is of no other: of groups of jobs it tells only what the disks did in all of them."""
    texts = texts_of(runs)

    def whole_text(run: Run) -> tuple[object, ...]:
        reading = run.record.capture.reading if run.record.capture else {}
        return (run.file, texts[run], reading.get("document")) if "group" in reading else (run,)

    return {same[0] for same in group_by(runs, whole_text).values() if len(same) == 1}


def depth_of(run: Run, direction: str = "") -> int | None:
    """Return the iodepth of the jobs of a direction; None where they differ, or the text does not say."""
    if joined(run):
        return depth_of_all(run)
    depths = given(run, "iodepth", 1, direction) or {run.options.get("iodepth", 1)}
    return whole(depths.pop()) if len(depths) == 1 else None


def no_depth(run: Run, direction: str) -> str:
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
        return ios(direction)
    told = (given(run, "rw", direction=direction) | given(run, "readwrite", direction=direction)) - {None}
    if not told:
        return "read" if tells_options(run) else ios(direction)
    return fmt.words(sorted(map(str, told)))


def _series(run: Run, kind: str, direction: str, verify: bool, which: str) -> tuple[str, str]:
    """Return (name, short name): "randread", "read"; "randrw 70:30, reads", "mix r". which: "" where all have the same latency."""
    name, short = f"{kind}{share_of(run) if kind in MIXES else ''}", SHORT.get(kind, kind)
    if verify:
        name, short = f"{kind}, verify reads", "verify"
    elif direction != "mixed" and kind not in (direction, f"rand{direction}", ios(direction)):
        name, short = f"{name}, {ios(direction)}", f"{short} {direction[0]}"
    return (f"{name} (clat)", f"{short} clat") if which == "clat" else (name, short)


def ios(direction: str) -> str:
    return "I/Os" if direction == "mixed" else f"{direction}s"


THOUSANDS = {"IOPS": "IOPS", "kIOPS": "Thousand IOPS", "MIOPS": "Million IOPS"}
"""The unit of an axis, in words."""

_HUES = {"read": vega.BLUES, "write": vega.ORANGES}


def colours(
    drawn: Mapping[str, str], panels: Iterable[Iterable[str]], dashed: Container[str] = ()
) -> dict[str, str]:
    """Return the colour of each series (series → direction): blue means reads and orange writes, on every page; one that stands beside
    another of its direction has a darker or a lighter shade, unless one of them is dashed; trims and sums are green or purple. panels: the series in each."""
    wished = {name: _HUES.get(direction, vega.SERIES[2:]) for name, direction in drawn.items()}
    beside = [[*own] for own in panels]
    alike = group_by(drawn, lambda name: name in dashed).values()
    return {
        name: colour
        for own in alike
        for name, colour in curve_rows.first_free(
            {name: wished[name] for name in own}, [[n for n in names if n in own] for names in beside]
        ).items()
    }


def hue(direction: str) -> str:
    """Return the colour that means a direction."""
    return colours({"": direction}, ())[""]


def share_of(run: Run) -> str:
    """Return " 70:30", the reads and writes of a mix; "" where the text does not say or the jobs differ."""
    share = read_share(run)
    return "" if share is None else f" {share}:{100 - share}"


WITHIN = ("iodepth", "rw", "readwrite", "rwmixread", "rwmixwrite")


def _facet_names(runs: Sequence[Run], found: pd.DataFrame) -> list[str]:
    """Return the options that panels differ in: not depth and kinds of access, which are drawn within; of more than six kinds, each
    has a panel of its own."""
    within = WITHIN if found["series"].nunique() <= curve_rows.MOST_SERIES else ("iodepth",)
    drawn = zip(found["run"], zip(found["series"], found["iodepth"].astype(str), strict=True), strict=True)
    return facets.panel_names(runs, within=facets.told(drawn, within))


def names_of_panels(found: pd.DataFrame) -> list[str]:
    """Return the options that the panels of some rows of `cells` differ in."""
    of: facets.Facet = next(iter(found["panel"]))
    return [name for name, _ in of]


def latency_words(found: pd.DataFrame) -> tuple[str, str]:
    """Return what the latencies of a figure are called, in words and in tables: "completion latency", "clat". Where there are both
    kinds, the series tell which."""
    return latency_name(
        found.dropna(subset="mean")["which"]
    )  # with disable_lat=1 there is none to be called anything


def latency_name(which: Iterable[str]) -> tuple[str, str]:
    """Return the same of some rows' `which`."""
    return (WORDS["clat"], "clat") if set(which) == {"clat"} else (WORDS["lat"], "latency")


def is_mix(series: str) -> bool:
    return "," in series


def dash(series: str) -> vega.Dash:
    """Parts of a mix are dashed; of one of equal halves reads and writes lie on each other."""
    return "between" if is_mix(series) and ", writes" in series else is_mix(series)


_NO_STORAGE = {"null", "cpuio", "net", "netsplice"}
"""Engines without a file behind them."""


def engines_of(run: Run) -> frozenset[str]:
    return frozenset(str(value) for value in given(run, "ioengine") - {None})


CACHED = "through the page cache"
DIRECT = "direct"
_WAYS = {DIRECT: {"1", "True"}, CACHED: {"0", "False"}}


def _way(run: Run, engines: frozenset[str]) -> str:
    """Return "direct" or "through the page cache"; "" where its jobs differ, nothing tells, or no file is behind its engine."""
    direct = {str(value) for value in given(run, "direct", 0)}
    known = direct and is_stored(engines)
    return next((way for way, values in _WAYS.items() if known and direct <= values), "")


def cache_words(ways: Iterable[str]) -> str:
    """Return the way that all runs have; "" where they differ, or it is not known of one."""
    found = set(ways)
    return found.pop() if len(found) == 1 else ""


def is_stored(engines: frozenset[str]) -> bool:
    """Is there a file or a device behind a run's engines, as far as is known?"""
    return not engines & _NO_STORAGE


def known_count(value: Any) -> int | None:  # noqa: ANN401 (a cell of a frame)
    """Return a whole number; None of one that is missing."""
    from parsers.frames import pd

    return None if pd.isna(value) else int(value)
