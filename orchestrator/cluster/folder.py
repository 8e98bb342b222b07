"""Read and write the folder of a sweep of many hosts.

sweep.json      hosts, options, checksums; only --sbatch, --setup and the place of the folder ever change
NAME.yaml       the experiments as they run
job.sh          the job of one host
HOST.db         the results of a host, complete at any moment
log/HOST.JOB    what a job printed; the last line is "rc=N reason"
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

from orchestrator.cluster import nodeset
from orchestrator.machine import lockfile, planted, safe_files
from orchestrator.store import folders
from parsers.errors import PinsweepError, UserError

NAME: Final = "sweep.json"
JOB: Final = "job.sh"
REFUSALS: Final = "log/not-submitted.json"
SCHEMA: Final = 1
_MAX_BYTES: Final = 16 << 20  # the names of 20 000 hosts are 5 MB at most
_MAX_AT_ONCE: Final = 1000
_MAX_MINUTES: Final = 10_000_000  # 19 years
_LOCK_S: Final = 60.0  # longer than a thousand sbatch take

Via = Literal["slurm", "ssh"]

_SAFE_PATH: Final = re.compile(r"/[A-Za-z0-9 _./+@,:=~-]*")
"""Paths that mean the same to Slurm, shells and ssh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A sweep of many hosts, before its first job."""

    id: str  # eight hex digits; in the names of its jobs
    folder: str  # absolute
    was: str = ""  # where the folder was when job.sh was written, if that is another place
    via: Via
    hosts: tuple[str, ...]
    experiments: Mapping[str, str]  # name of the copy in the folder → sha256
    words: tuple[str, ...]  # options of `pinsweep run` on each host
    sbatch: tuple[str, ...] = ()
    setup: str = ""  # lines of bash
    local: str = ""  # "": $TMPDIR, else /tmp
    work: str = "/"  # the working folder of the jobs
    at_once: int = 0  # 0: no bound
    canary: bool = False
    limits_min: Mapping[str, int] = field(default_factory=dict)  # kind of host → minutes that its job may take
    user: str = ""
    python: str = ""
    version: str = ""
    created_utc: str = ""
    script: str = field(default="", compare=False)  # sha256 of job.sh; "": written by an older pinsweep

    def path(self, *names: str) -> Path:
        """Return the path of a file in the folder."""
        return Path(self.folder, *names)

    def result(self, host: str) -> Path:
        """Return the path of a host's results."""
        return self.path(f"{host}.db")

    @property
    def job_name(self) -> str:
        """Return the name of the jobs, and of the job folders on the hosts."""
        return f"pinsweep-{self.id}"

    @property
    def job_names(self) -> tuple[str, ...]:
        """Return all possible names of the jobs: the name, and with --at-once one name per lane."""
        return (self.job_name, *(f"{self.job_name}-{lane}" for lane in range(1, self.at_once + 1)))

    @property
    def limit_min(self) -> int:
        """The longest time limit of a host's job."""
        return max(self.limits_min.values(), default=0)


def is_sweep(folder: Path | None) -> bool:
    """Return whether a folder holds a sweep of many hosts."""
    return folder is not None and (folder / NAME).is_file()


def safe_path(path: Path, option: str) -> str:
    """Return an absolute path that never needs quotes. Raises UserError."""
    text = os.path.normpath(path.absolute())
    if not _SAFE_PATH.fullmatch(text):
        hint = "use letters, digits, blanks and _ . / + @ , : = ~ -"
        raise UserError(option, f"{text!r} has characters that job scripts cannot take", hint)
    return text


def read(folder: Path) -> Sweep:
    """Return the sweep of a folder. Raises UserError if there is no sweep, or the file is invalid."""
    path = folder / NAME
    try:
        raw = json.loads(contents(path))
        if raw["schema"] != SCHEMA:
            raise UserError(str(path), f"has schema {raw['schema']}", "use the pinsweep that wrote it")
        return _from_json(raw, folder)
    except UserError as error:  # invalid hosts
        raise UserError(str(path), error.cause, error.hint) from None
    except OSError as error:
        show = f"pinsweep show {shlex.quote(str(folder))}, or " if folder.is_file() else ""
        cause, hint = (
            f"holds no sweep of many hosts: {NAME}: {error.strerror}",
            f"{show}name the DIR of `pinsweep run -o DIR/`",
        )
        raise UserError(str(folder), cause, hint) from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise UserError(str(path), f"was not written by pinsweep: {error!r:.200}") from None


def _from_json(raw: Mapping[str, Any], folder: Path) -> Sweep:
    """Return the sweep that a JSON object describes. Raises KeyError, TypeError, ValueError, UserError."""
    place = str(raw["folder"])
    if not re.fullmatch(r"[0-9a-f]{8}", raw["id"]) or not _SAFE_PATH.fullmatch(place):
        raise ValueError("id or folder")
    try:  # the hosts may know the folder by that name only
        is_in_place = Path(place).samefile(folder)
    except OSError:
        is_in_place = False
    names = ("setup", "local", "work", "user", "python", "version", "created_utc")
    return Sweep(
        id=raw["id"],
        folder=place if is_in_place else str(folder.resolve()),
        was="" if is_in_place else place,
        via="ssh" if raw["via"] == "ssh" else "slurm",
        hosts=nodeset.check(raw["hosts"]),
        experiments={Path(name).name: str(sha256) for name, sha256 in raw["experiments"].items()},
        words=tuple(map(str, raw["words"])),
        sbatch=tuple(map(str, raw["sbatch"])),
        at_once=_number(raw["at_once"], _MAX_AT_ONCE),
        canary=bool(raw["canary"]),
        limits_min={str(kind): _number(value, _MAX_MINUTES) for kind, value in raw["limits_min"].items()},
        script=str(raw.get("script", "")),
        **{name: str(raw[name]) for name in names},
    )


def _number(raw: Any, maximum: int) -> int:  # noqa: ANN401 (of JSON)
    number = int(raw)
    if not 0 <= number <= maximum:
        raise ValueError(f"{number:.3g} is not a number from 0 to {maximum}")
    return number


def is_copy(sweep: Sweep) -> bool:
    """Return whether this folder is a copy, because the sweep is still in the folder where it began."""
    try:
        return bool(sweep.was) and json.loads(contents(Path(sweep.was, NAME)))["id"] == sweep.id
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def refuse_foreign(folder: Path, *names: str) -> None:
    """Raise UserError if another user could have changed a folder, or these files and folders in it.

    Files of root are trusted. For root, parent folders count too.
    """
    trusted, name = safe_files.trusted_users(), shlex.quote(str(folder))
    for path in (folder, *(folder / name for name in names)):
        try:
            about = path.stat() if path == folder else path.lstat()
        except FileNotFoundError:
            continue
        if about.st_uid not in trusted:
            why = f"belongs to the user {safe_files.user_name(about.st_uid)}"
        elif stat.S_ISLNK(about.st_mode):
            why = "is a link"
        elif writer := safe_files.other_writer(path, about):
            why = f"can be written by {writer}"
        else:
            continue
        hint = f"look at its files, then: chown -R {os.geteuid()} {name}; chmod -R go-w {name}; or a new sweep with -o"
        raise UserError(str(path), f"{why}, and jobs start from it", hint)
    if os.geteuid() == 0 and (why := planted.reason(str(folder / JOB))):
        raise UserError(str(folder), f"is not safe for root: {why}", "name another folder with -o")


@contextlib.contextmanager
def lock(sweep: Sweep) -> Iterator[None]:
    """Let one process at a time submit jobs of a sweep. Raises UserError if another process takes too long."""
    path = sweep.path(".lock")
    try:
        descriptor = lockfile.acquire(path, _LOCK_S)
    except OSError:  # a file system without locks
        yield
        return
    if descriptor is None:
        raise UserError(sweep.folder, "another pinsweep submits its jobs", "run the same command again later")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def make(sweep: Sweep, texts: Mapping[str, str], script: str) -> None:
    """Write the folder: the experiments, the job, and sweep.json last.

    Raises UserError if there is a sweep already, PinsweepError if the folder cannot be written.
    """
    folder = Path(sweep.folder)
    with _written(sweep):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        refuse_foreign(folder)
        with lock(sweep):
            if (folder / NAME).exists():
                raise UserError(str(folder), "another sweep began here", f"pinsweep status {folder}")
            (folder / "log").mkdir(mode=0o755, exist_ok=True)
            for name, text in texts.items():
                put(folder / name, text)
            change(sweep, script)


def change(sweep: Sweep, script: str) -> None:
    """Write the job and sweep.json of a folder again. Raises PinsweepError if a write fails."""
    about = {"schema": SCHEMA, **asdict(replace(sweep, script=digest(script)))}
    del about["was"]
    with _written(sweep):
        put(sweep.path(JOB), script)
        put(sweep.path(NAME), json.dumps(about, indent=1, ensure_ascii=False) + "\n")


@contextlib.contextmanager
def _written(sweep: Sweep) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place, hint = error.filename or sweep.folder, "name a folder that all hosts share with -o"
        raise PinsweepError(place, f"cannot be written: {error.strerror}", hint) from error


def read_refusals(sweep: Sweep) -> dict[str, str]:
    """Return the hosts without a job after the last attempt, each with the reason."""
    try:
        return {str(host): str(reason) for host, reason in json.loads(contents(sweep.path(REFUSALS))).items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def store_refusals(sweep: Sweep, reasons: Mapping[str, str]) -> None:
    """Store for `status` which hosts got no job, and why, if the folder can be written."""
    with contextlib.suppress(OSError):
        put(sweep.path(REFUSALS), json.dumps(reasons, indent=1, ensure_ascii=False) + "\n")


def digest(data: str | bytes) -> str:
    """Return the sha256 of a text or bytes, in hex."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def contents(path: Path) -> bytes:
    """Return the content of a file. Raises OSError if the path is not a file, or the file is larger than 16 MiB."""
    with safe_files.open_file(path) as stream:
        data = stream.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise OSError(errno.EFBIG, f"larger than {_MAX_BYTES >> 20} MiB", str(path))
    return data


def put(path: Path, data: str | bytes | BinaryIO, *, tag: str = "") -> None:
    """Replace a file by a synced, complete one. Raises OSError. `tag`: writers with one tag never write at a time."""
    part = path.with_name(f".{path.name}.{tag or os.getpid()}.part")
    source = data if not isinstance(data, str | bytes) else io.BytesIO(data.encode() if isinstance(data, str) else data)
    try:
        with safe_files.create(part) as stream:
            shutil.copyfileobj(source, stream, 1 << 20)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # network file systems may lack it
        folders.sync(path.parent)
