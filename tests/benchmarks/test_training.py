import pytest

from tests.benchmarks.training import as_graph
from tests.marks import rest_slow


@pytest.mark.parametrize("adversarial", rest_slow([False, True], quick=[True]))
def test_what_is_timed_on_a_gpu_runs_on_a_cpu(adversarial):
    found = as_graph([0, 1, 0], device="cpu", adversarial=adversarial, count=1)
    assert len(found.our_seconds) >= 3
    assert 0.2 < found.ratio.value < 5, "on a CPU both are the same computation"
