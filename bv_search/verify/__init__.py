"""Is a store or a run whole? `verification.py` looks at whichever stands at a place."""
