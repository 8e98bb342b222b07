"""The audit: what a person found in two lab reports, what must stay silent, and a case for each arithmetic."""

from __future__ import annotations

import itertools
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.capture import cut
from orchestrator.capture.intake import Captured, intake_options, read
from orchestrator.capture.kept import store
from orchestrator.model import Group
from parsers import get_parser
from parsers.text import decode
from pinsweep.cli import cli
from reports import checks as registry
from reports.checks import LEVELS, checks
from reports.checks import audit as module
from reports.checks.audit import Finding
from reports.checks.general import same_value
from reports.document import Fold, Table
from reports.render import terminal
from reports.results.load import load

FIO_TABLE = "iodepth, bs, size, numjobs, runtime, iops.min, iops.max, iops, disk_util[%], lat[us]"
POKES = (
    "bytes, target=memory:latency[s], target=memory:latency.sd[s], target=file:latency[s], target=file:latency.sd[s]"
)
FIO_MIX = (
    "iodepth, bs, size, numjobs, runtime, direction=write:iops, direction=write:lat[us], "
    "direction=read:iops, direction=read:lat[us], disk_util[%]"
)


def take(
    result: Path, text: str, name: str, *, tool: str | None = None, settings: Sequence[str] = (), columns: str = "", command: str = "",
) -> Path:  # fmt: skip
    """Take a text in, as `pinsweep parse` does."""
    file = result.parent / name
    file.write_text(text, encoding="utf-8")
    asked = intake_options(tool, (), settings, columns, command)
    items = list(read([str(file)], asked))
    assert all(isinstance(item, Captured) or not item.failed for item in items), items
    store((item for item in items if isinstance(item, Captured)), result, asked, version="test")
    return result


def findings(*results: Path) -> tuple[Finding, ...]:
    return module.audit(load(results))


def found(all_of: Iterable[Finding], key: str, level: str = "") -> list[tuple[str, str]]:
    """Return (cell, arithmetic) of a check's findings."""
    return [cell for f in all_of if f.id == key and level in ("", f.level) for cell in f.cells]


# --- the seeds ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report_004(tmp_path_factory: pytest.TempPathFactory, make: Any) -> tuple[Finding, ...]:
    """What is found in the MLC and fio tables of seed 004, taken in as a reader of the report would."""
    text = make.seed_text("004")
    memory, storage = text.split("a. 4k Bs Randread")
    sections = re.split(r"\n(?=[b-f]\. (?:4k|32k) Bs)", "a. 4k Bs Randread" + storage.split("Analysis")[0])
    result = tmp_path_factory.mktemp("004") / "report.db"
    take(result, memory, "mlc.txt")
    for section in sections:
        key = section[0]
        command = re.search(r'"(sudo fio.*?)"', section)
        assert command
        mixed = key in "cf"
        rw = "randrw" if mixed else "randwrite" if key in "be" else "randread"
        take(
            result, section, f"{key}.txt", tool="fio", columns=FIO_MIX if mixed else FIO_TABLE, command=command[1],
            settings=[f"rw={rw}", "ioengine=libaio", "direct=1", *(["rwmixwrite=30"] if mixed else [])],
        )  # fmt: skip
    return findings(result)


@pytest.fixture(scope="module")
def report_003(tmp_path_factory: pytest.TempPathFactory, make: Any) -> tuple[Finding, ...]:
    """What is found in the STREAM table, the distances and the PingPong tables of seed 003."""
    text = make.seed_text("003")
    result = tmp_path_factory.mktemp("003") / "report.db"
    loop = re.search(r"\(for i in seq.*", text)
    assert loop
    take(
        result, text[text.index("|number of threads") :].split("![Access")[0], "stream.txt", tool="stream",
        columns="threads, local:bandwidth[MB/s], remote:bandwidth[MB/s]", command=loop[0],
    )  # fmt: skip
    take(result, text[text.index("available:") :].split("In order")[0], "numactl.txt")
    intra, inter = text[text.index("### Intrasocket") :].split("### Intersocket")
    take(result, intra, "intra.txt", settings=["place=same package"])
    take(result, inter, "inter.txt", settings=["place=other package"])
    return findings(result)


@pytest.fixture(scope="module")
def report_000(tmp_path_factory: pytest.TempPathFactory, make: Any) -> tuple[Finding, ...]:
    """What is found in the table of means and deviations of seed 000."""
    text = make.seed_text("000")
    result = tmp_path_factory.mktemp("000") / "report.db"
    take(result, text[text.index("| block size | mem mean") :], "pokes.txt", tool="poke", columns=POKES)
    return findings(result)


def test_little_s_law_finds_the_impossible_row_and_the_seven_others(report_004: tuple[Finding, ...]) -> None:
    impossible = found(report_004, "F1", "error")
    assert len(impossible) == 1
    assert "rw=randwrite" in impossible[0][0]
    assert "iodepth=32" in impossible[0][0]

    lazy = found(report_004, "F1", "warn")
    assert len(lazy) == 6
    assert sum("randread" in cell for cell, _ in lazy) == 5  # section a, all rows


def test_the_tables_are_right_about_jobs_and_block_size(report_004: tuple[Finding, ...]) -> None:
    assert [rows for rows, _ in found(report_004, "F2")] == ["30 rows"]
    assert [rows for rows, _ in found(report_004, "F3")] == ["5 rows"]


def test_no_run_can_have_lasted_twenty_seconds(report_004: tuple[Finding, ...]) -> None:
    assert len(found(report_004, "F4", "error")) == 30


def test_the_write_cache_is_seen_four_ways(report_004: tuple[Finding, ...]) -> None:
    assert len(found(report_004, "F6")) == 3

    fast_writes = [cell for cell, _ in found(report_004, "F8")]
    depths = [(re.search(r"bs=(\w+) iodepth=(\d+)", cell) or [""])[0] for cell in fast_writes]
    assert depths == ["bs=4k iodepth=4", "bs=4k iodepth=8", "bs=4k iodepth=32", "bs=32k iodepth=4"]

    assert len(found(report_004, "F10")) == 4


def test_commands_that_cannot_have_been_typed(report_004: tuple[Finding, ...]) -> None:
    problems = " ".join(text for _, text in found(report_004, "G2"))
    assert "the rows have size=512M, the command has no --size" in problems

    assert problems.count("MLC has no option “-1256”, “-l256” with a digit for its letter?") == 3
    assert "a blank in “--name =”" in problems
    assert "a lone “--”" in problems
    assert "--iodepth=1/4/8/32/128 is 5 commands" in problems


def test_seed_000(report_000: tuple[Finding, ...]) -> None:
    clock = found(report_000, "G6", "warn")
    assert "bytes=1000000000" in dict(clock)
    assert len(clock) == 3  # memory of every size; beside a file's microseconds 142 ns are little
    assert found(report_000, "G6", "info") == [
        ("bytes=0", "memory: mean 138 ns, standard deviation 207 ns"),
        ("bytes=0", "file: mean 142 ns, standard deviation 174 ns"),
    ]


def test_nothing_else_is_claimed_of_the_seeds(
    report_000: tuple[Finding, ...], report_003: tuple[Finding, ...], report_004: tuple[Finding, ...]
) -> None:
    assert {f.id for f in report_000} == {"G6"}
    assert {f.id for f in report_004} == {
        "F1",
        "F2",
        "F3",
        "F4",
        "F6",
        "F8",
        "F10",
        "G1",
        "G2",
        "M1",
        "M3",
        "M4",
    }
    assert {f.id for f in report_003} == {"G2", "P1", "P2", "P3", "P4", "S1", "S3", "S4"}


def test_writes_that_the_page_cache_took_are_one_finding(make: Any, tmp_path: Path) -> None:
    """F7 said of a buffered mix that its writes were the page cache's, and F8 that a cache took them."""
    text = make.fio_text({"read": (5e3, 180.0), "write": (5e3, 2.0)}, bs="4k", rw="randrw", iodepth=1)
    ids = []
    for direct in (0, 1):
        document = json.loads(text)
        document["jobs"][0]["job options"] |= {"direct": str(direct), "ioengine": "psync"}
        path = make.Maker(tmp_path / f"{direct}.db").add(
            "s", "fio", {"rw": "randrw", "bs": "4k", "direct": bool(direct), "ioengine": "psync"}, json.dumps(document)
        ).write()  # fmt: skip
        ids.append({f.id for f in module.audit(load([path]))} & {"F7", "F8"})

    assert ids == [{"F7"}, {"F8"}]


EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "audit-example.md"


def test_the_page_names_findings_that_are_there(request: pytest.FixtureRequest) -> None:
    rows = re.findall(r"^\| ([A-C]) \| [^|]+ \| ([^|]+) \|", EXAMPLE.read_text(encoding="utf-8"), re.MULTILINE)
    reports = {letter: {f.id for f in request.getfixturevalue(f"report_{n}")} for letter, n in zip("ABC", ("004", "003", "000"), strict=True)}  # fmt: skip

    assert len(rows) > 30
    for letter, found_as in rows:
        assert set(re.findall(r"[A-Z]\d+", found_as.partition(":")[0])) <= reports[letter], (
            letter,
            found_as,
        )


# --- silence -----------------------------------------------------------------------------------------------


def test_sound_runs_are_left_in_peace(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "sound.db")
    for wobble in (1.0, 0.985, 1.02, 1.01, 0.99):
        rows = [(d, ns * wobble, mb / wobble) for d, ns, mb in GOOD]
        for traffic, factor in (("", 1.0), ("9", 1.2)):
            text = make.mlc_text([(d, ns, mb * factor) for d, ns, mb in rows], traffic=traffic)
            maker.add("loaded", "mlc", {"mode": "loaded_latency", "W": traffic or "R"}, text, axes=("W",))
        for threads in (1, 2, 4, 8):
            rate = min(12000.0 * threads, 30000.0) / wobble
            maker.add("scaling", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",))
        times = {0: 0.5 * wobble} | {2**p: (0.5 + 2**p / 12e3) * wobble for p in range(23)}
        maker.add("pingpong", "imb", {"benchmark": "PingPong"}, make.imb_text(times))
        for depth in (1, 4, 16, 64):
            iops = min(10e3 * depth, 150e3) / wobble
            parts = {"read": (iops, 0.995 * depth / iops * 1e6)}
            options = {"rw": "randread", "bs": "4k", "iodepth": depth, "ioengine": "libaio", "direct": True}
            maker.add("storage", "fio", options, make.fio_text(parts, bs="4k", rw="randread", iodepth=depth), axes=("iodepth",))  # fmt: skip

    assert [f for f in findings(maker.write()) if f.level != "info"] == []


# --- one case for each arithmetic --------------------------------------------------------------------------


def fio(make: Any, path: Path, cells: Sequence[dict[str, Any]]) -> tuple[Finding, ...]:
    maker = make.Maker(path)
    for cell in cells:
        given = {
            "rw": "randread",
            "bs": "4k",
            "iodepth": 1,
            "ioengine": "libaio",
            "direct": True,
            **cell["options"],
        }
        text = make.fio_text(cell["parts"], bs="4k", rw=given["rw"], iodepth=given["iodepth"], numjobs=given.get("numjobs", 1))  # fmt: skip
        text = text.replace('"direct": "1"', f'"direct": "{int(given["direct"])}"')
        text = text.replace('"ioengine": "libaio"', f'"ioengine": "{given["ioengine"]}"')
        maker.add("storage", "fio", given, text, axes=tuple(cell.get("axes", ("rw", "iodepth"))))
    return findings(maker.write())


@pytest.mark.parametrize(
    ("options", "parts", "key", "level", "said"),
    [
        ({"iodepth": 8}, {"read": (10e3, 1000.0)}, "F1", "error", "10.0 in flight, 8 requested"),
        ({"iodepth": 8}, {"read": (10e3, 600.0)}, "F1", "warn", "6.00 in flight, 8 requested"),
        ({"iodepth": 8, "ioengine": "psync"}, {"read": (10e3, 99.0)}, "F9", "error", "iodepth=8 with ioengine=psync"),
        ({"direct": False}, {"read": (250e3, 3.9)}, "F7", "error", "direct=0, read takes 3.9"),
        ({"bs": "8k"}, {"read": (10e3, 99.0)}, "F3", "error", "stated 8 KiB"),
        ({"bs": "8k"}, {"read": (10e3, 99.0)}, "G2", "error", "bs=8k was requested, fio printed bs=4k"),
        ({"rw": "randrw"}, {"read": (6e3, 99.0), "write": (4e3, 99.0)}, "F8", "warn", "60.0 % reads, 50 % requested"),
        ({"rw": "randrw"}, {"read": (5e3, 180.0), "write": (5e3, 18.0)}, "F8", "warn", "writes take 18.0 µs, reads 180 µs"),
    ],
)  # fmt: skip
def test_one_fio_run(
    make: Any, tmp_path: Path, options: dict[str, Any], parts: Any, key: str, level: str, said: str
) -> None:
    texts = found(fio(make, tmp_path / "a.db", [{"options": options, "parts": parts}]), key, level)

    assert len(texts) == 1
    assert said in texts[0][1]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"iodepth": 8}, {"read": (10e3, 799.0)}),
        ({"iodepth": 8, "rate_iops": 5000}, {"read": (5e3, 200.0)}),  # limited on purpose
        ({"iodepth": 1}, {"read": (700e3, 1.2)}),  # too short to be timed that well
        ({"iodepth": 1, "ioengine": "psync"}, {"read": (100e3, 8.0)}),
        ({"rw": "randrw"}, {"read": (5020.0, 99.0), "write": (4980.0, 99.0)}),
        ({"rw": "randrw", "rwmixread": 70}, {"read": (7e3, 99.0), "write": (3e3, 99.0)}),
    ],
)
def test_one_sound_fio_run(make: Any, tmp_path: Path, options: dict[str, Any], parts: Any) -> None:
    assert fio(make, tmp_path / "a.db", [{"options": options, "parts": parts}]) == ()


def test_a_page_cache_that_was_asked_for_is_a_note(make: Any, tmp_path: Path) -> None:
    cell = {"options": {"direct": False}, "parts": {"read": (250e3, 3.9)}, "axes": ("direct",)}

    assert [f.level for f in fio(make, tmp_path / "a.db", [cell]) if f.id == "F7"] == ["info"]


def test_sequential_reads_through_the_page_cache_may_be_the_device_s(make: Any, tmp_path: Path) -> None:
    """4 KiB in 2 µs are 2 GB/s, which an SSD that is read ahead of gives: it was an error that memory was measured."""
    levels = {}
    for rw in ("randread", "read"):
        cell = {"options": {"direct": False, "rw": rw}, "parts": {"read": (450e3, 2.1)}}
        levels[rw] = [f.level for f in fio(make, tmp_path / f"{rw}.db", [cell]) if f.id == "F7"]
    assert levels == {"randread": ["error"], "read": ["warn"]}


@pytest.mark.parametrize(("order", "named"), [((1, 2, 4), True), ((4, 1, 2), False)])
def test_a_latency_that_falls_with_depth_in_random_rounds_is_no_state(
    make: Any, tmp_path: Path, order: tuple[int, ...], named: bool
) -> None:
    cells = [
        {"options": {"iodepth": d}, "parts": {"read": (d / us * 1e6, us)}}
        for _ in range(2) for d in order for us in ({1: 100.0, 2: 80.0, 4: 95.0}[d],)
    ]  # fmt: skip

    assert [f.id for f in fio(make, tmp_path / "a.db", cells)] == ["F10"] * named


def test_depth_and_state(make: Any, tmp_path: Path) -> None:
    iops = {1: 10e3, 4: 40e3, 8: 60e3, 32: 30e3}
    cells = [{"options": {"iodepth": d}, "parts": {"read": (rate, d / rate * 1e6)}} for d, rate in iops.items()]

    assert len(found(fio(make, tmp_path / "up.db", cells), "F10")) == 1
    assert found(fio(make, tmp_path / "down.db", cells[::-1]), "F10") == []  # not in ascending order


def mlc(make: Any, path: Path, rows: Sequence[tuple[int, float, float]], **options: Any) -> tuple[Finding, ...]:
    maker = make.Maker(path)
    maker.add("loaded", "mlc", {"mode": "loaded_latency", **options}, make.mlc_text(rows))
    return findings(maker.write())


GOOD = [(0, 200.0, 18000.0), (50, 110.0, 25000.0), (200, 70.0, 10000.0), (1000, 60.0, 3000.0), (20000, 60.0, 1150.0)]  # fmt: skip


def test_more_than_the_modules_can_move(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.facts = {**maker.facts, "dimms": "1 × 16 GB DDR4 2666 MT/s, 1 slot empty"}
    maker.add("scaling", "stream", {"threads": 4}, make.stream_text(25000.0, 4))

    all_of = findings(maker.write())

    assert "the modules can move 21.3 GB/s" in found(all_of, "S2")[0][1]


@pytest.mark.parametrize(
    ("rates", "told"),
    [
        ({1: 5000, 2: 9900, 4: 24000}, ("threads=4", "4 threads make 4.80 × one thread")),
        ({1: 5000, 2: 20000, 4: 24000}, ("threads=1", "2 threads make 4.00 × one thread")),  # 4 are full
        ({1: 5000, 4: 24000}, ("threads=1", "4 threads make 4.80 × one thread")),
    ],
)
def test_of_a_superlinear_speedup_the_cell_is_named_that_no_other_agrees_with(
    rates: dict[int, int], told: tuple[str, str], make: Any, tmp_path: Path
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for threads, rate in rates.items():
        maker.add("scaling", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",))

    assert found(findings(maker.write()), "G5") == [told]


@pytest.mark.parametrize(
    ("effect", "noise", "repeats", "ids"),
    [
        (1.0, 0.01, 3, set()),  # a note, which flags no number
        (1.1, 0.01, 3, set()),  # it had one
        (1.0, 0.2, 3, {"G11"}),  # too noisy to tell
        (1.0, 0.01, 2, set()),  # nobody knows the noise
    ],
)
def test_an_axis_that_nothing_shows(
    make: Any, tmp_path: Path, effect: float, noise: float, repeats: int, ids: set[str]
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for value, factor in ((0, 1.0), (1, effect)):
        for i in range(repeats):
            times = {2**p: round((1 + 2**p / 1e3) * factor * (1 + noise * (i + value / 9)), 2) for p in range(8, 16)}
            options = {"benchmark": "PingPong", "off_cache": value}
            maker.add("pingpong", "imb", options, make.imb_text(times), axes=("off_cache",))

    report = findings(maker.write())

    assert {f.id for f in report if f.level != "info"} == ids
    is_null = effect == 1.0 and noise < 0.1 and repeats > 2
    assert [cell for cell, _ in found(report, "G1", "info")] == ["2 cells"] * is_null


def test_a_text_under_two_names(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    text = make.imb_text({2**p: 1 + 2**p / 1e3 for p in range(8, 16)})
    for node in ("n1", "n2"):
        maker.add("pingpong", "imb", {"benchmark": "PingPong", "node": node}, text, axes=("node",))

    ((cell, said),) = found(findings(maker.write()), "G1")

    assert cell == "node=n2 benchmark=PingPong" or "n2" in cell
    assert said.startswith("all 16 figures are those of")
    assert said.endswith("but node differs")


def test_ranks_on_one_core(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.groups = {"same core": (Group(cpus=(3,)), Group(cpus=(3,)))}
    maker.add(
        "pingpong",
        "imb",
        {"benchmark": "PingPong"},
        make.imb_text({0: 0.5, 1: 0.5, 2: 0.5}),
        place="same core",
        relation="same package",
    )

    assert found(findings(maker.write()), "P1", "error")[0][1] == "2 ranks on 1 CPUs"


def test_times_that_shrink(make: Any, tmp_path: Path) -> None:
    times = {0: 0.50, 1: 0.50, 2: 0.49, 4: 0.80, 8: 0.60, 16: 0.61}
    maker = make.Maker(tmp_path / "a.db").add("pingpong", "imb", {"benchmark": "PingPong"}, make.imb_text(times))

    ((_, text),) = found(findings(maker.write()), "P4")

    assert text == "8 B takes 600 ns, 4 B 800 ns"  # and not 2 B: one digit is no difference


def test_times_that_shrink_beside_another_benchmark_are_pingpong_s(make: Any, tmp_path: Path) -> None:
    both = make.imb_text({4: 0.80, 8: 0.60}).partition("# All processes")[0]
    both += "# Benchmarking PingPing \n# #processes = 2 \n       #bytes #repetitions      t[usec]   Mbytes/sec\n"
    both += f"{4:13d} {1000:12d} {1.0:12.2f} {4.0:12.2f}\n"
    maker = make.Maker(tmp_path / "a.db").add("both", "imb", {"benchmark": ["PingPong", "PingPing"]}, both)

    ((_, text),) = found(findings(maker.write()), "P4")

    assert text == "PingPong: 8 B takes 600 ns, 4 B 800 ns"


@pytest.mark.parametrize(
    ("cpus", "facts", "texts"),
    [
        ((0, 1, 2, 3), {}, []),
        ((0,), {}, ["1 run on CPUs 0-3, memory of node 0 and 1 run on CPU 0, memory of node 0"]),
        ((0, 1, 2, 3), {"kernel": "5.10"}, ["the kernel was 6.1 and 5.10"]),
        ((0, 1, 2, 3), {"memory_bytes": 101 << 30}, []),  # a kernel keeps more or less of it for itself
        ((0, 1, 2, 3), {"memory_bytes": 90 << 30}, ["the memory was 100 GiB and 90 GiB"]),
    ],
)
def test_repeats_that_are_none(
    make: Any, tmp_path: Path, cpus: tuple[int, ...], facts: dict[str, Any], texts: list[str]
) -> None:
    for repeat, of, more in ((1, (0, 1, 2, 3), {}), (2, cpus, facts)):
        maker = make.Maker(tmp_path / "a.db")
        maker.facts = {"kernel": "6.1", "memory_bytes": 100 << 30, **more}
        maker.groups["here"] = (Group(cpus=of, membind=(0,)),)
        maker.add("triad", "stream", {"threads": 1}, make.stream_text(12000.0, 1), place="here", repeat=repeat)
        maker.write()

    assert [text for _, text in found(findings(tmp_path / "a.db"), "G9", "warn")] == texts


def test_a_program_that_was_compiled_between_two_sweeps(make: Any, tmp_path: Path) -> None:
    for sweep, digest in (("fast", "aa" * 32), ("again", "aa" * 32), ("slow", "bb" * 32)):
        maker = make.Maker(tmp_path / "a.db")
        maker.programs = {"stream": {"name": "stream", "path": "/opt/stream", "sha256": digest}}
        for threads in (1, 2):
            maker.add(sweep, "stream", {"threads": threads}, make.stream_text(12e3, threads), axes=("threads",))
        maker.write()

    assert found(findings(tmp_path / "a.db"), "G19") == [
        ("all cells of slow", "/opt/stream was the build bbbbbbbb (SHA-256), and aaaaaaaa for fast")
    ]


def test_a_program_of_the_user_s_own_that_was_compiled_between_two_sweeps(make: Any, tmp_path: Path) -> None:
    """Of a session's programs those are meant that a sweep started."""
    metrics = {"lat": {"regex": r"lat ([\d.]+)", "unit": "us"}}
    for sweep, digest in (("fast", "aa" * 32), ("slow", "bb" * 32)):
        maker = make.Maker(tmp_path / "a.db")
        files = {word: {"path": word, "sha256": digest} for word in ("./walk", "./other")}
        maker.programs = {"command": {"name": "", "path": "", "sha256": "", "files": files}}
        maker.add(sweep, "command", {"command": "./walk", "metrics": metrics}, "lat 2\n", program="./walk")
        maker.write()

    assert found(findings(tmp_path / "a.db"), "G19") == [
        ("all cells of slow", "./walk was the build bbbbbbbb (SHA-256), and aaaaaaaa for fast")
    ]


# --- what is printed ---------------------------------------------------------------------------------------


def test_every_check_says_what_it_does() -> None:
    found_ids = [check.id for check in checks()]

    assert len(found_ids) == len(set(found_ids)) >= 28
    for check in checks():
        assert check.title[0].islower()
        assert len(check.text) > 60
        assert check.todo.endswith(".")
        assert set(check.levels) <= set(LEVELS)


def test_a_new_module_brings_a_family_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "qperf.py").write_text(
        "from reports.checks import check\n\n"
        '@check("N1", "warn")\ndef lossy(results):\n    """packets lost\n\n    Do: look at the link.\n    """\n    yield from ()\n'
    )
    before = [check.id for check in checks()]
    monkeypatch.setattr(registry, "__path__", [*registry.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "_CHECKS", dict(registry._CHECKS))
    monkeypatch.delitem(sys.modules, "reports.checks.qperf", raising=False)

    found = checks()

    assert [check.id for check in found if check.id != "N1"] == before
    assert next(check.family for check in found if check.id == "N1") == (50, "qperf")
    families = [family for family, _ in itertools.groupby(found, key=lambda check: check.family)]
    assert [heading for _, heading in families[-2:]] == ["qperf", "Any tool"]
    assert len(families) == len(set(families))


def test_findings_are_in_the_order_of_their_levels(report_004: tuple[Finding, ...]) -> None:
    assert all(a.level <= b.level or LEVELS.index(a.level) <= LEVELS.index(b.level) for a, b in itertools.pairwise(report_004))  # fmt: skip


FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
OUTPUTS = sorted(
    path for tool in ("fio", "imb", "mlc", "stream") for path in (FIXTURES / tool).glob("*.out") if path.stat().st_size < 20_000
)  # fmt: skip
NUMBERS = ("0", "1", "-5", "0.0001", "99999999999999999999", "1e308", "nan", "inf", "x")


@pytest.mark.slow
@given(st.randoms(use_true_random=False))
def test_no_text_makes_the_audit_fall_over(random: Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for i, path in enumerate(random.sample(OUTPUTS, 4)):
            lines = decode(path.read_bytes()).split("\n")
            for _ in range(random.randint(0, 4)):
                at = random.randrange(len(lines))
                lines[at] = re.sub(r"\d+(\.\d+)?", lambda m: random.choice([m[0], *NUMBERS]), lines[at])
            lines *= random.choice([1, 1, 2])
            Path(folder, f"{i}.txt").write_text("\n".join(lines), encoding="utf-8")
        result = Path(folder, "r.db")
        asked = intake_options(None, (), (), "", "")
        store((x for x in read([folder], asked) if isinstance(x, Captured)), result, asked, version="test")
        if result.exists():
            told = findings(result)
            assert terminal.render(module.document(told, everything=True)) or not told
            assert len(json.loads(module.as_json(told))["findings"]) == len(told)


# --- no false error on sound data, no silence on bad data ---------------------------------------------------


def heard(folder: Path, *texts: str, **how: Any) -> tuple[Finding, ...]:
    """Take texts in, a file each, and audit them."""
    for i, text in enumerate(texts):
        take(folder / "r.db", text, f"{i}.txt", **how)
    return findings(folder / "r.db")


def fio_normal(
    line: str, lat: float, *, rw: str = "write", engine: str = "libaio", iodepth: int = 8, head: str = ""
) -> str:
    """fio 3.x's text of one job; `lat` in µs."""
    return (
        f"{head}j: (g=0): rw={rw}, bs=(R) 64.0KiB-64.0KiB, (W) 64.0KiB-64.0KiB, (T) 64.0KiB-64.0KiB, ioengine={engine}, iodepth={iodepth}\n"
        "fio-3.33\nStarting 1 process\n\nj: (groupid=0, jobs=1): err= 0: pid=39: Sun Dec  5 00:54:06 2021\n"
        + "".join(f"  {one}\n     lat (usec): min=10, max=9000, avg={lat}, stdev=20.00\n" for one in line.split("|"))
        + "  cpu          : usr=0.26%, sys=0.31%, ctx=5630, majf=0, minf=7\n"
    )


PHASES = "write: IOPS=16.0k, BW=1000MiB/s (1049MB/s)(10.0GiB/10240msec)|read: IOPS=16.0k, BW=1000MiB/s (1049MB/s)(10.0GiB/10240msec)"
SLOW = """\
w: (g=0): rw=write, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, (T) 1024KiB-1024KiB, ioengine=posixaio, iodepth=1
fio-3.28
w: (groupid=0, jobs=1): err= 0: pid=39: Sun Dec  5 00:54:06 2021
  write: IOPS=7, BW=8058KiB/s (8251kB/s)(321MiB/40792msec); 0 zone resets
     lat (msec): min=20, max=900, avg=126.77, stdev=20.00
  cpu          : usr=0.26%, sys=0.31%, ctx=5630, majf=0, minf=7
"""
RATED = "Jobs: 1 (f=1), 0-300 IOPS: [r(1)][100.0%][r=1200KiB/s][r=300 IOPS][eta 00m:00s]\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (fio_normal(PHASES, 498.0), "what was written is read back after it: the two are never in flight together"),
        (SLOW, "7.87 IOPS are printed as 7"),
        (fio_normal("read: IOPS=300, BW=18.8MiB/s (19.7MB/s)(188MiB/10001msec)", 900.0, rw="randread", head="$ fio --name=j -rate_iops=300 --direct=1\n"), "fio takes options with one dash"),
        (fio_normal("read: IOPS=300, BW=18.8MiB/s (19.7MB/s)(188MiB/10001msec)", 900.0, rw="randread", head=RATED), "its line of progress tells the rate"),
        (fio_normal("read: IOPS=4000, BW=250MiB/s (262MB/s)(2500MiB/10001msec)", 1000.0, rw="randrw").replace("  cpu ", "  write: IOPS=40")[:-60], "the text is cut before its other half"),
        (fio_normal("read: IOPS=8000, BW=500MiB/s (524MB/s)(5000MiB/10001msec)", 998.0, rw="randread", head="$ fio rnd.fio && jc --pretty /proc/diskstats\n"), "a command ends at &&"),
        (fio_normal("read: IOPS=8000, BW=500MiB/s (524MB/s)(5000MiB/10001msec)", 998.0, rw="randread", head="$ numactl --membind=0 fio --name=j --direct=1 --nrfiles=4 --stonewall 2>&1 | tee x --append\n"), "what stands before fio is not fio's, and these are"),
        (fio_normal("read: IOPS=8000, BW=500MiB/s (524MB/s)(5000MiB/10001msec)", 998.0, rw="randread", head="$ fio --bs=64k --direct=1 --name=j --iodepth=8 --name=k --iodepth=32\n"), "the second section has its own iodepth"),
        (fio_normal("read: IOPS=8000, BW=500MiB/s (524MB/s)(5000MiB/10001msec)", 998.0, rw="randread", head="$ for d in 8; do fio --name=j --direct=1 --iodepth=$d; done\n"), "the shell fills the depth in"),
        (fio_normal("read: IOPS=50, BW=3.13MiB/s (3.28MB/s)(31.3MiB/10001msec)", 900.0, rw="randread", head="$ fio --name=j --direct=1 --fsync=1 --rate=3m\n"), "a rate"),
    ],
)  # fmt: skip
def test_sound_texts_of_fio_are_left_in_peace(tmp_path: Path, text: str, why: str) -> None:
    assert [(f.id, f.cells) for f in heard(tmp_path, text) if f.level != "info"] == [], why


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        (fio_normal(PHASES, 598.0), "F1", "9.57 in flight, 8 requested"),  # neither phase can have been so slow
        (SLOW.replace("avg=126.77", "avg=226.77"), "F1", "1.59 in flight, 1 requested"),
        (SLOW.replace("1024KiB", "4096KiB"), "F3", "stated 4 MiB"),
        (fio_normal("read: IOPS=8000, BW=500MiB/s (524MB/s)(5000MiB/10001msec)", 998.0, rw="randread", head="$ fio --name=j --direct=1 --iodpeth=8 && sync\n"), "G2", "fio has no option “--iodpeth”"),
        (fio_normal("read: IOPS=8000, BW=500MiB/s (524MB/s)(5000MiB/10001msec)", 998.0, rw="randread", head="$ for d in 1..8; do fio --name=j --direct=1 --iodepth=8; done\n"), "G2", "“for d in 1..8” runs once, for 1..8; a range is written {1..8}"),
        (fio_normal("read: IOPS=109k, BW=6813MiB/s (7144MB/s)(66GiB/10001msec)", 288.0, rw="randread", iodepth=32, head="$ fio --name=j --iodepth=32 --ioengine=libaio --direct=0\n"), "F7", "libaio waits for each I/O"),
        (fio_normal("read: IOPS=2000, BW=125MiB/s (131MB/s)(1.2GiB/10001msec)", 3990.0, rw="randread", head="$ fio --name=j --iodepth=8\n"), "F7", "libaio waits for each I/O"),
        (fio_normal("read: IOPS=120k, BW=7500MiB/s (7864MB/s)(73GiB/10001msec)", 33.0, rw="randread", engine="psync", iodepth=1, head="$ fio --name=j --numjobs=4 --group_reporting\n").replace("jobs=1", "jobs=4"), "F1", ""),
    ],
)  # fmt: skip
def test_bad_texts_of_fio_are_found(tmp_path: Path, text: str, key: str, said: str) -> None:
    texts = found(heard(tmp_path, text), key, "error")

    assert bool(texts) == bool(said)
    assert all(said in one for _, one in texts)


def test_the_page_cache_took_what_all_jobs_of_the_cell_took(make: Any, tmp_path: Path) -> None:
    document = json.loads(make.fio_text({"read": (9e3, 90.0)}, bs="4k", rw="randread", iodepth=1))
    slow = json.loads(make.fio_text({"read": (9e3, 100.0)}, bs="4k", rw="randread", iodepth=1))
    document["jobs"] += slow["jobs"]
    for job in document["jobs"]:
        job["job options"] |= {"direct": "0", "ioengine": "psync"}
    options = {"rw": "randread", "bs": "4k", "iodepth": 1, "ioengine": "psync", "direct": False}
    path = make.Maker(tmp_path / "a.db").add("s", "fio", options, json.dumps(document)).write()

    ((_, text),) = found(findings(path), "F7", "warn")
    assert "95.0 µs" in text


def test_what_is_in_flight_at_the_end_of_a_run_is_waited_for(make: Any, tmp_path: Path) -> None:
    """Of a host that had no CPU for 400 ms, 33.2 I/Os in flight of 32 were called impossible."""
    text = make.fio_text({"read": (40e3, 830.0)}, bs="4k", rw="randread", iodepth=32)
    assert found(heard(tmp_path, text), "F1", "error")

    longest = re.sub(r'"max": \d+', '"max": 400000000', text)  # of 20 s
    (tmp_path / "longest").mkdir()
    assert not found(heard(tmp_path / "longest", longest), "F1", "error")


def test_sections_in_one_entry_are_not_judged_by_the_options_of_one(make: Any, tmp_path: Path) -> None:
    text = make.fio_text({"read": (46e3, 172.0)}, bs="4k", rw="randread", iodepth=4)
    assert found(heard(tmp_path, text), "F1", "error")

    both = text.replace('"error": 0,', '"error": 0, "job_runtime": 40000,')  # of 20 s: two processes
    (tmp_path / "b").mkdir()
    assert heard(tmp_path / "b", both) == ()

    parsed = get_parser("fio").parse(both)
    assert cut.options("fio", parsed) == {}, (
        "neither show nor a page calls the cell by options that may be of one section"
    )
    shared = both.replace('"jobs"', '"global options": {"norandommap": "1"}, "jobs"', 1)
    assert cut.options("fio", get_parser("fio").parse(shared)) == {"norandommap": 1}
    assert cut.options("fio", get_parser("fio").parse(text))["bs"] == "4k"


MACHINE = "pack:1 numa:1 l3:1 core:4 pu:2"


def test_an_option_that_was_edited_is_no_axis(make: Any, tmp_path: Path) -> None:
    """Who sweeps array_size asks for what the caches do; who changes it between two runs of one experiment does not."""
    levels = {}
    for name, texts, axes in (("edited", ("a", "b"), ()), ("swept", ("a", "a"), ("array_size",))):
        for text, size in zip(texts, (20_000_000, 20_000_001), strict=True):
            maker = make.Maker(tmp_path / f"{name}.db")
            maker.text, maker.topology = text, "pack:1 numa:1 l3:1(size=64MB) core:4 pu:1"
            maker.add("s", "stream", {"threads": 4, "array_size": size}, make.stream_text(9000.0, 4), axes=axes, place="all")  # fmt: skip
            maker.write()
        levels[name] = {f.level for f in findings(maker.path) if f.id == "S1" and "last-level" in f.cells[0][1]}

    assert levels == {"edited": {"warn"}, "swept": {"info"}}


@pytest.mark.parametrize(
    ("dimms", "cpu", "said"),
    [
        ("1 × 480 GB LPDDR5 8532 MT/s", "", ""),  # one package of many channels
        ("1 × 16 GB HBM2 3200 MT/s", "", ""),
        ("1 × 16 GB DDR5 4800 MT/s", "Intel(R) Xeon(R) CPU Max 9480", ""),
        ("1 × 16 GB DDR5 4800 MT/s", "Intel(R) Xeon(R) Gold", "90.0 GB/s, the modules can move 38.4 GB/s"),
    ],
)
def test_memory_that_is_no_dimm_has_more_channels(make: Any, tmp_path: Path, dimms: str, cpu: str, said: str) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.facts = {**maker.facts, "dimms": dimms, "cpu_model": cpu}
    maker.add("scaling", "stream", {"threads": 4}, make.stream_text(90e3 / 1.01, 4))

    assert [text for _, text in found(findings(maker.write()), "S2")] == ([said] if said else [])


def test_each_session_has_its_own_modules(make: Any, tmp_path: Path) -> None:
    for dimms, rate in (("1 × 16 GB DDR4 3200 MT/s", 24e3), ("8 × 16 GB DDR4 3200 MT/s", 90e3)):
        maker = make.Maker(tmp_path / "a.db")
        maker.facts = {**maker.facts, "dimms": dimms}
        for repeat in (1, 2):
            at = repeat if rate < 5e4 else repeat + 2
            maker.add("s", "stream", {"threads": 4}, make.stream_text(rate / 1.01, 4), repeat=at, repeats=4)
        maker.write()

    assert found(findings(tmp_path / "a.db"), "S2") == []


HPCC = """\
HPC Challenge Benchmark version 1.5.0
Begin of StarSTREAM section.
-------------------------------------------------------------
This system uses 8 bytes per DOUBLE PRECISION word.
-------------------------------------------------------------
Array size = 86894592, Offset = 0
Total memory required = 1.9422 GiB.
Each test is run 10 times.
-------------------------------------------------------------
Function      Rate (GB/s)   Avg time     Min time     Max time
Copy:           3.4473       0.4071       0.4033       0.4132
Scale:          3.3771       0.4141       0.4117       0.4174
Add:            3.8207       0.5496       0.5458       0.5534
Triad:          3.8100       0.5514       0.5474       0.5556
-------------------------------------------------------------
End of StarSTREAM section.
Begin of SingleSTREAM section.
Node(s) with error 0
Node selected 5
Single STREAM Copy GB/s 11.504735
Single STREAM Scale GB/s 11.380000
Single STREAM Add GB/s 12.090000
Single STREAM Triad GB/s 12.190000
End of SingleSTREAM section.
"""


def stream_of(make: Any, triad: float, size: int) -> str:
    text: str = make.stream_text(triad, 8).replace("20000000 (elements)", f"{size} (elements)")
    return re.sub(r"(\d\.\d{6})", lambda m: f"{float(m[1]) * size / 2e7:.6f}", text)


def test_two_machines_of_a_folder_are_not_one(make: Any, tmp_path: Path) -> None:
    small, large = stream_of(make, 90e3, 10_000_000), stream_of(make, 20e3, 100_000_000)

    assert found(heard(tmp_path, small, large), "S2") == []
    (tmp_path / "b").mkdir()
    ((_, text),) = found(heard(tmp_path / "b", small + large), "S2", "error")  # one text, one machine
    assert text == "90.0 GB/s with arrays of 80 MB, 20.0 GB/s with larger ones"


def test_each_cell_of_small_arrays_is_accused_with_its_own_rate(make: Any, tmp_path: Path) -> None:
    small = [
        stream_of(make, rate, 10_000_000).replace("executed 10 times", f"executed {times} times")
        for rate, times in ((90e3, 10), (80e3, 20))
    ]

    told = found(heard(tmp_path, "".join(small) + stream_of(make, 20e3, 100_000_000)), "S2", "error")

    assert sorted(text for _, text in told) == [
        "80.0 GB/s with arrays of 80 MB, 20.0 GB/s with larger ones",
        "90.0 GB/s with arrays of 80 MB, 20.0 GB/s with larger ones",
    ]


def test_depths_of_several_files_are_no_sweep_of_one_device(tmp_path: Path) -> None:
    rates = {1: 10_000, 4: 40_000, 8: 60_000, 32: 30_000}
    texts = [
        fio_normal(f"read: IOPS={iops}, BW={iops // 16}MiB/s (1MB/s)(1MiB/10001msec)", depth / iops * 1e6, rw="randread", iodepth=depth)
        for depth, iops in rates.items()
    ]  # fmt: skip

    assert found(heard(tmp_path, *texts), "F10") == []
    (tmp_path / "b").mkdir()
    assert len(found(heard(tmp_path / "b", "\n".join(texts)), "F10")) == 1


def test_each_part_of_a_text_has_its_command(make: Any, tmp_path: Path) -> None:
    table = make.imb_text({0: 0.5, 1: 0.5, 1024: 0.9, 4096: 2.0})
    parts = [
        f"{where}: I typed\n\n```\n$ mpirun -np 2 hwloc-bind core:0 core:{n} ./IMB-MPI1 PingPong\n...\n\n{table}```\nThat is {n}.\n\n"
        for where, n in (("Inside", 7), ("Between", 15), ("Again", 3))
    ]

    unions = sorted(
        re.findall(r"core:0 and core:(\d+)", text)[0] for _, text in found(heard(tmp_path, "".join(parts)), "P1")
    )
    assert unions == ["15", "3", "7"]


def test_few_slow_accesses_make_a_mean(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.add(
        "muladd",
        "poke",
        {"target": "compute"},
        make.poke_text([1.31e6] * 99 + [7e8], target="compute", op="muladd"),
    )

    ((_, text),) = found(findings(maker.write()), "G6", "info")

    assert text == "compute muladd: mean 8.30 ms, standard deviation 69.5 ms"


def test_a_coarse_clock_of_any_tool(make: Any, tmp_path: Path) -> None:
    text = make.imb_text({0: 0.06, 1: 0.5}).replace("PingPong", "Exchange")

    ((_, said),) = found(heard(tmp_path, text), "G6", "warn")

    assert "60 ns in steps of 10 ns" in said


# --- what a check convicts ----------------------------------------------------------------------------------


def failed(make: Any, triad: float, threads: int = 4) -> str:
    """STREAM's table, and what it says where its own check fails."""
    text: str = make.stream_text(triad, threads)
    said = "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)\n     Expected Value: 1.0, AvgAbsErr: 2.0\n"
    return re.sub(r"Solution Validates.*\n", said, text)


def test_a_finding_of_one_text_of_several_names_it(make: Any, tmp_path: Path) -> None:
    """Their options tell the texts apart, and no axis is called `source`."""
    disturbed = [*GOOD[:3], (1000, 96.0, 3000.0), (5000, 99.0, 1500.0), (20000, 98.0, 1150.0)]
    texts = {
        "good.out": make.mlc_text(GOOD).replace("--loaded_latency", "--loaded_latency -W2"),
        "bad.out": make.mlc_text(disturbed),
        "void.out": failed(make, 30e3),
        "sound.out": make.stream_text(20e3, 2),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "r.db"
    done = CliRunner().invoke(cli, ["parse", *(str(tmp_path / name) for name in texts), "-o", str(path)])
    assert done.exit_code == 0, done.output

    told = {f.id: f for f in module.audit(load([path]))}

    for key, name in (("M1", "bad.out"), ("G10", "void.out")):
        assert {cell.partition(",")[0] for cell, _ in told[key].cells} == {name}


def test_a_fault_of_one_repeat_says_of_how_many(make: Any, tmp_path: Path) -> None:
    """The samples of one repeat of three are not those of its mean."""
    maker = make.Maker(tmp_path / "f.db")
    for low in (950.0, 1050.0, 960.0):
        text = make.fio_text({"read": (1e3, 900.0)}, bs="4k", rw="randread", iodepth=1, samples={"read": (low, 1100.0)})
        maker.add("s", "fio", {"rw": "randread", "iodepth": 1}, text)

    ((_, text),) = found(findings(maker.write()), "F6")

    assert text.endswith(" (1 of 3 repeats)")


# --- noise, and what was not looked at ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cpu", "switches", "target", "found_it"),
    [
        (2.66, 3113, "memory", True),  # of 16.4 s
        (16.2, 40, "memory", False),
        (2.66, 40, "memory", False),  # it slept, and nobody took its CPU
        (2.66, 3113, "file", False),  # it waits for a device
    ],
)
def test_a_run_that_did_not_have_its_cpus(
    make: Any, tmp_path: Path, cpu: float, switches: int, target: str, found_it: bool
) -> None:
    maker = make.Maker(tmp_path / "a.db")
    usage = {"user_s": cpu, "system_s": 0.0, "involuntary_switches": float(switches)}
    maker.add("s", "poke", {"target": target}, make.poke_text([300.0] * 2000), usage=usage, wall_s=16.4)

    texts = [text for _, text in found(findings(maker.write()), "G12", "warn")]

    assert texts == ["2.66 s of CPU time in 16.4 s on 1 CPU, put off it 3\u202f113 times"] * found_it


def test_a_command_of_several_lines(tmp_path: Path) -> None:
    text = fio_normal("read: IOPS=8000, BW=500MiB/s (524MB/s)(5000MiB/10001msec)", 998.0, rw="randread")
    command = "fio --name=j \\\n  --direct=1\nls --sort=size"

    assert [found.id for found in heard(tmp_path, text, command=command) if found.level != "info"] == []


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("readwrite", "rw", True),
        ("randread:8", "randread", True),
        ("0x4", "4", True),
        ("external:/opt/x.so", "external", True),
        ("4k", "4096", True),
        ("randread", "randwrite", False),
        ("/dev/sda:/dev/sdb", "/dev/sda", False),
        ("0x8", "4", False),
    ],
)
def test_ways_of_writing_that_mean_the_same(a: str, b: str, same: bool) -> None:
    assert same_value(a, b) is same


def test_rates_that_a_text_cuts_are_no_other_mix_and_no_other_mean(tmp_path: Path) -> None:
    lines = "read: IOPS=2, BW=185KiB/s (189kB/s)(3MiB/20001msec)|write: IOPS=3, BW=198KiB/s (203kB/s)(3MiB/20001msec)"
    mix = fio_normal(lines.replace("write: IOPS=2", "write: IOPS=3"), 900.0, rw="randrw", engine="psync", iodepth=1)
    mix = "$ fio --name=j --rate_iops=3 --direct=1\n" + mix
    steady = fio_normal(
        "read: IOPS=7, BW=503KiB/s (515kB/s)(9MiB/20001msec)",
        900.0,
        rw="read",
        head="$ fio --name=j --rate_iops=8 --direct=1\n",
    )
    steady = steady.replace(
        "  cpu ", "   iops        : min=    7, max=    8, avg= 7.87, stdev= 0.33, samples=39\n  cpu "
    )

    assert [f for f in heard(tmp_path, mix, steady) if f.level != "info"] == []


def buffered(make: Any, path: Path, *latencies: float) -> Path:
    """Repeats of buffered reads of so many µs, with a deviation above their mean."""
    maker = make.Maker(path)
    for latency in latencies:
        told = json.loads(make.fio_text({"read": (1e6 / latency, latency)}, bs="4k", rw="randread", iodepth=1))
        told["jobs"][0]["read"]["lat_ns"]["stddev"] = 2e3 * latency
        told["jobs"][0]["job options"] |= {"direct": "0", "ioengine": "psync"}
        options = {"rw": "randread", "iodepth": 1, "direct": 0, "ioengine": "psync"}
        maker.add("s", "fio", options, json.dumps(told))
    written: Path = maker.write()
    return written


def test_a_finding_of_several_repeats_quotes_them_all(make: Any, tmp_path: Path) -> None:
    """It quoted the first, 16.3 µs, as that of three, beside the page's median."""
    told = findings(buffered(make, tmp_path / "r.db", 16.3, 12.3, 18.0))

    ((_, cache),) = found(told, "F7")
    ((_, wide),) = found(told, "G6")
    assert "12.3 to 18.0 µs" in cache
    assert "24.6 to 36.0 µs" in wide


def test_coarse_times_say_why_they_are_a_warning_or_a_note(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "p.db")
    for place, zeros in (("near", (0.17,)), ("far", (0.17, 0.15, 0.19)), ("alike", (0.17, 0.17, 0.18))):
        for zero in zeros:
            maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text({0: zero, 8: 0.5, 64: 0.6, 2**20: 99.0}), axes=("place",), place=place)  # fmt: skip
    findings = module.audit(load([maker.write()]))

    said = {(f.level, cell): text for f in findings if f.id == "P3" for cell, text in f.cells}
    step = "170 ns in steps of 10 ns: 5.88 % (at 0 B), more than 2 %"
    assert said == {
        ("warn", "place=near"): f"{step}, in a single run",
        ("info", "place=far"): f"{step}, but 3 repeats show how far times are apart",
        ("warn", "place=alike"): f"{step}, and 3 repeats differ by no more than that",
    }


def test_few_repetitions_are_told_of_the_repeat_and_the_benchmark_that_have_them(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "p.db")
    whole = make.imb_text({0: 1.7, 8: 1.8, 2**20: 99.0})
    short = re.sub(r"(?m)^( +\d+ +) 1000 ", r"\1   20 ", whole)
    for text in (whole, short, whole):
        maker.add("p", "imb", {"benchmark": "PingPong"}, text)
    both = whole + short.partition("\n#-")[2].replace("PingPong", "PingPing")
    maker.add("q", "imb", {"benchmark": "PingPong"}, both)
    found = load([maker.write()])
    findings = [f for f in module.audit(found) if f.id == "P3"]

    assert [(f.level, *f.cells) for f in findings] == [
        ("warn", ("(one cell)", "PingPing: 20 repetitions from 0 B on, fewer than 50, in a single run")),
        ("info", ("(one cell)", "20 repetitions from 0 B on, fewer than 50, but 3 repeats show how far times are apart (1 of 3 repeats)")),
    ]  # fmt: skip
    assert [f.own for f in findings] == [frozenset({("p.db", 4)}), frozenset({("p.db", 2)})]


def test_few_repetitions_are_told_of_any_benchmark(make: Any, tmp_path: Path) -> None:
    """An Allgather of 576 ranks told 1.72 s at 2 MiB, measured once, and nothing said so."""
    text = make.imb_text({0: 1.7, 8: 1.8, 2**20: 99.0}).replace("PingPong", "PingPing")
    once = re.sub(r"(?m)^( +1048576 +) 1000 ", r"\1    1 ", text)
    maker = make.Maker(tmp_path / "p.db").add("p", "imb", {"benchmark": "PingPing"}, once)

    assert found(findings(maker.write()), "P3", "info") == [
        (
            "(one cell)",
            "1 repetition from 1 MiB on, fewer than 50, in a single run",
        )
    ]


def test_what_is_said_of_a_cell_and_what_of_each_repeat_are_counted_apart(make: Any, tmp_path: Path) -> None:
    """The median over the repeats was called one repeat's, and what each of them had was said of one."""
    maker = make.Maker(tmp_path / "p.db")
    for zero in (0.21, 0.22, 0.25):
        text = make.imb_text({0: zero, 8: 0.5, 64: 0.6, 2**20: 99.0})
        short = re.sub(r"(?m)^( +1048576 +) 1000 ", r"\1   40 ", text)
        maker.add("p", "imb", {"benchmark": "PingPong"}, short)

    told = [text for _, text in found(module.audit(load([maker.write()])), "P3")]

    assert told == [
        "220 ns in steps of 10 ns: 4.55 % (at 0 B), more than 2 %, but 3 repeats show how far times are apart",
        "40 repetitions from 1 MiB on (IMB's own choice), fewer than 50, but 3 repeats show how far times are apart (3 of 3 repeats)",
    ]


def test_repeats_in_which_other_directions_are_unsteady_are_not_one_finding(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for unsteady in ("read", "write"):
        parts = {"read": (1000.0, 1000.0), "write": (1000.0, 1000.0)}
        samples = dict.fromkeys(parts, (990, 1010)) | {unsteady: (200, 1800)}
        told = json.loads(make.fio_text(parts, bs="4k", rw="randrw", iodepth=2, samples=samples))
        told["jobs"][0][unsteady]["iops_stddev"] = 300.0
        maker.add("s", "fio", {"rw": "randrw", "iodepth": 2}, json.dumps(told))

    said = [text for _, text in found(findings(maker.write()), "F6")]

    assert [text.partition(":")[0] for text in said] == ["read", "write"]
    assert all(text.endswith("(1 of 2 repeats)") for text in said)


@pytest.mark.parametrize("number", ["000", "003", "004"])
def test_a_check_flags_as_many_cells_as_it_names(number: str, request: pytest.FixtureRequest) -> None:
    for finding in request.getfixturevalue(f"report_{number}"):
        named = [re.match(r"(\d+) (?:cells|rows)\b", cell) for cell, _ in finding.cells]
        counts = [int(match[1]) if match else 1 for match in named]
        assert len(finding.about) >= max(counts), finding.cells
        if any(named) and len(counts) == 1:
            assert len(finding.about) == counts[0], finding.cells


def test_texts_of_one_file_are_one_curve_over_threads(make: Any, tmp_path: Path) -> None:
    """As in the figure of bandwidth over threads."""
    result = tmp_path / "r.db"
    for threads, bandwidth in ((1, 5e3), (8, 56e3)):
        take(result, make.stream_text(bandwidth, threads), f"{threads}.txt")

    assert [cell for cell, _ in found(findings(result), "G5")] != []


def test_the_document_of_findings(report_004: tuple[Finding, ...]) -> None:
    """A check has its mark, one example and one advice; its cells are in a fold, or with `everything` in a table."""
    short, long = (module.document(report_004, everything=everything) for everything in (False, True))
    summaries = module.summaries(report_004)

    assert [s.level for s in summaries] == sorted((s.level for s in summaries), key=LEVELS.index)
    assert sum(isinstance(block, Fold) for block in short.blocks) == len(summaries)
    (f4,) = [s for s in summaries if s.id == "F4"]
    assert len(f4.rows.rows) == sum(len(f.cells) for f in report_004 if f.id == "F4") > 12
    assert max(len(block.rows) for block in long.blocks if isinstance(block, Table)) >= len(f4.rows.rows)
    grave = {s.id for s in summaries if s.level != "info"}
    assert module.flag_counts(report_004).endswith(f" · {len(grave) - 2} more checks")


def test_levels_of_findings(report_004: tuple[Finding, ...]) -> None:
    assert module.worst(report_004) == "error"
    assert module.worst(()) is None
    assert module.summary_line(()) == "nothing found"
    assert {f.level for f in module.down_to(report_004, "error")} == {"error"}
