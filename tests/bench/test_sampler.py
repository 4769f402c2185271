"""Where the seconds of a thread go."""

import time

from bv_search.bench.sampler import Sampler


def test_a_sampler_says_what_takes_the_time() -> None:
    def busy(seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass

    with Sampler({__file__: "here", "/threading.py": "waiting"}, lambda: 7) as sampler:
        busy(0.3)
    assert sampler.shares["here"] > 0.9
    assert sampler.seconds >= 0.3
    assert [point.done for point in sampler.memory] == [7] * len(sampler.memory)
