"""Look at a sweep, start the missing jobs, and wait for the jobs."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.cluster import folder, states
from orchestrator.cluster.engine import Engine, Host, Job, Submission, Unavailable
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.results import Results, read_logs, read_results
from orchestrator.cluster.slurm import GLANCE_S, Slurm
from orchestrator.cluster.ssh import Ssh
from orchestrator.cluster.states import State
from orchestrator.cluster.traits import Difference, clocks, differences

_SETTLES_S: Final = 10.0
_MIN_PAUSE_S, _MAX_PAUSE_S = 2.0, 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A sweep at one moment."""

    sweep: Sweep
    states: tuple[State, ...]  # host order
    differences: tuple[Difference, ...] = ()
    nodes: Mapping[str, Host] = field(default_factory=dict)
    jobs: Mapping[str, Job] = field(default_factory=dict)
    results: Mapping[str, Results] = field(default_factory=dict)
    problem: str = ""  # why jobs or hosts are not known

    @property
    def exit_status(self) -> int:
        """The exit status of `status`."""
        status = states.exit_status(self.states)
        return states.UNFINISHED if self.problem and status != states.COMPLETE else status

    @property
    def exit_status_of_run(self) -> int:
        """Return 0 if each host is done, has a job, or waits for its turn as the user requested."""
        is_well = all(state.word in ("done", *states.LIVE) or state.is_in_turn for state in self.states)
        return states.COMPLETE if is_well else states.BAD

    @property
    def live_jobs(self) -> dict[str, str]:
        """Return host → its job that waits or runs."""
        return {state.host: state.job for state in self.states if state.word in states.LIVE}

    def kind(self, host: str) -> str:
        """Return the kind of a host, or "" if unknown."""
        return self.nodes[host].kind if host in self.nodes else ""


def engine_of(sweep: Sweep, on_wait: Callable[[str], None] = lambda _: None, *, patient: bool = True) -> Engine:
    """Return what starts the jobs of a sweep.

    `on_wait` gets a message if Slurm does not answer at once. Unless `patient`, Slurm is asked only once.
    """
    if sweep.via == "ssh":
        return Ssh(sweep)
    return Slurm(sweep, on_wait=on_wait) if patient else Slurm(sweep, patience_s=0.0, answer_s=GLANCE_S)


def look(sweep: Sweep, engine: Engine, *, patient: bool = False) -> View:
    """Return the state of each host.

    If the engine does not answer, `problem` has the reason, or Unavailable is raised if `patient`. `nodes` has all
    hosts if `patient`, otherwise only hosts whose state depends on it.
    """
    problem = ""
    nodes: Mapping[str, Host] = {}
    jobs: Mapping[str, Job] = {}
    try:
        jobs = engine.jobs()  # before the results, because a job that has ended by now has sent them
    except Unavailable as error:
        if patient:
            raise
        problem = str(error)
    jobs_known = not problem
    if not folder.is_copy(sweep):  # fetching removes results from the hosts
        engine.fetch(sweep.hosts)
    names, is_allowed = frozenset(sweep.hosts), "--allow-misplaced" in sweep.words
    files = {h: read_results(sweep.result(h), hosts=names, allow_misplaced=is_allowed) for h in sweep.hosts}
    results = {host: file for host, file in files.items() if file is not None}
    logs = read_logs(sweep.path("log"))
    if jobs_known:
        unlisted = {h: logs[h].job for h in sweep.hosts if h in logs and h not in jobs and logs[h].rc != 0}
        jobs = {**engine.find_ended(unlisted), **jobs}
    hosts = [h for h in sweep.hosts if patient or states.depends_on_host(files[h], jobs.get(h))]
    try:
        nodes = engine.hosts(hosts) if hosts and jobs_known else {}
    except Unavailable as error:
        if patient:
            raise
        problem = str(error)
    refusals = folder.read_refusals(sweep)
    now_utc = datetime.datetime.now(datetime.UTC).isoformat()
    sessions = {host: file.started_utc for host, file in results.items()}
    return View(
        sweep=sweep,
        states=tuple(
            states.state_of(
                host,
                results=files[host],
                log=logs.get(host),
                job=jobs.get(host),
                node=nodes.get(host),
                refused=refusals.get(host, ""),
                jobs_known=jobs_known,
            )
            for host in sweep.hosts
        ),
        differences=(
            *differences({host: file.traits for host, file in results.items()}),
            *clocks(sessions, sweep.created_utc, now_utc),
        ),
        nodes=nodes,
        jobs=jobs,
        results=results,
        problem=problem,
    )


def missing_jobs(view: View, words: Sequence[str] = (), *, retry_failed: bool = False) -> list[Submission]:
    """Return the jobs to start now, idle hosts first."""
    sweep, unknown = view.sweep, Host(name="", idle=False)
    hosts = [
        view.nodes.get(state.host, replace(unknown, name=state.host))
        for state in view.states
        if state.left or (state.retry and retry_failed)
    ]
    hosts = sorted((host for host in hosts if not host.problem), key=lambda host: not host.idle)
    return [
        Submission(
            host=host.name,
            words=tuple(words),
            lane=1 + number % sweep.at_once if sweep.at_once else 0,
            limit_min=sweep.limits_min.get(host.kind, 0),
        )
        for number, host in enumerate(hosts)
    ]


def find_canaries(view: View, jobs: Iterable[Submission]) -> dict[str, str]:
    """Return host of a job → the canary of the same kind, whose job must end well before."""
    if not view.sweep.canary:
        return {}
    canaries = {view.kind(state.host): "" for state in view.states if state.word == "done"}
    hosts = [job.host for job in jobs]
    for host in (*view.live_jobs, *hosts):
        canaries.setdefault(view.kind(host), host)
    return {host: canaries[view.kind(host)] for host in hosts if canaries[view.kind(host)] not in ("", host)}


def start(view: View, engine: Engine, jobs: Sequence[Submission]) -> tuple[dict[str, str], dict[str, str]]:
    """Start jobs, and return (host → job, host → reason without a job)."""
    canaries = find_canaries(view, jobs)
    job_ids, refusals = engine.submit([job for job in jobs if job.host not in canaries])
    if canaries:
        ids = view.live_jobs | job_ids
        behind = [job for job in jobs if job.host in canaries]
        refusals |= {job.host: "the canary of its kind got no job" for job in behind}
        behind = [replace(job, after=ids[canaries[job.host]]) for job in behind if canaries[job.host] in ids]
        more = engine.submit(behind)
        job_ids, refusals = job_ids | more[0], {**refusals, **more[1]}
        refusals = {host: why for host, why in refusals.items() if host not in job_ids}
    folder.store_refusals(view.sweep, refusals)
    return job_ids, refusals


def _cancel_hopeless(engine: Engine, job_ids: Mapping[str, str]) -> dict[str, str]:
    """Cancel new jobs (host → job) that would wait forever, and return host → reason.

    Slurm needs a moment for the reason.
    """
    ends = time.monotonic() + _SETTLES_S
    while job_ids:
        try:
            jobs = [job for host, job in engine.jobs().items() if job_ids.get(host) == job.id]
        except Unavailable:
            break
        is_known = all(job.phase != "waits" or job.reason not in ("", "None") for job in jobs)
        if is_known or time.monotonic() >= ends:
            hopeless = [job for job in jobs if job.hopeless]
            engine.cancel(hopeless)
            return {job.host: job.reason for job in hopeless}
        time.sleep(0.5)
    return {}


def advance(sweep: Sweep, engine: Engine, *, retry_failed: bool = False) -> tuple[int, list[str]]:
    """Start the missing jobs and cancel hopeless ones: (number of jobs that were missing, hosts that got one).

    Raises Unavailable.
    """
    with folder.lock(sweep):
        view = look(sweep, engine, patient=True)
        stuck = [state.host for state in view.states if state.stuck]
        engine.cancel([view.jobs[host] for host in stuck if host in view.jobs])
        retry = retry_failed and bool(view.results)
        jobs = missing_jobs(view, ["--retry-failed"] if retry else [], retry_failed=retry)
        job_ids, refusals = start(view, engine, jobs)
        if hopeless := _cancel_hopeless(engine, job_ids):
            folder.store_refusals(sweep, refusals | hopeless)
        return len(jobs), [host for host in job_ids if host not in hopeless]


def wait(sweep: Sweep, engine: Engine) -> View:
    """Look until all jobs have ended, and return the last look. With --at-once by ssh, start the next jobs."""
    pause_s = _MIN_PAUSE_S
    while True:
        view = look(sweep, engine)
        is_live = bool(view.live_jobs)
        if sweep.via == "ssh" and sweep.at_once:
            waiting = {state.host for state in view.states if state.word == "not submitted"}
            jobs = [job for job in missing_jobs(view) if job.host in waiting]
            if jobs:  # a job holds its place until it has ended, a moment after its results are here
                is_live = bool(start(view, engine, jobs)[0] or view.jobs) or is_live
        if not is_live and not view.problem:
            return view
        time.sleep(pause_s)
        pause_s = min(_MAX_PAUSE_S, pause_s * 1.5)
