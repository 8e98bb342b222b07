"""Programs that take turns: each sees the same disturbances as the others, and the ratio of one turn tells.

A turn runs every side once, in a random order. What counts is the median over turns of the ratio within a turn, and
beside it how far the turns lie apart, and how much of the machine others used meanwhile.
"""

from __future__ import annotations

import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

CALM = 0.01
"""Share of the machine that others may use in a turn; beyond it the turn is disturbed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """One of the programs. `read` turns what it printed, and its cost in seconds, into figures."""

    name: str
    argv: Sequence[str]
    read: Callable[[str, Mapping[str, float]], Mapping[str, float]]
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 300


@dataclass(frozen=True, kw_only=True)
class Sample:
    side: str
    turn: int
    figures: Mapping[str, float]
    wall_s: float
    cpu_s: float  # of the program and its children
    foreign: float  # share of the machine's CPU time that others used, stolen time included


class Failed(Exception):
    """A program did not do what it was started for."""


def start(main: Callable[[], int]) -> int:
    """Return the exit status of a benchmark; say on standard error which program failed it."""
    try:
        return main()
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def take_turns(pairs: Sequence[tuple[Side, Side]], turns: int, seed: int = 1) -> tuple[list[Row], list[Sample]]:
    """Run the two sides of each pair, one right after the other, `turns` times; pairs and sides in random order.

    A pair of which one side fails is left out, and standard error says why.
    """
    order = random.Random(seed)
    samples: dict[tuple[Side, Side], list[Sample]] = {pair: [] for pair in pairs}
    for turn in range(turns):
        for pair in order.sample(list(samples), len(samples)):
            _say(f"turn {turn + 1} of {turns}: {pair[0].name} and {pair[1].name}")
            try:
                samples[pair] += [run(side, turn) for side in order.sample(pair, 2)]
            except Failed as error:
                print(f"left out: {error}", file=sys.stderr)
                del samples[pair]
    _say("")
    rows = [row for pair, taken in samples.items() for row in compare(taken, pair[0].name, pair[1].name)]
    return rows, [sample for taken in samples.values() for sample in taken]


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text[:78]:78}\r", end="", file=sys.stderr, flush=True)


def run(side: Side, turn: int = 0) -> Sample:
    """Run one side once, and watch who else used the CPUs meanwhile."""
    busy, own, begun = busy_s(), children_s(), time.monotonic()
    try:
        done = subprocess.run(
            list(side.argv), capture_output=True, text=True, timeout=side.timeout_s, check=False,
            env={**os.environ, "LC_ALL": "C", **side.env},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{side.name}: {error}") from error
    wall_s, cpu_s = time.monotonic() - begun, children_s() - own
    others_s = busy_s() - busy - cpu_s  # counted in ticks of 10 ms: a short run says little
    foreign = min(1.0, max(0.0, others_s) / (wall_s * (os.cpu_count() or 1)))
    figures = side.read(done.stdout + done.stderr, {"wall_s": wall_s, "cpu_s": cpu_s})
    if done.returncode or not figures:
        raise Failed(f"{side.name}: exit status {done.returncode}: {(done.stderr or done.stdout)[-300:].strip()}")
    return Sample(side=side.name, turn=turn, figures=figures, wall_s=wall_s, cpu_s=cpu_s, foreign=foreign)


def busy_s() -> float:
    """Seconds that all CPUs of the machine together were not idle, since it started; stolen time is not idle."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- pure ---


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure of two sides. `ratio`: ours through theirs, the median over the turns, and its quartiles."""

    figure: str
    ours: str
    theirs: str
    ours_median: float
    theirs_median: float
    ours_spread: float  # distance of the quartiles through the median
    theirs_spread: float
    ratio: float
    ratio_low: float
    ratio_high: float
    turns: int
    disturbed: int  # turns in which others used more than CALM of the machine

    @property
    def spread_ratio(self) -> float | None:
        """Our spread through theirs: above 1 ours differ more from run to run. None where theirs never differ."""
        return self.ours_spread / self.theirs_spread if self.theirs_spread else None


def compare(samples: Sequence[Sample], ours: str, theirs: str) -> list[Row]:
    """Compare two sides, figure by figure, turn by turn, over the figures that both have."""
    by_turn: dict[int, dict[str, Sample]] = {}
    for sample in samples:
        by_turn.setdefault(sample.turn, {})[sample.side] = sample
    pairs = [(t[ours], t[theirs]) for t in by_turn.values() if ours in t and theirs in t]
    if not pairs:
        return []
    rows = []
    for figure in (name for name in pairs[0][0].figures if name in pairs[0][1].figures):
        a, b = ([side.figures[figure] for side in sides] for sides in zip(*pairs, strict=True))
        low, middle, high = quartiles([x / y for x, y in zip(a, b, strict=True)])
        rows.append(
            Row(
                figure=figure, ours=ours, theirs=theirs, turns=len(pairs),
                ours_median=statistics.median(a), theirs_median=statistics.median(b),
                ours_spread=spread(a), theirs_spread=spread(b),
                ratio=middle, ratio_low=low, ratio_high=high,
                disturbed=sum(max(x.foreign, y.foreign) > CALM for x, y in pairs),
            )
        )  # fmt: skip
    return rows


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def spread(values: Sequence[float]) -> float:
    low, middle, high = quartiles(values)
    return (high - low) / middle if middle else 0.0


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    head = (
        "| figure | ours | theirs | ours, median (spread) | theirs, median (spread) | ratio (quartiles) | ratio of spreads | disturbed |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    )
    lines = [
        f"| {r.figure} | {r.ours} | {r.theirs} | {r.ours_median:.4g} ({r.ours_spread:.1%}) "
        f"| {r.theirs_median:.4g} ({r.theirs_spread:.1%}) "
        f"| {r.ratio:.3f} ({r.ratio_low:.3f} to {r.ratio_high:.3f}) "
        f"| {'' if r.spread_ratio is None else f'{r.spread_ratio:.2f}'} | {r.disturbed} of {r.turns} |"
        for r in rows
    ]
    return "\n".join([*head, *lines])


def report(title: str, rows: Sequence[Row], samples: Sequence[Sample], path: Path | None, strict: bool) -> int:
    """Print the table and write the JSON; return the exit status: 1 with `strict` if a turn was disturbed."""
    disturbed = sum(row.disturbed for row in rows)
    print(f"## {title}\n\n{table(rows)}\n")
    foreign = [sample.foreign for sample in samples]
    print(
        f"{platform.node()}, {os.cpu_count()} CPUs, Linux {platform.release()}. Others used {statistics.median(foreign):.1%} "
        f"of the machine (median of the runs; most: {max(foreign):.0%}).",
        "Disturbed: look at the ratios, not at the figures." if disturbed else "Undisturbed.",
    )
    wider = [r.spread_ratio > 1 for r in rows if r.spread_ratio is not None]
    print(
        f"Spread: distance of the quartiles through the median; ours is the wider in {sum(wider)} of {len(wider)} figures."
    )
    if path is not None:
        facts = {"host": platform.node(), "cpus": os.cpu_count(), "kernel": platform.release()}
        content = {
            "title": title,
            "machine": facts,
            "rows": [{**asdict(r), "spread_ratio": r.spread_ratio} for r in rows],
            "samples": [asdict(s) for s in samples],
        }
        path.write_text(json.dumps(content, indent=1) + "\n")
    if strict and disturbed:
        print("error: the machine was not ours alone (--strict)", file=sys.stderr)
        return 1
    return 0
