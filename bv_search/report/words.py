"""Numbers as words: no more certain than they are."""

from bv_search.model.standings import BEST, ENSEMBLE, SMALLEST, Standing, gain_sentence
from bv_search.report.facts import Facts
from bv_search.scan.ground import doubts
from bv_search.scan.ladder import ENCODER, PROBE
from bv_search.tasks.evaluation import Delta

NOTHING = "–"


def number(value: float | None, digits: int = 4) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


def interval(pair: tuple[float, float] | None) -> str:
    return NOTHING if pair is None else f"{pair[0]:.4f} to {pair[1]:.4f}"


def delta(value: Delta | None) -> str:
    if value is None:
        return NOTHING
    return f"{signed(value.value)} ({signed(value.low)} to {signed(value.high)})"


def percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3g} %"


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


def verdict(standing: Standing) -> str:
    """What the interval allows to say: "not better" where it includes 0."""
    if standing.delta is None:
        return NOTHING
    return standing.delta.word


def summary(facts: Facts) -> list[str]:
    """What a reader in a hurry should take away."""
    lines = []
    encoder = facts.standing(ENCODER)
    if encoder is None:
        lines.append(
            "The encoder was never fine-tuned, so that it has no predictions of its own to compare with."
        )
    for role in (PROBE, BEST, SMALLEST, ENSEMBLE):
        if (standing := facts.standing(role)) is not None:
            lines.append(_sentence(standing, encoder))
        if role == BEST and standing is not None:
            lines.append(gain_sentence(facts.compared, standing))
    if facts.unbeaten is not None:
        lines.append(f"No combination of models did better on select than {facts.unbeaten} alone.")
    if facts.over_best is not None:
        lines.append(f"The ensemble is {facts.over_best.word} than the best head: {delta(facts.over_best)}.")
    if (sentence := facts.run.unconsidered()) is not None:
        lines.append(sentence)
    return [*lines, *doubts(facts.store)]


def _sentence(standing: Standing, encoder: Standing | None) -> str:
    size = ""
    if standing.parameters is not None:
        size = f" with {count(standing.parameters)} parameters ({percent(standing.percent)} of the encoder's)"
    text = f"The {standing.title}{size} scores {number(standing.score)} ({interval(standing.interval)})"
    if standing.delta is None or encoder is None:
        return f"{text}."
    word = standing.delta.word
    return (
        f"{text}: {word} than the encoder's {number(encoder.score)}, a difference of {delta(standing.delta)}."
    )
