"""Times of IMB as curves over message size: what each offers, and which place, panel and ranks they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from parsers import imb
from reports.charts import curve_rows, facets, wording
from reports.charts.curve_rows import Curve
from reports.charts.soundness import counted_rows
from reports.numbers import formulas
from reports.numbers.formulas import MessageCurve
from reports.numbers.imb import STATISTICS, peak_at, stands_for
from reports.readings import groups
from reports.readings.imb import Timing, timings
from reports.results.model import Run
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd


TIME, RATE = "PingPong/time", "PingPong/bandwidth"
"""What doubts may be of, as in `numbers.imb`."""


class Short(NamedTuple):
    """What stands for the small messages of a curve."""

    at: str  # which message, in words
    time: formulas.Spread  # ns
    metric: str  # as `Name.tells_of`: of the median of several sizes that at all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Curve):
    """A curve of times over message size, with what each of its runs offers, and whose times they are (of `STATISTICS`)."""

    runs: tuple[MessageCurve, ...] = ()
    rates: Curve  # the bandwidth (B/s) of each size above 0, of each repeat: its own bytes ÷ time
    # size → the bandwidth, as IMB prints it: of other benchmarks than PingPong
    printed: Mapping[int, formulas.Spread] = field(default_factory=dict)
    statistics: tuple[str, ...] = ()
    cell: tuple[Run, ...] = ()  # whose times these are: of those the sound ones, if there are some

    @property
    def offers(self) -> MessageCurve:
        return formulas.message_curve(self.runs)

    @property
    def cold(self) -> tuple[int, ...]:
        """The smallest sizes that were a cold start (`formulas.cold`) by the medians of all repeats."""
        return formulas.cold({int(size): y.median for size, y in self.points if y.n == len(self.runs)})

    @property
    def started(self) -> tuple[int, ...]:
        """The same of a line that has a message without bytes, which would stand for the small ones."""
        return self.cold if any(size == 0 and y.n == len(self.runs) for size, y in self.points) else ()

    @property
    def latency(self) -> Short | None:
        """The message that stands for the small ones: that without bytes, after a cold start the smallest past it, else the median of 0 to
        8 B."""
        if self.started:
            past = next(
                ((n, y) for n, y in self.points if n not in self.started and y.n == len(self.runs)), None
            )
            return (
                Short(fmt.size(past[0]), past[1], f"{TIME}/{int(past[0])}") if past and past[0] <= 8 else None
            )
        for said, of, metric in (("0 B", "zero", f"{TIME}/0"), ("up to 8 B (median)", "small", TIME)):
            found = [value for run in self.runs if (value := getattr(run, of)) is not None]
            if found and len(found) == len(self.runs):
                return Short(said, formulas.spread(found, imb.PRINTED["time"]), metric)
        return None

    @property
    def most(self) -> formulas.Spread | None:
        found = [run.peak for run in self.runs if run.peak is not None]
        return formulas.spread(found) if found and len(found) == len(self.runs) else None

    @property
    def peak_at(self) -> str:
        return peak_at(self.runs)

    @property
    def last(self) -> tuple[str, formulas.Spread] | None:
        """The largest size, if all runs have it, and the bandwidth there."""
        size, rate = next(reversed(self.rates.points), (0, None))
        return (fmt.size(size), rate) if rate and rate.n == len(self.runs) else None


Panels = dict[facets.Facet, list[Line]]


def sound(panels: Panels) -> Panels:
    """Return the lines of which statements may be made."""
    quiet = {of: [line for line in lines if not line.hollow] for of, lines in panels.items()}
    return {of: lines for of, lines in quiet.items() if lines}


def curves(runs: Sequence[Run]) -> dict[str, Panels]:
    """Return benchmark → panel → curves of time (ns) over message size (B), one curve a place.

    The time is the figure that stands for its line everywhere (`numbers.imb.stands_for`); lines without such a time are not drawn
    (`undrawn_tables`).
    """
    found = lines_of(runs).dropna(subset=["time", "message_size"]).drop_duplicates(KEY)
    benchmarks: dict[str, Panels] = {}
    for (benchmark, of), own in groups(found, ["benchmark", "panel"]):
        lines = [_line(name, line) for (name,), line in groups(own, ["line"])]
        benchmarks.setdefault(benchmark, {})[of] = sorted(lines, key=lambda c: c.points[0][1].median)
    return benchmarks


KEY = ["run", "benchmark", "nprocs", "mode", "group", "message_size"]
"""What tells a line from all others: of one that comes twice the first counts."""


def lines_of(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the lines of all tables with `statistic` (which figure stands for it, "" of none), `time` (ns, where that is one),
    `panel` (a Facet), `line`: what tells it from the others of its benchmark and panel, and
    `label`: the same without the place where there is none, "" if that is nothing."""
    from parsers.frames import pd

    drawn = ((run, (_place(run), row.benchmark)) for run in runs for row in timings(run))
    names = facets.panel_names(runs, within=facets.told(drawn, ("place", "benchmark")))
    rows = [row for run in runs for row in timings(run)]
    leads = [stands_for(row) for row in rows]
    times = [
        getattr(row, name) if name in STATISTICS else None for row, name in zip(rows, leads, strict=True)
    ]
    found = timings.frame(runs).assign(statistic=leads, line="")
    found["time"] = pd.Series(times, index=found.index, dtype=float)
    found["panel"] = found["run"].map(lambda r: facets.facet(r, names))
    ranks = found["nprocs"].notna() & (found["benchmark"] != "PingPong")
    if "np" in names:  # the panel tells them, unless IMB took fewer of them, too
        asked = found["run"].map(lambda r: str(r.cell.options.get("np")))
        alone = found.groupby("run", sort=False)["nprocs"].transform("nunique") == 1
        ranks &= ~(alone & (asked == found["nprocs"].astype(str)))
    found["line"] += [
        f", {_ranks(row)}" if own or row.groups else "" for own, row in zip(ranks, rows, strict=True)
    ]
    for label, word in (("mode", ", "), ("group", ", group ")):  # of one run: no repeats
        told = found[label].notna()
        found.loc[told, "line"] += word + found[label][told].astype(str).str.lower()
    places = found["run"].map(_place)
    nowhere = places.isin((wording.ANYWHERE, wording.UNSAID))
    found["label"] = found["line"].str.removeprefix(", ").where(nowhere, "")
    found["line"] = places + found["line"]
    return found


def _ranks(row: Timing) -> str:
    """Return "4 ranks", "2 groups of 2 ranks" of groups that ran at once."""
    return f"{fmt.plural(row.groups, 'group')} of {row.nprocs} ranks" if row.groups else f"{row.nprocs} ranks"


def _place(run: Run) -> str:
    return wording.place(run)


def _line(name: str, found: pd.DataFrame) -> Line:
    """found: the times of one benchmark, panel and place."""
    found = counted_rows(found)
    label = str(found["label"].iat[0])
    pairs = zip(found["message_size"].astype(float), found["time"], strict=True)
    drawn = curve_rows.curve(name, pairs, runs=found["run"], step=imb.PRINTED["time"])
    moved = found[(found["message_size"] > 0) & (found["time"] > 0)]
    bandwidths = zip(
        moved["message_size"].astype(float), moved["message_size"] / moved["time"] * 1e9, strict=True
    )
    printed = found.dropna(subset=["bandwidth"]) if found["benchmark"].iat[0] != "PingPong" else found[:0]
    runs = (
        formulas.pingpong(dict(zip(own["message_size"].astype(int), own["time"], strict=True)))
        for _, own in groups(found, ["run"])
    )
    return Line(
        name=name, label=label, points=drawn.points, turns=drawn.turns, hollow=drawn.hollow, runs=tuple(runs), statistics=tuple(dict.fromkeys(found["statistic"])),
        rates=curve_rows.curve(name, bandwidths, runs=moved["run"], label=label), cell=tuple(dict.fromkeys(found["run"])),
        printed={int(size): formulas.spread(list(own["bandwidth"]), imb.PRINTED["bandwidth"]) for (size,), own in groups(printed, ["message_size"])},
    )  # fmt: skip


def with_names(panels: Panels) -> list[tuple[str, Line]]:
    """Return all curves, each with its name, and its panel's where there are several."""
    titles = {of: f", {facets.facet_title(of, 'imb')}" if len(panels) > 1 else "" for of in panels}
    return [(f"{line.name}{titles[of]}", line) for of, lines in panels.items() for line in lines]
