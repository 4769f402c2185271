"""Pre-training for a few seconds: point at the answers of answerable questions.

This stands for what a published encoder brings along: it knows the words, and how to find what is asked
for. That a question may have no answer, it has never seen; fine-tuning has to teach it.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import BertForQuestionAnswering, PreTrainedTokenizerBase

from bv_search.demo.text import Passage, TextSettings, question, tell

REPORT_EVERY = 50  # steps


@dataclass(frozen=True, kw_only=True)
class PretrainingSettings:
    """How long, and how."""

    steps: int = 1300
    batch: int = 16  # questions, each about a passage of its own
    learning_rate: float = 2e-3  # after warm-up, falling to nothing in the last third
    warm_up: int = 100  # steps
    seed: int = 1  # of the passages: not that of the demonstration's text


@dataclass(frozen=True, kw_only=True)
class PretrainingStep:
    number: int
    loss: float  # mean since the step before
    right: float  # share of answers found since the step before


def pretrain(
    model: BertForQuestionAnswering,
    tokenizer: PreTrainedTokenizerBase,
    text: TextSettings,
    settings: PretrainingSettings,
) -> Iterator[PretrainingStep]:
    """Train in place. Without dropout: on so little text, it costs more than it gives."""
    model.eval()
    rng = random.Random(f"pre-training {settings.seed}")  # noqa: S311
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, fused=True)
    loss_sum, right = 0.0, 0
    for number in range(1, settings.steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * _rate(number, settings)
        inputs, spans = make_batch(tokenizer, [tell(rng, text) for _ in range(settings.batch)], rng)
        output = model(**inputs, start_positions=spans[:, 0], end_positions=spans[:, 1])
        optimiser.zero_grad()
        output.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        found = torch.stack([output.start_logits.argmax(1), output.end_logits.argmax(1)], dim=1)
        loss_sum += output.loss.item()
        right += int((found == spans).all(dim=1).sum())
        if number % REPORT_EVERY == 0 or number == settings.steps:
            steps = (number - 1) % REPORT_EVERY + 1
            yield PretrainingStep(
                number=number, loss=loss_sum / steps, right=right / (steps * settings.batch)
            )
            loss_sum, right = 0.0, 0


def _rate(number: int, settings: PretrainingSettings) -> float:
    return min(1.0, number / settings.warm_up, 3 * (1 - (number - 1) / settings.steps))


def make_batch(
    tokenizer: PreTrainedTokenizerBase, passages: list[Passage], rng: random.Random
) -> tuple[dict[str, Tensor], Tensor]:
    """A question about each passage, and the tokens at which its answer starts and ends."""
    asked = [question(rng.choice(passage.facts), rng) for passage in passages]
    inputs = tokenizer(
        [each["question"] for each in asked],
        [passage.text for passage in passages],
        padding=True,
        return_tensors="pt",
    )
    spans = []
    for row, each in enumerate(asked):
        answer = each["answers"][0]
        first, last = answer["answer_start"], answer["answer_start"] + len(answer["text"]) - 1
        spans.append([inputs.char_to_token(row, char, sequence_index=1) for char in (first, last)])
    return dict(inputs), torch.tensor(spans)
