"""Find the MPI of an IMB program and its launcher. `find_mpi` asks the machine, and the other functions are pure.

A machine often has several MPIs. A launcher of the wrong MPI still exits with 0, because each process finds no partner
and runs alone ("invalid for 1 processes", or a collective of one). So the library decides. The loader shows the
program's MPI library, and the launcher is first searched near the library.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from orchestrator.machine import planted
from orchestrator.machine.ask import ask
from orchestrator.machine.safe_files import open_file
from parsers.errors import UserError

OPEN_MPI: Final = "Open MPI"
MPICH: Final = "MPICH"
INTEL_MPI: Final = "Intel MPI"

LAUNCHERS: Final[Mapping[str, tuple[str, ...]]] = {
    OPEN_MPI: ("mpirun.openmpi", "orterun", "mpirun", "mpiexec"),
    MPICH: ("mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich", "mpirun", "mpiexec"),
    INTEL_MPI: ("mpiexec.hydra", "mpirun", "mpiexec"),
}
"""Possible launcher names per MPI.

Intel's `mpirun` is a script that starts the next `mpiexec.hydra` on PATH, of any MPI, so it is last.
"""

_VERSIONS: Final = (
    (OPEN_MPI, re.compile(r"\((?:Open MPI|OpenRTE)\) (\d[\w.]*)")),
    (OPEN_MPI, re.compile(r"^(?:mpirun|mpiexec|prterun) \(PRRTE\)()", re.MULTILINE)),
    (INTEL_MPI, re.compile(r"Intel\(R\) MPI Library[^\n]*Version (\d[\w.]*(?: Update \d+)?)", re.IGNORECASE)),
    (MPICH, re.compile(r"^HYDRA build details:\s+Version: +(\d[\w.]*)", re.MULTILINE)),
)

# The number of libmpi.so: Open MPI uses 0, 1, 20, 40. 12 is the common ABI of MPICH and Intel MPI, and also Open MPI
# 1.10, which comes with libopen-pal.so.
_LIBRARY: Final = re.compile(r"lib(?:mpi|mpich|mpi_abi|mpi_mt|pmpi|mpi_dbg)\.so(?:\.\d+)*")
_OPEN_MPI_PARTS: Final = re.compile(r"libopen-(?:pal|rte)\.so|libmpi\.so\.(?:0|1|20|40)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The MPI library that a program is linked with."""

    name: str  # "libmpi.so.40"
    path: str  # "" where the loader does not find it
    family: str  # OPEN_MPI, MPICH (or one of its ABI), or INTEL_MPI


@dataclass(frozen=True, slots=True, kw_only=True)
class Mpi:
    """The launcher of a program's processes."""

    launcher: str  # path
    name: str  # "Open MPI 4.1.4"
    library: Library | None = None  # None: not known, the program is static or a script
    env: Mapping[str, str] = field(default_factory=dict)  # environment for the program to find its library


# --- pure ---


def flavour(text: str) -> tuple[str, str]:
    """Return (family, version) from the output of `mpirun --version`, or ("", "") for an unknown program."""
    for family, pattern in _VERSIONS:
        if found := pattern.search(text):
            return family, found[1]
    return "", ""


def library(ldd: str, holds: Callable[[str, bytes], bool]) -> Library | None:
    """Return the MPI library from the output of `ldd`. None for a static program or a script.

    `holds` returns whether a file contains some bytes, because Intel MPI and MPICH have equal file names.
    """
    links = {
        words[0].rpartition("/")[2]: words[2] if words[1:2] == ["=>"] and words[2].startswith("/") else ""
        for words in (line.split() for line in ldd.splitlines())
        if len(words) >= 2
    }
    name = next((name for name in links if _LIBRARY.fullmatch(name)), "")
    if not name:
        return None
    path = links[name]
    if any(_OPEN_MPI_PARTS.match(other) for other in links):
        return Library(name=name, path=path, family=OPEN_MPI)
    intel = path and holds(path, b"Intel(R) MPI Library")
    return Library(name=name, path=path, family=INTEL_MPI if intel else MPICH)


def starts(launcher: str, family: str) -> bool:
    """Return whether a launcher of one family can start programs of another.

    MPICH and Intel MPI start each other's programs.
    """
    return launcher == family or {launcher, family} == {MPICH, INTEL_MPI}


# --- I/O ---


def find_mpi(program: str, asked: str = "") -> Mpi | str:
    """Return the launcher of `program`, or the reason why there is none. `asked` is the launcher that the user named.

    Raises UserError if the user's launcher cannot start the program.
    """
    env = own_library(program)
    linked = library(_say(("ldd", program), env), _holds)
    if linked is not None and not linked.path:
        return f"{program} needs {linked.name}, which the loader does not find: load the module of its MPI, or set LD_LIBRARY_PATH"
    if asked:
        path = _executable(asked)
        if not path:
            raise UserError("PINSWEEP_MPIRUN", f"{asked} is not an executable file")
        family, version = flavour(_say((path, "--version"), env))
        if not family:
            what = f"{path} --version does not say that it is the mpirun of Open MPI, MPICH or Intel MPI"
            raise UserError("PINSWEEP_MPIRUN", what)
        if linked is not None and not starts(family, linked.family):
            mismatch = f"{path} is {family}'s, but {program} is linked with {linked.family} ({linked.path})"
            hint = "leave it unset to use the launcher next to the library"
            raise UserError("PINSWEEP_MPIRUN", f"{mismatch}: each process would run alone", hint)
        return _mpi(path, family, version, linked, env)
    second_best = None
    for path in _candidates(program, linked):
        family, version = flavour(_say((path, "--version"), env))
        if family and (linked is None or family == linked.family):
            return _mpi(path, family, version, linked, env)
        if family and linked is not None and starts(family, linked.family):
            second_best = second_best or _mpi(path, family, version, linked, env)
    if second_best is not None:
        return second_best
    if linked is None:
        return f"no mpirun of Open MPI, MPICH or Intel MPI on PATH for {program}: set PINSWEEP_MPIRUN"
    return f"{program} is linked with {linked.family} ({linked.path}), whose mpirun is not found: set PINSWEEP_MPIRUN"


def _mpi(path: str, family: str, version: str, linked: Library | None, env: Mapping[str, str]) -> Mpi:
    name = f"{family} {version}".strip()
    if linked is not None and family != linked.family:
        name = f"{linked.family}, started by {name}"
    return Mpi(launcher=path, name=name, library=linked, env=env)


def own_library(program: str) -> dict[str, str]:
    """Return LD_LIBRARY_PATH for an MPI library in the same wheel as the program: bin/IMB-MPI1, lib/libmpi.so.12."""
    folder = Path(program).parent
    if (folder / "mpiexec.hydra").exists():
        for library in (folder.parent / "lib", folder.parent / "lib" / "release"):  # the wheel; oneAPI
            if (library / "libmpi.so.12").exists():
                known = os.environ.get("LD_LIBRARY_PATH")
                return {"LD_LIBRARY_PATH": ":".join(filter(None, [str(library), known]))}
    return {}


def _candidates(program: str, linked: Library | None) -> Iterator[str]:
    """Yield launchers near the library (lib/, lib/release/, lib64/openmpi/lib/ …), near the program, and on PATH."""
    every = dict.fromkeys(name for names in LAUNCHERS.values() for name in names)
    names = LAUNCHERS[linked.family] if linked else tuple(every)
    folders = [str(Path(program).parent), *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    if linked is not None:
        near = dict.fromkeys((*Path(linked.path).parents[:4], *Path(linked.path).resolve().parents[:4]))
        folders = [*(str(parent / "bin") for parent in near), *folders]
    paths: set[str] = set()
    for folder in folders:
        for name in names:
            path = _executable(name, folder)
            if path and path not in paths:
                paths.add(path)
                yield path


def _executable(name: str, folder: str | None = None) -> str:
    """Return the path of an executable with its folder's symbolic links resolved, or "".

    Open MPI's launcher finds its other files by its path. From /bin/mpirun, with /bin a link to /usr/bin, it would use
    / as its prefix and fail.
    """
    path = planted.which(name, path=folder, hint="if you mean it: PINSWEEP_MPIRUN=PATH")
    return str(Path(path).parent.resolve() / Path(path).name) if path else ""


def _holds(path: str, text: bytes) -> bool:
    try:
        with (
            open_file(Path(path), links=True) as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            return content.find(text) >= 0
    except (OSError, ValueError):
        return False


def _say(argv: tuple[str, ...], env: Mapping[str, str]) -> str:
    """Return the output of a program, or empty if there is no answer."""
    answer = ask(argv, timeout_s=10, env={**os.environ, **env})
    return (answer.stdout + b"\n" + answer.stderr).decode("utf-8", "replace") if answer else ""
