"""Define a new sweep of many hosts from the user's arguments, or read the sweep in a folder."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import math
import os
import pwd
import re
import secrets
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.cluster import folder, nodeset
from orchestrator.cluster.engine import Engine
from orchestrator.cluster.folder import Sweep, Via
from orchestrator.cluster.script import job_script
from orchestrator.experiment import shipped
from orchestrator.plan.duration import duration
from orchestrator.plan.prepare import PlanOptions, prepare
from parsers.errors import UserError

_MIN_LIMIT_MIN: Final = 5  # Python on a shared file system, kernels to compile
_SHAPE: Final = re.compile(r"([1-9]\d*):([1-9]\d*):([1-9]\d*)(?!\S)")  # Arm may report 0 sockets


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The arguments of `run` and `plan`. None and False mean that an option is absent."""

    version: str  # version of this pinsweep
    experiments: tuple[Path, ...] = ()
    output: Path | None = None
    nodes: str | None = None
    via: Via | None = None
    sbatch: str | None = None
    setup: str | None = None
    local: str | None = None
    at_once: int | None = None
    canary: bool = False
    words: tuple[str, ...] = ()  # options of `pinsweep run` for each host
    plan: PlanOptions = dataclasses.field(default_factory=PlanOptions)


def new_sweep(request: Request, engine_of: Callable[[Sweep], Engine]) -> tuple[Sweep, dict[str, str]]:
    """Return the sweep of a request, and the texts of its experiments. Writes nothing.

    Raises UserError for every mistake, Unavailable if `engine_of` cannot be asked about the hosts.
    """
    if not request.experiments:
        raise UserError("EXPERIMENT", "missing", "pinsweep run EXPERIMENT --nodes NODESET -o DIR/")
    output = request.output or Path("DIR")
    try:
        is_used = output.exists() and (not output.is_dir() or any(output.iterdir()))
    except OSError as error:
        raise UserError(str(output), error.strerror or "cannot be read", "name another folder with -o") from None
    if is_used:
        raise UserError(str(output), "exists, and holds no sweep of many hosts", "name a new folder with -o")
    texts = read_experiments(request.experiments)
    sweep = Sweep(
        id=secrets.token_hex(4),
        folder=folder.safe_path(output, "-o"),
        via=request.via or ("slurm" if shutil.which("sbatch") else "ssh"),
        hosts=nodeset.expand(request.nodes or ""),
        experiments={name: folder.digest(text) for name, text in texts.items()},
        words=request.words,
        sbatch=split_sbatch(request.sbatch or ""),
        setup=request.setup or "",
        local=folder.safe_path(Path(request.local), "--local") if request.local else "",
        work=folder.safe_path(Path.cwd(), "the working folder"),
        at_once=request.at_once or 0,
        canary=request.canary,
        user=_user(),
        python=folder.safe_path(Path(sys.executable), "Python"),
        version=request.version,
        created_utc=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    kinds = {host.kind for host in engine_of(sweep).hosts(sweep.hosts).values()}
    limits_min = {kind: limit_min(kind, request.experiments, request.plan) for kind in sorted(kinds)}
    if not any(limits_min.values()):
        limit_min("1:1:1", request.experiments, request.plan)  # raises for mistakes in the experiments
    return dataclasses.replace(sweep, limits_min={kind: n for kind, n in limits_min.items() if n}), texts


def limit_min(kind: str, experiments: Sequence[Path], options: PlanOptions) -> int:
    """Return the minutes that hosts of a kind ("sockets:cores:threads …") keep within; 0 for an unknown shape.

    Raises UserError for a mistake in the experiments.
    """
    shape = _SHAPE.match(kind)
    if shape is None:
        return 0
    topology = "pack:{} numa:1 core:{} pu:{}".format(*shape.groups())
    prepared = prepare(experiments, dataclasses.replace(options, topology=topology, output=None), seed=0)
    return max(_MIN_LIMIT_MIN, math.ceil(duration(prepared.plan).limit_s / 60))


def refuse_other(sweep: Sweep, request: Request) -> None:
    """Raise UserError if a request is for another sweep than that of the folder, or the folder is not to be trusted."""
    names = (f"{sweep.folder.rstrip('/')}-{number}" for number in itertools.count(2))
    other = f"begin another sweep with -o {next(name for name in names if not os.path.lexists(name))}/"
    hint = f"pinsweep run -o {sweep.folder}, or {other}"

    def refuse(is_mistake: bool, cause: str, hint: str = hint) -> None:
        if is_mistake:
            raise UserError(sweep.folder, cause, hint)

    is_foreign = sweep.user not in ("", _user())
    refuse(is_foreign, f"only {sweep.user} can start jobs of it", f"pinsweep status {sweep.folder}")
    results = (f"{host}.db" for host in sweep.hosts)
    folder.refuse_foreign(Path(sweep.folder), "log", folder.JOB, folder.NAME, *sweep.experiments, *results)
    refuse(folder.is_copy(sweep), f"is a copy of {sweep.was}", f"pinsweep run -o {sweep.was}, or {other}")
    refuse(
        sweep.version != request.version,
        f"began with pinsweep {sweep.version}, this is {request.version}",
        other,
    )
    for name, sha256 in {**sweep.experiments, folder.JOB: sweep.script}.items():
        refuse(sha256 not in ("", _digest(sweep.path(name))), f"{name} was changed", f"put it back, or {other}")
    if request.nodes is not None:
        refuse(set(nodeset.expand(request.nodes)) != set(sweep.hosts), "is a sweep of other hosts")
    if request.experiments:
        texts = read_experiments(request.experiments)
        digests = {name: folder.digest(text) for name, text in texts.items()}
        refuse(digests != dict(sweep.experiments), "is a sweep of another experiment")
        refuse(request.nodes is not None and request.words != sweep.words, "is a sweep with other options")
    refuse(request.local not in (None, sweep.local), "began with another --local")
    refuse(request.at_once not in (None, sweep.at_once), "began with another --at-once")
    has_results = any(sweep.result(host).exists() for host in sweep.hosts)
    refuse(request.setup not in (None, sweep.setup) and has_results, "has results of another --setup")


def _user() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


def _digest(path: Path) -> str:
    try:
        return folder.digest(folder.contents(path))
    except OSError:
        return "missing"


def continue_sweep(sweep: Sweep, request: Request) -> Sweep:
    """Return the sweep of a folder at its present path, with the --sbatch and --setup of a request."""
    return dataclasses.replace(
        sweep,
        was="",
        sbatch=sweep.sbatch if request.sbatch is None else split_sbatch(request.sbatch),
        setup=sweep.setup if request.setup is None else request.setup,
        folder=folder.safe_path(Path(sweep.folder), "-o"),
    )


def change(before: Sweep, sweep: Sweep, engine: Engine) -> str:
    """Write a folder for a sweep that continues with other options, and return the changes, or "".

    Raises UserError while jobs run that would measure differently, or write into another folder.
    """
    changes = {
        f"in {sweep.folder}": before.was != "",
        "with this --setup": sweep.setup != before.setup,
        "with this --sbatch": sweep.sbatch != before.sbatch,
    }
    if not any(changes.values()):
        return ""
    if before.was or sweep.setup != before.setup:
        live = sum(job.phase != "over" for job in engine.jobs().values())
        if live:
            old = f"that write to {before.was}" if before.was else "with the earlier --setup"
            cancel = f", or end them: scancel -n {','.join(sweep.job_names)}" if sweep.via == "slurm" else ""
            raise UserError(sweep.folder, f"has jobs {old} ({live})", f"wait until they have ended{cancel}")
    folder.change(sweep, job_script(sweep))
    return ", ".join(text for text, is_new in changes.items() if is_new)


def read_experiments(experiments: Sequence[Path]) -> dict[str, str]:
    """Return the texts of experiments by the file names of the copies. Raises UserError."""
    texts: dict[str, str] = {}
    for path in (Path(shipped.resolved(name)) for name in experiments):
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            raise UserError(str(path), "is not UTF-8") from None
        except OSError as error:
            raise UserError(str(path), error.strerror or "cannot be read", shipped.hint(path)) from None
        if texts.setdefault(path.name, text) != text:
            raise UserError(str(path), "two experiments have this name", "rename one")
    return texts


def split_sbatch(text: str) -> tuple[str, ...]:
    """Return the options for sbatch. Raises UserError for arrays, and for text that a #SBATCH line cannot contain."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UserError("--sbatch", f"{text!r}: {error}") from None
    for word in words:
        if any(character in "\"'\\#\n" or not character.isprintable() for character in word):
            raise UserError(
                "--sbatch", f"{word!r} has characters that #SBATCH cannot take", "quotes, \\, # and line ends"
            )
        if word.startswith(("-a", "--ar")):  # sbatch takes --array shortened, too
            raise UserError("--sbatch", f"{word!r}: each host has one job", "repeat cells with --repeats")
    return words


def engine_words(sweep: Sweep, via: Via | None = None) -> tuple[str, ...]:
    """Return the options of `run --nodes` that reach the hosts of a sweep in the same way."""
    via = via or sweep.via
    options = {
        "--via": via,
        "--sbatch": shlex.join(sweep.sbatch) if via == "slurm" else "",
        "--setup": sweep.setup,
        "--local": sweep.local,
        "--at-once": str(sweep.at_once or ""),
    }
    return tuple(f"{name}={value}" for name, value in options.items() if value)
