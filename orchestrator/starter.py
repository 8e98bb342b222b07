"""A commented experiment for each tool: a small sweep that runs, then every option that may be added. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from orchestrator.tools import Option, get_tool

_SWEEPS = {
    "fio": """\
        fixed:
          ioengine: libaio
          direct: true             # past the page cache; libaio is asynchronous only so
          size: 256M               # a scratch file that pinsweep makes and removes (--scratch says where)
          runtime: 10
        matrix:                    # every combination is a cell
          rw: [randread, randwrite]
          iodepth: [1, 8, 32]
        """,
    "mlc": """\
        fixed:
          mode: loaded_latency
          place: {name: local, cpus: numa_node 0, memory: local}
          delays: [0, 100, 300, 1000, 5000]   # one process measures them all
        matrix:
          W: [R, 9, 8]             # R reads only; 9 and 8: 3 and 1 reads for each non-temporal write
        """,
    "stream": """\
        matrix:
          threads: 1..cores_per_numa_node     # also [1, 2, 25%, all]
          place:
            - {name: local, cpus: numa_node 0, memory: local}
            - {name: remote, cpus: numa_node 0, memory: remote}   # skipped where there is one node
        """,
    "imb": """\
        fixed:
          benchmark: PingPong
          msglog: "0:22"           # in quotes: YAML reads 0:22 as a time
        matrix:
          place: [smt siblings, same cache, same package, other package]
        """,
    "poke": """\
        fixed: {target: memory, count: 100000}
        matrix:
          op: [read, write]
          bytes: [0, 1kB, 1MB, 0.5 x LLC, 4 x LLC]
        """,
    "command": """\
        fixed:
          command: dd if=/dev/zero of=/dev/null bs={bs} count={count}
          count: 10000
          metrics:
            bandwidth: {regex: "([0-9.]+) GB/s", unit: GB/s, better: higher}
        matrix:
          bs: [4k, 64k]
        """,
}
_COLUMN = 24


def starter(tool: str) -> str:
    """Return the text of an experiment file. Raises UserError for a tool that is not there."""
    options = get_tool(tool).options()
    sweep = textwrap.dedent(_SWEEPS[tool]) if tool in _SWEEPS else _from_options(options)
    lines = [
        "# `pinsweep schema > experiment.schema.json` gives your editor the keys of this file.",
        "#",
        "# Answers: (what is the question?)",
        "# Needs:   (which tools, how much memory, disk, how many NUMA nodes?)",
        "schema: 1",
        f"title: My {tool} sweep",
        f"tool: {tool}",
        *sweep.rstrip().splitlines(),
        "repeats: 5                 # in randomised rounds; order: listed keeps the file's order",
        "",
    ]
    if len(options) <= 40:
        lines += [
            f"# Options of {tool}, for fixed, matrix and zip:",
            *(_describe(name, option) for name, option in options.items()),
        ]
    else:
        lines += [
            f"# Every option of {tool} may be set under its own name ({len(options)} of them; `{tool} --cmdhelp=all`)."
        ]
    return "\n".join(lines) + "\n"


def _describe(name: str, option: Option) -> str:
    about = f"{option.help} ({', '.join(option.choices)})" if option.choices else option.help
    return textwrap.fill(
        f"{name:<{_COLUMN - 4}}{about}",
        width=108,
        initial_indent="#   ",
        subsequent_indent="#" + " " * (_COLUMN - 1),
    )


def _from_options(options: Mapping[str, Option]) -> str:
    required = {name: option for name, option in options.items() if option.required}
    values = (
        f'  {name}: "{option.choices[0] if option.choices else "…"}"\n'  # in quotes: a word may be null, or on
        for name, option in required.items()
    )
    return "".join(("fixed:\n", *values)) if required else ""
