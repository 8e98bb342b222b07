"""Run a plan.

`session` opens the result file, and `resume` matches its cells with the plan. `execute` does the runs. `process` starts
a run below a `watchdog`, which always ends it. `scratch` provides the folder. `watch` reads the machine's counters
before and after a run, and `disturbance` evaluates them. `outcome` gives an ended process a status. `rerun` measures
cells of a comparison again.
"""
