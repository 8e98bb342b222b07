"""Hosts without a scheduler: ClusterShell starts the job on each, detached and behind a lock on a disk of the host. I/O.

The job itself holds the lock, and what it forks: it outlives the connection, and the lock is gone with the job. The hosts see the sweep's
folder, as they do under Slurm. Users, keys and host keys are ssh_config's; PINSWEEP_SSH_CONFIG names another one.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from orchestrator.cluster import logs, nodeset
from orchestrator.cluster.engine import Host, Job, Submission
from orchestrator.cluster.folder import Sweep
from parsers.errors import UserError

CONFIG: Final = "PINSWEEP_SSH_CONFIG"
_CONNECT_S: Final = 5
_ANSWER_S: Final = 20
_FANOUT: Final = 64
_FRESH_S: Final = 2.0  # in which an answer is not asked for again

_LOOK: Final = """\
if pidof slurmd >/dev/null 2>&1; then echo slurmd; exit; fi
if [ ! -d {above} ]; then echo unshared; exit; fi
lock={local}/lock
if [ -e "$lock" ] && ! flock -n "$lock" true; then echo runs; else echo free; fi
LC_ALL=C lscpu 2>/dev/null | awk -F: '/^ *Socket.s.:/ {{s=$2}} /^ *Core.s. per/ {{c=$2}} /^ *Thread.s. per/ {{t=$2}} END {{print s+0 ":" c+0 ":" t+0}}'
"""

_START: Final = """\
local={local}
mkdir -m 700 -- "$local" 2>/dev/null
[ -d "$local" ] && [ -O "$local" ] && [ ! -L "$local" ] || {{ echo "cannot make $local"; exit 9; }}
exec 9>>"$local/lock" || exit 9
flock -w 2 9 || {{ echo runs; exit 0; }}
PINSWEEP_HOST={host} setsid nohup bash {script} {words} </dev/null >{log} 2>&1 &
sleep 0.2
[ -s {log} ] || kill -0 $! || exit 8
echo started
"""
"""The job inherits the lock: there is no moment at which nobody holds it."""


class Ssh:
    """An Engine."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._seen: dict[str, Host] = {}
        self._runs: frozenset[str] = frozenset()
        self._at = 0.0

    def hosts(self, names: Sequence[str]) -> Mapping[str, Host]:
        self._look()
        return {name: self._seen[name] for name in names}

    def jobs(self) -> Mapping[str, Job]:
        self._look()
        ends = logs.read(self._sweep.path("log"))
        return {
            host: Job(host=host, id=ends[host].job if host in ends else "1", phase="runs", state="RUNNING")
            for host in self._runs
        }

    def submit(self, wanted: Iterable[Submission]) -> tuple[dict[str, str], dict[str, str]]:
        """See Engine. Who is beyond --at-once, or behind a canary, gets no job now: nobody stays here to start it later."""
        taken: dict[str, str] = {}
        refused: dict[str, str] = {}
        commands: dict[str, str] = {}
        room = self._sweep.at_once - len(self._runs) if self._sweep.at_once else len(self._sweep.hosts)
        before = logs.read(self._sweep.path("log"))
        for one in wanted:
            if one.after:
                refused[one.host] = "behind the canary: the same command again, when it is done"
            elif len(commands) >= room:
                refused[one.host] = (
                    f"--at-once {self._sweep.at_once}: the same command again, when there is room"
                )
            else:
                number = int(before[one.host].job) + 1 if one.host in before else 1
                taken[one.host] = str(number)
                commands[one.host] = start_command(self._sweep, one, number)
        for host, (rc, text) in _ask(commands).items():
            if rc != 0 or text.strip() not in ("started", "runs"):
                refused[host] = problem_of(rc, text)
                del taken[host]
        self._at = 0.0
        return taken, refused

    def cancel(self, jobs: Iterable[Job]) -> None:
        """Nothing: no job waits here."""

    def fetch(self, hosts: Sequence[str]) -> None:
        """Nothing: jobs write into the folder."""

    def _look(self) -> None:
        if self._at and time.monotonic() - self._at < _FRESH_S:
            return
        answers = _ask({host: look_command(self._sweep, host) for host in self._sweep.hosts})
        found = {host: host_of(host, *answers.get(host, (None, ""))) for host in self._sweep.hosts}
        self._seen = {name: host for name, (host, _) in found.items()}
        self._runs = frozenset(name for name, (_, runs) in found.items() if runs)
        self._at = time.monotonic()


def _local(sweep: Sweep, host: str) -> str:
    """Return a word of a shell on the host: the folder that its job works in, with the lock."""
    tmp = shlex.quote(sweep.local) if sweep.local else '"${TMPDIR:-/tmp}"'
    return f"{tmp}/{shlex.quote(f'{sweep.job_name}-{host}')}"


def look_command(sweep: Sweep, host: str) -> str:
    """Return what says of a host whether a job runs there, and of which kind it is. Pure."""
    above = str(Path(sweep.folder).parent)
    return _LOOK.format(above=shlex.quote(above), local=_local(sweep, host))


def start_command(sweep: Sweep, one: Submission, number: int) -> str:
    """Return what starts the job of a host there. Pure."""
    return _START.format(
        local=_local(sweep, one.host),
        host=shlex.quote(one.host),
        script=shlex.quote(f"{sweep.folder}/job.sh"),
        words=shlex.join(one.words),
        log=shlex.quote(f"{sweep.folder}/log/{one.host}.{number}"),
    )


def host_of(name: str, rc: int | None, text: str) -> tuple[Host, bool]:
    """Return what an answer to `look_command` says: the host, and whether its job runs. Pure."""
    word, *rest = text.split() or [""]
    if rc == 0 and word in ("runs", "free"):
        return Host(name=name, kind=rest[0] if rest else "", idle=word == "free"), word == "runs"
    if rc == 0 and word == "slurmd":
        return Host(
            name=name, problem="a slurmd runs there: its jobs would not know of this one; --via slurm"
        ), False
    if rc == 0 and word == "unshared":
        return Host(name=name, problem="does not see the folder that holds DIR/"), False
    return Host(name=name, problem=problem_of(rc, text)), False


def problem_of(rc: int | None, text: str) -> str:
    """Return why a host did not do what it was asked for: ssh's last words. `rc`: None for no answer in time. Pure."""
    if rc is None:
        return f"no answer within {_ANSWER_S} s"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else f"ssh: exit status {rc}"


def _ask(commands: Mapping[str, str]) -> dict[str, tuple[int | None, str]]:
    """Run a command on each host at once: host → (exit status, what it printed); None: no answer in time. ssh's own failure is 255."""
    if not commands:
        return {}
    try:
        from ClusterShell.Task import task_self
    except ImportError:
        raise UserError("--via ssh", "needs ClusterShell", nodeset.INSTALL) from None
    options = "-oBatchMode=yes -oServerAliveInterval=5 -oServerAliveCountMax=2"
    if config := os.environ.get(CONFIG):
        options = f"-F {shlex.quote(config)} {options}"
    task = task_self()
    task.set_info("ssh_options", options)
    task.set_info("connect_timeout", _CONNECT_S)
    task.set_info("fanout", _FANOUT)
    task.set_default("stderr", True)
    for host, command in commands.items():
        task.shell(command, nodes=host, timeout=_ANSWER_S, stdin=False)
    task.resume()
    answers: dict[str, tuple[int | None, str]] = {str(host): (None, "") for host in task.iter_keys_timeout()}
    for rc, hosts in task.iter_retcodes():
        for host in hosts:
            told = bytes(task.node_buffer(host) or b"") or bytes(task.node_error(host) or b"")
            answers.setdefault(str(host), (int(rc), told.decode("utf-8", "replace")))
    return answers
