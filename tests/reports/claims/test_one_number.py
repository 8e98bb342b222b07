"""One number is one value wherever it stands: fio's p99 and mean of two jobs, from the raw text to every place that shows them.

The expected values come from fio's own JSON, by a dozen lines that share nothing with pinsweep: the sample of rank ⌈0.99 n⌉ of both
jobs' bins, which fio names by their middle, and the mean over all I/Os.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import math
import re
import sqlite3
import statistics
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pinsweep.cli import cli
from reports.draw.figure import Figure
from reports.numbers import histograms, numbers
from reports.numbers.fio import asked, headline, in_flight, leaders, peaks_within, printed, summaries
from reports.report import build
from reports.results import model
from reports.results.load import load
from reports.text import format as fmt
from reports.text.format import Shown

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "fio"


@dataclass(frozen=True, kw_only=True)
class Expected:
    which: str  # of the JSON: "lat", "clat"
    words: str
    term: str  # in tables
    p99: float  # ns
    mean: float  # ns


def expected(case: str, which: str) -> Expected:
    jobs = json.loads((FIXTURES / f"{case}.out").read_text())["jobs"]
    parts = [(job["read"]["total_ios"], job["read"][f"{which}_ns"]) for job in jobs]
    bins: Counter[int] = Counter()
    for _, latency in parts:
        bins.update({int(middle): count for middle, count in latency["bins"].items()})
    samples = sorted(bins.elements())
    assert len(samples) == sum(ios for ios, _ in parts) == 2300
    words, term = {"lat": ("latency", "latency"), "clat": ("completion latency", "clat")}[which]
    return Expected(
        which=which, words=words, term=term, p99=samples[math.ceil(0.99 * len(samples)) - 1],
        mean=sum(ios * latency["mean"] for ios, latency in parts) / len(samples),
    )  # fmt: skip


CASES = {"jsonplus_two_jobs_lat": "lat", "jsonplus_two_jobs": "clat"}


@pytest.fixture(scope="module", params=CASES)
def walk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Expected, Path]:
    """What fio's JSON says, and a folder with result files of the text: once in a.db, twice in both.db, as side=old and side=new."""
    folder = tmp_path_factory.mktemp("one")
    text = FIXTURES / f"{request.param}.out"
    run("parse", text, "-o", folder / "a.db")
    copies = [folder / f"{side}.out" for side in ("old", "new")]
    for copy in copies:
        copy.write_bytes(text.read_bytes())
    run("parse", *copies, "--axis", "side=(old|new)", "-o", folder / "both.db")
    return expected(request.param, CASES[request.param]), folder


def run(*args: object) -> str:
    result = CliRunner().invoke(cli, [str(arg) for arg in args])
    assert result.exit_code == 0, result.output
    return result.stdout


def figures(path: Path) -> list[Figure]:
    built = build.build(load([path]))
    return [f for s in built.sections for b in s.blocks if b.tool == "fio" for f in b.figures]


def cell(columns: Any, row: Any, name: str) -> str:
    return str(row[list(columns).index(name)])


def test_the_jobs_differ_so_that_another_rule_gives_another_number() -> None:
    for case, which in CASES.items():
        want = expected(case, which)
        jobs = [job["read"] for job in json.loads((FIXTURES / f"{case}.out").read_text())["jobs"]]
        weights = [job["iops"] for job in jobs]
        of_p99, of_means = (
            sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)
            for values in (
                [job[f"{which}_ns"]["percentile"]["99.000000"] for job in jobs],
                [job[f"{which}_ns"]["mean"] for job in jobs],
            )
        )
        assert abs(of_p99 / want.p99 - 1) > 0.05  # an IOPS-weighted mean of the jobs' p99
        assert abs(of_means / want.mean - 1) > 0.02  # a mean weighted by IOPS


def test_the_page_draws_and_lists_it(walk: tuple[Expected, Path]) -> None:
    want, folder = walk
    figure, tails = figures(folder / "a.db")

    (panel,) = [p for p in figure.panels if p.title == f"{want.words[:1].upper()}{want.words[1:]}, p99"]
    assert panel.wide["encoding"]["y"]["title"] == f"p99 {want.words} (log scale)"
    (dot,) = panel.wide["datasets"]["points"]
    assert dot["y"] == want.p99
    table, _ = figure.numbers
    (row,) = table.rows
    assert cell(table.columns, row, f"p99 {want.term}, µs") == f"{want.p99 / 1e3:.0f}"
    assert cell(table.columns, row, f"Mean {want.term}, µs") == f"{want.mean / 1e3:.1f}"
    (listed,) = tails.numbers
    (row,) = listed.rows
    assert cell(listed.columns, row, "99 %") == f"{want.p99 / 1e3:.0f} µs"
    assert cell(listed.columns, row, "Mean") == f"{want.mean / 1e3:.1f} µs"
    assert f"; {want.words} of " in tails.sub
    (key,) = build.build(load([folder / "a.db"])).key_numbers
    assert key.context == f"randread, iodepth 1, 2 jobs, mean {want.term} {want.mean / 1e3:.1f} µs"


def test_compare_takes_it(walk: tuple[Expected, Path]) -> None:
    want, folder = walk
    said = json.loads(run("compare", folder / "both.db", "--by", "side=old,new", "--format", "json"))

    found = {one["metric"]: one["a"]["median"] for one in said["cells"]}
    assert found[f"read {want.words} p99"] == want.p99
    assert found[f"read {want.words} mean"] == pytest.approx(want.mean, rel=1e-12)
    assert {name for name in found if "latency" in name} == {
        f"read {want.words} {statistic}" for statistic in ("mean", "p50", "p95", "p99")
    }


@pytest.mark.slow
def test_the_lab_report_prints_it(walk: tuple[Expected, Path]) -> None:
    want, folder = walk
    run("report", folder / "a.db", "--lab", folder / "lab")

    with (folder / "lab" / "tables" / "fio-captured-numbers-1.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row[f"p99 {want.term}, µs"] == f"{want.p99 / 1e3:.0f}"
    assert row[f"Mean {want.term}, µs"] == f"{want.mean / 1e3:.1f}"


def test_openmetrics_and_show_say_it(walk: tuple[Expected, Path]) -> None:
    want, folder = walk
    lines = run("export", folder / "a.db", "--openmetrics").splitlines()

    name = f"pinsweep_fio_{want.words.replace(' ', '_')}_seconds{{"
    found = {line.partition('statistic="')[2].partition('"')[0]: float(line.split()[-1]) for line in lines if line.startswith(name)}  # fmt: skip
    assert found["p99"] == pytest.approx(want.p99 * 1e-9, rel=1e-11)
    assert found["mean"] == pytest.approx(want.mean * 1e-9, rel=1e-11)
    assert f", mean {want.which} {want.mean / 1e3:.1f} µs" in run("show", folder / "a.db")


def of_fixture(case: str, tmp_path: Path) -> model.Run:
    run("parse", FIXTURES / f"{case}.out", "-o", tmp_path / "a.db")
    (found,) = load([tmp_path / "a.db"]).good("fio")
    return found


def test_several_jobs_without_bins_have_a_mean_and_no_quantile(tmp_path: Path) -> None:
    found = {n.name.quantity: n.value for n in numbers(of_fixture("client_server_normal", tmp_path))}

    assert set(found) == {"IOPS", "completion latency mean"}


def test_one_job_without_bins_has_the_percentiles_that_it_prints(tmp_path: Path) -> None:
    """Terse output counts no I/Os, so nothing says that a percentile has too few beyond it."""
    found = {n.name.quantity: n.value for n in numbers(of_fixture("terse_v3", tmp_path))}

    assert set(found) == {"IOPS", *(f"completion latency {s}" for s in ("mean", "p50", "p95", "p99", "p99.9"))}  # fmt: skip


def edited(tmp_path: Path, edit: Any) -> model.Run:
    """The run of the two jobs, after `edit` of their JSON."""
    document = json.loads((FIXTURES / "jsonplus_two_jobs_lat.out").read_text())
    edit(document["jobs"])
    (tmp_path / "edited.out").write_text(json.dumps(document))
    run("parse", tmp_path / "edited.out", "-o", tmp_path / "edited.db")
    (found,) = load([tmp_path / "edited.db"]).good("fio")
    return found


def test_bins_of_some_jobs_only_make_no_quantile(tmp_path: Path) -> None:
    found = edited(tmp_path, lambda jobs: jobs[1]["read"]["lat_ns"].pop("bins"))

    assert {n.name.quantity for n in numbers(found)} == {"IOPS", "latency mean"}
    assert histograms(found) == []


def test_a_job_that_was_not_timed_leaves_no_mean(tmp_path: Path) -> None:
    def edit(jobs: Any) -> None:
        for name in ("lat_ns", "clat_ns"):
            jobs[1]["read"][name] = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}

    assert {n.name.quantity for n in numbers(edited(tmp_path, edit))} == {"IOPS"}


def test_lat_of_some_jobs_only_is_the_latency_of_none(tmp_path: Path) -> None:
    def edit(jobs: Any) -> None:
        for part in ("percentile", "bins"):
            del jobs[1]["read"]["lat_ns"][part]

    found = edited(tmp_path, edit)
    (of,) = summaries(found)
    want = expected("jsonplus_two_jobs_lat", "clat")
    assert (of.which, of.p99, of.mean) == ("clat", want.p99, pytest.approx(want.mean, rel=1e-12))
    ((name, buckets),) = histograms(found)
    assert (name.metric, sum(b.n for b in buckets)) == ("completion latency", 2300)


def test_both_kinds_of_latency_in_a_sweep_are_told_apart(make: Any, tmp_path: Path) -> None:
    """One fio prints lat's percentiles, another does not: no line joins them, and no comparison sets them side by side."""
    maker = make.Maker(tmp_path / "f.db")
    for depth in (1, 4):
        text = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=depth)
        old = json.loads(text)
        del old["jobs"][0]["read"]["lat_ns"]["percentile"]
        for rw, said in (("randread", text), ("read", json.dumps(old))):
            maker.add("s", "fio", {"rw": rw, "iodepth": depth}, said, axes=("rw", "iodepth"))

    figure, *_ = figures(maker.write())

    assert [key.name for key in figure.key] == ["randread", "read (clat)"]
    assert {row[0] for row in figure.numbers[0].rows} == {"randread", "read (clat)"}
    assert "Latency (lat, of a series with “(clat)” the completion): the " in figure.sub


def test_the_limit_on_clat_is_not_the_one_on_lat(make: Any, tmp_path: Path) -> None:
    cells = {}
    for depth in (1, 4, 16):
        text = json.loads(
            make.fio_text({"read": (1e4 * depth, 50.0 * depth)}, bs="4k", rw="randread", iodepth=depth)
        )
        del text["jobs"][0]["read"]["lat_ns"]["percentile"]
        maker = make.Maker(tmp_path / f"{depth}.db")
        maker.add("s", "fio", {"iodepth": depth}, json.dumps(text))
        (found,) = load([maker.write()]).good("fio")
        cells[depth] = {number.name: [number.value] for number in numbers(found)}

    assert [name.metric for name in peaks_within(cells, 1e6)] == ["IOPS at p99 clat ≤ 1 ms"]


def test_a_headline_is_of_all_jobs_and_names_its_statistic(tmp_path: Path) -> None:
    found = of_fixture("jsonplus_randrw", tmp_path)

    assert found.parsed is not None
    assert headline([found.parsed]) == "r/w 12.9/5.50 kIOPS, mean clat 72.4/2.52 µs"
    assert len(headline([found.parsed])) <= 50


def test_two_jobs_ask_for_two_in_flight(tmp_path: Path) -> None:
    found = of_fixture("jsonplus_two_jobs_lat", tmp_path)
    parts = [job["read"] for job in json.loads((FIXTURES / "jsonplus_two_jobs_lat.out").read_text())["jobs"]]

    assert asked(found) == 2
    assert in_flight(found) == pytest.approx(
        sum(part["iops"] * part["lat_ns"]["mean"] * 1e-9 for part in parts)
    )
    assert found.parsed is not None
    assert leaders([found.parsed]) == [("1/s", pytest.approx(sum(part["iops"] for part in parts)))]


@pytest.mark.parametrize(
    ("case", "wanted"), [("jsonplus_randrw", 1), ("client_server_normal", 2), ("terse_v3", None)]
)
def test_what_was_asked_for_is_known_or_not(case: str, wanted: int | None, tmp_path: Path) -> None:
    """A mix is one job in two directions; terse output tells no depth."""
    assert asked(of_fixture(case, tmp_path)) == wanted


def test_a_synchronous_engine_has_one_in_flight(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    text = make.fio_text({"read": (1e4, 98.0)}, bs="4k", rw="randread", iodepth=32)
    maker.add("s", "fio", {"ioengine": "psync", "iodepth": 32}, text.replace("libaio", "psync"))

    table, _ = figures(maker.write())[0].numbers

    assert cell(table.columns, table.rows[0], "in flight ÷ asked") == "0.980"


def test_compare_says_why_a_quantile_is_on_one_side_only(make: Any, tmp_path: Path) -> None:
    """Too few I/Os for it, and no such latency at all, are two reasons."""
    maker = make.Maker(tmp_path / "f.db")
    many = make.fio_text({"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1)
    other = json.loads(many)
    del other["jobs"][0]["read"]["lat_ns"]["percentile"]
    few = make.fio_text({"read": (20.0, 90.0)}, bs="4k", rw="randread", iodepth=1)
    for side, text in (("many", many), ("few", few), ("clat", json.dumps(other))):
        maker.add("s", "fio", {"rw": "randread", "side": side}, text, axes=("side",))
    path = maker.write()

    def reasons(b: str) -> set[str]:
        said = json.loads(run("compare", path, "--by", f"side=many,{b}", "--format", "json"))
        return {one["reason"] for one in said["unmatched"]}

    assert reasons("few") == {"B has too few operations or bins for a read latency p99"}
    assert reasons("clat") == {
        "B has no read latency mean, read latency p50 and read latency p99",
        "A has no read completion latency mean, read completion latency p50 and read completion latency p99",
    }


def test_depths_in_tables_are_numbers(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for depth in (1, 4, 1024):
        text = make.fio_text({"read": (1e4 * depth, 90.0)}, bs="4k", rw="randread", iodepth=depth)
        maker.add("s", "fio", {"rw": "randread", "iodepth": depth}, text, axes=("iodepth",))

    figure, *_ = figures(maker.write())

    ((offers,), (table, _)) = figure.tables, figure.numbers
    cells = [row[1] for row in table.rows] + list(offers.rows[0][2:4])
    assert [(str(one), one.plain) for one in cells if isinstance(one, Shown)] == [
        (d, d) for d in ("1", "4", "1024", "1024", "1024")
    ]


# --- repeats: the median over them of each run's own number, never a quantile of all samples together ---------


def kept(path: Path) -> dict[str, float]:
    """Return what OpenMetrics exports: sample → its value."""
    lines = run("export", path, "--openmetrics").splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.split()[-1]) for line in lines if not line.startswith("#")}


def compared(path: Path) -> dict[str, float]:
    """Return what compare takes a side's number for."""
    copy = path.with_name(f"copy-{path.name}")
    copy.write_bytes(path.read_bytes())
    with contextlib.closing(sqlite3.connect(copy)) as other, other:
        other.execute("UPDATE session SET host = 'another', started_utc = '2026-01-02T00:00:00+00:00'")
    said = json.loads(run("compare", path, copy, "--format", "json"))
    return {one["metric"]: one["a"]["median"] for one in said["cells"]}


def poke_repeats(make: Any, path: Path) -> tuple[Path, list[list[float]]]:
    """Three repeats of which the slowest has a second mode: a quantile of all samples is none of the median repeat."""
    runs = [make.sample(20_000, median, sigma=s) for median, s in ((100, 0.05), (200, 0.4), (210, 0.05))]
    maker = make.Maker(path)
    for samples in runs:
        maker.add("tails", "poke", {"target": "memory", "bytes": 2**30}, make.poke_text(samples))
    return maker.write(), [sorted(samples) for samples in runs]


def rank(samples: list[float], share: float) -> float:
    return samples[math.ceil(share * len(samples)) - 1]


@pytest.mark.parametrize(("statistic", "share", "column"), [("p50", 0.5, "Median"), ("p99", 0.99, "99 %"), ("p99.9", 0.999, "99.9 %")])  # fmt: skip
def test_pokes_quantiles_are_one_value_over_repeats(
    statistic: str, share: float, column: str, make: Any, tmp_path: Path
) -> None:
    path, runs = poke_repeats(make, tmp_path / "p.db")
    want = statistics.median(rank(samples, share) for samples in runs)
    together = rank(sorted(itertools.chain(*runs)), share)
    assert abs(together / want - 1) > 0.02  # so that another rule gives another number

    built = build.build(load([path]))
    (figure,) = [f for s in built.sections for b in s.blocks if b.tool == "poke" for f in b.figures]
    (table,) = figure.numbers
    assert cell(table.columns, table.rows[0], column).split(" (")[0] == fmt.quantity(want, "ns")
    assert compared(path)[f"memory read latency {statistic}"] == want
    (found,) = [v for k, v in kept(path).items() if "poke_latency_seconds{" in k and f'"{statistic}"' in k]
    assert found == pytest.approx(want * 1e-9, rel=1e-9)
    if statistic != "p99":
        assert fmt.quantity(want, "ns") in run("show", path)
        (key,) = built.key_numbers
        assert fmt.quantity(want, "ns") in (f"{key.value} {key.unit}", key.context.split("median ")[-1])


def test_a_turn_of_a_loop_takes_its_median_time(make: Any, tmp_path: Path) -> None:
    """One preempted sample in five makes the mean six times the median."""
    maker = make.Maker(tmp_path / "p.db")
    for slow in (40e6, 50e6, 60e6):
        text = json.loads(make.poke_text([1.31e6] * 80 + [slow] * 20, target="compute", op="muladd", size=0))
        result = text["results"][0]
        result |= {"iterations": 10**6, "ns_per_iteration": result["mean_ns"] / 10**6}
        maker.add(
            "loop", "poke", {"target": "compute", "loop": "muladd", "iterations": 10**6}, json.dumps(text)
        )
    path = maker.write()

    built = build.build(load([path]))
    (totals,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id == "totals-loop"]
    (row,) = totals.tables[0].rows
    assert (cell(totals.tables[0].columns, row, "Time"), row[4]) == ("per turn, median", "1.31 ns")
    assert compared(path)["compute muladd time per iteration p50"] == pytest.approx(1.31)
    (found,) = [v for k, v in kept(path).items() if "time_per_iteration" in k and "p50" in k]
    assert found == pytest.approx(1.31e-9)


def fio_repeats(make: Any, path: Path) -> tuple[Path, list[list[int]]]:
    """Three repeats of the two jobs of a fixture, each slower by its own factor, the I/Os of the second job fewer each time."""
    document = json.loads((FIXTURES / "jsonplus_two_jobs_lat.out").read_text())
    maker, runs = make.Maker(path), []
    for factor in (1, 3, 4):
        text, samples = json.loads(json.dumps(document)), []
        for job in text["jobs"]:
            for which in ("lat_ns", "clat_ns"):
                own = job["read"][which]
                own["mean"] *= factor
                own["bins"] = {str(int(middle) * factor): n for middle, n in own["bins"].items()}
                own["percentile"] = {k: v * factor for k, v in own["percentile"].items()}
            job["read"]["iops"] *= 1 + (factor == 3) * len(runs)
            samples += [int(middle) for middle, n in job["read"]["lat_ns"]["bins"].items() for _ in range(n)]
        maker.add("s", "fio", {"rw": "randread", "iodepth": 1}, json.dumps(text))
        runs.append(sorted(samples))
    return maker.write(), runs


def test_fios_quantiles_are_one_value_over_repeats(make: Any, tmp_path: Path) -> None:
    path, runs = fio_repeats(make, tmp_path / "f.db")
    by_run = [{n.name.quantity: n.value for n in numbers(found)} for found in load([path]).good("fio")]

    figure, tails = figures(path)
    (row,), (tail,) = figure.numbers[0].rows, tails.numbers[0].rows
    of = {name: statistics.median(own[name] for own in by_run) for name in by_run[0]}
    together = rank(sorted(itertools.chain(*runs)), 0.5)  # type: ignore[arg-type]
    assert abs(together / of["latency p50"] - 1) > 0.02
    for name, column, listed in (("latency p50", "p50 latency, µs", "Median"), ("latency p99", "p99 latency, µs", "99 %"), ("latency mean", "Mean latency, µs", "Mean")):  # fmt: skip
        scale = fmt.Scale(factor=1e3, unit="µs")
        assert cell(figure.numbers[0].columns, row, column).split(" (")[0] == scale.number(of[name])
        assert cell(tails.numbers[0].columns, tail, listed).split(" (")[0] == fmt.quantity(of[name], "ns")
        assert compared(path)[f"read {name}"] == pytest.approx(of[name])
    rate, mean = fmt.quantity(of["IOPS"], "IOPS"), fmt.quantity(of["latency mean"], "ns")
    assert f"read {rate} ±50 %, mean lat {mean}" in run("show", path)


# --- every fixture with a latency --------------------------------------------------------------------------

WITH_LATENCY = [
    (tool, path.stem) for tool in ("fio", "poke") for path in sorted((FIXTURES.parent / tool).glob("*.out"))
]


@pytest.mark.parametrize(("tool", "case"), WITH_LATENCY)
@pytest.mark.slow
def test_every_place_has_the_same_latency_of_a_fixture(tool: str, case: str, tmp_path: Path) -> None:
    """Tables, key numbers, terminal, compare and OpenMetrics of one text, by the names that they give."""
    taken = CliRunner().invoke(cli, ["parse", str(FIXTURES.parent / tool / f"{case}.out"), "-o", str(tmp_path / "a.db")])  # fmt: skip
    if taken.exit_code:
        pytest.skip("a text without a number")
    results = load([tmp_path / "a.db"])
    (one,) = results.good(tool)
    if one.void:
        pytest.skip("its own check calls it wrong, and nothing is compared with it")
    told = {n.name: n.value for n in numbers(one) if "latency" in n.name.metric}
    listed, exported = compared(tmp_path / "a.db"), kept(tmp_path / "a.db")
    shown = [f for s in build.build(results).sections for b in s.blocks if b.tool == tool for f in b.figures]
    tables = [table for figure in shown for table in (*figure.tables, *figure.numbers)]
    parts = list(dict.fromkeys(name.part for name in told))
    step = printed([one]) if tool == "fio" else None

    assert told or case.startswith("err_")
    for name, value in told.items():
        assert listed[name.words] == value
        assert any(v == pytest.approx(value * 1e-9, rel=1e-9) for v in exported.values())
        for table in tables:
            for column in table.columns:
                if (unit := unit_of(column, name.statistic)) is None:
                    continue
                row = row_of(table.rows, parts, name.part)
                want = fmt.Scale(factor=FACTORS[unit], unit=unit).number(value, step=step) if unit else fmt.quantity(value, "ns")  # fmt: skip
                assert cell(table.columns, row, column).split(" (")[0] == want
    leads = [v for name, v in told.items() if name.statistic == ("p50" if tool == "poke" else "mean")]
    if len(leads) == 1:
        assert fmt.quantity(leads[0], "ns", step=step) in run("show", tmp_path / "a.db")


FACTORS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


def unit_of(column: str, statistic: str) -> str | None:
    """Return the unit in which a column gives a statistic: "" where each cell has its own; None of another column."""
    if column == {"p50": "Median", "p99": "99 %", "p99.9": "99.9 %", "mean": "Mean"}.get(statistic):
        return ""
    words, _, unit = column.partition(", ")
    return unit if unit in FACTORS and words.lower().startswith(f"{statistic} ") else None


def row_of(rows: Any, parts: list[Any], part: Any) -> Any:
    """Return the row of an operation or a direction: "randrw 70:30, reads"; of several, in the order of the text."""
    direction = dict(part).get("direction")
    named = [row for row in rows if direction and f"{direction}s" in row[0]]
    return named[0] if named else rows[parts.index(part)]


# --- MLC, STREAM, IMB --------------------------------------------------------------------------------------
#
# Four repeats whose medians of the parts are not the parts of the medians: another rule gives another number. The expected values
# are computed here, from the figures that go into the texts.


def medians_of(repeats: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(one[name] for one in repeats) for name in repeats[0]}


def of_exposition(path: Path, family: str) -> list[float]:
    lines = run("export", path, "--openmetrics").splitlines()
    return [float(line.split()[-1]) for line in lines if line.startswith(f"{family}{{")]


def of_compare(path: Path, other: Path) -> dict[str, float]:
    """Return metric → the median of A, of a metric with several rows that of the first."""
    said = json.loads(run("compare", path, other, "--format", "json"))
    return {one["metric"]: one["a"]["median"] for one in reversed(said["cells"])}


def page_of(path: Path, tool: str) -> tuple[dict[str, str], list[Figure]]:
    built = build.build(load([path]))
    numbers = {n.name: f"{n.value} {n.unit}" for n in built.key_numbers}
    return numbers, [f for s in built.sections for b in s.blocks if b.tool == tool for f in b.figures]


MLC_REPEATS = [
    [(0, 250.0, 6000.0), (100, 120.0, 5000.0), (500, 90.0, 4000.0), (5000, 80.0, 700.0)],
    [(0, 150.0, 3000.0), (100, 140.0, 4400.0), (500, 95.0, 3500.0), (5000, 90.0, 700.0)],
    [(0, 160.0, 4000.0), (100, 130.0, 3900.0), (500, 92.0, 3000.0), (5000, 85.0, 700.0)],
    [(0, 170.0, 4100.0), (100, 150.0, 4100.0), (500, 93.0, 4900.0), (5000, 86.0, 700.0)],
]


def mlc_file(make: Any, path: Path) -> Path:
    maker = make.Maker(path, host=path.stem)
    for rows in MLC_REPEATS:
        maker.add("s", "mlc", {"mode": "loaded_latency"}, make.mlc_text(rows))
    written: Path = maker.write()
    return written


def test_a_floor_and_a_peak_are_one_number_everywhere(make: Any, tmp_path: Path) -> None:
    path, other = mlc_file(make, tmp_path / "a.db"), mlc_file(make, tmp_path / "b.db")
    want = medians_of([{"floor": rows[3][1], "peak": max(r[2] for r in rows)} for rows in MLC_REPEATS])
    of_medians = max(statistics.median(rows[i][2] for rows in MLC_REPEATS) for i in range(4))

    assert of_medians != want["peak"]  # the peak of the medians is another number
    keys, drawn = page_of(path, "mlc")
    (offers,) = [table for figure in drawn for table in figure.tables if "Unloaded, ns" in table.columns]
    row = dict(zip(offers.columns, offers.rows[0], strict=True))
    assert (row["Unloaded, ns"], row["Peak, GB/s"].split(" (")[0]) == (
        f"{want['floor']:.1f} *",
        f"{want['peak'] / 1e3:.2f}",
    )
    assert keys["Memory, idle"] == f"{want['floor']:.1f} ns"
    assert keys["Memory, under load"] == f"{want['peak'] / 1e3:.2f} GB/s"
    assert f"unloaded {want['floor']:.1f} ns, peak {want['peak'] / 1e3:.2f} GB/s" in run("show", path)
    compared = of_compare(path, other)
    assert compared["unloaded latency"] == want["floor"]
    assert compared["peak bandwidth"] == pytest.approx(want["peak"] * 1e6)
    assert of_exposition(path, "pinsweep_mlc_unloaded_latency_seconds") == [
        pytest.approx(want["floor"] * 1e-9)
    ]
    assert of_exposition(path, "pinsweep_mlc_peak_bandwidth_bytes_per_second") == [pytest.approx(want["peak"] * 1e6)]  # fmt: skip


def test_a_triad_is_one_number_everywhere(make: Any, tmp_path: Path) -> None:
    rates = (20000.0, 21000.0, 23000.0, 30000.0)
    paths = []
    for name in ("a.db", "b.db"):
        maker = make.Maker(tmp_path / name, host=name)
        for rate in rates:
            maker.add("s", "stream", {"threads": 2}, make.stream_text(rate, 2))
        paths.append(maker.write())
    want = statistics.median(rates) / 1e3

    keys, (figure,) = page_of(paths[0], "stream")
    *_, cell = figure.panels[0].wide["datasets"]["rows"]
    assert keys["STREAM Triad"] == f"{want:.1f} GB/s"
    assert cell["x"] == pytest.approx(want)
    assert f"triad {want:.1f} GB/s" in run("show", paths[0])
    assert of_compare(*paths)["triad bandwidth"] == pytest.approx(want * 1e9)
    lines = run("export", paths[0], "--openmetrics").splitlines()
    (said,) = [
        line for line in lines if line.startswith("pinsweep_stream_bandwidth") and 'kernel="triad"' in line
    ]
    assert float(said.split()[-1]) == pytest.approx(want * 1e9)


def imb_file(make: Any, path: Path) -> Path:
    """Peaks at sizes that differ from run to run: 12, 11, 14 and 13 GB/s."""
    maker = make.Maker(path, host=path.stem)
    for zero, best, speed in ((0.19, 18, 12e3), (0.21, 20, 11e3), (0.20, 22, 14e3), (0.26, 16, 13e3)):
        times = {0: zero} | {2**p: zero + 2**p / 6e3 for p in range(23)}
        times[2**best] = 2**best / speed
        maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text(times))
    written: Path = maker.write()
    return written


def test_a_message_without_bytes_and_a_peak_are_one_number_everywhere(make: Any, tmp_path: Path) -> None:
    path, other = imb_file(make, tmp_path / "a.db"), imb_file(make, tmp_path / "b.db")

    keys, (figure,) = page_of(path, "imb")
    assert keys["MPI, one way"] == "205 ns"
    assert figure.title == "Message passing: time and bandwidth"  # its repeats are far apart
    assert figure.numbers[0].rows[0][1] == "205 ns"
    assert figure.numbers[0].rows[0][3] == "12.5 GB/s"
    assert "0 B in 205 ns, peak 12.5 GB/s" in run("show", path)
    compared = of_compare(path, other)
    assert next(v for name, v in compared.items() if name.startswith("PingPong time")) == pytest.approx(
        205
    )  # of the first size
    assert compared["peak bandwidth"] == pytest.approx(12.5e9, rel=1e-3)
    assert of_exposition(path, "pinsweep_imb_peak_bandwidth_bytes_per_second") == [pytest.approx(12.5e9, rel=1e-3)]  # fmt: skip


def uneven(make: Any, path: Path) -> Path:
    """Each repeat has its peak at another depth, 20 k twice and 21 k; the depth with the highest median has 18.5 k."""
    maker = make.Maker(path, host=path.stem)
    for depth, rates in (
        (1, (8e3,) * 3),
        (4, (17e3, 20e3, 18e3)),
        (16, (20e3, 18.5e3, 17e3)),
        (64, (17e3, 16e3, 21e3)),
    ):
        for iops in rates:
            text = make.fio_text({"read": (iops, depth / iops * 1e6)}, bs="4k", rw="randread", iodepth=depth)
            maker.add("s", "fio", {"rw": "randread", "iodepth": depth}, text, axes=("iodepth",))
    written: Path = maker.write()
    return written


def test_a_peak_is_of_one_depth_everywhere(make: Any, tmp_path: Path) -> None:
    path = uneven(make, tmp_path / "a.db")

    keys, (figure, *_) = page_of(path, "fio")
    (offers,) = [table for table in figure.tables if "Most kIOPS" in table.columns]
    said = dict(zip(offers.columns, offers.rows[0], strict=True))
    assert (said["Most kIOPS"], said["at depth"]) == ("18.5", "16")
    assert keys["Storage, 4 KiB random reads"] == "18.5 kIOPS"
    found = compared(path)
    assert found["read peak IOPS"] == pytest.approx(18.5e3)
    assert "18.5 k" in run("show", path)
    assert said["95 % from depth"] == "4 to 64"  # of each repeat
    assert "ing: 95 %" not in figure.sub
    assert figure.title == "IOPS and latency over iodepth"


@pytest.mark.parametrize(("low", "aside"), [(900, False), (1050, True)])
def test_samples_on_one_side_of_the_iops_are_explained(
    make: Any, tmp_path: Path, low: int, aside: bool
) -> None:
    """A run of a second said 18 640 IOPS, and 19 180 at least."""
    maker = make.Maker(tmp_path / "a.db")
    text = make.fio_text({"read": (1000.0, 1000.0)}, bs="4k", rw="randread", iodepth=1, samples={"read": (low, 1100)})  # fmt: skip
    maker.add("s", "fio", {"rw": "randread", "iodepth": 1}, text)

    _, (figure, *_) = page_of(maker.write(), "fio")

    (caption,) = [table.caption for table in (*figure.tables, *figure.numbers) if "IOPS min" in table.columns]
    assert ("and they can all lie on one side of its IOPS" in caption) is aside


def within_limit(path: Path, limit: str) -> tuple[str, str]:
    """Return what fio's table offers within a limit on p99, and its caption."""
    _, (figure, *fans) = page_of(path, "fio")
    (offers,) = [table for table in figure.tables if "Most kIOPS" in table.columns]
    assert not any(table for fan in fans for table in fan.tables), "one table says it"
    return offers.rows[0][offers.columns.index(f"kIOPS at p99 ≤ {limit}")], offers.caption


def test_iops_within_a_limit_are_one_number_everywhere(make: Any, tmp_path: Path) -> None:
    path, other = uneven(make, tmp_path / "a.db"), uneven(make, tmp_path / "b.db")

    rows = json.loads(run("compare", path, other, "--slo", "3ms", "--format", "json"))["cells"]
    (within,) = [row["a"]["median"] for row in rows if row["metric"].endswith("IOPS at p99 ≤ 3 ms")]
    assert within == 18.5e3
    said, caption = within_limit(path, "10 ms")
    assert said == "≥ most"  # 18.5 kIOPS, beside it
    assert caption.endswith(
        "“≥ most”: kept at every depth; 95 %: from one depth to another as the repeats differ"
    )


def test_iops_within_a_limit_are_of_one_depth(make: Any, tmp_path: Path) -> None:
    """ "119 kIOPS" within 1 ms stood above 117.5 of the best depth that kept it: one repeat was best at 4, the other at 16."""
    maker = make.Maker(tmp_path / "r.db")
    for depth, latency, of in (
        (4, 34, (115e3, 120e3)),
        (16, 136, (118e3, 116e3)),
        (64, 5300, (121e3, 124e3)),
    ):
        for iops in of:
            text = make.fio_text({"read": (iops, latency)}, bs="4k", rw="randread", iodepth=depth)
            maker.add("s", "fio", {"rw": "randread", "iodepth": depth}, text, axes=("iodepth",))

    said, caption = within_limit(maker.write(), "1 ms")

    assert said == "118 at 4"
    assert ", of the depths that were tested and keep it in every repeat, and at which" in caption


def test_a_limit_is_kept_where_every_repeat_keeps_it(make: Any, tmp_path: Path) -> None:
    """ "≥ 58.8 kIOPS" was the mean of 18.3 at depth 1 and 99.4 at 32; "99.4 at 32 in 1 of 2" was the best repeat's; compare has neither."""
    paths = []
    for name in ("a", "b"):
        maker = make.Maker(tmp_path / f"{name}.db", host=name)
        for depth, of in ((1, ((18.3e3, 55), (21.3e3, 48))), (8, ((40e3, 900), (54e3, 150))), (32, ((79e3, 950), (99.4e3, 320)))):  # fmt: skip
            for iops, latency in of:
                text = make.fio_text({"read": (iops, latency)}, bs="4k", rw="randread", iodepth=depth)
                maker.add("s", "fio", {"rw": "randread", "iodepth": depth}, text, axes=("iodepth",))
        paths.append(maker.write())

    assert within_limit(paths[0], "1 ms")[0] == "19.8 at 1"
    assert "IOPS at p99" not in run("compare", *paths, "--slo", "1ms", "--format", "json")


# --- what only some repeats have ---------------------------------------------------------------------------

WITHIN = "bandwidth within 2 × unloaded latency at traffic read"


def partly(make: Any, path: Path, tool: str, repeats: list[str]) -> Path:
    maker = make.Maker(path, host=path.stem)
    for text in repeats:
        maker.add("s", tool, {"rw": "randread"} if tool == "fio" else {}, text)
    written: Path = maker.write()
    return written


def fio_of(make: Any, iops: float) -> str:
    text: str = make.fio_text({"read": (iops, 90.0)}, bs="4k", rw="randread", iodepth=1)
    return text


@pytest.mark.parametrize(
    ("tool", "number", "family", "said"),
    [
        ("fio", "read latency p99", "pinsweep_fio_latency_seconds", "2 of 3"),
        ("imb", "PingPong time at 4 KiB", "pinsweep_imb_time_seconds", "2 of 3"),
        ("mlc", WITHIN, "pinsweep_mlc_bandwidth_within_2_x_unloaded_latency_bytes_per_second", "1 of 4"),
    ],
)
def test_what_only_some_repeats_have_stands_for_no_cell(
    make: Any, tmp_path: Path, tool: str, number: str, family: str, said: str
) -> None:
    """A run with few I/Os has no p99, one that was cut no large message, one whose load never doubled the latency a bound."""
    times = {0: 0.5} | {2**p: 0.5 + 2**p / 1e4 for p in range(12)}
    some = {
        "fio": [fio_of(make, iops) for iops in (1e4, 20.0, 1e4)],
        "imb": [make.imb_text(times | ({} if cut else {4096: 0.9})) for cut in (False, True, False)],
        "mlc": [make.mlc_text(rows) for rows in MLC_REPEATS],
    }[tool]
    part = partly(make, tmp_path / "part.db", tool, some)
    whole = partly(make, tmp_path / "whole.db", tool, [some[0]] * len(some))
    told = {"fio": '"p99"', "imb": '"4096"', "mlc": ""}[tool]

    def exported(path: Path) -> list[str]:
        lines = run("export", path, "--openmetrics").splitlines()
        return [x for x in lines if x.startswith(f"{family}{{") and told in x]

    assert len(exported(whole)) == 1
    assert exported(part) == []
    for a, b, side in ((part, whole, "A"), (whole, part, "B")):
        found = json.loads(run("compare", a, b, "--format", "json"))
        assert number not in {
            f"{c['metric']} at {c['row']}" if c["row"] else c["metric"] for c in found["cells"]
        }
        assert [(u["side"], u["reason"]) for u in found["unmatched"]] == [
            ("both", f"only {said} repeats of {side} have {number}")
        ]
        assert f"s: only {said} repeats of {side} have" in " ".join(run("compare", a, b).split())
        assert f"s: only {said} repeats of {side} have {number}" in run(
            "compare", a, b, "--format", "markdown"
        ).replace("\\", "")


def test_show_says_nothing_of_a_cell_that_only_some_repeats_say(make: Any, tmp_path: Path) -> None:
    times = {0: 0.5} | {2**p: 0.5 + 2**p / 1e4 for p in range(12)}
    cut = {size: t for size, t in times.items() if size}
    imb = partly(make, tmp_path / "i.db", "imb", [make.imb_text(one) for one in (times, cut, times)])
    rates = {"read": (1e4, 90.0)}, {"read": (1e4, 90.0), "write": (1e3, 90.0)}
    mixed = [make.fio_text(one, bs="4k", rw="randrw", iodepth=1) for one in (rates[1], rates[0])]
    fio = partly(make, tmp_path / "f.db", "fio", mixed)

    assert "0 B in" not in run("show", imb)
    assert "  peak " in run("show", imb)
    assert "read 10.0 kIOPS" in run("show", fio)


def test_a_load_that_never_doubled_the_latency_gives_a_bound_and_no_number(make: Any, tmp_path: Path) -> None:
    path = partly(make, tmp_path / "a.db", "mlc", [make.mlc_text(MLC_REPEATS[1])] * 3)
    assert "within_2_x" not in run("export", path, "--openmetrics")
    _, drawn = page_of(path, "mlc")
    (offers,) = [table for figure in drawn for table in figure.tables if "Unloaded, ns" in table.columns]
    assert any(cell.startswith("≥") for cell in offers.rows[0])


# --- cells that nothing drawn tells apart ------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["fio", "imb", "mlc", "stream"])
def test_cells_that_nothing_drawn_tells_apart_are_not_pooled(make: Any, tmp_path: Path, tool: str) -> None:
    """Two cells of one option that is drawn within a panel, whose texts tell the same: rwmixread of pure reads, threads that were not
    started, a -W that the text denies."""
    rows = [(0, 160.0, 50e3), (100, 90.0, 20e3), (500, 80.0, 9e3), (5000, 80.0, 2e3)]
    texts = {
        "fio": lambda n: fio_of(make, 1e4 * n),
        "imb": lambda n: make.imb_text({0: 0.5 * n, 8: 0.5 * n, 64: 0.6 * n}),
        "mlc": lambda n: make.mlc_text([(delay, ns, rate * n) for delay, ns, rate in rows]),
        "stream": lambda n: make.stream_text(1e4 * n, 4),
    }
    axis, values = {"fio": ("rwmixread", (30, 70)), "imb": ("benchmark", ("PingPong", "PingPing")), "mlc": ("W", (3, 5)), "stream": ("threads", (1, 2))}[tool]  # fmt: skip
    maker = make.Maker(tmp_path / "r.db")
    for n, value in enumerate(values):
        maker.add("s", tool, {axis: value}, texts[tool](n + 1), axes=(axis,))

    _, drawn = page_of(maker.write(), tool)

    assert all(len(figure.panels) >= 2 for figure in drawn if figure.panels)
    tables = [table for figure in drawn for table in (*figure.tables, *figure.numbers)]
    assert not [
        cell for table in tables for row in table.rows for cell in row if re.search(r"\(.*–.*\)", cell)
    ]
