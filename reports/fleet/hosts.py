"""Which sessions are of which host, and which hosts are of equal hardware. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from reports.checks.audit import joined
from reports.fleet.gaps import last_failures
from reports.fleet.screened import sound_sessions
from reports.numbers import conditions
from reports.numbers.series import Series, disturbed_text
from reports.results import hardware
from reports.results.grouping import group_by
from reports.results.hardware import Hardware
from reports.results.model import Machine, Results, Run
from reports.results.sessions import SessionKey, clock_warnings, of_hosts, overlapping, timeline


class Hosts:
    """Which host a session is of: what has one hostname, one kind of hardware, and a network card in common."""

    def __init__(self, results: Results, baseline: Results | None) -> None:
        machines, left_out = of_hosts(results)
        past = of_hosts(baseline)[0] if baseline else ()
        kinds = hardware.kinds(m.session for m in (*machines, *past))
        self.past = {_key(m): kind for m, kind in zip(past, kinds[len(machines) :], strict=True)}
        self.when = timeline(machines)
        of = {_key(m): (m, kind) for m, kind in zip(machines, kinds, strict=False)}
        of = {key: of[key] for key in self.when}  # the earliest first
        self.kinds = {key: kind for key, (_, kind) in of.items()}
        disturbed = disturbed_text(results, "judged")
        self.warnings = [*left_out, *filter(None, [disturbed]), *clock_warnings(machines, self.when)]
        self.names: dict[SessionKey, str] = {}
        rows: list[tuple[Hardware, str]] = []
        for hostname, own in sorted(group_by(of.items(), lambda item: item[1][0].host).items()):
            marks = dict(
                zip((key for key, _ in own), hardware.cards([m.session for _, (m, _) in own]), strict=True)
            )
            if len({*filter(None, marks.values())}) < 2:
                marks = dict.fromkeys(marks, "")
            by_kind = group_by(own, lambda item: _whose(item[1][1], marks[item[0]]))  # noqa: B023 (called at once)
            names = _names(hostname, {kind: [m.file for _, (m, _) in same] for kind, same in by_kind.items()})
            if len(names) > 1:
                said = hardware.several(hostname, list(names))
                self.warnings.append(f"{said}; they count as {hardware.listed(names.values())}")
            for kind, same in by_kind.items():
                self.names |= {key: names[kind] for key, _ in same}
                rows.append((same[0][1][1], names[kind]))
        self.warnings += overlapping(machines, self.when, self.names)
        by_name = group_by(of, self.names.__getitem__)
        self.sessions = {
            name: tuple({self.when[key].evidence: of[key][0].session for key in by_name[name]}.values())
            for name in sorted(by_name)
        }
        sound = sound_sessions(results)
        self.counted = {
            name: len({self.when[key].evidence for key in keys if key in sound})
            for name, keys in by_name.items()
        }
        self.last_failed = {
            name: said for name, runs in self._last_runs(results, by_name) if (said := last_failures(runs))
        }
        self.times = min(w.at for w in self.when.values()), max(w.at for w in self.when.values())
        self.files = {name: tuple(dict.fromkeys(file for file, _ in by_name[name])) for name in self.sessions}
        groups = sorted(group_by(rows, lambda row: row[0]).items(), key=lambda g: (-len(g[1]), g[0].name))
        self.groups = {kind: [name for _, name in own] for kind, own in groups}

    def _last_runs(
        self, results: Results, by_name: Mapping[str, Sequence[SessionKey]]
    ) -> Iterable[tuple[str, list[Run]]]:
        """Give the runs of each host's last session that started any."""
        runs = group_by(results.runs, lambda run: (run.file, run.session.session))
        for name, keys in by_name.items():
            started = [key for key in keys if key in runs]
            last = [k for k in started if self.when[k].evidence == self.when[started[-1]].evidence]
            yield name, [run for key in last for run in runs[key]]

    def of(self, one: Series, kind: Hardware) -> Series:
        """Return what the hosts of a group say of a number."""
        return replace(one, values=tuple(v for v in one.values if self.kinds.get(v.session) == kind))

    def values(self, one: Series) -> dict[str, list[float]]:
        """Return host → the median of each of its sessions; what is one piece of evidence is one session."""
        hours = group_by(one.values, lambda v: (self.names[v.session], self.when[v.session].evidence))
        medians = [
            (name, statistics.median(v.value for v in own)) for (name, _), own in sorted(hours.items())
        ]
        return {name: [value for _, value in own] for name, own in group_by(medians, lambda m: m[0]).items()}

    def doubts(self, one: Series) -> dict[str, str]:
        """Return host → the checks that convict what it found of a number, of the hosts where one does."""
        doubted = group_by((v for v in one.values if v.doubt), lambda v: self.names[v.session])
        return {name: joined(v.doubt for v in own) for name, own in doubted.items()}


def _key(machine: Machine) -> SessionKey:
    return machine.file, machine.session.session


def _whose(kind: Hardware, cards: str) -> Hardware:
    """Return what tells a machine from others of its name."""
    return Hardware(facts=((hardware.CARDS, cards), *kind.facts))


def _names(hostname: str, files: Mapping[Hardware, Sequence[str]]) -> dict[Hardware, str]:
    """Return what the machines of one name are called: by their file, where each has one of its own, else by what differs."""
    if len(files) == 1:
        return dict.fromkeys(files, hostname)
    own = {kind: set(names) for kind, names in files.items()}
    if all(len(names) == 1 for names in own.values()) and len(set.union(*own.values())) == len(own):
        return {kind: f"{hostname} ({names.pop()})" for kind, names in own.items()}
    return {kind: f"{hostname} ({kind.beside(files)})" for kind in files}


def baseline_medians(
    collected: Iterable[Series], hosts: Hosts, baseline: Results
) -> dict[tuple[Hashable, ...], list[float]]:
    """Return (hardware, number, way) → the median of each session of a baseline."""
    when = timeline(baseline.machines)
    values = [
        (hosts.past[v.session], one.key, conditions.way(v.run), v)
        for one in collected
        for v in one.values
        if v.session in hosts.past
    ]
    hours = group_by(values, lambda row: (row[:3], (row[3].run.host, when[row[3].session].evidence)))
    medians = [(made, statistics.median(v.value for *_, v in own)) for (made, _), own in hours.items()]
    return {made: [value for _, value in own] for made, own in group_by(medians, lambda m: m[0]).items()}
