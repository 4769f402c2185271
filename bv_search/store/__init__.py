"""The activation store: hidden states of every layer, on disk or in object storage.

layout.py     names of files, order of windows, borders of blocks
dtype.py      values in 16 bits
manifest.py   what a store is, and the digest of every file
pending_file.py  a file that is written while it is being filled
folder.py     local and remote files, whole or absent
block.py      one block: .npy, mapped, or Parquet
index.py      one row per window
statistics.py mean and deviation of every feature over the training rows
reader.py     blocks fetched ahead and checked once
store.py      open, splits, index, logits, blocks
writer.py     write blocks, commit the manifest; a store from arrays
verify.py     find every damaged file
info.py       sizes, and what one pass costs;  recompute.py  what the encoder would cost instead
"""
