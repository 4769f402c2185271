"""What decides the bytes of a store stays as it was, or is refused."""

from pathlib import Path

import pytest

from bv_search.errors import OutputError, UserError
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
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
