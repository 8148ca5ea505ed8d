import numpy as np
import pytest
from scipy.optimize import minimize

from ntpcompanion.experiments.geometry import contrastive_starts
from ntpcompanion.experiments.geometry.contrastive_starts import Plan
from tests.experiments.cases import small_run

RIGHT = {"majority": 3, "minority": 2, "dim": 4, "starts": 2, "cold_starts": 2, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(contrastive_starts, RIGHT, long=True)


def test_cosines_are_those_of_a_general_minimizer(found):
    """BFGS with differences, on the definition of the loss written out."""
    labels, rng = Plan.from_json(RIGHT).labels, np.random.default_rng(1)

    def loss(x):
        h = x.reshape(len(labels), 4)
        h = h / np.linalg.norm(h, axis=1, keepdims=True)
        total = 0.0
        for i, own in enumerate(labels):
            rest = [j for j in range(len(labels)) if j != i]
            partners = [j for j in rest if labels[j] == own]
            terms = [np.log(sum(np.exp(h[i] @ (h[k] - h[j])) for k in rest)) for j in partners]
            total += np.mean(terms) / len(labels)
        return total

    end = minimize(loss, rng.standard_normal(len(labels) * 4), tol=1e-6).x.reshape(-1, 4)
    end /= np.linalg.norm(end, axis=1, keepdims=True)
    first = found.temperatures[0]
    cosines = end @ end.T
    assert cosines[0, 3] == pytest.approx(first.large, abs=1e-3)
    assert cosines[0, 6] == pytest.approx(first.across, abs=1e-3)
    assert cosines[6, 8] == pytest.approx(first.small, abs=1e-3)


def test_local_minima_are_counted_against_the_best_start(found):
    table = found.few_table
    assert len(table) == 2 * 4
    assert (table.groupby("d").above.min() == 0).all()
    plane = table[table.d == 2]
    assert found.missed(2).mean == pytest.approx(100 * (plane.above > 1e-6).mean())
    assert found.missed(3).mean == 0
    assert found.largest_gap(2) == plane.gap.max()
