"""Every head at each stage beside the encoder there."""

from bv_search.study.folder import StudyFolder
from bv_search.study.heads import best_probe, paper_table, study_heads


def test_the_paper_s_table_has_a_line_for_each_head_and_its_figures_by_stage(made: StudyFolder) -> None:
    table = paper_table(made)
    names = [column.name for column in table.columns]
    assert names[3:] == ["EM 0.3", "F1 0.3", "EM 1", "F1 1"]
    encoder, *heads = table.rows
    own = made.stages[1.0].metrics["report"]
    assert encoder == ("encoder", made.encoder_parameters, 100.0, *[own["exact"], own["f1"]] * 2)
    for row, entry in zip(heads, made.heads[1.0], strict=True):
        assert row[:3] == (entry.title, entry.parameters, entry.percent)
        assert row[5:] == (entry.metrics["exact"], entry.metrics["f1"])


def test_every_stage_lists_encoder_best_probe_and_heads(made: StudyFolder) -> None:
    _, table = study_heads(made).tables
    shown = [row[1] for row in table.rows if row[0] == "1"]
    (probe,) = best_probe(made, 1.0)
    assert shown == ["encoder", f"best {probe.title}", *(entry.title for entry in made.heads[1.0])]
    assert probe.select == max(entry.select for entry in made.probes[1.0])


def test_a_sentence_says_how_the_best_head_stands_to_the_encoder(made: StudyFolder) -> None:
    first, second = study_heads(made).sentences
    best = made.best[1.0]
    assert first.startswith("After 0.3 epochs ")
    assert second.startswith(f"After 1 epoch the best head on select, {best.title} with ")
    assert f"scores {best.report:.4f}, " in second
    assert "the encoder" in second
