"""Percentiles, mean and standard deviation of single accesses by size: memory beside file. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from parsers.units import size_bytes
from reports.charts import _poke_sizes, wording
from reports.charts._tails import Distribution, over_repeats, runs_of
from reports.draw.figure import ROW, Figure, Runs, Table
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.results.naming import program_name
from reports.text import format as fmt

_TARGETS: Final = ("memory", "file")
_STATISTICS: Final = (("mean", "mean"), ("sd", "SD"))


def figure(found: Sequence[Distribution], block: Callable[[Run], int | None]) -> Figure | None:
    """Return the percentiles over size, and a table with a row for each size, operation and way of access, and mean and SD of each target
    beside one another; None where there is nothing to set beside anything. block: how many bytes an access of a run moves."""
    accesses = [d for d in found if _target(d) in _TARGETS and d.runs[0].options.get("bytes") is not None]
    targets = [target for target in _TARGETS if any(_target(d) == target for d in accesses)]
    blocks = {target: {block(d.runs[0]) for d in accesses if _target(d) == target} for target in targets}
    apart = any(len(of) > 1 for of in blocks.values())
    rows = group_by(accesses, lambda d: (_bytes(d), _way(d, block(d.runs[0]) if apart else None)))
    same = {key: {_target(d): d for d in own} for key, own in rows.items()}
    if len(rows) < 2 or any(len(own) > len(same[key]) for key, own in rows.items()):
        return None
    ordered = sorted(same.items(), key=lambda row: row[0])
    heads = [
        f"{fmt.sentence(target)}{_moved(blocks[target])}, {word}"
        for target in targets
        for _, word in _STATISTICS
    ]
    one = {run.cell.sweep: run for d in accesses for run in d.runs}
    of, title = next((name, run.sweep_title) for name, run in one.items())
    several = any(len(d.runs) > 1 for d in accesses)
    by_size = _by_size(same, targets)
    panels = _poke_sizes.panels(by_size)
    return Figure(
        id="moments",
        of=of if len(one) == 1 else "",
        sweep=title if len(one) == 1 else "",
        title=f"{'Percentiles, mean' if panels else 'Mean'} and standard deviation of one access, by size",
        sub=f"{wording.ran(runs_of(accesses), program_name)}. {'The median of the repeats, and their range. ' if several else ''}"
        f"{'In brackets: the bytes that an access moves. ' if any(map(_moved, blocks.values())) else ''}{'0 B: the timer alone. ' if any(d.target == 'null' for d in accesses) else ''}A mean and a deviation do not describe a tail: its quantiles do{_far_apart(accesses)}."
        f"{wording.repeats(panels, runs_of(accesses))}{wording.hollow(panels, runs_of(accesses))}"
        f"{_in_the_table_alone(by_size) if panels else ''}",
        panels=tuple(panels),
        tables=(
            Table(
                columns=("Size", "Access", *heads),
                rows=tuple((fmt.size(key[0]), ", ".join(key[1]), *_cells(own, targets)) for key, own in ordered),
                numeric=frozenset((0, *range(2, 2 + len(heads)))),
                of=tuple(_whose(own, targets) for _, own in ordered),
                metrics={ROW: ""} | {i: f"latency/{_STATISTICS[i % 2][0]}" for i in range(2, 2 + len(heads))},
            ),
        ),
    )  # fmt: skip


_FAR: Final = 3.0


def _far_apart(accesses: Sequence[Distribution]) -> str:
    """Say "; from run to run they differ by up to 133 ×, for a few slow accesses make them", where that is more than _FAR; else ""."""
    known = [
        s for d in accesses if not d.hollow for of, _ in _STATISTICS if (s := d.repeats(of)) and s.low > 0
    ]
    most = max((s.high / s.low for s in known), default=0.0)
    if most < _FAR:
        return ""
    return f"; from run to run they differ by up to {fmt.number(most, rounding=fmt.UP)} ×, for a few slow accesses make them"


def _by_size(
    rows: Mapping[tuple[int, tuple[str, ...]], Mapping[str, Distribution]], targets: Sequence[str]
) -> dict[str, dict[int, Distribution]]:
    """Return the accesses of each way and target, by size: a way's targets one after the other."""
    found: dict[str, dict[int, Distribution]] = {}
    for way in dict.fromkeys(way for _, way in rows):
        for target in targets:
            own = {size: of[target] for (size, other), of in rows.items() if other == way and target in of}
            found[", ".join((target, *way))] = dict(sorted(own.items()))
    return found


def _in_the_table_alone(by_size: Mapping[str, Mapping[int, Distribution]]) -> str:
    """Name what is in no panel, since there is no line over one size: " Of one size, in the table alone: file, read, 1 B blocks (1 kB)."."""
    left = [f"{name} ({fmt.size(next(iter(own)))})" for name, own in by_size.items() if len(own) == 1]
    return f" Of one size, in the table alone: {fmt.words(left)}." if left else ""


def _target(d: Distribution) -> str:
    """Return what is accessed; of an access to 0 B, which is an empty one, what it was to be."""
    options = d.runs[0].options
    return str(options.get("target")) if d.target == "null" and options.get("bytes") in (0, "0") else d.target


def _bytes(d: Distribution) -> int:
    return size_bytes(str(d.runs[0].options["bytes"]))


def _way(d: Distribution, block: int | None) -> tuple[str, ...]:
    """Return "write", "direct", "4 KiB blocks", "first 1 MiB", "remote": what tells accesses of one size apart, but for their target."""
    run = d.runs[0]
    window = run.options.get("window")
    return (
        d.op if d.target in _TARGETS else str(run.options.get("op", "read")),
        *([f"first {fmt.size(size_bytes(str(window)))}"] if window else []),
        *([f"{fmt.size(block)} blocks"] if block else []),
        *(word for word in ("direct", "fsync") if run.options.get(word)),
        *([run.place] if run.place not in ("", "all", "local") else []),
    )


def _moved(blocks: set[int | None]) -> str:
    known = [block for block in blocks if block]
    return f" ({fmt.size(known[0])})" if len(blocks) == len(known) == 1 else ""


def _cells(own: Mapping[str, Distribution], targets: Sequence[str]) -> list[str]:
    return [
        over_repeats(own[target].repeats(statistic)) if target in own else fmt.NOTHING
        for target in targets
        for statistic, _ in _STATISTICS
    ]


def _whose(own: Mapping[str, Distribution], targets: Sequence[str]) -> dict[int, Runs]:
    """Return whose numbers stand in which column."""
    return {
        2 + 2 * i + j: own[target].runs for i, target in enumerate(targets) if target in own for j in (0, 1)
    }
