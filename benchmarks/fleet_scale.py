"""What a fleet of many hosts costs: CPU time and peak memory of `pinsweep fleet`, as text and with a page. The fleets are SYNTHESISED.

    pinsweep run quickstart --allow-disturbed -o pool.db
    python benchmarks/fleet_scale.py pool.db                               40 and 1000 hosts, both noises: up to an hour on a busy machine
    python benchmarks/fleet_scale.py pool.db --hosts 40 --noise odd --keep DIR

A host is a copy of the file under a name, a boot and a machine of its own, with every figure in its outputs changed: `even` by 1 %
(normal), so that few hosts are suspicious; `odd` has random digits behind the first one, so that every host is suspicious in something.
Nothing is in the cache of a file, and all texts are parsed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from scale import PINSWEEP, Cost, measured, told
from turns import start

FIGURE = re.compile(r'(?<![\w."-])\d+\.\d+(?![\w."])|(?<=" : )\d{3,}(?=[,\n])')
"""Figures: with a decimal point, or an integer of fio's JSON; no words, versions and names of quantiles."""
SET = re.compile(r'^(?: *#.*|.*=.*|.*pinsweep.*| *"(?:timestamp|fio version|job_start|histogram).*)$', re.MULTILINE)
"""Lines of settings."""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("pool", type=Path)
    words.add_argument("--hosts", type=int, nargs="+", default=[40, 1000])
    words.add_argument("--noise", nargs="+", choices=[*NOISES], default=[*NOISES])
    words.add_argument("--keep", type=Path, metavar="DIR", help="make the files there; those that are there are used again")  # fmt: skip
    options = words.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        for noise in options.noise:
            for hosts in options.hosts:
                files = made(options.pool, folder / f"{noise}-{hosts}", hosts, noise)
                for command, argv in commands(files).items():
                    print(_told(measured(command, hosts, argv), noise), flush=True)
    return 0


def commands(files: Path) -> dict[str, list[str]]:
    """Return what is measured."""
    fleet = [*PINSWEEP, "fleet", str(files)]
    page = str(files.with_suffix(".html"))
    return {"text": fleet, "text and page": [*fleet, "-o", page]}


def _told(cost: Cost, noise: str) -> str:
    return f"{noise:5} {told(cost).replace(' runs', ' hosts')}  {cost.wall_s:.0f} s"


# --- the files ---------------------------------------------------------------------------------------------


def made(pool: Path, folder: Path, hosts: int, noise: str) -> Path:
    """Return a folder with a result file of each host."""
    if not folder.exists():
        folder.mkdir(parents=True)
        with closing(sqlite3.connect(pool)) as db:
            texts = db.execute("SELECT run_id, stream, zlib FROM output WHERE stream = 'stdout'").fetchall()
        plain = {run_id: zlib.decompress(packed).decode() for run_id, _, packed in texts}
        for n in range(1, hosts + 1):
            _host(pool, folder / f"node{n:04}.db", plain, NOISES[noise], random.Random(n))
    return folder


def _host(
    pool: Path,
    out: Path,
    texts: Mapping[int, str],
    change: Callable[[str, random.Random], str],
    chance: random.Random,
) -> None:
    shutil.copyfile(pool, out)
    with closing(sqlite3.connect(out)) as db, db:
        db.execute("PRAGMA synchronous = OFF")
        for session, facts in db.execute("SELECT session, facts FROM session").fetchall():
            own = dict.fromkeys(("hostname", "boot_id", "machine_id"), out.stem)
            changed = json.dumps({**json.loads(facts), **own})
            db.execute("UPDATE session SET host = ?, facts = ? WHERE session = ?", (out.stem, changed, session))  # fmt: skip
        db.execute("UPDATE reading SET version = 0")
        for run_id, text in texts.items():
            data = jittered(text, change, chance).encode()
            db.execute(
                "UPDATE output SET zlib = ?, size_bytes = ? WHERE run_id = ? AND stream = 'stdout'",
                (zlib.compress(data), len(data), run_id),
            )


def jittered(text: str, change: Callable[[str, random.Random], str], chance: random.Random) -> str:
    """Return a text with its figures changed; lines of settings stay."""
    kept = SET.findall(text)
    parts = SET.split(text)
    new = [FIGURE.sub(lambda found: change(found[0], chance), part) for part in parts]
    return "".join(part + line for part, line in zip(new, [*kept, ""], strict=True))


def _even(figure: str, chance: random.Random) -> str:
    digits = len(figure.partition(".")[2])
    return f"{float(figure) * max(0.5, chance.gauss(1, 0.01)):.{digits}f}"


def _odd(figure: str, chance: random.Random) -> str:
    first = next((at for at, digit in enumerate(figure) if digit in "123456789"), len(figure))
    rest = (digit if digit == "." else chance.choice("0123456789") for digit in figure[first + 1 :])
    return figure[: first + 1] + "".join(rest)


NOISES: Mapping[str, Callable[[str, random.Random], str]] = {"even": _even, "odd": _odd}


if __name__ == "__main__":
    sys.exit(start(main))
