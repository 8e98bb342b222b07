"""Which host a session ran on, and which hosts have equal hardware. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports.results import hardware
from reports.results.grouping import group_by
from reports.results.hardware import Hardware
from reports.results.model import Machine, Results
from reports.results.sessions import clock_warnings, of_hosts, overlapping, timeline

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The sessions of some result files by host.

    sessions, index: `Measurements.sessions`
        host      str    its name; with what differs where several machines have that name
        group     int    of equal hardware: index of `kinds`; -1 of a baseline whose hardware no host has
        evidence  int    sessions with one value are one piece of evidence
        time      float  s since 1970
    """

    sessions: pd.DataFrame
    past: pd.DataFrame  # the same of a baseline
    kinds: tuple[Hardware, ...]  # the one that most hosts have first
    machines: Mapping[str, tuple[Machine, ...]]  # host → its sessions, the earliest first
    warnings: tuple[str, ...]


def members(
    results: Results, sessions: pd.DataFrame, past: Results | None = None, past_sessions: pd.DataFrame | None = None
) -> Members:  # fmt: skip
    """Return which host each session is of. Raises UserError if there are captured texts only.

    A host is what has one hostname, one kind of hardware and a network card in common.
    """
    machines, warnings = of_hosts(results)
    past_machines = of_hosts(past)[0] if past else ()
    every = hardware.kinds(machine.session for machine in (*machines, *past_machines))
    kind_of = dict(zip(map(_key, machines), every, strict=False))
    when = timeline(machines)
    by_key = {_key(machine): machine for machine in machines}
    names: dict[tuple[str, int], str] = {}
    warnings += clock_warnings(machines, when)
    for hostname, keys in sorted(group_by(when, lambda key: by_key[key].host).items()):
        marks = hardware.cards([by_key[key].session for key in keys])
        if len({*filter(None, marks)}) < 2:
            marks = [""] * len(keys)
        identity = {
            key: Hardware(facts=((hardware.CARDS, mark), *kind_of[key].facts))
            for key, mark in zip(keys, marks, strict=True)
        }
        different = list(dict.fromkeys(identity.values()))
        names |= {
            key: hostname if len(different) < 2 else f"{hostname} ({identity[key].beside(different)})" for key in keys
        }
        if len(different) > 1:
            names_here = list(dict.fromkeys(names[key] for key in keys))
            warnings.append(f"{hardware.several(hostname, different)}; they count as {hardware.listed(names_here)}")
    warnings += overlapping(machines, when, names)
    hosts_of = group_by(dict.fromkeys((kind_of[key], name) for key, name in names.items()), lambda row: row[0])
    kinds = sorted(hosts_of, key=lambda kind: (-len(hosts_of[kind]), kind.name))
    groups = {kind: number for number, kind in enumerate(kinds)}
    past_kinds = dict(zip(map(_key, past_machines), every[len(machines) :], strict=True))
    return Members(
        sessions=_placed(sessions, names, {key: groups[kind_of[key]] for key in names}),
        past=_placed(past_sessions, {_key(m): m.host for m in past_machines}, {key: groups.get(kind, -1) for key, kind in past_kinds.items()})
        if past_sessions is not None else sessions[:0],
        kinds=tuple(kinds),
        machines={
            name: tuple(by_key[key] for key in keys)
            for name, keys in sorted(group_by(names, names.__getitem__).items())
        },
        warnings=tuple(warnings),
    )  # fmt: skip


def _placed(
    sessions: pd.DataFrame, names: Mapping[tuple[str, int], str], groups: Mapping[tuple[str, int], int]
) -> pd.DataFrame:
    keys = list(zip(sessions["file"], sessions["session_number"], strict=True))
    rows = sessions[[key in names for key in keys]]
    keys = [key for key in keys if key in names]
    return rows[["evidence", "time"]].assign(host=[names[key] for key in keys], group=[groups[key] for key in keys])


def _key(machine: Machine) -> tuple[str, int]:
    return machine.file, machine.session.session
