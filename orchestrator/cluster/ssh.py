"""Start jobs on hosts without a scheduler. ssh starts each job, detached, behind a lock on a disk of the host.

The job holds the lock and outlives the connection. The lock ends with the job. Hosts that can read the sweep's folder
work there. Other hosts get the job and the experiments, and `fetch` copies their results. Users and keys are from
ssh_config. PINSWEEP_SSH_CONFIG names another file.
"""

from __future__ import annotations

import hashlib
import io
import os
import shlex
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

from orchestrator.cluster import folder, results, ssh_text
from orchestrator.cluster.engine import AT_ONCE, CANARY, Engine, Host, Job, Submission, Unavailable
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.ssh_text import LookAnswer
from orchestrator.machine import planted, safe_files
from parsers.errors import UserError

CONFIG: Final = "PINSWEEP_SSH_CONFIG"
_CONNECT_S: Final = 5
_FETCH_S: Final = 60
_MAX_ANSWER_BYTES: Final = 64 << 10
_MAX_FETCH_BYTES: Final = 64 << 20
_FANOUT: Final = 64
_FRESH_S: Final = 2.0  # how long an answer is used


class Ssh(Engine):
    """ssh as the engine of a sweep."""

    def __init__(self, sweep: Sweep) -> None:
        super().__init__(sweep)
        self._answers: dict[str, LookAnswer] = {}
        self._asked_s = 0.0  # by the monotonic clock; 0: never

    def hosts(self, names: Sequence[str]) -> Mapping[str, Host]:
        self._look()
        return {name: self._answers[name].host for name in names}

    def jobs(self) -> Mapping[str, Job]:
        self._look()
        logs = results.read_logs(self.sweep.path("log"))
        return {
            host: Job(host=host, id=logs[host].job if host in logs else "1", phase="runs", state="RUNNING")
            for host, answer in self._answers.items()
            if answer.runs
        }

    def submit(self, submissions: Iterable[Submission]) -> tuple[dict[str, str], dict[str, str]]:
        # no file here may start a job later
        self._look()
        job_ids: dict[str, str] = {}
        refusals: dict[str, str] = {}
        scripts: dict[str, str] = {}
        packages: dict[str, bytes] = {}
        busy = sum(answer.runs for answer in self._answers.values())
        room = self.sweep.at_once - busy if self.sweep.at_once else len(self.sweep.hosts)
        logs = results.read_logs(self.sweep.path("log"))
        for job in submissions:
            host = job.host
            if job.after or len(scripts) >= room:
                refusals[host] = CANARY if job.after else AT_ONCE
                continue
            number = job_ids[host] = str(int(logs[host].job) + 1 if host in logs else 1)
            is_apart = self._answers[host].is_apart
            call = shlex.join(["start", *job.words])
            apart = "1" if is_apart else ""
            scripts[host] = ssh_text.script(self.sweep, host, call, apart=apart, number=number)
            if is_apart:
                packages[host] = _pack(self.sweep, host)
        for host, (rc, text) in _ask(scripts, packages).items():
            if rc != 0 or text.strip() not in ("started", "runs"):
                refusals[host] = ssh_text.problem(rc, text)
                del job_ids[host]
        self._asked_s = 0.0
        return job_ids, refusals

    def fetch(self, hosts: Sequence[str]) -> None:
        sweep = self.sweep
        sources = [host for host in hosts if host in self._answers and self._answers[host].has_results]
        scripts = {host: ssh_text.script(sweep, host, "fetch", known=_digest(sweep.result(host))) for host in sources}
        cleanups: dict[str, str] = {}
        for host, (rc, text) in _ask(scripts, within_s=_FETCH_S, max_bytes=_MAX_FETCH_BYTES).items():
            try:
                files = ssh_text.parse_fetch(rc, text)
                if files is None:
                    raise OSError(0, ssh_text.problem(rc, text if rc else "incomplete", _FETCH_S))
                for number, log in files.logs.items():
                    folder.put(sweep.path("log", f"{host}.{number}"), log)
                if files.results is not None:
                    folder.put(sweep.result(host), files.results)
            except OSError as error:
                why = f"its results stay on the host, and cannot be fetched: {error.strerror}"
                answer = self._answers[host]
                self._answers[host] = replace(answer, host=replace(answer.host, problem=why))
                continue
            if not self._answers[host].runs:
                cleanups[host] = ssh_text.script(sweep, host, "clean", known=files.digest)
        _ask(cleanups)
        if self._asked_s:
            self._asked_s = time.monotonic()

    def _look(self) -> None:
        if self._asked_s and time.monotonic() - self._asked_s < _FRESH_S:
            return
        sweep = self.sweep
        try:
            folder.refuse_foreign(Path(sweep.folder), "log", folder.JOB, folder.NAME)
        except UserError as error:
            raise Unavailable(error.place, error.cause, error.hint) from None
        python = "true" if sweep.setup else sweep.python or "true"
        answers = _ask({h: ssh_text.script(sweep, h, "look", python=python) for h in sweep.hosts})
        self._answers = {h: ssh_text.parse_look(h, *answer, python=sweep.python) for h, answer in answers.items()}
        self._asked_s = time.monotonic()


def _pack(sweep: Sweep, host: str) -> bytes:
    """Return the package for a host that cannot read the folder: the job, the experiments, and the host's results."""
    names = [folder.NAME, folder.JOB, *sweep.experiments]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in [*names, *([f"{host}.db"] if sweep.result(host).exists() else [])]:
            archive.add(sweep.path(name), arcname=name)
    return packed.getvalue()


def _digest(path: Path) -> str:
    try:
        with safe_files.open_file(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return "none"


def _ask(
    scripts: Mapping[str, str],
    packages: Mapping[str, bytes] | None = None,
    *,
    within_s: float = ssh_text.ANSWER_S,
    max_bytes: int = _MAX_ANSWER_BYTES,
) -> dict[str, tuple[int | None, str]]:
    """Run a script on each host, and return host → (exit status, output).

    The status is None without an answer in time, and 255 if ssh failed. `packages` is the standard input of the
    scripts. A host that prints more than `max_bytes` has its ssh ended.
    """
    if not scripts:
        return {}
    limiter, ssh = planted.which("prlimit"), planted.which("ssh")
    if not (limiter and ssh):
        raise UserError("--via ssh", "needs ssh, and prlimit of util-linux", "install them, or --via slurm")
    config = os.environ.get(CONFIG)
    options = [
        *("BatchMode=yes", f"ConnectTimeout={_CONNECT_S}", "ServerAliveInterval=5", "ServerAliveCountMax=2"),
        *("ForwardAgent=no", "ForwardX11=no"),
    ]
    # the limit is on every file, so it cannot be below the size of known_hosts
    argv = [
        limiter,
        f"--fsize={_MAX_FETCH_BYTES}",
        "--core=0",
        "--",
        ssh,
        *(["-F", config] if config else []),
    ]
    argv += [f"-o{option}" for option in options]

    def ask(host: str) -> tuple[int | None, str]:
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            # every login shell takes these words; bash reads its script from stdin, byte by byte
            command, stdin = (
                [*argv, host, "exec bash -s"],
                scripts[host].encode() + (packages or {}).get(host, b""),
            )
            try:
                done = subprocess.run(command, input=stdin, stdout=stdout, stderr=stderr, timeout=within_s, check=False)
            except subprocess.TimeoutExpired:
                return None, ""
            if done.returncode == -signal.SIGXFSZ or stdout.tell() > max_bytes:
                return 255, f"its answer is larger than {max_bytes >> 10} KiB"
            stdout.seek(0)
            stderr.seek(0)
            text = ssh_text.answer(stdout.read().decode("utf-8", "replace"))
            return done.returncode, text or stderr.read(_MAX_ANSWER_BYTES).decode("utf-8", "replace")

    with ThreadPoolExecutor(_FANOUT) as pool:
        return dict(zip(scripts, pool.map(ask, scripts), strict=True))
