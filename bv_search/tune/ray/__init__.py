"""What needs Ray: the trials that Ray Tune sees, and the actors that train heads.

trainable.py  a trial in a thin process
searcher.py   our searchers behind Ray Tune's interface
scheduler.py  trials wait while their heads train in packs
tuner.py      Ray Tune runs the trials
workers.py    the scan workers
"""
