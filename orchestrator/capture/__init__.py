"""Texts that were measured elsewhere: `sources` finds them, `intake` reads them, `cut` finds the runs in each,
`kept` stores them as results."""
