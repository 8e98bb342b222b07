"""What is asked of a host by ssh, as text for its shell, and what its answers mean. Pure.

A host that sees the sweep's folder works in it as under Slurm. For one that does not, the folder's part of it lies on a disk of its own,
beside the folder that its job works in: `pinsweep-ID-HOST.home`, with the same files. What comes to lie there is fetched, then removed.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
import zlib
from dataclasses import dataclass, field
from typing import Final

from orchestrator.cluster.engine import Host, Submission
from orchestrator.cluster.folder import Sweep

ANSWER_S: Final = 20
_LOG_BYTES: Final = 65536
_RESULT_BYTES: Final = 256 << 20
_MOST_LOGS: Final = 100

_LOOK: Final = """\
if pidof slurmd >/dev/null 2>&1; then echo slurmd; exit; fi
local={local}
if [ -e "$local/lock" ] && ! flock -n "$local/lock" true; then echo runs; else echo free; fi
if grep -qs {id} {folder}/sweep.json; then echo shared; else echo apart; fi
if command -v {python} >/dev/null; then echo python; else echo none; fi
if [ -d "$local.home" ]; then echo kept; else echo nothing; fi
LC_ALL=C lscpu 2>/dev/null | awk -F: '/^ *Socket.s.:/ {{s=$2}} /^ *Core.s. per/ {{c=$2}} /^ *Thread.s. per/ {{t=$2}} END {{print s+0 ":" c+0 ":" t+0}}'
"""

_LOCKED: Final = """\
local={local}
mkdir -m 700 -- "$local" 2>/dev/null
[ -d "$local" ] && [ -O "$local" ] && [ ! -L "$local" ] || {{ echo "cannot make $local"; exit 9; }}
exec 9>>"$local/lock" || exit 9
flock -w 2 9 || {{ echo runs; exit 0; }}
"""

_APART: Final = """\
home="$local.home"
mkdir -m 700 -- "$home" 2>/dev/null
[ -d "$home" ] && [ -O "$home" ] && [ ! -L "$home" ] || {{ echo "cannot make $home"; exit 9; }}
mkdir -p -- "$home/log" && tar -xzf - --skip-old-files -C "$home" || {{ echo "cannot unpack into $home"; exit 9; }}
export PINSWEEP_DIR="$home"
"""

_START: Final = """\
PINSWEEP_HOST={host} setsid nohup bash {script} {words} </dev/null >{log} 2>&1 &
sleep 0.2
[ -s {log} ] || kill -0 $! || exit 8
echo started
"""
"""The job inherits the lock: there is no moment at which nobody holds it."""

_FETCH: Final = """\
home={local}.home
[ -d "$home" ] && [ -O "$home" ] && cd "$home" || exit 0
sum=$(sha256sum < {host}.db 2>/dev/null) || sum=
sum=${{sum%% *}}
echo "results ${{sum:-none}}"
if [ -n "$sum" ] && [ "$sum" != {known} ]; then gzip -c {host}.db | base64 -w 60000; fi
for log in log/{host}.*; do
    if [ -e "$log" ]; then echo "log ${{log##*.}}"; tail -c {bytes} "$log" | gzip -c | base64 -w 60000; fi
done
echo end
"""

_CLEAN: Final = """\
sum=$(sha256sum < "$local.home"/{host}.db 2>/dev/null) || sum=
sum=${{sum%% *}}
if [ "${{sum:-none}}" = {known} ]; then rm -rf -- "$local.home"; fi
rm -f -- "$local/lock"
rmdir -- "$local" 2>/dev/null
exit 0
"""


_BEGINS: Final = "pinsweep answers"


def wrapped(command: str) -> str:
    """Return a command for a shell as a word or two that every login shell takes: csh has no lines in quotes and takes ! for history, fish has
    another syntax. `answer` cuts off what their start-up files print before it."""
    text = base64.b64encode(f"echo {_BEGINS}\n{command}".encode()).decode()
    return f"""exec bash -c 'eval "$(echo {text} | base64 -d)"'"""


def answer(text: str) -> str:
    """Return what the command of `wrapped` printed, or all where it was not begun."""
    before, begins, after = text.partition(f"{_BEGINS}\n")
    if begins:
        return after
    return "" if before.endswith(_BEGINS) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a host said of itself."""

    host: Host
    runs: bool = False
    apart: bool = False  # it does not see the sweep's folder
    kept: bool = False  # there is something to be fetched


def _local(sweep: Sweep, host: str) -> str:
    """Return a word of a shell on the host: the folder that its job works in, with the lock."""
    tmp = shlex.quote(sweep.local) if sweep.local else '"${TMPDIR:-/tmp}"'
    return f"{tmp}/{shlex.quote(f'{sweep.job_name}-{host}')}"


def look_command(sweep: Sweep, host: str) -> str:
    """Return what says of a host whether a job runs there, what it sees of the sweep, and of which kind it is."""
    return _LOOK.format(
        local=_local(sweep, host),
        id=sweep.id,
        folder=shlex.quote(sweep.folder),
        python="true" if sweep.setup else shlex.quote(sweep.python or "true"),
    )


def seen(name: str, rc: int | None, text: str, python: str = "") -> Seen:
    """Return what an answer to `look_command` says. `python`: what a host needs to have."""
    words = text.split()
    if rc == 0 and words[:1] == ["slurmd"]:
        why = "a slurmd runs there: its jobs would not know of this one; --via slurm"
        return Seen(host=Host(name=name, problem=why))
    if rc != 0 or len(words) < 4 or words[0] not in ("runs", "free"):
        return Seen(host=Host(name=name, problem=problem_of(rc, text), silent=rc in (None, 255)))
    runs, apart, there, kept, *kind = words
    return Seen(
        host=Host(
            name=name,
            kind=kind[0] if kind else "",
            idle=runs == "free",
            problem=""
            if there == "python"
            else f"has no {python}: install pinsweep on it at this path, or name its Python by --setup 'python=PATH'",
        ),
        runs=runs == "runs",
        apart=apart == "apart",
        kept=kept == "kept",
    )


def start_command(sweep: Sweep, one: Submission, number: int, *, apart: bool = False) -> str:
    """Return what starts the job of a host there. `apart`: from files that come by stdin, as a .tar.gz."""
    folder = '"$home"' if apart else shlex.quote(sweep.folder)
    locked = _LOCKED.format(local=_local(sweep, one.host))
    start = _START.format(
        host=shlex.quote(one.host),
        script=f"{folder}/job.sh",
        words=shlex.join(one.words),
        log=f"{folder}/log/{shlex.quote(f'{one.host}.{number}')}",
    )
    return locked + (_APART.format() if apart else "") + start


def fetch_command(sweep: Sweep, host: str, known: str) -> str:
    """Return what prints the results and logs that a host keeps. `known`: the checksum of those that are in the folder, or "none"."""
    return _FETCH.format(
        local=_local(sweep, host), host=shlex.quote(host), known=shlex.quote(known), bytes=_LOG_BYTES
    )


def clean_command(sweep: Sweep, host: str, known: str) -> str:
    """Return what removes from a host what has been fetched, unless a job runs there or there are other results by now."""
    return _LOCKED.format(local=_local(sweep, host)) + _CLEAN.format(
        host=shlex.quote(host), known=shlex.quote(known)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a host kept."""

    digest: str  # of its results; "none": it has none
    results: bytes | None  # None: those that are known
    logs: dict[str, bytes] = field(default_factory=dict)  # number of a job → the end of what it printed


def fetched(rc: int | None, text: str) -> Fetched | None:
    """Return what an answer to `fetch_command` holds; None if it is not whole, or the results changed while they were read."""
    lines = text.split("\n")
    if rc != 0 or not lines or not (head := re.fullmatch(r"results ([0-9a-f]{64}|none)", lines[0])):
        return None
    parts: dict[str, list[str]] = {"": []}
    at = ""
    for line in lines[1:]:
        if line == "end":
            break
        if found := re.fullmatch(r"log ([0-9]{1,10})", line):
            at = found[1]
            parts[at] = []
        else:
            parts[at].append(line)
    else:
        return None
    newest = sorted(filter(None, parts), key=int)[-_MOST_LOGS:]
    try:
        whole = {
            name: _unpacked(parts[name], _LOG_BYTES if name else _RESULT_BYTES) for name in ("", *newest)
        }
    except (ValueError, zlib.error):
        return None
    results = whole.pop("")
    if results is not None and hashlib.sha256(results).hexdigest() != head[1]:
        return None
    return Fetched(
        digest=head[1], results=results, logs={name: log for name, log in whole.items() if log is not None}
    )


def _unpacked(lines: list[str], most: int) -> bytes | None:
    """Return what gzip and base64 packed; None of no lines. Raises ValueError if it is cut or larger than `most` bytes, zlib.error."""
    if not lines:
        return None
    unpack = zlib.decompressobj(wbits=31)
    data = unpack.decompress(base64.b64decode("".join(lines)), most)
    if not unpack.eof:
        raise ValueError("cut, or too large")
    return data


def problem_of(rc: int | None, text: str, within_s: float = ANSWER_S) -> str:
    """Return why a host did not do what it was asked for: ssh's last words. `rc`: None for no answer in time."""
    if rc is None:
        return f"no answer within {within_s:g} s"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else f"ssh: exit status {rc}"
