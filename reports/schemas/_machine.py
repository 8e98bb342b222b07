"""What is said of this machine, of experiments and of mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reports.schemas._words import (
    Schema,
    anything,
    flag,
    integer,
    listed,
    mapped,
    maybe,
    null,
    one_of,
    record,
    text,
)

NOISE: Final = record(
    "Something that makes figures vary, or makes them mean something else.",
    level=one_of("warn: it will disturb; info: worth knowing.", "warn", "info"),
    what=text("What was found."),
    why=text("What it does to figures."),
    fix=null(text("What helps.")),
)

_PROGRAM: Final = record(
    "A program that pinsweep starts. One that only describes the machine is listed if it must not be started.",
    name=text("The tool, or the helper."),
    kind=one_of(
        "tool: it measures; helper: every tool needs it; describes: it tells about the machine.",
        "tool", "helper", "describes",
    ),
    usable=flag("It is there, and may be started."),
    problem=null(text("Why it is not usable.")),
    hint=null(text("What to do about that.")),
    program=null(text("The program that measures: of a stand-in the name of the kernel.")),
    version=null(text("Its version, as it says itself.")),
    path=null(text("Where it lies.")),
    mpi=null(text("The MPI that it is started with.")),
    stand_in=flag("pinsweep's own kernel, in the place of a tool that is not here."),
)  # fmt: skip

ERROR: Final = record(
    "A mistake, or what did not work.",
    code=one_of(
        "usage: the command line; experiment: a mistake in an experiment file, at a line; mistake: another thing that was typed or named; "
        "part-of-machine: of --whole-node; unparsable: a text is not the output it should be; failed: what was asked for did not work; "
        "missing-package: a Python package is not installed; system: the operating system refused; bug: of pinsweep.",
        "usage", "experiment", "mistake", "part-of-machine", "unparsable", "failed", "missing-package", "system", "bug",
    ),
    place=null(text("What it is about, as people are told: an option, a file, FILE:LINE:COLUMN.")),
    file=null(text("The experiment file.")),
    line=null(integer("Line in the file, from 1.")),
    column=null(integer("Column in the line, from 1.")),
    key=null(text("The key of the experiment: matrix.iodepth.")),
    message=text("What is wrong."),
    hint=null(text("What to do.")),
)  # fmt: skip

ANSWERS: Final[Mapping[str, Schema]] = {
    "doctor": record(
        "The machine, the programs on it, and what may disturb a measurement. With --restore instead: `restored` and `left`.",
        ready=maybe(flag("All that pinsweep starts can be started; exit status 1 if not.")),
        quiet=maybe(flag("Nothing of level warn was found that makes figures vary.")),
        noise=maybe(listed(NOISE, "What may disturb a measurement.")),
        programs=maybe(listed(_PROGRAM)),
        machine=maybe(record(
            "The machine, as far as this process may use it.",
            numbers=mapped(integer("A count, or bytes."), "packages, cores, pus, numa_nodes …, and L1, L2, L3, LLC, memory, memory_per_numa_node in bytes."),
            numa_nodes=listed(record(
                "A NUMA node.",
                numa_node=integer("The index that the operating system gives it."),
                cpus=listed(integer("A PU, by the operating system's index."), "Its PUs; none of a node of memory alone."),
                memory_bytes=null(integer("Its memory, in bytes.")),
                allowed=flag("This process may use it."),
                devices=listed(text("A device near it: nvme0n1, eth0.")),
                distances=listed(record(
                    "How far a memory is, as the firmware says (SLIT).",
                    to=integer("The node whose memory it is."),
                    distance=null(integer("10: its own; 21: 2.1 × as far. Null: not told.")),
                ), "To the memory of every node, its own among them; none where the machine tells no distances."),
            )),
            facts=mapped(anything("A fact, as it was read; null: it could not be."), "What is recorded with every sweep: kernel, cpu_model, governor …; names that end in _bytes are in bytes."),
            scratch=null(text("The file system of scratch files.")),
            contradictions=listed(text("Two sources that say different things of the machine.")),
        )),
        restored=maybe(text("With --restore: what was put back.")),
        left=maybe(listed(text("With --restore: what could not be put back."))),
    ),
    "init": record(
        "`init --list`: the experiments that come with pinsweep.",
        experiments=listed(record("An experiment.", name=text("What `pinsweep run` takes."), title=text("Its title."))),
    ),
    "kernels-build": record(
        "The kernels, compiled for this CPU.",
        kernels=listed(record("A kernel.", name=text("Its name."), path=text("The program."))),
    ),
    "error": record(
        "What any command prints with --format json where it could not answer; the exit status is not 0.",
        errors=listed(ERROR, "In the order of the file; at least one."),
    ),
}  # fmt: skip
