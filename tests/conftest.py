"""What all tests share: one thread per process, no network, real but small data, a real but tiny encoder."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

# before anything imports torch, Ray or transformers: they read these once
os.environ.update(
    {
        **dict.fromkeys(
            ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
        ),
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_TQDM": "0",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MPLBACKEND": "Agg",
    }
)
for name in ("RAY_ADDRESS", "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_RUN_ID"):
    os.environ.pop(name, None)

import pytest  # noqa: E402

if TYPE_CHECKING:
    from bv_search.run import Run
    from tests.model.small_run import Small

REPOSITORY = Path(__file__).resolve().parents[1]


RAY = (
    "api/test_verbs.py",
    "bench",
    "demo",
    "docs/test_python.py",
    "extract",
    "finetune",
    "hostile",
    "pipeline",
    "study/test_studies.py",
    "test_cluster.py",
    "tune",
)
"""Where tests start Ray, or processes that do: seconds for each."""

LONG = (
    "contracts",
    "report/test_kinds.py",
    "scan/test_capacity.py",
    "scan/test_copies.py",
    "scan/test_memory.py",
    "source/test_live.py",
)
"""Where tests take ten seconds, or all of them a minute, without Ray."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")
    parser.addoption("--cluster", action="store_true", help="also run the tests on three hosts, as root")
    parser.addoption("--quick", action="store_true", help="leave out the tests of RAY and LONG")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    places = {REPOSITORY / "tests" / place for place in (*RAY, *LONG)}
    return True if config.getoption("--quick") and collection_path in places else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reads or writes the cache of the person who runs it."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BV_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module", autouse=True)
def no_ray_left_behind() -> Iterator[None]:
    """Files run in any order: the next one's Ray knows its environment, not that of an earlier one."""
    yield
    ray = sys.modules.get("ray")
    assert ray is None or not ray.is_initialized(), "a file ends the Ray that it began"


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Real SQuAD 2.0 and GLUE files: squad2/*.json and glue/TASK/*.tsv."""
    named = os.environ.get("BV_REAL_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is not a folder; name one by BV_REAL_DATA")
    return folder


@pytest.fixture(scope="session")
def generated_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.json and dev.json in SQuAD 2.0's shape: 60 and 20 passages, 4 questions each."""
    from bv_search.demo.text import TextSettings, write_text

    return write_text(
        tmp_path_factory.mktemp("generated") / "data",
        TextSettings(train_passages=60, dev_passages=20, questions=4, seed=0),
    )


@pytest.fixture(scope="session")
def lossy_data(generated_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with one answer, of a training question, that no tokenizer keeps anything of."""
    folder = shutil.copytree(generated_data, tmp_path_factory.mktemp("lossy") / "data")
    data = json.loads((folder / "train.json").read_text())
    paragraph = data["data"][0]["paragraphs"][0]
    answer = {"text": "\u200b", "answer_start": len(paragraph["context"])}
    paragraph["context"] += "\u200b"
    paragraph["qas"][0] |= {"answers": [answer], "is_impossible": False}
    (folder / "train.json").write_text(json.dumps(data))
    return folder


@pytest.fixture(scope="session")
def tiny_encoder(generated_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformers folder: BERT, 2 layers of width 32, the generated text's vocabulary, never trained."""
    # imports torch: seconds that tests without an encoder do not pay
    from bv_search.demo.encoder import EncoderSettings, build_encoder

    return build_encoder(
        tmp_path_factory.mktemp("encoder") / "tiny",
        generated_data,
        EncoderSettings(layers=2, width=32, heads=2, vocabulary=400),
    )


@pytest.fixture(scope="session")
def small(tiny_encoder: Path, generated_data: Path, tmp_path_factory: pytest.TempPathFactory) -> "Small":
    """A finished study of spans, to look at."""
    from tests.model.small_run import shared_small

    place = tmp_path_factory.getbasetemp() / "small-span"
    return shared_small("squad2-span", tiny_encoder, generated_data, place)


@pytest.fixture
def run(small: "Small", tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> "Run":
    """A copy of its run, to change."""
    from tests.model.small_run import copy_run
    from tests.run.database import place_database

    place_database(tmp_path / "runs", tmp_path_factory.getbasetemp())
    return copy_run(small, tmp_path / "runs" / "first")
