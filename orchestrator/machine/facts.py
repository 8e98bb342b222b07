"""Define the recorded facts of a machine: key in a session, words, and role. Pure.

`probe` reads the facts, a session stores them as JSON. The header of a page, compare, fleet, history, `--confirm` and
doctor use this table. Facts that differ between any two moments (uptime, load, free memory) or only name the machine
are not in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from parsers.units import size_bytes, size_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    key: str
    words: str
    line: str = ""  # header of the page and of doctor, or ""
    named: bool = False  # its words are before its value in that line
    held: bool = False  # it must be unchanged for a rerun to belong to that session
    hardware: bool = False  # it distinguishes kinds of machine; others may differ on a slow host among equals
    expected: bool = False  # a report mentions that it was not recorded

    def text(self, facts: Mapping[str, Any]) -> str:
        """Return the value as text, or "" if not recorded."""
        value = facts.get(self.key)
        if value is None:
            return ""
        if self.key == "dimms":
            return modules_text(memory_modules(facts)) or str(value)
        return size_text(value) if self.key.endswith("_bytes") else str(value)


FACTS: Final = (
    Fact(key="cpu_model", words="processor", line="Processor", held=True, hardware=True, expected=True),
    Fact(key="microcode", words="microcode", line="Processor", named=True, held=True, expected=True),
    Fact(key="system", words="system", line="System"),
    Fact(key="board", words="board", line="System"),
    Fact(key="hypervisor", words="hypervisor", line="System"),
    Fact(key="bios_vendor", words="firmware vendor", line="Firmware"),
    Fact(key="bios_version", words="firmware version", line="Firmware", held=True, expected=True),
    Fact(key="bios_date", words="firmware date", line="Firmware"),
    Fact(key="memory_bytes", words="memory", line="Memory", held=True, hardware=True, expected=True),
    Fact(key="cgroup_limits", words="cgroup limits:", line="Memory", named=True),
    Fact(key="dimms", words="memory modules", line="Memory", held=True, hardware=True, expected=True),
    Fact(key="os", words="operating system", line="Kernel"),
    Fact(key="kernel", words="kernel", line="Kernel", held=True, expected=True),
    Fact(key="kernel_version", words="kernel build", held=True),
    Fact(key="kernel_command_line", words="kernel command line", held=True),
    Fact(key="architecture", words="architecture"),
    Fact(key="governor", words="governor", line="Clocks", named=True, held=True, expected=True),
    Fact(key="frequency_driver", words="frequency driver", line="Clocks", named=True),
    Fact(key="turbo", words="turbo", line="Clocks", named=True, held=True, expected=True),
    Fact(key="smt", words="SMT", line="Clocks", named=True, held=True, expected=True),
    Fact(key="thp", words="huge pages", line="Paging", named=True, held=True, expected=True),
    Fact(key="numa_balancing", words="NUMA balancing", line="Paging", named=True, held=True, expected=True),
    Fact(key="page_cache", words="page cache", held=True),  # fact of a session, not of the machine
    Fact(key="aslr", words="ASLR", line="Paging", named=True),
    Fact(key="clocksource", words="clock source"),
    Fact(key="mitigations", words="mitigations", held=True),
    Fact(key="isolated_cpus", words="isolated CPUs"),
    Fact(key="nohz_full_cpus", words="tickless CPUs"),
    Fact(key="cpus_allowed", words="allowed CPUs"),
    Fact(key="mems_allowed", words="allowed memory nodes"),
    Fact(key="scratch_file_system", words="scratch file system"),  # fact of a session, as the next one
    Fact(key="scratch_source", words="device or server of the scratch files"),
    Fact(key="environment", words="environment"),
    Fact(key="libc", words="C library"),
)


MEMORY_SHARE: Final = 0.02
"""Difference up to which two memory sizes are equal, because kernels reserve different amounts."""


def changed(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[Fact, str, str]]:
    """Return the changed facts that must not change, each with both texts.

    A fact that is missing on one side is unchanged.
    """
    changes = []
    for fact in FACTS:
        before, after = fact.text(then), fact.text(now)
        if not fact.held or not before or not after or before == after:
            continue
        if fact.key != "memory_bytes" or abs(then[fact.key] / now[fact.key] - 1) > MEMORY_SHARE:
            changes.append((fact, before, after))
    return changes


def unrecorded(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[Fact]:
    """Return the identifying facts that are known now and missing in a session.

    The session cannot be from this machine.
    """
    identity = ("cpu_model", "microcode", "bios_version", "memory_bytes", "kernel")
    return [fact for fact in FACTS if fact.key in identity and fact.text(now) and not fact.text(then)]


def short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"


def lines(facts: Mapping[str, Any], in_nodes: int | None = None) -> dict[str, str]:
    """Return the lines of a header, such as "Clocks": "governor performance, turbo on". Empty if nothing was recorded.

    in_nodes: the total memory (B) of the NUMA nodes, None if unknown. Memory that was added to a running machine may
    not be in a node.
    """
    parts: dict[str, list[str]] = {fact.line: [] for fact in FACTS if fact.line}
    for fact in FACTS:
        if fact.line and (text := fact.text(facts)):
            parts[fact.line].append(f"{fact.words} {text}" if fact.named else text)
            whole = facts["memory_bytes"] if fact.key == "memory_bytes" else 0
            if whole and in_nodes and abs(in_nodes / whole - 1) > MEMORY_SHARE:
                in_text = f" in all, {size_text(in_nodes)} in the NUMA nodes that the kernel lists"
                parts[fact.line][-1] += in_text
    if tuned := facts.get("tuned"):  # only in a session, because an untuned machine lacks this fact
        parts["Clocks"].append(f"set by --tune: {tuned}")
    if facts.get("page_cache", "kept") != "kept":
        parts["Paging"].append(f"page cache {facts['page_cache']} (--drop-caches)")
    return {line: ", ".join(texts) for line, texts in parts.items()}


# --- links -------------------------------------------------------------------------------------------------

PCIE_LINK: Final = "pcie_link_{disk}_bytes_per_s"
"""The fact of an NVMe disk's link: peak in one direction, as negotiated."""


def pcie_rate(transfers: float, width: int) -> float:
    """Return the peak of a PCIe link in one direction (B/s): transfers (GT/s) × width ÷ 8, minus the encoding.

    The encoding has 8 of 10 bits up to 5 GT/s, 128 of 130 up to 32, 242 of 256 bytes above. 16 GT/s × 4: 7.88 GB/s.
    Packet headers are not subtracted.
    """
    code = 0.8 if transfers <= 5 else 128 / 130 if transfers <= 32 else 242 / 256
    return transfers * 1e9 * width * code / 8


# --- memory modules ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryModule:
    """The content of one slot."""

    size_bytes: int  # 0: it is empty
    type: str = ""  # "DDR4"
    rate_mts: int | None = None  # million transfers a second, as configured
    slot: str = ""  # the board's name of it: "P0 CHANNEL A DIMM_A1"


_SENTENCE: Final = re.compile(
    r"(?<!\d)(\d{1,9}) (?:× (\d{1,9} [kMGT])B(?: ([^\d,][^,]{0,80}?))?(?: (\d{1,9}) (?:MT/s|MHz))?|slots? empty)(?=, |$)"
)


def memory_modules(facts: Mapping[str, Any]) -> tuple[MemoryModule, ...]:
    """Return the memory slots in a session's facts, or ().

    Older files have them as a sentence: "2 × 32 GB DDR4 3200 MT/s, 14 slots empty".
    """
    recorded = facts.get("dimms") or ()
    if not isinstance(recorded, str):
        return tuple(MemoryModule(**module) for module in recorded)
    return tuple(
        MemoryModule(size_bytes=size_bytes(size or "0"), type=kind, rate_mts=int(rate) if rate else None)
        for number, size, kind, rate in _SENTENCE.findall(recorded)
        for _ in range(int(number))
    )


def modules_text(modules: Iterable[MemoryModule]) -> str:
    """Return "2 × 32 GiB DDR4 3200 MT/s, 14 slots empty": by size, empty slots last."""
    counts = Counter((not m.size_bytes, m.size_bytes, m.type, m.rate_mts or 0) for m in modules)
    texts = []
    for (empty, size, kind, rate), n in sorted(counts.items()):
        words = " ".join(filter(None, (size_text(size), kind, f"{rate} MT/s" if rate else "")))
        texts.append(f"{n} slot{'s' if n > 1 else ''} empty" if empty else f"{n} × {words}")
    return ", ".join(texts)
