"""Implement `pinsweep check` for the health of a host. `sweep` measures with a time limit, and `troubles` lists
faults.
"""
