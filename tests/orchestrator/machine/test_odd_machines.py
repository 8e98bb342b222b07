"""The table of odd machines in docs/placement.md is what is planned for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.plan.prepare import PlanOptions, prepare
from tests.machines import CORPUS, FIXTURES

PROJECT = Path(__file__).resolve().parents[3]
REASONS = {
    "no SMT": "no core has two PUs that may be used",
    "no cache": "no two cores are known to share a cache",
    "one package": "there is only one that may be used",
}


def table() -> list[dict[str, str]]:
    text = (PROJECT / "docs" / "placement.md").read_text(encoding="utf-8")
    lines = text.partition("| machine | file |")[2].splitlines()
    head = ["machine", "file", *(word.strip() for word in lines[0].strip(" |").split("|"))]
    rows = [line.strip("| ").split(" | ") for line in lines[2:] if line.startswith("| ")]
    return [dict(zip(head, row, strict=True)) for row in rows]


def find(name: str) -> Path:
    if name.endswith(".json") or name.startswith("cpuset"):
        return FIXTURES / name
    found = next(CORPUS.glob(f"*/hwloc/{name}"), None)
    return found or pytest.skip(f"the corpus is not here: no {name} in {CORPUS}")


@pytest.mark.parametrize("row", table(), ids=lambda row: row["file"].strip("`"))
def test_what_the_table_says_is_what_is_planned(
    row: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINSWEEP_IMB", "/bin/true")  # only the placement counts
    plan = prepare(
        [PROJECT / "experiments" / "imb-pingpong.yaml"],
        PlanOptions(topology=str(find(row["file"].strip("`"))), scratch=tmp_path),
        seed=0,
    ).plan
    planned = {
        run.placement.name: ", ".join(f"{g.cpus[0]} ({g.membind[0]})" for g in run.placement.groups)
        for run in plan.runs
        if run.placement
    }
    planned |= {alias.cell["place"]: planned[alias.of["place"]] for alias in plan.aliases}
    skipped = {str(one.cell["place"]): one.reason for one in plan.skipped}

    for place in ("smt siblings", "same cache", "same package", "other package"):
        if row[place] in REASONS:
            assert REASONS[row[place]] in skipped[place]
        else:
            assert planned[place] == row[place]
