"""Options are made of a config's fields; those of every command are pinned, since scripts rely on them."""

import subprocess
import sys
from argparse import ArgumentParser
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest

from bv_search.__main__ import COMMANDS, find_command
from bv_search.command import build_parser, main
from bv_search.errors import UnknownName
from bv_search.options import Option, add_options, check_choices, fill, given, options_of
from bv_search.words import numbers, positive_int, size


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A field of each kind."""

    places: Annotated[tuple[str, ...], Option("where", metavar="PLACE", positional=True)]
    shares: Annotated[tuple[float, ...], Option("how much", read=numbers)]
    out: Annotated[Path, Option("where to")] = Path("here")
    seed: Annotated[int, Option("of the order")] = 0
    rate: Annotated[float | None, Option("of learning (default: its own)")] = None
    most_trials: Annotated[int | None, Option("at most", read=positive_int, group="trials")] = None
    memory: Annotated[int, Option("of blocks", read=size)] = size("2GB")
    colour: Annotated[Colour, Option("of it", choices=tuple(Colour))] = Colour.RED
    steps: Annotated[tuple[int, ...], Option("to take", read=positive_int, count="+")] = (1, 2)
    pair: Annotated[tuple[str, str] | None, Option("one and another", count=2)] = None
    loud: Annotated[bool, Option("say it")] = False
    mlflow: Annotated[bool, Option("write files only")] = True
    bundle: Annotated[bool | None, Option("leave it out", name="--no-encoder")] = None
    ours: str = "nobody's option"


def parser() -> ArgumentParser:
    made = ArgumentParser(allow_abbrev=False, exit_on_error=False)
    add_options(made, Asked)
    return made


def read(*words: str) -> Asked:
    return fill(Asked, parser().parse_args(["a", "--shares", "0.3,1", *words]))


def test_what_nobody_says_is_as_in_the_config() -> None:
    assert read() == Asked(places=("a",), shares=(0.3, 1.0))


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["--out", "there"], "out", Path("there")),
        (["--seed", "-1"], "seed", -1),
        (["--rate", "2e-5"], "rate", 2e-5),
        (["--most-trials", "8"], "most_trials", 8),
        (["--memory", "512MB"], "memory", 512_000_000),
        (["--colour", "blue"], "colour", Colour.BLUE),
        (["--steps", "3", "4", "5"], "steps", (3, 4, 5)),
        (["--pair", "x", "y"], "pair", ("x", "y")),
        (["--loud"], "loud", True),
        (["--no-mlflow"], "mlflow", False),
        (["--no-encoder"], "bundle", False),
    ],
)
def test_an_option_fills_its_field_with_its_type(words: list[str], field: str, value: Any) -> None:
    asked = read(*words)
    assert getattr(asked, field) == value
    assert type(getattr(asked, field)) is type(value)
    assert given(asked) == {"places": "PLACE", "shares": "--shares", field: words[0]}


def test_several_places_are_one_field() -> None:
    assert fill(Asked, parser().parse_args(["a", "b", "--shares=1"])).places == ("a", "b")


def test_help_has_a_value_s_name_and_its_default_as_it_would_be_typed() -> None:
    lines = {" ".join(line.split()) for line in parser().format_help().splitlines()}
    assert lines >= {
        "PLACE where",
        "--out FOLDER where to (default: here)",
        "--seed N of the order (default: 0)",
        "--rate F of learning (default: its own)",
        "--memory SIZE of blocks (default: 2GB)",
        "--colour {red,blue} of it (default: red)",
        "--steps N [N ...] to take (default: 1 2)",
        "--no-mlflow write files only",
        "trials:",
        "--most-trials N at most",
    }


def test_a_field_without_an_option_is_none_of_the_command_line_s() -> None:
    assert [each.field.name for each in options_of(Asked)][-1] == "bundle"
    with pytest.raises(SystemExit):
        parser().parse_args(["a", "--shares=1", "--ours", "x"])


COMMON = {"--help", "--json", "--quiet"}
OPTIONS = {
    "finetune": "--accumulate --batch --checkpointing --data --device --dry-run --encoder --fractions "
    "--heads --learning-rate --out --precision --seed --task --trials --until-heads-plateau --workers",
    "extract": "--batch-tokens --block-size --data --dtype --encoder --format --layers --out --precision "
    "--repair --seed --task --threads --tokens --workers",
    "tune": "--cache --data --data-fraction --dry-run --finalists --folds --generation --max-parameters "
    "--memory --name --no-ladder --objective --pack --patience --precision --rerun --resume --runs "
    "--scheduler --searcher --seed --seeds --shape --source --space --store --target --time-budget --trials "
    "--warm-start --workers",
    "ensemble": "--data --limit --method --no-mlflow RUN",
    "report": "--data --no-mlflow --together RUN",
    "predict": "--data --device --encoder --member --out --overwrite --store RUN|HEAD",
    "export": "--encoder --member --no-encoder --onnx --to RUN",
    "store": "ACTION STORE",
    "run": "--data --encoder --fraction --out --space --task --trials",
    "verify": "STORE|RUN",
    "study": "--cap --data --dry-run --encoder --fractions --heads --keep-stores --only --out --seeds "
    "--space --stages --task --trials",
    "doctor": "--runs",
    "bench": "--amount --batch-tokens --budget --cache --data --disk --driver-seconds --encoder --fraction "
    "--generations --head-price --head-rows --heads --network --object-store --plot --precision "
    "--price --rounds --searcher --searchers --seeds --sizes --space --store --table --task --threads "
    "--trials --windows --work --workers --workers-each BENCHMARK",
}


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_command_has_its_options_and_no_others(verb: str) -> None:
    actions = build_parser(find_command(verb))._actions
    found = {action.option_strings[-1] for action in actions if action.option_strings}
    places = [str(action.metavar or action.dest).upper() for action in actions if not action.option_strings]
    expected = OPTIONS[verb].split()
    assert found - COMMON == {name for name in expected if name.startswith("--")}
    assert found >= COMMON
    assert places == [name for name in expected if not name.startswith("--")]


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("tune", "--memory --cache"),
        ("extract", "--block-size"),
        ("bench", "--disk --network --object-store --cache --amount"),
    ],
)
def test_a_size_has_its_unit_in_every_command(
    verb: str, options: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = find_command(verb)
    places = {"bench": ["store"], "extract": ["--task=t", "--encoder=e", "--out=o"], "tune": []}[verb]
    for option in options.split():
        assert main(command, [*places, option, "1000000"]) == 2
        line = (
            f"argument {option}: expected a size such as 512MB or 2GB; found '1000000'; see bv-search {verb}"
        )
        assert line in capsys.readouterr().err


def test_no_other_option_speaks_of_bytes() -> None:
    all_of_them = [each for verb in COMMANDS for each in options_of(find_command(verb).config)]
    assert [each.name for each in all_of_them if "byte" in each.name] == []


def test_a_choice_that_is_none_is_refused_from_python_too() -> None:
    config = Asked(places=("a",), shares=(1.0,))
    check_choices(config)
    with pytest.raises(UnknownName, match="no colour named 'blu'; expected one of blue, red; did you mean"):
        check_choices(replace(config, colour="blu"))  # type: ignore[arg-type]


def test_help_of_all_commands_imports_neither_torch_nor_ray() -> None:
    code = (
        "import sys; from bv_search.__main__ import COMMANDS, find_command; "
        "from bv_search.command import build_parser; "
        "[build_parser(find_command(verb)).format_help() for verb in COMMANDS]; "
        "sys.exit(' '.join({'torch', 'ray', 'transformers', 'mlflow', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
