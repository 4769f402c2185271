"""The demonstration: `tune` without a store, on text and an encoder that the project makes itself.

world.py          the people and kinds of facts that the text tells of
text.py           passages, and questions with and without an answer, as SQuAD 2.0 files
tokenizer.py      a WordPiece vocabulary of that text
encoder.py        a small BERT from scratch, pre-trained a little
pretraining.py    how: answerable questions about passages of its own
cache.py          what is made once and kept in the cache: data, encoder, stages, store
precheck.py       errors in the options, found before anything is made
demonstration.py  the real commands, one after the other, and what they found
"""

from bv_search.command import Progress, Result
from bv_search.tune.config import TuneConfig


def demonstrate(config: TuneConfig, progress: Progress) -> Result:
    """Search heads on generated data; what was made once is taken from the cache."""
    from bv_search.demo.precheck import check_request

    check_request(config)
    # everything there is, torch and Ray included, comes in with it
    from bv_search.demo.demonstration import run

    return run(config, progress)
