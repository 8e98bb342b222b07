"""IMB's tables, line by line; times with the digits that the bandwidth beside them gives back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from parsers import imb
from parsers.measurement import Parsed, Scalar, whole
from reports.readings import reading


class Timing(NamedTuple):
    """One line of a table. Of its figures those that the table prints; what it prints as 0.00 it does not tell."""

    benchmark: str  # "PingPong", which is also what a table that lost its head is taken for
    nprocs: int | None
    mode: str | None  # "AGGREGATE", "NON-AGGREGATE"
    group: int | None
    message_size: int | None  # B; None of Barrier
    repetitions: int | None
    time: float | None = None  # ns; of PingPong half the round trip; see `_recovered`
    time_step: float | None = None  # ns: the last digit that is known of `time`
    time_min: float | None = None  # ns: of the fastest process
    time_max: float | None = None  # ns: of the slowest process, of which IMB computes its bandwidth
    time_avg: float | None = None  # ns: mean over the processes
    time_overlap: float | None = None  # ns: communication and computation together
    time_pure: float | None = None  # ns: communication alone
    time_cpu: float | None = None  # ns: computation alone
    overlap: float | None = None  # share of the communication
    bandwidth: float | None = (
        None  # B/s, as printed: of some benchmarks it counts the bytes twice or four times
    )
    mbytes_per_sec: float | None = None  # the same, where nothing tells what a megabyte is
    message_rate: float | None = None  # 1/s
    defects: float | None = None  # wrong results
    groups: int | None = None  # how many groups of `nprocs` processes ran at once (-multi); None of one


class Pin(NamedTuple):
    """Where one rank may run, as I_MPI_DEBUG prints it."""

    turn: int | None  # of a text that holds several runs: which, from 0
    host: str
    rank: int | None
    cpus: str  # "3", "0-7"


@reading(Timing)
def timings(parsed: Parsed) -> Iterator[Timing]:
    """The lines of all tables, in the order of the text."""
    labels: Mapping[str, Scalar] = {}
    known = not parsed.has("from_table")  # how many digits its program prints
    line: dict[str, float] = {}
    heads = parsed.tables["benchmarks"].records() if "benchmarks" in parsed.tables else ()
    groups = {whole(head.get("table")): whole(head.get("groups")) for head in heads}
    for row in parsed.measured():
        if line and (row.labels != labels or row.metric in line):
            yield _timing(labels, line, known, groups)
            line = {}
        labels, line[row.metric] = row.labels, row.value
    if line:
        yield _timing(labels, line, known, groups)


@reading(Pin)
def pins(parsed: Parsed) -> Iterator[Pin]:
    """The ranks of all runs of the text that tell."""
    for row in parsed.tables["pins"].records() if "pins" in parsed.tables else ():
        yield Pin(whole(row.get("run")), str(row.get("host")), whole(row.get("rank")), str(row.get("cpus")))


def _timing(
    labels: Mapping[str, Scalar],
    line: Mapping[str, float],
    digits_known: bool,
    groups: Mapping[int | None, int | None],
) -> Timing:
    mode, size = labels.get("mode"), whole(labels.get("message_size"))
    time, step = line.get("time"), None
    if digits_known:
        time, step = _recovered(time, size, line.get("bandwidth"))
    return Timing(
        benchmark=str(labels.get("benchmark") or "PingPong"),
        nprocs=whole(labels.get("nprocs")),
        mode=None if mode is None else str(mode),
        group=whole(labels.get("group")),
        message_size=size,
        repetitions=whole(labels.get("repetitions")),
        groups=groups.get(whole(labels.get("table"))),
        **{**line, "time": time, "time_step": step},
    )


def _recovered(
    time: float | None, size: int | None, bandwidth: float | None
) -> tuple[float | None, float | None]:
    """Return a time and its last digit (ns) from the bandwidth beside it, where that has more digits: 8 B in 0.19 µs at
    42.11 MB/s took 190.0 ns.

    IMB computes the column from the time before it is rounded. What does not agree with the printed time within its last
    digit counts the bytes in another way and is left alone.
    """
    if time is None:
        return None, None
    printed = imb.PRINTED["time"]
    found = size / bandwidth * 1e9 if size and bandwidth else math.inf
    step = found * imb.PRINTED["bandwidth"] / bandwidth if bandwidth else math.inf
    return (found, step) if step < printed and abs(found - time) <= printed / 2 + step else (time, printed)
