"""Parse the output of sinfo, squeue, sacct and sbatch. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.cluster.engine import Host, Job

SINFO: Final = "%n|%T|%z|%f|%P|%l|%E"
SQUEUE: Final = "%n|%A|%T|%r"
"""Columns that all releases have; the layout of `--json` changes with releases."""

_USABLE: Final = re.compile(
    "idle|allocated|mixed|completing|reserved|planned|blocked|reboot(_issued|_requested)?"
    "|powered_down|power(ing)?_(down|up)"
)
"""States of a host that will take a job: one that is powered down is powered up for it."""
_RUNS: Final = re.compile("RUNNING|COMPLETING|CONFIGURING|SUSPENDED|SIGNALING|STAGE_OUT|STOPPED|RESIZING")
_HELD: Final = re.compile("REQUEUE_HOLD|RESV_DEL_HOLD|SPECIAL_EXIT")
_LIVE: Final = re.compile(f"{_RUNS.pattern}|{_HELD.pattern}|PENDING|REQUEUED|REQUEUE_FED")
_HOPELESS: Final = re.compile(
    "Partition(TimeLimit|Config|NodeLimit|Down|Inactive)|AccountNotAllowed|InvalidAccount|InvalidQOS"
    "|DependencyNeverSatisfied|launch failed|JobHeld|BadConstraints|QOSMaxWall|AssocMaxWall"
)
"""Reasons that need a person. ReqNodeNotAvail is not one: sinfo says more about the host."""
_EXPLANATIONS: Final = {
    "PartitionConfig": "the job asks for too long, or for a host outside the partition",
    "PartitionTimeLimit": "the job asks for longer than the partition allows",
    "launch failed requeued held": "the prolog failed on the host (see the log of slurmd)",
}
_NOT_LISTED: Final = "not known to Slurm, or hidden while powered down (PrivateData=cloud)"

_CPU: Final = re.compile(
    r"haswell|broadwell|skylake|cascade|cooper|ice-?lake|sapphire|emerald|granite|sierra|knl|naples|rome|milan|genoa"
    r"|bergamo|turin|zen\d|epyc|xeon|opteron|power\d|a64fx|grace|altra|neoverse|graviton"
    r"|(gold|platinum|silver|bronze)[-_]?\d{4}|^(amd|intel|arm)$|^(hsw|bdw|skx|clx|icx|spr|emr|gnr)$|^avx|x86-64-v\d",
    re.IGNORECASE,
)
"""Features that name a CPU. Racks, networks and licences do not make a kind of host."""

_UNAVAILABLE: Final = re.compile(
    r"Unable to contact|timed out|Connection refused|Zero Bytes|Socket|communication|backup controller",
    re.IGNORECASE,
)
_TIME: Final = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


def parse_hosts(text: str, names: Iterable[str], *, reserved: bool = False, partitions: str = "") -> dict[str, Host]:
    """Return the facts about each host from sinfo, which prints a line per host and partition.

    `reserved`: the jobs have a reservation, and may run on hosts in maintenance. `partitions`: the partitions of the
    jobs, separated by commas, or "" for the default partition.
    """
    host_by_name: dict[str, Host] = {}
    bounds: dict[str, list[int]] = {}
    for line in text.splitlines():
        fields = line.split("|", 6)
        if len(fields) == 7:
            name, state, cores, features, partition, limit, reason = fields
            host_by_name[name] = _host(name, state, cores, features, reason, reserved=reserved)
            if partition.rstrip("*") in partitions.split(",") or (not partitions and partition.endswith("*")):
                bounds.setdefault(name, []).append(minutes(limit))
    for name, limits in bounds.items():  # a job for several partitions takes the one that fits
        host_by_name[name] = replace(host_by_name[name], allowed_min=max(limits) if all(limits) else 0)
    return {name: host_by_name.get(name) or Host(name=name, problem=_NOT_LISTED) for name in names}


def _host(name: str, state: str, cores: str, features: str, reason: str, *, reserved: bool) -> Host:
    word, silent = state.rstrip("*~#!%$@^-+"), "*" in state
    problem = ""
    if silent or not (_USABLE.fullmatch(word) or (word == "maint" and reserved)):
        quoted = "" if reason in ("none", "(null)", "") else f' "{reason}"'
        problem = f"{word}{' and not responding' if silent else ''}{quoted}"
    if problem == "maint":
        problem = "maint (a reservation: --sbatch --reservation=NAME)"
    cpu = sorted(feature for feature in features.split(",") if _CPU.search(feature))
    return Host(name=name, problem=problem, kind=" ".join([cores, *cpu]), idle=state == "idle")


def minutes(text: str) -> int:
    """Return the minutes of a Slurm time: "30", "1:30", "2:00:00", "1-12". 0 for no limit or an invalid time."""
    match = _TIME.fullmatch(text)
    if match is None:
        return 0
    days, first, second, third = (int(part or 0) for part in match.groups())
    if match[1] is not None:  # days-hours:minutes:seconds
        seconds = ((days * 24 + first) * 60 + second) * 60 + third
    elif match[4] is not None:
        seconds = (first * 60 + second) * 60 + third
    else:
        seconds = first * 60 + second
    return -(-seconds // 60)


def option(words: Sequence[str], short: str, long: str) -> str:
    """Return the last value of an sbatch option (`-p a`, `-pa`, `--partition=a`, `--partition a`), or ""."""
    value = ""
    for word, following in itertools.zip_longest(words, words[1:], fillvalue=""):
        name, sign, text = word.partition("=")
        if word == short or (name == long and not sign):
            value = following
        elif name == long:
            value = text
        elif word.startswith(short) and not word.startswith("--"):
            value = word.removeprefix(short)
    return value


def parse_jobs(text: str) -> dict[str, Job]:
    """Return the newest job of each host that squeue lists; one that is not over comes first."""
    newest: dict[str, Job] = {}
    for line in text.splitlines():
        fields = line.split("|", 3)
        if len(fields) == 4 and fields[0] and fields[1].isdigit():
            job = _job(*fields)
            newest[job.host] = max(job, newest.get(job.host, job), key=lambda j: (j.phase != "over", int(j.id)))
    return newest


def _job(host: str, number: str, state: str, reason: str) -> Job:
    if _RUNS.fullmatch(state):
        return Job(host=host, id=number, phase="runs", state=state)
    if not _LIVE.fullmatch(state):
        return Job(host=host, id=number, phase="over", state=state, reason="" if reason == "None" else reason)
    hopeless = bool(_HELD.fullmatch(state) or _HOPELESS.search(reason))
    reason = f"{reason}: {_EXPLANATIONS[reason]}" if reason in _EXPLANATIONS else reason
    return Job(host=host, id=number, phase="waits", state=state, reason=reason, hopeless=hopeless)


def parse_ended(text: str, jobs: Mapping[str, str]) -> dict[str, Job]:
    """Return the jobs (host → id) that have ended by the lines of sacct: "7|CANCELLED by 0"."""
    states = dict(line.split("|", 1) for line in text.splitlines() if "|" in line)
    rows = ((host, number, states.get(number, "").partition(" ")[0]) for host, number in jobs.items())
    return {
        host: Job(host=host, id=number, phase="over", state=state)
        for host, number, state in rows
        if state and not _LIVE.fullmatch(state)
    }


def is_unavailable(stderr: str) -> bool:
    """Return whether Slurm did not answer, so that the outcome is not known."""
    return bool(_UNAVAILABLE.search(stderr))


def refusal(stderr: str) -> str:
    """Return the reason why sbatch refused a job: the name of a limit, or its last words."""
    lines = [re.sub(r"^sbatch: (error: )?", "", line).strip() for line in stderr.splitlines()]
    lines = [line for line in lines if line and not line.startswith('Try "sbatch')] or ["sbatch gave no reason"]
    reasons = (line for line in lines if "failed" in line or re.fullmatch(r"\w*(Max|Grp|Limit)\w*", line))
    return next(reasons, lines[-1]).removeprefix("Batch job submission failed: ")
