"""Where it ran: each placement as a picture of the machine's NUMA nodes, cores and PUs. Pure.

A block is a NUMA node (`reports.report.squares`), with a bar below it where memory was bound to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from orchestrator.machine.topology import Topology
from orchestrator.placement.place import where
from reports.draw import vega
from reports.page.model import HostPlaces, Node, Placed
from reports.report import squares
from reports.results.grouping import group_by
from reports.results.hardware import usable
from reports.results.model import Results, Run
from reports.text import format as fmt

_MOST_PLACES = 12
_MOST_HOSTS = 4


def of_hosts(results: Results) -> tuple[HostPlaces, ...]:
    """Return the pictures of the hosts whose topology is known and that placed their runs; hosts with the same pictures are
    one, "n001 and 63 more", and beyond four different ones the rest is left to the list of runs."""
    alike: dict[tuple[str, tuple[Placed, ...]], list[str]] = {}
    for host, runs in group_by((r for r in results.runs if r.record.placement), lambda r: r.host).items():
        topology = runs[0].session.topology
        if topology is None or not topology.cores:
            continue
        by_groups = [tuple(own) for own in group_by(runs, lambda r: r.placed).values()]
        named = Counter(name for own in by_groups for name in _names(own))
        places = tuple(_placed(own, topology, named) for own in by_groups)
        machine = usable(topology)
        alike.setdefault((machine, places), []).append(host)
    return tuple(
        HostPlaces(
            host=f"{hosts[0]} and {fmt.count(len(hosts) - 1)} more" if len(hosts) > 1 else hosts[0],
            machine=machine,
            places=places[:_MOST_PLACES],
            left_out=max(0, len(places) - _MOST_PLACES),
        )
        for (machine, places), hosts in list(alike.items())[:_MOST_HOSTS]
    )


def _names(runs: Sequence[Run]) -> dict[str, None]:
    """Return what some runs in one placement call it, as charts do: what was asked for no place is "all"."""
    return dict.fromkeys(run.place or run.relation or "all" for run in runs)


def _has_all(runs: Sequence[Run]) -> bool:
    """Have runs that were asked for no place every PU? A single thread of them has one."""
    every = runs[0].session.topology.allowed_cpus if runs[0].session.topology else frozenset()
    used = {cpu for group in runs[0].placed for cpu in group.cpus}
    return every <= used or all(run.place for run in runs)


def _placed(runs: Sequence[Run], topology: Topology, named: Mapping[str, int]) -> Placed:
    """named: how many placements have a name; of several each says its PUs and memory, "local, CPUs 0-3, memory of node 0", and so does
    "all" that has not every PU."""
    groups, names = runs[0].placed, _names(runs)
    told = [
        fmt.words(names),
        *(
            [where(runs[0].record.placement)]
            if any(named[name] > 1 for name in names) or not _has_all(runs)
            else []
        ),
    ]
    programs = dict.fromkeys(run.tool for run in runs)
    colour_of = {
        cpu: vega.SERIES[min(i, len(vega.SERIES) - 1)]
        for i, group in reversed(list(enumerate(groups)))
        for cpu in group.cpus
    }
    bound = {node for group in groups for node in (*group.membind, *group.interleave)}
    return Placed(
        name=", ".join(told), programs=", ".join(programs), packages=_packages(topology, colour_of, bound)
    )


def _packages(
    topology: Topology, colour_of: Mapping[int, str], bound: set[int]
) -> tuple[tuple[Node, ...], ...]:
    several = len(topology.numa_nodes) > 1
    out = []
    left = {node.os_index for node in topology.numa_nodes}
    for package in topology.packages:
        cores = [core for core in topology.cores if core.package == package.index]
        blocks = []
        for node, inside in group_by(cores, lambda c: c.numa_node).items():
            name = f"node {node}" if several and node is not None else ""
            blocks.append(squares.node(name, inside, topology, colour_of, node in bound))
            left.discard(-1 if node is None else node)
        out.append(tuple(blocks))
    if several and left:  # memory without CPUs: CXL, HBM
        out.append(
            tuple(
                squares.node(f"node {node}", (), topology, colour_of, node in bound) for node in sorted(left)
            )
        )
    return tuple(out)
