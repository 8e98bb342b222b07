"""A sweep of many hosts: one folder that they share, one job per host, and the state of each host.

`begin` and `folder` define a sweep; `script` is the job of one host; `engine` starts jobs (`slurm`, `ssh`); `submit`
decides which; `home` sends results from the host; `results`, `states` and `traits` show what has come.
"""
