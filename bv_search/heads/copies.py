"""Copies: heads of one configuration that answer together, and stand in one folder.

Names of tensors begin with the number of their copy, where there are several: "0.bias_C", "1.bias_C", …
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from bv_search.errors import HeadError
from bv_search.heads.folder import CONFIG_FILE, WEIGHTS_FILE, read_config, write_head
from bv_search.heads.head import Head, check_size, read_weights
from bv_search.heads.inputs import share_inputs

Copies = Sequence[Head]


def count_all(copies: Copies) -> int:
    """Parameters of all of them: each is needed to answer."""
    return sum(head.parameter_count() for head in copies)


def join_tensors(each: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The tensors of all copies by one name each."""
    if len(each) == 1:
        return dict(each[0])
    return {f"{number}.{name}": t for number, own in enumerate(each) for name, t in own.items()}


def name_parameters(copies: Copies) -> list[list[str]]:
    """What the parameters of each copy are called among those of all."""
    names = iter(join_tensors([dict(head.named_parameters()) for head in copies]))
    return [[next(names) for _ in head.parameters()] for head in copies]


def part_tensors(tensors: Mapping[str, Tensor], copies: int) -> list[dict[str, Tensor]]:
    """The tensors of each copy, by the names that they have in it."""
    if copies == 1:
        return [dict(tensors)]
    starts = [f"{number}." for number in range(copies)]
    return [{n.removeprefix(start): t for n, t in tensors.items() if n.startswith(start)} for start in starts]


def weights_bytes(copies: Copies) -> bytes:
    """As safetensors, which takes no tensors that share memory, as the numbers of their inputs do."""
    each = [{name: t.detach().cpu().clone() for name, t in head.state_dict().items()} for head in copies]
    data: bytes = save(join_tensors(each))
    return data


def save_heads(copies: Copies, folder: str | Path, **more: Any) -> None:
    """`more` goes into config.json beside the head, as in `Head.save_pretrained`."""
    config = {**copies[0].to_json(), "copies": len(copies), **more}
    write_head(Path(folder), config, weights_bytes(copies))


def load_heads(folder: str | Path) -> list[Head]:
    """All copies that a folder holds; a head by itself is one."""
    folder = Path(folder)
    config, where = read_config(folder), folder / WEIGHTS_FILE
    check_size(config, where, where=folder / CONFIG_FILE)
    heads = [Head.from_json(config, where=folder / CONFIG_FILE) for _ in range(config["copies"])]
    weights = read_weights(folder, config)
    each = part_tensors(weights, len(heads))
    if strange := sorted(weights.keys() - join_tensors(each).keys()):
        raise HeadError(f"tensor {strange[0]} is of no copy", where=where, expected=f"{len(heads)} copies")
    for number, (head, own) in enumerate(zip(heads, each, strict=True)):
        head.load_weights(own, where=where if len(heads) == 1 else f"{where}, copy {number}")
    share_inputs(heads)
    return heads
