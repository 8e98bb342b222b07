"""Start what `orchestrator.run.rerun` has planned: fresh runs of chosen cells, into files of their own. I/O."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.model import Plan, PlannedRun, RunRecord, Tried
from orchestrator.run import tuning
from orchestrator.run.exclusive import OnWait, every_pu, reserved, wanted_pus
from orchestrator.run.execute import Event, Summary, execute
from orchestrator.run.outcome import Rules
from orchestrator.run.process import Stop
from orchestrator.run.rerun import Output, Rerun
from orchestrator.run.scratch import open_scratch, uses_scratch
from orchestrator.run.session import begin, now_utc
from orchestrator.store.result_file import ResultFile, create_result
from parsers.measurement import Parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """What is left when `run_again` returns."""

    a: tuple[Path, ...]
    b: tuple[Path, ...]
    summary: Summary


class _Outputs:
    """Commits each run to the file of its side."""

    def __init__(self, files: Iterable[tuple[PlannedRun, ResultFile]]) -> None:
        self._files = {id(run): file for run, file in files}  # both sides may have a run of one key

    def attempts(self) -> dict[tuple[str, int], Tried]:
        return {}

    def add_run(
        self, run: PlannedRun, record: RunRecord, outputs: Mapping[str, bytes], parsed: Parsed | None
    ) -> int:
        return self._files[id(run)].add_run(run, record, outputs, parsed)


def run_again(
    rerun: Rerun,
    folder: Path,
    *,
    version: str,
    argv: Sequence[str],
    rules: Rules = Rules(),  # noqa: B008 (frozen)
    on_wait: OnWait = lambda _: None,
    on_tune: Callable[[str], None] = lambda _: None,
    on_begin: Callable[[], None] = lambda: None,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Fresh:
    """Start the fresh runs, each committed to a new file of its side below `folder` when it ends.

    Other sweeps on the same cores (to tune: on any) are waited for; `on_wait` is told whose, `on_tune` what is set and put back, and
    `on_begin` is called when nothing more is waited for. Raises Stopped on a stop meanwhile.
    """
    warm_ups, runs = (tuple(run for _, run in some) for some in (rerun.warm_ups, rerun.runs))
    plan = Plan(runs=runs, cells=(), skipped=(), seed=rerun.seed, warm_ups=warm_ups)
    paths = _names(folder, rerun.outputs)
    file, topology = next(iter(paths.values())), rerun.topology
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(Stop())
        cpus = every_pu(topology) if rerun.tune else wanted_pus(runs, topology)
        kept = stack.enter_context(reserved(cpus, file, stop, on_wait))
        tuned = stack.enter_context(tuning.tuned(file, on_tune)) if rerun.tune else tuning.Tuned()
        scratch = stack.enter_context(
            open_scratch(
                rerun.scratch, stop=stop, on_wait=on_wait, keep=(*kept, *tuned.keep), on_orphaned=tuned.put_back,
                wanted=uses_scratch(runs),
            )
        )  # fmt: skip
        on_begin()
        files = {output: stack.enter_context(create_result(path)) for output, path in paths.items()}
        (session,) = {  # the first of each new file
            begin(files[output], prepared, version=version, argv=argv, seed=rerun.seed, tuned=tuning.words(tuned.changes))
            for output, prepared in rerun.outputs.items()
        }  # fmt: skip
        sink = _Outputs((run, files[output]) for output, run in (*rerun.warm_ups, *rerun.runs))
        summary = execute(
            plan, sink, session, scratch, stop, topology=topology, rules=rules, on_event=on_event
        )
        for result in files.values():
            result.end_session(session, now_utc())
    summary.scratch_left = scratch.left
    return Fresh(
        a=tuple(path for (side, _), path in paths.items() if side == "a"),
        b=tuple(path for (side, _), path in paths.items() if side == "b"),
        summary=summary,
    )


def _names(folder: Path, outputs: Iterable[Output]) -> dict[Output, Path]:
    """Name the fresh files: `confirm-20260102T030405Z-a-STEM.db`, in signs that every file system takes, none there yet."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    found: dict[Output, Path] = {}
    for side, path in outputs:
        stem = f"confirm-{stamp}-{side}-{re.sub(r'[^A-Za-z0-9@.-]+', '-', path.stem)[:80]}"
        names = (folder / f"{stem}{n}.db" for n in ("", *(f"-{i}" for i in range(2, 1000))))
        found[side, path] = next(p for p in names if not p.exists() and p not in found.values())
    return found
