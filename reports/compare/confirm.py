"""A comparison in two stages: measure again what looks changed, and let the fresh runs decide.

`confirm` starts the runs; the rest is pure.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import shlex
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.model import PlannedRun
from orchestrator.run import preflight
from orchestrator.run.events import Begun, Event
from orchestrator.run.outcome import Rules
from orchestrator.run.rerun import CellRef, Pair, Rerun, prepare_again, run_again
from orchestrator.run.scratch import Stopped
from parsers.errors import PinsweepError, UserError
from reports.compare.comparison import Again, Ask, Comparison, compare, verdict_frame
from reports.compare.sides import Side, side
from reports.results.grouping import group_by
from reports.results.load import load
from reports.results.model import Results
from reports.text import format as fmt
from reports.verdicts.confirm import fresh_repeats, screen, settle
from reports.verdicts.model import VERDICTS, Sample

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be measured again."""

    keys: frozenset[Hashable]  # rows of verdicts that look changed
    pairs: tuple[int, ...]  # rows of `Comparison.pairs`
    cells: tuple[Pair, ...]  # the same for the orchestrator


def confirm(
    result: Comparison, ask: Ask, *, folder: Path, scratch: Path | None, allow_write: Sequence[str], rules: Rules, version: str,
    argv: Sequence[str], warm_up: bool, tune: bool, say: Callable[[str], None], approve: Callable[[], None], on_event: Callable[[Event], None],
) -> Comparison:  # fmt: skip
    """Return the comparison with the verdicts of fresh runs, whose files are in `folder` afterwards. I/O.

    say: prints a line, escaped. approve: raises if the user does not want the commands of the files; nothing has been started
    then. Raises UserError if side B cannot be measured here or the folder not be written, KeyboardInterrupt if the user
    stopped the runs.
    """
    wanted = asked(result)
    if not wanted.cells:
        say("no number looks changed: nothing is measured again")
        return result
    rerun = prepare_again(
        wanted.cells, folder=folder, scratch=scratch, allow_write=allow_write, seed=secrets.randbelow(2**31), warm_up=warm_up, tune=tune
    )  # fmt: skip
    for line in announce(result, wanted, rerun):
        say(line)
    if not rerun.runs:
        raise PinsweepError("--confirm", "no cell can be measured again here", "see the reasons above")
    say(f"about {fmt.duration(rerun.estimate_s)}, with these commands of the result files:")
    for command in dict.fromkeys(_command(run) for _, run in (*rerun.warm_ups, *rerun.runs)):
        say(f"  {command}")
    approve()
    _make(folder)

    def report(event: Event) -> None:
        on_event(event)
        if isinstance(event, Begun):
            for noise in preflight.glance([run for _, run in rerun.runs], rerun.topology, rerun.scratch):
                say(preflight.describe(noise))

    try:
        fresh = run_again(rerun, folder, version=version, argv=argv, rules=rules, on_event=report)
    except Stopped:
        raise KeyboardInterrupt from None
    if fresh.summary.scratch_left:
        say(f"scratch folder cannot be removed: {rerun.scratch}")
    for path in (*fresh.a, *fresh.b):
        say(f"fresh runs  {path}")
    if fresh.summary.stopped:
        raise KeyboardInterrupt
    return confirmed(result, wanted, rerun, load(fresh.a) if fresh.a else None, load(fresh.b), ask)


def _command(run: PlannedRun) -> str:
    """Return the command line of a run, with the path of each program."""
    env = "".join(f"{name}={shlex.quote(value)} " for name, value in run.env.items())
    return env + shlex.join(run.files.get(word, word) for word in run.argv)


def _make(folder: Path) -> None:
    """Make the folder of the fresh files. Raises UserError if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (
            "is not a directory" if folder.exists() else f"cannot be made: {(error.strerror or str(error)).lower()}"
        )
        raise UserError(f"--into {folder}", reason, "name a folder that can be written") from error
    if not os.access(folder, os.W_OK):
        raise UserError(f"--into {folder}", "cannot be written", "name another folder")


def asked(result: Comparison) -> Asked:
    """Return the cells of the numbers that look changed: two thirds of the threshold, to either side."""
    screened = {decision.key: decision for decision in screen(result.families)}
    pairs_of, runs_of = result.verdicts["pairs"].to_dict(), result.pairs["runs"].to_dict()
    repeats: dict[int, int] = {}
    for key, decision in screened.items():
        for pair in pairs_of[key]:
            repeats[pair] = max(repeats.get(pair, 0), fresh_repeats(decision))
    cells = tuple(
        Pair(a=_cell(result.a, runs_of[pair][0]), b=_cell(result.b, runs_of[pair][1]), repeats=n)
        for pair, n in repeats.items()
    )
    return Asked(keys=frozenset(screened), pairs=tuple(repeats), cells=cells)


def _cell(side: Side, runs: Sequence[int]) -> CellRef:
    """Return where a cell was measured last."""
    last = side.runs.loc[list(runs)].sort_values(["time", "run_id"], kind="stable").iloc[-1]
    return CellRef(path=Path(side.results.paths[last["file"]]), point_id=last["point_id"])


def confirmed(result: Comparison, wanted: Asked, rerun: Rerun, a: Results | None, b: Results, ask: Ask) -> Comparison:
    """Return the comparison with the verdicts and values of the fresh runs. a: fresh results of the cells that both
    sides were measured for."""
    from parsers.frames import pd

    right = side("B", fmt.words(b.paths), b)
    left = side("A", fmt.words(a.paths), a) if a is not None else None
    only_b, samples = _fresh(result, wanted, (result.a, right), rerun.only_b, ask)
    turns, in_turns = _fresh(result, wanted, (left, right), rerun.interleaved, ask) if left else (only_b[:0], [])
    samples += [dataclasses.replace(sample, interleaved=True) for sample in in_turns]
    families = settle(result.families, samples, result.rules, asked=wanted.keys)
    fresh = pd.concat([only_b, turns])
    changed = result.verdicts.loc[fresh.index].assign(**{name: fresh[name] for name in _OF_RUNS}, again=True)
    verdicts = verdict_frame(pd.concat([result.verdicts.drop(fresh.index), changed]).sort_index(), families)
    sample_of = {sample.key: sample for sample in samples}
    again = _again(result, wanted, rerun, verdicts, (len(turns), len(only_b)))
    return dataclasses.replace(
        result, verdicts=verdicts, families=families, samples=tuple(sample_of.get(s.key, s) for s in result.samples),
        again=dataclasses.replace(again, sides=(*([left] if left else []), right)),
    )  # fmt: skip


_OF_RUNS = [
    "a",
    "b",
    "median_a",
    "median_b",
    "flags_a",
    "flags_b",
    "points_a",
    "points_b",
    "step",
    "resolution",
]


def _fresh(
    result: Comparison, wanted: Asked, sides: tuple[Side, Side], cells: Collection[int], ask: Ask
) -> tuple[pd.DataFrame, list[Sample]]:
    """Return the columns and samples of fresh runs of some cells, by the keys of `result`. A curve over others, too, is
    left out: half of it would be old."""
    pairs = result.pairs.loc[[wanted.pairs[index] for index in cells]]
    a, b = (
        _of_cells(side, stored, [runs[n][0] for runs in pairs["runs"]])
        for n, (side, stored) in enumerate(zip(sides, (result.a, result.b), strict=True))
    )
    if a.usable.empty or b.usable.empty:
        return result.verdicts.loc[[], _OF_RUNS], []
    # thresholds of a metric are in the first comparison's rules; the metric may be missing here
    again = compare(a, b, dataclasses.replace(ask, thresholds={}), by=result.by, is_part=True)
    looked = result.verdicts.loc[[*wanted.keys]]
    keys = {identity: key for key, identity in _identities(result.pairs, looked).items()}
    new = {
        key: keys[identity] for key, identity in _identities(again.pairs, again.verdicts).items() if identity in keys
    }
    samples = [dataclasses.replace(s, key=new[s.key], interleaved=False) for s in again.samples if s.key in new]
    return again.verdicts.loc[[*new], _OF_RUNS].rename(index=new), samples


def _of_cells(side: Side, stored: Side, runs: Sequence[int]) -> Side:
    """Return a side with its runs of the cells of some stored runs alone."""
    cell = ["point_id", "relation"]
    wanted = stored.runs[cell].loc[list(runs)].drop_duplicates()
    members = side.runs[cell].reset_index().merge(wanted, on=cell)["run"]
    return dataclasses.replace(side, runs=side.runs[side.runs.index.isin(members)])


def _identities(pairs: pd.DataFrame, rows: pd.DataFrame) -> dict[int, Hashable]:
    """Return key → what a row is in any comparison of these sides: its cells on both sides, and its name."""
    return {
        key: (frozenset(pairs["key"].loc[list(cells)]), name)
        for key, cells, name in zip(rows.index, rows["pairs"], rows["name"], strict=True)
    }


def _again(result: Comparison, wanted: Asked, rerun: Rerun, verdicts: pd.DataFrame, numbers: tuple[int, int]) -> Again:
    """Return what was measured again, without its sides. numbers: how many have fresh runs of both sides, and of B
    alone."""
    measured = {pair for pairs in verdicts.loc[verdicts["again"].astype(bool), "pairs"] for pair in pairs}
    looked = verdicts.index.isin([*wanted.keys])
    counted = verdicts.loc[looked, "verdict"].value_counts()
    return Again(
        sides=(),
        way="in turns" if not rerun.only_b else "partly in turns" if rerun.interleaved else "B alone",
        why_only_b=rerun.why_only_b,
        keys=wanted.keys,
        counts={verdict: int(counted.get(verdict, 0)) for verdict in VERDICTS},
        in_turns=numbers[0],
        only_b=numbers[1],
        stored=sum(not measured.isdisjoint(pairs) for pairs in verdicts.loc[~looked, "pairs"]),
        not_repeatable=tuple((*_cell_of_b(result, wanted, i), reason) for i, reason in rerun.not_repeatable.items()),
    )


def _cell_of_b(result: Comparison, wanted: Asked, index: int) -> tuple[str, str]:
    """Return sweep and cell, as B has them."""
    runs = result.pairs["runs"].loc[wanted.pairs[index]]
    sweep, cell = result.b.runs[["sweep", "cell"]].loc[runs[1][0]]
    return str(sweep), str(cell)


def announce(result: Comparison, wanted: Asked, rerun: Rerun) -> list[str]:
    """Return what will be measured again, and which cells cannot be."""
    cells = [(len(rerun.interleaved), "both sides in turns"), (len(rerun.only_b), "B only")]
    plans = [f"{fmt.plural(n, 'cell')} with {how}" for n, how in cells if n] or ["no cell can be measured again"]
    lines = [
        f"{fmt.plural(len(wanted.keys), 'number')} of {fmt.count(len(result.verdicts))} may have changed: {fmt.words(plans)}"
    ]
    if rerun.only_b:
        lines.append(f"A is not measured again: {rerun.why_only_b}")
    for reason, indexes in group_by(rerun.not_repeatable, rerun.not_repeatable.__getitem__).items():
        more = f" and {len(indexes) - 1} more" if len(indexes) > 1 else ""
        lines.append(f"cannot be measured again: {' '.join(_cell_of_b(result, wanted, indexes[0]))}{more}: {reason}")
    return lines
