from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import guess_parsers, lscpu
from parsers.errors import ParseError
from parsers.measurement import Parsed, Scalar
from parsers.text import decode

CORPUS = Path(os.environ.get("PINSWEEP_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))
PUBLISHED = CORPUS / "published"
needs_corpus = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="no corpus of published outputs here")

LIST = """Architecture:            x86_64
  CPU op-mode(s):        32-bit, 64-bit
  Byte Order:            Little Endian
CPU(s):                  8
  On-line CPU(s) list:   0-7
Vendor ID:               GenuineIntel
  Model name:            Intel(R) Xeon(R) CPU @ 2.30GHz
    CPU family:          6
    Model:               85
    Thread(s) per core:  2
    Core(s) per socket:  2
    Socket(s):           2
    Stepping:            4
    CPU max MHz:         3600.0000
    Flags:               fpu vme de
                          pse tsc
Caches (sum of all):
  L1d:                   128 KiB (4 instances)
  L2:                    4.5 MiB (4 instances)
  L3:                    32 MiB (1 instance)
NUMA:
  NUMA node(s):          2
  NUMA node0 CPU(s):     0-7
  NUMA node1 CPU(s):
Vulnerabilities:
  Spectre v1:            Not affected
"""
OLD = """Architecture:          x86_64
CPU(s):                2
On-line CPU(s) list:   0,1
Thread(s) per core:    1
Core(s) per socket:    2
Socket(s):             1
L1d cache:             32K
L2 cache:              256K
NUMA node0 CPU(s):     0,1
"""
PARSABLE = """# The following is the parsable format, which can be fed to other
# programs. Each different item in every column has an unique ID
# starting usually from zero.
# CPU,Core,Socket,Node,,L1d,L1i,L2,L3
0,0,0,0,,0,0,0,0
1,1,0,,,1,1,1,0
"""
LOCALISED = {
    "German": "Architektur:  x86_64\nCPU(s):  8\nListe der Online-CPU(s):0-7\nThread(s) pro Kern:  2\nKern(e) pro Socket:  4\nSockel:  1\nNUMA-Knoten:  1\nModellname:  Model X\nMaximale Taktfrequenz der CPU:3600,0000\nL1d Cache:  32K\nNUMA-Knoten0 CPU(s):  0-7\n",
    "French": "Architecture :  x86_64\nProcesseur(s) :  8\nListe de processeur(s) en ligne :  0-7\nThread(s) par cœur :  2\nCœur(s) par socket :  4\nSocket(s) :  1\nNœud(s) NUMA :  1\nNom de modèle :  Model X\nVitesse maximale du processeur en MHz : 3600,0000\nCache L1d :  32K\nNœud NUMA 0 de processeur(s) :  0-7\n",
    "Chinese": "架构：  x86_64\nCPU:  8\n在线 CPU 列表：  0-7\n每个核的线程数：  2\n每个座的核数：  4\n座：  1\nNUMA 节点：  1\n型号名称：  Model X\nCPU 最大 MHz：  3600.0000\nL1d 缓存：  32K\nNUMA 节点0 CPU：  0-7\n",
    "Japanese": "アーキテクチャ:  x86_64\nCPU(s):  8\nOn-line CPU(s) list:   0-7\nコアあたりのスレッド数:2\nソケットあたりのコア数:4\nSocket(s):  1\nNUMAノード:  1\nモデル名:  Model X\nCPU max MHz:  3600.0000\nL1d キャッシュ:   32K\nNUMAノード 0 CPU:   0-7\n",
}


def caches(parsed: Parsed) -> dict[tuple[Scalar, Scalar], Scalar]:
    return {(row["cache"], row["metric"]): row["value"] for row in parsed.measurements.records()}


def flags(parsed: Parsed) -> set[str]:
    return {flag.id for flag in parsed.flags}


INDEX = (PUBLISHED / "INDEX.tsv").read_text().splitlines() if PUBLISHED.is_dir() else []
MINE = [row for row in csv.DictReader(INDEX, delimiter="\t") if row["tool"] == "lscpu"]
FIELDS = {
    "cpus": "CPU(s)",
    "tpc": "Thread(s) per core",
    "cps": "Core(s) per socket",
    "sockets": "Socket(s)",
    "numa": "NUMA node(s)",
    "model": "Model name",
    "l3": "L3 cache",
}


@needs_corpus
@pytest.mark.parametrize("row", MINE, ids=lambda row: Path(row["file"]).stem)
def test_every_figure_that_a_person_read_off_the_corpus(row: dict[str, str]) -> None:
    parsed = lscpu.parse(decode((PUBLISHED / row["file"]).read_bytes()))
    fields: dict[Scalar, Scalar] = {}
    for entry in parsed.tables["fields"].records():
        fields.setdefault(entry["field"], entry.get("value"))  # the index has the first CPU type's

    for key, want in re.findall(r"(\S+)=(\S+)", row["expected"]):
        assert fields[FIELDS[key]] == want.replace("_", " ").replace("x86 64", "x86_64"), key


@needs_corpus
def test_the_corpus_is_named_lscpu_where_it_is_and_nowhere_else() -> None:
    texts = {
        p: decode(p.read_bytes()) for p in CORPUS.rglob("*") if p.suffix in (".txt", ".out", ".json", ".xml")
    }
    claimed = {p for p, text in texts.items() if lscpu.recognise(text)}
    assert {p for p in texts if p.parent.name == "lscpu"} == claimed
    for path in claimed:
        assert guess_parsers(texts[path]) == ("lscpu",), path.name


@needs_corpus
def test_the_forms_of_one_machine_agree() -> None:
    here = CORPUS / "generated" / "lscpu"
    parsed = {p.name: lscpu.parse(p.read_text()) for p in here.iterdir() if p.suffix in (".txt", ".json")}

    assert parsed["lscpu.txt"].facts == parsed["lscpu_J.json"].facts == parsed["lscpu_B.txt"].facts
    assert (
        parsed["lscpu.txt"].measurements
        == parsed["lscpu_J.json"].measurements
        == parsed["lscpu_B.txt"].measurements
    )
    assert parsed["lscpu_C.txt"].measurements == parsed["lscpu_CJ.json"].measurements
    assert (
        caches(parsed["lscpu_C.txt"])["L2", "size_total"] == caches(parsed["lscpu.txt"])["L2", "size_total"]
    )
    assert [row[:5] for row in parsed["lscpu_e.txt"].tables["cpus"].rows] == [
        (1, 1, 0, 0, 0),
        (1, 1, 1, 0, 0),
    ]
    assert parsed["lscpu_e.txt"].tables["cpus"] == parsed["lscpu_eJ.json"].tables["cpus"]


def test_the_list() -> None:
    parsed = lscpu.parse(LIST)

    assert parsed.facts == {
        "architecture": "x86_64",
        "byte_order": "Little Endian",
        "cpus": 8,
        "online_cpus": "0-7",
        "vendor": "GenuineIntel",
        "model_name": "Intel(R) Xeon(R) CPU @ 2.30GHz",
        "cpu_family": "6",
        "model": "85",
        "stepping": "4",
        "threads_per_core": 2,
        "cores_per_socket": 2,
        "sockets": 2,
        "numa_nodes": 2,
        "max_mhz": 3600.0,
    }
    assert caches(parsed) == {
        ("L1d", "size_total"): 128 * 1024,
        ("L1d", "instances"): 4,
        ("L2", "size_total"): 4.5 * 2**20,
        ("L2", "instances"): 4,
        ("L3", "size_total"): 32 * 2**20,
        ("L3", "size_each"): 32 * 2**20,
        ("L3", "instances"): 1,
    }
    assert parsed.tables["nodes"].rows == ((1, 0, "0-7"), (1, 1, ""))
    assert (1, 1, "Flags", "fpu vme de\npse tsc") in parsed.tables["fields"].rows
    assert (1, 1, "Spectre v1", "Not affected") in parsed.tables["fields"].rows
    assert flags(parsed) == set()


def test_old_sizes_are_of_one_cache_and_new_ones_of_all() -> None:
    assert caches(lscpu.parse(OLD)) == {("L1d", "size_each"): 32 * 1024, ("L2", "size_each"): 256 * 1024}
    parsed = lscpu.parse(OLD.replace("256K", "64 MiB"))
    assert ("L2", "size_each") not in caches(parsed)
    assert ("L2", "size_total") not in caches(parsed)
    assert flags(parsed) == {"size_of_what"}


def test_unknown_is_missing() -> None:
    parsed = lscpu.parse(LIST.replace("GenuineIntel", "-"))
    assert "vendor" not in parsed.facts
    assert parsed.facts["cpus"] == 8


def test_the_parsable_table() -> None:
    parsed = lscpu.parse(PARSABLE)
    assert parsed.tables["cpus"].columns == (
        "run",
        "table",
        "cpu",
        "core",
        "socket",
        "node",
        "column5",
        "l1d",
        "l1i",
        "l2",
        "l3",
    )
    assert parsed.tables["cpus"].rows == (
        (1, 1, 0, 0, 0, 0, None, 0, 0, 0, 0),
        (1, 1, 1, 1, 0, None, None, 1, 1, 1, 0),
    )


def test_offline_cpus_have_no_place() -> None:
    text = "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n  0    0      0    0 0:0:0:0          yes\n  1    -      -    - -               no\n"
    parsed = lscpu.parse(text)
    assert parsed.tables["cpus"].rows == (
        (1, 1, 0, 0, 0, 0, "0:0:0:0", True),
        (1, 1, 1, None, None, None, None, False),
    )


def test_several_cpu_types_have_no_common_model() -> None:
    little = (
        "  Model name:  A510\n    Thread(s) per core:  1\n    Core(s) per socket:  4\n    Socket(s):  1\n"
    )
    parsed = lscpu.parse(f"Architecture:  aarch64\nCPU(s):  8\n{little}{little.replace('A510', 'X3')}")

    assert parsed.facts == {"architecture": "aarch64", "cpus": 8, "threads_per_core": 1}
    assert flags(parsed) == {"several_types"}
    assert (1, 2, "Model name", "X3") in parsed.tables["fields"].rows


@pytest.mark.parametrize("language", LOCALISED)
def test_localised_fields_are_translated_back(language: str) -> None:
    parsed = lscpu.parse(LOCALISED[language])

    assert parsed.facts == {
        "architecture": "x86_64",
        "cpus": 8,
        "online_cpus": "0-7",
        "threads_per_core": 2,
        "cores_per_socket": 4,
        "sockets": 1,
        "numa_nodes": 1,
        "model_name": "Model X",
        "max_mhz": 3600.0,
    }
    assert caches(parsed) == {("L1d", "size_each"): 32 * 1024}
    assert parsed.tables["nodes"].rows == ((1, 0, "0-7"),)
    assert flags(parsed) == {"localised"}


def test_cpuinfo_above_is_not_taken_in() -> None:
    cpuinfo = "processor\t: 0\nmodel name\t: Other\ncpu MHz\t\t: 1.0\nCPU implementer\t: 0x41\n\n"
    assert lscpu.parse(cpuinfo + OLD).tables == lscpu.parse(OLD).tables


def test_two_machines_stay_apart() -> None:
    parsed = lscpu.parse(f"{LIST}\n$ ssh other lscpu\n{LIST.replace('x86_64', 'riscv64')}")
    assert {row["run"] for row in parsed.tables["fields"].records()} == {1, 2}
    assert "architecture" not in parsed.facts
    assert parsed.facts["cpus"] == 8


@pytest.mark.parametrize(
    "text", ["", "hello\n", "CPU: 8\n", "{}", '{"jobs": []}', "processor\t: 0\ncpu cores\t: 4\n"]
)
def test_another_text_is_refused_with_what_was_seen(text: str) -> None:
    assert not lscpu.recognise(text)
    with pytest.raises(ParseError, match="saw") as refusal:
        lscpu.parse(text)
    assert refusal.value.hint


def test_absurd_numbers_break_nothing() -> None:
    for old in ("8\n", "128 KiB", "(4 instances)", "3600.0000", "node1"):
        assert old in LIST
        for absurd in ("9" * 5000, "1e999", "²"):
            lscpu.parse(LIST.replace(old, f"{absurd}\n"))


@pytest.mark.parametrize("entry", ['{"data": "2"}', "3", "null", "[]"])
def test_json_of_another_shape_is_refused(entry: str) -> None:
    with pytest.raises(ParseError, match="JSON"):
        lscpu.parse('{"lscpu": [{"field": "CPU(s):", "data": "2"}, ' + entry + "]}")


def test_json_that_was_cut_is_refused() -> None:
    with pytest.raises(ParseError, match="JSON"):
        lscpu.parse('{"lscpu": [\n  {"field": "CPU(s):", "data": "2"},')


VARIANTS: dict[str, Callable[[str], str]] = {
    "crlf": lambda t: t.replace("\n", "\r\n"),
    "fenced": lambda t: f"Prose.\n```\n$ lscpu\n{t}```\n",
    "coloured": lambda t: "".join(f"\x1b[32m{line}\x1b[0m\n" for line in t.splitlines()),
    "indented": lambda t: "".join(f"    {line}\n" for line in t.splitlines()),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("text", [LIST, OLD, PARSABLE], ids=["list", "old", "parsable"])
def test_how_a_text_was_captured_changes_nothing(text: str, variant: str) -> None:
    captured = VARIANTS[variant](text)
    assert lscpu.recognise(captured)
    assert lscpu.parse(captured).tables == lscpu.parse(text).tables
    assert lscpu.parse(captured).facts == lscpu.parse(text).facts


@given(st.sampled_from([LIST.replace("\n                          ", " "), OLD, PARSABLE]), st.data())
def test_a_truncated_text_gives_a_subset_of_its_rows(text: str, data: st.DataObject) -> None:
    whole = lscpu.parse(text)
    cut = data.draw(st.integers(0, len(text)))
    try:
        parsed = lscpu.parse(text[:cut])
    except ParseError:
        return
    assert parsed.facts.items() <= whole.facts.items()
    for name, table in parsed.tables.items():
        if table.columns == whole.tables[name].columns:
            assert set(table.rows) <= set(whole.tables[name].rows)
        else:
            assert table.rows == ()


def test_the_documentation_names_everything_that_is_returned() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "parsers" / "lscpu.md").read_text()
    for name in (*lscpu.LABELS, *lscpu.METRICS, *(fact for fact, _ in lscpu.FACTS.values()), *lscpu._FLAGS):
        assert f"`{name}`" in text, name
