"""bv-search finetune: fine-tune an encoder, keeping a stage at each fraction of an epoch."""

import sys

from bv_search.command import Command, Progress, Result, main
from bv_search.finetune.config import FinetuneConfig

EXAMPLES = """
  bv-search finetune --task mrpc --encoder bert-base-uncased --fractions 0.3,1 --out stages/mrpc
  bv-search finetune --task squad2-span --encoder ./my-encoder --fractions 0.3,1,2 --data squad/ --out stages/
  bv-search finetune --task ./my-task.yaml --encoder ./my-encoder --fractions 0 --data rows/ --out stages/mine
  bv-search finetune --task mrpc --encoder ./my-encoder --fractions 0.3,1,2 --heads adapters --out stages/
"""


def run(config: FinetuneConfig, progress: Progress) -> Result:
    from bv_search.finetune import finetuning  # with torch

    stages = finetuning.run(config, progress)
    return Result(
        text="\n".join(finetuning.describe(saved) for saved in stages), json=finetuning.to_json(stages)
    )


COMMAND = Command(
    name="finetune",
    summary="Fine-tune an encoder on a task, keeping a stage at each fraction of an epoch.",
    examples=EXAMPLES,
    config=FinetuneConfig,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
