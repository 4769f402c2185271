"""Segments: closed functions from heads at one position to heads at another."""

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load

from bv_search.heads.pack import Pack
from bv_search.scan import course
from bv_search.scan.batch import WantedStates, batches
from bv_search.scan.checks import Check
from bv_search.scan.course import Course
from bv_search.scan.order import parts
from bv_search.scan.outcome import Diverged, Final, SegmentResult, Start
from bv_search.scan.pack_trainer import PackTrainer
from bv_search.scan.scanner import Scanner
from bv_search.scan.state import HeadState, own_weights
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from tests.stores import LAYERS, WIDTH, make_class_store, make_span_store

ADAPTER = {"kind": "adapter", "size": 6}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_span_store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def stores(store: Store, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Store]:
    """Blocks that are read in turn, and one token a window, which stays in memory."""
    return {"spans": store, "one token": make_class_store(tmp_path_factory.mktemp("one-token"))}


WHERE = pytest.mark.parametrize("where", ["spans", "one token"])


def start(trial: str = "a", **settings: Any) -> Start:
    config = {"head": ADAPTER, "learning_rate": 1e-2, "passes": 1, **settings}
    return Start(trial=trial, config=TrialConfig.from_json(config))


def weights(outcome: SegmentResult) -> torch.Tensor:
    """All but the outputs' bias: a softmax over tokens ignores it, and Adam amplifies its rounding."""
    state = HeadState.from_bytes(outcome.state or b"")
    return torch.cat([state.weights[name].flatten() for name in sorted(state.weights) if name != "bias_C"])


@pytest.mark.parametrize(
    "settings",
    [
        {"batch": 16},
        {"batch": 48},
        {"batch": 48, "schedule": "cosine", "warmup": 0.2},
        {"dropout": 0.3, "label_smoothing": 0.1},
        {"head": {"kind": "xception-mod", "size": 6, "channels": 4, "blocks": 1}},
    ],
    ids=["a step each", "steps of three", "a schedule", "dropout", "batch norm"],
)
def test_two_segments_give_what_one_gives(store: Store, settings: dict[str, Any]) -> None:
    """Cut in the middle of a batch, too: pending gradients travel with the head, and so do statistics."""
    scanner = Scanner(store.path)
    (whole,) = scanner.segment([start(passes=2, **settings)], 26, score=())

    (first,) = scanner.segment([start(passes=2, **settings)], 5, score=())
    (second,) = scanner.segment([first.state or b""], 26, score=())

    assert torch.equal(weights(second), weights(whole))
    assert (second.position, second.rows) == (26, 400)


COURSES = pytest.mark.parametrize(
    "settings",
    [
        {},
        {"batch": 48, "patience": 3, "learning_rate": 0.1},
        {"batch": 128, "inputs": "raw", "dropout": 0.3},
        {"head": {"kind": "xception", "form": "abbreviated"}, "patience": 2},
        {"data_fraction": 0.3, "batch": 48},
    ],
    ids=["a step each", "steps of three", "steps of eight", "batch norm", "less data"],
)


def through_bytes(outcome: SegmentResult) -> bytes:
    return HeadState.from_bytes(outcome.state or b"").to_bytes()


NOISE = {"kind": "linear", "channels": 0}
"""Reads a channel that says nothing: what it learns of the training rows is wrong on others."""


def fits_store(where: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Spans have another kind of head with batch norm."""
    if where == "spans" and settings.get("head", ADAPTER)["kind"] == "xception":
        return {**settings, "head": {"kind": "xception-mod", "size": 6, "channels": 4, "blocks": 1}}
    return settings


@WHERE
@COURSES
def test_a_course_that_is_cut_anywhere_is_the_same_course(
    stores: dict[str, Store], where: str, settings: dict[str, Any]
) -> None:
    """Inside of steps, at checks and at passes: weights, best weights and checks are those of one segment.

    Where a step takes its whole batch at once, one that is cut is added up otherwise, and rounds otherwise;
    dropout draws otherwise, too. So packing cuts no step there.
    """
    scanner = Scanner(stores[where].path)
    head = start(passes="auto", **fits_store(where, settings))
    length = Course.of(head.config.training, 200).pass_length
    end, step = 4 * length + 2, head.config.training.batch // 16
    (whole,) = scanner.segment([head], end, score=())
    for cuts in ([1], [length, length + step], [length + 1, 2 * length - 1, 3 * length]):
        checks, found = in_parts(scanner, head, [*cuts, end])
        if where == "spans" or all(cut % length % step == 0 for cut in cuts):
            assert tuple(checks) == whole.checks
            assert found.to_bytes() == whole.state
        elif not head.config.training.dropout:
            state = HeadState.from_bytes(whole.state or b"")
            assert (found.position, found.steps, found.pending) == (end, state.steps, state.pending)
            assert [check.position for check in checks] == [check.position for check in whole.checks]
            losses = [check.loss for check in whole.checks]
            assert [check.loss for check in checks] == pytest.approx(losses, rel=1e-4)
            for name, tensor in state.best_weights.items():
                torch.testing.assert_close(found.best_weights[name], tensor, rtol=1e-3, atol=1e-4)


def in_parts(scanner: Scanner, head: Start, stops: list[int]) -> tuple[list[Check], HeadState]:
    checks: list[Check] = []
    part: bytes | Start = head
    for stop in stops:
        (outcome,) = scanner.segment([part], stop, score=())
        checks.extend(outcome.checks)
        part = through_bytes(outcome)
    assert isinstance(part, bytes)
    return checks, HeadState.from_bytes(part)


@WHERE
@pytest.mark.parametrize("averaging", [0.0, 0.9])
def test_a_head_ends_when_it_has_learned_with_the_best_weights_that_it_had(
    stores: dict[str, Store], where: str, averaging: float
) -> None:
    """The best running mean of its weights, where it has one."""
    scanner = Scanner(stores[where].path)
    head = start(passes="auto", patience=2, head=NOISE, learning_rate=0.05, averaging=averaging)
    end = Course.of(head.config.training, 200).end
    (outcome,) = scanner.segment([head], end, score=["a"])
    state = HeadState.from_bytes(outcome.state or b"")
    (final,) = scanner.final([outcome.state or b""])

    assert outcome.has_learned
    assert [check.position for check in outcome.checks] == list(range(13, outcome.position + 1, 13))
    assert [check.rows for check in outcome.checks] == [200 * n for n in range(1, len(outcome.checks) + 1)]
    assert outcome.found == max(outcome.checks, key=lambda check: check.rank) == state.checks.best
    assert state.checks.idle == 2
    assert outcome.position < end
    assert outcome.found.position < outcome.position
    assert isinstance(final, Final)
    assert (final.select.score, final.select.loss) == (outcome.found.score, outcome.found.loss)
    assert outcome.checks[-1].rank < outcome.found.rank
    (there,) = scanner.segment([head], outcome.found.position, score=())
    then = HeadState.from_bytes(there.state or b"")
    judged = then.average if averaging else then.weights
    assert state.best_weights.keys() == judged.keys()
    assert all(torch.equal(tensor, judged[name]) for name, tensor in state.best_weights.items())
    assert not torch.equal(state.weights["branches.0.dense_HC"], judged["branches.0.dense_HC"])


def test_the_running_mean_of_weights_lags_by_what_a_step_leaves_of_it(stores: dict[str, Store]) -> None:
    scanner, seen = Scanner(stores["one token"].path), []
    head: bytes | Start = start(passes="auto", averaging=0.9, batch=16)
    for step in range(1, 4):
        (outcome,) = scanner.segment([head], step, score=())
        head = outcome.state or b""
        seen.append(HeadState.from_bytes(head))

    name = "branches.0.down_HA"
    for step, (before, after) in enumerate(pairwise(seen), start=2):
        kept = min(0.9, (1 + step) / (10 + step))
        mean = kept * before.average[name] + (1 - kept) * after.weights[name]
        torch.testing.assert_close(after.average[name], mean)
    (fixed,) = scanner.segment([start(passes=1)], 3, score=())
    assert not HeadState.from_bytes(fixed.state or b"").average, "a fixed length ends with its last weights"


@WHERE
def test_one_that_has_learned_leaves_the_others_to_go_on(stores: dict[str, Store], where: str) -> None:
    scanner = Scanner(stores[where].path)
    quick = start("quick", passes="auto", patience=1, learning_rate=0.3)
    slow = start("slow", passes="auto", learning_rate=1e-4)
    fixed = start("fixed", passes=30)
    done, other, long = scanner.segment([quick, slow, fixed], 260, score=["quick", "slow", "fixed"])

    assert (done.has_learned, other.has_learned, long.has_learned) == (True, False, False)
    assert done.position < other.position == long.position == 260
    assert (len(other.checks), long.checks) == (20, ())
    assert long.found is not None
    assert long.found.position == 260
    assert other.found == max(other.checks, key=lambda check: check.rank)


def test_one_that_has_learned_is_told_what_it_is_worth_unasked(store: Store) -> None:
    quick, slow = start("quick", passes="auto", patience=1, learning_rate=0.3), start("slow", passes="auto")
    done, going = Scanner(store.path).segment([quick, slow], 260, score=())
    assert done.has_learned
    assert done.found is not None
    assert going.found is None


def test_before_its_first_check_a_head_is_worth_what_it_says_now(store: Store) -> None:
    scanner = Scanner(store.path)
    (outcome,) = scanner.segment([start(passes="auto")], 5, score=["a"])
    (final,) = scanner.final([outcome.state or b""])
    assert outcome.found is not None
    assert (outcome.found.position, outcome.found.rows, outcome.checks) == (5, 80, ())
    assert isinstance(final, Final)
    assert (final.select.score, final.select.loss) == (outcome.found.score, outcome.found.loss)


@WHERE
def test_a_course_whose_time_is_up_goes_on_as_if_nothing_had_happened(
    stores: dict[str, Store], where: str
) -> None:
    scanner, head = Scanner(stores[where].path), start(passes="auto", batch=48)
    (whole,) = scanner.segment([head], 30, score=())

    (cut,) = scanner.segment([head], 30, score=["a"], seconds=0.0)
    (rest,) = scanner.segment([through_bytes(cut)], 30, score=())

    assert (cut.position, cut.found) == ((1 if where == "spans" else 3), None)
    assert torch.equal(weights(rest), weights(whole))
    assert rest.checks == whole.checks


@pytest.fixture
def many_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four a pass, as on large stores."""
    monkeypatch.setattr(course, "STRETCH", 2)


@pytest.mark.usefixtures("many_checks")
@pytest.mark.parametrize("cut", range(1, 16))
def test_steps_begin_anew_at_each_check(stores: dict[str, Store], cut: int) -> None:
    """Checks at 3, 6, 9 and 13 micro-batches of a pass: steps of 2 end at 2, 3, 5, 6, 8, 9, 11, 13, wherever
    a segment does."""
    for store in stores.values():
        scanner, head = Scanner(store.path), start(passes="auto", batch=32)
        (whole,) = scanner.segment([head], 16, score=())
        checks, found = in_parts(scanner, head, [cut, 16])
        assert [check.position for check in checks] == [3, 6, 9, 13, 16]
        assert (found.steps, found.pending) == (10, (0,))
        torch.testing.assert_close(found.weights, HeadState.from_bytes(whole.state or b"").weights)


@pytest.mark.usefixtures("many_checks")
def test_heads_on_other_shares_of_rows_in_memory_step_as_they_do_alone(stores: dict[str, Store]) -> None:
    """Each has borders of its own in the first pass, where its step ends with a full batch or not."""
    scanner = Scanner(stores["one token"].path)
    heads = [
        start(f"{passes} {fraction}", batch=48, passes=passes, data_fraction=fraction)
        for passes in ("auto", 1)
        for fraction in (0.5, 0.7, 1.0)
    ]
    by_itself = {head.trial: scanner.segment([head], 7, score=())[0] for head in heads}
    packs = [heads, *combinations(heads, 2)]
    for outcome in (outcome for pack in packs for outcome in scanner.segment(pack, 7, score=())):
        alone = by_itself[outcome.trial]
        one, other = (HeadState.from_bytes(each.state or b"") for each in (alone, outcome))
        assert (one.steps, one.pending) == (other.steps, other.pending)
        assert [check.position for check in outcome.checks] == [check.position for check in alone.checks]
        torch.testing.assert_close(weights(outcome), weights(alone), rtol=1e-3, atol=1e-5)


def test_heads_of_other_batches_share_a_segment_of_rows_in_memory(stores: dict[str, Store]) -> None:
    scanner = Scanner(stores["one token"].path)
    heads = [start(str(batch), batch=batch, passes="auto") for batch in (16, 48, 128, 16)]
    together = scanner.segment(heads, 39, score=[head.trial for head in heads])
    assert [HeadState.from_bytes(each.state or b"").steps for each in together] == [39, 15, 6, 39]
    for head, outcome in zip(heads, together, strict=True):
        (alone,) = scanner.segment([head], 39, score=[head.trial])
        torch.testing.assert_close(weights(outcome), weights(alone), rtol=1e-3, atol=1e-5)
        assert outcome.position == alone.position == 39


@pytest.mark.parametrize("kind", ["adapter", "xception-mod"])
def test_a_segment_whose_time_is_up_ends_with_the_micro_batch_it_is_at(store: Store, kind: str) -> None:
    """And what comes after it is as if nothing had happened."""
    head, scanner = {"kind": kind, "size": 6}, Scanner(store.path)
    (whole,) = scanner.segment([start(head=head)], 1, score=())

    (cut,) = scanner.segment([start(head=head)], 13, score=["a"], seconds=0.0)

    assert (cut.position, cut.rows, cut.found) == (1, 16, None)
    assert torch.equal(weights(cut), weights(whole))


def test_heads_on_less_data_share_the_first_pass(store: Store) -> None:
    scanner = Scanner(store.path)
    fractions = {"a": 0.25, "b": 0.5, "c": 1.0}
    heads = [start(trial, data_fraction=fraction) for trial, fraction in fractions.items()]

    outcomes = scanner.segment(heads, 4, score=())
    alone = [scanner.segment([head], 4, score=())[0] for head in heads]

    assert [outcome.rows for outcome in outcomes] == [64, 64, 64]
    for outcome, single in zip(outcomes, alone, strict=True):
        torch.testing.assert_close(weights(outcome), weights(single), rtol=1e-3, atol=1e-5)


def test_a_head_that_diverges_leaves_the_pack_and_the_others_go_on(store: Store) -> None:
    scanner = Scanner(store.path)
    lost, kept = scanner.segment(
        [start("lost", learning_rate=1e30), start("kept")], 13, score=["lost", "kept"]
    )
    (alone,) = scanner.segment([start("kept")], 13, score=())

    assert lost.state is None
    assert "not finite" in (lost.failure or "")
    torch.testing.assert_close(weights(kept), weights(alone), rtol=1e-3, atol=1e-5)
    assert kept.found is not None


def test_a_head_that_diverges_at_its_last_step_is_found_by_its_answers(store: Store) -> None:
    lost, kept = Scanner(store.path).segment(
        [start("lost", learning_rate=1e30), start("kept")], 1, score=["lost", "kept"]
    )

    assert lost.failure == "diverged: answers not finite at micro-batch 1"
    assert lost.state is None
    assert kept.found is not None


def test_only_the_heads_that_are_asked_for_are_scored(store: Store) -> None:
    scored, unscored = Scanner(store.path).segment([start("a"), start("b")], 2, score=["a"])

    assert scored.found is not None
    assert unscored.found is None


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
@pytest.mark.parametrize("warmup", [0.0, 0.5])
def test_a_head_of_one_step_learns(store: Store, schedule: str, warmup: float) -> None:
    head = start(batch=208, schedule=schedule, warmup=warmup)
    fresh = HeadState.fresh(head.trial, head.config, Scanner(store.path).shape)

    (outcome,) = Scanner(store.path).segment([head], 13, score=())
    state = HeadState.from_bytes(outcome.state or b"")

    assert state.steps == 1
    assert not torch.allclose(state.weights["branches.0.down_HA"], fresh.weights["branches.0.down_HA"])


def test_the_last_score_of_a_head_whose_answers_are_no_numbers_is_a_failure(store: Store) -> None:
    scanner = Scanner(store.path)
    broken, kept = scanner.segment([start("broken", learning_rate=1e30), start("kept")], 1, score=())

    lost, final = scanner.final([broken.state or b"", kept.state or b""])

    assert str(lost) == "diverged: answers not finite at micro-batch 1"
    assert isinstance(lost, Diverged)
    assert lost.trial == "broken"
    assert isinstance(final, Final)
    assert final.trial == "kept"


def test_final_answers_cover_both_roles(store: Store) -> None:
    scanner = Scanner(store.path)
    (outcome,) = scanner.segment([start(passes=4)], 52, score=["a"])

    (final,) = scanner.final([outcome.state or b""])

    assert isinstance(final, Final)
    assert outcome.found is not None
    assert (final.select.score, final.select.loss) == (outcome.found.score, outcome.found.loss)
    assert len(final.report.logits) == store.split("dev").windows
    assert final.report.interval is not None
    assert final.report.interval[0] <= final.report.score <= final.report.interval[1]
    assert final.select.interval is None, "nobody is told it, and it takes a while"
    assert final.parameters == weights(outcome).numel() + 2


def test_statistics_are_saved_with_a_head_and_not_counted_among_its_parameters(store: Store) -> None:
    scanner = Scanner(store.path)
    head = {"kind": "xception-mod", "size": 6, "channels": 4, "blocks": 1}
    (outcome,) = scanner.segment([start(head=head)], 13, score=())
    state = HeadState.from_bytes(outcome.state or b"")

    (final,) = scanner.final([outcome.state or b""])

    assert isinstance(final, Final)
    statistics = {name for name in state.weights if name.endswith((".mean_F", ".variance_F"))}
    assert state.mean.keys() == state.weights.keys() - statistics
    assert len(statistics) == 2 * 7
    assert load(final.weights).keys() == state.weights.keys() | {"inputs.mean_LH", "inputs.scale_LH"}
    assert final.parameters == sum(tensor.numel() for tensor in state.mean.values())
    assert not torch.equal(
        state.weights["branches.0.exit.norm.mean_F"],
        torch.zeros_like(state.mean["branches.0.exit.norm.scale_F"]),
    )


def test_statistics_belong_to_the_weights_that_are_scored(store: Store) -> None:
    """Not to those that the head had on its way: measuring them again changes nothing."""
    head = {"kind": "xception-mod", "size": 6, "channels": 4, "blocks": 1}
    (outcome,) = Scanner(store.path).segment([start(head=head, learning_rate=0.1, passes=2)], 20, score=())
    state = HeadState.from_bytes(outcome.state or b"")

    scanner = Scanner(store.path)
    (again,), data = state.heads(scanner._standard), scanner.training_data([state])
    for number, batch in enumerate(data.rows.stretch(200, 4, 20, 16)):
        Pack([again])(batch.states, batch.lengths_N, step=number)

    for name, tensor in own_weights([again]).items():
        torch.testing.assert_close(tensor, state.weights[name])


def test_bfloat16_stores_are_widened(tmp_path: Path) -> None:
    exact = make_class_store(tmp_path / "float16")
    rounded = make_class_store(tmp_path / "bfloat16", dtype="bfloat16")

    found = [Scanner(s.path).segment([start(passes=2)], 26, score=["a"])[0].found for s in (exact, rounded)]

    scores = [check.score for check in found if check is not None]
    assert scores == pytest.approx([scores[0]] * 2, abs=0.1)
    assert Scanner(rounded.path).shape.layers == LAYERS
    assert Scanner(rounded.path).shape.width == WIDTH


def test_micro_batches_are_copies_that_keep_no_block_mapped(tmp_path: Path) -> None:
    store = make_span_store(tmp_path / "store")
    largest = max(block.size for split in store.splits() for block in split.entry.kept)
    split = Store.open(store.path, memory=largest).split("train")
    whole = list(parts(split.block_windows, rows=200, start=0, stop=13, seed=0))
    kept = []
    for batch in batches(split, whole, WantedStates(device=torch.device("cpu"))):
        kept.append(batch)
        assert Path("/proc/self/maps").read_text().count(f"{store.path}/train/blocks") == 1
    assert len(kept) == 13


def test_heads_that_take_turns_go_step_by_step(
    stores: dict[str, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that went a whole stretch by itself would, when time is up, have all others follow it there."""
    turns: list[PackTrainer] = []
    learn = PackTrainer.learn

    def watched(self: PackTrainer, *batch: Any) -> Any:
        turns.append(self)
        return learn(self, *batch)

    monkeypatch.setattr(PackTrainer, "learn", watched)
    cnn = {"kind": "cnn", "channels": 4}
    Scanner(stores["one token"].path).segment(
        [start(name, head=cnn, batch=48) for name in "abc"], 13, score=()
    )
    assert len(turns) == 3 * 5
    assert all(len(set(turns[n : n + 3])) == 3 for n in range(0, 15, 3))
