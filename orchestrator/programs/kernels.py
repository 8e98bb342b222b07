"""The embedded C kernels: found, compiled once per CPU type with the machine's own compiler, kept in the user's cache.

A cached program is named by everything that decided it: sources, compiler, options, and the CPU that
`-march=native` looked at. So a home shared by different CPUs holds one program for each, a new compiler or a new
pinsweep builds anew, and nothing is ever rebuilt in place.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import tempfile
from pathlib import Path
from typing import Final

from orchestrator.machine import planted, safe_files
from orchestrator.machine.ask import ask
from orchestrator.machine.user_folders import cache_folder
from parsers.errors import UserError

COMPILERS: Final = ("cc", "gcc", "clang")
"""Names to look for on PATH, the preferred first."""

_COMPILE_TIMEOUT_S = 120.0

_HERE = Path(__file__).resolve().parents[1]
_CPUINFO = Path("/proc/cpuinfo")
_NATIVE = {"x86_64": ("-march=native",), "aarch64": ("-mcpu=native",)}  # clang has no -march=native on Arm

OPTIONS: Final = ("-O3", "-ffp-contract=off", "-fopenmp", "-pthread", "-Wall", "-Wextra", "-Werror")
"""For every compiler and CPU. No contraction to fused multiply-adds: the check of the results rounds twice too."""

# What /proc/cpuinfo says of the CPU's kind (x86; Arm), as opposed to its clock or its number.
_CPU_KEYS = (
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"),
)


def sources_folder() -> Path:
    """Return the folder of the C sources: the repository's `kernels/`, or the copy inside an installed wheel."""
    for folder in (_HERE.parent / "kernels", _HERE / "kernel_sources"):
        if (folder / "common.h").is_file():
            return folder
    raise UserError(
        str(_HERE / "kernel_sources"), "the kernels' C sources are not there", "install pinsweep again"
    )


def kernel_names() -> tuple[str, ...]:
    """Return the names of all kernels, sorted: a source file each."""
    return tuple(sorted(source.stem for source in sources_folder().glob("*.c")))


def build(name: str, cache: Path | None = None) -> Path:
    """Return the path of a kernel ("stream", "memlat", "poke") for this CPU; compile it if the cache has none that fits.

    `cache` defaults to `kernels` in pinsweep's folder of the user's cache. Where there is no compiler, as on many compute nodes, one that
    was compiled of these sources for this CPU is taken: a home that hosts share has it, if one of them could compile.
    Raises UserError where there is neither, no OpenMP, or no place to keep an executable.
    """
    _check_name(name)
    options = (*OPTIONS, *_NATIVE.get(platform.machine(), ()))
    source = sources_folder() / f"{name}.c"
    cache = cache if cache is not None else _user_cache()
    note = cache / f"{_key(source, '', options)}.{name}"  # which one it is, without a word of the compiler
    try:
        compiler = find_compiler()
    except NoCompiler:
        if kept := _noted(note, cache):
            return kept
        raise
    program = compile_cached(source, compiler, options, cache)
    _take_note(note, program)
    return program


def _noted(note: Path, cache: Path) -> Path | None:
    """Return the program that a note names, if it is there."""
    try:
        key = safe_files.head(note).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    program = cache / key / note.suffix.removeprefix(".")
    if not re.fullmatch("[0-9a-f]{20}", key) or not os.access(program, os.X_OK):
        return None
    _refuse_shared(program)
    return program


def _take_note(note: Path, program: Path) -> None:
    """Write which program was made for this CPU, whole or not at all; a cache that cannot be written goes without."""
    key = program.parent.name
    with contextlib.suppress(OSError):
        if not note.exists() or note.read_text("ascii", "replace") != key:
            with safe_files.replacement(note) as file:
                file.write(key.encode())


def compile_cached(source: Path, compiler: str, options: tuple[str, ...], cache: Path) -> Path:
    """Compile one source, or find the program that the same compiler made of it: `cache`/<key>/<name of the source>.

    Several processes, also on several machines with one home, may do this at the same time: each compiles into a
    folder of its own and renames, so that a path that exists is always a whole program. Raises UserError, also where another user may
    write into the cache.
    """
    program = cache / _key(source, compiler, options) / source.stem
    if os.access(program, os.X_OK):
        _refuse_shared(program)
        return program
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        _refuse_shared(program.parent)
        with tempfile.TemporaryDirectory(prefix=".build-", dir=cache) as work:
            made = Path(work) / source.stem
            _compile(source, [compiler, *options, str(source), "-o", str(made), "-lm"])
            if not os.access(made, os.X_OK):
                raise UserError(
                    "cache",
                    f"programs cannot be started from {cache} (mounted noexec?)",
                    "set XDG_CACHE_HOME to a folder where they can",
                )
            made.replace(program)
    except OSError as error:
        raise UserError(
            "cache",
            f"cannot keep a compiled kernel in {cache}: {error.strerror or error}",
            "set XDG_CACHE_HOME to a folder that can be written",
        ) from error
    return program


def _refuse_shared(path: Path) -> None:
    """Raise UserError where another user may exchange what is in the cache."""
    if why := planted.reason(str(path)):
        raise UserError(
            "cache",
            f"{why}: another user could exchange the compiled kernels",
            "set XDG_CACHE_HOME to a folder that only you may write",
        )


class NoCompiler(UserError):
    """There is none on PATH."""


def find_compiler() -> str:
    """Return the path of the machine's C compiler. Raises UserError, with what to install, if there is none."""
    for name in COMPILERS:
        if path := planted.which(name):
            return path
    raise NoCompiler(
        "kernels",
        f"no C compiler on PATH ({', '.join(COMPILERS)}): the kernels are compiled on the machine they measure",
        f"{_INSTALL_GCC}; or `pinsweep kernels build` on a host that has one, with this CPU and this home",
    )


_INSTALL_GCC = "Debian, Ubuntu: apt install gcc libc6-dev · Fedora, RHEL, SUSE: dnf install gcc glibc-devel"
_INSTALL_OPENMP = "Debian, Ubuntu: apt install gcc (or libomp-dev for clang) · Fedora, RHEL: dnf install gcc libgomp (or libomp-devel for clang)"


def _compile(source: Path, argv: list[str]) -> None:
    """Run the compiler. Raises UserError with its first error and, where that tells, what is missing."""
    for helper in ("as", "ld"):  # gcc starts the first on PATH
        planted.which(helper)
    said = ask(argv, timeout_s=_COMPILE_TIMEOUT_S)
    if said is None:
        raise UserError(
            f"kernels/{source.name}",
            f"{argv[0]} cannot be started, or did not end within {_COMPILE_TIMEOUT_S:.0f} s",
            "it takes 1 to 2 s: see what the compiler waits for",
        )
    if said.exit_status == 0:
        return
    lines = [line for line in said.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    first = next((line for line in lines if "error" in line or "cannot find" in line), "no message")
    hint = "pinsweep's kernels need a C11 compiler with GNU extensions: gcc 9 or clang 11, or newer"
    if re.search(r"omp\.h|fopenmp|-lgomp|-lomp|libgomp|libomp", first):
        hint = _INSTALL_OPENMP
    elif re.search(r"fatal error: '?\w+(/\w+)*\.h|crt1\.o|-lc\b|-lm\b", first):
        hint = _INSTALL_GCC
    raise UserError(
        f"kernels/{source.name}", f"{Path(argv[0]).name} cannot compile it: {first.strip()}", hint
    )


def _key(source: Path, compiler: str, options: tuple[str, ...]) -> str:
    """Return the name of everything that decides the program: text, headers beside it, compiler ("": any), C library, CPU."""
    digest = hashlib.sha256()
    for path in (source, *sorted(source.parent.glob("*.h"))):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
    cpu = ""
    with contextlib.suppress(OSError):
        cpu = cpu_kinds(_CPUINFO.read_text(errors="replace"))
    for text in (_compiler_text(compiler) if compiler else "", *options, platform.machine(), libc or "", cpu):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:20]


def _compiler_text(compiler: str) -> str:
    """Return what the compiler says of itself, all lines: distributions patch one version in many ways."""
    said = ask([compiler, "--version"], timeout_s=_COMPILE_TIMEOUT_S)
    return said.stdout.decode("utf-8", "replace") if said else ""


def cpu_kinds(cpuinfo: str) -> str:
    """Return model and features of every kind of core in a text of /proc/cpuinfo, each kind once, sorted."""
    kinds = set()
    for block in cpuinfo.split("\n\n"):
        pairs = (line.partition(":") for line in block.splitlines())
        fields = {key.strip(): value.strip() for key, _, value in pairs}
        kinds.add("\n".join(f"{key}: {fields[key]}" for key in _CPU_KEYS if key in fields))
    return "\n\n".join(sorted(kind for kind in kinds if kind))


def _user_cache() -> Path:
    return cache_folder() / "kernels"


def _check_name(name: str) -> None:
    if name not in kernel_names():
        raise UserError(name, "no kernel of that name", f"kernels: {', '.join(kernel_names())}")
