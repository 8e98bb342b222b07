"""sysbench cpu or memory, each thread on a PU of the cell's place."""

from orchestrator.placement.place import numactl
from orchestrator.tools import Command, Option
from orchestrator.tools._plain import FATAL, KERNEL, complaint, default_place, problems, version_argv  # noqa: F401

PROGRAMS, SIGNATURE = ("sysbench",), b"sysbench"
INSTALL = "apt-get install sysbench"
STARTER = "fixed: {test: cpu, time: 2, place: numa_node 0}\nmatrix: {threads: 1..cores_per_numa_node}\n"


def options():
    return {
        "test": Option(kind="word", choices=("cpu", "memory"), required=True, help="what is measured"),
        "threads": Option(kind="int", low=1, required=True, help="how many at once"),
        "time": Option(kind="seconds", low=1, required=True, help="how long"),
    }


def shape(options):
    return int(options["threads"]), 1


def command(cell, placement, site, program):
    given, pinned = cell.options, numactl(placement.groups[0], site.numactl) if placement else ()
    words = (given["test"], f"--threads={given['threads']}", f"--time={given['time']:g}", "run")
    return Command(argv=(*pinned, program.path, *words), estimate_s=given["time"])


def version(text):
    return text.split()[1]
