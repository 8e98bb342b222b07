"""`pinsweep history`: one host's sessions over time. `changes` finds the steps; `text`, `figure` and `page` say them."""
