"""The machine: what it is, and what runs on it.

`topology` is the value. `hwloc_xml`, `sysfs` and `synthetic` each read one kind of description, which `assemble` makes a Topology;
`descriptions` takes any of them. `probe` reads this machine's topology, and its `facts`. `cpulist` reads and writes sets of CPUs; `noise` says what may
disturb a measurement, `busy` which processes do now, `counters` what the machine counted meanwhile, `file_system` what lies under files; `lockfile` locks. `devices` and `write_guard` say whether a block device may be overwritten. `ask` asks a program something short;
`process_tree` finds and ends processes.
"""
