"""What a report holds beside the outputs that were read is said: which lines, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.capture.intake import Captured, Left, intake_options, read

NUMACTL = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1
node 0 size: 100 MB
node 0 free: 50 MB
node 1 cpus: 2 3
node 1 size: 100 MB
node 1 free: 50 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
"""
PINGPONG = """\
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.22         0.00
            1         1000         0.22         4.54
            8         1000         0.23        34.78
"""
STREAM = """\
`OMP_NUM_THREADS=1 numactl --membind 0 ./stream_omp.x | grep Triad`

|threads | local (MB/s) | remote (MB/s)|
|:--:|:--:|:--:|
|  1 | 13875.2 | 10187.3 |
|  2 | 20670.1 | 17149.0 |
|  3 | 22458.5 | 19797.9 |
"""
FIO = """\
Command "sudo fio --rw=randread --bs=4k"

Iodepth\tBs\tIops avg\tLatency(usec)
1\t4k\t72613\t93.3
4\t4k\t132017\t194.04
8\t4k\t145645\t344.06

32\t4k\t150072\t1329.96
64\t4k\t150073\t2329.96
128\t4k\t150074\t5329.96
"""


def beside(tmp_path: Path, text: str, tool: str | None = None, columns: str = "") -> tuple[list[str], list[str]]:
    """Return the tools that were read, and what was not: "lines 9 to 11: a table of stream"."""
    (tmp_path / "r.txt").write_text(text)
    asked = intake_options(tool, [], [], columns, "", whole=bool(columns))
    items = list(read([str(tmp_path / "r.txt")], asked))
    left = [item for item in items if isinstance(item, Left)]
    assert not any(item.failed for item in left)
    named = [f"{item.name.partition(', ')[2]}: {item.reason.partition(' that ')[0]}" for item in left]
    return [item.tool for item in items if isinstance(item, Captured)], named


def test_a_table_that_somebody_typed_is_said(tmp_path: Path) -> None:
    found = beside(tmp_path, PINGPONG + "\n" + STREAM)

    assert found == (["imb"], ["lines 14 to 16: a table of stream"])


def test_a_table_of_a_program_that_is_not_read_is_called_by_its_name(tmp_path: Path) -> None:
    rows = "MemTotal  6362.20  6362.20\nMemFree  4132.20  4132.20\nMemUsed  2230.00  2230.00\n"
    printed = f"\nPer-node system memory usage (in MBs):\n  Node 0  Total\n  ------- -------\n{rows}"

    assert beside(tmp_path, PINGPONG + printed) == (
        ["imb"],
        ["lines 13 to 15: the output of numastat with options, which is not read"],
    )


def test_its_hint_names_the_columns_to_be_given(tmp_path: Path) -> None:
    (tmp_path / "two words.txt").write_text(PINGPONG + STREAM)

    *_, left = read([str(tmp_path / "two words.txt")], intake_options(None, [], [], "", ""))

    assert isinstance(left, Left)
    assert "what its 3 columns hold" in left.reason
    assert f"pinsweep parse '{tmp_path}/two words.txt' --tool stream --columns" in left.reason


def test_what_was_read_as_a_table_is_not_said(tmp_path: Path) -> None:
    columns = "threads, local:bandwidth[MB/s], remote:bandwidth[MB/s]"

    assert beside(tmp_path, PINGPONG + STREAM, "stream", columns) == (["imb", "stream"], [])


def test_tables_of_one_form_are_said_once(tmp_path: Path) -> None:
    assert beside(tmp_path, PINGPONG + FIO + FIO) == (
        ["imb"],
        ["lines 12 to 14 and 3 more of this form: a table of fio"],
    )


@pytest.mark.parametrize("text", [PINGPONG, NUMACTL, PINGPONG + "at 1 GB/s and 2 GB/s\n  1  2\n  3  4\nit ends\n"])
def test_nothing_is_said_where_all_was_read(text: str, tmp_path: Path) -> None:
    assert beside(tmp_path, text)[1] == []


def test_what_describes_the_machine_beside_a_run_is_said_of_the_first_text(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(NUMACTL + PINGPONG)

    items = list(read([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")], intake_options(None, [], [], "", "")))

    (left,) = [item for item in items if isinstance(item, Left)]
    assert left.name == f"{tmp_path / 'a.txt'}, lines of numactl"
    assert f"pinsweep parse numactl {tmp_path / 'a.txt'}" in left.reason


def test_of_what_one_tool_was_asked_for_the_rest_is_said_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    path.write_text("\n".join([NUMACTL, PINGPONG, STREAM, FIO]))

    for tool, columns, rest in (
        ("imb", "", "output of numactl, a table of stream that somebody typed (lines 26 to 28), a table of fio that somebody typed (lines 33 to 35 and 1 more of this form)"),
        ("stream", "threads, local:bandwidth[MB/s], remote:bandwidth[MB/s]", "output of imb, output of numactl, a table of fio that somebody typed (lines 33 to 35 and 1 more of this form)"),
    ):  # fmt: skip
        *_, left = read([str(path)], intake_options(tool, [], [], columns, ""))
        assert isinstance(left, Left)
        assert (left.name, left.failed) == (f"{path}, the rest", False)
        assert left.reason == f"not asked for: {rest} (pinsweep parse {path} says how each is read)"
