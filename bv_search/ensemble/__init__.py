"""Which models together answer better than any alone: chosen on `select`, scored on `report`."""
