"""The command: options, dry runs, and what a user's mistake looks like."""

import json
import re
from pathlib import Path

import pytest

from bv_search.command import main
from bv_search.heads.config import HeadConfig
from bv_search.heads.head import count_parameters
from bv_search.scan.course import MOST_PASSES
from bv_search.scan.store_view import head_shape
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import find_space
from bv_search.store.store import Store
from bv_search.tune.__main__ import COMMAND


def run(*words: object) -> int:
    return main(COMMAND, [str(word) for word in words])


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--space", "adapter"], "no space named 'adapter'; expected one of adapters, "),
        (["--space", "adapter"], "did you mean 'adapters'?"),
        (
            ["--searcher", "hyperop"],
            "no searcher named 'hyperop'; expected one of grid, hyperopt, optuna, optuna-gp, random",
        ),
        (
            ["--scheduler", "ash"],
            "no scheduler named 'ash'; expected one of asha, none; did you mean 'asha'?",
        ),
        (
            ["--source", "liv"],
            "no source named 'liv'; expected one of auto, live, store; did you mean 'live'?",
        ),
        (["--source", "live"], "random: the encoder is not there; expected the encoder with digest xxh3:0"),
        (["--source", "live"], "put it back, or read the store: --source store"),
        (["--memory", "2"], "argument --memory: expected a size such as 512MB or 2GB; found '2'"),
        (["--memory", "1kB"], "has blocks that do not fit into the memory for them; expected at least"),
        (["--trials", "0"], "argument --trials: expected a whole number above zero; found '0'"),
        (["--trials", "-3"], "argument --trials: expected a whole number above zero; found '-3'"),
        (["--pack", "many"], "argument --pack: expected a whole number above zero; found 'many'"),
        (["--objective", "parameters"], "no objective named 'parameters'; expected one of score, score,para"),
        (
            ["--objective", "score,parameters", "--searcher", "hyperopt"],
            "hyperopt takes one objective; expected --searcher optuna, optuna-gp, random, grid; found score,",
        ),
        (
            ["--objective", "score,parameters", "--scheduler", "asha"],
            "asha judges by the score alone, and would stop the small heads of a front; expected --scheduler",
        ),
        (["--max-parameters", "0"], "--max-parameters: expected a whole number above zero; found '0'"),
        (["--max-parameters", "9"], "adapters: has no head that small; expected max_parameters of "),
        (["--target", "high"], "argument --target: expected a score such as 0.85; found 'high'"),
        (["--target", "nan"], "argument --target: expected a score such as 0.85; found 'nan'"),
        (["--patience", "0"], "argument --patience: expected a whole number above zero; found '0'"),
        (["--time-budget", "2 days"], "argument --time-budget: expected a time such as 90s, 30m or 2h"),
        (
            ["--data-fraction", "1.5"],
            "argument --data-fraction: expected a number above 0 and up to 1; found '1.5'",
        ),
        (
            ["--name", "../out"],
            "--name: expected the name of a folder in --runs; found '../out'",
        ),
        (
            ["--name", ".."],
            "--name: expected the name of a folder in --runs; found '..'",
        ),
        (["--name", ""], "--name: expected the name of a folder in --runs; found ''"),
        (
            ["--name", "/out"],
            "--name: expected the name of a folder in --runs; found '/out'",
        ),
        (["--name", "x" * 300], "--name: expected at most 200 bytes; found 300"),
        (["--resume", ".."], "--resume: expected the name of a run, or its folder; found '..'"),
        (["--resume", ""], "--resume: expected the name of a run, or its folder; found ''"),
        (["--resume", "x" * 300], "does not exist; expected the folder of a run"),
        (["--runs", __file__], "cannot be written; found Not a directory"),
        (["--runs", "/proc/x"], "cannot be written; found No such file or directory"),
        (["--store", "nowhere"], "nowhere: is not a store; expected manifest.json; found no such folder"),
        (["--searcher", "grid"], "has no end of values"),
    ],
)
def test_a_users_mistake_is_one_line_before_any_work(
    words: list[str],
    message: str,
    span_store: Store,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = words if "--store" in words else ["--store", span_store.path, *words]

    assert run(*given) == 2

    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_shape_has_two_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--dry-run", "--shape", "25") == 2
    assert "expected LAYERSxWIDTH, such as 25x1024; found '25'" in capsys.readouterr().err
    assert run("--dry-run") == 2
    assert "expected --store STORE or --shape LxH" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--shape", "25x1024"], "--shape stands in for a store in a dry run; add --dry-run"),
        (["--shape", "25x1024", "--store", "x"], "--shape stands in for a store in a dry run"),
        (["--shape", "25x1024", "--resume", "x"], "--shape stands in for a store in a dry run"),
        (["--dry-run", "--shape", "25x1024", "--store", "x"], "both --store and --shape are given"),
        (["--dry-run", "--shape", "25x1024", "--resume", "x"], "a dry run is of a new search"),
        (["--dry-run", "--shape", "25x1024", "--warm-start", "x"], "a dry run proposes nothing"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_run_with_a_slash_is_the_folder_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for place, expected in (
        ("./it", tmp_path / "it"),
        ("it", Path("runs/it")),
        ("a/it", tmp_path / "a" / "it"),
    ):
        assert run("--resume", place) == 2
        assert f"{expected}: does not exist" in capsys.readouterr().err


def test_a_resumed_run_keeps_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--resume", "one", "--name", "two", "--runs", tmp_path) == 2
    assert "--name is not the name of the resumed run" in capsys.readouterr().err


def test_a_finalist_has_three_copies_or_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--store", "somewhere", "--seeds", 2) == 2
    assert "expected 3 or more; found 2" in capsys.readouterr().err
