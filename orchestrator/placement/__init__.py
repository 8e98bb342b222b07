"""Where a process runs: `place` turns a selector into PUs and NUMA nodes, `diagram` draws that in a line.

While it runs: `housekeeping` keeps pinsweep itself out of the way, and `proof` looks where the tool's threads and memory really are.
"""
