"""Passages of facts, and questions about them, in the official shape of SQuAD 2.0.

A passage tells a few facts about a few people. A question asks for one fact of one person, often in
other words than the passage. A question without an answer asks for a fact that the passage tells of
somebody else only: neither the person nor the kind of fact is enough to answer, a reader has to join them.
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
    """How much text: passages, questions for each, and the people, kinds of facts and facts of a passage."""

    train_passages: int = 1500
    dev_passages: int = 250
    questions: int = 4
    people: int = 3
    kinds: int = 3
    facts: int = 6
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
    people = rng.sample(PEOPLE, settings.people)
    kinds = rng.sample(sorted(KINDS), settings.kinds)
    pairs = rng.sample([(who, kind) for who in people for kind in kinds], settings.facts)
    text, told = "", []
    for who, kind in pairs:
        what = " ".join(rng.choice(part) for part in KINDS[kind].parts)
        sentence = rng.choice(KINDS[kind].told).replace("{who}", who)
        text += " " if text else ""
        told.append(Fact(who=who, kind=kind, what=what, start=len(text) + sentence.index("{what}")))
        text += sentence.replace("{what}", what)
    return Passage(text=text, facts=tuple(told))


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
        articles.append({"title": f"{name} {first // PASSAGES_PER_ARTICLE:04d}", "paragraphs": paragraphs})
    return {"version": "v2.0", "data": articles}


def ask(passage: Passage, rng: random.Random, settings: TextSettings) -> Iterator[dict[str, Any]]:
    """Questions about a passage, answerable or not by chance, each asked once."""
    answerable = rng.sample(passage.facts, len(passage.facts))
    impossible = absent_facts(passage, rng)
    for _ in range(settings.questions):
        wants_impossible = rng.random() < settings.unanswerable
        pool = impossible if impossible and (wants_impossible or not answerable) else answerable
        if pool:
            yield question(pool.pop(), rng, impossible=pool is impossible)


def absent_facts(passage: Passage, rng: random.Random) -> list[Fact]:
    """Facts with their person swapped for another of the passage of whom it tells no such thing."""
    told = {(fact.who, fact.kind) for fact in passage.facts}
    people = sorted({fact.who for fact in passage.facts})
    swapped = {
        (who, fact.kind): Fact(who=who, kind=fact.kind, what=fact.what, start=fact.start)
        for fact in passage.facts
        for who in people
        if (who, fact.kind) not in told
    }
    return rng.sample(list(swapped.values()), len(swapped))


def question(fact: Fact, rng: random.Random, *, impossible: bool) -> dict[str, Any]:
    answer = [{"text": fact.what, "answer_start": fact.start}]
    asked = {"question": rng.choice(KINDS[fact.kind].asked).replace("{who}", fact.who)}
    if impossible:
        return {**asked, "is_impossible": True, "answers": [], "plausible_answers": answer}
    return {**asked, "is_impossible": False, "answers": answer}
