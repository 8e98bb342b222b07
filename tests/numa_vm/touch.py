"""A tool to place: takes memory, then says where it is, where the memory is, and where pinsweep (its parent) waits.

Prints one JSON object, and `touched N MiB` for the parser. Needs no module of pinsweep's.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path


def status(pid: int, key: str) -> str:
    return next(
        line.split(":")[1].strip()
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith(key)
    )


def anonymous_pages(pid: int) -> dict[str, int]:
    """NUMA node → pages of anonymous memory: what the process itself has written to."""
    pages: Counter[str] = Counter()
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        if " anon=" in line:
            pages.update({node: int(count) for node, count in re.findall(r" N(\d+)=(\d+)", line)})
    return dict(pages)


mib = int(sys.argv[1])
kept = b"\1" * (mib << 20)
time.sleep(0.5)  # pinsweep looks meanwhile
us = os.getpid()
numastat = subprocess.run(["numastat", "-p", str(us)], capture_output=True, text=True, check=True).stdout
print(
    json.dumps(
        {
            "cpus": status(us, "Cpus_allowed_list"),
            "last_cpu": int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[36]),
            "pages": anonymous_pages(us),
            "numastat_private_mb": re.search(r"^Private +(.*)$", numastat, re.MULTILINE)[1].split(),
            "parent_cpus": status(os.getppid(), "Cpus_allowed_list"),
        }
    )
)
print(f"touched {mib} MiB")
