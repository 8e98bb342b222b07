"""`pinsweep report`: the page for a set of results.

`render` writes the page. `build` joins charts, checks and methods. `overview` and `hosts` draw figures for several
tools or hosts. `placement` shows where the runs ran.
"""
