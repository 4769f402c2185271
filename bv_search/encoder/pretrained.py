"""The parts of a transformers folder, read in silence, each failure as one line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from bv_search.encoder.location import EncoderLocation
from bv_search.encoder.silence import silence
from bv_search.errors import EncoderError
from bv_search.files import read_json

READ_FAILURES = (Exception,)
"""What stands in these folders is read by others' code, which fails in whatever way it comes to."""

LARGEST = {
    "num_hidden_layers": 1_000,
    "num_attention_heads": 1_000,
    "hidden_size": 1 << 17,
    "intermediate_size": 1 << 20,
    "vocab_size": 1 << 24,
    "max_position_embeddings": 1 << 24,
}
"""Beyond these no encoder is, and to look at one takes minutes or all memory."""

LEAKY = ("canine", "convbert", "fnet", "nystromformer", "yoso")
"""Their convolutions, Fourier transforms and sketches of attention go over padding as over words."""

VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")


def read_config(location: EncoderLocation) -> PreTrainedConfig:
    _check_sizes(read_json(location.folder / "config.json", EncoderError), location.folder / "config.json")
    try:
        with silence():
            config = AutoConfig.from_pretrained(
                location.folder, local_files_only=True, trust_remote_code=False
            )
    except READ_FAILURES as error:
        raise _unreadable(location, "config.json", error) from error
    generates = config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if getattr(config, "is_encoder_decoder", False) or (
        generates and config.model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    ):  # whose first token has seen nothing of the text
        raise EncoderError(
            "is no encoder",
            where=location.id,
            expected="a BERT-like model",
            found=config.model_type,
            do="search hidden states of another model as arrays, by Store.from_arrays",
        )
    if config.model_type in LEAKY:
        raise EncoderError(
            "lets padding into its hidden states: a text would be answered by what it is read beside",
            where=location.id,
            expected="an encoder with an attention mask in all of its layers",
            found=config.model_type,
        )
    return config


def _check_sizes(value: Mapping[str, Any], where: Path) -> None:
    for name, most in LARGEST.items():
        found = value.get(name, 1)
        if type(found) is not int or not 1 <= found <= most:
            raise EncoderError(
                "makes no sense", where=where, expected=f"{name} from 1 to {most:,}", found=repr(found)
            )


def _check_vocabulary(path: Path) -> None:
    """A token of a far number would take memory for all before it."""
    if not path.exists():
        return
    model = read_json(path, EncoderError).get("model")
    words = model.get("vocab") if isinstance(model, dict) else None
    numbers = words.values() if isinstance(words, dict) else ()
    most = LARGEST["vocab_size"]
    wrong = next((each for each in numbers if type(each) is not int or not 0 <= each < most), None)
    if wrong is not None:
        raise EncoderError(
            "makes no sense", where=path, expected=f"tokens from 0 to {most:,}", found=repr(wrong)
        )


def read_tokenizer(location: EncoderLocation, config: PreTrainedConfig) -> PreTrainedTokenizerBase:
    if not any(found for name in VOCABULARIES for found in location.folder.glob(name)):
        # transformers would make one up, of an empty vocabulary
        raise EncoderError(
            "has no tokenizer",
            where=location.id,
            expected=" or ".join(VOCABULARIES),
            do="add the files of the tokenizer that the encoder was trained with",
        )
    _check_vocabulary(location.folder / "tokenizer.json")
    try:
        with silence():
            tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
                location.folder, local_files_only=True, trust_remote_code=False
            )
            tokenizer("a word, unheard-of")
    except READ_FAILURES as error:
        raise _unreadable(location, "its tokenizer", error) from error
    if not tokenizer.is_fast:
        raise EncoderError(
            "has no fast tokenizer, which says where in a text a token stands",
            where=location.id,
            expected="tokenizer.json",
            found=type(tokenizer).__name__,
        )
    if len(tokenizer) > config.vocab_size:
        raise EncoderError(
            "has the tokenizer of another encoder",
            where=location.id,
            expected=f"at most {config.vocab_size} tokens",
            found=len(tokenizer),
        )
    # a tokenizer may know a shorter limit, that of another use, and would cut windows to it unasked
    tokenizer.model_max_length = count_positions(config) or tokenizer.model_max_length
    return tokenizer


@dataclass(frozen=True, kw_only=True)
class Lack:
    """The names of weights that a folder has not, and of those that it has in another shape."""

    absent: frozenset[str]
    misshapen: frozenset[str]

    @property
    def names(self) -> list[str]:
        return sorted(self.absent | self.misshapen)


def read_model(
    location: EncoderLocation, config: PreTrainedConfig, auto: Any, *, new_head: bool = False
) -> tuple[PreTrainedModel, Lack]:
    """The model in float32, and what of it the folder lacks."""
    try:
        with silence():
            model, report = auto.from_pretrained(
                location.folder,
                config=config,
                dtype=torch.float32,  # the default is whatever the checkpoint was saved in
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                ignore_mismatched_sizes=new_head,
                output_loading_info=True,
            )
    except READ_FAILURES as error:
        raise _unreadable(location, "its weights", error) from error
    broken = next((name for name, each in model.named_parameters() if not each.isfinite().all()), None)
    if broken is not None:
        raise EncoderError("weights are no numbers", where=location.id, found=f"{broken} is not finite")
    misshapen = frozenset(name for name, *_ in report["mismatched_keys"])
    return model, Lack(absent=frozenset(report["missing_keys"]) - misshapen, misshapen=misshapen)


def refuse_missing(location: EncoderLocation, missing: list[str]) -> None:
    """Random weights in place of absent ones would look like an encoder."""
    if missing:
        shown = ", ".join(missing[:2]) + (f" and {len(missing) - 2} more" if len(missing) > 2 else "")
        raise EncoderError(
            "weights do not fit config.json", where=location.id, expected=shown, found="none of that shape"
        )


def count_parameters(config: PreTrainedConfig) -> int:
    """Of the whole architecture, whatever part of it a task uses: without memory, on the meta device."""
    return sum(parameter.numel() for parameter in _outline(config).parameters())


def count_positions(config: PreTrainedConfig) -> int | None:
    """How many tokens the encoder can read at once, where it has such a limit."""
    positions: int | None = getattr(config, "max_position_embeddings", None)
    if positions is None:
        return None
    offset = getattr(getattr(_outline(config), "embeddings", None), "padding_idx", None)
    return positions if offset is None else positions - offset - 1  # RoBERTa counts from its padding index on


def _outline(config: PreTrainedConfig) -> PreTrainedModel:
    with torch.device("meta"), silence():
        model: PreTrainedModel = AutoModel.from_config(config)
    return model


def _unreadable(location: EncoderLocation, part: str, error: BaseException) -> EncoderError:
    return EncoderError(
        f"{part} cannot be read",
        where=location.id,
        found=first_line(error),
        do="give a folder as transformers' save_pretrained writes it",
    )


def first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
