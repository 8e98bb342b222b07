"""Describe the machine and the processes on it.

`topology` is the value. `hwloc_xml`, `sysfs` and `synthetic` each read one kind of description, and `assemble` makes a
Topology. `descriptions` reads any kind. `probe` reads the topology and the `facts` of this machine. `noise` lists
possible disturbances, `busy` the processes that use CPUs, and `counters` the machine's counters during a run. `devices`
and `write_guard` decide whether a block device may be overwritten.
"""
