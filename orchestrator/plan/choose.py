"""`--cells AXIS=VALUE[,VALUE]`: some cells of a plan. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from orchestrator.model import Cell, Plan, Skipped
from parsers.errors import UserError
from parsers.units import size_bytes

OPTION = "--cells"


def chosen(plan: Plan, asked: Sequence[str]) -> Plan:
    """Return the plan of the cells that have, of each axis named, one of its values; the others are `left_out`.

    Values are written as labels are, sizes in any way: `threads=1,4`, `place=local`, `bytes=1000` of 1kB, `delays=0,100` of a list that is one
    value. A warning names the sweeps without such an axis, of which nothing is left. Raises UserError for an axis that no cell has, a value that no cell has there, and values that no cell has together; cells that cannot be hosted here count.
    """
    if not asked:
        return plan
    known = _values([*(cell.labels() for cell in plan.cells), *(item.cell for item in plan.skipped)])
    wanted: dict[str, set[str]] = {}
    for text in asked:
        axis, values = _read(text, known)
        wanted.setdefault(axis, set()).update(values)

    def fits(labels: Mapping[str, object]) -> bool:
        return all(axis in labels and str(labels[axis]) in values for axis, values in wanted.items())

    kept = {cell.point_id for cell in plan.cells if fits(cell.labels())}
    if not kept and not any(fits(item.cell) for item in plan.skipped):
        hint = "a cell must have every axis that is named; sweeps with other axes are asked for one after the other"
        raise UserError(OPTION, f"no cell has {' and '.join(asked)}", hint)
    without = _without_the_axes((*plan.cells, *plan.skipped), wanted)
    return dataclasses.replace(
        plan,
        warnings=(*plan.warnings, *([without] if without else [])),
        runs=tuple(run for run in plan.runs if run.cell.point_id in kept),
        cells=tuple(cell for cell in plan.cells if cell.point_id in kept),
        left_out=tuple(cell for cell in plan.cells if cell.point_id not in kept),
        more={cell: number for cell, number in plan.more.items() if cell in kept},
    )


def _values(cells: Iterable[Mapping[str, object]]) -> dict[str, dict[str, None]]:
    """Return axis → its values, as labels print them, in the order of the cells."""
    found: dict[str, dict[str, None]] = {}
    for labels in cells:
        for axis, value in labels.items():
            found.setdefault(axis, {})[str(value)] = None
    return found


def _without_the_axes(cells: Iterable[Cell | Skipped], wanted: Iterable[str]) -> str:
    """Return the warning that sweeps have no cell with all axes that are named; "" where each has one."""
    axes: dict[str, set[str]] = {}  # sweep → the fewest that a cell of it lacks
    for cell in cells:
        labels = cell.labels() if isinstance(cell, Cell) else cell.cell
        lacking = {axis for axis in wanted if axis not in labels}
        axes[cell.sweep] = min(axes.get(cell.sweep, lacking), lacking, key=len)
    named = [f"{sweep} (no {' and '.join(sorted(lacking))})" for sweep, lacking in axes.items() if lacking]
    return (
        f"left out by {OPTION}: {', '.join(named)}; --only SWEEP, without {OPTION}, measures one"
        if named
        else ""
    )


def _read(text: str, known: Mapping[str, Mapping[str, None]]) -> tuple[str, list[str]]:
    """Return axis and values of `AXIS=VALUE[,VALUE]`."""
    axis, sign, rest = text.partition("=")
    if not axis:
        raise UserError(OPTION, f"{text!r} is not AXIS=VALUE", f"{OPTION} {next(iter(known), 'threads')}=VALUE[,VALUE]")  # fmt: skip
    if axis not in known:
        axes = f"axes: {', '.join(known)}" if known else "the experiment has no axis: it is one cell"
        raise UserError(OPTION, f"no axis {axis!r}", axes)
    if not sign or (not rest and rest not in known[axis]):
        hint = f"{OPTION} {axis}=VALUE[,VALUE]; its values: {', '.join(known[axis])}"
        raise UserError(OPTION, f"{text!r} is not AXIS=VALUE", hint)
    values = (
        [rest] if rest in known[axis] else [_known(value.strip(), known[axis]) for value in rest.split(",")]
    )
    if missing := [value for value in values if value not in known[axis]]:
        raise UserError(
            OPTION,
            f"{axis} has no value {', '.join(map(repr, missing))}",
            f"its values: {', '.join(known[axis])}",
        )
    return axis, values


def _known(value: str, known: Collection[str]) -> str:
    """Return a value as the experiment writes it, though it is written in another way: 1kB for 1000, True for true."""
    if value in known:
        return value
    return next((one for one in known if _meant(one) == _meant(value)), value)


def _meant(value: str) -> int | str:
    try:
        return size_bytes(value)
    except ValueError:
        return value.casefold()
