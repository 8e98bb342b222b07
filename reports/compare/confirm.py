"""A comparison in two stages: measure again what looks changed, and let the fresh runs decide.

`confirm` starts the runs; the rest is pure.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.model import PlannedRun
from orchestrator.run import preflight
from orchestrator.run.exclusive import told
from orchestrator.run.execute import Event
from orchestrator.run.fresh import run_again
from orchestrator.run.outcome import Rules
from orchestrator.run.rerun import CellRef, Pair, Rerun, prepare_again
from orchestrator.run.scratch import Stopped
from parsers.errors import PinsweepError, UserError
from reports.compare.comparison import Again, Ask, Comparison, compare, decided, verdict_frame
from reports.compare.matching import by_index
from reports.compare.sides import Side, side
from reports.measurements import records
from reports.results.load import load
from reports.results.model import Results
from reports.text import format as fmt
from reports.text.plain import printable
from reports.verdicts.confirm import fresh_repeats, screen, settle
from reports.verdicts.model import VERDICTS, Sample

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be measured again."""

    keys: frozenset[Hashable]  # rows of verdicts that look changed
    numbers: int  # of how many
    pairs: tuple[int, ...]  # rows of `Comparison.pairs`
    cells: tuple[Pair, ...]  # the same for the orchestrator


def confirm(
    found: Comparison, ask: Ask, *, folder: Path, scratch: Path | None, allow_write: Sequence[str], rules: Rules, version: str,
    argv: Sequence[str], warm_up: bool, tune: bool, say: Callable[[str], None], approve: Callable[[], None], on_event: Callable[[Event], None],
) -> Comparison:  # fmt: skip
    """Return the comparison with the verdicts of fresh runs, whose files are in `folder` afterwards. I/O.

    say: gets a line. approve: raises if the user does not want the commands of the files; nothing has been started then. Raises UserError
    if side B cannot be measured here or the folder not be written, KeyboardInterrupt if the user stopped the runs.
    """
    wanted = asked(found)
    if not wanted.cells:
        say("no number looks changed: nothing is measured again")
        return found
    rerun = prepare_again(
        wanted.cells, folder=folder, scratch=scratch, allow_write=allow_write, seed=secrets.randbelow(2**31), warm_up=warm_up, tune=tune
    )  # fmt: skip
    for line in announce(found, wanted, rerun):
        say(printable(line))
    if not rerun.runs:
        raise PinsweepError("--confirm", "no cell can be measured again here", "see the reasons above")
    say(f"about {fmt.duration(rerun.estimate_s)}, with these commands of the result files:")
    for command in dict.fromkeys(_command(run) for _, run in (*rerun.warm_ups, *rerun.runs)):
        say(printable(f"  {command}"))
    approve()
    _make(folder)
    try:
        fresh = run_again(
            rerun, folder, version=version, argv=argv, rules=rules, on_wait=lambda holder: say(printable(told(holder))),
            on_tune=lambda text: say(printable(f"tune     {text}")), on_begin=lambda: _warn_of_noise(rerun, say), on_event=on_event,
        )  # fmt: skip
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
    """Return the command line of a run, with the path of each program."""
    env = "".join(f"{name}={shlex.quote(value)} " for name, value in run.env.items())
    return env + shlex.join(run.files.get(word, word) for word in run.argv)


def _warn_of_noise(rerun: Rerun, say: Callable[[str], None]) -> None:
    for noise in preflight.glance([run for _, run in rerun.runs], rerun.topology, rerun.scratch):
        say(printable(preflight.told(noise)))


def _make(folder: Path) -> None:
    """Make the folder of the fresh files. Raises UserError if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (
            "is not a directory"
            if folder.exists()
            else f"cannot be made: {(error.strerror or str(error)).lower()}"
        )
        raise UserError(f"--into {folder}", reason, "name a folder that can be written") from error
    if not os.access(folder, os.W_OK):
        raise UserError(f"--into {folder}", "cannot be written", "name another folder")


def asked(found: Comparison) -> Asked:
    """Return the cells of the numbers that look changed: two thirds of the threshold, to either side."""
    screened = {decision.key: decision for decision in screen(found.families)}
    repeats: dict[int, int] = {}
    for key, decision in screened.items():
        for pair in found.verdicts.loc[[key], "pairs"].iloc[0]:
            repeats[pair] = max(repeats.get(pair, 0), fresh_repeats(decision))
    pairs = by_index(found.pairs)
    cells = tuple(
        Pair(a=_cell(found.a, pairs[pair]["runs_a"]), b=_cell(found.b, pairs[pair]["runs_b"]), repeats=n)
        for pair, n in repeats.items()
    )  # fmt: skip
    return Asked(keys=frozenset(screened), numbers=len(found.verdicts), pairs=tuple(repeats), cells=cells)


def _cell(side: Side, runs: Sequence[int]) -> CellRef:
    """Return where a cell was measured last."""
    last = side.runs.loc[list(runs)].sort_values(["time", "run_id"], kind="stable").iloc[-1]
    return CellRef(path=Path(side.results.paths[last["file"]]), point_id=last["point_id"])


def confirmed(
    found: Comparison, wanted: Asked, rerun: Rerun, a: Results | None, b: Results, ask: Ask
) -> Comparison:
    """Return the comparison with the verdicts and values of the fresh runs. a: fresh results of the cells that both sides were measured for."""
    right = side("B", fmt.words(b.paths), b)
    left = side("A", fmt.words(a.paths), a) if a is not None else None
    fresh = _fresh(found, wanted, found.a, right, rerun.only_b, ask)
    if left is not None:
        turns = _fresh(found, wanted, left, right, rerun.interleaved, ask)
        fresh |= {
            key: (row, dataclasses.replace(sample, interleaved=True)) for key, (row, sample) in turns.items()
        }
    families = settle(
        found.families, [sample for _, sample in fresh.values()], found.rules, asked=wanted.keys
    )
    decisions = {decision.key: decision for family in families for decision in family.decisions}
    rows = [
        {**row, **(fresh[row["key"]][0] if row["key"] in fresh else {}), **decided(decisions[row["key"]])}
        for row in sorted(records(found.verdicts), key=lambda row: int(row["key"]))
    ]
    again = _again(found, wanted, rerun, {key: sample for key, (_, sample) in fresh.items()}, rows)
    samples = tuple(fresh[s.key][1] if s.key in fresh else s for s in found.samples)
    again = dataclasses.replace(again, sides=(*([left] if left else []), right))
    return dataclasses.replace(
        found, verdicts=verdict_frame(rows), families=families, samples=samples, again=again
    )


_OF_RUNS = ("a", "b", "median_a", "median_b", "flags_a", "flags_b", "points_a", "points_b", "step")


def _fresh(
    found: Comparison, wanted: Asked, left: Side, right: Side, cells: Collection[int], ask: Ask
) -> dict[Hashable, tuple[dict[str, Any], Sample]]:
    """Return key → the columns and the sample of fresh runs of some cells. A curve over others, too, is left out: half of it would be old."""
    pairs = found.pairs.loc[[wanted.pairs[index] for index in cells]]
    a, b = (
        _of_cells(one, stored, pairs[column])
        for one, stored, column in ((left, found.a, "runs_a"), (right, found.b, "runs_b"))
    )
    if a.usable.empty or b.usable.empty:
        return {}
    # thresholds of a metric are in the first comparison's rules; the metric may be missing here
    again = compare(a, b, dataclasses.replace(ask, thresholds={}), by=found.by, is_part=True)
    names = {
        _identity(found.pairs, row): row["key"]
        for row in records(found.verdicts)
        if row["key"] in wanted.keys
    }
    samples = {sample.key: sample for sample in again.samples}
    return {
        key: (
            {name: row[name] for name in _OF_RUNS} | {"again": True},
            dataclasses.replace(samples[row["key"]], key=key, interleaved=False),
        )
        for row in records(again.verdicts)
        if (key := names.get(_identity(again.pairs, row))) is not None
    }


def _of_cells(side: Side, stored: Side, runs: Iterable[Sequence[int]]) -> Side:
    """Return a side with its runs of the cells of some stored runs alone."""
    first = stored.runs.loc[[own[0] for own in runs], ["point_id", "relation"]]
    cells = {*first.itertuples(index=False, name=None)}
    return side.only(
        side.runs[
            [cell in cells for cell in side.runs[["point_id", "relation"]].itertuples(index=False, name=None)]
        ]
    )


def _identity(pairs: pd.DataFrame, row: Mapping[str, Any]) -> Hashable:
    """Return what a row is in this comparison and in that of the fresh runs: its cells on both sides, and its name."""
    return frozenset(pairs.loc[list(row["pairs"]), "key"]), row["name"]


def _again(
    found: Comparison,
    wanted: Asked,
    rerun: Rerun,
    fresh: Mapping[Hashable, Sample],
    rows: Iterable[Mapping[str, Any]],
) -> Again:
    measured = {pair for key in fresh for pair in found.verdicts.loc[[key], "pairs"].iloc[0]}
    counted = Counter(row["verdict"] for row in rows if row["key"] in wanted.keys)
    stored = [
        row
        for row in records(found.verdicts)
        if row["key"] not in wanted.keys and measured.intersection(row["pairs"])
    ]
    refused = [
        (found.pairs.loc[wanted.pairs[index]], reason) for index, reason in rerun.not_repeatable.items()
    ]
    cells = found.b.runs
    return Again(
        sides=(),
        way="in turns" if not rerun.only_b else "partly in turns" if rerun.interleaved else "B alone",
        why_only_b=rerun.why_only_b,
        keys=wanted.keys,
        counts={verdict: counted[verdict] for verdict in VERDICTS},
        in_turns=sum(sample.interleaved for sample in fresh.values()),
        only_b=sum(not sample.interleaved for sample in fresh.values()),
        stored=len(stored),
        not_repeatable=tuple(
            (*cells.loc[pair["runs_b"][0], ["sweep", "cell"]], reason) for pair, reason in refused
        ),
    )


def announce(found: Comparison, wanted: Asked, rerun: Rerun) -> list[str]:
    """Return what will be measured again, and which cells cannot be."""
    head = f"{fmt.plural(len(wanted.keys), 'number')} of {fmt.count(wanted.numbers)} may have changed"
    runs = f"{fmt.plural(len(rerun.runs), 'run')}"
    if not rerun.runs:
        lines = [f"{head}: no cell can be measured again"]
    elif not rerun.only_b:
        lines = [f"{head}: both sides in turns, {runs}"]
    elif not rerun.interleaved:
        lines = [f"{head}: B against A's stored runs, {runs}"]
    else:
        lines = [f"{head}: {runs}, {fmt.plural(len(rerun.interleaved), 'cell')} in turns, the others only B"]
    if rerun.only_b and rerun.runs:
        lines.append(f"A is not measured again: {rerun.why_only_b}")
    for reason in dict.fromkeys(rerun.not_repeatable.values()):
        cells = [found.pairs.loc[wanted.pairs[i]] for i, why in rerun.not_repeatable.items() if why == reason]
        first = found.b.runs.loc[cells[0]["runs_b"][0]]
        more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
        lines.append(f"cannot be measured again: {first['sweep']} {first['cell']}{more}: {reason}")
    return lines
