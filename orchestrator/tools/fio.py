"""Run fio: one job per cell, on a scratch file of pinsweep or on the experiment's `filename`.

Only this module decides about writes:

- without `filename`, fio uses a scratch file that pinsweep makes, fills and removes
- a user's file is only read
- a device is only read, unless the user names it with --allow-write on this command line

Every job on a foreign file or device gets `--readonly`, so that fio also refuses to write.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import PurePath
from typing import Any, Final

from orchestrator.model import LONGEST_S, Cell, Placement, ScratchFile, Write
from orchestrator.placement.place import numactl
from orchestrator.tools import Ask, Command, Option, Probed, Problem, Program, Refused, Site, Tool
from parsers.errors import UserError, list_hint
from parsers.measurement import Parsed, Scalar, whole
from parsers.units import number_value, size_bytes, size_value

READS = frozenset({"read", "randread"})
"""The only values of `rw` without writes. All other values, with mixes and trims, count as writes."""

_RESERVED: Final[Mapping[str, str]] = {
    "pinsweep sets it": "name readonly cgroup_nodelete",
    "use the sweep's title": "description",
    "pinsweep chooses the folder (--scratch)": "directory",
    "pinsweep names the scratch file": "filename_format unique_filename",
    "use `size`": "filesize",
    "pinsweep detects the kind of the file": "filetype",
    "pinsweep makes the scratch file, and no other": "allow_file_create create_on_open",
    "pinsweep removes its scratch file itself, and never a file of yours": "unlink unlink_each_loop",
    "a cell has one file": "nrfiles openfiles opendir",
    "a cell has one job": "wait_for stonewall new_group",
    "it starts jobs that the plan cannot list": "profile",
    "it starts a shell command": "exec_prerun exec_postrun",
    "it writes beyond the size of the scratch file": "fill_device file_append",
    "it writes a file that the plan cannot list": "write_iolog verify_dump verify_state_save log_store_compressed",
    "it reads a file that the plan cannot list": "dp_scheme verify_state_load",
    "a log replays I/O that the plan cannot list": (
        "read_iolog read_iolog_chunked replay_align replay_no_stall replay_redirect replay_scale replay_skip replay_time_scale "
        "merge_blktrace_file merge_blktrace_iters merge_blktrace_scalars"
    ),
    "the experiment would not describe the run": "include",
    "it changes the machine": "ioscheduler cgroup cgroup_weight",
    "a mounted device is not to be written to": "allow_mounted_write",
    "it changes the user of the run": "uid gid",
    "`place` pins": "cpus_allowed cpus_allowed_policy cpumask numa_cpu_nodes verify_async_cpus log_compression_cpus gtod_cpu",
    "`place` binds the memory": "numa_mem_policy",
    "pinsweep reads sizes in powers of 1024": "kb_base",
    "pinsweep reads log times from the start of the job": "log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id",
    "pinsweep reads one value per line of a log; use log_max_value": "log_window_value",
    "fio would measure nothing": "create_only",
    "fio would print no results": "stats",
}
OURS: Final = {name: reason for reason, names in _RESERVED.items() for name in names.split()}
"""Options that an experiment may not set, and why. `engines` in fio's list (scripts/fio_options.py) excludes those
of other engines.

A newer fio's options are unknown until they are in that list. Look then for what names a file, starts a program or
changes the machine.
"""

LOGS: Final = {
    "write_lat_log": "lat", "write_hist_log": "clat_hist", "write_iops_log": "iops", "write_bw_log": "bw",
}  # fmt: skip
"""Options for a log over time, true or false → the stored file of fio.

For latencies, it is the log of submission and completion together. fio writes the logs into the scratch folder.
"""

_LOG_FOLDER: Final = "logs"
_LOGS_BYTES: Final = 64 << 20
_BLOCK_BYTES: Final = 4096
"""Scratch space that is looked for: how much fio writes hangs on how many I/Os there will be."""

ENGINES = (
    "libaio", "io_uring", "io_uring_cmd", "sync", "psync", "vsync", "pvsync", "pvsync2", "posixaio", "mmap", "null",
)  # fmt: skip
"""Engines that only do the I/O of `rw` on `filename`."""

MEMORY = (
    "malloc",
    "shm",
    "shmhuge",
    "mmap",
    "mmapshared",
    "mmaphuge",
)  # without fio's `:PATH`, which it would write to

_NAME = re.compile(r"/[\w./+@%=:,~ -]*[\w./+@%=:,~-]")
"""Paths that fio takes as they are: it cuts an option's value at ; and #, and writes to the stump."""

_UNLISTED: Final = frozenset({"iomem_align", "bs_is_seq_rand"})
"""Options of fio that `--cmdhelp=all` omits, as it omits options of engines."""

DEFAULT_SIZE = "256M"
DEFAULT_RUNTIME_S = 10.0
_PER_DIRECTION = frozenset({"bs", "ba", "percentage_random", "rate", "rate_min", "rate_iops", "rate_iops_min"})
"""Options with one value, or with values for reads, writes and trims, separated by commas."""

_SHARES: Final = frozenset({"size", "io_size", "offset", "offset_increment", "zoneskip"})
"""Sizes that may also be a share of the file (25%), or count zones (4z)."""

_NUMBER: Final = r"(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,18}(?:[kKmMgGtTpP]i?|[bB])?)"
_SHAPES: Final = {
    "int": (f"-?[0-9]{{1,18}}|{_NUMBER}", "a whole number (8, 4k, 1M)"),
    "size": (_NUMBER, "a whole number (4096, 4k, 1M)"),
    "float": (r"[0-9]{1,18}(?:\.[0-9]{1,18})?", "a number (99.9)"),
    "share": (rf"{_NUMBER}|[0-9]{{1,3}}%|[0-9]{{1,9}}z", "a size (4k, 1M, 25%)"),
    "several": (rf"{_NUMBER}(?:,{_NUMBER}?){{0,2}}", "a whole number (8, 4k), or one each for reads, writes and trims (4k,16k)"),
    "range": (rf"{_NUMBER}[-:]{_NUMBER}(?:,{_NUMBER}[-:]{_NUMBER}){{0,2}}", "a range of sizes (1k-4k)"),
}  # fmt: skip
"""Kind of a value → the syntax that fio reads completely, and its name.

fio reads 1/4/8, 1-8 or 1.5M as 1 without a message.
"""

_SUFFIX: Final = re.compile(r"([0-9]{1,18})(([kmgtp])i?b)(?![a-z])", re.IGNORECASE)
"""Suffixes with which fio (kb_base=1024) reads 4kB as 4096 and 4KiB as 4000."""

_TIME = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)(us|ms|s|m|h|d)?", re.IGNORECASE)
_TIME_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@functools.cache
def _catalogue() -> Mapping[str, Mapping[str, Any]]:
    text = resources.files("orchestrator.tools").joinpath("fio_options.json").read_text("utf-8")
    entries: dict[str, dict[str, Any]] = json.loads(text)
    return entries


@functools.cache
def known() -> frozenset[str]:
    """Return the names and aliases of all fio job options."""
    return frozenset(name.replace("-", "_") for name in (*_catalogue(), *_aliases()))


_EXAMPLES: Final[Mapping[str, tuple[str | float, ...]]] = {
    "apptag": ("0x1234",), "apptag_mask": ("0xffff",), "ba": ("4k",), "bs": ("4k", "128k"), "bsrange": ("1k-4k",),
    "bssplit": ("4k/90:64k/10",), "buffer_pattern": ("0xdeadbeef",), "cdb_len": (16,), "cmd_type": ("nvme",),
    "cmdprio_bssplit": ("4k/50:64k/0",), "comm": ("fio-load",), "fadvise_hint": ("random", 0), "fallocate": ("none", "native"),
    "filename": ("/dev/nvme0n1", "/data/file"), "fsync": (1, 32), "ignore_error": ("EAGAIN,ENOSPC",), "io_size": ("10G",),
    "iodepth": (1, 32), "latency_percentile": (99.9,), "latency_target": ("1ms",), "latency_window": ("5s",), "lockmem": ("1G",),
    "log_compression": ("1M",), "log_entries": (4096,), "offset": ("1G",), "offset_increment": ("1G",),
    "percentile_list": ("50:99:99.9",), "pi_chk": ("GUARD,REFTAG",), "plids": ("0,1",), "ramp_size": ("1G",), "ramp_time": (5,),
    "random_distribution": ("zipf:1.1", "pareto:0.2"), "random_generator": ("tausworthe64",), "rate": ("100M",),
    "rate_min": ("10M",), "read_mode": ("read",), "runtime": (10, "30s"), "rw": ("randread", "read:8k"), "size": ("256M", "1G"),
    "spr_op": (0.2,), "startdelay": ("5s",), "steadystate": ("iops:1%", "bw_slope:0.3%"), "steadystate_check_interval": ("1s",),
    "steadystate_duration": ("30s",), "steadystate_ramp_time": ("10s",), "sync": (1, "dsync"), "sync_file_range": ("write:8",),
    "thinktime_iotime": (1000,), "verify": ("crc32c",), "verify_bytchk": (1,), "verify_interval": (4096,),
    "verify_mode": ("read", "compare"), "verify_offset": (512,), "verify_pattern": ("0xdeadbeef",),
    "write_hint": ("short", "long"), "write_mode": ("write", "zeroes"), "zone_reset_frequency": (0.1,),
    "zone_reset_threshold": (0.3,), "zonecapacity": ("256M",), "zonemode": ("zbd",), "zonerange": ("1G",), "zonesize": ("256M",),
    "zoneskip": ("64M",),
}  # fmt: skip
"""Examples for options whose kind does not show the syntax."""

_BY_KIND: Final[Mapping[str, tuple[str | float, ...]]] = {
    "int": (1,),
    "size": ("1M",),
    "microseconds": (1000,),
}


def _reason(name: str) -> str:
    """Return why an option of fio is not for experiments, or ""."""
    engines = _catalogue().get(name, {}).get("engines", ENGINES)
    if not set(engines) & set(ENGINES):
        return f"it belongs to ioengine={engines[0]}, which pinsweep does not use"
    return OURS.get(name, "")


@functools.cache
def _options() -> Mapping[str, Option]:
    options: dict[str, Option] = {}
    for name, entry in _catalogue().items():
        if _reason(name):
            continue
        text, kind, examples = entry["help"], entry["kind"], _EXAMPLES.get(name, ())
        choices = {"rw": tuple(entry.get("choices", ())), "ioengine": ENGINES, "mem": MEMORY}.get(name)
        if name == "numjobs":
            option = Option("int", text, low=1, high=65536)
        elif name in LOGS:
            option = Option("flag", f"{text}: true or false, pinsweep names and keeps it")
        elif choices:
            suffix = r":-?[0-9]+[kKmMgGtTpP]?" if name == "rw" else ""
            option = Option("word", text, choices=choices, examples=examples, suffix=suffix)
        else:
            examples = examples or tuple(entry.get("choices", ())[:2]) or _BY_KIND.get(kind, ())
            option = Option("flag" if kind == "flag" else "text", text, examples=examples)
        options |= dict.fromkeys(filter(None, (name, entry.get("alias"))), option)
    return options


def _problems(options: Mapping[str, Any]) -> Iterator[Problem]:
    wrong = set()
    for name, value in options.items():
        entry = _catalogue().get(_canonical(name))
        if reason := OURS.get(name) or (_reason(_canonical(name)) if entry else ""):
            yield name, reason
        elif entry and (problem := _misread(_canonical(name), entry, str(value))):
            wrong.add(name)
            yield name, *problem
    if "filename" not in options:
        try:
            size_bytes(str(options.get("size", DEFAULT_SIZE)))
        except ValueError:
            if "size" not in wrong:
                yield "size", f"{options['size']!r} is not a size of a scratch file (256M, 1G)"
        for name in ("offset", "fileoffset", "offset_increment"):
            if name in options:
                yield name, "lies outside the scratch file; it needs a filename"
    for alias in options:
        if (name := _canonical(alias)) != alias and name in options:
            yield alias, f"is another name of {name}, which is given too"
    mode, _, every = str(options.get("rw", options.get("readwrite", "read"))).partition(":")
    if "rand" in mode and every and not re.fullmatch("[1-9][0-9]*", every):
        name = "rw" if "rw" in options else "readwrite"
        yield name, f"{every!r} is not a number of I/Os: fio would cut it"
    yield from _unaligned(options)
    mix = next((name for name in ("rwmixread", "rwmixwrite") if name in options), "")
    if mix and writes(options) and mode not in ("rw", "readwrite", "randrw"):
        hint = f"give it to the mixes alone: include: [{{rw: randrw, {mix}: {options[mix]}}}]"
        yield mix, f"has no effect on rw={mode}", hint


def _unaligned(options: Mapping[str, Any]) -> list[Problem]:
    """Return block sizes that no disk takes past the page cache: `bs: 32` is 32 bytes."""
    if not options.get("direct", "buffered" not in options) or options.get("ioengine") == "null":
        return []
    return [
        (
            name,
            f"{options[name]!r} is not a multiple of 512 bytes, which direct I/O needs",
            f"write {options[name]}k for KiB, or set direct: false",
        )
        for name in ("bs", "blocksize")
        if re.fullmatch("[0-9]{1,18}", str(options.get(name, ""))) and int(options[name]) % 512
    ]


def _misread(name: str, entry: Mapping[str, Any], text: str) -> tuple[str] | tuple[str, str] | None:
    """Return the mistake in a value that fio would read in another way, and a hint if there is one.

    None without a mistake.
    """
    kind = {"bsrange": "range", "bssplit": "split", "cmdprio_bssplit": "split"}.get(name, entry["kind"])
    if kind in ("seconds", "microseconds"):
        for part in re.split("[-:]", text) if name == "startdelay" else [text]:  # a range: a delay by chance
            if (time_s := seconds(part, kind)) is None:
                what = f"{text!r} is not a time that fio reads (10, 10s, 2m, 500ms)"
                return (what, hint) if (hint := list_hint(text)) else (what,)
            if re.search(r"[0-9]\.[0-9]+[a-z]*$", part, re.IGNORECASE):
                return f"{text!r} has a fraction, which fio cuts", _without_fraction(time_s)
            if time_s > LONGEST_S:
                return (f"{text!r} is longer than {LONGEST_S} s",)
        return None
    if kind in ("int", "size", "range", "split") and (suffix := _SUFFIX.search(text)):
        count, unit, prefix = suffix.groups()
        thousands = int(count) * 1000 ** (" kmgtp".index(prefix.lower()))
        return (
            f"{text!r} has the suffix {unit}, which fio reads as another size",
            f"write {count}{prefix} for powers of 1024, {thousands} for powers of 1000",
        )
    kind = "several" if name in _PER_DIRECTION else "share" if name in _SHARES else kind
    if shape := _SHAPES.get(kind):
        pattern, what = shape
        if not re.fullmatch(pattern, text):
            wrong = f"{text!r} is not {what}"
            return (wrong, hint) if (hint := list_hint(text)) else (wrong,)
        low, high = entry.get("low", 0), entry.get("high", math.inf)
        if any(re.fullmatch("-?[0-9]+", part) and not low <= int(part) <= high for part in text.split(",")):
            return (f"{text!r} is not {_within(low, high)}",)
    if name != "filename" and any(sign in text for sign in "\n\0$`;#"):
        return ("holds a line break, $, `, ; or #: fio expands them, or cuts the value there",)
    return None


def _within(low: float, high: float) -> str:
    return f"{low} or more" if math.isinf(high) else f"in {low}..{high}"


@functools.cache
def _aliases() -> Mapping[str, str]:
    known = _catalogue()  # an alias of a newer fio may be a separate option in an older fio
    return {e["alias"]: name for name, e in known.items() if "alias" in e and e["alias"] not in known}


def _canonical(name: str) -> str:
    return _aliases().get(name, name)


def seconds(text: str, kind: str = "seconds") -> float | None:
    """Return a time as fio reads it.

    A plain number is in the option's unit, seconds or microseconds. None for an invalid time.
    """
    match = _TIME.fullmatch(text.strip())
    unit = "us" if kind == "microseconds" else "s"
    return float(match[1]) * _TIME_UNITS[(match[2] or unit).lower()] if match else None


def _without_fraction(value: float) -> str:
    """Say how a time is written for fio, which takes whole numbers of a unit: 0.5 as 500ms."""
    units = ((unit, value / of) for unit, of in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)))
    unit, count = next(((u, n) for u, n in units if abs(n - round(n)) < 1e-6 * n), ("us", value * 1e6))
    return f"write {round(count)}{unit}" if round(count) else "the shortest time is 1us"


def _plain(name: str, value: Any) -> Any:  # noqa: ANN401
    kind, text = _catalogue().get(name, {}).get("kind"), _text(value)
    if kind in ("seconds", "microseconds"):
        return seconds(text, kind) or text
    if kind in ("int", "size") or name in ("bsrange", "bssplit"):
        powers = " kmgtp"
        return re.sub(r"\b(\d+)([kmgtp])\b", lambda one: str(int(one[1]) * 1024 ** powers.index(one[2])), text.lower())
    return text


def direction(options: Mapping[str, Any]) -> str:
    return str(options.get("rw", options.get("readwrite", "read"))).split(":")[0]


def writes(options: Mapping[str, Any]) -> bool:
    """Return whether a job writes or trims. randrw, rw and the trim modes do."""
    return direction(options) not in READS


def _log_file(log: str, given: Mapping[str, Any]) -> str:
    return "clat" if log == "write_lat_log" and given.get("disable_lat") else LOGS[log]


def _defaults(given: Mapping[str, Any], writing: bool) -> dict[str, Any]:
    """What makes a fio run a measurement (guide: defaults of `measurement`), unless the experiment says otherwise."""
    defaults: dict[str, Any] = {
        "ioengine": "libaio",
        "direct": True,
        "group_reporting": True,
        "lat_percentiles": True,
        **({"verify_state_save": False, "verify_dump": False} if "verify" in given else {}),
    }
    if "buffered" in given:
        del defaults["direct"]
    if str(given.get("ioengine", "")) == "null":
        del defaults["direct"]
    if direction(given).startswith("rand"):
        defaults |= {"randrepeat": False, "norandommap": True}
    if writing and not any(name.startswith(("buffer_", "zero_buffers", "scramble_")) for name in given):
        defaults["refill_buffers"] = True
    return defaults


def _is_compressible(given: Mapping[str, Any]) -> bool:
    """Return whether a job leaves data that is not random, because the experiment sets its buffers or the job trims."""
    prefixes = ("zero_buffers", "buffer_", "scramble_", "dedupe_", "verify")
    return (
        "trim" in direction(given)
        or any(name.startswith(prefixes) for name in given)
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
        unit = size_bytes(bs) if (bs := str(given.get("bs", ""))) and "," not in bs else _BLOCK_BYTES
        spoils = writing and _is_compressible(given)
        write = Write(path=path, kind="scratch", size_bytes=total, unit_bytes=unit * writing, spoils=spoils)
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
            raise Refused(f"{filename} does not exist (fio would create and read an empty file)")
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


_ALIASES: Final = {"readwrite": "rw", "blocksize": "bs", "timeout": "runtime"}
_NOT_THE_CELL: Final = frozenset(
    {"name", "description", "directory", "filename_format", "opendir", "exec_prerun", "exec_postrun", "group_reporting",
     "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "log_avg_msec", "log_hist_msec", "thread",
     "stonewall", "wait_for_previous", "new_group"}
)  # fmt: skip
"""Options that name files, or set the report of fio. They do not distinguish cells."""


def _size(text: str) -> int | str:
    """Return a size in the spelling of pinsweep's cells: `4096B`, `4K`, `4kB` and `4KiB` are "4k".

    A list or a range is unchanged.
    """
    try:
        return size_value(size_bytes(re.sub("(?<=[kmgtpKMGTP])[bB]$", "", text)))  # fio's kB is 1024 bytes
    except ValueError:
        return text


class Fio(Tool):
    """fio."""

    PROGRAMS = ("fio",)
    FATAL = ("validation_failed", "job_error", "no_io")
    SIGNATURE = b"fio-"
    INSTALL = "apt-get install fio, or dnf install fio"
    STARTER = """\
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

    def options(self) -> Mapping[str, Option]:
        """Return fio's options and aliases, except options with a `_reason`."""
        return _options()

    def problems(self, options: Mapping[str, Any]) -> list[Problem]:
        """Return mistakes in numbers, times and combinations of options. `options` are the options of one cell."""
        return list(_problems(options))

    def canonical(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options under fio's first name of each, times in seconds, sizes in bytes: 4k, 4K and 4096 are
        one."""
        return {_canonical(name): _plain(_canonical(name), value) for name, value in options.items()}

    def canonical_command(self, words: Sequence[str]) -> Sequence[str]:
        """Return the words with the options of each section sorted (`--name` begins a section).

        Only the last of repeated options remains.

        If there is only one section, options before its name belong to it.
        """
        program = next((i for i, word in enumerate(words) if PurePath(word).name == "fio"), len(words))
        options = words[program + 1 :]
        if not all(re.match(r"--\w[\w-]*(?:=|$)", word) for word in options):
            return words  # a job file, or an option with a separate value
        sections: list[dict[str, str]] = [{}]
        several = sum(word.startswith("--name=") for word in options) > 1
        for word in options:
            if several and word.startswith("--name="):
                sections.append({})
            name, given, value = word.removeprefix("--").partition("=")
            sections[-1][_canonical(name.replace("-", "_"))] = value if given else "1"
        ordered = (f"--{name}={value}" for section in sections for name, value in sorted(section.items()))
        return (*words[: program + 1], *ordered)

    def command(self, cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
        """Return one fio job.

        Raises UserError if fio would write to a foreign file or device without the user's permission. Raises Refused if
        an input is missing, or if this fio lacks an option.
        """
        given = dict(cell.options)
        known = program.notes.get("cmdhelp", "").split()
        if missing := sorted(
            name
            for name in given
            if known
            and not {name, _canonical(name)} & {*known, *_UNLISTED}
            and "engines" not in _catalogue()[_canonical(name)]
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
            planned_writes += (Write(path=folder, kind="scratch", size_bytes=_LOGS_BYTES, unit_bytes=_BLOCK_BYTES),)
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

    def version(self, text: str) -> str:
        match = re.search(r"^fio-(\S+)", text, re.MULTILINE)  # a wrapper script may print more
        return match[1] if match else ""

    def probe(self, path: str, ask: Ask) -> Probed:
        """Ask for the options that this fio knows."""
        names = re.findall(r"^ *([\w-]+) *:", ask.run((path, "--cmdhelp=all")), re.MULTILINE)
        return Probed(notes={"cmdhelp": " ".join(names)})

    def captured_options(self, given: Mapping[str, Scalar], parsed: Parsed) -> dict[str, Any]:
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


TOOL = Fio()
