"""Write docs/audit.md out of the docstrings of the checks, so that it says what they do."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Final

from reports.checks import checks

PAGE = Path(__file__).resolve().parents[1] / "docs" / "audit.md"
EXAMPLE = PAGE.with_name("audit-example.md")
QUOTED: Final = ("error F1", "error F2", "warn  M1", "warn  G1")
"""Findings of the example that the page shows."""

HEAD = """\
# Audit: numbers that cannot be true

```
pinsweep audit node07.db                 what was found, the gravest first
pinsweep audit old.db --level warn       without the notes
pinsweep audit old.db --format json      {"findings": [{id, level, title, check, sweep, where, cells: [{labels, arithmetic …}], todo …}]}
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
{excerpt}
```
"""

BY_DESIGN = """\
### F5: minima and maxima of a group

Under group_reporting fio's minima and maxima of bandwidth and IOPS are sums of each process' own (before 3.0 their means): never the
group's. By design they are shown nowhere; see docs/parsers/fio.md.
"""


def excerpt() -> str:
    """Return the QUOTED findings as docs/audit-example.md has them, without what to do."""
    found = EXAMPLE.read_text(encoding="utf-8").partition("<!-- 004 -->\n```\n")[2].partition("\n```")[0]
    blocks = {block[:8]: block.partition("\n      →")[0] for block in found.split("\n\n")}
    return "\n".join(blocks[head] for head in QUOTED)


def page() -> str:
    """Return docs/audit.md."""
    parts = [HEAD.replace("{excerpt}", excerpt())]
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
