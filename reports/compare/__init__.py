"""`pinsweep compare`: two sets of results, a verdict on each number.

In the order of the walk: `given` reads what the user names, `sides` takes the runs of either side, `matching` finds the cells that both have, `drafts` their numbers in pairs,
`comparison` gives each a verdict (`model` is what comes of it), `confirm` those that were measured again. `text`, `formats` and `section` say it: in a terminal, to programs, on the page.
"""
