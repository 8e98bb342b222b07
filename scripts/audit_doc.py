"""Write docs/audit.md out of the docstrings of the checks, so that it says what they do."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from reports.checks import checks

PAGE = Path(__file__).resolve().parents[1] / "docs" / "audit.md"

HEAD = """\
# Audit: numbers that cannot be true

```
pinsweep audit node07.db                 what was found, the gravest first
pinsweep audit old.db --level warn       without the notes
pinsweep audit old.db --format json      {"findings": [{id, level, title, check, sweep, where, cells, todo}]}
```

The same findings stand at the head of each report, and errors and warnings in a few lines after each run. Exit status 1
if one is an error.

| level | means |
|---|---|
| error | at least one number cannot be what it says |
| warn | a number says something else than it seems to |
| info | read the number so; nothing is wrong |

A check says nothing where the data does not carry it. Each is a function of `reports/checks`; this page is made of their
docstrings by `python scripts/audit_doc.py`.

Out of a lab report whose tables were taken in with `pinsweep parse` (docs/parsing.md); all that is found in three such
reports, beside what was known to be wrong with them, is in [audit-example.md](audit-example.md):

```
error F1  more or fewer I/Os in flight than were asked for
      rw=randwrite bs=4k iodepth=32 numjobs=8: 366.7 kIOPS × 933.9 µs = 342 in
        flight, 256 asked for: 1.34; at 366.7 kIOPS at most 698.1 µs are possible
error F2  the command and the results disagree on numjobs
      30 rows: the command says numjobs=16, the rows 8; L ÷ iodepth has median
        7.9: 8 jobs ran
warn  M1  latency above what a higher load had already reached
      mode=loaded_latency: delay 1300: 68.0 ns (1.13 × 60.2 ns); delay 1700:
        67.4 ns (1.12 × 60.2 ns)
warn  G1  an option that changed nothing
      mode=loaded_latency W=6 l=256: write nt: -l not given and -l 256 agree
        within 7.6 % in all loaded rows; of other traffic it changes the
        bandwidth by 70 %
```
"""

BY_DESIGN = """\
### F5: minima and maxima of a group

Under group_reporting fio's minima and maxima of bandwidth and IOPS are sums of each process' own (before 3.0 their means): never the
group's. By design they are shown nowhere; see docs/parsers/fio.md.
"""


def page() -> str:
    """Return docs/audit.md."""
    parts = [HEAD]
    for (_, heading), members in itertools.groupby(checks(), key=lambda check: check.family):
        parts.append(f"## {heading}\n")
        for check in members:
            levels = ", ".join(check.levels)
            parts.append(
                f"### {check.id}: {check.title}\n\n*{levels}*\n\n{check.text}\n\n**Do:** {check.todo}\n"
            )
            if check.id == "F4":
                parts.append(BY_DESIGN)
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote  {PAGE}", file=sys.stderr)
