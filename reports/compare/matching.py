"""Cells of two sets of runs brought together: by their parameters and by *where* they ran in relative words. Pure.

Two machines number their CPUs differently and have different numbers of them, so a place is compared by its relation ("local",
"remote", "same cache") and by the share of the machine that it covers ("half of a NUMA node"), never by CPU numbers. What has
no partner is returned with the reason.

Cells are matched in rounds; each takes what the one before has left, and only where exactly one cell of a side fits:

    same        everything is as written: sweep, options, selectors, relation; first what is read in the same way, then what its
                labels tell apart in the same way, then whatever is read
    renamed     the sweep has another name
    relative    the selectors differ; relation and share of the machine agree
    path        besides, options that name a path (a device, a folder) differ: they belong to the machine
    share       the number of threads differs, its share of the machine does not: 0.5 x pus_per_numa_node
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal

from orchestrator.machine.topology import Topology
from orchestrator.model import Place, canonical_json
from orchestrator.tools import meant
from parsers.errors import UserError
from reports.results.grouping import group_by
from reports.results.levels import natural
from reports.results.model import LEFT_OUT, Results, Run
from reports.text import format as fmt

How = Literal["same", "renamed", "relative", "path", "share"]

THREADS: Final = "threads"
READING: Final = frozenset({"metrics"})
"""Options that say how a text is read, and not what ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOfSide:
    """One cell of one side, with its runs that count: repeats, perhaps of several sessions and hosts."""

    key: Hashable  # what makes its runs one cell: the same in every set of results
    sweep: str
    title: str
    tool: str
    options: Mapping[str, Any]  # without those that are to be ignored
    place: Place | None
    relation: str
    scope: str  # the share of the machine: "half of a NUMA node", "2 x one PU"; "" where nothing was placed
    axes: tuple[str, ...]
    runs: tuple[Run, ...]
    apart: Mapping[str, Any] = field(
        default_factory=dict
    )  # what tells it from another that one text never asked for beside it
    asked: Mapping[str, Any] = field(default_factory=dict)
    """The options, the same however they are written (`meant`); those as written where nothing stands here."""
    spoken: str = ""  # `scope` for people, who call half of the PUs of cores with SMT "one PU a core"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The options by which it is matched."""
        return self.asked or self.options

    @property
    def labels(self) -> dict[str, str]:
        """What tells the cell from its siblings, for people: axis → value, "place" among them."""
        return {axis: _text(value) for axis, value in self.values.items()}

    @property
    def values(self) -> dict[str, Any]:
        """The labels as the experiment has them: 16, not "16"."""
        values = {**self.options, "place": self.place.name if self.place else None, **self.apart}
        return {axis: values[axis] for axis in self.axes if values.get(axis) is not None}

    @property
    def name(self) -> str:
        """`threads=4 place=local`; "" of the only cell of a sweep."""
        return " ".join(f"{k}={v}" for k, v in self.labels.items())

    def over(self, axis: str | None) -> CellOfSide:
        """Return what stands for all cells of a curve over an axis: the cell without that."""
        return dataclasses.replace(self, axes=tuple(name for name in self.axes if name != axis))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    a: CellOfSide
    b: CellOfSide
    how: How

    @property
    def key(self) -> Hashable:
        """Which cells they are, in every comparison of the same sides."""
        return self.a.key, self.b.key

    @property
    def said(self) -> str:
        """How it was matched, where that is not as written: "4 threads here, 8 there: half of a NUMA node"."""
        if self.how == "relative":
            places = " and ".join(c.place.name if c.place else "no place" for c in (self.a, self.b))
            return f"matched by relative place: {places} are both {self._where}"
        if self.how == "share":
            a, b = (c.options.get(THREADS) for c in (self.a, self.b))
            return f"matched by share of the machine: {a} threads of A and {b} of B, {self._where}"
        if self.how == "path":
            return (
                f"matched though paths differ: {fmt.words(_differing(self.a.parameters, self.b.parameters))}"
            )
        if self.how == "renamed":
            return f"matched under another name: sweep {self.a.sweep} of A, {self.b.sweep} of B"
        return ""

    @property
    def _where(self) -> str:
        return _where(self.a, self.a.spoken if self.a.spoken == self.b.spoken else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmatched:
    """What is not compared: a cell, or a row of one, that only one side has, or that has nothing to stand for it on both."""

    side: Literal["A", "B", "both", "neither"]  # which has a number of it
    sweep: str
    cell: str
    reason: str
    part: bool = False  # a row of a cell that both sides have
    optional: bool = False  # of a row: a good run may lack it
    labels: Mapping[str, str] = field(default_factory=dict)  # of a whole cell: axis → level
    numberless: bool = False  # a whole cell that ran in vain: wherever it ran there is no number of it
    meant: bool = False  # of a whole cell: was the other side to have it? Then it ran there in vain, was skipped or is still to come


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    pairs: tuple[Pair, ...]
    unmatched: tuple[Unmatched, ...]
    silent: tuple[Pair, ...] = ()  # cells of one side with those of the other that ran and gave no number


Cells = Iterable[CellOfSide]


def match(
    a: Cells,
    b: Cells,
    why: Callable[[Literal["A", "B"], CellOfSide], str] | None = None,
    *,
    silent: tuple[Cells, Cells] = ((), ()),
) -> Matching:
    """Match the cells of both sides, in the order of A's. `silent`: cells of A and of B that ran and gave no number; one that is left over on
    the other side is matched with these as with others, and its reason is what became of them. Of what else is left over `why` says why the
    other side has none (`absence`)."""
    left, right = ({cell.key: cell for cell in side} for side in (a, b))
    silent_a, silent_b = ({cell.key: cell for cell in side} for side in silent)
    order = {key: i for i, key in enumerate((*left, *silent_a))}
    pairs, crowds = _in_rounds(left, right)
    all_a = [*(pair.a for pair in pairs), *left.values(), *silent_a.values()]
    all_b = [*(pair.b for pair in pairs), *right.values(), *silent_b.values()]
    of_a, of_b = _in_rounds({**left}, silent_b)[0], _in_rounds(silent_a, {**right})[0]
    became_of = {("A", p.a.key): gave_no_number("B", p.b.runs) for p in of_a}
    became_of |= {("B", p.b.key): gave_no_number("A", p.a.runs) for p in of_b}
    unmatched = []
    for side, mine, own, others in (("A", left, all_a, all_b), ("B", right, all_b, all_a)):
        other = "B" if side == "A" else "A"
        for cell in mine.values():
            crowded = ""
            if crowd := crowds.get((side, cell.key)):
                alike, fit = crowd[0] - 1, f"{fmt.plural(crowd[1], 'cell')} of {other}"
                both = f"it and {fmt.plural(alike, 'other cell')} of {side} fit {fit}"
                crowded = both if alike else f"{fit} fit it"
            absent = became_of.get((side, cell.key)) or (why(side, cell) if why else "")  # type: ignore[arg-type]
            reason = crowded or absent or nearest(cell, others, other, own)
            unmatched.append(
                Unmatched(
                    side=side, sweep=cell.sweep, cell=cell.name, reason=reason, labels=cell.labels, meant=bool(absent)  # type: ignore[arg-type]
                )
            )  # fmt: skip

    unmatched += _numberless((silent_a, silent_b), (all_a, all_b))

    def in_order(found: Iterable[Pair]) -> tuple[Pair, ...]:
        return tuple(sorted(found, key=lambda pair: order[pair.a.key]))

    return Matching(pairs=in_order(pairs), unmatched=tuple(unmatched), silent=in_order((*of_a, *of_b)))


def _numberless(
    silent: tuple[dict[Hashable, CellOfSide], dict[Hashable, CellOfSide]],
    every: tuple[Sequence[CellOfSide], Sequence[CellOfSide]],
) -> Iterable[Unmatched]:
    """Give the cells without a number that are left over: of which neither side has one, and those that one side alone ran. `every`: all cells
    of both."""
    for pair in _in_rounds(*silent)[0]:
        reason = f"{gave_no_number('A', pair.a.runs)}; {gave_no_number('B', pair.b.runs)}"
        yield Unmatched(
            side="neither", sweep=pair.a.sweep, cell=pair.a.name, reason=reason, labels=pair.a.labels
        )
    sides: tuple[tuple[Literal["A", "B"], int], ...] = (("A", 0), ("B", 1))
    for side, at in sides:
        for cell in silent[at].values():
            instead = nearest(cell, every[1 - at], "B" if side == "A" else "A", every[at])
            reason = f"{gave_no_number(side, cell.runs)}; {instead}"
            yield Unmatched(
                side=side,
                sweep=cell.sweep,
                cell=cell.name,
                reason=reason,
                labels=cell.labels,
                numberless=True,
            )


_Crowds = dict[tuple[str, Hashable], tuple[int, int]]
"""Side, cell → how many of its own and of the other side fit."""


def _in_rounds(
    left: dict[Hashable, CellOfSide], right: dict[Hashable, CellOfSide]
) -> tuple[list[Pair], _Crowds]:
    """Take the cells that belong together out of both sides, round by round. Returns them, and which of the others are too many to tell."""
    pairs: list[Pair] = []
    crowds: _Crowds = {}
    for how, key in _ROUNDS:
        by_a, by_b = (
            group_by((c for c in side.values() if key(c) is not None), key) for side in (left, right)
        )
        for same, cells in by_a.items():
            others = by_b.get(same, [])
            if len(cells) == len(others) == 1:
                pairs.append(Pair(a=left.pop(cells[0].key), b=right.pop(others[0].key), how=how))
            elif others:
                crowds |= {("A", c.key): (len(cells), len(others)) for c in cells} | {
                    ("B", c.key): (len(others), len(cells)) for c in others
                }
    return pairs, crowds


def cells(runs: Iterable[Run], ignore: Collection[str] = ()) -> list[CellOfSide]:
    """Return the cells of some runs, in their order. `ignore`: options that do not count ("place" among them)."""

    def key(run: Run) -> Hashable:
        cell = _cell_key(run, ignore) if ignore else run.record.point_id
        return cell, "" if "place" in ignore else run.relation

    return [_cell(cell, members, ignore) for cell, members in group_by(runs, key).items()]


def _cell_key(run: Run, ignore: Collection[str]) -> str:
    canonical = run.cell.canonical()
    canonical["options"] = {k: v for k, v in canonical["options"].items() if k not in ignore}
    return canonical_json({k: v for k, v in canonical.items() if k not in ignore})


def _cell(key: Hashable, runs: Sequence[Run], ignore: Collection[str]) -> CellOfSide:
    first = runs[0]
    dropped = {*ignore, *READING}
    placed = "place" not in ignore
    return CellOfSide(
        key=key,
        sweep=first.cell.sweep,
        title=first.sweep_title,
        tool=first.tool,
        options={k: v for k, v in first.cell.options.items() if k not in dropped},
        place=first.cell.place if placed else None,
        relation=first.relation if placed else "",
        scope=scope(first) if placed else "",
        spoken=spoken(first) if placed else "",
        axes=tuple(axis for axis in first.cell.axes if axis not in dropped),
        runs=tuple(runs),
        apart={name: value for name, value in first.cell.apart.items() if name not in dropped},
        asked={k: v for k, v in _meant(first, ignore).items() if k not in dropped},
    )


def _meant(run: Run, ignore: Collection[str]) -> Mapping[str, Any]:
    """Return what a run's options ask for; as they are where its tool is one that is only read, or would not take them."""
    options = {k: v for k, v in run.cell.options.items() if k not in ignore}
    try:
        return meant(run.tool, options)
    except (KeyError, ValueError, UserError):
        return options


# --- rounds ------------------------------------------------------------------------------------------------


def _identical(cell: CellOfSide) -> Hashable:
    return cell.sweep, cell.key


def _labelled(cell: CellOfSide) -> Hashable:
    return cell.sweep, _renamed(cell), tuple(cell.labels.items())


def _same(cell: CellOfSide) -> Hashable:
    return cell.sweep, _renamed(cell)


def _renamed(cell: CellOfSide) -> Hashable:
    place = dataclasses.astuple(cell.place) if cell.place else None
    return cell.tool, canonical_json(dict(cell.parameters)), place, cell.relation


def _relative(cell: CellOfSide) -> Hashable:
    return cell.tool, canonical_json(dict(cell.parameters)), _position(cell)


def _path(cell: CellOfSide) -> Hashable:
    return cell.tool, canonical_json(_without_paths(cell)), _position(cell)


def _share(cell: CellOfSide) -> Hashable:
    options = {k: v for k, v in _without_paths(cell).items() if k != THREADS}
    if THREADS not in cell.options or not cell.scope:
        return None
    return cell.tool, canonical_json(options), cell.relation, cell.scope, _crowd(cell)


def _crowd(cell: CellOfSide) -> Hashable:
    """Return the threads a PU: 8 threads on 4 PUs are no share of what 4 threads on 4 PUs are."""
    threads = cell.options[THREADS]
    pus = sum(len(group.cpus) for run in cell.runs[:1] for group in run.placed)
    return Fraction(threads, pus) if isinstance(threads, int) and pus else None


def _position(cell: CellOfSide) -> Hashable:
    """Relation and share. Where the number of threads is said, it is the share; `all` is all."""
    counted = THREADS in cell.options or cell.relation == "all"
    return cell.relation, "" if counted else cell.scope


def _without_paths(cell: CellOfSide) -> dict[str, Any]:
    return {k: v for k, v in cell.parameters.items() if not (isinstance(v, str) and v.startswith("/"))}


_ROUNDS: Final[tuple[tuple[How, Callable[[CellOfSide], Hashable]], ...]] = (
    ("same", _identical), ("same", _labelled), ("same", _same), ("renamed", _renamed), ("relative", _relative), ("path", _path), ("share", _share),
)  # fmt: skip
"""What makes two cells one, round by round; None: nothing of this round fits the cell."""


# --- where a cell ran --------------------------------------------------------------------------------------

_CONTAINERS: Final = ("core", "NUMA node", "package", "machine")


def scope(run: Run) -> str:
    """Return which share of the machine a run was given: "one PU", "half of a NUMA node", "2 × one core", "all of the machine".

    Of the smallest of core, NUMA node, package and machine that holds the PUs of a process, as a share of its allowed PUs; "3 PUs"
    where the session knows no topology. "" where nothing was placed.
    """
    return _of_each(run, _scope)


def spoken(run: Run) -> str:
    """Return the same for people: with SMT, where each core gave one of its PUs, "one PU a core of a NUMA node" (of "half of a NUMA node",
    counted in cores). By `scope` alone is matched: half of the PUs of one machine is half of those of another, with SMT or without."""
    return _of_each(run, _spoken)


def _of_each(run: Run, words_of: Callable[[frozenset[int], Topology | None], str]) -> str:
    words = list(dict.fromkeys(words_of(frozenset(group.cpus), run.session.topology) for group in run.placed))
    if not words:
        return ""
    return f"{len(run.placed)} × {words[0]}" if len(words) == 1 < len(run.placed) else " and ".join(words)


def _spoken(cpus: frozenset[int], machine: Topology | None) -> str:
    if len(cpus) > 1 and machine is not None:
        used = [core for core in machine.cores if cpus & set(core.cpus)]
        if len(used) == len(cpus) and any(
            machine.allowed_cpus.intersection(core.cpus) - cpus for core in used
        ):
            return f"one PU a core of {_scope(frozenset(cpu for core in used for cpu in core.cpus), machine).removeprefix('all of ')}"
    return _scope(cpus, machine)


def _scope(cpus: frozenset[int], machine: Topology | None) -> str:
    if len(cpus) == 1:
        return "one PU"
    if machine is None or not machine.pus:
        return f"{len(cpus)} PUs"
    inside = {
        "core": [core.cpus for core in machine.cores],
        "NUMA node": [node.cpus for node in machine.numa_nodes],
        "package": [package.cpus for package in machine.packages],
        "machine": [tuple(pu.os_index for pu in machine.pus)],
    }
    for name in _CONTAINERS:
        for members in inside[name]:
            if cpus <= set(members):
                whole = machine.allowed_cpus.intersection(members) | cpus
                return _of(
                    Fraction(len(cpus), len(whole)), "the machine" if name == "machine" else f"a {name}"
                )
    return f"{len(cpus)} PUs"


def _of(share: Fraction, what: str) -> str:
    if share == 1:
        return "one core" if what == "a core" else f"all of {what}"
    return f"half of {what}" if share == Fraction(1, 2) else f"{share} of {what}"


def _where(cell: CellOfSide, share: str = "") -> str:
    return ", ".join(filter(None, (cell.relation, share or cell.scope))) or "unplaced"


def _placed(cell: CellOfSide) -> str:
    """Return `_where` for people, whom "all of the machine" tells that it is all."""
    return cell.scope if cell.relation == "all" and cell.scope else _where(cell)


# --- why not -----------------------------------------------------------------------------------------------


def nearest(cell: CellOfSide, others: Sequence[CellOfSide], other: str, own: Sequence[CellOfSide]) -> str:
    """Say what the other side has instead: the option in which its nearest cells differ, and their values. `own`: the cells of
    this side."""
    same_tool = [c for c in others if c.tool == cell.tool]
    if not same_tool:
        return f"{other} has no runs of {cell.tool}"
    parameters = _parameters(cell)
    gaps = [(c, _gap(parameters, _parameters(c))) for c in same_tool]
    fewest = min(len(gap) for _, gap in gaps)
    close = [gap for _, gap in gaps if len(gap) == fewest]
    if not fewest:
        return f"{other} has such a cell, which is compared with another of {'A' if other == 'B' else 'B'}"
    if fewest > 1:
        return f"{other} has no such cell: the nearest differs in {fmt.words(close[0])}"
    # what is no axis was changed, and the very cell is there; along an axis there are but its neighbours
    name = min((gap[0] for gap in close), key=cell.axes.__contains__)
    theirs = [(c, _parameters(c)) for c, gap in gaps if gap == [name]]
    spelled = {_text(p[name]): _written(c, name) for c, p in theirs if name in p}
    values = [spelled[value] for value in sorted(spelled, key=natural)]
    untold = [f"a cell that does not tell its {name}"] if any(name not in p for _, p in theirs) else []
    said = _written(cell, name)
    listed = fmt.words([*values[:6], *untold]) + (f" and {len(values) - 6} more" if len(values) > 6 else "")
    if name == "place":
        places = list(dict.fromkeys(_placed(c) for c, p in theirs if name in p))
        elsewhere = "; ".join(places[:6]) + (f" and {len(places) - 6} more" if len(places) > 6 else "")
        return f"{other} has such a cell, but in another place: {elsewhere} (here: {_placed(cell)})"
    hint = f" (--ignore {name}?)" if _is_fixed(name, own) and _is_fixed(name, others) else ""
    if name not in parameters:
        return f"{name} is not said here; {other} has {listed}{hint}"
    if any(_parameters(c).get(name) == parameters[name] for c in same_tool):
        return f"{other} has no such cell with {name}={said}; it has one with {listed}{hint}"
    return f"{other} has no {name}={said}; it has {listed}{hint}"


def _is_fixed(name: str, of: Sequence[CellOfSide]) -> bool:
    """Does an option tell no cells of a sweep apart?"""
    sweeps = group_by(of, lambda cell: (cell.tool, cell.sweep)).values()
    return not any(name in cell.axes for cell in of) and all(
        len({_text(cell.options.get(name)) for cell in own}) == 1 for own in sweeps
    )


def _parameters(cell: CellOfSide) -> dict[str, Any]:
    return {**cell.parameters, "place": _where(cell)}


def _written(cell: CellOfSide, name: str) -> str:
    """Return a value as the cell is named by it: "16k", which is matched as 16384."""
    return _text(cell.options[name] if name in cell.options else _parameters(cell).get(name))


def _gap(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    return [k for k in dict.fromkeys((*a, *b)) if a.get(k) != b.get(k)]


def _differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    return [f"{k} is {_text(a.get(k))} of A, {_text(b.get(k))} of B" for k in _gap(a, b)]


def absence(other: Results, name: str) -> Callable[[CellOfSide], str]:
    """Return what says why `other`, which is called `name`, never ran a cell: it was skipped, or is still to be run; "" where it knows nothing
    of it."""
    open_ = {cell.point_id for _, cell, _ in other.missing}

    @functools.cache
    def skipped() -> Mapping[Hashable, str]:  # of most pairs nobody asks for what may be very many
        return {
            (item.sweep, _labels_key(item.cell)): f"{where}: {item.reason}" for where, item in other.skipped
        }

    def why(cell: CellOfSide) -> str:
        of = cell.runs[0].cell
        if reason := skipped().get((cell.sweep, _labels_key(of.labels()))):
            return f"{name} could not run it, {reason}"
        return f"{name} has not run it yet" if of.point_id in open_ else ""

    return why


def gave_no_number(side: str, runs: Sequence[Run]) -> str:
    """Return "all 3 runs failed in B: exit status 1: no space left", "both runs left out in B (disturbed)" of a cell's runs."""
    words = sorted(set(map(became, runs)))
    head = {1: "its only run", 2: "both runs"}.get(len(runs), f"all {len(runs)} runs")
    if words == ["failed"]:
        why = reason_of(runs)
        return f"{head} failed in {side}{why and f': {why}'}"
    left_out = all(r.void or r.record.status in LEFT_OUT for r in runs)
    return f"{head} {'left out' if left_out else 'gave no number'} in {side} ({fmt.words(words)})"


def reason_of(runs: Sequence[Run]) -> str:
    """Return why runs failed, "exit status 1: no space left", of several reasons the first and how many others there are; "" where none is known."""
    reasons = list(dict.fromkeys(reason for run in runs if (reason := run.record.reason)))
    if not reasons:
        return ""
    more = f" (and {fmt.plural(len(reasons) - 1, 'other reason')})" if len(reasons) > 1 else ""
    return f"{reasons[0]}{more}"


def became(run: Run) -> str:
    """Return what became of a run that is not compared, in a word or two."""
    return "unreadable" if run.unreadable else "not valid by its own check" if run.void else run.record.status


def _labels_key(labels: Mapping[str, Any]) -> Hashable:
    return tuple(sorted((k, str(v)) for k, v in labels.items()))


def _text(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, tuple | list):
        return f"{value[0]}..{value[-1]}" if len(value) > 3 else ",".join(map(str, value))
    return str(value)
