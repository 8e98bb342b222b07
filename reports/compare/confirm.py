"""A comparison in two stages: measure again what looks changed, and let the fresh runs decide.

Comparison ─asked→ cells ─orchestrator.run.rerun→ fresh result files ─load→ Results ─confirmed→ Comparison

`confirm` goes the whole way, and starts the runs; the rest is pure.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import shlex
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.model import PlannedRun
from orchestrator.run import preflight
from orchestrator.run.exclusive import told
from orchestrator.run.execute import Event
from orchestrator.run.fresh import run_again
from orchestrator.run.outcome import Rules
from orchestrator.run.rerun import CellRef, Rerun, prepare_again
from orchestrator.run.rerun import Pair as PairAgain
from orchestrator.run.scratch import Stopped
from parsers.errors import PinsweepError, UserError
from reports.compare.comparison import compare, worst_first
from reports.compare.matching import CellOfSide, Pair
from reports.compare.model import Again, Ask, Comparison, NotAgain, Row, Way, moment
from reports.compare.moves import shared
from reports.compare.sides import Side, side
from reports.results.load import load
from reports.results.model import Results, Run
from reports.text import format as fmt
from reports.text.plain import printable
from reports.verdicts.confirm import fresh_repeats, screen, settle
from reports.verdicts.model import Decision, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be measured again."""

    keys: frozenset[Hashable]  # of the numbers that look changed
    numbers: int  # of how many
    cells: tuple[Pair, ...]  # the cells that they come from
    pairs: tuple[PairAgain, ...]  # the same for the orchestrator, in the same order


def confirm(
    found: Comparison,
    ask: Ask,
    *,
    folder: Path,
    scratch: Path | None,
    allow_write: Sequence[str],
    rules: Rules,
    version: str,
    argv: Sequence[str],
    warm_up: bool,
    tune: bool,
    say: Callable[[str], None],
    approve: Callable[[], None],
    on_event: Callable[[Event], None],
) -> Comparison:
    """Return the comparison with the verdicts of fresh runs, which lie in `folder` afterwards. I/O.

    `say` gets a line about what will be done, the commands that will be started, what will disturb them, and what was done. `approve` raises
    where the user does not want these commands, which the files name: no program of the files has been started then. With `warm_up` each program of a side is
    warmed up first; with `tune` the machine is tuned meanwhile, as by `run --tune`. Raises UserError where side B cannot be measured here, or `folder`
    not be written; nothing has been started then. Raises KeyboardInterrupt where the user stopped the fresh runs.
    """
    wanted = asked(found)
    if not wanted.pairs:
        say("nothing looks changed: nothing is measured again")
        return found
    rerun = prepare_again(
        wanted.pairs, folder=folder, scratch=scratch, allow_write=allow_write, seed=secrets.randbelow(2**31),
        warm_up=warm_up, tune=tune,
    )  # fmt: skip
    for line in announce(wanted, rerun):
        say(line)
    if not rerun.runs:
        raise PinsweepError("--confirm", "no cell can be measured again here", "the reasons stand above")
    say(f"about {fmt.duration(rerun.estimate_s)}, by these commands of the result files:")
    for command in dict.fromkeys(_command(run) for _, run in (*rerun.warm_ups, *rerun.runs)):
        say(printable(f"  {command}"))
    approve()
    _make(folder)

    try:
        fresh = run_again(
            rerun,
            folder,
            version=version,
            argv=argv,
            rules=rules,
            on_wait=lambda h: say(printable(told(h))),
            on_tune=lambda text: say(printable(f"tune     {text}")),
            on_begin=lambda: _warn_of_noise(rerun, say),
            on_event=on_event,
        )
    except Stopped:
        raise KeyboardInterrupt from None
    if fresh.summary.scratch_left:
        say(f"scratch folder cannot be removed: {printable(str(rerun.scratch))}")
    for path in (*fresh.a, *fresh.b):
        say(f"fresh runs  {path}")
    if fresh.summary.stopped:
        raise KeyboardInterrupt
    return confirmed(found, wanted, rerun, load(fresh.a) if fresh.a else None, load(fresh.b), ask)


def _command(run: PlannedRun) -> str:
    """Return the command line of a run, with the path of each program in it."""
    env = "".join(f"{name}={shlex.quote(value)} " for name, value in run.env.items())
    return env + shlex.join(run.files.get(word, word) for word in run.argv)


def _warn_of_noise(rerun: Rerun, say: Callable[[str], None]) -> None:
    """Say what will disturb the fresh runs, a line each."""
    for noise in preflight.glance([run for _, run in rerun.runs], rerun.topology, rerun.scratch):
        say(printable(preflight.told(noise)))


def _make(folder: Path) -> None:
    """Make the folder of the fresh files. Raises UserError where nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (
            "is not a directory"
            if folder.exists()
            else f"cannot be made: {(error.strerror or str(error)).lower()}"
        )
        raise UserError(f"--into {folder}", why, "name a folder that can be written") from error
    if not os.access(folder, os.W_OK):
        raise UserError(f"--into {folder}", "cannot be written", "name another folder")


def asked(found: Comparison) -> Asked:
    """Return the cells of the numbers that look changed: two thirds of the threshold off, to either side."""
    screened = screen(found.families)
    repeats: dict[Hashable, int] = {}
    cells: dict[Hashable, Pair] = {}
    for decision in screened:
        for pair in found.behind[decision.key]:
            cells[pair.key] = pair
            repeats[pair.key] = max(repeats.get(pair.key, 0), fresh_repeats(decision))
    return Asked(
        keys=frozenset(d.key for d in screened),
        numbers=len(found.rows),
        cells=tuple(cells.values()),
        pairs=tuple(
            PairAgain(a=_cell(pair.a, found.a), b=_cell(pair.b, found.b), repeats=repeats[key])
            for key, pair in cells.items()
        ),
    )


def _cell(cell: CellOfSide, of: Side) -> CellRef:
    """Return where a cell was measured last."""
    last: Run = max(cell.runs, key=lambda run: (of.when[run.file, run.session.session].at, run.record.run_id))
    return CellRef(path=Path(of.results.paths[last.file]), point_id=last.record.point_id)


def confirmed(
    found: Comparison, wanted: Asked, rerun: Rerun, a: Results | None, b: Results, ask: Ask
) -> Comparison:
    """Return the comparison with the verdicts, and the values, of the fresh runs where there are any.

    `a`: fresh results of the cells that both sides were measured for; for the others A's stored runs stand.
    """
    in_turns = side("A", fmt.words(a.paths), a) if a is not None else None
    right = side("B", fmt.words(b.paths), b)
    fresh = _fresh(found, wanted, found.a, right, rerun.only_b, ask)
    if in_turns is not None:
        told = _fresh(found, wanted, in_turns, right, rerun.interleaved, ask)
        fresh |= {
            key: (row, dataclasses.replace(sample, interleaved=True)) for key, (row, sample) in told.items()
        }
    families = settle(found.families, [s for _, s in fresh.values()], found.rules, asked=wanted.keys)
    decisions = {d.key: d for family in families for d in family.decisions}
    rows = tuple(
        sorted((_row(row, fresh, decisions[row.decision.key]) for row in found.rows), key=worst_first)
    )
    samples = tuple(fresh[s.key][1] if s.key in fresh else s for s in found.samples)
    return dataclasses.replace(
        found,
        rows=rows,
        families=families,
        samples=samples,
        shared=shared(rows),
        again=_again(found, wanted, rerun, fresh, tuple(one for one in (in_turns, right) if one is not None)),
    )


def _fresh(
    found: Comparison, wanted: Asked, left: Side, right: Side, cells: Collection[int], ask: Ask
) -> dict[Hashable, tuple[Row, Sample]]:
    """Return key → the numbers that the fresh runs of some cells give, against those of `left`: fresh ones as well, or A's stored ones. cells:
    indexes into those that are wanted; of a curve over others, too, nothing is told: half of it would be of another day."""
    pairs = [wanted.cells[index] for index in cells]
    a = _of_cells(left, (pair.a for pair in pairs))
    b = _of_cells(right, (pair.b for pair in pairs))
    if not a.runs or not b.runs:
        return {}
    names = {_name(found, row): row.decision.key for row in found.rows if row.decision.key in wanted.keys}
    # thresholds named for a metric are in the first comparison's rules; here their metric may be missing
    again = compare(a, b, dataclasses.replace(ask, thresholds={}), by=found.by, is_part=True)
    return {
        key: (row, dataclasses.replace(again.samples[_index(row.decision)], key=key, interleaved=False))
        for row in again.rows
        if (key := names.get(_name(again, row))) is not None
    }


def _of_cells(of: Side, cells: Iterable[CellOfSide]) -> Side:
    """Return a side with its runs of some cells alone."""
    wanted = {_place_of(run) for cell in cells for run in cell.runs}
    return dataclasses.replace(of, runs=tuple(run for run in of.runs if _place_of(run) in wanted))


def _place_of(run: Run) -> Hashable:
    """Return what is the same of the runs of a cell, however often it is measured."""
    return run.record.point_id, run.relation


def _again(
    found: Comparison, wanted: Asked, rerun: Rerun, fresh: Mapping[Hashable, tuple[Row, Sample]], sides: tuple[Side, ...]
) -> Again:  # fmt: skip
    """Return what was measured again. fresh: key → the numbers that have fresh runs."""
    interleaved = {wanted.cells[index].key for index in rerun.interleaved}
    pairs = {pair.key: pair for key in fresh for pair in found.behind[key]}
    replaced = (run for key, pair in pairs.items() for cell in ((pair.a, pair.b) if key in interleaved else (pair.b,)) for run in cell.runs)  # fmt: skip
    return Again(
        sides=sides,
        way=_way(rerun),
        why_only_b=rerun.why_only_b,
        asked=wanted.keys,
        in_turns=sum(sample.interleaved for _, sample in fresh.values()),
        only_b=sum(not sample.interleaved for _, sample in fresh.values()),
        not_repeatable=tuple(
            NotAgain(sweep=cell.sweep, cell=cell.name, reason=reason)
            for index, reason in rerun.not_repeatable.items()
            for cell in [wanted.cells[index].b]
        ),
        stored=sum(
            key not in wanted.keys and any(pair.key in pairs for pair in behind)
            for key, behind in found.behind.items()
        ),
        moments=frozenset(moment(run) for one in sides for run in one.results.runs),
        replaced=frozenset((moment(run), run.record.point_id) for run in replaced),
    )


def _way(rerun: Rerun) -> Way:
    if not rerun.only_b:
        return "in turns"
    return "partly in turns" if rerun.interleaved else "B alone"


def _name(of: Comparison, row: Row) -> Hashable:
    """Return what a row is in this comparison and in the one of the fresh runs: the cells of both sides, and the number."""
    return frozenset(pair.key for pair in of.behind[row.decision.key]), row.number


def _index(decision: Decision) -> int:
    assert isinstance(decision.key, int)  # samples have their place in the comparison as key
    return decision.key


def _row(row: Row, fresh: dict[Hashable, tuple[Row, Sample]], decision: Decision) -> Row:
    if row.decision.key not in fresh:
        return dataclasses.replace(row, decision=decision)
    again, _ = fresh[row.decision.key]
    return dataclasses.replace(
        row, pair=again.pair, doubts=again.doubts, decision=decision, a=again.a, b=again.b
    )


# --- in words ----------------------------------------------------------------------------------------------


def announce(wanted: Asked, rerun: Rerun) -> list[str]:
    """Say what will be measured again, before it is, and what cannot be."""
    runs = len(rerun.runs)
    head = f"{fmt.plural(len(wanted.keys), 'number')} of {fmt.count(wanted.numbers)} may have changed"
    said = {
        "in turns": [f"both sides again, in turns: {fmt.plural(runs, 'run')}"],
        "B alone": [
            f"B again, against A's stored runs: {fmt.plural(runs, 'run')}",
            f"not A: {rerun.why_only_b}",
        ],
        "partly in turns": [
            f"again: {fmt.plural(runs, 'run')}, of {fmt.plural(len(rerun.interleaved), 'cell')} both sides in turns",
            f"of the others only B: {rerun.why_only_b}",
        ],
    }
    first, *rest = said[_way(rerun)] if runs else ["no cell of them can be measured again"]
    lines = [f"{head}; {first}", *rest]
    for reason in dict.fromkeys(rerun.not_repeatable.values()):
        cells = [wanted.cells[i].b for i, why in rerun.not_repeatable.items() if why == reason]
        more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
        lines.append(f"cannot be measured again: {cells[0].sweep} {cells[0].name}{more}: {reason}")
    return lines
