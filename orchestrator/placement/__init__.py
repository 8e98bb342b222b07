"""Where a process runs: `place` turns a selector into PUs and NUMA nodes, `diagram` draws them in a line.

During a run `housekeeping` keeps pinsweep off these PUs, and `proof` compares where the tool's threads and memory are.
"""
