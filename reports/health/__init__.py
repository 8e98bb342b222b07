"""`pinsweep check`: is this host sound? `troubles` says what is not, the gravest first, in a line each."""
