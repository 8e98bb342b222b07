"""What a comparison takes for evidence: digits that were printed, sessions that are apart, and no certainty from less."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from parsers import command
from parsers.errors import UserError
from pinsweep.cli import cli
from reports.compare.comparison import Comparison, compare
from reports.compare.sides import Side, levels, side
from reports.measurements import measure
from reports.numbers.last_digit import step_of
from reports.results.load import load
from tests.reports.compare.conftest import of, rows

TOOK = {"took": {"regex": r"took ([\d.]+)", "unit": "ms", "better": "lower"}}


def program(make: Any, path: Path, words: Sequence[str], **more: Any) -> Side:
    """A side of runs of one cell that print these words."""
    maker = make.Maker(path)
    for word in words:
        options = {"command": ["x"], "metrics": TOOK, **more}
        maker.add("s", "command", options, f"took {word} ms\n", axes=tuple(more))
    return side("A", path.name, load([maker.write()]))


@pytest.mark.parametrize(
    ("a", "b", "verdict", "step"),
    [
        (["25"] * 3, ["26"] * 3, "inconclusive", 1e6),  # 25.49 and 25.51
        (["25"] * 2, ["26"] * 2, "inconclusive", 1e6),
        (["25", "25", "26"], ["26", "26", "25"], "inconclusive", 1e6),
        (["25.00", "25.01", "25.00"], ["28.00", "28.01", "28.00"], "regressed", 1e4),
        (["25", "25.0", "25"], ["28.00", "28", "28"], "regressed", 1e4),  # %g: the finest that was printed
        (["20", "30", "40"], ["20", "30", "40"], "inconclusive", 1e6),
    ],
)  # fmt: skip
def test_a_printed_digit_is_a_step(
    make: Any, tmp_path: Path, a: Sequence[str], b: Sequence[str], verdict: str, step: float
) -> None:
    (found,) = rows(compare(program(make, tmp_path / "a.db", a), program(make, tmp_path / "b.db", b)))

    assert found["verdict"] == verdict
    middle = sorted([float(w) * 1e6 for w in (*a, *b)])[len(a)]
    assert found["resolution"] == pytest.approx(step / middle, rel=0.15)
    assert found["low"] < found["ratio"] < found["high"]


@pytest.mark.parametrize(("n", "better"), [(2, "higher"), (3, "neither"), (5, "lower")])
def test_equal_repeats_have_an_interval(make: Any, tmp_path: Path, n: int, better: str) -> None:
    """In turns, so that no noise between sessions hides it."""
    metrics = {"took": {"regex": r"took ([\d.]+)", "better": better}} if better != "neither" else TOOK
    maker = make.Maker(tmp_path / "a.db")
    for place, word in (("p", "25.00"), ("q", "25.00"), ("r", "26.00")):
        for _ in range(n):
            options = {"command": ["x"], "metrics": metrics}
            maker.add("s", "command", options, f"took {word}\n", axes=("place",), place=place, relation=place)
            maker.add("d", "fio", {}, make.fio_text({"read": (float(word) * 1000, 90.0)}, bs="4k", rw="randread", iodepth=1), axes=("place",), place=place, relation=place)  # fmt: skip
    results = load([maker.write()])
    for other in ("q", "r"):
        found = compare(*levels(results, "place", f"p,{other}"), by="place")
        assert len(found.verdicts) > 3
        assert all(one["low"] < one["high"] for one in rows(found))


@pytest.mark.parametrize(
    ("spec", "text", "step"),
    [
        ({"regex": r"t ([\d.]+)"}, "t 12.30\nt 7.1\n", 0.01),
        ({"regex": r"t ([\d.,]+)", "unit": "ms"}, "t 203,58\n", 1e4),
        ({"regex": r"t (\S+)"}, "t 1.5e3\n", 100),
        ({"regex": r"t (\S+)"}, "t 1500\nt nan\nt ?\n", 1),
        ({"json": "t[*]"}, '{"t": [1, 2.25, 3.5]}', 0.01),
    ],
)  # fmt: skip
def test_the_finest_digit_that_is_printed(spec: dict[str, str], text: str, step: float) -> None:
    assert command.parse(text, {"metrics": {"t": spec}}).printed() == {"t": pytest.approx(step)}


def test_the_last_digit_where_nothing_tells_is_the_smallest_difference() -> None:
    assert step_of((25, 25, 26.5), ()) == 1.5
    assert step_of((25, 25), ()) == 0
    assert step_of((25, 25), (0.1,)) == pytest.approx(0.1)
    assert step_of((110, 120, 130, 140, 150), (1,)) == 10  # five different ones all end in a 0


def test_another_program_s_digits_are_no_digits_of_this_one(make: Any, tmp_path: Path) -> None:
    """Two sweeps have a metric of one name: what one prints whole, 25 and 26 ms, the other prints with two digits."""
    spec = {"took": {"regex": r"t (\S+)", "unit": "ms", "better": "lower"}}
    fine = ("12.34", "12.41", "12.38", "12.29", "12.33", "12.36")
    paths = []
    for name, whole in (("a", "25"), ("b", "26")):
        maker = make.Maker(tmp_path / f"{name}.db")
        for sweep, values in (("coarse", (whole,) * 3), ("fine", fine)):
            for value in values:
                maker.add(sweep, "command", {"command": sweep, "metrics": spec}, f"t {value}\n")
        paths.append(maker.write())

    found = compare(*(side(name, name, load([path])) for name, path in zip("AB", paths, strict=True)))

    assert {row["sweep"]: row["verdict"] for row in rows(found)} == {"coarse": "inconclusive", "fine": "same"}
    frame = measure(load(paths)).frame("sweep")
    assert frame.groupby("sweep")["step"].first().to_dict() == {"coarse": 1e6, "fine": 1e4}


# --- sessions ----------------------------------------------------------------------------------------------


def stream(make: Any, path: Path, rate: float, *, boot: str = "", at: str = "09:15", up: float = 0.0) -> Path:
    """Three runs of STREAM in a session of a boot; into a file that is there as its next session."""
    maker = make.Maker(path)
    maker.started, maker.ended = f"2026-11-21T{at}:00+00:00", f"2026-11-21T{at}:30+00:00"
    maker.facts = {**make.FACTS, "boot_id": boot or None, **({"uptime_s": up} if up else {})}
    for i in range(3):
        repeat = i + 4 if path.exists() else i + 1
        maker.add("s", "stream", {"threads": 1}, make.stream_text(rate + 10 * i, 1), repeat=repeat)
    written: Path = maker.write()
    return written


def test_one_boot_within_an_hour_is_one_session(make: Any, tmp_path: Path) -> None:
    a = [stream(make, tmp_path / f"a{i}.db", 20000.0, boot="x", at=f"09:{15 * i:02}") for i in range(4)]
    b = [stream(make, tmp_path / f"b{i}.db", 17000.0, boot=f"b{i}", at="11:00") for i in range(2)]

    found = compare(of("A", *a), of("B", *b))

    assert {(one["k_a"], one["k_b"]) for one in rows(found)} == {(1, 2)}
    assert (len(found.a.sessions), found.a.sessions["evidence"].nunique()) == (4, 1)
    assert not found.provisional
    assert compare(of("A", *a), of("B", *b[:1])).provisional == 4


def test_a_session_whose_clock_was_set_is_named(make: Any, tmp_path: Path) -> None:
    """It began five hours ahead, before the clock was set: the other of its boot tells."""
    wrong = stream(make, tmp_path / "a.db", 20000.0, boot="x", at="14:00", up=600.0)
    stream(make, wrong, 20000.0, boot="x", at="10:00", up=4200.0)
    b = stream(make, tmp_path / "b.db", 20000.0, boot="y", at="12:00")

    found = compare(of("A", wrong), of("B", b))

    assert len(found.clocks) == 1
    assert not compare(of("A", b), of("B", stream(make, tmp_path / "c.db", 2e4))).clocks


def test_captured_texts_did_not_take_turns(make: Any, tmp_path: Path) -> None:
    """Texts of two machines that one `pinsweep parse` took in were not measured in one session: the noise between sessions counts."""
    for machine, rate in (("clx", 5000.0), ("dnv", 4500.0)):
        for i in range(3):
            (tmp_path / f"{machine}_run{i}.txt").write_text(make.stream_text(rate + i, 4), encoding="utf-8")
    path = tmp_path / "r.db"
    axes = ("--axis", "machine=(clx|dnv)", "--axis", "repeat=run([0-9])")
    done = CliRunner().invoke(cli, ["parse", *map(str, sorted(tmp_path.glob("*.txt"))), *axes, "-o", str(path)])
    assert done.exit_code == 0, done.output

    found = compare(*levels(load([path]), "machine", "clx,dnv"), by="machine")

    assert {sample.interleaved for sample in found.samples} == {False}
    assert found.provisional == len(found.verdicts)


@pytest.mark.parametrize(
    ("cards", "refused"),
    [
        (("aaaaaa bbbbbb", "cccccc"), True),
        (("aaaaaa bbbbbb", "bbbbbb cccccc"), False),  # a card was put in
        (("aaaaaa", None), False),
    ],
)
def test_machines_of_one_name_are_no_side(
    make: Any, tmp_path: Path, cards: tuple[str | None, str | None], refused: bool
) -> None:
    """Sessions of one machine tell the noise of its days; those of two of one name are no such thing, and their cells were pooled."""
    files = []
    for i, own in enumerate((*cards, cards[0])):
        maker = make.Maker(tmp_path / f"{i}.db")
        maker.facts = {**make.FACTS, "network_cards": own}
        maker.started = f"2026-09-2{i + 1}T03:00:00+00:00"
        for rate in (10e3, 10.1e3):
            maker.add("s", "stream", {"threads": 4}, make.stream_text(rate, 4))
        files.append(maker.write())
    sides = side("A", "old", load(files[:2])), side("B", "new", load(files[2:]))

    if not refused:
        assert len(compare(*sides).verdicts)
        return
    for pair in (sides, sides[::-1]):
        with pytest.raises(UserError, match="several machines are called node07") as found:
            compare(*pair)
        assert found.value.place == "old"


# --- disturbed runs ----------------------------------------------------------------------------------------


def disturbed(make: Any, folder: Path, a: int, b: int, sessions: int = 1) -> Comparison:
    """Two files of sessions of three runs, B half as fast; `a`, `b`: how many of the three something disturbed."""
    reasons = {"reasons": [{"id": "foreign", "text": "other processes took 40 % of CPU 3"}]}
    sides = []
    for name, count, rate in (("a", a, 20e3), ("b", b, 10e3)):
        files = []
        for i in range(sessions):
            maker = make.Maker(folder / f"{name}{i}.db")
            maker.facts = {**make.FACTS, "boot_id": f"{name}{i}"}
            maker.started = f"2026-11-{(10 if name == 'a' else 20) + i}T09:15:02+00:00"
            for run, n in itertools.product(range(3), (1, 2)):
                text = make.stream_text(rate * (1 + run / 1e3), n)
                maker.add(
                    "s",
                    "stream",
                    {"threads": n},
                    text,
                    axes=("threads",),
                    counters=reasons if run < count else {},
                )
            files.append(maker.write())
        sides.append(of(name.upper(), *files))
    return compare(*sides)


@pytest.mark.parametrize(
    ("a", "b", "sessions", "sides", "verdict"),
    [
        (3, 3, 1, ("A", "B"), "inconclusive"),
        (0, 3, 1, ("B",), "inconclusive"),
        (3, 2, 1, ("A",), ""),  # one quiet run of B counts
        (2, 2, 1, (), ""),
        (1, 1, 1, (), "regressed"),  # two quiet runs a side
        (3, 3, 5, (), "regressed"),  # five sessions show what the disturbance makes
    ],
)
def test_a_side_of_disturbed_runs_alone_makes_no_regression(
    make: Any, tmp_path: Path, a: int, b: int, sessions: int, sides: tuple[str, ...], verdict: str
) -> None:
    found = disturbed(make, tmp_path, a, b, sessions)

    assert {(row["verdict"], row["unsure"]) for row in rows(found)} == {(verdict, sides)}
    assert found.fails({"regressed"}) == (verdict == "regressed")


def test_sides_that_took_turns_had_the_same_disturbance(make: Any, tmp_path: Path) -> None:
    disturbed(make, tmp_path, 3, 3)

    found = compare(*levels(load([tmp_path / "a0.db"]), "threads", "1,2"), by="threads")

    assert {row["verdict"] for row in rows(found)} == {"same"}
