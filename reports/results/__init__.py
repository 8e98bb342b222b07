"""Result files as values, before any tool's output is looked into.

In the order of the walk: `paths` finds the files that a name stands for, `baselines` those that a name was given to; `load` reads them, into the
runs of `model`, with `cells` saying which of them are repeats of one another and `grouping` putting rows into groups.
`sessions` says what was measured in one go. `naming` names programs, `hardware` the machines of one kind, `differences` what two sets
of sessions have not in common. `remembered` keeps what was made of a file of many runs. `write` writes whatever is made of them, and
never over a result file.
"""
