"""Place processes on CPUs and memory.

`place` turns a selector into PUs and NUMA nodes. `diagram` draws a placement in one line. During a run, `housekeeping`
moves pinsweep off these PUs, and `proof` compares the tool's threads and memory with the placement.
"""
