"""bv-search study: how little is enough, from one command to tables, figures and a page."""

import sys
from dataclasses import dataclass
from typing import Annotated

from bv_search.command import Command, Progress, Result, main
from bv_search.options import Option
from bv_search.study.config import StudiesConfig

EXAMPLES = """
  bv-search study --task mrpc --encoder bert-base-uncased --data glue/MRPC --out studies/mrpc --dry-run
  bv-search study --task mrpc --encoder bert-base-uncased --data glue/MRPC --out studies/mrpc
  bv-search study --task squad2-span --encoder ./bert --data squad/ --stages 0.1,0.3,1,2 --out studies/squad
  bv-search study --task mrpc --encoder ./bert --out studies/small --only curve,heads --keep-stores no
  the same command again goes on where it was interrupted; more --stages, or other studies, add to it
"""


@dataclass(frozen=True, kw_only=True)
class StudyArguments(StudiesConfig):
    dry_run: Annotated[
        bool, Option("say what all steps will take, in seconds and bytes, by rates measured on this machine")
    ] = False


def run(asked: StudyArguments, progress: Progress) -> Result:
    from bv_search.study import studies  # with torch and Ray

    if asked.dry_run:
        quote = studies.dry_run(asked, progress)
        return Result(text=str(quote), json=quote.to_json())
    done = studies.run(asked, progress)
    return Result(text=str(done), json=done.to_json())


COMMAND = Command(
    name="study",
    summary="How little fine-tuning, data and head is enough: the source work's studies, on any encoder.",
    examples=EXAMPLES,
    config=StudyArguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
