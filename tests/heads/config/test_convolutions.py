"""Convolutional heads: what each looks along, and what it is called."""

from bv_search.heads.config import CnnHead, NgramHead


def test_only_ngrams_along_the_tokens_mix_them() -> None:
    heads = [CnnHead(), NgramHead(along="features"), NgramHead(along="tokens")]
    assert [head.mixes_tokens for head in heads] == [False, False, True]


def test_names_say_what_differs() -> None:
    assert CnnHead(channels=8, kernel=3, depth=2).name == "1xN cnn 8 kernel 3 depth 2"
    assert CnnHead(pooling="average", dilation=2).name == (
        "average pooling, 1xN cnn 120 kernel 7 depth 4 dilation 2"
    )
    assert NgramHead(size=8, filters=4, longest=3).name == "learned pooling, adapter 8, NxN cnn 4 n 1-3"
    assert NgramHead(size=8, filters=4, longest=3, along="features").name == (
        "learned pooling, adapter 8, 1xN cnn 4 n 1-3"
    )
