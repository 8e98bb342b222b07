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


class TestStream:
    def test_seed_003_local_and_remote(self) -> None:
        """`OMP_NUM_THREADS=3 numactl --cpunodebind 0 --membind 1 ./stream_omp.x`, made exact."""
        place = Place(name="remote", cpus="numa_node 0", memory="numa_node 1")

        command = build("stream", {"threads": 3}, place)

        assert command.argv[:5] == ("numactl", "--physcpubind=0-2", "--membind=1", "--", "/opt/stream")
        assert command.env["OMP_NUM_THREADS"] == "3"
        assert command.env["OMP_PLACES"] == "{0},{1},{2}"
        assert command.env["OMP_PROC_BIND"] == "true"

    def test_auto_array_takes_what_memory_allows_and_says_so(self) -> None:
        small = build("stream", {"threads": 1}, memory_bytes=48 << 20)

        assert "--array-size=1048576" in small.argv
        assert any("memory does not allow" in note for note in small.notes)

    @pytest.mark.parametrize(
        ("memory", "elements"),
        [
            ("numa_node 0", 10_000_000),
            ("numa_node 1", 1 << 20),  # 64 MiB are free there: half of it for three arrays, a power of two
            ("interleave", 1 << 21),  # twice as much: pages are taken from both in turns
            ("any", 10_000_000),
        ],
    )
    def test_the_memory_that_counts_is_that_of_the_bound_nodes(self, memory: str, elements: int) -> None:
        """Beyond it the kernel kills the run: MPOL_BIND takes from no other node."""
        free = {0: 60 << 30, 1: 64 << 20}

        command = build(
            "stream", {"threads": 1}, Place(name="p", cpus="numa_node 0", memory=memory), node_memory=free
        )

        assert f"--array-size={elements}" in command.argv

    def test_a_size_that_does_not_fit_is_refused(self) -> None:
        with pytest.raises(Refused, match="three arrays of"):
            build("stream", {"array_size": "40G"})

    def test_options_of_our_kernel_are_refused_for_a_foreign_binary(self) -> None:
        foreign = Program(name="stream_c.exe", path="/opt/stream_c.exe")

        with pytest.raises(Refused, match="array_size compiled in"):
            build("stream", {"array_size": "64M"}, program=foreign)
        assert build("stream", {"threads": 2}, program=foreign).argv[-1] == "/opt/stream_c.exe"

    def test_what_a_foreign_binary_does_anyway_is_not_refused(self) -> None:
        foreign = Program(name="stream_c.exe", path="/opt/stream_c.exe")
        usual = {
            "array_size": "auto",
            "stores": "auto",
            "pages": "default",
            "precision": "double",
            "ntimes": 3,
        }

        command = build("stream", usual, program=foreign)

        assert command.argv[-1] == "/opt/stream_c.exe"
        assert any("passes are what the binary was compiled with" in note for note in command.notes)
        for name, value in (("stores", "nt"), ("pages", "thp"), ("precision", "float")):
            with pytest.raises(Refused, match=f"has {name} compiled in"):
                build("stream", {**usual, name: value}, program=foreign)

    def test_passes_cannot_be_swept_with_a_foreign_binary(self) -> None:
        """The command lines of ntimes 10 and 50 are equal: a chart would show noise as an effect."""
        foreign = Program(name="stream_c.exe", path="/opt/stream_c.exe")
        cell = Cell(sweep="s", tool="stream", options={"ntimes": 50}, axes=("ntimes",))
        (placement,) = resolve(
            Place(name="all", cpus="all", memory="any"), ULYSSES, threads=None, processes=1
        )

        with pytest.raises(Refused, match="has ntimes compiled in"):
            get_tool("stream").command(cell, placement, SITE, foreign)
        assert "--ntimes=50" in get_tool("stream").command(cell, placement, SITE, own("stream")).argv


class TestMlc:
    PLACE = Place(name="local", cpus="numa_node 1", memory="local")

    def test_threads_and_memory_are_told_to_mlc_itself(self) -> None:
        command = build("mlc", {"mode": "loaded_latency", "W": "9", "l": 256, "delays": (0, 100)}, self.PLACE)

        assert command.argv[:4] == ("numactl", "--physcpubind=10-19", "--membind=1", "--")
        assert {"--loaded_latency", "-c10", "-k11-19", "-j1", "-W9", "-l256"} <= set(command.argv)
        assert command.scratch[0].text == "0\n100\n"
        assert f"-g{command.scratch[0].path}" in command.argv

    @pytest.mark.parametrize("mode", MODES)
    def test_a_place_gives_no_option_that_memlat_refuses(self, mode: str) -> None:
        known = re.search(rf'{{"{mode}", [A-Z0-9_]+, "(\w+)"}}', MEMLAT.read_text())
        assert known is not None

        argv = build("mlc", {"mode": mode}, self.PLACE).argv

        assert argv[:2] == ("numactl", "--physcpubind=10-19")
        assert {word[1] for word in argv if re.match("-[a-zA-Z]", word)} <= set(known[1])

    def test_read_only_is_r(self) -> None:
        assert "-R" in build("mlc", {"mode": "loaded_latency", "W": "R"}, self.PLACE).argv

    @pytest.mark.parametrize("traffic", ["19", "21", "23", "27"])
    def test_traffic_that_memlat_lacks_needs_mlc(self, traffic: str) -> None:
        mlc = Program(name="mlc", path="/opt/mlc", version="3.11")
        options = {"mode": "loaded_latency", "W": traffic}

        assert f"-W{traffic}" in build("mlc", options, self.PLACE, mlc).argv
        with pytest.raises(Refused, match="needs Intel MLC"):
            build("mlc", options, self.PLACE)

    @pytest.mark.parametrize("value", ["100m/200m", "1_000", "٤", "-5"])
    def test_a_buffer_is_one_number(self, value: str) -> None:
        assert get_tool("mlc").problems({"mode": "idle_latency", "b": value})[0][0] == "b"

    def test_a_matrix_is_not_narrowed(self) -> None:
        assert build("mlc", {"mode": "latency_matrix"}).argv == ("/opt/mlc", "--latency_matrix")

    def test_a_loaded_latency_without_load_is_refused(self) -> None:
        with pytest.raises(Refused, match="needs a CPU for the load"):
            build("mlc", {"mode": "loaded_latency"}, Place(name="one", cpus="core 0", memory="local"))

    def test_delays_belong_to_loaded_latency(self) -> None:
        assert get_tool("mlc").problems({"mode": "idle_latency", "delays": (0,)})[0][0] == "delays"


class TestImb:
    def test_seed_003_one_numactl_per_rank(self) -> None:
        """`mpirun -np 2 hwloc-bind core:0 core:7` bound both ranks to both cores."""
        command = build("imb", {"benchmark": "PingPong"}, Place(name="other package", cpus="other package"))
        argv = list(command.argv)
        ranks = " ".join(argv).split(" : ")

        assert len(ranks) == 2
        assert "-np 1 numactl --physcpubind=0 --membind=0 --" in ranks[0]
        assert "-np 1 numactl --physcpubind=10 --membind=1 --" in ranks[1]
        assert command.env["I_MPI_PIN"] == "off"

    def test_message_sizes_are_handed_over_in_bytes(self) -> None:
        command = build("imb", {"message_sizes": (0, 1, "4k", "1MB")}, Place(name="p", cpus="same package"))

        assert [file.text for file in command.scratch] == ["0\n1\n4096\n1000000\n"]

    def test_open_mpi_is_kept_from_binding(self) -> None:
        mine = Program(
            name="IMB-MPI1",
            path="/opt/IMB-MPI1",
            helpers={"mpirun": "/usr/bin/mpirun"},
            notes={"mpi": "Open MPI 4.1.4"},
        )

        argv = build("imb", {}, Place(name="same package", cpus="same package"), program=mine, root=True).argv

        assert argv[:6] == (
            "/usr/bin/mpirun",
            *("--host", "localhost:2", "--bind-to", "none", "--allow-run-as-root"),
        )

    @pytest.mark.parametrize(
        ("option", "value"), [("msglog", 22 * 60), ("msglog", "a:b"), ("iter", "many"), ("off_cache", "all")]
    )
    def test_bad_values_are_named(self, option: str, value: Any) -> None:
        assert [name for name, _ in get_tool("imb").problems({option: value})] == [option]


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


class TestFio:
    def test_the_scratch_file_is_planned_as_a_write(self) -> None:
        command = build("fio", {"rw": "randread", "bs": "4k", "iodepth": 8, "size": "1M", "runtime": 5})

        assert "--filename=fio-1048576.dat" in command.argv
        assert command.cwd == "/scratch"
        assert [(write.path, write.kind, write.size_bytes) for write in command.writes] == [
            ("/scratch/fio-1048576.dat", "scratch", 1 << 20)
        ]
        assert {"--direct=1", "--time_based=1", "--output-format=json+", "--group_reporting=1"} <= set(
            command.argv
        )

    @pytest.mark.parametrize(
        "rw",
        [
            "write",
            "randwrite",
            "rw",
            "randrw",
            "readwrite",
            "trim",
            "randtrim",
            "trimwrite",
            "randtrimwrite",
            "randrw:4",
        ],
    )
    def test_every_mode_that_writes_needs_the_word_for_a_device(self, rw: str) -> None:
        """bench-fio forgot randrw: it overwrote a file."""
        device = {"path_kind": lambda _: "block", "real_path": lambda _: "/dev/nvme9n1"}
        options = {"rw": rw.split(":")[0], "filename": "/dev/disk/by-id/mine"}

        with pytest.raises(UserError, match="nothing allows it"):
            build("fio", options, **device)
        with pytest.raises(UserError, match="nothing allows it"):
            build("fio", options, allow_write={"/dev/nvme8n1": {}}, **device)
        allowed = build("fio", options, allow_write={"/dev/nvme9n1": {"serial": "A"}}, **device)
        assert allowed.writes == (Write(path="/dev/nvme9n1", kind="device", identity={"serial": "A"}),)

    def test_reading_a_device_is_read_only(self) -> None:
        command = build("fio", {"rw": "randread", "filename": "/dev/nvme9n1"}, path_kind=lambda _: "block")

        assert "--readonly" in command.argv
        assert command.writes == ()

    def test_a_file_of_the_users_is_never_written_and_never_made(self) -> None:
        with pytest.raises(UserError, match="did not make"):
            build(
                "fio",
                {"rw": "randrw", "filename": "/home/me/thesis"},
                path_kind=lambda _: "file",
                allow_write={"/home/me/thesis": {}},
            )
        with pytest.raises(Refused, match="does not exist"):
            build("fio", {"rw": "read", "filename": "/home/me/typo"})

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
    def test_what_it_will_not_pass_on(self, name: str, value: Any) -> None:
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
    def test_what_it_reads_as_it_is_written(self, options: str, refused: bool) -> None:
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
    def test_an_option_is_refused_for_its_own_reason(self, name: str, reason: str) -> None:
        assert name not in get_tool("fio").options()
        assert reason in get_tool("fio").problems({name: 1})[0][1]

    def test_a_step_between_jobs_needs_a_file_of_ones_own(self) -> None:
        device = {"path_kind": lambda _: "block", "real_path": lambda path: path}
        options = {"rw": "read", "offset_increment": "1G", "filename": "/dev/nvme9n1"}

        assert "--offset_increment=1G" in build("fio", options, **device).argv
        assert get_tool("fio").problems({"offset_increment": "1G"})[0][0] == "offset_increment"

    def test_an_option_that_the_help_of_fio_leaves_out_is_not_missing(self) -> None:
        program = Program(name="fio", path="fio", version="3.33", notes={"cmdhelp": "rw bs size runtime"})

        argv = build("fio", {"rw": "read", "iomem_align": 4096, "hipri": True}, program=program).argv
        assert {"--iomem_align=4096", "--hipri=1"} <= set(argv)

    def test_an_option_this_fio_lacks_is_refused_before_the_sweep(self) -> None:
        old = Program(name="fio", path="/opt/fio", version="2.1", notes={"cmdhelp": "rw bs size runtime"})

        with pytest.raises(Refused, match=r"fio 2\.1 here does not know iodepth"):
            build("fio", {"rw": "read", "iodepth": 4}, program=old)

    def test_jobs_get_a_pu_each_where_there_are_enough(self) -> None:
        command = build("fio", {"rw": "read", "numjobs": 4}, Place(name="node", cpus="numa_node 0"))

        assert "--cpus_allowed_policy=split" in command.argv

    def test_one_size_is_one_scratch_file_however_it_is_written(self) -> None:
        commands = [
            build("fio", {"rw": "read", **size}) for size in ({}, {"size": "256m"}, {"size": 268435456})
        ]

        assert len({write.path for command in commands for write in command.writes}) == 1

    @pytest.mark.parametrize("folder", ["/mnt/a:b", "/mnt/vic;backup", "/mnt/run#3", "/mnt/new\nline"])
    def test_no_path_of_the_scratch_folder_is_read_by_fio(self, folder: str) -> None:
        """fio cuts an option's value at ; and #: `run#3/fio.dat` would write to `run`."""
        command = build("fio", {"rw": "randwrite"}, scratch=folder)

        assert command.cwd == folder
        assert not [word for word in command.argv if folder in word]

    @pytest.mark.parametrize(
        "name",
        [
            "/data/vic;x",
            "/data/run#3",
            "/data/new\nline",
            "/data/trailing ",
            "/data/$HOME",
            "/data/x;",
            "{scratch}/x",
        ],
    )
    def test_a_name_that_fio_would_cut_is_refused(self, name: str) -> None:
        sign = next(sign for sign in name if sign in ";#\n $;{")
        with pytest.raises(UserError, match=re.escape(f"has {sign!r} in it")):
            build("fio", {"rw": "read", "filename": name}, path_kind=lambda _: "file")

    def test_a_link_is_followed_once_and_for_all(self) -> None:
        command = build(
            "fio", {"rw": "randwrite", "filename": "/dev/disk/by-id/mine"}, path_kind=lambda _: "block",
            real_path=lambda _: "/dev/nvme9n1", allow_write={"/dev/nvme9n1": {}},
        )  # fmt: skip

        assert "--filename=/dev/nvme9n1" in command.argv

    def test_verifying_leaves_no_files_behind(self) -> None:
        argv = build("fio", {"rw": "randwrite", "verify": "crc32c"}).argv

        assert {"--verify_state_save=0", "--verify_dump=0"} <= set(argv)


class TestPoke:
    def test_zero_bytes_are_the_timer_alone(self) -> None:
        empty = build("poke", {"target": "memory", "bytes": 0, "op": "write"})
        assert "--target=null" in empty.argv
        assert empty.notes[0].startswith("0 bytes: the timer alone, where the curve of write begins")

    def test_an_array_larger_than_memory_is_refused(self) -> None:
        with pytest.raises(Refused, match=r"of 100 GiB needs more than 70 % of the [\d.]+ [GM]iB available"):
            build("poke", {"target": "memory", "bytes": "100G"})

    def test_options_of_another_target_are_mistakes(self) -> None:
        assert [
            name for name, _ in get_tool("poke").problems({"target": "memory", "bytes": 1, "direct": True})
        ] == ["direct"]

    def test_the_block_that_is_not_given_is_said(self) -> None:
        help_ = get_tool("poke").options()["block"].help
        small, large = (build("poke", {"target": "file", "bytes": size}) for size in ("1kB", "1MB"))

        assert "4096 in files" in help_
        assert "1 in memory and in files that are smaller" in help_
        assert "--block=1" in small.argv
        assert any("accesses of 1 byte" in note for note in small.notes)
        assert "--block=4096" in large.argv
        assert large.notes == ()

    def test_direct_reads_are_estimated_of_an_ssd_and_end_in_time_on_a_disk(self) -> None:
        """15 000 of them took 2.5 s, where the plan said a minute."""
        reads = build("poke", {"target": "file", "bytes": "1MB", "direct": True, "count": 15_000})

        assert 2 < reads.estimate_s < 5
        assert reads.at_most_s > 150


class TestCommand:
    METRICS = {"reply": {"regex": "([0-9]+)"}}

    def test_a_placeholder_is_one_word_whatever_it_holds(self) -> None:
        command = build(
            "command", {"command": "echo {text} x{n}y", "text": "a b; $(c)", "n": 3, "metrics": self.METRICS}
        )

        assert command.argv == ("echo", "a b; $(c)", "x3y")

    def test_it_is_pinned_where_a_place_is_given(self) -> None:
        place = Place(name="n", cpus="numa_node 1", memory="local")

        command = build("command", {"command": "true", "threads": 2, "metrics": self.METRICS}, place)

        assert command.argv == ("numactl", "--physcpubind=10-11", "--membind=1", "--", "true")
        assert command.env == {"OMP_NUM_THREADS": "2"}

    def test_a_script_that_it_runs_is_recorded_beside_its_program(self) -> None:
        """One that was edited from one day to the next was nothing that had changed."""
        options = {"command": "python3 bench.py data.bin out.sh", "metrics": self.METRICS}

        command = build(
            "command", options, find=lambda name, path=None: f"/usr/bin/{name}", real_path=lambda path: f"/home/me/{path}",
            path_kind=lambda path: "missing" if path == "out.sh" else "file",
        )  # fmt: skip

        assert command.files == {"python3": "/usr/bin/python3", "bench.py": "/home/me/bench.py"}

    def test_a_program_that_is_not_here_is_a_cell_that_is_skipped(self) -> None:
        options = {"command": "{which} 1", "which": "nosuchprogram", "metrics": self.METRICS}

        with pytest.raises(Refused, match="nosuchprogram: no program of that name"):
            build("command", options, find=lambda name, path=None: "/bin/echo" if name == "echo" else "")
        assert (
            build("command", {**options, "which": "echo"}, find=lambda _, path=None: "/bin/echo").argv[0]
            == "echo"
        )
        with_path = {**options, "env": {"PATH": "/opt/mine"}}
        assert build("command", with_path, find=lambda _, path=None: "").argv[0] == "nosuchprogram"

    @pytest.mark.parametrize(
        "options",
        [
            {"command": "echo {nope}"}, {"command": "echo 'open"}, {"command": ""}, {"command": "echo {n!r}", "n": 1},
            {"command": "true", "env": {"A B": "x"}},
        ],
    )  # fmt: skip
    def test_mistakes_are_found_before_anything_starts(self, options: dict[str, Any]) -> None:
        assert get_tool("command").problems({"metrics": self.METRICS, **options})
