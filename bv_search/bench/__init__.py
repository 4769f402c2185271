"""Measurements of the claims that the project makes, each against what it is compared with, in one run.

arms.py      arms that take turns, so that what disturbs one disturbs all
extract.py   extraction against a bare forward loop
store.py     reading a store against pread and HDF5
scan.py      training packs of heads against one head after another and the source work's way
hdf5.py      the usual file that both are compared with
memory.py    what memory this process has, and has had at most
"""
