"""What scikit-learn finds in a store."""

from pathlib import Path

from bv_search.bench.linear import fit_linear
from tests.stores import make_class_store


def test_scikit_learn_finds_the_layer_that_knows(tmp_path: Path) -> None:
    for tokens in (1, 6):
        finding = fit_linear(make_class_store(tmp_path / f"store-{tokens}", tokens=tokens), threads=1)
        assert "layer 1" in finding.what
        assert finding.report.score > 0.9
