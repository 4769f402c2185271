"""The verdict of a run, in one sentence: no more than the intervals allow."""

from bv_search.model.standings import BEST, ENSEMBLE, Standing
from bv_search.report.facts import Facts
from bv_search.report.formatting import percent
from bv_search.scan.ladder import ENCODER


def conclude(facts: Facts) -> str:
    """Whether searching was worth its while, by how much, and with what size."""
    best = facts.standing(BEST)
    assert best is not None, "a run with a finished head has a best one"
    sentence = f"{_opening(facts, best)} best head scores {best.score:.3f}{_size(best)}"
    beside = ", and ".join([*_beside_ladder(facts, best), *_beside_encoder(facts, best)])
    return f"{', '.join(filter(None, [sentence, beside]))}{_ensemble(facts, best)}."


def _opening(facts: Facts, best: Standing) -> str:
    if facts.compared.highest is None:
        return "The"
    if is_gain(facts, best):
        return "A gain: the"
    alone = is_gain(facts, facts.standing(ENSEMBLE))
    return "A gain of the ensemble alone: the" if alone else "No gain by searching: the"


def is_gain(facts: Facts, standing: Standing | None) -> bool:
    """Over the best of the ladder."""
    gain = None if standing is None else facts.compared.gain(standing.evaluation)
    return gain is not None and gain.delta.low > 0


def _size(best: Standing) -> str:
    return "" if best.percent is None else f" with {percent(best.percent)} of the encoder's parameters"


def _beside_ladder(facts: Facts, best: Standing) -> list[str]:
    highest = facts.compared.highest
    gain = facts.compared.gain(best.evaluation)
    if highest is None or gain is None:
        return []
    if highest.trial is not None and highest.trial == best.trial:
        return ["is what needs no search: a rung of the ladder"]
    name = f"the {highest.title} ({highest.score:.3f})"
    last = "" if highest.role == ENCODER else ", the best without a search"
    return [f"{gain.delta.beside(name)}{last}"]


def _beside_encoder(facts: Facts, best: Standing) -> list[str]:
    encoder, highest = facts.standing(ENCODER), facts.compared.highest
    if encoder is None or best.delta is None or highest is encoder:
        return []
    return [best.delta.beside(f"the encoder ({encoder.score:.3f})")]


def _ensemble(facts: Facts, best: Standing) -> str:
    """Beside the best head; beside the ladder and the encoder where that says something else of it."""
    ensemble = facts.standing(ENSEMBLE)
    if ensemble is None or ensemble.below is None:
        return ""
    beside = [ensemble.below.delta.beside("the best head")]
    gain = facts.compared.gain(ensemble.evaluation)
    if gain is not None and gain.delta.word != ensemble.below.delta.word:
        beside.append(gain.delta.beside(f"the {gain.over.title}"))
    if _over_encoder(ensemble) != _over_encoder(best) and (gain is None or gain.over.role != ENCODER):
        assert ensemble.delta is not None
        beside.append(ensemble.delta.beside("the encoder"))
    return f"; the ensemble scores {ensemble.score:.3f}, {' and '.join(beside)}"


def _over_encoder(standing: Standing) -> str | None:
    return None if standing.delta is None else standing.delta.word
