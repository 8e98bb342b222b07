"""What happens to outputs on their way into a file: terminals, launchers, log keepers, mails, Markdown. No figure may change.

Every captured output of tests/fixtures in every variant; then cut off anywhere, and twice in one text.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.captured import _COUNTING_LABELS
from parsers import get_parser, guess_parser
from parsers.errors import ParseError
from parsers.measurement import Cell, Parsed
from parsers.text import decode

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
TEXTS = {
    f"{path.parent.name}/{path.stem}": decode(path.read_bytes()) for path in sorted(FIXTURES.glob("*/*.out"))
}
WHOLE = {name: get_parser(name.partition("/")[0]).parse(text, {}) for name, text in TEXTS.items()}

Variant = Callable[[str], str]


def each(change: Callable[[int, str], str]) -> Variant:
    return lambda text: "".join(
        change(i, line) + "\n" for i, line in enumerate(text.rstrip("\n").split("\n"))
    )


def before(prefix: str) -> Variant:
    """Put a prefix before each line; {i} counts the lines, {s} the seconds."""
    return each(lambda i, line: prefix.format(i=i + 1, s=i % 60) + line)


VARIANTS: dict[str, Variant] = {
    "CRLF and BOM": lambda t: "\ufeff" + t.replace("\n", "\r\n"),
    "UTF-16 of PowerShell": lambda t: decode(t.replace("\n", "\r\n").encode("utf-16")),
    "CR CR LF": lambda t: t.replace("\n", "\r\r\n"),
    "srun -l": before("0: "),
    "srun -l of many": before(" 0: "),
    "mpirun -l": before("[0] "),
    "mpirun --tag-output": before("[1,0]<stdout>:"),
    "pdsh": before("n001: "),
    "clush": lambda t: f"---------------\nn001\n---------------\n{t}",
    "docker compose": before("bench-1  | "),
    "kubectl --prefix": before("[pod/bench-0/fio] "),
    "ts": before("May 01 10:00:{s:02} "),
    "ts of the first days": before("May  1 10:00:{s:02} "),
    "ts, ISO": before("2024-05-01 10:00:{s:02} "),
    "ts -s": before("00:00:{s:02} "),
    "ts -s %.s": before("[{i:12.6f}] "),
    "CI log": before("2024-05-01T10:00:{s:02}.1234567Z "),
    "times in brackets": before("[2024-05-01 10:00:{s:02}] "),
    "journald": before("May 01 10:00:{s:02} host run.sh[1234]: "),
    "a time and a host": before("2024-05-01T10:00:{s:02}Z n001: "),
    "cat -n": before("{i:6}\t"),
    "grep -n": before("{i}:"),
    "quoted": before("> "),
    "quoted twice": before("> > "),
    "quoted tightly": before(">> "),
    "indented code": lambda t: f"It was:\n\n{textwrap.indent(t, '    ')}\nDone.\n",
    "indented by tabs": lambda t: textwrap.indent(t, "\t"),
    "fenced": lambda t: f"Here it is:\n\n```text\n{t}```\n\nBye.\n",
    "fenced in a list": lambda t: f"* it:\n\n  ```\n{textwrap.indent(t, '  ')}  ```\n",
    "HTML": lambda t: "<html><body><pre>\n" + t.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") + "</pre></body></html>\n",
    "no-break blanks": lambda t: t.replace("  ", "\u00a0 "),
    "blanks at the ends": each(lambda _, line: line + "   "),
    "every line followed by a blank one": each(lambda _, line: line + "\n"),
    "tabs expanded": lambda t: t.expandtabs(8),
    "coloured": each(lambda _, line: f"\x1b[32m{line}\x1b[0m"),
    "erased to the end of the line": each(lambda _, line: line + "\x1b[K"),
    "script": lambda t: (
        'Script started on 2024-05-01 10:00:00+00:00 [TERM="xterm" COLUMNS="80" LINES="24"]\n\x1b]0;user@host: ~\x07\x1b[01;32muser@host\x1b[00m:~$ '
        "./run\r\n" + t.replace("\n", "\r\n") + "\x1b[01;32muser@host\x1b[00m:~$ exit\r\nexit\r\n\nScript done on 2024-05-01 10:10:00+00:00\n"
    ),
    "prompts": lambda t: f"user@host:~$ ./run\n{t}user@host:~$ ",
    "time": lambda t: f"{t}\nreal\t0m10.123s\nuser\t0m9.000s\nsys\t0m0.100s\n",
    "perf stat": lambda t: f"{t}\n Performance counter stats for './run':\n\n     1,234.56 msec task-clock  #    1.999 CPUs utilized\n\n       0.617 seconds time elapsed\n",
    "Slurm's own lines": lambda t: f"srun: job 12 queued and waiting for resources\n{t}srun: error: n001: task 0: Exited with exit code 1\n",
    "modules": lambda t: f'Lmod is automatically replacing "gcc" with "intel".\nLoading intel/2024\n{t}',
}  # fmt: skip

PREFIXED = {
    "quoted tightly",
    *list(VARIANTS)[list(VARIANTS).index("srun -l") : list(VARIANTS).index("quoted")],
}
COUNTED = {"cat -n", "grep -n"}


def cannot_be_told(name: str, variant: str) -> bool:
    """A single line has no other to compare its beginning with; progress that overwrites itself is more lines than were counted."""
    single = TEXTS[name].rstrip("\n").count("\n") < 2
    return (single and variant in PREFIXED) or ("\r" in TEXTS[name] and variant in COUNTED)


def rows(parsed: Parsed) -> Counter[tuple[Cell, ...]]:
    """Return the rows without the labels that only count."""
    kept = [i for i, column in enumerate(parsed.measurements.columns) if column not in _COUNTING_LABELS]
    return Counter(tuple(row[i] for i in kept) for row in parsed.measurements.rows)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_figure_changes(variant: str) -> None:
    for name, text in TEXTS.items():
        if cannot_be_told(name, variant):
            continue
        changed = VARIANTS[variant](text)
        tool = name.partition("/")[0]
        assert guess_parser(changed) == tool, name
        assert rows(get_parser(tool).parse(changed, {})) == rows(WHOLE[name]), name


ONE_MACHINE = {"lscpu/caches": "nothing tells a second machine's caches from the first's"}
SNAPSHOTS = {name for name, parsed in WHOLE.items() if parsed.has("status_interval")}
STOPPED = SNAPSHOTS | {name for name, parsed in WHOLE.items() if parsed.has("truncated")}


@given(
    name=st.sampled_from(sorted(TEXTS.keys() - SNAPSHOTS)),
    at=st.floats(0, 1),
    ends=st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=300, deadline=None)
def test_a_text_that_breaks_off_gives_a_part_of_its_rows(name: str, at: float, ends: str) -> None:
    text = TEXTS[name].replace("\n", ends)
    try:
        part = get_parser(name.partition("/")[0]).parse(text[: int(len(text) * at)], {})
    except ParseError:
        return
    assert rows(part) <= rows(WHOLE[name])


@pytest.mark.parametrize(
    "name", sorted(n for n in TEXTS.keys() - ONE_MACHINE.keys() - STOPPED if not n.startswith("fio"))
)  # fio's disks are told once: test_fio.py
@pytest.mark.parametrize("between", ["", "\n", "== next ==\n"])
def test_twice_the_text_is_twice_the_rows(name: str, between: str) -> None:
    text = TEXTS[name] if TEXTS[name].endswith("\n") else TEXTS[name] + "\n"
    twice = get_parser(name.partition("/")[0]).parse(text + between + text, {})

    assert rows(twice) == Counter({row: 2 * n for row, n in rows(WHOLE[name]).items()})


@pytest.mark.parametrize("tool", ["imb", "mlc", "stream"])
def test_a_decimal_comma_is_a_point(tool: str) -> None:
    """C programs that set a locale print one; versions keep their points. fio and likwid-bench set none."""
    for name in (n for n in TEXTS if n.startswith(f"{tool}/")):
        lines = TEXTS[name].split("\n")
        text = "\n".join(
            line if re.search(r"version|pinsweep|Benchmarks|startup", line, re.IGNORECASE) else re.sub(r"(?<=\d)\.(?=\d)", ",", line)
            for line in lines
        )  # fmt: skip
        assert rows(get_parser(tool).parse(text, {})) == rows(WHOLE[name]), name
