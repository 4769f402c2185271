"""bv-search finetune: fine-tune an encoder, keeping a stage at each fraction of an epoch."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from bv_search.command import Command, Progress, Result, main, positive_int
from bv_search.finetune import finetuning
from bv_search.finetune.config import PRECISIONS, FinetuneConfig
from bv_search.finetune.ride import RIDING

EXAMPLES = """
  bv-search finetune --task mrpc --encoder bert-base-uncased --fractions 0.3,1 --out stages/mrpc
  bv-search finetune --task squad2-span --encoder ./my-encoder --fractions 0.3,1,2 --data squad/ --out stages/
  bv-search finetune --task ./my-task.yaml --encoder ./my-encoder --fractions 0 --data rows/ --out stages/mine
  bv-search finetune --task mrpc --encoder ./my-encoder --fractions 0.3,1,2 --heads adapters --out stages/
  bv-search finetune --task squad2-span --encoder bert-large-uncased --fractions 1 --out stages/ --workers 4
  bv-search finetune --task squad2-span --encoder bert-large-uncased --fractions 1 --out stages/ --dry-run
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--task", required=True, help="name of a task, or a YAML file that defines one")
    parser.add_argument(
        "--encoder", required=True, help="a transformers folder, or a name on the Hub (NAME or NAME@REVISION)"
    )
    parser.add_argument(
        "--fractions",
        required=True,
        type=fractions,
        metavar="F,…",
        help="epochs after which a stage is kept; 0: as it is",
    )
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="folder for the stages")
    parser.add_argument(
        "--data", metavar="PATH", help="local folder or file of the task; without it, from the Hub"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=FinetuneConfig.seed,
        help="of head, order and dropout (default: %(default)s)",
    )
    parser.add_argument(
        "--learning-rate",
        type=float,
        default=FinetuneConfig.learning_rate,
        help="constant after warm-up (default: %(default)s)",
    )
    parser.add_argument(
        "--batch",
        type=positive_int,
        default=FinetuneConfig.batch,
        help="windows per step (default: %(default)s)",
    )
    parser.add_argument(
        "--device", default=FinetuneConfig.device, help="auto, cpu or cuda (default: %(default)s)"
    )
    parser.add_argument(
        "--precision",
        default=FinetuneConfig.precision,
        choices=PRECISIONS,
        help="of matrix products (default: 16 bits where the machine is faster at them)",
    )
    parser.add_argument(
        "--workers",
        type=positive_int,
        default=FinetuneConfig.workers,
        metavar="N",
        help="processes that read each step together, with a GPU each where there are any, else a share of "
        "the cores (default: %(default)s)",
    )
    memory = parser.add_argument_group("where memory is short")
    memory.add_argument(
        "--accumulate",
        type=positive_int,
        default=FinetuneConfig.accumulate,
        metavar="N",
        help="read the windows of a step in N parts, one after another, and add their gradients up "
        "(default: %(default)s)",
    )
    memory.add_argument(
        "--checkpointing",
        action="store_true",
        help="compute activations again for the gradients rather than keep them: the same stages, later",
    )
    memory.add_argument(
        "--dry-run",
        action="store_true",
        help="write nothing; measure a few steps, say how long all take, and which GPU has the memory",
    )
    riding = parser.add_argument_group("heads that ride along")
    riding.add_argument(
        "--heads",
        metavar="SPACE",
        help="a search space, shipped or a YAML file: heads of it learn on the hidden states of each step",
    )
    riding.add_argument(
        "--trials",
        type=positive_int,
        metavar="N",
        help=f"heads that ride (default: {RIDING}, or all of a list)",
    )
    riding.add_argument(
        "--until-heads-plateau",
        type=positive_int,
        metavar="N",
        help="stop after N fractions in a row at which the best head does no better on select than before",
    )


def fractions(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ArgumentTypeError(
            f"invalid value {text!r}: give numbers with commas, such as 0.3,1,2"
        ) from None


def run_command(args: Namespace, progress: Progress) -> Result:
    config = FinetuneConfig(
        task=args.task,
        encoder=args.encoder,
        fractions=args.fractions,
        out=args.out,
        data=args.data,
        seed=args.seed,
        learning_rate=args.learning_rate,
        batch=args.batch,
        device=args.device,
        precision=args.precision,
        workers=args.workers,
        accumulate=args.accumulate,
        checkpointing=args.checkpointing,
        heads=args.heads,
        trials=args.trials,
        until_heads_plateau=args.until_heads_plateau,
    )
    if args.dry_run:
        from bv_search.finetune.quote import take_quote  # with torch

        quote = take_quote(config, progress)
        return Result(text=str(quote), json=quote.to_json())
    stages = finetuning.run(config, progress)
    return Result(
        text="\n".join(finetuning.describe(saved) for saved in stages), json=finetuning.to_json(stages)
    )


COMMAND = Command(
    name="finetune",
    summary="Fine-tune an encoder on a task, keeping a stage at each fraction of an epoch.",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=run_command,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
