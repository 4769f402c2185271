"""What a machine offers to the verbs, and what they will choose on it.

machine.py    processor, memory, disk and GPUs
services.py   Ray and MLflow: which version, which address, does it answer?
diagnosis.py  all of it on one screen
"""
