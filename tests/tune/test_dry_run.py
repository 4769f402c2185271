"""A dry run says what a search would train, and what it would cost."""

import json
import re
from pathlib import Path

import pytest

from bv_search.heads.config import HeadConfig
from bv_search.heads.head import count_parameters
from bv_search.scan.course import MOST_PASSES
from bv_search.scan.store_view import head_shape
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import find_space
from bv_search.store.store import Store
from tests.tune.conftest import run


def test_a_dry_run_lists_the_paper_heads_with_exact_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--space", "paper-span", "--dry-run", "--shape", "25x1024", "--json") == 0

    heads = json.loads(capsys.readouterr().out.splitlines()[-1])["heads"]
    sizes = {head["name"]: head["parameters"] for head in heads}
    assert sizes["adapter 386 shared"] == 414_952
    assert sizes["learned pooling"] == 2_076
    assert next(h["percent"] for h in heads if h["parameters"] == 414_952) == pytest.approx(0.1238, abs=1e-4)
    published = {head["name"]: (head["percent"], head["published_percent"]) for head in heads}
    unpublished = [name for name, (_, percent) in published.items() if percent is None]
    assert unpublished == ["average pooling", "adapter 386 shared skip", "adapter 64 shared skip"]
    assert all(ours == pytest.approx(said, rel=0.02, abs=5e-4) for ours, said in published.values() if said)


def test_a_dry_run_prints_what_was_published_beside(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--space", "paper-span", "--dry-run", "--shape", "25x1024") == 0
    assert "1.9902 %  (published: 1.994 %)" in capsys.readouterr().out
    assert run("--space", "paper-span", "--dry-run", "--shape", "13x768") == 0
    assert "published" not in capsys.readouterr().out


def test_heads_tell_what_a_shape_is_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = tmp_path / "mine.yaml"
    space.write_text("space: {head: {choice: [{kind: pooling}, {kind: xception}]}, learning_rate: 0.01}")
    assert run("--space", space, "--dry-run", "--shape", "26x1024", "--json") == 0
    heads = json.loads(capsys.readouterr().out)["heads"]
    assert [head["parameters"] for head in heads] == [2_077, 264_066]


def test_a_dry_run_of_classification_heads(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--space", "paper-classification", "--dry-run", "--shape", "26x1024", "--json") == 0

    heads = json.loads(capsys.readouterr().out.splitlines()[-1])["heads"]
    parameters = [head["parameters"] for head in heads]
    assert {head["published_percent"] for head in heads} == {None}, "percents were published of span heads"
    assert parameters == [2_077, 398_499, 398_472, 264_066, 266_114, 20_662_106]


@pytest.mark.parametrize(("words", "folds"), [((), 1), (("--folds", 5), 5)], ids=["auto", "five folds"])
def test_a_dry_run_on_a_store_says_what_a_search_costs(
    words: tuple[object, ...], folds: int, span_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """With folds, of all copies of a head, and a pass is over train and select."""
    options = ("--space", "adapters", "--store", span_store.path, "--trials", 8, *words)
    assert run("--dry-run", *options, "--json") == 0

    said = json.loads(capsys.readouterr().out)
    assert (said["trials"], said["folds"]) == (8, folds)
    assert len(said["heads"]) == 28
    shape = head_shape(span_store)
    assert said["heads"][0]["parameters"] == folds * count_parameters(first_head("adapters"), shape)
    tokens = span_store.split("train").entry.tokens
    tokens += span_store.split("select").entry.tokens if folds > 1 else 0
    longest = MOST_PASSES * tokens * 5 * 24 * 2  # where heads never stop to gain
    assert said["cost"]["bytes_to_read_per_pack"] == longest
    assert said["cost"]["estimated_seconds"] > 0


def first_head(space: str) -> HeadConfig:
    return TrialConfig.from_json(next(iter(find_space(space).corners()))).head


def test_a_dry_run_says_which_heads_are_within_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--space", "paper-span", "--dry-run", "--shape", "25x1024", "--folds", 3)
    assert run(*options, "--max-parameters", 414_952) == 0
    said = capsys.readouterr().out
    assert "heads have at most 414,952 parameters a copy:" in said
    assert re.search(r"adapter 386 shared +1,244,856 +[\d.]+ %\s+\(published", said)
    assert run(*options, "--max-parameters", 414_951, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    fitting = {head["name"]: head["fits"] for head in found["heads"]}
    assert (fitting["learned pooling"], fitting["adapter 386 shared"]) == (True, False)
    assert found["trials"] == sum(fitting.values()), "a grid has no cell for the others"


def test_a_dry_run_counts_the_copies_that_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    def parameters(*words: object) -> list[int]:
        assert run("--space", "paper-span", "--dry-run", "--shape", "25x1024", "--json", *words) == 0
        return [head["parameters"] for head in json.loads(capsys.readouterr().out)["heads"]]

    assert parameters("--folds", 3) == [3 * each for each in parameters()]
    assert run("--space", "paper-span", "--dry-run", "--shape", "25x1024", "--folds", 3) == 0
    assert "trials of 3 copies each" in capsys.readouterr().out


def test_a_shape_has_two_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--dry-run", "--shape", "25") == 2
    assert "expected LAYERSxWIDTH, such as 25x1024; found '25'" in capsys.readouterr().err
    assert run("--dry-run") == 2
    assert "expected --store STORE or --shape LxH" in capsys.readouterr().err
