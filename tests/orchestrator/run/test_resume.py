"""What may join the runs of a result file, and what begins cells of its own."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import pytest

from orchestrator.model import AS_NEW, Alias, Cell, Group, Place, Placement, Plan, PlannedRun
from orchestrator.run import resume
from orchestrator.run.resume import Held, Setting, continued
from orchestrator.store.result_file import Conditions, Session
from parsers.errors import UserError

LIBRARY = {"path": "/opt/mpi/libmpi.so.12", "sha256": "aa"}
LAUNCHER = {"path": "/opt/mpi/mpiexec.hydra", "sha256": "bb"}
IMB = {
    "name": "IMB-MPI1",
    "path": "/opt/IMB-MPI1",
    "sha256": "cc",
    "files": {"libmpi.so.12": LIBRARY, "mpirun": LAUNCHER},
}
FACTS = {"kernel": "6.1", "cpu_model": "Xeon", "memory_bytes": 100 << 30, "governor": "performance"}
PLACE = Placement(name="x", groups=(Group(cpus=(0,), membind=(0,)), Group(cpus=(1,), membind=(0,))))
ARGV = ("mpiexec.hydra", "-np", "1", "/usr/bin/numactl", "--physcpubind=0", "--", "/opt/IMB-MPI1", "PingPong")


def cell(size: int) -> Cell:
    place = Place(name="x", cpus="same cache")
    return Cell(sweep="s", tool="imb", options={"np": size}, place=place, axes=("np",))


def run(of: Cell, repeat: int = 1, **changes: Any) -> PlannedRun:
    planned = PlannedRun(
        sweep="s", tool="imb", cell=of, repeat=repeat, argv=ARGV, env={}, placement=PLACE, timeout_s=1, nominal_s=1,
        estimate_s=1, program="IMB-MPI1", files={name: file["path"] for name, file in IMB["files"].items()},  # type: ignore[attr-defined]
    )  # fmt: skip
    return dataclasses.replace(planned, **changes)


def session(number: int = 1, **changes: Any) -> Session:
    first = Session(
        session=number, started_utc="", ended_utc=None, pinsweep_version="", argv=(), seed=1, host="n1", facts=FACTS, topology_text="",
        programs={"imb": IMB},
    )  # fmt: skip
    return dataclasses.replace(first, **changes)


def held(*cells: Cell, sessions: tuple[Session, ...] = (session(),), **changes: Any) -> Held:
    conditions = tuple(
        Conditions(point_id=p.point_id, session=s.session, placement=PLACE, argv=ARGV)
        for p in cells[:1]
        for s in sessions
    )
    conditions = tuple(dataclasses.replace(c, **changes) for c in conditions)
    return Held(path="r.db", sessions=sessions, cells=cells, conditions=conditions)


def go_on(runs: list[PlannedRun], known: Held, *, as_new: bool = False, pending: bool = True, **now: Any) -> list[Cell]:
    setting = Setting(**{"host": "n1", "facts": FACTS, "programs": {"imb": IMB}, **now})
    cells = tuple({r.cell.point_id: r.cell for r in runs}.values())
    plan = Plan(runs=tuple(runs), cells=cells, skipped=(), seed=1)
    done = continued(plan, known, setting, is_pending=lambda _: pending, as_new=as_new)
    assert done.cells == tuple({r.cell.point_id: r.cell for r in done.runs}.values())
    return [r.cell for r in done.runs]


def with_file(name: str, sha256: str) -> dict[str, Any]:
    return {"imb": {**IMB, "files": {**IMB["files"], name: {"path": f"/opt/mpi/{name}", "sha256": sha256}}}}  # type: ignore[dict-item]


def test_more_repeats_and_more_cells_join() -> None:
    runs = [run(cell(2)), run(cell(2), 2), run(cell(4))]

    assert go_on(runs, held(cell(2))) == [r.cell for r in runs]


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"facts": {**FACTS, "kernel": "6.2"}}, "kernel 6.2"),
    ({"facts": {**FACTS, "governor": "powersave"}}, "governor powersave"),
    ({"facts": {**FACTS, "memory_bytes": 97 << 30}}, "memory 97 GiB"),
    ({"programs": with_file("libmpi.so.12", "dd")}, "libmpi.so.12 dd"),
    ({"programs": with_file("mpirun", "dd")}, "mpirun dd"),
    ({"programs": {"imb": {**IMB, "sha256": "dd"}}}, "IMB-MPI1 dd"),
]  # fmt: skip


@pytest.mark.parametrize(("now", "label"), CHANGES, ids=[label for *_, label in CHANGES])
def test_another_machine_or_program_is_refused_or_begins_anew(now: dict[str, Any], label: str) -> None:
    runs = [run(cell(2), 2), run(cell(4))]  # of the second nothing was measured: its sweep was

    with pytest.raises(UserError) as refused:
        go_on(runs, held(cell(2)), **now)
    anew = go_on(runs, held(cell(2)), as_new=True, **now)
    again = go_on(runs, held(cell(2), *anew), **now)
    before = go_on(runs, held(cell(2), *anew))

    assert "--as-new" in refused.value.hint
    assert [p.options[AS_NEW] for p in anew] == [label, label]
    assert [p.axes for p in anew] == [("np", AS_NEW)] * 2
    assert again == anew  # the setting finds its cells without being told
    assert before == [r.cell for r in runs]
    assert go_on(runs, held(cell(2)), pending=False, **now) == before  # nothing is mixed where nothing is started


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        (
            {"placement": Placement(name="x", groups=(Group(cpus=(0,), membind=(0,)), Group(cpus=(5,), membind=(0,))))},
            "CPUs 0 and 5, memory of node 0",
        ),
        ({"placement": None}, "no CPU in particular"),
        ({"argv": (*ARGV, "-sync", "on")}, "with -sync on"),
        ({"argv": ARGV[:-1]}, "without PingPong"),
    ],
)  # fmt: skip
def test_other_cpus_or_arguments_are_of_another_cell(changes: dict[str, Any], label: str) -> None:
    runs = [run(cell(2), **changes), run(cell(4), **changes)]

    with pytest.raises(UserError):
        go_on(runs, held(cell(2)))
    anew = go_on(runs, held(cell(2)), as_new=True)

    assert anew[0].options[AS_NEW] == label
    assert anew[1] == runs[1].cell  # of which nothing was measured


@pytest.mark.parametrize(
    "now",
    [
        {"facts": {**FACTS, "memory_bytes": (100 << 30) - (1 << 30)}},
        {"facts": {"kernel": "6.1"}},
        {"facts": {**FACTS, "microcode": "0x1", "load_1min": 3}},
        {"programs": {"imb": {"name": "IMB-MPI1", "path": "/elsewhere/IMB-MPI1", "sha256": "cc"}}},
        {"programs": {}},
    ],
)
def test_what_is_not_known_or_hardly_differs_does_not_matter(now: dict[str, Any]) -> None:
    runs = [run(cell(2), 2)]

    assert go_on(runs, held(cell(2)), **now) == [cell(2)]


def test_every_session_of_a_cell_counts() -> None:
    """A file of before may be mixed already: there is no setting in which its cells can go on."""
    both = (session(1, facts={**FACTS, "kernel": "5.10"}), session(2))

    with pytest.raises(UserError, match=r"kernel: 5\.10, now 6\.1"):
        go_on([run(cell(2), 9)], held(cell(2), sessions=both))


def test_a_file_of_a_tuned_machine_says_how_to_go_on_with_it() -> None:
    before = held(cell(4), sessions=(session(facts={**FACTS, "tuned": "CPU frequency governor"}),))
    untuned = {**FACTS, "governor": "powersave"}

    with pytest.raises(UserError, match="governor: performance, now powersave") as refused:
        go_on([run(cell(4), 2)], before, facts=untuned)

    assert "--tune" in refused.value.hint
    assert go_on([run(cell(4), 2)], before, facts=FACTS) == [cell(4)]


def test_a_file_is_of_one_host() -> None:
    with pytest.raises(UserError, match="holds runs of the host n1, this is n2"):
        go_on([run(cell(2))], held(cell(2)), host="n2", as_new=True)


def test_a_file_of_another_machine_of_this_name_is_left_alone() -> None:
    there = held(cell(2), sessions=(session(facts={**FACTS, "network_cards": "aaaaaa bbbbbb"}),))

    assert go_on([run(cell(2))], there, facts={**FACTS, "network_cards": "bbbbbb"})
    assert go_on([run(cell(2))], there)  # no card is to be seen
    with pytest.raises(UserError, match="another machine named n1"):
        go_on([run(cell(2))], there, facts={**FACTS, "network_cards": "cccccc"}, as_new=True)


def test_a_path_of_a_program_or_of_scratch_is_no_argument() -> None:
    elsewhere = tuple(word.replace("/opt", "/usr/local") for word in ARGV)

    assert go_on([run(cell(2), 2, argv=elsewhere)], held(cell(2))) == [cell(2)]


# --- one cell, however it is written --------------------------------------------------------------------------

METRICS = {"reply": {"regex": "([0-9]+)", "unit": "us"}}


def written(
    tool: str,
    options: dict[str, Any],
    place: Place,
    words: tuple[str, ...],
    cpus: tuple[int, ...] = (0,),
    axes: tuple[str, ...] = ("place",),
) -> PlannedRun:
    of = Cell(sweep="s", tool=tool, options=options, place=place, axes=axes)
    placement = Placement(name=place.name, groups=(Group(cpus=cpus),))
    return run(of, tool=tool, argv=(tool, *words), placement=placement, files={})


def measured(*runs: PlannedRun, **facts: Any) -> Held:
    conditions = [Conditions(point_id=r.cell.point_id, session=1, placement=r.placement, argv=r.argv) for r in runs]
    return Held(
        path="r.db",
        sessions=(session(facts={**FACTS, **facts}),),
        cells=[r.cell for r in runs],
        conditions=conditions,
    )


CORE = Place(name="here", cpus="core 0", memory="any")
COMMAND = {"command": "x {n}", "n": 1, "metrics": METRICS, "seconds": 1}


@pytest.mark.parametrize(
    ("tool", "before", "words", "after", "now"),
    [
        ("fio", {"bs": "4k", "runtime": 2}, ("--bs=4k", "--runtime=2"), {"blocksize": 4096, "runtime": "2s"}, ("--blocksize=4096", "--runtime=2s")),
        ("fio", {"bssplit": "4k/50:8k/50", "size": "1M"}, ("--bssplit=4k",), {"bssplit": "4096/50:8192/50", "size": "1024k"}, ("--bssplit=4096",)),
        ("stream", {"array_size": "1M"}, ("1048576",), {"array_size": "1024k"}, ("1048576",)),
        ("command", COMMAND, ("x", "1"), {**COMMAND, "metrics": {"reply": {**METRICS["reply"], "unit": "µs", "better": "neither", "text": "Reply"}}}, ("x", "1")),
        ("command", COMMAND, ("x", "1"), {**COMMAND, "seconds": 5, "command": "x  '{n}'"}, ("x", "1")),
        ("command", {**COMMAND, "env": {"A": 1}}, ("x", "1"), {**COMMAND, "env": {"A": "1"}}, ("x", "1")),
    ],
)  # fmt: skip
def test_an_option_in_another_spelling_begins_no_cell(
    tool: str, before: dict[str, Any], words: tuple[str, ...], after: dict[str, Any], now: tuple[str, ...]
) -> None:
    there = written(tool, before, CORE, words)

    assert go_on([written(tool, after, CORE, now)], measured(there)) == [there.cell]


@pytest.mark.parametrize(
    ("tool", "before", "words", "after", "now"),
    [
        ("fio", {"bs": "4k"}, ("--bs=4k",), {"bs": "4m"}, ("--bs=4m",)),
        ("stream", {"array_size": 1024}, ("1024",), {"array_size": "1k"}, ("128",)),
        ("command", {**COMMAND, "command": "x {seconds}"}, ("x", "1"), {**COMMAND, "command": "x {seconds}", "seconds": 2}, ("x", "2")),
        ("command", COMMAND, ("x", "1"), {**COMMAND, "metrics": {"reply": {**METRICS["reply"], "unit": "ms"}}}, ("x", "1")),
    ],
)  # fmt: skip
def test_an_option_of_another_value_does(
    tool: str, before: dict[str, Any], words: tuple[str, ...], after: dict[str, Any], now: tuple[str, ...]
) -> None:
    new = written(tool, after, CORE, now)

    assert go_on([new], measured(written(tool, before, CORE, words))) == [new.cell]


def test_a_place_in_other_words_that_is_the_same_cpus_is_the_cell_of_before() -> None:
    there = written("command", COMMAND, CORE, ("x", "1"))
    by_number = written("command", COMMAND, Place(name="here", cpus="pu 0", memory="any"), ("x", "1"))
    renamed = written("command", COMMAND, Place(name="there", cpus="core 0", memory="any"), ("x", "1"))
    elsewhere = written("command", COMMAND, Place(name="here", cpus="pu 1", memory="any"), ("x", "1"), cpus=(1,))

    assert go_on([by_number], measured(there)) == [there.cell]
    assert go_on([renamed], measured(there)) == [renamed.cell]
    assert go_on([elsewhere], measured(there)) == [elsewhere.cell]
    assert Alias.between(by_number.cell, there.cell).reason.startswith(
        "the same CPUs and memory here as place.cpus=core 0:"
    )
    unplaced = dataclasses.replace(there.cell, place=None)
    assert "here as place=none named:" in Alias.between(by_number.cell, unplaced).reason
    # of two that are planned none takes the other's place
    assert go_on([there, by_number], measured(there)) == [there.cell, by_number.cell]


def test_runs_that_are_there_cost_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten repeats of thirty cells, all of them done: no way to start is compared, and the machine's facts are, once a session."""
    calls: Counter[str] = Counter()

    def watch(module: Any, name: str) -> None:
        real = getattr(module, name)

        def counting(*args: Any, **named: Any) -> Any:
            calls[name] += 1
            return real(*args, **named)

        monkeypatch.setattr(module, name, counting)

    watch(resume, "start")
    watch(resume.facts, "changed")
    cells = [cell(size) for size in range(30)]
    runs = [run(one, repeat) for repeat in range(1, 11) for one in cells]
    known = measured(*(run(one) for one in cells))

    plan = Plan(runs=tuple(runs), cells=tuple(cells), skipped=(), seed=1)
    setting = Setting(host="n1", facts=FACTS, programs={"imb": IMB})
    done = continued(plan, known, setting, is_pending=lambda _: False, as_new=False)

    assert done.runs is plan.runs
    assert calls == {"changed": 1}
