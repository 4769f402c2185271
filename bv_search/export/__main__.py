"""`bv-search export RUN --to FOLDER`."""

import sys
from argparse import ArgumentParser, Namespace

from bv_search.command import Command, Progress, Result, main
from bv_search.export.export import ExportConfig, run

EXAMPLES = """
  bv-search export runs/first --to mine                      its best head, with its encoder
  bv-search export runs/first --to mine --member ensemble    all that the ensemble is made of
  bv-search export runs/first --to mine --no-encoder         small: the encoder is only named
  bv-search export runs/first --to mine --onnx               and encoder and head as one ONNX file
  bv-search predict mine --data new.tsv                      what was exported answers
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the folder of a run")
    parser.add_argument("--to", metavar="FOLDER", required=True, help="a new folder: whole, or not there")
    parser.add_argument(
        "--member",
        metavar="NAME",
        default=ExportConfig.member,
        help="a trial, best, smallest or ensemble (default: %(default)s)",
    )
    parser.add_argument("--encoder", metavar="FOLDER", help="where the model's encoder is now")
    parser.add_argument("--no-encoder", action="store_true", help="name the encoder, and leave it out")
    parser.add_argument(
        "--onnx", action="store_true", help="add onnx/model.onnx, checked against torch on rows of the run"
    )


def command(args: Namespace, progress: Progress) -> Result:
    result = run(
        ExportConfig(
            run=args.run,
            to=args.to,
            member=args.member,
            encoder=args.encoder,
            bundle=not args.no_encoder,
            onnx=args.onnx,
        ),
        progress,
    )
    return Result(text=result.text(), json=result.to_json())


COMMAND = Command(
    name="export",
    summary="Write a model of a run as a folder to publish: weights, encoder, card, and ONNX if you like.",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=command,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
