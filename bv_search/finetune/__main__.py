"""bv-search finetune: fine-tune an encoder, keeping a stage at each fraction of an epoch."""

import sys
from dataclasses import dataclass
from typing import Annotated

from bv_search.command import Command, Progress, Result, main
from bv_search.finetune.config import FinetuneConfig
from bv_search.options import Option

EXAMPLES = """
  bv-search finetune --task mrpc --encoder bert-base-uncased --fractions 0.3,1 --out stages/mrpc
  bv-search finetune --task squad2-span --encoder ./bert --fractions 0.3,1,2 --data squad/ --out stages/squad
  bv-search finetune --task ./my-task.yaml --encoder ./my-encoder --fractions 0 --data rows/ --out stages/mine
  bv-search finetune --task mrpc --encoder ./my-encoder --fractions 0.3,1,2 --heads adapters --out stages/mrpc
  bv-search finetune --task squad2-span --encoder ./bert-large --fractions 1 --out stages/squad --workers 4
  bv-search finetune --task squad2-span --encoder ./bert-large --fractions 1 --out stages/squad --dry-run
"""


@dataclass(frozen=True, kw_only=True)
class FinetuneArguments(FinetuneConfig):
    dry_run: Annotated[
        bool,
        Option("write nothing; measure a few steps, say how long all take, and which GPU has the memory"),
    ] = False


def run(asked: FinetuneArguments, progress: Progress) -> Result:
    if asked.dry_run:
        from bv_search.finetune.quote import take_quote  # with torch

        quote = take_quote(asked, progress)
        return Result(text=str(quote), json=quote.to_json())
    from bv_search.finetune import finetuning  # with torch

    stages = finetuning.run(asked, progress)
    return Result(
        text="\n".join(finetuning.describe(saved) for saved in stages), json=finetuning.to_json(stages)
    )


COMMAND = Command(
    name="finetune",
    summary="Fine-tune an encoder on a task, keeping a stage at each fraction of an epoch.",
    examples=EXAMPLES,
    config=FinetuneArguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
