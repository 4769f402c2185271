"""What stands between the driver and the trials: a board on which scores are posted.

Trials are Ray Tune's own, in thin reused processes without torch. A trial looks at the board: its score
is there, and it reports it; or it is not, and it reports that it is parked, and is paused.
"""

from typing import Any

import ray
from ray import tune

PARKED = "parked"
TRIAL = "trial"  # the key of a config that names its trial
Post = dict[str, Any]


class Board:
    def __init__(self) -> None:
        self._posts: dict[str, Post] = {}

    def post(self, posts: dict[str, Post]) -> None:
        self._posts.update(posts)

    def take(self, trial: str) -> Post | None:
        return self._posts.pop(trial, None)


class BoardTrial(tune.Trainable):
    """One head's trial, as Ray Tune sees it."""

    def setup(self, config: dict[str, Any], board: Any = None) -> None:
        self._board = board
        self._trial = config[TRIAL]

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """The process serves another trial now."""
        self._trial = new_config[TRIAL]
        return True

    def step(self) -> dict[str, Any]:
        post: Post | None = ray.get(self._board.take.remote(self._trial))
        if post is None:
            return {PARKED: True}
        if "failure" in post:
            raise TrialFailed(post["failure"])
        return post

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Nothing to save: heads live in the run folder."""

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Nothing to load."""


class TrialFailed(Exception):
    """A head that diverged, or that no scan worker could run."""
