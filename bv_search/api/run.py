"""A run folder as Python sees it: its leaderboard as a table, and the models that answer from it."""

from typing import TYPE_CHECKING, Any

from bv_search.model import BEST, ENSEMBLE, SMALLEST
from bv_search.model.loading import model_of_run
from bv_search.model.model import Model
from bv_search.run import folder
from bv_search.run.leaderboard import leaderboard_rows

if TYPE_CHECKING:
    import pandas as pd


class AnsweringRun(folder.Run):
    """What `tune` leaves, or `Run.open("runs/first")`."""

    def leaderboard(self) -> "pd.DataFrame":
        """Each trial and its configuration, best on select first."""
        import pandas as pd

        return pd.DataFrame(leaderboard_rows(self.trials()))

    @property
    def best(self) -> Model:
        """The head with the best score on select."""
        return self.model(BEST)

    @property
    def smallest(self) -> Model:
        """The head with the fewest parameters within one standard error of the best."""
        return self.model(SMALLEST)

    @property
    def combined(self) -> Model:
        """What `ensemble` has chosen."""
        return self.model(ENSEMBLE)

    def model(self, member: str | None = None) -> Model:
        """A trial by its id, best, smallest, ensemble or encoder; None: the ensemble if there is one."""
        return model_of_run(self, member)

    def _repr_html_(self) -> Any:
        return self.leaderboard().to_html(index=False, na_rep="")
