import pytest

from tests.benchmarks.bench_training import as_graph
from tests.benchmarks.timing import Timing
from tests.marks import rest_slow


class Once(Timing):
    def _in_turn(self, run, before, count):
        found = before()
        run()
        return [found], [found]


@pytest.mark.parametrize("adversarial", rest_slow([False, True], quick=[True]))
def test_what_is_timed_on_a_gpu_runs_on_a_cpu(adversarial):
    timing = Once(None)
    with pytest.raises(AssertionError, match="1 times as fast as kernel by kernel"):
        as_graph(timing, [0, 1, 0], device="cpu", adversarial=adversarial, count=1)
    assert timing.outcome["note"].startswith("1 steps")
