"""`pinsweep history`: the sessions of a host over time. `follow` makes the frames, `answer` the document and JSON."""
