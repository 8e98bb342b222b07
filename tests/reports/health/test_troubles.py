"""What a check of a host finds, the gravest first, in a line."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from reports.health.troubles import ORDER, Trouble, line, troubles
from reports.results.differences import SEVERAL, Difference, Fingerprint


def test_a_line_is_the_gravest_and_counts_its_like() -> None:
    slow = Trouble(kind="slower", id="slower", text="stream: less")
    unknown = Trouble(kind="unknown", id="disturbed", text="others\nused  it")
    wrong = Trouble(kind="wrong", id="wrong-answer", text="stream: invalid")
    assert ORDER.index(wrong.kind) < ORDER.index(slow.kind) < ORDER.index(unknown.kind)
    assert line(()) == ""
    assert line((wrong, slow, unknown)) == "ERROR wrong-answer stream: invalid; and 1 more"
    assert line((unknown,)) == "UNKNOWN disturbed others used it"


def test_a_module_or_core_less_than_in_the_baseline_is_a_finding_and_another_kernel_none() -> None:
    def told(*differences: Difference) -> list[str]:
        fingerprint = Fingerprint(differences=differences, agreed=(), unknown=())
        found: Any = SimpleNamespace(rows=(), fingerprint=fingerprint, of=lambda *_: (), unmatched=())
        nothing: Any = SimpleNamespace(failed=(), disturbed=(), missing=(), runs=())
        return [one.text for one in troubles(nothing, (), found=found)]

    kernel = Difference(what="kernel", a="6.1", b="6.8")
    modules = Difference(what="memory modules", a="8 × 16 GiB", b="7 × 16 GiB")
    kinds = Difference(what="memory modules", a=f"8 × 16 GiB{SEVERAL}8 × 32 GiB", b="8 × 16 GiB")
    assert told(kernel, modules) == ["memory modules: 8 × 16 GiB in the baseline, 7 × 16 GiB now"]
    assert told(kinds) == []


def test_a_repeat_that_was_disturbed_is_nothing_where_others_of_its_cell_were_quiet() -> None:
    def run(cell: str, *, quiet: bool) -> Any:
        record = SimpleNamespace(point_id=cell, repeat=1, reason="others took 2 %")
        of = SimpleNamespace(sweep=cell, labels=dict)
        return SimpleNamespace(record=record, parsed=quiet or None, cell=of)

    disturbed = (run("stream", quiet=False), run("latency", quiet=False))
    results: Any = SimpleNamespace(
        failed=(), disturbed=disturbed, missing=(), runs=(run("stream", quiet=True), *disturbed)
    )
    assert [one.text for one in troubles(results, ())] == ["latency: others took 2 %"]


@pytest.mark.parametrize(
    ("shift", "unsure", "once", "verdict", "ids"),
    [
        (0.05, (), False, "inconclusive", []),  # less than the threshold of 10 %
        (0.20, (), False, "inconclusive", ["inconclusive"]),
        (None, (), False, "inconclusive", ["inconclusive"]),  # a side is 0
        (0.00, (), True, "inconclusive", ["inconclusive"]),  # one run
        (0.00, ("B",), False, "inconclusive", ["disturbed"]),
        (0.05, (), False, "same", []),
    ],
)
def test_a_number_that_may_be_slower_is_unknown(
    shift: float | None,
    unsure: tuple[str, ...],
    once: bool,
    verdict: str,
    ids: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("reports.compare.text.from_to", lambda _: "")
    decision = SimpleNamespace(shift=shift, threshold=0.1, unsure=unsure)
    row = SimpleNamespace(decision=decision, derived=False, once=once, verdict=verdict, name="n", a=(), b=())
    fingerprint = SimpleNamespace(differences=())
    found: Any = SimpleNamespace(rows=(row,), fingerprint=fingerprint, of=lambda *_: (), unmatched=())
    nothing: Any = SimpleNamespace(failed=(), disturbed=(), missing=(), runs=())

    assert [one.id for one in troubles(nothing, (), found=found)] == ids


@pytest.mark.parametrize(
    ("side", "part", "optional", "numberless", "ids"),
    [
        ("A", True, False, False, ["baseline"]),  # a number that this host no longer has
        ("A", True, True, False, []),
        ("B", True, False, False, []),
        ("A", False, False, False, ["baseline"]),
        ("B", False, False, True, []),
    ],
)
def test_a_number_of_the_baseline_that_is_missing_is_unknown(
    side: str, part: bool, optional: bool, numberless: bool, ids: list[str]
) -> None:
    one = SimpleNamespace(
        side=side, part=part, optional=optional, numberless=numberless, sweep="s", cell="", reason="none"
    )
    fingerprint = SimpleNamespace(differences=())
    found: Any = SimpleNamespace(rows=(), fingerprint=fingerprint, of=lambda *_: (), unmatched=(one,))
    nothing: Any = SimpleNamespace(failed=(), disturbed=(), missing=(), runs=())

    assert [trouble.id for trouble in troubles(nothing, (), found=found)] == ids
