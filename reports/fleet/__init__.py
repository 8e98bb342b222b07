"""`pinsweep fleet`: hosts set against one another.

In the order of the walk: `limits` reads what a site asks for, `outliers` finds the hosts that are slow or odd. `text`, `strip` and `page` say
it: in a terminal and to programs, as a figure, as a page.
"""
