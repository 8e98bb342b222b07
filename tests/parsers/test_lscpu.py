from __future__ import annotations

import pytest

from parsers import lscpu
from parsers.errors import ParseError
from parsers.measurement import Parsed, Scalar

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
    little = "  Model name:  A510\n    Thread(s) per core:  1\n    Core(s) per socket:  4\n    Socket(s):  1\n"
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


@pytest.mark.parametrize("entry", ['{"data": "2"}', "3", "null", "[]"])
def test_json_of_another_shape_is_refused(entry: str) -> None:
    with pytest.raises(ParseError, match="JSON"):
        lscpu.parse('{"lscpu": [{"field": "CPU(s):", "data": "2"}, ' + entry + "]}")


def test_json_that_was_cut_is_refused() -> None:
    with pytest.raises(ParseError, match="JSON"):
        lscpu.parse('{"lscpu": [\n  {"field": "CPU(s):", "data": "2"},')
