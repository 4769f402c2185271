"""What a store is, how large it is, and what one pass over it costs on this disk."""

import os
import time
from pathlib import Path
from typing import Any

from bv_search.errors import EncoderError
from bv_search.store.doubts import doubts_of_rows
from bv_search.store.folder import Folder, LocalFolder
from bv_search.store.layout import MANIFEST
from bv_search.store.manifest import Manifest
from bv_search.store.store import Store

PADDED_BYTES = 4  # a value of the usual form: float32, every window padded to the task's maximum
SAMPLE_BYTES = 512 << 20


def describe(store: Store) -> dict[str, Any]:
    """Everything as plain values; pass and encoder are measured, on a part of a large store."""
    manifest = store.manifest
    payload = manifest.stored_tokens * manifest.token_bytes
    size = sum(entry.size for entry in manifest.files()) + (store.folder.size(MANIFEST) or 0)
    return {
        "store": store.path,
        "digest": store.digest,
        "task": manifest.task.get("name"),
        "encoder": manifest.encoder.id,
        "fraction": manifest.encoder.fraction,
        "layers": list(manifest.layers),
        "shape": list(manifest.shape),
        "tokens": manifest.tokens,
        "dtype": manifest.dtype,
        "format": manifest.format,
        "windows": manifest.windows,
        "stored_tokens": manifest.stored_tokens,
        "bytes": size,
        "payload_bytes": payload,
        "size_over_payload": round(size / payload, 4),
        "size_over_padded_float32": round(size / _padded_bytes(manifest), 4),
        **_pass(store, payload),
        "splits": {name: _split(store, name) for name in manifest.splits},
        "doubts": list(doubts_of_rows(store)),
    }


def _padded_bytes(manifest: Manifest) -> int:
    """`first` and `mean` store one token a window, whatever its length."""
    tokens = 1 if manifest.one_token else int(manifest.task.get("max_length", 1))
    return manifest.windows * tokens * manifest.shape[0] * manifest.shape[1] * PADDED_BYTES


def _pass(store: Store, payload: int) -> dict[str, Any]:
    """What a pass costs: by reading, where blocks are kept, and by an encoder, where it can be found here."""
    rate = scan_rate(store) if store.manifest.keeps_blocks else None
    speed = _encoder_rate(store)
    reading = None if rate is None else payload / rate
    encoding = None if speed is None else store.manifest.encoded_tokens / speed
    return {
        "scan_bytes_per_second": None if rate is None else round(rate),
        "pass_seconds": None if reading is None else round(reading, 3),
        "recompute_seconds": None if encoding is None else round(encoding, 3),
        "break_even_bytes_per_second": None if encoding is None else round(payload / encoding),
        "break_even_passes": _break_even(encoding, reading),
    }


def _break_even(encoding: float | None, reading: float | None) -> float | None:
    """Passes after which storing has paid off, if ever."""
    if encoding is None or reading is None or encoding <= reading:
        return None
    return round(encoding / (encoding - reading), 2)


def _encoder_rate(store: Store) -> float | None:
    """Tokens per second of the store's own encoder, or None where it is not at hand."""
    source = Path(store.manifest.encoder.stage or store.manifest.encoder.id)
    if not source.is_dir():
        return None
    from bv_search.store.recompute import encoder_rate

    try:
        return encoder_rate(store, source)
    except EncoderError:  # it is no longer whole
        return None


def _split(store: Store, name: str) -> dict[str, Any]:
    split = store.manifest.splits[name]
    return {
        "role": split.role,
        "windows": split.windows,
        "tokens": split.tokens,
        "blocks": len(split.blocks),
        "seen": store.split(name).seen,
    }


def _seen(split: dict[str, Any]) -> str:
    return f", {split['seen']:,} windows of rows that the encoder was fine-tuned on" if split["seen"] else ""


def scan_rate(store: Store) -> float:
    """Bytes per second of the first blocks, read and checked as a scan does, from disk and not from cache."""
    split = max(store.splits(), key=lambda each: each.entry.tokens)
    stop, size = 0, 0
    for block in split.entry.kept:
        if size >= SAMPLE_BYTES:
            break
        stop, size = stop + block.windows, size + block.size
        drop_from_cache(store.folder, block.file)
    windows = len(split.lengths[:stop])
    started = time.perf_counter()
    windows -= sum(loaded.windows for loaded in split.blocks(stop=stop, verify=True))
    assert windows == 0, "a pass visits every window"
    return size / max(time.perf_counter() - started, 1e-9)


def drop_from_cache(folder: Folder, file: str) -> None:
    """The next reading of this file comes from the disk, where the system can be asked for that."""
    if isinstance(folder, LocalFolder) and folder.exists(file):
        handle = os.open(folder.local(file, ""), os.O_RDONLY)
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


def render(info: dict[str, Any]) -> str:
    """The same for a reader."""
    stage = f" at {info['fraction']} epochs" if info["fraction"] is not None else ""
    layers, width = info["shape"]
    lines = [
        f"{info['store']}: {info['task']}, hidden states of {info['encoder']}{stage}",
        f"  {layers} channels × {width}, {info['dtype']}, {info['format']}, tokens: {info['tokens']}",
        f"  {info['windows']:,} windows, {info['stored_tokens']:,} tokens, {info['bytes'] / 1e9:.2f} GB: "
        f"{info['size_over_payload']:.3f}× the values, "
        f"{info['size_over_padded_float32']:.3f}× the same padded in float32",
    ]
    if info["pass_seconds"] is None:
        lines.append("  keeps no hidden states: the encoder makes them in every pass")
    else:
        lines.append(
            f"  one pass: {info['pass_seconds']:.2f} s at {info['scan_bytes_per_second'] / 1e9:.2f} GB/s, "
            "read from this disk and checked"
        )
    if info["recompute_seconds"] is not None:
        lines.append(
            f"  the encoder again: {info['recompute_seconds']:.1f} s a pass; it would win on a disk below "
            f"{info['break_even_bytes_per_second'] / 1e6:.2f} MB/s"
        )
    if info["break_even_passes"] is not None:
        lines.append(f"  storing pays off after {info['break_even_passes']} passes")
    lines += [
        f"  {name:16} {split['role']:7} {split['windows']:>9,} windows {split['tokens']:>12,} tokens "
        f"{split['blocks']:>5} blocks{_seen(split)}"
        for name, split in info["splits"].items()
    ]
    return "\n".join([*lines, *(f"  {doubt}" for doubt in info["doubts"])])
