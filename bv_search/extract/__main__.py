"""bv-search extract: hidden states of every layer into an activation store."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from bv_search.command import AUTO, Command, Progress, Result, main, positive_int
from bv_search.extract.config import ExtractConfig
from bv_search.precision import PRECISIONS
from bv_search.store.dtype import STORED
from bv_search.store.layout import FORMATS, LIMITS, MICRO_BATCH, TOKENS, BlockLimits

EXAMPLES = """
  bv-search extract --task mrpc --encoder stages/mrpc/0.3 --data glue/MRPC --out stores/mrpc
  bv-search extract --task squad2-span --encoder stages/squad/0.3 --data squad/ --out stores/squad --workers 4
  bv-search extract --task sst2 --encoder bert-base-uncased --layers 0,6,12 --tokens mean --out s3://bucket/sst2
  the same command again goes on where it was interrupted; with --repair it redoes damaged files
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--task", required=True, help="name of a task, or a YAML file that defines one")
    parser.add_argument(
        "--encoder", required=True, help="a stage, a transformers folder, or a name on the Hub"
    )
    parser.add_argument("--out", required=True, metavar="STORE", help="the store's folder or address")
    parser.add_argument(
        "--data", metavar="PATH", help="local folder or file of the task; without it, from the Hub"
    )
    parser.add_argument(
        "--format",
        default=ExtractConfig.format,
        choices=FORMATS,
        help="of blocks; none: keep nothing, the encoder feeds the heads as they train, --source live "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--dtype",
        default=ExtractConfig.dtype,
        choices=sorted(STORED),
        help="of values (default: %(default)s)",
    )
    parser.add_argument(
        "--layers", type=layers, default=None, metavar="all|N,…", help="0 is the embeddings (default: all)"
    )
    parser.add_argument(
        "--tokens", choices=TOKENS, help="of a window (default: all for spans, first for the rest)"
    )
    parser.add_argument(
        "--workers",
        type=int,
        help="encoding processes (default: one per GPU, also of machines to come; without any, one per CPU "
        "as far as memory goes: each takes twice the encoder's weights and 2 GB); 0: no Ray",
    )
    parser.add_argument("--threads", type=positive_int, help="of each worker on CPUs (default: its share)")
    parser.add_argument(
        "--precision",
        default=ExtractConfig.precision,
        choices=(AUTO, *PRECISIONS),
        help="of the forward pass (default: 16 bits where the machine is faster at them)",
    )
    parser.add_argument(
        "--batch-tokens", type=positive_int, help="of one forward pass (default: 1024, on a GPU 4096)"
    )
    parser.add_argument(
        "--block-bytes",
        type=positive_int,
        metavar="N",
        help="a block is closed at this size (default: 128 MiB)",
    )
    parser.add_argument(
        "--seed", type=int, default=ExtractConfig.seed, help="of the order of rows (default: %(default)s)"
    )
    parser.add_argument("--repair", action="store_true", help="redo the damaged files of a finished store")


def layers(text: str) -> tuple[int, ...] | None:
    if text == "all":
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"invalid value {text!r}: give all, or numbers as in 0,6,12") from None


def limits(block_bytes: int | None) -> BlockLimits:
    return LIMITS if block_bytes is None else BlockLimits(bytes=block_bytes, windows=MICRO_BATCH)


def run_command(args: Namespace, progress: Progress) -> Result:
    config = ExtractConfig(
        task=args.task,
        encoder=args.encoder,
        out=args.out,
        data=args.data,
        format=args.format,
        dtype=args.dtype,
        layers=args.layers,
        tokens=args.tokens,
        workers=args.workers,
        threads=args.threads,
        precision=args.precision,
        batch_tokens=args.batch_tokens,
        seed=args.seed,
        limits=limits(args.block_bytes),
        repair=args.repair,
    )
    from bv_search.extract import extraction

    result = extraction.run(config, progress)
    return Result(text=extraction.describe(result), json=result.to_json())


COMMAND = Command(
    name="extract",
    summary="Run an encoder once over a task's data and keep the hidden states of every layer.",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=run_command,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
