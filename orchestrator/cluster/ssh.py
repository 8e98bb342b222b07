"""Hosts without a scheduler: ssh starts the job on each, detached and behind a lock on a disk of the host. I/O.

The job itself holds the lock, and what it forks: it outlives the connection, and the lock is gone with the job. Hosts that see the sweep's
folder work in it, as under Slurm; to the others the job and the experiments are sent, and `fetch` brings what they have measured. Users,
keys and host keys are ssh_config's; PINSWEEP_SSH_CONFIG names another one.
"""

from __future__ import annotations

import hashlib
import io
import os
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

from orchestrator.cluster import folder, logs, ssh_text
from orchestrator.cluster.engine import AT_ONCE, CANARY, Away, Host, Job, Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.ssh_text import Seen
from orchestrator.machine import planted, safe_files
from parsers.errors import UserError

CONFIG: Final = "PINSWEEP_SSH_CONFIG"
_CONNECT_S: Final = 5
_FETCH_S: Final = 60
_ANSWER_BYTES: Final = 64 << 10
_FETCH_BYTES: Final = 64 << 20
_FANOUT: Final = 64
_FRESH_S: Final = 2.0  # in which an answer is not asked for again


class Ssh:
    """An Engine."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._seen: dict[str, Seen] = {}
        self._at = 0.0

    def hosts(self, names: Sequence[str]) -> Mapping[str, Host]:
        self._look()
        return {name: self._seen[name].host for name in names}

    def jobs(self) -> Mapping[str, Job]:
        self._look()
        ends = logs.read(self._sweep.path("log"))
        return {
            host: Job(host=host, id=ends[host].job if host in ends else "1", phase="runs", state="RUNNING")
            for host, one in self._seen.items()
            if one.runs
        }

    def ended(self, jobs: Mapping[str, str]) -> Mapping[str, Job]:  # noqa: ARG002 (of Engine)
        """Nothing: nobody records it."""
        return {}

    def submit(self, wanted: Iterable[Submission]) -> tuple[dict[str, str], dict[str, str]]:
        """See Engine. Who is beyond --at-once, or behind a canary, gets no job now: nobody stays here to start it later."""
        self._look()
        taken: dict[str, str] = {}
        refused: dict[str, str] = {}
        commands: dict[str, str] = {}
        sent: dict[str, bytes] = {}
        busy = sum(one.runs for one in self._seen.values())
        room = self._sweep.at_once - busy if self._sweep.at_once else len(self._sweep.hosts)
        before = logs.read(self._sweep.path("log"))
        for one in wanted:
            if one.after:
                refused[one.host] = CANARY
            elif len(commands) >= room:
                refused[one.host] = AT_ONCE
            else:
                number = int(before[one.host].job) + 1 if one.host in before else 1
                taken[one.host] = str(number)
                apart = self._seen[one.host].apart
                commands[one.host] = ssh_text.start_command(self._sweep, one, number, apart=apart)
                if apart:
                    sent[one.host] = _packed(self._sweep, one.host)
        for host, (rc, text) in _ask(commands, sent=sent).items():
            if rc != 0 or text.strip() not in ("started", "runs"):
                refused[host] = ssh_text.problem_of(rc, text)
                del taken[host]
        self._at = 0.0
        return taken, refused

    def cancel(self, jobs: Iterable[Job]) -> None:
        """Nothing: no job waits here."""

    def fetch(self, hosts: Sequence[str]) -> None:
        """See Engine. What is in the folder by now, and is no job's any more, is removed from the host."""
        from_there = [host for host in hosts if host in self._seen and self._seen[host].kept]
        known = {host: _digest(self._sweep, host) for host in from_there}
        asked = {host: ssh_text.fetch_command(self._sweep, host, known[host]) for host in from_there}
        done: dict[str, str] = {}
        for host, (rc, text) in _ask(asked, within_s=_FETCH_S, most=_FETCH_BYTES).items():
            found = ssh_text.fetched(rc, text)
            try:
                if found is None:
                    raise OSError(0, ssh_text.problem_of(rc, text if rc else "not whole", _FETCH_S))
                for number, log in found.logs.items():
                    folder.put(self._sweep.path("log", f"{host}.{number}"), log)
                if found.results is not None:
                    folder.put(self._sweep.result(host), found.results)
            except OSError as error:  # it stays where it is
                seen = self._seen[host]
                why = f"its results are on the host, and could not be fetched: {error.strerror}"
                self._seen[host] = replace(seen, host=replace(seen.host, problem=why))
                continue
            if not self._seen[host].runs:
                done[host] = ssh_text.clean_command(self._sweep, host, found.digest)
        _ask(done)
        if self._at:
            self._at = time.monotonic()

    def _look(self) -> None:
        if self._at and time.monotonic() - self._at < _FRESH_S:
            return
        try:
            folder.refuse_foreign(Path(self._sweep.folder), "log", folder.JOB, folder.NAME)
        except UserError as error:
            raise Away(error.place, error.cause, error.hint) from None
        answers = _ask({host: ssh_text.look_command(self._sweep, host) for host in self._sweep.hosts})
        self._seen = {
            host: ssh_text.seen(host, *answers.get(host, (None, "")), python=self._sweep.python)
            for host in self._sweep.hosts
        }
        self._at = time.monotonic()


def _packed(sweep: Sweep, host: str) -> bytes:
    """Return what a host that does not see the folder needs of it: the job, the experiments, its own results so far."""
    names = [folder.NAME, "job.sh", *sweep.experiments]
    if sweep.result(host).exists():
        names.append(f"{host}.db")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in names:
            archive.add(sweep.path(name), arcname=name)
    return packed.getvalue()


def _digest(sweep: Sweep, host: str) -> str:
    try:
        with safe_files.open_file(sweep.result(host)) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return "none"


def _ask(
    commands: Mapping[str, str],
    *,
    sent: Mapping[str, bytes] | None = None,
    within_s: float = ssh_text.ANSWER_S,
    most: int = _ANSWER_BYTES,
) -> dict[str, tuple[int | None, str]]:
    """Run a command on each host at once: host → (exit status, what it printed); None: no answer in time. ssh's own failure is 255.

    `sent`: what a host's command gets by stdin. A host that prints more than `most` bytes has its ssh ended.
    """
    if not commands:
        return {}
    limiter, ssh = planted.which("prlimit"), planted.which("ssh")
    if not (limiter and ssh):
        raise UserError("--via ssh", "needs ssh, and prlimit of util-linux", "install them, or --via slurm")
    config = os.environ.get(CONFIG)
    # the kernel ends a process that writes a file beyond the limit; known_hosts may be larger than an answer
    argv = [
        limiter, f"--fsize={_FETCH_BYTES}", "--core=0", "--", ssh, *(["-F", config] if config else []),
        "-oBatchMode=yes", f"-oConnectTimeout={_CONNECT_S}", "-oServerAliveInterval=5", "-oServerAliveCountMax=2",
        "-oForwardAgent=no", "-oForwardX11=no",
    ]  # fmt: skip

    def answer(host: str) -> tuple[int | None, str]:
        words = [*argv, host, ssh_text.wrapped(commands[host])]
        with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
            try:
                done = subprocess.run(
                    words, input=(sent or {}).get(host, b""), stdout=printed, stderr=errors, timeout=within_s, check=False
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return None, ""
            if done.returncode == -signal.SIGXFSZ or printed.tell() > most:
                return 255, f"its answer is larger than {most >> 10} KiB"
            printed.seek(0)
            errors.seek(0)
            text = ssh_text.answer(printed.read().decode("utf-8", "replace"))
            return done.returncode, text or errors.read(_ANSWER_BYTES).decode("utf-8", "replace")

    with ThreadPoolExecutor(_FANOUT) as pool:
        return dict(zip(commands, pool.map(answer, commands), strict=True))
