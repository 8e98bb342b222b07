"""YAML text → Experiment: what a file means, and that every mistake in it is found at once, in its place."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.experiment.load import ExperimentError, load_experiment, parse_experiment
from orchestrator.machine.probe import load_topology
from orchestrator.model import Experiment, Mark, Place, Sweep
from orchestrator.tools import get_tool, tool_names, tools_known
from parsers.errors import UserError
from reports.fleet import limits

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = sorted((ROOT / "experiments").glob("*.yaml"))

WHOLE = """\
# Answers: what the sheet asks.
#
#   Takes: a minute.
# yaml-language-server: $schema=https://example.org/schema.json
schema: 1
title: "Sheet 3: memory"
tool: stream
fixed:
  ntimes: 5
repeats: 7
order: listed
timeout: 2 min
requires: {numa_nodes: 2, memory: 8G, program: fio >= 3.20}
sweeps:
  - name: threads
    title: threads × place
    matrix:
      threads: [1, 25%, all]
      place:
        - {name: local, cpus: numa_node 0, memory: local}
        - each numa_node
    exclude:
      - {place: local, threads: all}
  - name: disk
    tool: fio
    repeats: 3
    fixed: {ntimes: 5}
"""


def load(text: str) -> Experiment:
    return parse_experiment(text, "test.yaml")


def mistakes(text: str) -> list[str]:
    """Return `LINE:COLUMN: KEY: WHAT | HINT` for each mistake of a text; it must have some."""
    with pytest.raises(ExperimentError) as error:
        load(text)
    found = [
        f"{m.mark.line}:{m.mark.column}: {m.cause}" + (f" | {m.hint}" if m.hint else "")
        for m in error.value.mistakes
    ]
    assert error.value.exit_status == 2
    assert [line for line in error.value.lines() if line.startswith("error: ")] == [
        f"error: test.yaml:{text.split(' | ')[0]}" for text in found
    ]
    return found


def mistake(text: str) -> str:
    (found,) = mistakes(text)
    return found


def fio(body: str) -> str:
    return f"schema: 1\ntool: fio\n{body}"


# --- what a file means ---


def test_a_file_with_everything() -> None:
    text = WHOLE.replace("    fixed: {ntimes: 5}\n", "    fixed: {rw: randread}\n").replace(
        "fixed:\n  ntimes: 5\n", ""
    )
    experiment = parse_experiment(text, "lab/sheet-3.yaml")

    assert experiment.name == "sheet-3"
    assert experiment.title == "Sheet 3: memory"
    assert experiment.text == text
    assert experiment.about == "Answers: what the sheet asks.\n\n  Takes: a minute."
    threads, disk = experiment.sweeps
    assert threads == Sweep(
        name="threads",
        title="threads × place",
        tool="stream",
        matrix={
            "threads": (1, "25%", "all"),
            "place": (
                Place(name="local", cpus="numa_node 0", memory="local"),
                Place(name="each numa_node", cpus="each numa_node"),
            ),
        },
        exclude=({"place": ("local",), "threads": ("all",)},),
        repeats=7,
        order="listed",
        timeout_s=120.0,
        requires={"numa_nodes": 2, "memory": "8G", "program": ("fio >= 3.20",)},
        marks=threads.marks,
    )
    assert threads.marks["matrix.threads"] == Mark(path="lab/sheet-3.yaml", line=16, column=7)
    assert (disk.name, disk.title, disk.tool, disk.repeats, disk.fixed) == (
        "disk",
        "disk",
        "fio",
        3,
        {"rw": "randread"},
    )


def test_an_option_at_the_head_is_checked_against_the_tool_of_each_sweep() -> None:
    found = mistake(WHOLE.replace("    fixed: {ntimes: 5}\n", ""))

    assert found.startswith("9:3: fixed.ntimes: fio has no option 'ntimes'")


def test_repeats_auto_begins_with_six_rounds_and_a_sweep_may_say_otherwise() -> None:
    text = "schema: 1\ntool: stream\nrepeats: auto\nsweeps: [{name: a}, {name: b, repeats: 3}]"

    assert [(sweep.repeats, sweep.settle) for sweep in load(text).sweeps] == [(6, True), (3, False)]


def test_a_short_file_has_defaults() -> None:
    (sweep,) = load("schema: 1\ntool: stream").sweeps

    assert (sweep.name, sweep.title, sweep.repeats, sweep.order, sweep.timeout_s) == (
        "test",
        "test",
        3,
        "interleaved",
        None,
    )


def test_a_sweep_overrides_the_head_and_an_axis_takes_the_place_of_a_fixed_option() -> None:
    first, second = load("""\
schema: 1
tool: fio
fixed: {bs: 4k, iodepth: 8}
requires: {packages: 1, root: true}
sweeps:
  - {name: a, fixed: {iodepth: 16}, requires: {packages: 2}}
  - {name: b, matrix: {iodepth: [1, 2]}}
""").sweeps

    assert (first.fixed, first.requires) == ({"bs": "4k", "iodepth": 16}, {"packages": 2, "root": True})
    assert (second.fixed, second.matrix) == ({"bs": "4k"}, {"iodepth": (1, 2)})


def test_anchors_stand_for_whole_values() -> None:
    (sweep,) = load(fio("matrix: {iodepth: &depths [1, 2], numjobs: *depths}")).sweeps

    assert sweep.matrix == {"iodepth": (1, 2), "numjobs": (1, 2)}


def test_quotes_make_a_text_of_what_yaml_would_read_otherwise() -> None:
    (sweep,) = load(
        'schema: 1\ntool: command\nfixed: {command: "x {a}", metrics: {m: {regex: "(.)", unit: "1"}}}\n'
        'matrix: {a: ["on", "010", "1:30", "null", "", "8", 8, true, 1.5, 1e3, 0x10, 12_0]}'
    ).sweeps

    assert sweep.matrix["a"] == ("on", "010", "1:30", "null", "", "8", 8, True, 1.5, 1000.0, "0x10", "12_0")


def test_a_command_takes_its_metrics_and_axes_of_its_own() -> None:
    (sweep,) = load("""\
schema: 1
tool: command
fixed:
  command: openssl speed -bytes {size} {cipher}
  metrics:
    rate: {regex: '(\\d+) B/s', unit: B/s, better: higher}
matrix:
  size: [16, 1k]
  cipher: [aes-128-cbc, sha256]
""").sweeps

    assert sweep.fixed["metrics"] == {"rate": {"regex": r"(\d+) B/s", "unit": "B/s", "better": "higher"}}
    assert list(sweep.matrix) == ["size", "cipher"]


@pytest.mark.parametrize(
    ("command", "operator"),
    [
        ("echo 5 | wc -c", "|"), ("x && y", "&&"), ("x ; y", ";"), ("x > out", ">"), ("x 2>&1", "2>&1"), ("x >out", ">out"),
        ("sh -c 'echo 5 | wc -c; x > y'", ""), ("x '|' \"a ; b\" \\; --re='a | b'", ""), ("x a&b --re=a|b -> {n}>3", ""),
    ],
)  # fmt: skip
def test_an_operator_of_a_shell_is_refused_where_no_shell_reads_it(command: str, operator: str) -> None:
    """`echo 5 | wc -c` measured what echo printed of a bar and of "wc"."""
    found = [
        what
        for option, what, *_ in get_tool("command").problems({"command": command, "metrics": {}, "n": 1})
        if option == "command"
    ]
    first = command.split()[0]
    assert found == ([f"no shell reads it: {first} would get {operator!r} as a word"] if operator else [])


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("all", Place(name="all", cpus="all")),
        ("{cpus: numa_node 0}", Place(name="numa_node 0", cpus="numa_node 0")),
        ("{memory: interleave}", Place(name="memory interleave", memory="interleave")),
        (
            "{cpus: numa_node 0, memory: numa_node 1}",
            Place(name="numa_node 0, memory numa_node 1", cpus="numa_node 0", memory="numa_node 1"),
        ),
        (
            "{name: far, cpus: package 0, memory: remote, spread: spread}",
            Place(name="far", cpus="package 0", memory="remote", spread="spread"),
        ),
    ],
)
def test_places(written: str, place: Place) -> None:
    (sweep,) = load(f"schema: 1\ntool: stream\nfixed: {{place: {written}}}").sweeps

    assert sweep.fixed == {"place": place}


# --- all mistakes, each in its place ---


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    found = mistakes("""\
schema: 1
titel: x
tool: fio
fixed:
  rw: rendread
  bs: 4k
matrix:
  iodpeth: [1, 4]
  bs: [4k, 8k]
  numjobs: 8..4
repeats: 0
order: listd
""")

    assert found == [
        "2:1: titel: unknown key | did you mean 'title'?",
        (
            "5:7: fixed.rw: 'rendread' is not one of read, write, trim, randread, randwrite, randtrim, rw, readwrite, "
            "randrw, trimwrite, randtrimwrite | did you mean 'randread'?"
        ),
        "8:3: matrix.iodpeth: fio has no option 'iodpeth' | did you mean 'iodepth'?",
        "9:3: matrix.bs: is also in `fixed` | an option is fixed or an axis, not both",
        "10:12: matrix.numjobs: '8..4' is empty | a range goes from the small to the large value",
        "11:10: repeats: 0 is not a whole number from 1 to 1000 | `auto` goes on until the cells have settled, 6 to 15 rounds",
        "12:8: order: 'listd' is not an order | did you mean 'listed'?",
    ]


BRACES = "{name} is the value of the axis or option of that name; for a brace itself write {{ or }}"


def command(line: str, env: str = "{place} {{n}} {n}") -> str:
    """A sweep of a command over n, with a variable of its environment."""
    metrics = '{m: {regex: "(.)", unit: "1"}}'
    return f'schema: 1\ntool: command\nfixed: {{command: "{line}", metrics: {metrics}, env: {{A: "{env}"}}}}\nmatrix: {{n: [1]}}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the file
        ("tool: fio", "1:1: schema: is missing | add the line `schema: 1`"),
        ("schema: one\ntool: fio", "1:9: schema: 'one' is not a version of the language | schema: 1"),
        ("schema: true\ntool: fio", "1:9: schema: true is not a version of the language | schema: 1"),
        ("schema: 2\ntool: nonsense\nfoo: 1", "1:9: schema: 2 is newer than 1, which this pinsweep reads | update pinsweep"),
        ("schema: 1", "1:1: tool: is missing | one of " + ", ".join(tool_names())),
        ("schema: 1\ntool: fi0", "2:7: tool: no tool 'fi0' | did you mean 'fio'?"),
        ("schema: 1\ntool: sysbench", f"2:7: tool: no tool 'sysbench' | {tools_known()}"),
        ("schema: 1\ntool: [fio]", "2:7: tool: a list where one value belongs"),
        ("schema: 1\ntool:", "2:6: tool: has no value"),
        ("schema: 1\ntool: fio\ntool: mlc", "3:1: tool: is there twice; the first is in line 2"),
        ("- fio", "1:1: a list where an experiment's keys belong | begin with `schema: 1`, `title: …` and `tool: …`"),
        ("just words", "1:1: 'just words' where an experiment's keys belong | begin with `schema: 1`, `title: …` and `tool: …`"),
        (fio("iodepth: [1, 4]"), "3:1: iodepth: unknown key | options stand under `fixed`, or under `matrix` if they vary"),
        (fio("sweeps: [{name: a, place: all}]"), "3:20: sweeps[1].place: unknown key | options stand under `fixed`, or under `matrix` if they vary"),
        (fio("title: true"), "3:8: title: true where a text belongs | put it in quotes"),
        (fio("? [a]\n: 1"), "3:3: a key that is not a word"),
        # settings
        (fio("repeats: 2.5"), "3:10: repeats: 2.5 is not a whole number from 1 to 1000 | `auto` goes on until the cells have settled, 6 to 15 rounds"),
        (fio("repeats: many"), "3:10: repeats: 'many' is not a whole number from 1 to 1000 | `auto` goes on until the cells have settled, 6 to 15 rounds"),
        (fio("timeout: soon"), "3:10: timeout: 'soon' is not a time | 90, 90s, 2 min, 1.5 h"),
        (fio("timeout: 3e11"), "3:10: timeout: '300000000000.0' is a longer time than any run | at most 8640000 s"),
        (fio("timeout: 0"), "3:10: timeout: is 0: every run would fail | leave it out, and the estimate of the run decides"),
        (fio("requires: {packages: two}"), ("3:22: requires.packages: 'two' is neither a number nor one of the machine's | "
         "the machine's numbers are packages, numa_nodes, cores, pus, cores_per_package, cores_per_numa_node, "
         "pus_per_core, pus_per_numa_node, L1, L2, L3, LLC, memory, memory_per_numa_node")),
        (fio("requires: {cores: 8G}"), "3:19: requires.cores: '8G' is a size, but this counts"),
        (fio("requires: {smt: 2}"), "3:17: requires.smt: 2 is neither true nor false"),
        (fio("requires: {program: fio 3}"), "3:21: requires.program: 'fio 3' is not a tool with a version | the name of a tool, alone or with a version: TOOL >= 3.20"),
        (fio("requires: {program: [fi0]}"), "3:22: requires.program: no tool 'fi0' | did you mean 'fio'?"),
        (fio("requires: {memroy: 8G}"), "3:12: requires.memroy: unknown key | did you mean 'memory'?"),
        # sweeps
        (fio("sweeps: []"), "3:9: sweeps: is empty | remove it, or fill it"),
        (fio("sweeps: {name: a}"), "3:9: sweeps: `key: value` lines where a list of sweeps belongs"),
        (fio("sweeps: [{title: a}]"), "3:10: sweeps[1].name: is missing | a name for tables and files: `name: idle`"),
        (fio("sweeps: [{name: a}, {name: a}]"), "3:28: sweeps[2].name: 'a' is there twice"),
        (fio("sweeps: [{name: a/b}]"), "3:17: sweeps[1].name: 'a/b' is more than a name | letters, digits and . _ + - only; `title` may be any text"),
        (fio("sweeps: [{name: a, reapets: 3}]"), "3:20: sweeps[1].reapets: unknown key | did you mean 'repeats'?"),
        (fio("matrix: {bs: [4k]}\nsweeps: [{name: a}]"), "3:1: matrix: stands beside `sweeps` | move it into the sweep it is for"),
        ("schema: 1\nsweeps: [{name: a}]", "2:10: sweeps.a.tool: is missing | one of " + ", ".join(tool_names())),
        # options
        (fio("fixed:"), "3:7: fixed: nothing where `key: value` lines belong"),
        (fio("fixed: {}"), "3:8: fixed: is empty | remove it, or fill it"),
        (fio("fixed: {iodepth: [1, 2]}"), "3:18: fixed.iodepth: a list where one value belongs | put it under `matrix`, to vary it"),
        (fio("fixed: {iodepth: 1..4}"), "3:18: fixed.iodepth: 1..4 is 4 values where one belongs | put it under `matrix`"),
        (fio("fixed: {iodepth: ~}"), '3:18: fixed.iodepth: has no value | if the text is meant: "~"'),
        (fio("fixed: {iodepth: {a: 1}}"), "3:18: fixed.iodepth: `key: value` lines where one value belongs"),
        (fio("fixed: {cpus_allowed: 0-3}"), "3:9: fixed.cpus_allowed: is not for experiments to set | `place` pins"),
        (fio("fixed: {direct: maybe}"), "3:17: fixed.direct: 'maybe' is neither true nor false | direct: Use O_DIRECT IO (negates buffered)"),
        (fio("fixed: {iodepth: fast}"), ("3:9: fixed.iodepth: 'fast' is not a whole number (8, 4k, 1M) | "
         "iodepth: Number of IO buffers to keep in flight")),
        ("schema: 1\ntool: stream\nfixed: {threads: many}", ("3:18: fixed.threads: 'many' is neither a number nor one of the machine's | "
         "the machine's numbers are packages, numa_nodes, cores, pus, cores_per_package, cores_per_numa_node, "
         "pus_per_core, pus_per_numa_node, L1, L2, L3, LLC, memory, memory_per_numa_node")),
        ("schema: 1\ntool: stream\nfixed: {threads: 0}", "3:18: fixed.threads: 0 is less than 1 | threads: OpenMP threads, each bound to a PU of its own; if not given, one on each core of the place"),
        ("schema: 1\ntool: stream\nfixed: {stores: true}", '3:17: fixed.stores: True is not one of auto, cached, nt | if the word is meant: "true"'),
        ("schema: 1\ntool: stream\nfixed: {array_size: 4 x LCC}", "3:21: fixed.array_size: 'LCC' is neither a number nor one of the machine's | did you mean 'LLC'?"),
        ("schema: 1\ntool: stream\nfixed: {bs: 4k}", "3:9: fixed.bs: stream has no option 'bs' | it has " + ", ".join(get_tool("stream").options())),
        # axes
        (fio("matrix: {iodepth: []}"), "3:19: matrix.iodepth: is empty | remove it, or fill it"),
        (fio("matrix: [iodepth]"), "3:9: matrix: a list where `key: value` lines belong"),
        (fio("matrix: {iodepth: [[1, 2]]}"), "3:20: matrix.iodepth: a list where one value belongs | write them one by one"),
        (fio("matrix: {iodepth: 1..4 step 0}"), "3:19: matrix.iodepth: '1..4 step 0' has a step of 0 | a step is more than 0"),
        (fio("zip: {iodepth: [1, 2], bs: [4k, 8k, 16k]}"), ("3:7: zip.iodepth: axes that walk together have one length; "
         "iodepth has 2, bs has 3 | `matrix` makes every combination")),
        (fio("zip: {numjobs: 1..cores, bs: [4k]}"), "3:7: zip.numjobs: 1..cores is longer on one machine than on another | list the values"),
        (fio("matrix: {bs: [4k]}\nzip: {bs: [8k]}"), "4:7: zip.bs: is an axis of the matrix, too | an option varies in one place"),
        (fio("matrix: {iodepth: [1, 2]}\nexclude: [{iodepth: 1..2}]"), "1:1: exclude: takes away every cell of the sweep"),
        (fio("matrix:\n  iodepth: 1,4,8"), '4:12: matrix.iodepth: \'1,4,8\' is one value | a list has brackets: [1, 4, 8]; if one value is meant: "1,4,8"'),
        (fio("matrix: {iodepth: 1,4}"), "3:21: matrix.4: fio has no option '4' | a list has brackets: [1, 4]"),
        (fio("matrix: {iodepth: 2,4,16}"), "3:21: matrix.4: fio has no option '4' | a list has brackets: [2, 4, 16]"),
        (fio("fixed: {place: core 0,1}"), "3:23: fixed.1: fio has no option '1' | a text with a comma needs quotes here: place: \"core 0,1\""),
        (fio("matrix: {iodepth: [1]}\nfixed: {rw: read size: 1M}"), "4:22: a `,` or a `: ` is missing before this | in braces it is {key: value, key: value}; a text that holds any of , [ ] { } needs quotes"),
        (fio("matrix: {iodepth [1,4]}"), "3:18: a `,` or a `: ` is missing before this | in braces it is {key: value, key: value}; a text that holds any of , [ ] { } needs quotes"),
        (fio("fixed:\n  runtime: 0.7"), "4:3: fixed.runtime: '0.7' has a fraction, which fio cuts | write 700ms"),
        (fio("fixed:\n  runtime: 0.5s"), "4:3: fixed.runtime: '0.5s' has a fraction, which fio cuts | write 500ms"),
        (fio("fixed:\n  runtime: 1.5m"), "4:3: fixed.runtime: '1.5m' has a fraction, which fio cuts | write 90s"),
        (fio("fixed:\n  ramp_time: 0.25ms"), "4:3: fixed.ramp_time: '0.25ms' has a fraction, which fio cuts | write 250us"),
        (fio("fixed:\n  iodepth: 4.5"), "4:3: fixed.iodepth: '4.5' is not a whole number (8, 4k, 1M) | iodepth: Number of IO buffers to keep in flight"),
        (fio("fixed:\n  rate_iops: -3"), "4:3: fixed.rate_iops: '-3' is not a whole number (8, 4k), or one each for reads, writes and trims (4k,16k) | rate_iops: Limit IO used to this number of IO operations/sec"),
        (fio("fixed:\n  rwmixread: 170"), "4:3: fixed.rwmixread: '170' is not in 0..100 | rwmixread: Percentage of mixed workload that is reads"),
        (fio("fixed:\n  iodepth: 0"), "4:3: fixed.iodepth: '0' is not 1 or more | iodepth: Number of IO buffers to keep in flight"),
        (fio("fixed:\n  iodepth: 1,4"), "4:3: fixed.iodepth: '1,4' is not a whole number (8, 4k, 1M) | a list has brackets: [1, 4]"),
        (fio("matrix: {iodepth: 1/4/8}"), "3:10: matrix.iodepth: '1/4/8' is not a whole number (8, 4k, 1M) | a list has brackets: [1, 4, 8]"),
        ("schema: 1\ntool: stream\nfixed: {array_size: 1M/4M}", "3:9: fixed.array_size: '1M/4M' is neither a number of elements nor a size nor auto | a list has brackets: [1M, 4M]"),
        ("schema: 1\ntool: stream\nfixed: {threads: 1-8}", "3:18: fixed.threads: '1-8' is not a number | a list has brackets: [1, 8]; a range is written 1..8"),
        (fio("fixed: {size: 64MB}"), "3:9: fixed.size: '64MB' has the suffix MB, by which fio means another size than others do | write 64M for powers of 1024, 64000000 for powers of 1000"),
        (fio("fixed: {rw: read/write}"), ("3:13: fixed.rw: 'read/write' is not one of read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw, trimwrite, randtrimwrite | "
         "a list has brackets: [read, write]")),
        (fio("fixed: {rwmixread: 70}\nmatrix: {rw: [randwrite]}"), "3:9: fixed.rwmixread: has no effect on rw=randwrite | give it to the mixes alone: include: [{rw: randrw, rwmixread: 70}]"),
        ("schema: 1\ntool: stream\nmatrix:\n  threads: 1 2", "4:12: matrix.threads: '1 2' is not a number | a list has brackets: [1, 2]"),
        (fio("zip: {iodepth: [1, 4, 1], bs: [4k, 4k, 4k]}"), "3:7: zip.iodepth: rows 1 and 3 are one cell | write each value once; `repeats` says how often a cell is measured"),
        (fio("matrix: {iodepth: [1, 4, 4]}"), "3:26: matrix.iodepth: 4 is there twice | write each value once; `repeats` says how often a cell is measured"),
        (fio("fixed: {size: 1 G}"), "3:15: fixed.size: '1 G' has a blank in it | 1G, without a blank"),
        ("schema: 1\ntool: mlc\nfixed: {mode: idle_latency, b: 64 m}", "3:32: fixed.b: '64 m' has a blank in it | 64m, without a blank"),
        (fio("matrix:\n  place: all, core 0"), "4:10: matrix.place: 'all, core 0' is several places | a list has brackets: [all, core 0]"),
        # tags
        (fio("fixed: {rw: !foo randread}"), "3:13: fixed.rw: the tag !foo is not used here | write the value alone; a text that begins with ! needs quotes"),
        (fio("fixed: !foo {rw: randread}"), "3:8: fixed: the tag !foo is not used here | write the value alone; a text that begins with ! needs quotes"),
        (fio("matrix: {iodepth: !!set [1, 4]}"), "3:19: matrix.iodepth: the tag !!set is not used here | write the value alone"),
        # indents
        (fio("fixed:\n  rw: randread\n   bs: 4k"), ("5:6: begins in another column than the lines that it belongs to | "
         "the line above begins in column 3, and has its value already")),
        (fio("matrix:\n iodepth: [1]\n  bs: [4k]"), ("5:3: begins in another column than the lines that it belongs to | "
         "the lines of one block begin in one column: those from line 4 on in column 2")),
        (fio("matrix:\n  iodepth:\n  - 1\n - 2"), ("6:2: begins in another column than the lines that it belongs to | "
         "the lines of one block begin in one column: those from line 1 on in column 1")),
        (fio("matrix: {iodepth: [1, 4"), "3:24: a [ or { that is not closed; it begins in line 3 | close it; a text that holds any of , [ ] { } needs quotes"),
        # include, exclude
        (fio("matrix: {bs: [4k]}\nexclude: [{iodepth: 1}]"), "4:12: exclude[1].iodepth: is not an axis of this sweep | axes: bs"),
        (fio("exclude: [{iodepth: 1}]"), "3:12: exclude[1].iodepth: is not an axis of this sweep | it has none"),
        (fio("matrix: {bs: [4k]}\nexclude: [{bs: 8k}]"), "4:16: exclude[1].bs: '8k' is nowhere on the axis | it has 4k"),
        (fio("matrix: {bs: [4k]}\nexclude: [{}]"), "4:11: exclude[1]: is empty | remove it, or fill it"),
        (fio("matrix: {bs: [4k]}\nexclude: {bs: 4k}"), "4:10: exclude: `key: value` lines where a list of `{option: value}` entries belongs"),
        (fio("matrix: {bs: [4k]}\ninclude: [{iodpeth: 8}]"), "4:12: include[1].iodpeth: fio has no option 'iodpeth' | did you mean 'iodepth'?"),
        (fio("matrix: {bs: [4k]}\ninclude: [{iodepth: 1..8}]"), "4:21: include[1].iodepth: 1..8 is 8 values where one belongs | write an entry for each"),
        (fio("matrix: {place: [{name: near, cpus: all}]}\nexclude: [{place: nera}]"), "4:19: exclude[1].place: 'nera' is nowhere on the axis | did you mean 'near'?"),
        # places
        (fio("fixed: {place: numa_nod 0}"), "3:16: fixed.place: no selector 'numa_nod 0': did you mean `numa_node 0`?"),
        (fio("fixed: {place: {name: x}}"), "3:16: fixed.place: a place without `cpus` or `memory` | {name: local, cpus: numa_node 0, memory: local}"),
        (fio("fixed: {place: {cpu: all}}"), "3:17: fixed.place.cpu: unknown key | did you mean 'cpus'?"),
        (fio("fixed: {place: [all]}"), "3:16: fixed.place: a list where one place belongs | several places are an axis: put them under `matrix`"),
        (fio("fixed: {place: {cpus: all, spread: wide}}"), "3:36: fixed.place.spread: 'wide' is neither compact nor spread"),
        (fio("matrix: {place: [all, {name: all, cpus: package 0}]}"), "3:10: matrix.place: two places are named 'all' | tables and charts tell places by their names"),
        # options together
        (fio("matrix: {iodepth: [1, 2000]}\nexclude: [{iodepth: 3000}]"), "4:21: exclude[1].iodepth: 3000 is nowhere on the axis | it has 1, 2000"),
        ("schema: 1\ntool: command\nfixed:\n  command: x {n}\nmatrx: {n: [1]}", "5:1: matrx: unknown key | did you mean 'matrix'?"),
        ("schema: 1\ntool: mlc", "1:1: fixed.mode: is missing: the tool needs it | mode: what to measure; MLC's option without its dashes"),
        (
            "schema: 1\ntool: mlc\nmatrix: {mode: [loaded_latency, idle_latency], W: [R, 2]}",
            ("3:48: matrix.W: has no effect on idle_latency, only on loaded_latency, bandwidth_matrix (in the cell mode=idle_latency W=R and 1 more) | "
            "W: traffic type: R read only (if not given); with ordinary stores 2-5, 11, 12, with non-temporal ones 6-10; 19, 21, 23, 27 with Intel MLC only"),
        ),
        (
            'schema: 1\ntool: command\nfixed: {command: "x {sise}", metrics: {m: {regex: "(.)", unit: "1"}}}',
            f"3:9: fixed.command: no axis or option named 'sise' for its placeholder | {BRACES}",
        ),
        (command("x {n!r}"), "3:9: fixed.command: {n!r}: a placeholder is a name alone, without !r | {n} is the value as the experiment writes it"),
        (command("x {n:>9}"), "3:9: fixed.command: {n:>9}: a placeholder is a name alone, without :>9 | {n} is the value as the experiment writes it"),
        (command("awk '{print $1}'"), f"3:9: fixed.command: no axis or option named 'print $1' for its placeholder | {BRACES}"),
        (command("x {n"), f"3:9: fixed.command: '{{n' has a brace without its partner | {BRACES}"),
        (command("x", env="{m}"), f"3:70: fixed.env.A: no axis or option named 'm' for its placeholder | {BRACES}"),
        (
            'schema: 1\ntool: command\nfixed: {command: x, metrics: {m: {regex: "(.)", unit: "1"}}}\nmatrix: {a-b: [1]}',
            "4:10: matrix.a-b: is not a valid placeholder name | letters, digits and _",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place_and_a_way_out(text: str, expected: str) -> None:
    assert mistake(text) == expected


def test_mistakes_inside_metrics_have_their_own_places() -> None:
    text = """\
schema: 1
tool: command
fixed:
  command: x
  metrics:
    rate:
      regex: "x [0-9]+"
      unti: ms
    lat: {regex: "(a)", better: hihger}
  env: {"1A": 2}
"""
    with pytest.raises(ExperimentError) as error:
        parse_experiment(text, "a.yaml")

    assert [(m.mark.line, m.mark.column, m.key) for m in error.value.mistakes] == [
        (7, 7, "fixed.metrics.rate.regex"),
        (8, 7, "fixed.metrics.rate.unti"),
        (9, 25, "fixed.metrics.lat.better"),
        (10, 9, "fixed.env.1A"),
    ]


def test_a_key_that_is_there_twice_hides_no_tag() -> None:
    with pytest.raises(ExperimentError) as error:
        parse_experiment(fio("fixed: {bs: 4k, bs: !!int 8}"), "a.yaml")

    assert [m.what for m in error.value.mistakes] == [
        "is there twice; the first is in line 3",
        "the tag !!int is not used here",
    ]


# --- YAML's traps ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (fio("fixed: {rw: on}"), '3:13: fixed.rw: on is a truth value to YAML 1.1 and a word to YAML 1.2 | if the word is meant: "on"'),
        (fio("fixed: {ioengine: No}"), '3:19: fixed.ioengine: No is a truth value to YAML 1.1 and a word to YAML 1.2 | if the word is meant: "No"'),
        ("schema: 1\ntool: imb\nfixed: {iter_policy: off}", '3:22: fixed.iter_policy: off is a truth value to YAML 1.1 and a word to YAML 1.2 | if the word is meant: "off"'),
        (fio("fixed: {iodepth: 010}"), '3:18: fixed.iodepth: 010 is octal to YAML 1.1 and decimal to YAML 1.2 | 10 for the number, "010" for the text'),
        (fio("fixed: {iodepth: 08}"), '3:18: fixed.iodepth: 08 is octal to YAML 1.1 and decimal to YAML 1.2 | 8 for the number, "08" for the text'),
        (fio("timeout: 1:30"), '3:10: timeout: 1:30 is a number of base 60 to YAML 1.1 | "1:30" for the text; a time is written 90s'),
        ("schema: 1\ntool: imb\nfixed: {msglog: 3:22}", '3:17: fixed.msglog: 3:22 is a number of base 60 to YAML 1.1 | "3:22" for the text; a time is written 90s'),
        (fio("fixed: {rate: .inf}"), "3:15: fixed.rate: .inf is not a number that can be set"),
        (fio("fixed: {rate: 1e999}"), "3:15: fixed.rate: 1e999 is too large a number | in quotes it is a text"),
        (fio("fixed: {rate: 99999999999999999999}"), "3:15: fixed.rate: 99999999999999999999 is too large a number | in quotes it is a text"),
        (fio("fixed: {rate: !!int 3}"), "3:15: fixed.rate: the tag !!int is not used here | write the value alone"),
        (fio("fixed: {rate: !!python/name:os.system x}"), "3:15: fixed.rate: the tag !!python/name:os.system is not used here | write the value alone"),
        (fio("fixed: &a {bs: 4k}\nmatrix:\n  <<: *a"), ("5:3: matrix.<<: merge keys are not part of YAML 1.2, and hide what a sweep holds | "
         "`fixed` at the head of the file holds for all its sweeps; an anchor may stand for a whole value")),
        (fio("fixed:\n\tbs: 4k"), "4:1: a tab, where YAML allows blanks only | indent with blanks"),
        (fio("---\ntool: mlc"), "3:1: a second document begins here | one file is one experiment: remove the `---`"),
        ("", "1:1: is empty | `pinsweep init TOOL` writes an experiment to start from"),
        ("# only words\n", "1:1: is empty | `pinsweep init TOOL` writes an experiment to start from"),
        (fio("title: a: b"), "3:9: a `:` that YAML takes for a second key in one line | put the text in quotes, or break the line"),
        (fio('title: "a'), "3:10: a quote or bracket that is never closed"),
        (fio("title: *x"), "3:8: an alias (*name) without its anchor (&name) | a text that begins with * needs quotes"),
        (fio("title: a\nmatrix\nfixed: {bs: 4k}"), "5:1: a line without `:` where a key is expected | write `key: value`; a list's items begin with `- `"),
        (fio("title: a\x07"), "3:9: holds the character U+0007, which YAML does not allow"),
        (fio('title: "a\\0"'), "3:8: title: holds the character U+0000, which no program takes"),
        (fio('title: "\\uD800"'), "3:8: title: holds the character U+D800, which no program takes"),
        (fio('title: "\\UFFFFFFFF"'), "1:1: an escape in quotes that is not a character"),
        (fio("fixed: &a {rw: *a}"), "3:8: an anchor that holds itself"),
        (fio("title: " + "[" * 30), "3:27: nested more than 20 levels deep"),
    ],
)  # fmt: skip
def test_what_yaml_gets_wrong_in_silence_is_told(text: str, expected: str) -> None:
    assert mistake(text) == expected


def test_switches_may_be_on_and_off() -> None:
    (sweep,) = load(fio("matrix: {direct: [on, off, yes, no, true, False, 1, 0]}")).sweeps

    assert sweep.matrix["direct"] == (True, False, True, False, True, False, 1, 0)


def test_billion_laughs_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 15)]

    assert "more than 20000 values once its anchors are written out" in mistake("\n".join(lines))


def test_an_anchor_with_a_mistake_is_one_mistake_a_place() -> None:
    assert mistakes(fio("fixed: {bs: &b [4k], size: *b}")) == [
        "3:13: fixed.bs: a list where one value belongs | put it under `matrix`, to vary it",
        "3:13: fixed.size: a list where one value belongs | put it under `matrix`, to vary it",
    ]


def test_the_reader_gives_up_on_what_is_no_experiment() -> None:
    assert len(mistakes("schema: 1\n" + "\n".join(f"key{n}: 1" for n in range(5000)))) == 100
    assert "characters are not an experiment" in mistake("#" * 300_000)


# --- files ---


def test_a_file_may_come_from_windows(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes("﻿# about µ\r\nschema: 1\r\ntool: fio\r\nfixed: {bs: 4k}\r\n".encode())

    experiment = load_experiment(path)

    assert experiment.about == "about µ"
    assert experiment.sweeps[0].marks["fixed.bs"] == Mark(path=str(path), line=4, column=9)


@pytest.mark.parametrize(
    ("data", "where", "what"),
    [
        (b"schema: 1\ntitle: caf\xe9\n", ":2:11", "not UTF-8: byte 0xe9"),
        ("schema: 1".encode("utf-16"), ":1:1", "not UTF-8: byte 0xff"),
    ],
)
def test_a_file_is_utf_8(tmp_path: Path, data: bytes, where: str, what: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(data)

    with pytest.raises(ExperimentError, match=what) as error:
        load_experiment(path)
    assert error.value.place == f"{path}{where}"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, cause in (
        (tmp_path / "no.yaml", "no such file"),
        (tmp_path, "is a directory"),
        ("a\0b", "null"),
    ):
        with pytest.raises(UserError, match=cause):
            load_experiment(path)


def test_a_file_whose_name_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.yaml")
    path.write_text("schema: 1\ntitle: t\ntool: fio\n")

    with pytest.raises(UserError, match="the file's name is not UTF-8") as error:
        load_experiment(path)
    assert "\n".join(error.value.lines()).encode()


def test_a_shipped_experiment_has_a_bare_name_unless_a_file_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("node-acceptance").mkdir()  # of its results, say
    assert load_experiment("node-acceptance").title == "Node acceptance"
    with pytest.raises(UserError, match="no such file") as mistyped:
        load_experiment("quickstrat")
    assert mistyped.value.hint == "did you mean 'quickstart'?"

    Path("quickstart").write_text("schema: 1\ntitle: Mine\ntool: poke\nfixed: {target: memory, bytes: 1kB}\n")
    assert load_experiment("quickstart").title == "Mine"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_experiments_load_and_say_what_they_are(path: Path) -> None:
    experiment = load_experiment(path)

    assert experiment.title
    for word in ("Answers:", "Needs:", "Takes:"):
        assert word in experiment.about


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_experiments_mean_the_same_to_other_readers_of_yaml(path: Path) -> None:
    """PyYAML reads YAML 1.1: where it sees another scalar than we do, an editor may, too."""

    def scalars(value: object) -> list[object]:
        if isinstance(value, dict):
            return [x for v in value.values() for x in scalars(v)]
        return [x for v in value for x in scalars(v)] if isinstance(value, list) else [value]

    assert all(
        isinstance(v, str | int | float | bool) for v in scalars(yaml.safe_load(path.read_text("utf-8")))
    )
    assert load_experiment(path)


def test_letters_that_changed_places_are_put_right_first() -> None:
    (said,) = mistakes("schema: 1\ntool: fio\nmatrix: {rw: [read, rnadwrite]}\n")

    assert said.endswith("did you mean 'randwrite'?")  # 'readwrite' has as many letters in common


def test_a_mistake_beside_values_of_the_machine_is_told_before_anything_starts() -> None:
    """It was a cell to be skipped, since what stands beside it depends on the machine."""
    text = "schema: 1\ntool: mlc\nfixed: {mode: idle_latency}\nmatrix:\n  b: [16q, 0.5 x L2]\n"

    (said,) = mistakes(text)

    assert said.startswith("5:3: matrix.b: '16q' is neither a number of KiB nor a size")
    assert load(text.replace("16q", "16k"))


# --- no text brings anything but an experiment or its mistakes ---

SMALL = """\
# about
schema: 1
title: "a: b"
tool: fio
fixed: {bs: 4k, direct: on}
matrix:
  iodepth: [1, 2..8 x2]
  place: [{name: near, cpus: numa_node 0}, all]
zip: {rw: [read, randrw], rwmixread: [100, 70]}
exclude: [{place: near, iodepth: 1}]
include: [{iodepth: 64, size: 0.5 x L2}]
timeout: 90s
requires: {packages: ">= 2"}
"""


def settled(text: str) -> None:
    try:
        load(text)
    except ExperimentError as error:
        assert all(re.match(r"error: test\.yaml:\d+:\d+: |hint: ", line) for line in error.lines())  # noqa: PT017


def test_the_small_file_is_whole() -> None:
    assert len(load(SMALL).sweeps) == 1


@pytest.mark.slow
def test_without_any_one_character_it_loads_or_says_why_not() -> None:
    for n in range(len(SMALL)):
        settled(SMALL[:n] + SMALL[n + 1 :])


def test_without_any_one_line_or_the_rest_it_loads_or_says_why_not() -> None:
    lines = SMALL.splitlines(keepends=True)
    for n in range(len(lines)):
        settled("".join(lines[:n] + lines[n + 1 :]))
        settled("".join(lines[:n]))


@given(at=st.integers(0, len(SMALL)), drop=st.integers(0, 12), new=st.text(max_size=6) | st.sampled_from(
    ["\t", "- ", ": ", "{", "[", "*a", "&a ", "!x ", "|", "? ", "..", "\x00", "\ud800", "<<: ", "~", "null", "%", "0x1", "1:2", "\u2028"]))  # fmt: skip
def test_with_any_change_it_loads_or_says_why_not(at: int, drop: int, new: str) -> None:
    settled(SMALL[:at] + new + SMALL[at + drop :])


@given(tool=st.sampled_from(tool_names()), data=st.data())
def test_any_value_of_any_option_loads_or_says_why_not(tool: str, data: st.DataObject) -> None:
    option = data.draw(st.sampled_from(sorted(get_tool(tool).options())))
    value = data.draw(st.sampled_from(
        ["1", "-1", "0.5", "on", "true", "4k", "1..3", "1..cores", "25%", "all", "4 x LLC", "[1, 2]", "[[1]]", "{a: 1}", "''", "x", "a b",
         "loaded_latency", "memory", "1e3", "'\"'", "'{'", "'{x}'", "99999999999", "auto", "0", "'1 2'"]))  # fmt: skip
    part = data.draw(st.sampled_from(["fixed", "matrix", "zip"]))
    base = {"mlc": "mode: idle_latency", "poke": "target: memory", "command": 'command: "x {a}"'}.get(tool)
    head = f"schema: 1\ntool: {tool}\n" + (f"include: [{{{base}}}]\n" if base else "")
    settled(f"{head}{part}: {{{option}: {value}}}\n")


def test_a_place_that_a_comma_cuts_in_two_needs_quotes(tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(fio("matrix: {place: [pair of cores 0,1]}"), "utf-8")

    with pytest.raises(ExperimentError) as caught:
        load_experiment(path)

    assert [mistake.hint for mistake in caught.value.mistakes] == [
        'a text with a comma needs quotes here: "core 0,7"'
    ] * 2


def test_a_number_alone_is_no_part_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(fio("fixed: {place: 3}"), "utf-8")

    with pytest.raises(ExperimentError) as caught:
        load_experiment(path)

    assert [mistake.hint for mistake in caught.value.mistakes] == [""]


def test_a_result_file_is_told_from_an_experiment(tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    path.write_bytes(b"SQLite format 3\0" + bytes(100))

    with pytest.raises(UserError, match="is a result file, and no experiment"):
        load_experiment(path)


@pytest.mark.parametrize("value", ["1e308", "1e19", "3e11", "nan", ".inf", "1_000", "٤", f"'{'9' * 5000}'"])
def test_a_number_that_nothing_can_hold_is_refused_at_its_key(value: str) -> None:
    with pytest.raises(ExperimentError) as error:
        load(
            "schema: 1\ntool: command\nfixed:\n  command: echo\n  metrics: {m: {regex: '(.)'}}\n"
            f"  seconds: {value}\n"
        )
    assert [(m.mark.line, len(m.what) < 600) for m in error.value.mistakes] == [(6, True)]


@pytest.mark.parametrize(
    ("tool", "text"),
    [("imb", "{mem: 1G}"), ("imb", "{time: 10M}"), ("mlc", "{mode: idle_latency, t: 1m}"), ("command", "{command: a, metrics: []}"),
     ("command", "{command: a, metrics: {m: {regex: (.)}}, env: {A: [1]}}")],
)  # fmt: skip
def test_a_size_is_not_a_time_and_a_list_is_no_text(tool: str, text: str) -> None:
    with pytest.raises(ExperimentError) as error:
        load(f"schema: 1\ntool: {tool}\nfixed: {text}\n")
    assert len(error.value.mistakes) == 1


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "sparse"])
def test_a_file_without_an_end_is_not_read(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(3 << 30)

    for read in (load_experiment, load_topology, limits.load):
        with pytest.raises(UserError, match=r"not a regular file|larger than"):
            read(tmp_path / name)
