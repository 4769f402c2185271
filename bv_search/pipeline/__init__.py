"""All the steps of `bv-search run`, in one folder.

config.py    what is asked for, and where each step leaves what
pipeline.py  one step after the other; what is done already is not done again
"""
