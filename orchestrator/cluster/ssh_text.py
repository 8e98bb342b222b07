"""Make the bash scripts for hosts with ssh, and parse the answers. Pure, except that remote.sh is read."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
import shlex
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.cluster.engine import Host
from orchestrator.cluster.folder import Sweep

ANSWER_S: Final = 20
_MAX_LOG_BYTES: Final = 64 << 10
_MAX_RESULT_BYTES: Final = 256 << 20
_MAX_LOGS: Final = 20  # as remote.sh
_BEGIN: Final = "pinsweep answers"


@functools.cache
def _functions() -> str:
    return Path(__file__).with_name("remote.sh").read_text("utf-8")


def script(sweep: Sweep, host: str, call: str, **values: str) -> str:
    """Return a script that calls a function of remote.sh on a host. `values`: further variables of the script."""
    tmp = shlex.quote(sweep.local) if sweep.local else '"${TMPDIR:-/tmp}"'
    variables = {"id": sweep.id, "folder": sweep.folder, "host": host, **values}
    lines = [f"echo {_BEGIN}", f"local={tmp}/{shlex.quote(f'{sweep.job_name}-{host}')}"]
    lines += [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    return "\n".join([*lines, _functions(), call, ""])


def answer(text: str) -> str:
    """Return the output of a script, without the output of start-up files.

    Return all output if the script did not begin.
    """
    before, begin, after = text.partition(f"{_BEGIN}\n")
    return after if begin else before


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAnswer:
    """The answer of a host to `look`."""

    host: Host
    runs: bool = False
    is_apart: bool = False  # it does not see the sweep's folder
    has_results: bool = False  # there is something to fetch


def parse_look(name: str, rc: int | None, text: str, python: str = "") -> LookAnswer:
    """Return a host from its answer. `python`: the required Python."""
    words = text.split()
    if rc == 0 and words[:1] == ["slurmd"]:
        return LookAnswer(host=Host(name=name, problem="a slurmd runs there: use --via slurm"))
    if rc != 0 or len(words) < 4 or words[0] not in ("runs", "free"):
        return LookAnswer(host=Host(name=name, problem=problem(rc, text), silent=rc in (None, 255)))
    job, place, found_python, stored, *kind = words
    missing = f"has no {python}: install pinsweep there at this path, or --setup 'python=PATH'"
    return LookAnswer(
        host=Host(
            name=name,
            kind=kind[0] if kind else "",
            idle=job == "free",
            problem="" if found_python == "python" else missing,
        ),
        runs=job == "runs",
        is_apart=place == "apart",
        has_results=stored == "stored",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchAnswer:
    """A host's answer to `fetch`."""

    digest: str  # checksum of its results, or "none"
    results: bytes | None  # None: unchanged
    logs: dict[str, bytes]  # number of a job → the end of its log


def parse_fetch(rc: int | None, text: str) -> FetchAnswer | None:
    """Return the files that a host sent. None if the data are incomplete, too large, or changed while reading."""
    head, *parts = text.removesuffix("end\n").split("\nlog ", _MAX_LOGS)
    match = re.fullmatch(r"results ([0-9a-f]{64}|none)(?:\n(.*))?", head, re.DOTALL)
    if rc != 0 or match is None or not text.endswith("\nend\n"):
        return None
    logs = {}
    try:
        results = _unpack(match[2], _MAX_RESULT_BYTES) if match[2] else None
        for part in parts:
            number, _, packed = part.partition("\n")
            logs[str(int(number[:10]))] = _unpack(packed, _MAX_LOG_BYTES)
    except (ValueError, zlib.error):
        return None
    if results is not None and hashlib.sha256(results).hexdigest() != match[1]:
        return None
    return FetchAnswer(digest=match[1], results=results, logs=logs)


def _unpack(packed: str, max_bytes: int) -> bytes:
    """Return data that gzip and base64 packed. Raises ValueError if the data are incomplete or too large, zlib.error."""
    gzip = zlib.decompressobj(wbits=31)
    data = gzip.decompress(base64.b64decode(packed), max_bytes)
    if not gzip.eof:
        raise ValueError("cut, or too large")
    return data


def problem(rc: int | None, text: str, within_s: float = ANSWER_S) -> str:
    """Return why a host did not answer a request: ssh's last words. `rc`: None without an answer in time."""
    if rc is None:
        return f"no answer within {within_s:g} s"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else f"ssh: exit status {rc}"
