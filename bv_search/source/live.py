"""A store whose blocks are made when they are read: the very values that extraction writes."""

from collections.abc import Iterator, Sequence

from bv_search.command import AUTO
from bv_search.encoder.encoder import Encoder
from bv_search.source.channels import Channels
from bv_search.source.exact import exact_matmuls
from bv_search.source.fill import WINDOW
from bv_search.source.page import fill_page
from bv_search.source.reference import PUT_BACK, EncoderReference
from bv_search.store.block import Block, Part
from bv_search.store.store import Store, StoreSplit


def live_store(store: Store, encoder: Encoder) -> Store:
    """The store, fed by its own encoder."""
    return store.fed_by(Live(store, encoder).blocks)


def feed_live(store: Store, *, place: str | None = None, device: str = AUTO, do: str = PUT_BACK) -> Store:
    """The same, once the encoder is found at its place, or at another; `do` is what the user can do."""
    return live_store(store, EncoderReference.of(store.manifest.encoder).load(place, device=device, do=do))


class Live:
    """An encoder in the place of a store's files.

    It goes by the batches that extraction goes by, so that a value is the same whichever it comes from. Part
    of a block costs the whole of it. There is one block at a time: the next is made when it is asked for.
    """

    def __init__(self, store: Store, encoder: Encoder) -> None:
        self._channels = Channels.of(store.manifest)
        self._channels.check(encoder)
        self._batch_tokens = store.manifest.batch_tokens
        self._encoder = encoder

    def blocks(self, split: StoreSplit, parts: Sequence[Part]) -> Iterator[Block]:
        for part in parts:
            yield self._make(split, part.block).cut(part)

    def _make(self, split: StoreSplit, number: int) -> Block:
        windows = split.index_group(number, ["tokens", *WINDOW])
        where = f"{split.store.path}, split {split.name}, block {number}"
        with exact_matmuls():  # whatever the heads that are fed may round to
            page, _ = fill_page(self._encoder, self._channels, windows, self._batch_tokens, where)
        return Block(
            number=number,
            first_window=sum(split.block_windows[:number]),
            lengths=windows["tokens"].to_numpy(),
            hidden_LTH=page.hidden_LTH,
        )
