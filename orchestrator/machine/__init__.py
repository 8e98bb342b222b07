"""The machine: what it is, and what runs on it.

`topology` is the value; `probe` reads this machine's, and its `facts`. `cpulist` reads and writes sets of CPUs; `noise` says what may
disturb a measurement. `devices` and `write_guard` say whether a block device may be overwritten. `ask` asks a program something short;
`process_tree` finds and ends processes.
"""
