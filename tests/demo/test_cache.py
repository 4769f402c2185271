"""What is made once is kept by its settings."""

from dataclasses import replace
from pathlib import Path

import torch

from bv_search.demo.cache import DemoSettings, folder_of, one_thread
from bv_search.demo.text import TextSettings


def test_the_same_settings_have_the_same_folder_and_others_another(cache_folder: Path) -> None:
    usual = DemoSettings()
    assert folder_of(usual) == folder_of(DemoSettings())
    assert folder_of(usual).parent == cache_folder
    others = [
        replace(usual, text=replace(TextSettings(), seed=9)),
        replace(usual, fraction=0.2),
        replace(usual, edition=usual.edition + 1),
        replace(usual, made_by=("torch 0",)),
    ]
    assert len({folder_of(each) for each in (usual, *others)}) == 5


def test_an_encoder_is_made_by_one_thread_and_others_have_theirs_back() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
