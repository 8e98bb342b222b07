"""A page: `model` is its value, `templates` finds the shipped templates and a user's own, `html` fills them."""
