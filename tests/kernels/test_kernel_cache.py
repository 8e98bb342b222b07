"""The compile cache: one program per compiler, option and CPU; whole or absent; a sentence where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.programs import kernels
from parsers.errors import UserError
from tests.waits import until

INTEL = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz
stepping\t: 4
microcode\t: 0x2000065
cpu MHz\t\t: 2500.000
flags\t\t: fpu sse2 avx2 avx512f
"""
ARM = """processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd sve
CPU implementer\t: 0x41
CPU part\t: 0xd40
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.c"
    path.write_text('#include "tiny.h"\nint main(void) { return ANSWER; }\n')
    (tmp_path / "tiny.h").write_text("#define ANSWER 42\n")
    return path


def make(source: Path, cache: Path, *options: str, compiler: str | None = None) -> Path:
    return kernels.compile_cached(source, compiler or kernels.find_compiler(), options, cache)


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_what_decides_the_program_decides_its_place(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = make(source, cache)
    stamp = first.stat().st_mtime_ns

    assert subprocess.run([first], check=False).returncode == 42
    assert make(source, cache) == first
    assert first.stat().st_mtime_ns == stamp  # found, not made anew
    assert make(source, cache, "-O1") != first
    other = script(
        tmp_path / "cc",
        f'[ "$1" = --version ] && echo other 1.0 && exit; exec {kernels.find_compiler()} "$@"',
    )
    assert make(source, cache, compiler=other) != first
    (tmp_path / "tiny.h").write_text("#define ANSWER 43\n")
    changed = make(source, cache)
    assert changed != first
    assert [subprocess.run([path], check=False).returncode for path in (first, changed)] == [42, 43]
    assert sorted(path.name for path in cache.iterdir() if path.name.startswith(".")) == []


def test_a_home_that_different_cpus_share_has_a_program_for_each(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on(cpuinfo: str) -> Path:
        path = tmp_path / "cpuinfo"
        path.write_text(cpuinfo)
        monkeypatch.setattr(kernels, "_CPUINFO", path)
        return make(source, tmp_path / "cache")

    first, second = on(INTEL), on(INTEL.replace(" avx512f", ""))

    assert first != second
    assert first.is_file()
    assert second.is_file()
    assert on(INTEL.replace("2500.000", "3100.000")) == first


def test_kind_of_cpu_is_model_and_features_not_clock_or_count() -> None:
    kind = kernels.cpu_kinds(INTEL)

    assert "avx512f" in kind
    assert kernels.cpu_kinds(f"{INTEL}\n{INTEL.replace('2500.000', '3100.000')}") == kind
    assert kernels.cpu_kinds(INTEL.replace(" avx512f", "")) != kind
    assert kernels.cpu_kinds(INTEL.replace("0x2000065", "0x2007006")) == kind
    assert kernels.cpu_kinds(ARM) == "CPU implementer: 0x41\nCPU part: 0xd40\nFeatures: fp asimd sve"
    both = kernels.cpu_kinds(f"{ARM}\n{ARM.replace('0xd40', '0xd46')}")  # big and little cores
    assert both == kernels.cpu_kinds(f"{ARM.replace('0xd40', '0xd46')}\n{ARM}")
    assert both != kernels.cpu_kinds(ARM)
    assert kernels.cpu_kinds("") == ""


def test_builds_at_the_same_time_all_find_a_whole_program(source: Path, tmp_path: Path) -> None:
    def build_and_run(_: int) -> int:
        return subprocess.run([make(source, tmp_path / "cache")], check=False).returncode

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(build_and_run, range(16))) == {42}


def test_interrupted_build_leaves_no_program(source: Path, tmp_path: Path) -> None:
    endless = script(tmp_path / "cc", f'[ "$1" = --version ] && exit; touch {tmp_path}/compiling; exec sleep 300')
    code = (
        "from orchestrator.programs import kernels; from pathlib import Path; import sys; "
        "kernels.compile_cached(Path(sys.argv[1]), sys.argv[2], (), Path(sys.argv[3]))"
    )
    with subprocess.Popen([sys.executable, "-c", code, source, endless, tmp_path / "cache"]) as build:
        until((tmp_path / "compiling").exists)
        build.kill()

    assert [path for path in (tmp_path / "cache").rglob("tiny") if path.is_file()] == []
    assert make(source, tmp_path / "cache").is_file()


def test_no_compiler_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UserError) as caught:
        kernels.build("stream", tmp_path)
    assert "no C compiler on PATH (cc, gcc, clang)" in caught.value.cause
    assert "apt install gcc libc6-dev" in caught.value.hint
    assert "dnf install gcc glibc-devel" in caught.value.hint


@pytest.mark.slow
def test_without_a_compiler_what_was_compiled_for_this_cpu_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on compute nodes that share a home with one that has a compiler."""
    cache = tmp_path / "cache"
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(INTEL)
    monkeypatch.setattr(kernels, "_CPUINFO", cpuinfo)
    made = kernels.build("poke", cache)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert kernels.build("poke", cache) == made
    with pytest.raises(UserError, match="no C compiler"):
        kernels.build("memlat", cache)  # that one was not made
    cpuinfo.write_text(INTEL.replace("avx512f", "avx512f amx"))
    with pytest.raises(UserError) as caught:  # another CPU: what is there may not even start
        kernels.build("poke", cache)
    assert "`pinsweep kernels build` on a host that has one" in caught.value.hint
    cpuinfo.write_text(INTEL)
    made.unlink()
    with pytest.raises(UserError, match="no C compiler"):
        kernels.build("poke", cache)


@pytest.mark.parametrize(
    ("message", "package"),
    [
        ("stream.c:17:10: fatal error: 'omp.h' file not found", "libomp-dev"),
        ("gcc: error: libgomp.spec: No such file or directory", "libgomp"),
        ("/usr/bin/ld: cannot find -lomp: No such file or directory", "libomp-dev"),
        ("common.h:13:10: fatal error: errno.h: No such file or directory", "libc6-dev"),
        ("/usr/bin/ld: cannot find crt1.o: No such file or directory", "libc6-dev"),
        ("stream.c:3:1: error: unknown type name '_Atomic'", "gcc 9 or clang 11"),
    ],
)
def test_failed_compilation_says_what_is_missing(source: Path, tmp_path: Path, message: str, package: str) -> None:
    failing = script(tmp_path / "cc", f'echo "{message}" >&2; exit 1')

    with pytest.raises(UserError) as caught:
        make(source, tmp_path / "cache", compiler=failing)
    assert message in caught.value.cause
    assert package in caught.value.hint
    assert list((tmp_path / "cache").glob(".build-*")) == []


def test_headers_that_are_really_missing(source: Path, tmp_path: Path) -> None:
    source.write_text("#include <stdio.h>\nint main(void) { return 0; }\n")

    with pytest.raises(UserError, match="stdio"):
        make(source, tmp_path / "cache", "-nostdinc")


def test_no_place_for_programs_says_so(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UserError, match=f"cannot keep a compiled kernel in {tmp_path}/file") as caught:
        make(source, tmp_path / "file")
    assert "XDG_CACHE_HOME" in caught.value.hint


@pytest.mark.slow
def test_default_place_is_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    path = kernels.build("poke")
    assert path.relative_to(tmp_path).parts[:2] == ("pinsweep", "kernels")
    assert os.access(path, os.X_OK)


@pytest.mark.parametrize("name", kernels.kernel_names())
def test_version_is_the_programs_own(name: str, version: str) -> None:
    done = subprocess.run([kernels.build(name), "--version"], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[0] == f"pinsweep {name} {version}"


@pytest.mark.parametrize("name", kernels.kernel_names())
def test_help_names_the_exit_statuses(name: str) -> None:
    done = subprocess.run([kernels.build(name), "--help"], capture_output=True, text=True, check=True)

    assert done.stdout.startswith(f"usage: {name} ")
    assert "Exit status: 0 " in done.stdout


def test_unknown_kernel_is_refused() -> None:
    with pytest.raises(UserError, match="no kernel of that name"):
        kernels.build("linpack")


def test_sources_in_a_wheel_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "orchestrator"
    shutil.copytree(kernels.sources_folder(), package / "kernel_sources")
    monkeypatch.setattr(kernels, "_HERE", package)

    assert kernels.sources_folder() == package / "kernel_sources"
    assert "memlat" in kernels.kernel_names()
    shutil.rmtree(package)
    with pytest.raises(UserError, match="C sources are not there"):
        kernels.sources_folder()
