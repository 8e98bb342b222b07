"""What a comparison takes for evidence: digits that were printed, sessions that are apart, and no certainty from less."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from parsers import command
from parsers.errors import UserError
from pinsweep.cli import cli
from reports.compare import formats, terminal
from reports.compare import text as texts
from reports.compare.comparison import compare
from reports.compare.model import Comparison, Row
from reports.compare.section import delta
from reports.compare.sides import Side, levels, side
from reports.numbers import Name, Number, series
from reports.numbers.last_digit import last_digit
from reports.results.load import load

TOOK = {"took": {"regex": r"took ([\d.]+)", "unit": "ms", "better": "lower"}}


def program(make: Any, path: Path, words: Sequence[str], **more: Any) -> Side:
    """A side of runs of one cell that print these words."""
    maker = make.Maker(path)
    for word in words:
        options = {"command": ["x"], "metrics": TOOK, **more}
        maker.add("s", "command", options, f"took {word} ms\n", axes=tuple(more))
    return side("A", path.name, load([maker.write()]))


def row(make: Any, tmp_path: Path, a: Sequence[str], b: Sequence[str]) -> Row:
    (found,) = compare(program(make, tmp_path / "a.db", a), program(make, tmp_path / "b.db", b)).rows
    return found


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
    found = row(make, tmp_path, a, b)

    assert found.verdict == verdict
    middle = sorted([float(w) * 1e6 for w in (*a, *b)])[len(a)]
    assert found.decision.resolution == pytest.approx(step / middle, rel=0.15)
    assert found.interval is not None
    assert found.change is not None
    assert found.interval[0] < found.change < found.interval[1]


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("better", ["higher", "lower", "neither"])
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
        assert len(found.rows) > 3
        for one in found.rows:
            assert one.interval is not None
            assert one.interval[0] < one.interval[1]
        assert "0.0 to 0.0" not in terminal.table(found, everything=True)


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
    name = Name(metric="t", unit="ns", better="lower")

    def digit(*values: float, step: float | None = None) -> float:
        return last_digit(Number(name=name, value=value, step=step) for value in values)

    assert digit(25, 25, 26.5) == 1.5
    assert digit(25, 25) == 0
    assert digit(25, 25, step=0.1) == pytest.approx(0.1)
    assert digit(110, 120, 130, 140, 150, step=1) == 10  # five different ones all end in a 0


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

    assert {row.sweep: row.verdict for row in found.rows} == {"coarse": "inconclusive", "fine": "same"}
    assert {one.key.sweep: one.values[0].number.step for one in series.collect(load(paths))} == {
        "coarse": 1e6, "fine": 1e4,
    }  # fmt: skip


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


def side_of(name: str, *paths: Path) -> Side:
    return side(name, "+".join(p.name for p in paths), load(paths))  # type: ignore[arg-type]


def test_files_of_one_name_did_not_take_turns(make: Any, tmp_path: Path) -> None:
    paths = []
    for day, rate in (("mon", 20000.0), ("tue", 20300.0)):
        (tmp_path / day).mkdir()
        paths.append(stream(make, tmp_path / day / "r.db", rate))

    found = compare(side_of("A", paths[0]), side_of("B", paths[1]))

    assert {one.decision.tau for one in found.rows} == {0.01}
    assert {one.verdict for one in found.rows} == {"inconclusive"}


def test_one_boot_within_an_hour_is_one_session(make: Any, tmp_path: Path) -> None:
    a = [stream(make, tmp_path / f"a{i}.db", 20000.0, boot="x", at=f"09:{15 * i:02}") for i in range(4)]
    b = [stream(make, tmp_path / f"b{i}.db", 17000.0, boot=f"b{i}", at="11:00") for i in range(2)]

    found = compare(side_of("A", *a), side_of("B", *b))

    assert {(one.decision.k_a, one.decision.k_b) for one in found.rows} == {(1, 2)}
    assert "4 sessions (one boot within an hour: count as 1), 12 runs" in texts.side(found.a)
    assert "2 sessions, 6 runs" in texts.side(found.b)
    assert not found.provisional
    assert compare(side_of("A", *a), side_of("B", *b[:1])).provisional == 4


def everywhere(found: Comparison) -> list[str]:
    return [
        " ".join(text.split())
        for text in (
            terminal.table(found), formats.as_json(found), formats.as_markdown(found).replace("\\", ""),
            formats.as_junit(found), formats.as_github(found), f"{delta(found).sentence} {' '.join(delta(found).lead)}",
        )
    ]  # fmt: skip


def test_one_session_a_side_is_provisional_in_every_headline(make: Any, tmp_path: Path) -> None:
    a, b = (stream(make, tmp_path / f"{n}.db", rate) for n, rate in (("a", 20000.0), ("b", 17000.0)))

    found = compare(side_of("A", a), side_of("B", b))

    assert found.provisional == len(found.rows) == 4
    assert found.counts["regressed"] == 4
    for text in everywhere(found):
        assert "Provisional, one session a side: 4 of 4 numbers regressed" in text
    assert "::error" in formats.as_github(found)
    assert formats.as_github(found).splitlines()[0].endswith(", provisional")
    document = json.loads(formats.as_json(found))
    assert document["provisional"] == 4
    assert {cell["provisional"] for cell in document["cells"]} == {True}


def test_what_took_turns_is_not_provisional(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for place, rate in (("local", 20000.0), ("remote", 15000.0)):
        for i in range(3):
            maker.add("s", "stream", {}, make.stream_text(rate + i, 1), axes=("place",), place=place, relation=place)  # fmt: skip
    results = load([maker.write()])

    found = compare(*levels(results, "place", "local,remote"), by="place")

    assert not found.provisional
    assert texts.sentence(found).startswith("4 of 4 numbers are worse")


def test_a_session_whose_clock_was_set_is_named(make: Any, tmp_path: Path) -> None:
    """It began five hours ahead, before the clock was set: the other of its boot tells."""
    wrong = stream(make, tmp_path / "a.db", 20000.0, boot="x", at="14:00", up=600.0)
    stream(make, wrong, 20000.0, boot="x", at="10:00", up=4200.0)
    b = stream(make, tmp_path / "b.db", 20000.0, boot="y", at="12:00")

    found = compare(side_of("A", wrong), side_of("B", b))

    (said,) = found.clocks
    assert said.startswith("node07, the session of 2026-11-21 14:00 (a.db): its clock was 5 h ahead of")
    for text in everywhere(found):
        assert found.clocks[0] in text
    assert not compare(side_of("A", b), side_of("B", stream(make, tmp_path / "c.db", 2e4))).clocks


def test_captured_texts_did_not_take_turns(make: Any, tmp_path: Path) -> None:
    """Texts of two machines that one `pinsweep parse` took in were not measured in one session: the noise between sessions counts."""
    for machine, rate in (("clx", 5000.0), ("dnv", 4500.0)):
        for i in range(3):
            (tmp_path / f"{machine}_run{i}.txt").write_text(make.stream_text(rate + i, 4), encoding="utf-8")
    path = tmp_path / "r.db"
    axes = ("--axis", "machine=(clx|dnv)", "--axis", "repeat=run([0-9])")
    done = CliRunner().invoke(
        cli, ["parse", *map(str, sorted(tmp_path.glob("*.txt"))), *axes, "-o", str(path)]
    )
    assert done.exit_code == 0, done.output

    found = compare(*levels(load([path]), "machine", "clx,dnv"), by="machine")

    assert {sample.interleaved for sample in found.samples} == {False}
    assert texts.sentence(found).startswith("Provisional, one session a side: ")
    assert "took turns" not in texts.noise(found)
    assert texts.side(found.a) == "machine=clx: texts taken in, their hosts and sessions unknown, 3 runs"


@pytest.mark.parametrize("directed", [True, False])
def test_a_metric_without_a_direction_is_said_to_be_left_out(
    make: Any, tmp_path: Path, directed: bool
) -> None:
    """`compare` had "no number in common" of two sides with the same metric, and left it out of others without a word."""
    spec = {"count": {"regex": r"count (\d+)", "unit": "widgets"}, **(TOOK if directed else {})}
    sides = []
    for name in ("a", "b"):
        maker = make.Maker(tmp_path / f"{name}.db")
        for n in (7, 8):
            options = {"command": ["x"], "metrics": spec}
            maker.add("s", "command", options, f"took {n}0.25 ms\ncount {n}\n", axes=())
        sides.append(side("A", name, load([maker.write()])))

    found = compare(*sides)

    said = "Not compared: count, without “better” in the experiment."
    assert said in texts.sentence(found)
    assert ("no number in common" in texts.sentence(found)) is not directed
    assert said in " ".join(terminal.table(found).split())
    assert json.loads(formats.render(found, "json"))["counts"]["unmatched"] == 0


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("aaaaaa bbbbbb", "cccccc", [("network cards of node07", "aaaaaa bbbbbb", "cccccc")]),
        ("aaaaaa bbbbbb", "bbbbbb cccccc", []),  # a card was put in
        ("aaaaaa", None, []),
    ],
)
def test_two_machines_of_one_name_are_not_said_to_differ_in_nothing(
    make: Any, tmp_path: Path, a: str, b: str | None, said: list[tuple[str, str, str]]
) -> None:
    sides = []
    for name, cards in (("A", a), ("B", b)):
        maker = make.Maker(tmp_path / f"{name}.db")
        maker.facts = {**make.FACTS, "network_cards": cards}
        for rate in (10e3, 10.1e3):
            maker.add("s", "stream", {"threads": 4}, make.stream_text(rate, 4))
        sides.append(side(name, f"{name}.db", load([maker.write()])))  # type: ignore[arg-type]
    found = compare(*sides)
    page = delta(found)

    assert [(d.what, d.a, d.b) for d in found.fingerprint.differences] == said
    assert ("Nothing that was recorded of machines and programs differs" in page.agreed) == (not said)
    assert page.differing == (
        "What differs: network cards of node07 aaaaaa bbbbbb → cccccc."
        if said
        else "Nothing that was recorded of machine and programs differs."
    )
    assert "The same: " in page.agreed
    assert "sha256, " not in page.agreed


def test_of_two_hosts_it_is_not_said_that_nothing_differs(make: Any, tmp_path: Path) -> None:
    sides = []
    for name, host in (("A", "n1"), ("B", "n2")):
        maker = make.Maker(tmp_path / f"{name}.db", host=host)
        for rate in (10e3, 10.1e3):
            maker.add("s", "stream", {"threads": 4}, make.stream_text(rate, 4))
        sides.append(side(name, f"{name}.db", load([maker.write()])))  # type: ignore[arg-type]
    page = delta(compare(*sides))
    assert page.differing == "Two machines, n1 and n2; nothing else that was recorded of them differs."
    assert page.agreed.startswith(
        "Nothing else that was recorded of machines and programs differs. The same: "
    )


@pytest.mark.parametrize(
    ("cards", "said"),
    [
        (("aaaaaa bbbbbb", "cccccc"), "network cards cccccc, not aaaaaa"),
        (("aaaaaa bbbbbb", "bbbbbb cccccc"), ""),  # a card was put in
        (("aaaaaa", None), ""),
    ],
)
def test_machines_of_one_name_are_no_side(
    make: Any, tmp_path: Path, cards: tuple[str | None, str | None], said: str
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

    if not said:
        assert compare(*sides).rows
        return
    for pair in (sides, sides[::-1]):
        with pytest.raises(
            UserError, match="several machines are called node07, or its hardware changed"
        ) as found:
            compare(*pair)
        assert (found.value.place, said in str(found.value)) == ("old", True)
