"""Compile the built-in C kernels once per CPU type with the host's compiler, and store them in the user's cache.

The path of a program depends on its sources, the options, the CPU of `-march=native`, and the compiler. So hosts with
different CPUs can share a home. A new compiler or a new pinsweep compiles again, and no program is replaced.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import tempfile
from pathlib import Path
from typing import Final

from orchestrator.machine import planted
from orchestrator.machine.ask import ask
from orchestrator.machine.user_folders import cache_folder
from parsers.errors import UserError

COMPILERS: Final = ("cc", "gcc", "clang")
"""Names to look for on PATH, the preferred first."""

_COMPILE_TIMEOUT_S = 120.0

_HERE = Path(__file__).resolve().parents[1]
_CPUINFO = Path("/proc/cpuinfo")
_NATIVE = {"x86_64": ("-march=native",), "aarch64": ("-mcpu=native",)}  # clang lacks -march=native on Arm

OPTIONS: Final = ("-O3", "-ffp-contract=off", "-fopenmp", "-pthread", "-Wall", "-Wextra", "-Werror")
"""Options for every compiler and CPU.

Fused multiply-adds are off, because the check of the results rounds both operations.
"""

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
    raise UserError(str(_HERE / "kernel_sources"), "the kernels' C sources are not there", "install pinsweep again")


def kernel_names() -> tuple[str, ...]:
    """Return the names of all kernels, sorted: a source file each."""
    return tuple(sorted(source.stem for source in sources_folder().glob("*.c")))


def build(name: str, cache: Path | None = None) -> Path:
    """Return the path of a kernel ("stream", "memlat", "poke") for this CPU.

    Compile the kernel if the cache has no match.

    `cache` defaults to `kernels` in pinsweep's folder of the user's cache. Many compute nodes have no compiler. There
    the newest program from these sources for this CPU is used. Raises UserError without both, without OpenMP, or
    without a place to store an executable.
    """
    if name not in kernel_names():
        raise UserError(name, "no kernel of that name", f"kernels: {', '.join(kernel_names())}")
    source, cache = sources_folder() / f"{name}.c", cache or cache_folder() / "kernels"
    options = (*OPTIONS, *_NATIVE.get(platform.machine(), ()))
    try:
        compiler = find_compiler()
    except NoCompiler:
        programs = [path for path in cache.glob(f"{_key(source, options)}-*/{name}") if os.access(path, os.X_OK)]
        if not programs:
            raise
        program = max(programs, key=lambda path: path.stat().st_mtime_ns)
        _refuse_shared(program)
        return program
    return compile_cached(source, compiler, options, cache)


def compile_cached(source: Path, compiler: str, options: tuple[str, ...], cache: Path) -> Path:
    """Return the program that `compiler` makes from one source: `cache`/<key>-<compiler>/<name of the source>.

    Several processes may compile at the same time, also on several hosts with one home. A process compiles in a
    separate folder and renames the folder, so an existing path is always a complete program. Raises UserError, also if
    another user may write into the cache.
    """
    answer = ask([compiler, "--version"], timeout_s=_COMPILE_TIMEOUT_S)  # distributions patch one version in many ways
    version = hashlib.sha256(answer.stdout if answer else b"").hexdigest()[:8]
    program = cache / f"{_key(source, options)}-{version}" / source.stem
    if os.access(program, os.X_OK):
        _refuse_shared(program)
        return program
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        _refuse_shared(program.parent)
        with tempfile.TemporaryDirectory(prefix=".build-", dir=cache) as work:
            output = Path(work) / source.stem
            _compile(source, [compiler, *options, str(source), "-o", str(output), "-lm"])
            if not os.access(output, os.X_OK):
                what = f"programs cannot be started from {cache} (mounted noexec?)"
                raise UserError("cache", what, "set XDG_CACHE_HOME to a folder where they can")
            output.replace(program)
    except OSError as error:
        what = f"cannot keep a compiled kernel in {cache}: {error.strerror or error}"
        raise UserError("cache", what, "set XDG_CACHE_HOME to a folder that can be written") from error
    return program


def _refuse_shared(path: Path) -> None:
    """Raise UserError if another user may replace the content of the cache."""
    if why := planted.reason(str(path)):
        raise UserError(
            "cache",
            f"{why}: another user could exchange the compiled kernels",
            "set XDG_CACHE_HOME to a folder that only you may write",
        )


class NoCompiler(UserError):
    """There is no C compiler on PATH."""


def find_compiler() -> str:
    """Return the path of the machine's C compiler. Raises UserError with the package to install."""
    for name in COMPILERS:
        if path := planted.which(name):
            return path
    raise NoCompiler(
        "kernels",
        f"no C compiler on PATH ({', '.join(COMPILERS)}): the kernels are compiled on the machine they measure",
        f"{_INSTALL_GCC}; or `pinsweep kernels build` on a host that has one, with this CPU and this home",
    )


_INSTALL_GCC = "Debian, Ubuntu: apt install gcc libc6-dev · Fedora, RHEL, SUSE: dnf install gcc glibc-devel"
_INSTALL_OPENMP = "Debian, Ubuntu: apt install gcc (or libomp-dev for clang) · Fedora, RHEL: dnf install gcc libgomp (or libomp-devel)"
_OLD_COMPILER = "the kernels need a C11 compiler with GNU extensions: gcc 9 or clang 11, or newer"
_MISSING: Final = (
    (r"omp\.h|fopenmp|-lgomp|-lomp|libgomp|libomp", _INSTALL_OPENMP),
    (r"fatal error: '?\w+(/\w+)*\.h|crt1\.o|-lc\b|-lm\b", _INSTALL_GCC),
)
"""First error of a compiler (pattern) → the package to install."""


def _compile(source: Path, argv: list[str]) -> None:
    """Run the compiler. Raises UserError with the first error and, if known, the missing package."""
    for helper in ("as", "ld"):  # gcc starts the first on PATH
        planted.which(helper)
    place, compiler = f"kernels/{source.name}", Path(argv[0]).name
    done = ask(argv, timeout_s=_COMPILE_TIMEOUT_S)
    if done is None:
        what = f"{argv[0]} cannot be started, or did not end within {_COMPILE_TIMEOUT_S:.0f} s"
        raise UserError(place, what, "it should take 1 to 2 s, so check the compiler")
    if done.exit_status == 0:
        return
    lines = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    first = next((line for line in lines if "error" in line or "cannot find" in line), "no message")
    hint = next((hint for pattern, hint in _MISSING if re.search(pattern, first)), _OLD_COMPILER)
    raise UserError(place, f"{compiler} cannot compile it: {first.strip()}", hint)


def _key(source: Path, options: tuple[str, ...]) -> str:
    """Return a hash of all inputs of a program except the compiler: text, headers, options, C library, CPU."""
    digest = hashlib.sha256()
    for path in (source, *sorted(source.parent.glob("*.h"))):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
    cpu = cpu_kinds(_CPUINFO.read_text(errors="replace")) if _CPUINFO.exists() else ""
    for text in (*options, platform.machine(), libc or "", cpu):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:20]


def cpu_kinds(cpuinfo: str) -> str:
    """Return model and features of every kind of core in a text of /proc/cpuinfo, sorted and without duplicates."""
    kinds = set()
    for block in cpuinfo.split("\n\n"):
        pairs = (line.partition(":") for line in block.splitlines())
        fields = {key.strip(): value.strip() for key, _, value in pairs}
        kinds.add("\n".join(f"{key}: {fields[key]}" for key in _CPU_KEYS if key in fields))
    return "\n\n".join(sorted(kind for kind in kinds if kind))
