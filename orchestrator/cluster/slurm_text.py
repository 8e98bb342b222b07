"""What sinfo, squeue and sbatch print, and what it means. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.cluster.engine import Host, Job

SINFO: Final = "%n|%T|%z|%f|%P|%l|%E"
SQUEUE: Final = "%n|%A|%T|%r"
"""Columns that have been the same since long before `--json`, whose layout changes with releases."""

_USABLE: Final = frozenset(
    {
        "idle", "allocated", "mixed", "completing", "reserved", "planned", "blocked", "reboot", "reboot_issued", "reboot_requested",
        "powered_down", "power_down", "powering_down", "powering_up", "power_up",
    }
)  # fmt: skip
"""States of a host that will have its turn: one that is powered down is powered up for a job."""
_RUNS: Final = frozenset(
    {"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "SIGNALING", "STAGE_OUT", "STOPPED", "RESIZING"}
)
_WAITS: Final = frozenset(
    {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
)
_HELD: Final = frozenset({"REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"})
"""States of jobs that wait until somebody releases them."""
_HOPELESS: Final = (
    "PartitionTimeLimit", "PartitionConfig", "PartitionNodeLimit", "PartitionDown", "PartitionInactive", "AccountNotAllowed",
    "InvalidAccount", "InvalidQOS", "DependencyNeverSatisfied", "launch failed", "JobHeld", "BadConstraints", "QOSMaxWall",
    "AssocMaxWall",
)  # fmt: skip
"""Beginnings or parts of reasons that do not go away while nobody does anything about them. Hosts that are out (ReqNodeNotAvail) are told by
sinfo."""
_MEANS: Final = {
    "PartitionConfig": "the partition takes no such job: it asks for too long, or for a host that is not of it",
    "PartitionTimeLimit": "it asks for longer than the partition allows",
    "launch failed requeued held": "the prolog, or its start, failed on the host, whose slurmd has it in its log",
}
"""What Slurm's word for a reason does not tell."""

_CPU: Final = re.compile(
    r"haswell|broadwell|skylake|cascade|cooper|ice-?lake|sapphire|emerald|granite|sierra|knl|naples|rome|milan|genoa|bergamo|turin"
    r"|zen\d|epyc|xeon|opteron|power\d|a64fx|grace|altra|neoverse|graviton|(gold|platinum|silver|bronze)[-_]?\d{4}|^(amd|intel|arm)$"
    r"|^(hsw|bdw|skx|clx|icx|spr|emr|gnr)$|^avx|x86-64-v\d",
    re.IGNORECASE,
)
"""Features that tell processors apart. Racks, networks and licences do not: a site has one of these for each host."""

_AWAY: Final = re.compile(
    r"Unable to contact|timed out|Connection refused|Zero Bytes|Socket|communication|backup controller",
    re.IGNORECASE,
)


def hosts(
    text: str, asked: Iterable[str], *, reserved: bool = False, partitions: Collection[str] = ()
) -> dict[str, Host]:
    """Return what sinfo says of each host: a line per node and partition. Hosts that it does not name are unknown to Slurm.

    `reserved`: the jobs name a reservation, and so may run on hosts that one of maintenance holds. `partitions`: those that the jobs name; none: they
    go into the default one.
    """
    found: dict[str, Host] = {}
    allowed: dict[str, list[int | None]] = {}
    for line in text.splitlines():
        parts = line.split("|", 6)
        if len(parts) == 7:
            name, state, cores, features, partition, limit, reason = parts
            found[name] = _host(name, state, cores, features, reason, reserved=reserved)
            if partition.removesuffix("*") in partitions or (not partitions and partition.endswith("*")):
                allowed.setdefault(name, []).append(minutes(limit))
    for name, bounds in allowed.items():  # a job that may go into several partitions takes the one that fits
        known = [bound for bound in bounds if bound]
        found[name] = replace(found[name], allowed_min=max(known) if len(known) == len(bounds) else 0)
    return {name: found.get(name) or Host(name=name, problem=_NOT_SHOWN) for name in asked}


_TIME: Final = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


def minutes(text: str) -> int | None:
    """Return a time as Slurm writes and takes it: "30", "1:30" (minutes), "2:00:00", "1-12" (days and hours); 0: no bound, None: it is no time."""
    if text.lower() in ("infinite", "unlimited", "-1"):
        return 0
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    days, first, second, third = (int(part) if part else None for part in found.groups())
    if days is not None:
        seconds = ((days * 24 + (first or 0)) * 60 + (second or 0)) * 60 + (third or 0)
    elif third is not None:
        seconds = ((first or 0) * 60 + (second or 0)) * 60 + third
    else:
        seconds = (first or 0) * 60 + (second or 0)
    return -(-seconds // 60)


def option(words: Sequence[str], short: str, long: str) -> str:
    """Return what sbatch takes for an option of these words, the last that there is: `-p a`, `-pa`, `--partition=a`, `--partition a`; "": none."""
    found = ""
    for word, after in itertools.zip_longest(words, words[1:], fillvalue=""):
        name, sign, value = word.partition("=")
        if word == short or (name == long and not sign):
            found = after
        elif name == long:
            found = value
        elif word.startswith(short) and not word.startswith("--"):
            found = word.removeprefix(short)
    return found


_NOT_SHOWN: Final = (
    "Slurm does not know it, or hides it while it is powered down (PrivateData=cloud shows such hosts)"
)


def _host(name: str, state: str, cores: str, features: str, reason: str, *, reserved: bool) -> Host:
    word = state.rstrip("*~#!%$@^-+")
    silent = "*" in state
    problem = ""
    if (word not in _USABLE and not (word == "maint" and reserved)) or silent:
        why = "" if reason in ("none", "(null)", "") else f' "{reason}"'
        problem = f"{word}{' and not responding' if silent else ''}{why}"
    if problem == "maint":
        problem = "maint (a reservation: --sbatch --reservation=NAME)"
    cpu = sorted(one for one in features.split(",") if _CPU.search(one))
    return Host(name=name, problem=problem, kind=" ".join([cores, *cpu]), idle=state == "idle")


def jobs(text: str) -> dict[str, Job]:
    """Return the newest job of each host, of those that squeue lists; one that is not over counts before those that are."""
    found: dict[str, Job] = {}
    for line in text.splitlines():
        parts = line.split("|", 3)
        if len(parts) == 4 and parts[0] and parts[1].isdigit():
            job = _job(*parts)
            before = found.get(job.host)
            if before is None or (job.phase != "over", int(job.id)) > (
                before.phase != "over",
                int(before.id),
            ):
                found[job.host] = job
    return found


def _job(host: str, number: str, state: str, reason: str) -> Job:
    if state in _WAITS:
        hopeless = state in _HELD or any(word in reason for word in _HOPELESS)
        reason = f"{reason}: {_MEANS[reason]}" if reason in _MEANS else reason
        return Job(host=host, id=number, phase="waits", state=state, reason=reason, hopeless=hopeless)
    if state in _RUNS:
        return Job(host=host, id=number, phase="runs", state=state)
    known = reason if reason not in ("None", "") else ""
    return Job(host=host, id=number, phase="over", state=state, reason=known)


def ended(text: str, jobs: Mapping[str, str]) -> dict[str, Job]:
    """Return the jobs (host → id) that have ended by what sacct prints: "7|CANCELLED by 0"."""
    states = dict(line.split("|", 1) for line in text.splitlines() if "|" in line)
    found = ((host, number, states.get(number, "").partition(" ")[0]) for host, number in jobs.items())
    return {
        host: Job(host=host, id=number, phase="over", state=state)
        for host, number, state in found
        if state and state not in _RUNS | _WAITS
    }


def is_away(stderr: str) -> bool:
    """Tell whether Slurm did not answer, so that nothing is known of what was asked."""
    return bool(_AWAY.search(stderr))


def refusal(stderr: str) -> str:
    """Return why sbatch took no job: "QOSMaxSubmitJobPerUserLimit", else its last words."""
    lines = [re.sub(r"^sbatch: (error: )?", "", line).strip() for line in stderr.splitlines()]
    lines = [line for line in lines if line and not line.startswith('Try "sbatch')]
    limit = next((line for line in lines if re.fullmatch(r"\w*(Max|Grp|Limit)\w*", line)), "")
    said = next(
        (line for line in reversed(lines) if "failed" in line), lines[-1] if lines else "sbatch said nothing"
    )
    return limit or said.removeprefix("Batch job submission failed: ")


def folded_lines(lines: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what each line stands for, once: line → its hosts, in their order."""
    found: dict[str, list[str]] = {}
    for host, line in lines.items():
        found.setdefault(line, []).append(host)
    return found
