"""`bv-search store verify|info STORE`."""

import sys
from argparse import ArgumentParser, Namespace

from bv_search.command import Command, Progress, Result, main
from bv_search.store.info import describe, render
from bv_search.store.store import Store
from bv_search.store.verify import verify_store

EXAMPLES = """
  bv-search store info stores/squad2        sizes, splits, and the time of one pass
  bv-search store verify stores/squad2      the same as bv-search verify stores/squad2
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=["verify", "info"], help="what to do")
    parser.add_argument("store", metavar="STORE", help="a store's folder or address")


def run(args: Namespace, progress: Progress) -> Result:
    store = Store.open(args.store)
    if args.action == "info":
        info = describe(store)
        return Result(text=render(info), json=info)
    return verify_store(store, progress).result()


COMMAND = Command(
    name="store",
    summary="Look at an activation store: is it whole, what is in it, what does a pass cost?",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
