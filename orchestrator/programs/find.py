"""Find and identify the tools on this machine. I/O.

The search order is PINSWEEP_<TOOL> in the environment, `~/.config/pinsweep/tools.yaml` (tool: path), PATH, and the
folder of this Python (the `impi-rt` wheel puts IMB there). If MLC or STREAM is missing, a built-in kernel replaces it.
`PINSWEEP_MLC=kernel` selects the kernel even if MLC is installed. PINSWEEP_MPIRUN, or `mpirun:` in tools.yaml, sets the
launcher for IMB. The default launcher is from IMB's MPI library.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orchestrator.machine import planted
from orchestrator.machine.ask import ask, checksum
from orchestrator.machine.safe_files import open_file
from orchestrator.machine.user_folders import config_folder
from orchestrator.tools import Ask, Probed, Program, get_tool
from parsers.errors import PinsweepError, UserError

_ASK_TIMEOUT_S = 10.0


def find_programs(tools: Iterable[str], *, elsewhere: bool = False) -> dict[str, Program | str]:
    """Return the program of each tool, or the reason for a missing program and the way to install it.

    `elsewhere`: the plan is for another machine. A missing tool may be installed there and gets its bare name.
    """
    return {tool: _find(tool, elsewhere) for tool in sorted(set(tools))}


def _find(tool: str, elsewhere: bool) -> Program | str:
    module = get_tool(tool)
    if not module.PROGRAMS and not module.KERNEL:
        return Program(name="", path="")  # the command line of the experiment names it
    variable = f"PINSWEEP_{tool.upper()}"
    named = os.environ.get(variable) or configured().get(tool)
    where = variable if os.environ.get(variable) else f"{tool} in tools.yaml"
    if named == "kernel" and not module.KERNEL:
        raise UserError(where, f"pinsweep has no kernel for {tool}", module.INSTALL)
    if named and named != "kernel":
        hint = f"set it to the path of the program that you mean: {variable}=/…/{Path(named).name}"
        path = planted.which(named, hint=hint)
        if not path:
            raise UserError(where, f"{named} is not an executable file", f"unset it, or: {module.INSTALL}")
        return _describe(tool, path, elsewhere)
    if named != "kernel":
        for path in _candidates(module.PROGRAMS):
            is_tool, is_script = module.SIGNATURE.lower() in _content(path).lower(), bool(_script(path))
            if not (is_tool or is_script or _answers(tool)):
                continue  # another program of that name, such as ImageMagick's stream
            hint = f"if you mean it: {variable}={path}"
            planted.refuse(path, hint=f"{hint}; else take its folder out of PATH")
            if (is_tool and not (is_script and _answers(tool))) or _version(tool, path):
                return _describe(tool, path, elsewhere)
            otherwise = f"; else {variable}=kernel" if module.KERNEL else ""
            return f"{path} is first on PATH and does not say that it is {tool} ({hint}{otherwise})"
    if module.KERNEL:
        return _kernel(tool, elsewhere)
    if elsewhere:
        return Program(name=module.PROGRAMS[0], path=module.PROGRAMS[0])
    return f"{module.PROGRAMS[0]} is not installed ({module.INSTALL})"


def recorded(tool: str, record: Mapping[str, Any]) -> Program | str:
    """Return the exact program that a session recorded, or the reason why it cannot be started again.

    `record` is from `Session.programs`. A changed file is another program. pinsweep starts no program here, because the
    record may come from a stranger.
    """
    path, name = str(record.get("path") or ""), str(record.get("name") or "")
    if not path:
        return Program(name=name, path="")  # the command line of the experiment names it
    now = checksum(path)
    if not now or now != record.get("sha256"):
        return f"{path} is {'another program now' if now else 'no longer there'}"
    if why := planted.danger(path):
        return f"{path}: {why}"
    module = get_tool(tool)
    return Program(
        name=name,
        path=path,
        version=str(record.get("version") or ""),
        sha256=now,
        stand_in=bool(record.get("stand_in")),
        env=module.library_env(path),
        helpers={helper: file["path"] for helper, file in record.get("files", {}).items() if "path" in file},
        notes={key: str(record[key]) for key in ("mpi", "script") if key in record},
    )


def _candidates(names: Iterable[str]) -> Iterable[str]:
    """Yield the executables with these names, first on PATH, then in the folder of this Python."""
    folders = [*os.environ.get("PATH", os.defpath).split(os.pathsep), str(Path(sys.executable).parent)]
    for name in names:
        yield from filter(None, (shutil.which(name, path=folder) for folder in folders))


def _content(path: str) -> bytes:
    """Return the content of a file, or empty if the file cannot be read."""
    try:
        with open_file(Path(path), links=True) as file:
            return file.read()
    except OSError:
        return b""


def _script(path: str) -> str:
    """Return the first line of a script, "" for any other file."""
    line = _content(path)[:200].partition(b"\n")[0].decode("utf-8", "replace").strip()
    return line if line.startswith("#!") else ""


def _answers(tool: str) -> bool:
    """Return whether a tool can print its version. If a kernel may replace the tool, `version_argv` is for the kernel."""
    module = get_tool(tool)
    return bool(module.PROGRAMS and not module.KERNEL and module.version_argv(tool))


def _version(tool: str, path: str, env: Mapping[str, str] | None = None) -> str:
    """Return the version that a program prints or contains, or "" for an invalid answer."""
    module = get_tool(tool)
    if module.PROGRAMS and module.KERNEL:
        return ""  # `version_argv` is the kernel's: the tool itself says its version when it runs
    argv = module.version_argv(path)
    text = _ask(argv, env) if argv else b"\n".join(re.findall(rb"[ -~]{4,}", _content(path))).decode()
    version = module.version(text)
    return version if any(map(str.isdigit, version)) else ""  # "Invalid command '--version'"


def _kernel(tool: str, elsewhere: bool) -> Program | str:
    from orchestrator.programs import kernels

    module = get_tool(tool)
    stand_in = bool(module.PROGRAMS)
    try:
        path = str(kernels.build(module.KERNEL))
    except PinsweepError as error:
        if elsewhere:
            return Program(name=module.KERNEL, path=module.KERNEL, stand_in=stand_in)
        return f"{error.cause} ({error.hint})"
    version = module.version(_ask(module.version_argv(path)))
    return Program(name=module.KERNEL, path=path, version=version, sha256=checksum(path), stand_in=stand_in)


def _describe(tool: str, path: str, elsewhere: bool) -> Program | str:
    module = get_tool(tool)
    probed = module.probe(path, Ask(run=_ask, setting=_setting))
    if isinstance(probed, str):
        if not elsewhere:
            return probed
        probed = Probed()
    script = _script(path)
    return Program(
        name=Path(path).name,
        path=path,
        version=_version(tool, path, probed.env),
        sha256=checksum(path),
        env=probed.env,
        helpers=probed.helpers,
        notes={**probed.notes, **({"script": script} if script else {})},
    )


def _setting(name: str) -> str:
    """Return PINSWEEP_<NAME> of the environment, else `name:` of tools.yaml, else ""."""
    return os.environ.get(f"PINSWEEP_{name.upper()}") or configured().get(name, "")


@functools.cache
def configured() -> Mapping[str, str]:
    """Return `tools.yaml` of the user's configuration folder as tool names → paths. Empty if the file is missing."""
    path = config_folder() / "tools.yaml"
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(str(path), f"cannot be read: {error}") from error
    import yaml

    try:
        paths = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise UserError(str(path), f"not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(paths, dict) or not all(isinstance(v, str) for v in paths.values()):
        raise UserError(str(path), "must map tools to paths", "TOOL: /path/to/its/program")
    return {str(k): os.path.expanduser(v) for k, v in paths.items()}  # noqa: PTH111 (without a home, ~ stays as it is)


def _ask(argv: tuple[str, ...], env: Mapping[str, str] | None = None) -> str:
    """Return the output of a program about itself, or empty if there is no answer."""
    if not argv:
        return ""
    answer = ask(argv, timeout_s=_ASK_TIMEOUT_S, env={**os.environ, **(env or {})})
    return (answer.stdout + b"\n" + answer.stderr).decode("utf-8", "replace") if answer else ""
