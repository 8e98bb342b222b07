"""Why runs gave no number, where each has a reason of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.report import build
from reports.results.load import load


def test_of_very_many_reasons_the_first_are_told(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """15 000 runs that failed for reasons of their own, 2.4 MB, were 1.1 GiB of a lab report."""
    monkeypatch.setattr(build, "_MOST_REASONS", 2)
    maker = make.Maker(tmp_path / "r.db")
    for n in range(5):
        maker.add(
            "s",
            "stream",
            {"threads": n + 1},
            "",
            axes=["threads"],
            status="failed",
            reason=f"it ended with {n}",
        )

    checks = {check.subject: check.text for check in build.build(load([maker.write()])).checks}

    assert {"it ended with 0.", "it ended with 1.", "3 more reasons."} <= checks.keys()
    assert "it ended with 2." not in checks
    assert checks["3 more reasons."].startswith("s: 3 runs gave no number.")
