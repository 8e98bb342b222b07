"""OpenMetrics: read back by Prometheus' own client, with both of its parsers."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as prometheus_families

from reports.export import openmetrics, tables
from reports.results.load import load
from reports.text.exposition import Family, exposition

Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


def export(*words: Any, **options: Any) -> Any:
    """Return what `tables.export` does, as one text or as bytes."""
    exported = tables.export(*words, **options)
    return exported if isinstance(exported, bytes) else "".join(exported)


def read(text: str, parse: Any = openmetrics_families) -> Samples:
    """Return name → labels → value; fails where a sample is duplicated."""
    out: Samples = {}
    for family in parse(text):
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in out.setdefault(sample.name, {}), (sample.name, labels)
            out[sample.name][labels] = sample.value
    return out


def found(samples: Samples, name: str, **labels: str) -> float:
    (value,) = [v for own, v in samples[name].items() if labels.items() <= dict(own).items()]
    return value


@pytest.fixture(scope="module")
def text(full_result: Path) -> str:
    return openmetrics.text(load([full_result]))


def test_both_readers_agree_on_every_sample(text: str) -> None:
    assert read(text) == read(text, prometheus_families)
    assert {family.type for family in prometheus_families(text)} == {"gauge"}  # others are refused as files


def test_a_file_name_that_is_no_utf_8_can_be_written() -> None:
    family = Family(name="a", text="", samples={(("file", "x\udc80"),): 1.0})

    assert read(exposition([family])) == {"a": {(("file", "x?"),): 1}}


def test_values_are_medians_in_seconds_and_bytes(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for triad in (20000.0, 26000.0, 21000.0):
        maker.add(
            "scaling", "stream", {"threads": 4}, make.stream_text(triad, 4), axes=("place", "threads"),
            place="local", relation="local",
        )  # fmt: skip
    maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text({0: 0.5, 8: 0.5, 2**20: 99.0}))
    busy = {"reasons": [{"id": "foreign", "text": "other processes"}]}
    maker.add("q", "imb", {"benchmark": "PingPong"}, make.imb_text({4: 0.5}), counters=busy)
    maker.add("r", "imb", {"benchmark": "PingPong"}, "no table")
    got = read(openmetrics.text(load([maker.write()])))

    name = "pinsweep_stream_bandwidth_bytes_per_second"
    assert found(
        got, name, kernel="triad", host="node07", sweep="scaling", place="local", threads="4"
    ) == pytest.approx(21e9)
    assert found(got, "pinsweep_stream_repeats", threads="4") == 3
    assert found(got, "pinsweep_imb_time_seconds", message_size="0") == pytest.approx(0.5e-6)
    assert found(got, "pinsweep_runs", host="node07", status="ok") == 4
    assert found(got, "pinsweep_runs", host="node07", status="failed") == 0
    assert found(got, "pinsweep_runs", host="node07", status="disturbed") == 1
    assert found(got, "pinsweep_runs", host="node07", status="unreadable") == 1
    # 2026-11-21T09:15:03Z, by `date -d … +%s`
    assert found(got, "pinsweep_last_run_timestamp_seconds", host="node07") == 1795252503


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "a\\nb", "host{x=1} 2", "ü-µ", "\x1b[2J"])
def test_any_name_comes_back(make: Any, tmp_path: Path, name: str) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.add(name, "stream", {"threads": 1}, make.stream_text(2e4, 1))
    results = load([maker.write()])
    text = openmetrics.text(results)
    sweeps = {dict(labels)["sweep"] for labels in read(text)["pinsweep_stream_bandwidth_bytes_per_second"]}
    assert sweeps == {name}


def test_labels_that_prometheus_sets_itself_are_left_to_it(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    metrics = {
        "rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"},
        "a.b": {"regex": r"rate ([\d.]+)", "unit": "ms", "better": "lower"},
        "a-b": {"regex": r"rate ([\d.]+)", "unit": "ms", "better": "lower"},
    }
    for job, level in (("x", 1), ("y", 1)):
        options = {"command": "zip", "metrics": metrics, "job": job, "1st": level, "host": "h"}
        maker.add("zip", "command", options, "rate 7 MB/s\n", axes=("job", "1st", "host"))
    got = read(openmetrics.text(load([maker.write()])))

    value = found(got, "pinsweep_command_rate_bytes_per_second", tool_job="x", _1st="1", host="node07", host_="h")
    assert value == 7e6
    assert found(got, "pinsweep_command_a_b_seconds", tool_job="y", metric="a.b") == 7e-3
    assert found(got, "pinsweep_command_a_b_seconds", tool_job="y", metric="a-b") == 7e-3


def test_a_users_number_bears_no_name_of_ours(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    names = ("repeats", "Repeats", "latency", "latency_seconds")
    metrics = {
        name: {"regex": r"took (\d+)", "better": "lower", **({"unit": "s"} if "latency" in name else {})}
        for name in names
    }
    metrics["rest"] = {"regex": r"took (\d+)", "unit": "repeats", "better": "lower"}
    for _ in range(3):
        maker.add("s", "command", {"command": "x", "metrics": metrics}, "took 7\n")
    text = openmetrics.text(load([maker.write()]))
    got = read(text)

    assert found(got, "pinsweep_command_repeats") == 3
    assert found(got, "pinsweep_command_value_repeats", metric="repeats") == 7
    assert found(got, "pinsweep_command_value_repeats", metric="Repeats") == 7
    assert found(got, "pinsweep_command_rest_repeats") == 7
    assert found(got, "pinsweep_command_latency_seconds", metric="latency_seconds") == 7
    assert len(got["pinsweep_command_latency_seconds"]) == 2


@pytest.mark.parametrize(
    ("unit", "name", "value"),
    [
        ("degC", "heat_celsius", 50),
        ("%", "heat_ratio", 0.5),
        ("W", "heat_watts", 50),
        ("1", "heat", 50),
        ("frames", "heat_frames", 50),
    ],
)
def test_a_unit_of_ones_own_has_the_name_that_prometheus_has(
    unit: str, name: str, value: float, make: Any, tmp_path: Path
) -> None:
    """`_degc`, and no unit at all of per cent."""
    maker = make.Maker(tmp_path / "a.db")
    spec = {"heat": {"regex": r"heat (\S+)", "unit": unit, "better": "lower"}}
    maker.add("s", "command", {"command": "x", "metrics": spec}, "heat 50\n")
    got = read(openmetrics.text(load([maker.write()])))
    assert found(got, f"pinsweep_command_{name}") == pytest.approx(value)


def test_of_two_files_of_a_host_the_later_one_counts(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = []
    for name, triad in (("new", 25000.0), ("old", 20000.0)):
        maker = make.Maker(tmp_path / f"{name}.db")
        maker.add("s", "stream", {"threads": 1}, make.stream_text(triad, 1))
        paths.append(maker.write())
    import sqlite3

    with sqlite3.connect(paths[1]) as db:
        db.execute("UPDATE run SET started_utc = '2025-01-01T00:00:00+00:00'")
    got = read(openmetrics.text(load(paths)))
    name = "pinsweep_stream_bandwidth_bytes_per_second"
    assert found(got, name, kernel="triad") == pytest.approx(25e9)


WORD = st.one_of(
    st.from_regex(r"[A-Za-z_][\w.-]{0,8}", fullmatch=True),
    st.sampled_from(["repeats", "value_repeats", "a_seconds", "a", "a_b", "b_c", "runs", "a_ratio", "iops", "le", "A", "a.b", "a-b"]),
)  # fmt: skip
UNIT = st.sampled_from(["", "s", "ms", "1", "1/s", "B/s", "seconds", "repeats", "c", "b_c", "°C", "%"])
AXES = ("host", "sweep", "cell", "metric", "kind", "statistic", "program", "point_id", "index", "job", "__x")


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(
    metrics=st.dictionaries(WORD, st.tuples(UNIT, st.sampled_from(["higher", "lower", "neither"])), min_size=1, max_size=7),
    axes=st.sets(st.sampled_from(AXES), max_size=3),
)  # fmt: skip
def test_whatever_a_user_calls_his_numbers(
    make: Any, tmp_path_factory: pytest.TempPathFactory, metrics: dict[str, tuple[str, str]], axes: set[str]
) -> None:
    """No family twice, no sample twice, no number lost or scaled by another one's unit."""
    names = [name for name in metrics if name not in ("index", "metric", "unit", "value")]
    specs = {
        name: {"regex": rf"<{i}> (\d+)", "unit": metrics[name][0], "better": metrics[name][1]}
        for i, name in enumerate(names)
    }
    if not specs:
        return
    printed = "".join(f"<{i}> {i + 2}\n" for i in range(len(names)))
    maker = make.Maker(tmp_path_factory.mktemp("user") / "a.db")
    for level in ("p", "q"):
        options = {"command": "x", "metrics": specs, **dict.fromkeys(axes, level)}
        maker.add("s", "command", options, printed, axes=tuple(sorted(axes)))
        if not axes:
            break
    path = maker.write()
    text = openmetrics.text(load([path]))

    samples = read(text)
    values = Counter(
        f"{value:.6g}"
        for name, found in samples.items()
        if name.startswith("pinsweep_command") and not name.endswith(("_command_repeats", "_command_doubtful"))
        for value in found.values()
    )
    base = {"s": 1, "ms": 1e-3, "%": 1e-2}
    expected = Counter(
        f"{(i + 2) * base.get(metrics[name][0], 1.0):.6g}"
        for i, name in enumerate(names)
        for _ in range(2 if axes else 1)
        if metrics[name][1] != "neither"  # a number that cannot be better is a fact of its run
    )
    assert values == expected

    wide = export([path], "csv", "wide")
    columns = str(wide).split("\n", 1)[0].split(",")
    assert len(set(columns)) == len(columns)
    assert sum(" [" in column for column in columns) == len(names)


def test_a_host_is_told_with_its_processor_and_kernel(make: Any, tmp_path: Path) -> None:
    """Those of its last session, whatever the files are called; once a host, though it has several files."""
    paths = []
    for name, host, day, kernel in (("b", "n1", 1, "6.1"), ("a", "n1", 2, "6.8"), ("c", "n2", 1, None)):
        maker = make.Maker(tmp_path / f"{name}.db", host=host)
        maker.started, maker.ended = f"2026-11-0{day}T09:00:00+00:00", f"2026-11-0{day}T10:00:00+00:00"
        maker.facts = {**make.FACTS, "kernel": kernel}
        maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1))
        paths.append(maker.write())

    model = ("cpu_model", make.FACTS["cpu_model"])
    assert read(openmetrics.text(load(paths)))["pinsweep_host_info"] == {
        (model, ("host", "n1"), ("kernel", "6.8")): 1, (model, ("host", "n2")): 1,
    }  # fmt: skip


def test_the_alert_of_the_document_compares_a_host_with_the_others_of_its_cell(text: str) -> None:
    """Whatever the axes are called: what tells hosts apart, and no label more, is left out on both sides. test_alerts.py fires it."""
    page = (Path(__file__).parents[3] / "docs" / "openmetrics.md").read_text()
    rule = r"\s+([\w:]+)\s+< ignoring (\(.*?\)) group_left \(\)\s+0\.9 \* quantile without \2 \(0\.5, \1\)\s"

    assert (same := re.search(rule, page)), "a ratio to each other host, or no PromQL"
    assert (recorded := re.search(rf"record: {same[1]}\s+expr: \|\s+(\w+)", page))
    assert f"# TYPE {recorded[1]} gauge" in text
    assert same[2] == "(host, instance)"


def test_what_a_check_doubts_is_a_metric_of_its_own(make: Any, tmp_path: Path) -> None:
    """Repeats far apart (G11) at two threads; an axis of the user's own is called as the label that names the checks."""
    maker = make.Maker(tmp_path / "a.db")
    for repeat in range(3):
        for threads, rate in ((1, 2e4), (2, (1e4, 2e4, 3e4)[repeat])):
            options = {"threads": threads, "checks": "mine"}
            maker.add("s", "stream", options, make.stream_text(rate, threads), axes=("threads", "checks"))
    metrics = {"doubtful": {"regex": r"rate ([\d.]+)", "unit": "", "better": "higher"}}
    maker.add("own", "command", {"command": "x", "metrics": metrics}, "rate 3\n")
    text = openmetrics.text(load([maker.write()]))
    got = read(text)

    assert got == read(text, prometheus_families)
    told = {(dict(own)["threads"], dict(own).get("checks"), dict(own)["tool_checks"]): value for own, value in got["pinsweep_stream_doubtful"].items()}  # fmt: skip
    assert told == {("1", None, "mine"): 0, ("2", "G11", "mine"): 1}
    assert found(got, "pinsweep_command_value_doubtful") == 3
    assert found(got, "pinsweep_command_doubtful", sweep="own") == 0


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_a_table_names_the_checks_that_doubt_a_cell(make: Any, tmp_path: Path, shape: str) -> None:
    sound, doubtful = make.Maker(tmp_path / "a.db"), make.Maker(tmp_path / "b.db")
    for rate in (1e4, 2e4, 3e4):
        sound.add("s", "stream", {"threads": 1}, make.stream_text(2e4, 1), axes=("threads",))
        for maker, threads in ((doubtful, 1), (doubtful, 2)):
            text = make.stream_text(rate if threads == 2 else 2e4, threads)
            maker.add("s", "stream", {"threads": threads}, text, axes=("threads",))
    plain, marked = (
        list(csv.DictReader(str(export([maker.write()], form="csv", shape=shape)).splitlines()))
        for maker in (sound, doubtful)
    )

    assert "doubted_by" not in plain[0]
    assert {(row["threads"], row["doubted_by"]) for row in marked} == {("1", ""), ("2", "G11")}


@pytest.mark.parametrize(("texts", "runs"), [((), {}), (("no table",), {"unreadable": 1})])
def test_a_file_without_numbers_has_its_runs(
    make: Any, tmp_path: Path, texts: tuple[str, ...], runs: dict[str, int]
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for printed in texts:
        maker.add("p", "imb", {"benchmark": "PingPong"}, printed)
    got = read(openmetrics.text(load([maker.write()])))

    ended = got.get("pinsweep_runs", {})
    assert {dict(labels)["status"]: count for labels, count in ended.items() if count} == runs
