from __future__ import annotations

from parsers import osu
from parsers.measurement import Parsed, Scalar

LATENCY = """\
# OSU MPI Latency Test v5.6.2
# Size          Latency (us)
0                       1.27
1                       1.25
4194304               405.18
"""
RATE = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v5.7
# [ pairs: 15 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1                       6.39        6385003.80
4194304             12111.05           2887.50
"""
FULL = """\

# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_FLOAT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations  P50 Tail Lat(us)  P99 Tail Lat(us)
4                       1.36              1.20              1.52        1000              1.30              2.25
8                       1.40              1.25              1.55        1000              1.33              2.50
"""
BLOCKS = """\
# OSU MPI Non-blocking Allreduce Latency Test v5.6.2
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
4                       2.59              1.28              1.22              0.00
8                       2.60              1.30              1.25             12.50
"""
BARRIER = """\
# OSU MPI Barrier Latency Test v5.6
# Avg Latency(us)
             1.41
"""
PUT = """\
# OSU MPI_Put-CUDA Latency Test v6.1
# Window creation: MPI_Win_allocate
# Synchronization: MPI_Win_flush
# Rank 0 Memory on DEVICE (D) and Rank 1 Memory on HOST (H)
# Size          Latency (us)        Validation
1                       1.70              Pass
2                       1.71              Fail
"""


def value(parsed: Parsed, **labels: Scalar) -> float:
    rows = parsed.measurements.records()
    (found,) = [r["value"] for r in rows if all(r.get(k) == v for k, v in labels.items())]
    return float(found or 0)


def test_point_to_point() -> None:
    parsed = osu.parse(LATENCY)

    assert value(parsed, message_size=0) == 1270.0
    assert value(parsed, message_size=4194304, metric="latency", statistic="mean") == 405180.0
    assert {r["benchmark"] for r in parsed.measurements.records()} == {"MPI Latency Test"}
    assert parsed.facts["tool_version"] == "5.6.2"
    assert parsed.flags == ()


def test_message_rate() -> None:
    parsed = osu.parse(RATE)

    assert value(parsed, message_size=1, metric="bandwidth") == 6.39e6
    assert value(parsed, message_size=4194304, metric="message_rate") == 2887.5
    about = parsed.tables["benchmarks"].records()[0]
    assert (about["pairs"], about["window"]) == (15, "64")


def test_full_columns_and_tails() -> None:
    parsed = osu.parse(FULL)

    found = {
        s: value(parsed, message_size=8, metric="latency", statistic=s) for s in ("mean", "min", "max", "p50", "p99")
    }
    assert found == {"mean": 1400.0, "min": 1250.0, "max": 1550.0, "p50": 1330.0, "p99": 2500.0}
    assert value(parsed, message_size=8, metric="iterations") == 1000
    assert parsed.tables["benchmarks"].records()[0]["datatype"] == "MPI_FLOAT"


def test_overlap_may_be_zero() -> None:
    parsed = osu.parse(BLOCKS)

    assert value(parsed, message_size=4, metric="overlap") == 0.0
    assert value(parsed, message_size=8, metric="overlap") == 0.125
    assert value(parsed, message_size=8, metric="time_pure") == 1250.0


def test_a_barrier_has_no_size() -> None:
    assert value(osu.parse(BARRIER), metric="latency") == 1410.0
    assert "message_size" not in osu.parse(BARRIER).measurements.records()[0]


def test_validation() -> None:
    parsed = osu.parse(PUT)

    assert [flag.text for flag in parsed.flags] == ["MPI_Put-CUDA Latency Test: wrong data at 2 bytes"]
    assert value(parsed, message_size=2, metric="latency") == 1710.0
    about = parsed.tables["benchmarks"].records()[0]
    assert (about["creation"], about["synchronization"]) == ("MPI_Win_allocate", "MPI_Win_flush")


def test_init_and_atomics() -> None:
    parsed = osu.parse("# OSU MPI Init Test v5.8\nnprocs: 2, min: 118 ms, max: 121 ms, avg: 119 ms\n")
    assert value(parsed, metric="init_time", statistic="mean") == 119e6
    text = "# OSU OpenSHMEM Atomic Operation Rate Test v5.6\n# Operation       Million ops/s      Latency (us)\nshmem_int_fadd              2.50              0.40\n"
    parsed = osu.parse(text)
    assert value(parsed, operation="shmem_int_fadd", metric="operation_rate") == 2.5e6
    assert value(parsed, operation="shmem_int_fadd", metric="latency") == 400.0


def test_a_run_that_mpi_aborts_says_so() -> None:
    assert osu.parse(LATENCY + "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\n").has("aborted")


def test_lines_of_others_are_left_out() -> None:
    text = LATENCY.replace(
        "1                       1.25\n",
        "node1: link down 12\n[17] 4\n1                       1.25\n12 13 14\n",
    )

    assert osu.parse(text) == osu.parse(LATENCY)


def test_zero_and_nan_are_no_rows() -> None:
    parsed = osu.parse(RATE.replace("6.39", "0.00").replace("2887.50", "inf"))

    assert [(r["message_size"], r["metric"]) for r in parsed.measurements.records()] == [
        (1, "message_rate"),
        (4194304, "bandwidth"),
    ]
    assert parsed.has("not_finite")
