"""Slurm: one exclusive job a host, pinned to it. Its own commands are asked, and nothing is remembered here. I/O."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from orchestrator.cluster import slurm_text
from orchestrator.cluster.engine import Away, Host, Job, Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.machine import planted

PATIENCE_S: Final = 60.0  # for a controller that is restarted
GLANCE_S: Final = 10.0
"""For who only looks: a question is asked once. It is the MessageTimeout that Slurm has by default."""
_TIMEOUT_S: Final = 30.0
_SETTLES_S: Final = 3.0  # in which a job that was taken without an answer is seen
_LONGEST_WORD: Final = 100_000  # of a command line; Linux takes none of 128 KiB
_SAME: Final = 3
"""So many refusals in the same words, and the other hosts are not tried: it is not about the host."""
_IN_FLIGHT: Final = 4
"""So many sbatch wait for Slurm at a time: of the 28 ms that one took on a busy machine, 4 were its own and 1.5 slurmctld's."""

_KEPT: Final = frozenset(
    f"SBATCH_{name}"
    for name in (
        "ACCOUNT",
        "CONSTRAINT",
        "EXPORT",
        "GET_USER_ENV",
        "PARTITION",
        "QOS",
        "RESERVATION",
        "TIMELIMIT",
        "WCKEY",
    )
)
"""What a site or user sets for every job, and counts for these, too."""

_UNKNOWN: Final = "Slurm did not answer, and may have taken the job all the same: the same command again sees"


class Slurm:
    """An Engine."""

    def __init__(
        self,
        sweep: Sweep,
        patience_s: float = PATIENCE_S,
        on_wait: Callable[[str], None] = lambda _: None,
        answer_s: float = _TIMEOUT_S,
    ) -> None:
        self._sweep = sweep
        self._patience_s = patience_s  # for so long a question is asked again
        self._answer_s = answer_s  # for so long its answer is waited for
        self._on_wait = on_wait

    def hosts(self, names: Sequence[str]) -> Mapping[str, Host]:
        # --all: else hosts of hidden partitions are unknown, to those who may use them, too
        these = ["-n", text] if len(text := ",".join(names)) < _LONGEST_WORD else []  # else all are listed
        asked = ["sinfo", "-h", "-a", "-N", *these, "-o", slurm_text.SINFO]
        partitions = os.environ.get("SBATCH_PARTITION") or slurm_text.option(
            self._sweep.sbatch, "-p", "--partition"
        )
        return slurm_text.hosts(
            self._asked(asked), names,
            reserved=_has_reservation(self._sweep), partitions=partitions.split(",") if partitions else (),
        )  # fmt: skip

    def jobs(self) -> Mapping[str, Job]:
        # --all: else jobs in hidden partitions are not listed, and submitted again; --local: no question about federations
        asked = ["squeue", "-h", "-a", "--local", "-t", "all", "-u", self._sweep.user, "-n", ",".join(self._sweep.job_names)]  # fmt: skip
        return slurm_text.jobs(self._asked([*asked, "-o", slurm_text.SQUEUE]))

    def ended(self, jobs: Mapping[str, str]) -> Mapping[str, Job]:
        """See Engine. Where sacct is not there or has no records, nothing is known."""
        if not jobs or len(numbers := ",".join(jobs.values())) > _LONGEST_WORD:
            return {}
        names = ",".join(self._sweep.job_names)
        asked = ["sacct", "-n", "-P", "-X", "-j", numbers, f"--name={names}", "-o", "JobID,State"]
        return slurm_text.ended(_run(asked, self._answer_s).stdout, jobs)

    def submit(self, wanted: Iterable[Submission]) -> tuple[dict[str, str], dict[str, str]]:
        """See Engine. Some at a time, the first alone: what is wrong with all of them is told by one."""
        taken: dict[str, str] = {}
        refused: dict[str, str] = {}
        same: list[str] = []
        left = list(wanted)
        room = 1
        with ThreadPoolExecutor(_IN_FLIGHT) as pool:
            while left:
                some, left = left[:room], left[room:]
                room = _IN_FLIGHT
                answers = dict(zip(some, pool.map(self._tried, some), strict=True))
                answers |= self._tried_again([one for one, (_, why) in answers.items() if why == _UNKNOWN])
                for one, (job, why) in answers.items():
                    if job:
                        taken[one.host] = job
                        same.clear()
                    else:
                        refused[one.host] = why
                        same = [*same, why] if same[-1:] == [why] else [why]
                if _UNKNOWN in same or len(same) >= _SAME:
                    refused |= dict.fromkeys((other.host for other in left), same[-1])
                    break
        return taken, refused

    def _tried(self, one: Submission) -> tuple[str, str]:
        """Return (the job, why there is none)."""
        done = _run(submission(self._sweep, one))
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip().split(";")[0], ""
        return "", _UNKNOWN if slurm_text.is_away(done.stderr) else slurm_text.refusal(done.stderr)

    def _tried_again(self, silent: Sequence[Submission]) -> dict[Submission, tuple[str, str]]:
        """As `_tried`, where sbatch got no answer, and the job may have been taken all the same: it is looked up, in an answer that is later
        than what was asked for before, and only then submitted once more."""
        if not silent:
            return {}
        try:
            self.jobs()
            time.sleep(_SETTLES_S)
            jobs = self.jobs()
        except Away:
            return {}
        taken = {host: job.id for host, job in jobs.items() if job.phase != "over"}
        return {one: (taken[one.host], "") if one.host in taken else self._tried(one) for one in silent}

    def cancel(self, jobs: Iterable[Job]) -> None:
        if numbers := [job.id for job in jobs]:
            _run(["scancel", *numbers])

    def fetch(self, hosts: Sequence[str]) -> None:
        """Nothing: jobs write into the folder."""

    def _asked(self, argv: Sequence[str]) -> str:
        ends = time.monotonic() + self._patience_s
        told = False
        while True:
            done = _run(argv, self._answer_s)
            if done.returncode == 0:
                return done.stdout
            words = (
                " ".join(done.stderr.split()).removeprefix(f"{argv[0]}: ") or f"exit status {done.returncode}"
            )
            if not slurm_text.is_away(done.stderr) or time.monotonic() >= ends:
                raise Away(argv[0], words, "see that Slurm answers here, then run the same command again")
            if not told:
                self._on_wait(
                    f"Slurm does not answer, and is asked again for {self._patience_s:.0f} s: {argv[0]}: {words}"
                )
                told = True
            time.sleep(1.0)


def submission(sweep: Sweep, one: Submission) -> list[str]:
    """Return the command that submits one job. Pure.

    What must be so stands behind the site's own options, and in front of what SBATCH_* says.
    """
    name = f"{sweep.job_name}-{one.lane}" if one.lane else sweep.job_name
    conditions = (["singleton"] if one.lane else []) + ([f"afterok:{one.after}"] if one.after else [])
    limit = (
        [f"--time={one.limit_min}"]
        if one.limit_min not in (0, sweep.limit_min) and not _own_limit(sweep)
        else []
    )
    return [
        "sbatch", "--parsable", *limit, "-N1", "--no-requeue", "-w", one.host, "-J", name, "-D", "/",
        "-o", f"{sweep.folder}/log/{one.host}.%j",
        *([f"--dependency={','.join(conditions)}", "--kill-on-invalid-dep=yes"] if conditions else []),
        f"{sweep.folder}/job.sh", *one.words,
    ]  # fmt: skip


def asked_min(sweep: Sweep, one: Submission) -> int:
    """Return for how many minutes a job asks; 0: for no bound, or what nobody can read."""
    own = _own_limit(sweep)
    return slurm_text.minutes(own) or 0 if own else one.limit_min or sweep.limit_min


def _own_limit(sweep: Sweep) -> str:
    """Return the time limit that the user has given, which wins; "": none."""
    return os.environ.get("SBATCH_TIMELIMIT") or slurm_text.option(sweep.sbatch, "-t", "--time")


def _has_reservation(sweep: Sweep) -> bool:
    return "SBATCH_RESERVATION" in os.environ or any(word.startswith("--res") for word in sweep.sbatch)


def _run(argv: Sequence[str], timeout_s: float = _TIMEOUT_S) -> subprocess.CompletedProcess[str]:
    # other variables change what is listed, how many jobs there are, or where and how they run
    env = {
        k: v
        for k, v in os.environ.items()
        if k in _KEPT or not k.startswith(("SQUEUE_", "SINFO_", "SBATCH_", "SLURM_CLUSTERS", "SLURM_HINT"))
    }
    if argv[0] != "sbatch":  # which gives its environment to the job
        env["LC_ALL"] = "C"
    try:
        return subprocess.run(
            [planted.which(argv[0]) or argv[0], *argv[1:]], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([*argv], 1, "", f"{argv[0]}: timed out after {timeout_s:.0f} s")
    except OSError as error:
        return subprocess.CompletedProcess([*argv], 127, "", f"{argv[0]}: {error.strerror}")
