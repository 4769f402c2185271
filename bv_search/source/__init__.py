"""Hidden states made now: an encoder that fills blocks.

channels.py   which channels of an encoder, of which tokens, rounded how
reference.py  which encoder made a store's hidden states, and where it is
placer.py     each batch put into its places in a block
fill.py       a block's batches, encoded
page.py       a block that stays in memory
exact.py      matmuls that round nothing off
live.py       a store whose blocks are made when they are read
choice.py     the store's files or its encoder
"""

from bv_search.command import AUTO

STORE, LIVE = "store", "live"
SOURCES = (AUTO, STORE, LIVE)
