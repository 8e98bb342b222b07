"""The kernels as programs, run for real: for this CPU out of the user's cache, and compiled in three other ways into pytest's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.programs import kernels
from tests.waits import PATIENCE_S

Kernel = Callable[..., "subprocess.CompletedProcess[str]"]
"""run(*arguments, **options of Popen) → the finished process, with text streams."""
Family = Callable[[str], Kernel]

SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fopenmp", "-pthread")
STRICT = ("-O2", "-ffp-contract=off", "-fopenmp", "-pthread", "-Wall", "-Wextra", "-Wshadow", "-Werror")
ARM_COMPILER = "aarch64-linux-gnu-gcc"
ARM_EMULATOR = "qemu-aarch64"


os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")  # what lives as long as the program is freed by its end


def runner(*command: str | Path) -> Kernel:
    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options
        )

    return run


@pytest.fixture(scope="session")
def kernel_cache(request: pytest.FixtureRequest) -> Path:
    assert request.config.cache is not None
    return request.config.cache.mkdir("kernels")


@pytest.fixture(scope="session")
def version() -> str:
    """The version that the kernels' sources give them all: "0.1"."""
    common = (kernels.sources_folder() / "common.h").read_text()
    (found,) = re.findall(r'#define KERNEL_VERSION "([^"]+)"', common)
    return str(found)


@pytest.fixture(scope="session")
def kernel() -> Family:
    """A kernel as users get it."""
    return lambda name: runner(kernels.build(name))


def compiled(name: str, options: tuple[str, ...], cache: Path, compiler: str | None = None) -> Path:
    source = kernels.sources_folder() / f"{name}.c"
    return kernels.compile_cached(source, compiler or kernels.find_compiler(), options, cache)


@pytest.fixture(scope="session")
def sanitized(kernel_cache: Path) -> Family:
    """A kernel that ends with a report when it leaves its memory or the language's definition."""
    return lambda name: runner(compiled(name, SANITIZED, kernel_cache))


@pytest.fixture(scope="session")
def walk(kernel_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """walk.c, which goes once around a chase; its headers lie beside it, as a kernel's do."""
    folder = tmp_path_factory.mktemp("walk")
    for path in (Path(__file__).with_name("walk.c"), *kernels.sources_folder().glob("*.h")):
        shutil.copy(path, folder)
    return runner(kernels.compile_cached(folder / "walk.c", kernels.find_compiler(), SANITIZED, kernel_cache))


@pytest.fixture(scope="session")
def portable(kernel_cache: Path) -> Family:
    """A kernel as on a CPU it has no code of its own for."""
    return lambda name: runner(compiled(name, (*STRICT, "-DPINSWEEP_PORTABLE"), kernel_cache))


@pytest.fixture(scope="session")
def arm(kernel_cache: Path) -> Family:
    """A kernel for AArch64, run by an emulator: its figures mean nothing, its paths are walked."""
    compiler, emulator = shutil.which(ARM_COMPILER), shutil.which(ARM_EMULATOR)
    if not compiler or not emulator:
        pytest.skip(f"{ARM_COMPILER} and {ARM_EMULATOR} (package qemu-user) are not both installed")
    return lambda name: runner(
        emulator, compiled(name, (*STRICT, "-mcpu=neoverse-n1", "-static"), kernel_cache, compiler)
    )
