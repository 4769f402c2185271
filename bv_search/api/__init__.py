"""The verbs from Python, with the command line's own configs, functions and errors.

verbs.py    a function for each verb; `bv_search` exports them
options.py  what each verb takes beside what it works on, by the names of its config
run.py      a run folder as Python sees it: its leaderboard as a table, its heads as models
listener.py progress to a function, to standard error, or to nobody
"""
