"""What may be tried: heads and how they are trained, as a tree of fixed values and distributions.

distribution.py   what a parameter is drawn from
space.py          the tree; its points as configs and as draws
"""
