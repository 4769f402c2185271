"""A run as a page: what was searched, what was found, and how far it can be trusted.

facts.py      the figures: standings with intervals and paired differences
effects.py    how much each hyperparameter explains
spans.py      what models do with questions that have an answer and with those that have none
layers.py     which layers a learned pooling listens to
charts.py     figures as SVG, for light and dark
page.py       facts and charts → report.html and report.md
"""
