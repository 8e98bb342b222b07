"""What happens to outputs on their way into a file: terminals, launchers, log keepers, mails, Markdown. No figure
may change.

Every captured output of tests/fixtures in every variant; then cut off anywhere, and twice in one text.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import html
import json
import os
import quopri
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.capture.cut import _COUNTING_LABELS
from parsers import get_parser, guess_parsers
from parsers.errors import ParseError
from parsers.measurement import Parsed, Scalar
from parsers.text import decode
from tests.laws import dealt

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
TEXTS = {f"{path.parent.name}/{path.stem}": decode(path.read_bytes()) for path in sorted(FIXTURES.glob("*/*.out"))}
WHOLE = {name: get_parser(name.partition("/")[0]).parse(text, {}) for name, text in TEXTS.items()}

Variant = Callable[[str], str]


def each(change: Callable[[int, str], str]) -> Variant:
    return lambda text: "".join(change(i, line) + "\n" for i, line in enumerate(text.rstrip("\n").split("\n")))


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
    "HTML with breaks": lambda t: "<html><body><tt>\n" + "<br>\n".join(html.escape(line).replace("  ", "&nbsp; ") for line in t.split("\n")) + "</tt></body></html>\n",
    "HTML, a break a line": lambda t: "\n<br>\n".join(html.escape(line).replace("  ", "&nbsp;&nbsp;") for line in t.split("\n")),
    "HTML, quoted": lambda t: "<p>He wrote:</p>\n" + "".join(f'<span class="quote">&gt; {html.escape(line)}</span><br>\n' for line in t.split("\n")),
    "quoted-printable": lambda t: quopri.encodestring(t.encode()).decode(),
    "a mail": lambda t: "From: a@b.c\nSubject: x=y\nMIME-Version: 1.0\nContent-Transfer-Encoding: quoted-printable\n\nHello,\n\n" + quopri.encodestring(t.encode()).decode(),
    "a mail with parts": lambda t: 'Content-Type: multipart/mixed; boundary="b=_1"\n\n--b=_1\nContent-Type: text/plain\n\nsee below, bs=41\n\n--b=_1\nContent-Transfer-Encoding: base64\n\n'
    + base64.encodebytes(t.encode()).decode() + "\n--b=_1--\n",
    "JSON list": lambda t: json.dumps({"data": t.rstrip("\n").split("\n")}) + "\n",
    "JSON string": lambda t: json.dumps({"rc": 0, "stdout": t}, indent=2) + "\n",
    "ansible": lambda t: json.dumps({"stdout": t.rstrip("\n"), "stdout_lines": t.rstrip("\n").split("\n")}),
    "docker's log": each(lambda _, line: json.dumps({"log": line + "\n", "stream": "stdout", "time": "2024-05-01T10:00:00.1Z"})),
    "avocado": before("20:17:{s:02} DEBUG| [stdout] "),
    "autotest": before("05/21 12:33:{s:02} DEBUG|base_utils:0106| [stdout] "),
    "logging": before("2024-05-01 10:00:{s:02},123 INFO - "),
    "level alone": before("[INFO] "),
    "gh run view": before("bench\tRun it\t2024-05-01T10:00:{s:02}.1234567Z "),
    "GitLab": before("2024-05-01T10:00:{s:02}.123456Z 01O "),
    "containerd": before("2024-05-01T10:00:{s:02}.123456789Z stdout F "),
    "a script's comment": lambda t: "#!/bin/sh\n" + "".join(f"# {line}\n" for line in t.rstrip("\n").split("\n")) + "exit 0\n",
    "C's comment": before("// "),
    "SQL's comment": before("-- "),
    "patch": before("+ "),
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
    "C's comment",
    "SQL's comment",
    "patch",
    *list(VARIANTS)[list(VARIANTS).index("avocado") : list(VARIANTS).index("a script's comment")],
    *list(VARIANTS)[list(VARIANTS).index("srun -l") : list(VARIANTS).index("quoted")],
}
COUNTED = {"cat -n", "grep -n"}


def cannot_be_told(name: str, variant: str) -> bool:
    """A single line has no other to compare its beginning with; progress that overwrites itself is more lines than
    were counted."""
    single = TEXTS[name].rstrip("\n").count("\n") < 2
    return (
        single and variant in {*PREFIXED, "JSON list", "JSON string", "ansible", "docker's log", "a script's comment"}
    ) or ("\r" in TEXTS[name] and variant in COUNTED)


def rows(parsed: Parsed) -> Counter[tuple[Scalar, ...]]:
    """Return the rows without the labels that only count."""
    kept = [i for i, column in enumerate(parsed.measurements.columns) if column not in _COUNTING_LABELS]
    return Counter(tuple(row[i] for i in kept) for row in parsed.measurements.rows)


def as_a_line_tells(parsed: Parsed) -> Counter[tuple[Scalar, ...]]:
    """Return the rows; the rates of fio's normal text, which get more digits from a count further down, without
    their values."""
    if parsed.facts.get("format") != "normal":
        return rows(parsed)
    of_rates = {"iops", "bandwidth"}
    return Counter({(*row[:-1], None) if of_rates & {*row} else row: n for row, n in rows(parsed).items()})


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_figure_changes(variant: str) -> None:
    for name, text in TEXTS.items():
        if cannot_be_told(name, variant):
            continue
        changed = VARIANTS[variant](text)
        tool = name.partition("/")[0]
        assert guess_parsers(changed) == (tool,), name
        assert rows(get_parser(tool).parse(changed, {})) == rows(WHOLE[name]), name


ONE_MACHINE = {"lscpu/caches": "nothing tells a second machine's caches from the first's"}
MUCH = 1500
"""Characters of a text of which every beginning takes more than a moment to read."""
SNAPSHOTS = {name for name, parsed in WHOLE.items() if parsed.has("status_interval")}
STOPPED = SNAPSHOTS | {name for name, parsed in WHOLE.items() if parsed.has("truncated")}


@given(
    name=st.sampled_from(sorted(TEXTS.keys() - SNAPSHOTS)),
    at=st.floats(0, 1),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_a_text_that_breaks_off_gives_a_part_of_its_rows(name: str, at: float, ends: str) -> None:
    text = TEXTS[name].replace("\n", ends)
    try:
        part = get_parser(name.partition("/")[0]).parse(text[: int(len(text) * at)], {})
    except ParseError:
        return
    assert as_a_line_tells(part) <= as_a_line_tells(WHOLE[name])


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


# --- the corpus, and what readers write into an output ------------------------------------------------------------------------

CORPUS = Path(os.environ.get("PINSWEEP_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))
NO_OUTPUT = {".tsv", ".stderr", ".in", ".toml", ".xml"}


def corpus(tools: set[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of the outputs of the corpus."""
    for path in sorted(CORPUS.glob("*/*/*")):
        if path.parent.name in tools and path.suffix not in NO_OUTPUT and path.stat().st_size < 150_000:
            yield "/".join(path.parts[-3:]), decode(path.read_bytes())


@functools.cache
def sound_of_the_corpus() -> list[tuple[str, str, str, Counter[tuple[Scalar, ...]]]]:
    """Return name, text, tool and rows of the texts that are read as they are."""
    found = []
    for name, text in corpus({"fio", "imb", "mlc", "stream", "numactl", "lscpu", "mpi"}):
        with contextlib.suppress(ParseError):
            tools = guess_parsers(text)
            if len(tools) == 1 and (whole := rows(get_parser(tools[0]).parse(text, {}))):
                found.append((name, text, tools[0], whole))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus of outputs here")
@pytest.mark.parametrize("variant", VARIANTS)
def test_no_figure_of_the_corpus_changes(variant: str) -> None:
    for name, text, tool, whole in dealt(len(VARIANTS), [*VARIANTS].index(variant), sound_of_the_corpus()):
        TEXTS[name] = text
        try:
            if not cannot_be_told(name, variant):
                changed = VARIANTS[variant](text)
                assert guess_parsers(changed) == (tool,), name
                assert rows(get_parser(tool).parse(changed, {})) == whole, name
        finally:
            del TEXTS[name]


Edit = Callable[[str, Random], str]
NOTES = (
    "  <- low",
    "\t# here",
    "   (!)",
    " // why?",
    "  <--- ???",
    "  ← hm",
    "  *** best",
    "   slower than B",
)
MARKS = ("**{}**", "*{}*", "***{}***", "`{}`", '"{}"', "“{}”", "<b>{}</b>", "&#x2a;{}&#42;", "~~{}~~")
ROW = re.compile(r"\s*(?:\w+:)?\s*[\d.]+\s+[\d.]+")
HEAD = re.compile(r"\s*#bytes|# Size|\s*Inject|\s*Function")


def some(change: Callable[[str, Random], str], share: float, only: re.Pattern[str] = re.compile(r".*\S")) -> Edit:
    """Change this share of the lines, of those that `only` matches."""
    return lambda text, random: "".join(
        (change(line, random) if only.match(line) and random.random() < share else line) + "\n"
        for line in text.rstrip("\n").split("\n")
    )


EDITS: dict[str, Edit] = {
    "notes behind lines": some(lambda line, random: line.rstrip() + random.choice(NOTES), 0.2),
    "notes behind rows": some(lambda line, random: line.rstrip() + random.choice(NOTES), 0.5, ROW),
    "notes that begin with a number": some(lambda line, _: line.rstrip() + "  2.5 x less", 0.2, ROW),
    "blanks collapsed": some(lambda line, _: re.sub(r"(?<=\S) +", " ", line), 1),
    "tabs for blanks": some(lambda line, _: re.sub(r"(?<=\S) {2,}", "\t", line), 1),
    "stars before rows": some(lambda line, _: f"* {line}", 0.3, ROW),
    "rows in bold": some(lambda line, _: f"**{line.strip()}**", 0.2, ROW),
    "figures in bold, italic, code": some(lambda line, random: re.sub(r"\S*\d\S*", lambda m: random.choice(MARKS).format(m[0]), line, count=1), 0.3),
    "a Markdown table": some(lambda line, _: f"| {' | '.join(line.split())} |", 1, re.compile(f"{ROW.pattern}|{HEAD.pattern}")),
}  # fmt: skip
SAID = {"unread", "truncated", "unknown_column", "empty_table"}


def printed(text: str, tool: str) -> bool:
    """Is it lines that a person may edit? Not JSON, fio's terse lines, lscpu's fields (a note is a part of their
    value), nor numastat's counters and progress that overwrites itself."""
    return not (text.lstrip()[:1] == "{" or '"fio version"' in text or "\r" in text or tool in ("lscpu", "poke") or "numa_hit" in text or ";fio-" in text)  # fmt: skip


def figures(parsed: Parsed) -> Counter[tuple[Scalar, ...]]:
    """Return the rows without the count of MLC's rows, too: below one that is not read it is one less."""
    at = parsed.measurements.columns.index("row") if "row" in parsed.measurements.columns else None
    kept = [i for i, c in enumerate(parsed.measurements.columns) if c not in _COUNTING_LABELS and i != at]
    return Counter(tuple(row[i] for i in kept) for row in parsed.measurements.rows)


def holds_of_edits(name: str, text: str, edit: str) -> None:
    (tool,) = guess_parsers(text)
    whole = figures(get_parser(tool).parse(text, {}))
    if not (whole and printed(text, tool)):
        return
    parsed = get_parser(tool).parse(EDITS[edit](text, Random(name)), {})
    assert figures(parsed) <= whole, f"{name}: other figures"
    assert figures(parsed) == whole or SAID & {flag.id for flag in parsed.flags}, (
        f"{name}: figures are lost without a word"
    )


@pytest.mark.parametrize("edit", EDITS)
def test_what_readers_write_into_an_output_changes_no_figure_and_loses_none_in_silence(edit: str) -> None:
    for name, text in TEXTS.items():
        holds_of_edits(name, text, edit)


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus of outputs here")
@pytest.mark.parametrize("edit", EDITS)
def test_of_the_corpus_too(edit: str) -> None:
    texts = [*corpus({"fio", "imb", "mlc", "stream", "numactl", "mpi"})]
    for name, text in dealt(len(EDITS), [*EDITS].index(edit), texts):
        with contextlib.suppress(ParseError):
            holds_of_edits(name, text, edit)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if len(TEXTS[name]) > MUCH else name
        for name in sorted(  # of OSU's one, a count of iterations, 10 of 100, shows nothing
            name
            for name in TEXTS.keys() - SNAPSHOTS - {"osu/allreduce_full"}
            if printed(TEXTS[name], name.partition("/")[0])
        )
    ],
)
def test_a_paste_that_ends_in_a_figure_gives_no_other_figure(name: str) -> None:
    """The line is ended, and the figure is not: `max= 16` of 1698. Cut in each figure, wherever it stands, but for
    the last of fio's CPU line: nothing tells minf=1 of 12, and extracts end there."""
    parse, text, whole = get_parser(name.partition("/")[0]).parse, TEXTS[name], as_a_line_tells(WHOLE[name])
    for figure in re.finditer(r"[0-9a-z.%]+", text):
        for at in range(figure.start() + 1, figure.end()):
            line = text[:at].rpartition("\n")[2]
            with contextlib.suppress(ParseError):
                assert re.search(r"\bminf=\d+$", line) or as_a_line_tells(parse(text[:at] + "\n", {})) <= whole, line
