"""Results that other programs measured.

`sources` opens the files, `intake` reads the texts, `cut` separates the runs of a text, and `kept` stores the runs.
"""
