"""What a search takes beside its scan workers is measured by workers that learn nothing."""

import json
import time
from pathlib import Path

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.bench.driver import small_store
from bv_search.bench.empty_workers import EmptyWorkers
from bv_search.bench.sampler import Sampler
from bv_search.command import main
from bv_search.scan.outcome import Start
from bv_search.scan.trial import TrialConfig
from bv_search.tune.workers import Call, LostCall

CONFIG = TrialConfig.from_json({"head": {"kind": "pooling"}})


def test_a_sampler_says_what_takes_the_time() -> None:
    def busy(seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass

    with Sampler({__file__: "here", "/threading.py": "waiting"}, lambda: 7) as sampler:
        busy(0.3)
    assert sampler.shares["here"] > 0.9
    assert sampler.seconds >= 0.3
    assert [point.done for point in sampler.memory] == [7] * len(sampler.memory)


def test_empty_workers_answer_for_every_head(tmp_path: Path) -> None:
    store = small_store(tmp_path / "store")
    workers = EmptyWorkers(store, size=2, room=8)
    heads = [Start(trial=trial, config=CONFIG) for trial in ("0001", "0002")]
    workers.submit(Call(method="segment", arguments=(heads, 16, {"0001"}, None), about="a"))
    assert workers.idle == 1
    (end,) = workers.finished(wait=None)
    assert not isinstance(end.result, LostCall)
    assert [outcome.found is not None for outcome in end.result] == [True, False]
    assert workers.idle == 2
    workers.submit(Call(method="final", arguments=([each.state for each in end.result],), about="b"))
    (end,) = workers.finished(wait=None)
    assert not isinstance(end.result, LostCall)
    assert [final.trial for final in end.result] == ["0001", "0002"]
    assert len(end.result[0].select.ids) == sum(split.windows for split in store.splits("select"))


@pytest.mark.slow
def test_the_driver_is_measured_on_real_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--trials", "40", "--workers", "4", "--heads", "4", "--json", "--quiet"]
    assert main(COMMAND, ["driver", *options]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["trials"], said["workers"]) == (40, 4)
    assert sum(said["parts"].values()) == pytest.approx(said["seconds_a_trial"], rel=0.01)
    assert said["memory"]
    assert list(tmp_path.iterdir()) == []
