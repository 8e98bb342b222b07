"""Running a plan.

In the order of the walk: `session` opens the result file, `resume` says which of its cells are the plan's, `execute` goes through the
runs: `process` starts each (below a `watchdog` that ends it whatever happens), in the folder that `scratch` keeps; `watch` reads the machine's counters around it
and `disturbance` says what they mean; `outcome` says what an ended process is worth. `rerun` measures cells of a comparison again.
"""
