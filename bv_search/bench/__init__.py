"""Measurements of the claims that the project makes, each against what it is compared with, in one run.

arms.py      arms that take turns, so that what disturbs one disturbs all
extract.py   extraction against a bare forward loop
ride.py      heads that ride along with fine-tuning against fine-tuning, extraction and a search
store.py     reading a store against pread and HDF5
scan.py      training packs of heads against one head after another and the way of the paper
tune.py      the whole command with packs against one head at a time
probe.py     the whole command against scikit-learn and a plain loop, by score and time
linear.py    linear models as one writes them with scikit-learn
loop.py      one adapter in a plain PyTorch loop;  standard.py  the batches that it reads
search.py    searchers, schedulers and generations on tables of trained heads
table.py     such a table;  filling.py  trains one;  replay.py  a search on it
regret.py    what a search is worth;  contest.py  many of them;  regret_chart.py  drawn
seeds.py     one search with several seeds: what holds of what it announced
finding.py   what an arm of probe.py came to
plain.py     heads as one writes them in PyTorch
hdf5.py      the usual file that both are compared with
memory.py    what memory this process has, and has had at most
"""
