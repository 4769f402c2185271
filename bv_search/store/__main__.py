"""`bv-search store verify|info STORE`."""

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from bv_search.command import Command, Progress, Result, main
from bv_search.store.info import describe, render
from bv_search.store.store import Store
from bv_search.store.verify import Damage, find_damage, refuse_nonsense

EXAMPLES = """
  bv-search store verify stores/squad2      every file against its digest; exit status 2 when one is damaged
  bv-search store info stores/squad2        sizes, splits, and the time of one pass
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=["verify", "info"], help="what to do")
    parser.add_argument("store", metavar="STORE", help="a store's folder or address")


def run(args: Namespace, progress: Progress) -> Result:
    store = Store.open(args.store)
    if args.action == "info":
        info = describe(store)
        return Result(text=render(info), json=info)
    return verify(store, progress)


def verify(store: Store, progress: Progress) -> Result:
    damaged: list[Damage] = []
    total = sum(1 for _ in store.manifest.files())
    for number, found in enumerate(find_damage(store), start=1):
        progress.update(f"verified {number} of {total} files")
        if found is not None:
            damaged.append(found)
    if not damaged:
        refuse_nonsense(store)
    lines = [f"{each.file}: expected {each.expected}; found {each.found}" for each in damaged]
    if damaged:
        lines.append("run the same `bv-search extract` with --repair")
    json = {
        "ok": not damaged,
        "store": store.path,
        "files": total,
        "damaged": [asdict(each) for each in damaged],
    }
    text = "\n".join(lines) or f"{store.path}: {total} files, all as the manifest says"
    return Result(text=text, json=json, exit_status=2 if damaged else 0)


COMMAND = Command(
    name="store",
    summary="Look at an activation store: is it whole, what is in it, what does a pass cost?",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
