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
linked.py     heads as columns, for charts that are linked
conclusion.py the verdict, in a sentence
partings.py   rows to read, that only one model gets right
calibration.py  how far confidence can be believed
cost.py       seconds and bytes
commands.py   what to type to make a run again
comparison.py runs side by side
page.py       facts and charts → report.html and report.md
"""
