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
pinsweep audit node07.db                 findings, errors first
pinsweep audit old.db --level warn       without the notes
pinsweep audit old.db --format json      {"findings": [{id, level, check, sweep, where, cells: [{labels, arithmetic …}], todo …}]}
```

Each check has a line with its cells, an example and an advice. `--all` lists the cells. A report begins with the same findings, and a run ends
with their counts. Exit status 1: a finding is an error.

```
⚠ Repeats differ widely (G11)
  In 10 cells of 4 sweeps. For example, fio, rw=randread iodepth=32: 3 repeats, 13.4 to 46.9 kIOPS.
  Run more repeats (`repeats: auto`) on a quiet machine (`pinsweep doctor`), and quote the number with its range.
```

| level | means |
|---|---|
| error | a number cannot be true |
| warn | a number means something else |
| info | a remark |

Each check below has its rule, its levels, and its advice. A check without data reports nothing. `python scripts/audit_doc.py` makes this page from the docstrings of the checks.
[Three published reports](audit-example.md) show faults and the checks that found them.
"""

BY_DESIGN = """\
### F5: minima and maxima of a group

With group_reporting, fio's minima and maxima of bandwidth and IOPS are sums over the processes (before 3.0 means). pinsweep does not show them.
"""


def page() -> str:
    """Return docs/audit.md."""
    parts = [HEAD]
    for (_, heading), members in itertools.groupby(checks(), key=lambda check: check.family):
        parts.append(f"## {heading}\n")
        for check in members:
            levels = ", ".join(check.levels)
            parts.append(
                f"### {check.id}: {check.title}\n\n{check.text} *({levels})*\n\n> {check.todo[:1].upper()}{check.todo[1:]}\n"
            )
            if check.id == "F4":
                parts.append(BY_DESIGN)
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote  {PAGE}", file=sys.stderr)
