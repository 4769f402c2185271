"""Passages of facts, and questions about them, in the official shape of SQuAD 2.0.

A passage tells some facts about one person, and one about another. A question asks for one fact of one
of them, often in other words than the passage. A question without an answer asks for a fact that the passage
does not tell of that person; sometimes it tells it of the other one, so that the kind of fact alone misleads.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.demo.world import KINDS, PEOPLE
from bv_search.files import folder_being_made, write_json

PASSAGES_PER_ARTICLE = 10


@dataclass(frozen=True, kw_only=True)
class TextSettings:
    """How much text: passages, questions for each, facts of its two people."""

    train_passages: int = 1500
    dev_passages: int = 400
    questions: int = 4
    facts: tuple[int, int] = (5, 1)
    unanswerable: float = 0.33
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One sentence of a passage; `start` is where `what` begins in the passage."""

    who: str
    kind: str
    what: str
    start: int


@dataclass(frozen=True, kw_only=True)
class Passage:
    text: str
    facts: tuple[Fact, ...]


def write_text(folder: Path, settings: TextSettings) -> Path:
    """`folder` with train.json and dev.json; no passage stands in both."""
    rng = random.Random(f"text {settings.seed}")  # noqa: S311
    passages = distinct_passages(rng, settings)
    with folder_being_made(folder) as part:
        for name, count in (("train", settings.train_passages), ("dev", settings.dev_passages)):
            chosen = [next(passages) for _ in range(count)]
            write_json(part / f"{name}.json", squad(name, chosen, rng, settings))
    return folder


def distinct_passages(rng: random.Random, settings: TextSettings) -> Iterator[Passage]:
    told: set[str] = set()
    while True:
        passage = tell(rng, settings)
        if passage.text not in told:
            told.add(passage.text)
            yield passage


def tell(rng: random.Random, settings: TextSettings) -> Passage:
    """A passage of distinct (person, kind) facts in no particular order."""
    people = rng.sample(PEOPLE, len(settings.facts))
    counts = zip(people, settings.facts, strict=True)
    pairs = [(who, kind) for who, count in counts for kind in rng.sample(sorted(KINDS), count)]
    rng.shuffle(pairs)
    text, facts = "", []
    for who, kind in pairs:
        what = " ".join(rng.choice(part) for part in KINDS[kind].parts)
        sentence = rng.choice(KINDS[kind].told).replace("{who}", who)
        text += " " if text else ""
        facts.append(Fact(who=who, kind=kind, what=what, start=len(text) + sentence.index("{what}")))
        text += sentence.replace("{what}", what)
    return Passage(text=text, facts=tuple(facts))


def squad(name: str, passages: list[Passage], rng: random.Random, settings: TextSettings) -> dict[str, Any]:
    """The file of one split, as the official ones are built: articles, paragraphs, questions."""
    articles = []
    for first in range(0, len(passages), PASSAGES_PER_ARTICLE):
        paragraphs = [
            {
                "context": passage.text,
                "qas": [
                    {"id": f"{name}-{first + k:05d}-{q}", **question}
                    for q, question in enumerate(ask(passage, rng, settings))
                ],
            }
            for k, passage in enumerate(passages[first : first + PASSAGES_PER_ARTICLE])
        ]
        page = first // PASSAGES_PER_ARTICLE + 1
        articles.append({"title": f"People of the valley, {name} page {page}", "paragraphs": paragraphs})
    return {"version": "v2.0", "data": articles}


def ask(passage: Passage, rng: random.Random, settings: TextSettings) -> Iterator[dict[str, Any]]:
    """Questions about a passage, answerable or not by chance, each asked once."""
    told = rng.sample(passage.facts, len(passage.facts))
    untold = untold_pairs(passage, rng)
    for _ in range(settings.questions):
        if untold and (rng.random() < settings.unanswerable or not told):
            yield impossible_question(*untold.pop(), passage, rng)
        elif told:
            yield question(told.pop(), rng)


def untold_pairs(passage: Passage, rng: random.Random) -> list[tuple[str, str]]:
    """(person, kind) that the passage does not tell; people come as often as in what it does tell."""
    told = {(fact.who, fact.kind) for fact in passage.facts}
    people = [fact.who for fact in passage.facts]
    drawn = {(rng.choice(people), kind): None for kind in rng.sample(sorted(KINDS), len(KINDS))}
    return [pair for pair in drawn if pair not in told]


def question(fact: Fact, rng: random.Random) -> dict[str, Any]:
    answer = {"text": fact.what, "answer_start": fact.start}
    return {"question": wording(fact.who, fact.kind, rng), "is_impossible": False, "answers": [answer]}


def impossible_question(who: str, kind: str, passage: Passage, rng: random.Random) -> dict[str, Any]:
    plausible = [
        {"text": fact.what, "answer_start": fact.start} for fact in passage.facts if fact.kind == kind
    ]
    asked = {"question": wording(who, kind, rng), "is_impossible": True}
    return {**asked, "answers": [], "plausible_answers": plausible}


def wording(who: str, kind: str, rng: random.Random) -> str:
    return rng.choice(KINDS[kind].asked).replace("{who}", who)
