"""sysbench cpu or memory, each thread on a PU of the cell's place."""

from orchestrator.placement.place import numactl
from orchestrator.tools import Command, Option, Tool


class Sysbench(Tool):
    PROGRAMS, SIGNATURE = ("sysbench",), b"sysbench"
    INSTALL = "apt-get install sysbench"
    STARTER = "fixed: {test: cpu, time: 2, place: numa_node 0}\nmatrix: {threads: 1..cores_per_numa_node}\n"

    OPTIONS = {
        "test": Option("word", "what is measured", choices=("cpu", "memory"), required=True),
        "threads": Option("int", "how many at once", low=1, required=True),
        "time": Option("seconds", "how long", low=1, required=True),
    }

    def shape(self, options):
        return int(options["threads"]), 1

    def command(self, cell, placement, site, program):
        given, pinned = cell.options, numactl(placement.groups[0], site.numactl) if placement else ()
        words = (given["test"], f"--threads={given['threads']}", f"--time={given['time']:g}", "run")
        return Command(argv=(*pinned, program.path, *words), estimate_s=given["time"])

    def version(self, text):
        return text.split()[1]


TOOL = Sysbench()
