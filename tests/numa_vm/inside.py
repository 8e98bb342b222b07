"""Runs as root in a guest of numa-vm: uses pinsweep as a user would, and writes what came of it to /share/facts.json.

Nothing is judged here, and nothing is asked of pinsweep's own modules: test_numa_vm.py compares what pinsweep says with
what the kernel says (numa_maps, numastat, /proc), and both with the topology that the guest was given.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SHARE = Path("/share")
CGROUPS = Path("/sys/fs/cgroup")
TOUCH = f"python3 {HERE / 'touch.py'} 32"

Facts = dict[str, Any]


def pinsweep(*words: str, before: tuple[str, ...] = (), **env: str) -> Facts:
    argv = [*before, sys.executable, "-m", "pinsweep", *words]
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, **env}, check=False)
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


def sweep(name: str, text: str, *words: str, before: tuple[str, ...] = (), **env: str) -> Facts:
    """Run each cell of an experiment once; return how it ended, and its runs as the result file has them."""
    path, db = Path(f"{name}.yaml"), SHARE / f"{name}.db"
    path.write_text(f"schema: 1\ntitle: {name}\nrepeats: 1\n{text}")
    once = ("--no-warm-up", "--allow-disturbed")  # an emulated machine is busy with itself
    facts = pinsweep("run", str(path), "-o", str(db), *once, *words, before=before, **env)
    facts["runs"] = []
    facts["skipped"] = []
    if db.exists():
        with contextlib.closing(sqlite3.connect(db)) as file:
            facts["runs"] = [
                {
                    "run": run,
                    "place": json.loads(place)["name"],
                    "status": status,
                    "reason": reason,
                    "asked": json.loads(asked),
                    "seen": json.loads(seen or "null"),
                    "out": zlib.decompress(out).decode(),
                }
                for run, place, status, reason, asked, seen, out in file.execute(
                    "SELECT run_id, place, status, reason, placement, seen, zlib FROM run JOIN point USING (point_id)"
                    " JOIN output USING (run_id) WHERE stream = 'stdout' ORDER BY run_id"
                )
            ]
            facts["skipped"] = [
                [json.loads(cell)["place"], reason]
                for cell, reason in file.execute("SELECT point, reason FROM skipped")
            ]
    return facts


def touching(places: str) -> str:
    return (
        f"tool: command\nfixed: {{command: {TOUCH}, seconds: 3, "
        f'metrics: {{size: {{regex: "touched ([0-9]+) MiB", unit: MiB}}}}}}\nmatrix:\n  place: {places}\n'
    )


@contextlib.contextmanager
def watching(name: str) -> Iterator[list[Facts]]:
    """Collect what /proc says of every process of a name while the block lasts: one entry each, of its last moment."""
    found: dict[int, Facts] = {}
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.4):
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    with contextlib.suppress(OSError, StopIteration, IndexError):
                        if (entry / "comm").read_text().strip() == name and (one := process(entry)):
                            found[int(entry.name)] = one

    thread = threading.Thread(target=watch)
    thread.start()
    seen: list[Facts] = []
    try:
        yield seen
    finally:
        ended.set()
        thread.join()
        seen += found.values()


def process(entry: Path) -> Facts | None:
    masks = []
    for task in sorted((entry / "task").iterdir()):
        lines = (task / "status").read_text().splitlines()
        masks.append(next(line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:")))
    environ = (entry / "environ").read_bytes().split(b"\0")
    rank = next((int(word.split(b"=")[1]) for word in environ if word.startswith(b"PMI_RANK=")), None)
    maps = (entry / "numa_maps").read_text()
    pages: dict[str, int] = {}
    for line in maps.splitlines():
        if " anon=" in line:
            for node, count in re.findall(r" N(\d+)=(\d+)", line):
                pages[node] = pages.get(node, 0) + int(count)
    policy = maps.split(maxsplit=2)[1]
    return {"rank": rank, "masks": masks, "policy": policy, "pages": pages} if pages else None


def digest(device: str, mib: int = 16) -> str:
    with Path(device).open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return hashlib.sha256(file.read(mib << 20)).hexdigest()


def cpuset(name: str, cpus: str, mems: str) -> str:
    """Make a cgroup with these CPUs and memory nodes; return the file that takes a process in."""
    (CGROUPS / "cgroup.subtree_control").write_text("+cpuset")
    (CGROUPS / name).mkdir()
    (CGROUPS / name / "cpuset.cpus").write_text(cpus)
    (CGROUPS / name / "cpuset.mems").write_text(mems)
    return str(CGROUPS / name / "cgroup.procs")


# --- the steps ---


def doctor() -> Facts:
    """`doctor` without a compiler: the kernels would take minutes here."""
    programs = Path("programs")
    programs.mkdir()
    for name in ("numactl", "lstopo-no-graphics", "lscpu", "fio"):
        (programs / name).symlink_to(str(shutil.which(name)))
    return pinsweep("doctor", "--capture", "captured", PATH=str(programs.absolute()))


def plans() -> Facts:
    """The same plan from the machine itself and from its capture."""
    Path("pairs.yaml").write_text(
        "schema: 1\ntitle: pairs\ntool: imb\nrepeats: 1\nmatrix:\n"
        "  place: [smt siblings, same cache, same package, other package, each numa_node, near nvme0n1]\n"
    )
    words = ("plan", "pairs.yaml", "--format", "json")
    return {
        "here": pinsweep(*words, PINSWEEP_IMB="/bin/true"),
        "there": pinsweep(*words, "--topology", "captured", PINSWEEP_IMB="/bin/true"),
    }


def pingpong(places: str) -> Facts:
    if not Path("/opt/venv/bin/IMB-MPI1").exists():
        return {}
    text = f'tool: imb\nfixed: {{benchmark: PingPong, msglog: "0:4", iter: 10}}\nmatrix: {{place: {places}}}\n'
    with watching("IMB-MPI1") as ranks:
        facts = sweep("pingpong", text, PINSWEEP_IMB="/opt/venv/bin/IMB-MPI1")
    return {**facts, "ranks": ranks}


def threads() -> Facts:
    text = (
        "tool: stream\nfixed: {array_size: 400000, ntimes: 30}\nmatrix:\n  threads: [2, 4]\n"
        "  place: [{name: there, cpus: numa_node 1, memory: remote}]\n"
    )
    with watching("stream") as seen:
        facts = sweep("threads", text, PINSWEEP_STREAM="kernel")
    return {**facts, "processes": seen}


def loaded_latency() -> Facts:
    text = (
        "tool: mlc\nfixed: {mode: loaded_latency, delays: [0, 1000], t: 1, b: 4m}\nmatrix:\n"
        "  place: [{name: there, cpus: numa_node 0, memory: remote}]\n"
    )
    with watching("memlat") as seen:
        facts = sweep("latency", text, PINSWEEP_MLC="kernel")
    return {**facts, "processes": seen}


def raw_device() -> Facts:
    """Write to the NVMe disk without the word, with the word for another, with the word, and while it is mounted.

    As a block device, and past it: by the character device of its namespace, when mounted by a node of another name.
    """
    text = (
        "tool: fio\nfixed: {filename: /dev/nvme0n1, ioengine: psync, direct: true, bs: 64k, size: 8M, runtime: 1}\n"
        "matrix: {rw: [%s], place: [near nvme0n1]}\n"
    )
    device, other = "/dev/nvme0n1", "/dev/vdc"
    past = text.replace(device, "%s").replace("psync, direct: true", "io_uring_cmd, direct: false")
    major, minor = map(int, Path("/sys/class/nvme-generic/ng0n1/dev").read_text().split(":"))
    os.mknod("harmless", stat.S_IFCHR | 0o600, os.makedev(major, minor))
    digests = {"before": digest(device), "other before": digest(other)}
    facts: Facts = {"digests": digests, "read": sweep("fio-read", text % "randread")}
    facts["no word"] = sweep("fio-no-word", text % "randwrite")
    facts["word for another"] = sweep("fio-another", text % "randwrite", "--allow-write", other)
    digests["after refusals"] = digest(device)
    facts["word"] = sweep("fio-word", text % "randwrite", "--allow-write", device)
    digests |= {"after the write": digest(device), "other after": digest(other)}
    facts["char"] = sweep("fio-char", past % ("/dev/ng0n1", "randwrite"), "--allow-write", "/dev/ng0n1")
    digests["after the write by its character device"] = digest(device)
    Path("mounted").mkdir()
    for argv in (["mkfs.minix", device], ["mount", "-t", "minix", device, "mounted"], ["sync"]):
        subprocess.run(argv, check=True, capture_output=True)
    digests["mounted before"] = digest(device)
    facts["mounted"] = sweep("fio-mounted", text % "randwrite", "--allow-write", device)
    node = str(Path("harmless").absolute())
    facts["mounted char"] = sweep("fio-mounted-char", past % (node, "randwrite"), "--allow-write", node)
    digests["mounted after"] = digest(device)
    return facts


def batch_job() -> Facts:
    """In a cpuset of 3 CPUs, as a batch system makes them."""
    job = cpuset("job", "1,4-5", "0")
    places = "[all, core 0, numa_node 1, {name: remote, cpus: core 0, memory: remote}]"
    return sweep("cpuset", touching(places), before=("sh", "-c", f'echo $$ > {job}; exec "$@"', "sh"))


def taken_away() -> Facts:
    """A run whose CPUs a cgroup takes away as soon as it has started."""
    taken = cpuset("taken", "2", "0-1")
    wrapper = json.dumps(f"sh -c 'echo $$ > {taken}; sleep 1; echo found 1'")
    text = f"tool: command\nfixed: {{command: {wrapper}, metrics: {{n: {{regex: 'found (1)'}}}}}}\n"
    return sweep("taken", f"{text}matrix: {{place: [pu 0]}}\n")


def with_the_isolated_cpu() -> Facts:
    places = "[{name: isolated, cpus: pu 19}]"
    return sweep("isolated", touching(places), before=("taskset", "-c", "0-19"))


MEMORY = {
    "two-socket-smt": """
    - {name: local, cpus: numa_node 0, memory: local}
    - {name: remote, cpus: numa_node 0, memory: remote}
    - {name: near, cpus: near nvme0n1, memory: local}
    - {name: interleave, cpus: all, memory: interleave}
    - {name: thread, cpus: pu 4, memory: numa_node 1}
""",
    "ulysses-2x10": """
    - {name: local, cpus: numa_node 1, memory: local}
    - {name: remote, cpus: numa_node 1, memory: remote}
    - {name: near, cpus: near nvme0n1, memory: local}
    - {name: isolated, cpus: pu 19}
""",
    "four-node": """
    - {name: local, cpus: numa_node 2, memory: local}
    - {name: remote, cpus: numa_node 0, memory: remote}
    - {name: near, cpus: near nvme0n1, memory: local}
    - {name: package, cpus: package 0, memory: local}
    - {name: beside, cpus: numa_node 0, memory: numa_node 1}
""",
    "memory-only-node": """
    - {name: local, cpus: numa_node 1, memory: local}
    - {name: remote, cpus: numa_node 0, memory: remote}
    - {name: near, cpus: near nvme0n1, memory: local}
    - {name: memory only, cpus: near memory, memory: each memory-only node}
    - {name: no CPUs, cpus: numa_node 2}
""",
}
MORE: dict[str, dict[str, Callable[[], Facts]]] = {
    "two-socket-smt": {
        "pingpong": lambda: pingpong("[smt siblings, same cache, other package]"),
        "threads": threads,
        "latency": loaded_latency,
        "cpuset": batch_job,
        "taken": taken_away,
    },
    "ulysses-2x10": {
        "pingpong": lambda: pingpong("[same cache, other package]"),
        "isolated": with_the_isolated_cpu,
    },
    "memory-only-node": {"fio": raw_device},
}


def main(topology: str) -> None:
    os.environ.update(
        HOME="/root", XDG_CACHE_HOME=str(SHARE / "cache"), PYTHONPATH="/opt/project:/opt/site", PYTHONDONTWRITEBYTECODE="1"
    )  # fmt: skip
    os.chdir("/root")
    steps = {
        "doctor": doctor,
        "plans": plans,
        "memory": lambda: sweep("memory", touching(MEMORY[topology])),
        **MORE.get(topology, {}),
    }
    facts: Facts = {}
    for name, step in steps.items():
        begun = time.monotonic()
        facts[name] = step()
        print(f"{topology}: {name} took {time.monotonic() - begun:.0f} s", flush=True)
    (SHARE / "facts.json").write_text(json.dumps(facts, indent=1))


main(sys.argv[1])
