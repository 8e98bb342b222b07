"""Evaluate the looks at a run's processes: select the looks that count, and return the record for the result file.

`orchestrator.placement.proof` reads and compares. `orchestrator.run.process` looks early (EARLY_GAPS_S) and late (LOOKS
times, after the run has settled). The watchdog takes a last look at the tool's main thread after its end. A run is
judged by its late looks if it was long enough, otherwise by its early looks, and always by the last look. Each look
counts threads. A run had too few threads if looks covered most of its time and no look showed the requested number.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.model import PlannedRun
from orchestrator.placement import proof
from orchestrator.run.process import LOOKS
from orchestrator.tools import get_tool

LOOKED_SHARE: Final = 0.5
LOOKED_MIN_S: Final = 0.1
"""Fraction of a run's time that looks must cover to report too few threads, because threads may start late."""


class PlacementMonitor:
    """Record the looks at one run, and return their result.

    A mismatch counts if consecutive late looks show it, because a process that is just starting or ending shows masks
    that nobody requested.
    """

    def __init__(self, run: PlannedRun) -> None:
        self._requested = run.placement
        threads = get_tool(run.tool).shape(run.cell.options)[0]
        if threads == "cores" and run.placement:
            threads = len(run.placement.groups[0].cpus)
        self._threads = threads if isinstance(threads, int) else 1
        self._max_threads = 0  # in all looks
        self._begun = self._looked = 0.0  # the first look and the last one
        self._settled = False
        self._allowed: frozenset[int] | None = None  # PUs that the cpuset had at the end
        self._processes: tuple[proof.Process, ...] = ()
        self._own_cpus: frozenset[int] = frozenset()
        self._early: list[list[proof.Mismatch]] = []
        self._late: list[list[proof.Mismatch]] = []
        self._last: proof.Process | None = None

    def look(self, pid: int, *, early: bool) -> bool:
        """Look once. Return whether all processes exist and match the placement."""
        assert self._requested is not None
        processes = proof.look(pid)
        if not proof.tool_processes(processes):
            return False
        self._processes = processes
        self._own_cpus = frozenset(os.sched_getaffinity(0))
        self._looked = time.monotonic()
        self._begun = self._begun or self._looked
        self._max_threads = max(self._max_threads, sum(len(p.threads) for p in proof.tool_processes(processes)))
        settled = proof.settled(self._requested, processes, self._threads)
        self._settled |= settled
        mismatches = proof.mismatches(self._requested, processes)
        if early:
            self._early.append(mismatches if settled else self._lasting(mismatches))
        else:
            self._late.append(self._not_coming_right(mismatches))
        return self._settled and not mismatches

    def has_changed(self) -> bool:
        """Return whether the mask of a thread changed after the last look. Uses only system calls."""
        for thread in (thread for process in self._processes for thread in process.threads):
            with contextlib.suppress(OSError):  # it has ended
                if os.sched_getaffinity(thread.tid) != thread.cpus:
                    return True
        return False

    def last_look(self, seen: Mapping[str, Any]) -> None:
        """Add the watchdog's look at the tool's main thread after its end (`watchdog.Ended.last`)."""
        assert self._requested is not None
        self._own_cpus = frozenset(os.sched_getaffinity(0))
        thread = proof.Thread(tid=seen["pid"], cpus=frozenset(seen["cpus"]), last_cpu=None)
        mems = frozenset(seen["mems_allowed"])
        process = proof.Process(pid=seen["pid"], name=seen["name"], threads=(thread,), mems_allowed=mems)
        if proof.tool_processes([process]):  # no launcher, which is not placed, nor numactl that started nothing
            self._last = process
        if self._last is None or thread.cpus != frozenset(self._requested.cpus):
            # a thread with the whole mask shows that the cpuset still has it; to ask costs two migrations
            self._allowed = proof.allowed_cpus(self._requested.cpus)

    def mismatches(self, wall_s: float) -> list[str]:
        """Return the mismatches of a run of `wall_s` seconds.

        Two late looks must agree, and three for ranks. Inside MPI_Init, Open MPI is deliberately on PU 0 for 0.2 s
        (psm, clock calibration). For a run that ended earlier, all looks must agree, and at least two for ranks. The
        last look counts alone, because it cannot change any more.
        """
        ranks = self._requested is not None and len(self._requested.groups) > 1
        needed = 3 if ranks else 2
        looks: Sequence[list[proof.Mismatch]] = self._late[-needed:]
        if len(looks) < needed:
            looks = [*self._early, *self._late]
            needed = 2 if ranks else 1
        agreed = [m.text for m in looks[-1] if all(m in look for look in looks)] if len(looks) >= needed else []
        at_end = [f"{mismatch.text} (seen at its end)" for mismatch in self._at_end()]
        return [*(agreed or at_end), *self._missing_threads(wall_s)]

    def seen(self, wall_s: float) -> dict[str, Any] | None:
        """Return the record of the looks, with a note if the run of `wall_s` seconds was too short."""
        if self._requested is None:
            return None
        within = f"ended within {max(1, math.ceil(wall_s * 1e3))} ms"
        orchestrator = {"orchestrator": format_cpulist(self._own_cpus)}
        if self._processes:
            at_end = {} if self._last is None else {"at_end": {"cpus": format_cpulist(self._last.cpus)}}
            return {**proof.as_json(self._processes), **at_end, **orchestrator}
        if self._last is None:
            return {"note": f"placement not seen ({within})", "processes": []}
        policy = any(group.membind or group.interleave for group in self._requested.groups)
        unseen = ", its memory policy not at all" if policy else ""
        return {"note": f"at its end only ({within}){unseen}", **proof.as_json([self._last]), **orchestrator}

    def _lasting(self, mismatches: Sequence[proof.Mismatch]) -> list[proof.Mismatch]:
        """Return what more threads do not put right; nothing of ranks that have not all started."""
        assert self._requested is not None
        return [m for m in mismatches if m.of in ("PUs", "cpuset")] if len(self._requested.groups) == 1 else []

    def _missing_threads(self, wall_s: float) -> Iterator[str]:
        requested = self._threads * len(self._requested.groups) if self._requested else 0
        is_known = wall_s >= LOOKED_MIN_S and self._looked - self._begun >= LOOKED_SHARE * wall_s
        if is_known and self._max_threads < requested:
            yield f"threads at once: {self._max_threads} at most, requested {requested}"

    def _not_coming_right(self, mismatches: list[proof.Mismatch]) -> list[proof.Mismatch]:
        """Return the mismatches of a late look that cannot resolve any more. In the last looks, all mismatches count."""
        if len(self._late) + 2 >= LOOKS:
            return mismatches
        if not self._settled:  # ranks that have not started yet
            return []
        # Intel MPI lifts the policy for some 0.3 s of MPI_Init
        return [mismatch for mismatch in mismatches if mismatch.of != "policy"]

    def _at_end(self) -> list[proof.Mismatch]:
        """Return the mismatches of the last look. For a lone main thread, only PUs and cpuset are compared."""
        if self._requested is None:
            return []
        mismatches: list[proof.Mismatch] = []
        if self._last is not None and len(self._requested.groups) == 1:
            mismatches = [m for m in proof.mismatches(self._requested, [self._last]) if m.of in ("PUs", "cpuset")]
        wanted = frozenset(self._requested.cpus)
        if not mismatches and self._allowed is not None and self._allowed != wanted:
            cpus = format_cpulist(self._allowed) or "none"
            mismatches.append(
                proof.Mismatch("PUs", f"the cpuset allows PUs {cpus}, requested {format_cpulist(wanted)}")
            )
        return mismatches
