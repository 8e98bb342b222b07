# ReFrame gives parameter, variable and the decorators to a class body; the rest is as its tutorial writes it.
# ruff: noqa: F821, ANN201, RUF012, PTH123
"""Random reads of 4 KiB by queue depth, on CPU 0, as a ReFrame test."""

import json

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class RandomRead(rfm.RunOnlyRegressionTest):
    """A case for each queue depth; `--repeat 3` makes three of each."""

    iodepth = parameter([1, 4, 16])
    scratch = variable(str, value="/var/tmp/peers.dat")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "numactl"

    @run_before("run")
    def set_options(self):
        self.executable_opts = [
            "--physcpubind=0", "--membind=0", "fio", "--name=sweep", "--output-format=json",
            f"--filename={self.scratch}", "--rw=randread", "--bs=4k", "--direct=1",
            "--ioengine=libaio", "--size=256M", "--runtime=2", "--time_based",
            f"--iodepth={self.iodepth}",
        ]  # fmt: skip

    @sanity_function
    def no_errors(self):
        return sn.assert_eq(self.fio()["error"], 0)

    @performance_function("IOPS")
    def iops(self):
        return self.fio()["read"]["iops"]

    @performance_function("us")
    def mean_latency(self):
        return self.fio()["read"]["lat_ns"]["mean"] / 1000

    @deferrable
    def fio(self):
        with open(sn.evaluate(self.stdout)) as file:
            return json.load(file)["jobs"][0]
