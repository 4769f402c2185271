"""The search: trials of Ray Tune whose heads train in packs.

config.py       what is asked for
search.py       from beginning to end;  session.py  what happens on its scan workers
study.py        what can be wrong with the options, found before any work
space.py        what is searched;  distribution.py  its leaves;  sizes.py  how large its heads are
searchers/      which point of a space is tried next
trials.py       the trials of a search;  warm_start.py  what earlier runs tell it
dispatcher.py   heads that wait → packs → scan workers → journal
packing.py      rungs, packs and rounds;  halving.py  who goes on at a rung
workers.py      scan workers as the dispatcher sees them
budget.py       when a search has enough
recorder.py     writes the run;  resume.py  reads it again
finale.py       the best heads learn once more;  rerun.py  one trial trained again
summary.py      what is said at the end;  step_times.py  where the seconds went
dry_run.py      what a search would cost
ray/            all that needs Ray; the modules above, but for search and session, do without
"""
