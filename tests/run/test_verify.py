"""Whatever is damaged in a run or its store is found, and named, wherever it is read."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bv_search.command import main
from bv_search.errors import RunError, UserError
from bv_search.files import digest_bytes, digest_file, write_bytes
from bv_search.heads.copies import load_heads
from bv_search.model.loading import open_model
from bv_search.run import verify
from bv_search.run.ensemble_file import ENSEMBLE_VERSION
from bv_search.run.folder import ENSEMBLE, JOURNAL, LEADERBOARD, STUDY, Run, check_file
from bv_search.run.predictions import read_predictions
from bv_search.run.verify import find_damage, noted_files
from bv_search.store.layout import MANIFEST
from bv_search.store.store import Store
from bv_search.store.verify import find_damage as find_store_damage
from bv_search.verify.__main__ import COMMAND
from tests.model.small_run import CONFIGS, make_run
from tests.run.conftest import segment
from tests.stores import make_class_store

FLIPS, SLOW_FLIPS = 150, 4000
COPIES = {LEADERBOARD, STUDY}  # of what the journal says: nothing reads them again
STATE = "states/0009-3.safetensors"


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose trials have ended but for one, which is on its way, with an ensemble; and its store."""
    place = tmp_path_factory.mktemp("verified")
    run = make_run(make_class_store(place / "store", windows=64), place / "run")
    members = [{"name": "0001", "run": ".", "trial": "0001", "weight": 1.0}]
    chosen = {"method": "mean", "members": members, "heads": 3, "select_score": 0.5, "score": 0.5}
    run.write_ensemble({"format_version": ENSEMBLE_VERSION, **chosen})
    run.journal.append({"event": "suggest", "trial": "0009", "config": CONFIGS["0001"]})
    write_bytes(run.path / STATE, b"a head between two segments")
    state = digest_bytes(b"a head between two segments")
    run.journal.append(segment("0009", 48, 0.5, state=state))
    return place


@pytest.fixture
def place(origin: Path, tmp_path: Path) -> Path:
    return shutil.copytree(origin, tmp_path / "it")


@pytest.fixture
def run(place: Path) -> Run:
    return Run.open(place / "run")


def read_all(place: Path) -> Any:
    """As those read it who use it."""
    run, store = Run.open(place / "run"), Store.open(str(place / "store"))
    for record in run.trials():
        if record.answers:
            load_heads(run.head_folder(record.id))
            for role in ("select", "report"):
                read_predictions(run.trial_file(record.id, f"{role}.parquet"))
    for path, digest in noted_files(run):
        check_file(path, digest)
    for damage in find_store_damage(store):
        if damage is not None:
            raise UserError(damage.file)
    return contents(run, store)


def verify_all(place: Path) -> Any:
    """As the commands do."""
    run, store = Run.open(place / "run"), Store.open(str(place / "store"))
    for damage in (*find_damage(run), *find_store_damage(store)):
        if damage is not None:
            raise UserError(damage.file)
    return contents(run, store)


def contents(run: Run, store: Store) -> Any:
    blocks = [Path(store.path, entry.file).read_bytes() for entry in store.manifest.files()]
    noted = [path.read_bytes() for path, _ in noted_files(run)]
    return run.events(), run.ensemble(), store.manifest, blocks, noted


def flip(place: Path, count: int) -> None:
    """So many bits, one at a time, as many in one file as in another."""
    files = [path for path in sorted(place.rglob("*")) if path.is_file() and path.name not in COPIES]
    assert {"model.safetensors", "select.parquet", JOURNAL, ENSEMBLE, MANIFEST, Path(STATE).name} <= {
        path.name for path in files
    }
    rng, before = Random(count), read_all(place)
    for number in range(count):
        path = files[number % len(files)]
        whole = path.read_bytes()
        bit = rng.randrange(8 * len(whole))
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        for read in (read_all, verify_all):
            try:
                assert read(place) == before, f"{path} bit {bit}: it says something else, and nobody minds"
            except UserError as error:
                assert path.name in str(error), f"{path} bit {bit}: {error}"  # noqa: PT017
        path.write_bytes(whole)


def test_no_flipped_bit_goes_unnoticed(place: Path) -> None:
    flip(place, FLIPS)


@pytest.mark.slow
def test_none_of_thousands_goes_unnoticed(place: Path) -> None:
    flip(place, SLOW_FLIPS)


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def exchange(path: Path) -> None:
    """For the same file of another trial, which is whole in itself."""
    other = path.parents[1] / "0001" / path.name
    path.write_bytes(other.read_bytes())


@pytest.mark.parametrize("harm", [zero, exchange, Path.unlink])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "select.parquet", "report.parquet"])
def test_what_a_trial_left_is_damaged_and_named(run: Run, name: str, harm: Callable[[Path], Any]) -> None:
    path = run.trial_folder("0002") / name
    harm(path)
    (found,) = [damage for damage in find_damage(run) if damage is not None]
    assert found.file == f"trials/0002/{name}"
    assert (found.found == "no file") == (harm is Path.unlink)
    with pytest.raises(RunError, match=rf"trials/0002/{name}: (is damaged; expected digest|does not exist)"):
        run.trial_file("0002", name)
    if name in ("config.json", "model.safetensors"):
        with pytest.raises(RunError, match=f"trials/0002/{name}"):
            open_model(run.path, member="0002")


def test_a_file_that_the_journal_does_not_know_is_none_of_a_run(run: Run) -> None:
    (run.trial_folder("0002") / "more.parquet").write_bytes(b"")
    with pytest.raises(RunError, match="is not in the journal"):
        run.trial_file("0002", "more.parquet")


def test_digests_that_were_written_since_are_known(run: Run) -> None:
    weights = run.trial_folder("0002") / "model.safetensors"
    run.trial_file("0002", weights.name)
    weights.write_bytes(b"trained again")
    (finish,) = [e for e in run.events() if e["event"] == "finish" and e["trial"] == "0002"]
    run.journal.append({**finish, "files": run.trial_digests("0002")})
    assert run.trial_file("0002", weights.name) == weights


def test_the_command_says_what_is_damaged(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND, [str(run.path)]) == 0
    total = sum(1 for _ in noted_files(run)) + 1
    assert f"{total} files, all as the journal says" in capsys.readouterr().out
    zero(run.path / STATE)
    text = (run.path / ENSEMBLE).read_text()
    (run.path / ENSEMBLE).write_text(text.replace("mean", "max"))

    assert main(COMMAND, [str(run.path), "--json"]) == 2
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [each["file"] for each in said["damaged"]] == [STATE, ENSEMBLE]
    assert (said["ok"], said["files"]) == (False, total)
    main(COMMAND, [str(run.path)])
    assert "restore it from a copy" in capsys.readouterr().out


def test_a_damaged_journal_is_one_line(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    text = run.journal.path.read_text()
    run.journal.path.write_text(text.replace('"0001"', '"0011"', 1))
    assert main(COMMAND, [str(run.path)]) == 2
    assert "journal.jsonl line" in capsys.readouterr().err


def test_a_state_that_a_search_has_left_behind_meanwhile_is_no_damage(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest_late(path: Path) -> str:
        if path == run.path / STATE:
            state = digest_bytes(b"further")
            write_bytes(run.state_path("0009", 6), b"further")
            run.journal.append(segment("0009", 96, 0.5, state=state))
            path.unlink()
        return digest_file(path)

    monkeypatch.setattr(verify, "digest_file", digest_late)
    assert set(find_damage(run)) == {None}
    monkeypatch.undo()
    run.state_path("0009", 6).unlink()
    (lost,) = filter(None, find_damage(run))
    assert lost.file == "states/0009-6.safetensors"
