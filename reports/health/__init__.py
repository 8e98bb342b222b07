"""`pinsweep check`: is this host sound? `sweep` measures, and gives up in time; `troubles` says what is wrong, the gravest first, in a line."""
