import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from bv_search.command import Progress, main
from bv_search.errors import OutputError, UserError
from bv_search.finetune.__main__ import COMMAND
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.finetuning import run
from bv_search.finetune.quote import FinetuneQuote, take_quote

Configure = Callable[..., FinetuneConfig]
QUIET = Progress(quiet=True)


@pytest.fixture
def quote(configure: Configure) -> FinetuneQuote:
    return take_quote(configure(fractions=(0.0, 0.3, 1.0, 3.0), precision="float32"), QUIET)


def test_a_dry_run_writes_nothing(configure: Configure, capfd: pytest.CaptureFixture[str]) -> None:
    config = configure()
    asked = ("--task=rte", f"--encoder={config.encoder}", f"--data={config.data}", f"--out={config.out}")
    assert main(COMMAND, [*asked, "--fractions=0.3,1", "--dry-run", "--json", "--quiet"]) == 0
    assert not list(config.out.parent.iterdir())
    said = json.loads(capfd.readouterr().out)
    assert list(said) == ["steps", "seconds", "precision", "workers", "tokens", "memory"]
    assert list(said["seconds"]) == ["0.3", "1"]


def test_seconds_are_those_of_fine_tuning(configure: Configure, quote: FinetuneQuote) -> None:
    """Within a factor of a few: these are milliseconds, on a machine that others use."""
    assert list(quote.seconds) == [0.0, 0.3, 1.0, 3.0]
    assert quote.seconds[0.0] == 0.0
    assert sorted(quote.seconds.values()) == list(quote.seconds.values())
    (stage,) = run(configure(fractions=(3.0,), precision="float32"), QUIET)
    assert stage.stage.steps == quote.steps
    assert stage.stage.seconds / 5 < quote.seconds[3.0] < 5 * stage.stage.seconds + 2


def test_what_takes_less_memory_stands_beside_what_was_asked_for(quote: FinetuneQuote) -> None:
    ways = {way.options: way for way in quote.ways}
    assert list(ways) == ["", "with --accumulate 2", "with --accumulate 4", "with --checkpointing"]
    assert [way.windows for way in ways.values()] == [8, 4, 2, 8]
    most = ways.pop("").footprint
    assert all(way.footprint.activations < most.activations for way in ways.values())
    assert "with --checkpointing" in str(quote)


def test_of_several_workers_each_holds_its_part(configure: Configure, quote: FinetuneQuote) -> None:
    shared = take_quote(configure(workers=4, precision="float32"), QUIET)
    assert shared.ways[0].windows == 2
    assert shared.ways[0].footprint.activations < quote.ways[0].footprint.activations
    assert "memory of each worker, for 2 windows of " in str(shared)
    assert shared.steps == quote.steps / 3


def test_the_smallest_gpu_that_holds_it_is_named(quote: FinetuneQuote) -> None:
    """Beside what a GPU takes for itself."""
    way = quote.ways[0]
    sizes = {6.9: 8, 7.1: 12, 14.9: 16, 15.1: 24, 500.0: None}
    for total, gpu in sizes.items():
        rest = way.footprint.total - way.footprint.activations
        held = replace(way.footprint, activations=int(total * 1e9) - rest)
        assert replace(way, footprint=held).gpu == gpu


def test_a_dry_run_refuses_what_fine_tuning_would(configure: Configure) -> None:
    config = configure()
    config.out.mkdir()
    (config.out / "mine").touch()
    with pytest.raises(OutputError, match="holds something else"):
        take_quote(config, QUIET)


def test_heads_have_no_dry_run(configure: Configure) -> None:
    with pytest.raises(UserError, match="of the encoder alone; found --heads"):
        take_quote(configure(heads="adapters"), QUIET)
