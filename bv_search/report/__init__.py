"""A run as a page: what was searched, what was found, and how far it can be trusted.

facts.py      what is known: standings with intervals and paired differences, trials
effects.py    how much each hyperparameter explains
spans.py      what models do with questions that have an answer and with those that have none
agreement.py  rows that only a head or only the encoder gets right
layers.py     each layer's linear probe, and its weight in a learned pooling
chart.py      a figure as SVG, for light and dark
charts.py     the figures
formatting.py numbers as words
frame.py      what every page stands in: styles, tables that sort, linked charts; for other packages too
page.py       facts and charts → report.html and report.md
"""
