"""`bv-search export RUN --to FOLDER`."""

import sys

from bv_search.command import Command, Progress, Result, main
from bv_search.export.config import ExportConfig

EXAMPLES = """
  bv-search export runs/first --to mine                      its best head, with its encoder
  bv-search export runs/first --to mine --member ensemble    all that the ensemble is made of
  bv-search export runs/first --to mine --no-encoder         small: the encoder is only named
  bv-search export runs/first --to mine --onnx               and encoder and head as one ONNX file
  bv-search predict mine --data new.tsv                      what was exported answers
"""


def run(config: ExportConfig, progress: Progress) -> Result:
    from bv_search.export import export  # with torch

    result = export.run(config, progress)
    return Result(text=result.text(), json=result.to_json())


COMMAND = Command(
    name="export",
    summary="Write a model of a run as a folder to publish: weights, encoder, card, and ONNX if you like.",
    examples=EXAMPLES,
    config=ExportConfig,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
