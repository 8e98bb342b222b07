"""Which MPI an IMB belongs to, and what starts its processes. `find_mpi` asks the machine; the rest is pure.

Several MPIs on one machine are usual, and a launcher of the wrong one still exits with 0: each process finds no
partner and runs alone ("invalid for 1 processes", or a collective of one). So the library decides: the loader says
which one the program is linked with, and the launcher is looked for beside that library first.
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
"""What each MPI's launcher may be called. Intel's `mpirun` is a script that takes the next `mpiexec.hydra` on PATH,
whoever's that is; so it comes after that."""

_VERSIONS: Final = (
    (OPEN_MPI, re.compile(r"\((?:Open MPI|OpenRTE)\) (\d[\w.]*)")),
    (OPEN_MPI, re.compile(r"^(?:mpirun|mpiexec|prterun) \(PRRTE\)()", re.MULTILINE)),
    (INTEL_MPI, re.compile(r"Intel\(R\) MPI Library[^\n]*Version (\d[\w.]*(?: Update \d+)?)", re.IGNORECASE)),
    (MPICH, re.compile(r"^HYDRA build details:\s+Version: +(\d[\w.]*)", re.MULTILINE)),
)

# libmpi.so's number: Open MPI counts 0, 1, 20, 40; 12 is the ABI that MPICH, Intel MPI and their kin agreed upon,
# and Open MPI 1.10, which brings libopen-pal.so with it.
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
    """What starts the processes of a program."""

    launcher: str  # path
    name: str  # "Open MPI 4.1.4"
    library: Library | None = None  # None: not known, the program is static or a script
    env: Mapping[str, str] = field(default_factory=dict)  # what the program needs to find its library


# --- pure ---


def flavour(text: str) -> tuple[str, str]:
    """Read (family, version) out of what `mpirun --version` printed; ("", "") if it is none that is known."""
    for family, pattern in _VERSIONS:
        if found := pattern.search(text):
            return family, found[1]
    return "", ""


def library(ldd: str, holds: Callable[[str, bytes], bool]) -> Library | None:
    """Read the MPI library out of what `ldd` printed; None if there is none (static, or a script).

    `holds` tells whether a file has some bytes in it: Intel MPI and MPICH share their file names.
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
    """Tell whether a launcher of one family starts programs of another: MPICH and Intel MPI do, each the other's."""
    return launcher == family or {launcher, family} == {MPICH, INTEL_MPI}


# --- I/O ---


def find_mpi(program: str, asked: str = "") -> Mpi | str:
    """Return what starts `program`, or why nothing does. `asked`: the launcher that the user named.

    Raises UserError if what the user named cannot start it.
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
            hint = "leave it unset, and the launcher beside the library is taken"
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
    """Return LD_LIBRARY_PATH where an MPI library lies beside the program as in a wheel: bin/IMB-MPI1,
    lib/libmpi.so.12."""
    folder = Path(program).parent
    if (folder / "mpiexec.hydra").exists():
        for library in (folder.parent / "lib", folder.parent / "lib" / "release"):  # the wheel; oneAPI
            if (library / "libmpi.so.12").exists():
                known = os.environ.get("LD_LIBRARY_PATH")
                return {"LD_LIBRARY_PATH": ":".join(filter(None, [str(library), known]))}
    return {}


def _candidates(program: str, linked: Library | None) -> Iterator[str]:
    """Yield launchers: beside the library (lib/, lib/release/, lib64/openmpi/lib/ …), beside the program, on PATH."""
    every = dict.fromkeys(name for names in LAUNCHERS.values() for name in names)
    names = LAUNCHERS[linked.family] if linked else tuple(every)
    folders = [str(Path(program).parent), *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    if linked is not None:
        near = dict.fromkeys((*Path(linked.path).parents[:4], *Path(linked.path).resolve().parents[:4]))
        folders = [*(str(parent / "bin") for parent in near), *folders]
    seen: set[str] = set()
    for folder in folders:
        for name in names:
            path = _executable(name, folder)
            if path and path not in seen:
                seen.add(path)
                yield path


def _executable(name: str, folder: str | None = None) -> str:
    """Return the path of an executable, its folder's symbolic links followed, or "".

    By its path Open MPI's launcher knows where the rest of it is: from /bin/mpirun, where /bin is a link to /usr/bin,
    it takes that for / and gives up.
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
    """Return what a program prints; empty if it does not answer."""
    said = ask(argv, timeout_s=10, env={**os.environ, **env})
    return (said.stdout + b"\n" + said.stderr).decode("utf-8", "replace") if said else ""
