"""What decides the bytes of a store stays as it was, or is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from bv_search.errors import OutputError, UserError
from bv_search.extract import executor, extraction
from bv_search.extract.config import ExtractConfig
from bv_search.extract.settings import (
    Begun,
    Hardware,
    differences,
    settings_of,
    settle,
    survey_encoder,
    survey_hardware,
)
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from bv_search.tasks.registry import find_task
from tests.extract.conftest import Extract


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"dtype": "bfloat16"}, "dtype: float16 there, bfloat16 here"),
        ({"seed": 1}, "seed: 0 there, 1 here"),
        ({"layers": (0,)}, "layers: "),
        ({"tokens": "mean"}, "tokens: first there, mean here"),
        ({"batch_tokens": 64}, "batch_tokens: 1024 there, 64 here"),
    ],
)
def test_changed_settings_are_refused_with_what_differs(
    extract: Extract, changes: dict[str, object], named: str
) -> None:
    result = extract()
    with pytest.raises(OutputError, match=rf"holds a store with other settings; found .*{named}"):
        extract(**changes)
    assert not any(find_damage(Store.open(result.store)))


def test_another_encoder_and_other_data_are_refused(
    extract: Extract, tiny_encoder: Path, tmp_path: Path
) -> None:
    from tests.extract.conftest import write_pairs

    extract()
    (tmp_path / "other").mkdir()
    write_pairs(tmp_path / "other", seed=1)
    with pytest.raises(OutputError, match="found data: xxh3:"):
        extract(data=str(tmp_path / "other"))
    with pytest.raises(OutputError, match=r"encoder\.digest"):
        extract(encoder=str(tiny_encoder))


def test_a_span_task_refuses_to_lose_its_positions(
    extract: Extract, tiny_encoder: Path, generated_data: Path
) -> None:
    with pytest.raises(UserError, match="--tokens first keeps no positions"):
        extract(task="squad2-span", encoder=str(tiny_encoder), data=str(generated_data), tokens="first")


def test_what_differs_is_named_however_deep_it_stands() -> None:
    ours = {"dtype": "float16", "encoder": {"digest": "xxh3:1", "stage": "here"}, "layers": ("a", "b")}
    theirs = {"dtype": "float16", "encoder": {"digest": "xxh3:2", "stage": "there"}, "layers": ["a", "b"]}
    assert differences(ours, theirs) == ["encoder.digest: xxh3:2 there, xxh3:1 here"]
    assert differences({"data": "d" * 99}, {}) == [f"data: nothing there, {'d' * 57}… here"]


def test_every_default_is_decided(config: Callable[..., ExtractConfig], stage: Path) -> None:
    pairs, spans = find_task("mrpc"), find_task("squad2-span")
    facts = survey_encoder(str(stage), pairs)
    cpu, cuda = (Hardware(device=device, precision="bfloat16") for device in ("cpu", "cuda"))
    found = settle(config(), pairs, facts, cpu, "xxh3:1")
    assert (found.tokens, found.layers[-1], found.precision) == ("first", "pooler", "float32")
    assert settle(config(), spans, facts, cpu, "xxh3:1").tokens == "all"
    assert "pooler" not in settle(config(), spans, facts, cpu, "xxh3:1").layers
    assert settle(config(precision="auto"), pairs, facts, cpu, "xxh3:1").precision == "bfloat16"
    few, many = (settle(config(), pairs, facts, each, "xxh3:1").batch_tokens for each in (cpu, cuda))
    assert few < many
    assert settle(config(batch_tokens=7), pairs, facts, cuda, "xxh3:1").batch_tokens == 7


def test_what_is_there_is_gone_on_with_whatever_the_hardware_is_now(
    extract: Extract, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = extract(precision="bfloat16", batch_tokens=64)
    elsewhere = Hardware(device="cuda", precision="float16")
    monkeypatch.setattr(executor, "survey_hardware", lambda: elsewhere)
    again = extract(precision="auto", batch_tokens=None)
    assert (again.manifest, again.encoded_blocks) == (first.manifest, 0)
    with pytest.raises(OutputError, match="precision: bfloat16 there, float32 here"):
        extract(precision="float32", batch_tokens=None)


def test_half_a_store_is_gone_on_with_whatever_the_hardware_is_now(
    extract: Extract, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(extraction, "assemble", stop)
        with pytest.raises(KeyboardInterrupt):
            extract(precision="bfloat16", batch_tokens=64)
    elsewhere = Hardware(device="cuda", precision="float16")
    monkeypatch.setattr(executor, "survey_hardware", lambda: elsewhere)
    manifest = extract(precision="auto", batch_tokens=None).manifest
    assert (manifest.precision, manifest.batch_tokens) == ("bfloat16", 64)


def test_settings_that_are_none_say_nothing() -> None:
    assert Begun.of({"precision": "float8", "batch_tokens": 64}) is None
    assert Begun.of({"precision": "float16", "batch_tokens": 64, "seed": 1}) is not None


def test_a_finished_store_says_the_settings_that_it_was_made_with(
    extract: Extract, config: Callable[..., ExtractConfig], stage: Path
) -> None:
    manifest = extract().manifest
    asked = settle(
        config(),
        find_task("mrpc"),
        survey_encoder(str(stage), find_task("mrpc")),
        survey_hardware(),
        manifest.data,
    )
    assert differences(asked.to_json(), settings_of(manifest)) == []
    assert differences(replace(asked, seed=3).to_json(), settings_of(manifest)) == ["seed: 0 there, 3 here"]
