"""What will be run: `prepare` puts together experiments, what a `survey` of the machine finds, and `plan` of it; `timings` says how long."""
