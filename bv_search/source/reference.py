"""Which encoder hidden states are of, and where it can be had. Free of torch until it is loaded."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bv_search.command import AUTO
from bv_search.document import Text
from bv_search.encoder.identity import digest_weights
from bv_search.encoder.location import locate_encoder
from bv_search.errors import EncoderError
from bv_search.files import decode_at
from bv_search.store.manifest import EncoderEntry

if TYPE_CHECKING:
    from bv_search.encoder.encoder import Encoder

PUT_BACK = "put it back"


@dataclass(frozen=True, kw_only=True)
class _Entry:
    id: Text
    digest: Text
    revision: str | None
    stage: Text | None = None
    place: Text | None = None


@dataclass(frozen=True, kw_only=True)
class EncoderReference:
    """Where an encoder was, and the digest that it must have wherever it is now."""

    id: str
    revision: str | None
    digest: str
    place: str

    @classmethod
    def of(cls, entry: EncoderEntry) -> "EncoderReference":
        place = entry.stage or hub_name(entry.id, entry.revision)
        return cls(id=entry.id, revision=entry.revision, digest=entry.digest, place=place)

    @classmethod
    def from_json(cls, value: Mapping[str, Any], *, where: object = None) -> "EncoderReference":
        """From a manifest's or a head's entry, or from a saved model's."""
        said = decode_at(_Entry, value, EncoderError, where=where, what="names no encoder", more=True)
        told = None if said.place == said.id else said.place  # as models were saved once, without a revision
        place = told or said.stage or hub_name(said.id, said.revision)
        return cls(id=said.id, revision=said.revision, digest=said.digest, place=place)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def find(self, place: str | Path | None = None, *, do: str = PUT_BACK) -> Path:
        """Its folder, at its place or another; another encoder is refused. `do` is what the user can do."""
        try:
            folder = locate_encoder(place or self.place).folder
            found = digest_weights(folder)
        except EncoderError as cause:
            if place is not None:
                raise
            raise EncoderError(
                "the encoder is not there",
                where=self.place,
                expected=f"the encoder with digest {self.digest}",
                found=cause.what,
                do=do,
            ) from cause
        if found != self.digest:
            raise EncoderError(
                "is not the encoder that the hidden states are of",
                where=place or self.place,
                expected=f"digest {self.digest}",
                found=found,
                do=do,
            )
        return folder

    def load(self, place: str | Path | None = None, *, device: str = AUTO, do: str = PUT_BACK) -> "Encoder":
        from bv_search.encoder.checkpoint import load_encoder  # with torch, which a search does without

        return load_encoder(self.find(place, do=do), device=device)


def hub_name(hub: str, revision: str | None) -> str:
    """As the Hub finds it again, whatever has been published since. A local folder has no revision."""
    return hub if revision is None else f"{hub}@{revision}"
