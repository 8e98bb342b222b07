"""Run a sweep on many hosts, with one shared folder, one job per host, and a state for each host.

`begin` and `folder` define a sweep. `script` makes the job of one host, and `engine` starts jobs (`slurm`, `ssh`).
`submit` selects the jobs. `home` sends results from the host. `results`, `states` and `traits` read the results.
"""
