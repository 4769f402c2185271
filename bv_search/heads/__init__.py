"""Heads: small models on the hidden states of all layers, alone and in packs."""
