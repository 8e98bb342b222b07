"""Make a plan. `prepare` reads experiments, `survey` examines the machine, `plan` makes the runs, `timings` has
estimates.
"""
