"""How long a sweep of a thousand hosts takes to submit, and `status` of it to answer: a real Slurm, whose hosts are lines of its configuration.

    python benchmarks/many_hosts.py --scripts ../shared/test-cluster [--hosts 1000]

Needs root and the packages of that test cluster. The jobs wait: they may begin tomorrow. Nothing is measured on any host.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXPERIMENT = """\
schema: 1
title: one
tool: command
fixed: {command: "echo 1", metrics: {n: {regex: "([0-9]+)", unit: "1", better: higher}}}
matrix: {x: [1]}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scripts", type=Path, required=True)
    parser.add_argument("--hosts", type=int, default=1000)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="pinsweep-b-", dir="/tmp"))

    def script(name: str, *words: str, within: Path | None = None) -> subprocess.CompletedProcess[str]:
        argv = [str(asked.scripts.resolve() / name), "--dir", str(folder), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=within)

    def timed(*words: str) -> tuple[float, float, dict[str, int], str]:
        """Return seconds, those of CPU of pinsweep and of what it started, the questions that the controller got meanwhile, and what was
        printed."""
        script("login", "sdiag", "--reset")
        begun, before = time.monotonic(), _cpu_s()
        done = script("login", sys.executable, "-P", "-m", "pinsweep", *words, within=folder / "shared")
        took, cpu = time.monotonic() - begun, _cpu_s() - before
        said = script("login", "sdiag").stdout
        part = said.partition("Remote Procedure Call statistics by message type")[2].partition("by user")[0]
        counts = {name: int(n) for name, n in re.findall(r"REQUEST_(\S+)\s.*?count:(\d+)", part) if "STATS" not in name}
        return took, cpu, counts, f"exit status {done.returncode}: {done.stdout}{done.stderr}"

    width = len(str(asked.hosts))
    hosts = f"many[{1:0{width}}-{asked.hosts}]"
    try:
        lines = [
            f"NodeName={hosts} NodeAddr=10.77.0.1 CPUs=64 Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 State=CLOUD",
            f"PartitionName=many Nodes={hosts} MaxTime=INFINITE State=UP",
            "SuspendProgram=/bin/true", "ResumeProgram=/bin/true", "SuspendTime=86400", "MaxJobCount=20000", "PrivateData=cloud",
        ]  # fmt: skip
        up = script("up")
        if up.returncode:
            print(up.stdout + up.stderr, file=sys.stderr)
            return 1
        conf = folder / "etc" / "slurm.conf"
        conf.write_text("\n".join([conf.read_text().replace("Nodes=ALL", "Nodes=node[1-3]"), *lines, ""]))
        script("node", "login", "restart", "slurmctld")
        script("node", "node[1-3]", "restart", "slurmd")
        while len(script("login", "sinfo", "-h", "-N", "-p", "many", "-o", "%N").stdout.split()) < asked.hosts:
            time.sleep(0.5)
        (folder / "shared" / "one.yaml").write_text(EXPERIMENT)
        for words in (
            ["run", "one.yaml", "--nodes", hosts, "-o", "acc/", "--sbatch", "-p many --begin=now+1day"],
            ["status", "acc/"],
            ["run", "-o", "acc/"],
        ):
            took, cpu, questions, said = timed(*words)
            told = ", ".join(f"{n} {name}" for name, n in questions.items())
            print(
                f"pinsweep {words[0]:7} {took:6.1f} s, {cpu:.1f} s of CPU, load {os.getloadavg()[0]:.0f}  slurmctld was asked {sum(questions.values())} times: {told}\n{said}"
            )
    finally:
        script("down")
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
