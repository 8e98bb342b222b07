"""What a check of a host finds, the gravest first, in a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from reports.health.troubles import ORDER, Trouble, compared, line, troubles
from reports.numbers import Name
from reports.results.differences import SEVERAL, Difference, Fingerprint


def test_a_line_is_the_gravest_and_counts_its_like() -> None:
    slow = Trouble(kind="slower", id="slower", text="stream: less")
    unknown = Trouble(kind="unknown", id="disturbed", text="others\nused  it")
    wrong = Trouble(kind="wrong", id="wrong-answer", text="stream: invalid")
    assert ORDER.index(wrong.kind) < ORDER.index(slow.kind) < ORDER.index(unknown.kind)
    assert line(()) == ""
    assert line((wrong, slow, unknown)) == "ERROR wrong-answer stream: invalid; and 1 more"
    assert line((unknown,)) == "UNKNOWN disturbed others used it"


def comparison(rows: Sequence[Mapping[str, Any]] = (), unmatched: Sequence[Mapping[str, Any]] = (), differences: Sequence[Difference] = ()) -> Any:  # fmt: skip
    fingerprint = Fingerprint(differences=tuple(differences), agreed=(), unknown=())
    return SimpleNamespace(
        verdicts=pd.DataFrame(rows, dtype=object), unmatched=pd.DataFrame(unmatched), fingerprint=fingerprint
    )


def test_a_module_or_core_less_than_in_the_baseline_is_a_finding_and_another_kernel_none() -> None:
    def found(*differences: Difference) -> list[str]:
        return [one.kind for one in compared(comparison(differences=differences))]

    kernel = Difference(what="kernel", a="6.1", b="6.8")
    modules = Difference(what="memory modules", a="8 × 16 GiB", b="7 × 16 GiB")
    kinds = Difference(what="memory modules", a=f"8 × 16 GiB{SEVERAL}8 × 32 GiB", b="8 × 16 GiB")
    assert found(kernel, modules) == ["changed"]
    assert found(kinds) == []


def test_a_repeat_that_was_disturbed_is_nothing_where_others_of_its_cell_were_quiet() -> None:
    def run(cell: str, *, quiet: bool) -> Any:
        record = SimpleNamespace(point_id=cell, repeat=1, status="disturbed", reason="others took 2 %")
        of = SimpleNamespace(sweep=cell, labels=dict)
        return SimpleNamespace(record=record, parsed=quiet or None, cell=of)

    disturbed = (run("stream", quiet=False), run("latency", quiet=False))
    results: Any = SimpleNamespace(
        failed=(), disturbed=disturbed, missing=(), runs=(run("stream", quiet=True), *disturbed)
    )
    assert [one.text for one in troubles(results, ())] == ["latency: others took 2 %"]


@pytest.mark.parametrize(
    ("shift", "unsure", "verdict", "ids"),
    [
        (0.05, (), "inconclusive", []),  # less than the threshold of 10 %
        (0.20, (), "inconclusive", ["inconclusive"]),
        (None, (), "inconclusive", ["inconclusive"]),  # a side is 0
        (0.00, (), "", ["inconclusive"]),  # one run
        (0.00, ("B",), "inconclusive", ["disturbed"]),
        (0.05, (), "same", []),
        (0.20, (), "regressed", ["slower"]),
    ],
)
def test_a_number_that_may_be_slower_is_unknown(
    shift: float | None, unsure: tuple[str, ...], verdict: str, ids: list[str]
) -> None:
    name = Name(metric="rate", unit="B/s", better="higher")
    row = {
        "sweep": "s", "cell": "", "name": name, "verdict": verdict, "shift": shift, "threshold": 0.1, "unsure": unsure, "median_a": 2.0,
        "median_b": 1.0, "step": None, "ratio": 0.5, "low": None, "high": None, "flags_a": "", "flags_b": "",
    }  # fmt: skip

    assert [one.id for one in compared(comparison([row]))] == ids


@pytest.mark.parametrize(
    ("side", "kind", "ids"),
    [
        ("A", "number", ["baseline"]),  # a number that this host no longer has
        ("A", "optional", []),
        ("B", "number", []),
        ("A", "cell", ["baseline"]),
        ("B", "numberless", []),
    ],
)
def test_a_number_of_the_baseline_that_is_missing_is_unknown(side: str, kind: str, ids: list[str]) -> None:
    row = {
        "side": side,
        "sweep": "s",
        "cell": "",
        "reason": "no such cell",
        "detail": "",
        "numbers": "",
        "kind": kind,
    }

    assert [trouble.id for trouble in compared(comparison(unmatched=[row]))] == ids
