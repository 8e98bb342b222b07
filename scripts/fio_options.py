"""Print the options that the installed fio knows, one JSON object: the snapshot `orchestrator/tools/fio_options.json`.

Run on a newer fio and merge (`python scripts/fio_options.py --merge orchestrator/tools/fio_options.json`) when fio grows options.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ENTRY = re.compile(
    r"^ *(\w+): (.*)\n((?: +(?:alias|type|default|range|valid values|opts)?:.*\n| +: .*\n)*)", re.MULTILINE
)


def fio(*arguments: str) -> str:
    return subprocess.run(["fio", *arguments], capture_output=True, text=True, check=False).stdout


def kind_of(kind: str) -> str:
    if "boolean" in kind or kind.startswith("no argument"):
        return "flag"
    if kind.startswith("integer"):
        return "int"
    if "time postfix" in kind:
        return "seconds"
    if "k/m/g postfix" in kind:
        return "size"
    return "text"


def entries(text: str) -> dict[str, dict[str, object]]:
    options: dict[str, dict[str, object]] = {}
    for name, about, body in ENTRY.findall(text):
        kind = re.search(r"type: (.*)", body)
        entry: dict[str, object] = {"kind": kind_of(kind[1] if kind else ""), "help": about.strip()}
        if alias := re.search(r"alias: (\w+)", body):
            entry["alias"] = alias[1]
        values = re.findall(r"(?:valid values|  +): (\w+) +\S", body)
        if "valid values" in body and values:
            entry["choices"] = values
        options[name] = entry
    return options


def main() -> None:
    names = [line.split(":")[0].strip() for line in fio("--cmdhelp=all").splitlines() if ":" in line]
    options: dict[str, dict[str, object]] = {}
    for name in names:
        options |= entries(fio(f"--cmdhelp={name}"))
    for engine in fio("--enghelp").split()[3:]:
        for line in fio(f"--enghelp={engine}").splitlines():
            if match := re.match(r"^\s*(\w+)\s*: (.+)", line):
                options.setdefault(match[1], {"kind": "text", "help": match[2].strip(), "engine": engine})
    if len(sys.argv) == 3 and sys.argv[1] == "--merge":
        options = {**json.loads(Path(sys.argv[2]).read_text()), **options}
    print("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(options.items())) + "\n}")


if __name__ == "__main__":
    main()
