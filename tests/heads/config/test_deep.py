"""Deep heads: which mix tokens, which answer for windows, and what they are called."""

from bv_search.heads.config import InceptionHead, XceptionHead, XceptionModHead


def test_those_along_the_tokens_mix_them_and_the_one_along_the_width_does_not() -> None:
    heads = [InceptionHead(), XceptionModHead(), XceptionHead()]
    assert [head.mixes_tokens for head in heads] == [True, True, False]
    assert [head.for_windows for head in heads] == [False, False, True]
    assert [head.narrowest for head in heads] == [1, 1, 9]


def test_names_say_what_differs() -> None:
    assert InceptionHead(size=8, channels=4).name == "learned pooling, adapter 8, inception 4"
    assert InceptionHead(size=8, channels=4, keep_length=False).name == (
        "learned pooling, adapter 8, inception 4 shrinking"
    )
    assert XceptionModHead(pooling="average", size=8, channels=4, blocks=2).name == (
        "average pooling, adapter 8, xception-mod 4 blocks 2"
    )
    assert XceptionHead(form="full", skip=True).name == "xception full skip"
