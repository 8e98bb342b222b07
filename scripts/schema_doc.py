"""Write docs/parsers/README.md: the labels and metrics of every parser, out of the parsers themselves."""

from __future__ import annotations

import sys
from pathlib import Path

from parsers import get_parser, parser_names

PAGE = Path(__file__).resolve().parents[1] / "docs" / "parsers" / "README.md"

HEAD = """\
# Labels and metrics of each parser

`python scripts/schema_doc.py` makes this page from the parsers. Every row of `measurements` has the labels of the tool, `metric`, `unit` and
`value`, in base units. A missing number is a missing row. A table of several runs also has the columns file, host, sweep, repeat, place and options.

| written by | read by |
|---|---|
| `pinsweep export r.db -o r.csv` | `pd.read_csv("r.csv")` |
| `pinsweep export r.db --format parquet -o r.parquet` | `pd.read_parquet("r.parquet")` |
| `pinsweep export r.db --format json -o r.json` | `pd.read_json("r.json", orient="records")` |
| `pinsweep export r.db --shape wide -o wide.csv` | `pd.read_csv("wide.csv")`; one column per metric and unit (`iops [1/s]`) |
| `pinsweep parse fio old.json --format csv > old.csv` | `pd.read_csv("old.csv")` |
| the result file | `pd.read_sql("SELECT * FROM run", sqlite3.connect("r.db"))` ([result file](../result-file.md)) |

The column `better` has the better direction.
"""


def page() -> str:
    """Return docs/parsers/README.md."""
    parts = [HEAD]
    for name in parser_names():
        parser = get_parser(name)
        own = PAGE.parent / f"{name}.md"
        title = f"[{name}]({name}.md)" if own.exists() else name
        labels = ", ".join(f"`{label}`" for label in parser.LABELS) or "none"
        parts.append(f"## {title}\n\nLabels: {labels}\n")
        if parser.METRICS:
            rows = [
                f"| `{key}` | {metric.unit} | {metric.better if metric.better != 'neither' else ''} | {metric.text} |"
                for key, metric in parser.METRICS.items()
            ]
            parts.append("\n".join(["| metric | unit | better | is |", "|---|---|---|---|", *rows]) + "\n")
        else:
            parts.append("Metrics: named by the experiment or by the columns of the table.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote  {PAGE}", file=sys.stderr)
