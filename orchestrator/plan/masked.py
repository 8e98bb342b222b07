"""Find the cells that an experiment lacks because of a cpuset or an affinity mask. Pure.

Ranges (`1..cores_per_numa_node`) and `each …` end at the allowed PUs. So an experiment has fewer cells in a Slurm step
of one CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from orchestrator.experiment.expand import expand
from orchestrator.machine.topology import Topology
from orchestrator.model import Cell, Experiment, Skipped
from orchestrator.placement.place import expand_each
from orchestrator.placement.selectors import Unplaceable
from orchestrator.tools import get_tool
from parsers.errors import UserError

_FEW = 3


def beyond(
    experiments: Iterable[Experiment],
    topology: Topology,
    *,
    root: bool | None = None,
    versions: Mapping[str, str] | None = None,
    kept: str = "",
) -> list[Skipped]:
    """Return a Skipped for each sweep with more cells on the whole machine, with the missing axis values and the number
    of cells.

    `kept` is Slurm's reason to reserve the other PUs (`slurm_node.describe_kept_cores`). A sweep with cells that cannot be expanded
    already has its reasons.
    """
    if not (share := topology.share()):
        return []
    share += f"; {kept}" if kept else ""
    skipped = []
    for experiment, sweep in ((e, sweep) for e in experiments for sweep in e.sweeps):
        single = replace(experiment, sweeps=(sweep,))
        try:
            wide, _ = expand(single, topology.whole(), root=root, versions=versions)
            narrow, unresolved = expand(single, topology, root=root, versions=versions)
        except UserError:  # too many cells for a plan
            continue
        present, every = _cells(narrow, topology), _cells(wide, topology.whole())
        missing = [labels for cell, labels in every.items() if cell not in present]
        if missing and not unresolved:
            known = {item for labels in present.values() for item in labels.items()}
            lacking: dict[str, dict[str, None]] = {}
            for axis, value in (item for labels in missing for item in labels.items() if item not in known):
                lacking.setdefault(axis, {})[value] = None
            count = "1 cell" if len(missing) == 1 else f"{len(missing)} cells"
            reason = f"{count} that the whole machine has: this process may use {share}"
            cell = {axis: _listed([*values]) for axis, values in lacking.items()}
            skipped.append(Skipped(sweep=sweep.name, cell=cell, reason=reason))
    return skipped


def _cells(cells: Iterable[Cell], topology: Topology) -> dict[str, dict[str, str]]:
    """Return point_id → labels, for all places that a cell's place resolves to."""
    labels: dict[str, dict[str, str]] = {}
    for cell in cells:
        place = cell.place or get_tool(cell.tool).default_place(cell.options)
        try:
            places = (None,) if place is None else expand_each(place, topology)
        except Unplaceable:
            continue
        for each in places:
            axes = cell.axes if each == place or "place" in cell.axes else (*cell.axes, "place")
            at = cell if each == place else replace(cell, place=each, axes=axes)
            labels[at.point_id] = {axis: str(value) for axis, value in at.labels().items()}
    return labels


def _listed(values: list[str]) -> str:
    return ",".join(values[:_FEW]) + (f",… ({len(values)})" if len(values) > _FEW else "")
