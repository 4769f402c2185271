"""Whether a head makes sense on a store and its task: found out before any work."""

from bv_search.errors import HeadError
from bv_search.heads.config.adapters import FlatAdapterHead
from bv_search.heads.config.head import HeadConfig
from bv_search.heads.config.plain import LinearHead
from bv_search.heads.config.shape import HeadShape


def check_fit(config: HeadConfig, shape: HeadShape) -> None:
    """Raises HeadError, one clear line, where the head does not fit."""
    if shape.width < config.narrowest:
        raise HeadError(
            "the hidden states are too narrow for it",
            where=config.name,
            expected=f"{config.narrowest} or more",
            found=shape.width,
        )
    if shape.per_token:
        _check_spans(config)
    elif shape.tokens == 1 and config.reads_all_tokens:
        raise HeadError(
            "needs all tokens of a window",
            where=config.name,
            expected="a store with all of them",
            found="one token a window",
            do="extract with --tokens all, or leave this head out",
        )
    if isinstance(config, LinearHead):
        _check_channel(config, shape)
    if isinstance(config, FlatAdapterHead):
        _check_longest(config, shape)


def fits(config: HeadConfig, shape: HeadShape) -> bool:
    try:
        check_fit(config, shape)
    except HeadError:
        return False
    return True


def _check_spans(config: HeadConfig) -> None:
    if config.for_windows:
        raise HeadError(
            "answers for whole windows",
            where=config.name,
            expected="a task of classification or regression",
            found="spans, which are answered token by token",
            do="leave this head out",
        )
    if config.readout != "first":
        raise HeadError(
            f"has the readout {config.readout}, and spans are answered token by token",
            where=config.name,
            do="leave readout out",
        )


def _check_channel(config: LinearHead, shape: HeadShape) -> None:
    if config.channels != "all" and config.channels >= shape.layers:
        raise HeadError(
            "there is no such channel",
            where=config.name,
            expected=f"channels: 0 to {shape.layers - 1}, or all",
            found=config.channels,
        )


def _check_longest(config: FlatAdapterHead, shape: HeadShape) -> None:
    if config.tokens is None and shape.tokens is None:
        raise HeadError(
            "the longest window is not known", where=config.name, expected="tokens: its length", do="say it"
        )
    if config.tokens is not None and (shape.tokens or 0) > config.tokens:
        raise HeadError(
            "windows can be longer than it",
            where=config.name,
            expected=f"tokens: {shape.tokens} or more",
            found=config.tokens,
        )
