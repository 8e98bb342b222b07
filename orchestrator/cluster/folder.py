"""The folder of a sweep of many hosts: what is kept of it, where each file lies. I/O of small files.

sweep.json      who, what, how; of this only --sbatch, the place of the folder and, before the first result, --setup ever change
NAME.yaml       the experiments as they run
job.sh          the job of one host
HOST.db         the results of a host, whole at any moment
log/HOST.JOB    what its job printed; the last line is "rc=N reason"
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from orchestrator.cluster import nodeset
from orchestrator.machine import lockfile, planted, safe_files
from orchestrator.store import folders
from parsers.errors import PinsweepError, UserError

NAME: Final = "sweep.json"
SCHEMA: Final = 1
JOB: Final = "job.sh"
MOST_BYTES: Final = 16 << 20  # of a file that is read whole; the names of 20 000 hosts are 5 MB at most
MOST_AT_ONCE: Final = 1000
_LOCK_S: Final = 60.0  # longer than a thousand sbatch take
_MOST_MIN: Final = 10_000_000  # 19 years
REFUSED: Final = "log/not-submitted.json"

Via = Literal["slurm", "ssh"]

_SAFE: Final = re.compile(r"/[A-Za-z0-9 _./+@,:=~-]*")
"""Paths that Slurm, shells and ssh all take without a thought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What is known of a sweep before its first job."""

    id: str  # eight hex digits; in the names of its jobs
    folder: str  # absolute
    # where job.sh has its jobs bring their results, if the folder has been moved or copied since
    was: str = ""
    via: Via
    hosts: tuple[str, ...]
    experiments: Mapping[str, str]  # name of the copy in the folder → sha256
    words: tuple[str, ...]  # options of `pinsweep run` on each host
    sbatch: tuple[str, ...] = ()
    setup: str = ""  # lines of a shell
    local: str = ""  # "": $TMPDIR, else /tmp
    work: str = "/"  # the folder where the jobs begin
    at_once: int = 0  # 0: no bound
    canary: bool = False
    limits_min: Mapping[str, int] = field(
        default_factory=dict
    )  # kind of host → minutes that its job may last
    estimates_min: Mapping[str, int] = field(default_factory=dict)  # … and that it is reckoned to
    user: str = ""
    python: str = ""
    version: str = ""
    created_utc: str = ""
    script: str = field(default="", compare=False)  # sha256 of job.sh; "": of an earlier pinsweep

    def path(self, *names: str) -> Path:
        return Path(self.folder, *names)

    def result(self, host: str) -> Path:
        return self.path(f"{host}.db")

    @property
    def job_name(self) -> str:
        return f"pinsweep-{self.id}"

    @property
    def job_names(self) -> tuple[str, ...]:
        """The names that its jobs may have: one, or with --at-once one a lane, where one job runs at a time, and its own by hand."""
        return (self.job_name, *(f"{self.job_name}-{lane}" for lane in range(1, self.at_once + 1)))

    @property
    def limit_min(self) -> int:
        """The longest that a host may take."""
        return max(self.limits_min.values(), default=0)


def is_sweep(folder: Path | None) -> bool:
    return folder is not None and (folder / NAME).is_file()


def safe(path: Path, option: str) -> str:
    """Return an absolute path that needs no quoting anywhere. Raises UserError."""
    text = str(path if path.is_absolute() else Path.cwd() / path)
    text = os.path.normpath(text)
    if not _SAFE.fullmatch(text):
        raise UserError(
            option,
            f"{text!r} has signs that job scripts cannot take",
            "letters, digits, blanks and _ . / + @ , : = ~ -",
        )
    return text


def read(folder: Path) -> Sweep:
    """Return the sweep of a folder. Raises UserError if there is none, or it is none of ours."""
    path = folder / NAME
    try:
        raw = json.loads(contents(path))
        if raw["schema"] != SCHEMA:
            raise UserError(str(path), f"is of schema {raw['schema']}", "use the pinsweep that made it")
        return _sweep(raw, folder)
    except UserError as error:  # of the hosts
        raise UserError(str(path), error.cause, error.hint) from None
    except (FileNotFoundError, NotADirectoryError):
        what = (
            "is a file"
            if folder.is_file()
            else "holds no sweep of many hosts"
            if folder.is_dir()
            else "is not there"
        )
        own = (
            f"pinsweep show {shlex.quote(str(folder))} shows what is in a result file; "
            if folder.is_file()
            else ""
        )
        raise UserError(
            str(folder), what, f"{own}give the folder that `pinsweep run EXPERIMENT --nodes NODESET -o DIR/` began"
        ) from None  # fmt: skip
    except OSError as error:
        raise UserError(str(path), f"cannot be read: {error.strerror}", "") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise UserError(str(path), f"is not what pinsweep writes: {error!r:.200}", "") from None


def _are_one(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _sweep(raw: Mapping[str, Any], folder: Path) -> Sweep:
    """Return what the JSON in a folder says. Raises KeyError, TypeError, ValueError."""
    if not re.fullmatch(r"[0-9a-f]{8}", raw["id"]) or raw["via"] not in ("slurm", "ssh"):
        raise ValueError("id or via")
    begun = str(raw["folder"])
    if not _SAFE.fullmatch(begun):
        raise ValueError("folder")
    is_there = _are_one(Path(begun), folder)  # its name of then is the one that the hosts know
    text = {name: str(raw[name]) for name in ("setup", "local", "work", "user", "python", "version", "created_utc")}  # fmt: skip
    return Sweep(
        id=raw["id"],
        folder=begun if is_there else str(folder.resolve()),
        was="" if is_there else begun,
        via=raw["via"],
        hosts=nodeset.checked(raw["hosts"]),
        experiments={Path(name).name: str(digest) for name, digest in raw["experiments"].items()},
        words=tuple(map(str, raw["words"])),
        sbatch=tuple(map(str, raw["sbatch"])),
        at_once=_whole(raw["at_once"], MOST_AT_ONCE),
        canary=bool(raw["canary"]),
        limits_min=_minutes(raw["limits_min"]),
        estimates_min=_minutes(raw.get("estimates_min", {})),  # folders of before have none
        script=str(raw.get("script", "")),
        **text,
    )


def _minutes(raw: Mapping[str, Any]) -> dict[str, int]:
    return {str(kind): _whole(minutes, _MOST_MIN) for kind, minutes in raw.items()}


def _whole(raw: Any, most: int) -> int:  # noqa: ANN401 (of JSON)
    """Return a number from 0 to `most`. Raises ValueError."""
    number = int(raw)
    if not 0 <= number <= most:
        raise ValueError(f"{number:.3g} is not a number from 0 to {most}")
    return number


def refuse_foreign(folder: Path, *names: str) -> None:
    """Raise UserError where another user could have changed a sweep's folder, or these files and folders in it.

    Files of root are trusted. For root nobody else may exchange a folder above, either.
    """
    for path in (folder, *(folder / name for name in names)):
        try:
            about = path.stat() if path == folder else path.lstat()
        except FileNotFoundError:
            continue
        if about.st_uid not in safe_files.trusted_users():
            owner = safe_files.user_name(about.st_uid)
            hint = f"if you trust its contents: chown {os.geteuid()} {shlex.quote(str(path))}; else begin a new sweep with -o"
            raise UserError(str(path), f"belongs to the user {owner}", hint)
        if stat.S_ISLNK(about.st_mode):
            raise UserError(str(path), "is a link", "begin a new sweep with -o")
        if writer := safe_files.other_writer(path, about):
            raise UserError(
                str(path),
                f"can be written by {writer}, and jobs are started from it",
                f"look at its files, then: chmod -R go-w {shlex.quote(str(folder))}",
            )
    if os.geteuid() == 0 and (why := planted.reason(str(folder / JOB))):
        raise UserError(
            str(folder), f"is not safe for root: {why}", "name a folder that only root can change with -o"
        )


@contextlib.contextmanager
def lock(sweep: Sweep) -> Iterator[None]:
    """Let one process at a time submit jobs of a sweep. Raises UserError if another one takes too long."""
    path = sweep.path(".lock")
    try:
        held = lockfile.acquire(path, _LOCK_S)
    except OSError:  # a file system without locks
        yield
        return
    if held is None:
        raise UserError(
            sweep.folder,
            "another pinsweep submits jobs of this sweep",
            "wait, then run the same command again",
        )
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(held)


def contents(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return what a file holds. Raises OSError for what is not a file, and more than `most` bytes."""
    with safe_files.open_file(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB", str(path))
    return data


def make(sweep: Sweep, texts: Mapping[str, str], script: str) -> None:
    """Write the folder: the experiments, the job, and sweep.json last, so that a folder without it is none yet.

    Raises UserError if there is a sweep already, PinsweepError where it cannot be written.
    """
    folder = Path(sweep.folder)
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        refuse_foreign(folder)
        with lock(sweep):
            if (folder / NAME).exists():
                raise UserError(
                    str(folder), "another sweep was begun here meanwhile", "pinsweep status shows it"
                )
            (folder / "log").mkdir(mode=0o755, exist_ok=True)
            for name, text in texts.items():
                _put(folder / name, text)
            _put(folder / JOB, script, mode=0o755)
            _put(folder / NAME, _json(sweep, script))
    except OSError as error:
        raise PinsweepError(
            error.filename or str(folder), f"cannot be written: {error.strerror}", "name a folder that the hosts share with -o"
        ) from error  # fmt: skip


def change(sweep: Sweep, script: str) -> None:
    """Write a sweep that is there as it goes on. Raises PinsweepError where that cannot be written."""
    try:
        _put(sweep.path(JOB), script, mode=0o755)
        _put(sweep.path(NAME), _json(sweep, script))
    except OSError as error:
        raise PinsweepError(error.filename or sweep.folder, f"cannot be written: {error.strerror}") from error


def _json(sweep: Sweep, script: str) -> str:
    about = {"schema": SCHEMA, **asdict(replace(sweep, script=digest(script)))}
    del about["was"]
    return json.dumps(about, indent=1, ensure_ascii=False) + "\n"


def is_copy(sweep: Sweep) -> bool:
    """Tell whether the sweep is still in the folder where it was begun, and this is another."""
    try:
        return bool(sweep.was) and json.loads(contents(Path(sweep.was, NAME)))["id"] == sweep.id
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def refused(sweep: Sweep) -> dict[str, str]:
    """Return the hosts that got no job at the last attempt, each with the reason."""
    try:
        raw = json.loads(contents(sweep.path(REFUSED)))
        return {str(host): str(reason) for host, reason in raw.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def keep_refused(sweep: Sweep, reasons: Mapping[str, str]) -> None:
    """Keep who got no job and why, for `status`; where that cannot be written, it has been said."""
    with contextlib.suppress(OSError):
        _put(sweep.path(REFUSED), json.dumps(reasons, indent=1, ensure_ascii=False) + "\n")


def put(path: Path, data: bytes) -> None:
    """Write a file that is whole at any moment, and on the disk when this returns, as far as its file system can. Raises OSError."""
    _put(path, data)
    with contextlib.suppress(OSError):  # file systems of a network need not be able to
        folders.sync(path.parent)


def _put(path: Path, text: str | bytes, *, mode: int = 0o644) -> None:
    """Write a file that is whole at any moment."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with safe_files.create(part) as stream:
            stream.write(text.encode() if isinstance(text, str) else text)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(mode & ~umask)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
