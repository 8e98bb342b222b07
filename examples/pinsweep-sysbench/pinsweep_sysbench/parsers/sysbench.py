"""sysbench cpu and memory: events or operations a second, and the latency of an event."""

import re

from parsers.errors import ParseError
from parsers.measurement import Metric, Parsed, Taken, measurements

NAME, VERSION = "sysbench", 1
LABELS, PRINTED = ("statistic",), {"rate": 0.01, "latency": 10_000.0}
METRICS = {
    "rate": Metric(unit="1/s", better="higher", text="events"),
    "latency": Metric(unit="ns", better="lower", text="latency of an event"),
}
TAKEN = Taken(begins=(r"^sysbench \d",), program=r"\bsysbench\b")


def recognise(text):
    return text.startswith("sysbench ")


def parse(text, context=None):
    found = re.search(r"events per second: +([\d.]+)|Total operations: \d+ +\( *([\d.]+) per second\)", text)
    if not found:
        raise ParseError("sysbench's output", "no line with events or operations per second")
    rows = [((None,), "rate", float(found[1] or found[2]))]
    names = {"avg": "mean", "max": "max", "95th percentile": "p95"}
    latencies = re.findall(r"^ +(avg|max|95th percentile): +([\d.]+)$", text, re.MULTILINE)
    rows += [((names[name],), "latency", float(ms) * 1e6) for name, ms in latencies]
    return Parsed(tables={"measurements": measurements(LABELS, METRICS, rows)}, facts={"program": "sysbench"})
