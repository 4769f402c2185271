"""A head's course depends on its own settings and the number of rows alone."""

import pytest

from bv_search.scan.course import MOST_CHECKS, MOST_PASSES, STEPS, STRETCH, Course
from bv_search.scan.training import TrainingConfig


def course(windows: int, **settings: object) -> Course:
    return Course.of(TrainingConfig.from_json(settings), windows)


def test_a_fixed_number_of_passes_is_made_and_nothing_is_checked_on_the_way() -> None:
    fixed = course(9000, passes=3)
    assert (fixed.rows, fixed.pass_length, fixed.end, fixed.is_open) == (9000, 563, 1689, False)
    assert [n for n in range(1700) if fixed.is_border(n)] == [0, 563, 1126, 1689]
    assert not any(fixed.is_check(n) for n in range(1700))


@pytest.mark.parametrize(
    ("windows", "batch", "passes"),
    [(200, 16, MOST_PASSES), (9000, 16, 6), (9000, 128, 43), (48_000, 16, 1), (500_000, 16, 1)],
)
def test_an_open_course_has_enough_steps_or_as_many_passes_as_are_useful(
    windows: int, batch: int, passes: int
) -> None:
    own = course(windows, batch=batch)
    assert (own.is_open, own.passes) == (True, passes)
    assert passes == MOST_PASSES or passes * windows >= STEPS * batch


@pytest.mark.parametrize(
    ("windows", "checks"),
    [
        (200, [13]),
        (16 * STRETCH, [256]),
        (16 * STRETCH + 1, [128, 257]),
        (9000, [187, 375, 563]),
        (90_000, [1406, 2812, 4218, 5625]),
        (900_000, [14_062, 28_125, 42_187, 56_250]),
    ],
)
def test_an_open_course_is_checked_in_even_parts_of_a_pass_and_at_its_end(
    windows: int, checks: list[int]
) -> None:
    own = course(windows)
    assert len(checks) <= MOST_CHECKS
    assert [n for n in range(own.pass_length + 1) if own.is_check(n)] == checks
    later = [own.pass_length + check for check in checks]
    assert [n for n in range(own.pass_length + 1, 2 * own.pass_length + 1) if own.is_check(n)] == later


def test_the_start_is_no_check() -> None:
    assert course(200).is_border(0)
    assert not course(200).is_check(0)


@pytest.mark.parametrize("windows", [5, 200, 9000])
@pytest.mark.parametrize("passes", [1, 3, "auto"])
def test_borders_before_and_behind_a_position_are_neighbours(windows: int, passes: int | str) -> None:
    own = course(windows, passes=passes)
    borders = [n for n in range(2 * own.pass_length + 1) if own.is_border(n)]
    for position in range(2 * own.pass_length):
        before, behind = own.last_border(position), own.next_border(position)
        assert before <= position < behind
        assert before in borders
        assert not any(before < border < behind for border in borders)


def test_a_share_of_the_rows_has_a_course_of_its_own() -> None:
    own = course(9000, data_fraction=0.1)
    assert (own.rows, own.pass_length, own.passes) == (912, 57, 53)


@pytest.mark.parametrize(
    ("fewer", "more", "position", "found"),
    [
        (1600, 1600, 300, 300),  # the same rows, at a border
        (1600, 1600, 290, 300),  # cut before it
        (1600, 1760, 300, 330),  # three passes
        (9000, 9900, 563 + 375, 619 + 412),  # a pass and two of its thirds
    ],
)
def test_a_course_over_more_rows_makes_as_many_passes(
    fewer: int, more: int, position: int, found: int
) -> None:
    now = course(more)
    assert now.as_far_as(position, course(fewer)) == found
    assert now.is_border(found)


def test_no_course_goes_beyond_its_end() -> None:
    """Of more rows, as many steps are fewer passes."""
    short, long = course(2000), course(4000)
    assert long.passes < short.passes
    assert long.as_far_as(short.end, short) == long.end
