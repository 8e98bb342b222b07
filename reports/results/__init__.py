"""Represent result files as values, before any tool's output is interpreted.

The modules in order of use: `paths` resolves names to files, and `baselines` resolves the names of baselines. `load`
reads files into the runs of `model`. `cells` decides which runs are repeats of a cell, and `grouping` groups rows.
`sessions` groups sessions of an hour. `naming` names programs, `hardware` names kinds of machines, and `differences`
compares two sets of sessions. `remembered` caches large files. `write` writes outputs, and never over a result file.
"""
