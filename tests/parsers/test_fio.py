from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import fio
from parsers.errors import ParseError
from parsers.fio.report import bucket, bucket_of_index, percentile
from parsers.measurement import Parsed, Scalar
from parsers.text import decode

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "fio"


def fixture(name: str) -> str:
    return decode((FIXTURES / f"{name}.out").read_bytes())


def values(parsed: Parsed, **labels: Scalar) -> list[float]:
    rows = parsed.measurements.records()
    return [float(r["value"] or 0) for r in rows if all(r.get(k) == v for k, v in labels.items())]


def value(parsed: Parsed, **labels: Scalar) -> float:
    (found,) = values(parsed, **labels)
    return found


def records(parsed: Parsed, table: str) -> list[dict[str, Scalar]]:
    return parsed.tables[table].records()


def direction(**more: Any) -> dict[str, Any]:
    """Return a direction of fio 3.x in which 1000 I/Os of 4 KiB took 100 µs each."""
    clat = {"min": 90_000, "max": 200_000, "mean": 100_000.0, "stddev": 5.0, "N": 1000}
    return {
        "io_bytes": 4_096_000, "io_kbytes": 4000, "bw_bytes": 4_096_000, "bw": 4000, "iops": 1000.0, "runtime": 1000,
        "total_ios": 1000, "slat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}, "clat_ns": clat,
        "lat_ns": clat,
    } | more  # fmt: skip


def report(*jobs: dict[str, Any], **more: Any) -> str:
    document = {"fio version": "fio-3.36", "jobs": list(jobs)} | more
    return json.dumps(document, indent=2) + "\n"


# --- the corpus -----------------------------------------------------------------------------------


# --- cut and changed texts ------------------------------------------------------------------------

WHOLE = {path.stem: fixture(path.stem) for path in FIXTURES.glob("*.out")}


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_two_outputs_in_one_file_are_two_documents(name: str) -> None:
    once, twice = fio.parse(WHOLE[name]), fio.parse(WHOLE[name] + WHOLE[name])

    if once.facts["format"] == "terse":  # a line is a line: nothing says where a run ends
        assert twice.facts["jobs"] == 2
    elif twice.facts["documents"] == 2:
        assert len(twice.measurements.rows) == 2 * len(once.measurements.rows)
    else:  # the same process number: what --status-interval prints
        assert once.facts["format"] == "normal"
        assert twice.has("status_interval")


def test_an_error_says_what_fio_said() -> None:
    with pytest.raises(ParseError, match="engine nosuch not loadable"):
        fio.parse("fio: engine nosuch not loadable\n")
    with pytest.raises(ParseError, match="printed no result"):
        fio.parse(
            "kill: (g=0): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=psync, iodepth=1\nfio-2.2.10\nStarting 1 process\n"
        )


# --- what zero means ------------------------------------------------------------------------------


def test_zeros_that_were_not_measured_are_no_rows() -> None:
    unused = dict.fromkeys(("io_bytes", "io_kbytes", "bw_bytes", "bw", "iops", "runtime", "total_ios"), 0)
    parsed = fio.parse(report({"jobname": "a", "error": 0, "read": direction(), "write": unused}))

    assert values(parsed, direction="write") == []
    assert values(parsed, metric="slat") == []
    assert value(parsed, direction="read", metric="clat", statistic="mean") == 100_000.0


def test_disabled_latency_is_said() -> None:
    off = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    parsed = fio.parse(report({"jobname": "a", "error": 0, "read": direction(clat_ns=off, lat_ns=off)}))

    assert parsed.has("no_latency")
    assert values(parsed, metric="lat") == []


def test_a_minimum_that_never_was_one_is_no_number() -> None:
    parsed = fio.parse(report({"jobname": "a", "error": 0, "read": direction(bw_min=2**64 - 1, bw_max=9, bw_mean=5.0)}))

    assert values(parsed, metric="bandwidth", statistic="min") == []
    assert value(parsed, metric="bandwidth", statistic="max") == 9 * 1024


def test_one_sample_has_no_deviation() -> None:
    one = {"min": 7, "max": 7, "mean": 7.0, "stddev": 0.0, "N": 1}
    parsed = fio.parse(report({"jobname": "a", "error": 0, "read": direction(clat_ns=one)}))

    assert values(parsed, metric="clat", statistic="sd") == []
    assert value(parsed, metric="clat", statistic="mean") == 7


def test_a_failed_job_and_an_idle_one_are_flagged() -> None:
    parsed = fio.parse(report({"jobname": "bad", "error": 28, "read": {}}, {"jobname": "idle", "error": 0, "read": {}}))

    assert parsed.measurements.rows == ()
    assert [flag.text for flag in parsed.flags] == [
        "job 'bad' failed with errno 28 (ENOSPC)",
        "job 'idle' did no I/O",
    ]
    assert [r["error"] for r in records(parsed, "jobs")] == [28, 0]


# --- versions -------------------------------------------------------------------------------------


def old(**more: Any) -> dict[str, Any]:
    clat = {
        "min": 0,
        "max": 200,
        "mean": 100.0,
        "stddev": 5.0,
        "percentile": {"99.000000": 150, "99.990000": 199, "0.00": 0},
    }
    return {"io_bytes": 4000, "bw": 3906, "iops": 1000, "runtime": 1024, "clat": clat, "lat": clat} | more


def test_before_3_0_latencies_are_in_us_and_io_bytes_in_kib() -> None:
    parsed = fio.parse(report({"jobname": "a", "error": 0, "read": old()}, **{"fio version": "fio-2.1.4"}))

    assert value(parsed, metric="io_bytes") == 4000 * 1024
    assert value(parsed, metric="bandwidth", statistic="total") == 3906 * 1024
    assert value(parsed, metric="clat", statistic="mean") == 100_000
    assert value(parsed, metric="clat", statistic="min") == 0, "less than a microsecond"
    assert value(parsed, metric="clat", statistic="p99") == 150_000
    assert values(parsed, metric="clat", statistic="p0") == [], "0.00 pads the list"


def test_bins_by_index_as_before_2_20() -> None:
    clat = {"min": 1, "max": 300, "mean": 100.0, "stddev": 5.0}
    bins = {
        "5": 3,
        "130": 4,
        "131": 0,
        "FIO_IO_U_PLAT_BITS": 6,
        "FIO_IO_U_PLAT_VAL": 64,
        "FIO_IO_U_PLAT_NR": 1216,
    }
    parsed = fio.parse(report({"jobname": "a", "error": 0, "read": old(clat=clat | {"bins": bins})}))

    found = [(r["low"], r["high"], r["count"]) for r in records(parsed, "histogram")]
    assert found == [(5_000, 6_000, 3), (132_000, 134_000, 4)]


@given(st.integers(0, 1215), st.just(6))
def test_a_bucket_is_the_same_by_index_and_by_middle(index: int, bits: int) -> None:
    low, high = bucket_of_index(index, bits)

    assert bucket(str(low if index < 128 else low + (high - low) // 2)) == (low, high)
    assert bucket_of_index(index + 1, bits)[0] == high


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("99.000000", "p99"),
        ("99.950000", "p99.95"),
        ("99.999990", "p99.99999"),
        ("10.000000", "p10"),
        ("50", "p50"),
    ],
)
def test_names_of_percentiles(printed: str, name: str) -> None:
    assert percentile(printed) == name


def test_options_of_the_file_and_of_the_job() -> None:
    job = {"jobname": "a", "error": 0, "job options": {"bs": "8k", "direct": "1"}, "read": direction()}
    parsed = fio.parse(report(job, **{"global options": {"bs": "4k", "ioengine": "libaio"}}))

    assert {r["option"]: r["value"] for r in records(parsed, "options")} == {
        "bs": "8k",
        "ioengine": "libaio",
        "direct": "1",
    }
    assert parsed.facts["option.bs"] == "8k"


@pytest.mark.parametrize("shared", [{}, {"bs": "4k"}])
def test_all_clients_is_a_sum_and_no_job(shared: dict[str, str]) -> None:
    jobs = [{"jobname": name, "error": 0, "hostname": host, "read": direction(), **options} for name, host, options in (
        ("a", "n1", {"job options": {"bs": "4k"}}), ("All clients", "n2", {"job options": {}}), ("All clients", "n1", {}),
    )]  # fmt: skip
    text = json.dumps(
        {
            "fio version": "fio-3.33",
            "global options": shared,
            "client_stats": jobs,
            "disk_util": [{"name": "sda", "hostname": "n2", "util": 50.0}],
        }
    )
    for printed in (text, text[: text.index("disk_util")]):  # whole, and cut
        parsed = fio.parse(printed)

        assert values(parsed, metric="iops", statistic="total") == [1000.0, 1000.0]
        assert [r["host"] for r in records(parsed, "jobs")] == ["n1", "n2"]
        assert [r["value"] for r in records(parsed, "groups") if r["metric"] == "iops"] == [1000.0]
    assert value(fio.parse(text), metric="disk_util", name="n2:sda") == 0.5


def test_a_job_that_a_client_reports_at_each_interval_counts_once() -> None:
    jobs = [
        {"jobname": name, "hostname": "n1", "port": port, "groupid": 0, "read": direction(iops=iops)} | options
        for name, port, iops, options in (
            ("a", 1, 1.0, {"job options": {}}), ("a", 1, 2.0, {"job options": {}}), ("b", 2, 3.0, {}), ("All clients", 2, 6.0, {}),
            ("b", 2, 30.0, {}), ("a", 1, 10.0, {"job options": {}}), ("a", 1, 20.0, {"job options": {}}),
        )
    ]  # fmt: skip

    parsed = fio.parse(json.dumps({"fio version": "fio-3.33", "client_stats": jobs}))

    assert sorted(values(parsed, metric="iops", statistic="total")) == [10.0, 20.0, 30.0]
    assert "groups" not in parsed.tables
    assert parsed.has("status_interval")


def test_a_group_that_begins_between_two_reports_is_of_the_same_run() -> None:
    job = (
        "{0}: (groupid={1}, jobs=1): err= 0: pid={2}: Sat Nov 28 13:45:31 2026\n  read: IOPS=10, BW=40.0KiB/s (41.0kB/s)(40.0KiB/{3}msec)\n"
        "     issued rwts: total=10,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    )
    group = "\nRun status group 0 (all jobs):\n   READ: bw=1KiB/s (1kB/s), 1KiB/s-1KiB/s (1kB/s-1kB/s), io=1KiB (1kB), run=1-1msec\n"
    first, a, b = job.format("a", 0, 7, 1000), job.format("a", 0, 7, 2000), job.format("b", 1, 8, 500)

    for between, documents, jobs in (
        ("", 1, 2),
        ("fio-3.33\nStarting 1 process\n", 2, 3),
    ):  # another run has a head of its own
        facts = fio.parse(f"fio-3.33\n{first}{group}{between}{a}{b}{group}").facts

        assert (facts["documents"], facts["jobs"], facts["reports"]) == (documents, jobs, 2)


def test_what_a_newer_fio_measures_is_kept_under_its_own_name() -> None:
    parsed = fio.parse(
        report(
            {
                "jobname": "a",
                "error": 0,
                "read": direction(zone_wait={"mean": 3.5, "none": 0}),
                "power_mw": 812,
            }
        )
    )

    assert {(r["path"], r["value"]) for r in records(parsed, "other")} == {
        ("read.zone_wait.mean", 3.5),
        ("power_mw", 812.0),
    }


def test_priorities_are_directions_of_their_own() -> None:
    lat = {"min": 1, "max": 9, "mean": 5.0, "stddev": 1.0, "N": 10}
    prios = [
        {"prioclass": 1, "prio": 0, "priohint": 0, "clat_ns": lat},
        {"prioclass": 2, "prio": 4, "priohint": 0, "clat_ns": lat},
    ]
    parsed = fio.parse(report({"jobname": "a", "error": 0, "read": direction(prios=prios)}))

    assert value(parsed, direction="read prio 2/4/0", metric="clat", statistic="mean") == 5.0
    assert value(parsed, direction="read", metric="clat", statistic="mean") == 100_000.0


# --- JSON in bad company --------------------------------------------------------------------------


@pytest.mark.parametrize("nan", ["-nan", "NaN", "Infinity"])  # of fio, and of a program that wrote its JSON again
def test_nan_in_json_is_a_missing_number(nan: str) -> None:
    text = report({"jobname": "a", "error": 0, "usr_cpu": "NAN", "sys_cpu": 1.5, "read": direction()})
    parsed = fio.parse("noise {\n" + text.replace('"NAN"', nan) + "fio: done\n")

    assert parsed.has("not_finite")
    assert values(parsed, metric="usr_cpu") == []
    assert value(parsed, metric="sys_cpu") == 0.015


def test_paths_of_windows_and_tabs_that_fio_did_not_escape() -> None:
    text = report({"jobname": "a", "error": 0, "desc": "PATH", "read": direction()}).replace("PATH", "C:\\data\tx")

    assert value(fio.parse(text), metric="iops", statistic="total") == 1000.0


def test_a_truncated_document_gives_its_complete_jobs() -> None:
    text = report(*({"jobname": n, "error": 0, "read": direction()} for n in "abc"), **{"global options": {"bs": "4k"}})
    parsed = fio.parse(text[: text.index('"jobname": "c"') + 200])

    assert [r["name"] for r in records(parsed, "jobs")] == ["a", "b"]
    assert [flag.text for flag in parsed.flags] == ["the JSON ends after 2 complete jobs"]
    assert parsed.facts["tool_version"] == "3.36"
    with pytest.raises(ParseError, match="before the first complete job"):
        fio.parse(text[: text.index('"jobname": "a"') + 200])


def test_reports_sorted_by_another_program() -> None:
    text = json.dumps(json.loads(report({"jobname": "a", "error": 0, "read": direction()})), sort_keys=True)

    assert value(fio.parse(text), metric="iops", statistic="total") == 1000.0
    assert value(fio.parse('{"host": "n1", "result": ' + text + "}"), metric="iops", statistic="total") == 1000.0


def test_repeats_are_not_taken_for_reports_of_one_run() -> None:
    """Two runs of a fixed size in the same second move the same bytes; --status-interval moves more each time."""
    first = {"jobname": "a", "error": 0, "elapsed": 1, "read": direction()}
    more = {"jobname": "a", "error": 0, "elapsed": 2, "read": direction(io_bytes=8_192_000)}

    twice = fio.parse(report(first, timestamp=1000) + report(first, timestamp=1000))
    assert twice.facts["documents"] == 2
    later = fio.parse(report(first, timestamp=1000) + report(more, timestamp=1001))
    assert later.facts["documents"] == 1
    assert value(later, metric="io_bytes") == 8_192_000
    assert {r["value"] for r in records(later, "snapshots") if r["metric"] == "io_bytes"} == {4_096_000.0}


# --- normal text ----------------------------------------------------------------------------------

OLD_TEXT = """\
j: (g=0): rw=rw, bs=4K-8K/4K-8K/4K-8K, ioengine=libaio, iodepth=32
fio-2.1.10
Starting 1 process
Jobs: 1 (f=1): [M] [100.0% done] [1KB/1KB/0KB /s] [1/1/0 iops] [eta 00m:00s]j: (groupid=0, jobs=1): err= 5 (file:io_u.c:1467, func=io_u error, error=Input/output error): pid=42: Tue Apr  4 17:34:19 2017
  Description  : [a line of the user's own]
  read : io=1.5GB, bw=1024.0KB/s, iops=1000.0K, runt=  2003msec
    slat (usec): min=1, max=2, avg= 1.50, stdev= 0.10
    clat (msec): min=1, max=11.5K, avg=72.62, stdev=440.70
     lat (msec): min=1, max=11.5K, avg=79.38, stdev=442.10
    clat percentiles (usec):
     |  1.00th=[    8],  5.00th=[   10], 99.00th=[12096]
    bw (MB  /s): min=    1, max=    2, per=100.00%, avg=  1.50, stdev= 0.50
    lat (usec) : 2=0.50%, 4=0.25%, 1000=0.01%
    lat (msec) : 2=99.00%, >=2000=0.24%
  cpu          : usr=9.28%, sys=-nan%, ctx=27697, majf=0, minf=51
  IO depths    : 1=0.1%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=99.9%, >=64=0.0%
     submit    : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
     complete  : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.1%, 64=0.0%, >=64=0.0%
     issued    : total=r=25600/w=7/d=0, short=r=3/w=0/d=0, drop=r=0/w=0/d=0
     errors    : total=2, first_error=5/<Input/output error>

Run status group 0 (all jobs):
   READ: io=1.5GB, aggrb=1024KB/s, minb=512KB/s, maxb=1024KB/s, mint=2003msec, maxt=2004msec

Disk stats (read/write):
    dm-0: ios=374/1, merge=0/0, ticks=2948/3, in_queue=2944, util=92.79%, aggrios=400/2, aggrmerge=1/0, aggrticks=10/20, aggrin_queue=30, aggrutil=95.00%
  sda: ios=400/2, merge=1/0, ticks=10/20, in_queue=30, util=95.00%
"""


def test_old_text_counts_in_powers_of_1024() -> None:
    parsed = fio.parse(OLD_TEXT)

    assert value(parsed, metric="io_bytes", direction="read") == 1.5 * 2**30
    assert value(parsed, metric="bandwidth", statistic="total") == 2**20
    assert value(parsed, metric="bandwidth", statistic="max") == 2 * 2**20
    assert value(parsed, metric="iops", statistic="total") == 1e6
    assert value(parsed, metric="clat", statistic="max") == pytest.approx(11.5e9)
    assert value(parsed, metric="clat", statistic="p99") == 12_096_000, "the block has a unit of its own"
    assert value(parsed, metric="short_ios") == 3
    assert value(parsed, metric="total_ios", direction="write") == 7
    assert values(parsed, metric="sys_cpu") == []
    assert value(parsed, metric="disk_util", statistic="members") == 0.95
    assert parsed.facts["option.bs"] == "4K-8K/4K-8K/4K-8K"
    assert {flag.id for flag in parsed.flags} == {"job_error", "io_errors"}
    assert records(parsed, "jobs")[0]["name"] == "j", "progress that should have been overwritten"
    group = {(r["metric"], r["statistic"]): r["value"] for r in records(parsed, "groups")}
    assert group["bandwidth", "min"] == 512 * 1024
    assert group["runtime", "max"] == 2004e6
    shares = {(r["low"], r.get("high")): r["share"] for r in records(parsed, "shares")}
    assert shares[0, 2000] == 0.005, "fio 2 knows no nanoseconds: the first bucket begins at 0"
    assert shares[1_000_000, 2_000_000] == 0.99
    assert shares[2_000_000_000, None] == 0.0024


def test_the_first_bucket_of_fio_3_begins_at_a_microsecond() -> None:
    parsed = fio.parse(fixture("normal_randrw"))

    assert (1000, 2000) in {(r["low"], r["high"]) for r in records(parsed, "shares")}


def test_sync_priorities_and_bits() -> None:
    text = fixture("normal_randrw").replace(
        "  cpu          :",
        "  fsync/fdatasync/sync_file_range:\n    sync (usec): min=220, max=7994, avg=3097.83, stdev=1608.40\n"
        "    sync percentiles (msec):\n     | 99.00th=[    8]\n  cpu          :",
    )
    text = text.replace(
        "     lat (nsec)", "    clat prio 1/0/0 (nsec): min=1, max=3, avg= 2.00, stdev= 0.10\n     lat (nsec)"
    )
    text = text.replace("bw (  KiB/s): min=17632", "bw (  kbit/s): min=17632")
    parsed = fio.parse(text)

    assert value(parsed, direction="sync", metric="lat", statistic="mean") == pytest.approx(3_097_830)
    assert value(parsed, direction="sync", metric="lat", statistic="p99") == 8e6
    assert value(parsed, direction="write prio 1/0/0", metric="clat", statistic="max") == 3
    assert value(parsed, direction="write", metric="bandwidth", statistic="min") == 17632 * 125


def test_an_extract_without_its_head() -> None:
    text = fixture("normal_randrw")
    parsed = fio.parse(text[text.index("  write: IOPS") : text.index("  lat (usec)   : 2=")])

    assert fio.recognise(text[text.index("  write: IOPS") :])
    assert value(parsed, direction="write", metric="iops", statistic="total") == 4902
    assert records(parsed, "jobs")[0].get("name") is None
    assert parsed.flags == ()


def test_jobs_keep_their_options_where_names_repeat() -> None:
    lines = [
        f"w: (g={g}): rw=write, bs=(R) 4096B-4096B, (W) {4 * k}KiB-{4 * k}KiB, (T) 4096B-4096B, ioengine=sync, iodepth={k}\n"
        for g, k in ((0, 1), (1, 8))
    ]
    jobs = [
        f"w: (groupid={g}, jobs=1): err= 0: pid={g}: now\n  write: IOPS=1{g}k, BW=1MiB/s (1049kB/s)(1MiB/1000msec); 0 zone resets\n     issued rwts: total=0,1,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
        for g in (0, 1)
    ]
    parsed = fio.parse("".join(lines) + "fio-3.36\n" + "".join(jobs))

    assert values(parsed, metric="iops") == [10_000, 11_000]
    assert [r["value"] for r in records(parsed, "options") if r["option"] == "iodepth"] == ["1", "8"]


# --- terse ----------------------------------------------------------------------------------------


def test_terse_tails() -> None:
    line = fixture("terse_v3").rstrip("\n")
    tail = ";slaves;1;2;3;4;5;6;7;8.00%;sdb;1;0;0;0;1;0;1;2.00%;16;84;a description; with semicolons\n"
    parsed = fio.parse(line + tail)

    assert value(parsed, name="vda", metric="disk_util", statistic="members") == 0.08
    assert value(parsed, name="sdb", metric="disk_ios", direction="read") == 1
    assert value(parsed, metric="errors") == 16
    assert parsed.has("io_errors")


def test_terse_mixed_is_one_block() -> None:
    fields = fixture("terse_v3").rstrip("\n").split(";")
    mixed = ";".join(fields[:46] + fields[87:])  # 41 fields a direction
    parsed = fio.parse(mixed + "\n")

    assert value(parsed, direction="mixed", metric="iops", statistic="total") == 14291
    assert value(parsed, metric="sys_cpu") == pytest.approx(0.3505)


def test_terse_line_that_is_too_short() -> None:
    fields = fixture("terse_v5").split(";")
    with pytest.raises(ParseError, match="before the first complete job"):
        fio.parse(";".join(fields[:100]) + "\n")
    parsed = fio.parse(fixture("terse_v5") + ";".join(fields[:100]))
    assert parsed.has("truncated")
    assert parsed.facts["jobs"] == 1


def test_kb_base_1000_labels_what_it_does_not_divide() -> None:
    """fio 3.33 --kb_base=1000 --rate=2m: 1960 KiB/s under the label kB/s, as `BW=2005kB/s (1958KiB/s)` shows."""
    text = fixture("normal_randrw").replace("BW=44.8MiB/s (47.0MB/s)(89.6MiB/", "BW=2005kB/s (1958KiB/s)(2007kB/")
    text = text.replace("bw (  KiB/s): min=42136", "bw (   kB/s): min= 1960")
    parsed = fio.parse(text)

    assert value(parsed, direction="read", metric="bandwidth", statistic="total") == 2_005_000
    assert value(parsed, direction="read", metric="bandwidth", statistic="min") == 1960 * 1024
    big = fio.parse(text.replace("bw (   kB/s)", "bw (   MiB/s)"))
    assert value(big, direction="read", metric="bandwidth", statistic="min") == 1960 * 1024 * 1000


LINE = "  read: IOPS=226, BW=226MiB/s (238MB/s)(1024MiB/4521msec)\n"


def rates(line: str, block: str = "", count: int = 0) -> tuple[float, float]:
    """Return IOPS and bandwidth of a text with one line of figures."""
    head = f"j: (g=0): rw=read, bs=(R) {block}-{block}, (W) 4096B-4096B, ioengine=psync, iodepth=1\n" if block else ""
    job = "\nj: (groupid=0, jobs=1): err= 0: pid=1: Mon Jan  1 00:00:00 2024\n"
    issued = f"     issued rwts: total={count},0,0,0 short=0,0,0,0 dropped=0,0,0,0\n" if count else ""
    parsed = fio.parse(f"{head}fio-3.33\n{job}{line}{issued}")
    return value(parsed, metric="iops", statistic="total"), value(parsed, metric="bandwidth", statistic="total")


@pytest.mark.parametrize(
    ("line", "block", "count", "iops", "bandwidth"),
    [
        pytest.param(LINE, "", 0, 226, 2**30 / 4.521, id="bytes and time have more digits than MiB/s"),
        pytest.param(LINE, "1024KiB", 1024, 1024 / 4.521, 2**30 / 4.521, id="all digits of the count"),
        pytest.param(LINE, "1024KiB", 900, 226, 2**30 / 4.521, id="a count of something else"),
        pytest.param(LINE, "4096B", 1024, 1024 / 4.521, 2**30 / 4.521, id="blocks of another size"),
        pytest.param(
            "  read: IOPS=4902, BW=19.2MiB/s (20.1MB/s)(38.3MiB/2001msec)\n", "4096B", 0, 4902, 4902 * 4096, id="IOPS × bs"
        ),
        pytest.param(
            "  read: IOPS=15.9k, BW=62.2MiB/s (65.3MB/s)(125MiB/2001msec)\n", "", 0, 15900, 65.3e6, id="the MB/s"
        ),
        pytest.param(
            # 9.996 MiB/s: fio drops the 1 to which the fraction is rounded
            "  read: IOPS=9, BW=9.00MiB/s (10.5MB/s)(100MiB/10004msec)\n", "1024KiB", 100, 100 / 10.004, 100 * 2**20 / 10.004, id="9.00 that is 9.996"
        ),
        pytest.param(
            "  read: IOPS=71, BW=12.1MiB/s (12.7MB/s)(12.1MiB/1000msec)\n", "173.4KiB", 71, 71, 12.7e6, id="a block that is rounded itself"
        ),
    ],
)  # fmt: skip
def test_rates_have_all_the_digits_that_a_text_tells(
    line: str, block: str, count: int, iops: float, bandwidth: float
) -> None:
    assert rates(line, block, count) == (pytest.approx(iops), pytest.approx(bandwidth))


def test_mixed_text_counts_all_ios_as_reads() -> None:
    text = fixture("normal_randrw")
    text = (
        text[: text.index("  write: IOPS")].replace("  read: IOPS", "  mixed: IOPS")
        + text[text.index("  lat (usec)   : 2=") :]
    )
    parsed = fio.parse(text.replace("total=22939,9810,0,0", "total=32749,0,0,0"))

    assert value(parsed, direction="mixed", metric="total_ios") == 32749
    assert values(parsed, direction="read", metric="total_ios") == []
