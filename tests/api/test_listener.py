"""Progress goes to standard error, to a function, or nowhere."""

import pytest

from bv_search.api.listener import listening


def test_a_function_hears_each_line() -> None:
    heard: list[str] = []
    with listening(heard.append) as progress:
        progress.say("one")
        progress.update("two")
    assert heard == ["one", "two"]


def test_without_a_listener_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with listening(False) as progress:
        progress.say("one")
        progress.update("two")
    assert capsys.readouterr() == ("", "")


def test_by_default_lines_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with listening(True) as progress:
        progress.say("one")
    out, err = capsys.readouterr()
    assert out == ""
    assert "one" in err


def test_what_a_listener_raises_ends_the_work() -> None:
    def refuse(text: str) -> None:
        raise KeyboardInterrupt(text)

    with pytest.raises(KeyboardInterrupt, match="one"), listening(refuse) as progress:
        progress.say("one")
