"""`pinsweep compare`: two sets of results, a verdict on each number.

In the order of the walk: `matching` finds the cells that both have, `comparison` gives each of their numbers a verdict, `confirm` those that
were measured again. `text`, `formats` and `section` say it: in a terminal, to programs, on the page.
"""
