"""Texts that were taken in: nothing joins two of them, and nobody says that they were measured when they were parsed."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pinsweep.cli import cli
from reports import numbers, show
from reports.checks import audit
from reports.export import openmetrics
from reports.report import best, build
from reports.report.render import render_report
from reports.results.load import load

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def taken(tmp_path: Path, texts: dict[str, str]) -> Path:
    tmp_path.mkdir(exist_ok=True)
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "r.db"
    done = CliRunner().invoke(cli, ["parse", *(str(tmp_path / name) for name in texts), "-o", str(path)])
    assert done.exit_code == 0, done.output
    return path


def test_texts_of_several_hosts_are_named_where_show_lists_them(make: Any, tmp_path: Path) -> None:
    """Eight machines' STREAM, each with threads of its own, looked like the scaling of one."""
    texts = {f"{name}.out": make.stream_text(rate, n) for name, rate, n in (("a", 9e4, 20), ("b", 2e5, 40))}

    shown = CliRunner().invoke(cli, ["show", str(taken(tmp_path, texts))]).output
    alone = CliRunner().invoke(cli, ["show", str(taken(tmp_path / "one", dict(list(texts.items())[:1])))])

    lines = [line.split() for line in shown.splitlines() if "GB/s" in line]
    assert [(line[0], [w for w in line if w.endswith(".out")]) for line in lines] == [("20", ["a.out"]), ("40", ["b.out"])]  # fmt: skip
    assert "a.out" not in alone.output


@pytest.fixture
def streams(make: Any, tmp_path: Path) -> Path:
    """Four machines: two told the same threads, two others of which each has a count of its own."""
    threads = {
        "power8.out": (20, 245e3),
        "broadwell.out": (44, 83e3),
        "skylake.out": (48, 125e3),
        "old.out": (20, 90e3),
    }
    return taken(tmp_path, {name: make.stream_text(rate, n) for name, (n, rate) in threads.items()})


def figures(built: Any) -> list[Any]:
    return [f for s in built.sections for b in s.blocks for f in b.figures]


def test_no_line_joins_two_sources(streams: Path) -> None:
    (figure,) = [f for s in build.build(load([streams])).sections for b in s.blocks for f in b.figures]

    (panel,) = figure.panels
    assert [row["name"] for row in panel.wide["datasets"]["rows"]] == [
        "power8.out, 20 threads", "skylake.out, 48 threads", "old.out, 20 threads", "broadwell.out, 44 threads",
    ]  # fmt: skip
    assert figure.title == "STREAM Triad moves 83.0 to 245 GB/s in 4 texts"


def test_texts_that_do_not_say_their_threads_have_no_column_of_their_own(make: Any, tmp_path: Path) -> None:
    """ "place not said, GB/s | threads not said, GB/s", beside a column of threads."""
    text = make.stream_text(20e3, 2)
    bare = "\n".join(line for line in text.splitlines() if "Number of Threads" not in line) + "\n"

    (figure, *_) = figures(build.build(load([taken(tmp_path, {"two.txt": text, "bare.txt": bare})])))

    assert figure.numbers[0].columns[-2:] == ("Threads", "Bandwidth, GB/s")


@pytest.mark.parametrize(
    ("texts", "title", "columns", "row", "said"),
    [
        (
            ["osu/latency", "osu/barrier"], "Captured OSU output",
            ("benchmark", "Message size", "Metric", "Value", "Unit", "Repeats"),
            ("MPI Latency Test", "1 MiB", "mean latency", "877.1", "µs", "1"),
            "Of no size, in the numbers only: mean latency, MPI Barrier Latency Test.",
        ),
        (
            ["likwid_bench/copy_two_threads", "likwid_bench/load_two_workgroups"], "Captured likwid-bench output",
            ("test", "Metric", "Value", "Unit", "Repeats"), ("load", "bandwidth", "16.42", "GB/s", "1"), "",
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_texts_of_programs_without_a_chapter(
    tmp_path: Path, undrawn: None, texts: list[str], title: str, columns: tuple[str, ...], row: tuple[str, ...], said: str
) -> None:  # fmt: skip
    """A column says what no other says, sizes have units, and what no panel has is named: of a barrier there was no word."""
    files = {f"{text.rpartition('/')[2]}.out": (FIXTURES / f"{text}.out").read_text() for text in texts}

    (figure,) = figures(build.build(load([taken(tmp_path, files)])))

    (table,) = figure.numbers
    assert (figure.title, table.columns) == (title, columns)
    assert row in table.rows
    assert said in figure.sub
    assert ("no size" in figure.sub) == bool(said)


def test_a_key_number_counts_the_parts_of_a_text_that_may_be_of_several_machines(
    make: Any, tmp_path: Path
) -> None:
    both = (
        make.matrix_text(MATRIX)
        + "\nand of the other machine\n"
        + make.matrix_text([[70.0, 150.0], [150.0, 70.0]])
    )

    (idle,) = build.build(load([taken(tmp_path, {"both.out": both})])).key_numbers

    assert idle.value == "70.0"
    assert idle.context.startswith("local, source part 2;")
    assert idle.context.endswith("lowest of several parts")


def test_a_key_number_names_its_source(streams: Path) -> None:
    (number,) = build.build(load([streams])).key_numbers

    assert (number.value, number.context) == (
        "245",
        "20 threads, source power8.out; highest of several texts",
    )


def test_a_key_number_is_the_best_of_all_texts_that_tell_it(make: Any, tmp_path: Path) -> None:
    """Texts that say how large their buffer was were left out of the lowest, and searches for the most of the peak."""
    near, far = ([[ns, 140.0], [140.0, ns]] for ns in (70.0, 80.0))
    rows = [(0, 250.0, 6000.0), (100, 120.0, 5000.0), (500, 90.0, 4000.0), (5000, 80.0, 700.0)]
    texts = {
        "a.out": make.matrix_text(near),
        "b.out": make.matrix_text(far).replace("Using buffer size of 200.000MiB\n", ""),
        "c.out": make.mlc_text(rows),
        "d.out": mlc_peaks("Peak Injection", 9900.0, "3.7", "--peak_injection_bandwidth"),
    }

    idle, peak = build.build(load([taken(tmp_path, texts)])).key_numbers

    assert (idle.name, idle.value) == ("Memory, idle", "70.0")
    assert re.search(r"source a.out; .*lowest of several texts$", idle.context)
    assert (peak.name, peak.value) == ("Memory, peak", "9.90")
    assert re.search(r"peak injection.*highest of several texts; of d.out", peak.context)


def test_of_numbers_that_look_the_same_the_one_that_no_check_convicts_is_shown(
    make: Any, tmp_path: Path
) -> None:
    sizes = {0: 0.2, 1: 0.2, 8: 0.2, 4096: 1.0}
    bound = make.imb_text(sizes).replace(
        "IMB-MPI1 PingPong", "mpirun -np 2 hwloc-bind core:0 core:15 IMB-MPI1 PingPong"
    )
    texts = {"a.out": bound, "b.out": make.imb_text(sizes)}
    results = load([taken(tmp_path, texts)])

    (number,) = build.build(results).key_numbers

    assert "P1" in {f.id for f in audit.audit(results)}
    assert "source b.out" in number.context
    assert "P1" not in number.doubt


def test_access_times_of_several_texts_have_no_range(make: Any, tmp_path: Path) -> None:
    """ "One access: 89.7 ns to 4.42 ms" was of a cache line on one machine and a megabyte on another."""
    texts = {"a.out": make.matrix_text(MATRIX), "b.out": make.imb_text({0: 0.9, 8: 0.9, 4096: 1.0})}

    built = build.build(load([taken(tmp_path, texts)]))

    (overview,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id == "overview"]
    assert overview.title == "Time for one access"
    assert "Of 2 texts: nothing says that they are of one machine." in overview.sub
    assert {"Memory, idle, local, a.out", "MPI 0 B, place not said, b.out"} <= {
        row[0] for row in overview.numbers[0].rows
    }


def test_texts_of_several_machines_have_no_best_cell(make: Any, tmp_path: Path) -> None:
    texts = {f"{n}.json": make.fio_text({"read": (1e3 * n, 90.0)}, bs="4k", rw="randread", iodepth=1) for n in (1, 2)}  # fmt: skip
    results = load([taken(tmp_path, {**texts, "m.out": make.matrix_text(MATRIX)})])

    drawn = figures(build.build(results))

    assert best.figure(results, drawn * best.MOST_FIGURES) is None


def test_a_panel_of_a_text_of_many_options_is_named_by_its_blocks_and_the_text(
    make: Any, tmp_path: Path
) -> None:
    """Two have the same options, so that their names tell them apart: no other option needs to."""
    texts = {}
    for name, size, runtime, iops in (("a", "4k", 30, 1e4), ("b", "8k", 60, 2e4), ("c", "8k", 60, 3e4)):
        told = json.loads(make.fio_text({"read": (iops, 9e5 / iops)}, bs=size, rw="randread", iodepth=1))
        told["jobs"][0]["job options"] |= {
            "filename": f"/dev/{size}",
            "size": f"{runtime}M",
            "runtime": str(runtime),
            "sync": size,
        }
        texts[f"{name}.json"] = json.dumps(told)

    built = build.build(load([taken(tmp_path, texts)]))

    (storage,) = [f for f in figures(built) if f.panels and f.panels[0].title == "IOPS"]
    assert sorted(row["name"] for row in storage.panels[0].wide["datasets"]["rows"]) == [
        "4 KiB blocks, read, a.json",
        "8 KiB blocks, read, b.json",
        "8 KiB blocks, read, c.json",
    ]
    (overview,) = [f for f in figures(built) if f.id == "overview"]
    names = [row[0] for row in overview.numbers[0].rows]
    assert all(name.count("KiB") == 1 for name in names), names  # said once


def test_of_options_that_vary_as_one_the_first_names_the_panels(make: Any, tmp_path: Path) -> None:
    """A file name and three options of the steady state, each another in every text: their panels were called by all four."""
    texts = {}
    for n, depth in itertools.product((1, 2), (1, 8)):
        iops = 1e4 * n * depth
        told = json.loads(make.fio_text({"read": (iops, 9e5 / iops)}, bs="4k", rw="randread", iodepth=depth))
        steady = {"steadystate": f"iops:{n}%", "ss_dur": str(10 * n), "ss_ramp": str(n)}
        told["jobs"][0]["job options"] |= {"filename": f"/dev/nvme{n}n1", **steady}
        texts[f"{n}-{depth}.json"] = json.dumps(told)

    built = build.build(load([taken(tmp_path, texts)]))

    titles = {p.title for f in figures(built) for p in f.panels if p.title.endswith("IOPS")}
    assert {title.rpartition(", ")[0] for title in titles} == {f"filename /dev/nvme{n}n1" for n in (1, 2)}


def test_texts_of_one_machine_are_a_curve(make: Any, tmp_path: Path) -> None:
    """Where no two texts tell the same, they are cells of one sweep."""
    path = taken(tmp_path, {f"s{n}.out": make.stream_text(10e3 * n, n) for n in (1, 2, 4)})

    (figure,) = [f for s in build.build(load([path])).sections for b in s.blocks for f in b.figures]

    assert [len(p.wide["datasets"]["points"]) for p in figure.panels] == [3]
    assert " Of 3 texts." in figure.sub
    assert figure.title == "STREAM Triad bandwidth over threads"  # nothing says that it is one machine's


def test_a_captured_page_does_not_speak_of_measuring(streams: Path, tmp_path: Path) -> None:
    results = load([streams])
    built = build.build(results)
    labels = dict(built.provenance)

    assert built.sentence == "4 texts taken in, their hosts unknown."
    assert labels["Host"] == "unknown, of 4 texts"
    assert "Measured" not in labels
    assert "Taken in" in labels
    assert built.runs is not None
    assert built.runs.lead == ("Every text that was taken in, in order.",)
    assert {row.duration for row in built.runs.rows} == {"–"}
    text = render_report([streams], tmp_path / "r.html", static=True).read_text(encoding="utf-8")
    for word in ("planned run", "process that was started", "<dt>Measured</dt>"):
        assert word not in text
    assert "4 texts taken in, their hosts unknown" in show.show_result(streams)
    assert "pinsweep_last_run_timestamp_seconds{" not in openmetrics.text(results)


def test_texts_beside_own_runs_are_told_apart(make: Any, streams: Path, tmp_path: Path) -> None:
    own = (
        make.Maker(tmp_path / "own.db").add("s", "stream", {"threads": 2}, make.stream_text(20e3, 2)).write()
    )

    built = build.build(load([own, streams]))

    assert (
        built.sentence == "The one planned run on node07 gave numbers; 4 texts taken in, their hosts unknown."
    )
    assert dict(built.provenance)["Hosts"] == "node07 and unknown, of 4 texts"
    assert built.runs is not None
    assert built.runs.lead == ("Every process that was started and every text that was taken in, in order.",)


def test_runs_of_one_text_are_no_repeats(make: Any, tmp_path: Path) -> None:
    """HPCC prints STREAM twice, on one process and on all."""
    text = make.stream_text(20e3, 2) + make.stream_text(80e3, 2)
    path = make.Maker(tmp_path / "r.db").add("s", "stream", {"threads": 2}, text).write()

    (figure,) = [f for s in build.build(load([path])).sections for b in s.blocks for f in b.figures]

    assert [p.title for p in figure.panels] == ["run 1", "run 2"]


def test_a_number_is_of_the_program_of_its_own_text(make: Any, tmp_path: Path) -> None:
    """Two versions on one page: the peak of the second is not the first's."""
    rows = [(0, 250.0, 6000.0), (100, 120.0, 5000.0), (500, 90.0, 4000.0), (5000, 80.0, 700.0)]
    fast = [(delay, ns, 2 * rate) for delay, ns, rate in rows]
    old = make.mlc_text(rows).replace("v3.9", "v3.5")
    caches = old[: old.index("Measuring Loaded")] + (
        "Measuring cache-to-cache transfer latency (in ns)...\nLocal Socket L2->L2 HITM latency\t44.0\n"
    )
    path = taken(tmp_path, {"a.out": old, "b.out": make.mlc_text(fast), "c.out": caches})

    built = build.build(load([path]))
    (peak,) = [n for n in built.key_numbers if n.name == "Memory, peak"]

    assert (peak.value, peak.context.rsplit("; ")[-2:]) == (
        "12.0",
        ["Intel MLC 3.9", "highest of several texts"],
    )
    assert "source b.out" in peak.context


def test_a_figure_names_the_programs_that_it_is_drawn_from(make: Any, tmp_path: Path) -> None:
    near = make.imb_text({0: 0.2, 8: 0.2, 4096: 1.0})
    other = near.replace("PingPong", "PingPing").replace("2019 Update 6", "2018 Update 1")
    path = taken(tmp_path, {"a.out": near, "b.out": other})

    subs = {
        f.id.split("-")[1]: f.sub
        for s in build.build(load([path])).sections
        for b in s.blocks
        for f in b.figures
        if b.tool == "imb"
    }

    assert "2019 Update 6" in subs["PingPong"]
    assert "2018" not in subs["PingPong"]
    assert "2018 Update 1" in subs["PingPing"]


def test_bandwidth_names_the_programs_whose_triad_is_drawn(make: Any, tmp_path: Path) -> None:
    other = make.stream_text(10e3, 3).replace("5.10", "5.9")
    other = "\n".join(line for line in other.split("\n") if not line.startswith("Triad"))
    path = taken(tmp_path, {"a.out": make.stream_text(20e3, 2), "b.out": other})

    (figure,) = [f for s in build.build(load([path])).sections for b in s.blocks for f in b.figures]

    assert figure.sub.startswith("Copy, Scale, Add and Triad, STREAM 5.10, one run a cell;")
    assert figure.sub.endswith(" Of a.out.")


def test_the_two_parts_of_a_suite_are_two_named_cells(tmp_path: Path) -> None:
    """Single and Star are no repeats of one another, and the version is that of the suite."""
    text = "This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012\n" + "".join(
        f"{part}STREAM_{kernel}={rate}\n"
        for part, rate in (("Star", 20.5), ("Single", 24.7))
        for kernel in ("Copy", "Scale", "Add", "Triad")
    )
    path = taken(tmp_path, {"hpccoutf.txt": text})

    (figure,) = [f for s in build.build(load([path])).sections for b in s.blocks for f in b.figures]
    shown = show.show_result(path)

    assert {p.title for p in figure.panels} == {"section StarSTREAM", "section SingleSTREAM"}
    assert figure.sub.startswith("Copy, Scale, Add and Triad, STREAM of HPCC 1.5.0, one run a cell;")
    assert all(words in shown for words in ("StarSTREAM", "SingleSTREAM", "20.5 GB/s", "24.7 GB/s"))


def test_threads_that_a_text_does_not_say_have_no_number(make: Any, tmp_path: Path) -> None:
    untold = "\n".join(line for line in make.stream_text(15e3, 1).split("\n") if "hread" not in line)
    path = taken(tmp_path, {"a.out": untold})
    other = (
        make.Maker(tmp_path / "b.db").add("s", "stream", {"threads": 2}, make.stream_text(20e3, 2)).write()
    )

    built = build.build(load([path]))
    (figure,) = [f for s in built.sections for b in s.blocks for f in b.figures]
    compared = CliRunner().invoke(cli, ["compare", str(path), str(other)]).output

    assert [n.context for n in built.key_numbers] == ["threads not said"]
    assert "1 thread" not in figure.panels[0].description
    assert {row[1] for row in figure.numbers[0].rows} == {"–"}
    assert "None" not in compared


def test_command_lines_that_differ_are_told_where_options_do_not(make: Any, tmp_path: Path) -> None:
    text = make.imb_text({0: 0.2, 8: 0.2, 4096: 1.0})
    assert "IMB-MPI1 PingPong" in text
    said = {}
    for name, other in (
        ("same", text + "\n"),
        ("other", text.replace("IMB-MPI1 PingPong", "IMB-MPI1 -msglog 12 PingPong")),
    ):
        (tmp_path / name).mkdir()
        for file, words in (("a.out", text), ("b.out", other)):
            (tmp_path / name / file).write_text(words)
        files = [str(tmp_path / name / file) for file in ("a.out", "b.out")]
        said[name] = CliRunner().invoke(cli, ["parse", *files, "-o", str(tmp_path / name / "r.db")]).output

    assert ["Their command lines differ" in said[name] for name in ("same", "other")] == [False, True], said


MATRIX, PEAKS = (
    [[80.0, 140.0], [140.0, 80.0]],
    "Measuring {} Memory Bandwidths for the system\nALL Reads        :\t{}\n",
)


def mlc_peaks(word: str, rate: float, version: str, option: str = "") -> str:
    told = f"Command line parameters: {option} \n" if option else ""
    return f"Intel(R) Memory Latency Checker - v{version}\n{told}\n" + PEAKS.format(word, rate)


def test_the_rows_of_a_table_over_texts_name_them(make: Any, tmp_path: Path) -> None:
    """Peaks of two machines, asked for by two modes: no row without its text; and a default run is no repeat of a mode's."""
    texts = {
        "big.out": mlc_peaks("Maximum", 243000.0, "3.7", "--max_bandwidth"),
        "small.out": mlc_peaks("Peak Injection", 28100.0, "3.7", "--peak_injection_bandwidth"),
        "third.out": mlc_peaks("Peak Injection", 99100.0, "3.7"),
    }
    built = build.build(load([taken(tmp_path, texts)]))

    (figure,) = [f for s in built.sections for b in s.blocks for f in b.figures]
    rows = {re.search(r"source \S+out", row[2])[0]: row[-1] for row in figure.tables[0].rows}

    assert rows == {"source big.out": "243", "source small.out": "28.1", "source third.out": "99.1"}


def test_a_number_or_figure_of_one_text_of_several_names_it(make: Any, tmp_path: Path) -> None:
    texts = {
        "a.out": mlc_peaks("Maximum", 243000.0, "3.9", "--max_bandwidth"),
        "b.out": make.matrix_text(MATRIX),
    }
    built = build.build(load([taken(tmp_path, texts)]))

    subs = [f.sub for s in built.sections for b in s.blocks for f in b.figures if b.tool == "mlc"]

    assert [n.context.rpartition("; ")[2] for n in built.key_numbers] == ["of b.out", "of a.out"]
    assert [sub.endswith((" Of a.out.", " Of b.out.")) for sub in subs] == [True, True]


def test_own_cells_of_two_modes_are_not_pooled(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    maker.add("s", "mlc", {"mode": "max_bandwidth", "W": "2"}, mlc_peaks("Maximum", 30e3, "3.9"), axes=("W",))
    maker.add("s", "mlc", {"mode": "max_bandwidth", "W": "3"}, mlc_peaks("Maximum", 20e3, "3.9"), axes=("W",))
    maker.add("m", "mlc", {"mode": "latency_matrix"}, make.matrix_text(MATRIX), axes=("mode",))
    maker.add(
        "m", "mlc", {"mode": "default"}, make.matrix_text([[99.0, 140.0], [140.0, 99.0]]), axes=("mode",)
    )
    built = build.build(load([maker.write()]))

    tables = {f.id: f.tables for s in built.sections for b in s.blocks if b.tool == "mlc" for f in b.figures}

    assert [row[-2:] for row in tables["peaks-s"][0].rows] == [("2:1", "30.0"), ("3:1", "20.0")]
    assert sorted(t.rows[0][1] for t in tables["latency_matrix-m"]) == ["80.0", "99.0"]


def test_compare_tells_command_lines_that_differ_where_options_do_not(make: Any, tmp_path: Path) -> None:
    """-msglog and -off_cache are no options that the text tells; the program's folder and the outputs' names say nothing."""
    text = make.imb_text({0: 0.2, 8: 0.2, 4096: 1.0})
    typed = {
        "a": "mpirun -np 2 ./IMB-MPI1 PingPong > a.txt",
        "same": "mpirun -np 2 /opt/imb/IMB-MPI1 PingPong >b.txt",
        "other": "mpirun -np 2 ./IMB-MPI1 -msglog 12 PingPong 2>&1 | tee b.txt",
    }
    for name, command in typed.items():
        (tmp_path / f"{name}.out").write_text(text)
        args = ["parse", tmp_path / f"{name}.out", "--command", command, "-o", tmp_path / f"{name}.db"]
        assert CliRunner().invoke(cli, list(map(str, args))).exit_code == 0

    def said(a: str, b: str, *more: str) -> str:
        return (
            CliRunner().invoke(cli, ["compare", *(str(tmp_path / f"{n}.db") for n in (a, b)), *more]).output
        )

    assert "mpirun" not in said("a", "same")
    text = " ".join(said("a", "other").split())
    commands = ("mpirun -np 2 IMB-MPI1 PingPong", "mpirun -np 2 IMB-MPI1 -msglog 12 PingPong")
    assert f"differs Intel MPI Benchmarks command {commands[0]} → {commands[1]}" in text
    for form in ("json", "markdown"):
        assert all(command in said("a", "other", "--format", form) for command in commands)


@pytest.mark.parametrize(
    ("command", "differs"),
    [
        ("fio --bs=4k --name=a --rw=randread --iodepth=4", False),
        ("fio --name=a --iodepth=1 --rw=randread --bs=4k --iodepth=4", False),  # the last one wins
        ("fio --name=a --rw=randread --bs=4k --iodepth=4 --thinktime=5", True),
        ("fio --name=a --iodepth=4 --rw=randread --bs=4k --iodepth=1", True),
        ("fio --name=a --rw=randread --bs=4k --name=b --iodepth=4", True),  # of another section
    ],
)
def test_the_order_of_options_is_no_difference(
    make: Any, tmp_path: Path, command: str, differs: bool
) -> None:
    text = make.fio_text({"read": (1e4, 100.0)}, bs="4k", rw="randread", iodepth=4)
    for name, typed in (("a", "fio --name=a --rw=randread --bs=4k --iodepth=4"), ("b", command)):
        (tmp_path / f"{name}.out").write_text(text)
        args = ["parse", tmp_path / f"{name}.out", "--command", typed, "-o", tmp_path / f"{name}.db"]
        assert CliRunner().invoke(cli, list(map(str, args))).exit_code == 0

    said = CliRunner().invoke(cli, ["compare", str(tmp_path / "a.db"), str(tmp_path / "b.db")]).output

    assert ("fio command" in said) == differs, said


def test_of_commands_that_set_the_same_things_the_words_that_differ_are_told(
    make: Any, tmp_path: Path
) -> None:
    """Each cell of a sweep had a line of both commands, whole, where one option had another value in all of them."""
    for name, think in (("a", 5), ("b", 6)):
        for bs in ("4k", "8k"):
            (tmp_path / f"{name}-{bs}.out").write_text(
                make.fio_text({"read": (1e4, 100.0)}, bs=bs, rw="randread", iodepth=4)
            )
        texts = [tmp_path / f"{name}-{bs}.out" for bs in ("4k", "8k")]
        typed = f"fio --name=a --rw=randread --iodepth=4 --thinktime={think}"
        args = ["parse", *texts, "--command", typed, "-o", tmp_path / f"{name}.db"]
        assert CliRunner().invoke(cli, list(map(str, args))).exit_code == 0

    said = CliRunner().invoke(cli, ["compare", str(tmp_path / "a.db"), str(tmp_path / "b.db")]).output

    assert "differs\n  fio command  --thinktime=5 → --thinktime=6\n" in said, said
    assert said.count("fio command") == 1


def test_a_finding_names_the_text_as_it_is_called(make: Any, tmp_path: Path) -> None:
    """A file's name keeps its letters; a cell that nothing else tells apart is called by its text."""
    pins = "[0] MPI startup(): Rank    Pid      Node name  Pin cpu\n[0] MPI startup(): 0       1       n1         0\n[0] MPI startup(): 1       2       n1         0\n"
    both = pins + make.imb_text({0: 0.2, 8: 0.2, 4096: 1.0})
    (tmp_path / "two").mkdir()
    results = load([taken(tmp_path / "two", {"a_b.out": both, "c_d.out": both + "\n"})])
    without = "\n*** Unable to modify prefetchers (try executing 'modprobe msr')\n"
    peaks = mlc_peaks("Peak Injection", 99100.0, "3.9") + without  # which are measured with them
    full = make.matrix_text([[90.0, 150.0], [150.0, 90.0]]) + without
    (tmp_path / "one").mkdir()
    other = load(
        [
            taken(
                tmp_path / "one",
                {"full_run.out": full, "m.out": make.imb_text({0: 0.2, 8: 0.2}), "p.out": peaks},
            )
        ]
    )

    assert {f.title[:8] for f in audit.audit(results) if f.id == "P1"} == {"a_b.out,"}
    (found,) = [f for f in audit.audit(other) if f.id == "M5"]
    assert re.match("full_run.out.*: the prefetchers were on", found.title)
    assert [cell.partition(",")[0] for cell, _ in found.cells] == ["full_run.out"]


def test_a_text_of_an_unknown_host_is_no_second_host(make: Any, streams: Path, tmp_path: Path) -> None:
    own = (
        make.Maker(tmp_path / "own.db").add("s", "stream", {"threads": 2}, make.stream_text(20e3, 2)).write()
    )

    (number,) = build.build(load([own, streams])).key_numbers

    assert (number.value, number.context) == (
        "245",
        "20 threads, source power8.out; best of 1 host and several texts",
    )


def tabled(tmp_path: Path, tool: str, columns: str, texts: dict[str, str], *args: str) -> Path:
    """Take bare tables in; `args`: further options of `parse table`."""
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = tmp_path / "r.db"
    names = (str(tmp_path / name) for name in texts)
    done = CliRunner().invoke(
        cli, ["parse", "table", *names, "--tool", tool, "--columns", columns, *args, "-o", str(path)]
    )
    assert done.exit_code == 0, done.output
    return path


def test_the_effect_of_a_block_size_is_told_by_bandwidth(tmp_path: Path) -> None:
    """A table of IOPS alone had "4 KiB 5.57 × better than 32 KiB"."""
    rows = "4k 336671 380.0\n32k 59667 2080.0\n"
    path = tabled(tmp_path, "fio", "bs, iops, lat[us]", {"t.txt": rows}, "--set", "rw=randwrite")
    cells = [[run] for run in load([path]).good("fio")]

    told = dict(zip([own[0].options["bs"] for own in cells], numbers.leaders_of(cells), strict=True))
    assert {bs: (leader.unit, values) for bs, (leader, values) in told.items()} == {
        "4k": ("B/s", [("B/s", 336671 * 4096)]), "32k": ("B/s", [("B/s", 59667 * 32768)]),
    }  # fmt: skip


def test_cells_whose_traffic_nothing_tells_are_two_curves(tmp_path: Path) -> None:
    """-W stands for the traffic only where its word is known: W=8 and W=R of bare tables are cells of their own."""
    texts = {}
    for word, most in (("8", 59e3), ("R", 100e3)):
        rows = (
            (0, 160.0, most),
            (100, 90.0, most / 2),
            (500, 80.0, most / 10),
            (2000, 78.0, most / 20),
            (9000, 77.0, 900),
        )
        texts[f"t_W{word}.txt"] = "delay lat bw\n" + "".join(
            f"{delay} {ns} {rate}\n" for delay, ns, rate in rows
        )
    path = tabled(tmp_path, "mlc", "delay, latency[ns], bandwidth[MB/s]", texts, "--axis", "W=_W([R8])")

    built = build.build(load([path]))
    (loaded,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id.startswith("loaded-")]
    offers = loaded.tables[0]

    assert [p.title for p in loaded.panels] == ["1:1 nt", "read only"]
    assert [row[offers.columns.index("Peak, GB/s")] for row in offers.rows] == ["59.0", "100"]
    (peak,) = [n for n in built.key_numbers if n.name.startswith("Memory, ") and n.unit == "GB/s"]
    assert (peak.value, "read only" in peak.context) == ("100", True)


def repeats(head: str, rows: dict[str, tuple[object, ...]]) -> dict[str, str]:
    """Return three tables of one cell a row, a repeat each."""
    return {
        f"rep{n + 1}.txt": f"{head}\n" + "".join(f"{x} {values[n]}\n" for x, values in rows.items())
        for n in range(3)
    }


def test_a_speed_up_is_of_the_medians_of_texts_that_are_repeats(tmp_path: Path) -> None:
    """One repeat of three has 2.75 × with two threads: the medians have 2.00 ×."""
    rates: dict[str, tuple[object, ...]] = {
        "1": (8000.0, 10000.0, 12000.0),
        "2": (22000.0, 20000.0, 19000.0),
        "4": (48000.0, 50000.0, 30000.0),
    }
    texts = repeats("threads triad", rates)
    path = tabled(
        tmp_path,
        "stream",
        "threads, bandwidth[MB/s]",
        texts,
        "--axis",
        "repeat=rep([0-9])",
        "--set",
        "kernel=triad",
    )

    (fault,) = [f for f in audit.audit(load([path])) if f.id == "G5"]

    assert fault.cells == (("threads=4", "4 threads make 4.80 × one thread"),)


def test_a_latency_falls_over_all_texts_that_are_repeats(tmp_path: Path) -> None:
    """Of one repeat it falls by 12 %, of the others it rises."""
    means = {"1": (239.0, 210.0, 220.0), "4": (211.0, 230.0, 240.0), "16": (300.0, 310.0, 320.0)}
    rows: dict[str, tuple[object, ...]] = {
        x: tuple(f"{1000 * int(x)} {ns}" for ns in values) for x, values in means.items()
    }
    texts = repeats("iodepth iops mean", rows)
    columns = "iodepth, iops, lat[us]"
    path = tabled(tmp_path, "fio", columns, texts, "--axis", "repeat=rep([0-9])", "--set", "rw=randread")

    assert [f for f in audit.audit(load([path])) if f.id == "F10"] == []


def three_sections(make: Any, depths: dict[str, float], flight: float) -> str:
    """fio's JSON of three sections in one entry, which tells the options of one: iodepth 16."""
    iops = 48e3
    told = json.loads(
        make.fio_text({"read": (iops, flight / iops * 1e6)}, bs="4k", rw="randread", iodepth=16)
    )
    (job,) = told["jobs"]
    job |= {"job_runtime": 3 * job["read"]["runtime"], "iodepth_level": depths}
    return json.dumps(told)


@pytest.mark.parametrize(
    ("depths", "flight", "depth"),
    [
        ({"1": 0.1, "16": 99.9, "32": 0.0}, 47.9, 16),
        ({"1": 33.3, "16": 66.6, "32": 0.0}, 33, None),  # one of them had less
        ({"1": 0.1, "16": 66.6, "32": 33.3}, 64, None),  # one of them had more
    ],
)
def test_a_depth_is_of_all_sections_where_the_figures_show_it(
    make: Any, tmp_path: Path, depths: dict[str, float], flight: float, depth: int | None
) -> None:
    path = taken(tmp_path, {"three.json": three_sections(make, depths, flight)})

    (figure,) = [f for s in build.build(load([path])).sections for b in s.blocks for f in b.figures]
    table = (*figure.tables, *figure.numbers)[0]
    assert str(table.rows[0][table.columns.index("iodepth")]) == (str(depth) if depth else "–")
    put_together = (
        "Where no iodepth stands, fio put several jobs together and tells the options of one of them"
    )
    assert (put_together in figure.sub) == (depth is None)


def test_a_number_of_jobs_that_some_texts_tell_is_told(make: Any, tmp_path: Path) -> None:
    """ "Number of jobs not said", of all, because one text does not say it."""
    three = three_sections(make, {"1": 0.1, "16": 99.9, "32": 0.0}, 47.9)
    one = make.fio_text({"read": (1e4, 100.0)}, bs="4k", rw="randread", iodepth=1)
    path = taken(tmp_path, {"three.json": three, "one.json": one})

    figure, *_ = [f for s in build.build(load([path])).sections for b in s.blocks for f in b.figures]

    assert ", 1 job where it is said." in figure.sub


def test_a_figure_of_fio_names_the_programs_that_it_is_drawn_from(make: Any, tmp_path: Path) -> None:
    """Texts of two versions: all are in the tables; the one without a depth is in no picture, and one alone has bins."""
    binned = (FIXTURES / "fio" / "jsonplus_randrw.out").read_text()
    told = json.loads(make.fio_text({"read": (1e4, 100.0)}, bs="4k", rw="randread", iodepth=1))
    old = (FIXTURES / "fio" / "terse_v3.out").read_text().replace("fio-3.33", "fio-3.19")
    path = taken(
        tmp_path, {"a.json": binned, "b.json": json.dumps(told | {"fio version": "fio-3.7"}), "c.txt": old}
    )

    figures = [f for s in build.build(load([path])).sections for b in s.blocks for f in b.figures]
    assert (
        "Where no iodepth stands, the text does not say it: those rows are in the numbers only."
        in figures[0].sub
    )
    first, tails = ({v for v in ("3.33", "3.19", "3.7") if f"fio {v}" in f.sub} for f in figures)

    assert first == {"3.33", "3.7"}
    assert tails == {"3.33"}


def test_a_table_of_a_mix_with_one_column_of_iops_is_drawn(tmp_path: Path) -> None:
    """Nothing tells how many were reads: they are I/Os, in IOPS, and stand in a figure; none was drawn of them."""
    (tmp_path / "mix.txt").write_text(
        "randrw 4k 1 10000 100\nrandrw 4k 4 20000 190\nrandread 4k 4 30000 130\n"
    )
    columns = ["--tool", "fio", "--columns", "rw, bs, iodepth, iops, lat[us]", "-o", str(tmp_path / "r.db")]
    done = CliRunner().invoke(cli, ["parse", "table", str(tmp_path / "mix.txt"), *columns])
    assert done.exit_code == 0, done.output

    built = build.build(load([tmp_path / "r.db"]))
    (figure,) = [f for s in built.sections for b in s.blocks for f in b.figures]
    assert {key.name for key in figure.key} == {"randread", "randrw"}
    assert "mixed 20 kIOPS, mean lat 190 µs" in show.show_result(tmp_path / "r.db")
    assert "within a limit" not in figure.tables[0].caption  # no p99 is told


def test_iops_are_said_in_iops_where_no_direction_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("1 10000\n4 20000\n")
    columns = ["--tool", "fio", "--columns", "iodepth, iops"]
    asked = ["parse", "table", str(tmp_path / "t.txt"), *columns]
    printed = CliRunner().invoke(cli, asked).stdout
    assert CliRunner().invoke(cli, [*asked, "-o", str(tmp_path / "r.db")]).exit_code == 0

    assert "20 kIOPS" in printed
    assert "iops 20 kIOPS" in show.show_result(tmp_path / "r.db")


def test_the_parts_of_a_text_are_one_text(make: Any, tmp_path: Path) -> None:
    suite = "This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012\n" + "".join(
        f"{part}STREAM_{kernel}={rate}\n"
        for part, rate in (("Star", 20.5), ("Single", 24.7))
        for kernel in ("Copy", "Scale", "Add", "Triad")
    )
    alone = build.build(load([taken(tmp_path, {"hpccoutf.txt": suite})]))
    (tmp_path / "r.db").unlink()
    both = build.build(load([taken(tmp_path, {"hpccoutf.txt": suite, "old.out": make.stream_text(9e4, 20)})]))

    assert " Of " not in figures(alone)[0].sub
    assert figures(both)[0].sub.endswith(" Of 2 texts.")


def test_the_highest_peak_is_that_of_all_texts_with_one(make: Any, tmp_path: Path) -> None:
    """The load of one text is too weak to double the latency: its peak has another name, and is lower."""
    strong = [(0, 250.0, 243e3), (50, 226.0, 240e3), (500, 95.0, 55e3), (9000, 81.0, 3.9e3), (20000, 80.0, 2e3)]  # fmt: skip
    weak = [(0, 140.0, 28.4e3), (50, 130.0, 28e3), (500, 99.0, 9e3), (9000, 94.5, 1e3), (20000, 94.0, 0.5e3)]
    path = taken(tmp_path, {"a.out": make.mlc_text(strong), "b.out": make.mlc_text(weak)})
    built = build.build(load([path]))

    (number,) = [n for n in built.key_numbers if n.unit == "GB/s"]
    rows = [row for f in figures(built) for t in f.tables if "Peak, GB/s" in t.columns for row in t.rows]
    assert len(rows) == 2
    assert (number.name, number.value) == ("Memory, peak", "243")
    assert "highest of several texts" in number.context


def test_what_a_user_calls_a_place_is_no_relation_of_ours(make: Any, tmp_path: Path) -> None:
    for name in ("inter", "intra"):
        (tmp_path / f"{name}.out").write_text(make.imb_text({0: 0.5, 8: 0.5, 2**20: 99.0}))
    texts = [str(tmp_path / f"{name}.out") for name in ("inter", "intra")]
    path = tmp_path / "p.db"
    done = CliRunner().invoke(cli, ["parse", *texts, "--axis", "place=(inter|intra)", "-o", str(path)])
    assert done.exit_code == 0, done.output

    lines = openmetrics.text(load([path]))

    assert 'place="inter"' in lines
    assert "relation=" not in lines


def test_an_option_without_a_value_is_not_common_to_texts_that_lack_it(make: Any, tmp_path: Path) -> None:
    """norandommap has no value in fio's JSON, and one of the texts has it. The table is too wide for all columns."""
    texts = {}
    for name, more in (("a.out", {}), ("b.out", {"norandommap": ""})):
        told = json.loads(make.fio_text({"read": (48e3, 20.0)}, bs="4k", rw="randread", iodepth=1))
        told["jobs"][0]["job options"] |= {
            "random_distribution": f"zipf:1.2345678901234567{len(more)}",
            **more,
        }
        texts[name] = json.dumps(told)

    said = show.show_result(taken(tmp_path, texts))

    assert "norandommap=" not in said
    assert re.search(r"random_distribution +norandommap\n", said)
    rows = [line for line in said.splitlines() if "zipf" in line]
    assert [" set " in line for line in rows] == [False, True]


def test_show_has_the_jobs_that_the_page_has(make: Any, tmp_path: Path) -> None:
    """Two texts tell how many processes ran, and no option of a cell does."""
    texts = {}
    for name, jobs in (("a.out", 1), ("b.out", 4)):
        told = json.loads(make.fio_text({"read": (48e3, 20.0)}, bs="4k", rw="randread", iodepth=1))
        told["jobs"] = [{**told["jobs"][0], "jobname": f"j{n}"} for n in range(jobs)]
        texts[name] = json.dumps(told)
    path = taken(tmp_path, texts)
    said = show.show_result(path)

    (table, *_) = [
        t for f in figures(build.build(load([path]))) for t in (*f.tables, *f.numbers) if "Jobs" in t.columns
    ]
    assert [row[table.columns.index("Jobs")] for row in table.rows] == ["1", "4"]
    head = next(line for line in said.splitlines() if re.search(r" jobs( |$)", line))
    at = head.index(" jobs") + 1
    rows = [line for line in said.splitlines() if " kIOPS" in line]
    assert [line[at : at + 4].split()[0] for line in rows] == ["1", "4"]


ALLREDUCE = (
    "# Benchmarking Allreduce\n# #processes = 2\n#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    "0 1000 0.02 0.03 0.03\n8 1000 0.41 0.40 0.42\n64 1000 1.05 1.10 1.08\n"
)


def test_tables_have_no_more_decimals_than_their_programs_printed(make: Any, tmp_path: Path) -> None:
    """0.03 µs stood as "30.0 ns" and "0.0300 µs", 2 IOPS as "2.000", 0.63 ms as "630.0 µs"."""
    metrics = {"lat": {"regex": r"lat (\S+)", "unit": "ms", "better": "lower"}}
    maker = make.Maker(tmp_path / "r.db")
    maker.add("mpi", "imb", {}, ALLREDUCE)
    maker.add("own", "command", {"command": "x", "metrics": metrics}, "lat 0.63\n")
    fio = make.fio_text({"read": (226.0, 4300.0)}, bs="4k", rw="randread", iodepth=1)
    maker.add("disk", "fio", {"rw": "randread", "bs": "4k"}, fio)
    path = maker.write()

    figures = [f for s in build.build(load([path])).sections for b in s.blocks for f in b.figures]
    rows = {f.of: [row for t in (*f.tables, *f.numbers) for row in t.rows] for f in figures}
    assert [row[1] for row in rows["mpi"]] == ["30", "400", "1\u202f100"]
    assert "630" in rows["own"][0]
    assert "226" in rows["disk"][0]
    assert "630 µs" in CliRunner().invoke(cli, ["show", str(path)]).output


def test_an_idle_latency_in_order_is_not_counted_among_those_at_random(make: Any, tmp_path: Path) -> None:
    """ "lowest of several texts" counted a text of random access, which a check beside it calls not comparable."""
    head = "Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: --idle_latency {}\n\nUsing buffer size of 1800.000MiB\n{}"
    row = "Each iteration took {} base frequency clocks (\t{}\tns)\n"
    path = taken(
        tmp_path,
        {
            "a.out": head.format("", "") + row.format(200.1, 81.2),
            "b.out": head.format("-r", "*** Unable to modify prefetchers (try executing 'modprobe msr')\n*** So, enabling random access for latency measurements\n") + row.format(300.1, 117.0),
        },
    )  # fmt: skip

    (idle,) = [n for n in build.build(load([path])).key_numbers if "latency" in n.name or "idle" in n.name]

    assert idle.value == "81.2"
    assert "lowest of" not in idle.context
