"""A trial as Ray Tune sees it, in a thin reused process without torch.

It has nothing to say when it begins: it reports that it is parked, and is paused. It is woken with news of
its head in its config, and reports that. What is lost with a process is thus told again to the next one.
"""

from typing import Any

from ray import tune

from bv_search.tune.packing import News

PARKED = "parked"
NEWS = "news"  # the key of its config that says what happened to the head


class ThinTrial(tune.Trainable):
    def setup(self, config: dict[str, Any]) -> None:
        self._news: News | None = config.get(NEWS)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """The process serves another trial now, or the same one further on."""
        self._news = new_config.get(NEWS)
        return True

    def step(self) -> dict[str, Any]:
        news, self._news = self._news, None
        return {PARKED: True} if news is None else news

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Nothing to save: heads live in the run folder."""

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Nothing to load."""
