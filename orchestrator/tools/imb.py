"""Run Intel MPI Benchmarks under Intel MPI, Open MPI or MPICH, with one numactl per rank.

`mpirun -np 2 hwloc-bind core:0 core:7 IMB-MPI1` binds both ranks to the union of the two cores. Here a separate numactl
starts each rank, and the pinning of the MPI library is off, so that the two do not conflict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from orchestrator.model import LONGEST_S, Cell, Place, Placement, ScratchFile
from orchestrator.placement.place import numactl
from orchestrator.tools import Ask, Command, Option, Probed, Problem, Program, Site, Tool, _mpi
from parsers.units import size_bytes

if TYPE_CHECKING:
    from parsers.measurement import Parsed


BENCHMARKS = (
    "PingPong", "PingPing", "Sendrecv", "Exchange", "Uniband", "Biband", "Bcast", "Allgather", "Allgatherv", "Gather",
    "Gatherv", "Scatter", "Scatterv", "Alltoall", "Alltoallv", "Reduce", "Reduce_scatter", "Allreduce", "Barrier",
    "PingPongSpecificSource", "PingPingSpecificSource", "PingPongAnySource", "PingPingAnySource",
    "Reduce_scatter_block", "Reduce_local",
)  # fmt: skip
"""Names IMB-MPI1 knows. It answers an unknown one by running all of them, with exit status 0."""

_OPEN_MPI_BATCH = "slurm,tm,pbs,lsf,gridengine,loadleveler,alps"
"""Parts of Open MPI that ask a batch system for nodes; names that a version does not have are ignored."""

_FORMS: Final = {
    "msglog": (r"[0-9]{1,2}(:[0-9]{1,2})?", "MAX or MIN:MAX, powers of two"),
    "iter": (r"[0-9]{1,10}(,[0-9]{1,10}){0,2}", "N, N,MB or N,MB,N"),
    "off_cache": (r"-1|[0-9]{1,9}(\.[0-9]{1,9})?(,[0-9]{1,9})?", "-1 or MB[,line]"),
}
"""Option of text → how it is written."""

_ROW_S = 0.05  # what one message size takes, roughly, at IMB's own number of repetitions


def _launcher(flavour: str, processes: int, *, root: bool) -> tuple[list[str], dict[str, str]]:
    """Return (arguments, environment) that disable MPI pinning and restrict MPI to this host.

    In a batch job, every MPI would distribute processes over the nodes of the job, and each node has a pinsweep. So MPI
    must ignore the job. There are as many slots as processes, because Open MPI counts cores. Processes beyond the slots
    would yield the CPU in each polling loop, which changes the latency.
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


class Imb(Tool):
    """IMB-MPI1."""

    PROGRAMS = ("IMB-MPI1",)
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
    STARTER = """\
fixed:
  benchmark: PingPong
  msglog: "0:22"           # in quotes: YAML reads 0:22 as a time
matrix:
  place: [smt siblings, same cache, same package, other package]
"""
    OPTIONS: ClassVar = {
        "benchmark": Option("word", "benchmark; default PingPong", choices=BENCHMARKS),
        "np": Option("int", "MPI processes; 2 if not given", low=2, high=65536),
        "msglog": Option(
            "text",
            'message sizes as powers of two, "0:22" (in quotes: YAML reads 0:22 as a time)',
            examples=("0:22",),
        ),
        "message_sizes": Option("size", "message sizes in bytes, measured by one process (-msglen)", inner=True, low=0),
        "iter": Option(
            "text",
            'repetitions per size, e.g. 1000, or "1000,40" with the MB per size',
            examples=(1000, "1000,40"),
        ),
        "iter_policy": Option(
            "word", "how IMB lowers the repetitions", choices=("dynamic", "multiple_np", "auto", "off")
        ),
        "time": Option("seconds", "seconds per message size at most", low=0.01, high=LONGEST_S),
        "mem": Option("float", "GB of buffers per process", low=0.01),
        "off_cache": Option("text", "-1 or MB: keep the buffers out of the caches", examples=(-1,)),
        "sync": Option("flag", "synchronise the processes before each measurement"),
    }

    def problems(self, options: Mapping[str, Any]) -> list[Problem]:
        results: list[Problem] = [
            (name, f"{options[name]!r} is not {what}")
            for name, (pattern, what) in _FORMS.items()
            if name in options and not re.fullmatch(pattern, str(options[name]))
        ]
        if "msglog" in options and "message_sizes" in options:
            results.append(("msglog", "and message_sizes both choose the sizes; give one"))
        return results

    def shape(self, options: Mapping[str, Any]) -> tuple[int | None, int]:
        return 1, int(options.get("np", 2))

    def default_place(self, options: Mapping[str, Any]) -> Place | None:  # noqa: ARG002
        return Place(name="all", cpus="all", memory="local")

    def command(self, cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
        """Build one `mpirun`, with `-np 1 numactl … IMB-MPI1 …` for each rank."""
        given = cell.options
        ranks = (
            [numactl(group, site.numactl) for group in placement.groups]
            if placement
            else [()] * int(given.get("np", 2))
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
        low, _, high = str(given.get("msglog", "22")).rpartition(":")
        rows = len(sizes) if sizes else int(high) - int(low or 0) + 2
        return Command(argv=tuple(argv), env={**program.env, **env}, estimate_s=1.0 + rows * _ROW_S, scratch=scratch)

    def version_argv(self, path: str) -> tuple[str, ...]:  # noqa: ARG002
        """Return an empty command. IMB initialises MPI even for -help, which takes up to 1 s, and Open MPI 5 leaves 16
        MiB in /dev/shm.
        """
        return ()

    def version(self, text: str) -> str:
        match = re.search(r"Benchmarks?(?: Suite)? V?(\d[\w.]*(?: Update \d+)?)", text)
        return match[1] if match else ""

    def probe(self, path: str, ask: Ask) -> Probed | str:
        """Return the launcher of the program's MPI library and the environment for both."""
        mpi = _mpi.find_mpi(path, ask.setting("mpirun"))
        if isinstance(mpi, str):
            return mpi
        library = {mpi.library.name: mpi.library.path} if mpi.library else {}
        return Probed(env=mpi.env, helpers={"mpirun": mpi.launcher, **library}, notes={"mpi": mpi.name})

    def library_env(self, path: str) -> dict[str, str]:
        """Return the environment that a program needs to find an MPI library in the same installation."""
        return _mpi.own_library(path)

    def complaint(self, parsed: Parsed, cell: Cell) -> str:
        """Return why an IMB output differs from the request.

        IMB exits with 0 after a misspelt name or without a working launcher.
        """
        runs = parsed.facts.get("runs", 1)
        if runs != 1:
            return f"the processes did not find each other: {runs} separate runs, as under the mpirun of another MPI"
        if parsed.facts.get("complete") is False:
            return "IMB did not come to its end"
        wanted = str(cell.options.get("benchmark", "PingPong"))
        measured = sorted({str(row.get("benchmark")) for row in parsed.measured()})
        return "" if measured == [wanted] else f"requested {wanted}, got {', '.join(measured) or 'nothing'}"


TOOL = Imb()
