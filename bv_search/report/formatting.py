"""Numbers as words: no more certain than they are."""

from collections.abc import Sequence

from bv_search.model.standings import BEST, ENSEMBLE, SMALLEST, Standing, gain_sentence
from bv_search.report.facts import Facts
from bv_search.run.leaderboard import LEAST_PERCENT
from bv_search.run.trial import BAGGED
from bv_search.scan.ladder import ENCODER
from bv_search.scan.store_view import doubts
from bv_search.tasks.evaluation import Delta

NOTHING = "–"


def number(value: float | None, digits: int = 4) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def interval(pair: tuple[float, float] | None) -> str:
    return NOTHING if pair is None else f"{pair[0]:.4f} to {pair[1]:.4f}"


def delta(value: Delta | None) -> str:
    return NOTHING if value is None else str(value)


def signed(value: float, digits: int = 3) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def percent(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:.3g} %" if value >= LEAST_PERCENT or value == 0 else f"< {LEAST_PERCENT} %"


def share(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.0f} %"


def count(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def seconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.1f} min" if value < 7200 else f"{value / 3600:.1f} h"


def size(value: int | None) -> str:
    """Bytes, by thousands as disks are sold."""
    if value is None:
        return NOTHING
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= least:
            return f"{value / least:.3g} {unit}"
    return f"{value} bytes"


def cell(value: object) -> str:
    """In a table of Markdown."""
    return str(value).replace("|", "\\|").replace("\n", " ")


def verdict(value: Delta | None) -> str:
    """What the interval allows to say."""
    return NOTHING if value is None else value.word


def beside(value: Delta | None, other: str) -> str:
    """The same, with a name."""
    return NOTHING if value is None else value.beside(other)


def scope(facts: Facts) -> str:
    """How much was tried."""
    searched, failed = facts.searched, len(facts.failed)
    again = sum(record.made == BAGGED and record.answers for record in facts.records)
    rungs = sum(record.rung is not None for record in facts.records)
    text = f"{len(searched)} trials, {sum(record.answers for record in searched)} finished heads"
    text += f", {again} of them learned once more" if again else ""
    text += f", {failed} failed" if failed else ""
    return text + (f"; {rungs} rungs of the ladder beside them" if rungs else "")


def summary(facts: Facts) -> list[str]:
    """What a reader in a hurry should take away: the ladder before the winner."""
    encoder = facts.standing(ENCODER)
    lines = []
    if facts.compared.ladder:
        lines.append(_ladder_sentence(facts.compared.ladder))
    if encoder is None:
        lines.append(
            "The encoder was never fine-tuned, so that it has no predictions of its own to compare with."
        )
    for standing in facts.standings:
        if not standing.is_rung:
            lines.append(_sentence(standing, encoder))
        if standing.role == BEST and (luck := facts.compared.luck) is not None:
            lines.append(f"It has {luck}.")
        if standing.role in (BEST, ENSEMBLE):
            lines.append(gain_sentence(facts.compared, standing))
        if standing.role == ENSEMBLE and (below := standing.below) is not None:
            lines.append(f"The ensemble is {below.delta.beside('the best head')}: {below.delta}.")
            lines.append(f"It was chosen on {facts.ensemble_choosers}.")
    if facts.unbeaten is not None:
        lines.append(f"On {facts.ensemble_choosers}, {facts.unbeaten}.")
    if (sentence := facts.run.unconsidered()) is not None:
        lines.append(sentence)
    return [*lines, *doubts(facts.store)]


def _ladder_sentence(ladder: Sequence[Standing]) -> str:
    rungs = [f"{rung.title} {number(rung.score)} ({interval(rung.interval)})" for rung in ladder]
    return f"Without a search: {', '.join(rungs)}."


def _sentence(standing: Standing, encoder: Standing | None) -> str:
    if standing.role == SMALLEST and not standing.is_found:
        return (
            f"The smallest head that is as good on select is a rung of the ladder: {standing.trial}, "
            f"with {count(standing.parameters)} parameters."
        )
    size = ""
    if standing.parameters is not None:
        size = f" with {count(standing.parameters)} parameters"
    if standing.percent is not None:
        size += f" ({percent(standing.percent)} of the encoder's)"
    text = f"The {standing.title}{size} scores {number(standing.score)} ({interval(standing.interval)})"
    if standing.delta is None or encoder is None:
        return f"{text}."
    beside = standing.delta.beside(f"the encoder's {number(encoder.score)}")
    return f"{text}: {beside}, a difference of {delta(standing.delta)}."
