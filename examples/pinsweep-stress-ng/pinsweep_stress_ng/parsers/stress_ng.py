"""stress-ng --metrics-brief: bogo operations a second, a line a stressor."""

import re

from parsers.errors import ParseError
from parsers.measurement import Metric, Parsed, Taken, measurements

NAME = "stress-ng"
VERSION = 1
PRINTED = {"rate": 0.01}
LABELS = ("stressor",)
METRICS = {"rate": Metric(unit="1/s", better="higher", text="bogo operations by wall time")}
TAKEN = Taken(begins=(r"^stress-ng: info:",), program=r"\bstress-ng\b")

_ROW = re.compile(r"(?m)^stress-ng: (?:metrc|info): +\[\d+\] (\S+)(?: +[\d.]+){4} +([\d.]+) +[\d.]+")


def recognise(text):
    return text.startswith("stress-ng:") and "bogo ops" in text


def parse(text, context=None):
    rows = [((stressor,), "rate", float(rate)) for stressor, rate in _ROW.findall(text)]
    if not rows:
        raise ParseError("stress-ng's output", "no stressor with its rates; give it --metrics-brief")
    tables = {"measurements": measurements(LABELS, METRICS, rows)}
    return Parsed(tables=tables, facts={"program": "stress-ng"})
