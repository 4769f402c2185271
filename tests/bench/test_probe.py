"""A search beside the simplest things."""

import json
from pathlib import Path

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.command import main
from tests.stores import make_class_store


def test_a_search_is_compared_with_the_simplest_things(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_class_store(tmp_path / "store", windows=64)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(COMMAND, ["probe", "--store", store.path, "--trials", "2", "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    arms, ours = said["arms"], said["arms"]["tune"]
    assert set(arms) - {"its ensemble"} == {"encoder", "scikit-learn", "PyTorch loop", "tune"}
    assert all(0 <= arm["score"] <= 1 for arm in said["arms"].values())
    assert [name for name, arm in arms.items() if arm.get("seconds")] == [
        "scikit-learn",
        "PyTorch loop",
        "tune",
    ]
    for name in ("scikit-learn", "PyTorch loop"):
        ahead = ours["over"][name]
        assert ahead["difference"] == pytest.approx(ours["score"] - arms[name]["score"])
        assert ahead["interval"][0] <= ahead["difference"] <= ahead["interval"][1]
        assert said["ratios"][f"seconds: tune / {name}"] > 1  # Ray alone takes longer
    assert list((tmp_path / "here").iterdir()) == []
