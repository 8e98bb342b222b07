"""Statistics of comparison: pure values in, verdicts out. No files, no frames, no printing.

    model         the values that cross the border: Sample, Rules → Decision, Family
    decide        judge(samples, rules) → a Family per benchmark and metric
    estimate      effect, variance, session noise: the formulas, over many cells at once
    confirm       which cells to measure again, and the verdict on the fresh runs
    aa            how often an unchanged machine would be called changed, on the user's own data
    distribution  latency distributions: quantiles per run, mode shares, shape
    fleet         which hosts of a group are slow
    history       where a series of sessions changed

numpy and scipy are imported inside functions: what imports these modules stays fast.
"""
