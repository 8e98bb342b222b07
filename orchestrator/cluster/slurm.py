"""Slurm: one exclusive job a host, pinned to it. Its own commands are asked, and nothing is remembered here. I/O."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from orchestrator.cluster import slurm_text
from orchestrator.cluster.engine import Away, Host, Job, Submission
from orchestrator.cluster.folder import Sweep

PATIENCE_S: Final = 60.0  # for a controller that is restarted
_TIMEOUT_S: Final = 30.0
_SETTLES_S: Final = 3.0  # in which a job that was taken without an answer is seen
_SAME: Final = 3
"""So many refusals in the same words, and the other hosts are not tried: it is not about the host."""


_UNKNOWN: Final = "Slurm did not answer, and may have taken the job all the same: the same command again sees"


class Slurm:
    """An Engine."""

    def __init__(self, sweep: Sweep, patience_s: float = PATIENCE_S) -> None:
        self._sweep = sweep
        self._patience_s = patience_s

    def hosts(self, names: Sequence[str]) -> Mapping[str, Host]:
        asked = ["sinfo", "-h", "-N", "-n", ",".join(names), "-o", slurm_text.SINFO]
        return slurm_text.hosts(self._asked(asked), names)

    def jobs(self) -> Mapping[str, Job]:
        names = ",".join(self._sweep.job_names)
        return slurm_text.jobs(
            self._asked(
                ["squeue", "-h", "-t", "all", "-u", self._sweep.user, "-n", names, "-o", slurm_text.SQUEUE]
            )
        )

    def submit(self, wanted: Iterable[Submission]) -> tuple[dict[str, str], dict[str, str]]:
        """See Engine. Where sbatch gets no answer, the job may have been taken all the same: its name and host are looked up."""
        taken: dict[str, str] = {}
        refused: dict[str, str] = {}
        same: list[str] = []
        left = list(wanted)
        while left:
            one = left.pop(0)
            done = _run(submission(self._sweep, one))
            if done.returncode and slurm_text.is_away(done.stderr):
                try:
                    number = self._looked_up(one.host)
                    done = done if number else _run(submission(self._sweep, one))
                except Away:
                    number = ""
                if number:
                    taken[one.host] = number
                    continue
            if done.returncode == 0 and done.stdout.strip():
                taken[one.host] = done.stdout.strip().split(";")[0]
                same.clear()
                continue
            away = slurm_text.is_away(done.stderr)
            refused[one.host] = _UNKNOWN if away else slurm_text.refusal(done.stderr)
            same = [*same, refused[one.host]] if same[-1:] == [refused[one.host]] else [refused[one.host]]
            if away or len(same) >= _SAME:
                refused |= dict.fromkeys((other.host for other in left), refused[one.host])
                break
        return taken, refused

    def _looked_up(self, host: str) -> str:
        """Return the job that a host has, "" if it has none: by an answer that is later than what was asked for before. Raises Away."""
        self.jobs()
        time.sleep(_SETTLES_S)
        job = self.jobs().get(host)
        return job.id if job is not None and job.phase != "over" else ""

    def cancel(self, jobs: Iterable[Job]) -> None:
        if numbers := [job.id for job in jobs]:
            _run(["scancel", *numbers])

    def fetch(self, hosts: Sequence[str]) -> None:
        """Nothing: jobs write into the folder."""

    def _asked(self, argv: Sequence[str]) -> str:
        ends = time.monotonic() + self._patience_s
        while True:
            done = _run(argv)
            if done.returncode == 0:
                return done.stdout
            if not slurm_text.is_away(done.stderr) or time.monotonic() >= ends:
                words = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
                raise Away(argv[0], words, "see that Slurm answers here, then run the same command again")
            time.sleep(1.0)


def submission(sweep: Sweep, one: Submission) -> list[str]:
    """Return the command that submits one job. Pure.

    What must be so stands behind the site's own options, and in front of what SBATCH_* says.
    """
    name = f"{sweep.job_name}-{one.lane}" if one.lane else sweep.job_name
    conditions = (["singleton"] if one.lane else []) + ([f"afterok:{one.after}"] if one.after else [])
    own_limit = (
        any(word.startswith(("-t", "--time")) for word in sweep.sbatch) or "SBATCH_TIMELIMIT" in os.environ
    )
    limit = [f"--time={one.limit_min}"] if one.limit_min not in (0, sweep.limit_min) and not own_limit else []
    return [
        "sbatch", "--parsable", *limit, "-N1", "--no-requeue", "-w", one.host, "-J", name, "-D", "/",
        "-o", f"{sweep.folder}/log/{one.host}.%j",
        *([f"--dependency={','.join(conditions)}", "--kill-on-invalid-dep=yes"] if conditions else []),
        f"{sweep.folder}/job.sh", *one.words,
    ]  # fmt: skip


def _run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    # what a user set for squeue and sinfo would change what they list
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SQUEUE_", "SINFO_"))} | {"LC_ALL": "C"}
    if argv[0] == "sbatch":
        env = dict(os.environ)
    try:
        return subprocess.run(
            argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S, check=False
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([*argv], 1, "", f"{argv[0]}: timed out")
    except OSError as error:
        return subprocess.CompletedProcess([*argv], 127, "", f"{argv[0]}: {error.strerror}")
