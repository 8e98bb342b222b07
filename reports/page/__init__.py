"""A page: `templates` finds the shipped templates and a user's own, `html` fills them with a page's value."""
