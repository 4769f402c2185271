"""A store that keeps nothing: all that a store has but the hidden states."""

import json
from pathlib import Path

import pytest

from bv_search.command import main
from bv_search.errors import OutputError, StoreError
from bv_search.store.__main__ import COMMAND as STORE
from bv_search.store.layout import BlockLimits
from bv_search.store.manifest import BareBlock, BlockEntry, Manifest
from bv_search.store.store import Store
from tests.extract.conftest import Extract, contents, damage_file
from tests.failing_disk import FailingDisk

FEW = BlockLimits(bytes=1, windows=32)


@pytest.mark.parametrize("tokens", ["first", "all"])
def test_it_has_the_index_the_logits_and_the_scores_of_a_store(
    extract: Extract, tmp_path: Path, tokens: str
) -> None:
    bare = extract(format="none", tokens=tokens)
    kept = extract(tokens=tokens, out=str(tmp_path / "kept"))
    assert bare.manifest.baseline == kept.manifest.baseline
    assert sorted(contents(tmp_path / "store")) == sorted(
        ["manifest.json", "statistics.safetensors"]
        + [f"{split}/{file}.parquet" for split in bare.manifest.splits for file in ("index", "encoder")]
    )
    for file, data in contents(tmp_path / "store").items():
        assert file == "manifest.json" or data == (tmp_path / "kept" / file).read_bytes()
    for name, split in bare.manifest.splits.items():
        theirs = kept.manifest.splits[name]
        assert all(isinstance(block, BareBlock) for block in split.blocks)
        assert [(block.windows, block.tokens) for block in split.blocks] == [
            (block.windows, block.tokens) for block in theirs.blocks
        ]
    assert bare.encoded_blocks == kept.encoded_blocks


def test_an_encoder_that_predicts_nothing_is_asked_only_for_training_rows(
    extract: Extract, tiny_encoder: Path, tmp_path: Path
) -> None:
    bare = extract(format="none", encoder=str(tiny_encoder))
    assert bare.manifest.baseline is None
    assert bare.encoded_blocks == len(bare.manifest.splits["train"].blocks) < bare.blocks
    kept = extract(encoder=str(tiny_encoder), out=str(tmp_path / "kept"))
    assert bare.manifest.statistics == kept.manifest.statistics


def test_an_overflow_in_a_training_row_is_refused_as_where_blocks_are_kept(
    extract: Extract, hot: Path
) -> None:
    with pytest.raises(
        StoreError, match=r"train, block 0: a value of channel 'layer 2' does not fit float16"
    ):
        extract(format="none", encoder=str(hot))


def test_reading_it_says_what_to_do(extract: Extract) -> None:
    store = Store.open(extract(format="none").store)
    with pytest.raises(StoreError, match=r"keeps no hidden states; .*tune --source live"):
        next(store.split("train").blocks())


def test_a_failure_at_any_write_fsync_or_rename_is_made_good(
    extract: Extract, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    step = 1 if request.config.getoption("--slow") else 11
    counting = FailingDisk()
    extract(format="none", out=str(tmp_path / "whole"), limits=FEW, disk=counting)
    for at in range(0, counting.calls, step):
        place = tmp_path / "broken" / str(at)
        with pytest.raises(OutputError, match="No space left on device"):
            extract(format="none", out=str(place), limits=FEW, disk=FailingDisk(at))
        extract(format="none", out=str(place), limits=FEW)
        assert contents(place) == contents(tmp_path / "whole")


def test_blocks_that_are_done_are_not_encoded_again(extract: Extract, tmp_path: Path) -> None:
    counting = FailingDisk()
    whole = extract(format="none", out=str(tmp_path / "whole"), disk=counting)
    with pytest.raises(OutputError):
        extract(format="none", disk=FailingDisk(counting.calls * 2 // 3))
    done = len(list((tmp_path / "store/.extract/done").rglob("*.parquet")))
    assert 0 < done < whole.blocks
    assert extract(format="none").encoded_blocks == whole.blocks - done
    assert extract(format="none").encoded_blocks == 0


@pytest.mark.parametrize(
    ("file", "encoded"),
    [("dev/encoder.parquet", 2), ("train/index.parquet", 0), ("statistics.safetensors", 3)],
)
def test_damage_is_found_and_repaired(
    extract: Extract, tmp_path: Path, file: str, encoded: int, capsys: pytest.CaptureFixture[str]
) -> None:
    place = extract(format="none").store
    whole = contents(tmp_path / "store")
    damage_file(tmp_path / "store" / file)
    assert main(STORE, ["verify", place, "--json"]) == 2
    assert [each["file"] for each in json.loads(capsys.readouterr().out)["damaged"]] == [file]
    assert extract(format="none", repair=True).encoded_blocks == encoded
    assert contents(tmp_path / "store") == whole


def test_info_says_what_the_encoder_takes(extract: Extract, capsys: pytest.CaptureFixture[str]) -> None:
    place = extract(format="none", tokens="all").store
    assert main(STORE, ["info", place, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["bytes"] < said["payload_bytes"]
    assert (said["pass_seconds"], said["scan_bytes_per_second"], said["break_even_passes"]) == (None,) * 3
    assert said["recompute_seconds"] > 0
    assert main(STORE, ["info", place]) == 0
    assert "keeps no hidden states" in capsys.readouterr().out


def test_another_format_in_the_same_place_is_refused(extract: Extract) -> None:
    extract(format="none")
    with pytest.raises(OutputError, match="format: none there, npy here"):
        extract()


def test_blocks_and_format_agree(extract: Extract, tmp_path: Path) -> None:
    bare = json.loads(extract(format="none").manifest.to_bytes())
    kept = json.loads(extract(out=str(tmp_path / "kept")).manifest.to_bytes())
    one_bare, one_kept = bare["splits"]["dev"]["blocks"][0], kept["splits"]["dev"]["blocks"][0]
    assert set(one_kept) == set(BlockEntry.__dataclass_fields__)
    assert set(one_bare) == {"windows", "tokens"}
    for manifest, block in ((bare, one_kept), (kept, one_bare)):
        manifest["splits"]["dev"]["blocks"][0] = block
        with pytest.raises(StoreError, match="expected blocks of split 'dev' of format"):
            Manifest.from_bytes(json.dumps(manifest).encode(), "there")
    del one_kept["size"]
    bare["splits"]["dev"]["blocks"][0] = one_kept
    with pytest.raises(StoreError, match=r"manifest is damaged at splits.dev.blocks\[0\]"):
        Manifest.from_bytes(json.dumps(bare).encode(), "there")
