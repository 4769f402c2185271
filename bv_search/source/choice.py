"""Where heads are fed from: the files of a store, or its encoder. Free of torch."""

from dataclasses import dataclass
from pathlib import Path

from bv_search.command import AUTO
from bv_search.errors import EncoderError, StoreError
from bv_search.source import LIVE, STORE
from bv_search.source.reference import PUT_BACK, EncoderReference
from bv_search.store.store import Store
from bv_search.tasks.row import Role


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What either source gives, measured where heads train."""

    bytes_per_second: float  # of the store, read from the disk and checked
    tokens_per_second: float  # of its encoder


@dataclass(frozen=True, kw_only=True)
class SourceChoice:
    source: str  # store or live; auto where either can be had, and they are still to be measured
    why: str = ""  # where nobody asked for it

    def __str__(self) -> str:
        return f"source: {self.source} ({self.why})"


def choose_source(asked: str, store: Store) -> SourceChoice:
    """The source that was asked for, if it can be had; of auto what there is to choose from."""
    if not store.manifest.keeps_blocks:
        return _only_live(asked, store)
    if asked == STORE:
        return SourceChoice(source=STORE)
    reference = EncoderReference.of(store.manifest.encoder)
    if asked == LIVE:
        reference.find(do=f"{PUT_BACK}, or read the store: --source store")
        return SourceChoice(source=LIVE)
    if store.manifest.one_token:
        return SourceChoice(source=STORE, why="one token a window is read once, and stays in memory")
    return _either(reference)


def _either(reference: EncoderReference) -> SourceChoice:
    """Nothing is fetched from afar to be measured."""
    if not Path(reference.place).is_dir():
        return SourceChoice(source=STORE, why=f"its encoder is not here: {reference.place}")
    try:
        reference.find()
    except EncoderError as error:
        return SourceChoice(source=STORE, why=f"{error.where} {error.what}")
    return SourceChoice(source=AUTO)


def _only_live(asked: str, store: Store) -> SourceChoice:
    if asked == STORE:
        raise StoreError(
            "keeps no hidden states",
            where=store.path,
            expected="a store of --format npy or parquet",
            do="let its encoder make them: --source live",
        )
    EncoderReference.of(store.manifest.encoder).find()
    return SourceChoice(source=LIVE, why="the store keeps no hidden states")


def compare_sources(store: Store, rates: Rates) -> SourceChoice:
    """The one that gives a pass over the training rows in less time."""
    (train,) = store.splits(Role.TRAIN)
    size = train.entry.tokens * store.manifest.token_bytes
    reading = size / rates.bytes_per_second
    encoding = train.entry.encoded_tokens / rates.tokens_per_second
    read = f"{size / 1e9:.2f} GB in {reading:.1f} s"
    if reading <= encoding:
        return SourceChoice(source=STORE, why=f"a pass reads {read}; the encoder would take {encoding:.1f} s")
    return SourceChoice(
        source=LIVE, why=f"the encoder takes {encoding:.1f} s a pass; reading would be {read}"
    )
