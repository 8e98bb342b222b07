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
from orchestrator.tools import get_tool, tool_names
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


def mistakes(text: str) -> list[tuple[str, str]]:
    """Return ("LINE:COLUMN KEY", message with its hint) for each mistake of a text; it must have some."""
    with pytest.raises(ExperimentError) as error:
        load(text)
    assert error.value.exit_status == 2
    assert len(error.value.records()) == len(error.value.mistakes)
    return [(f"{m.mark.line}:{m.mark.column} {m.key}".strip(), f"{m.what} {m.hint}") for m in error.value.mistakes]


def places(text: str) -> list[str]:
    return [place for place, _ in mistakes(text)]


def fio(body: str) -> str:
    return f"schema: 1\ntool: fio\n{body}"


# --- what a file means ---


def test_a_file_with_everything() -> None:
    text = WHOLE.replace("    fixed: {ntimes: 5}\n", "    fixed: {rw: randread}\n").replace("fixed:\n  ntimes: 5\n", "")
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
    assert places(WHOLE.replace("    fixed: {ntimes: 5}\n", "")) == ["9:3 fixed.ntimes"]


@pytest.mark.parametrize(
    ("text", "repeats", "settle", "timeout"),
    [("", 3, False, None), ("repeats: auto", 6, True, None), ("repeats: 2", 2, False, None), ("timeout: 2 min", 3, False, 120.0)],
)  # fmt: skip
def test_settings_and_their_defaults(text: str, repeats: int, settle: bool, timeout: float | None) -> None:
    for body in (text, f"{text}\nsweeps: [{{name: test}}]"):
        (sweep,) = load(f"schema: 1\ntool: stream\n{body}").sweeps
        assert (sweep.name, sweep.title, sweep.order) == ("test", "test", "interleaved")
        assert (sweep.repeats, sweep.settle, sweep.timeout_s) == (repeats, settle, timeout)


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


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file() -> None:
    text = """\
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
"""
    assert places(text) == [
        "2:1 titel", "5:7 fixed.rw", "8:3 matrix.iodpeth", "9:3 matrix.bs", "10:12 matrix.numjobs", "11:10 repeats", "12:8 order",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "text", "place", "word"),
    [
    # whole files
    ("", "tool: fio", "1:1 schema", ""),
    ("", "schema: one\ntool: fio", "1:9 schema", ""),
    ("", "schema: 2\ntool: nonsense\nfoo: 1", "1:9 schema", ""),
    ("", "schema: 1", "1:1 tool", ""),
    ("", "schema: 1\ntool: fi0", "2:7 tool", "fio"),
    ("", "schema: 1\ntool: sysbench", "2:7 tool", ""),
    ("", "schema: 1\ntool: [fio]", "2:7 tool", ""),
    ("", "schema: 1\ntool:", "2:6 tool", ""),
    ("", "schema: 1\ntool: fio\ntool: mlc", "3:1 tool", ""),
    ("", "- fio", "1:1", ""),
    ("", "just words", "1:1", ""),
    ("", "schema: 1\nsweeps: [{name: a}]", "2:10 sweeps.a.tool", ""),
    ("", "schema: 1\ntool: mlc\nfixed: {mode: idle_latency, b: 64 m}", "3:32 fixed.b", ""),
    ("", "schema: 1\ntool: mlc", "1:1 fixed.mode", ""),
    ("", "schema: 1\ntool: mlc\nmatrix: {mode: [loaded_latency, idle_latency], W: [R, 2]}", "3:48 matrix.W", ""),
    ('', 'schema: 1\ntool: imb\nfixed: {iter_policy: off}', '3:22 fixed.iter_policy', '"off"'),
    ('', 'schema: 1\ntool: imb\nfixed: {msglog: 3:22}', '3:17 fixed.msglog', '"3:22"'),
    ("", "schema: 1\ntool: fio\n---\ntool: mlc", "3:1", ""),
    ("", "", "1:1", ""),
    ("", "# only words\n", "1:1", ""),
    # fio
    ("fio", "iodepth: [1, 4]", "3:1 iodepth", ""),
    ("fio", "sweeps: [{name: a, place: all}]", "3:20 sweeps.a.place", ""),
    ('fio', 'title: true', '3:8 title', '"true"'),
    ("fio", "? [a]\n: 1", "3:3 ?", ""),
    ("fio", "repeats: 2.5", "3:10 repeats", ""),
    ("fio", "timeout: soon", "3:10 timeout", ""),
    ("fio", "timeout: 3e11", "3:10 timeout", ""),
    ("fio", "timeout: 0", "3:10 timeout", ""),
    ("fio", "requires: {packages: two}", "3:22 requires.packages", ""),
    ("fio", "requires: {cores: 8G}", "3:19 requires.cores", ""),
    ("fio", "requires: {smt: 2}", "3:17 requires.smt", ""),
    ("fio", "requires: {program: fio 3}", "3:21 requires.program", ""),
    ("fio", "requires: {program: [fi0]}", "3:22 requires.program", "fio"),
    ("fio", "requires: {memroy: 8G}", "3:12 requires.memroy", "memory"),
    ("fio", "sweeps: []", "3:9 sweeps", ""),
    ("fio", "sweeps: {name: a}", "3:9 sweeps", ""),
    ("fio", "sweeps: [{title: a}]", "3:10 sweeps[1].name", ""),
    ("fio", "sweeps: [{name: a}, {name: a}]", "3:28 sweeps.a.name", ""),
    ("fio", "sweeps: [{name: a/b}]", "3:17 sweeps[1].name", ""),
    ("fio", "sweeps: [{name: a, reapets: 3}]", "3:20 sweeps.a.reapets", "repeats"),
    ("fio", "matrix: {bs: [4k]}\nsweeps: [{name: a}]", "3:1 matrix", ""),
    ("fio", "fixed:", "3:7 fixed", ""),
    ("fio", "fixed: {}", "3:8 fixed", ""),
    ("fio", "fixed: {iodepth: [1, 2]}", "3:18 fixed.iodepth", ""),
    ("fio", "fixed: {iodepth: 1..4}", "3:18 fixed.iodepth", ""),
    ('fio', 'fixed: {iodepth: ~}', '3:18 fixed.iodepth', '"~"'),
    ("fio", "fixed: {iodepth: {a: 1}}", "3:18 fixed.iodepth", ""),
    ("fio", "fixed: {cpus_allowed: 0-3}", "3:9 fixed.cpus_allowed", ""),
    ("fio", "fixed: {direct: maybe}", "3:17 fixed.direct", ""),
    ("fio", "fixed: {iodepth: fast}", "3:9 fixed.iodepth", ""),
    ("fio", "matrix: {iodepth: []}", "3:19 matrix.iodepth", ""),
    ("fio", "matrix: [iodepth]", "3:9 matrix", ""),
    ("fio", "matrix: {iodepth: [[1, 2]]}", "3:20 matrix.iodepth[1]", ""),
    ("fio", "matrix: {iodepth: 1..4 step 0}", "3:19 matrix.iodepth", ""),
    ("fio", "zip: {iodepth: [1, 2], bs: [4k, 8k, 16k]}", "3:7 zip.iodepth", ""),
    ("fio", "zip: {numjobs: 1..cores, bs: [4k]}", "3:7 zip.numjobs", ""),
    ("fio", "matrix: {bs: [4k]}\nzip: {bs: [8k]}", "4:7 zip.bs", ""),
    ("fio", "matrix: {iodepth: [1, 2]}\nexclude: [{iodepth: 1..2}]", "4:10 exclude", ""),
    ("fio", "matrix:\n  iodepth: 1,4,8", "4:12 matrix.iodepth", "[1, 4, 8]"),
    ("fio", "matrix: {iodepth: 1,4}", "3:21 matrix.iodepth", "[1, 4]"),
    ("fio", "matrix: {iodepth: 2,4,16}", "3:21 matrix.iodepth", "[2, 4, 16]"),
    ("fio", "fixed: {place: core 0,1}", "3:23 fixed.place", "[core 0, 1]"),
    ("fio", "matrix: {iodepth: [1]}\nfixed: {rw: read size: 1M}", "4:22", "write {key:"),
    ("fio", "matrix: {iodepth [1,4]}", "3:18", "write {key:"),
    ("fio", "fixed:\n  runtime: 0.7", "4:3 fixed.runtime", "write 700ms"),
    ("fio", "fixed:\n  ramp_time: 0.25ms", "4:3 fixed.ramp_time", "write 250us"),
    ("fio", "fixed:\n  iodepth: 4.5", "4:3 fixed.iodepth", ""),
    ("fio", "fixed:\n  rate_iops: -3", "4:3 fixed.rate_iops", ""),
    ("fio", "fixed:\n  rwmixread: 170", "4:3 fixed.rwmixread", ""),
    ("fio", "fixed:\n  iodepth: 0", "4:3 fixed.iodepth", ""),
    ("fio", "fixed:\n  iodepth: 1,4", "4:3 fixed.iodepth", "[1, 4]"),
    ("fio", "matrix: {iodepth: 1/4/8}", "3:10 matrix.iodepth", "[1, 4, 8]"),
    ("fio", "fixed: {size: 64MB}", "3:9 fixed.size", "write 64M"),
    ("fio", "fixed: {rw: read/write}", "3:13 fixed.rw", "[read, write]"),
    ("fio", "fixed: {rwmixread: 70}\nmatrix: {rw: [randwrite]}", "3:9 fixed.rwmixread", ""),
    ("fio", "zip: {iodepth: [1, 4, 1], bs: [4k, 4k, 4k]}", "3:7 zip.iodepth", "repeats"),
    ("fio", "matrix: {iodepth: [1, 4, 4]}", "3:26 matrix.iodepth", "repeats"),
    ("fio", "fixed: {size: 1 G}", "3:15 fixed.size", ""),
    ("fio", "matrix:\n  place: all, core 0", "4:10 matrix.place", "[all, core 0]"),
    ("fio", "fixed: {rw: !foo randread}", "3:13 fixed.rw", "alone"),
    ("fio", "fixed: !foo {rw: randread}", "3:8 fixed", "alone"),
    ("fio", "matrix: {iodepth: !!set [1, 4]}", "3:19 matrix.iodepth", "alone"),
    ("fio", "fixed:\n  rw: randread\n   bs: 4k", "5:6", ""),
    ("fio", "matrix:\n iodepth: [1]\n  bs: [4k]", "5:3", ""),
    ("fio", "matrix:\n  iodepth:\n  - 1\n - 2", "6:2", ""),
    ("fio", "matrix: {iodepth: [1, 4", "3:24", "write {key:"),
    ("fio", "matrix: {bs: [4k]}\nexclude: [{iodepth: 1}]", "4:12 exclude[1].iodepth", ""),
    ("fio", "exclude: [{iodepth: 1}]", "3:12 exclude[1].iodepth", ""),
    ("fio", "matrix: {bs: [4k]}\nexclude: [{bs: 8k}]", "4:16 exclude[1].bs", ""),
    ("fio", "matrix: {bs: [4k]}\nexclude: [{}]", "4:11 exclude[1]", ""),
    ("fio", "matrix: {bs: [4k]}\nexclude: {bs: 4k}", "4:10 exclude", ""),
        ("fio", "matrix: {rw: [read, rnadwrite]}", "3:21 matrix.rw", "mean 'randwrite'"),
    ("fio", "matrix: {bs: [4k]}\ninclude: [{iodpeth: 8}]", "4:12 include[1].iodpeth", "iodepth"),
    ("fio", "matrix: {bs: [4k]}\ninclude: [{iodepth: 1..8}]", "4:21 include[1].iodepth", ""),
    ("fio", "matrix: {place: [{name: near, cpus: all}]}\nexclude: [{place: nera}]", "4:19 exclude[1].place", "near"),
    ("fio", "fixed: {place: numa_nod 0}", "3:16 fixed.place", "numa_node 0"),
    ("fio", "fixed: {place: {name: x}}", "3:16 fixed.place", ""),
    ("fio", "fixed: {place: {cpu: all}}", "3:17 fixed.place.cpu", "cpus"),
    ("fio", "fixed: {place: [all]}", "3:16 fixed.place", ""),
    ("fio", "fixed: {place: {cpus: all, spread: wide}}", "3:36 fixed.place.spread", ""),
    ("fio", "matrix: {place: [all, {name: all, cpus: package 0}]}", "3:10 matrix.place", ""),
    ("fio", "matrix: {iodepth: [1, 2000]}\nexclude: [{iodepth: 3000}]", "4:21 exclude[1].iodepth", ""),
    ('fio', 'fixed: {rw: on}', '3:13 fixed.rw', '"on"'),
    ('fio', 'fixed: {ioengine: No}', '3:19 fixed.ioengine', '"No"'),
    ('fio', 'fixed: {iodepth: 010}', '3:18 fixed.iodepth', '"010"'),
    ('fio', 'timeout: 1:30', '3:10 timeout', '"1:30"'),
    ("fio", "fixed: {rate: .inf}", "3:15 fixed.rate", ""),
    ("fio", "fixed: {rate: 1e999}", "3:15 fixed.rate", ""),
    ("fio", "fixed: {rate: 99999999999999999999}", "3:15 fixed.rate", ""),
    ("fio", "fixed: {rate: !!int 3}", "3:15 fixed.rate", "alone"),
    ("fio", "fixed: {rate: !!python/name:os.system x}", "3:15 fixed.rate", "alone"),
    ("fio", "fixed: &a {bs: 4k}\nmatrix:\n  <<: *a", "5:3 matrix.<<", ""),
    ("fio", "fixed:\n\tbs: 4k", "4:1", ""),
    ("fio", "title: a: b", "3:9", ""),
    ('fio', 'title: "a', '3:10', ''),
    ("fio", "title: *x", "3:8", ""),
    ("fio", "title: a\nmatrix\nfixed: {bs: 4k}", "5:1", "write `key:"),
    ("fio", "title: a\x07", "3:9", ""),
    ('fio', 'title: "a\\0"', '3:8 title', ''),
    ('fio', 'title: "\\uD800"', '3:8 title', ''),
    ('fio', 'title: "\\UFFFFFFFF"', '1:1', ''),
    ("fio", "fixed: &a {rw: *a}", "3:8", ""),
    ("fio", "title: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "3:38", ""),
    # stream
    ("stream", "fixed: {threads: many}", "3:18 fixed.threads", ""),
    ("stream", "fixed: {threads: 0}", "3:18 fixed.threads", ""),
    ('stream', 'fixed: {stores: true}', '3:17 fixed.stores', '"true"'),
    ("stream", "fixed: {array_size: 4 x LCC}", "3:21 fixed.array_size", "LLC"),
    ("stream", "fixed: {bs: 4k}", "3:9 fixed.bs", ""),
    ("stream", "fixed: {array_size: 1M/4M}", "3:9 fixed.array_size", "[1M, 4M]"),
    ("stream", "fixed: {threads: 1-8}", "3:18 fixed.threads", "[1, 8]"),
    ("stream", "matrix:\n  threads: 1 2", "4:12 matrix.threads", "[1, 2]"),
    # command
    ("command", "fixed:\n  command: x {n}\nmatrx: {n: [1]}", "5:1 matrx", "matrix"),
    ('command', 'fixed: {command: "x {sise}", metrics: {m: {regex: "(.)", unit: "1"}}}', '3:9 fixed.command', ''),
    ('command', 'fixed: {command: "x {n!r}", metrics: {m: {regex: "(.)", unit: "1"}}, env: {A: "{place} {{n}} {n}"}}\nmatrix: {n: [1]}', '3:9 fixed.command', ''),
    ('command', 'fixed: {command: "x {n:>9}", metrics: {m: {regex: "(.)", unit: "1"}}, env: {A: "{place} {{n}} {n}"}}\nmatrix: {n: [1]}', '3:9 fixed.command', ''),
    ('command', 'fixed: {command: "awk \'{print $1}\'", metrics: {m: {regex: "(.)", unit: "1"}}, env: {A: "{place} {{n}} {n}"}}\nmatrix: {n: [1]}', '3:9 fixed.command', ''),
    ('command', 'fixed: {command: "x {n", metrics: {m: {regex: "(.)", unit: "1"}}, env: {A: "{place} {{n}} {n}"}}\nmatrix: {n: [1]}', '3:9 fixed.command', ''),
    ('command', 'fixed: {command: "x", metrics: {m: {regex: "(.)", unit: "1"}}, env: {A: "{m}"}}\nmatrix: {n: [1]}', '3:70 fixed.env.A', ''),
    ('command', 'fixed: {command: x, metrics: {m: {regex: "(.)", unit: "1"}}}\nmatrix: {a-b: [1]}', '4:10 matrix.a-b', ''),
    ],
)  # fmt: skip
def test_a_mistake_has_its_place_and_a_way_out(tool: str, text: str, place: str, word: str) -> None:
    ((found, message),) = mistakes(f"schema: 1\ntool: {tool}\n{text}" if tool else text)

    assert found == place
    assert word in message


@pytest.mark.parametrize(
    ("tool", "value", "word"),
    [
        ("stream", "threads: 1/4/8", "[1, 4, 8]"), ("stream", "threads: 1-8", "1..8"), ("stream", "array_size: 4k/32k", "[4k, 32k]"),
        ("fio", "bs: 4k/32k", "[4k, 32k]"), ("fio", "bs: 4kiB", "4k"), ("fio", "size: 64MB", "64M"), ("fio", "iodepth: 1-8", "[1, 8]"),
        ("imb", "np: 1/4/8", "[1, 4, 8]"), ("mlc", "b: 64k/1m", "[64k, 1m]"), ("poke", "bytes: 4k/32k", "[4k, 32k]"),
        ("fio", "rw: read|write", "[read, write]"), ("stream", "threads: '1,4,8'", "[1, 4, 8]"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("part", ["fixed", "matrix"])
def test_notation_of_a_shell_is_refused_with_the_list_that_it_means(
    tool: str, value: str, word: str, part: str
) -> None:
    other = {"poke": "target: memory", "mlc": "mode: idle_latency"}.get(tool, "")
    fixed = f"include: [{{{other}}}]\n" if other else ""
    ((place, message),) = mistakes(f"schema: 1\ntool: {tool}\n{fixed}{part}: {{{value}}}")

    assert place.endswith(f"{part}.{value.partition(':')[0]}")
    assert word in message


def test_mistakes_inside_metrics_have_their_own_places() -> None:
    text = """\
schema: 1
tool: command
fixed:
  command: x
  metrics:
    rate:
      regex: "x [0-9]+"
      unit: ms
    lat: {regex: "(a)", better: hihger}
  env: {"1A": 2}
"""
    assert places(text) == ["9:33 fixed.metrics.lat.better"]
    assert places(text.replace("hihger", "higher")) == ["7:7 fixed.metrics.rate.regex", "10:9 fixed.env.1A"]


def test_switches_may_be_on_and_off() -> None:
    (sweep,) = load(fio("matrix: {direct: [on, off, yes, no, true, False, 1, 0]}")).sweeps

    assert sweep.matrix["direct"] == (True, False, True, False, True, False, 1, 0)


def test_hostile_texts_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 15)]

    assert len(mistakes("\n".join(lines))) == 1
    assert len(mistakes("schema: 1\n" + "\n".join(f"key{n}: 1" for n in range(5000)))) == 100
    for text in ("#" * 300_000, "[" * 100_000, f"schema: 1\ntool: fio\ntimeout: '{'1 ' * 100_000}x'"):
        assert len(mistakes(text)) == 1


def test_an_anchor_with_a_mistake_is_one_mistake_a_place() -> None:
    assert places(fio("fixed: {bs: &b [4k], size: *b}")) == ["3:13 fixed.bs", "3:13 fixed.size"]


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

    assert all(isinstance(v, str | int | float | bool) for v in scalars(yaml.safe_load(path.read_text("utf-8"))))
    assert load_experiment(path)


def test_a_mistake_next_to_values_of_the_machine_is_found_before_anything_starts() -> None:
    text = "schema: 1\ntool: mlc\nfixed: {mode: idle_latency}\nmatrix:\n  b: [16q, 0.5 x L2]\n"

    assert places(text) == ["5:3 matrix.b"]
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


def test_without_any_one_line_or_the_rest_it_loads_or_says_why_not() -> None:
    lines = SMALL.splitlines(keepends=True)
    assert load(SMALL).sweeps
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


@pytest.mark.parametrize(
    ("text", "quoted"), [("matrix: {place: [pair of cores 0,1]}", True), ("fixed: {place: 3}", False)]
)
def test_a_place_that_a_comma_cuts_in_two_needs_quotes(text: str, quoted: bool) -> None:
    ((place, message),) = mistakes(fio(text))

    assert place.endswith(".place")
    assert ("needs quotes" in message) is quoted


def test_a_result_file_is_no_experiment(tmp_path: Path) -> None:
    path = tmp_path / "e.db"
    path.write_bytes(b"SQLite format 3\0" + bytes(100))

    with pytest.raises(UserError, match="is a result file, not an experiment"):
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
