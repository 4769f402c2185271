"""Questions with their passages, cut into windows.

Every text is tokenised once, however many questions share a passage and however many windows it
takes; the windows are then put together here, exactly as the tokenizer would (the tests hold it to
that). This is what makes SQuAD a matter of seconds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bv_search.errors import EncoderError
from bv_search.tasks.window import Ints, Tokenizer, flatten, require_fast

LONGEST_QUESTION = 64  # tokens, as in the original code; of short windows at most a third
BATCH = 2048  # texts handed to the tokenizer at once


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """A text's tokens without special ones, and the characters that each stands for."""

    ids: Ints
    starts: Ints
    ends: Ints

    def touching(self, start: int, end: int) -> range:
        """The tokens of the characters [start, end), as far as the tokenizer keeps these."""
        first = np.searchsorted(self.ends, start, side="right")
        return range(int(first), int(np.searchsorted(self.starts, end, side="left")))


@dataclass(frozen=True, kw_only=True)
class Template:
    """The special tokens around a question and a passage, and the segment of every part."""

    before: Ints
    between: Ints
    after: Ints
    types: tuple[int, int, int, int, int]  # before, question, between, passage, after

    @property
    def special(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)


@dataclass(frozen=True, kw_only=True)
class Window:
    """One window: its tokens and, of each, the characters of the passage (-1: not of the passage)."""

    token_ids: Ints
    type_ids: Ints
    starts: Ints
    ends: Ints
    offset: int  # where its part of the passage begins
    part: range  # the passage's tokens that it holds

    def place(self, tokens: range) -> tuple[int, int] | None:
        """Where the first and the last of these tokens of the passage stand, if it holds them all."""
        if not tokens or tokens[0] not in self.part or tokens[-1] not in self.part:
            return None
        shift = self.offset - self.part.start
        return tokens[0] + shift, tokens[-1] + shift


@dataclass(frozen=True, kw_only=True)
class Cutter:
    """Cuts the passages of one tokenizer to one length of window."""

    template: Template
    max_length: int
    stride: int

    def cut(self, question: Tokens, passage: Tokens) -> Iterator[Window]:
        """The windows over one passage, each sharing `stride` tokens with the one before."""
        words = question.ids[: min(LONGEST_QUESTION, self.max_length // 3)]
        room = self.max_length - self.template.special - len(words)
        step = room - min(self.stride, room // 2)
        first = 0
        while True:
            part = slice(first, first + room)
            yield self._assemble(words, passage, part)
            if part.stop >= len(passage.ids):
                return
            first += step

    def _assemble(self, question: Ints, passage: Tokens, part: slice) -> Window:
        template = self.template
        ids = passage.ids[part]
        pieces = (template.before, question, template.between, ids, template.after)
        token_ids = np.concatenate(pieces)
        offset = len(template.before) + len(question) + len(template.between)
        starts = np.full(len(token_ids), -1, dtype=np.int32)
        ends = starts.copy()
        starts[offset : offset + len(ids)] = passage.starts[part]
        ends[offset : offset + len(ids)] = passage.ends[part]
        types = np.repeat(np.array(template.types, dtype=np.int32), [len(piece) for piece in pieces])
        held = range(part.start, part.start + len(ids))
        return Window(token_ids=token_ids, type_ids=types, starts=starts, ends=ends, offset=offset, part=held)


def cutter(tokenizer: Tokenizer, max_length: int, stride: int = 0) -> Cutter:
    """For an encoder that reads less than the task asks for, windows are as long as it can read."""
    require_fast(tokenizer)
    length = min(max_length, tokenizer.model_max_length)
    return Cutter(template=_template(tokenizer), max_length=length, stride=stride)


def tokenise(texts: Iterable[str], tokenizer: Tokenizer) -> dict[str, Tokens]:
    """The tokens of every distinct text."""
    distinct = list(dict.fromkeys(texts))
    tokens: dict[str, Tokens] = {}
    for first in range(0, len(distinct), BATCH):
        batch = distinct[first : first + BATCH]
        tokens.update(zip(batch, _tokenise_batch(batch, tokenizer), strict=True))
    return tokens


def _tokenise_batch(texts: Sequence[str], tokenizer: Tokenizer) -> Iterator[Tokens]:
    encoded = tokenizer(
        list(texts),
        add_special_tokens=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        return_offsets_mapping=True,
        verbose=False,  # passages longer than a window are the normal case
    )
    for text, ids, offsets in zip(texts, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        starts, ends = flatten(offsets).reshape(-1, 2).T
        yield Tokens(ids=np.array(ids, dtype=np.int32), starts=_past_blanks(text, starts, ends), ends=ends)


def _past_blanks(text: str, starts: Ints, ends: Ints) -> Ints:
    """Some tokenizers count the blank before a word to it."""
    is_blank = np.array([each.isspace() for each in text] + [False])
    starts = starts.copy()
    while (blank := is_blank[starts] & (starts < ends - 1)).any():
        starts[blank] += 1
    return starts


def _template(tokenizer: Tokenizer) -> Template:
    """Read off a pair of one-word texts: which tokens belong to neither of the two, and where."""
    encoded = tokenizer(["a"], ["a"], return_token_type_ids=True)
    ids = np.array(encoded["input_ids"][0], dtype=np.int32)
    types = encoded["token_type_ids"][0]
    sides = encoded.sequence_ids(0)
    first = [place for place, side in enumerate(sides) if side == 0]
    second = [place for place, side in enumerate(sides) if side == 1]
    if not first or not second or not 0 < first[0] <= first[-1] < second[0]:
        raise EncoderError(
            "the tokenizer does not begin a pair of texts with a special token",
            where=type(tokenizer).__name__,
            expected="[CLS] question [SEP] passage [SEP] or the like",
            do="choose a BERT-like encoder",
        )
    before, between, after = ids[: first[0]], ids[first[-1] + 1 : second[0]], ids[second[-1] + 1 :]
    type_between = types[first[-1] + 1] if len(between) else types[first[0]]
    type_after = types[-1] if len(after) else types[second[0]]
    return Template(
        before=before,
        between=between,
        after=after,
        types=(types[0], types[first[0]], type_between, types[second[0]], type_after),
    )
