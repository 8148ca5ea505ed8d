import numpy as np
import pytest

from ntpcompanion.experiments.generalization import feature_strengths
from ntpcompanion.experiments.generalization.feature_strengths import COMPARED, Plan
from ntpcompanion.randomness import stream
from tests.experiments.cases import check_wrong_fields, small_run

RIGHT = {"radii": [0.1, 0.4], "losses": [0.2, 0.1], "examples": 60, "seeds": 3, "start": 0.6}
RIGHT |= {"seed": 0}
WRONG = {
    "radii": ([0.4, 0.1], r"`radii` must rise, got \[0.4, 0.1\]"),
    "losses": ([0.1, 0.2], r"`losses` must fall, got \[0.1, 0.2\]"),
}


def test_every_wrong_field_is_named():
    check_wrong_fields(Plan, RIGHT, WRONG)


found, test_a_result_repeats_and_is_plain = small_run(feature_strengths, RIGHT)


def test_descent_is_that_of_four_numbers(found):
    """Gradient descent written out, until the loss falls to the level."""
    rng = stream(0, "data")
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    X = y[:, None] * [2.0, 1.0] + [0.3, 0.8] * rng.standard_normal((3, 60, 2))[0]
    u, v = np.full(2, 0.6), np.full(2, 0.6)
    while True:
        margin = y * (X @ (u * v))
        if (loss := np.logaddexp(0, -margin).mean()) <= 0.2:
            break
        pull = (y / (1 + np.exp(margin))) @ X / 60
        u, v = u + 0.02 * pull * v, v + 0.02 * pull * u
    first = found.models[0]
    assert (first.model, first.loss, first.rho, first.seed) == ("SAM", 0.2, 0.0, 0)
    assert (first.easy, first.hard, first.reached) == pytest.approx((*u, loss))


def test_columns_are_read_by_training_loss_radius_and_seed(found):
    ratio = found.of("SAM", "ratio")
    assert ratio.shape == (2, 3, 3)
    wide = found.ratios
    assert wide.index.get_level_values("model").unique().tolist() == list(COMPARED)
    assert wide.loc["SAM", 0.2, 0.4].tolist() == ratio[0, 2].tolist()
    hard = found.of("SAM", "hard")[1].mean(1)
    assert found.change("SAM", "hard") == pytest.approx(100 * (hard[2] / hard[0] - 1))
