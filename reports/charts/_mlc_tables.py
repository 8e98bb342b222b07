"""What MLC measures between NUMA nodes, and its other tables: matrices, peaks by mix, further latencies and bandwidths."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from parsers import mlc
from parsers.measurement import whole
from reports.charts import facets, titles, wording
from reports.charts._mlc_cores import between_cpus, cores_figures
from reports.charts._mlc_curves import SPREAD, told_by_traffic
from reports.charts.chapter import Spot
from reports.charts.heat_map import MOST_NUMBERS, WIDE, matrix_panel, shades_table
from reports.charts.soundness import counted_rows, is_hollow
from reports.draw.figure import MOST_OPEN, ROW, Figure, Panel, Table, row_of
from reports.numbers import formulas
from reports.numbers.formulas import Spread
from reports.numbers.mlc import ALONE
from reports.readings import groups
from reports.readings.mlc import chosen_cores, entries, load_rows
from reports.results.distances import Pair, distances, slit_of
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.results.naming import program_kind, program_name, stands_in
from reports.results.traffic import traffic_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

_MOST_MATRICES = 4
"""Of more tables than this the rest is in the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A matrix between NUMA nodes: the section of its entries, and how it is spoken of."""

    section: str
    title: str
    unit: str
    row: str
    column: str
    others: str = "other nodes’ memory"  # what is off the diagonal
    diagonal: str = "a node and its own memory"
    spot: str = ""  # how one entry is called, where it stands alone

    @property
    def metric(self) -> str:
        return "latency" if self.unit == "ns" else "bandwidth"

    @property
    def told_of(self) -> str:
        """What a doubt of its numbers is of."""
        return ALONE if self.unit == "ns" else self.metric


MATRICES = (
    Matrix(section="latency_matrix", title="Idle latency", unit="ns", row="from node", column="to memory of node", spot="Memory, idle"),
    Matrix(section="bandwidth_matrix", title="Bandwidth", unit="B/s", row="from node", column="to memory of node", spot="Reads by all cores of the node"),
    Matrix(
        section="c2c_latency", title="Cache-to-cache latency", unit="ns", row="writer", column="reader",
        others="another node’s cache", diagonal="two caches of one node",
    ),
)  # fmt: skip


def clustered(run: Run, nodes: Iterable[Any]) -> tuple[list[Any], frozenset[int]]:
    """Return nodes so that those that are near to one another stand together, with the places before which a group begins: those of a
    package, else those between which the SLIT numbers are lowest. Groups are in the order of their first node."""
    listed = sorted(nodes, key=lambda n: (whole(n) is None, whole(n) or 0, str(n)))
    machine = run.session.topology
    package = {core.numa_node: core.package for core in machine.cores} if machine else {}
    if all(whole(n) in package for n in listed):
        group = {n: package[whole(n)] for n in listed}
    else:
        group = _nearest(listed, slit_of(run.session, itertools.permutations(listed, 2)))
    first: dict[int, int] = {}
    for i, n in enumerate(listed):
        first.setdefault(group[n], i)
    ordered = sorted(listed, key=lambda n: (first[group[n]], listed.index(n)))
    begins = {i for i in range(1, len(ordered)) if group[ordered[i]] != group[ordered[i - 1]]}
    return ordered, frozenset(begins) if len(begins) + 1 < len(ordered) else frozenset()


def _nearest(nodes: Sequence[Any], slit: Mapping[Pair, float]) -> dict[Any, int]:
    """Return a number for each group of nodes that the lowest distances join; all of one group where nothing tells."""
    least = min(slit.values(), default=0.0)
    if not slit or least == max(slit.values()):
        return dict.fromkeys(nodes, 0)
    group = {n: i for i, n in enumerate(nodes)}
    for (a, b), distance in slit.items():
        if distance == least and group[a] != group[b]:
            low, high = sorted((group[a], group[b]))
            group = {n: low if g == high else g for n, g in group.items()}
    return group


def matrix_figures(sweep: str, runs: Sequence[Run]) -> list[Figure]:
    """Draw one figure per matrix and program: a tool and its stand-in are never in one title."""
    figures = []
    for same in group_by(runs, program_kind).values():
        found = entries.frame(same)
        found = found[found["source"].notna() & found["target"].notna()]
        figures += cores_figures(sweep, by_cell(found[between_cpus(found)]))
        found = found[~between_cpus(found)]
        for matrix in MATRICES:
            own = found[(found["section"] == matrix.section) & (found["metric"] == matrix.metric)]
            if len(own):
                figures.append(_matrix_figure(sweep, matrix, by_cell(own)))
    return figures


def buffer_of(runs: Iterable[Run]) -> float:
    """Return the bytes that were walked over, as the texts tell; inf where they do not, or not the same."""
    sizes = {whole(run.parsed.facts.get("buffer_read_bytes")) for run in runs if run.parsed}
    size = sizes.pop() if len(sizes) == 1 else None
    return math.inf if size is None else size


def idle_name(runs: Iterable[Run], buffer: float) -> str:
    """Return "Memory, idle", of walks over the whole buffer, which wait for translations, too, "Memory, idle, whole buffer"; "Idle latency" of a buffer (B; inf: not told) that fits into a cache, or that was asked for and is not known
    to be larger than all last-level caches of a package."""
    for machine, asked in {(id(r.session), "b" in r.options): (r.session.topology, "b" in r.options) for r in runs}.values():  # fmt: skip
        if asked:
            last = machine.numbers().get("LLC", 0) if machine else 0
            known = 0 < last < buffer < math.inf
        else:  # one core asks
            sizes = (c.size_bytes or 0 for c in machine.caches if c.kind != "instruction") if machine else ()
            known = buffer > max(sizes, default=0)
        if not known:
            return wording.IDLE
    return (
        "Memory, idle, whole buffer"
        if all(str(run.options.get("D")) == "0" for run in runs)
        else "Memory, idle"
    )


def matrix_spots(runs: Sequence[Run]) -> list[Spot]:
    """Return the latency and the bandwidth of reads of each pair of nodes, of the runs of one program; of a cell each, none of one that
    was never quiet."""
    found = entries.frame(runs)
    found = found[found["source"].notna() & found["target"].notna()]
    spots = []
    for matrix in MATRICES[:2]:
        own = found[(found["section"] == matrix.section) & (found["metric"] == matrix.metric)]
        own = own[own["traffic"].isna() | (own["traffic"] == "read")]
        for (of, source, target), every in (
            groups(by_cell(own), ["panel", "source", "target"]) if len(own) else ()
        ):
            if is_hollow(every["run"]):
                continue
            cell = counted_rows(every)
            first = cell["run"].iloc[0]
            program = program_name(first) if stands_in(first) else ""
            said = ", ".join(filter(None, [facets.facet_title(of, "mlc"), program]))
            number = wording.key_number(
                idle_name(cell["run"], buffer_of(cell["run"])) if matrix.metric == "latency" else matrix.spot, formulas.spread(list(cell["value"]), mlc.PRINTED[matrix.metric]), matrix.unit, said, 10, cell["run"],
                program=program_kind(first), metric=matrix.told_of,
            )  # fmt: skip
            spots.append(
                Spot(number=number, source=whole(source), target=whole(target), figure=_id(matrix, first))
            )
    return spots


def _id(matrix: Matrix, run: Run) -> str:
    """Return the id of the figure of a matrix of the run's sweep and program."""
    return f"{matrix.section}-{run.cell.sweep}{'-stand-in' if stands_in(run) else ''}"


def by_cell(found: pd.DataFrame, *within: str) -> pd.DataFrame:
    """Return entries with their panels, so that none pools two cells: a text is told where there are several, of own runs the mode
    where one section is of several, and -W where no traffic tells it."""
    modes = {(section, str(run.options.get("mode"))) for section, run in zip(found["section"], found["run"], strict=True)}  # fmt: skip
    if len(modes) == found["section"].nunique() or all(run.text for run in found["run"]):
        within = (*within, "mode")
    if found["section"].isin(["bandwidth_matrix", "loaded_latency"]).all():
        within = (*within, *told_by_traffic(found))
    return facets.in_panels(found, *within, texts=True)


def _matrix_figure(sweep: str, matrix: Matrix, found: pd.DataFrame) -> Figure:
    """found: the entries of this kind of matrix. One table per panel and transfer or traffic; of many the first are shown."""
    found = found.assign(
        kind=found["transfer"].fillna(found["traffic"].map(traffic_name, na_action="ignore")).fillna("")
    )
    runs = list(dict.fromkeys(found["run"]))
    tables: list[Table] = []
    full: list[Table] = []  # of those whose cells have room for a number alone
    pictures: list[Panel] = []
    drawn: list[Run] = []
    paired = hollow = 0  # tables of which a title can speak, and of which it says nothing
    pairs: dict[str, list[tuple[Spread, Spread]]] = {}
    alone: Sequence[Spread] = ()  # the numbers of the last table of which a title can speak
    for (kind, of), every in groups(found, ["kind", "panel"]):
        own = counted_rows(every)
        cells = own.groupby(["source", "target"], sort=False)["value"].agg(SPREAD)
        if len(tables) < _MOST_MATRICES:
            drawn += dict.fromkeys(own["run"])
        many = own["target"].nunique()
        which = (matrix, kind, facets.facet_title(of, "mlc"), cells.reset_index(), own["run"].iloc[0])
        table = _whose(_matrix_table(*which, narrow=many >= WIDE), own["run"], matrix)
        if many >= WIDE:
            told = replace(_matrix_table(*which), heat=(), marked=frozenset(), cuts=frozenset())
            full.append(_whose(told, own["run"], matrix))
        if many > MOST_NUMBERS:
            medians = list(cells["median"])
            scale, step = fmt.scale_for(medians, matrix.unit), mlc.PRINTED[matrix.metric]
            pictures.append(matrix_panel(table, full[-1], medians, scale, step, inverse=matrix.unit == "B/s"))
        tables.append(table)
        known = {
            pair: Spread(*values)._replace(step=mlc.PRINTED[matrix.metric])
            for pair, *values in cells.itertuples()
        }
        if is_hollow(own["run"]):
            hollow += 1
            continue
        alone = [*known.values()]
        far = distances(own["run"].iloc[0].session, known)
        paired += any(a != b and (a, a) in known for a, b in known)
        for (source, target), value in known.items():
            if source != target and (source, source) in known:
                pairs.setdefault(far[source, target], []).append((known[source, source], value))
    shown = tables[:_MOST_MATRICES]
    outlined = (
        f" Outlined: {matrix.diagonal}."
        if any(table.marked and len(table.columns) - 1 <= MOST_NUMBERS for table in shown)
        else ""
    )
    regrouped = any(
        all(map(str.isdecimal, names := table.columns[1:])) and [*names] != sorted(names, key=int)
        for table in shown
    )
    shaded = (
        f" Stronger shade: {'slower' if matrix.unit == 'ns' else 'less'}."
        if any(shade for table in shown for row in table.heat for shade in row)
        else ""
    )
    return Figure(
        id=_id(matrix, runs[0]),
        of=sweep,
        sweep=runs[0].sweep_title,
        title=titles.matrix(
            matrix.title,
            pairs if paired == len(tables) - hollow else {},
            matrix.others,
            paired,
            only=_only(alone, matrix.unit) if len(tables) == 1 else "",
        ),
        sub=f"{wording.ran(list(dict.fromkeys(drawn)), program_name)}. Rows: {matrix.row}; columns: {matrix.column}."
        f"{wording.not_drawn(len(tables), len(shown))}{wording.of_texts(drawn)}",
        marks=f"{'Near nodes stand together.' if regrouped else ''}{shaded}{outlined}".strip(),
        panels=tuple(pictures[:_MOST_MATRICES]),
        tables=tuple(table for table in shown if len(table.columns) - 1 <= MOST_NUMBERS),
        numbers=tuple(full) if len(tables) == len(shown) else (*tables, *full),
        half=len(tables) == 1 and len(tables[0].columns) <= WIDE,
    )


def _only(cells: Sequence[Spread], unit: str) -> str:
    """Return the number of a table of one cell; "" of any other, and where its repeats are far apart."""
    if len(cells) != 1 or cells[0].unsteady:
        return ""
    return fmt.quantity(cells[0].median, unit, step=cells[0].step)


def _whose(table: Table, runs: Iterable[Run], matrix: Matrix) -> Table:
    return replace(table, of=(row_of(runs),) * len(table.rows), metrics={ROW: matrix.told_of})


def _matrix_table(
    matrix: Matrix, kind: str, of: str, cells: pd.DataFrame, run: Run, *, narrow: bool = False
) -> Table:
    """cells: a row per pair of nodes, with `source`, `target` and the columns of a Spread. run: one of those that measured them."""
    scale = fmt.scale_for(list(cells["median"]), matrix.unit)
    step = mlc.PRINTED[matrix.metric]
    spreads = [Spread(*row)._replace(step=step) for row in cells[SPREAD].itertuples(index=False)]
    known = dict(zip(zip(cells["source"], cells["target"], strict=True), spreads, strict=True))
    sources, cuts = clustered(run, dict.fromkeys(cells["source"]))
    targets, across = clustered(run, dict.fromkeys(cells["target"]))
    return shades_table(
        ", ".join(filter(None, [f"{matrix.title} in {scale.unit}, {matrix.row} ↓ {matrix.column} →", kind, of])),
        matrix.row.rpartition(" ")[2], sources, targets, known, scale, inverse=matrix.unit == "B/s", narrow=narrow,
        cuts=cuts if sources == targets and cuts == across else frozenset(),
    )  # fmt: skip


SEARCHES: Final = {"peak_injection_bandwidth": "peak injection", "max_bandwidth": "maximum"}
"""Sections that look for the most bandwidth, and what their tables call them."""


def searched_peaks(runs: Sequence[Run]) -> dict[tuple[str, str, str], tuple[Spread, list[Run]]]:
    """Return (panel's title, section, traffic) → the bandwidth found (B/s), and the runs of its cell."""
    found = entries.frame(runs)
    found = found[found["section"].isin([*SEARCHES]) & (found["metric"] == "bandwidth")]
    if found.empty:
        return {}
    return {
        (facets.facet_title(of, "mlc"), section, traffic): (
            formulas.spread(list(counted_rows(own)["value"]), mlc.PRINTED["bandwidth"]), list(dict.fromkeys(counted_rows(own)["run"]))
        )
        for (of, section, traffic), own in groups(by_cell(found).fillna({"traffic": ""}), ["panel", "section", "traffic"])
    }  # fmt: skip


def peak_figure(sweep: str, runs: Sequence[Run]) -> Figure | None:
    searched = searched_peaks(runs)
    if not searched:
        return None
    cells = {key: value for key, (value, _) in searched.items()}
    runs = list(dict.fromkeys(run for _, cell in searched.values() for run in cell))
    scale = fmt.scale_to_largest([s.high for s in cells.values()], "B/s")
    several = len({of for of, _, _ in cells}) > 1
    told = {
        value.median: SEARCHES[section]
        for (_, section, _), (value, cell) in searched.items()
        if not is_hollow(cell)
    }
    everywhere = not any(chosen_cores(run) for run in runs)
    where = "over all cores" if everywhere else "over the chosen cores"
    title = f"Bandwidth {where}"
    if told and not several:
        title = f"Bandwidth reaches {scale.number(max(told))} {scale.unit} {where} ({told[max(told)]})"
    rows = tuple(
        (
            traffic_name(traffic),
            SEARCHES[section],
            *([of] if several else []),
            wording.spread_text(value, scale),
        )
        for (of, section, traffic), value in cells.items()
    )
    return Figure(
        id=f"peaks-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=title,
        sub=f"{wording.ran(runs, program_name)}{', all cores at once' if everywhere else ''}.{wording.of_texts(runs)}",
        tables=(
            Table(
                columns=("Traffic", "Search", *(["Cell"] if several else []), f"Bandwidth, {scale.unit}"),
                rows=rows,
                numeric=frozenset((3 if several else 2,)),
                metrics={ROW: "bandwidth"},
                of=tuple(row_of(own) for _, own in searched.values()),
            ),
        ),
        half=not several,
    )


def others_figure(sweep: str, runs: Sequence[Run]) -> Figure | None:
    """Return tables of what no other figure shows: caches of one socket, matrices by CPU, loads of which only one figure is told."""
    found = entries.frame(runs)
    shown = found["section"].isin(["idle_latency", "peak_injection_bandwidth", "max_bandwidth"])
    pairs = found["source"].notna() & found["target"].notna()
    shown |= pairs & found["section"].isin([matrix.section for matrix in MATRICES])
    shown |= (found["section"] == "loaded_latency") & found["run"].map(lambda run: bool(load_rows(run)))
    found = found[~shown]
    if found.empty:
        return None
    sections = {_section_words(section) for section in found["section"]}
    said = sections.pop() if len(sections) == 1 else ""
    if said and found["transfer"].map(lambda transfer: str(transfer).startswith("local ")).all():
        said = f"{said} within a socket"
    if said == "loaded latency" and (found["metric"] == "bandwidth").all():
        said = "bandwidth of the load"
    tables = []
    for (metric, unit), own in groups(
        found.assign(unit=found["metric"].map({"latency": "ns", "bandwidth": "B/s"})), ["metric", "unit"]
    ):
        scale = fmt.scale_for(list(own["value"]), unit)
        cells = groups(by_cell(own), ["panel", "section", "traffic", "transfer", "delay", "source", "target"])
        of_cells = [
            (
                _entry_words(of, *which, named=not said),
                formulas.spread(list(counted_rows(same)["value"])),
                row_of(same["run"]),
            )
            for (of, *which), same in cells
        ]
        tables.append(
            Table(
                columns=("Of", f"{metric.capitalize()}, {scale.unit}"),
                rows=tuple(
                    (name, wording.spread_text(value, scale, step=mlc.PRINTED[metric]))
                    for name, value, _ in of_cells
                ),
                numeric=frozenset((1,)),
                metrics={ROW: metric},
                of=tuple(whose for *_, whose in of_cells),
            )
        )
    return Figure(
        id=f"others-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=fmt.sentence(said) or "Further latencies and bandwidths",
        sub=f"{wording.ran(list(dict.fromkeys(found['run'])), program_name)}.{wording.of_texts(found['run'])}",
        tables=tuple(table for table in tables if len(table.rows) <= MOST_OPEN),
        numbers=tuple(table for table in tables if len(table.rows) > MOST_OPEN),
        half=True,
    )


def _section_words(section: str) -> str:
    return section.replace("c2c", "cache-to-cache").replace("cpu", "CPU").replace("_", " ")


def _entry_words(of: facets.Facet, section: str, *labels: Any, named: bool) -> str:  # noqa: ANN401
    """Return "cache-to-cache latency, local L2->L2 HIT": what tells an entry from the others; missing labels are left out. named: the
    section, too, or where nothing else is told."""
    traffic, transfer, *rest = labels
    places = (f"{name} {value}" for name, value in zip(("delay", "from", "to"), rest, strict=True) if value == value and value is not None)  # fmt: skip
    mix = traffic_name(traffic) if isinstance(traffic, str) else ""
    told = transfer if isinstance(transfer, str) else ""
    words = [*filter(None, [mix, told, *places, facets.facet_title(of, "mlc")])]
    return ", ".join([_section_words(section), *words] if named or not words else words)
