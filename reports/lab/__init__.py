"""The lab report: one folder that a student hands in, from the same model as the page.

results ─report.build→ Page ─document.build→ Document ─texts→ report.md, report.tex, report.typ, tables/
                                          └figures→ figures/*.svg, *.pdf, *.png         └pdf→ report.pdf
                                                                 all of it ─folder.write→ DIR
"""
