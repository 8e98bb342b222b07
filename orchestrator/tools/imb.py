"""Intel MPI Benchmarks under Intel MPI, Open MPI or MPICH: one numactl per rank, never one mask for all.

`mpirun -np 2 hwloc-bind core:0 core:7 IMB-MPI1` binds both ranks to the union of the two cores. Here each rank is
started by a numactl of its own, and the library's own pinning is switched off so that it cannot fight it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from orchestrator.model import LONGEST_S, Cell, Place, Placement, ScratchFile
from orchestrator.placement.place import numactl
from orchestrator.tools import Ask, Command, Option, Probed, Program, Site, _mpi
from parsers.units import size_bytes

if TYPE_CHECKING:
    from parsers.measurement import Parsed

PROGRAMS = ("IMB-MPI1",)
KERNEL = ""
FATAL = (
    "invalid_benchmark_name",
    "invalid_nprocs",
    "out_of_mem",
    "time_out",
    "int_overflow",
    "truncated",
    "empty_table",
)
SIGNATURE = b"MPI Benchmarks"
INSTALL = "pip install 'pinsweep[mpi]' on x86-64, or build Intel MPI Benchmarks with your MPI and set PINSWEEP_IMB=/path/to/IMB-MPI1"
STARTER: Final = """\
fixed:
  benchmark: PingPong
  msglog: "0:22"           # in quotes: YAML reads 0:22 as a time
matrix:
  place: [smt siblings, same cache, same package, other package]
"""
"""What `init` writes below the head of an experiment."""

BENCHMARKS = (
    "PingPong", "PingPing", "Sendrecv", "Exchange", "Uniband", "Biband", "Bcast", "Allgather", "Allgatherv", "Gather",
    "Gatherv", "Scatter", "Scatterv", "Alltoall", "Alltoallv", "Reduce", "Reduce_scatter", "Allreduce", "Barrier",
    "PingPongSpecificSource", "PingPingSpecificSource", "PingPongAnySource", "PingPingAnySource",
    "Reduce_scatter_block", "Reduce_local",
)  # fmt: skip
"""Names IMB-MPI1 knows. It answers an unknown one by running all of them, with exit status 0."""

_OPEN_MPI_BATCH = "slurm,tm,pbs,lsf,gridengine,loadleveler,alps"
"""Parts of Open MPI that ask a batch system for nodes; names that a version does not have are ignored."""

_ROW_S = 0.05  # what one message size takes, roughly, at IMB's own number of repetitions


def options() -> Mapping[str, Option]:
    return {
        "benchmark": Option(kind="word", choices=BENCHMARKS, help="what to measure; PingPong if not given"),
        "np": Option(kind="int", low=2, high=65536, help="MPI processes; 2 if not given"),
        "msglog": Option(
            kind="text",
            help='message sizes as powers of two, "0:22" (in quotes: YAML reads 0:22 as a time)',
            examples=("0:22",),
        ),
        "message_sizes": Option(
            kind="size", inner=True, low=0, help="message sizes in bytes, measured by one process (-msglen)"
        ),
        "iter": Option(
            kind="text",
            help='repetitions per size, e.g. 1000, or "1000,40" with the MB per size',
            examples=(1000, "1000,40"),
        ),
        "iter_policy": Option(
            kind="word",
            choices=("dynamic", "multiple_np", "auto", "off"),
            help="how IMB lowers the repetitions",
        ),
        "time": Option(kind="seconds", low=0.01, high=LONGEST_S, help="seconds per message size at most"),
        "mem": Option(kind="float", low=0.01, help="GB of buffers per process"),
        "off_cache": Option(kind="text", help="-1 or MB: keep the buffers out of the caches", examples=(-1,)),
        "sync": Option(kind="flag", help="synchronise the processes before each measurement"),
    }


def problems(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    if "msglog" in options and not re.fullmatch(r"[0-9]{1,2}(:[0-9]{1,2})?", str(options["msglog"])):
        found.append(("msglog", f"{options['msglog']!r} is not MAX or MIN:MAX, powers of two"))
    if "iter" in options and not re.fullmatch(r"[0-9]{1,10}(,[0-9]{1,10}){0,2}", str(options["iter"])):
        found.append(("iter", f"{options['iter']!r} is not N, N,MB or N,MB,N"))
    if "off_cache" in options and not re.fullmatch(
        r"-1|[0-9]{1,9}(\.[0-9]{1,9})?(,[0-9]{1,9})?", str(options["off_cache"])
    ):
        found.append(("off_cache", f"{options['off_cache']!r} is neither -1 nor MB[,line]"))
    if "msglog" in options and "message_sizes" in options:
        found.append(("msglog", "and message_sizes both choose the sizes; give one"))
    return found


def shape(options: Mapping[str, Any]) -> tuple[int | None, int]:
    return 1, int(options.get("np", 2))


def default_place(options: Mapping[str, Any]) -> Place | None:  # noqa: ARG001
    return Place(name="all", cpus="all", memory="local")


def command(cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
    """Build one `mpirun`, with `-np 1 numactl … IMB-MPI1 …` for each rank."""
    given = cell.options
    ranks = (
        [numactl(group, site.numactl) for group in placement.groups] if placement else [()] * shape(given)[1]
    )
    mpirun = program.helpers.get("mpirun", "mpirun")
    flavour = program.notes.get("mpi", "")
    arguments = [str(given.get("benchmark", "PingPong"))]
    if len(ranks) > 2:
        arguments += ["-npmin", str(len(ranks))]
    scratch: tuple[ScratchFile, ...] = ()
    if sizes := given.get("message_sizes"):
        path = f"{site.scratch}/sizes-{cell.point_id}.txt"
        scratch = (ScratchFile(path=path, text="".join(f"{size_bytes(str(size))}\n" for size in sizes)),)
        arguments += ["-msglen", path]
    for name in ("msglog", "iter", "iter_policy", "time", "mem", "off_cache"):
        if name in given:
            arguments += [f"-{name}", str(given[name])]
    if given.get("sync"):
        arguments += ["-sync", "on"]
    head, env = _launcher(flavour, len(ranks), root=site.root)
    first, *others = (["-np", "1", *pinned, program.path, *arguments] for pinned in ranks)
    argv = [mpirun, *head, *first]
    for rank in others:
        argv += [":", *rank]
    rows = len(sizes) if sizes else _rows(str(given.get("msglog", "22")))
    return Command(
        argv=tuple(argv), env={**program.env, **env}, estimate_s=1.0 + rows * _ROW_S, scratch=scratch
    )


def _launcher(flavour: str, processes: int, *, root: bool) -> tuple[list[str], dict[str, str]]:
    """Return (arguments, environment) that keep an MPI from pinning, and on this host.

    Inside a batch job every one of them would spread the processes over the job's nodes, with one pinsweep on each
    of them: so the job is kept from it. As many slots as processes: Open MPI counts cores, and processes beyond them
    yield the CPU at each turn, which is another latency.
    """
    launcher = flavour.rpartition("started by ")[2]
    if launcher.startswith("Open MPI"):
        arguments = ["--host", f"localhost:{processes}", "--bind-to", "none"]
        # until version 4; from version 5 on
        env = {
            "OMPI_MCA_ras": f"^{_OPEN_MPI_BATCH}",
            "OMPI_MCA_plm": "isolated",
            "PRTE_MCA_ras": f"^{_OPEN_MPI_BATCH}",
            "PRTE_MCA_plm": "ssh",
        }
        return arguments + (["--allow-run-as-root"] if root else []), env
    env = {} if flavour.startswith("MPICH") else {"I_MPI_PIN": "off", "I_MPI_FABRICS": "shm"}
    if launcher.startswith("MPICH"):
        return ["-launcher", "fork", "-hosts", "localhost", "-bind-to", "none"], env
    return ["-bootstrap", "fork", "-hosts", "localhost"], env


def _rows(msglog: str) -> int:
    low, _, high = msglog.rpartition(":")
    return int(high) - int(low or 0) + 2


def version_argv(path: str) -> tuple[str, ...]:  # noqa: ARG001
    """Nothing to start: even for -help IMB joins its MPI, up to a second; Open MPI 5 leaves 16 MiB in /dev/shm."""
    return ()


def version(text: str) -> str:
    match = re.search(r"Benchmarks?(?: Suite)? V?(\d[\w.]*(?: Update \d+)?)", text)
    return match[1] if match else ""


def probe(path: str, ask: Ask) -> Probed | str:
    """Find the launcher that belongs to the program's MPI library, and what they need to start."""
    found = _mpi.find_mpi(path, ask.setting("mpirun"))
    if isinstance(found, str):
        return found
    library = {found.library.name: found.library.path} if found.library else {}
    return Probed(env=found.env, helpers={"mpirun": found.launcher, **library}, notes={"mpi": found.name})


def own_library(path: str) -> dict[str, str]:
    """Return what a program needs to find the MPI library that was installed with it."""
    return _mpi.own_library(path)


def complaint(parsed: Parsed, stdout: str, stderr: str, cell: Cell) -> str:  # noqa: ARG001
    """IMB exits with 0 after a misspelt name, having run everything, and when nothing joins its processes."""
    runs = parsed.facts.get("runs", 1)
    if runs != 1:
        return (
            f"the processes did not find each other: {runs} separate runs, as under the mpirun of another MPI"
        )
    if parsed.facts.get("complete") is False:
        return "IMB did not come to its end"
    wanted = str(cell.options.get("benchmark", "PingPong"))
    index = parsed.measurements.columns.index("benchmark")
    seen = sorted({str(row[index]) for row in parsed.measurements.rows})
    if seen != [wanted]:
        return f"asked for {wanted}, got {', '.join(seen) or 'nothing'}"
    return ""
