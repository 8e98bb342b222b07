"""What may join the runs of a result file, and what begins cells of its own."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from orchestrator.model import AS_NEW, Group, Place, Placement, Plan, PlannedRun, Point
from orchestrator.resume import Held, Setting, continued
from orchestrator.store import Conditions, Session
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


def point(size: int) -> Point:
    place = Place(name="x", cpus="same cache")
    return Point(sweep="s", tool="imb", options={"np": size}, place=place, axes=("np",))


def run(of: Point, repeat: int = 1, **changes: Any) -> PlannedRun:
    planned = PlannedRun(
        sweep="s", tool="imb", point=of, repeat=repeat, argv=ARGV, env={}, placement=PLACE, timeout_s=1, nominal_s=1,
        estimate_s=1, program="IMB-MPI1", files={name: file["path"] for name, file in IMB["files"].items()},  # type: ignore[attr-defined]
    )  # fmt: skip
    return dataclasses.replace(planned, **changes)


def session(number: int = 1, **changes: Any) -> Session:
    first = Session(
        session=number, started_utc="", ended_utc=None, pinsweep_version="", argv=(), seed=1, host="n1", facts=FACTS, topology_text="",
        programs={"imb": IMB},
    )  # fmt: skip
    return dataclasses.replace(first, **changes)


def held(*points: Point, sessions: tuple[Session, ...] = (session(),), **changes: Any) -> Held:
    conditions = tuple(
        Conditions(point_id=p.point_id, session=s.session, placement=PLACE, argv=ARGV)
        for p in points[:1]
        for s in sessions
    )
    conditions = tuple(dataclasses.replace(c, **changes) for c in conditions)
    return Held(path="r.db", sessions=sessions, points=points, conditions=conditions)


def go_on(
    runs: list[PlannedRun], known: Held, *, as_new: bool = False, pending: bool = True, **now: Any
) -> list[Point]:
    setting = Setting(**{"host": "n1", "facts": FACTS, "programs": {"imb": IMB}, **now})
    points = tuple({r.point.point_id: r.point for r in runs}.values())
    plan = Plan(runs=tuple(runs), points=points, skipped=(), seed=1)
    done = continued(plan, known, setting, is_pending=lambda _: pending, as_new=as_new)
    assert done.points == tuple({r.point.point_id: r.point for r in done.runs}.values())
    return [r.point for r in done.runs]


def with_file(name: str, sha256: str) -> dict[str, Any]:
    return {"imb": {**IMB, "files": {**IMB["files"], name: {"path": f"/opt/mpi/{name}", "sha256": sha256}}}}  # type: ignore[dict-item]


def test_more_repeats_and_more_cells_join() -> None:
    runs = [run(point(2)), run(point(2), 2), run(point(4))]

    assert go_on(runs, held(point(2))) == [r.point for r in runs]


CHANGES: list[tuple[dict[str, Any], str, str]] = [
    ({"facts": {**FACTS, "kernel": "6.2"}}, "the kernel was 6.1 and is 6.2 now", "kernel 6.2"),
    ({"facts": {**FACTS, "governor": "powersave"}}, "the governor was performance and is powersave now", "governor powersave"),
    ({"facts": {**FACTS, "memory_bytes": 97 << 30}}, "the memory was 100 GiB and is 97 GiB now", "memory 97 GiB"),
    ({"programs": with_file("libmpi.so.12", "dd")}, "/opt/mpi/libmpi.so.12 is another program now", "libmpi.so.12 dd"),
    ({"programs": with_file("mpirun", "dd")}, "/opt/mpi/mpirun is another program now", "mpirun dd"),
    ({"programs": {"imb": {**IMB, "sha256": "dd"}}}, "the IMB-MPI1 was another one (/opt/IMB-MPI1); this one is /opt/IMB-MPI1", "IMB-MPI1 dd"),
]  # fmt: skip


@pytest.mark.parametrize(("now", "said", "label"), CHANGES, ids=[label for *_, label in CHANGES])
def test_another_machine_or_program_is_refused_or_begins_anew(
    now: dict[str, Any], said: str, label: str
) -> None:
    runs = [run(point(2), 2), run(point(4))]  # of the second nothing was measured: its sweep was

    with pytest.raises(UserError) as refused:
        go_on(runs, held(point(2)), **now)
    anew = go_on(runs, held(point(2)), as_new=True, **now)
    again = go_on(runs, held(point(2), *anew), **now)
    before = go_on(runs, held(point(2), *anew))

    assert said in refused.value.cause
    assert "--as-new" in refused.value.hint
    assert [p.options[AS_NEW] for p in anew] == [label, label]
    assert [p.axes for p in anew] == [("np", AS_NEW)] * 2
    assert again == anew  # the setting finds its cells without being told
    assert before == [r.point for r in runs]
    assert (
        go_on(runs, held(point(2)), pending=False, **now) == before
    )  # nothing is mixed where nothing is started


@pytest.mark.parametrize(
    ("changes", "said", "label"),
    [
        (
            {"placement": Placement(name="x", groups=(Group(cpus=(0,), membind=(0,)), Group(cpus=(5,), membind=(0,))))},
            "s np=2 ran on CPUs 0 and 1, memory of node 0, and would run on CPUs 0 and 5, memory of node 0 now",
            "CPUs 0 and 5, memory of node 0",
        ),
        ({"placement": None}, "and would run on no CPU in particular now", "no CPU in particular"),
        ({"argv": (*ARGV, "-sync", "on")}, "ran without -sync on, and would run with -sync on now", "with -sync on"),
        ({"argv": ARGV[:-1]}, "ran with PingPong, and would run without PingPong now", "without PingPong"),
    ],
)  # fmt: skip
def test_other_cpus_or_arguments_are_of_another_cell(changes: dict[str, Any], said: str, label: str) -> None:
    runs = [run(point(2), **changes), run(point(4), **changes)]

    with pytest.raises(UserError) as refused:
        go_on(runs, held(point(2)))
    anew = go_on(runs, held(point(2)), as_new=True)

    assert said in refused.value.cause
    assert anew[0].options[AS_NEW] == label
    assert anew[1] == runs[1].point  # of which nothing was measured


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
    runs = [run(point(2), 2)]

    assert go_on(runs, held(point(2)), **now) == [point(2)]


def test_every_session_of_a_cell_counts() -> None:
    """A file of before may be mixed already: there is no setting in which its cells can go on."""
    both = (session(1, facts={**FACTS, "kernel": "5.10"}), session(2))

    with pytest.raises(UserError, match=r"kernel was 5\.10 and is 6\.1 now"):
        go_on([run(point(2), 9)], held(point(2), sessions=both))


def test_a_file_is_of_one_host() -> None:
    with pytest.raises(UserError, match="holds runs of the host n1, this is n2"):
        go_on([run(point(2))], held(point(2)), host="n2", as_new=True)


def test_a_path_of_a_program_or_of_scratch_is_no_argument() -> None:
    elsewhere = tuple(word.replace("/opt", "/usr/local") for word in ARGV)

    assert go_on([run(point(2), 2, argv=elsewhere)], held(point(2))) == [point(2)]
