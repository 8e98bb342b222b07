"""`pinsweep compare`: two sides, a verdict on each number.

`sides` reads what the user names, `matching` finds the cells that both sides have, `comparison` judges their numbers
(with `numbers` and `modes`), `confirm` measures again, `document` and `formats` give the answer.
"""
