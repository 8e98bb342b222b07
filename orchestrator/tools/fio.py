"""fio: one job per cell, on a scratch file of pinsweep's, or on what the experiment names in `filename`.

What may be written to is decided here and nowhere else:

- without `filename`, fio works on a scratch file that pinsweep makes, fills and removes;
- a file of the user's is read only, never written;
- a device is read only unless the user named it with --allow-write on this very command line.

Every job on something that is not ours gets `--readonly`, so that fio itself refuses what we have overlooked.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import PurePath
from typing import Any, Final

from orchestrator.model import Cell, Place, Placement, ScratchFile, Write
from orchestrator.placement.place import numactl
from orchestrator.tools import Ask, Command, Option, Probed, Problem, Program, Refused, Site
from parsers.errors import UserError
from parsers.measurement import Parsed, Scalar, whole
from parsers.units import number_value, size_bytes, size_value

PROGRAMS = ("fio",)
KERNEL = ""
FATAL = ("validation_failed", "job_error", "no_io")
SIGNATURE = b"fio-"
INSTALL = "apt-get install fio, or dnf install fio"
STARTER: Final = """\
fixed:
  ioengine: libaio
  direct: true             # past the page cache; libaio is asynchronous only so
  size: 256M               # a scratch file that pinsweep makes and removes (--scratch says where)
  runtime: 10
  place: numa_node 0       # on its CPUs, with its own memory
matrix:                    # every combination is a cell
  rw: [randread, randwrite]
  iodepth: [1, 8, 32]
"""
"""What `init` writes below the head of an experiment."""

READS = frozenset({"read", "randread"})
"""The only values of `rw` that write nothing. Everything else, mixes and trims included, counts as a write."""

OURS = {
    "name": "pinsweep names the job after the sweep",
    "directory": "pinsweep chooses the folder (--scratch)",
    "filename_format": "pinsweep names the scratch file",
    "opendir": "it adds files that the plan cannot list",
    "exec_prerun": "it starts a shell command",
    "exec_postrun": "it starts a shell command",
    "write_iolog": "it writes a file of its own",
    "read_iolog": "what a log replays cannot be listed in the plan",
    "wait_for": "a cell has one job",
    "include": "the experiment's text would not tell what ran",
    "ioscheduler": "it changes the machine",
    "cpus_allowed": "`place` pins",
    "cpumask": "`place` pins",
    "numa_cpu_nodes": "`place` pins",
    "numa_mem_policy": "`place` binds the memory",
    "unlink": "pinsweep removes its scratch file itself, and never a file of yours",
    "unlink_each_loop": "pinsweep removes its scratch file itself, and never a file of yours",
    "allow_mounted_write": "a mounted device is not to be written to",
    "readonly": "pinsweep sets it wherever it applies",
    "description": "use the sweep's title",
}
"""Options that pinsweep keeps to itself, and why."""

_PASSED = """
    rw bs ba bsrange bssplit bs_unaligned direct buffered atomic sync fsync fdatasync fsync_on_close end_fsync sync_file_range
    size io_size number_ios loops offset offset_align filename ioengine iodepth iodepth_batch iodepth_batch_complete_min
    iodepth_batch_complete_max iodepth_low serialize_overlap io_submit_mode rwmixread rwmixwrite rw_sequencer
    percentage_random random_distribution random_generator randrepeat allrandrepeat randseed norandommap
    random_sequence_stride num_range sprandom invalidate fadvise_hint fallocate overwrite pre_read file_service_type
    trim_percentage trim_verify_zero trim_backlog trim_backlog_batch
    runtime time_based ramp_time ramp_size startdelay numjobs thread rate rate_min rate_iops rate_iops_min rate_process
    rate_cycle rate_ignore_thinktime thinktime thinktime_spin thinktime_blocks thinktime_blocks_type thinktime_iotime
    thinkcycles latency_target latency_window latency_percentile latency_run max_latency steadystate
    steadystate_duration steadystate_ramp_time steadystate_check_interval flow flow_id flow_sleep nice prio prioclass
    mem lockmem buffer_pattern buffer_compress_percentage buffer_compress_chunk zero_buffers refill_buffers
    scramble_buffers dedupe_percentage dedupe_mode dedupe_working_set_percentage dedupe_global
    verify verify_interval verify_offset verify_pattern verify_pattern_interval verify_fatal verify_async verify_backlog
    verify_backlog_batch verify_only verify_header_seed verify_write_sequence do_verify
    group_reporting lat_percentiles clat_percentiles slat_percentiles percentile_list significant_figures disable_lat
    disable_clat disable_slat disable_bw_measurement gtod_reduce clocksource unified_rw_reporting disk_util bwavgtime
    iopsavgtime continue_on_error ignore_error
    zonemode zonesize zonerange zoneskip zonecapacity max_open_zones job_max_open_zones ignore_zone_limits
    read_beyond_wp zone_reset_threshold zone_reset_frequency write_hint priohint cmdprio cmdprio_class cmdprio_hint
    cmdprio_percentage cmdprio_bssplit fdp plid_select plids dataplacement hipri hipri_percentage fixedbufs
    registerfiles sqthread_poll sqthread_poll_cpu nonvectored uncached force_async nowait userspace_reap cmd_type
    md_per_io_size pi_act pi_chk apptag apptag_mask readfua writefua write_mode verify_mode deac
    write_lat_log write_hist_log write_iops_log write_bw_log log_avg_msec log_hist_msec log_hist_coarseness log_max_value
"""
PASSED = frozenset(_PASSED.split())
"""The options that an experiment may set: none of them names a file, starts a program or changes the machine.

A list of what is allowed, not of what is forbidden: fio has options that write to a file whatever rw says
(`mem=mmapshared:PATH`), that grow a file past its size (`fill_device`), or make files where fio was started
(`verify_dump`), and every version adds some.
"""

LOGS: Final = {
    "write_lat_log": "lat", "write_hist_log": "clat_hist", "write_iops_log": "iops", "write_bw_log": "bw",
}  # fmt: skip
"""Options that ask for a log over time, true or false → which of fio's files is kept: of latencies that of submission and completion
together. fio is told to write them into the scratch folder."""

_LOG_FOLDER: Final = "logs"
_LOGS_BYTES: Final = 64 << 20
"""Scratch space that is looked for: how much fio writes hangs on how many I/Os there will be."""

ENGINES = (
    "libaio", "io_uring", "io_uring_cmd", "sync", "psync", "vsync", "pvsync", "pvsync2", "posixaio", "mmap", "null",
)  # fmt: skip
"""Engines that do what `rw` says to what `filename` says, and nothing else."""

MEMORY = ("malloc", "shm", "shmhuge", "mmap")

_NAME = re.compile(r"/[\w./+@%=:,~ -]*[\w./+@%=:,~-]")
"""Paths that fio takes as they are: it cuts an option's value at ; and #, and writes to the stump."""

DEFAULT_SIZE = "256M"
DEFAULT_RUNTIME_S = 10.0
_PER_DIRECTION = frozenset(
    {"bs", "ba", "bsrange", "percentage_random", "rate", "rate_min", "rate_iops", "rate_iops_min"}
)
"""Options of one value, or of one each for reads, writes and trims, with commas between."""

_SIZES: Final = frozenset(
    {"size", "io_size", "offset", "bsrange", "bssplit", "zonesize", "zonerange", "zoneskip"}
)
"""Options that fio's own list has as texts, and that hold sizes."""

_LIMITS: Final = {"iodepth": (1, math.inf), "rwmixread": (0, 100), "rwmixwrite": (0, 100)}


_NUMERIC = re.compile(r"[\d.,:%kKmMgGtTpPiIbBz/-]+|0x[0-9a-fA-F]+")
_TIME = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h|d)?")
_TIME_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@functools.cache
def _catalogue() -> Mapping[str, Mapping[str, Any]]:
    text = resources.files("orchestrator.tools").joinpath("fio_options.json").read_text("utf-8")
    entries: dict[str, dict[str, Any]] = json.loads(text)
    return entries


@functools.cache
def known() -> frozenset[str]:
    """Return the names of all options that fio has in a job, with their aliases."""
    return frozenset((*_catalogue(), *(e["alias"] for e in _catalogue().values() if "alias" in e)))


_EXAMPLES: Final[Mapping[str, tuple[str | float, ...]]] = {
    "bs": ("4k", "128k"), "ba": ("4k",), "bsrange": ("1k-4k",), "bssplit": ("4k/90:64k/10",), "buffer_compress_percentage": (50,),
    "buffer_pattern": ("0xdeadbeef",), "cpuchunks": (50000,), "cpuload": (50,), "dedupe_percentage": (50,), "fadvise_hint": ("random", 0),
    "fallocate": ("none", "native"), "fdatasync": (1,), "filename": ("/dev/nvme0n1", "/data/file"), "filesize": ("1G",), "fsync": (1, 32),
    "io_size": ("10G",), "iodepth": (1, 32), "iodepth_batch": (8,), "iodepth_batch_complete_max": (8,),
    "iodepth_batch_complete_min": (1,), "iodepth_low": (16,), "latency_percentile": (99.9,), "latency_target": ("1ms",), "latency_window": ("5s",),
    "log_avg_msec": (1000,), "log_hist_coarseness": (3,), "log_hist_msec": (1000,), "loops": (3,), "nrfiles": (4,), "number_ios": (10000,), "offset": ("1G",), "offset_increment": ("1G",),
    "percentage_random": (50,), "ramp_time": (5,), "random_distribution": ("zipf:1.1", "pareto:0.2"), "random_generator": ("tausworthe64",),
    "randseed": (42,), "rate": ("100M",), "rate_iops": (5000,), "rwmixread": (70,), "rwmixwrite": (30,), "runtime": (10, "30s"),
    "size": ("256M", "1G"), "thinktime": (100,), "verify": ("crc32c",), "zonemode": ("zbd",), "zonesize": ("256M",),
    "apptag": ("0x1234",), "apptag_mask": ("0xffff",), "buffer_compress_chunk": (512,), "bwavgtime": (500,), "cmd_type": ("nvme",),
    "cmdprio": (1,), "cmdprio_bssplit": ("4k/50:64k/0",), "cmdprio_class": (1,), "cmdprio_hint": (1,), "cmdprio_percentage": (20,), "deac": (1,),
    "dedupe_working_set_percentage": (5,), "fixedbufs": (1,), "flow": (8,), "flow_id": (1,), "flow_sleep": (100,),
    "force_async": (4,), "hipri": (1,), "hipri_percentage": (50,), "ignore_error": ("EAGAIN,ENOSPC",),
    "iopsavgtime": (500,), "job_max_open_zones": (8,), "lockmem": ("1G",), "max_latency": (10000,), "max_open_zones": (16,), "md_per_io_size": (8,),
    "nice": (5,), "nonvectored": (1,), "nowait": (1,), "num_range": (8,), "offset_align": (4096,),
    "percentile_list": ("50:99:99.9",), "pi_act": (1,), "pi_chk": ("GUARD,REFTAG",), "plids": ("0,1",), "prio": (4,), "prioclass": (2,),
    "priohint": (0,), "ramp_size": ("1G",), "rate_cycle": (1000,), "rate_iops_min": (1000,), "rate_min": ("10M",), "readfua": (1,), "registerfiles": (1,),
    "significant_figures": (6,), "sqthread_poll": (1,), "sqthread_poll_cpu": (3,), "startdelay": ("5s",),
    "steadystate": ("iops:1%", "bw_slope:0.3%"), "steadystate_check_interval": ("1s",), "steadystate_duration": ("30s",),
    "steadystate_ramp_time": ("10s",), "sync": (1, "dsync"), "sync_file_range": ("write:8",), "thinkcycles": (1000,), "thinktime_blocks": (8,),
    "thinktime_iotime": (1000,), "thinktime_spin": (50,), "trim_backlog": (32,), "trim_backlog_batch": (8,), "trim_percentage": (10,),
    "uncached": (1,), "userspace_reap": (1,), "verify_async": (2,), "verify_backlog": (1024,), "verify_backlog_batch": (256,), "verify_interval": (4096,),
    "verify_mode": ("read", "compare"), "verify_offset": (0,), "verify_pattern": ("0xdeadbeef",), "verify_pattern_interval": (512,),
    "write_hint": ("short", "long"), "write_mode": ("write", "zeroes"), "writefua": (1,), "zone_reset_frequency": (0.1,),
    "zone_reset_threshold": (0.3,), "zonecapacity": ("256M",), "zonerange": ("1G",), "zoneskip": ("64M",),
}  # fmt: skip
"""How options are written whose kind fio does not tell."""


@functools.cache
def options() -> Mapping[str, Option]:
    """Return what an experiment may set: fio's own options (scripts/fio_options.py) and their aliases, as far as PASSED."""
    found: dict[str, Option] = {}
    for name, entry in _catalogue().items():
        if name not in PASSED:
            continue
        choices = {"rw": tuple(entry.get("choices", ())), "ioengine": ENGINES, "mem": MEMORY}.get(name)
        if name == "numjobs":
            option = Option(kind="int", low=1, high=65536, help=entry["help"])
        elif name in LOGS:
            option = Option(kind="flag", help=f"{entry['help']}: true or false, pinsweep names and keeps it")
        elif choices:
            option = Option(kind="word", help=entry["help"], choices=choices)
        else:
            option = Option(
                kind="flag" if entry["kind"] == "flag" else "text",
                help=entry["help"],
                examples=_EXAMPLES.get(name) or tuple(entry.get("choices", ())[:2]),
            )
        for key in (name, entry.get("alias")):
            if key:
                found[key] = option
    return found


def problems(options: Mapping[str, Any]) -> list[Problem]:
    """Check numbers, times and what only the options together show. `options` are those of one cell."""
    found: list[Problem] = []
    for name, value in options.items():
        if _canonical(name) not in PASSED:
            if _canonical(name) not in _catalogue():
                continue  # no option of fio's: found by its name already
            found.append(
                (name, OURS.get(name, "may write files, start programs or change the machine: not passed on"))
            )
            continue
        kind = _catalogue().get(_canonical(name), {}).get("kind")
        text = str(value)
        if kind in ("int", "size") and not _NUMERIC.fullmatch(text):
            found.append((name, f"{text!r} is not a number that fio reads (8, 4k, 1M, 4k,16k, 10%)"))
        elif kind == "int" and "," in text and _canonical(name) not in _PER_DIRECTION:
            found.append(
                (
                    name,
                    f"{text!r} is several numbers; a list of values has brackets and stands under `matrix`",
                )
            )
        elif kind == "int" and text.startswith("-"):
            found.append((name, f"{text!r} is below 0: fio would go without it"))
        elif kind == "int" and re.search(r"\.\d+(?:,|$)", text):
            found.append((name, f"{text!r} is not a whole number: fio would cut it, or go without it"))
        elif (
            (limits := _LIMITS.get(_canonical(name)))
            and text.isdigit()
            and not limits[0] <= int(text) <= limits[1]
        ):
            found.append((name, f"{text!r} is not {_within(*limits)}"))
        elif kind == "seconds" and re.search(r"\.\d+(?:us|ms|s|m|h|d)?$", text):
            found.append((name, f"{text!r} has a fraction, which fio cuts", _without_fraction(text)))
        elif kind == "seconds" and seconds(text) is None:
            found.append((name, f"{text!r} is not a time that fio reads (10, 10s, 2m, 500ms)"))
        elif any(sign in text for sign in "\n\0$`;#") and name != "filename":
            found.append(
                (name, "holds a line break, $, `, ; or #: fio expands them, or cuts the value there")
            )
    if "filename" not in options:
        try:
            size_bytes(str(options.get("size", DEFAULT_SIZE)))
        except ValueError:
            found.append(("size", f"{options['size']!r} is not a size of a scratch file (256M, 1G)"))
        if "offset" in options:
            found.append(("offset", "lies outside the scratch file; it needs a filename"))
    found += [
        (alias, f"is another name of {name}, which is given too")
        for name, alias in (("rw", "readwrite"), ("bs", "blocksize"), ("runtime", "timeout"))
        if name in options and alias in options
    ]
    mix = [name for name in ("rwmixread", "rwmixwrite") if name in options]
    if mix and writes(options) and direction(options) not in ("rw", "readwrite", "randrw"):
        found.append((mix[0], f"has no effect on rw={direction(options)}"))
    return found


def _within(low: float, high: float) -> str:
    return f"{low} or more" if math.isinf(high) else f"in {low}..{high}"


@functools.cache
def _aliases() -> Mapping[str, str]:
    return {entry["alias"]: name for name, entry in _catalogue().items() if "alias" in entry}


def _canonical(name: str) -> str:
    return _aliases().get(name, name)


def seconds(text: str) -> float | None:
    """Read a time as fio does: plain numbers are seconds. None if it is no time."""
    match = _TIME.fullmatch(text.strip())
    return float(match[1]) * _TIME_UNITS[match[2] or "s"] if match else None


def _without_fraction(text: str) -> str:
    """Say how a time is written for fio, which takes whole numbers of a unit: 0.5 as 500ms; "write whole numbers (500ms)" of what is
    no time."""
    value = seconds(text)
    if not value:
        return "write whole numbers (500ms)"
    units = ((unit, value / of) for unit, of in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)))
    unit, count = next(((u, n) for u, n in units if abs(n - round(n)) < 1e-6 * n), ("us", value * 1e6))
    return f"write {round(count)}{unit}" if round(count) else "the shortest time is 1us"


def meant(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options under fio's first name of each, times in seconds, sizes in bytes: 4k, 4K and 4096 are one."""
    return {_canonical(name): _meant(_canonical(name), value) for name, value in options.items()}


def command_meant(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a command line with the options of each section (`--name` begins one) sorted by their names, of those
    that are repeated the last. Of a single section those before its name hold for it, too."""
    program = next((i for i, word in enumerate(words) if PurePath(word).name == "fio"), len(words))
    options = [word for word in words[program + 1 :] if re.match(r"--\w[\w-]*(?:=|$)", word)]
    if len(options) < len(words[program + 1 :]):  # a job file, or an option whose value is a word of its own
        return words
    sections: list[dict[str, str]] = [{}]
    several = sum(word.startswith("--name=") for word in options) > 1
    for word in options:
        if several and word.startswith("--name="):
            sections.append({})
        name, given, value = word.removeprefix("--").partition("=")
        sections[-1][_canonical(name.replace("-", "_"))] = value if given else "1"
    return (
        *words[: program + 1],
        *(f"--{name}={value}" for own in sections for name, value in sorted(own.items())),
    )


def _meant(name: str, value: Any) -> Any:  # noqa: ANN401
    kind, text = _catalogue().get(name, {}).get("kind"), _text(value)
    if kind == "seconds":
        return seconds(text) or text
    if kind in ("int", "size") or name in _SIZES:
        powers = " kmgtp"
        return re.sub(
            r"\b(\d+)([kmgtp])\b",
            lambda one: str(int(one[1]) * 1024 ** powers.index(one[2])),
            text.lower(),
        )
    return text


def direction(options: Mapping[str, Any]) -> str:
    return str(options.get("rw", options.get("readwrite", "read"))).split(":")[0]


def writes(options: Mapping[str, Any]) -> bool:
    """Tell whether a job writes or trims. randrw, rw and trims do."""
    return direction(options) not in READS


def shape(options: Mapping[str, Any]) -> tuple[int | None, int]:  # noqa: ARG001 (jobs wait for I/O: they share their PUs)
    return None, 1


def default_place(options: Mapping[str, Any]) -> Place | None:  # noqa: ARG001
    return Place(name="all", cpus="all", memory="any")


def command(cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
    """Build one fio job.

    Raises UserError where it would write to what is not ours and nobody allowed it; Refused where what it would
    read is not here, or this fio lacks an option.
    """
    given = dict(cell.options)
    known = program.notes.get("cmdhelp", "").split()
    if missing := sorted(
        name for name in given if known and name not in known and _canonical(name) not in known
    ):
        raise Refused(f"fio {program.version} here does not know {', '.join(missing)}")
    filename = str(given.pop("filename", ""))
    writing = writes(given)
    size = str(given.setdefault("size", DEFAULT_SIZE)) if not filename else str(given.get("size", ""))
    runtime_s = seconds(str(given.get("runtime", given.get("timeout", ""))))
    if (
        runtime_s is None
        and not ({"io_size", "number_ios", "loops", "time_based"} & given.keys())
        and "size" not in cell.options
    ):
        runtime_s = DEFAULT_RUNTIME_S
        given["runtime"] = int(DEFAULT_RUNTIME_S)
    if runtime_s is not None:
        given.setdefault("time_based", True)
    for name, value in _defaults(given, writing).items():
        given.setdefault(name, value)

    target, scratch, planned_writes, notes = _target(filename, size, given, writing, site)
    wanted = [log for log in LOGS if given.pop(log, False)]
    if wanted:
        folder = f"{site.scratch}/{_LOG_FOLDER}"
        scratch += (ScratchFile(path=folder, size_bytes=_LOGS_BYTES, folder=True),)
        planned_writes += (Write(path=folder, kind="scratch", size_bytes=_LOGS_BYTES),)
        given |= dict.fromkeys(wanted, f"{_LOG_FOLDER}/fio")
    if "write_hist_log" in wanted:
        given.setdefault("log_hist_msec", 1000)
    jobs = int(given.get("numjobs", 1))
    pins: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    if placement is not None:
        group = placement.groups[0]
        prefix = numactl(group, site.numactl)
        if 1 < jobs <= len(group.cpus):
            cpus = ",".join(map(str, group.cpus))
            pins = (f"--cpus_allowed={cpus}", "--cpus_allowed_policy=split")
    argv = (
        *prefix,
        program.path,
        f"--name={re.sub(r'[^A-Za-z0-9_.-]+', '-', cell.sweep)}",
        "--output-format=json+",
        *target,
        *(f"--{name}={_text(value)}" for name, value in given.items()),
        *pins,
    )
    ramp_s = seconds(str(given.get("ramp_time", 0))) or 0.0
    return Command(
        argv=argv,
        cwd=site.scratch,
        estimate_s=(runtime_s if runtime_s is not None else DEFAULT_RUNTIME_S) + ramp_s + 0.5,
        scratch=scratch,
        writes=planned_writes,
        reads=(site.real_path(filename),) if "--readonly" in target else (),
        notes=notes,
        logs=tuple(f"{site.scratch}/{_LOG_FOLDER}/fio_{_log_file(log, given)}.*log" for log in wanted),
    )


def _log_file(log: str, given: Mapping[str, Any]) -> str:
    return "clat" if log == "write_lat_log" and given.get("disable_lat") else LOGS[log]


def _defaults(given: Mapping[str, Any], writing: bool) -> dict[str, Any]:
    """What makes a fio run a measurement (guide: defaults of `measurement`), unless the experiment says otherwise."""
    found: dict[str, Any] = {
        "ioengine": "libaio",
        "direct": True,
        "group_reporting": True,
        "lat_percentiles": True,
        **({"verify_state_save": False, "verify_dump": False} if "verify" in given else {}),
    }
    if "buffered" in given:
        del found["direct"]
    if str(given.get("ioengine", "")) == "null":
        del found["direct"]
    if direction(given).startswith("rand"):
        found |= {"randrepeat": False, "norandommap": True}
    if writing and not any(name.startswith(("buffer_", "zero_buffers", "scramble_")) for name in given):
        found["refill_buffers"] = True
    return found


def _is_compressible(given: Mapping[str, Any]) -> bool:
    """Tell whether a job that writes leaves other bytes than random ones: its buffers are of the experiment's, or it trims."""
    own = ("zero_buffers", "buffer_", "scramble_", "dedupe_", "verify")
    return (
        "trim" in direction(given)
        or any(name.startswith(own) for name in given)
        or not given.get("refill_buffers")
    )


def _target(
    filename: str, size: str, given: Mapping[str, Any], writing: bool, site: Site
) -> tuple[tuple[str, ...], tuple[ScratchFile, ...], tuple[Write, ...], tuple[str, ...]]:
    """Decide what fio works on: (options, scratch files, writes, notes)."""
    if str(given.get("ioengine")) == "null":
        return ("--filename=null",), (), (), ()
    if not filename:
        total = size_bytes(size)
        name = f"fio-{total}.dat"  # by its bytes: 256M, 256m and 268435456 are one file
        path = f"{site.scratch}/{name}"
        kept = ScratchFile(path=path, size_bytes=total)
        # the bare name, for a fio that is started in the scratch folder: it cuts a path at ; and #
        write = Write(path=path, kind="scratch", size_bytes=total, spoils=writing and _is_compressible(given))
        return (f"--filename={name}",), (kept,), (write,), ()
    if ":" in filename.replace(r"\:", ""):
        raise UserError(filename, "names several files", "give one, or sweep over them")
    real = site.real_path(filename)  # the file itself: a link may lead elsewhere by the time of the last run
    if not _NAME.fullmatch(real):
        sign = next((sign for sign in real if not _NAME.fullmatch(f"/{sign}.")), real[-1:])
        hint = "letters, digits and . / _ + - @ % = : , ~ are taken; without `filename` pinsweep makes a scratch file"
        raise UserError(filename, f"has {sign!r} in it: fio cuts names at some signs", hint)
    kind = site.path_kind(real)
    if not writing:
        if kind == "missing":
            raise Refused(f"{filename} does not exist (fio would make it, and read what it made)")
        if kind == "directory":
            raise Refused(f"{filename} is a folder; leave filename out and use --scratch {filename}")
        return (f"--filename={_escape(real)}", "--readonly"), (), (), (f"reads {real}",)
    if kind in ("block", "char"):
        if real not in site.allow_write:
            raise UserError(
                filename,
                f"rw={direction(given)} writes to this device, and nothing allows it",
                f"--allow-write {filename} if everything on it may be lost",
            )
        return (
            (f"--filename={_escape(real)}",),
            (),
            (Write(path=real, kind="device", identity=site.allow_write[real]),),
            (f"OVERWRITES {real}",),
        )
    raise UserError(
        filename,
        f"rw={direction(given)} would write to it, and pinsweep did not make it",
        "leave filename out: pinsweep makes a scratch file, and --scratch says where",
    )


def _escape(path: str) -> str:
    return path.replace(":", r"\:")  # fio splits file names at colons


def _text(value: Any) -> str:  # noqa: ANN401
    return str(int(value)) if isinstance(value, bool) else str(value)


def version_argv(path: str) -> tuple[str, ...]:
    return (path, "--version")


def version(text: str) -> str:
    found = re.search(r"^fio-(\S+)", text, re.MULTILINE)  # a wrapper script may print more
    return found[1] if found else ""


def probe(path: str, ask: Ask) -> Probed:
    """Ask for the options that this fio knows."""
    names = re.findall(r"^ *(\w+) *:", ask.run((path, "--cmdhelp=all")), re.MULTILINE)
    return Probed(notes={"cmdhelp": " ".join(names)})


def complaint(parsed: Parsed, stdout: str, stderr: str, cell: Cell) -> str:  # noqa: ARG001
    return ""


_ALIASES: Final = {"readwrite": "rw", "blocksize": "bs", "timeout": "runtime"}
_NOT_THE_CELL: Final = frozenset(
    {"name", "description", "directory", "filename_format", "opendir", "exec_prerun", "exec_postrun", "group_reporting",
     "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "log_avg_msec", "log_hist_msec", "thread",
     "stonewall", "wait_for_previous", "new_group"}
)  # fmt: skip
"""Options that name files, or say how fio reports: they do not tell one cell from another."""


def told(given: Mapping[str, Scalar], parsed: Parsed) -> dict[str, Any]:
    """Return the options of a captured run as an experiment writes them."""
    out: dict[str, Any] = {}
    for name, value in given.items():
        name = _ALIASES.get(name, name)
        if name not in _NOT_THE_CELL:
            out[name] = _size(str(value)) if name in ("bs", "size", "io_size") else number_value(str(value))
    if parsed.facts.get("format") == "normal" and "numjobs" not in out:
        jobs = parsed.tables["jobs"].records() if "jobs" in parsed.tables else []
        processes = sum(whole(job.get("processes")) or 1 for job in jobs)
        if processes > 1:
            out["numjobs"] = processes
    return out


def _size(text: str) -> int | str:
    """Return a size as pinsweep's own cells have it: `4096B`, `4K` and `4KiB` are "4k". A list or a range stays as it is."""
    try:
        return size_value(size_bytes(text))
    except ValueError:
        return text
