import numpy as np
import pytest

from ntpcompanion.experiments.generalization import disagreement_bounds
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

RIGHT = {"problems": 60, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(disagreement_bounds, RIGHT)


def test_the_first_problem_is_counted_by_hand(found):
    rng = stream(0, "problems")
    count, n, classes = rng.integers(1, 5), rng.integers(1, 8), rng.integers(2, 6)
    said = rng.integers(0, classes, (count, n))
    labels = rng.dirichlet(np.full(classes, rng.choice([0.05, 1.0])), size=n)
    runs = range(count)
    differ = [said[a, x] != said[b, x] for a in runs for b in runs for x in range(n)]
    wrong = [1 - labels[x, said[a, x]] for a in runs for x in range(n)]
    assert found.gap[0] == pytest.approx(np.mean(differ) - np.mean(wrong))
