"""Answers for new rows, or for a store's: of a run's ensemble, of its best head, of any head."""
