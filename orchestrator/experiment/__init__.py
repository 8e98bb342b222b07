"""A YAML file becomes experiments, and an experiment the cells of a machine.

`yaml_nodes` reads YAML with the place of every value, `validate` holds it against the JSON Schema of `schema`, `rules`
checks what a schema cannot say, `load` does all three; `expand` makes the cells. `starter` writes a first file.
"""
