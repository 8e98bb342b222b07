"""Two sides compared: verdicts where they belong, and nothing dropped silently."""

from __future__ import annotations

import itertools
import math
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from parsers.errors import UserError
from reports.compare.comparison import Ask, Comparison, compare
from reports.compare.sides import levels, side
from reports.measurements import records
from reports.results.load import load
from tests.reports.compare.conftest import RATE, command_file, of, rows, stream_file


def unmatched(found: Comparison, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for row in records(found.unmatched)]


def test_what_is_slower_regressed_and_nothing_else(slow_remote: Comparison) -> None:
    cells = [row for row in rows(slow_remote) if not row["name"].derived]

    assert len(cells) == 4 * 2 * 4
    assert {row["axes"]["place"] for row in cells if row["verdict"] == "regressed"} == {"remote"}
    assert sum(row["verdict"] == "regressed" for row in cells) == 16
    assert "improved" not in {row["verdict"] for row in cells}
    first = rows(slow_remote)[0]
    assert first["ratio"] == pytest.approx(0.9, abs=0.01)
    assert first["low"] < first["ratio"] < first["high"]


def test_the_fingerprint_has_what_differs(slow_remote: Comparison) -> None:
    found = slow_remote.fingerprint

    assert [(d.what, d.a, d.b) for d in found.differences] == [("kernel", "6.1.0-18-amd64", "6.1.0-21-amd64")]
    assert "processor" in found.agreed
    assert "firmware version" in found.unknown


def test_commands_and_hosts_that_differ_are_facts(make: Any, tmp_path: Path) -> None:
    sides = []
    for name, command, host in (("A", "prog --size=1G", "n1"), ("B", "prog --size=2G", "n2")):
        maker = make.Maker(tmp_path / f"{name}.db", host=host)
        maker.add("s", "command", {"command": command, "metrics": RATE}, "rate 3\n")
        sides.append(of(name, maker.write()))

    facts = {(d.what, d.a, d.b) for d in compare(*sides, Ask(ignore=("command",))).fingerprint.differences}

    assert ("host", "n1", "n2") in facts
    assert ("command (ignored)", "prog --size=1G", "prog --size=2G") in facts


def test_derived_numbers_have_a_family_of_their_own(slow_remote: Comparison) -> None:
    derived = {(row["name"].title, row["axes"]["place"]): row for row in rows(slow_remote) if row["name"].derived}

    assert {row["family"] for row in derived.values()} == {"stream, derived"}
    peak = derived["triad peak bandwidth", "remote"]
    assert (peak["verdict"], len(peak["a"]), len(peak["pairs"])) == ("regressed", 5, 4)


def test_sides_change_places(before: Path, after: Path, slow_remote: Comparison) -> None:
    """What regressed from A to B has improved from B to A, by the same ratio."""
    there = {(row["cell"], row["name"]): row for row in rows(slow_remote)}
    back = {(row["cell"], row["name"]): row for row in rows(compare(of("A", after), of("B", before)))}

    mirrored = {"regressed": "improved", "improved": "regressed"}
    verdicts = {key: row["verdict"] for key, row in back.items()}
    assert {key: mirrored.get(row["verdict"], row["verdict"]) for key, row in there.items()} == verdicts
    for key, row in there.items():
        assert row["ratio"] * back[key]["ratio"] == pytest.approx(1)


def test_an_unchanged_machine_is_not_accused(before: Path, again: Path) -> None:
    found = compare(of("A", before), of("B", again))

    assert found.counts["regressed"] + found.counts["improved"] == 0
    assert found.counts["same"] > 0.8 * len(found.verdicts)


# --- failed runs -------------------------------------------------------------------------------------------


def test_cells_of_which_more_runs_failed_are_rows(make: Any, tmp_path: Path) -> None:
    """Of cells 1 to 4 runs of B failed, of 3 half of them, of 4 as many of A; of 5 none did."""
    bad = {"a": {4: 1}, "b": {1: 4, 2: 4, 3: 2, 4: 1}}
    sides = []
    for name, failed in bad.items():
        cells = [
            ({"n": n}, "failed" if repeat < failed.get(n, 0) else "ok", "" if repeat < failed.get(n, 0) else f"rate {n}.{repeat}\n")
            for n, repeat in itertools.product(range(1, 6), range(4))
        ]  # fmt: skip
        sides.append(of(name.upper(), command_file(make, tmp_path / f"{name}.db", cells)))

    found = compare(*sides)

    assert found.failures.to_numpy().tolist() == [
        ["B", "s", "n=1", "no memory", 0, 4, 4, 4],
        ["B", "s", "n=2", "no memory", 0, 4, 4, 4],
        ["B", "s", "n=3", "no memory", 0, 4, 2, 4],
    ]
    assert unmatched(found, "side", "cell", "reason", "detail") == [
        ("A", "n=1", "failed", "no memory"),
        ("A", "n=2", "failed", "no memory"),
    ]
    words = ("regressed", "failed", "unmatched", "improved")
    assert [found.fails({word}) for word in words] == [True, True, True, False]
    turned = compare(*(of(name, *one.results.paths.values()) for name, one in zip("AB", sides[::-1], strict=True)))
    assert [turned.fails({word}) for word in words] == [False, False, True, False]


@pytest.mark.parametrize("ignore", [(), ("file",)])
def test_a_cell_whose_runs_all_failed_has_the_reason_however_it_is_matched(
    make: Any, tmp_path: Path, ignore: tuple[str, ...]
) -> None:
    sides = []
    for name in ("a", "b"):
        cells = [
            (
                {"n": n, "file": f"/{name}"},
                *(("failed", "") if (name, n) == ("b", 2) else ("ok", f"rate {n}\n")),
            )
            for n, _ in itertools.product((1, 2), range(3))
        ]
        sides.append(of(name.upper(), command_file(make, tmp_path / f"{name}.db", cells)))

    found = compare(*sides, Ask(ignore=ignore))

    assert unmatched(found, "side", "reason", "detail") == [("A", "failed", "no memory")]
    assert found.failures[["side", "failed_b", "runs_b"]].to_numpy().tolist() == [["B", 3, 3]]


def test_cells_of_which_neither_side_has_a_number_are_rows(make: Any, tmp_path: Path) -> None:
    sides = []
    for name in "AB":
        cells = [({"n": 1}, "ok", f"rate {100 + r}\n") for r in range(3)] + [({"n": 2}, "disturbed", "")] * 3
        cells += [({"n": 3}, "failed", "")] if name == "A" else []
        sides.append(of(name, command_file(make, tmp_path / f"{name}.db", cells)))

    found = compare(*sides)

    assert unmatched(found, "side", "cell", "reason", "kind") == [
        ("neither", "n=2", "disturbed", "cell"),
        ("A", "n=3", "failed", "numberless"),
    ]


def test_a_side_whose_runs_all_failed_is_compared_and_fails(make: Any, tmp_path: Path) -> None:
    a = of("A", command_file(make, tmp_path / "a.db", [({}, "ok", "rate 100\n")] * 3))
    b = of(
        "B",
        command_file(make, tmp_path / "b.db", [({}, "failed", "")] * 3, facts={**make.FACTS, "kernel": "new"}),
    )

    found = compare(a, b)

    assert found.verdicts.empty
    assert found.fails({"regressed"})
    assert [d.what for d in found.fingerprint.differences] == ["kernel"]
    with pytest.raises(UserError, match="has no runs with a valid result"):
        compare(b, of("B", tmp_path / "b.db"))


# --- which runs count --------------------------------------------------------------------------------------


def test_one_run_a_side_gives_values_and_no_verdict(make: Any, tmp_path: Path) -> None:
    a = stream_file(make, tmp_path / "a.db", lambda *_: 1.0, repeats=1)
    b = stream_file(make, tmp_path / "b.db", lambda *_: 0.5, repeats=1)

    found = compare(of("A", a), of("B", b))

    assert {row["verdict"] for row in rows(found)} == {""}
    assert sum(found.counts.values()) == 0
    assert not found.fails({"regressed"})
    assert found.fails({"inconclusive"})  # nothing is known


def test_disturbed_runs_are_left_out_if_only_quiet_ones_count(
    make: Any, before: Path, again: Path, tmp_path: Path
) -> None:
    maker = make.Maker(Path(shutil.copy(before, tmp_path / "a.db")))
    for status in ("disturbed", "misplaced"):
        for _ in range(2):
            maker.add("scaling", "stream", {"threads": 8}, make.stream_text(1.0, 8), axes=("threads", "place"), place="local", relation="local", status=status)  # fmt: skip
    disturbed = side("A", "A", load([maker.write()], include="quiet"))

    found = compare(disturbed, of("B", again))

    assert found.a.runs["cause"].value_counts().to_dict() == {"": 40, "disturbed": 2, "misplaced": 2}
    assert {row["axes"].get("threads") for row in rows(found)} == {1, 2, 3, 4, None}


def test_runs_that_failed_their_own_check_are_left_out(make: Any, tmp_path: Path) -> None:
    valid = "Solution Validates: avg error less than 1.000000e-13 on all three arrays"
    sides = []
    for name, rate in (("A", 20e3), ("B", 30e3)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for i, threads in itertools.product(range(3), (1, 2)):
            text = make.stream_text(rate + i, threads)
            bad = text.replace(valid, "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)")
            maker.add("s", "stream", {"threads": threads}, bad if name == "B" and threads == 2 else text, axes=("threads",))  # fmt: skip
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert {row["cell"] for row in rows(found)} == {"threads=1"}
    assert unmatched(found, "side", "cell", "reason") == [("A", "threads=2", "invalid")]


# --- what has no partner -----------------------------------------------------------------------------------


def test_a_number_of_some_repeats_stands_for_no_cell(make: Any, tmp_path: Path) -> None:
    metrics = {**RATE, "more": {"regex": r"more ([\d.]+)", "better": "lower"}}
    sides = []
    for name in "AB":
        paths = []
        for i in range(2):
            maker = make.Maker(tmp_path / f"{name}{i}.db")
            maker.started = f"2026-11-2{i}T09:15:02+00:00"
            text = "rate 5\nmore 3\n" if i or name == "B" else "rate 5\n"
            paths.append(maker.add("s", "command", {"command": ["x"], "metrics": metrics}, text).write())
        sides.append(of(name, *paths))

    found = compare(*sides)

    assert {row["name"].metric for row in rows(found)} == {"rate"}
    assert unmatched(found, "side", "numbers", "reason", "detail") == [("both", "more", "not in every repeat", "1 of 2 repeats of A")]  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"better": "lower"}, {"better": "lower", "unit": "ms"}),
        ({"better": "lower"}, {"better": "higher"}),
    ],
)
def test_numbers_of_other_units_or_directions_are_not_compared(
    make: Any, tmp_path: Path, a: dict[str, str], b: dict[str, str]
) -> None:
    sides = []
    for name, spec in (("A", a), ("B", b)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for i in range(2):
            options = {"command": ["x"], "metrics": {"took": {"regex": r"took (\S+)", **spec}}}
            maker.add("s", "command", options, f"took 1{i}\n")
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert found.verdicts.empty
    assert unmatched(found, "side", "numbers", "reason") == [("both", "took", "other unit or direction")]


def test_a_unit_that_was_mended_is_no_regression(make: Any, tmp_path: Path) -> None:
    """us, then ms, of a program that prints the same: both are times."""
    sides = []
    for name, unit in (("A", "us"), ("B", "ms")):
        maker = make.Maker(tmp_path / f"{name}.db")
        for i in range(2):
            options = {
                "command": ["x"],
                "metrics": {"took": {"regex": r"took (\S+)", "unit": unit, "better": "lower"}},
            }
            maker.add("s", "command", options, f"took 1{i}\n")
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert found.verdicts.empty
    assert unmatched(found, "numbers", "reason", "detail") == [("took", "other unit", "A us, B ms")]


def test_two_units_of_one_metric_are_two_families(make: Any, tmp_path: Path) -> None:
    sides = []
    for name in "AB":
        maker = make.Maker(tmp_path / f"{name}.db")
        for sweep, unit in (("s", "ms"), ("t", "1/s")):
            for i in range(2):
                options = {
                    "command": ["x"],
                    "metrics": {"v": {"regex": r"v (\S+)", "unit": unit, "better": "lower"}},
                }
                maker.add(sweep, "command", options, f"v 1{i}\n")
        sides.append(of(name, maker.write()))

    assert {row["family"] for row in rows(compare(*sides))} == {"command v, ns", "command v, 1/s"}


def test_a_metric_without_a_direction_is_named(make: Any, tmp_path: Path) -> None:
    sides = []
    for name in "AB":
        maker = make.Maker(tmp_path / f"{name}.db")
        options = {"command": ["x"], "metrics": {"count": {"regex": r"count (\d+)"}}}
        sides.append(of(name, maker.add("s", "command", options, "count 7\n").write()))

    found = compare(*sides)

    assert (found.undirected, len(found.verdicts), len(found.unmatched)) == (("count",), 0, 0)


def test_a_tool_and_its_kernel_are_not_compared_unless_wanted(make: Any, tmp_path: Path) -> None:
    sides = []
    for name in "AB":
        maker = make.Maker(tmp_path / f"{name}.db")
        if name == "B":
            maker.programs = {"stream": {"name": "stream", "stand_in": True, "version": "0.2"}}
        for i in range(2):
            maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3 + i, 1))
        sides.append(of(name, maker.write()))

    with pytest.raises(UserError, match="not the same program") as error:
        compare(*sides)

    assert "--across-programs" in error.value.hint
    assert len(compare(*sides, Ask(across_programs=True)).programs) == 1


def test_sides_with_the_same_two_programs_are_compared(make: Any, tmp_path: Path) -> None:
    sides = []
    for name in "AB":
        maker = make.Maker(tmp_path / f"{name}.db").add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1))
        kernel = Path(__file__).parents[2] / "fixtures/mlc/memlat_0.1_six_runs.out"
        maker.add("kernel", "mlc", {"mode": "idle_latency"}, kernel.read_text("utf-8"))
        maker.add("mlc", "mlc", {"mode": "latency_matrix"}, make.matrix_text([[80.1]]))
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert (len(found.programs), len(found.unmatched)) == (0, 0)


# --- what is wanted ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "planned", "sides"),
    [
        ("mode", ("old", "new"), ["mode=old", "mode=new"]),
        ("mode", ("new", "old"), ["mode=new", "mode=old"]),
        ("n", (8, 2), ["n=2", "n=8"]),
        ("size", ("32k", "4k"), ["size=4k", "size=32k"]),
    ],
)
def test_a_is_the_level_that_the_experiment_has_first(
    axis: str, planned: tuple[Any, ...], sides: list[str], make: Any, tmp_path: Path
) -> None:
    path = command_file(make, tmp_path / "a.db", [({axis: level}, "ok", "rate 5.0\n") for level in planned])

    assert [one.title for one in levels(load([path]), axis, "")] == sides


def test_levels_with_commas_are_typed_as_labels_print_them(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for delays in ((0, 100), (0, 200, 300)):
        text = make.mlc_text([(0, 250.0, 20e3), (100, 140.0, 18e3)])
        maker.add("s", "mlc", {"delays": delays, "mode": "loaded_latency"}, text, axes=("delays", "mode"))
    results = load([maker.write()])

    assert [len(one.runs) for one in levels(results, "delays", "0,100,0,200,300")] == [1, 1]
    with pytest.raises(UserError) as error:
        levels(results, "delays", "0,100")
    assert error.value.hint.endswith("its levels: 0,100; 0,200,300")


def test_a_threshold_of_one_metric(before: Path, after: Path) -> None:
    found = compare(of("A", before), of("B", after), Ask(thresholds={"bandwidth": 0.2}))

    plain = [row for row in rows(found) if not row["name"].derived]
    assert {(row["threshold"], row["verdict"]) for row in plain} == {(0.2, "same")}
    with pytest.raises(UserError) as error:
        compare(of("A", before), of("B", after), Ask(thresholds={"bandwith": 0.2}))
    assert "bandwidth" in error.value.hint


def test_an_option_can_be_ignored_unless_it_tells_cells_apart(make: Any, tmp_path: Path) -> None:
    sides = []
    for name, size in (("A", 1000), ("B", 2000)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for threads, _ in itertools.product((1, 2), range(2)):
            options = {"threads": threads, "array_size": size}
            maker.add("s", "stream", options, make.stream_text(1e4, threads), axes=("threads",))
        sides.append(of(name, maker.write()))

    assert compare(*sides, Ask(ignore=("array_size",))).unmatched.empty
    assert unmatched(compare(*sides), "side", "reason", "detail")[0] == (
        "A",
        "no such cell",
        "array_size: 1000, not 2000",
    )
    with pytest.raises(UserError, match=r"differ in it \(1, 2\)") as error:
        compare(*sides, Ask(ignore=("threads",)))
    assert error.value.hint.startswith("--by threads=1,2")


@pytest.mark.parametrize(("axis", "of_a", "of_b"), [("rw", "randread", "randrw"), ("rwmixread", 90, 10)])
def test_a_mix_has_no_rate_that_another_mix_could_lose_to(
    axis: str, of_a: Any, of_b: Any, make: Any, tmp_path: Path
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    mix = {"read": (300.0, 950.0), "write": (300.0, 900.0)}
    for level, parts in ((of_a, {"read": (1000.0, 900.0)} if axis == "rw" else mix), (of_b, mix)):
        for depth, wobble in itertools.product((1, 4, 16), (1.0, 1.01, 1.02)):
            own = {d: (iops * wobble * depth**0.5, lat) for d, (iops, lat) in parts.items()}
            text = make.fio_text(own, bs="4k", rw="randrw", iodepth=depth)
            maker.add("s", "fio", {axis: level, "iodepth": depth}, text, axes=(axis, "iodepth"))

    found = compare(*levels(load([maker.write()]), axis, f"{of_a},{of_b}"), by=axis)

    assert {row["name"].metric for row in rows(found)} == {"latency"}


def test_the_peaks_of_two_mixes_are_compared(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    curve = [(0, 160.0, 59e3), (100, 90.0, 30e3), (500, 80.0, 6e3), (9000, 78.0, 900.0)]
    for (traffic, by), wobble in itertools.product((("R", 1.0), ("5", 0.8)), (1.0, 1.01, 1.02)):
        own = [(delay, ns, rate * by * wobble) for delay, ns, rate in curve]
        text = make.mlc_text(own, traffic="" if traffic == "R" else traffic)
        maker.add("s", "mlc", {"mode": "loaded_latency", "W": traffic}, text, axes=("W",))

    found = compare(*levels(load([maker.write()]), "W", "R,5"), by="W")

    shifts = {row["name"].words: row["shift"] for row in rows(found) if row["name"].derived}
    assert shifts["peak bandwidth"] == pytest.approx(math.log(1 / 0.8))  # positive: worse
    assert "unloaded latency" in shifts


def test_a_mode_that_moves_is_a_row_though_the_median_stands(make: Any, tmp_path: Path) -> None:
    def samples(hits: float, seed: int) -> list[float]:
        rng = random.Random(seed)
        return [rng.gauss(100, 4) if i < hits * 4000 else rng.gauss(5000, 200) for i in range(4000)]

    reasons = {"reasons": [{"id": "foreign", "text": "others took 40 % of CPU 3"}]}
    sides = []
    for name, hits, seed in (("A", 0.9, 0), ("B", 0.7, 50)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for i in range(4):
            text = make.poke_text(samples(hits, seed + i), target="file")
            maker.add("tails", "poke", {"target": "file"}, text, counters=reasons if name == "B" else {})
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert all(abs(row["ratio"] - 1) < 0.02 for row in rows(found) if row["name"].statistic == "p50")
    modes = [(round(m["share_a"], 2), round(m["share_b"], 2), m["disturbed"]) for m in records(found.modes)]
    assert modes == [(0.9, 0.7, "B"), (0.1, 0.3, "B")]
    assert compare(sides[0], side("B", "A again", sides[0].results)).modes.empty
