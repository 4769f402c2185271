from dataclasses import replace

from bv_search.tasks import Answer, Dataset, Role, Row, Split

ROW = Row(id="1", text_a="Who?", text_b="Ada did.", group="g", answers=(Answer(text="Ada", start=0),))


def test_a_key_says_what_the_row_says_not_where_it_stands() -> None:
    assert replace(ROW, id="other", group="elsewhere").key == ROW.key


def test_a_key_changes_with_every_text_and_label() -> None:
    others = [
        replace(ROW, text_a="Whom?"),
        replace(ROW, text_b="Ada did!"),
        replace(ROW, text_b=None),
        replace(ROW, answers=()),
        replace(ROW, answers=None),
        replace(ROW, answers=(Answer(text="Ada", start=1),)),
        replace(ROW, answers=None, label=1.0),
        replace(ROW, answers=None, label=0.0),
    ]
    assert len({row.key for row in [ROW, *others]}) == len(others) + 1
    assert all(0 <= row.key < 2**64 for row in others)


def test_a_key_stays_the_same_between_versions() -> None:
    """Stages on disk name the rows that they have seen by their keys."""
    assert Row(id="x", text_a="naïve", label=1.0).key == 18280772706523502891


def test_rows_of_a_group_share_its_key_and_a_row_without_one_is_by_itself() -> None:
    assert replace(ROW, id="other", text_a="When?").group_key == ROW.group_key
    assert replace(ROW, group="elsewhere").group_key != ROW.group_key
    assert len({replace(ROW, id=name, group="").group_key for name in "ab"}) == 2


def test_empty_answers_are_a_label_and_none_are_not() -> None:
    assert replace(ROW, answers=()).labelled
    assert not replace(ROW, answers=None).labelled


def test_equal_data_sets_have_equal_digests() -> None:
    def dataset(*rows: Row) -> Dataset:
        return Dataset(splits=(Split(name="train", role=Role.TRAIN, rows=rows),))

    second = replace(ROW, id="2")
    assert dataset(ROW, second).digest == dataset(ROW, second).digest
    digests = {dataset(ROW, second).digest, dataset(second, ROW).digest, dataset(ROW).digest}
    assert len(digests) == 3
    assert dataset(replace(ROW, text_a="?")).digest != dataset(ROW).digest
