"""Pictures: values with their axes in, SVG out. Knows of no tool.

In the order of the walk: `axes` chooses domains and ticks, `label_placement` where names go, `plot` tells where a value lies, `vega` fills a
template of Vega-Lite and draws it, `svg` tidies that, `interactive` makes it answer in a browser. `figure` is what a page holds of it: panels,
tables, legends.
"""
