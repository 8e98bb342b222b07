"""Compute the statistics of comparison from pure values. The package reads no files or frames and prints nothing.

    model         the values that cross the border: Sample, Rules → Decision, Family
    decide        judge(samples, rules) → a Family per benchmark and metric
    estimate      effect, variance, session noise: the formulas, over many cells at once
    confirm       which cells to measure again, and the verdict on the fresh runs
    aa            how often an unchanged machine would be called changed, on the user's own data
    distribution  latency distributions: quantiles per run, mode shares, shape
    fleet         which hosts of a group are slow
    history       where a series of sessions changed

Functions import numpy and scipy locally, so that modules which import this package start fast.
"""
