"""What of the possible the page's key numbers are: of the memory modules' rate, of the best that was measured there, of a disk's link. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orchestrator.machine.facts import PCIE_LINK
from reports.charts import chapter, chart_module
from reports.charts.chapter import Chapter
from reports.numbers.possible import Spot, memory_peak, spot
from reports.page.model import KeyNumber
from reports.report.key_numbers import doubted
from reports.results.convicted import Guilty
from reports.results.grouping import group_by
from reports.text import format as fmt

UNKNOWN = (
    "Share of the possible: needs the modules, which root’s dmidecode names where the firmware lists them."
)
"""What numbers of memory lack whose modules are not recorded."""


def with_shares(chapters: Mapping[str, Chapter], guilty: Guilty) -> dict[str, Chapter]:
    """Return the chapters, their key numbers with their share of what the machine could do, where that is known. guilty: what is
    doubted is the best of nothing."""
    every = [
        (number, at)
        for one in chapters.values()
        for number, at in (
            *((n, spot(n.runs[0])) for n in one.key_numbers if n.runs),
            *((s.number, _between(s)) for s in one.between_nodes),
        )
        if at and _moves_memory(number)
    ]
    sound = (not number.doubt for number in doubted((number for number, _ in every), guilty))
    at_spot = group_by(
        (one for one, is_sound in zip(every, sound, strict=True) if is_sound), lambda one: one[1]
    )
    best = {at: sorted((n for n, _ in of), key=lambda n: -n.merit) for at, of in at_spot.items()}
    return {
        tool: replace(
            chapter,
            key_numbers=tuple(
                replace(n, possible=_told(n, chapter.device_of(n), best), lacks=_lacks(n))
                for n in chapter.key_numbers
            ),
            between_nodes=tuple(
                replace(
                    s,
                    number=replace(
                        s.number, possible=_of_modules(s.number, s.target), lacks=_lacks(s.number)
                    ),
                )
                if s.source == s.target
                else s
                for s in chapter.between_nodes
            ),
        )
        for tool, chapter in chapters.items()
    }


def _between(told: chapter.Spot) -> Spot | None:
    """Return where a number is that one run gave of several nodes."""
    at = spot(told.number.runs[0])
    if at is None or told.source is None or told.target is None:
        return None
    return replace(at, cpus=frozenset({told.source}), memory=frozenset({told.target}))


def _moves_memory(number: KeyNumber) -> bool:
    """Is it a bandwidth of memory, of runs under pinsweep's eyes?"""
    runs = number.runs
    return bool(
        runs and not any(run.captured for run in runs)
        and number.unit.endswith("B/s") and chart_module(runs[0].tool).SECTION == "Memory"
    )  # fmt: skip


def _told(number: KeyNumber, device: str, best: Mapping[Spot, Sequence[KeyNumber]]) -> str:
    if _moves_memory(number):
        return "; ".join(filter(None, (_of_modules(number), _of_best(number, best))))
    return _of_link(number, device) if number.moves else ""


def _of_modules(number: KeyNumber, node: int | None = None) -> str:
    """Say "82 % of the 85.3 GB/s of its modules"; "" where they are not recorded. node: the one that it is of."""
    if not _moves_memory(number):
        return ""
    peaks = {memory_peak(run, node) for run in number.runs}
    peak = peaks.pop() if len(peaks) == 1 else None
    if not peak:
        return ""
    return _share(number.merit, peak.rate, f"of its modules{' (an even share)' if peak.shared else ''}")


def _lacks(number: KeyNumber) -> str:
    known = any(run.session.facts.get("dimms") for run in number.runs)
    return UNKNOWN if _moves_memory(number) and not known else ""


def _of_best(number: KeyNumber, best: Mapping[Spot, Sequence[KeyNumber]]) -> str:
    """Say "92 % of the best here (STREAM Triad, 69.7 GB/s)" of a number that is not it. best: of each spot, the best first."""
    at, own = spot(number.runs[0]), {*number.runs}
    most = next((n for n in best.get(at, ()) if own.isdisjoint(n.runs)), None) if at else None
    if most is None or most.merit <= number.merit:
        return ""
    return (
        f"{fmt.percent(number.merit / most.merit)} of the best here ({most.name}, {most.value} {most.unit})"
    )


def _of_link(number: KeyNumber, device: str) -> str:
    """Say "3.28 GB/s, 42 % of the 7.88 GB/s of its PCIe link" of I/Os that all went to one NVMe disk."""
    rates = {run.session.facts.get(PCIE_LINK.format(disk=device)) for run in number.runs}
    rate = rates.pop() if len(rates) == 1 else None
    apart = not number.unit.endswith("B/s")
    return _share(number.moves, float(rate), "of its PCIe link", moved=apart) if rate else ""


def _share(value: float, whole: float, of: str, *, moved: bool = False) -> str:
    """Say which part of `whole` (B/s) a value is; above all of it that this cannot be."""
    said = f"{fmt.percent(value / whole)} of the {fmt.quantity(whole, 'B/s')} {of}"
    said = f"{fmt.quantity(value, 'B/s')}, {said}" if moved else said
    return f"{said}: more than it can" if value > whole else said
