"""`pinsweep fleet`: hosts set against one another.

In the order of the walk: `limits` reads what a site asks for, `hosts` tells whose sessions are whose and which hosts are equal, `outliers` finds
those that are slow or odd, `unmatched` what cannot be compared. `text`, `strip` and `page` say it: in a terminal and to programs, as a figure,
as a page.
"""
