"""A checkpoint in memory: a stage, a transformers folder or a model of the Hub."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
import transformers
from safetensors import SafetensorError
from transformers import (
    AutoModel,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from bv_search.command import AUTO
from bv_search.encoder.encoder import Encoder
from bv_search.encoder.identity import EncoderIdentity, identify, weights_files
from bv_search.encoder.location import EncoderLocation, locate_encoder
from bv_search.encoder.pretrained import (
    Lack,
    count_parameters,
    count_positions,
    first_line,
    read_config,
    read_model,
    read_tokenizer,
    refuse_missing,
)
from bv_search.encoder.silence import silence
from bv_search.encoder.stage import STAGE_FILE, Stage, is_stage, read_stage
from bv_search.encoder.unit import make_exact
from bv_search.errors import EncoderError
from bv_search.tasks.registry import task_from_json
from bv_search.tasks.task import Task


def load_encoder(source: str | Path, *, task: Task | None = None, device: str = AUTO) -> Encoder:
    """An encoder to read hidden states from; unless it is a stage above 0, it predicts nothing itself."""
    found = locate_encoder(source)
    stage = read_stage(found.folder) if is_stage(found.folder) else None
    weights_files(found.folder)
    task = _task_of(stage, task, found)
    config = read_config(found)
    predicts = stage is not None and stage.fraction > 0
    model = _read_stage_model(found, config, task) if predicts else _read_base(found, config)
    identity = replace(stage.encoder, digest=stage.weights) if stage else identify(found)
    check_length(found, config, task)
    tokenizer = read_tokenizer(found, config)
    return wrap(
        Checkpoint(model=model, tokenizer=tokenizer, identity=identity, folder=found.folder),
        task=task,
        stage=stage,
        predicts=predicts,
        device=find_device(device),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """A model with its tokenizer, and where they came from."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    identity: EncoderIdentity
    folder: Path


def wrap(
    checkpoint: Checkpoint,
    *,
    task: Task | None,
    stage: Stage | None,
    predicts: bool,
    device: torch.device,
) -> Encoder:
    """A model in memory as an encoder, without dropout."""
    model = checkpoint.model.to(device).eval()
    config = model.config
    return Encoder(
        identity=checkpoint.identity,
        folder=checkpoint.folder,
        tokenizer=checkpoint.tokenizer,
        model=model,
        layers=config.num_hidden_layers + 1,
        width=config.hidden_size,
        parameters=count_parameters(config),
        has_pooler=getattr(model.base_model, "pooler", None) is not None,
        task=task,
        stage=stage,
        predicts=predicts,
        device=device,
    )


def load_untrained(location: EncoderLocation, task: Task, *, seed: int) -> Checkpoint:
    """The encoder with a task head that knows nothing yet, the same for the same seed."""
    config = read_config(location)
    weights_files(location.folder)
    config.update(task.model_settings)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model, lack = _read_task_model(location, config, task, new_head=True)
        if _has_head(model, lack):
            torch.manual_seed(seed)
            _forget_head(model)
    refuse_missing(location, [name for name in lack.names if _is_encoder_weight(model, name)])
    check_length(location, config, task)
    return Checkpoint(
        model=model,
        tokenizer=read_tokenizer(location, config),
        identity=identify(location),
        folder=location.folder,
    )


def load_base(location: EncoderLocation) -> Checkpoint:
    """The encoder as it is, without a task head."""
    weights_files(location.folder)
    config = read_config(location)
    return Checkpoint(
        model=_read_base(location, config),
        tokenizer=read_tokenizer(location, config),
        identity=identify(location),
        folder=location.folder,
    )


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    try:
        with silence():
            checkpoint.model.save_pretrained(folder)
            checkpoint.tokenizer.save_pretrained(folder)
    except SafetensorError as error:
        # how safetensors puts a full disk; who makes the folder names it, given an OSError
        raise OSError(str(error)) from error
    mode = (folder / "config.json").stat().st_mode
    for weights in weights_files(folder):
        weights.chmod(mode)  # safetensors writes for its owner alone, and a stage may be read by a cluster


def find_device(name: str) -> torch.device:
    if name == AUTO:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # a device without memory, as meta, is none to compute on
    except (RuntimeError, AssertionError, ValueError, ImportError, UnicodeError) as error:
        raise EncoderError(
            "no such device here", where=name, expected="auto, cpu or cuda", found=first_line(error)
        ) from error
    return device


def check_length(location: EncoderLocation, config: PreTrainedConfig, task: Task | None) -> None:
    """Refuse windows that are longer than the encoder's positions."""
    positions = count_positions(config)
    if task is not None and positions is not None and task.max_length > positions:
        raise EncoderError(
            f"is too short for task {task.name}",
            where=location.id,
            expected=f"{task.max_length} positions",
            found=positions,
            do="give the task as a YAML file with a smaller max_length",
        )


def _task_of(stage: Stage | None, task: Task | None, location: EncoderLocation) -> Task | None:
    if stage is None:
        return task
    if task is not None and task.to_json() != stage.task:
        found = task_from_json(stage.task, location.folder / STAGE_FILE).name
        raise EncoderError(
            "is a stage of another task",
            where=location.id,
            expected=task.name,
            found=found if found != task.name else f"{found} with other settings",
        )
    return task_from_json(stage.task, location.folder / STAGE_FILE)


def _read_stage_model(
    location: EncoderLocation, config: PreTrainedConfig, task: Task | None
) -> PreTrainedModel:
    assert task is not None, "a stage has a task"
    model, lack = _read_task_model(location, config, task)
    refuse_missing(location, lack.names)
    return model


def _read_task_model(
    location: EncoderLocation, config: PreTrainedConfig, task: Task, *, new_head: bool = False
) -> tuple[PreTrainedModel, Lack]:
    model, lack = read_model(location, config, getattr(transformers, task.model_class), new_head=new_head)
    if task.is_number:
        make_exact(model)
    return model, lack


def _read_base(location: EncoderLocation, config: PreTrainedConfig) -> PreTrainedModel:
    model, lack = read_model(location, config, AutoModel)
    if any(name.startswith("pooler.") for name in lack.names):
        model.pooler = None  # a pooler of random weights is none
    refuse_missing(location, [name for name in lack.names if not name.startswith("pooler.")])
    return model


def _has_head(model: PreTrainedModel, lack: Lack) -> bool:
    """Whether the checkpoint was trained on a task. Of pretraining some encoders keep a part of a head."""
    prefix = f"{model.base_model_prefix}."
    return all(name.startswith(prefix) for name in lack.absent)


def _forget_head(model: PreTrainedModel) -> None:
    """What a checkpoint learned on another task would be taken for what it has learned on this one."""
    encoder = set(model.base_model.modules())
    for module in model.modules():
        if module not in encoder:
            for parameter in module.parameters(recurse=False):
                parameter._is_hf_initialized = False  # else transformers leaves it as it was read
            model._init_weights(module)


def _is_encoder_weight(model: PreTrainedModel, name: str) -> bool:
    prefix = f"{model.base_model_prefix}."
    return name.startswith(prefix) and not name.startswith(f"{prefix}pooler.")
