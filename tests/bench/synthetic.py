"""A table that was never trained: how good its heads are is written down."""

from math import log10

from bv_search.bench.table import Learned, Table, TableGround, key_of
from bv_search.scan.checks import Check
from bv_search.space.space import Config, parse_space

WINDOWS, PASSES = 3200, 20
SPACE = {
    "space": {
        "head": {
            "choice": [
                {"kind": "linear"},
                {"kind": "pooling", "pooling": {"choice": ["learned", "average"]}},
                {"kind": "adapter", "size": {"choice": [4, 8, 16, 32, 64]}},
            ]
        },
        "learning_rate": {"choice": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2]},
        "dropout": {"choice": [0.0, 0.1, 0.2, 0.3]},
        "batch": 64,
    }
}


def make_table() -> Table:
    """The best is an adapter of 32 at a middle rate; heads that end well are ahead from the beginning."""
    ground = TableGround(name="made", store="none", space=SPACE, windows=WINDOWS, one_token=True)
    space = parse_space(SPACE, "made")
    learned = [_learned(space.config(point)) for point in space.points()]
    rates = {1: 40_000.0, 4: 30_000.0, 32: 10_000.0}
    return Table(ground=ground, learned={key_of(each.config): each for each in learned}, rates=rates)


def score_of(config: Config) -> float:
    head = config["head"]
    size = abs(head["size"] - 32) / 32 if head["kind"] == "adapter" else 2.0
    rate = abs(log10(config["learning_rate"]) + 2.5)
    return float(1.0 - 0.1 * size - 0.2 * rate - 0.1 * config["dropout"])


def _learned(config: Config) -> Learned:
    end = score_of(config)
    found = [
        Check(position=200 * n, rows=WINDOWS * n, score=end * n / PASSES, loss=1.0 - end * n / PASSES)
        for n in range(1, PASSES + 1)
    ]
    return Learned(config=config, parameters=100, found=tuple(found), report=end - 0.1)
