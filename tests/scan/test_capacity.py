"""How many heads share a pass is planned by memory."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bv_search.heads.config import (
    AdapterHead,
    AttentionHead,
    ConstantHead,
    GatedPoolingHead,
    HeadConfig,
    HeadShape,
    LinearHead,
    MlpHead,
    PooledAdapterHead,
    PoolingHead,
    XceptionHead,
)
from bv_search.scan.capacity import LARGEST, Need, free_memory, need_of, pack_capacity
from bv_search.scan.scanner import Scanner
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig
from tests.stores import make_class_store

CPU = torch.device("cpu")
SMALL = HeadShape(layers=3, width=8, outputs=2, per_token=True)
BERT_LARGE = HeadShape(layers=25, width=1024, outputs=2, per_token=True)
CLASSES = replace(BERT_LARGE, per_token=False, tokens=512)
LARGE = AdapterHead(size=386, shared=False)


def trials(*heads: HeadConfig, dropout: float = 0.0) -> list[TrialConfig]:
    return [TrialConfig(head=head, training=TrainingConfig(dropout=dropout)) for head in heads]


def test_small_heads_share_as_many_as_is_useful() -> None:
    assert pack_capacity(trials(PoolingHead()), SMALL, longest=6, device=CPU) == LARGEST


def test_the_largest_head_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bv_search.scan.capacity.free_memory", lambda _: 16 << 30)

    def capacity(*heads: HeadConfig) -> int:
        return pack_capacity(trials(*heads), BERT_LARGE, longest=386, device=CPU)

    assert capacity(PoolingHead(), LARGE) == capacity(LARGE) < capacity(PoolingHead())


def test_copies_count_as_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bv_search.scan.capacity.free_memory", lambda _: 64 << 30)

    def capacity(head: HeadConfig, copies: int) -> int:
        return pack_capacity(trials(head), BERT_LARGE, longest=386, device=CPU, copies=copies)

    assert [capacity(PoolingHead(), copies) for copies in (1, 5, 100)] == [LARGEST, LARGEST // 5, 1]
    assert capacity(LARGE, 1) // 5 == capacity(LARGE, 5) > 0


def test_of_one_token_a_step_takes_its_batch_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of heads that take turns one at a time keeps anything."""
    monkeypatch.setattr("bv_search.scan.capacity.free_memory", lambda _: 24 << 30)
    one_token = replace(BERT_LARGE, per_token=False, tokens=1)

    def need(head: HeadConfig, batch: int) -> Need:
        return need_of(head, one_token, dropout=0.0, longest=1, windows=batch)

    def capacity(head: HeadConfig, batch: int) -> int:
        trial = TrialConfig(head=head, training=TrainingConfig(batch=batch))
        return pack_capacity([trial], one_token, longest=1, device=CPU)

    wide, deep = AdapterHead(size=4096), XceptionHead(form="full")
    assert need(wide, 1024).always > 1.5 * need(wide, 16).always
    assert 1 < capacity(wide, 1024) < capacity(wide, 16)
    assert need(deep, 256).in_turn == 16 * need(deep, 16).in_turn
    assert need(deep, 256).always == need(deep, 16).always
    assert capacity(deep, 16) > capacity(deep, 256) > 1


def test_constant_heads_take_next_to_nothing() -> None:
    assert 0 < need_of(ConstantHead(), BERT_LARGE, dropout=0.1, longest=386).alone < 1000
    assert pack_capacity(trials(ConstantHead()), BERT_LARGE, longest=386, device=CPU) == LARGEST


def test_a_head_that_does_not_fit_still_gets_a_pass_of_its_own() -> None:
    giant = AdapterHead(size=10_000_000, shared=False)

    assert pack_capacity(trials(giant), BERT_LARGE, longest=386, device=CPU) == 1


def test_a_head_that_torch_cannot_count_is_no_plans_end() -> None:
    endless = AdapterHead(size=10**18, shared=False)

    assert pack_capacity(trials(endless, PoolingHead()), BERT_LARGE, longest=386, device=CPU) == 1


def test_workers_on_one_machine_share_its_memory_and_each_has_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bv_search.scan.capacity.free_memory", lambda _: 64 << 30)

    def capacity(device: str, workers: int) -> int:
        return pack_capacity(
            trials(LARGE), BERT_LARGE, longest=386, device=torch.device(device), workers=workers
        )

    assert capacity("cpu", 1) // 4 <= capacity("cpu", 4) < capacity("cpu", 1)
    assert capacity("cuda", 4) == capacity("cuda", 1)


def test_a_head_that_reads_first_tokens_keeps_nothing_of_the_others() -> None:
    first, mean = AdapterHead(), AdapterHead(readout="mean")

    def kept(head: HeadConfig, shape: HeadShape, longest: int) -> int:
        return need_of(head, shape, dropout=0.0, longest=longest).alone

    assert kept(first, CLASSES, 386) == kept(first, CLASSES, 1) < kept(mean, CLASSES, 386)
    assert kept(first, BERT_LARGE, 386) > kept(first, BERT_LARGE, 1), "spans are answered at every token"


@pytest.mark.parametrize(
    "head",
    [
        LinearHead(),
        MlpHead(),
        PoolingHead(),
        GatedPoolingHead(),
        AttentionHead(),
        AdapterHead(),
        PooledAdapterHead(skip=True),
    ],
    ids=lambda head: head.name,
)
def test_dropout_is_planned_for_whichever_head_may_have_it(head: HeadConfig) -> None:
    shape = CLASSES if head.for_windows else BERT_LARGE
    without, with_it = (need_of(head, shape, dropout=rate, longest=386) for rate in (0.0, 0.1))
    assert without.alone < with_it.alone


def test_one_trial_with_dropout_says_that_all_may_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bv_search.scan.capacity.free_memory", lambda _: 64 << 30)

    def capacity(drawn: list[TrialConfig]) -> int:
        return pack_capacity(drawn, BERT_LARGE, longest=386, device=CPU)

    mixed = trials(LARGE) + trials(PoolingHead(), dropout=0.1)
    assert capacity(mixed) == capacity(trials(LARGE, dropout=0.1)) < capacity(trials(LARGE))


def test_a_scanner_plans_for_its_longest_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bv_search.scan.capacity.free_memory", lambda _: 24 << 20)
    scanner = Scanner(make_class_store(tmp_path / "store", tokens=12).path)

    first, mean = (scanner.capacity(trials(AdapterHead(size=256, readout=r))) for r in ("first", "mean"))

    assert first > mean


def test_memory_that_can_be_had_is_less_than_there_is() -> None:
    assert 1 << 28 < free_memory(CPU) < 1 << 50


def test_what_torch_keeps_of_a_gpu_for_itself_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    free = [1 << 30]
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: free.append(2 << 30))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free[-1], 4 << 30))

    assert free_memory(torch.device("cuda")) == 2 << 30


def test_memory_for_blocks_is_not_for_heads() -> None:
    alone = pack_capacity(trials(LARGE), BERT_LARGE, longest=386, device=CPU)

    beside = pack_capacity(trials(LARGE), BERT_LARGE, longest=386, device=CPU, reserved=free_memory(CPU))

    assert beside == 1 < alone


def test_a_segment_of_saved_heads_takes_what_was_planned(tmp_path: Path) -> None:
    """Weights in all their copies: these heads are large, and read one token a window."""
    store = make_class_store(tmp_path / "store")
    done = subprocess.run(
        [sys.executable, "-m", "tests.scan.large_heads", store.path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert 0.6 * said["planned"] < said["taken"] < 1.05 * said["planned"]
