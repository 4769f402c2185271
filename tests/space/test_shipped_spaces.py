"""The shipped spaces hold what they say, and nothing that does not fit where they are for."""

from dataclasses import replace
from functools import cache

import pytest
import yaml

from bv_search.heads.config import CONFIGS, HeadConfig, HeadShape, check_fit
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import parse_space, shipped_spaces

SPANS = HeadShape(layers=25, width=1024, outputs=2, per_token=True, tokens=386)
ALL_TOKENS = HeadShape(layers=25, width=1024, outputs=2, per_token=False, tokens=250)
ONE_TOKEN = replace(ALL_TOKENS, layers=26, tokens=1)
MADE_FOR = {
    "adapters": [SPANS, ALL_TOKENS, ONE_TOKEN],
    "classification": [ALL_TOKENS, ONE_TOKEN],
    "classification-tokens": [ALL_TOKENS],
    "cnn": [SPANS, ALL_TOKENS, ONE_TOKEN],
    "data-fraction": [SPANS, ALL_TOKENS, ONE_TOKEN],
    "few-rows": [ALL_TOKENS, ONE_TOKEN],
    "full": [SPANS],
    "optimiser": [SPANS, ALL_TOKENS, ONE_TOKEN],
    "paper-classification": [ALL_TOKENS, ONE_TOKEN],
    "paper-span": [SPANS],
    "pooling": [SPANS, ALL_TOKENS, ONE_TOKEN],
}


@cache
def heads(name: str) -> list[HeadConfig]:
    """All heads of a space, whatever else it searches."""
    source = yaml.safe_load(shipped_spaces()[name].read_text())
    only_heads = parse_space({"space": {"head": source["space"]["head"]}}, name)
    return [TrialConfig.from_json(config).head for config in only_heads.corners()]


def test_all_shipped_spaces_are_here() -> None:
    assert set(MADE_FOR) == set(shipped_spaces())


@pytest.mark.parametrize("name", MADE_FOR)
def test_every_head_of_a_space_fits_what_it_is_for(name: str) -> None:
    for head in heads(name):
        for shape in MADE_FOR[name]:
            check_fit(head, shape)


@pytest.mark.parametrize("name", MADE_FOR)
def test_heads_of_a_space_have_names_of_their_own(name: str) -> None:
    found = heads(name)
    assert len({head.name for head in found}) == len(set(found))


def test_the_spaces_hold_every_kind_that_fits() -> None:
    def kinds(*names: str) -> set[str]:
        return {head.kind for name in names for head in heads(name)}

    of_tokens = {"linear", "mlp", "gated-pooling"}
    of_windows = kinds("classification", "classification-tokens", "paper-classification")
    assert kinds("full") == kinds("paper-span") | of_tokens
    assert of_windows | kinds("full") == set(CONFIGS) - {"constant"}


def test_what_costs_a_hundred_times_more_stands_in_spaces_of_its_own() -> None:
    for name in ("adapters", "classification", "classification-tokens"):
        assert not {head.kind for head in heads(name)} & {"cnn", "xception", "xception-mod", "inception"}


def test_windows_are_answered_by_every_readout() -> None:
    found = {(head.kind, head.readout) for head in heads("classification-tokens")}
    kinds = {kind for kind, _ in found} - {"attention", "flat-adapter"}
    assert found >= {(kind, readout) for kind in kinds for readout in ("first", "last", "mean", "max")}
