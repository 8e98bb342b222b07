"""A document in a medium: html, terminal, markdown, latex, typst, json; a chart as Vega-Lite."""
