"""How little is enough: the source work's studies on any encoder and data, in one folder.

config.py      what is asked for, and which step leaves what where
spaces.py      the search spaces of its runs
steps.py       what is to be made for which studies, in its order
rates.py       what this machine does in a second, measured on the encoder and the data
estimate.py    seconds and bytes of each step, by these rates
quote.py       what the steps will take
spent.py       what they took, beside it
work.py        one step after the other; what is done already is not done again
exchange.py    heads of one stage on the hidden states of another: the only scores that no run holds
entry.py       a model at a stage: the mean over its seeds
folder.py      what the steps have left: stages, stores, runs
table.py       a table as Markdown, CSV and LaTeX
published.py   the source work's own figures
section.py     what a study comes to: sentences, tables, figures
figures.py     the figures
curve.py heads.py searches.py data.py transfer.py ensembles.py layers.py errors.py answer.py    the studies
page.py        sections → study.html
studies.py     from the config to the page
"""
