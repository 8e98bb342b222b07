"""stress-ng, one stressor with some workers, each on a PU of the cell's place."""

from orchestrator.placement.place import numactl
from orchestrator.tools import Command, Option
from orchestrator.tools._plain import FATAL, KERNEL, complaint, default_place, problems, version_argv  # noqa: F401

PROGRAMS, SIGNATURE = ("stress-ng",), b"stress-ng"
INSTALL = "apt-get install stress-ng"
STARTER = "fixed: {stressor: matrix, seconds: 2, place: all}\nmatrix: {workers: [1, cores]}\n"


def options():
    return {
        "stressor": Option(kind="text", required=True, help="the stressor: matrix, cpu, stream …"),
        "workers": Option(kind="int", low=1, required=True, help="how many of it at once"),
        "seconds": Option(kind="seconds", low=1, required=True, help="how long"),
    }


def shape(options):
    return int(options["workers"]), 1


def command(cell, placement, site, program):
    given, pinned = cell.options, numactl(placement.groups[0], site.numactl) if placement else ()
    load, seconds = (f"--{given['stressor']}", str(given["workers"])), f"{given['seconds']:g}"
    words = (*load, "--timeout", seconds, "--metrics-brief", "--stdout")
    return Command(argv=(*pinned, program.path, *words), estimate_s=given["seconds"])


def version(text):
    return text.split()[2].rstrip(",")
