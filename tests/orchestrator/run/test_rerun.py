"""Which side of a cell is measured again, with what, and in which order."""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from orchestrator.experiment.expand import expand
from orchestrator.experiment.load import parse_experiment
from orchestrator.machine import probe
from orchestrator.plan.prepare import PlanOptions
from orchestrator.run import exclusive
from orchestrator.run.events import Event, Waiting
from orchestrator.run.outcome import Rules
from orchestrator.run.process import Stop
from orchestrator.run.rerun import CellRef, Pair, Rerun, prepare_again, run_again
from orchestrator.run.session import run_experiments
from orchestrator.store.result_file import StoredCell, StoredExperiment, create_result, open_result
from parsers.errors import UserError

PROGRAM = "#!/bin/sh\n# STREAM version $Revision: 5.10 $\nsed '/^Number of Threads/s/2$/1/' {text}\n"
SHARED = Rules(allow_disturbed=True)  # tests run side by side
TEXT = Path(__file__).resolve().parents[2] / "fixtures" / "stream" / "stream_omp2.out"

EXPERIMENT = """\
schema: 1
title: Two sweeps
sweeps:
  - {{name: stream, tool: stream, repeats: 1, fixed: {{threads: 1}},
     matrix: {{place: [{{name: x, cpus: pu 0, memory: any}}, {{name: y, cpus: pu 0, memory: local}}]}}}}
  - name: told
    tool: command
    fixed: {{command: "{folder}/say {{n}}", seconds: 0.05, metrics: {{x: {{regex: "([0-9]+)", unit: "1"}}}}}}
    matrix: {{n: [1, 2, 3]}}
    repeats: 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """a.db and b.db, made with two different programs for STREAM, and here/, where fresh files go."""
    folder = tmp_path_factory.mktemp("rerun")
    (folder / "here").mkdir()
    for name in ("old", "new"):
        (folder / name).write_text(PROGRAM.format(text=shlex.quote(str(TEXT))) + f"# {name}\n")
    (folder / "say").write_text("#!/bin/sh\necho $1\n")
    for name in ("old", "new", "say"):
        (folder / name).chmod(0o755)
    (folder / "x.yaml").write_text(EXPERIMENT.format(folder=folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        for name, side in (("old", "a"), ("new", "b")):
            patch.setenv("PINSWEEP_STREAM", str(folder / name))
            run_experiments(
                [folder / "x.yaml"],
                PlanOptions(output=folder / f"{side}.db"),
                version="0",
                argv=[],
                seed=1,
                rules=SHARED,
            )
        patch.delenv("PINSWEEP_STREAM")
        yield folder


def cells(path: Path, sweep: str) -> list[CellRef]:
    with open_result(path) as result:
        return [CellRef(path=path, point_id=s.cell.point_id) for s in result.cells() if s.cell.sweep == sweep]


def pairs(a: Path, b: Path, sweep: str, repeats: int = 2) -> list[Pair]:
    return [Pair(a=x, b=y, repeats=repeats) for x, y in zip(cells(a, sweep), cells(b, sweep), strict=True)]


def changed(path: Path, to: Path, **facts: Any) -> Path:
    """Return a copy of a file whose session is of another host, or has other facts."""
    to.write_bytes(path.read_bytes())
    with sqlite3.connect(to) as db:
        (text,) = db.execute("SELECT facts FROM session").fetchone()
        host = facts.pop("host", None)
        db.execute("UPDATE session SET facts = ?", (json.dumps({**json.loads(text), **facts}),))
        if host:
            db.execute("UPDATE session SET host = ?", (host,))
    return to


def prepared(folder: Path, asked: list[Pair], seed: int = 1) -> Rerun:
    return prepare_again(asked, folder=folder / "here", seed=seed)


def test_other_programs_take_turns_each_its_own(folder: Path) -> None:
    rerun = prepared(folder, pairs(folder / "a.db", folder / "b.db", "stream", repeats=6))

    assert (rerun.interleaved, rerun.not_repeatable, rerun.why_only_b) == ({0, 1}, {}, "")
    assert len(rerun.runs) == 24
    for i in range(0, 24, 2):  # a pair, in random order: the same cell and repeat, each side with its own program
        ((first, _), x), ((second, _), y) = rerun.runs[i : i + 2]
        assert {first, second} == {"a", "b"}
        assert x.key == y.key
        assert x.repeat == i // 4 + 1
        programs = {side: str(folder / name) for side, name in (("a", "old"), ("b", "new"))}
        assert (programs[first] in x.argv, programs[second] in y.argv) == (True, True)
    assert {side for (side, _), _ in rerun.runs[::2]} == {"a", "b"}


def test_fresh_runs_lie_in_files_of_their_own(folder: Path) -> None:
    before = [(folder / name).read_bytes() for name in ("a.db", "b.db")]
    rerun = prepared(folder, pairs(folder / "a.db", folder / "b.db", "stream"))

    fresh = run_again(rerun, folder / "here", version="0", argv=["compare"], rules=SHARED)

    assert [(folder / name).read_bytes() for name in ("a.db", "b.db")] == before
    for paths, name in ((fresh.a, "old"), (fresh.b, "new")):
        (path,) = paths
        with open_result(path) as result:
            assert result.sessions()[0].programs["stream"]["path"] == str(folder / name)
            assert [(record.status, record.warm_up) for record in result.runs()] == [("ok", True)] + [("ok", False)] * 4
            assert all(str(folder / name) in record.argv for record in result.runs())
            assert {stored.repeats for stored in result.cells()} == {2}
            assert result.experiments()[0].text == EXPERIMENT.format(folder=folder)
    assert not list((folder / "here").glob("pinsweep-scratch*"))


def test_other_sweeps_on_its_cores_are_waited_for(folder: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exclusive, "LOOK_EVERY_S", 0.02)
    asked = pairs(folder / "a.db", folder / "b.db", "stream", repeats=1)
    rerun = prepare_again(asked, folder=folder / "here", seed=1, warm_up=False)
    events: list[Event] = []

    with ExitStack() as others, Stop() as stop:
        others.enter_context(exclusive.reserved([0], folder / "other.db", stop))

        def end_it(event: Event) -> None:
            events.append(event)
            if isinstance(event, Waiting):
                others.close()

        run_again(rerun, folder / "here", version="0", argv=[], rules=SHARED, on_event=end_it)

    first = events[0]
    assert isinstance(first, Waiting)
    assert first.holder is not None
    assert first.holder.pid == str(os.getpid())
    names = [type(event).__name__ for event in events]
    assert (names[1], names.count("Ended")) == ("Begun", 4)
    assert not list(runtime.iterdir())


def test_the_same_command_is_not_measured_twice(folder: Path) -> None:
    rerun = prepared(folder, pairs(folder / "a.db", folder / "b.db", "told"))

    assert not rerun.interleaved
    assert rerun.why_only_b == "the commands of both sides are equal"
    assert [side for (side, _), _ in rerun.runs] == ["b"] * 6


def test_two_levels_of_one_file_take_turns(folder: Path) -> None:
    one, two, _ = cells(folder / "a.db", "told")

    rerun = prepared(folder, [Pair(a=one, b=two, repeats=2)])

    assert rerun.interleaved == {0}
    fresh = run_again(rerun, folder / "here", version="0", argv=[], rules=SHARED)
    for path, cell in ((fresh.a[0], one), (fresh.b[0], two)):
        with open_result(path) as result:
            assert {record.point_id for record in result.runs()} == {cell.point_id}


def test_rounds_hold_every_pair_once_and_the_seed_decides_the_order(folder: Path) -> None:
    asked = pairs(folder / "a.db", folder / "b.db", "told", repeats=4)

    def order(seed: int) -> list[tuple[str, int]]:
        return [run.key for _, run in prepared(folder, asked, seed).runs]

    assert order(3) == order(3)
    assert order(3) != order(4)
    rounds = [order(3)[i : i + 3] for i in range(0, 12, 3)]
    assert [{repeat for _, repeat in r} for r in rounds] == [{1}, {2}, {3}, {4}]
    assert all(len({cell for cell, _ in r}) == 3 for r in rounds)


def test_a_program_that_changed_since_is_not_taken_for_the_one_of_then(folder: Path) -> None:
    text = (folder / "old").read_text()
    try:
        (folder / "old").write_text(text + "# patched\n")
        asked = pairs(folder / "a.db", folder / "b.db", "stream")
        assert "old is another program now" in prepared(folder, asked).why_only_b
        back = pairs(folder / "b.db", folder / "a.db", "stream")
        assert all("old is another program now" in reason for reason in prepared(folder, back).not_repeatable.values())
    finally:
        (folder / "old").write_text(text)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"host": "node07"}, "it is of the host node07, this is"),
        ({"kernel": "2.6.32"}, "the kernel was 2.6.32 and is"),
        ({"kernel": None}, "its kernel was not recorded"),
        ({"memory_bytes": 3 << 40}, "the memory was 3 TiB and is"),
    ],
)
def test_what_is_not_of_this_machine_as_it_is(folder: Path, facts: dict[str, Any], said: str) -> None:
    other = changed(folder / "a.db", folder / "other.db", **facts)

    with pytest.raises(UserError, match="side B cannot be measured again here") as caught:
        prepared(folder, pairs(folder / "b.db", other, "stream"))
    assert said in caught.value.cause

    rerun = prepared(folder, pairs(other, folder / "b.db", "stream"))
    assert said in rerun.why_only_b
    assert {side for (side, _), _ in rerun.runs} == {"b"}


def test_the_session_that_counts_is_that_of_the_cells(folder: Path) -> None:
    """A file may be continued on another kernel by cells of their own: those of before cannot be measured again."""
    b = changed(folder / "b.db", folder / "two.db", kernel="1.0")
    with create_result(b) as result:
        first = result.sessions()[0]
        facts = {**first.facts, "kernel": probe.facts()["kernel"]}
        result.begin_session(
            started_utc=first.started_utc, version="0", argv=[], seed=1, host=first.host, facts=facts, topology="",
            programs=first.programs,
        )  # fmt: skip

    with pytest.raises(UserError, match=r"the kernel was 1\.0 and is"):
        prepared(folder, pairs(folder / "a.db", b, "stream"))


@pytest.mark.skipif(os.geteuid() != 0, reason="other users start what they like")
@pytest.mark.parametrize("sweep", ["stream", "told"])
def test_root_does_not_start_what_a_file_names_and_others_may_write(folder: Path, sweep: str) -> None:
    mode = folder.stat().st_mode
    folder.chmod(0o777)
    try:
        rerun = prepared(folder, pairs(folder / "a.db", folder / "b.db", sweep))
    finally:
        folder.chmod(mode)

    assert not rerun.runs
    assert all(f"everybody may write {folder}" in why for why in rerun.not_repeatable.values())


def test_a_cell_that_the_newest_text_has_in_other_words_is_measured_again(folder: Path) -> None:
    text = EXPERIMENT.format(folder=folder)
    for words in (text, text.replace("seconds: 0.05", "seconds: 0.5").replace("{n}", " '{n}'")):
        (folder / "x.yaml").write_text(words)
        run_experiments(
            [folder / "x.yaml"],
            PlanOptions(output=folder / "c.db", only=("told",)),
            version="0",
            argv=[],
            seed=1,
            rules=SHARED,
        )
    (folder / "x.yaml").write_text(text)
    told = cells(folder / "c.db", "told")

    again = prepared(folder, [Pair(a=x, b=x, repeats=2) for x in told])

    assert len(told) == 3
    assert not again.not_repeatable
    assert {run.cell.point_id for _, run in again.runs} == {cell.point_id for cell in told}


def test_what_cannot_start_any_more_is_lost_with_the_reason(folder: Path) -> None:
    (folder / "say").rename(folder / "said")
    try:
        rerun = prepared(folder, pairs(folder / "a.db", folder / "b.db", "told"))
    finally:
        (folder / "said").rename(folder / "say")

    assert set(rerun.not_repeatable) == {0, 1, 2}
    assert "no program of that name" in rerun.not_repeatable[0]
    assert not rerun.runs


def test_captured_output_has_no_experiment_to_run(folder: Path) -> None:
    captured = folder / "captured.db"
    captured.write_bytes((folder / "a.db").read_bytes())
    with sqlite3.connect(captured) as db:
        db.execute("UPDATE experiment SET text = ''")

    with pytest.raises(UserError, match="captured output"):
        prepared(folder, pairs(folder / "b.db", captured, "told"))


def test_a_device_is_written_again_only_with_leave(folder: Path) -> None:
    """Planned only: nothing is started here."""
    device = next((p for p in sorted(Path("/dev").iterdir()) if p.is_block_device()), None)
    if device is None or shutil.which("fio") is None:
        pytest.skip("needs fio and a block device to name")
    text = f"""
schema: 1
title: A device
tool: fio
fixed: {{filename: {device}, size: 1M, runtime: 1, ioengine: psync}}
matrix: {{rw: [randread, randwrite]}}
"""
    experiment = parse_experiment(text, "device.yaml")
    cells, _ = expand(experiment, probe.read_topology(), root=os.geteuid() == 0, versions={})
    path = folder / "device.db"
    with create_result(path) as result:
        session = result.begin_session(
            started_utc="2026-01-01T00:00:00+00:00", version="0", argv=[], seed=1, host=platform.node(),
            facts=probe.facts(), topology="", programs={},
        )  # fmt: skip
        result.add_plan(
            session,
            StoredExperiment(sha256="x", path="device.yaml", title="A device", text=text, about=""),
            [StoredCell(cell=p, sweep_title="A device", repeats=1, experiment="x") for p in cells],
            [],
        )
    read, write = (CellRef(path=path, point_id=cell.point_id) for cell in cells)

    assert len(prepared(folder, [Pair(a=read, b=read, repeats=2)]).runs) == 2  # not asked for the cell beside it
    with pytest.raises(UserError, match="nothing allows it") as caught:
        prepared(folder, [Pair(a=write, b=write, repeats=2)])
    assert f"--allow-write {device}" in caught.value.hint
