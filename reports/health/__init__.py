"""`pinsweep check`: is this host healthy? `sweep` measures, and gives up in time; `troubles` lists what is wrong."""
