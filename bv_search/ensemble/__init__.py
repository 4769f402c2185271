"""Which models together answer better than any alone: chosen on rows new to all, scored on `report`."""
