"""The machine: its description, and what runs on it.

`topology` is the value. `hwloc_xml`, `sysfs` and `synthetic` each read one kind of description, and `assemble` makes a
Topology of it; `descriptions` takes any of them. `probe` reads this machine: its topology and its `facts`. `noise` lists
what may disturb a measurement, `busy` the processes that use CPUs, `counters` what the machine counted during a run.
`devices` and `write_guard` decide whether a block device may be overwritten.
"""
