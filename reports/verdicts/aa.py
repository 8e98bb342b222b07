"""Estimate how often the verdicts flag an unchanged machine, from the user's data.

The baseline is split in two at random many times, and the halves are compared. Every change between halves is a false
alarm. The method is from Fuchsia's perfcompare. For `compare --aa`, pass the samples of the comparison. Only side `a`
is used. Print `SelfCheck.text`.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reports.text.format import percent, plural
from reports.verdicts.decide import judge
from reports.verdicts.model import Rules, Sample

SPLITS = 20
BY_SESSIONS_FROM = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheck:
    """The result of comparing the baseline with itself."""

    splits: int
    by: Literal["sessions", "runs"]  # unit of the split. A split of runs ignores the noise between sessions
    judged: int  # cells with a test, over all splits
    alarms: int  # number of cells that are regressed or improved
    alarmed_splits: int  # splits with at least one
    cells: tuple[tuple[Hashable, int], ...]  # flagged cells with counts, highest count first

    @property
    def rate(self) -> float | None:
        """False alarms per cell and comparison. None if nothing could be tested."""
        return self.alarms / self.judged if self.judged else None

    @property
    def text(self) -> str:
        """The result as a line for people."""
        if self.rate is None:
            return "self-check: needs 4 sessions, or 4 runs of a cell, to be split in two"
        split = f"{plural(self.splits, 'random split')} of side A by {self.by}"
        found = f"{plural(self.alarms, 'false alarm')} in {plural(self.judged, 'verdict')}"
        return f"self-check: {found} ({percent(self.rate)}), over {split}; {self.alarmed_splits} had one or more"


def self_check(
    samples: Sequence[Sample], rules: Rules | None = None, *, splits: int = SPLITS, seed: int = 1
) -> SelfCheck:
    """Return the result of comparing halves of side A, `splits` times.

    Halves consist of sessions, the same for all cells, if there are four or more sessions, else of runs. Halves of one
    session are interleaved, so no session noise is added. The same seed gives the same splits.
    """
    rules = rules or Rules()
    judged = alarmed_splits = 0
    accused: Counter[Hashable] = Counter()
    for split in halves(samples, splits, seed):
        decisions = [d for family in judge(split, rules) for d in family.decisions if d.p is not None]
        alarms = [d.key for d in decisions if d.verdict in ("regressed", "improved")]
        judged += len(decisions)
        alarmed_splits += bool(alarms)
        accused.update(alarms)
    return SelfCheck(
        splits=splits,
        by="sessions" if _has_sessions(samples) else "runs",
        judged=judged,
        alarms=accused.total(),
        alarmed_splits=alarmed_splits,
        cells=tuple(accused.most_common()),
    )


def halves(samples: Sequence[Sample], splits: int = SPLITS, seed: int = 1) -> Iterator[list[Sample]]:
    """Yield the samples with side A split in two at random, as sides A and B, `splits` times."""
    rng = random.Random(seed)
    sessions = sorted(_sessions(samples), key=repr)
    for _ in range(splits):
        if _has_sessions(samples):
            half = set(rng.sample(sessions, len(sessions) // 2))
            yield [_by_session(sample, half) for sample in samples]
        else:
            yield [_by_run(sample, rng) for sample in samples]


def _sessions(samples: Sequence[Sample]) -> set[Hashable]:
    return {session for sample in samples for session in sample.session_a}


def _has_sessions(samples: Sequence[Sample]) -> bool:
    return len(_sessions(samples)) >= BY_SESSIONS_FROM


def _by_session(sample: Sample, half: set[Hashable]) -> Sample:
    return _split(sample, [session in half for session in sample.session_a], interleaved=False)


def _by_run(sample: Sample, rng: random.Random) -> Sample:
    chosen = set(rng.sample(range(len(sample.a)), len(sample.a) // 2))
    return _split(sample, [i in chosen for i in range(len(sample.a))], interleaved=True)


def _split(sample: Sample, first: Sequence[bool], *, interleaved: bool) -> Sample:
    sessions = sample.session_a or (0,) * len(sample.a)

    def part(side: bool) -> tuple[tuple[float, ...], tuple[Hashable, ...]]:
        chosen = [i for i, one in enumerate(first) if one is side]
        return tuple(sample.a[i] for i in chosen), tuple(sessions[i] for i in chosen)

    (a, session_a), (b, session_b) = part(True), part(False)
    return dataclasses.replace(sample, a=a, b=b, session_a=session_a, session_b=session_b, interleaved=interleaved)
