"""The source work's figures stand beside ours only where task, data and encoder are its own."""

from dataclasses import replace
from pathlib import Path

import pytest

from bv_search.heads.config.adapters import AdapterHead
from bv_search.store.store import Store
from bv_search.study import published
from tests.stores import make_class_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_class_store(tmp_path / "store")


def test_another_encoder_has_none(store: Store) -> None:
    assert not published.is_published(store)


def test_the_same_encoder_on_other_data_has_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    large = replace(store.manifest.encoder, parameters=published.BERT_LARGE)
    squad = {**published.ENCODER, store.task.name: {}}
    monkeypatch.setattr(published, "ENCODER", squad)
    same = Store(store.folder, replace(store.manifest, encoder=large), verify=store.verify)
    assert not published.is_published(same)
    questions = len({row for split in store.splits("report") for row in split.index["row"].to_pylist()})
    monkeypatch.setattr(published, "DEV_QUESTIONS", questions)
    assert published.is_published(same)
    assert not published.is_published(store)


def test_they_are_those_of_the_paper() -> None:
    heads = published.HEADS["squad2-span"]
    assert heads[AdapterHead(size=386, skip=True)] == {0.3: (0.699, 0.740), 1.0: (0.740, 0.786)}
    assert published.ENCODER["squad2-span"][2.0] == (0.747, 0.792)
