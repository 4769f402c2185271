"""The search: trials of Ray Tune whose heads train in packs."""
