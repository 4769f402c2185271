"""A run folder: one study, its trials, and everything that they left behind."""

from bv_search.run.folder import Run
from bv_search.run.journal import Journal
from bv_search.run.leaderboard import leaderboard, leaderboard_text, write_leaderboard
from bv_search.run.predictions import Predictions, read_predictions, write_predictions
from bv_search.run.study import Study, versions
from bv_search.run.trial import CurvePoint, TrialRecord, replay

__all__ = [
    "CurvePoint",
    "Journal",
    "Predictions",
    "Run",
    "Study",
    "TrialRecord",
    "leaderboard",
    "leaderboard_text",
    "read_predictions",
    "replay",
    "versions",
    "write_leaderboard",
    "write_predictions",
]
