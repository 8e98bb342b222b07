"""Cut the power right after a run was announced, and see that it is there afterwards.

    python scripts/powercut.py --cuts 30                  # as root; nothing outside a folder in $TMPDIR is touched
    python scripts/powercut.py --cuts 30 --tree OTHER     # another checkout of pinsweep, with this one's packages

A file in the temporary folder holds an ext4 file system, mounted through a loop device. A sweep of short runs writes its
result file there; some lines after it began, the file system is shut down as xfstests do it (EXT4_IOC_SHUTDOWN without a
flush: nothing that is still in memory reaches the device, and nothing is written any more), pinsweep is killed, and the
file system mounted again, which replays its journal as after a power cut. Then every run that a line on the terminal
called ok has to be in the result file, and the file has to be whole. Every third cut goes on with the file that the cuts
before have left, the others begin a new one.

Prints a line per cut and the counts; exit status 1 if a run was lost or a file damaged, 3 where this cannot be done.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

SIZE_BYTES = 128 << 20
SHUTDOWN = 2 << 30 | 4 << 16 | ord("X") << 8 | 125
"""EXT4_IOC_SHUTDOWN, _IOR('X', 125, __u32): linux/fs/ext4/ext4.h."""
NO_LOG_FLUSH = 2
"""EXT4_GOING_FLAGS_NOLOGFLUSH."""

OWN = "PINSWEEP_POWERCUT_MOUNTS"
"""Environment variable: this process has mounts of its own."""

EXPERIMENT = """\
schema: 1
title: short runs
tool: command
fixed:
  command: sh -c 'sleep 0.02; echo value {n}'
  metrics: {reply: {regex: "value ([0-9]+)", unit: ms}}
matrix: {n: 1..300}
repeats: 1
"""
ANNOUNCED = re.compile(r"^\[.*\bn=([0-9]+)\b.* s$")
"""The line of an ok run; that of another ends in its reason."""


class Impossible(Exception):
    """Not root, or no ext4 on a loop device here."""


@contextmanager
def file_system() -> Iterator[tuple[Path, Path]]:
    """Give (image, mount point) of a fresh ext4, mounted; all of it is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="pinsweep-powercut-"))
    image, point = folder / "disk", folder / "mounted"
    point.mkdir()
    try:
        with image.open("wb") as file:
            file.truncate(SIZE_BYTES)
        must("mkfs.ext4", "-q", str(image))
        mount(image, point)
        yield image, point
    finally:
        unmount(point)
        shutil.rmtree(folder)


def must(*argv: str) -> None:
    try:
        subprocess.run(argv, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise Impossible(f"{argv[0]} is missing") from error
    except subprocess.CalledProcessError as error:
        raise Impossible(error.stderr.strip()) from error


def mount(image: Path, point: Path) -> None:
    must("mount", "-o", "loop", str(image), str(point))


def unmount(point: Path) -> None:
    """Unmount as soon as those that a killed pinsweep leaves for a moment are gone."""
    for _ in range(100):
        if not os.path.ismount(point):
            return
        if subprocess.run(["umount", str(point)], capture_output=True, check=False).returncode:
            time.sleep(0.1)
    raise SystemExit(f"{point} cannot be unmounted")


def cut(tree: Path, point: Path, name: str, lines: int, home: Path) -> set[int]:
    """Run until so many more runs are announced, cut the power, kill; return the cells whose runs were announced as ok."""
    paths = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "CACHE", "DATA")}
    process = subprocess.Popen(
        [sys.executable, "-m", "pinsweep", "run", str(home / "short.yaml"), "-o", str(point / name)],
        cwd=home, env={**os.environ, **paths, "PYTHONPATH": str(tree), "PINSWEEP_ALLOW_DISTURBED": "1"}, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    announced: set[int] = set()
    said: list[str] = []
    disk = os.open(point, os.O_RDONLY)
    try:
        for line in process.stderr:
            said.append(line)
            if found := ANNOUNCED.match(line.rstrip("\n")):
                announced.add(int(found[1]))
            if len(announced) == lines:
                break
        else:
            raise SystemExit(f"pinsweep ended before the cut:\n{''.join(said)}")
        fcntl.ioctl(disk, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    finally:
        os.close(disk)
        process.send_signal(signal.SIGKILL)
    # what was announced while the power was being cut counts, too
    announced |= {int(found[1]) for line in process.stderr if (found := ANNOUNCED.match(line.rstrip("\n")))}
    process.wait()
    return announced


def look(path: Path) -> tuple[set[int], str]:
    """Return the cells that have an ok run in the file, and what integrity_check says of it."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as db:
            (verdict,) = db.execute("PRAGMA integrity_check").fetchone()
            rows = db.execute(
                "SELECT json_extract(options, '$.n') FROM run JOIN point USING (point_id) WHERE status = 'ok'"
            )
            return {int(n) for (n,) in rows}, str(verdict)
    except sqlite3.Error as error:
        return set(), str(error)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cuts", type=int, default=30)
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if os.geteuid():
        print("only root may mount", file=sys.stderr)
        return 3
    if not os.environ.get(OWN):  # mounts that nobody else's namespace copies and keeps, and that go when this is killed
        argv = ["unshare", "--mount", sys.executable, *sys.argv]
        return subprocess.run(argv, env={**os.environ, OWN: "1"}, check=False).returncode
    rng = random.Random(asked.seed)
    lossy = damaged = lost = announced = 0
    expected: set[int] = set()
    name = ""
    try:
        with file_system() as (image, point), tempfile.TemporaryDirectory() as home:
            Path(home, "short.yaml").write_text(EXPERIMENT)
            for number in range(1, asked.cuts + 1):
                if number % 3 or not name:
                    name, expected = f"r{number}.db", set()
                said = cut(asked.tree, point, name, rng.randint(1, 6), Path(home))
                unmount(point)
                mount(image, point)
                there, verdict = look(point / name)
                missing = (expected | said) - there
                print(f"cut {number:3}  {name}: {len(said)} announced, {len(missing)} lost, {verdict}", flush=True)  # fmt: skip
                announced += len(said)
                lost += len(missing)
                lossy += bool(missing)
                damaged += verdict != "ok"
                expected = there
    except Impossible as error:
        print(error, file=sys.stderr)
        return 3
    print(f"{asked.cuts} cuts, {announced} runs announced: {lossy} cuts lost {lost} runs, {damaged} files damaged")
    return 1 if lossy or damaged else 0


if __name__ == "__main__":
    sys.exit(main())
