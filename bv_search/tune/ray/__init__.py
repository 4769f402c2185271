"""What needs Ray: the trials that Ray Tune sees, and the actors that train heads.

searcher.py   our searchers behind Ray Tune's interface, and the trials that they propose
scheduler.py  trials wait while their heads train in packs
tuner.py      Ray Tune keeps the trials
workers.py    the scan workers
"""
