import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from ntpcompanion.adaptation import fit_adjustment
from ntpcompanion.experiments.adaptation import adjusted_classes
from tests.experiments.cases import small_run

RIGHT = {"num_classes": 12, "dim": 30, "separation": 3.0, "smallest": 8, "largest": 80}
RIGHT |= {"ridge": 1e-3, "validation": [3, 200], "tested": 100, "seeds": 4, "seed": 2}
found, test_a_result_repeats_and_is_plain = small_run(adjusted_classes, RIGHT)


def test_gains_are_paired_percentage_points(found):
    table = found.table[found.table.validation == 3]
    gain = found.gain("size", "prior", 3)
    assert gain.mean == pytest.approx(100 * (table.prior - table["size"]).mean())
    assert gain.replicates == 4


def test_the_ridge_is_chosen_by_the_loss_of_the_other_half():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(6), 4))
    logits = 3 * np.eye(6)[labels] + 2 * rng.standard_normal((24, 6)) + rng.standard_normal(6)
    half = np.arange(24) % 2 == 0
    losses = []
    for ridge in adjusted_classes.RIDGES:
        held_out = 0.0
        for first in (half, ~half):
            fitted = fit_adjustment(logits[first], labels[first], np.eye(6), ridge)
            theirs = softmax(fitted.apply(logits[~first]), axis=1)
            held_out += 12 * log_loss(labels[~first], theirs, labels=range(6))
        losses.append(held_out)
        ours = [adjusted_classes._validated(logits, labels, each, ridge) for each in (half, ~half)]
        assert sum(ours) == pytest.approx(held_out)
    chosen = adjusted_classes._chosen_ridge(logits, labels)
    assert chosen == adjusted_classes.RIDGES[int(np.argmin(losses))]
