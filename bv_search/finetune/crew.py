"""The heads that ride on one encoder: which they are, what they read, and what is kept of them at a stage."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from bv_search.cpu.memory import prepare_memory
from bv_search.encoder.encoder import Encoder
from bv_search.encoder.pretrained import count_parameters as count_encoder
from bv_search.encoder.training import Step
from bv_search.errors import UserError
from bv_search.finetune.material import Material
from bv_search.finetune.ride import Ride
from bv_search.finetune.riders import Rider, Riders, RideSetting
from bv_search.finetune.saved_heads import SavedHeads
from bv_search.finetune.scoring import SETTLED, SharedReading, labels_of_windows, settle
from bv_search.finetune.stage_folder import SavedStage
from bv_search.finetune.stage_heads import JudgedHead, StageHeads, write_heads
from bv_search.heads.config import HeadShape, check_fit
from bv_search.heads.head import count_parameters
from bv_search.precision import FLOAT32, dtype_of
from bv_search.run.study import RIDE
from bv_search.scan.capacity import pack_capacity
from bv_search.scan.trial import TrialConfig
from bv_search.source.channels import Channels
from bv_search.store.doubts import HELD
from bv_search.store.layout import POOLER, channel_name
from bv_search.tasks.row import Role


@dataclass(frozen=True, kw_only=True)
class Crew:
    ride: Ride
    heads: Sequence[TrialConfig]
    channels: Channels
    shape: HeadShape
    precision: str  # of fine-tuning, and so of heads' products
    material: Material

    @classmethod
    def of(cls, ride: Ride, material: Material, precision: str) -> "Crew":
        """Refuses heads that make no sense on this encoder, or do not fit into memory."""
        needs_tokens = material.task.per_token or any(
            head.head.reads_all_tokens for head in ride.space.typed_corners()
        )
        channels = _channels(material, tokens="all" if needs_tokens else "first")
        shape = HeadShape(
            layers=len(channels.layers),
            width=channels.width,
            outputs=material.task.outputs,
            per_token=material.task.per_token,
            tokens=material.task.max_length if needs_tokens else 1,
        )
        for head in ride.space.typed_corners():
            check_fit(head.head, shape)
        limit = ride.space.max_parameters
        heads = ride.draw(lambda head: limit is None or count_parameters(head.head, shape) <= limit)
        device = material.checkpoint.model.device
        room = pack_capacity(heads, shape, longest=material.task.max_length, device=device)
        if len(heads) > room:
            raise UserError(
                "so many heads do not fit beside the encoder",
                where=ride.space.name,
                expected=f"--trials {room} or fewer",
                found=len(heads),
            )
        return cls(
            ride=ride, heads=heads, channels=channels, shape=shape, precision=precision, material=material
        )

    def __str__(self) -> str:
        left_out = ", ".join(self.ride.left_out)
        ride = "1 head rides" if len(self.heads) == 1 else f"{len(self.heads)} heads ride"
        text = f"{ride} along, of {self.ride.space.name}"
        return f"{text}; left out of the space: {left_out}" if left_out else text

    def to_json(self) -> dict[str, Any]:
        """What decides how they come out."""
        return {
            "heads": [head.to_json() for head in self.heads],
            "channels": self.channels.to_json(),
            "shape": asdict(self.shape),
            "values": self.shape.values,
        }

    def riders(self) -> Riders:
        """Before the first step."""
        prepare_memory()
        setting = RideSetting(
            channels=self.channels,
            shape=self.shape,
            kind=self.material.task.kind,
            labels_ND=labels_of_windows(self.material.windows[Role.TRAIN]),
            device=self.material.checkpoint.model.device,
            dtype=dtype_of(self.precision),
        )
        return Riders(self.heads, setting)

    def stand(self, riders: Riders, encoder: Encoder, step: Step) -> list[Rider]:
        """Those that are to be judged. Batch norm is settled on some of the windows that were met."""
        assert step.met is not None
        standing = riders.stand()
        spread = step.met[:: max(1, len(step.met) // SETTLED)][:SETTLED]
        met = self.material.windows[Role.TRAIN].take(pa.array(spread))
        settle([rider.head for rider in standing], encoder, self.channels, met)
        return standing

    def reading(self, encoder: Encoder, windows: pa.Table, standing: Sequence[Rider]) -> SharedReading:
        heads = [rider.head for rider in standing]
        return SharedReading(encoder, windows, heads, channels=self.channels, shape=self.shape)

    def write(self, saved: SavedStage, judged: Sequence[JudgedHead], riders: Riders) -> SavedHeads:
        found = StageHeads(
            ride=self.ride,
            configs=self.heads,
            judged=judged,
            lost=riders.lost,
            ids={role: self.material.windows[role].column("id").to_pylist() for role in HELD},
            seconds={RIDE: riders.seconds},
            channels=self.channels,
            encoder_parameters=count_encoder(self.material.checkpoint.model.config),
        )
        return write_heads(found, saved.stage, saved.path)


def _channels(material: Material, *, tokens: str) -> Channels:
    """As extraction keeps them by default, but that nothing is rounded."""
    config = material.checkpoint.model.config
    has_pooler = getattr(material.checkpoint.model.base_model, "pooler", None) is not None
    layers = [channel_name(layer) for layer in range(config.num_hidden_layers + 1)]
    return Channels(
        layers=(*layers, *((POOLER,) if has_pooler and tokens == "first" else ())),
        tokens=tokens,
        dtype=FLOAT32,
        width=config.hidden_size,
    )
