"""Result files as frames, as tables for other programs, and as lines in a terminal."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import reports.results.load as loading
from orchestrator.store.result_file import create_result
from parsers.errors import UserError
from reports import show
from reports.export import tables
from reports.export.record import of_run
from reports.export.tables import table
from reports.report.check_list import check_list
from reports.results import levels, model
from reports.results.described import abouts
from reports.results.load import load, printed
from reports.results.sessions import of_hosts
from reports.results.write import write_whole


def export(*words: Any, **options: Any) -> Any:
    """Return what `tables.export` does, as one text or as bytes."""
    exported = tables.export(*words, **options)
    return exported if isinstance(exported, bytes) else "".join(exported)


def test_tidy_has_one_row_per_number_in_base_units(full_result: Path) -> None:
    results = load([full_result])

    frame = results.tidy("stream")

    assert {
        "file",
        "host",
        "sweep",
        "point_id",
        "run_id",
        "repeat",
        "place",
        "relation",
        "program",
        "threads",
        "kernel",
        "metric",
        "unit",
        "value",
    } <= set(frame.columns)
    triad = frame[
        (frame.kernel == "triad") & (frame.metric == "bandwidth") & (frame.place == "local") & (frame.threads == 10)
    ]
    assert list(triad.repeat) == [1, 2]
    assert set(triad.unit) == {"B/s"}
    assert triad.value.between(22e9, 24e9).all()
    assert not frame.value.isna().any()


def test_only_options_that_vary_are_columns(full_result: Path) -> None:
    columns = load([full_result]).tidy("fio").columns

    assert {"rw", "bs", "iodepth"} <= set(columns)
    assert not {"ioengine", "direct", "rwmixread"} & set(columns)


def test_of_several_attempts_the_good_one_counts(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.add("s", "stream", {"threads": 1}, "", axes=("threads",), status="failed", reason="exit 1", repeat=1)
    maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1), axes=("threads",), repeat=2, repeats=3)

    results = load([maker.write()])

    assert [run.record.repeat for run in results.good("stream")] == [2]
    assert [run.record.repeat for run in results.failed] == [1]
    assert [(cell.options["threads"], repeat) for _, cell, repeat in results.missing] == [(1, 1), (1, 3)]
    assert results.planned == 3


def test_an_output_that_cannot_be_read_is_a_failed_run_with_its_cause(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db").add("s", "stream", {}, "Killed\n")

    results = load([maker.write()])

    assert results.tools == ()
    assert [run.unreadable for run in results.failed] != [""]


@pytest.mark.parametrize("text", ["ab\n" * 5000, "é€😀\n" * 2000, "😀" * 5000, "a\n" + "é" * 9000 + "\nzz\n"])
@pytest.mark.parametrize("piece", [7, 1000])
def test_a_large_output_is_cut_as_a_small_one_and_not_held(
    text: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """256 MB of an output were 552 MiB to show 3000 characters of, and a GB of one with a single emoji."""
    data = text.encode()
    monkeypatch.setattr(loading, "_WHOLE", 0)
    pieces = (data[at : at + piece] for at in range(0, len(data), piece))

    assert loading._excerpt(pieces, 600) == model.excerpt(text, 600)


def test_wide_keeps_rows_whose_labels_are_not_all_there(full_result: Path) -> None:
    results = load([full_result])

    wide = results.wide("mlc")

    long = results.tidy("mlc")
    assert int(wide[["latency", "bandwidth"]].notna().to_numpy().sum()) == len(
        long[long.metric.isin(["latency", "bandwidth"])]
    )
    assert wide.attrs["units"]["bandwidth"] == "B/s"
    loaded = wide[wide.section == "loaded_latency"]
    assert loaded[["latency", "bandwidth"]].notna().all(axis=None)


def test_wide_has_one_unit_a_column(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for sweep, unit, value in (("s1", "MB/s", 12), ("s2", "IOPS", 99)):
        metrics = {
            "rate": {"regex": r"rate (\d+)", "unit": unit},
            "took": {"regex": r"took (\d+)", "unit": "s"},
        }
        maker.add(sweep, "command", {"command": "x", "metrics": metrics}, f"rate {value}\ntook 2\n")
    path = maker.write()

    wide = load([path]).wide("command")
    exported = export([path], "csv", "wide")

    assert wide[["rate [B/s]", "rate [1/s]", "took"]].max().tolist() == [12e6, 99, 2e9]
    assert wide[["rate [B/s]", "rate [1/s]"]].count().tolist() == [1, 1]
    assert isinstance(exported, str)
    assert sorted(exported.splitlines()[0].split(",")[-3:]) == ["rate [1/s]", "rate [B/s]", "took [ns]"]


def test_excerpts_keep_both_ends(make: Any, tmp_path: Path) -> None:
    text = make.stream_text(9e3, 1) + "".join(f"line {i}\n" for i in range(2000)) + "the end\n"
    maker = make.Maker(tmp_path / "a.db").add("s", "stream", {}, text)

    results = load([maker.write()])
    stdout, stderr = printed(results, results.runs, 1000)[results.runs[0]]

    assert len(stdout) < 1100
    assert stdout.startswith("-----")
    assert stdout.endswith("the end\n")
    assert "lines left out" in stdout
    assert stderr == ""


def test_no_files_is_a_mistake() -> None:
    with pytest.raises(UserError, match="no result file"):
        load([])


def test_gathered_files_of_one_name_are_kept_apart(make: Any, tmp_path: Path) -> None:
    """As `scp` leaves them, one folder a host; the same cell and repeat in each."""
    paths = [tmp_path / host / "r.db" for host in ("n001", "n002")] + [tmp_path / "other.db"]
    for rate, path in enumerate(paths, 9):
        maker = make.Maker(path, host="localhost")
        maker.add("s", "stream", {"threads": 1}, make.stream_text(rate * 1e3, 1), axes=("threads",)).write()

    results = load(paths)
    text = export(paths, "csv", "wide", "stream")

    assert [run.file for run in results.good("stream")] == ["n001/r.db", "n002/r.db", "other.db"]
    assert len({run.where for run in results.good("stream")}) == 3
    assert [machine.file for machine in results.machines] == ["n001/r.db", "n002/r.db", "other.db"]
    assert isinstance(text, str)
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["kernel"] == "triad"]
    assert [(row["file"], float(row["bandwidth [B/s]"])) for row in rows] == [
        ("n001/r.db", 9e9),
        ("n002/r.db", 10e9),
        ("other.db", 11e9),
    ]


def test_a_file_given_twice_counts_once(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make.Maker(tmp_path / "a.db").add("s", "stream", {}, make.stream_text(9e3, 1)).write()
    monkeypatch.chdir(tmp_path)

    results = load([path, Path("a.db")])

    assert results.planned == 1
    assert [run.file for run in results.runs] == ["a.db"]


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b", "r.db"]), min_size=1, max_size=4).map(lambda p: Path("/", *p)),
        min_size=1,
        unique=True,
    )
)
def test_a_files_name_is_the_shortest_end_of_its_path_that_no_other_has(paths: list[Path]) -> None:
    names = model.short_names(paths)

    assert len(set(names)) == len(paths)
    for path, name in zip(paths, names, strict=True):
        shorter = name.partition("/")[2] if not name.startswith("/") else name[1:]
        assert str(path).endswith(name)
        assert not shorter or any(f"{other}".endswith(f"/{shorter}") for other in paths if other != path)


def threads(make: Any, path: Path, text: str, counts: dict[int, str]) -> None:
    """One session: the sweep `s` from a text that asks for these numbers of threads; each run's status, "" if none."""
    maker = make.Maker(path)
    maker.text = text
    for n, status in counts.items():
        maker.add("s", "stream", {"threads": n}, make.stream_text(9e3, n), axes=("threads",), status=status)
    maker.write()


def test_cells_taken_out_of_an_experiment_are_no_longer_planned(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    threads(make, path, "n: [1, 2, 3]", {1: "ok", 2: "", 3: ""})
    before = load([path])
    threads(make, path, "n: [7]", {7: "ok"})
    after = load([path])

    assert (before.planned, len(before.missing)) == (3, 2)
    assert (after.planned, after.missing) == (2, ())

    with sqlite3.connect(path) as db:  # back to the first text: its session, not its first appearance, counts
        db.execute("DELETE FROM run")
        db.execute("DELETE FROM output")
    threads(make, path, "n: [1, 2, 3]", {1: "", 2: "", 3: ""})

    assert {cell.options["threads"] for _, cell, _ in load([path]).missing} == {1, 2, 3}


def test_a_cell_taken_out_keeps_what_was_run_of_it(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    maker = make.Maker(path)
    maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1), axes=("threads",), repeats=3).write()
    threads(make, path, "n: [7]", {7: "ok"})

    results = load([path])

    assert (results.planned, results.missing) == (2, ())
    assert [run.options["threads"] for run in results.good("stream")] == [1, 7]


def test_fewer_repeats_than_were_run_are_all_of_them(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    for text, repeat in (("repeats: 3", 3), ("repeats: 1", 1)):
        maker = make.Maker(path)
        maker.text = text
        maker.add("s", "stream", {}, make.stream_text(9e3, 1), repeat=repeat).write()

    assert load([path]).planned == 2


@pytest.mark.parametrize("status", ["misplaced", "disturbed"])
def test_runs_whose_numbers_are_left_out_are_listed_with_their_reason_and_not_missing(
    make: Any, tmp_path: Path, status: str
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.add("s", "stream", {}, make.stream_text(9e3, 1))
    maker.add("s", "stream", {}, make.stream_text(5e3, 1), status=status, reason="it ran on PU 3, requested 0")

    results = load([maker.write()])

    assert (results.planned, results.missing) == (2, ())
    assert [run.record.status for run in (*results.failed, *results.disturbed)] == [status]
    assert [run.record.repeat for run in results.good("stream")] == [1]


def program(path: str, digest: str, *, name: str = "fio", stand_in: bool = False) -> dict[str, Any]:
    return {"name": name, "path": path, "version": "", "sha256": digest * 64, "stand_in": stand_in}


def in_sessions(make: Any, path: Path, tool: str, runs: Sequence[tuple[dict[str, Any], str]]) -> None:
    """One cell; each repeat in a session of its own, with its program and its output."""
    for repeat, (of, text) in enumerate(runs, 1):
        maker = make.Maker(path)
        maker.programs = {tool: of}
        maker.add("s", tool, {"numjobs": 1}, text, program=of["name"], repeat=repeat).write()


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (program("/opt/fio/bin/fio", "b"), ("fio 3.33 (/usr/bin/fio)", "fio 3.33 (/opt/fio/bin/fio)")),
        (program("/usr/bin/fio", "b"), ("fio 3.33 (sha256 aaaaaaaa)", "fio 3.33 (sha256 bbbbbbbb)")),
        (program("/home/me/fio", "a"), ("fio 3.33",)),  # a copy
    ],
)
def test_every_program_that_contributed_is_named(
    make: Any, tmp_path: Path, second: dict[str, Any], said: tuple[str, ...]
) -> None:
    text = make.fio_text({"read": (9e3, 90.0)}, bs="4k", rw="randread", iodepth=1)
    path = tmp_path / "a.db"
    in_sessions(make, path, "fio", [(program("/usr/bin/fio", "a"), text), (second, text)])

    (_, table, *_) = show.show_result(path).blocks
    rows = json.loads(export([path], "json"))

    assert table.title.endswith(" and ".join(said))
    assert {(row["repeat"], row["program_version"], row["program_sha256"]) for row in rows} == {
        (1, "3.33", "a" * 64),
        (2, "3.33", second["sha256"]),
    }


def test_versions_that_the_outputs_say_are_all_named(make: Any, tmp_path: Path) -> None:
    text = make.fio_text({"read": (9e3, 90.0)}, bs="4k", rw="randread", iodepth=1)
    newer = text.replace("fio-3.33", "fio-3.36")
    path = tmp_path / "a.db"
    in_sessions(make, path, "fio", [(program("/usr/bin/fio", "a"), text), (program("/usr/bin/fio", "b"), newer)])

    assert {row["program_version"] for row in json.loads(export([path], "json"))} == {"3.33", "3.36"}


def test_a_stand_ins_runs_are_no_repeats_of_the_tools_own(make: Any, tmp_path: Path) -> None:
    text = make.matrix_text([[81.0, 139.0], [140.0, 82.0]])
    path = tmp_path / "a.db"
    stand_in, own = (
        program("/cache/memlat", "a", name="memlat", stand_in=True),
        program("/opt/mlc", "b", name="mlc"),
    )
    banner = "pinsweep memlat 0.1 (MLC-style; not Intel(R) Memory Latency Checker)"
    memlat = text.replace("81.0", "95.0").replace(text.splitlines()[0], banner)
    in_sessions(make, path, "mlc", [(stand_in, memlat), (own, text), (own, text)])

    assert {(r["repeat"], r["program"]) for r in json.loads(export([path], "json"))} == {
        (1, "memlat"),
        (2, "mlc"),
        (3, "mlc"),
    }


# --- export ------------------------------------------------------------------------------------------------


def test_csv_has_every_number_of_every_tool(full_result: Path) -> None:
    results = load([full_result])

    rows = list(csv.DictReader(io.StringIO(export([full_result], "csv"))))

    assert len(rows) == sum(len(results.tidy(tool)) for tool in results.tools)
    assert next(iter(rows[0])) == "tool"
    assert [*rows[0]][-3:] == ["metric", "unit", "value"]
    of_fio = [row for row in rows if row["tool"] == "fio"]
    assert {row["iodepth"] for row in of_fio} == {
        "1",
        "4",
        "8",
        "32",
        "128",
    }  # whole, though other tools have none
    assert {row["job"] for row in of_fio} <= {"0", ""}


def test_json_of_no_number_is_an_empty_list(make: Any, tmp_path: Path) -> None:
    assert export([make.Maker(tmp_path / "a.db").write()], "json") == "[]\n"


def test_csv_of_an_axis_of_mappings_has_its_column(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for n in (1, 2):
        options = {"command": "x", "env": {"A": n, "B": 1}, "metrics": {"rate": {"regex": "([0-9]+)"}}}
        maker.add("s", "command", options, f"{n}0\n", axes=("env",))

    rows = list(csv.DictReader(io.StringIO(str(export([maker.write()], "csv")))))

    assert [(row["env"], row["value"]) for row in rows] == [("A=1,B=1", "10.0"), ("A=2,B=1", "20.0")]


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_an_axis_may_be_called_tool(make: Any, tmp_path: Path, shape: Any) -> None:
    """The table had the axis in the place of the tool, or ended in a traceback, as `report --lab` did."""
    maker = make.Maker(tmp_path / "r.db")
    metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}
    for which in ("gzip", "xz"):
        options = {"command": "x {tool}", "metrics": metrics, "tool": which}
        maker.add("s", "command", options, "rate 3\n", axes=("tool",))
    results = load([maker.write()])

    found = table(results, None, shape, {})

    assert [*found["tool"]] == ["command", "command"]
    assert [*found["tool_"]] == ["gzip", "xz"]


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_json_and_parquet_say_the_same(full_result: Path, shape: str) -> None:
    rows = json.loads(export([full_result], "json", shape))
    frame = pd.read_parquet(io.BytesIO(export([full_result], "parquet", shape)))

    (column,) = {"value", "bandwidth [B/s]"} & {*frame.columns}
    assert [*frame["tool"]] == [row["tool"] for row in rows]
    assert [*frame[column].dropna()] == pytest.approx([row[column] for row in rows if row[column] is not None])


def test_parquet_without_pyarrow_names_the_extra(full_result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(UserError) as caught:
        export([full_result], "parquet", "long", "stream")
    assert "pinsweep[parquet]" in caught.value.hint


def test_a_tool_without_numbers_is_a_mistake(full_result: Path) -> None:
    with pytest.raises(UserError):
        export([full_result], "csv", "long", "doom")


# --- files -------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    write_whole(path, "one")
    write_whole(path, b"two")

    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["a.txt"]
    assert path.stat().st_mode & 0o444


def test_cells_come_in_the_order_of_their_axes_whatever_the_order_of_the_runs(make: Any, tmp_path: Path) -> None:
    """Numbers by what they are, words as the experiment has them: “old, new” became “new, old”."""
    maker = make.Maker(tmp_path / "a.db")
    for threads, place in ((16, "remote"), (2, "remote"), (2, "local"), (16, "local")):
        maker.add(
            "s",
            "stream",
            {"threads": threads},
            make.stream_text(9e3, threads),
            axes=("place", "threads"),
            place=place,
        )

    runs = load([maker.write()]).good("stream")

    assert [(r.place, r.options["threads"]) for r in runs] == [
        ("remote", 2),
        ("remote", 16),
        ("local", 2),
        ("local", 16),
    ]
    assert sorted(["32k", "4k", 128, "all", 8], key=levels.natural) == [8, 128, "4k", "32k", "all"]


def test_words_of_a_sweep_come_as_its_own_cells_were_planned(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for sweep, modes in (("quick", "bd"), ("all", "abcd")):
        for mode in modes:
            maker.add(sweep, "stream", {"threads": 1, "mode": mode}, make.stream_text(9e3, 1), axes=("mode",))

    found = load([maker.write()])

    assert [(r.cell.sweep, r.options["mode"]) for r in found.good("stream")] == [
        *(("quick", mode) for mode in "bd"),
        *(("all", mode) for mode in "abcd"),
    ]
    assert sorted(["c", "z", "a", "d", 7], key=lambda mode: found.levels.key("mode", mode)) == [
        7,
        "d",
        "a",
        "c",
        "z",
    ]


def test_sweeps_come_in_the_order_in_which_they_were_planned(make: Any, tmp_path: Path) -> None:
    def written(name: str, *sweeps: str) -> Path:
        maker = make.Maker(tmp_path / name)
        maker.text = "# name: b, then name: a, is not how they stand below\n"
        for sweep in sweeps:
            maker.add(sweep, "stream", {"threads": 1}, make.stream_text(9e3, 1))
        done: Path = maker.write()
        return done

    def order(*paths: Path) -> list[tuple[str, str]]:
        return [(run.file, run.cell.sweep) for run in load(paths).good("stream")]

    one, other = written("1.db", "c", "a", "b"), written("2.db", "d", "b", "a")

    assert order(one) == [("1.db", "c"), ("1.db", "a"), ("1.db", "b")]
    assert order(one, other)[3:] == [("2.db", "a"), ("2.db", "b"), ("2.db", "d")]
    assert order(other, one)[:3] == [("2.db", "d"), ("2.db", "b"), ("2.db", "a")]


@pytest.mark.slow
@given(st.text() | st.from_regex(r"[-+]?[0-9.]{1,5}(e[0-9]{1,4})?[kmgtp]?i?b?", fullmatch=True))
@example("inf")
@example("-infinity")
@example("nan")
@example("1e400")
@example("1e308p")
def test_any_text_has_its_place_among_the_values_of_an_axis(text: str) -> None:
    values: list[object] = [text, 0.5, 2, "10", "4k", "all"]

    ordered = sorted(values, key=levels.natural)

    assert [value for value in ordered if value is not text] == [0.5, 2, "10", "4k", "all"]


@pytest.mark.parametrize(("tool", "said"), [(None, 1), ("stream", 1), ("imb", 0)])
def test_an_export_says_what_it_leaves_out(make: Any, tmp_path: Path, tool: str | None, said: int) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for attempt, status in ((1, "ok"), (1, "disturbed"), (2, "disturbed"), (3, "disturbed"), (1, "ok")):
        maker.add(
            "s", "stream", {"threads": 1}, make.stream_text(2e4, 1), status=status, attempt=attempt,
            repeat=2 if status == "disturbed" else 0,
        )  # fmt: skip
    maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text({0: 0.5, 8: 0.5}))
    told: list[str] = []

    export([maker.write()], form="csv", tool=tool, on_left_out=told.append)

    assert len(told) == said
    for line in told:
        assert "1 disturbed run" in line


TWO = """schema: 1
title: Two sweeps
sweeps:
  - {name: a, title: First, tool: mlc, fixed: {mode: idle_latency}}
  - {name: b, title: Second, tool: mlc, fixed: {mode: idle_latency}}
"""


@pytest.mark.parametrize(
    ("ran", "said"), [(("a",), " Only a part of it ran here: “First”; not “Second”."), (("a", "b"), "")]
)
def test_of_an_experiment_that_ran_in_part_the_part_is_named(ran: tuple[str, ...], said: str) -> None:
    """With `--only` the text told of four sweeps, under it stood the numbers of one."""
    experiment = SimpleNamespace(text=TWO, path="two.yaml", about="Answers: what two sweeps do.\n")
    runs = [SimpleNamespace(cell=SimpleNamespace(sweep=name)) for name in ran]
    results: Any = SimpleNamespace(experiments=(experiment, experiment), runs=runs)

    assert abouts(results) == (f"Answers: what two sweeps do.{said}",)


def test_cells_that_a_text_calls_alike_are_told_apart_by_what_was_asked_for(make: Any, tmp_path: Path) -> None:
    """An access to no bytes is neither a read nor a write: both are `op` "none" of `target` "null"."""
    maker = make.Maker(tmp_path / "p.db")
    for op in ("read", "write"):
        for size in (0, 1000):
            said = {"op": op} if size else {"op": "none", "target": "null"}
            text = make.poke_text([20.0, 21.0] * 500, size=size, **said)
            maker.add("m", "poke", {"target": "memory", "op": op, "bytes": size}, text, axes=("op", "bytes"))

    rows = [*csv.DictReader(io.StringIO(export([maker.write()], "csv")))]

    told = {(row["op_"], row["op"], row["bytes"]) for row in rows if row["statistic"] == "p50"}
    assert told == {
        ("read", "read", "1000"), ("write", "write", "1000"), ("read", "none", "0"), ("write", "none", "0")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("elapsed_s", "reasons", "too_short"),
    [
        (0.59, [], True),
        (0.61, [], False),
        (0.59, [{"id": "foreign", "text": "others"}], False),
        (None, [], False),
    ],
)
def test_a_run_on_four_cpus_is_judged_from_0_6_s_on(
    make: Any, tmp_path: Path, elapsed_s: float | None, reasons: list[dict[str, str]], too_short: bool
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    counters = {"elapsed_s": elapsed_s, "reasons": reasons} if elapsed_s else {}
    maker.add("s", "stream", {"threads": 4}, make.stream_text(20e3, 4), place="local", counters=counters)

    results = load([maker.write()])

    assert [run.is_too_short for run in results.runs] == [too_short]
    assert [one["too_short_to_judge"] for one in map(of_run, results.runs)] == [too_short]
    unknown = any("Disturbance is unknown" in check.subject for check in check_list(results, ()))
    assert unknown is (too_short or not elapsed_s)


def test_sessions_of_a_file_without_runs_are_an_error(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db"), pytest.raises(UserError, match=r"r\.db: no runs"):
        of_hosts(load([tmp_path / "r.db"]))
