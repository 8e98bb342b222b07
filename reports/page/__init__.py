"""A page: `model` holds the value, `templates` loads shipped and user templates, and `html` fills the templates."""
