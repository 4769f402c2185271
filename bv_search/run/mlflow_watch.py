"""A watch for an MLflow that went away: a search does not wait at its door."""

from concurrent.futures import Future
from threading import Thread

from bv_search.errors import RunError
from bv_search.run.tracking import check_there


class MlflowWatch:
    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._looking: Future[bool] | None = None

    def sees(self, wait: float = 0.0) -> bool:
        """Whether it was there when it was last looked for; where nobody looks, someone is sent."""
        if self._looking is None:
            self._looking = Future()
            # a daemon: the end of the process does not wait for it either
            Thread(target=self._look, args=(self._looking,), daemon=True).start()
        try:
            seen = self._looking.result(wait)
        except TimeoutError:
            return False
        self._looking = None
        return seen

    def _look(self, looking: Future[bool]) -> None:
        try:
            check_there(self._uri)
        except RunError:
            looking.set_result(False)
        else:
            looking.set_result(True)
