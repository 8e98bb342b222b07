"""Print the options that the installed fio knows, one JSON object: the snapshot `orchestrator/tools/fio_options.json`.

Run on a newer fio and merge (`python scripts/fio_options.py --merge orchestrator/tools/fio_options.json`) when fio grows options.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

UNLISTED = ("iomem_align", "bs_is_seq_rand", "verify_async_cpus")
"""Options that `--cmdhelp=all` leaves out: their parent is named by its alias."""

SIZES = frozenset(
    ("size", "io_size", "offset", "offset_increment", "filesize", "zonesize", "zonerange", "zonecapacity", "zoneskip", "number_ios",
     "lockmem", "ramp_size", "trim_backlog", "verify_backlog", "randseed")
)  # fmt: skip
MICROSECONDS = frozenset(("latency_target", "latency_window", "max_latency", "thinktime", "thinktime_spin"))
SECONDS = frozenset(("thinktime_iotime",))
FLOATS = frozenset(("latency_percentile", "zone_reset_threshold", "zone_reset_frequency"))
"""Options whose type fio prints as a text or a whole number (FIO_OPT_STR_VAL, is_time, is_seconds, maxlen=1 in fio's options.c)."""

ENTRY = re.compile(
    r"^ *([\w-]+): (.*)\n((?: +(?:alias|type|default|range|valid values|opts)?:.*\n| +: .*\n)*)", re.MULTILINE
)


def fio(*arguments: str) -> str:
    return subprocess.run(["fio", *arguments], capture_output=True, text=True, check=False).stdout


def kind_of(name: str, kind: str) -> str:
    for known, names in (
        ("size", SIZES),
        ("microseconds", MICROSECONDS),
        ("seconds", SECONDS),
        ("float", FLOATS),
    ):
        if name in names:
            return known
    if "boolean" in kind or kind.startswith("no argument"):
        return "flag"
    if kind.startswith("integer"):
        return "int"
    if "time postfix" in kind:
        return "seconds"
    return "text"


def entries(text: str) -> dict[str, dict[str, Any]]:
    options: dict[str, dict[str, Any]] = {}
    for name, about, body in ENTRY.findall(text):
        kind = re.search(r"type: (.*)", body)
        entry: dict[str, Any] = {"kind": kind_of(name, kind[1] if kind else ""), "help": about.strip()}
        if alias := re.search(r"alias: (\w+)", body):
            entry["alias"] = alias[1]
        values = re.findall(r"(?:valid values|  +): (\w+) +\S", body)
        if "valid values" in body and values:
            entry["choices"] = values
        if entry["kind"] != "int":
            pass
        elif limits := re.search(r"range: min=(-?\d+), max=(\d+)", body):
            entry |= {"low": int(limits[1]), "high": int(limits[2])}
        elif limits := re.search(r"range: min=([1-9]\d*), max=-1", body):
            entry["low"] = int(limits[1])
        options[name] = entry
    return options


def main() -> None:
    names = [line.split(":")[0].strip() for line in fio("--cmdhelp=all").splitlines() if ":" in line]
    options: dict[str, dict[str, Any]] = {}
    for name in (*names, *UNLISTED):
        options |= {name: entry for name, entry in entries(fio(f"--cmdhelp={name}")).items() if name != "type"}
    merged: dict[str, dict[str, Any]] = json.loads(Path(sys.argv[2]).read_text()) if len(sys.argv) == 3 else {}
    for engine in fio("--enghelp").split()[3:]:
        for name in re.findall(r"^([\w-]+) *:", fio(f"--enghelp={engine}"), re.MULTILINE):
            entry = entries(fio(f"--enghelp={engine},{name}")).get(name, {"kind": "text", "help": name})
            of = {*options.get(name, merged.get(name, {})).get("engines", ()), engine}
            options[name] = {**options.get(name, entry), "engines": sorted(of)}
    print(
        "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted((merged | options).items())) + "\n}"
    )


if __name__ == "__main__":
    main()
