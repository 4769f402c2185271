"""The command: options, and what a user's mistake looks like."""

from pathlib import Path

import pytest

from bv_search.store.store import Store
from tests.tune.conftest import run


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
