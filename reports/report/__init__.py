"""`pinsweep report`: the page of one set of results.

`render` writes it. `build` puts together what the charts, the checks and the methods say; `overview` and `hosts` draw what is of several tools or hosts,
`placement` where the runs ran.
"""
