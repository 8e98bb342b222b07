"""How much of the texts of one result file is read, of all its runs together, and of its rows: small files may stand for much work. Pure: who reads
the file hands in its queries, a clock and a meter of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from parsers._bounds import LARGEST
from parsers.errors import ParseError

FREE: Final = 32 << 20
"""Bytes of texts that are read of any file."""
RATIO: Final = 20
"""How many times their packed size texts may be beyond that: those of a real file are 4 to 7 times as large, the most regular output
of a tool that is known 17 times. 30 KB that stand for 32 MiB take 0.6 s and more to read, and a MB holds dozens."""
SLOW_S: Final = 6.0
"""CPU time that all texts of a file may take beyond _TEXT_S each and _MIB_S for each MiB: three times what fio's normal text takes, the
slowest. An expression that backtracks takes `parsers.command.LONGEST_S` a text."""
_TEXT_S: Final = 1.0
_MIB_S: Final = 1.0

_SIZE: Final = f"CASE WHEN typeof(size_bytes) = 'integer' AND size_bytes BETWEEN 1 AND {LARGEST} THEN size_bytes ELSE 0 END"
"""What of an output is unpacked: what is larger is refused by its size."""

MOST_ROWS_BYTES: Final = 320 << 20
"""Memory that the rows of a file may take as they are read: those of 100 000 runs of 10 000 cells take 150 MiB, 290 000 aliases of 18
names each 490."""
MOST_RUNS: Final = 350_000
"""Runs that are read of a file: more would take more memory than that, which is seen after ten seconds."""
_LOOK: Final = 64 << 10
"""Characters of rows that are read between two looks at it."""


class TooMuch(Exception):
    """The rows of a file take more memory than MOST_ROWS_BYTES."""


def too_many_runs(there: int, coming: int) -> str:
    """Return what to say where a file of so many runs could not be read any more once so many more are in it; "" where it can."""
    if there + coming <= MOST_RUNS:
        return ""
    held = f", with the {there:,} that are there," if there else ""
    return f"{coming:,} runs{held} are more than {MOST_RUNS:,}, and no more are read of one result file"


class Rows:
    """How much memory the rows of a file have taken so far. `resident_bytes` tells how much the process has."""

    def __init__(self, resident_bytes: Callable[[], int]) -> None:
        self._resident_bytes = resident_bytes
        self._bytes = 0

    def counted(self, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        """Hand on rows one by one, of which something is made before the next. Raises TooMuch."""
        began, unseen = self._resident_bytes(), 0
        for row in rows:
            yield row
            unseen += sum([len(value) for value in row if type(value) is str])
            if unseen > _LOOK:
                unseen = 0
                if self._bytes + self._resident_bytes() - began > MOST_ROWS_BYTES:
                    raise TooMuch
        self._bytes += max(0, self._resident_bytes() - began)


class Bounds:
    """What is read of the texts of a file. `ask` gives the rows that a query finds, `clock` the CPU time that was used so far, s."""

    def __init__(self, ask: Callable[[str], list[Any]], clock: Callable[[], float]) -> None:
        self._ask = ask
        self._clock = clock
        self._beyond: float | None = None  # the first run that is not read; infinity: each is
        self._slow_s = 0.0

    def refuse(self, run_id: int) -> None:
        """Raise ParseError for a run that is not read because of those before it."""
        if self._beyond is None:
            self._beyond = self._first_beyond()
        if run_id >= self._beyond:
            what = f"its text and those of the runs before it unpack to more than {FREE >> 20} MiB and {RATIO} times the file"
            raise ParseError("output", f"{what}: not read")

    def _first_beyond(self) -> float:
        ((packed, size),) = self._ask(f"SELECT total(length(zlib)), total({_SIZE}) FROM output")
        left = FREE + RATIO * packed
        if size <= left:
            return float("inf")
        query = f"SELECT run_id, total({_SIZE}) FROM output JOIN run USING (run_id) WHERE status IN ('ok', 'disturbed')"
        for run_id, own in self._ask(f"{query} GROUP BY run_id ORDER BY run_id"):
            left -= own
            if left < 0 and own:
                return float(run_id)
        return float("inf")

    @contextmanager
    def timed(self, size_bytes: int) -> Iterator[None]:
        """Take note of how long a text takes to read. Raises ParseError where those before it took too long."""
        if self._slow_s > SLOW_S:
            raise ParseError("output", "the runs before it took far too long to read: not read")
        began = self._clock()
        try:
            yield
        finally:
            usual = _TEXT_S + _MIB_S * size_bytes / (1 << 20)
            self._slow_s += max(0.0, self._clock() - began - usual)


__all__ = [
    "FREE",
    "MOST_ROWS_BYTES",
    "MOST_RUNS",
    "RATIO",
    "SLOW_S",
    "Bounds",
    "Rows",
    "TooMuch",
    "too_many_runs",
]
