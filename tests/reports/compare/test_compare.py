"""Two sides compared: verdicts where they belong, nothing dropped in silence, and every format whole whatever the names hold."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import random
import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from junitparser import Failure, JUnitXml, Skipped

from parsers.errors import UserError
from reports.compare import formats, terminal
from reports.compare import text as texts
from reports.compare.comparison import compare
from reports.compare.matching import Unmatched
from reports.compare.model import Ask, Comparison
from reports.compare.section import delta
from reports.compare.sides import Side, levels, side
from reports.results.load import load

HOSTILE = "<script>alert(1)</script>|\x1b[31m\n::error::x,y:%0A`*_[a](b)\x07 ]]> &"

Rate = Callable[[int, str], float]


def flat(_threads: int, _place: str) -> float:
    return 1.0


def stream_file(
    make: Any, path: Path, rate: Rate, *, host: str = "node07", seed: int = 1, repeats: int = 5, noise: float = 0.003,
    sweep: str = "scaling", **facts: Any,
) -> Path:  # fmt: skip
    """STREAM at 1 to 4 threads, local and remote, with noise from run to run; `rate` scales a cell."""
    rng = random.Random(seed)
    maker = make.Maker(path, host=host)
    maker.facts = {**make.FACTS, **facts}
    for threads in (1, 2, 3, 4):
        for place in ("local", "remote"):
            for _ in range(repeats):
                value = (
                    5000.0 * threads * (0.7 if place == "remote" else 1.0) * rate(threads, place)
                ) * rng.gauss(1, noise)
                text = make.stream_text(value, threads)
                maker.add(
                    sweep, "stream", {"threads": threads}, text, axes=("threads", "place"), place=place, relation=place
                )  # fmt: skip
    written: Path = maker.write()
    return written


def of(name: str, path: Path) -> Side:
    return side(name, path.name, load([path]))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def before(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stream_file(make, tmp_path_factory.mktemp("files") / "before.db", flat)


@pytest.fixture(scope="module")
def again(make: Any, before: Path) -> Path:
    """The same machine, on another day."""
    return stream_file(make, before.with_name("again.db"), flat, seed=2)


@pytest.fixture(scope="module")
def after(make: Any, before: Path) -> Path:
    """10 % less at the remote places, with a new kernel."""
    return stream_file(
        make,
        before.with_name("after.db"),
        lambda _, place: 0.9 if place == "remote" else 1.0,
        seed=2,
        kernel="6.1.0-21-amd64",
    )


@pytest.fixture(scope="module")
def slow_remote(before: Path, after: Path) -> Comparison:
    return compare(of("A", before), of("B", after))


def test_what_is_slower_regressed_and_nothing_else(slow_remote: Comparison) -> None:
    cells = [row for row in slow_remote.rows if not row.derived]

    assert len(cells) == 4 * 2 * 4
    assert {row.labels["place"] for row in cells if row.verdict == "regressed"} == {"remote"}
    assert sum(row.verdict == "regressed" for row in cells) == 16
    assert not [row for row in cells if row.verdict == "improved"]
    row = slow_remote.rows[0]
    assert row.change == pytest.approx(-0.1, abs=0.01)
    assert row.interval is not None
    assert row.interval[0] < row.change < row.interval[1]


def test_the_worst_comes_first(slow_remote: Comparison) -> None:
    shifts = [row.decision.shift or 0.0 for row in slow_remote.of("regressed")]

    assert shifts == sorted(shifts, reverse=True)
    verdicts = [row.verdict for row in slow_remote.rows]
    assert verdicts == sorted(verdicts, key=["regressed", "inconclusive", "same", "improved"].index)


def test_the_level_that_regressed_cells_share_is_named(slow_remote: Comparison) -> None:
    ((remote, local),) = [shared.levels for shared in slow_remote.shared]
    assert (remote.name, remote.counts["regressed"], remote.cells) == ("remote", 4, 4)
    assert (local.name, local.counts["same"], local.cells) == ("local", 4, 4)


def test_the_sentence_counts_what_there_is(slow_remote: Comparison) -> None:
    counts = slow_remote.counts

    sentence = texts.sentence(slow_remote)

    assert sentence.startswith(
        f"Provisional, one session a side: {counts['regressed']} of {len(slow_remote.rows)} numbers regressed, 0 improved"
    )
    assert sum(counts.values()) == len(slow_remote.rows)
    assert re.search(r" scaling, remote: 4 of 4 cells regressed, bandwidth −[\d.]+ to −[\d.]+ %\.$", sentence)


def test_the_sentence_tells_one_fact_once_and_what_improved_too(make: Any, tmp_path: Path) -> None:
    """ "Regressed together: metric bandwidth: 12 of 16 cells … Regressed together: sweep stream: 12 of 12 … Regressed together: tool stream: 12 of 12"."""
    spec = {"took": {"regex": r"took (\S+)", "unit": "s", "better": "lower"}}
    paths = []
    for name, slower, faster in (("a", 1.0, 1.0), ("b", 0.9, 0.8)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for n, repeat in itertools.product((1, 2, 4), range(4)):
            rate = 5000 * n * slower * (1 + repeat / 1000)
            maker.add("rates", "stream", {"threads": n}, make.stream_text(rate, n), axes=("threads",))
            for sweep, factor in (("own", faster), ("still", 1.0)):
                options = {"command": ["p"], "metrics": spec, "n": n}
                took = f"took {10 * n * factor * (1 + repeat / 1000):.4f}\n"
                maker.add(sweep, "command", options, took, axes=("n",))
        paths.append(maker.write())

    said = texts.sentence(compare(of("A", paths[0]), of("B", paths[1])))

    moved = re.search(r"inconclusive\. (.+?)(?:, ⚠ [^;]*)?; (.+?)\.$", said)
    assert moved, said
    assert re.fullmatch(r"rates: 3 of 3 cells regressed, bandwidth −10\.\d(?: to −\d+\.\d)? %", moved[1])
    assert re.fullmatch(r"own: 3 of 3 cells improved, took −20\.\d(?: to −\d+\.\d)? %", moved[2])


def test_what_differs_is_said_first(slow_remote: Comparison) -> None:
    (difference,) = slow_remote.fingerprint.differences

    assert (difference.what, difference.a, difference.b) == ("kernel", "6.1.0-18-amd64", "6.1.0-21-amd64")
    assert "processor" in slow_remote.fingerprint.agreed
    assert "firmware version" in slow_remote.fingerprint.unknown
    text = terminal.table(slow_remote)
    assert text.index("6.1.0-18-amd64 → 6.1.0-21-amd64") < text.index("regressed (")


def test_derived_numbers_have_a_family_of_their_own(slow_remote: Comparison) -> None:
    derived = {(r.number.title, r.labels["place"]): r for r in slow_remote.rows if r.derived}

    assert {r.decision.family for r in derived.values()} == {"stream, derived"}
    assert derived["triad peak bandwidth", "remote"].verdict == "regressed"
    assert len(derived["triad peak bandwidth", "remote"].a) == 5  # one of each repeat's curve


def test_sides_change_places(before: Path, after: Path, slow_remote: Comparison) -> None:
    """What regressed from A to B has improved from B to A, by the same ratio."""
    there = {row.name: row for row in slow_remote.rows}
    back = {row.name: row for row in compare(of("A", after), of("B", before)).rows}

    mirrored = {
        "regressed": "improved",
        "improved": "regressed",
        "same": "same",
        "inconclusive": "inconclusive",
    }
    assert {n: mirrored[r.verdict] for n, r in there.items()} == {n: r.verdict for n, r in back.items()}
    for name, row in there.items():
        assert (row.decision.ratio or 0) * (back[name].decision.ratio or 0) == pytest.approx(1)


def test_an_unchanged_machine_is_not_accused(before: Path, again: Path) -> None:
    found = compare(of("A", before), of("B", again))

    assert found.counts["regressed"] + found.counts["improved"] == 0
    assert found.counts["same"] > 0.8 * len(found.rows)
    assert not found.shared
    assert f"0 of {len(found.rows)} numbers regressed, 0 improved" in texts.sentence(found)


def test_the_sentence_says_what_has_no_partner(make: Any, tmp_path: Path) -> None:
    """Of B all runs of a sweep failed, and A never had one of its cells: none of it stayed the same."""
    sides = []
    for name, place in (("a", "local"), ("b", "remote")):
        maker = make.Maker(tmp_path / f"{name}.db")
        for threads, own in ((1, "local"), (2, "local"), (4, place)):
            failed = name == "b" and threads == 2
            for _ in range(2):
                text = "" if failed else make.stream_text(5000.0 * threads, threads)
                maker.add("s", "stream", {"threads": threads}, text, axes=("threads", "place"), place=own, relation=own, status="failed" if failed else "ok")  # fmt: skip
        sides.append(of(name.upper(), maker.write()))

    said, turned = texts.sentence(compare(*sides)), texts.sentence(compare(*sides[::-1]))
    assert said.startswith("Failed in B: 2 of 2 runs of s, threads=2 place=local (A: 0 of 2). ")
    assert said.endswith("1 cell of A and 1 of B have no partner.")
    assert turned.startswith("Failed in A: 2 of 2 runs of s, threads=2 place=local (B: 0 of 2). ")
    assert turned.endswith("1 cell of A and 1 of B have no partner.")


def test_failed_runs_of_one_side_are_said_first(make: Any, tmp_path: Path) -> None:
    """Of cells 1 to 4 runs of B failed, of 3 half of them, of 4 as many of A; of 5 none did."""
    bad = {"a": {4: 1}, "b": {1: 4, 2: 4, 3: 2, 4: 1}}
    sides = []
    for name, failed in bad.items():
        maker = make.Maker(tmp_path / f"{name}.db")
        for threads, repeat in itertools.product(range(1, 6), range(4)):
            fails = repeat < failed.get(threads, 0)
            text = "" if fails else make.stream_text(5000.0 * threads + repeat, threads)
            maker.add(
                "s",
                "stream",
                {"threads": threads},
                text,
                axes=("threads",),
                status="failed" if fails else "ok",
            )
        sides.append(of(name.upper(), maker.write()))
    found = compare(*sides)

    assert texts.sentence(found).startswith(
        "Failed in B: runs of 3 cells, of 2 of them all (in A none). Provisional"
    )
    assert "no partner" not in texts.sentence(found)
    half = "2 of 4 runs of s, threads=3 (A: 0 of 4)"
    assert half in terminal.table(found)
    assert f"B: {half}" in delta(found).failed
    assert f"Failed in B: {half}" in formats.as_markdown(found)
    assert json.loads(formats.as_json(found))["failures"][2] == {
        "side": "B", "sweep": "s", "cell": "threads=3", "reason": "", "a": {"failed": 0, "runs": 4}, "b": {"failed": 2, "runs": 4}
    }  # fmt: skip


@pytest.mark.parametrize("ignore", [(), ("file",)])
def test_of_a_cell_whose_runs_all_failed_the_reason_is_told_however_it_was_matched(
    make: Any, tmp_path: Path, ignore: tuple[str, ...]
) -> None:
    """Its path differs, and the other threads of B gave numbers: "B has no such cell with threads=2; it has one with 1" was said."""
    sides = []
    for name in ("a", "b"):
        maker = make.Maker(tmp_path / f"{name}.db")
        for threads, _ in itertools.product((1, 2), range(3)):
            failed = (
                {"status": "failed", "reason": "exit status 1: no memory"}
                if (name, threads) == ("b", 2)
                else {}
            )
            text = "" if failed else make.stream_text(5000.0 * threads, threads)
            maker.add(
                "s", "stream", {"threads": threads, "file": f"/{name}"}, text, axes=("threads",), **failed
            )
        sides.append(of(name.upper(), maker.write()))

    found = compare(*sides, Ask(ignore=ignore))

    assert [(one.side, one.reason) for one in found.unmatched] == [
        ("A", "all 3 runs failed in B: exit status 1: no memory")
    ]
    assert [one.text for one in found.failures] == ["3 of 3 runs of s, threads=2 (A: 0 of 3)"]
    differs = [(d.what, d.a, d.b) for d in found.fingerprint.differences]
    assert differs == [("file (ignored)", "/a", "/b")] * len(ignore)


@pytest.mark.parametrize("failing", ["a", "b"])
def test_what_fails_on_b_alone_fails_a_gate(make: Any, tmp_path: Path, failing: str) -> None:
    """Nothing regressed; of three threads all runs failed, of two one of four: `--fail-on regressed` passed, and JUnit skipped them."""
    sides = []
    for name in ("a", "b"):
        maker = make.Maker(tmp_path / f"{name}.db")
        for threads, repeat in itertools.product((1, 2, 3), range(4)):
            fails = name == failing and repeat < {2: 1, 3: 4}.get(threads, 0)
            text = "" if fails else make.stream_text(5000.0 * threads + repeat, threads)
            why = {"status": "failed", "reason": "exit status 1: <no> memory"} if fails else {}
            maker.add("s", "stream", {"threads": threads}, text, axes=("threads",), **why)
        sides.append(of(name.upper(), maker.write()))

    found = compare(*sides)

    broken = failing == "b"
    assert [found.fails({word}) for word in ("regressed", "failed", "unmatched", "improved")] == [broken, broken, True, False]  # fmt: skip
    root = ElementTree.fromstring(formats.as_junit(found))
    errors = [(case.attrib["classname"], error.attrib["message"]) for case in root.iter("testcase") for error in case.iter("error")]  # fmt: skip
    assert errors == broken * [
        ("s, threads=3", "failed in B: 4 of 4 runs of s, threads=3 (A: 0 of 4): exit status 1: <no> memory"),
        ("s, threads=2", "failed in B: 1 of 4 runs of s, threads=2 (A: 0 of 4): exit status 1: <no> memory"),
    ]
    assert int(root.attrib["errors"]) == len(errors)
    assert [suite.attrib["name"] for suite in root if suite.attrib["name"] in ("failed", "not compared")] == ["failed" if broken else "not compared"]  # fmt: skip
    assert formats.as_github(found).count("::error title=failed") == len(errors)
    assert [(one["side"], one["reason"]) for one in json.loads(formats.as_json(found))["failures"]] == [(failing.upper(), "exit status 1: <no> memory")] * 2  # fmt: skip
    assert f"{failing.upper()}: 1 of 4 runs of s, threads=2 ({'A' if broken else 'B'}: 0 of 4): exit status 1: <no> memory" in delta(found).failed  # fmt: skip


def test_failed_runs_of_a_level_are_said_as_those_of_a_file_are(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "x.db")
    for threads, place, _ in itertools.product((1, 2), ("local", "remote"), range(3)):
        fails = (threads, place) == (2, "remote")
        text = "" if fails else make.stream_text(5000.0 * threads, threads)
        maker.add("s", "stream", {"threads": threads}, text, axes=("threads", "place"), place=place, relation=place, status="failed" if fails else "ok")  # fmt: skip

    found = compare(*levels(load([maker.write()]), "place", "local,remote"), by="place")

    assert [one.reason for one in found.unmatched] == ["all 3 runs failed in B"]
    assert texts.sentence(found).startswith("Failed in B: 3 of 3 runs of s, threads=2 (A: 0 of 3). ")


def test_one_run_a_side_gives_values_and_no_verdict(make: Any, tmp_path: Path) -> None:
    a = stream_file(make, tmp_path / "a.db", flat, repeats=1)
    b = stream_file(make, tmp_path / "b.db", lambda n, p: 0.5, repeats=1)

    found = compare(of("A", a), of("B", b))

    assert len(found.once) == len(found.rows)
    assert sum(found.counts.values()) == 0
    assert (
        texts.sentence(found)
        == f"One run on a side: {len(found.rows)} numbers, no verdict. B against A: bandwidth −50.0 %."
    )
    assert not found.fails({"regressed"})
    assert found.fails({"inconclusive"})  # nothing can be said
    page = delta(found)
    assert {line.verdict for line in page.lines} == {"one run"}
    assert not any(line.interval for line in page.lines)
    assert {len(line.mark.stroked) for line in page.lines if line.mark} == {1}  # a dot without a bar


def test_equal_shifts_stay_in_the_order_of_sizes(make: Any, tmp_path: Path) -> None:
    sides = []
    for name in ("a", "b"):
        maker = make.Maker(tmp_path / f"{name}.db")
        for _ in range(3):
            text = make.imb_text({size: 1.0 + size / 1024 for size in (1, 8, 16, 128, 4096, 1 << 20)})
            maker.add("s", "imb", {"benchmark": "PingPong"}, text)
        sides.append(of(name, maker.write()))

    rows = [row.name for row in compare(*sides).rows if "time at" in row.name]

    assert [row.rpartition(" at ")[2] for row in rows] == ["1 B", "8 B", "16 B", "128 B", "4 KiB", "1 MiB"]


def test_a_side_whose_runs_were_all_disturbed_is_not_said_to_have_no_numbers(
    make: Any, before: Path, tmp_path: Path
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.add("scaling", "stream", {"threads": 8}, make.stream_text(1.0, 8), status="disturbed")

    with pytest.raises(UserError, match="has no undisturbed runs that give numbers"):
        compare(of("A", maker.write()), of("B", before))


def test_disturbed_runs_are_left_out_and_counted(
    make: Any, before: Path, again: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(before, tmp_path / "a.db"))
    maker = make.Maker(path)
    for status in ("disturbed", "misplaced"):
        for _ in range(2):
            maker.add(
                "scaling", "stream", {"threads": 8}, make.stream_text(1.0, 8), axes=("threads", "place"), place="local",
                relation="local", status=status,
            )  # fmt: skip
    maker.write()

    found = compare(of("A", path), of("B", again))

    assert len(found.a.left_out) == 4
    assert "left out: 2 disturbed, 2 misplaced" in texts.side(found.a)
    assert all(row.labels["threads"] != "8" for row in found.rows if "threads" in row.labels)


def test_runs_that_failed_their_own_check_are_left_out_and_counted(make: Any, tmp_path: Path) -> None:
    """STREAM that did not validate was "improved by 50 %"."""
    sound = "Solution Validates: avg error less than 1.000000e-13 on all three arrays"
    sides = []
    for name, rate in (("A", 20e3), ("B", 30e3)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for i, threads in itertools.product(range(3), (1, 2)):
            text = make.stream_text(rate + i, threads)
            assert sound in text
            bad = text.replace(sound, "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)")
            maker.add("s", "stream", {"threads": threads}, bad if name == "B" and threads == 2 else text, axes=("threads",))  # fmt: skip
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert {row.cell for row in found.rows} == {"threads=1"}
    assert texts.side(found.b).endswith("; left out: 3 not valid by its own check")
    assert [(u.side, u.reason) for u in found.unmatched] == [("A", "all 3 runs left out in B (not valid by its own check)")]  # fmt: skip


def test_cells_without_a_partner_are_listed_everywhere(
    make: Any, before: Path, again: Path, tmp_path: Path
) -> None:
    more = make.Maker(Path(shutil.copy(before, tmp_path / "a.db")))
    more.add(
        "scaling", "stream", {"threads": 64}, make.stream_text(9e4, 64), axes=("threads", "place"), place="local",
        relation="local",
    )  # fmt: skip
    found = compare(of("A", more.write()), of("B", again))

    (only,) = found.unmatched
    assert (only.side, only.cell) == ("A", "threads=64 place=local")
    assert only.reason == "B has no threads=64; it has 1, 2, 3 and 4"
    for text in (
        terminal.table(found), formats.as_markdown(found), formats.as_json(found), formats.as_junit(found),
        " ".join(delta(found).absent),
    ):  # fmt: skip
        assert "no threads=64; it has 1, 2, 3 and 4" in " ".join(text.split()).replace("\\", "")
    assert formats.as_github(found).count("1 cell") == 1  # it was told twice
    assert " 1 cell of A has no partner." in formats.as_github(found)


def test_inner_rows_without_a_partner_are_listed(make: Any, tmp_path: Path) -> None:
    sides = []
    for name, rows in (("A", (0, 100, 500, 900)), ("B", (0, 100, 500, 700))):
        maker = make.Maker(tmp_path / f"{name}.db")
        for _ in range(2):
            text = make.mlc_text([(d, 80.0 + 100 / (1 + d), 20e3 / (1 + d / 100)) for d in rows])
            maker.add("loaded", "mlc", {"mode": "loaded_latency"}, text)
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert [(u.side, u.reason) for u in found.unmatched] == [
        (
            "A",
            "B has no loaded latency at traffic read, delay 900 and loaded latency bandwidth at traffic read, delay 900",
        ),
        (
            "B",
            "A has no loaded latency at traffic read, delay 700 and loaded latency bandwidth at traffic read, delay 700",
        ),
    ]


# --- programs ----------------------------------------------------------------------------------------------


def stand_in(make: Any, path: Path) -> Path:
    maker = make.Maker(path)
    maker.programs = {"stream": {"name": "stream", "version": "0.1", "stand_in": True}}
    for _ in range(3):
        text = make.stream_text(2e4, 1)
        maker.add(
            "scaling", "stream", {"threads": 1}, text, axes=("threads",), place="local", relation="local"
        )
    written: Path = maker.write()
    return written


def official(make: Any, path: Path) -> Path:
    maker = make.Maker(path)
    for _ in range(3):
        text = make.stream_text(2e4, 1)
        maker.add(
            "scaling", "stream", {"threads": 1}, text, axes=("threads",), place="local", relation="local"
        )
    written: Path = maker.write()
    return written


def test_a_stand_in_is_not_compared_with_the_tool_in_silence(make: Any, tmp_path: Path) -> None:
    a, b = official(make, tmp_path / "a.db"), stand_in(make, tmp_path / "b.db")

    with pytest.raises(
        UserError, match="not the same program: A is STREAM, B is pinsweep stream, not STREAM"
    ) as error:
        compare(of("A", a), of("B", b))
    assert "--across-programs" in error.value.hint

    found = compare(of("A", a), of("B", b), Ask(across_programs=True))
    said = "A is STREAM, B is pinsweep stream, not STREAM"
    for text in (
        terminal.table(found), formats.as_markdown(found), formats.as_json(found), formats.as_github(found),
        " ".join(delta(found).lead), formats.as_junit(found),
    ):  # fmt: skip
        assert said in text


# --- what is asked for -------------------------------------------------------------------------------------


def test_two_levels_of_one_sweep_took_turns(before: Path) -> None:
    results = load([before])

    found = compare(*levels(results, "place", "local,remote"), by="place")

    assert {row.verdict for row in found.rows if not row.derived} == {"regressed"}
    assert {row.decision.tau for row in found.rows} == {0.0}
    assert not found.unmatched
    assert found.rows[0].change == pytest.approx(-0.3, abs=0.01)


def test_of_the_runs_of_neither_level_nothing_is_left_but_their_number(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for threads, text in ((1, make.stream_text(9e3, 1)), (2, make.stream_text(9e3, 2)), (4, "")):
        status = "ok" if text else "failed"
        maker.add("s", "stream", {"threads": threads}, text, axes=("threads",), status=status, repeats=2)
    results = load([maker.write()])

    found = results.only(compare(*levels(results, "threads", "1,2"), by="threads").covers)

    assert [run.options["threads"] for run in found.runs] == [1, 2]
    assert (found.failed, found.lost("stream", "s"), found.others) == ((), (), 1)
    assert {cell.options["threads"] for _, cell, _ in found.missing} == {1, 2}
    assert {cell.options["threads"] for _, cell, _ in results.missing} == {1, 2, 4}


@pytest.mark.parametrize(
    ("axis", "wanted", "hint"),
    [("plaice", "local,remote", "place"), ("place", "local,remot", "remote"), ("threads", "1,9", "1, 2, 3, 4"), ("threads", "1,2,3", "1, 2, 3, 4")],
)  # fmt: skip
def test_a_level_that_is_not_there_has_a_hint(before: Path, axis: str, wanted: str, hint: str) -> None:
    results = load([before])

    with pytest.raises(UserError) as error:
        levels(results, axis, wanted)
    assert hint in error.value.hint


def test_an_axis_of_two_levels_needs_no_more_words(before: Path) -> None:
    a, b = levels(load([before]), "place", "")

    assert (a.title, b.title) == ("place=local", "place=remote")


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
    """Of `mode: [old, new]` A was new, by the alphabet, and what became faster was said to have regressed. Numbers are in their own order."""
    maker = make.Maker(tmp_path / "a.db")
    metrics = {"rate": {"regex": r"rate (\S+)", "better": "higher"}}
    for level in planned:
        maker.add(
            "s", "command", {"command": "x", "metrics": metrics, axis: level}, "rate 5.0\n", axes=(axis,)
        )

    assert [one.title for one in levels(load([maker.write()]), axis, "")] == sides


def test_levels_with_commas_are_typed_as_labels_print_them(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    delays = ((0, 100), (0, 200, 300))
    for own in delays:
        maker.add(
            "s",
            "mlc",
            {"delays": own, "mode": "loaded_latency"},
            make.mlc_text([(0, 250.0, 20e3), (100, 140.0, 18e3)]),
            axes=("delays", "mode"),
        )
    results = load([maker.write()])

    a, b = levels(results, "delays", "0,100,0,200,300")
    with pytest.raises(UserError) as error:
        levels(results, "delays", "0,100")

    assert [run.options["delays"] for side in (a, b) for run in side.runs] == list(delays)
    assert error.value.hint == "its levels: 0,100; 0,200,300"
    assert set(results.tidy("mlc")["delays"]) == {"0,100", "0,200,300"}
    assert set(results.tidy("mlc")["mode"]) == {"loaded_latency"}  # an axis of one value


def test_a_threshold_of_one_metric(before: Path, after: Path) -> None:
    found = compare(of("A", before), of("B", after), Ask(thresholds={"bandwidth": 0.2}))

    assert {round(row.decision.threshold, 9) for row in found.rows if not row.derived} == {0.2}
    assert {row.verdict for row in found.rows if not row.derived} == {"same"}
    with pytest.raises(UserError) as error:
        compare(of("A", before), of("B", after), Ask(thresholds={"bandwith": 0.2}))
    assert "bandwidth" in error.value.hint


def test_an_option_can_be_ignored_unless_it_tells_cells_apart(make: Any, tmp_path: Path) -> None:
    sides = []
    for name, size in (("A", 1000), ("B", 2000)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for threads in (1, 2):
            for _ in range(2):
                options = {"threads": threads, "array_size": size}
                maker.add("s", "stream", options, make.stream_text(1e4, threads), axes=("threads",))
        sides.append(of(name, maker.write()))

    assert [u.reason for u in compare(*sides, Ask(ignore=("array_size",))).unmatched] == []
    assert "B has no array_size=1000; it has 2000" in compare_fails(sides)
    with pytest.raises(UserError, match=r"differ in it \(1 and 2\)") as error:
        compare(*sides, Ask(ignore=("threads",)))
    assert error.value.hint.startswith("--by threads=1,2")


def compare_fails(sides: list[Side]) -> str:
    return compare(*sides).unmatched[0].reason


def test_cells_of_which_neither_side_has_a_number_are_named(make: Any, tmp_path: Path) -> None:
    """A whole sweep was missing from the verdict, of which all runs were disturbed on both sides."""
    options = {"command": ["x"], "metrics": {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}}  # fmt: skip
    sides = []
    for name in "AB":
        maker = make.Maker(tmp_path / f"{name}.db")
        for r in range(3):
            maker.add("s", "command", {**options, "n": 1}, f"rate {100 + r}\n", axes=("n",))
            maker.add("s", "command", {**options, "n": 2}, "", axes=("n",), status="disturbed")
        if name == "A":
            maker.add("s", "command", {**options, "n": 3}, "", axes=("n",), status="failed")
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert [(one.side, one.cell, one.reason) for one in found.unmatched] == [
        ("neither", "n=2", "all 3 runs left out in A (disturbed); all 3 runs left out in B (disturbed)"),
        ("A", "n=3", "its only run failed in A; B has no n=3; it has 1 and 2"),
    ]
    assert "1 cell of A has no partner. Of 1 cell neither side has a number." in texts.sentence(found)
    assert "not compared (2 cells)" in terminal.table(found)
    assert "neither has a number of s, n=2: all 3 runs" in terminal.table(found)
    assert 'name="neither: n=2"' in formats.as_junit(found)


def test_where_no_row_is_listed_nothing_heads_them(make: Any, tmp_path: Path) -> None:
    sides = []
    for name in "AB":
        maker = make.Maker(tmp_path / f"{name}.db")
        for rate in (10e3, 10.01e3, 10.02e3):
            maker.add("s", "stream", {"threads": 4}, make.stream_text(rate, 4))
        sides.append(of(name, maker.write()))
    found = compare(*sides)

    assert found.counts["same"] == len(found.rows)
    assert " of A → B:" not in terminal.table(found)
    assert " of A → B:\n\nsame (" in terminal.table(found, everything=True)


def test_a_side_whose_runs_all_failed_is_compared_and_fails(make: Any, tmp_path: Path) -> None:
    """It was refused as a mistake in the command, exit status 2, which a job may take for no matter of the machine."""
    options = {"command": ["x"], "metrics": {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}}  # fmt: skip
    sides = []
    for name, status in (("A", "ok"), ("B", "failed")):
        maker = make.Maker(tmp_path / f"{name}.db", host="n1")
        maker.facts = {**make.FACTS, "kernel": name}
        for _ in range(3):
            maker.add("s", "command", options, "rate 100\n" if status == "ok" else "", status=status)
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert texts.sentence(found).startswith("Failed in B: 3 of 3 runs of s (A: 0 of 3).")
    assert texts.side(found.b) == "B.db: n1, 1 session, 0 runs; left out: 3 failed"
    assert [(d.what, d.a, d.b) for d in found.fingerprint.differences] == [("kernel", "A", "B")]
    assert found.fails(("regressed",))
    assert 'errors="1"' in formats.as_junit(found)
    with pytest.raises(UserError, match="has no runs that give numbers"):
        compare(sides[1], of("B", tmp_path / "B.db"))


# --- distributions -----------------------------------------------------------------------------------------


def test_a_mode_that_moves_is_told_though_the_median_stands(make: Any, tmp_path: Path) -> None:
    def samples(hits: float, seed: int) -> list[float]:
        rng = random.Random(seed)
        return [rng.gauss(100, 4) if i < hits * 4000 else rng.gauss(5000, 200) for i in range(4000)]

    sides = []
    for name, hits, seed in (("A", 0.9, 0), ("B", 0.7, 50)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for i in range(4):
            maker.add(
                "tails", "poke", {"target": "file"}, make.poke_text(samples(hits, seed + i), target="file"),
                counters={"reasons": [{"id": "foreign", "text": "others took 40 % of CPU 3"}]} if name == "B" else {},
            )  # fmt: skip
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    medians = [row for row in found.rows if row.number.statistic == "p50"]
    assert all(abs(row.change or 0) < 0.02 for row in medians)
    assert [(round(m.share_a, 2), round(m.share_b, 2)) for m in found.modes] == [(0.9, 0.7), (0.1, 0.3)]
    assert "the mode at 100 ns holds 90 % of A and 70 % of B" in texts.mode_shift(found.modes[0])
    assert all("every run of B was disturbed)" in texts.mode_shift(mode) for mode in found.modes)
    assert not compare(sides[0], side("B", "A again", sides[0].results)).modes


# --- formats -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Hosts, kernels, sweeps and labels that try to break out of each format."""
    folder = tmp_path_factory.mktemp("hostile")
    metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}
    sides = []
    for name, factor in (("A", 1.0), ("B", 0.5)):
        maker = make.Maker(folder / f"{name}.db", host=HOSTILE + name)
        maker.facts = {**make.FACTS, "kernel": HOSTILE + name}
        for level in range(4):
            for r in range(5):
                options = {"command": ["x"], "metrics": metrics, "level": f"{HOSTILE}{level}"}
                text = f"rate {factor * (100 + level + r / 10):.2f}\n"
                maker.add(HOSTILE, "command", options, text, axes=("level",))
        maker.add(
            HOSTILE, "command", {"command": ["x"], "metrics": metrics, "level": f"only {name} {HOSTILE}"}, "rate 3\n",
            axes=("level",),
        )  # fmt: skip
        sides.append(side(name, HOSTILE + name, load([maker.write()])))  # type: ignore[arg-type]
    found = compare(*sides)
    assert found.counts["regressed"] == 4
    return found


def test_nothing_in_the_table_is_obeyed_by_a_terminal(hostile: Comparison) -> None:
    text = terminal.table(hostile, everything=True)

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert "\n::error" not in text


def test_github_gets_one_command_a_line_and_none_from_a_name(hostile: Comparison) -> None:
    text = formats.as_github(hostile)

    lines = text.splitlines()
    assert [line.split(" ", 1)[0] for line in lines] == ["::error"] * 4 + ["::warning"]
    for line in lines:
        head = line.split("::", 2)[1]
        title = head.partition("title=")[2]
        assert "," not in title
        assert ":" not in title
    assert "\x1b" not in text


def test_markdown_rows_have_as_many_cells_as_the_head(hostile: Comparison) -> None:
    text = formats.as_markdown(hostile)

    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {9}
    assert "<script" not in text
    assert "[a](b)" not in text


def test_junit_loads_where_ci_loads_it(hostile: Comparison, slow_remote: Comparison, tmp_path: Path) -> None:
    for found in (hostile, slow_remote):
        path = tmp_path / "junit.xml"
        path.write_text(formats.as_junit(found), encoding="utf-8")

        loaded = JUnitXml.fromfile(str(path))

        cases = [case for suite in loaded for case in suite]
        failed = [case for case in cases if any(isinstance(r, Failure) for r in case.result)]
        skipped = [case for case in cases if any(isinstance(r, Skipped) for r in case.result)]
        assert len(cases) == len(found.rows) + len(found.unmatched) == loaded.tests
        assert len(failed) == found.counts["regressed"] == loaded.failures
        assert len(skipped) == loaded.skipped
        assert len(skipped) == found.counts["inconclusive"] + len(found.once) + len(found.unmatched)


def test_junit_has_only_what_the_common_schema_knows(slow_remote: Comparison) -> None:
    root = ElementTree.fromstring(formats.as_junit(slow_remote))

    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        assert [child.tag for child in suite][:2] == ["properties", "testcase"]
        assert {"name", "tests", "failures", "errors", "skipped", "time"} <= set(suite.attrib)
        for case in suite.iter("testcase"):
            assert {"name", "classname", "time"} == set(case.attrib)
            assert [child.tag for child in case] in (["failure"], ["skipped"], ["system-out"])


def test_json_holds_everything_in_base_units(slow_remote: Comparison) -> None:
    def refuse(word: str) -> float:
        raise AssertionError(word)

    found = json.loads(formats.as_json(slow_remote), parse_constant=refuse)

    assert found["counts"]["regressed"] == slow_remote.counts["regressed"]
    assert len(found["cells"]) == len(slow_remote.rows)
    assert {type(cell["advice"]) for cell in found["cells"]} == {str}
    first = found["cells"][0]
    assert (first["verdict"], first["unit"], first["better"]) == ("regressed", "B/s", "higher")
    kernel = first["labels"]["kernel"]
    assert first["name"] == {
        "metric": "bandwidth", "statistic": None, "unit": "B/s", "better": "higher", "kind": None,
        "labels": {"kernel": kernel}, "derived": False,
    }  # fmt: skip
    assert (first["metric"], first["row"]) == (f"{kernel} bandwidth", "")
    assert first["ratio"] == pytest.approx(first["b"]["median"] / first["a"]["median"], rel=0.01)
    assert len(first["a"]["runs"]) == 5
    assert found["fingerprint"]["differs"] == [
        {"what": "kernel", "a": "6.1.0-18-amd64", "b": "6.1.0-21-amd64"}
    ]


def test_wild_numbers_are_no_bad_json(make: Any, tmp_path: Path) -> None:
    """Two runs a side that differ by orders of magnitude: the interval has no upper end."""
    sides = []
    metrics = {"t": {"regex": r"t ([\d.e+-]+)", "unit": "s", "better": "lower"}}
    for name, values in (("A", ("1e-200", "1e200")), ("B", ("1e200", "1e-200"))):
        maker = make.Maker(tmp_path / f"{name}.db")
        for value in values:
            maker.add("s", "command", {"command": ["x"], "metrics": metrics}, f"t {value}\n")
        sides.append(of(name, maker.write()))
    found = compare(*sides)

    (cell,) = json.loads(formats.as_json(found), parse_constant=lambda w: pytest.fail(w))["cells"]
    assert cell["high"] is None
    assert "∞" in terminal.table(found)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ({"better": "lower"}, {"better": "lower", "unit": "ms"}, "unit (A: no unit; B: ns): took"),
        ({"better": "lower"}, {"better": "higher", "unit": "s"}, "unit or direction (A: no unit, lower is better; B: ns, higher is better): took"),
        ({"better": "lower"}, {"better": "higher"}, "direction (A: lower is better; B: higher is better): took"),
    ],
)  # fmt: skip
def test_numbers_of_other_units_or_directions_are_not_compared(
    make: Any, tmp_path: Path, a: dict[str, str], b: dict[str, str], said: str
) -> None:
    """The program prints the same; the experiment's text has been given a unit since."""
    sides = []
    for name, spec in (("A", a), ("B", b)):
        maker = make.Maker(tmp_path / f"{name}.db")
        metrics = {
            "took": {"regex": r"took ([\d.]+)", **spec},
            "rate": {"regex": r"rate ([\d.]+)", "better": "higher"},
        }
        for took in ("12.1", "12.2", "12.4"):
            options = {"command": "x", "metrics": metrics, "n": 1}
            maker.add("s", "command", options, f"took {took}\nrate 5{took}\n", axes=("n",))
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert [row.name for row in found.rows] == ["s, n=1: rate"]
    assert [(u.side, u.cell) for u in found.unmatched] == [("both", "n=1")]
    assert found.unmatched[0].reason == f"not the same {said}"


def test_a_unit_that_was_mended_is_no_regression(make: Any, tmp_path: Path) -> None:
    """us, then ms, of a program that prints the same: both are times."""
    sides = []
    for name, unit in (("A", "us"), ("B", "ms")):
        maker = make.Maker(tmp_path / f"{name}.db")
        metrics = {
            "took": {"regex": r"took ([\d.]+)", "unit": unit, "better": "lower"},
            "rate": {"regex": r"rate ([\d.]+)", "better": "higher"},
        }
        for took in ("12.1", "12.2", "12.4"):
            maker.add("s", "command", {"command": "x", "metrics": metrics, "n": 1}, f"took {took}\nrate 5{took}\n", axes=("n",))  # fmt: skip
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert [row.name for row in found.rows] == ["s, n=1: rate"]
    assert [u.reason for u in found.unmatched] == ["not the same unit (A: us; B: ms): took"]


def test_two_units_of_one_metric_are_two_families(make: Any, tmp_path: Path) -> None:
    sides = []
    for name in ("A", "B"):
        maker = make.Maker(tmp_path / f"{name}.db")
        for unit, value in (("MB/s", 12), ("IOPS", 99)):
            metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": unit, "better": "higher"}}
            for i in range(3):
                maker.add(
                    f"in {unit}", "command", {"command": "x", "metrics": metrics}, f"rate {value}.{i}\n"
                )
        sides.append(of(name, maker.write()))

    found = compare(*sides)

    assert {row.decision.family: row.unit for row in found.rows} == {
        "command rate, B/s": "B/s",
        "command rate, 1/s": "1/s",
    }


def test_a_rate_is_not_headed_by_the_unit_of_a_time(make: Any, tmp_path: Path) -> None:
    """ "s: rate, s (more is better" stood above 100 a second."""
    sides = []
    for name, rate in (("A", 100), ("B", 80)):
        maker = make.Maker(tmp_path / f"{name}.db")
        metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "1/s", "better": "higher"}}
        for i in range(3):
            maker.add("sw", "command", {"command": "x", "metrics": metrics}, f"rate {rate}.{i}\n")
        sides.append(of(name, maker.write()))

    assert "  sw: rate, /s (more is better; 3 + 3 runs)\n" in terminal.table(compare(*sides))


def test_the_table_fits_a_terminal_and_a_flood_is_counted(slow_remote: Comparison) -> None:
    text = terminal.table(slow_remote, top=3)

    assert max(map(len, text.splitlines())) <= 80
    regressed = slow_remote.counts["regressed"]
    assert f"regressed ({regressed})" in text
    assert "bandwidth, GB/s (more is better; 5 + 5 runs)" in text
    assert f"and {regressed - 3} more (--all lists them)" in text
    assert len(terminal.table(slow_remote, everything=True).splitlines()) > len(slow_remote.rows)
    assert "inconclusive (" not in terminal.table(slow_remote, only_changed=True)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-0.133, "−13.3 %"),
        (0.0004, "0.0 %"),
        (0.007, "+0.7 %"),
        (-0.0004, "0.0 %"),
        (2.4, "+240 %"),
        (34.1, "35.1 ×"),
        (0.05, "+5.0 %"),
        (None, "–"),
    ],
)
def test_changes_as_people_read_them(value: float | None, said: str) -> None:
    assert texts.change(value) == said


# --- the page ----------------------------------------------------------------------------------------------


def test_the_page_draws_better_to_the_right(slow_remote: Comparison) -> None:
    lines = delta(slow_remote).lines

    worst = lines[0]
    assert (worst.verdict, worst.sign) == ("regressed", "▼")
    assert worst.mark is not None
    dot = float(worst.mark.filled[1][1].removeprefix("M").split(" ")[0])
    assert dot < 88  # left of the middle
    figure = next(f for f in delta(slow_remote).curves if "triad" in f.title)
    (drawn,) = figure.panels
    remote = [row["y"] for row in drawn.wide["datasets"]["points"] if row["series"] == "remote"]
    assert max(remote) < 0.97
    assert "4 of 8 points regressed (−10.3 to −10.1 %), 4 the same" in figure.title


def test_a_curve_is_named_by_what_tells_it_and_by_nothing_twice(make: Any, tmp_path: Path) -> None:
    """-W9 is "3:1 nt": one name, not two; of fio's latencies the median is drawn, not also the mean."""
    sides = []
    for name in ("A", "B"):
        maker = make.Maker(tmp_path / f"{name}.db")
        for _ in range(2):
            for traffic in ("", "9"):
                text = make.mlc_text(
                    [(d, 80.0, 2e4 / (1 + d / 100)) for d in (100, 500, 900)], traffic=traffic
                )
                maker.add("loaded", "mlc", {"mode": "loaded_latency", "W": traffic or "R"}, text, axes=("W",))
            for depth in (1, 4, 16):
                text = make.fio_text({"read": (1e4 * depth, 90.0)}, bs="4k", rw="randread", iodepth=depth)
                maker.add("disk", "fio", {"iodepth": depth}, text, axes=("iodepth",))
        sides.append(of(name, maker.write()))

    figures = {figure.title.split(",")[0]: figure for figure in delta(compare(*sides)).unmoved}

    assert {"loaded: loaded latency", "disk: read IOPS", "disk: read latency p50"} <= set(figures)
    assert "disk: read latency mean" not in figures
    (drawn,) = figures["loaded: loaded latency"].panels
    points = drawn.wide["datasets"]["points"]
    assert {row["series"] for row in points} == {"3:1 nt", "read"}


def test_what_leaves_the_axis_has_an_arrow(make: Any, before: Path, tmp_path: Path) -> None:
    def rate(threads: int, place: str) -> float:
        return 0.2 if (threads, place) == (1, "local") else 0.9 if place == "remote" else 1.0

    b = stream_file(make, tmp_path / "b.db", rate, repeats=2)

    page = delta(compare(of("A", before), of("B", b)))

    assert [text for _, text in page.axis] == ["1.18 × worse", "1.18 × better"]
    assert page.lines[0].mark is not None
    assert page.lines[0].mark.filled[1][1].startswith("M1 9")  # its tip at the left edge
    assert " Arrow: a shift beyond that." in page.reading


def test_the_page_holds_the_comparison_and_no_one_s_script(hostile: Comparison, tmp_path: Path) -> None:
    from reports.report.render import render_report

    files = [path for one in (hostile.a, hostile.b) for path in one.results.paths.values()]
    html = render_report(files, tmp_path / "p.html", static=True, comparison=delta(hostile)).read_text()

    assert "<script" not in html
    assert html.index('id="comparison"') < html.index('id="other-programs"') < html.index('id="runs"')
    assert "4 of 4 numbers are worse" in html
    assert "only A has" in html


def test_of_cells_matched_otherwise_cells_are_counted_and_not_sentences(make: Any, tmp_path: Path) -> None:
    """ "1 cell matched otherwise than as written", of four."""
    sides = []
    for name, sweep in (("A", "old"), ("B", "new")):
        maker = make.Maker(tmp_path / f"{name}.db")
        for threads in (1, 2, 4, 8):
            for i in range(2):
                text = make.stream_text(5000.0 * threads + i, threads)
                maker.add(sweep, "stream", {"threads": threads}, text, axes=("threads",))
        sides.append(of(name, maker.write()))
    found = compare(*sides)

    page = delta(found)
    assert page.matched == ("matched under another name: sweep old of A, new of B (4 cells)",)
    assert page.matched_cells == 4
    assert f"\n{page.matched[0]}.\n" in terminal.table(found)


@pytest.mark.parametrize(("scatter", "cut"), [(0.001, False), (0.25, True)])
def test_a_bar_that_is_cut_ends_in_an_open_arrow_and_the_table_says_so(
    scatter: float, cut: bool, make: Any, tmp_path: Path
) -> None:
    """An interval to a 6.1th ended flat at 4 ×, as one that ends there."""
    sides = []
    for name, factor in (("A", 1.0), ("B", 0.9)):
        maker = make.Maker(tmp_path / f"{name}.db")
        for i in range(5):
            rate = 5000.0 * factor * (1 + scatter * (i - 2) / 2)
            maker.add("s", "stream", {"threads": 1}, make.stream_text(rate, 1), axes=("threads",))
        sides.append(of(name, maker.write()))

    page = delta(compare(*sides))

    marks = [line.mark for line in page.lines if line.mark]
    assert marks
    assert [mark.cut for mark in marks] == [cut] * len(marks)
    assert not any(mark.gone for mark in marks)
    assert ("Open arrow: the interval goes on." in page.reading) == cut
    assert " Arrow: " not in page.reading


def test_each_inconclusive_number_says_what_it_needs(make: Any, tmp_path: Path) -> None:
    """One line said "needs 6 to 552 repeats a side (17)", and no row which."""
    file = stream_file(make, tmp_path / "x.db", lambda _, place: 1.44 if place == "remote" else 1.0, repeats=4, noise=0.03)  # fmt: skip
    found = compare(*levels(load([file]), "place", "local,remote"), by="place")
    table, page = terminal.table(found, everything=True), delta(found)

    needy = [row for row in found.of("inconclusive") if (row.decision.need_repeats or 1000) < 1000]
    assert len({row.decision.need_repeats for row in needy}) > 2
    assert page.rest
    for row in needy:
        said = f"needs {row.decision.need_repeats} repeats"
        assert re.search(rf" {row.options}.* \([^)]*{said}\)", table)
        shown = [line[-1] for line in page.rest.rows if line[0] == row.title]
        shown += [
            f"{line.verdict}, {line.need}"
            for line in page.lines
            if f"{line.place}: {line.metric}" == row.title
        ]
        assert shown == [f"inconclusive, {said}"]


def test_one_more_reason_is_one(slow_remote: Comparison) -> None:
    lacks = tuple(Unmatched(side="A", sweep="s", cell="", reason=f"reason {n}") for n in range(21))

    assert "and 1 more reason (" in terminal.table(dataclasses.replace(slow_remote, unmatched=lacks[:9]))
    assert (
        formats.as_markdown(dataclasses.replace(slow_remote, unmatched=lacks)).count("and 1 more reason\n")
        == 1
    )


def test_b_that_was_measured_before_a_is_said_to_have_been(make: Any, tmp_path: Path) -> None:
    sides = []
    for name, day in (("A", 21), ("B", 20)):
        maker = make.Maker(tmp_path / f"{name}.db")
        maker.started = f"2026-11-{day}T09:15:02+00:00"
        sides.append(of(name, maker.add("s", "stream", {"threads": 1}, make.stream_text(5000, 1)).write()))
    found = compare(*sides)
    said = "B was measured before A: 2026-11-20 09:15, and A 2026-11-21 09:15."

    assert said in terminal.table(found).splitlines()
    assert said in delta(found).lead
    assert not compare(of("A", sides[1].files[0]), of("B", sides[0].files[0])).backwards


@pytest.mark.parametrize(("axis", "of_a", "of_b"), [("rw", "randread", "randrw"), ("rwmixread", 90, 10)])
def test_a_mix_has_no_rate_that_another_mix_could_lose_to(
    axis: str, of_a: Any, of_b: Any, make: Any, tmp_path: Path
) -> None:
    """Reads of half a mix were "read IOPS -78.7 % worse" than reads alone, and writes of 90:10 than those of 10:90."""
    maker = make.Maker(tmp_path / "a.db")
    mix = {"read": (300.0, 950.0), "write": (300.0, 900.0)}
    for level, parts in ((of_a, {"read": (1000.0, 900.0)} if axis == "rw" else mix), (of_b, mix)):
        for depth in (1, 4, 16):
            for wobble in (1.0, 1.01, 1.02):
                own = {d: (iops * wobble * depth**0.5, lat) for d, (iops, lat) in parts.items()}
                text = make.fio_text(own, bs="4k", rw="randrw", iodepth=depth)
                maker.add("s", "fio", {axis: level, "iodepth": depth}, text, axes=(axis, "iodepth"))
    path = maker.write()

    found = compare(*levels(load([path]), axis, f"{of_a},{of_b}"), by=axis)

    assert {row.number.metric for row in found.rows} == {"latency"}


def test_the_peaks_of_two_mixes_are_compared(make: Any, tmp_path: Path) -> None:
    """ "The two sides have no number in common": each number was named by its traffic."""
    maker = make.Maker(tmp_path / "a.db")
    rows = [(0, 160.0, 59e3), (100, 90.0, 30e3), (500, 80.0, 6e3), (9000, 78.0, 900.0)]
    for traffic, by in (("R", 1.0), ("5", 0.8)):
        for wobble in (1.0, 1.01, 1.02):
            own = [(delay, ns, rate * by * wobble) for delay, ns, rate in rows]
            text = make.mlc_text(own, traffic="" if traffic == "R" else traffic)
            maker.add("s", "mlc", {"mode": "loaded_latency", "W": traffic}, text, axes=("W",))
    path = maker.write()

    found = compare(*levels(load([path]), "W", "R,5"), by="W")

    told = {row.number.words: row.decision.shift for row in found.rows if row.derived}
    assert told["peak bandwidth"] == pytest.approx(math.log(1 / 0.8))  # positive: worse
    assert "unloaded latency" in told
