"""Submit one exclusive Slurm job per host. pinsweep calls Slurm's commands each time and stores no result."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from orchestrator.cluster import slurm_text
from orchestrator.cluster.engine import Engine, Host, Job, Submission, Unavailable
from orchestrator.cluster.folder import Sweep
from orchestrator.machine import planted

PATIENCE_S: Final = 60.0  # limit for a controller restart
GLANCE_S: Final = 10.0  # Slurm's default MessageTimeout
_TIMEOUT_S: Final = 30.0
_SETTLES_S: Final = 3.0  # until a job that was accepted without an answer is listed
_MAX_WORD: Final = 100_000  # Linux takes no argument of 128 KiB
_IN_FLIGHT: Final = 4
"""How many sbatch run at a time. If all of them are refused for one reason, the remaining hosts are not tried."""

_SITE_VARIABLE: Final = re.compile(
    "SBATCH_(ACCOUNT|CONSTRAINT|EXPORT|GET_USER_ENV|PARTITION|QOS|RESERVATION|TIMELIMIT|WCKEY)"
)
"""Variables that a site or user sets for every job.

Other variables change the listing, and the number and place of jobs.
"""

_UNKNOWN: Final = "Slurm did not answer and may have accepted the job: run the same command again"


class Slurm(Engine):
    """Slurm as the engine of a sweep."""

    def __init__(
        self,
        sweep: Sweep,
        patience_s: float = PATIENCE_S,
        on_wait: Callable[[str], None] = lambda _: None,
        answer_s: float = _TIMEOUT_S,
    ) -> None:
        """`patience_s`: how long a question is repeated; `answer_s`: how long one answer may take."""
        super().__init__(sweep)
        self._patience_s, self._on_wait, self._answer_s = patience_s, on_wait, answer_s

    def hosts(self, names: Sequence[str]) -> Mapping[str, Host]:
        # -a: without it, hosts of hidden partitions are not listed
        these = ["-n", text] if len(text := ",".join(names)) < _MAX_WORD else []
        text = self._ask(["sinfo", "-h", "-a", "-N", *these, "-o", slurm_text.SINFO])
        options, env = self.sweep.sbatch, os.environ
        partitions = env.get("SBATCH_PARTITION") or slurm_text.option(options, "-p", "--partition")
        reserved = "SBATCH_RESERVATION" in env or any(word.startswith("--res") for word in options)
        return slurm_text.parse_hosts(text, names, reserved=reserved, partitions=partitions)

    def jobs(self) -> Mapping[str, Job]:
        # -a: without it, jobs in hidden partitions are not listed, and would be submitted again
        who = ["-u", self.sweep.user, "-n", ",".join(self.sweep.job_names)]
        text = self._ask(["squeue", "-h", "-a", "--local", "-t", "all", *who, "-o", slurm_text.SQUEUE])
        return slurm_text.parse_jobs(text)

    def find_ended(self, jobs: Mapping[str, str]) -> Mapping[str, Job]:
        if not jobs or len(numbers := ",".join(jobs.values())) > _MAX_WORD:
            return {}
        names = ",".join(self.sweep.job_names)
        argv = ["sacct", "-n", "-P", "-X", "-j", numbers, f"--name={names}", "-o", "JobID,State"]
        return slurm_text.parse_ended(_run(argv, self._answer_s).stdout, jobs)

    def submit(self, submissions: Iterable[Submission]) -> tuple[dict[str, str], dict[str, str]]:
        job_ids: dict[str, str] = {}
        refusals: dict[str, str] = {}
        pending = list(submissions)
        with ThreadPoolExecutor(_IN_FLIGHT) as pool:
            while pending:
                batch, pending = pending[:_IN_FLIGHT], pending[_IN_FLIGHT:]
                answers = dict(zip(batch, pool.map(self._submit, batch), strict=True))
                answers |= self._submit_again([job for job, (_, why) in answers.items() if why == _UNKNOWN])
                job_ids |= {job.host: number for job, (number, _) in answers.items() if number}
                refusals |= {job.host: why for job, (number, why) in answers.items() if not number}
                reasons = {why for _, why in answers.values()}
                if _UNKNOWN in reasons or (len(reasons) == 1 and "" not in reasons):
                    reason = _UNKNOWN if _UNKNOWN in reasons else reasons.pop()
                    refusals |= {job.host: reason for job in pending}
                    break
        return job_ids, refusals

    def _submit(self, job: Submission) -> tuple[str, str]:
        """Return (job number, reason without a job)."""
        done = _run(submission(self.sweep, job))
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip().split(";")[0], ""
        return "", _UNKNOWN if slurm_text.is_unavailable(done.stderr) else slurm_text.refusal(done.stderr)

    def _submit_again(self, jobs: Sequence[Submission]) -> dict[Submission, tuple[str, str]]:
        """Submit jobs again for which sbatch gave no answer, unless Slurm has accepted them."""
        if not jobs:
            return {}
        try:
            self.jobs()  # waits until Slurm answers
            time.sleep(_SETTLES_S)
            ids = {host: job.id for host, job in self.jobs().items() if job.phase != "over"}
        except Unavailable:
            return {}
        return {job: (ids[job.host], "") if job.host in ids else self._submit(job) for job in jobs}

    def cancel(self, jobs: Iterable[Job]) -> None:
        if numbers := [job.id for job in jobs]:
            _run(["scancel", *numbers])

    def _ask(self, argv: Sequence[str]) -> str:
        ends = time.monotonic() + self._patience_s
        is_reported = False
        while True:
            done = _run(argv, self._answer_s)
            if done.returncode == 0:
                return done.stdout
            why = " ".join(done.stderr.split()).removeprefix(f"{argv[0]}: ") or f"exit status {done.returncode}"
            if not slurm_text.is_unavailable(done.stderr) or time.monotonic() >= ends:
                raise Unavailable(argv[0], why, "check that Slurm answers here, then run the same command again")
            if not is_reported:
                self._on_wait(f"Slurm does not answer, waiting up to {self._patience_s:.0f} s: {argv[0]}: {why}")
                is_reported = True
            time.sleep(1.0)


def submission(sweep: Sweep, job: Submission) -> list[str]:
    """Return the command that submits a job. Its options override SBATCH_* and job.sh."""
    name = f"{sweep.job_name}-{job.lane}" if job.lane else sweep.job_name
    conditions = [*(["singleton"] if job.lane else []), *([f"afterok:{job.after}"] if job.after else [])]
    needs_limit = job.limit_min not in (0, sweep.limit_min) and not time_limit(sweep)
    return [
        *("sbatch", "--parsable", *([f"--time={job.limit_min}"] if needs_limit else [])),
        *(
            "-N1",
            "--no-requeue",
            "-w",
            job.host,
            "-J",
            name,
            "-D",
            "/",
            "-o",
            f"{sweep.folder}/log/{job.host}.%j",
        ),
        *([f"--dependency={','.join(conditions)}", "--kill-on-invalid-dep=yes"] if conditions else []),
        *(f"{sweep.folder}/job.sh", *job.words),
    ]


def requested_min(sweep: Sweep, job: Submission) -> int:
    """Return for how many minutes a job asks; 0: no bound, or not readable."""
    limit = time_limit(sweep)
    return slurm_text.minutes(limit) if limit else job.limit_min or sweep.limit_min


def time_warnings(sweep: Sweep, jobs: Iterable[Submission], hosts: Mapping[str, Host]) -> dict[str, list[str]]:
    """Return warning → the hosts whose jobs have less time than needed, or more than the partition allows."""
    hosts_by_warning: dict[str, list[str]] = {}
    for job in jobs:
        host = hosts.get(job.host) or Host(name=job.host)
        needed, requested = sweep.limits_min.get(host.kind, 0), requested_min(sweep, job)
        if host.allowed_min and requested > host.allowed_min:
            text = f"Slurm starts no job: it asks for {requested} min, the partition allows {host.allowed_min}"
        elif requested and requested < needed:
            text = f"jobs end after {requested} min, and may need {needed}: `run -o` continues them"
        else:
            continue
        hosts_by_warning.setdefault(f"{text} (--sbatch -t)", []).append(job.host)
    return hosts_by_warning


def time_limit(sweep: Sweep) -> str:
    """Return the user's time limit for all jobs, or ""."""
    return os.environ.get("SBATCH_TIMELIMIT") or slurm_text.option(sweep.sbatch, "-t", "--time")


def _run(argv: Sequence[str], timeout_s: float = _TIMEOUT_S) -> subprocess.CompletedProcess[str]:
    prefixes = ("SQUEUE_", "SINFO_", "SBATCH_", "SLURM_CLUSTERS", "SLURM_HINT")
    env = {k: v for k, v in os.environ.items() if _SITE_VARIABLE.fullmatch(k) or not k.startswith(prefixes)}
    if argv[0] != "sbatch":  # sbatch gives its environment to the job
        env["LC_ALL"] = "C"
    argv = [planted.which(argv[0]) or argv[0], *argv[1:]]
    try:
        return subprocess.run(
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 1, "", f"timed out after {timeout_s:.0f} s")
    except OSError as error:
        return subprocess.CompletedProcess(argv, 127, "", str(error.strerror))
