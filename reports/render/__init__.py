"""Renderers of a document (html, terminal, markdown, latex, typst, json), and Vega-Lite for charts."""
