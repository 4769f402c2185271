"""`bv-search store verify|info STORE`."""

import sys
from dataclasses import dataclass
from typing import Annotated

from bv_search.command import Command, Progress, Result, main
from bv_search.options import Option
from bv_search.store.info import describe, render
from bv_search.store.store import Store
from bv_search.store.verify import verify_store

EXAMPLES = """
  bv-search store info stores/squad2        sizes, splits, and the time of one pass
  bv-search store verify stores/squad2      the same as bv-search verify stores/squad2
"""


@dataclass(frozen=True, kw_only=True)
class StoreArguments:
    action: Annotated[str, Option("what to do", choices=("verify", "info"), positional=True)]
    store: Annotated[str, Option("a store's folder or address", metavar="STORE", positional=True)]


def run(asked: StoreArguments, progress: Progress) -> Result:
    store = Store.open(asked.store)
    if asked.action == "info":
        info = describe(store)
        return Result(text=render(info), json=info)
    return verify_store(store, progress).result()


COMMAND = Command(
    name="store",
    summary="Look at an activation store: is it whole, what is in it, what does a pass cost?",
    examples=EXAMPLES,
    config=StoreArguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
