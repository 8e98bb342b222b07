"""What is asked for: a YAML file becomes experiments.

In the order of the walk: `yaml_nodes` reads YAML with the place of every value, `load` makes experiments of it, with the options of each
sweep by `load_options`; `expand` makes the cells of a matrix. `schema` describes such files to editors, `starter` writes a first one.
"""
