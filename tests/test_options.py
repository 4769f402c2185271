"""The options of every command, pinned: scripts and other projects rely on them."""

import pytest

from bv_search.__main__ import COMMANDS, find_command
from bv_search.command import build_parser

COMMON = {"--help", "--json", "--quiet"}
OPTIONS = {
    "finetune": "--batch --data --device --encoder --fractions --heads --learning-rate --out --precision "
    "--seed --task --trials --until-heads-plateau",
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
