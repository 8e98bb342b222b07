"""`--cells AXIS=VALUE[,VALUE]`: some cells of a plan. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from orchestrator.model import Plan
from parsers.errors import UserError
from parsers.units import size_bytes

OPTION = "--cells"


def chosen(plan: Plan, conditions: Sequence[str]) -> Plan:
    """Return the plan of the cells with the selected axis values. Other cells are in `left_out`.

    Values have the form of labels, and sizes have any unit: `threads=1,4`, `place=local`, `bytes=1000` for 1kB,
    `delays=0,100` for a list that is one value. A warning lists the sweeps without such an axis. Raises UserError for
    an unknown axis, an unknown value, and for values without a common cell. Cells that cannot be hosted here count as
    known.
    """
    if not conditions:
        return plan
    cells = [(cell.sweep, cell.labels()) for cell in plan.cells]
    cells += [(item.sweep, dict(item.cell)) for item in plan.skipped]
    known: dict[str, dict[str, None]] = {}  # axis → its values, in the order of the cells
    for _, labels in cells:
        for axis, value in labels.items():
            known.setdefault(axis, {})[str(value)] = None
    wanted: dict[str, set[str]] = {}
    for text in conditions:
        axis, values = _read(text, known)
        wanted.setdefault(axis, set()).update(values)

    def fits(labels: Mapping[str, object]) -> bool:
        return all(axis in labels and str(labels[axis]) in values for axis, values in wanted.items())

    if not any(fits(labels) for _, labels in cells):
        hint = "a cell must have every axis that is named; choose cells of other sweeps in another call"
        raise UserError(OPTION, f"no cell has {' and '.join(conditions)}", hint)
    has_axes = {sweep for sweep, labels in cells if labels.keys() >= wanted.keys()}
    without = dict.fromkeys(sweep for sweep, _ in cells if sweep not in has_axes)
    names = f"left out by {OPTION} (no {' and '.join(wanted)}): {', '.join(without)}"
    selected = {cell.point_id for cell in plan.cells if fits(cell.labels())}
    return dataclasses.replace(
        plan,
        warnings=(*plan.warnings, *([names] if without else [])),
        runs=tuple(run for run in plan.runs if run.cell.point_id in selected),
        cells=tuple(cell for cell in plan.cells if cell.point_id in selected),
        left_out=tuple(cell for cell in plan.cells if cell.point_id not in selected),
        more={cell: number for cell, number in plan.more.items() if cell in selected},
    )


def _read(text: str, known: Mapping[str, Mapping[str, None]]) -> tuple[str, list[str]]:
    """Return axis and values of `AXIS=VALUE[,VALUE]`. Raises UserError."""
    axis, sign, rest = text.partition("=")
    if axis not in known:
        axes = f"axes: {', '.join(known)}" if known else "the experiment is one cell, without an axis"
        raise UserError(OPTION, f"no axis {axis!r}" if axis else f"{text!r} is not AXIS=VALUE", axes)
    values = ", ".join(known[axis])
    if not sign or (not rest and rest not in known[axis]):
        hint = f"{OPTION} {axis}=VALUE[,VALUE]; its values: {values}"
        raise UserError(OPTION, f"{text!r} is not AXIS=VALUE", hint)
    if rest in known[axis]:
        return axis, [rest]
    requested = [_as_written(value.strip(), known[axis]) for value in rest.split(",")]
    if missing := [repr(value) for value in requested if value not in known[axis]]:
        raise UserError(OPTION, f"{axis} has no value {', '.join(missing)}", f"its values: {values}")
    return axis, requested


def _as_written(value: str, known: Collection[str]) -> str:
    """Return a value as the experiment writes it: 1000 for 1kB, true for True."""
    return value if value in known else next((k for k in known if _canonical(k) == _canonical(value)), value)


def _canonical(value: str) -> int | str:
    try:
        return size_bytes(value)
    except ValueError:
        return value.casefold()
