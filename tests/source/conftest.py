"""What extraction's tests have: sentence pairs, a stage of a tiny encoder, and extraction in this process."""

from tests.extract.conftest import config, extract, hot, pairs, stage

__all__ = ["config", "extract", "hot", "pairs", "stage"]
