"""What an experiment would have on the whole machine, and has not under a cpuset or an affinity mask. Pure.

Ranges (`1..cores_per_numa_node`) and `each …` end at what a process may use: without a word, the same experiment is another one
in a Slurm step of one CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    """Return a Skipped for each sweep that has more cells on the whole machine: with the values of its axes that are missing, and how
    many cells that is. Nothing where this process may use all of it. `kept`: why what is missing is not lacking (`slurm_node.describe_kept_cores`)."""
    share = topology.share()
    if not share:
        return []
    share += f"; {kept}" if kept else ""
    whole, found = topology.whole(), []
    for experiment in experiments:
        try:
            wide, _ = expand(experiment, whole, root=root, versions=versions)
        except UserError:  # too many cells for a plan
            continue
        narrow, unresolved = expand(experiment, topology, root=root, versions=versions)
        for sweep in experiment.sweeps:
            here = list(_placed((c for c in narrow if c.sweep == sweep.name), topology))
            said = {cell.point_id for cell in here}
            more = [
                c
                for c in _placed((c for c in wide if c.sweep == sweep.name), whole)
                if c.point_id not in said
            ]
            if not more or any(
                one.sweep == sweep.name for one in unresolved
            ):  # those have a reason of their own
                continue
            count = "1 cell" if len(more) == 1 else f"{len(more)} cells"
            found.append(
                Skipped(
                    sweep=sweep.name, cell=_lacking(more, here),
                    reason=f"{count} that the whole machine has: this process may use {share}",
                )
            )  # fmt: skip
    return found


def _placed(cells: Iterable[Cell], topology: Topology) -> Iterator[Cell]:
    for cell in cells:
        asked = cell.place or get_tool(cell.tool).default_place(cell.options)
        try:
            places = (None,) if asked is None else expand_each(asked, topology)
        except Unplaceable:
            continue
        for place in places:
            axes = cell.axes if place == asked or "place" in cell.axes else (*cell.axes, "place")
            yield cell if place == asked else replace(cell, place=place, axes=axes)


def _lacking(more: Iterable[Cell], here: Iterable[Cell]) -> dict[str, str]:
    """Return axis → the values that only the whole machine has: "2, 3, 4 …"."""
    known: dict[str, set[str]] = {}
    for cell in here:
        for axis, value in cell.labels().items():
            known.setdefault(axis, set()).add(str(value))
    lacking: dict[str, dict[str, None]] = {}
    for cell in more:
        for axis, value in cell.labels().items():
            if str(value) not in known.get(axis, set()):
                lacking.setdefault(axis, {})[str(value)] = None
    return {
        axis: ",".join([*values][:_FEW]) + (f",… ({len(values)})" if len(values) > _FEW else "")
        for axis, values in lacking.items()
    }
