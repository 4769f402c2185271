"""The finale: heads learn once more, each up to a place of its own, and no rows are left to check them on."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from bv_search.scan.outcome import Diverged
from bv_search.scan.segment import Trained, TrainingData, train_segment
from bv_search.scan.state import HeadState


def train_out(
    data: TrainingData, states: Sequence[HeadState], stops: Mapping[str, int]
) -> list[Trained | Diverged]:
    """Those that read the same rows in one pack, which each leaves at its stop."""
    windows = data.rows.split.windows
    packs: dict[int, list[HeadState]] = defaultdict(list)
    for state in states:
        packs[state.config.training.rows(windows)].append(state)
    ended: dict[str, Trained | Diverged] = {}
    for pack in packs.values():
        going: Sequence[HeadState] = pack
        for stop in sorted({stops[state.trial] for state in pack}):
            if going := [state for state in going if stops[state.trial] >= stop]:
                ends = train_segment(data, going, stop)
                going = [end.state for end in ends if isinstance(end, Trained)]
                ended |= {end.trial: end for end in ends}
    return [ended[state.trial] for state in states]
