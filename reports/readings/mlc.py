"""MLC's tables, or those of memlat in its place: each figure by itself, and the rows of the loaded-latency tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from parsers import mlc
from parsers.measurement import Parsed, Scalar, whole
from reports.readings import reading
from reports.results.model import Run


class Entry(NamedTuple):
    """One latency or bandwidth of any table."""

    turn: int | None  # of a text that holds several runs: which, from 1
    section: str  # one of parsers.mlc.SECTIONS; "" where a table does not say
    row: int | None  # of a loaded-latency table, from 0
    traffic: str | None  # "read", "3:1 nt"
    delay: Scalar  # of a loaded-latency table: the tool's own count, an int but for tables that were typed
    transfer: str | None  # of a cache-to-cache table: "remote L2->L2 HITM, homed in writer"
    source: Scalar  # of a matrix, the row: a NUMA node (a CPU where the section or `transfer` says so)
    target: Scalar  # of a matrix, the column
    metric: str  # "latency" or "bandwidth"
    value: float  # ns or B/s


class LoadRow(NamedTuple):
    """One row of a loaded-latency table that has both its figures."""

    turn: int | None
    traffic: str | None
    delay: int  # the tool's own count
    occurrence: int  # which of the text's rows of this traffic and delay, from 1: a delay may come twice
    latency: float  # ns
    bandwidth: float  # B/s


@reading(Entry)
def entries(parsed: Parsed) -> Iterator[Entry]:
    """Every latency and bandwidth, in the order of the text. Clocks are left out: they are their latency once more."""
    for row in parsed.measured():
        if row.metric in ("latency", "bandwidth"):
            traffic, transfer = (
                None if (v := row.get(name)) is None else str(v) for name in ("traffic", "transfer")
            )
            yield Entry(
                whole(row.get("run")), str(row.get("section") or ""), whole(row.get("row")), traffic, row.get("delay"),
                transfer, row.get("from"), row.get("to"), row.metric, row.value,
            )  # fmt: skip


@reading(LoadRow)
def load_rows(parsed: Parsed) -> Iterator[LoadRow]:
    """The rows of the loaded-latency tables, in the order of the text."""
    rows: dict[tuple[int | None, int | None, str | None, int], dict[str, float]] = {}
    for e in entries(parsed):
        delay = whole(e.delay)
        if e.section == "loaded_latency" and delay is not None:
            rows.setdefault((e.turn, e.row, e.traffic, delay), {})[e.metric] = e.value
    seen: Counter[tuple[str | None, int]] = Counter()
    for (turn, _, traffic, delay), figures in rows.items():
        if len(figures) == 2:
            seen[traffic, delay] += 1
            yield LoadRow(
                turn, traffic, delay, seen[traffic, delay], figures["latency"], figures["bandwidth"]
            )


def chosen_cores(of: Run | Parsed) -> bool:
    """Was the load on chosen cores (-k, -m, a place), not on all?"""
    parsed = of if isinstance(of, Parsed) else of.parsed
    typed = mlc.command_options(str(parsed.facts.get("command_line") or "")) if parsed else {}
    placed = isinstance(of, Run) and bool(of.placed) and of.relation != "all"
    return placed or "k" in typed or "m" in typed
