"""Scanning: one pass over hidden states that trains, or scores, a whole pack of heads."""
