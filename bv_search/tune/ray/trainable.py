"""A trial as Ray Tune sees it, in a thin reused process without torch.

It takes a process only when there is something to tell: it is woken with news of its head in its config, and
reports that. What is lost with a process is thus told again to the next one.
"""

from typing import Any

from ray import tune

from bv_search.tune.packing import News

NEWS = "news"  # the key of its config that says what happened to the head


class ThinTrial(tune.Trainable):
    def setup(self, config: dict[str, Any]) -> None:
        self._news: News = config[NEWS]

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """The process serves another trial now, or the same one further on."""
        self._news = new_config[NEWS]
        return True

    def step(self) -> dict[str, Any]:
        return self._news

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Nothing to save: heads live in the run folder."""

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Nothing to load."""
