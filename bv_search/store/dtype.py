"""The two ways a value is stored in 16 bits. `bfloat16` stands as `uint16`: NumPy has no name for it."""

import numpy as np

from bv_search.errors import StoreError, UnknownName

STORED = {"float16": np.dtype("<f2"), "bfloat16": np.dtype("<u2")}
INFINITE_BITS = {"float16": 0x7C00, "bfloat16": 0x7F80}
"""An exponent of only ones: an infinity, or not a number."""

SPACING = {"float16": (2.0**-10, 2.0**-24), "bfloat16": (2.0**-7, 2.0**-133)}
"""Between a stored value and the next: a share of it, and the least, near 0."""


def stored_dtype(name: str) -> np.dtype:
    if name not in STORED:
        raise UnknownName("dtype", name, STORED)
    return STORED[name]


def narrow(values: np.ndarray, dtype: str) -> np.ndarray:
    """float32 → stored form, rounded to nearest even. Values that do not fit become infinite."""
    if dtype == "float16":
        with np.errstate(over="ignore"):
            return values.astype(STORED[dtype])
    stored_dtype(dtype)
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(STORED[dtype])


def widen(stored: np.ndarray, dtype: str, wide: type[np.floating] = np.float32) -> np.ndarray:
    """Stored form → float32, or float64."""
    if dtype == "float16":
        return stored.astype(wide)
    stored_dtype(dtype)
    bits = stored.astype(np.uint32)
    bits <<= 16
    return bits.view(np.float32).astype(wide, copy=False)


def spacing(values: np.ndarray, dtype: str) -> np.ndarray:
    """How far apart stored values stand near these, at most."""
    share, least = SPACING[dtype]
    apart: np.ndarray = np.maximum(np.abs(values) * share, least)
    return apart


def finite(stored: np.ndarray, dtype: str) -> bool:
    """Are all stored values numbers? As integers, infinities and NaN are the largest of either sign."""
    ones = INFINITE_BITS[dtype]
    if not stored.size:
        return True
    return int(stored.view(np.int16).max()) < ones and int(stored.view(np.uint16).max()) < ones | 0x8000


def refuse_overflow(hidden_LTH: np.ndarray, dtype: str, channels: tuple[str, ...], where: object) -> None:
    """A value beyond the dtype would be read back as infinity, so it is never written."""
    for layer_TH, channel in zip(hidden_LTH, channels, strict=True):
        if not finite(layer_TH, dtype):
            raise StoreError(
                f"a value of channel {channel!r} does not fit {dtype}",
                where=where,
                expected="finite values"
                + (f" of at most {float(np.finfo(np.float16).max):g}" if dtype == "float16" else ""),
                found="an overflow, or not a number",
                do="store it with --dtype bfloat16"
                if dtype == "float16"
                else "check the encoder: its values are not finite",
            )
