"""Feed the parsers what no tool printed, guided by the code that it reaches: only ParseError may come out.

    python -m venv /tmp/fuzz && /tmp/fuzz/bin/pip install atheris pyyaml
    PYTHONPATH=. /tmp/fuzz/bin/python scripts/fuzz_parsers.py -max_total_time=600

Atheris is Google's; it is no dependency of ours. Its seeds are the captured outputs of tests/fixtures and those of
PINSWEEP_CORPUS; its own corpus is kept in --keep (a new folder of /tmp). What breaks a parser is written to
tests/fixtures/fuzz/, as TOOL-HASH.txt, where tests/parsers/test_fuzz.py reads it from then on. All other words go to libFuzzer.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOUND = ROOT / "tests" / "fixtures" / "fuzz"
LIMIT_S = 2.0
"""CPU time for an input below LONGEST: no parser may take longer."""
LONGEST = 100_000

CONTEXTS: dict[str, dict[str, Any]] = {
    "table": {"tool": "stream", "columns": "threads, local:bandwidth[MB/s], -, remote:bandwidth[GB/s]"},
    "command": {"metrics": {"a": {"regex": r"(?P<value>\d{1,9}) ?MB", "unit": "MB/s"}, "b": {"json": "jobs[0].read.iops", "unit": "1/s"}}},
}  # fmt: skip
"""What a parser must be told before it reads anything."""


WORDS = (
    b"0",
    b"-1",
    b"inf",
    b"nan",
    b"-nan",
    b"1e999",
    b"1,5",
    b"9" * 30,
    b"0" * 5000,
    b"2147483648",
    b"18446744073709551615",
    b"-",
    b"",
    b" ",
    b"1.#INF",
)
FRAMES = (
    b"> ",
    b"| ",
    b"\t",
    b"0: ",
    b"[0] ",
    b"[1,0]<stdout>:",
    b"\x1b[31m",
    b"\r",
    b"# ",
    b"2024-01-01T00:00:00 ",
    b"\xef\xbb\xbf",
    b"~$ ",
    b"```",
)
ENDS = (b"", b"\r", b" |", b"\x1b[0m", b"\x08", b" \\", b"\x00", b";", b",")


def check(name: str, text: str) -> None:
    """Let one parser read a text, and what is made of it for a result file. Raises whatever should not have been raised."""
    from orchestrator.capture import cut
    from orchestrator.store.readings import compact
    from parsers import get_parser, taken
    from parsers.errors import ParseError

    parser = get_parser(name)
    parser.recognise(text)
    context = CONTEXTS.get(name, {})
    try:
        parsed = parser.parse(text, context)
    except ParseError as error:
        assert str(error)  # noqa: PT017 (not a test)
        return
    for table in parsed.tables.values():
        for row in table.rows:
            assert len(row) == len(table.columns), row
            assert all(isinstance(cell, str | int | float | None) and cell == cell for cell in row), row
    columns = parsed.measurements.columns
    for record in (dict(zip(columns, row, strict=True)) for row in parsed.measurements.rows):
        assert isinstance(record["value"], float), record
        assert abs(record["value"]) < float("inf"), record
        assert context or record["metric"] in parser.METRICS, record
    compact(parsed, Path("fuzz"))
    if name in CONTEXTS:
        return
    cut.options(name, parsed)
    data = text.encode("utf-8", "replace")
    pieces = cut.cut(name, data, parsed)
    assert b"".join(pieces) == data
    for reading in taken(name).parts(parsed):
        parser.parse(text, reading)


def seeds() -> Iterator[tuple[str, bytes]]:
    """Yield (parser, text) of every output that is at hand."""
    folders = [ROOT / "tests" / "fixtures"]
    if corpus := os.environ.get("PINSWEEP_CORPUS"):
        folders += [Path(corpus) / "published", Path(corpus) / "generated"]
    for folder in folders:
        for path in sorted(folder.glob("*/*")):
            tool = path.parent.name if path.parent.name != "fuzz" else path.name.partition("-")[0]
            if path.suffix not in (".csv", ".toml", ".tsv", ".md"):
                yield tool, path.read_bytes()[: LONGEST // 4]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--keep", type=Path, help="the fuzzer's own corpus, to go on with")
    words.add_argument("--tool", action="append", help="only this parser; may be repeated")
    options, rest = words.parse_known_args()

    import atheris

    with atheris.instrument_imports(include=["parsers", "orchestrator.capture.cut"]):
        from orchestrator.capture import cut  # noqa: F401
        from parsers import get_parser, parser_names
        from parsers.text import decode

        names = options.tool or list(parser_names())
        for name in names:
            get_parser(name)

    kept = options.keep or Path(tempfile.mkdtemp(prefix="fuzz-"))
    kept.mkdir(parents=True, exist_ok=True)
    for tool, data in seeds():
        if tool in names:
            seed = bytes([names.index(tool)]) + data
            (kept / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)

    def one(data: bytes) -> None:
        if not data:
            return
        name, text = names[data[0] % len(names)], decode(data[1:])
        begun = time.process_time()
        try:
            check(name, text)
            took = time.process_time() - begun
            assert took < LIMIT_S, f"{took:.1f} s for {len(data)} bytes"
        except BaseException:
            FOUND.mkdir(exist_ok=True)
            path = FOUND / f"{name}-{hashlib.sha256(data[1:]).hexdigest()[:8]}.txt"
            path.write_bytes(data[1:])
            print(f"wrote  {path}", file=sys.stderr)
            raise

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        """Every other time change whole lines and words, as people and machines do; else bytes, as libFuzzer does."""
        order = random.Random(seed)
        if order.random() < 0.5 or not data:
            return atheris.Mutate(data, longest)  # type: ignore[no-any-return]
        lines = data[1:].split(b"\n")
        at, other = order.randrange(len(lines)), order.randrange(len(lines))
        match order.randrange(6):
            case 0:
                lines.insert(at, lines[other])
            case 1:
                lines[at : at + order.randrange(1, 9)] = []
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at:at] = lines[other : other + order.randrange(1, 40)]
            case 4:
                words = re.split(rb"([0-9.]+)", lines[at])
                words[order.randrange(len(words))] = order.choice(WORDS)
                lines[at] = b"".join(words)
            case 5:
                lines[at] = order.choice(FRAMES) + lines[at] + order.choice(ENDS)
        return (data[:1] + b"\n".join(lines))[:longest]

    limits = [f"-max_len={LONGEST}", "-rss_limit_mb=2048", "-timeout=60", "-artifact_prefix=/tmp/"]
    atheris.Setup([sys.argv[0], str(kept), *limits, *rest], one, custom_mutator=mutate)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
