"""Texts that were measured elsewhere: `sources` finds them, `cut` finds the runs in each, `intake` stores them as results."""
