"""Look at a sweep, start the missing jobs, wait for them."""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from orchestrator.cluster import folder, results, states
from orchestrator.cluster.engine import Engine, Host, Job, Submission, Unavailable
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.results import Results
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
    states: tuple[State, ...]  # in the order of the hosts
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
        """0 if each host is done, has a job, or waits for its turn as the user asked."""
        is_well = all(one.word in ("done", *states.LIVE) or one.is_in_turn for one in self.states)
        return states.COMPLETE if is_well else states.BAD

    def kind(self, host: str) -> str:
        """Return the kind of a host; "" if it is not known."""
        return self.nodes[host].kind if host in self.nodes else ""


def engine_of(
    sweep: Sweep, on_wait: Callable[[str], None] = lambda _: None, *, patient: bool = True
) -> Engine:
    """Return what starts the jobs of a sweep.

    `on_wait` gets a message if Slurm does not answer at once. Unless `patient`, Slurm is asked only once.
    """
    if sweep.via == "ssh":
        return Ssh(sweep)
    return Slurm(sweep, on_wait=on_wait) if patient else Slurm(sweep, patience_s=0.0, answer_s=GLANCE_S)


def look(sweep: Sweep, engine: Engine, *, patient: bool = False) -> View:
    """Return the state of each host.

    If the engine does not answer, `problem` says so, or Unavailable is raised if `patient`. `nodes` has all hosts if
    `patient`, else those whose state depends on it.
    """
    problem, jobs_known = "", True
    nodes: Mapping[str, Host] = {}
    jobs: Mapping[str, Job] = {}
    try:
        jobs = engine.jobs()  # before the results: a job that is over by now has sent them
    except Unavailable as error:
        if patient:
            raise
        problem, jobs_known = str(error), False
    if not folder.is_copy(sweep):  # fetching removes results from the hosts
        engine.fetch(sweep.hosts)
    stored = _read_results(sweep)
    logs = results.read_logs(sweep.path("log"))
    if jobs_known:
        unlisted = {h: logs[h].job for h in sweep.hosts if h in logs and h not in jobs and logs[h].rc != 0}
        jobs = {**engine.ended(unlisted), **jobs}
    names = [h for h in sweep.hosts if patient or states.depends_on_host(stored.get(h), jobs.get(h))]
    try:
        nodes = engine.hosts(names) if names and not problem else {}
    except Unavailable as error:
        if patient:
            raise
        problem = str(error)
    refused = folder.refused_hosts(sweep)
    now = datetime.datetime.now(datetime.UTC).isoformat()
    return View(
        sweep=sweep,
        states=tuple(
            states.state(
                host,
                results=stored.get(host),
                log=logs.get(host),
                job=jobs.get(host),
                node=nodes.get(host),
                refused=refused.get(host, ""),
                jobs_known=jobs_known,
            )
            for host in sweep.hosts
        ),
        differences=(
            *differences({host: one.traits for host, one in stored.items()}),
            *clocks({host: one.started_utc for host, one in stored.items()}, sweep.created_utc, now),
        ),
        nodes=nodes,
        jobs=jobs,
        results=stored,
        problem=problem,
    )


def _read_results(sweep: Sweep) -> dict[str, Results]:
    is_allowed, names = "--allow-misplaced" in sweep.words, frozenset(sweep.hosts)
    stored = (
        (h, results.read(sweep.result(h), hosts=names, allow_misplaced=is_allowed)) for h in sweep.hosts
    )
    return {host: one for host, one in stored if one is not None}


def missing_jobs(view: View, words: Sequence[str] = (), *, retry_failed: bool = False) -> list[Submission]:
    """Return the jobs to start now, idle hosts first."""
    sweep, nodes = view.sweep, view.nodes
    hosts = [
        one.host
        for one in view.states
        if (one.left or (one.retry and retry_failed)) and not (one.host in nodes and nodes[one.host].problem)
    ]
    hosts.sort(key=lambda host: not (host in nodes and nodes[host].idle))
    return [
        Submission(
            host=host,
            words=tuple(words),
            lane=1 + number % sweep.at_once if sweep.at_once else 0,
            limit_min=sweep.limits_min.get(view.kind(host), 0),
        )
        for number, host in enumerate(hosts)
    ]


def canaries(view: View, jobs: Iterable[Submission]) -> dict[str, str]:
    """Return kind → the host whose job has to end well before others of the kind start."""
    if not view.sweep.canary:
        return {}
    first = {view.kind(job.host): job.host for job in reversed(list(jobs))}
    first |= {view.kind(one.host): one.host for one in reversed(view.states) if one.word in states.LIVE}
    done = {view.kind(one.host) for one in view.states if one.word == "done"}
    return {kind: host for kind, host in first.items() if kind not in done}


def start(view: View, engine: Engine, jobs: Sequence[Submission]) -> tuple[dict[str, str], dict[str, str]]:
    """Start jobs: (host → its job, host → why it got none)."""
    leaders = canaries(view, jobs)
    accepted, refused = engine.submit(
        [job for job in jobs if leaders.get(view.kind(job.host), job.host) == job.host]
    )
    ids = {one.host: one.job for one in view.states if one.word in states.LIVE} | accepted
    followers = []
    for job in jobs:
        leader = leaders.get(view.kind(job.host), job.host)
        if leader in ids and leader != job.host:
            followers.append(dataclasses.replace(job, after=ids[leader]))
        elif leader != job.host:
            refused[job.host] = "the canary of its kind got no job"
    if followers:
        more, not_accepted = engine.submit(followers)
        accepted, refused = accepted | more, refused | not_accepted
    folder.store_refused(view.sweep, refused)
    return accepted, refused


def _cancel_hopeless(engine: Engine, accepted: Mapping[str, str]) -> dict[str, str]:
    """Cancel new jobs (host → job) that would wait for ever; return host → why. Slurm needs a moment for it."""
    ends = time.monotonic() + _SETTLES_S
    while accepted:
        try:
            jobs = [job for host, job in engine.jobs().items() if accepted.get(host) == job.id]
        except Unavailable:
            return {}
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
        engine.cancel([view.jobs[one.host] for one in view.states if one.stuck and one.host in view.jobs])
        retry = retry_failed and bool(view.results)
        jobs = missing_jobs(view, ["--retry-failed"] if retry else [], retry_failed=retry)
        accepted, refused = start(view, engine, jobs)
        if hopeless := _cancel_hopeless(engine, accepted):
            folder.store_refused(sweep, refused | hopeless)
        return len(jobs), [host for host in accepted if host not in hopeless]


def wait(sweep: Sweep, engine: Engine) -> View:
    """Look until all jobs have ended, and return the last look. With --at-once by ssh, start the next jobs."""
    pause_s = _MIN_PAUSE_S
    while True:
        view = look(sweep, engine)
        is_live = any(one.word in states.LIVE for one in view.states)
        waiting = {one.host for one in view.states if one.word == "not submitted"}
        jobs = (
            [job for job in missing_jobs(view) if job.host in waiting]
            if sweep.via == "ssh" and sweep.at_once
            else []
        )
        if jobs:  # a job holds its place until it has ended, a moment after its results are here
            is_live = bool(start(view, engine, jobs)[0] or view.jobs) or is_live
        if not is_live and not view.problem:
            return view
        time.sleep(pause_s)
        pause_s = min(_MAX_PAUSE_S, pause_s * 1.5)
