"""What a simulated cluster has to do."""

from bv_search.bench.cluster_work import WORKS
from bv_search.store.layout import MICRO_BATCH


def test_heads_stop_at_the_rungs_of_tune() -> None:
    work = WORKS["bert-large"]
    course = work.rungs.course(work.configs[0])
    assert course.end * MICRO_BATCH >= work.windows
    assert work.rungs.of(work.configs[0])
