"""A sweep of many hosts: one folder that they share, one job a host, and what became of each.

In the order of the walk: `begin` (what is asked for), `nodeset` (who), `folder` (what is kept of the sweep), `limits` (how long a host may take), `script` (the job of
one host), `engine` (who starts jobs: `slurm`, `ssh`), `submit` (who gets one now); on the host, `home` (its results come home); and from
anywhere, at any time, `kept` and `logs` (what has come home), `states` and `traits` (what that means), `ticket` (what to do about it).
"""
