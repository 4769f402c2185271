"""Workers that learn nothing answer for every head."""

from pathlib import Path

from bv_search.bench.driver import small_store
from bv_search.bench.empty_workers import EmptyWorkers
from bv_search.scan.outcome import Start
from bv_search.scan.trial import TrialConfig
from bv_search.tune.workers import Call, LostCall

CONFIG = TrialConfig.from_json({"head": {"kind": "pooling"}})


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
