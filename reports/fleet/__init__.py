"""Many hosts: which are slow, and in what.

`hosts` finds the host of each session and the groups of equal hardware, `numbers` makes the rows that are judged,
`judge` asks the statistics, `gaps` lists what is missing or different, `document` and `answer` make the answer for
people and for programs.
"""
