"""The demonstration: generated text, a tiny encoder, and the real commands one after the other."""
