"""Read a YAML file as experiments, and expand an experiment into the cells of a machine.

`yaml_nodes` reads YAML with the position of every value. `validate` checks the JSON Schema of `schema`, and `rules`
checks the remaining rules. `load` calls all three. `expand` makes the cells. `starter` writes a first file.
"""
