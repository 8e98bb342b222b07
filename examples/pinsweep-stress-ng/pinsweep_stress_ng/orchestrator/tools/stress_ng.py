"""stress-ng, one stressor with some workers, each on a PU of the cell's place."""

from orchestrator.placement.place import numactl
from orchestrator.tools import Command, Option, Tool


class StressNg(Tool):
    PROGRAMS, SIGNATURE = ("stress-ng",), b"stress-ng"
    INSTALL = "apt-get install stress-ng"
    STARTER = "fixed: {stressor: matrix, seconds: 2, place: all}\nmatrix: {workers: [1, cores]}\n"

    OPTIONS = {
        "stressor": Option("text", "the stressor: matrix, cpu, stream …", required=True),
        "workers": Option("int", "how many of it at once", low=1, required=True),
        "seconds": Option("seconds", "how long", low=1, required=True),
    }

    def shape(self, options):
        return int(options["workers"]), 1

    def command(self, cell, placement, site, program):
        given, pinned = cell.options, numactl(placement.groups[0], site.numactl) if placement else ()
        load, seconds = (f"--{given['stressor']}", str(given["workers"])), f"{given['seconds']:g}"
        words = (*load, "--timeout", seconds, "--metrics-brief", "--stdout")
        return Command(argv=(*pinned, program.path, *words), estimate_s=given["seconds"])

    def version(self, text):
        return text.split()[2].rstrip(",")


TOOL = StressNg()
