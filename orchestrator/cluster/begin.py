"""A sweep of many hosts that is asked for: what it is, and whether a folder holds that one. I/O."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import itertools
import os
import pwd
import secrets
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.cluster import folder, limits, nodeset, submit
from orchestrator.cluster.engine import Engine
from orchestrator.cluster.folder import Sweep, Via
from orchestrator.cluster.script import job_script
from orchestrator.experiment import shipped
from orchestrator.plan.prepare import PlanOptions
from parsers.errors import UserError

_OF_MANY: Final = ("-a", "--ar")
"""How the words of a job array begin, shortened, too; no other option of sbatch begins so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked for. None, 0 and "" of --local: nothing is said of it."""

    version: str  # of this pinsweep
    experiments: tuple[Path, ...] = ()
    output: Path | None = None
    nodes: str | None = None
    via: Via | None = None
    sbatch: str | None = None
    setup: str | None = None
    local: str = ""
    at_once: int = 0
    canary: bool = False
    words: tuple[str, ...] = ()  # options of `pinsweep run` for each host
    plan: PlanOptions = dataclasses.field(default_factory=PlanOptions)


def described(
    wanted: Wanted, engine_of: Callable[[Sweep], Engine] = submit.engine_of
) -> tuple[Sweep, dict[str, str]]:
    """Return the sweep that is asked for and the experiments' copies. Nothing is written. `engine_of`: who is asked about the hosts.

    Raises UserError for every mistake, Away where nobody answers who could start jobs.
    """
    if not wanted.experiments:
        raise UserError("EXPERIMENT", "which one?", "pinsweep run EXPERIMENT --nodes NODESET -o DIR/")
    output = wanted.output or Path("DIR")
    try:
        taken = output.exists() and (not output.is_dir() or any(output.iterdir()))
    except OSError as error:
        raise UserError(str(output), error.strerror or "cannot be read", "-o names another folder") from None
    if taken:
        raise UserError(
            str(output), "is there already, and not the folder of a sweep of many hosts", "-o names a new folder"
        )  # fmt: skip
    texts = copies(wanted.experiments)
    sweep = Sweep(
        id=secrets.token_hex(4),
        folder=folder.safe(output, "-o"),
        via=wanted.via or ("slurm" if shutil.which("sbatch") else "ssh"),
        hosts=nodeset.expand(wanted.nodes or ""),
        experiments={name: folder.digest(text) for name, text in texts.items()},
        words=wanted.words,
        sbatch=sbatch_words(wanted.sbatch or ""),
        setup=wanted.setup or "",
        local=folder.safe(Path(wanted.local), "--local") if wanted.local else "",
        work=folder.safe(Path.cwd(), "the working folder"),
        at_once=wanted.at_once,
        canary=wanted.canary,
        user=_user(),
        python=folder.safe(Path(sys.executable), "Python"),
        version=wanted.version,
        created_utc=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    nodes = engine_of(sweep).hosts(sweep.hosts)
    kinds = dict.fromkeys(host.kind for host in nodes.values() if host.kind)
    takes = {kind: limits.takes(kind, wanted.experiments, wanted.plan) for kind in kinds}
    if not any(takes.values()):
        limits.takes("1:1:1", wanted.experiments, wanted.plan)  # its mistakes are told now
    sweep = dataclasses.replace(
        sweep,
        limits_min={kind: of.limit_min for kind, of in takes.items() if of},
        estimates_min={kind: of.estimate_min for kind, of in takes.items() if of},
    )
    return sweep, texts


def _user() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


def refuse_other(sweep: Sweep, wanted: Wanted) -> None:
    """Raise UserError if what is asked for is another sweep than that of the folder, or another's."""
    other = _other(sweep)
    hint = f"-o {other} begins another one; pinsweep run -o {sweep.folder} goes on with this"
    if sweep.user and sweep.user != _user():
        raise UserError(
            sweep.folder, f"is a sweep of {sweep.user}, whose jobs nobody else can start", f"pinsweep status {sweep.folder} shows it"
        )  # fmt: skip
    results = (f"{host}.db" for host in sweep.hosts)
    folder.refuse_foreign(Path(sweep.folder), "log", folder.JOB, folder.NAME, *sweep.experiments, *results)
    if folder.is_copy(sweep):
        raise UserError(
            sweep.folder,
            f"is a copy: the sweep, and what its jobs bring, is in {sweep.was}",
            f"pinsweep run -o {sweep.was} goes on there, and here once that is moved away; -o {other} begins another one",
        )
    if sweep.version != wanted.version:
        raise UserError(
            sweep.folder,
            f"was begun by pinsweep {sweep.version}, this is {wanted.version}",
            f"-o {other} begins another one",
        )
    if wanted.nodes is not None and set(nodeset.expand(wanted.nodes)) != set(sweep.hosts):
        raise UserError(sweep.folder, "is a sweep of other hosts", hint)
    for name, digest in {**sweep.experiments, folder.JOB: sweep.script}.items():
        copy = sweep.path(name)
        if digest and not _has(copy, digest):
            raise UserError(str(copy), "is not what the sweep began with", f"put it back, or: -o {other}")
    if wanted.experiments:
        texts = copies(wanted.experiments)
        if {name: folder.digest(text) for name, text in texts.items()} != dict(sweep.experiments):
            raise UserError(sweep.folder, "is a sweep of another experiment, or it was edited since", hint)
        if wanted.nodes is not None and wanted.words != sweep.words:
            raise UserError(sweep.folder, "is a sweep with other options", hint)
    given = {"local": wanted.local, "at_once": wanted.at_once}
    for name, value in given.items():
        if value and value != getattr(sweep, name):
            raise UserError(sweep.folder, f"was begun with another --{name.replace('_', '-')}", hint)
    if wanted.setup not in (None, sweep.setup) and any(sweep.result(host).exists() for host in sweep.hosts):
        raise UserError(sweep.folder, "was begun with another --setup, and has results of it", hint)


def _has(path: Path, digest: str) -> bool:
    try:
        return hashlib.sha256(folder.contents(path)).hexdigest() == digest
    except OSError:
        return False


def _other(sweep: Sweep) -> str:
    """Return a name for another sweep's folder that nobody has yet."""
    names = (f"{sweep.folder.rstrip('/')}-{number}" for number in itertools.count(2))
    return f"{next(name for name in names if not os.path.lexists(name))}/"


def going_on(sweep: Sweep, wanted: Wanted) -> Sweep:
    """Return the sweep of a folder as it goes on: in the place where the folder is now, with the --sbatch and --setup that are asked for."""
    return dataclasses.replace(
        sweep,
        folder=folder.safe(Path(sweep.folder), "-o"),
        was="",
        sbatch=sweep.sbatch if wanted.sbatch is None else sbatch_words(wanted.sbatch),
        setup=sweep.setup if wanted.setup is None else wanted.setup,
    )


def change(before: Sweep, sweep: Sweep, engine: Engine) -> str:
    """Write the folder of a sweep that goes on in another way than before, and return what changes; "": nothing.

    Raises UserError as long as jobs go by what was before, where that matters for what they measure and where they bring it.
    """
    news = {
        f"in {sweep.folder}": before.was != "",
        "with this --setup": sweep.setup != before.setup,
        "with this --sbatch": sweep.sbatch != before.sbatch,
    }
    told = [text for text, is_new in news.items() if is_new]
    if not told:
        return ""
    if before.was or sweep.setup != before.setup:
        live = [job for job in engine.jobs().values() if job.phase != "over"]
        if live:
            how = f"for {before.was}" if before.was else "with the earlier --setup"
            sooner = f"; scancel -n {','.join(sweep.job_names)} ends them" if sweep.via == "slurm" else ""
            raise UserError(
                sweep.folder,
                f"has jobs that wait or run {how} ({len(live)})",
                f"the same command again, when they have ended{sooner}",
            )
    folder.change(sweep, job_script(sweep))
    return ", ".join(told)


def copies(experiments: Sequence[Path]) -> dict[str, str]:
    """Return the copies of experiments by the names that they get in the folder. Raises UserError."""
    texts: dict[str, str] = {}
    for path in (Path(shipped.resolved(name)) for name in experiments):
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            raise UserError(str(path), "is not UTF-8") from None
        except OSError as error:
            raise UserError(str(path), error.strerror or "cannot be read", shipped.hint(path)) from None
        if texts.setdefault(path.name, text) != text:
            raise UserError(str(path), "two experiments of one name", "rename one")
    return texts


def sbatch_words(text: str) -> tuple[str, ...]:
    """Return the options for sbatch. Raises UserError for signs that a line of #SBATCH cannot hold."""
    try:
        found = tuple(shlex.split(text))
    except ValueError as error:
        raise UserError("--sbatch", f"{text!r}: {error}") from None
    for word in found:
        if any(sign in "\"'\\#\n" or not sign.isprintable() for sign in word):
            raise UserError(
                "--sbatch",
                f"{word!r} has signs that a line of #SBATCH cannot hold",
                "quotes, \\, # and line ends",
            )
        if word.startswith(_OF_MANY):
            raise UserError(
                "--sbatch", f"{word!r}: each host has one job", "--repeats says how often each cell runs"
            )
    return found


def engine_words(sweep: Sweep, via: Via | None = None) -> tuple[str, ...]:
    """Return the options of `run --nodes` that reach the hosts of a sweep as it did. Pure."""
    by = via or sweep.via
    given: dict[str, str] = {
        "--via": by,
        "--sbatch": shlex.join(sweep.sbatch) if by == "slurm" else "",
        "--setup": sweep.setup,
        "--local": sweep.local,
        "--at-once": str(sweep.at_once or ""),
    }
    return tuple(f"{name}={value}" for name, value in given.items() if value)
