"""The least that is as good as the best: least fine-tuning, of that least data, of that the smallest head."""

from dataclasses import replace

from bv_search.study.answer import OWN, Offer, decide

BASE = Offer(
    stage=0.3,
    seconds=30.0,
    share=1.0,
    rows=1000,
    title="adapter 64 shared",
    parameters=5000,
    select=0.80,
    error=0.02,
    report=0.79,
    interval=(0.75, 0.83),
)


def offer(**changes: object) -> Offer:
    return replace(BASE, **changes)  # type: ignore[arg-type]


BEST = offer(stage=2.0, seconds=200.0, select=0.85, report=0.84)


def test_what_is_further_off_than_a_standard_error_is_not_enough() -> None:
    near, far = offer(stage=1.0, seconds=100.0, select=0.831), offer(select=0.829)
    assert decide([far, near, BEST]).least is near


def test_it_is_the_error_of_the_best_that_counts() -> None:
    unsure = offer(select=0.829, error=0.5)
    assert decide([unsure, BEST]).least is BEST
    sure = replace(BEST, error=0.1)
    assert decide([unsure, sure]).least is unsure


def test_fine_tuning_comes_first_then_data_then_the_head() -> None:
    early = offer(select=0.84)
    fewer = offer(select=0.84, rows=100, share=0.1, parameters=9000)
    smaller = offer(select=0.84, rows=100, share=0.1, parameters=10)
    later = offer(stage=1.0, seconds=100.0, select=0.85, rows=10, parameters=1)
    assert decide([early, later, BEST]).least is early
    assert decide([early, fewer, later, BEST]).least is fewer
    assert decide([early, fewer, smaller, later, BEST]).least is smaller


def test_report_chooses_nothing() -> None:
    lucky = offer(stage=0.1, seconds=10.0, select=0.70, report=0.99)
    assert decide([lucky, BEST]).least is BEST


def test_the_front_has_what_no_other_beats() -> None:
    cheap = offer(select=0.70, parameters=10)
    beaten = offer(select=0.69, parameters=20)
    equal = offer(select=0.70, parameters=10, title="another of the same")
    assert decide([BEST, beaten, cheap, equal]).front == (cheap, equal, BEST)


def test_the_sentence_says_both() -> None:
    sentence = decide([offer(select=0.84), BEST]).sentence
    assert sentence == (
        "0.3 epochs of fine-tuning (30 s), 100 % of the data (1,000 windows) and adapter 64 shared, 5,000 "
        "parameters, are enough: 0.8400 on select, within one standard error (0.0200) of the best, 0.8500, "
        "which takes 2 epochs of fine-tuning (200 s), 100 % of the data (1,000 windows) and adapter 64 "
        "shared, 5,000 parameters; on report 0.7900 (0.7500 to 0.8300), where the best has 0.8400."
    )


def test_the_encoder_alone_may_be_enough() -> None:
    own = offer(title=OWN, parameters=0, select=0.84, stage=1.0, seconds=100.0)
    sentence = decide([own, BEST]).sentence
    assert sentence.startswith(f"1 epoch of fine-tuning (100 s), {OWN}, are enough: ")


def test_where_nothing_less_is_as_good_it_says_so() -> None:
    sentence = decide([offer(select=0.5, seconds=0.0, stage=0.0), BEST]).sentence
    assert "nothing that costs less is within one standard error (0.0200) of it" in sentence


def test_without_fine_tuning_none_is_named() -> None:
    none = offer(stage=0.0, seconds=0.0, select=0.84)
    assert decide([none, BEST]).sentence.startswith("No fine-tuning, 100 % of the data")
