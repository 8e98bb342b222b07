"""The one or two numbers of a run that a person wants to see go by. No pandas: it stands in the run loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from parsers.measurement import Cell, Parsed
from reports.format import quantity, size

Row = Mapping[str, Cell]


def headline(tool: str, parsed: Parsed | None) -> str:
    """Return the figures of one run, e.g. "triad 29.2 GB/s"; empty if there are none."""
    if parsed is None:
        return ""
    rows = parsed.measurements.records()
    return _HEADLINES.get(tool, _any)(rows)


def _value(row: Row) -> float:
    value = row["value"]
    assert isinstance(value, float | int)
    return float(value)


def _text(row: Row) -> str:
    return quantity(_value(row), str(row["unit"]))


def _fio(rows: list[dict[str, Cell]]) -> str:
    parts = []
    for direction in ("read", "write", "trim", "mixed"):
        of = [row for row in rows if row.get("direction") == direction]
        iops = next((_value(r) for r in of if r["metric"] == "iops" and r.get("statistic") == "total"), None)
        if not iops:
            continue
        p99 = next(
            (r for m in ("lat", "clat") for r in of if r["metric"] == m and r.get("statistic") == "p99"), None
        )
        tail = f", p99 {_text(p99)}" if p99 else ""
        parts.append(f"{direction} {quantity(iops, 'IOPS')}{tail}")
    return "; ".join(parts)


def _mlc(rows: list[dict[str, Cell]]) -> str:
    latencies = [_value(row) for row in rows if row["metric"] == "latency"]
    rates = [_value(row) for row in rows if row["metric"] == "bandwidth"]
    parts = []
    if latencies:
        parts.append(f"latency {quantity(min(latencies), 'ns')} at least")
    if rates:
        parts.append(f"{quantity(max(rates), 'B/s')} at most")
    return ", ".join(parts)


def _stream(rows: list[dict[str, Cell]]) -> str:
    return next(
        (f"triad {_text(r)}" for r in rows if r["metric"] == "bandwidth" and r.get("kernel") == "triad"), ""
    )


def _imb(rows: list[dict[str, Cell]]) -> str:
    times = [row for row in rows if str(row["metric"]).startswith("time")]
    rates = [row for row in rows if row["metric"] == "bandwidth"]
    parts = []
    if times:
        first = min(times, key=lambda row: (_size(row), _value(row)))
        parts.append(f"{_text(first)} at {size(_size(first))}" if "message_size" in first else _text(first))
    if rates:
        best = max(rates, key=_value)
        parts.append(f"{_text(best)} at {size(_size(best))}")
    return ", ".join(parts)


def _size(row: Row) -> float:
    value = row.get("message_size")
    return float(value) if isinstance(value, int | float) else 0.0


def _poke(rows: list[dict[str, Cell]]) -> str:
    shown = []
    for statistic in ("p50", "p99.9"):
        row = next((r for r in rows if r["metric"] == "latency" and r.get("statistic") == statistic), None)
        if row:
            shown.append(f"{statistic} {_text(row)}")
    return ", ".join(shown) or _any(rows)


def _any(rows: list[dict[str, Cell]]) -> str:
    return ", ".join(f"{row['metric']} {_text(row)}" for row in rows[:3])


_HEADLINES: Mapping[str, Callable[[list[dict[str, Cell]]], str]] = {
    "fio": _fio, "mlc": _mlc, "stream": _stream, "imb": _imb, "poke": _poke,
}  # fmt: skip
