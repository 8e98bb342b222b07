"""Feed the loader, the parsers, the readers of topologies and of result files, and the command line what nobody wrote: they read it, or
refuse it with a sentence.

    .venv/bin/python scripts/fuzz.py --seconds 600            # --seed N: other inputs; --kind result: only these

Inputs are changed ones of what is at hand: experiments/, tests/fixtures/, and a result file made here. `experiment` is planned, too;
`command` is one of COMMANDS and a result file; `run` is a tool's output, printed by a program in the tool's
place. A child process with bounded memory takes one after the other, each with bounded CPU time. What ends otherwise (an exception, a crash, no end, too much memory) is kept in
tests/fuzz_inputs as KIND-HASH, where tests/test_fuzz.py reads it from then on. scripts/fuzz_parsers.py looks deeper into the parsers
alone, with atheris.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import io
import json
import math
import multiprocessing
import os
import random
import resource
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
FOUND = ROOT / "tests" / "fuzz_inputs"
MEMORY = 512 << 20  # of address space, beyond what Python and its libraries have when the first input comes
CPU_S = 10.0
PATIENCE_S = 900.0  # for an answer, however busy the machine is: 10 s of CPU time may take ten minutes
READINGS = ("series", "reading", "measurement", "reading_table")
WITHOUT_ROWID = ("output", "measurement", "reading_table")
KINDS = ("experiment", "parse", "topology", "result", "command", "run")

COMMANDS = (
    "report r.db -o r.html", "report r.db --lab lab", "report r.db seed.db -o both.html --static",
    *(f"export r.db --format {form} --shape {shape} -o out" for form in ("csv", "json", "parquet") for shape in ("long", "wide")),
    "export r.db --openmetrics", "export r.db --copy copy.db", "compare seed.db r.db --all --aa", "compare r.db seed.db --format junit",
    "compare seed.db r.db -o c.html", "fleet r.db seed.db --all -o f.html", "fleet r.db seed.db --format json",
    "history r.db seed.db --all", "audit r.db --format json", "show r.db", "show r.db --runs", "show r.db 1", "show r.db 1 --raw",
)  # fmt: skip
"""What is done with a result file; seed.db is the one that was not changed."""

EXPERIMENTS = {
    "command": "fixed: {command: 'cat FOLDER/output', metrics: {v: {regex: '([0-9.]+) ', unit: ms}, w: {json: '[*]', unit: ms}}}",
    "fio": "fixed: {rw: read, bs: 4k, size: 1M, ioengine: psync}",
    "imb": "fixed: {benchmark: PingPong, np: 2}",
    "mlc": "fixed: {mode: idle_latency}",
    "poke": "fixed: {target: memory, bytes: 64}",
    "stream": "fixed: {threads: 1}",
}
"""A cell of each tool, whose output is an input."""

PROGRAM = """#!/bin/sh
case "$*" in *version* | *help*) echo fio-3.36; exit ;; esac
exec cat FOLDER/output
"""

WORDS = (
    b"0", b"-1", b"1e999", b"nan", b"9" * 30, b"9" * 5000, b"null", b"true", b"[]", b"{}", b'""', b"\x00", b"\xff", b"\x1b[31m", b"&a [*a, *a]",
    b"!!python/name:os.system", b"1..1000000000", b"{x}", b"<<: *a", b"\\ud800", b"[" * 2000, b": ", b"\n", b"\t", b"-", b"|", b"18446744073709551615",
)  # fmt: skip


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- what is changed -----------------------------------------------------------------------------------------


def seeds(kind: str, folder: Path) -> list[bytes]:
    if kind == "experiment":
        return [path.read_bytes() for path in sorted((ROOT / "experiments").glob("*.yaml"))]
    if kind == "topology":
        found = sorted((ROOT / "tests/fixtures/hwloc").glob("*.*"))
        return [path.read_bytes() for path in found if path.suffix in (".xml", ".json")]
    if kind == "run":
        of_parsers = seeds("parse", folder)
        return [data for data in of_parsers if data.partition(b"\n")[0].decode() in EXPERIMENTS] + [
            b"command\n" + data.partition(b"\n")[2] for data in of_parsers[::5]
        ]
    if kind == "parse":
        return [name.encode() + b"\n" + data for name, data in _module("fuzz_parsers").seeds() if name != "hwloc"]
    file = _result(folder / "seed.db")
    return [words.encode() + b"\n" + file for words in COMMANDS] if kind == "command" else [file]


def _result(path: Path, texts: tuple[str, ...] = ("stream/*", "imb/*", "mlc/*", "osu/*")) -> bytes:
    """Write and return a result file as `pinsweep parse` makes it of captured texts."""
    from orchestrator.capture.intake import Left, intake_options, read
    from orchestrator.capture.kept import store

    path.unlink(missing_ok=True)
    asked = intake_options(None, (), (), (), "")
    names = [str(ROOT / "tests/fixtures" / f"{text}.out") for text in texts]
    store((item for item in read(names, asked) if not isinstance(item, Left)), path, asked, version="0")
    return path.read_bytes()


def changed(kind: str, data: bytes, order: random.Random, folder: Path) -> bytes:
    """Return a text or a file with one to four changes; of a result file, half of them are of a value in a row."""
    if kind in ("parse", "run", "command"):  # the first line names the parser, the tool, or the command
        first, end, rest = data.partition(b"\n")
        return first + end + changed("result" if kind == "command" else "text", rest, order, folder)
    if kind == "result" and order.random() < 0.8:
        return _changed_rows(data, order, folder)
    out = bytearray(data)
    for _ in range(order.randrange(1, 5)):
        at = order.randrange(len(out) + 1)
        length = order.choice((0, 1, 1, 2, 8, 64, 512))
        match order.randrange(5):
            case 0:
                out[at : at + length] = b""
            case 1:
                out[at : at + length] = order.choice(WORDS)
            case 2:
                other = order.randrange(len(out) + 1)
                out[at:at] = out[other : other + length] * order.choice((1, 1, 2, 100))
            case 3 if out:
                out[at % len(out)] ^= 1 << order.randrange(8)
            case _:
                if kind != "result":
                    lines = bytes(out).split(b"\n")
                    i, j = order.randrange(len(lines)), order.randrange(len(lines))
                    lines[i], lines[j] = lines[j], lines[i]
                    out = bytearray(b"\n".join(lines))
    return bytes(out)


def _changed_rows(data: bytes, order: random.Random, folder: Path) -> bytes:
    path = folder / "changed.db"
    path.write_bytes(data)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        for _ in range(order.randrange(1, 4)):
            table = order.choice(("session", "experiment", "point", "run", "run", "output", *READINGS))
            column = order.choice([row[1] for row in db.execute(f"PRAGMA table_info({table})")])
            (row, value) = order.choice(
                db.execute(
                    f"SELECT {'run_id' if table in WITHOUT_ROWID else 'rowid'}, {column} FROM {table}"
                ).fetchall()
                or [(0, 0)]
            )
            key = "run_id" if table in WITHOUT_ROWID else "rowid"
            with contextlib.suppress(sqlite3.Error):  # a constraint: then it stays
                db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (_other(value, order), row))
    return path.read_bytes()


def _other(value: object, order: random.Random) -> object:
    if isinstance(value, bytes):
        return changed("text", value, order, Path())
    if not isinstance(value, str):
        return order.choice((0, -1, 1, 7, 10**12, 2**63 - 1, None, 0.5, 9e999))
    with contextlib.suppress(ValueError):
        return json.dumps(_json(json.loads(value), order))
    return changed("text", value.encode(), order, Path()).decode("utf-8", "replace")


def _json(value: object, order: random.Random) -> object:
    """Return a JSON value with one value in it another one, at whatever depth."""
    if isinstance(value, dict) and value and order.random() < 0.8:
        key = order.choice(list(value))
        return {**value, key: _json(value[key], order)}
    if isinstance(value, list) and value and order.random() < 0.8:
        at = order.randrange(len(value))
        return [*value[:at], _json(value[at], order), *value[at + 1 :]]
    return order.choice(
        (
            None,
            True,
            0,
            -1,
            2**70,
            0.5,
            "",
            "x",
            "9" * 50,
            [],
            {},
            [1],
            {"a": 1},
            [[]],
            {"file": "x"},
            float("inf"),
        )
    )


# --- what must read or refuse it -----------------------------------------------------------------------------


def take(kind: str, data: bytes, folder: Path) -> str:
    """Let pinsweep have an input; return "read" or "refused". Raises whatever should not have been raised."""
    from parsers.errors import PinsweepError

    try:
        _TAKEN[kind](data, folder)
    except PinsweepError as error:
        return "refused" if str(error) else "refused without a word"
    return "read"


def _experiment(data: bytes, folder: Path) -> None:
    from orchestrator.experiment.load import load_experiment

    (folder / "e.yaml").write_bytes(data)
    load_experiment(folder / "e.yaml")
    _pinsweep("plan", "e.yaml", folder=folder)


def _topology(data: bytes, folder: Path) -> None:  # noqa: ARG001 (all are called alike)
    from orchestrator.machine.descriptions import topology_from_text
    from parsers.text import decode

    topology_from_text(decode(data)).numbers()


def _parse(data: bytes, folder: Path) -> None:  # noqa: ARG001
    from parsers import text_to_parse

    name, _, text = data.partition(b"\n")
    _module("fuzz_parsers").check(name.decode(), text_to_parse(name.decode(), text, b""))


def _read_result(data: bytes, folder: Path) -> None:
    from parsers.errors import PinsweepError
    from pinsweep import bug
    from reports.checks.audit import audit
    from reports.results.load import load
    from reports.show import show_result, show_runs

    path = folder / "r.db"
    path.write_bytes(data)
    try:
        audit(load([path]))
        show_runs(path)
        show_result(path)
    except PinsweepError:
        raise
    except Exception as error:
        if found := bug.of_a_file([str(path)]):  # as `pinsweep.__main__` does
            raise found from error
        raise


def _command(data: bytes, folder: Path) -> None:
    words, _, file = data.partition(b"\n")
    (folder / "r.db").write_bytes(file)
    if not (folder / "seed.db").exists():
        _result(folder / "seed.db")
    _pinsweep(*words.decode().split(), folder=folder)


def _run(data: bytes, folder: Path) -> None:
    tool, _, output = data.partition(b"\n")
    name = tool.decode()
    (folder / "output").write_bytes(output)
    (folder / "program").write_text(PROGRAM.replace("FOLDER", str(folder)))
    (folder / "program").chmod(0o755)
    text = f"schema: 1\ntitle: a\ntool: {name}\nrepeats: 1\n{EXPERIMENTS[name].replace('FOLDER', str(folder))}\n"
    (folder / "run.yaml").write_text(text)
    (folder / "run.db").unlink(missing_ok=True)
    os.environ[f"PINSWEEP_{name.upper()}"] = str(folder / "program")
    try:
        _pinsweep(
            *["run", "run.yaml", "-o", "run.db", "--share-machine", "--no-warm-up", "--allow-disturbed"],
            folder=folder,
        )
        _pinsweep("show", "run.db", "1", folder=folder)
    finally:
        del os.environ[f"PINSWEEP_{name.upper()}"]


def _pinsweep(*words: str, folder: Path) -> None:
    """Do what the command line does, in this process; what it prints is dropped. Raises what becomes a message there, and all else."""
    import click

    from parsers.errors import PinsweepError
    from pinsweep import bug
    from pinsweep.cli import cli

    out, before = io.TextIOWrapper(io.BytesIO(), errors="backslashreplace"), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            cli.main(list(words), standalone_mode=False)
    except PinsweepError:
        raise
    except (click.ClickException, OSError) as error:  # OSError: a name that is too long
        raise PinsweepError("", str(error) or repr(error)) from error
    except Exception as error:
        if found := bug.of_a_file(words):  # as `pinsweep.__main__` does
            raise found from error
        raise
    finally:
        os.chdir(before)


_TAKEN: dict[str, Callable[[bytes, Path], None]] = {
    "experiment": _experiment, "topology": _topology, "parse": _parse, "result": _read_result, "command": _command, "run": _run,
}  # fmt: skip


# --- the loop ------------------------------------------------------------------------------------------------


class _TooLong(BaseException):
    pass


def _ring(*_: object) -> None:
    raise _TooLong


def _load(kinds: tuple[str, ...], folder: Path) -> None:
    """Import what inputs of these kinds will need, before memory is bounded, and keep what they write in a folder."""
    for name in ("CONFIG", "CACHE", "DATA"):
        os.environ[f"XDG_{name}_HOME"] = str(folder)
    os.environ["PINSWEEP_RUNTIME_DIR"] = str(folder)
    for kind in kinds:
        with contextlib.suppress(Exception):
            take(kind, b"command\n1 " if kind == "run" else b"", folder)
    if "command" in kinds:  # a text of each tool takes the same modules, in a third of the time
        _result(folder / "small.db", ("stream/stream_omp2", "imb/pingpong_default", "mlc/memlat_0.1_six_runs", "osu/latency"))  # fmt: skip
    for words in COMMANDS if "command" in kinds else ():
        with contextlib.suppress(Exception):
            _pinsweep(*words.replace("seed.db", "r.db").replace("r.db", "small.db").split(), folder=folder)


def _child(inbox: Connection, answers: Connection, kinds: tuple[str, ...], folder: Path) -> None:
    """Take inputs until there is none left. What is raised is answered; a crash is seen by the parent."""
    _load(kinds, folder)
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.signal(signal.SIGPROF, _ring)
    while (item := inbox.recv()) is not None:
        signal.setitimer(signal.ITIMER_PROF, CPU_S)
        try:
            answer = take(item[0], item[1], folder)
        except _TooLong:
            answer = f"took more than {CPU_S:.0f} s"
        except BaseException:
            answer = traceback.format_exc()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        answers.send(answer)


def fuzz(
    seed: int, kinds: tuple[str, ...], kept: Path, *, seconds: float = math.inf, inputs: float = math.inf
) -> tuple[Counter[str], dict[str, str]]:
    """Try so many inputs, or for so long; return how many of each kind were read and refused, and what was found: the file of an
    input → what it did."""
    order = random.Random(seed)
    counts: Counter[str] = Counter()
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = {kind: seeds(kind, folder) for kind in kinds}
        worker = _Worker(kinds, folder)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and sum(counts.values()) < inputs:
            kind = kinds[sum(counts.values()) % len(kinds)]
            data = changed(kind, order.choice(corpus[kind]), order, folder)
            answer = worker.take(kind, data)
            counts[f"{kind} {answer if answer in ('read', 'refused') else 'FOUND'}"] += 1
            if answer in ("read", "refused"):
                continue
            last = answer.strip().splitlines()[-1]
            where = [line.strip() for line in answer.splitlines() if line.strip().startswith("File")][-1:]
            if (what := f"{last[:80]} {where}") not in found.values():
                path = kept / f"{kind}-{hashlib.sha256(data).hexdigest()[:8]}"
                kept.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                found[str(path)] = what
        worker.end()
    return counts, found


class _Worker:
    """The child, and another one where it has died."""

    def __init__(self, kinds: tuple[str, ...], folder: Path) -> None:
        self._kinds, self._folder = kinds, folder
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("fork")
        self._inbox, inbox = context.Pipe()
        answers, self._answers = context.Pipe()
        self._process = context.Process(
            target=_child, args=(inbox, self._answers, self._kinds, self._folder), daemon=True
        )
        self._process.start()
        inbox.close()
        self._answers.close()
        self._answers = answers

    def take(self, kind: str, data: bytes) -> str:
        self._inbox.send((kind, data))
        try:
            return str(self._answers.recv()) if self._answers.poll(PATIENCE_S) else self._again("did not answer")
        except EOFError:
            return self._again("crashed")

    def _again(self, what: str) -> str:
        self._process.kill()
        self._process.join()
        self._begin()
        return what

    def end(self) -> None:
        self._inbox.send(None)
        self._process.join(10)
        self._process.kill()


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--seconds", type=float, default=60)
    words.add_argument("--inputs", type=float, default=math.inf, help="so many at most")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--kind", action="append", choices=KINDS)
    words.add_argument("--keep", type=Path, default=FOUND, metavar="DIR", help="where to keep what is found")
    asked = words.parse_args()
    sys.path.insert(0, str(ROOT))
    counts, found = fuzz(asked.seed, tuple(asked.kind or KINDS), asked.keep, seconds=asked.seconds, inputs=asked.inputs)
    for what, count in sorted(counts.items()):
        print(f"{count:8} {what}")
    for path, what in found.items():
        print(f"found {path}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
