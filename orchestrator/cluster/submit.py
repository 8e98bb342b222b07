"""Who of a sweep gets a job now, and in which order: begin one, go on with one, and look at it. Thin: it asks, `states` decides. I/O."""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from orchestrator.cluster import folder, kept, logs, states
from orchestrator.cluster.engine import Away, Engine, Host, Job, Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.kept import Kept
from orchestrator.cluster.slurm import GLANCE_S, Slurm
from orchestrator.cluster.states import State
from orchestrator.cluster.traits import Difference, clocks, differences

_SETTLES_S: Final = 10.0
_LOOK_S: Final = 2.0, 30.0
"""Between two looks of who waits: at first, and at last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A sweep as it is at one moment."""

    sweep: Sweep
    states: tuple[State, ...]  # in the order of the hosts
    differences: tuple[Difference, ...] = ()
    nodes: Mapping[str, Host] = field(default_factory=dict)
    jobs: Mapping[str, Job] = field(default_factory=dict)
    kept: Mapping[str, Kept] = field(default_factory=dict)
    problem: str = ""  # why nothing is known of jobs and hosts

    @property
    def exit_status(self) -> int:
        """Of `status`."""
        own = states.exit_status(self.states)
        return states.UNFINISHED if self.problem and own != states.COMPLETE else own

    @property
    def exit_status_of_run(self) -> int:
        """0 if each host is done, has a job, or has to wait for its turn, as was asked for."""
        well = all(one.word in ("done", *states.LIVE) or one.waits_for_its_turn for one in self.states)
        return states.COMPLETE if well else states.BAD


def engine_of(
    sweep: Sweep, on_wait: Callable[[str], None] = lambda _: None, *, patient: bool = True
) -> Engine:
    """Return who starts the jobs of a sweep. `on_wait` is told if that one does not answer at once, and is asked again; unless `patient`, it is
    asked once, and not waited for for long."""
    if sweep.via == "ssh":
        from orchestrator.cluster.ssh import Ssh

        return Ssh(sweep)
    return Slurm(sweep, on_wait=on_wait) if patient else Slurm(sweep, patience_s=0.0, answer_s=GLANCE_S)


def look(sweep: Sweep, engine: Engine, *, patient: bool = False) -> View:
    """Return what became of each host so far. Who starts the jobs may be away: then `problem` says so, unless `patient` raises it.

    `nodes` has all hosts if `patient`, else those of which it matters.
    """
    problem = ""
    nodes: Mapping[str, Host] = {}
    jobs: Mapping[str, Job] = {}
    jobs_known = True
    try:
        jobs = engine.jobs()  # before what has come home: a job that is over by then has sent it
    except Away as error:
        if patient:
            raise
        problem, jobs_known = str(error), False
    if not folder.is_copy(sweep):  # else it belongs where the sweep is
        engine.fetch(sweep.hosts)
    misplaced = "--allow-misplaced" in sweep.words
    names = frozenset(sweep.hosts)
    read = (
        (host, kept.read(sweep.result(host), hosts=names, allow_misplaced=misplaced)) for host in sweep.hosts
    )
    found = {host: one for host, one in read if one is not None}
    ends = logs.read(sweep.path("log"))
    if jobs_known:
        forgotten = {h: log.job for h, log in ends.items() if h in names and h not in jobs and log.rc != 0}
        jobs = {**engine.ended(forgotten), **jobs}
    asked = [h for h in sweep.hosts if patient or states.depends_on_host(found.get(h), jobs.get(h))]
    try:
        nodes = engine.hosts(asked) if asked and not problem else {}
    except Away as error:
        if patient:
            raise
        problem = str(error)
    refused = folder.refused(sweep)
    now = datetime.datetime.now(datetime.UTC).isoformat()
    return View(
        sweep=sweep,
        states=tuple(
            states.state(
                host,
                kept=found.get(host),
                log=ends.get(host),
                job=jobs.get(host),
                node=nodes.get(host),
                refused=refused.get(host, ""),
                jobs_known=jobs_known,
            )
            for host in sweep.hosts
        ),
        differences=(
            *differences({host: one.traits for host, one in found.items()}),
            *clocks({host: one.started_utc for host, one in found.items()}, sweep.created_utc, now),
        ),
        nodes=nodes,
        jobs=jobs,
        kept=found,
        problem=problem,
    )


def wanted(view: View, words: Sequence[str] = (), *, retry_failed: bool = False) -> list[Submission]:
    """Return the jobs that are to be started now, idle hosts and canaries first: where something is missing, and can be had. Pure."""
    sweep = view.sweep
    todo = [
        one.host
        for one in view.states
        if (one.left or (one.retry and retry_failed)) and not _problem(view, one.host)
    ]
    todo.sort(key=lambda host: not (host in view.nodes and view.nodes[host].idle))
    return [
        Submission(
            host=host,
            words=tuple(words),
            lane=1 + number % sweep.at_once if sweep.at_once else 0,
            limit_min=sweep.limits_min.get(_kind(view, host), 0),
        )
        for number, host in enumerate(todo)
    ]


def _problem(view: View, host: str) -> str:
    return view.nodes[host].problem if host in view.nodes else ""


def _kind(view: View, host: str) -> str:
    return view.nodes[host].kind if host in view.nodes else ""


def canaries(view: View, todo: Iterable[Submission]) -> tuple[dict[str, str], list[str]]:
    """Return (kind of host → the job that others of it wait for, hosts that go first): none of a kind where a host is done. Pure."""
    kinds: dict[str, str] = {}
    first: list[str] = []
    done = {_kind(view, one.host) for one in view.states if one.word == "done"}
    live = {_kind(view, one.host): one.job for one in reversed(view.states) if one.word in states.LIVE}
    for one in todo:
        kind = _kind(view, one.host)
        if kind in done or kind in kinds:
            continue
        kinds[kind] = live.get(kind, "")
        if kind not in live:
            first.append(one.host)
    return kinds, first


def start(view: View, engine: Engine, todo: Sequence[Submission]) -> tuple[dict[str, str], dict[str, str]]:
    """Start jobs: (host → its job, host → why it got none), and keep the second for `status`."""
    if not view.sweep.canary:
        taken, refused = engine.submit(todo)
    else:
        kinds, first = canaries(view, todo)
        taken, refused = engine.submit([one for one in todo if one.host in first])
        kinds |= {_kind(view, host): job for host, job in taken.items()}
        behind = []
        for one in todo:
            kind = _kind(view, one.host)
            if one.host in first:
                continue
            if kind in kinds and not kinds[kind]:
                refused[one.host] = "the canary of its kind got no job"
                continue
            behind.append(dataclasses.replace(one, after=kinds.get(kind, "")))
        more, not_taken = engine.submit(behind)
        taken |= more
        refused |= not_taken
    folder.keep_refused(view.sweep, refused)
    return taken, refused


def hopeless(engine: Engine, taken: Mapping[str, str]) -> dict[str, str]:
    """Cancel those of new jobs (host → job) that would wait for ever; return host → why. Slurm says so a moment after it took them."""
    ends = time.monotonic() + _SETTLES_S
    while taken:
        try:
            jobs = [job for host, job in engine.jobs().items() if taken.get(host) == job.id]
        except Away:
            return {}
        unknown = [job for job in jobs if job.phase == "waits" and job.reason in ("", "None")]
        if not unknown or time.monotonic() >= ends:
            stuck = [job for job in jobs if job.hopeless]
            engine.cancel(stuck)
            return {job.host: job.reason for job in stuck}
        time.sleep(0.5)
    return {}


def advance(
    sweep: Sweep, engine: Engine, *, retry_failed: bool = False
) -> tuple[int, dict[str, str], dict[str, str]]:
    """Start what is missing where it is missing, and take back what waits for ever: (jobs that were tried, host → the job that it has now, host →
    why none).

    Raises Away where nobody answers who could start jobs.
    """
    with folder.lock(sweep):
        return _advance(sweep, engine, retry_failed=retry_failed)


def _advance(
    sweep: Sweep, engine: Engine, *, retry_failed: bool
) -> tuple[int, dict[str, str], dict[str, str]]:
    view = look(sweep, engine, patient=True)
    if stuck := [view.jobs[one.host] for one in view.states if one.stuck and one.host in view.jobs]:
        engine.cancel(stuck)
    retry = ["--retry-failed"] if retry_failed and view.kept else []
    todo = wanted(view, retry, retry_failed=bool(retry))
    taken, refused = start(view, engine, todo)
    stuck_at_once = hopeless(engine, taken)
    if taken:
        folder.keep_refused(sweep, refused | stuck_at_once)
    return len(todo), {h: job for h, job in taken.items() if h not in stuck_at_once}, refused | stuck_at_once


def waited(sweep: Sweep, engine: Engine) -> View:
    """Look until all jobs have ended; of --at-once by ssh, start who is next. Return the last look."""
    pause, most = _LOOK_S
    while True:
        view = look(sweep, engine)
        live = any(one.word in states.LIVE for one in view.states)
        later = {one.host for one in view.states if one.word == "not submitted"}  # no queue keeps them by ssh
        todo = (
            [one for one in wanted(view) if one.host in later] if sweep.via == "ssh" and sweep.at_once else []
        )
        if todo:  # a job whose results are home may take a moment to end, and has its place until then
            live = bool(start(view, engine, todo)[0] or view.jobs) or live
        if not live and not view.problem:
            return view
        time.sleep(pause)
        pause = min(most, pause * 1.5)
