"""Random reads of 4 KiB by queue depth; the time of one read, by fio's own clock, as a pyperf benchmark."""

import json
import subprocess

import pyperf


def read_time(loops: int, iodepth: int, scratch: str = "/var/tmp/peers.dat") -> float:
    """Run fio for two seconds; return the mean time of a read, in seconds, for each loop."""
    done = subprocess.run(
        [
            "fio", "--name=sweep", "--output-format=json", f"--filename={scratch}", "--rw=randread",
            "--bs=4k", "--direct=1", "--ioengine=libaio", "--size=256M", "--runtime=2",
            "--time_based", f"--iodepth={iodepth}",
        ],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return loops * json.loads(done.stdout)["jobs"][0]["read"]["lat_ns"]["mean"] / 1e9


runner = pyperf.Runner(processes=3, values=1, warmups=0, loops=1)
for depth in (1, 4, 16):
    runner.bench_time_func(f"randread iodepth={depth}", read_time, depth)
