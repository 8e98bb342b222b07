"""Command lines of every tool on imagined machines; and what each refuses."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.synthetic import topology_from_synthetic
from orchestrator.model import Cell, Place, Write
from orchestrator.placement.place import resolve
from orchestrator.tools import Command, Program, Refused, Site, get_tool, tool_names
from orchestrator.tools.mlc import MODES
from parsers import parser_names
from parsers.errors import UserError
from parsers.units import number_value

MEMLAT = Path(__file__).parents[2] / "kernels" / "memlat.c"
ULYSSES = topology_from_synthetic("pack:2 numa:1 core:10 pu:1")


SITE = Site(topology=ULYSSES, numactl="numactl", scratch="/scratch", memory_bytes=64 << 30)


def own(tool: str) -> Program:
    return Program(name=tool, path=f"/opt/{tool}", version="1", stand_in=tool in ("mlc", "stream"))


def build(
    tool: str,
    options: dict[str, Any],
    place: Place | None = None,
    program: Program | None = None,
    **changes: Any,
) -> Command:
    module = get_tool(tool)
    assert module.problems(options) == []
    assert [
        name
        for name, value in options.items()
        if name in module.options() and module.options()[name].problem(value) and not isinstance(value, tuple)
    ] == []
    wanted = place or module.default_place(options)
    threads, processes = module.shape(options)
    placement = resolve(wanted, ULYSSES, threads=threads, processes=processes)[0] if wanted else None
    cell = Cell(sweep="s", tool=tool, options=options, place=place)
    return module.command(cell, placement, dataclasses.replace(SITE, **changes), program or own(tool))


def test_every_tool_has_a_parser_of_its_name_and_help_for_each_option() -> None:
    for name in tool_names():
        module = get_tool(name)
        assert name in parser_names()
        assert all(option.help for option in module.options().values())


LOCAL = Place(name="local", cpus="numa_node 1", memory="local")
REMOTE = Place(name="remote", cpus="numa_node 0", memory="numa_node 1")
ONE = Place(name="one", cpus="core 0", memory="local")
STREAM = Program(name="stream_c.exe", path="/opt/stream_c.exe")
MLC = Program(name="mlc", path="/opt/mlc", version="3.11")
OPEN_MPI = Program(
    name="IMB-MPI1",
    path="/opt/IMB-MPI1",
    helpers={"mpirun": "/usr/bin/mpirun"},
    notes={"mpi": "Open MPI 4.1.4"},
)
FIO = Program(name="fio", path="fio", version="3.33", notes={"cmdhelp": "rw bs size runtime"})
DEVICE = {"path_kind": lambda _: "block", "real_path": lambda _: "/dev/nvme9n1"}
METRICS = {"reply": {"regex": "([0-9]+)"}}
USUAL = {"array_size": "auto", "stores": "auto", "pages": "default", "precision": "double", "ntimes": 3}
LOADED = {"mode": "loaded_latency"}

WORDS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [  # tool, options, of the machine, words in their order
    # `OMP_NUM_THREADS=3 numactl --cpunodebind 0 --membind 1 ./stream_omp.x`, made exact
    ("stream", {"threads": 3}, {"place": REMOTE}, "numactl --physcpubind=0-2 --membind=1 -- /opt/stream"),
    ("stream", {"threads": 1}, {"memory_bytes": 48 << 20}, "--array-size=1048576"),
    ("stream", {"threads": 2}, {"program": STREAM}, "/opt/stream_c.exe"),
    ("stream", USUAL, {"program": STREAM}, "/opt/stream_c.exe"),
    ("mlc", {**LOADED, "W": "9", "l": 256, "delays": (0, 100)}, {"place": LOCAL}, "numactl --physcpubind=10-19 --membind=1 --"),
    ("mlc", {**LOADED, "W": "9", "l": 256, "d": 5}, {"place": LOCAL}, "--loaded_latency -c10 -k11-19 -j1 -d5 -W9 -l256"),
    ("mlc", {**LOADED, "W": "R"}, {"place": LOCAL}, "-R"),
    ("mlc", {**LOADED, "W": "19"}, {"place": LOCAL, "program": MLC}, "-W19"),
    ("mlc", {"mode": "latency_matrix"}, {}, "/opt/mlc --latency_matrix"),  # not narrowed
    # `mpirun -np 2 hwloc-bind core:0 core:7` bound both ranks to both cores
    ("imb", {"benchmark": "PingPong"}, {"place": Place(name="p", cpus="other package")},
     "-np 1 numactl --physcpubind=0 --membind=0 -- : -np 1 numactl --physcpubind=10 --membind=1 --"),
    ("imb", {}, {"place": Place(name="p", cpus="same package"), "program": OPEN_MPI, "root": True},
     "/usr/bin/mpirun --host localhost:2 --bind-to none --allow-run-as-root"),
    ("fio", {"rw": "randread", "size": "1M", "runtime": 5}, {}, "--output-format=json+ --filename=fio-1048576.dat"),
    ("fio", {"rw": "randread", "size": "1M", "runtime": 5}, {}, "--time_based=1 --direct=1 --group_reporting=1"),
    ("fio", {"rw": "randread", "filename": "/dev/nvme9n1"}, {"path_kind": lambda _: "block"}, "--readonly"),
    ("fio", {"rw": "read", "offset_increment": "1G", "filename": "/dev/nvme9n1"}, DEVICE, "--offset_increment=1G"),
    ("fio", {"rw": "read", "iomem_align": 4096, "hipri": True}, {"program": FIO}, "--iomem_align=4096 --hipri=1"),
    ("fio", {"rw": "read", "numjobs": 4}, {"place": LOCAL}, "--cpus_allowed_policy=split"),
    ("fio", {"rw": "randwrite", "verify": "crc32c"}, {}, "--verify_state_save=0 --verify_dump=0"),
    ("fio", {"rw": "randwrite", "filename": "/dev/disk/by-id/mine"}, {**DEVICE, "allow_write": {"/dev/nvme9n1": {}}},
     "--filename=/dev/nvme9n1"),  # a link is followed once and for all
    ("poke", {"target": "memory", "bytes": 0, "op": "write"}, {}, "--target=null"),
    ("poke", {"target": "file", "bytes": "1kB"}, {}, "--block=1"),
    ("poke", {"target": "file", "bytes": "1MB"}, {}, "--block=4096"),
    ("command", {"command": "echo {text} x{n}y", "text": "a;$(c)", "n": 3, "metrics": METRICS}, {}, "echo a;$(c) x3y"),
    ("command", {"command": "true", "threads": 2, "metrics": METRICS}, {"place": LOCAL},
     "numactl --physcpubind=10-11 --membind=1 -- true"),
    ("command", {"command": "{which} 1", "which": "echo", "metrics": METRICS}, {"find": lambda _, path=None: "/bin/echo"}, "echo 1"),
    ("command", {"command": "nosuch", "metrics": METRICS, "env": {"PATH": "/opt"}}, {"find": lambda _, path=None: ""}, "nosuch"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "options", "site", "words"), WORDS)
def test_command_lines(tool: str, options: dict[str, Any], site: dict[str, Any], words: str) -> None:
    argv = iter(build(tool, options, **site).argv)

    assert all(word in argv for word in words.split())  # each behind the one before


REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("stream", {"array_size": "40G"}, {}, "three arrays of"),
    ("stream", {"array_size": "64M"}, {"program": STREAM}, "array_size compiled in"),
    *(("stream", {**USUAL, name: value}, {"program": STREAM}, f"has {name} compiled in")
      for name, value in (("stores", "nt"), ("pages", "thp"), ("precision", "float"))),
    *(("mlc", {**LOADED, "W": traffic}, {"place": LOCAL}, "needs Intel MLC") for traffic in ("19", "21", "23", "27")),
    ("mlc", LOADED, {"place": ONE}, "needs a CPU for the load"),
    ("fio", {"rw": "read", "filename": "/home/me/typo"}, {}, "does not exist"),
    ("fio", {"rw": "read", "iodepth": 4}, {"program": FIO}, r"fio 3\.33 here does not know iodepth"),
    ("fio", {"rw": "randrw", "filename": "/home/me/thesis"},
     {"path_kind": lambda _: "file", "allow_write": {"/home/me/thesis": {}}}, "did not make"),
    *(("fio", {"rw": "read", "filename": name}, {"path_kind": lambda _: "file"}, re.escape(f"has {sign!r} in it"))
      for name, sign in (("/data/vic;x", ";"), ("/data/run#3", "#"), ("/data/new\nline", "\n"), ("/data/trailing ", " "),
                         ("/data/$HOME", "$"), ("/data/x;", ";"), ("{scratch}/x", "{"))),
    ("poke", {"target": "memory", "bytes": "100G"}, {}, r"of 100 GiB needs more than 70 % of the [\d.]+ [GM]iB available"),
    ("command", {"command": "nosuch 1", "metrics": METRICS}, {"find": lambda _, path=None: ""}, "nosuch: no program of that name"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "options", "site", "why"), REFUSED)
def test_what_this_machine_or_user_cannot_run(
    tool: str, options: dict[str, Any], site: dict[str, Any], why: str
) -> None:
    with pytest.raises((Refused, UserError), match=why):
        build(tool, options, **site)


@pytest.mark.parametrize(
    ("tool", "options", "wrong"),
    [
        *(("mlc", {"mode": "idle_latency", "b": value}, "b") for value in ("100m/200m", "1_000", "٤", "-5")),
        ("mlc", {"mode": "idle_latency", "delays": (0,)}, "delays"),
        *(("imb", {name: value}, name) for name, value in (("msglog", 1320), ("msglog", "a:b"), ("iter", "many"), ("off_cache", "all"))),
        ("fio", {"offset_increment": "1G"}, "offset_increment"),
        ("poke", {"target": "memory", "bytes": 1, "direct": True}, "direct"),
        *(("command", {"metrics": METRICS, "command": text, "n": 1}, "command") for text in ("echo {nope}", "echo 'open", "", "echo {n!r}")),
        ("command", {"metrics": METRICS, "command": "true", "env": {"A B": "x"}}, "env.A B"),
    ],
)  # fmt: skip
def test_mistakes_are_named(tool: str, options: dict[str, Any], wrong: str) -> None:
    assert wrong in [name for name, *_ in get_tool(tool).problems(options)]


@pytest.mark.parametrize(
    ("tool", "options", "unit_bytes"),
    [
        ("fio", {"rw": "randread", "size": "1M"}, 0),
        ("fio", {"rw": "randrw", "bs": "1M", "size": "1M"}, 1 << 20),
        ("fio", {"rw": "write", "bssplit": "4k/50:8k/50", "size": "1M"}, 4096),
        ("poke", {"target": "file", "op": "read", "bytes": "1MiB"}, 0),
        ("poke", {"target": "file", "op": "write", "bytes": "1MiB", "block": 512}, 512),
        ("poke", {"target": "files", "files": 4, "file_size": "1MiB"}, 1 << 20),
    ],
)
def test_what_is_written_at_once(tool: str, options: dict[str, Any], unit_bytes: int) -> None:
    assert [write.unit_bytes for write in build(tool, options).writes] == [unit_bytes]


# --- stream ---


@pytest.mark.parametrize(
    ("memory", "elements"),
    [
        ("numa_node 0", 10_000_000),
        ("numa_node 1", 1 << 20),  # 64 MiB are free there: half of it for three arrays, a power of two
        ("interleave", 1 << 21),  # twice as much: pages are taken from both in turns
        ("any", 10_000_000),
    ],
)
def test_the_memory_that_counts_is_that_of_the_bound_nodes(memory: str, elements: int) -> None:
    """Beyond it the kernel kills the run: MPOL_BIND takes from no other node."""
    place = Place(name="p", cpus="numa_node 0", memory=memory)

    assert (
        f"--array-size={elements}"
        in build("stream", {"threads": 1}, place, node_memory={0: 60 << 30, 1: 64 << 20}).argv
    )


def test_each_thread_of_stream_has_a_pu() -> None:
    env = build("stream", {"threads": 3}, REMOTE).env

    assert env == {
        "OMP_NUM_THREADS": "3",
        "OMP_PLACES": "{0},{1},{2}",
        "OMP_PROC_BIND": "true",
        "OMP_DYNAMIC": "false",
    }


def test_passes_cannot_be_swept_with_a_foreign_binary() -> None:
    """The command lines of ntimes 10 and 50 are equal: a chart would show noise as an effect."""
    cell = Cell(sweep="s", tool="stream", options={"ntimes": 50}, axes=("ntimes",))

    with pytest.raises(Refused, match="has ntimes compiled in"):
        get_tool("stream").command(cell, None, SITE, STREAM)
    assert "--ntimes=50" in get_tool("stream").command(cell, None, SITE, own("stream")).argv


# --- mlc, imb ---


@pytest.mark.parametrize("mode", MODES)
def test_a_place_gives_no_option_that_memlat_refuses(mode: str) -> None:
    known = re.search(rf'{{"{mode}", [A-Z0-9_]+, "(\w+)"}}', MEMLAT.read_text())
    assert known is not None

    argv = build("mlc", {"mode": mode}, LOCAL).argv

    assert argv[:2] == ("numactl", "--physcpubind=10-19")
    assert {word[1] for word in argv if re.match("-[a-zA-Z]", word)} <= set(known[1])


def test_delays_and_message_sizes_are_handed_over_in_a_file() -> None:
    mlc = build("mlc", {**LOADED, "delays": (0, 100)}, LOCAL)
    imb = build("imb", {"message_sizes": (0, 1, "4k", "1MB")}, Place(name="p", cpus="same package"))

    assert [file.text for file in (*mlc.scratch, *imb.scratch)] == ["0\n100\n", "0\n1\n4096\n1000000\n"]
    assert f"-g{mlc.scratch[0].path}" in mlc.argv
    assert imb.env["I_MPI_PIN"] == "off"


# --- fio ---


@pytest.mark.parametrize(
    "rw",
    ["write", "randwrite", "rw", "randrw", "readwrite", "trim", "randtrim", "trimwrite", "randtrimwrite"],
)
def test_every_mode_that_writes_needs_the_word_for_a_device(rw: str) -> None:
    """bench-fio forgot randrw: it overwrote a file."""
    options = {"rw": rw, "filename": "/dev/disk/by-id/mine"}

    for allowed in ({}, {"/dev/nvme8n1": {}}):
        with pytest.raises(UserError, match="nothing allows it"):
            build("fio", options, allow_write=allowed, **DEVICE)
    command = build("fio", options, allow_write={"/dev/nvme9n1": {"serial": "A"}}, **DEVICE)
    assert command.writes == (Write(path="/dev/nvme9n1", kind="device", identity={"serial": "A"}),)


def test_the_scratch_file_is_planned_as_a_write_and_a_device_that_is_read_is_not() -> None:
    (write,) = build("fio", {"rw": "randread", "size": "1M"}).writes

    assert (write.path, write.kind, write.size_bytes) == ("/scratch/fio-1048576.dat", "scratch", 1 << 20)
    assert build("fio", {"rw": "read", "filename": "/dev/nvme9n1"}, path_kind=lambda _: "block").writes == ()


def test_one_size_is_one_scratch_file_however_it_is_written() -> None:
    commands = [build("fio", {"rw": "read", **size}) for size in ({}, {"size": "256m"}, {"size": 268435456})]

    assert len({write.path for command in commands for write in command.writes}) == 1


@pytest.mark.parametrize("folder", ["/mnt/a:b", "/mnt/vic;backup", "/mnt/run#3", "/mnt/new\nline"])
def test_no_path_of_the_scratch_folder_is_read_by_fio(folder: str) -> None:
    """fio cuts an option's value at ; and #: `run#3/fio.dat` would write to `run`."""
    command = build("fio", {"rw": "randwrite"}, scratch=folder)

    assert command.cwd == folder
    assert not [word for word in command.argv if folder in word]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exec_prerun", "rm -rf /"), ("directory", "/"), ("unlink", 1), ("write_bw_log", "x"), ("opendir", "/"),
        ("ioengine", "external:evil.so"), ("ioengine", "filedelete"), ("bs", "4k; rm"), ("iodepth", "deep"),
        ("runtime", "soon"), ("size", "$(reboot)"), ("verify_pattern", "`reboot`"), ("rwmixread", 70),
        ("mem", "mmapshared:/dev/sda"), ("iomem", "mmapshared:/dev/sda"), ("fill_device", True), ("fill_fs", True),
        ("offset", "500M"), ("cgroup", "x"), ("cgroup_nodelete", True), ("verify_dump", True), ("nrfiles", 4),
        ("filesize", "1G"), ("size", "50%"), ("buffer_pattern", "1;2"), ("ioengine", "nosuchengine"),
    ],
)  # fmt: skip
def test_what_it_will_not_pass_on(name: str, value: Any) -> None:
    options = {name: value, **({"rw": "randwrite"} if name == "rwmixread" else {})}

    module = get_tool("fio")
    option = module.options().get(name)
    assert name in [found for found, *_ in module.problems(options)] or (option and option.problem(value))


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        # fio takes the number before the sign, and says nothing
        *((f"{name}={value}", True) for name in ("iodepth", "rate_iops", "number_ios", "size", "bs", "force_async", "runtime", "thinktime", "offset")
          for value in ("1/4/8", "1-8", "4k:32k", "4k/32k", "1.5", "٤", "1_000", "1e3", "nan", "9" * 400)),
        ("rwmixread=70%", True), ("bs=4k,8k", False), ("bs=4k,,16k", False), ("bs=4k,8k,1k,1k", True),
        ("bsrange=1k-4k", False), ("bsrange=1k:4k,2k-8k", False), ("bssplit=4k/90:64k/10", False), ("io_size=25%", False),
        ("nice=-5", False), ("nice=-30", True), ("thinktime=10ms", False), ("percentile_list=50:99.9", False),
        # fio's kB is 1024 bytes and its KiB 1000
        *((f"{name}={value}", True) for name in ("size", "bs", "rate", "bssplit") for value in ("64MB", "4kiB", "4KB", "1MiB", "4kB/50")),
        ("bs=4096B", False), ("size=1G", False), ("bs=32", True), ("bs=520", True),
        # modifiers of rw
        ("rw=read:8k", False), ("rw=read:-8k", False), ("rw=randread:8", False), ("rw=randread:8k", True), ("rw=read:", True), ("rw=reed:8k", True),
        # too long
        ("runtime=1000000d", True), ("runtime=30d", False), ("startdelay=5-10", False), ("startdelay=5-", True), ("ramp_time=300000000000", True),
        *((f"{option}=1", False) for option in (
            "iomem_align", "mem_align", "hugepage-size", "lockfile", "log_offset", "exitall", "thp", "hipri", "cmdprio_percentage", "unit_base")),
        ("mem=mmaphuge", False), ("mem=mmaphuge:/x", True),
    ],
)  # fmt: skip
def test_what_it_reads_as_it_is_written(options: str, refused: bool) -> None:
    name, _, text = options.partition("=")
    module = get_tool("fio")
    filename = {"filename": "/dev/x"} if name in ("offset", "rate") else {}

    option = module.options()[name]
    value = number_value(text)
    found = [what for found, what, *_ in module.problems({name: value, **filename}) if found == name]
    assert bool(found or option.problem(value)) == refused


@pytest.mark.parametrize(
    ("name", "reason"),
    [("stonewall", "one job"), ("nrfiles", "one file"), ("log_unix_epoch", "log times"), ("clustername", "ioengine=rados"), ("exec_prerun", "shell")],
)  # fmt: skip
def test_an_option_is_refused_for_its_own_reason(name: str, reason: str) -> None:
    assert name not in get_tool("fio").options()
    assert reason in get_tool("fio").problems({name: 1})[0][1]


# --- poke, command ---


def test_direct_reads_are_estimated_of_an_ssd_and_end_in_time_on_a_disk() -> None:
    """15 000 of them took 2.5 s, where the plan said a minute."""
    reads = build("poke", {"target": "file", "bytes": "1MB", "direct": True, "count": 15_000})

    assert 2 < reads.estimate_s < 5
    assert reads.at_most_s > 150


def test_a_script_that_it_runs_is_recorded_beside_its_program() -> None:
    """One that was edited from one day to the next was nothing that had changed."""
    command = build(
        "command", {"command": "python3 bench.py data.bin out.sh", "metrics": METRICS}, find=lambda name, path=None: f"/usr/bin/{name}",
        real_path=lambda path: f"/home/me/{path}", path_kind=lambda path: "missing" if path == "out.sh" else "file",
    )  # fmt: skip

    assert command.files == {"python3": "/usr/bin/python3", "bench.py": "/home/me/bench.py"}
